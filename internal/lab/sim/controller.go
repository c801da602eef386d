package sim

import (
	"fmt"
	"slices"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/journal"
	"kstate/model"
)

// listener is the name of the one listener of all processes.
const listener = "PLAINTEXT"

// controller is one controller process: an engine with its session, channels
// and alarms, and one life after the other.
type controller struct {
	s    *Sim
	id   int32
	life int
	eng  *engine.Engine // nil: the process is down
	inv  *engine.Invariants
	zk   *session

	paused  bool
	backlog []func() // what came while it was paused
	freed   int64    // when the last of it is taken in

	busy      bool // a call of the event thread is under way
	asides    map[uint64]model.Step
	alarms    map[string]int
	channels  map[int32]*channel
	armed     []Fault // that strike at a write to come
	leftovers bool    // requests of an earlier term are in its batches for good

	own    int // steps taken in all lives
	record *journal.Writer
	held   *Held // who takes its steps; nil: the simulation itself

	term    int32 // epoch of the term that was counted
	excuses map[string]string
	marked  map[string]int64 // topics that were marked ineligible for deletion, with the zxid of that time
	current *flight          // whose results the invariants are looking at
	czxids  map[model.TopicPartition]int64
}

func newController(s *Sim, id int32) *controller {
	c := &controller{s: s, id: id}
	if s.opt.Of == id {
		c.record = s.opt.Journal
	}
	return c
}

func (c *controller) String() string { return fmt.Sprintf("controller %d", c.id) }

// config is what its process is started with.
func (c *controller) config() engine.Config {
	p := &c.s.plan
	cfg := engine.DefaultConfig(c.id)
	cfg.IBP, cfg.DeleteTopicEnable, cfg.AutoRebalance, cfg.ImbalanceCheckInterval = p.ibp, p.deletion, p.balancer, p.balancerEvery
	cfg.Mend = engine.Mends{ClearBatches: p.clearBatches, GhostStates: p.mendGhosts, HalfDeletedTopics: p.mendHalves}
	if p.unclean {
		cfg.BrokerConfig = map[string]string{"unclean.leader.election.enable": "true"}
	}
	cfg.NumPartitions, cfg.ReplicationFactor = int32(p.partitions), int16(p.replication)
	cfg.Self = &model.Broker{ID: c.id, Endpoints: []model.Endpoint{{Listener: listener, Protocol: listener, Host: "127.0.0.1", Port: 20_000 + c.id}}}
	return cfg
}

// start begins a life.
func (c *controller) start() {
	if c.eng != nil {
		return
	}
	c.life++
	c.eng = engine.New(c.config())
	c.record.Engine(c.s.ms(), debugger.Settings(c.eng.Config()))
	c.inv = engine.NewInvariants(c.eng, c.znode)
	c.asides, c.alarms, c.channels = map[uint64]model.Step{}, map[string]int{}, map[int32]*channel{}
	c.marked = map[string]int64{}
	c.excuses, c.czxids = map[string]string{}, map[model.TopicPartition]int64{}
	c.busy, c.paused, c.backlog, c.armed, c.freed, c.leftovers = false, false, nil, nil, 0, false
	c.zk = c.s.open(c)
	c.s.tracef("%s starts, session 0x%x", c, c.zk.id)
	c.input(&model.Started{Session: c.zk.id})
	c.run()
}

// crash ends a life.
func (c *controller) crash() {
	if c.eng == nil || c.held != nil {
		return
	}
	c.s.tracef("%s crashes", c)
	c.life++
	c.eng.Close()
	c.eng = nil
	for _, id := range sortedKeys(c.channels) {
		c.channels[id].drop()
	}
	c.s.hungUp(c)
	c.zk.end(c.s.upTo(c.s.plan.sessionTimeout))
}

// deliver has something happen in the process: now, or when it goes on.
func (c *controller) deliver(f func()) {
	life := c.life
	do := func() {
		if c.life == life && c.eng != nil {
			f()
			c.run()
		}
	}
	switch {
	case c.eng == nil:
	case c.paused:
		c.backlog = append(c.backlog, do)
	case c.freed > c.s.now: // what came while it was stopped goes first
		c.s.at(c.freed, do)
	default:
		do()
	}
}

