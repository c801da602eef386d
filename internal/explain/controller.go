package explain

import (
	"fmt"
	"slices"

	"kstate/internal/tree"
	"kstate/model"
)

// controller explains who the controller is, and what waits for it.
func (c *Cluster) controller(e *model.Explanation) {
	st := c.status()
	e.State = st.Status
	e.Facts = append(e.Facts, c.controllerEvidence(), c.epochEvidence())
	if st.ID >= 0 {
		e.Facts = append(e.Facts, c.brokerEvidence(st.ID))
	}
	e.Causes = append(e.Causes, c.controllerCauses()...)
	c.epochCauses(e)
	c.pending(e)
	if see := c.look(model.ControllerPath); c.survey != nil && see.Err != "" && see.Version == nil {
		e.Undecided = true
		c.controllerUnread(e)
	}
	e.Found = !e.Undecided && slices.ContainsFunc(e.Causes, func(x model.Cause) bool { return x.Holds })
	switch {
	case e.Undecided:
		e.Answer = "who the controller is is not known"
	case st.ID >= 0:
		e.Answer = fmt.Sprintf("%s: broker %d", st.Status, st.ID)
	default:
		e.Answer = st.Status
	}
	if st.Epoch >= 0 {
		e.Answer += fmt.Sprintf(", epoch %d", st.Epoch)
	}
	if words := causeWords(e.Causes); words != "" {
		e.Answer += "; " + words
	}
	if c.memory == nil {
		e.NotKnown = append(e.NotKnown, "what the controller has in its memory and in its event queue",
			"whether another controller could take this tree over: kstate failover tries that on a copy")
	} else {
		e.Facts = append(e.Facts, remembers("%s queued or at work", model.Plural(c.memory.Queued, "event")))
		for i := range c.memory.Channels {
			ch := &c.memory.Channels[i]
			if ch.Depth > 0 {
				e.Facts = append(e.Facts, remembers("%s to broker %d not answered, connected: %t, the first: %s", model.Plural(ch.Depth, "request"), ch.Broker, ch.Connected, ch.Head))
			}
		}
	}
}

// epochCauses: the epoch is the fence of all that a controller writes.
func (c *Cluster) epochCauses(e *model.Explanation) {
	if see := c.look(model.ControllerEpochPath); !see.Exists && see.Err == "" && c.view.TopicCount > 0 {
		e.Causes = append(e.Causes, model.Cause{What: "controller-epoch-missing", Subject: "the controller epoch starts anew at 1, below what the topics were written under", Holds: true,
			Evidence: []model.Evidence{c.epochEvidence()}, Resumes: []string{model.ControllerEpochPath + " is created with the highest controller epoch of any state znode, or more"}})
	}
	if c.memory != nil {
		return
	}
	var newer []model.TopicPartition
	highest := int32(0)
	for t := range c.view.Topics() {
		for n, p := range t.Partitions() {
			if l := p.Leadership; l != nil && l.ControllerEpoch > c.view.Epoch {
				newer = append(newer, model.TP(t.Name, n))
				highest = max(highest, l.ControllerEpoch)
			}
		}
	}
	if len(newer) > 0 {
		e.Causes = append(e.Causes, model.Cause{What: "state-from-newer-controller-epoch", Subject: fmt.Sprintf("it can change nothing about %s: %s", model.Plural(len(newer), "partition"), some(newer)), Holds: true,
			Evidence: append([]model.Evidence{c.epochEvidence()}, c.someStates(newer)...), Resumes: []string{fmt.Sprintf("the controller epoch reaches %d", highest)}})
	}
}

