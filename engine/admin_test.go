package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// ask gives a request to the controller and runs until all rests.
func (c *cluster) ask(id uint64, a model.Ask) {
	c.world.Push(&model.Asked{ID: id, From: "client", Ask: a})
	c.run()
}

// answer is the answer to an ask; nil while there is none.
func (c *cluster) answer(id uint64) model.Answer {
	for _, r := range c.world.Replies {
		if r.Ask == id {
			return r.Answer
		}
	}
	return nil
}

func newTopic(name string, partitions int32, factor int16) model.NewTopic {
	return model.NewTopic{Topic: name, Partitions: partitions, ReplicationFactor: factor}
}

func TestCreateTopicsAnswersWhenLeadersAreThere(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{newTopic("orders", 6, 2)}})
	a, ok := c.answer(1).(*model.CreateTopicsAnswer)
	if !ok || a.Topics[0].Error != model.ErrNone || a.Topics[0].Partitions != 6 || a.Topics[0].ReplicationFactor != 2 || a.Topics[0].ID.IsZero() {
		t.Fatalf("answer %+v", c.answer(1))
	}
	if n := c.engine.View().PartitionCounts[model.OnlinePartition]; n != 6 {
		t.Fatalf("%d partitions online", n)
	}
	if len(c.world.Alarms) != 0 {
		t.Fatalf("alarms left: %v", c.world.Alarms)
	}
	leads := map[int32]int{}
	for p := range int32(6) {
		leads[c.engine.View().Leadership(model.TP("orders", p)).Leader]++
	}
	if leads[1] != 2 || leads[2] != 2 || leads[3] != 2 {
		t.Fatalf("leaders are not spread: %v", leads)
	}
}

func TestCreateTopicsRefusals(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.create("here", []int32{1})
	c.create("dot.ted", []int32{1})
	c.run()
	c.put(model.DeleteTopicPath("marked"), nil) // dropped by the controller: the topic is unknown
	cases := []struct {
		topic model.NewTopic
		want  model.KafkaError
	}{
		{newTopic("here", 1, 1), model.ErrTopicAlreadyExists},
		{newTopic("bad name", 1, 1), model.ErrInvalidTopicException},
		{newTopic("dot_ted", 1, 1), model.ErrInvalidTopicException},
		{newTopic("zero", 0, 1), model.ErrInvalidPartitions},
		{newTopic("wide", 1, 4), model.ErrInvalidReplicationFactor},
		{newTopic("none", 1, 0), model.ErrInvalidReplicationFactor},
		{model.NewTopic{Topic: "both", Partitions: 1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {1}}}, model.ErrInvalidRequest},
		{model.NewTopic{Topic: "dup", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {1, 1}}}, model.ErrInvalidReplicaAssignment},
		{model.NewTopic{Topic: "uneven", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {1}, 1: {1, 2}}}, model.ErrInvalidReplicaAssignment},
		{model.NewTopic{Topic: "gap", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {1}, 2: {1}}}, model.ErrInvalidReplicaAssignment},
		{model.NewTopic{Topic: "conf", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"no.such": "1"}}, model.ErrInvalidConfig},
		{model.NewTopic{Topic: "conf2", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "soon"}}, model.ErrInvalidConfig},
		{model.NewTopic{Topic: "null", Partitions: 1, ReplicationFactor: 1, NullConfig: true}, model.ErrInvalidRequest},
	}
	for i, x := range cases {
		id := uint64(100 + i)
		c.ask(id, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{x.topic}})
		if got := c.answer(id).(*model.CreateTopicsAnswer).Topics[0]; got.Error != x.want {
			t.Errorf("%s: %v %q, want %v", x.topic.Topic, got.Error, got.Message, x.want)
		}
		if _, code := c.store.Exists(model.TopicPath(x.topic.Topic)); x.topic.Topic != "here" && code == zkserver.OK {
			t.Errorf("%s was created", x.topic.Topic)
		}
	}
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{newTopic("twice", 1, 1), newTopic("twice", 1, 1)}})
	for _, r := range c.answer(1).(*model.CreateTopicsAnswer).Topics {
		if r.Error != model.ErrInvalidRequest {
			t.Errorf("a topic named twice: %v", r.Error)
		}
	}
}

func TestValidateOnlyWritesNothing(t *testing.T) {
	c := newCluster(t, 1)
	c.ask(1, &model.CreateTopics{ValidateOnly: true, Topics: []model.NewTopic{newTopic("a", 1, 1)}})
	if r := c.answer(1).(*model.CreateTopicsAnswer).Topics[0]; r.Error != model.ErrNone {
		t.Fatal(r.Error)
	}
	if _, code := c.store.Exists(model.TopicPath("a")); code != zkserver.NoNode {
		t.Fatal("the topic was created")
	}
	if _, code := c.store.Exists(model.TopicConfigPath("a")); code != zkserver.NoNode {
		t.Fatal("the config was created")
	}
}

