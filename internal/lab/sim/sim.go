package sim

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"kstate/internal/journal"
	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// Options of a Sim.
type Options struct {
	Seed  uint64
	Steps int       // steps of all controllers together, at most; 0: DefaultSteps
	Plant Plant     // a bug, for tests of the simulation itself
	Trace io.Writer // gets every line of what happens; nil: nobody looks
	// Journal records what the controller with the id Of learns and does;
	// nil: nothing is recorded.
	Journal *journal.Writer
	Of      int32
}

// DefaultSteps is more than any seed takes that comes to rest.
const DefaultSteps = 400_000

// Failure is why a seed failed. Its JSON names are a contract.
type Failure struct {
	Seed       uint64   `json:"seed"`
	What       []string `json:"what"`            // what did not hold, the first first
	Step       int      `json:"step"`            // steps that all controllers together had taken
	Time       int64    `json:"virtual_ms"`      // since the beginning
	Phase      string   `json:"phase"`           // while faults happened, or after healing
	Plan       string   `json:"plan"`            // what kind of cluster and faults the seed drew
	Controller int32    `json:"controller"`      // that did it; else the one that has the role, or the first
	Own        int      `json:"controller_step"` // steps that this controller had taken
}

// Sim is one seed at work.
type Sim struct {
	opt   Options
	plan  plan
	rng   *rand.Rand
	now   int64 // µs since the beginning
	todo  agenda
	store *zkserver.Store

	controllers []*controller
	nodes       []*node
	replication broker.Replication
	operator    *operator
	watch       *watch
	stats       Stats

	asks     uint64
	waiting  []*asked
	steps    int
	healed   bool
	healedAt int64
	lost     map[string]string // topics that the last check left out, and why
	dropped  bool              // a partition without a leader was left out
	mending  bool              // somebody is about to mend a topic's znode
	mended   bool              // everything was restarted after a dead end of Kafka's
	active   int64             // when something last was written, sent or asked
	failure  *Failure
	failed   func(what string) // is told of each failure; nil: nobody
	acting   *controller       // whose step is being looked at
	holding  *Held             // waits for its controller
	held     *Held             // a debugger takes the steps of its controller
}

// epoch is when virtual time begins.
var epoch = time.Date(2024, 10, 25, 0, 0, 0, 0, time.UTC)

// words yields what zkserver wants of a random source.
type words struct{ n uint64 }

func (w *words) Read(p []byte) (int, error) {
	for i := 0; i < len(p); i += 8 {
		w.n += 0x9e3779b97f4a7c15
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], w.n^w.n>>29)
		copy(p[i:], b[:])
	}
	return len(p), nil
}

// New makes the cluster of a seed; nothing has happened yet.
func New(opt Options) *Sim {
	if opt.Steps <= 0 {
		opt.Steps = DefaultSteps
	}
	s := &Sim{opt: opt, plan: draw(rand.New(rand.NewPCG(opt.Seed, 1))), rng: rand.New(rand.NewPCG(opt.Seed, 2))}
	s.stats, s.lost = NewStats(), map[string]string{}
	s.watch = newWatch(s)
	s.store = zkserver.NewStore(zkserver.Options{FirstZxid: 1, Now: s.clock, Random: &words{opt.Seed}, OnTxn: s.watch.txn})
	s.tracef("seed %d: %s", opt.Seed, &s.plan)
	for _, p := range model.PersistentPaths() {
		s.put(p, nil)
	}
	s.replication = broker.Replication{Now: s.clock, Fetches: s.fetches, CatchUp: s.catchUp}
	for i := range s.plan.brokers {
		s.nodes = append(s.nodes, newNode(s, int32(i+1)))
	}
	for i := range s.plan.controllers {
		s.controllers = append(s.controllers, newController(s, int32(1000+i)))
	}
	s.operator = newOperator(s)
	s.begin()
	return s
}

// begin enters what starts by itself.
func (s *Sim) begin() {
	for _, n := range s.nodes {
		s.after(s.upTo(2*second), n.start)
	}
	for _, c := range s.controllers {
		s.after(s.upTo(second), c.start)
	}
	s.after(s.around(s.plan.actEvery), s.operator.act)
	s.after(3*second+s.around(s.plan.faultEvery), s.strike)
	s.after(s.plan.busy, s.heal)
}

// Close lets go of the controllers.
func (s *Sim) Close() {
	for _, c := range s.controllers {
		if c.eng != nil {
			c.eng.Close()
		}
	}
}

// Run plays the seed to its end; nil: all held.
func (s *Sim) Run() *Failure {
	for s.step() {
	}
	return s.failure
}

