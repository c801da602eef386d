package engine

import (
	"fmt"

	"kstate/model"
)

// watchGroups are the handlers that a controller can have, in the order in which
// a failover registers them, with what their watches become.
var watchGroups = []struct {
	kind         model.ZnodeKind
	path, events string
	child        bool
}{
	{model.ControllerZnode, model.ControllerPath, "ControllerChange, Reelect", false},
	{model.BrokerIDsZnode, model.BrokerIDsPath, "BrokerChange", true},
	{model.TopicsZnode, model.TopicsPath, "TopicChange", true},
	{model.DeleteTopicsZnode, model.DeleteTopicsPath, "TopicDeletion", true},
	{model.LogDirEventsZnode, model.LogDirEventNotificationPath, "LogDirEventNotification", true},
	{model.IsrChangesZnode, model.IsrChangeNotificationPath, "IsrChangeNotification", true},
	{model.PreferredReplicaElectionZnode, model.PreferredReplicaElectionPath, "ReplicaLeaderElection", false},
	{model.ReassignPartitionsZnode, model.ReassignPartitionsPath, "ZkPartitionReassignment", false},
	{model.TopicZnode, model.TopicPath("<topic>"), "PartitionModifications", false},
	{model.BrokerZnode, model.BrokerIDsPath + "/<id>", "BrokerModifications", false},
	{model.PartitionStateZnode, model.TopicPartitionsPath("<topic>") + "/<n>/state", "PartitionReassignmentIsrChange", false},
}

// Term is what this controller goes by. Its size does not depend on the cluster's.
func (e *Engine) Term() *model.Term {
	c := &e.cfg
	out := &model.Term{Settings: []string{
		"delete.topic.enable=" + fmt.Sprint(c.DeleteTopicEnable),
		"auto.leader.rebalance.enable=" + fmt.Sprint(c.AutoRebalance),
		fmt.Sprintf("leader.imbalance.per.broker.percentage=%d", c.ImbalancePercentage),
		"inter.broker.protocol.version=" + c.IBP.String(),
		"inter.broker.listener.name=" + c.InterBrokerListener,
	}}
	if v, ok := c.BrokerConfig[uncleanKey]; ok {
		out.Settings = append(out.Settings, uncleanKey+"="+v)
	} else {
		out.Settings = append(out.Settings, uncleanKey+"=false")
	}
	if on := c.Mend.String(); on != "" {
		out.Settings = append(out.Settings, "--mend "+on)
	}
	for _, g := range watchGroups {
		if n := e.watching[g.kind]; n > 0 {
			out.Watches = append(out.Watches, model.WatchGroup{Path: g.path, Child: g.child, Events: g.events, Count: n})
		}
	}
	return out
}
