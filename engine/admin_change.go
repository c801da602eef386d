package engine

import (
	"fmt"
	"slices"

	"kstate/model"
)

// deleteTopics serves a DeleteTopics request; it answers when the topics have
// left the metadata, which is long before their deletion is complete.
// Kafka: KafkaApis.handleDeleteTopicsRequest, ZkAdminManager.deleteTopics.
func (e *Engine) deleteTopics(id uint64, a *model.DeleteTopics) {
	out := &model.DeleteTopicsAnswer{Topics: make([]model.DeletedTopic, len(a.Topics))}
	marked := map[string]bool{}
	named := map[model.TopicOrID]int{}
	for _, t := range a.Topics {
		named[t]++
	}
	for i, t := range a.Topics {
		r := &out.Topics[i]
		r.TopicOrID = t
		var access *model.TopicAccess
		if a.Access != nil {
			access = &a.Access[i]
		}
		err := e.nameTopic(&r.TopicOrID, access, a.Version, named[t] > 1)
		if err == nil {
			err = e.deleteTopic(r.Topic, &a.Mutation, &out.ThrottleMillis)
		}
		if r.Error, r.Message = explain(err); err == nil {
			marked[r.Topic] = true
		}
	}
	if len(marked) == 0 {
		e.reply(id, out)
		return
	}
	d := &delayed{id: id, topics: sortedKeys(marked)}
	d.done = func(topic string) bool { return !e.metadata.has(topic) }
	d.answer = func(late map[string]bool) model.Answer {
		for i := range out.Topics {
			timeOut(&out.Topics[i].Error, late[out.Topics[i].Topic])
		}
		return out
	}
	e.awaitOrTimeOut(d, a.TimeoutMillis)
}

// nameTopic finds the name of what is to be deleted, or what is wrong with it.
// access is nil where everything is allowed.
func (e *Engine) nameTopic(t *model.TopicOrID, access *model.TopicAccess, version int16, twice bool) error {
	switch {
	case !e.IsActive():
		return failKafka(model.ErrNotController, "")
	case !e.cfg.DeleteTopicEnable && version < 3:
		return failKafka(model.ErrInvalidRequest, "topic deletion is disabled")
	case !e.cfg.DeleteTopicEnable:
		return failKafka(model.ErrTopicDeletionDisabled, "topic deletion is disabled")
	case t.Topic != "" && !t.ID.IsZero():
		return failKafka(model.ErrInvalidRequest, "topic name and topic ID can not both be specified")
	case twice:
		return failKafka(model.ErrInvalidRequest, "duplicate topic name or topic ID")
	}
	byID := t.Topic == ""
	if byID {
		if t.Topic = e.ctx.TopicName(t.ID); t.Topic == "" || access != nil && access.Topic != t.Topic {
			t.Topic = "" // unknown, or it was when it was judged
			return failKafka(model.ErrUnknownTopicID, "")
		}
	}
	switch {
	case access == nil:
	case byID && !access.Describe: // nor may the name be told
		t.Topic = ""
		return failKafka(model.ErrTopicAuthorizationFailed, "")
	case !access.Delete:
		return failKafka(model.ErrTopicAuthorizationFailed, "")
	}
	if !e.metadata.has(t.Topic) {
		return failKafka(model.ErrUnknownTopicOrPartition, "")
	}
	return nil
}

// deleteTopic creates the marker; one that is there already is fine.
func (e *Engine) deleteTopic(topic string, m *model.Mutation, throttle *int32) error {
	refused, wait := e.charge(m, e.metadata.partitions(topic))
	*throttle = max(*throttle, wait)
	if refused {
		return failKafka(model.ErrThrottlingQuotaExceeded, "the throttling quota has been exceeded")
	}
	present, err := e.existsUnwatched(model.TopicPath(topic))
	if err != nil {
		return err
	}
	if !present {
		return failKafka(model.ErrUnknownTopicOrPartition, "topic '%s' to delete does not exist", topic)
	}
	path := model.DeleteTopicPath(topic)
	code, err := e.createRecursive("create_delete_marker", path, nil)
	if err == nil && code != model.CodeOK && code != model.CodeNodeExists {
		err = &keeperError{code, "create " + path}
	}
	return err
}

// createPartitions serves a CreatePartitions request; it answers when every new
// partition has a leader. Kafka: KafkaApis.handleCreatePartitionsRequest,
// ZkAdminManager.createPartitions.
func (e *Engine) createPartitions(id uint64, a *model.CreatePartitions) {
	out := &model.CreatePartitionsAnswer{Topics: make([]model.TopicResult, len(a.Topics))}
	grown := map[string]int32{}
	named := map[string]int{}
	for _, t := range a.Topics {
		named[t.Topic]++
	}
	var brokers []model.Broker
	var brokersErr error
	if e.IsActive() {
		brokers, brokersErr = e.registeredBrokers()
	}
	for i, t := range a.Topics {
		r := &out.Topics[i]
		r.Topic = t.Topic
		var err error
		switch {
		case !e.IsActive():
			r.Error = model.ErrNotController
			continue
		case named[t.Topic] > 1:
			err = failKafka(model.ErrInvalidRequest, "duplicate topic in request")
		case t.Denied:
			err = failKafka(model.ErrTopicAuthorizationFailed, "The topic authorization is failed.")
		case e.isQueuedForDeletion(t.Topic):
			err = failKafka(model.ErrInvalidTopicException, "the topic is queued for deletion")
		case brokersErr != nil:
			err = brokersErr
		default:
			err = e.growTopic(&a.Topics[i], brokers, a, &out.ThrottleMillis)
		}
		if r.Error, r.Message = explain(err); err == nil {
			grown[t.Topic] = t.Count
		}
	}
	if a.ValidateOnly || len(grown) == 0 {
		e.reply(id, out)
		return
	}
	e.afterCreation(id, a.TimeoutMillis, grown, func(late map[string]bool) model.Answer {
		for i := range out.Topics {
			timeOut(&out.Topics[i].Error, late[out.Topics[i].Topic])
		}
		return out
	})
}

