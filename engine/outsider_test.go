package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// newOutsider is a controller that is no broker, id 1000, with a registered broker
// for each id. before runs when the brokers are there.
func newOutsider(t *testing.T, change func(*engine.Config), before func(*cluster), brokers ...int32) *cluster {
	c := &cluster{t: t, store: zkserver.NewStore(zkserver.Options{FirstZxid: 1}), session: map[int32]int64{}}
	for _, p := range model.PersistentPaths() {
		c.put(p, nil)
	}
	c.world = standin.New(standin.Options{Store: c.store, Respond: success})
	for _, b := range brokers {
		c.start(b)
	}
	if before != nil {
		before(c)
	}
	cfg := engine.DefaultConfig(1000)
	cfg.AutoRebalance = false
	cfg.Self = &model.Broker{ID: 1000, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9999}}}
	if change != nil {
		change(&cfg)
	}
	c.engine = engine.New(cfg)
	t.Cleanup(c.engine.Close)
	c.driver = &debugger.Driver{Engine: c.engine, Env: c.world, Next: c.world.Next,
		Each: func(s model.Step, _ model.Result) { c.steps = append(c.steps, s) }}
	c.world.Push(&model.Started{Session: c.world.Session})
	c.run()
	return c
}

// topic is what the topic's znode says.
func (c *cluster) topic(name string) model.TopicAssignment {
	c.t.Helper()
	data, _, code := c.store.Get(model.TopicPath(name))
	if code != zkserver.OK {
		c.t.Fatalf("topic %s: %v", name, code)
	}
	a, _, err := model.DecodeTopic(model.TopicPath(name), data)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

func replicasOf(a model.TopicAssignment) [][]int32 {
	var out [][]int32
	for _, p := range a.Partitions {
		out = append(out, p.Replicas)
	}
	return out
}

// Brokers that create topics by themselves choose among all that are listed.
func TestAControllerThatIsNoBrokerHoldsNoReplica(t *testing.T) {
	c := newOutsider(t, nil, nil, 1, 2, 3)
	c.create("t", []int32{1000, 1}, []int32{2, 1000, 3}, []int32{1, 2}, []int32{1000}, []int32{3, 1, 2, 1000})
	c.run()
	a := c.topic("t")
	want := [][]int32{{3, 1}, {2, 1, 3}, {1, 2}, {2}, {3, 1, 2}}
	if got := replicasOf(a); !slices.EqualFunc(got, want, slices.Equal) || a.ID.IsZero() {
		t.Errorf("replicas %v of %v, want %v", got, a.ID, want)
	}
	if n := c.engine.View().PartitionCounts[model.OnlinePartition]; n != 5 {
		t.Errorf("%d partitions are online\n%s", n, c.lines("log"))
	}
	if text := c.lines("move replica"); strings.Contains(text, "1000") {
		t.Errorf("a replica on the controller moved:\n%s", text)
	}
	for _, s := range c.steps {
		if call, ok := s.(*model.Call); ok && call.Purpose == "leave_out_controller" && !call.Fenced {
			t.Error("the topic is rewritten without a fence")
		}
		if _, ok := s.(*model.MovePartition); ok {
			break
		}
	}

	// The same of partitions that are added.
	grown := c.topic("t")
	grown.Partitions = append(grown.Partitions, model.PartitionAssignment{Partition: 5, ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{1000, 2}}})
	c.store.Apply(0, zkserver.Set(model.TopicPath("t"), model.EncodeTopic(grown), zkserver.AnyVersion))
	c.run()
	if got := replicasOf(c.topic("t"))[5]; slices.Contains(got, 1000) || len(got) != 2 || c.engine.View().PartitionCounts[model.OnlinePartition] != 6 {
		t.Errorf("the added partition is on %v", got)
	}

	// What it creates itself leaves it out.
	c.ask(7, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{{Topic: "own", Partitions: 6, ReplicationFactor: 3}}})
	for _, r := range replicasOf(c.topic("own")) {
		if slices.Contains(r, 1000) {
			t.Errorf("own assignment %v", r)
		}
	}
}

