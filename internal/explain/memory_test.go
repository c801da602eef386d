package explain

import (
	"slices"
	"strings"
	"testing"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// bench is a controller over an in-memory ZooKeeper. Brokers answer with
// success; the deletion of replicas with what answers says, or not at all.
type bench struct {
	t        *testing.T
	store    *zkserver.Store
	world    *standin.World
	engine   *engine.Engine
	driver   *debugger.Driver
	sessions map[int32]int64
	answers  map[int32]model.KafkaError // to deletions, by broker
	silent   map[int32]bool             // brokers that answer no deletion
	refusing map[int32]bool             // brokers that refuse a deletion as a whole
	owed     []model.Stimulus
}

func newBench(t *testing.T, brokers ...int32) *bench {
	b := &bench{t: t, store: zkserver.NewStore(zkserver.Options{FirstZxid: 1}), sessions: map[int32]int64{},
		answers: map[int32]model.KafkaError{}, silent: map[int32]bool{}, refusing: map[int32]bool{}}
	for _, p := range model.PersistentPaths() {
		b.put(p, nil)
	}
	b.world = standin.New(standin.Options{Store: b.store, Respond: b.respond})
	for _, id := range brokers {
		b.start(id)
	}
	cfg := engine.DefaultConfig(1000)
	cfg.AutoRebalance = false
	b.takeOver(cfg)
	return b
}

// takeOver starts a controller anew, in the place of the one before.
func (b *bench) takeOver(cfg engine.Config) {
	b.t.Helper()
	if b.engine != nil {
		b.world.Expire()
		b.engine.Close()
		b.world = standin.New(standin.Options{Store: b.store, Respond: b.respond})
	}
	b.engine = engine.New(cfg)
	b.t.Cleanup(b.engine.Close)
	b.driver = &debugger.Driver{Engine: b.engine, Env: b.world, Next: b.world.Next}
	b.world.Push(&model.Started{})
	b.run()
	if !b.engine.IsActive() {
		b.t.Fatal("not the controller")
	}
}

func (b *bench) respond(broker int32, r model.ControlRequest) (model.ControlResponse, bool) {
	var out model.ControlResponse
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		for _, e := range r.Entries {
			out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: e.TopicPartition})
		}
	case *model.StopReplicaRequest:
		deletes := false
		for _, e := range r.Entries {
			x := model.PartitionError{TopicPartition: e.TopicPartition}
			if e.Delete {
				deletes, x.Error = true, b.answers[broker]
			}
			out.Partitions = append(out.Partitions, x)
		}
		if deletes && b.refusing[broker] {
			return model.ControlResponse{Error: model.ErrStaleBrokerEpoch}, true
		}
		if deletes && b.silent[broker] {
			b.owed = append(b.owed, &model.Responded{Broker: broker, Request: r, Response: out})
			return out, false
		}
	}
	return out, true
}

// pay has the brokers answer what they owe.
func (b *bench) pay() {
	for _, s := range b.owed {
		b.world.Push(s)
	}
	b.owed = nil
	b.run()
}

func (b *bench) run() {
	b.t.Helper()
	if !b.driver.Run(1_000_000) {
		b.t.Fatalf("the controller does not come to rest; at %v", b.engine.At())
	}
}

func (b *bench) put(path string, data []byte) {
	for i := 1; i <= len(path); i++ {
		switch {
		case i == len(path):
			b.store.Apply(0, zkserver.Create(path, data, 0))
		case path[i] == '/':
			b.store.Apply(0, zkserver.Create(path[:i], nil, 0))
		}
	}
}

func (b *bench) start(id int32) {
	s, _ := b.store.CreateSession(1 << 40)
	b.sessions[id] = s
	data := model.EncodeBroker(&model.Broker{ID: id, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092 + id}}}, 5, -1, 1)
	b.store.Multi(s, []zkserver.Op{zkserver.Create(model.BrokerIDPath(id), nil, zkserver.Ephemeral), zkserver.Set(model.BrokerIDPath(id), data, 0)})
}

func (b *bench) kill(id int32) {
	b.store.Expire(b.sessions[id])
	b.run()
}

func (b *bench) create(topic string, replicas ...int32) {
	a := model.TopicAssignment{Version: 3, ID: model.Uuid{1, byte(len(topic))}, Partitions: []model.PartitionAssignment{{ReplicaAssignment: model.ReplicaAssignment{Replicas: replicas}}}}
	b.put(model.TopicPath(topic), model.EncodeTopic(a))
	b.run()
}

