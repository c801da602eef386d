package shadow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// scene is a controller at work on a ZooKeeper in memory, with brokers that
// answer, and a follower beside it that sees the tree and nothing else.
type scene struct {
	t       *testing.T
	store   *zkserver.Store
	world   *standin.World
	real    *engine.Engine
	f       *follower
	session map[int32]int64
	now     int64
	asks    uint64
	mute    map[int32]bool // brokers that do not answer StopReplica
	stopped bool           // the controller's process rests
	paths   []string       // changed, not yet read by the mirror
	blind   bool           // the mirror reads later: what is overwritten is never seen
	did     []string       // transitions of the controller
	told    []string       // transitions that the follower told
	marked  map[string]bool
	news    News
}

// Notify implements zkserver.Watcher: the mirror's recursive watch.
func (s *scene) Notify(e zkserver.Event) { s.paths = append(s.paths, e.Path) }

func newScene(t *testing.T, change func(*engine.Config), brokers ...int32) *scene {
	t.Helper()
	s := &scene{t: t, session: map[int32]int64{}, now: 1_000_000, mute: map[int32]bool{}, marked: map[string]bool{}}
	s.store = zkserver.NewStore(zkserver.Options{FirstZxid: 1, Now: func() time.Time { return time.UnixMilli(s.now) }})
	s.world = standin.New(standin.Options{Store: s.store, Respond: s.respond})
	cfg := engine.DefaultConfig(1000)
	cfg.AutoRebalance = false
	if change != nil {
		change(&cfg)
	}
	s.real = engine.New(cfg)
	t.Cleanup(func() { s.real.Close() })
	for _, p := range model.PersistentPaths() {
		s.create(p, nil)
	}
	for _, b := range brokers {
		s.start(b)
	}
	s.world.Push(&model.Started{Session: s.world.Session})
	s.f = newFollower()
	t.Cleanup(func() { s.f.stop() })
	return s
}

// attach is when the follower comes: it gets the tree as it is.
func (s *scene) attach() {
	s.t.Helper()
	s.run()
	if c := s.store.Watch(s, "/", zkserver.RecursiveWatch); c != zkserver.OK {
		s.t.Fatal(c)
	}
	var list []Change
	s.store.Walk("/", func(path string, data []byte, stat zkserver.Stat) bool {
		if path != "/" && !strings.HasPrefix(path, "/zookeeper") {
			list = append(list, Change{Znode: model.Znode{Path: path, Data: data, Stat: standin.Stat(stat)}})
		}
		return true
	})
	s.f.feed(append(list, Change{Mark: Synced}), s.now)
	s.pass(1_000)
	if s.f.eng == nil || s.f.quiet {
		s.t.Fatalf("no engine follows: %s; %v", s.f.broken, s.f)
	}
	s.did = nil
	if len(s.told) > 0 {
		s.t.Fatalf("told of its own takeover: %v", s.told)
	}
}

func (s *scene) respond(broker int32, r model.ControlRequest) (model.ControlResponse, bool) {
	var out model.ControlResponse
	if q, ok := r.(*model.StopReplicaRequest); ok {
		for _, e := range q.Entries {
			out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: e.TopicPartition})
		}
		return out, !s.mute[broker]
	}
	return out, true
}

// run lets the controller work until it rests; the mirror sees each step.
func (s *scene) run() {
	s.t.Helper()
	for range 100_000 {
		if s.stopped {
			break
		}
		for in, ok := s.world.Next(); ok; in, ok = s.world.Next() {
			s.real.Accept(in)
		}
		at := s.real.At()
		if at == nil {
			break
		}
		switch m := at.(type) {
		case *model.MovePartition:
			s.did = append(s.did, fmt.Sprintf("%s %s>%s", m.TopicPartition, m.From, m.To))
		case *model.MoveReplica:
			s.did = append(s.did, fmt.Sprintf("%s %s>%s", m.Replica, m.From, m.To))
		}
		s.real.Settle(s.world.Perform(at))
		if !s.blind {
			s.see()
		}
	}
	s.see()
}

// see has the mirror read what changed.
func (s *scene) see() {
	if len(s.paths) == 0 {
		return
	}
	var list []Change
	for _, path := range s.paths {
		data, stat, code := s.store.Get(path)
		list = append(list, Change{Znode: model.Znode{Path: path, Data: data, Stat: standin.Stat(stat), Missing: code == zkserver.NoNode}})
	}
	s.paths = nil
	s.f.feed(list, s.now)
	s.advance()
}

func (s *scene) advance() {
	s.f.advance(s.now)
	n := s.f.news
	s.f.news = News{}
	s.news.Notices = append(s.news.Notices, n.Notices...)
	s.news.Divergences = append(s.news.Divergences, n.Divergences...)
	s.news.Records = append(s.news.Records, n.Records...)
	for _, r := range n.Records {
		text := ""
		switch m := r.Step.(type) {
		case *model.MovePartition:
			text = fmt.Sprintf("%s %s>%s", m.TopicPartition, m.From, m.To)
		case *model.MoveReplica:
			text = fmt.Sprintf("%s %s>%s", m.Replica, m.From, m.To)
		default:
			continue
		}
		s.told = append(s.told, text)
		s.marked[text] = r.Inferred
	}
}

