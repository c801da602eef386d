package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// failer is what a stage needs of a test: *testing.T and *rapid.T have it.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stage is a controller over an in-memory ZooKeeper with brokers that answer
// when the test lets them, watched over by the invariants. Everything on it is
// deterministic.
type stage struct {
	t       failer
	store   *zkserver.Store
	world   *standin.World
	engine  *engine.Engine
	inv     *engine.Invariants
	session map[int32]int64 // of each broker that is up

	hold     bool // answers wait in pending instead of coming at once
	pending  []standin.Sent
	broken   map[int32]model.KafkaError // brokers that answer deletions with an error
	badDirs  map[model.Replica]bool     // what a probe by LeaderAndIsr finds
	refuse   model.KafkaError           // what all requests are refused with
	asks     uint64
	answered map[uint64]int // request -> times
	events   int            // ended
	calls    []*model.Call  // since the last arm
	fault    *injection
	lines    *strings.Builder // every step with its result; nil: not kept
	seq      int
	expired  bool  // the session ended at a fault: the next one begins when all is at rest
	usurper  int64 // session of another controller
	written  int   // state znodes that the controller wrote over
	taken    []model.Step
	stopped  bool // no controller can start any more
	answers  map[uint64]model.Answer
	failed   []error // events that ended with an error
}

// injection is a fault at the n-th call from when it was armed, or at the first
// of a purpose.
type injection struct {
	at      int
	purpose string
	on      *stage
	act     func(c *model.Call) *model.Result
	struck  string // the call that it struck
}

// counting is a random source that is none.
type counting struct{}

func (counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i + 1)
	}
	return len(p), nil
}

var stageClock = time.Date(2024, 10, 25, 0, 0, 0, 0, time.UTC)

// newStage has these brokers, and the controller in its role.
func newStage(t failer, change func(*engine.Config), brokers ...int32) *stage {
	s := bareStage(t, change)
	for _, p := range model.PersistentPaths() {
		s.put(p, nil)
	}
	for _, b := range brokers {
		s.start(b)
	}
	s.begin()
	return s
}

// bareStage has an empty ZooKeeper and a controller that has not begun.
func bareStage(t failer, change func(*engine.Config)) *stage {
	s := &stage{t: t, session: map[int32]int64{}, broken: map[int32]model.KafkaError{}, badDirs: map[model.Replica]bool{}, answered: map[uint64]int{}, answers: map[uint64]model.Answer{}}
	s.store = zkserver.NewStore(zkserver.Options{FirstZxid: 1, Now: func() time.Time { return stageClock }, Random: counting{}})
	s.world = standin.New(standin.Options{Store: s.store, Respond: s.respond, Fault: s.strike})
	cfg := engine.DefaultConfig(1000)
	cfg.AutoRebalance = false
	if change != nil {
		change(&cfg)
	}
	s.engine = engine.New(cfg)
	s.inv = engine.NewInvariants(s.engine, s.read)
	return s
}

func (s *stage) begin() {
	s.world.Push(&model.Started{Session: s.world.Session})
	s.run()
}

// tree is what is in ZooKeeper now.
func (s *stage) tree() []zkserver.Znode {
	var out []zkserver.Znode
	s.store.Walk("/", func(path string, data []byte, stat zkserver.Stat) bool {
		if path != "/" && !strings.HasPrefix(path, "/zookeeper") {
			out = append(out, zkserver.Znode{Path: path, Data: slices.Clone(data), Owner: stat.EphemeralOwner, Version: stat.Version, Czxid: stat.Czxid})
		}
		return true
	})
	return out
}

func (s *stage) read(path string) ([]byte, model.Stat, bool) {
	data, stat, code := s.store.Get(path)
	return data, standin.Stat(stat), code == zkserver.OK
}

func (s *stage) strike(c *model.Call) *model.Result {
	s.calls = append(s.calls, c)
	if s.fault == nil || len(s.calls) != s.fault.at && (s.fault.purpose == "" || s.fault.purpose != c.Purpose) {
		return nil
	}
	f := s.fault
	s.fault = nil
	f.struck = c.Purpose + ": " + c.String()
	return f.act(c)
}

// arm lets a fault strike the at-th call from now on.
func (s *stage) arm(f *injection) { s.calls, s.fault = nil, f }

func (s *stage) respond(broker int32, r model.ControlRequest) (model.ControlResponse, bool) {
	if s.hold {
		s.pending = append(s.pending, standin.Sent{Broker: broker, Request: r})
		return model.ControlResponse{}, false
	}
	return s.answer(broker, r), true
}