// registeredBrokers reads the brokers from ZooKeeper, not from memory, and arms
// no watch. Kafka: AdminZkClient.getBrokerMetadatas.
func (e *Engine) registeredBrokers() ([]model.Broker, error) {
	names, err := e.children(model.BrokerIDsPath, false)
	if err != nil {
		return nil, err
	}
	return e.readBrokers(names, func(path string) model.Op { return model.Op{Kind: model.OpGet, Path: path} })
}

// growTopic judges and writes one topic.
func (e *Engine) growTopic(t *model.GrownTopic, brokers []model.Broker, a *model.CreatePartitions, throttle *int32) error {
	path := model.TopicPath(t.Topic)
	data, _, present, err := e.getUnwatched(path)
	if err != nil {
		return err
	}
	var existing model.TopicAssignment
	if present {
		if existing, _, err = model.DecodeTopic(path, data); err != nil {
			return err
		}
	}
	for _, p := range existing.Partitions {
		if p.IsBeingReassigned() {
			return failKafka(model.ErrReassignmentInProgress, "a partition reassignment is in progress for the topic '%s'", t.Topic)
		}
	}
	have := len(existing.Partitions)
	more := int(t.Count) - have
	switch {
	case have == 0:
		return failKafka(model.ErrUnknownTopicOrPartition, "the topic '%s' does not exist", t.Topic)
	case more < 0:
		return failKafka(model.ErrInvalidPartitions, "topic currently has %d partitions, which is higher than the requested %d", have, t.Count)
	case more == 0:
		return failKafka(model.ErrInvalidPartitions, "topic already has %d partitions", have)
	}
	lists, err := e.morePartitions(t, &existing, brokers, more)
	if err != nil {
		return err
	}
	if a.ValidateOnly {
		return nil
	}
	refused, wait := e.charge(&a.Mutation, more)
	*throttle = max(*throttle, wait)
	if refused {
		return failKafka(model.ErrThrottlingQuotaExceeded, "the throttling quota has been exceeded")
	}
	for i, l := range lists {
		existing.Partitions = append(existing.Partitions, model.PartitionAssignment{Partition: int32(have + i), ReplicaAssignment: model.ReplicaAssignment{Replicas: l}})
	}
	return e.writePlain("set_topic", model.Op{Kind: model.OpSet, Path: path, Version: model.AnyVersion,
		Data: model.EncodeTopic(model.TopicAssignment{Version: 3, ID: existing.ID, Partitions: existing.Partitions})})
}

// morePartitions is the assignment of the new partitions, asked for or chosen.
// Kafka: AdminZkClient.createNewPartitionsAssignment.
func (e *Engine) morePartitions(t *model.GrownTopic, existing *model.TopicAssignment, brokers []model.Broker, more int) ([][]int32, error) {
	first, ok := existing.Assignment(0)
	if !ok || len(first.Replicas) == 0 {
		return nil, fmt.Errorf("unexpected existing replica assignment for topic '%s': partition id 0 is missing", t.Topic)
	}
	known := brokerIDs(brokers)
	if t.Assignment == nil {
		start := max(0, slices.IndexFunc(known, func(id int32) bool { return id >= first.Replicas[0] }))
		return place(brokers, more, len(first.Replicas), len(existing.Partitions), start, start)
	}
	for _, l := range t.Assignment {
		if unknown := model.Without(l, known); len(unknown) > 0 {
			return nil, failKafka(model.ErrInvalidReplicaAssignment, "unknown broker(s) in replica assignment: %s", model.JoinIDs(unknown))
		}
	}
	if len(t.Assignment) != more {
		return nil, failKafka(model.ErrInvalidReplicaAssignment, "increasing the number of partitions by %d but %d assignments provided", more, len(t.Assignment))
	}
	for i, l := range t.Assignment {
		switch {
		case len(l) == 0:
			return nil, failKafka(model.ErrInvalidReplicaAssignment, "cannot have replication factor of 0 for partition %d", len(existing.Partitions)+i)
		case len(slices.Compact(slices.Sorted(slices.Values(l)))) != len(l):
			return nil, failKafka(model.ErrInvalidReplicaAssignment, "duplicate brokers not allowed in replica assignment: [%s]", model.JoinIDs(l))
		case len(l) != len(first.Replicas):
			return nil, failKafka(model.ErrInvalidReplicaAssignment, "inconsistent replication factor between partitions: partition 0 has %d while partition %d has %d", len(first.Replicas), len(existing.Partitions)+i, len(l))
		}
	}
	return t.Assignment, nil
}
