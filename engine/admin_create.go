package engine

import (
	"fmt"
	"maps"
	"slices"

	"kstate/model"
)

// failKafka makes a failure with an error code.
func failKafka(code model.KafkaError, format string, args ...any) error {
	return &kafkaFailure{code, fmt.Sprintf(format, args...)}
}

// explain is the code and text that a failure is answered with.
func explain(err error) (model.KafkaError, string) {
	if err == nil {
		return model.ErrNone, ""
	}
	if k, ok := err.(*kafkaFailure); ok {
		return k.code, k.why
	}
	return kafkaErrorOf(err), err.Error()
}

// createTopics serves a CreateTopics request; it answers when every created
// partition has a leader, or the time is over.
// Kafka: KafkaApis.handleCreateTopicsRequest, ZkAdminManager.createTopics.
func (e *Engine) createTopics(id uint64, a *model.CreateTopics) {
	out := &model.CreateTopicsAnswer{Topics: make([]model.CreatedTopic, len(a.Topics))}
	made := map[string]int32{} // topic -> partitions
	named := map[string]int{}
	for _, t := range a.Topics {
		named[t.Topic]++
	}
	for i := range a.Topics {
		t := &a.Topics[i]
		r := &out.Topics[i]
		r.Topic = t.Topic
		var err error
		switch {
		case !e.IsActive():
			r.Error = model.ErrNotController
			continue
		case named[t.Topic] > 1:
			err = failKafka(model.ErrInvalidRequest, "found multiple entries for this topic")
		case t.Denied:
			err = failKafka(model.ErrTopicAuthorizationFailed, "Authorization failed.")
		default:
			err = e.createTopic(t, &a.Mutation, a.ValidateOnly, r, &out.ThrottleMillis)
		}
		if r.Error, r.Message = explain(err); err == nil {
			made[t.Topic] = r.Partitions
		}
	}
	if a.ValidateOnly || len(made) == 0 {
		e.reply(id, out)
		return
	}
	e.afterCreation(id, a.TimeoutMillis, made, func(late map[string]bool) model.Answer {
		for i := range out.Topics {
			timeOut(&out.Topics[i].Error, late[out.Topics[i].Topic])
		}
		return out
	})
}

// timeOut turns a success that came too late into an error.
func timeOut(code *model.KafkaError, late bool) {
	if late && *code == model.ErrNone {
		*code = model.ErrRequestTimedOut
	}
}

// afterCreation answers once all partitions of the topics have a leader. With no
// time to wait the answer says so, although the topics are there.
func (e *Engine) afterCreation(id uint64, timeoutMillis int32, made map[string]int32, answer func(map[string]bool) model.Answer) {
	d := &delayed{id: id, topics: sortedKeys(made), answer: answer}
	d.done = func(topic string) bool {
		for p := range made[topic] {
			if !e.metadata.led(topic, p) {
				return false
			}
		}
		return true
	}
	e.awaitOrTimeOut(d, timeoutMillis)
}

func (e *Engine) awaitOrTimeOut(d *delayed, timeoutMillis int32) {
	if timeoutMillis > 0 {
		e.await(d, timeoutMillis)
		return
	}
	late := map[string]bool{}
	for _, t := range d.topics {
		late[t] = true
	}
	e.reply(d.id, d.answer(late))
}