// answer is what a broker says: success, or its own error.
func (s *stage) answer(broker int32, r model.ControlRequest) model.ControlResponse {
	out := model.ControlResponse{Error: s.refuse}
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		for _, e := range r.Entries {
			p := model.PartitionError{TopicPartition: e.TopicPartition}
			if s.badDirs[model.Replica{TopicPartition: e.TopicPartition, Broker: broker}] {
				p.Error = model.ErrKafkaStorageError
			}
			out.Partitions = append(out.Partitions, p)
		}
	case *model.StopReplicaRequest:
		for _, e := range r.Entries {
			p := model.PartitionError{TopicPartition: e.TopicPartition}
			if e.Delete {
				p.Error = s.broken[broker]
			}
			if s.refuse != model.ErrNone {
				p.Error = s.refuse
			}
			out.Partitions = append(out.Partitions, p)
		}
	}
	return out
}

// release answers the n-th pending request; later ones of the same broker wait
// for it, so it stands for the broker's oldest.
func (s *stage) release(n int) {
	broker := s.pending[n].Broker
	n = slices.IndexFunc(s.pending, func(x standin.Sent) bool { return x.Broker == broker })
	x := s.pending[n]
	s.pending = slices.Delete(s.pending, n, n+1)
	s.world.Push(&model.Responded{Broker: x.Broker, Request: x.Request, Response: s.answer(x.Broker, x.Request)})
}

// stepLimit is more steps than any history here takes before it rests.
const stepLimit = 20_000

func (s *stage) run() {
	s.t.Helper()
	if s.stopped || s.steps(stepLimit) {
		return
	}
	// Kafka's own dead ends: every new controller fails on the same znode, for ever.
	why := s.complaints()
	s.stopped = strings.Contains(why, "leaderAndIsr path is empty") || strings.Contains(why, "the leadership of")
	if !s.stopped {
		s.t.Fatalf("the controller does not come to rest; at %v; the last errors:\n%s", s.engine.At(), why)
	}
}

// complaints are the last error lines of the controller's log.
func (s *stage) complaints() string {
	var out []string
	for _, x := range slices.Backward(s.taken) {
		if l, ok := x.(*model.Log); ok && l.Level == model.Error {
			if out = append(out, l.Text); len(out) == 5 {
				break
			}
		}
	}
	return strings.Join(out, "\n")
}

// steps takes up to limit steps; it says whether the controller came to rest.
func (s *stage) steps(limit int) bool {
	s.t.Helper()
	for range limit {
		for {
			in, ok := s.world.Next()
			if !ok {
				break
			}
			s.engine.Accept(in)
			s.line("input", in.Of, model.Result{})
		}
		if asides := s.engine.Asides(); len(asides) > 0 {
			r := s.world.Perform(asides[0].Step)
			s.line("aside", asides[0].Step, r)
			s.replied(asides[0].Step)
			s.engine.SettleAside(asides[0].ID, r)
			continue
		}
		step := s.engine.At()
		if step == nil && s.expired {
			s.expired = false
			s.world.Renew()
			continue
		}
		if step == nil {
			return true
		}
		r := s.world.Perform(step)
		s.engine.Settle(r)
		s.line("step", step, r)
		s.replied(step)
		if l, ok := step.(*model.Link); ok && !l.Up {
			s.pending = slices.DeleteFunc(s.pending, func(x standin.Sent) bool { return x.Broker == l.Broker.ID })
		}
		s.count(step, r)
		s.inv.Took(step, r)
	}
	return false
}

func (s *stage) count(step model.Step, r model.Result) {
	switch x := step.(type) {
	case *model.End:
		s.events++
		if x.Err != nil {
			s.failed = append(s.failed, x.Err)
		}
	case *model.Call:
		for i := range r.Ops {
			if x.Purpose == "update_state" && r.Ops[i].Code == model.CodeOK {
				s.written++
			}
		}
	}
}

func (s *stage) replied(step model.Step) {
	s.taken = append(s.taken, step)
	if r, ok := step.(*model.Reply); ok {
		s.answered[r.Ask]++
		s.answers[r.Ask] = r.Answer
	}
}

func (s *stage) line(kind string, what fmt.Stringer, r model.Result) {
	if s.lines == nil {
		return
	}
	fmt.Fprintf(s.lines, "%s %s %d %v", kind, what, r.At, r.Ops)
	if c, ok := what.(*model.Call); ok {
		for i := range c.Ops {
			fmt.Fprintf(s.lines, " %q", c.Ops[i].Data)
		}
	}
	s.lines.WriteByte('\n')
}

// check checks the invariants so far.
func (s *stage) check(doing string) {
	s.t.Helper()
	if b := s.inv.Broken(); len(b) > 0 {
		s.t.Fatalf("%s:\n%s", doing, strings.Join(b, "\n"))
	}
	for id, n := range s.answered {
		if n > 1 {
			s.t.Fatalf("%s: request %d was answered %d times", doing, id, n)
		}
	}
}

// What the outside does.

