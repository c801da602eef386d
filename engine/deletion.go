package engine

import (
	"cmp"
	"slices"

	"kstate/model"
)

// This file is Kafka's TopicDeletionManager: three sets in the context, and the
// loop that starts, retries and completes deletions. Everything here does
// nothing while delete.topic.enable is false, unless said otherwise.

// initDeletion is what a new controller found: topics with a marker, and those
// that cannot be deleted now. Kafka: TopicDeletionManager.init.
func (e *Engine) initDeletion(markers []string, ineligible map[string]model.IneligibleReason) error {
	if !e.cfg.DeleteTopicEnable {
		e.logf(controllerLogger, model.Info, "removing topics %v since delete topic is disabled", markers)
		return e.deleteMarkers(markers)
	}
	e.logf(controllerLogger, model.Info, "initializing topic deletion with initial deletions %v, initial ineligible deletions %v", markers, sortedKeys(ineligible))
	if err := e.queueDeletions(markers, "its marker was found at controller startup"); err != nil {
		return err
	}
	for _, t := range sortedKeys(ineligible) {
		if e.ctx.IsQueued(t) {
			e.mark(t, model.IneligibleForDeletion, true, "at controller startup", ineligible[t])
		}
	}
	return nil
}

// enqueueDeletion queues topics and starts what can start.
// Kafka: TopicDeletionManager.enqueueTopicsForDeletion.
func (e *Engine) enqueueDeletion(topics []string) error {
	if !e.cfg.DeleteTopicEnable {
		return nil
	}
	if err := e.queueDeletions(topics, "its marker was created"); err != nil {
		return err
	}
	return e.resumeDeletions()
}

// queueDeletions puts topics into topicsToBeDeleted. Kafka takes those that were
// not there out of the count of imbalanced partitions then, and throws where a led
// partition has no replicas; they are queued all the same.
// Kafka: ControllerContext.queueTopicDeletion, cleanPreferredReplicaImbalanceMetric.
func (e *Engine) queueDeletions(topics []string, reason string) error {
	fresh := slices.DeleteFunc(slices.Clone(topics), e.ctx.IsQueued)
	for _, t := range topics {
		e.mark(t, model.ToBeDeleted, true, reason, "")
	}
	for _, t := range fresh {
		for n, p := range e.ctx.Topic(t).Partitions() {
			if p.Leadership != nil && len(p.Assignment.Replicas) == 0 {
				return &missingValue{"the preferred replica of " + model.TP(t, n).String()}
			}
		}
	}
	return nil
}

// resumeDeletionForTopics lets halted deletions go on: something changed for
// these topics. Kafka: TopicDeletionManager.resumeDeletionForTopics.
func (e *Engine) resumeDeletionForTopics(topics []string, reason string) error {
	if !e.cfg.DeleteTopicEnable {
		return nil
	}
	any := false
	for _, t := range topics {
		if e.ctx.IsQueued(t) {
			any = true
			e.mark(t, model.IneligibleForDeletion, false, reason, "")
		}
	}
	if !any {
		return nil
	}
	return e.resumeDeletions()
}

// failReplicaDeletion: the deletion of replicas failed, or their brokers or
// dirs went away. Kafka: TopicDeletionManager.failReplicaDeletion.
func (e *Engine) failReplicaDeletion(rs []model.Replica, reason string) error {
	if !e.cfg.DeleteTopicEnable {
		return nil
	}
	rs = keepQueued(e, rs)
	if len(rs) == 0 {
		return nil
	}
	e.logf(controllerLogger, model.Debug, "deletion failed for replicas %v: halting deletion for their topics", rs)
	if err := e.changeReplicas(rs, model.ReplicaDeletionIneligible, reason); err != nil {
		return err
	}
	e.markIneligible(topicsOf(rs), reason, model.ReplicaDeletionFailed)
	return e.resumeDeletions()
}

// completeReplicaDeletion: brokers confirmed the deletion of replicas.
// Kafka: TopicDeletionManager.completeReplicaDeletion.
func (e *Engine) completeReplicaDeletion(rs []model.Replica) error {
	rs = keepQueued(e, rs)
	e.logf(controllerLogger, model.Debug, "deletion successfully completed for replicas %v", rs)
	if err := e.changeReplicas(rs, model.ReplicaDeletionSuccessful, "its broker confirmed the deletion"); err != nil {
		return err
	}
	return e.resumeDeletions()
}

func keepQueued(e *Engine, rs []model.Replica) []model.Replica {
	return slices.DeleteFunc(slices.Clone(rs), func(r model.Replica) bool { return !e.isQueuedForDeletion(r.Topic) })
}

// isQueuedForDeletion. Kafka: TopicDeletionManager.isTopicQueuedUpForDeletion.
func (e *Engine) isQueuedForDeletion(topic string) bool {
	return e.cfg.DeleteTopicEnable && e.ctx.IsQueued(topic)
}