// pause stops the process as SIGSTOP does.
func (c *controller) pause(d int64) {
	if c.eng == nil || c.paused || c.held != nil {
		return
	}
	c.paused = true
	life, zk := c.life, c.zk
	c.s.tracef("%s is stopped for %d ms", c, d/1000)
	c.s.after(c.s.plan.sessionTimeout, func() {
		if c.life == life && c.paused && c.zk == zk {
			zk.expire()
		}
	})
	c.s.after(d, func() {
		if c.life == life {
			c.resume()
		}
	})
}

// resume lets it go on: it takes in what has come meanwhile, bit by bit, while
// its event thread already works.
func (c *controller) resume() {
	if !c.paused {
		return
	}
	c.s.tracef("%s goes on", c)
	c.paused = false
	at := c.s.now
	for _, do := range c.backlog {
		at += c.s.upTo(2_000)
		c.s.at(at, do)
	}
	c.freed, c.backlog = at, nil
	c.run()
}

func (c *controller) input(in model.Stimulus) {
	c.s.tracef("%s < %s", c, in)
	if c.held != nil {
		c.held.tell(in)
		return
	}
	x := model.Input{At: c.s.ms(), Of: in}
	c.record.Input(x)
	c.eng.Accept(x)
}

// expired: the client has learned that its session is gone.
func (c *controller) expired(x *session) {
	c.inv.Fault("the session expired")
	c.input(&model.SessionExpired{})
	for _, f := range slices.Clone(x.flights) {
		f.abandon()
	}
}

// renew opens the next session, once the Expire event has ended.
func (c *controller) renew() {
	life := c.life
	c.s.after(c.s.latency()*2, func() {
		if c.life != life || c.eng == nil {
			return
		}
		c.deliver(func() {
			c.zk = c.s.open(c)
			c.input(&model.SessionRenewed{Session: c.zk.id})
		})
	})
}

// run takes the steps that can be taken now.
func (c *controller) run() {
	for c.eng != nil && !c.paused && c.held == nil && c.s.failure == nil {
		if c.s.hold(c) {
			return
		}
		if c.runAside() {
			continue
		}
		step := c.eng.At()
		if c.busy || step == nil {
			return
		}
		if call, ok := step.(*model.Call); ok {
			c.busy = true
			c.s.tracef("%s: %s", c, step)
			n := c.record.Step(c.s.ms(), c.eng.EventSeq(), 0, step)
			c.zk.do(call, func(f *flight, r model.Result) {
				c.busy = false
				c.s.traceResult(c, f, r)
				c.record.Settled(n, step, r)
				c.settle(step, r, f)
			})
			return
		}
		c.s.tracef("%s: %s", c, step)
		c.settle(step, c.performNow(step, c.eng.EventSeq(), 0), nil)
	}
}

// runAside takes one step of an admin request.
func (c *controller) runAside() bool {
	for _, a := range c.eng.Asides() {
		if c.asides[a.ID] == a.Step {
			continue
		}
		c.s.tracef("%s #%d: %s", c, a.ID, a.Step)
		call, ok := a.Step.(*model.Call)
		if !ok {
			c.eng.SettleAside(a.ID, c.performNow(a.Step, 0, a.ID))
			return true
		}
		c.asides[a.ID] = a.Step
		n := c.record.Step(c.s.ms(), 0, a.ID, call)
		c.zk.do(call, func(_ *flight, r model.Result) {
			delete(c.asides, a.ID)
			c.record.Settled(n, call, r)
			c.eng.SettleAside(a.ID, r)
		})
		return true
	}
	return false
}

// performNow performs a step that waits for nobody, and records it.
func (c *controller) performNow(step model.Step, event, aside uint64) model.Result {
	if !debugger.Performed(step) {
		r := c.perform(step)
		c.record.Taken(r.At, event, aside, step)
		return r
	}
	n := c.record.Step(c.s.ms(), event, aside, step)
	r := c.perform(step)
	c.record.Settled(n, step, r)
	return r
}

// settle takes a step with its result.
func (c *controller) settle(step model.Step, r model.Result, f *flight) {
	c.eng.Settle(r)
	c.took(step, r, f)
}

// took is what is to be looked at after a step.
func (c *controller) took(step model.Step, r model.Result, f *flight) {
	c.s.steps++
	c.own++
	c.current, c.s.acting = f, c
	c.s.watch.took(c, step)
	if v := c.eng.Epoch(); v != 0 && v < c.s.watch.highest { // somebody else has the role: writes fail, and so do events
		c.inv.Fault("another controller was elected")
	}
	c.inv.Took(step, r)
	c.current = nil
	if end, ok := step.(*model.End); ok {
		c.ended(end)
	}
	if b := c.inv.Broken(); len(b) > 0 && c.s.failure == nil {
		c.s.fail("%s: %s", c, b[0])
	}
	c.s.acting = nil
}