// step takes what is next; false at the end.
func (s *Sim) step() bool {
	if s.failure != nil {
		return false
	}
	e, ok := s.todo.next()
	if !ok {
		s.fail("nothing is left to happen")
		return false
	}
	s.now = e.at
	e.do()
	s.settle()
	if s.steps > s.opt.Steps {
		s.fail("no rest after %d steps", s.steps)
	}
	return s.failure == nil && s.held == nil && !s.atRest()
}

func (s *Sim) clock() time.Time { return epoch.Add(time.Duration(s.now) * time.Microsecond) }

// ms is the time as the engine counts it.
func (s *Sim) ms() int64 { return s.clock().UnixMilli() }

func (s *Sim) at(t int64, do func()) { s.todo.add(max(t, s.now), do) }

func (s *Sim) after(d int64, do func()) { s.todo.add(s.now+max(d, 0), do) }

// upTo draws from 0 to n.
func (s *Sim) upTo(n int64) int64 { return s.rng.Int64N(n + 1) }

// around draws a time with that mean.
func (s *Sim) around(mean int64) int64 { return 1 + s.rng.Int64N(2*mean) }

// percent is true so often.
func (s *Sim) percent(n int) bool { return s.rng.IntN(100) < n }

// latency is one way through the network, now and then a slow one.
func (s *Sim) latency() int64 {
	l := s.plan.latency/2 + s.upTo(s.plan.latency)
	if s.rng.IntN(50) == 0 {
		l *= 10
	}
	return l
}

// tracef writes a line of what happens.
func (s *Sim) tracef(format string, args ...any) {
	if s.opt.Trace == nil {
		return
	}
	fmt.Fprintf(s.opt.Trace, "%10d.%06d ", s.now/second, s.now%second)
	fmt.Fprintf(s.opt.Trace, format, args...)
	fmt.Fprintln(s.opt.Trace)
}

// fail ends the seed.
func (s *Sim) fail(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	s.tracef("FAILED: %s", what)
	if s.failed != nil {
		s.failed(what)
	}
	if s.failure == nil {
		phase := "while faults happened"
		if s.healed {
			phase = "after healing"
		}
		c := s.culprit()
		s.failure = &Failure{Seed: s.opt.Seed, Step: s.steps, Time: s.now / 1000, Phase: phase, Plan: s.plan.String(), Controller: c.id, Own: c.own}
	}
	s.failure.What = append(s.failure.What, what)
}

// culprit is the controller that a failure is about.
func (s *Sim) culprit() *controller {
	for _, c := range []*controller{s.watch.by, s.acting, s.controller(s.registeredNow())} {
		if c != nil {
			return c
		}
	}
	return s.controllers[0]
}

// moved notes that the cluster is not at rest.
func (s *Sim) moved() { s.active = s.now }

// What anybody does to ZooKeeper from outside.

func (s *Sim) apply(op zkserver.Op) zkserver.Code {
	r, _ := s.store.Apply(0, op)
	return r.Code
}

// put creates a znode, with its parents.
func (s *Sim) put(path string, data []byte) zkserver.Code {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' && !s.has(path[:i]) {
			s.apply(zkserver.Create(path[:i], nil, 0))
		}
	}
	return s.apply(zkserver.Create(path, data, 0))
}

func (s *Sim) has(path string) bool {
	_, code := s.store.Exists(path)
	return code == zkserver.OK
}

// remove deletes a znode and all below it.
func (s *Sim) remove(path string) {
	kids, _, _ := s.store.Children(path)
	for _, k := range kids {
		s.remove(path + "/" + k)
	}
	s.apply(zkserver.Delete(path, -1))
}

// state reads a state znode.
func (s *Sim) state(tp model.TopicPartition) (l model.LeaderIsrAndControllerEpoch, stat zkserver.Stat, ok bool) {
	path := model.TopicPartitionStatePath(tp)
	data, stat, code := s.store.Get(path)
	if code != zkserver.OK {
		return l, stat, false
	}
	l, present, err := model.DecodePartitionState(path, data)
	l.PartitionEpoch = stat.Version
	return l, stat, present && err == nil
}

// assignment reads a topic znode.
func (s *Sim) assignment(topic string) (model.TopicAssignment, bool) {
	path := model.TopicPath(topic)
	data, _, code := s.store.Get(path)
	if code != zkserver.OK {
		return model.TopicAssignment{}, false
	}
	a, present, err := model.DecodeTopic(path, data)
	return a, present && err == nil
}

// topics lists the topic znodes.
func (s *Sim) topics() []string {
	names, _, _ := s.store.Children(model.TopicsPath)
	return names
}

// uuid draws a topic id.
func (s *Sim) uuid() (id model.Uuid) {
	for {
		binary.BigEndian.PutUint64(id[:8], s.rng.Uint64())
		binary.BigEndian.PutUint64(id[8:], s.rng.Uint64())
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		if !id.Reserved() {
			return id
		}
	}
}