func TestWithoutTimeACreationIsAnsweredAsTimedOut(t *testing.T) {
	c := newCluster(t, 1)
	c.ask(1, &model.CreateTopics{Topics: []model.NewTopic{newTopic("a", 1, 1)}})
	if r := c.answer(1).(*model.CreateTopicsAnswer).Topics[0]; r.Error != model.ErrRequestTimedOut {
		t.Fatal(r.Error)
	}
	if !c.engine.View().KnowsTopic("a") {
		t.Fatal("the topic is not there")
	}
}

// A topic on brokers that are not there gets no leader: the answer waits for its
// alarm, and says that the time is over.
func TestACreationWithoutLeadersTimesOut(t *testing.T) {
	c := newCluster(t, 1)
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 500},
		Topics: []model.NewTopic{{Topic: "a", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {7}}}}})
	if c.answer(1) != nil {
		t.Fatalf("answered early: %+v", c.answer(1))
	}
	if len(c.world.Alarms) != 1 {
		t.Fatalf("alarms %v", c.world.Alarms)
	}
	for name := range c.world.Alarms {
		c.world.Push(&model.AlarmRang{Name: name})
	}
	c.run()
	if r := c.answer(1).(*model.CreateTopicsAnswer).Topics[0]; r.Error != model.ErrRequestTimedOut {
		t.Fatal(r.Error)
	}
}

func TestDeleteTopicsAnswersWhenTheMetadataIsGone(t *testing.T) {
	c := newCluster(t, 1, 2)
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{newTopic("a", 2, 2), newTopic("b", 1, 2)}})
	id := c.answer(1).(*model.CreateTopicsAnswer).Topics[1].ID
	c.kill(2)
	c.run()
	c.ask(2, &model.DeleteTopics{Version: 6, Mutation: model.Mutation{TimeoutMillis: 1000},
		Topics: []model.TopicOrID{{Topic: "a"}, {ID: id}, {Topic: "none"}, {ID: model.Uuid{9}}}})
	a, ok := c.answer(2).(*model.DeleteTopicsAnswer)
	if !ok {
		t.Fatal("no answer although the metadata is gone")
	}
	want := []model.KafkaError{model.ErrNone, model.ErrNone, model.ErrUnknownTopicOrPartition, model.ErrUnknownTopicID}
	for i, r := range a.Topics {
		if r.Error != want[i] {
			t.Errorf("%+v, want %v", r, want[i])
		}
	}
	if _, code := c.store.Exists(model.DeleteTopicPath("a")); code != zkserver.OK {
		t.Error("the deletion is complete although a broker is down")
	}
}

func TestCreatePartitions(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{newTopic("a", 1, 2)}})
	grow := func(id uint64, topic string, count int32, lists ...[]int32) model.KafkaError {
		c.ask(id, &model.CreatePartitions{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.GrownTopic{{Topic: topic, Count: count, Assignment: lists}}})
		return c.answer(id).(*model.CreatePartitionsAnswer).Topics[0].Error
	}
	for i, x := range []struct {
		topic string
		count int32
		lists [][]int32
		want  model.KafkaError
	}{
		{"none", 2, nil, model.ErrUnknownTopicOrPartition},
		{"a", 1, nil, model.ErrInvalidPartitions},
		{"a", 0, nil, model.ErrInvalidPartitions},
		{"a", 2, [][]int32{{1, 9}}, model.ErrInvalidReplicaAssignment},
		{"a", 2, [][]int32{{1, 2}, {2, 3}}, model.ErrInvalidReplicaAssignment},
		{"a", 2, [][]int32{{1}}, model.ErrInvalidReplicaAssignment},
		{"a", 2, [][]int32{{1, 1}}, model.ErrInvalidReplicaAssignment},
		{"a", 2, [][]int32{{3, 1}}, model.ErrNone},
		{"a", 4, nil, model.ErrNone},
	} {
		if got := grow(uint64(10+i), x.topic, x.count, x.lists...); got != x.want {
			t.Errorf("%s to %d %v: %v, want %v", x.topic, x.count, x.lists, got, x.want)
		}
	}
	if a := c.engine.View().Assignment(model.TP("a", 1)); !slices.Equal(a.Replicas, []int32{3, 1}) {
		t.Errorf("assignment %v", a)
	}
	if n := c.engine.View().PartitionCounts[model.OnlinePartition]; n != 4 {
		t.Errorf("%d partitions online", n)
	}
}

