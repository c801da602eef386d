package engine

import (
	"kstate/model"
)

// failover makes this process a working controller. A failure in any step ends
// it, and the role is given up. Kafka: KafkaController.onControllerFailover.
func (e *Engine) failover() error {
	if err := e.setUpFeatureVersioning(); err != nil {
		return err
	}
	if err := e.registerOutsider(); err != nil {
		return err
	}
	e.logf(controllerLogger, model.Info, "registering handlers")
	for _, path := range []string{model.BrokerIDsPath, model.TopicsPath, model.DeleteTopicsPath, model.LogDirEventNotificationPath, model.IsrChangeNotificationPath} {
		e.listenChild(path)
	}
	for _, path := range []string{model.PreferredReplicaElectionPath, model.ReassignPartitionsPath} {
		e.listenNode(path)
		if _, err := e.exists(path); err != nil {
			return err
		}
	}
	e.logf(controllerLogger, model.Info, "deleting log dir event notifications and isr change notifications")
	for _, path := range []string{model.LogDirEventNotificationPath, model.IsrChangeNotificationPath} {
		if err := e.dropNotifications(path); err != nil {
			return err
		}
	}
	e.logf(controllerLogger, model.Info, "initializing controller context")
	if err := e.initializeContext(); err != nil {
		return err
	}
	e.logf(controllerLogger, model.Info, "fetching topic deletions in progress")
	markers, ineligible, err := e.fetchTopicDeletions()
	if err != nil {
		return err
	}
	if err := e.initDeletion(markers, ineligible); err != nil {
		return err
	}
	e.logf(controllerLogger, model.Info, "sending update metadata request")
	if err := e.sendUpdateMetadata(e.ctx.LiveOrShuttingDown(), nil); err != nil {
		return err
	}
	if err := e.startReplicas(); err != nil {
		return err
	}
	if err := e.startPartitions(); err != nil {
		return err
	}
	e.logf(controllerLogger, model.Info, "ready to serve as the new controller with epoch %d", e.ctx.Epoch)
	return e.resumePending()
}

// resumePending takes up what the previous controller left: reassignments,
// deletions, preferred elections; then starts the timers.
func (e *Engine) resumePending() error {
	if err := e.initializeReassignments(); err != nil {
		return err
	}
	if e.cfg.DeleteTopicEnable {
		if err := e.resumeDeletions(); err != nil {
			return err
		}
	}
	pending, err := e.fetchPendingPreferredElections()
	if err != nil {
		return err
	}
	if _, err := e.runElection(pending, model.PreferredElection, model.ZkTriggered); err != nil {
		return err
	}
	e.logf(controllerLogger, model.Info, "starting the controller scheduler")
	if e.scheduling { // of an earlier term that was not undone: see triggerControllerMove
		return illegalf("this scheduler has already been started")
	}
	e.scheduling = true
	if e.cfg.AutoRebalance {
		e.scheduleRebalance(5000)
	}
	return nil
}

func (e *Engine) scheduleRebalance(afterMillis int64) {
	e.step(&model.Alarm{Name: rebalanceAlarm, AfterMillis: afterMillis})
	e.rebalancing = true
}

// dropNotifications deletes all children of a notification znode, unread.
// Kafka: KafkaZkClient.deleteLogDirEventNotifications, deleteIsrChangeNotifications.
func (e *Engine) dropNotifications(parent string) error {
	names, err := e.notifications(parent)
	if err != nil {
		return err
	}
	return e.deleteNotifications(parent, names)
}

func (e *Engine) deleteNotifications(parent string, names []string) error {
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = parent + "/" + n
	}
	return e.deleteFenced("delete_notifications", paths, false)
}

// initializeContext reads the cluster. Kafka: KafkaController.initializeControllerContext.
func (e *Engine) initializeContext() error {
	brokers, err := e.getBrokers()
	if err != nil {
		return err
	}
	if !e.settleProtocol(brokers) {
		brokers = nil
	}
	live := e.compatible(brokers)
	for _, id := range model.Without(e.ctx.LiveOrShuttingDown(), brokerIDs(live)) {
		e.ctx.RemoveBroker(id) // of an earlier term that was not undone
	}
	for _, b := range live {
		e.ctx.PutBroker(b)
	}
	topics, err := e.children(model.TopicsPath, true)
	if err != nil {
		return err
	}
	for _, t := range topics {
		e.ctx.AddTopic(t)
	}
	assignments, err := e.readNewTopics(topics)
	if err != nil {
		return err
	}
	if err := e.assignTopicIDs(assignments); err != nil {
		return err
	}
	total := 0
	for _, a := range assignments {
		total += len(a.Partitions)
	}
	tps := make([]model.TopicPartition, 0, total)
	for _, a := range assignments {
		for _, p := range a.Partitions {
			tp := model.TP(a.topic, p.Partition)
			tps = append(tps, tp)
			e.ctx.UpdateAssignment(tp, p.ReplicaAssignment)
			if p.IsBeingReassigned() {
				e.ctx.SetReassigning(tp, true)
			}
		}
	}
	e.ctx.ClearLeadership()
	e.ctx.ClearShuttingDown()
	if err := e.listenBrokers(e.ctx.LiveOrShuttingDown()); err != nil {
		return err
	}
	if err := e.cacheStates(tps); err != nil {
		return err
	}
	for _, b := range e.ctx.Brokers() {
		if err := e.linkUp(b); err != nil {
			return err
		}
	}
	e.logf(controllerLogger, model.Info, "currently active brokers in the cluster: [%s]; currently shutting brokers in the cluster: []; current list of topics in the cluster: %d",
		model.JoinIDs(e.ctx.LiveOrShuttingDown()), len(topics))
	return nil
}

// fetchTopicDeletions reads the markers and which topics cannot be deleted now.
// Kafka: KafkaController.fetchTopicDeletionsInProgress.
func (e *Engine) fetchTopicDeletions() ([]string, map[string]model.IneligibleReason, error) {
	markers, err := e.children(model.DeleteTopicsPath, true)
	if err != nil {
		return nil, nil, err
	}
	ineligible := map[string]model.IneligibleReason{}
	for _, name := range markers {
		t := e.ctx.Topic(name)
		switch {
		case t == nil || !t.Known:
		case e.anyReplicaOffline(t):
			ineligible[name] = model.OfflineReplicas
		case t.Reassigning > 0:
			ineligible[name] = model.ReassignmentInProgress
		}
	}
	e.logf(controllerLogger, model.Info, "list of topics to be deleted: %v; list of topics ineligible for deletion: %v", markers, sortedKeys(ineligible))
	return markers, ineligible, nil
}

func (e *Engine) anyReplicaOffline(t *model.Topic) bool {
	for n, p := range t.Partitions() {
		for _, b := range p.Assignment.Replicas {
			if !e.ctx.IsReplicaOnline(b, model.TP(t.Name, n), false) {
				return true
			}
		}
	}
	return false
}