// remove takes a topic's znodes away, behind the controller's back.
func (b *bench) remove(topic string) {
	for _, path := range []string{"/partitions/0/state", "/partitions/0", "/partitions", ""} {
		b.store.Apply(0, zkserver.Delete(model.TopicPath(topic)+path, -1))
	}
	b.run()
}

func (b *bench) delete(topic string) {
	b.put(model.DeleteTopicPath(topic), nil)
	b.run()
}

func (b *bench) peek(path string) model.Znode {
	data, stat, code := b.store.Get(path)
	return model.Znode{Path: path, Data: data, Stat: standin.Stat(stat), Missing: code == zkserver.NoNode}
}

func (b *bench) cluster() *Cluster {
	st := model.ControllerStatus{Status: "active", ID: b.engine.ActiveController(), Epoch: b.engine.Epoch(), Self: b.engine.IsActive()}
	m := Memory{View: b.engine.View(), Controller: st, Config: b.engine.Config(), Peek: b.peek}
	for _, br := range m.View.Brokers() {
		m.Channels = append(m.Channels, model.Channel{Broker: br.ID, Connected: true, Depth: len(b.owed)})
	}
	return OfMemory(m)
}

func (b *bench) why(kind model.SubjectKind, name string) *model.Explanation {
	b.t.Helper()
	e := explain(b.t, b.cluster(), kind, name)
	checkJSON(b.t, e)
	for i := range e.Causes {
		for _, ev := range e.Causes[i].Evidence {
			if _, code := b.store.Exists(ev.Path); ev.Path != "" && ev.Missing != (code == zkserver.NoNode) {
				b.t.Errorf("%s: missing %t, but %v", ev.Path, ev.Missing, code)
			}
		}
	}
	return e
}

// expect holds the deletion of topic t against its state, reasons and what blocks it.
func (b *bench) expect(stage, state, reasons, blockedBy string) *model.Explanation {
	b.t.Helper()
	e := b.why(model.TopicSubject, "t")
	var have []string
	for _, r := range e.IneligibleReasons {
		have = append(have, string(r))
	}
	if e.State != state || strings.Join(have, " ") != reasons || strings.Join(e.BlockedBy, " ") != blockedBy || e.Found != (reasons != "") {
		b.t.Errorf("%s: %s, %v, blocked by %v, found %t; want %s, %s, %s\n%+v", stage, e.State, have, e.BlockedBy, e.Found, state, reasons, blockedBy, e.Causes)
	}
	return e
}

// State machine trace S9: a topic is deleted while one of its brokers is down.
func TestDeletionWithABrokerDown(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.create("t", 1, 2, 3)
	if e := b.why(model.TopicSubject, "t"); e.State != deletionNone || e.Found {
		t.Errorf("before: %s, %s", e.State, e.Answer)
	}
	b.kill(3)
	b.silent[1], b.silent[2] = true, true
	b.delete("t")
	e := b.expect("brokers 1 and 2 have not answered", deletionRunning, "offline-replica", "broker:3")
	if v := b.engine.View(); !v.TopicsWithDeletionStarted.Has("t") || v.ReplicaState(model.Replica{TopicPartition: model.TP("t", 0), Broker: 1}) != model.ReplicaDeletionStarted {
		t.Fatalf("the deletion has not started: %+v", e.Facts)
	}
	says := func(e *model.Explanation, text string) bool {
		return slices.ContainsFunc(e.Facts, func(f model.Evidence) bool { return strings.Contains(f.Says, text) })
	}
	if !says(e, "✓ it is queued; ✗ no replica is ReplicaDeletionStarted (2 are); ✗ it is not in topicsIneligibleForDeletion") || !says(e, "1 replica in ReplicaDeletionIneligible; they are taken back to OfflineReplica once") {
		t.Errorf("whether it may start is not said: %+v", e.Facts)
	}
	b.silent[1], b.silent[2] = false, false
	b.pay()
	e = b.expect("1 and 2 have answered", deletionWaiting, "offline-replica", "broker:3")
	if !says(e, "✓ it is queued; ✓ no replica is ReplicaDeletionStarted (0 are); ✗ it is not in topicsIneligibleForDeletion") {
		t.Errorf("whether it may start is not said: %+v", e.Facts)
	}
	if e := b.why(model.BrokerSubject, "3"); !slices.Contains(whats(e), WaitsForBroker) || e.State != "dead" {
		t.Errorf("broker 3: %s, %v", e.State, whats(e))
	}
	if e := b.why(model.ReplicaSubject, "t-0@3"); !e.Found || !slices.Contains(e.BlockedBy, "broker:3") {
		t.Errorf("replica t-0@3: %s", e.Answer)
	}
	b.start(3)
	b.run()
	if s, err := b.cluster().Explain(model.Subject{Kind: model.TopicSubject, Topic: "t"}); err == nil {
		t.Errorf("the topic is deleted, and explained: %s", s.Answer)
	}
}

