package engine

import (
	"slices"

	"kstate/model"
)

// newTopic is what a topic znode says of a topic that comes into the context.
type newTopic struct {
	topic string
	model.TopicAssignment
	version int32 // data version of the znode
	unread  bool  // the znode cannot be read, and is left as it is
}

// readNewTopics listens to and reads topic znodes. A missing znode, or one with
// bad JSON, reads as no partitions. Kafka: KafkaController.registerPartitionModificationsHandlers,
// KafkaZkClient.getReplicaAssignmentAndTopicIdForTopics.
func (e *Engine) readNewTopics(topics []string) ([]newTopic, error) {
	for _, t := range topics {
		e.listenNode(model.TopicPath(t))
	}
	ops := make([]model.Op, len(topics))
	for i, t := range topics {
		ops[i] = e.getOp(model.TopicPath(t))
	}
	results, err := e.call("get_topic", ops)
	if err != nil {
		return nil, err
	}
	out := make([]newTopic, len(topics))
	for i, t := range topics {
		out[i].topic = t
		switch results[i].Code {
		case model.CodeOK:
			a, _, err := model.DecodeTopic(model.TopicPath(t), results[i].Data)
			if err != nil {
				if out[i].unread = e.passOverTopic(err); out[i].unread {
					continue
				}
				return nil, err
			}
			out[i].TopicAssignment, out[i].version = a, results[i].Stat.Version
		case model.CodeNoNode:
		default:
			return nil, &keeperError{results[i].Code, "get " + model.TopicPath(t)}
		}
	}
	return out, e.leaveOutSelf(out)
}

// assignTopicIDs gives an id to topics that have none, if the inter-broker
// protocol knows ids, by rewriting their znodes from what was read; other codes
// than a failed fence are not looked at. Kafka: KafkaController.processTopicIds,
// KafkaZkClient.setTopicIds.
func (e *Engine) assignTopicIDs(ts []newTopic) error {
	if e.cfg.IBP.TopicIDs() {
		var ops []model.Op
		for i := range ts {
			if !ts[i].ID.IsZero() || ts[i].unread {
				continue
			}
			ts[i].ID = e.step(&model.Draw{For: ts[i].topic}).ID
			ops = append(ops, model.Op{Kind: model.OpSet, Path: model.TopicPath(ts[i].topic), Version: model.AnyVersion,
				Data: model.EncodeTopic(model.TopicAssignment{Version: 3, ID: ts[i].ID, Partitions: ts[i].Partitions})})
		}
		if _, err := e.fenced("set_topic_ids", ops); err != nil {
			return err
		}
	}
	for i := range ts {
		if ts[i].ID.IsZero() {
			continue
		}
		if err := e.ctx.SetTopicID(ts[i].topic, ts[i].ID); err != nil {
			return illegalf("%v", err)
		}
	}
	return nil
}

// processTopicChange: topics came or went. A topic whose znode somebody else
// deleted is forgotten, and its states stay behind, as in Kafka.
// Kafka: KafkaController.processTopicChange.
func (e *Engine) processTopicChange() error {
	topics, err := e.children(model.TopicsPath, true)
	if err != nil {
		return err
	}
	var added, gone []string
	for _, t := range topics {
		if !e.ctx.KnowsTopic(t) {
			added = append(added, t)
		}
	}
	for t := range e.ctx.Topics() {
		if _, ok := slices.BinarySearch(topics, t.Name); !ok {
			gone = append(gone, t.Name)
		}
	}
	for _, t := range added {
		e.dropGhost(t)
		e.ctx.AddTopic(t)
	}
	assignments, err := e.readNewTopics(added)
	if err != nil {
		return err
	}
	for _, t := range gone {
		e.forgetDeletedOutside(t)
	}
	if err := e.assignTopicIDs(assignments); err != nil {
		return err
	}
	var tps []model.TopicPartition
	for _, a := range assignments {
		for _, p := range a.Partitions {
			tp := model.TP(a.topic, p.Partition)
			if err := e.updateAssignment(tp, p.ReplicaAssignment); err != nil {
				return err
			}
			tps = append(tps, tp)
		}
	}
	e.logf(controllerLogger, model.Info, "new topics: %v, deleted topics: %v, new partitions: %d", added, gone, len(tps))
	return e.onNewPartitionCreation(tps)
}