// The topic znode changes between reading and mending it.
func TestLeavingOutMeetsAnotherWriter(t *testing.T) {
	c := newOutsider(t, nil, nil, 1, 2)
	raced := false
	c.world.Fault = func(call *model.Call) *model.Result {
		if call.Purpose == "leave_out_controller" && !raced {
			raced = true
			a := c.topic("t")
			a.Partitions[0].Replicas = []int32{1000, 1}
			c.store.Apply(0, zkserver.Set(model.TopicPath("t"), model.EncodeTopic(a), zkserver.AnyVersion))
		}
		return nil
	}
	c.create("t", []int32{1000})
	c.run()
	if got := replicasOf(c.topic("t"))[0]; !raced || !slices.Equal(got, []int32{2, 1}) {
		t.Errorf("replicas %v", got)
	}
}

// Without a configured protocol the first brokers say what it is; until then none
// gets a request.
func TestTheProtocolIsWhatBrokersSpeak(t *testing.T) {
	c := newOutsider(t, func(cfg *engine.Config) { cfg.IBP, cfg.RegisterForOldBrokers = model.NoIBP, true }, nil)
	if _, code := c.store.Exists(model.FeaturePath); code != zkserver.NoNode || !c.engine.IsActive() {
		t.Fatalf("active %v, %s: %v", c.engine.IsActive(), model.FeaturePath, code)
	}
	c.start(1)
	c.start(2)
	c.create("t", []int32{1, 2})
	c.run()
	if text := c.lines("ask brokers"); !strings.HasSuffix(text, "ask brokers [1,2] what they speak\n") || len(c.world.Sent) > 0 {
		t.Fatalf("%s; sent %v", text, c.world.Sent)
	}
	c.world.Push(&model.ProtocolLearned{IBP: model.IBP_2_4_IV1})
	c.run()
	if v := c.engine.View(); v.PartitionCounts[model.OnlinePartition] != 1 {
		t.Fatalf("counts %v", v.PartitionCounts)
	}
	for _, s := range c.world.Sent {
		if q, ok := s.Request.(*model.LeaderAndIsrRequest); ok && q.Version != 4 {
			t.Errorf("LeaderAndIsr of version %d", q.Version)
		}
	}
	// Brokers of that age look the controller up among the brokers.
	data, st, code := c.store.Get(model.BrokerIDPath(1000))
	reg, err := model.DecodeBroker(model.BrokerIDPath(1000), data)
	if code != zkserver.OK || err != nil || st.EphemeralOwner != c.world.Session || reg.Version != 4 || reg.Endpoints[0].Port != 9999 {
		t.Fatalf("registration %v %v %+v", code, err, reg)
	}
	if ids := c.engine.View().LiveOrShuttingDown(); !slices.Equal(ids, []int32{1, 2}) {
		t.Errorf("live brokers %v", ids)
	}
	c.world.Push(&model.ProtocolLearned{IBP: model.IBP_3_9_IV0}) // it is fixed
	c.run()
	if got := c.engine.Config().IBP; got != model.IBP_2_4_IV1 {
		t.Errorf("the protocol became %v", got)
	}
	// A new session registers anew.
	c.world.Expire()
	c.run()
	c.world.Renew()
	c.run()
	if _, st, code := c.store.Get(model.BrokerIDPath(1000)); code != zkserver.OK || st.EphemeralOwner != c.world.Session || !c.engine.IsActive() {
		t.Errorf("after the new session: %v, owner %d, active %v", code, st.EphemeralOwner, c.engine.IsActive())
	}
}

// Where brokers are already there, it runs for the role when they have answered:
// taking over without them would take their leadership away.
func TestItDoesNotTakeOverWithoutTheProtocol(t *testing.T) {
	c := newOutsider(t, func(cfg *engine.Config) { cfg.IBP = model.NoIBP }, nil, 1, 2)
	if c.engine.IsActive() || c.lines("ask brokers") != "ask brokers [1,2] what they speak\n" {
		t.Fatalf("active %v\n%s", c.engine.IsActive(), c.lines(""))
	}
	c.world.Push(&model.ProtocolLearned{IBP: model.IBP_2_8_IV1})
	c.run()
	if !c.engine.IsActive() || len(c.world.Sent) == 0 {
		t.Fatalf("active %v, sent %v", c.engine.IsActive(), c.world.Sent)
	}
}