// State machine trace S10: a broker answers the deletion with a storage error.
func TestDeletionThatABrokerRefuses(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.create("t", 1, 2, 3)
	b.answers[2] = model.ErrKafkaStorageError
	b.silent[1], b.silent[3] = true, true
	b.delete("t")
	e := b.expect("2 has answered", deletionRunning, "replica-deletion-failed", "log-dir:2")
	failed := e.Causes[0]
	if !strings.Contains(failed.Subject, "broker 2 answered the deletion of replica t-0@2 with KAFKA_STORAGE_ERROR") || !strings.Contains(failed.Evidence[0].Says, "ReplicaDeletionIneligible") {
		t.Errorf("which replica answered which error is not said: %+v", failed)
	}
	b.silent[1], b.silent[3] = false, false
	b.pay()
	e = b.expect("all have answered", deletionWaiting, "replica-deletion-failed", "log-dir:2")
	if !strings.Contains(e.Causes[0].Evidence[0].Says, "OfflineReplica") {
		t.Errorf("the replica was retried: %+v", e.Causes[0].Evidence)
	}
	b.kill(2)
	b.expect("broker 2 is down", deletionWaiting, "offline-replica replica-deletion-failed", "broker:2 log-dir:2")
	delete(b.answers, 2)
	b.start(2)
	b.run()
	if b.engine.View().KnowsTopic("t") {
		t.Error("broker 2 is back, and the topic is still there")
	}
}

// Another error than that of a failed disk waits for a restart of the broker.
func TestDeletionThatFailsOtherwise(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	b.answers[2] = model.ErrUnknownServerError
	b.delete("t")
	e := b.expect("2 has answered", deletionWaiting, "replica-deletion-failed", "broker:2")
	if !strings.Contains(e.Causes[0].Resumes[0], "(1,2) starts") {
		t.Errorf("what resumes it: %v", e.Causes[0].Resumes)
	}
}

// A broker dies while its replica is being deleted: the topic is halted by the
// failed deletion, and by the replica that is away.
func TestBrokerDiesDuringDeletion(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	b.silent[2] = true
	b.delete("t")
	b.kill(2)
	b.expect("2 is gone", deletionWaiting, "offline-replica replica-deletion-failed", "broker:2")
}

// An answer that names no partition moves nothing (fact Q9).
func TestDeletionThatIsNeverAnswered(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	b.refusing[2] = true
	b.delete("t")
	e := b.why(model.TopicSubject, "t")
	if !e.Found || e.State != deletionRunning || !slices.Contains(whats(e), ReplicaDeletionUnanswered) {
		t.Errorf("%s, found %t: %+v", e.State, e.Found, e.Causes)
	}
}

// A broker that does not answer is named, with the request, for how long, and what
// waits; not before it has had its time.
func TestDeletionWaitsForASilentBroker(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	b.silent[2] = true
	b.delete("t")
	memory := func(now int64) *Cluster {
		return OfMemory(Memory{View: b.engine.View(), Controller: model.ControllerStatus{Status: "active", ID: 1000, Self: true, Epoch: 1}, Config: b.engine.Config(), Peek: b.peek, Now: now,
			Channels: []model.Channel{{Broker: 1, Connected: true}, {Broker: 2, Connected: true, Depth: 3, Head: "StopReplica t-0 epoch=-2 delete", HeadSince: 1000}}})
	}
	if e := explain(t, memory(1000+model.SilentAfter-1), model.TopicSubject, "t"); e.Found || e.State != deletionRunning {
		t.Errorf("too early: %s, %+v", e.State, e.Causes)
	}
	c := memory(1000 + model.SilentAfter + 4000)
	const says = "broker 2 has not answered StopReplica t-0 epoch=-2 delete for 14 s; the deletion of "
	e := explain(t, c, model.TopicSubject, "t")
	if !e.Found || e.State != deletionRunning || len(e.Causes) != 1 || e.Causes[0].What != BrokerNotAnswering || e.Causes[0].Subject != says+"1 replica waits for it" || !slices.Equal(e.BlockedBy, []string{"broker:2"}) {
		t.Errorf("the topic: %s, blocked by %v: %+v", e.State, e.BlockedBy, e.Causes)
	}
	e = explain(t, c, model.BrokerSubject, "2")
	if !slices.ContainsFunc(e.Causes, func(x model.Cause) bool {
		return x.What == BrokerNotAnswering && x.Subject == says+"1 topic waits for it: t"
	}) {
		t.Errorf("the broker: %+v", e.Causes)
	}
	if e = explain(t, c, model.BrokerSubject, "1"); slices.Contains(whats(e), BrokerNotAnswering) {
		t.Errorf("broker 1 has nothing to answer: %+v", e.Causes)
	}
}