// createTopic judges and writes one topic.
func (e *Engine) createTopic(t *model.NewTopic, m *model.Mutation, validateOnly bool, r *model.CreatedTopic, throttle *int32) error {
	if e.metadata.has(t.Topic) {
		return failKafka(model.ErrTopicAlreadyExists, "topic '%s' already exists", t.Topic)
	}
	switch {
	case t.NullConfig:
		return failKafka(model.ErrInvalidRequest, "null value not supported for topic configs")
	case (t.Partitions != -1 || t.ReplicationFactor != -1) && len(t.Assignment) > 0:
		return failKafka(model.ErrInvalidRequest, "both numPartitions or replicationFactor and replicasAssignments were set: both cannot be used at the same time")
	}
	assignment, err := e.newAssignment(t)
	if err != nil {
		return err
	}
	if err := e.validateTopicCreate(t, assignment); err != nil {
		return err
	}
	r.Partitions = int32(len(assignment))
	r.ReplicationFactor = int16(len(assignment[0].Replicas))
	if validateOnly {
		return nil
	}
	refused, wait := e.charge(m, len(assignment))
	*throttle = max(*throttle, wait)
	if refused {
		return failKafka(model.ErrThrottlingQuotaExceeded, "the throttling quota has been exceeded")
	}
	return e.writeNewTopic(t, assignment, r)
}

// newAssignment is the one asked for, or one that the controller chooses among
// the live brokers.
func (e *Engine) newAssignment(t *model.NewTopic) ([]model.PartitionAssignment, error) {
	var out []model.PartitionAssignment
	if len(t.Assignment) > 0 {
		for _, p := range slices.Sorted(maps.Keys(t.Assignment)) {
			out = append(out, model.PartitionAssignment{Partition: p, ReplicaAssignment: model.ReplicaAssignment{Replicas: t.Assignment[p]}})
		}
		return out, nil
	}
	n, factor := t.Partitions, t.ReplicationFactor
	if n == -1 {
		n = e.cfg.NumPartitions
	}
	if factor == -1 {
		factor = e.cfg.ReplicationFactor
	}
	brokers := slices.Clone(e.ctx.Brokers())
	start, shift := e.drawPlaces(t.Topic, len(brokers))
	lists, err := place(brokers, int(n), int(factor), 0, start, shift)
	if err != nil {
		return nil, err
	}
	for p, l := range lists {
		out = append(out, model.PartitionAssignment{Partition: int32(p), ReplicaAssignment: model.ReplicaAssignment{Replicas: l}})
	}
	return out, nil
}