func TestAnIdleControllerAnswersNotController(t *testing.T) {
	c := newCluster(t, 1)
	c.store.Apply(0, zkserver.Delete(model.ControllerPath, -1))
	c.store.Apply(0, zkserver.Create(model.ControllerPath, model.EncodeController(2, 1, 1, -1), 0))
	c.run()
	c.ask(1, &model.CreateTopics{Topics: []model.NewTopic{newTopic("a", 1, 1)}})
	c.ask(2, &model.DeleteTopics{Version: 6, Topics: []model.TopicOrID{{Topic: "a"}}})
	c.ask(3, &model.CreatePartitions{Topics: []model.GrownTopic{{Topic: "a", Count: 2}}})
	got := []model.KafkaError{c.answer(1).(*model.CreateTopicsAnswer).Topics[0].Error,
		c.answer(2).(*model.DeleteTopicsAnswer).Topics[0].Error, c.answer(3).(*model.CreatePartitionsAnswer).Topics[0].Error}
	for i, e := range got {
		if e != model.ErrNotController {
			t.Errorf("request %d: %v", i+1, e)
		}
	}
}

// Strict requests are refused once the tokens are used up, others only slowed.
func TestMutationQuota(t *testing.T) {
	c := newCluster(t, 1)
	create := func(id uint64, partitions int32, strict bool) (model.KafkaError, int32) {
		m := model.Mutation{From: "u", Rate: 1, Strict: strict, TimeoutMillis: 1000}
		c.ask(id, &model.CreateTopics{Mutation: m, Topics: []model.NewTopic{newTopic(fmt.Sprintf("t%d", id), partitions, 1)}})
		a := c.answer(id).(*model.CreateTopicsAnswer)
		return a.Topics[0].Error, a.ThrottleMillis
	}
	if e, _ := create(1, 20, true); e != model.ErrNone {
		t.Fatalf("the first request: %v", e)
	}
	if e, wait := create(2, 1, true); e != model.ErrThrottlingQuotaExceeded || wait <= 0 {
		t.Fatalf("a strict request beyond the quota: %v, wait %d", e, wait)
	}
	if e, wait := create(3, 1, false); e != model.ErrNone || wait <= 0 {
		t.Fatalf("a permissive request beyond the quota: %v, wait %d", e, wait)
	}
}

// Requests for topics go on while the controller is held inside an event.
func TestTopicRequestsDoNotWaitForTheEventThread(t *testing.T) {
	c := newCluster(t, 1)
	c.store.Apply(0, zkserver.Create(model.IsrChangeNotificationPath+"/isr_change_0000000000", nil, 0))
	for { // take the input, and hold at the event's first step
		in, ok := c.world.Next()
		if !ok {
			break
		}
		c.engine.Accept(in)
	}
	held := c.engine.At()
	if held == nil {
		t.Fatal("no event")
	}
	c.engine.Accept(model.Input{At: c.world.Now, Of: &model.Asked{ID: 1, From: "client",
		Ask: &model.CreateTopics{Topics: []model.NewTopic{newTopic("a", 1, 1)}}}})
	for asides := c.engine.Asides(); len(asides) > 0; asides = c.engine.Asides() {
		c.engine.SettleAside(asides[0].ID, c.world.Perform(asides[0].Step))
	}
	if c.engine.At() != held {
		t.Fatal("the event moved")
	}
	if c.answer(1) == nil {
		t.Fatal("no answer")
	}
	if _, code := c.store.Exists(model.TopicPath("a")); code != zkserver.OK {
		t.Fatal("no topic znode")
	}
}

// With racks, a partition's replicas lie on as many racks as there are.
func TestPlacementByRack(t *testing.T) {
	c := newCluster(t)
	for b, rack := range map[int32]string{1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"} {
		s, _ := c.store.CreateSession(1 << 40)
		data := model.EncodeBroker(&model.Broker{ID: b, Rack: rack, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: b}}}, 5, -1, 1)
		c.store.Multi(s, []zkserver.Op{zkserver.Create(model.BrokerIDPath(b), nil, zkserver.Ephemeral), zkserver.Set(model.BrokerIDPath(b), data, 0)})
	}
	c.run()
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{newTopic("a", 12, 3)}})
	v := c.engine.View()
	leads := map[int32]int{}
	for p := range int32(12) {
		racks := map[string]bool{}
		a := v.Assignment(model.TP("a", p))
		for _, b := range a.Replicas {
			racks[v.Broker(b).Rack] = true
		}
		if len(a.Replicas) != 3 || len(racks) != 3 {
			t.Errorf("partition %d on %v lies on %d racks", p, a.Replicas, len(racks))
		}
		leads[a.Replicas[0]]++
	}
	for b := int32(1); b <= 6; b++ {
		if leads[b] != 2 {
			t.Errorf("broker %d is preferred by %d partitions", b, leads[b])
		}
	}
}