// The state znode is gone when the topic is marked: its replicas cannot be taken
// offline, and nothing says so (fact Q10).
func TestDeletionWithoutAStateZnode(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	b.store.Apply(0, zkserver.Delete(model.TopicPartitionStatePath(model.TP("t", 0)), -1))
	b.run()
	b.delete("t")
	e := b.why(model.TopicSubject, "t")
	if !e.Found || !slices.Contains(whats(e), "no-state-znode") {
		t.Errorf("%s, found %t: %v\n%+v", e.State, e.Found, whats(e), e.Facts)
	}
}

// A mark that outlived its topic halts the next topic of that name (fact Q3).
func TestLeftoverMark(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	cfg := b.engine.Config()
	b.answers[2] = model.ErrUnknownServerError
	b.delete("t")
	b.expect("halted", deletionWaiting, "replica-deletion-failed", "broker:2")
	delete(b.answers, 2)
	b.remove("t")
	b.store.Apply(0, zkserver.Delete(model.DeleteTopicPath("t"), -1))
	b.run()
	if !b.engine.View().TopicsIneligibleForDeletion.Has("t") {
		t.Fatal("the mark went with the topic")
	}
	b.create("t", 1, 2)
	if e := b.why(model.TopicSubject, "t"); !slices.Contains(whats(e), TopicMarkedIneligible) {
		t.Errorf("the mark is not seen: %v", whats(e))
	}
	b.delete("t")
	if e := b.why(model.TopicSubject, "t"); !e.Found || !slices.Contains(whats(e), "replica-deletion-failed") {
		t.Errorf("the mark does not hold: %v, %+v", whats(e), e.Facts)
	}
	b.takeOver(cfg) // the new topic's deletion has completed, or goes on
	if b.engine.View().TopicsIneligibleForDeletion.Has("t") {
		t.Error("the mark outlives the controller")
	}
}

// A topic that goes and comes back unseen keeps its states, and never gets a
// leader (fact Q4).
func TestTopicReplacedFromOutside(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	b.remove("t")
	b.create("t", 1, 2)
	e := b.why(model.PartitionSubject, "t-0")
	if !e.Found || e.State != "OnlinePartition" || !slices.Equal(e.Why, []string{"no-state-znode"}) || !strings.Contains(e.Causes[0].Resumes[0], "another controller") {
		t.Errorf("partition t-0: %s: %+v", e.Answer, e.Causes)
	}
	b.takeOver(b.engine.Config())
	if e := b.why(model.PartitionSubject, "t-0"); e.Found {
		t.Errorf("after a failover: %s", e.Answer)
	}
}