func topicsOf(rs []model.Replica) []string {
	out := make([]string, 0, len(rs))
	for _, r := range rs {
		out = append(out, r.Topic)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// markIneligible halts the deletion of topics; only queued ones can be halted.
// Kafka: TopicDeletionManager.markTopicIneligibleForDeletion.
func (e *Engine) markIneligible(topics []string, reason string, why model.IneligibleReason) {
	if !e.cfg.DeleteTopicEnable {
		return
	}
	for _, t := range topics {
		if e.ctx.IsQueued(t) {
			e.mark(t, model.IneligibleForDeletion, true, reason, why)
		}
	}
}

// replicasOf lists a topic's assigned replicas with their states. A replica
// without a state is an error: Kafka fails there too.
// Kafka: ControllerContext.replicasForTopic, replicasInState.
func (e *Engine) replicasOf(topic string) ([]model.Replica, []model.ReplicaState, error) {
	var rs []model.Replica
	var states []model.ReplicaState
	for n, p := range e.ctx.Topic(topic).Partitions() {
		for _, b := range p.Assignment.Replicas {
			s, _ := p.Replica(b)
			r := model.Replica{TopicPartition: model.TP(topic, n), Broker: b}
			if s.State == model.NoReplicaState {
				return nil, nil, &missingValue{"the state of replica " + r.String()}
			}
			rs, states = append(rs, r), append(states, s.State)
		}
	}
	return rs, states, nil
}

// resumeDeletions completes topics whose replicas are all gone, retries halted
// ones, and starts what is eligible. Kafka: TopicDeletionManager.resumeDeletions.
func (e *Engine) resumeDeletions() error {
	var start, retry []string
	queued := e.ctx.TopicsToBeDeleted.Slice()
	if len(queued) > 0 {
		e.logf(controllerLogger, model.Info, "handling deletion for topics %v", queued)
	}
	for _, t := range queued {
		_, states, err := e.replicasOf(t)
		if err != nil {
			return err
		}
		switch {
		case !slices.ContainsFunc(states, func(s model.ReplicaState) bool { return s != model.ReplicaDeletionSuccessful }):
			if err := e.completeDeleteTopic(t); err != nil {
				return err
			}
			e.logf(controllerLogger, model.Info, "deletion of topic %s successfully completed", t)
		case !slices.Contains(states, model.ReplicaDeletionStarted) && slices.Contains(states, model.ReplicaDeletionIneligible):
			retry = append(retry, t)
		}
		if e.ctx.IsQueued(t) && !slices.Contains(states, model.ReplicaDeletionStarted) && !e.ctx.TopicsIneligibleForDeletion.Has(t) {
			e.logf(controllerLogger, model.Info, "deletion of topic %s (re)started", t)
			start = append(start, t)
		}
	}
	if err := e.retryIneligible(retry); err != nil {
		return err
	}
	if len(start) == 0 {
		return nil
	}
	return e.startDeletion(start)
}

// retryIneligible moves every ineligible replica of the topics to Offline.
// Kafka: TopicDeletionManager.retryDeletionForIneligibleReplicas.
func (e *Engine) retryIneligible(topics []string) error {
	var out []model.Replica
	for _, t := range topics {
		rs, states, err := e.replicasOf(t)
		if err != nil {
			return err
		}
		for i, r := range rs {
			if states[i] == model.ReplicaDeletionIneligible {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	e.logf(controllerLogger, model.Debug, "retrying deletion of topics %v since replicas %v were not successfully deleted", topics, out)
	return e.changeReplicas(out, model.OfflineReplica, "retry of the deletion")
}

// startDeletion takes the topics' partitions offline and away, tells the brokers
// to forget them, and deletes the replicas. Kafka: TopicDeletionManager.onTopicDeletion.
func (e *Engine) startDeletion(topics []string) error {
	var fresh []model.TopicPartition
	var all []model.TopicPartition
	var unseen []string
	for _, t := range topics {
		started := e.ctx.TopicsWithDeletionStarted.Has(t)
		if !started {
			unseen = append(unseen, t)
		}
		for n := range e.ctx.Topic(t).Partitions() {
			all = append(all, model.TP(t, n))
			if !started {
				fresh = append(fresh, model.TP(t, n))
			}
		}
	}
	const reason = "topic queued for deletion"
	if _, err := e.changePartitions(fresh, model.OfflinePartition, 0, reason); err != nil {
		return err
	}
	if _, err := e.changePartitions(fresh, model.NonExistentPartition, 0, reason); err != nil {
		return err
	}
	for _, t := range unseen {
		e.mark(t, model.DeletionStarted, true, "its partitions are gone", "")
	}
	if err := e.sendUpdateMetadata(e.ctx.LiveOrShuttingDown(), all); err != nil {
		return err
	}
	return e.deletePartitions(topics)
}

// deletePartitions moves dead replicas to Ineligible and live ones through
// Offline to DeletionStarted. Kafka: TopicDeletionManager.onPartitionDeletion.
func (e *Engine) deletePartitions(topics []string) error {
	var dead, work []model.Replica
	var halt []string
	for _, t := range topics {
		rs, states, err := e.replicasOf(t)
		if err != nil {
			return err
		}
		before := len(dead)
		for i, r := range rs {
			if !e.ctx.IsReplicaOnline(r.Broker, r.TopicPartition, false) {
				dead = append(dead, r)
			} else if states[i] != model.ReplicaDeletionSuccessful {
				work = append(work, r)
			}
		}
		if len(dead) > before {
			e.logf(controllerLogger, model.Debug, "dead replicas %v found for topic %s", dead[before:], t)
			halt = append(halt, t)
		}
	}
	if err := e.changeReplicas(dead, model.ReplicaDeletionIneligible, "topic queued for deletion, replica not online"); err != nil {
		return err
	}
	if err := e.changeReplicas(work, model.OfflineReplica, "topic queued for deletion"); err != nil {
		return err
	}
	if err := e.changeReplicas(work, model.ReplicaDeletionStarted, "topic queued for deletion"); err != nil {
		return err
	}
	e.markIneligible(halt, "offline replicas", model.OfflineReplicas)
	return nil
}

// completeDeleteTopic removes the last traces of a topic: its znodes in a fixed
// order, the marker last, then the context. Kafka: TopicDeletionManager.completeDeleteTopic.
func (e *Engine) completeDeleteTopic(topic string) error {
	e.ignoreNode(model.TopicPath(topic))
	rs, _, err := e.replicasOf(topic)
	if err != nil {
		return err
	}
	if err := e.changeReplicas(rs, model.NonExistentReplica, "all replicas are deleted"); err != nil {
		return err
	}
	if err := e.deleteRecursive(model.TopicPath(topic)); err != nil {
		return err
	}
	if err := e.deleteFenced("delete_topic_config", []string{model.TopicConfigPath(topic)}, false); err != nil {
		return err
	}
	if err := e.deleteMarkers([]string{topic}); err != nil {
		return err
	}
	e.step(&model.Mark{Topic: topic, Set: model.ToBeDeleted, Reason: "deletion completed"})
	e.ctx.RemoveTopic(topic)
	return nil
}

// sendUpdateMetadata sends metadata through the controller's own batch.
// Kafka: KafkaController.sendUpdateMetadataRequest.
func (e *Engine) sendUpdateMetadata(brokers []int32, tps []model.TopicPartition) error {
	return e.withOwnBatch(func() { e.own.addMetadata(brokers, tps) })
}

// withOwnBatch fills and flushes the controller's own batch; an illegal state
// there makes the controller give up its role.
func (e *Engine) withOwnBatch(fill func()) error {
	err := e.own.open("", 0)
	if err == nil {
		fill()
		err = e.own.flush()
	}
	if isIllegalState(err) {
		return e.handleIllegalState(err)
	}
	return err
}

// processTopicDeletion: markers came or went. Kafka: KafkaController.processTopicDeletion.
func (e *Engine) processTopicDeletion() error {
	markers, err := e.children(model.DeleteTopicsPath, true)
	if err != nil {
		return err
	}
	var known, unknown []string
	for _, t := range markers {
		if e.ctx.KnowsTopic(t) {
			known = append(known, t)
		} else {
			unknown = append(unknown, t)
		}
	}
	if len(unknown) > 0 {
		e.logf(controllerLogger, model.Warn, "ignoring request to delete non-existing topics %v", unknown)
		if err := e.deleteMarkers(unknown); err != nil {
			return err
		}
	}
	if !e.cfg.DeleteTopicEnable {
		e.logf(controllerLogger, model.Info, "removing topics %v since delete topic is disabled", known)
		return e.deleteMarkers(known)
	}
	if len(known) == 0 {
		return nil
	}
	e.logf(controllerLogger, model.Info, "starting topic deletion for topics %v", known)
	for _, t := range known {
		if e.ctx.Topic(t).Reassigning > 0 {
			e.markIneligible([]string{t}, "topic reassignment in progress", model.ReassignmentInProgress)
		}
	}
	return e.enqueueDeletion(known)
}

// processTopicDeletionStopReplicaResponse: a broker answered the deletion of replicas.
// Kafka: KafkaController.processTopicDeletionStopReplicaResponseReceived.
func (e *Engine) processTopicDeletionStopReplicaResponse(ev *model.TopicDeletionStopReplicaResponseReceived) error {
	var failed, done []model.Replica
	for _, p := range ev.Partitions {
		r := model.Replica{TopicPartition: p.TopicPartition, Broker: ev.Broker}
		if ev.Error != model.ErrNone || p.Error != model.ErrNone {
			failed = append(failed, r)
			e.ctx.SetDeletionError(r, cmp.Or(ev.Error, p.Error))
		} else {
			done = append(done, r)
		}
	}
	if err := e.failReplicaDeletion(failed, "its broker answered the deletion with an error"); err != nil {
		return err
	}
	if len(done) == 0 {
		return nil
	}
	return e.completeReplicaDeletion(done)
}