// pending is what lies in ZooKeeper for a controller to take up.
func (c *Cluster) pending(e *model.Explanation) {
	c.pendingElection(e)
	c.pendingReassignment(e)
	if n := c.children(model.DeleteTopicsPath); n > 0 {
		e.Facts = append(e.Facts, c.at(model.DeleteTopicsPath, model.Plural(n, "topic")+" to be deleted", ""))
	}
	for _, x := range []struct{ path, what string }{{model.IsrChangeNotificationPath, "unread notification"},
		{model.LogDirEventNotificationPath, "unread notice"}, {model.ConfigChangesPath, "config change"}} {
		if n := c.children(x.path); n > 0 {
			e.Facts = append(e.Facts, c.at(x.path, model.Plural(n, x.what), ""))
		}
	}
	if c.look(model.MigrationPath).Exists {
		e.Causes = append(e.Causes, model.Cause{What: "migration-state-present", Subject: "a migration to KRaft is under way, or was",
			Evidence: []model.Evidence{c.at(model.MigrationPath, "the state of a migration", "")}, Resumes: []string{"the migration ends, or is rolled back and the znode deleted"}})
	}
}

func (c *Cluster) pendingElection(e *model.Explanation) {
	z, ok := c.data(model.PreferredReplicaElectionPath)
	if !ok {
		return
	}
	x := model.Cause{What: "preferred-election-pending", Evidence: []model.Evidence{c.at(z.Path, "a request for a preferred election", "")},
		Resumes: []string{"the controller takes it up and deletes the znode"}}
	list, err := model.DecodePreferredReplicaElection(z.Path, z.Data)
	switch {
	case err != nil || model.WhyNotJSON(z.Path, z.Data) != nil:
		x.What, x.Subject = "preferred-election-unparsable", "the request for a preferred election cannot be read, and stands in the way of the next"
		x.Resumes = []string{"the znode is deleted by hand"}
	default:
		x.Subject = fmt.Sprintf("a preferred election of %s is asked for, and no other can be until it is taken up", model.Plural(len(list), "partition"))
		c.electionStops(&x, list)
	}
	e.Causes = append(e.Causes, x)
}

// electionStops: a partition without leadership makes the event that reads the
// znode fail, and a new controller's take-over.
func (c *Cluster) electionStops(x *model.Cause, list []model.TopicPartition) {
	for _, tp := range list {
		if p := c.view.Partition(tp); p != nil && p.Assignment != nil && len(p.Assignment.Replicas) > 0 && p.Leadership == nil && !(c.view.IsQueued(tp.Topic) && c.survey == nil) {
			x.Holds = true
			x.Subject += "; " + tp.String() + " never had a leader, which makes a new controller's take-over fail"
			x.Evidence = append(x.Evidence, c.stateEvidence(tp))
			x.Resumes = []string{"the znode is deleted by hand"}
			return
		}
	}
}

func (c *Cluster) pendingReassignment(e *model.Explanation) {
	z, ok := c.data(model.ReassignPartitionsPath)
	if ok {
		x := model.Cause{What: "reassignment-znode-present", Evidence: []model.Evidence{c.at(z.Path, "a request for reassignments", "")},
			Resumes: []string{"the reassignments complete or fail, and the controller deletes the znode"}}
		list, err := model.DecodeReassignPartitions(z.Path, z.Data)
		if err != nil {
			x.What, x.Subject = "reassignment-unparsable", "the request for reassignments cannot be read, and stands in the way of the next: "+tree.Printable(err.Error())
			x.Resumes = []string{"the znode is deleted by hand"}
		} else {
			x.Subject = fmt.Sprintf("reassignments of %s are asked for; the controller looks when the znode is created, not when it is overwritten", model.Plural(len(list), "partition"))
		}
		e.Causes = append(e.Causes, x)
	}
	var waiting []model.TopicPartition
	for t := range c.view.Topics() {
		if t.Reassigning == 0 {
			continue
		}
		for n, p := range t.Partitions() {
			if p.Reassigning {
				waiting = append(waiting, model.TP(t.Name, n))
			}
		}
	}
	if len(waiting) > 0 {
		e.Facts = append(e.Facts, c.at(model.TopicPath(waiting[0].Topic), fmt.Sprintf("%s under way: %s", model.Plural(len(waiting), "reassignment"), some(waiting)), ""))
	}
}
