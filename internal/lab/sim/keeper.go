package sim

import (
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// session is a controller's connection to ZooKeeper, from the opening of the
// session to its end. Requests arrive in order; answers and fired watches come
// back in order, a watch before any answer that could show the change.
type session struct {
	s       *Sim
	owner   *controller
	id      int64
	up      bool // there is a connection
	dead    bool // the server has ended the session
	learned bool // and the client knows
	gen     int  // rises with each connection that is lost
	upAt    int64
	downAt  int64
	fired   []model.Stimulus // watches that the client has not been told of
	flights []*flight
}

func (s *Sim) open(owner *controller) *session {
	x := &session{s: s, owner: owner, up: true}
	x.id, _ = s.store.CreateSession(0)
	return x
}

// Notify implements zkserver.Watcher.
func (x *session) Notify(e zkserver.Event) {
	kinds := [...]model.WatchKind{zkserver.NodeCreated: model.NodeCreated, zkserver.NodeDeleted: model.NodeDeleted,
		zkserver.NodeDataChanged: model.NodeDataChanged, zkserver.NodeChildrenChanged: model.NodeChildrenChanged}
	if e.Path == model.ControllerPath && e.Type == zkserver.NodeDeleted {
		x.s.watch.told = e.Zxid
	}
	x.fired = append(x.fired, &model.WatchFired{Path: e.Path, Kind: kinds[e.Type]})
	if x.up {
		x.tell()
	}
}

// tell sends one fired watch down.
func (x *session) tell() {
	gen := x.gen
	x.downAt = max(x.downAt, x.s.now+x.s.latency())
	x.s.at(x.downAt, func() {
		if x.gen != gen || len(x.fired) == 0 {
			return
		}
		in := x.fired[0]
		x.fired = x.fired[1:]
		x.owner.deliver(func() { x.owner.input(in) })
	})
}

// lose breaks the connection for a time. The server ends the session if that is
// too long.
func (x *session) lose(again int64) {
	if !x.up {
		return
	}
	x.broken()
	gen := x.gen
	x.s.tracef("controller %d: connection to ZooKeeper lost", x.owner.id)
	x.s.after(again, func() {
		x.owner.deliver(func() {
			if x.gen == gen {
				x.reconnect()
			}
		})
	})
	x.s.after(x.s.plan.sessionTimeout, func() {
		if x.gen == gen && !x.up {
			x.expire()
		}
	})
}

// broken loses what is under way.
func (x *session) broken() {
	x.up = false
	x.gen++
	for _, f := range x.flights {
		f.lost()
	}
}

// expire is the server's end of the session. The client learns of it when it
// has a connection again.
func (x *session) expire() {
	if x.dead {
		return
	}
	x.dead = true
	x.s.tracef("controller %d: session 0x%x expires", x.owner.id, x.id)
	x.s.store.Unwatch(x)
	x.s.store.Expire(x.id)
	x.fired = nil
	if x.up {
		x.broken()
		x.s.after(x.s.latency(), func() { x.owner.deliver(x.reconnect) })
	}
}

// reconnect has the client find out how its session stands.
func (x *session) reconnect() {
	switch {
	case x.learned || x.up:
	case x.dead:
		x.learned = true
		x.owner.expired(x)
	default:
		x.up = true
		for range x.fired {
			x.tell()
		}
		for _, f := range x.flights {
			f.send()
		}
	}
}

// end is the end of the process: the server notices later.
func (x *session) end(at int64) {
	x.broken()
	x.flights = nil
	x.s.after(at, x.expire)
}

// flight is a call under way: its units travel one by one, other clients come
// in between.
type flight struct {
	x       *session
	call    *model.Call
	results []model.OpResult
	units   [][2]int // first op, and the one behind the last
	replyAt []int64  // of each unit: when its answer is with the client; 0: not done
	got     []bool
	todo    []int // units to be sent
	done    func(model.Result)
	seen    seen
}

// do performs a call; done is called in the process once all answers are there.
func (x *session) do(call *model.Call, done func(*flight, model.Result)) {
	f := &flight{x: x, call: call, results: make([]model.OpResult, len(call.Ops)), seen: seen{}}
	if call.Atomic {
		f.units = [][2]int{{0, len(call.Ops)}}
	} else {
		f.units = make([][2]int, len(call.Ops))
		for i := range call.Ops {
			f.units[i] = [2]int{i, i + 1}
		}
	}
	f.replyAt, f.got = make([]int64, len(f.units)), make([]bool, len(f.units))
	f.done = func(r model.Result) { done(f, r) }
	x.flights = append(x.flights, f)
	switch {
	case x.learned:
		x.s.after(1, func() { x.owner.deliver(f.abandon) })
	case x.up:
		f.send()
	}
}

// send sends what has no answer.
func (f *flight) send() {
	f.todo = f.todo[:0]
	for u, got := range f.got {
		if !got {
			f.todo = append(f.todo, u)
		}
	}
	if len(f.todo) == 0 { // the last answer came before the connection was lost
		f.x.s.after(0, func() { f.x.owner.deliver(f.finish) })
		return
	}
	f.x.upAt = max(f.x.upAt, f.x.s.now+f.x.s.latency())
	f.travel(f.x.upAt)
}

func (f *flight) travel(at int64) {
	gen := f.x.gen
	f.x.s.at(at, func() {
		if f.x.gen == gen && len(f.todo) > 0 {
			f.arrive()
		}
	})
}

// arrive is one unit at the server.
func (f *flight) arrive() {
	x, s := f.x, f.x.s
	u := f.todo[0]
	if x.owner.struck(f, u, true) {
		return
	}
	f.todo = f.todo[1:]
	f.perform(f.units[u][0], f.units[u][1])
	x.downAt = max(x.downAt, s.now+s.latency())
	f.replyAt[u] = x.downAt
	if x.owner.struck(f, u, false) {
		return
	}
	if len(f.todo) > 0 {
		gap := s.upTo(s.plan.latency / 8)
		if s.rng.IntN(20) == 0 {
			gap += s.latency()
		}
		x.upAt = max(x.upAt, s.now+gap)
		f.travel(x.upAt)
		return
	}
	gen := x.gen
	s.at(x.downAt, func() {
		if x.gen == gen {
			x.owner.deliver(f.finish)
		}
	})
}

// lost: the connection is gone. Answers that were not there yet are asked for again.
func (f *flight) lost() {
	f.todo = f.todo[:0]
	for u := range f.units {
		if at := f.replyAt[u]; at != 0 && at <= f.x.s.now {
			f.got[u] = true
		} else if at != 0 {
			f.replyAt[u] = 0
			f.forgot(&f.call.Ops[f.units[u][0]])
		}
	}
}

// forgot: an op was done, and its answer is lost.
func (f *flight) forgot(op *model.Op) {
	c := f.x.owner
	if op.Kind.Writes() {
		c.s.stats.fault(LostAfter)
	}
	ref := model.ParsePath(op.Path)
	switch {
	case op.Kind == model.OpCreate:
		c.excuse(creationLost, ref.Topic)
	case op.Kind == model.OpSet && ref.Kind == model.PartitionStateZnode && c.excuses != nil:
		c.excuses[ref.Topic] = changeLost
	}
}

// abandon answers what is left with SESSIONEXPIRED.
func (f *flight) abandon() {
	for u, x := range f.units {
		if at := f.replyAt[u]; f.got[u] || at != 0 && at <= f.x.s.now {
			continue
		}
		for i := x[0]; i < x[1]; i++ {
			f.results[i] = model.OpResult{Code: model.CodeSessionExpired}
			if f.call.Fenced {
				f.results[i].Check = model.CodeSessionExpired
			}
		}
	}
	f.finish()
}

func (f *flight) finish() {
	for i, other := range f.x.flights {
		if other == f {
			f.x.flights = append(f.x.flights[:i:i], f.x.flights[i+1:]...)
			f.done(model.Result{At: f.x.s.ms(), Ops: f.results})
			return
		}
	}
}

// perform is the server's work on ops lo to hi: one op, or one transaction.
func (f *flight) perform(lo, hi int) {
	x, store := f.x, f.x.s.store
	f.seen.look(x.s, f.call, lo, hi)
	x.s.watch.by = x.owner
	x.s.watch.call = f.call
	defer x.s.watch.nobody()
	if f.call.Atomic {
		ops := make([]zkserver.Op, hi-lo)
		for i := range ops {
			ops[i] = write(&f.call.Ops[lo+i])
		}
		rs, _ := store.Multi(x.id, ops)
		for i, r := range rs {
			f.results[lo+i] = written(r)
		}
		return
	}
	op := &f.call.Ops[lo]
	switch {
	case !op.Kind.Writes():
		f.results[lo] = x.read(op)
	case f.call.Fenced:
		f.results[lo] = f.fenced(x.s.opt.Plant.alter(f, op))
	default:
		r, _ := store.Apply(x.id, write(op))
		f.results[lo] = written(r)
	}
	f.results[lo] = x.s.opt.Plant.answer(x.s, op, f.results[lo])
	x.owner.noted(op, &f.results[lo])
}

// fenced is a write under the fence of the controller epoch.
func (f *flight) fenced(op *model.Op) model.OpResult {
	if f.x.s.opt.Plant == FenceSkipped {
		r, _ := f.x.s.store.Apply(f.x.id, write(op))
		return written(r)
	}
	rs, _ := f.x.s.store.Multi(f.x.id, []zkserver.Op{zkserver.Check(model.ControllerEpochPath, f.call.Epoch), write(op)})
	if rs[0].Code != zkserver.OK {
		return model.OpResult{Code: model.CodeRuntimeInconsistency, Check: model.Code(rs[0].Code)}
	}
	return written(rs[1])
}

func (x *session) read(op *model.Op) model.OpResult {
	var watcher zkserver.Watcher
	if op.Watch {
		watcher = x
	}
	var r model.OpResult
	var stat zkserver.Stat
	var code zkserver.Code
	switch op.Kind {
	case model.OpGet:
		r.Data, stat, code = x.s.store.GetW(watcher, op.Path)
	case model.OpExists:
		stat, code = x.s.store.ExistsW(watcher, op.Path)
	default:
		r.Children, stat, code = x.s.store.ChildrenW(watcher, op.Path)
	}
	r.Code, r.Stat = model.Code(code), standin.Stat(stat)
	return r
}

func write(op *model.Op) zkserver.Op {
	switch op.Kind {
	case model.OpCreate:
		var flags int32
		if op.Ephemeral {
			flags = zkserver.Ephemeral
		}
		return zkserver.Create(op.Path, op.Data, flags)
	case model.OpSet:
		return zkserver.Set(op.Path, op.Data, op.Version)
	case model.OpCheck:
		return zkserver.Check(op.Path, op.Version)
	}
	return zkserver.Delete(op.Path, op.Version)
}

func written(r zkserver.OpResult) model.OpResult {
	return model.OpResult{Code: model.Code(r.Code), Stat: standin.Stat(r.Stat)}
}