// forgetDeletedOutside removes a topic from the context and says what that leaves behind.
func (e *Engine) forgetDeletedOutside(topic string) {
	if e.ctx.IsQueued(topic) {
		e.step(&model.Mark{Topic: topic, Set: model.ToBeDeleted, Reason: "its znode was deleted from outside"})
	}
	if states := livingStates(e.ctx.Topic(topic)); states > 0 {
		hence := "a topic of that name created again stays without a leader until the next controller failover; move the role, or run with --mend ghost-states"
		if e.cfg.Mend.GhostStates {
			hence = "they are dropped when a topic of that name is created (--mend ghost-states)"
		}
		e.logf(controllerLogger, model.Warn, "%s was deleted from outside, not by a marker in %s: the states of %d partitions stay in memory: %s", model.TopicPath(topic), model.DeleteTopicsPath, states, hence)
	}
	e.ctx.RemoveTopic(topic)
}

// onNewPartitionCreation takes new partitions and their replicas from
// NonExistent through New to Online. Kafka: KafkaController.onNewPartitionCreation.
func (e *Engine) onNewPartitionCreation(tps []model.TopicPartition) error {
	sortTPs(tps)
	e.logf(controllerLogger, model.Info, "new partition creation callback for %d partitions", len(tps))
	const reason = "new partition"
	if _, err := e.changePartitions(tps, model.NewPartition, 0, reason); err != nil {
		return err
	}
	var rs []model.Replica
	for _, tp := range tps {
		for _, b := range e.ctx.Assignment(tp).Replicas {
			rs = append(rs, model.Replica{TopicPartition: tp, Broker: b})
		}
	}
	if err := e.changeReplicas(rs, model.NewReplica, reason); err != nil {
		return err
	}
	if _, err := e.changePartitions(tps, model.OnlinePartition, model.OfflineStrategy, reason); err != nil {
		return err
	}
	return e.changeReplicas(rs, model.OnlineReplica, reason)
}

// processPartitionModifications: a topic znode was rewritten. Only partitions
// without an assignment in memory are new; every other difference is ignored.
// Kafka: KafkaController.processPartitionModifications.
func (e *Engine) processPartitionModifications(topic string) error {
	path := model.TopicPath(topic)
	r, err := e.call("get_topic", []model.Op{e.getOp(path)})
	if err != nil {
		return err
	}
	var a model.TopicAssignment
	switch r[0].Code {
	case model.CodeOK:
		if a, _, err = model.DecodeTopic(path, r[0].Data); err != nil {
			return err
		}
	case model.CodeNoNode:
	default:
		return &keeperError{r[0].Code, "get " + path}
	}
	var tps []model.TopicPartition
	for _, p := range a.Partitions {
		if tp := model.TP(topic, p.Partition); len(e.ctx.Assignment(tp).Replicas) == 0 {
			tps = append(tps, tp)
		}
	}
	if e.isQueuedForDeletion(topic) {
		if len(tps) == 0 {
			e.logf(controllerLogger, model.Info, "ignoring partition change during topic deletion as no new partitions are added to topic %s", topic)
			return nil
		}
		e.logf(controllerLogger, model.Warn, "skipping adding partitions %v for topic %s since it is currently being deleted", tps, topic)
		return e.restoreAssignment(topic, a)
	}
	if len(tps) == 0 {
		return nil
	}
	grown := []newTopic{{topic: topic, TopicAssignment: a, version: r[0].Stat.Version}}
	if err := e.leaveOutSelf(grown); err != nil {
		return err
	}
	a = grown[0].TopicAssignment
	tps = slices.DeleteFunc(tps, func(tp model.TopicPartition) bool { _, ok := a.Assignment(tp.Partition); return !ok })
	e.logf(controllerLogger, model.Info, "new partitions to be added %v", tps)
	e.dropGhost(topic)
	for _, tp := range tps {
		p, _ := a.Assignment(tp.Partition)
		if err := e.updateAssignment(tp, p); err != nil {
			return err
		}
	}
	return e.onNewPartitionCreation(tps)
}

// restoreAssignment undoes an addition of partitions to a topic that is being
// deleted: only partitions that have a znode stay, as memory has them.
// Kafka: KafkaController.processPartitionModifications (restorePartitionReplicaAssignment).
func (e *Engine) restoreAssignment(topic string, a model.TopicAssignment) error {
	e.logf(controllerLogger, model.Info, "restoring the partition replica assignment for topic %s", topic)
	names, err := e.children(model.TopicPartitionsPath(topic), false)
	if err != nil {
		return err
	}
	var ps []model.PartitionAssignment
	for _, p := range a.Partitions {
		if slices.Contains(names, model.ChildName(model.TopicPartitionPath(model.TP(topic, p.Partition)))) {
			ps = append(ps, model.PartitionAssignment{Partition: p.Partition, ReplicaAssignment: e.ctx.Assignment(model.TP(topic, p.Partition))})
		}
	}
	r, err := e.setTopicAssignment(topic, ps)
	if err != nil {
		return err
	}
	if r.Code != model.CodeOK {
		return &keeperError{r.Code, "set " + model.TopicPath(topic)}
	}
	return nil
}