func TestABrokerTakesTheControllersID(t *testing.T) {
	c := newOutsider(t, nil, nil, 1)
	c.start(1000)
	c.run()
	if c.engine.IsActive() || c.engine.Barred() == nil {
		t.Fatalf("active %v, barred %v", c.engine.IsActive(), c.engine.Barred())
	}
	if _, code := c.store.Exists(model.ControllerPath); code != zkserver.NoNode {
		t.Errorf("/controller: %v", code)
	}
	if err := c.engine.Barred().Error(); !strings.Contains(err, "a broker with id 1000 has registered") {
		t.Error(err)
	}
}

func TestTakingOver(t *testing.T) {
	hold := func(data []byte) func(*cluster) {
		return func(c *cluster) {
			c.put(model.ControllerEpochPath, []byte("7"))
			s, _ := c.store.CreateSession(time.Hour)
			c.store.Apply(s, zkserver.Create(model.ControllerPath, data, zkserver.Ephemeral))
		}
	}
	broker := hold(model.EncodeController(2, 1, 1, -1))
	waits := newOutsider(t, nil, broker, 1)
	if waits.engine.IsActive() || waits.engine.ActiveController() != 1 {
		t.Errorf("without being asked to it took over: %d", waits.engine.ActiveController())
	}
	takes := newOutsider(t, func(cfg *engine.Config) { cfg.TakeOver = true }, broker, 1)
	if !takes.engine.IsActive() || takes.engine.Epoch() != 8 {
		t.Errorf("active %v in epoch %d\n%s", takes.engine.IsActive(), takes.engine.Epoch(), takes.lines("log"))
	}
	data, st, _ := takes.store.Get(model.ControllerPath)
	if id, _, err := model.DecodeController(model.ControllerPath, data); id != 1000 || err != nil || st.EphemeralOwner != takes.world.Session {
		t.Errorf("%s is %s", model.ControllerPath, data)
	}
	kraft := newOutsider(t, func(cfg *engine.Config) { cfg.TakeOver = true }, hold(model.EncodeController(2, 3000, 1, 5)), 1)
	if kraft.engine.IsActive() {
		t.Error("a KRaft controller lost the role")
	}
}

// A client that is told of its topic finds it on brokers: most have taken in what
// they were told before the request is answered.
func TestTopicRequestsWaitForBrokers(t *testing.T) {
	c := newOutsider(t, nil, nil, 1, 2, 3)
	var held []standin.Sent
	c.world.Respond = func(b int32, r model.ControlRequest) (model.ControlResponse, bool) {
		if q, ok := r.(*model.UpdateMetadataRequest); ok && len(q.Entries) > 0 {
			held = append(held, standin.Sent{Broker: b, Request: r})
			return model.ControlResponse{}, false
		}
		return success(b, r)
	}
	answered := func(id uint64) bool {
		return slices.ContainsFunc(c.world.Replies, func(r *model.Reply) bool { return r.Ask == id })
	}
	taken := func(n int) {
		for range n {
			c.world.Push(&model.Responded{Broker: held[0].Broker, Request: held[0].Request})
			held = held[1:]
		}
		c.run()
	}
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{{Topic: "t", Partitions: 1, ReplicationFactor: 3}}})
	if answered(1) || len(held) != 3 {
		t.Fatalf("answered %v, told %v", answered(1), held)
	}
	taken(1)
	if answered(1) {
		t.Fatal("answered when one of three brokers knew")
	}
	taken(1)
	if !answered(1) {
		t.Fatal("not answered when two of three brokers knew")
	}
	taken(1)

	// A broker that goes is not waited for.
	c.ask(2, &model.DeleteTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Version: 6, Topics: []model.TopicOrID{{Topic: "t"}}})
	if answered(2) || len(held) < 3 {
		t.Fatalf("answered %v, told %v", answered(2), held)
	}
	c.kill(1)
	c.kill(2)
	c.run()
	if !answered(2) {
		t.Error("it waits for brokers that are gone")
	}

	// The time runs out: the topics are there, and the answer says so.
	c.start(1)
	c.start(2)
	c.run()
	held = nil
	c.ask(3, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{{Topic: "u", Partitions: 1, ReplicationFactor: 1}}})
	c.world.Push(&model.AlarmRang{Name: "request-3"})
	c.run()
	for _, r := range c.world.Replies {
		if a, ok := r.Answer.(*model.CreateTopicsAnswer); ok && r.Ask == 3 && a.Topics[0].Error != model.ErrNone {
			t.Errorf("answered %+v", a)
		}
	}
	if !answered(3) {
		t.Error("no answer after the time")
	}
}
