package debugger

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"kstate/model"
)

// Interference is what armed faults make of a broker's answer. First Millis
// pass, then Hold closes; then with Drop the connection is lost, and the request
// is sent again; else Answer, if there is one, takes the place of the answer.
type Interference struct {
	Millis int64
	Hold   <-chan struct{} // nil: it is not held
	Drop   bool
	Answer *model.ControlResponse
}

// faultTable holds the armed faults. The loop and the channels to the brokers
// ask it.
type faultTable struct {
	mu      sync.Mutex
	last    uint64
	armed   []*model.ArmedFault
	held    []*heldAnswer
	points  map[model.FaultPoint]int // faults that are not spent, for a quick no
	operate func(context.Context, model.Command) (string, error)
}

type heldAnswer struct {
	model.HeldAnswer
	free chan struct{}
}

// opHit is a fault that comes over one op of a call.
type opHit struct {
	op    int
	fault model.Fault
}

// hands do to the surroundings what faults want.
type hands struct {
	lose    func(op model.Op, after bool) error
	expire  func() error
	operate func(context.Context, model.Command) (string, error)
}

func (s *Session) hands() hands {
	return hands{lose: s.opt.Lose, expire: s.opt.ExpireSession, operate: s.opt.Operate}
}

func (t *faultTable) recount() {
	t.points = map[model.FaultPoint]int{}
	for _, a := range t.armed {
		if !a.Spent {
			t.points[a.Fault.Match.At]++
		}
	}
}

func (t *faultTable) arm(f model.Fault) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.armed = append(t.armed, &model.ArmedFault{ID: t.last, Fault: f})
	t.recount()
	return t.last
}

// clear takes a fault back, 0: all, and lets go what is held by none then.
func (t *faultTable) clear(id uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.armed)
	t.armed = slices.DeleteFunc(t.armed, func(a *model.ArmedFault) bool { return id == 0 || a.ID == id })
	t.recount()
	holds := slices.ContainsFunc(t.armed, func(a *model.ArmedFault) bool { return a.Fault.Effect.Kind == model.HoldAnswer })
	if !holds {
		t.release(model.AnyBroker)
	}
	return id == 0 || len(t.armed) < n
}

// release lets held answers go; how many there were. The lock is held.
func (t *faultTable) release(broker int32) (n int) {
	t.held = slices.DeleteFunc(t.held, func(h *heldAnswer) bool {
		if broker != model.AnyBroker && broker != h.Broker {
			return false
		}
		close(h.free)
		n++
		return true
	})
	return n
}

// count notes a match of an armed fault, and tells whether it is hit. The lock is held.
func (t *faultTable) count(a *model.ArmedFault) bool {
	a.Seen++
	hit := a.Fault.Match.Hits(a.Seen)
	if hit {
		a.Hit++
	}
	if a.Fault.Match.Spent(a.Seen) && !a.Spent {
		a.Spent = true
		t.points[a.Fault.Match.At]--
	}
	return hit
}

// onCall are the faults that come over the ops of a call, in the order of ops.
// unsent: a batch holds requests that are not sent yet.
func (t *faultTable) onCall(c *model.Call, unsent bool) (hits []opHit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.points[model.AtOp] == 0 {
		return nil
	}
	for i := range c.Ops {
		for _, a := range t.armed {
			if !a.Spent && a.Fault.OpIs(c, &c.Ops[i], unsent) && t.count(a) {
				hits = append(hits, opHit{i, a.Fault})
			}
		}
	}
	return hits
}

// onStep are the faults that come over a step as a whole.
func (t *faultTable) onStep(s model.Step) (hits []model.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.points[model.AtSend]+t.points[model.AtStep] == 0 {
		return nil
	}
	for _, a := range t.armed {
		if !a.Spent && a.Fault.Match.StepIs(s) && t.count(a) {
			hits = append(hits, a.Fault)
		}
	}
	return hits
}

