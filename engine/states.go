package engine

import (
	"slices"

	"kstate/model"
)

// stateWrite is a record to be written over a partition's state znode.
type stateWrite struct {
	tp     model.TopicPartition
	record model.LeaderAndIsr
}

// getStatesRaw reads the state znodes of partitions.
// Kafka: KafkaZkClient.getTopicPartitionStatesRaw.
func (e *Engine) getStatesRaw(tps []model.TopicPartition) ([]model.OpResult, error) {
	ops := make([]model.Op, len(tps))
	for i, tp := range tps {
		ops[i] = e.getOp(model.TopicPartitionStatePath(tp))
	}
	return e.call("get_state", ops)
}

// decodeState reads one result of getStatesRaw. present is false when the znode
// does not exist or holds bad JSON. The error is a ZooKeeper code, or (with the
// result's code OK) a payload of the wrong shape.
func (e *Engine) decodeState(tp model.TopicPartition, r *model.OpResult) (l model.LeaderIsrAndControllerEpoch, present bool, err error) {
	switch r.Code {
	case model.CodeOK:
		l, present, err = model.DecodePartitionState("", r.Data)
		if err != nil { // only then is the path needed
			l, present, err = model.DecodePartitionState(model.TopicPartitionStatePath(tp), r.Data)
		}
		l.PartitionEpoch = r.Stat.Version
		return l, present, err
	case model.CodeNoNode:
		return l, false, nil
	}
	return l, false, &keeperError{r.Code, "get " + model.TopicPartitionStatePath(tp)}
}

// getStates reads the records of partitions that have one; any other code than
// NONODE, and any payload of the wrong shape, is an error.
// Kafka: KafkaZkClient.getTopicPartitionStates.
func (e *Engine) getStates(tps []model.TopicPartition) (map[model.TopicPartition]*model.LeaderIsrAndControllerEpoch, error) {
	results, err := e.getStatesRaw(tps)
	if err != nil {
		return nil, err
	}
	out := make(map[model.TopicPartition]*model.LeaderIsrAndControllerEpoch, len(tps))
	for i, tp := range tps {
		l, present, err := e.decodeState(tp, &results[i])
		if err != nil {
			return nil, err
		}
		if present {
			out[tp] = &l
		}
	}
	return out, nil
}

