package engine_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// lab is a cluster for the traces of testdata/scenarios: several processes that
// run for controller, each with a session of its own, over one ZooKeeper in
// memory; and brokers that answer whatever they are asked.
type lab struct {
	t          tester
	patience   int                                                // steps after which a controller is taken not to come to rest
	onCall     func(c *candidate, call *model.Call) *model.Result // may answer a call in ZooKeeper's place; nil: does not look
	store      *zkserver.Store
	config     map[string]string // for controllers that start from now on
	candidates []*candidate      // in the order of their start
	stubs      map[int32]*stub
	epochs     map[int32]int64 // of each broker's registration, as last looked up between two steps
	received   map[int32][]received
	retired    int // unclean elections of controllers that are no more
	drawn      uint64
	asked      uint64
	pending    []call // whose answers are awaited later
}

// received is a request as it reached a broker.
type received struct {
	request model.ControlRequest
	epoch   int64 // of the broker's registration, as known then
}

// stub is a broker: its session, and how it answers.
type stub struct {
	id      int32
	session int64 // 0: down
	port    int32
	rack    string
	up      bool
	hold    map[string]bool             // by api: answers are kept back
	errors  map[string]model.KafkaError // by api, or api and partition
}

// candidate is a process that runs for controller; it is the environment of its engine.
type candidate struct {
	lab      *lab
	id       int32
	engine   *engine.Engine
	world    *standin.World
	channels map[int32]*channel
	answers  map[uint64]model.Answer
	paused   bool
	expired  bool // the next session opens once the Expire event has ended
	faults   []*fault
	writes   []*concurrentWrite
}

// channel is the queue of requests for one broker: one is in flight at a time.
type channel struct {
	queue []model.ControlRequest
	held  *model.Responded // the answer that the broker keeps back
}

// fault makes the next calls of one kind fail.
type fault struct {
	op, error string
	times     int
}

// concurrentWrite is a leader that writes its state just before the controller does.
type concurrentWrite struct {
	tp    model.TopicPartition
	isr   []int32 // nil: as it is
	times int
}

// tester is what a lab needs of a test.
type tester interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func newLab(t tester) *lab {
	l := &lab{t: t, patience: 1_000_000, config: map[string]string{}, stubs: map[int32]*stub{}, epochs: map[int32]int64{}, received: map[int32][]received{}}
	l.store = zkserver.NewStore(zkserver.Options{FirstZxid: 1, Now: func() time.Time { return time.UnixMilli(1) }})
	for _, p := range model.PersistentPaths() {
		l.create(p, nil)
	}
	t.Cleanup(func() {
		for _, c := range l.candidates {
			c.engine.Close()
		}
	})
	return l
}

// create makes a znode with its missing parents, or sets its data if it exists.
func (l *lab) create(path string, data []byte) {
	l.t.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			l.store.Apply(0, zkserver.Create(path[:i], nil, 0))
		}
	}
	r, _ := l.store.Apply(0, zkserver.Create(path, data, 0))
	if r.Code == zkserver.NodeExists {
		r, _ = l.store.Apply(0, zkserver.Set(path, data, zkserver.AnyVersion))
	}
	if r.Code != zkserver.OK {
		l.t.Fatalf("write %s: %v", path, r.Code)
	}
}

// settle runs everything until nothing moves any more.
func (l *lab) settle() {
	l.t.Helper()
	for range 1000 {
		moved := false
		for _, c := range slices.Clone(l.candidates) {
			moved = c.run() || moved
		}
		if !moved {
			return
		}
	}
	l.t.Fatalf("the cluster does not come to rest")
}

// active is the active controller: the holder of the znode, else one that still
// believes to be active, else nil.
func (l *lab) active() *candidate {
	var found *candidate
	holder, _ := l.holder()
	for _, c := range l.candidates {
		if c.engine.IsActive() && (found == nil || c.id == holder) {
			found = c
		}
	}
	return found
}

// holder is who holds the controller znode.
func (l *lab) holder() (int32, bool) {
	data, _, code := l.store.Get(model.ControllerPath)
	if code != zkserver.OK {
		return 0, false
	}
	id, ok, err := model.DecodeController(model.ControllerPath, data)
	return id, ok && err == nil
}