// Offline directories and unclean elections as the memory has them.
func TestPartitionOfAMemory(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	e := b.why(model.PartitionSubject, "t-0")
	if e.Found || e.Availability != available || e.Leadership != preferred || len(e.NotKnown) != 0 || *e.Replicas[0].OfflineDir {
		t.Errorf("at first: %+v", e)
	}
	b.kill(2)
	b.kill(1)
	e = b.why(model.PartitionSubject, "t-0")
	if !e.Found || !slices.Contains(e.Why, "no-live-replica") || !slices.Contains(e.BlockedBy, "broker:1") {
		t.Errorf("without brokers: %v blocked by %v", e.Why, e.BlockedBy)
	}
	b.start(2)
	b.run()
	e = b.why(model.PartitionSubject, "t-0")
	if !slices.Contains(e.Why, "unclean-election-disabled") || !slices.Equal(e.BlockedBy, []string{"broker:1"}) || !e.Replicas[1].Unclean || e.Replicas[1].Clean {
		t.Errorf("with broker 2: %v blocked by %v, %+v", e.Why, e.BlockedBy, e.Replicas)
	}
	if e := b.why(model.LeadershipSubject, ""); !e.Memory || len(e.Balance) != 2 {
		t.Errorf("leadership: %+v", e.Balance)
	}
	if e := b.why(model.ControllerSubject, ""); e.Found || e.State != "active" {
		t.Errorf("controller: %s, %v", e.State, whats(e))
	}
	b.start(1)
	b.run()
	if e := b.why(model.PartitionSubject, "t-0"); e.Found || e.Replicas[0].Leader != true {
		t.Errorf("with both: %s", e.Answer)
	}
}

// A process that is not the controller remembers nothing, and says so.
func TestMemoryOfNoController(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	m := *b.cluster().memory
	m.View = model.NewCluster().Freeze()
	m.Controller = model.ControllerStatus{Status: "active", ID: 1, Epoch: -1}
	for kind, name := range map[model.SubjectKind]string{model.TopicSubject: "t", model.PartitionSubject: "t-0", model.BrokerSubject: "1", model.LeadershipSubject: ""} {
		if e := explain(t, OfMemory(m), kind, name); !e.Undecided || e.Found || !slices.Contains(whats(e), "no-controller") {
			t.Errorf("%s: %s, %v", kind, e.Answer, whats(e))
		}
	}
	if e := explain(t, OfMemory(m), model.ControllerSubject, ""); !e.Found || !strings.Contains(e.Answer, "broker 1") {
		t.Errorf("controller: %s", e.Answer)
	}
}

// What the znodes of the role say stands there even where the memory says
// otherwise: the role was taken from a controller that was held, and has not seen it.
func TestMemoryOfAnEarlierEpoch(t *testing.T) {
	b := newBench(t, 1, 2)
	b.create("t", 1, 2)
	says := func(e *model.Explanation, path string) string {
		for _, f := range e.Facts {
			if f.Path == path {
				return f.Says
			}
		}
		return ""
	}
	nobody := *b.cluster().memory
	nobody.Controller = model.ControllerStatus{Status: "absent", ID: -1, Epoch: -1}
	nobody.Peek = func(path string) model.Znode {
		return model.Znode{Path: path, Data: []byte(`{"version":1,"brokerid":7,"timestamp":"1"}`)}
	}
	if got := says(explain(t, OfMemory(nobody), model.ControllerSubject, ""), model.ControllerPath); got != "the controller: broker 7; the controller remembers nobody" {
		t.Errorf("of one that remembers none: %q", got)
	}
	for _, c := range []struct{ epoch, holder, wantEpoch, wantHolder string }{
		{"1", `{"version":1,"brokerid":1000,"timestamp":"1"}`, "controller epoch 1", "the controller: broker 1000, active"},
		{"2", `{"version":1,"brokerid":1,"timestamp":"1"}`, "controller epoch 2; the controller remembers 1", "the controller: broker 1; the controller remembers broker 1000, active"},
		{"two", `{"version":1}`, "it cannot be read; the controller remembers controller epoch 1", "it cannot be read; the controller remembers broker 1000, active"},
		{"2", `{`, "controller epoch 2; the controller remembers 1", "it cannot be read; the controller remembers broker 1000, active"},
	} {
		m := *b.cluster().memory
		m.Peek = func(path string) model.Znode {
			z := b.peek(path)
			switch path {
			case model.ControllerEpochPath:
				z.Data = []byte(c.epoch)
			case model.ControllerPath:
				z.Data = []byte(c.holder)
			}
			return z
		}
		for kind, name := range map[model.SubjectKind]string{model.ControllerSubject: "", model.PartitionSubject: "t-0"} {
			e := explain(t, OfMemory(m), kind, name)
			if got := says(e, model.ControllerEpochPath); got != c.wantEpoch {
				t.Errorf("%s: the epoch %q: %q, want %q", kind, c.epoch, got, c.wantEpoch)
			}
			if got := says(e, model.ControllerPath); got != c.wantHolder {
				t.Errorf("%s: the holder %s: %q, want %q", kind, c.holder, got, c.wantHolder)
			}
		}
	}
}