// validateTopicCreate. Kafka: AdminZkClient.validateTopicCreate.
func (e *Engine) validateTopicCreate(t *model.NewTopic, a []model.PartitionAssignment) error {
	if err := model.ValidateTopicName(t.Topic); err != nil {
		return failKafka(model.ErrInvalidTopicException, "%v", err)
	}
	marked, err := e.exists(model.DeleteTopicPath(t.Topic))
	if err != nil {
		return err
	}
	if marked {
		return failKafka(model.ErrTopicAlreadyExists, "topic '%s' is marked for deletion", t.Topic)
	}
	present, err := e.existsUnwatched(model.TopicPath(t.Topic))
	if err != nil {
		return err
	}
	if present {
		return failKafka(model.ErrTopicAlreadyExists, "topic '%s' already exists", t.Topic)
	}
	if model.TopicNameMayCollide(t.Topic) {
		if err := e.refuseCollision(t.Topic); err != nil {
			return err
		}
	}
	for i := range a {
		if len(a[i].Replicas) != len(a[0].Replicas) {
			return failKafka(model.ErrInvalidReplicaAssignment, "all partitions should have the same number of replicas")
		}
	}
	for i := range a {
		if len(slices.Compact(slices.Sorted(slices.Values(a[i].Replicas)))) != len(a[i].Replicas) {
			return failKafka(model.ErrInvalidReplicaAssignment, "duplicate replica assignment found: partition %d is assigned to [%s]", a[i].Partition, model.JoinIDs(a[i].Replicas))
		}
	}
	for i := range a {
		if a[i].Partition != int32(i) {
			return failKafka(model.ErrInvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
	}
	for _, key := range sortedKeys(t.Config) {
		if err := CheckTopicConfig(key, t.Config[key]); err != nil {
			return failKafka(model.ErrInvalidConfig, "%v", err)
		}
	}
	return nil
}

func (e *Engine) refuseCollision(topic string) error {
	topics, err := e.children(model.TopicsPath, false)
	if err != nil {
		return err
	}
	for _, other := range topics {
		if other == topic {
			return failKafka(model.ErrTopicAlreadyExists, "topic '%s' already exists", topic)
		}
		if model.TopicNamesCollide(other, topic) {
			return failKafka(model.ErrInvalidTopicException, "topic '%s' collides with existing topic: %s", topic, other)
		}
	}
	return nil
}

// existsUnwatched looks without arming the watch that a handler on the path would get.
func (e *Engine) existsUnwatched(path string) (bool, error) {
	r, err := e.call("exists", []model.Op{{Kind: model.OpExists, Path: path}})
	if err != nil {
		return false, err
	}
	if r[0].Code != model.CodeOK && r[0].Code != model.CodeNoNode {
		return false, &keeperError{r[0].Code, "exists " + path}
	}
	return r[0].Code == model.CodeOK, nil
}

// writeNewTopic writes config, then assignment; the two are not one transaction.
// Kafka: AdminZkClient.createTopicWithAssignment.
func (e *Engine) writeNewTopic(t *model.NewTopic, a []model.PartitionAssignment, r *model.CreatedTopic) error {
	if err := e.writeTopicConfig(t.Topic, t.Config); err != nil {
		return err
	}
	if e.cfg.IBP.TopicIDs() {
		r.ID = e.step(&model.Draw{For: "the id of " + t.Topic}).ID
	}
	path := model.TopicPath(t.Topic)
	code, err := e.createRecursive("create_topic", path, model.EncodeTopic(model.TopicAssignment{Version: 3, ID: r.ID, Partitions: a}))
	switch {
	case err != nil:
		return err
	case code == model.CodeNodeExists:
		return failKafka(model.ErrTopicAlreadyExists, "topic '%s' already exists", t.Topic)
	case code != model.CodeOK:
		return &keeperError{code, "create " + path}
	}
	return nil
}

// writeTopicConfig sets or creates a topic's config znode; a controller must be
// there, and the set is bound to its znode's version.
// Kafka: KafkaZkClient.setOrCreateEntityConfigs.
func (e *Engine) writeTopicConfig(topic string, config map[string]string) error {
	data, stat, present, err := e.getUnwatched(model.ControllerPath)
	if err != nil {
		return err
	}
	if !present {
		return errControllerMoved
	}
	reg, err := model.DecodeControllerRegistration(model.ControllerPath, data)
	if err != nil {
		return err
	}
	if reg.KRaftEpoch > 0 {
		return errControllerMoved
	}
	path := model.TopicConfigPath(topic)
	value := model.EncodeConfig(config)
	r, err := e.perform(&model.Call{Purpose: "set_config", Atomic: true, Ops: []model.Op{
		{Kind: model.OpCheck, Path: model.ControllerPath, Version: stat.Version},
		{Kind: model.OpSet, Path: path, Version: model.AnyVersion, Data: value}}})
	if err != nil {
		return err
	}
	switch code := firstCode(r); code {
	case model.CodeOK:
		return nil
	case model.CodeNoNode:
		code, err := e.createRecursive("create_config", path, value)
		if err == nil && code != model.CodeOK {
			err = &keeperError{code, "create " + path}
		}
		return err
	default:
		return &keeperError{code, "set " + path}
	}
}

// getUnwatched reads a znode without arming the watch that a handler would get.
func (e *Engine) getUnwatched(path string) (data []byte, stat model.Stat, present bool, err error) {
	r, err := e.call("get", []model.Op{{Kind: model.OpGet, Path: path}})
	if err != nil {
		return nil, stat, false, err
	}
	switch r[0].Code {
	case model.CodeOK:
		return r[0].Data, r[0].Stat, true, nil
	case model.CodeNoNode:
		return nil, stat, false, nil
	}
	return nil, stat, false, &keeperError{r[0].Code, "get " + path}
}