// ended is what follows from the end of an event.
func (c *controller) ended(end *model.End) {
	if _, expire := end.Event.Event.(*model.Expire); expire {
		c.renew()
	}
	if end.Err != nil && neverLedError(end.Err.Error()) {
		c.excuses[anyTopic] = neverLed // whatever the event had still to do is not done
	}
	if c.eng.Epoch() == 0 { // the memory is empty
		clear(c.excuses)
		clear(c.marked)
		if len(c.s.watch.maimed) == 0 {
			c.inv.Mended()
		}
	} else if c.eng.IsActive() && c.term != c.eng.Epoch() {
		c.term = c.eng.Epoch()
		c.s.stats.Failovers++
	}
	c.s.watch.between(c)
}

// perform does what a step asks for that needs no answer.
func (c *controller) perform(step model.Step) model.Result {
	r := model.Result{At: c.s.ms()}
	switch x := step.(type) {
	case *model.Send:
		c.s.moved()
		if ch := c.channels[x.Broker]; ch != nil {
			if req := c.s.opt.Plant.request(x.Request); req != nil {
				ch.put(req)
			}
		}
	case *model.Link:
		if ch := c.channels[x.Broker.ID]; ch != nil && !x.Up {
			ch.drop()
			delete(c.channels, x.Broker.ID)
		} else if ch == nil && x.Up {
			c.channels[x.Broker.ID] = &channel{c: c, broker: x.Broker.ID}
		}
	case *model.Reply:
		c.s.answered(c, x)
	case *model.Alarm:
		c.alarm(x)
	case *model.Draw:
		r.ID = c.s.uuid()
	}
	return r
}

func (c *controller) alarm(a *model.Alarm) {
	c.alarms[a.Name]++
	n, life, name := c.alarms[a.Name], c.life, a.Name
	if a.Cancel {
		return
	}
	c.s.after(a.AfterMillis*1000, func() {
		if c.life == life && c.eng != nil && c.alarms[name] == n {
			c.deliver(func() { c.input(&model.AlarmRang{Name: name}) })
		}
	})
}

// excuse notes why something of this term may stay undone: a fault after which
// Kafka's controller does not find back by itself before the next term. Topic ""
// is all of them.
func (c *controller) excuse(why, topic string) {
	if c.eng != nil {
		c.inv.Fault(why)
		c.excuses[topic] = why
	}
}

// idle tells whether the process has nothing to do.
func (c *controller) idle() bool {
	return c.eng != nil && !c.paused && !c.busy && c.eng.At() == nil && len(c.asides) == 0 && c.zk.up && c.freed <= c.s.now
}

// struck lets armed faults strike at a unit of a write; true: the connection is gone.
func (c *controller) struck(f *flight, unit int, before bool) bool {
	if len(c.armed) == 0 || !f.call.Ops[f.units[unit][0]].Kind.Writes() || c.held != nil {
		return false
	}
	for i, fault := range c.armed {
		switch {
		case fault == LostBefore && before, fault == LostAfter && !before,
			(fault == MidCallExpiry || fault == MidCallCrash) && !before && len(f.todo) > 0:
		default:
			continue
		}
		c.armed = slices.Delete(c.armed, i, i+1)
		c.s.tracef("%s: %s at %s", c, fault, f.call)
		if fault != LostAfter { // counted where an answer is lost
			c.s.stats.fault(fault)
		}
		switch fault {
		case MidCallExpiry:
			c.zk.expire()
		case MidCallCrash:
			c.crash()
			c.s.after(c.s.upTo(10*second), c.start)
		default:
			c.zk.lose(c.s.upTo(second))
		}
		return true
	}
	return false
}

func (s *Sim) traceResult(c *controller, f *flight, r model.Result) {
	if s.opt.Trace == nil {
		return
	}
	for i := range r.Ops {
		x := &r.Ops[i]
		s.tracef("%s:   %s = %s %s v%d %q %v (%q)", c, f.call.Ops[i].String(), x.Code, x.Check, x.Stat.Version, x.Data, x.Children, f.call.Ops[i].Data)
	}
}