// pass lets time go by.
func (s *scene) pass(ms int64) {
	s.t.Helper()
	for end := s.now + ms; s.now < end; {
		s.now += 20
		s.run()
		s.advance()
	}
}

// step is done when all rests; what the follower told must be what the
// controller did, as sets.
func (s *scene) step(name string, act func()) {
	s.t.Helper()
	s.did, s.told, s.marked, s.news = nil, nil, map[string]bool{}, News{}
	act()
	s.pass(2_000)
	did, told := set(s.did), set(s.told)
	if !slices.Equal(did, told) {
		s.t.Errorf("%s:\nthe controller did  %s\nthe follower told    %s\ndivergences %v", name, missing(did, told), missing(told, did), s.news.Divergences)
	}
	if len(s.news.Divergences) > 0 {
		s.t.Errorf("%s: diverged: %v", name, s.news.Divergences)
	}
	if len(did) == 0 {
		s.t.Errorf("%s: nothing happened", name)
	}
}

func set(list []string) []string {
	m := map[string]bool{}
	for _, x := range list {
		m[x] = true
	}
	return slices.Sorted(maps.Keys(m))
}

// missing lists what of a is not in b.
func missing(a, b []string) string {
	var out []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return "only " + strings.Join(out, ", ")
}

// What the outside does.

func (s *scene) create(path string, data []byte) {
	s.t.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			s.store.Apply(0, zkserver.Create(path[:i], nil, 0))
		}
	}
	if r, _ := s.store.Apply(0, zkserver.Create(path, data, 0)); r.Code != zkserver.OK && r.Code != zkserver.NodeExists {
		s.t.Fatalf("create %s: %s", path, r.Code)
	}
}

func (s *scene) set(path string, data []byte) {
	s.t.Helper()
	if r, _ := s.store.Apply(0, zkserver.Set(path, data, -1)); r.Code != zkserver.OK {
		s.t.Fatalf("set %s: %s", path, r.Code)
	}
}

func (s *scene) remove(path string) {
	s.t.Helper()
	if r, _ := s.store.Apply(0, zkserver.Delete(path, -1)); r.Code != zkserver.OK {
		s.t.Fatalf("delete %s: %s", path, r.Code)
	}
}

func (s *scene) start(b int32) {
	id, _ := s.store.CreateSession(time.Hour)
	s.session[b] = id
	data := model.EncodeBroker(&model.Broker{ID: b, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: 9092}}}, 5, -1, 1)
	s.store.Multi(id, []zkserver.Op{zkserver.Create(model.BrokerIDPath(b), nil, zkserver.Ephemeral), zkserver.Set(model.BrokerIDPath(b), data, 0)})
}

func (s *scene) kill(b int32) { s.store.Expire(s.session[b]) }

func (s *scene) topic(name string, replicas ...[]int32) {
	a := model.TopicAssignment{Version: 3}
	copy(a.ID[:], name)
	for i, r := range replicas {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(i), ReplicaAssignment: model.ReplicaAssignment{Replicas: r}})
	}
	s.create(model.TopicPath(name), model.EncodeTopic(a))
}

// grow adds a partition to a topic, as a tool does.
func (s *scene) grow(name string, replicas ...int32) {
	s.t.Helper()
	path := model.TopicPath(name)
	data, _, _ := s.store.Get(path)
	a, _, err := model.DecodeTopic(path, data)
	if err != nil {
		s.t.Fatal(err)
	}
	a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(len(a.Partitions)), ReplicaAssignment: model.ReplicaAssignment{Replicas: replicas}})
	s.set(path, model.EncodeTopic(a))
}

// ask is a request over the wire: the follower does not see it.
func (s *scene) ask(a model.Ask) {
	s.asks++
	s.world.Push(&model.Asked{ID: s.asks, Ask: a})
}

// propose has a leader propose an ISR.
func (s *scene) propose(topic string, partition int32, isr ...int32) {
	s.t.Helper()
	v, tp := s.real.View(), model.TP(topic, partition)
	l := v.Leadership(tp)
	if l == nil || v.Broker(l.Leader) == nil {
		s.t.Fatalf("%s has no leader", tp)
	}
	s.ask(&model.AlterPartition{Version: 1, BrokerID: l.Leader, BrokerEpoch: v.Broker(l.Leader).Epoch, Partitions: []model.AlterPartitionEntry{{
		TopicPartition: tp, ISR: isr, LeaderEpoch: l.LeaderEpoch, PartitionEpoch: l.PartitionEpoch}}})
}

func (s *scene) shutDown(b int32) {
	s.ask(&model.ControlledShutdown{BrokerID: b, BrokerEpoch: s.real.View().Broker(b).Epoch})
}

// marks tells whether a transition was told as inferred.
func (s *scene) marks(text string) bool {
	s.t.Helper()
	inferred, told := s.marked[text]
	if !told {
		s.t.Errorf("not told: %s; told: %v", text, set(s.told))
	}
	return inferred
}