// onAnswer are the faults that come over a broker's answer.
func (t *faultTable) onAnswer(broker int32, r model.ControlRequest, now int64) (hits []model.Fault, hold chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.points[model.AtAnswer] == 0 {
		return nil, nil
	}
	for _, a := range t.armed {
		if a.Spent || !a.Fault.Match.AnswerIs(broker, r.Kind()) || !t.count(a) {
			continue
		}
		hits = append(hits, a.Fault)
		if a.Fault.Effect.Kind == model.HoldAnswer && hold == nil {
			hold = make(chan struct{})
			t.held = append(t.held, &heldAnswer{model.HeldAnswer{Broker: broker, Request: r.String(), Since: now}, hold})
		}
	}
	return hits, hold
}

func (t *faultTable) snapshot() (armed []model.ArmedFault, held []model.HeldAnswer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.armed {
		armed = append(armed, *a)
	}
	for _, h := range t.held {
		held = append(held, h.HeldAnswer)
	}
	slices.SortStableFunc(held, func(a, b model.HeldAnswer) int { return int(a.Broker) - int(b.Broker) })
	return armed, held
}

// Answered tells what faults make of a broker's answer, before the controller
// has it. It may be called from any goroutine, once for each answer.
func (s *Session) Answered(broker int32, r model.ControlRequest, a *model.ControlResponse) Interference {
	t := &s.faults
	hits, hold := t.onAnswer(broker, r, s.clock())
	out := Interference{Hold: hold}
	for i := range hits {
		f := &hits[i]
		s.Remark(fmt.Sprintf("fault: %s: %s of broker %d", f, r.Kind(), broker))
		switch e := &f.Effect; e.Kind {
		case model.DelayAnswer:
			out.Millis += e.Millis
		case model.DropAnswer:
			out.Drop = true
		case model.ErrorAnswer:
			out.Answer = withError(r, a, e.Error)
		case model.DoFirst:
			t.mu.Lock()
			operate := t.operate
			t.mu.Unlock()
			s.doFault(context.Background(), operate, e.Do)
		}
	}
	return out
}

// withError is an answer in which each partition has the error; where a request
// has no partitions, or the answer names none, the answer itself.
func withError(r model.ControlRequest, a *model.ControlResponse, e model.KafkaError) *model.ControlResponse {
	out := &model.ControlResponse{Error: a.Error}
	add := func(tp model.TopicPartition) {
		out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: tp, Error: e})
	}
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		for i := range r.Entries {
			add(r.Entries[i].TopicPartition)
		}
	case *model.StopReplicaRequest:
		for i := range r.Entries {
			add(r.Entries[i].TopicPartition)
		}
	}
	if out.Partitions == nil {
		out.Error = e
	}
	return out
}

// doFault carries a fault's command out and says so. It runs outside the loop.
func (s *Session) doFault(ctx context.Context, operate func(context.Context, model.Command) (string, error), c model.Command) {
	text, err := operate(ctx, c)
	if err != nil {
		text = "it could not be done: " + err.Error()
	}
	s.Remark("fault: " + model.CommandText(c) + ": " + text)
}

// before does what faults want done before a step is taken; true when the step
// waits for that.
func (s *Session) before(ctx context.Context, at model.Step) bool {
	hits := s.faults.onStep(at)
	if len(hits) == 0 {
		return false
	}
	operate := s.opt.Operate
	s.inFlight = at
	s.aside(func() {
		for i := range hits {
			s.doFault(ctx, operate, hits[i].Effect.Do)
		}
	}, func() {
		s.inFlight = nil
		s.performHeld(at)
	})
	return true
}

// performCall performs a call with the faults that come over it: an op that is
// answered by a fault is not given to the environment, the others are.
func (s *Session) performCall(ctx context.Context, job callJob) model.Result {
	if len(job.hits) == 0 {
		return job.env.Perform(job.call)
	}
	if job.call.Atomic {
		return s.performAtomic(ctx, job)
	}
	c := job.call
	out := model.Result{Ops: make([]model.OpResult, 0, len(c.Ops))}
	done := 0 // ops that have a result
	upTo := func(hi int) {
		if hi <= done {
			return
		}
		part := *c
		part.Ops = c.Ops[done:hi]
		r := job.env.Perform(&part)
		out.At = r.At
		if len(r.Ops) == 0 { // the environment has none: say so for each
			for range part.Ops {
				r.Ops = append(r.Ops, model.OpResult{Code: r.Code})
			}
		}
		out.Ops = append(out.Ops, r.Ops...)
		done = hi
	}
	for _, h := range job.hits {
		if h.op < done { // it was answered by a fault already
			continue
		}
		s.Remark(fmt.Sprintf("fault: %s: %s", &h.fault, &c.Ops[h.op]))
		upTo(h.op) // they have their answers; what is lost takes with it what comes behind
		if r, answered := s.comeOver(ctx, job, h); answered {
			out.Ops = append(out.Ops, r)
			out.At = s.clock()
			done = h.op + 1
		}
	}
	upTo(len(c.Ops))
	return out
}