// cacheStates reads records into the context; partitions without one are left alone.
// Kafka: KafkaController.updateLeaderAndIsrCache.
func (e *Engine) cacheStates(tps []model.TopicPartition) error {
	results, err := e.getStatesRaw(tps)
	if err != nil {
		return err
	}
	records := make([]*model.LeaderIsrAndControllerEpoch, len(tps))
	for i, tp := range tps { // all of them, before any is cached
		l, present, err := e.decodeState(tp, &results[i])
		if err != nil {
			return err
		}
		if present {
			records[i] = &l
		}
	}
	for i, tp := range tps {
		if records[i] != nil {
			if err := e.putLeadership(tp, records[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// putLeadership caches a record. Where the partition has a record, Kafka compares
// its leader with the first assigned replica, and throws when there is none: for an
// empty assignment, and for a partition that is not assigned at all. The record is
// cached all the same. Kafka: ControllerContext.putPartitionLeadershipInfo, hasPreferredLeader.
func (e *Engine) putLeadership(tp model.TopicPartition, l *model.LeaderIsrAndControllerEpoch) error {
	e.ctx.PutLeadership(tp, l)
	return e.preferredReplicaMissing(tp)
}

// updateAssignment records an assignment, and throws as putLeadership does: for
// an empty one, and where an empty one was before.
// Kafka: ControllerContext.updatePartitionFullReplicaAssignment.
func (e *Engine) updateAssignment(tp model.TopicPartition, a model.ReplicaAssignment) error {
	p := e.ctx.Partition(tp)
	wasEmpty := p != nil && p.Assignment != nil && len(p.Assignment.Replicas) == 0
	e.ctx.UpdateAssignment(tp, a)
	if wasEmpty {
		return e.noPreferredReplica(tp)
	}
	return e.preferredReplicaMissing(tp)
}

func (e *Engine) preferredReplicaMissing(tp model.TopicPartition) error {
	if a := e.ctx.Partition(tp).Assignment; a != nil && len(a.Replicas) > 0 {
		return nil
	}
	return e.noPreferredReplica(tp)
}

// noPreferredReplica is what Kafka throws on comparing the leader with the first
// of no replicas; it compares only what leads and is not being deleted.
func (e *Engine) noPreferredReplica(tp model.TopicPartition) error {
	if e.ctx.Partition(tp).Leadership == nil || e.ctx.IsQueued(tp.Topic) {
		return nil
	}
	return &missingValue{"the preferred replica of " + tp.String() + ", which has a leadership record and no replicas,"}
}

// createStates creates state znodes in three fenced waves: the topics'
// partitions znodes, the partitions' znodes, the state znodes. Only the results
// of the last wave count. Kafka: KafkaZkClient.createTopicPartitionStatesRaw.
func (e *Engine) createStates(tps []model.TopicPartition, records []*model.LeaderIsrAndControllerEpoch) ([]model.OpResult, error) {
	var topics, partitions, states []model.Op
	for i, tp := range tps {
		if i == 0 || tps[i-1].Topic != tp.Topic {
			topics = append(topics, model.Op{Kind: model.OpCreate, Path: model.TopicPartitionsPath(tp.Topic)})
		}
		partitions = append(partitions, model.Op{Kind: model.OpCreate, Path: model.TopicPartitionPath(tp)})
		states = append(states, model.Op{Kind: model.OpCreate, Path: model.TopicPartitionStatePath(tp), Data: model.EncodePartitionState(*records[i])})
	}
	if _, err := e.fenced("create_topic_partitions", topics); err != nil {
		return nil, err
	}
	if _, err := e.fenced("create_topic_partition", partitions); err != nil {
		return nil, err
	}
	return e.fenced("create_state", states)
}

// updateLeaderAndIsr writes records, each if its znode still has the version
// that the record was read at. Finished ones have the new version or an error;
// retry are those whose version had moved. The error is always that the
// controller moved. Kafka: KafkaZkClient.updateLeaderAndIsr.
func (e *Engine) updateLeaderAndIsr(writes []stateWrite) (outcomes, []model.TopicPartition, error) {
	ops := make([]model.Op, len(writes))
	for i, w := range writes {
		ops[i] = model.Op{Kind: model.OpSet, Path: model.TopicPartitionStatePath(w.tp), Version: w.record.PartitionEpoch,
			Data: model.EncodePartitionState(model.LeaderIsrAndControllerEpoch{LeaderAndIsr: w.record, ControllerEpoch: e.ctx.Epoch})}
	}
	out := make(outcomes, len(writes))
	results, err := e.fenced("update_state", ops)
	if moved(err) {
		return nil, nil, err
	}
	if err != nil {
		for _, w := range writes {
			out[w.tp] = outcome{err: err}
		}
		return out, nil, nil
	}
	var retry []model.TopicPartition
	for i, w := range writes {
		switch results[i].Code {
		case model.CodeOK:
			out[w.tp] = outcome{record: w.record.WithPartitionEpoch(results[i].Stat.Version)}
		case model.CodeBadVersion:
			retry = append(retry, w.tp)
		default:
			out[w.tp] = outcome{err: &keeperError{results[i].Code, "set " + model.TopicPartitionStatePath(w.tp)}}
		}
	}
	return out, retry, nil
}

// topicConfig is what an election needs of a topic's effective config.
type topicConfig struct {
	unclean bool
	err     error // the znode could not be read
}

// topicConfigs reads the effective configs of topics: the broker's own settings
// overlaid by the topic's. A setting that does not parse is an error of the
// whole look-up. Kafka: KafkaZkClient.getLogConfigs.
func (e *Engine) topicConfigs(topics []string) (map[string]topicConfig, error) {
	out := make(map[string]topicConfig, len(topics))
	ops := make([]model.Op, len(topics))
	for i, t := range topics {
		ops[i] = e.getOp(model.TopicConfigPath(t))
	}
	results, err := e.call("get_config", ops)
	if err != nil {
		for _, t := range topics {
			out[t] = topicConfig{err: err}
		}
		return out, nil
	}
	for i, t := range topics {
		var overrides map[string]string
		switch results[i].Code {
		case model.CodeOK:
			if overrides, err = model.DecodeConfig(model.TopicConfigPath(t), results[i].Data); err != nil {
				return nil, err
			}
		case model.CodeNoNode:
		default:
			out[t] = topicConfig{err: &keeperError{results[i].Code, "get " + model.TopicConfigPath(t)}}
			continue
		}
		unclean, err := EffectiveUnclean(e.cfg.BrokerConfig, overrides)
		if err != nil {
			return nil, err
		}
		out[t] = topicConfig{unclean: unclean}
	}
	return out, nil
}

// deleteRecursive deletes a znode and everything below it, depth first, each
// delete fenced. A missing root is not an error. Kafka: KafkaZkClient.deleteRecursive.
func (e *Engine) deleteRecursive(path string) error {
	r, err := e.call("children", []model.Op{{Kind: model.OpChildren, Path: path}})
	if err != nil {
		return err
	}
	switch r[0].Code {
	case model.CodeOK:
	case model.CodeNoNode:
		return nil
	default:
		return &keeperError{r[0].Code, "children " + path}
	}
	for _, child := range r[0].Children {
		if err := e.deleteRecursive(path + "/" + child); err != nil {
			return err
		}
	}
	return e.deleteFenced("delete", []string{path}, true)
}

// deleteFenced deletes znodes whatever their version. With strict, a code other
// than OK and NONODE is an error; otherwise codes are not looked at.
func (e *Engine) deleteFenced(purpose string, paths []string, strict bool) error {
	ops := make([]model.Op, len(paths))
	for i, p := range paths {
		ops[i] = model.Op{Kind: model.OpDelete, Path: p, Version: model.AnyVersion}
	}
	results, err := e.fenced(purpose, ops)
	if err != nil || !strict {
		return err
	}
	for i, r := range results {
		if r.Code != model.CodeOK && r.Code != model.CodeNoNode {
			return &keeperError{r.Code, "delete " + paths[i]}
		}
	}
	return nil
}

// deleteMarkers deletes the delete markers of topics. Kafka: KafkaZkClient.deleteTopicDeletions.
func (e *Engine) deleteMarkers(topics []string) error {
	paths := make([]string, len(topics))
	for i, t := range topics {
		paths[i] = model.DeleteTopicPath(t)
	}
	return e.deleteFenced("delete_topic_deletions", paths, false)
}

// setTopicAssignment writes a topic znode, whatever its version.
// Kafka: KafkaZkClient.setTopicAssignmentRaw.
func (e *Engine) setTopicAssignment(topic string, ps []model.PartitionAssignment) (model.OpResult, error) {
	var id model.Uuid
	if t := e.ctx.Topic(topic); t != nil {
		id = t.ID
	}
	slices.SortFunc(ps, func(a, b model.PartitionAssignment) int { return int(a.Partition) - int(b.Partition) })
	r, err := e.fenced("set_topic_assignment", []model.Op{{Kind: model.OpSet, Path: model.TopicPath(topic), Version: model.AnyVersion,
		Data: model.EncodeTopic(model.TopicAssignment{Version: 3, ID: id, Partitions: ps})}})
	if err != nil {
		return model.OpResult{}, err
	}
	return r[0], nil
}

// createRecursive creates a znode, unfenced; missing parents are made with null
// data. It returns the code of the znode itself. Kafka: KafkaZkClient.createRecursive.
func (e *Engine) createRecursive(purpose, path string, data []byte) (model.Code, error) {
	create := func() (model.Code, error) {
		r, err := e.call(purpose, []model.Op{{Kind: model.OpCreate, Path: path, Data: data}})
		if err != nil {
			return 0, err
		}
		return r[0].Code, nil
	}
	code, err := create()
	if err != nil || code != model.CodeNoNode || model.ParentPath(path) == "/" {
		return code, err
	}
	code, err = e.createRecursive(purpose, model.ParentPath(path), nil)
	if err != nil || code != model.CodeOK && code != model.CodeNodeExists {
		return code, err
	}
	return create()
}