func (l *lab) candidate(id int32) *candidate {
	for _, c := range l.candidates {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (l *lab) uncleanElections() int {
	n := l.retired
	for _, c := range l.candidates {
		n += c.engine.UncleanElections()
	}
	return n
}

func (l *lab) draw() (id model.Uuid) {
	l.drawn++
	id[0] = 1
	binary.BigEndian.PutUint64(id[8:], l.drawn)
	return id
}

func (l *lab) stub(id int32) *stub {
	s := l.stubs[id]
	if s == nil {
		s = &stub{id: id, port: 9092 + id, hold: map[string]bool{}, errors: map[string]model.KafkaError{}}
		l.stubs[id] = s
	}
	return s
}

func (s *stub) registration() []byte {
	return model.EncodeBroker(&model.Broker{ID: s.id, Rack: s.rack, Endpoints: []model.Endpoint{
		{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: s.port}}}, 5, -1, 1)
}

// register makes the broker's znode as Kafka does: created and set in one transaction.
func (l *lab) register(s *stub, session int64) {
	path := model.BrokerIDPath(s.id)
	rs, _ := l.store.Multi(session, []zkserver.Op{zkserver.Create(path, nil, zkserver.Ephemeral), zkserver.Set(path, s.registration(), zkserver.AnyVersion)})
	if rs[0].Code != zkserver.OK {
		l.t.Fatalf("register broker %d: %v", s.id, rs[0].Code)
	}
	s.session, s.up = session, true
	l.noteEpoch(s.id)
}

// noteEpoch remembers the epoch of a broker's registration, if it has one.
func (l *lab) noteEpoch(id int32) int64 {
	if stat, code := l.store.Exists(model.BrokerIDPath(id)); code == zkserver.OK {
		l.epochs[id] = stat.Czxid
	}
	return l.epochs[id]
}

func (l *lab) startBroker(id int32) {
	session, _ := l.store.CreateSession(time.Hour)
	l.register(l.stub(id), session)
}

func (l *lab) stopBroker(id int32) {
	s := l.stub(id)
	l.store.CloseSession(s.session)
	s.session, s.up = 0, false
}

func (l *lab) startCandidate(id int32) error {
	cfg, err := l.engineConfig(id)
	if err != nil {
		return err
	}
	s := l.stub(id)
	cfg.Registration = s.registration()
	c := &candidate{lab: l, id: id, engine: engine.New(cfg), world: standin.New(standin.Options{Store: l.store}),
		channels: map[int32]*channel{}, answers: map[uint64]model.Answer{}}
	l.register(s, c.world.Session)
	l.candidates = append(l.candidates, c)
	c.world.Push(&model.Started{})
	return nil
}

// stopCandidate: the role is given up, then the session ends.
func (l *lab) stopCandidate(c *candidate) {
	c.paused = false
	c.world.Push(&model.Stopping{})
	for c.run() {
	}
	l.retired += c.engine.UncleanElections()
	l.candidates = slices.DeleteFunc(l.candidates, func(x *candidate) bool { return x == c })
	c.engine.Close()
	l.store.Unwatch(c.world)
	l.stub(c.id).up, l.stub(c.id).session = false, 0
	l.store.CloseSession(c.world.Session)
}

// engineConfig reads the settings of a controller as server.properties has them.
func (l *lab) engineConfig(id int32) (engine.Config, error) {
	cfg := engine.DefaultConfig(id)
	cfg.AutoRebalance = false
	cfg.BrokerConfig = maps.Clone(l.config)
	for key, value := range l.config {
		var err error
		switch key {
		case "inter.broker.protocol.version":
			cfg.IBP, err = model.ParseInterBrokerProtocol(value)
		case "unclean.leader.election.enable":
		case "delete.topic.enable":
			cfg.DeleteTopicEnable = value == "true"
		case "auto.leader.rebalance.enable":
			cfg.AutoRebalance = value == "true"
		case "leader.imbalance.per.broker.percentage":
			_, err = fmt.Sscan(value, &cfg.ImbalancePercentage)
		default:
			if !strings.Contains(key, ".") { // all settings of brokers have a dot; one that no controller looks at changes nothing
				err = fmt.Errorf("no setting %s", key)
			}
		}
		if err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// run takes inputs and steps until there is neither; a paused controller ends
// the event at work and begins no other. It says whether anything happened.
func (c *candidate) run() bool {
	moved := false
	for n := 0; ; n++ {
		if n > c.lab.patience {
			c.lab.t.Fatalf("controller %d does not come to rest; at %v", c.id, c.engine.At())
		}
		for {
			in, ok := c.world.Next()
			if !ok {
				break
			}
			c.engine.Accept(in)
			moved = true
		}
		s := c.engine.At()
		if _, begin := s.(*model.Begin); s == nil || begin && c.paused {
			return c.renew() || moved
		}
		c.engine.Settle(c.Perform(s))
		moved = true
	}
}

// renew opens the session after an expired one, once the Expire event has ended.
func (c *candidate) renew() bool {
	if !c.expired || c.engine.At() != nil {
		return false
	}
	c.expired = false
	c.world.Renew()
	c.lab.stub(c.id).session = c.world.Session
	return true
}

// Perform answers a step.
func (c *candidate) Perform(s model.Step) model.Result {
	switch s := s.(type) {
	case *model.Call:
		if c.lab.onCall != nil {
			if r := c.lab.onCall(c, s); r != nil {
				return *r
			}
		}
		if r := c.disturb(s); r != nil {
			return *r
		}
	case *model.Draw:
		r := c.world.Perform(s)
		r.ID = c.lab.draw()
		return r
	}
	r := c.world.Perform(s)
	switch s := s.(type) {
	case *model.Send:
		ch := c.channels[s.Broker]
		if ch == nil {
			c.lab.t.Fatalf("a request for broker %d without a channel", s.Broker)
		}
		ch.queue = append(ch.queue, s.Request)
		c.deliver(s.Broker)
	case *model.Link:
		delete(c.channels, s.Broker.ID)
		if s.Up {
			c.channels[s.Broker.ID] = &channel{}
		}
	case *model.Reply:
		if _, twice := c.answers[s.Ask]; twice {
			c.lab.t.Errorf("ask #%d is answered twice", s.Ask)
		}
		c.answers[s.Ask] = s.Answer
	}
	return r
}

// disturb makes a call fail, or lets a leader write before it.
func (c *candidate) disturb(call *model.Call) *model.Result {
	for _, f := range c.faults {
		if r := engine.FaultResult(call, f.op, f.error); r != nil && f.times > 0 {
			f.times--
			r.At = c.world.Now
			return r
		}
	}
	if call.Purpose != "update_state" {
		return nil
	}
	for _, w := range c.writes {
		path := model.TopicPartitionStatePath(w.tp)
		if w.times > 0 && slices.ContainsFunc(call.Ops, func(o model.Op) bool { return o.Path == path }) {
			w.times--
			c.lab.writeState(w.tp, w.isr)
		}
	}
	return nil
}

// writeState is a leader writing its state znode, with another ISR if given.
func (l *lab) writeState(tp model.TopicPartition, isr []int32) {
	path := model.TopicPartitionStatePath(tp)
	data, _, _ := l.store.Get(path)
	state, ok, err := model.DecodePartitionState(path, data)
	if !ok || err != nil {
		l.t.Fatalf("state of %s: %v", tp, err)
	}
	if isr != nil {
		state.ISR = isr
	}
	l.store.Apply(0, zkserver.Set(path, model.EncodePartitionState(state), zkserver.AnyVersion))
}

// deliver brings the next requests to a broker, unless it is down or keeps an
// answer back.
func (c *candidate) deliver(broker int32) {
	ch, s := c.channels[broker], c.lab.stub(broker)
	for ch != nil && ch.held == nil && s.up && len(ch.queue) > 0 {
		request := ch.queue[0]
		ch.queue = ch.queue[1:]
		c.lab.received[broker] = append(c.lab.received[broker], received{request, c.lab.epochs[broker]})
		answer := &model.Responded{Broker: broker, Request: request, Response: s.answer(request)}
		if s.hold[apiName(request)] {
			ch.held = answer
			return
		}
		c.world.Push(answer)
	}
}

// release gives the answers that a broker has kept back.
func (l *lab) release(broker int32) {
	clear(l.stub(broker).hold)
	for _, c := range l.candidates {
		if ch := c.channels[broker]; ch != nil && ch.held != nil {
			c.world.Push(ch.held)
			ch.held = nil
			c.deliver(broker)
		}
	}
}

func apiName(r model.ControlRequest) string {
	return map[model.RequestKind]string{model.LeaderAndIsrKind: "LEADER_AND_ISR", model.UpdateMetadataKind: "UPDATE_METADATA", model.StopReplicaKind: "STOP_REPLICA"}[r.Kind()]
}

// answer is success, unless errors were set.
func (s *stub) answer(r model.ControlRequest) model.ControlResponse {
	api := apiName(r)
	out := model.ControlResponse{Error: s.errors[api]}
	add := func(tp model.TopicPartition) {
		code := out.Error
		if code == model.ErrNone {
			code = s.errors[api+" "+tp.String()]
		}
		out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: tp, Error: code})
	}
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		for _, e := range r.Entries {
			add(e.TopicPartition)
		}
	case *model.StopReplicaRequest:
		for _, e := range r.Entries {
			add(e.TopicPartition)
		}
	}
	return out
}