// performAtomic: whatever comes over one op of a transaction comes over it all.
func (s *Session) performAtomic(ctx context.Context, job callJob) model.Result {
	for _, h := range job.hits {
		s.Remark(fmt.Sprintf("fault: %s: %s", &h.fault, &job.call.Ops[h.op]))
		r, answered := s.comeOver(ctx, job, h)
		if !answered {
			continue
		}
		out := model.Result{At: s.clock(), Ops: make([]model.OpResult, len(job.call.Ops))}
		for i := range out.Ops {
			if i > h.op {
				out.Ops[i].Code = model.CodeRuntimeInconsistency
			}
		}
		out.Ops[h.op] = r
		return out
	}
	return job.env.Perform(job.call)
}

// comeOver has one fault come over an op: with its answer, or the op is still to
// be performed.
func (s *Session) comeOver(ctx context.Context, job callJob, h opHit) (r model.OpResult, answered bool) {
	op := job.call.Ops[h.op]
	var err error
	switch e := &h.fault.Effect; e.Kind {
	case model.AnswerCode:
		return model.OpResult{Code: e.Code}, true
	case model.FenceFails, model.LeavesDirty:
		return model.OpResult{Check: model.CodeBadVersion, Code: model.CodeRuntimeInconsistency}, true
	case model.LostBefore, model.LostAfter:
		err = job.hands.lose(op, e.Kind == model.LostAfter)
	case model.ExpiresSession:
		err = job.hands.expire()
	case model.DoFirst:
		s.doFault(ctx, job.hands.operate, e.Do)
	}
	if err != nil {
		s.Remark(fmt.Sprintf("fault: %s: it could not be: %v", &h.fault, err))
	}
	return r, false
}

// inject arms a fault, if it may be.
func (s *Session) inject(c model.InjectFault) {
	missing := ""
	switch k := c.Fault.Effect.Kind; {
	case s.opt.NoFaults != "":
		missing = s.opt.NoFaults
	case (k == model.LostBefore || k == model.LostAfter) && s.opt.Lose == nil:
		missing = "only the lab's ZooKeeper can lose a request"
	case k == model.ExpiresSession && s.opt.ExpireSession == nil:
		missing = "the session cannot be ended in this mode"
	case k == model.DoFirst && s.opt.Operate == nil:
		missing = "only the lab has brokers to do that to"
	case c.Position != 0 && c.Position != s.taken+1:
		missing = fmt.Sprintf("the controller has moved on to step %d, you saw step %d", s.taken+1, c.Position)
	}
	if err := c.Fault.Check(); err != nil && missing == "" {
		missing = err.Error()
	}
	if missing != "" {
		s.notice(model.Warn, "no fault injected: "+missing)
		return
	}
	id := s.faults.arm(c.Fault)
	s.notice(model.Info, fmt.Sprintf("fault %d is armed: %s", id, &c.Fault))
}

func (s *Session) clearFault(c model.ClearFault) {
	if !s.faults.clear(c.ID) {
		s.notice(model.Warn, fmt.Sprintf("there is no fault %d", c.ID))
	}
}

func (s *Session) releaseAnswers(c model.ReleaseAnswers) {
	s.faults.mu.Lock()
	n := s.faults.release(c.Broker)
	s.faults.mu.Unlock()
	if n == 0 {
		s.notice(model.Warn, "no answer is held")
		return
	}
	s.notice(model.Info, fmt.Sprintf("released %d answers", n))
}