func (s *stage) apply(op zkserver.Op) zkserver.Code {
	r, _ := s.store.Apply(0, op)
	return r.Code
}

func (s *stage) put(path string, data []byte) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			s.apply(zkserver.Create(path[:i], nil, 0))
		}
	}
	if s.apply(zkserver.Create(path, data, 0)) == zkserver.NodeExists && data != nil {
		s.apply(zkserver.Set(path, data, -1))
	}
}

func (s *stage) has(path string) bool {
	_, code := s.store.Exists(path)
	return code == zkserver.OK
}

func (s *stage) remove(path string) {
	kids, _, _ := s.store.Children(path)
	for _, k := range kids {
		s.remove(path + "/" + k)
	}
	s.apply(zkserver.Delete(path, -1))
}

func (s *stage) up(b int32) bool { return s.session[b] != 0 }

func (s *stage) start(b int32) {
	id, _ := s.store.CreateSession(1 << 40)
	s.session[b] = id
	s.store.Multi(id, []zkserver.Op{zkserver.Create(model.BrokerIDPath(b), nil, zkserver.Ephemeral), zkserver.Set(model.BrokerIDPath(b), brokerData(b, 9092), 0)})
}

func brokerData(b, port int32) []byte {
	return model.EncodeBroker(&model.Broker{ID: b, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: port + b}}}, 5, -1, 1)
}

func (s *stage) kill(b int32) {
	s.store.Expire(s.session[b])
	delete(s.session, b)
}

func (s *stage) bounce(b int32) {
	s.kill(b)
	s.start(b)
}

func assignmentOf(topic string, replicas ...[]int32) model.TopicAssignment {
	a := model.TopicAssignment{Version: 3}
	copy(a.ID[:], topic)
	for i, r := range replicas {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(i), ReplicaAssignment: model.ReplicaAssignment{Replicas: r}})
	}
	return a
}

func (s *stage) create(topic string, replicas ...[]int32) {
	s.put(model.TopicPath(topic), model.EncodeTopic(assignmentOf(topic, replicas...)))
}

// grow adds partitions to what the topic's znode says now.
func (s *stage) grow(topic string, replicas ...[]int32) {
	data, _, ok := s.read(model.TopicPath(topic))
	if !ok {
		return
	}
	a, _, err := model.DecodeTopic(model.TopicPath(topic), data)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	for _, r := range replicas {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(len(a.Partitions)), ReplicaAssignment: model.ReplicaAssignment{Replicas: r}})
	}
	s.apply(zkserver.Set(model.TopicPath(topic), model.EncodeTopic(a), -1))
}

func (s *stage) mark(topic string) { s.put(model.DeleteTopicPath(topic), nil) }

func (s *stage) config(topic, key, value string) {
	s.put(model.TopicConfigPath(topic), model.EncodeConfig(map[string]string{key: value}))
}

func (s *stage) ask(a model.Ask) uint64 {
	s.asks++
	s.world.Push(&model.Asked{ID: s.asks, Ask: a})
	return s.asks
}

// notify leaves a sequential notice.
func (s *stage) notify(parent, prefix string, data []byte) {
	s.seq++
	s.put(fmt.Sprintf("%s/%s%010d", parent, prefix, s.seq), data)
}

// propose lets the leader of a partition propose an ISR, as it knows the state.
func (s *stage) propose(tp model.TopicPartition, isr []int32) {
	v := s.engine.View()
	l, t := v.Leadership(tp), v.Topic(tp.Topic)
	if l == nil || t == nil || v.Broker(l.Leader) == nil || len(isr) == 0 {
		return
	}
	s.ask(&model.AlterPartition{Version: 2, BrokerID: l.Leader, BrokerEpoch: v.Broker(l.Leader).Epoch, Partitions: []model.AlterPartitionEntry{{
		TopicPartition: tp, TopicID: t.ID, ISR: isr, LeaderEpoch: l.LeaderEpoch, PartitionEpoch: l.PartitionEpoch}}})
}

// follow writes an ISR as a leader of an old inter-broker protocol does, and
// leaves the notice of it.
func (s *stage) follow(tp model.TopicPartition, isr []int32) {
	path := model.TopicPartitionStatePath(tp)
	data, stat, ok := s.read(path)
	if !ok {
		return
	}
	if l, present, err := model.DecodePartitionState(path, data); err == nil && present && slices.Contains(isr, l.Leader) {
		l.ISR = isr
		s.apply(zkserver.Set(path, model.EncodePartitionState(l), stat.Version))
		s.notify(model.IsrChangeNotificationPath, "isr_change_", model.EncodeIsrChange([]model.TopicPartition{tp}))
	}
}

// renew gives the controller a new session: it resigns and runs for the role again.
func (s *stage) renew() {
	s.world.Expire()
	s.run()
	s.world.Renew()
	s.run()
}
