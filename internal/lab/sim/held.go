package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// Held is a seed that was played up to a step of one of its controllers, whose
// steps a debugger takes from there on, with the rest of the cluster as its
// environment: other controllers, brokers, operators and faults go on as the seed
// has it. Virtual time stands still while the controller is held at a step; it
// passes while a call is under way and while the controller is idle. The held
// controller neither crashes nor pauses any more.
//
// Its methods may be called from any goroutine.
type Held struct {
	mu    sync.Mutex
	s     *Sim
	c     *controller
	of    int32
	at    int
	clock atomic.Int64
	input func(model.Stimulus) // the session's
	came  int                  // inputs so far
	over  bool                 // closed: a session that has ended may still have a call under way
}

// Hold plays a seed until the controller with that id has taken so many steps,
// and holds it as soon as it is between two steps after that.
func Hold(opt Options, id int32, steps int) (*Held, error) {
	s := New(opt)
	if s.controller(id) == nil {
		s.Close()
		return nil, fmt.Errorf("seed %d has no controller %d", opt.Seed, id)
	}
	h := &Held{s: s, of: id, at: steps}
	s.holding = h
	for s.step() {
	}
	if h.c == nil {
		s.Close()
		return nil, fmt.Errorf("seed %d: controller %d does not come as far as %d steps", opt.Seed, id, steps)
	}
	h.clock.Store(s.ms())
	return h, nil
}

// hold tells whether a debugger takes over here.
func (s *Sim) hold(c *controller) bool {
	h := s.holding
	if h == nil || h.c != nil || c.id != h.of || c.own < h.at || c.busy || len(c.asides) > 0 || len(c.zk.flights) > 0 || !c.zk.up {
		return false
	}
	h.c, c.held, s.held = c, h, h
	return true
}

// Options are those of a session on the held controller. Give the session's
// Input to Attach before it runs.
func (h *Held) Options() debugger.Options {
	return debugger.Options{Engine: h.c.eng, Env: h, Begun: true, Paused: true, Mode: model.LabMode, Source: fmt.Sprintf("seed %d", h.s.opt.Seed),
		Operate: refuse, Peek: h.peek, Brokers: h.brokers, Connection: h.connection, Expired: h.expired, Clock: h.clock.Load}
}

func refuse(context.Context, model.Command) (string, error) {
	return "", errors.New("a seed is played as it was drawn: operators are part of it")
}

// Attach says where inputs go.
func (h *Held) Attach(input func(model.Stimulus)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.input = input
}

// Engine is the held controller's.
func (h *Held) Engine() *engine.Engine { return h.c.eng }

// tell passes an input on. The lock is held: it comes from within a step.
func (h *Held) tell(in model.Stimulus) {
	h.came++
	if h.input != nil {
		h.clock.Store(h.s.ms())
		h.input(in)
	}
}

// Perform performs a step; a call takes as much virtual time as it takes.
func (h *Held) Perform(step model.Step) model.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return model.Result{At: h.s.ms(), Code: model.CodeConnectionLoss}
	}
	call, ok := step.(*model.Call)
	if !ok {
		r := h.c.perform(step)
		h.c.own++
		return r
	}
	var out model.Result
	done := false
	h.c.own++
	h.c.zk.do(call, func(_ *flight, r model.Result) { out, done = r, true })
	for !done && h.once() {
	}
	if !done {
		out = model.Result{Code: model.CodeConnectionLoss}
	}
	out.At = h.s.ms()
	return out
}

// once takes the next thing that happens in the cluster; false when nothing does.
// What fails from here on is what the debugger is for: it ends nothing.
func (h *Held) once() bool {
	e, ok := h.s.todo.next()
	if !ok {
		return false
	}
	h.s.now = e.at
	h.clock.Store(h.s.ms())
	e.do()
	h.s.settle()
	h.s.failure = nil
	return true
}

// idleLimit is how much virtual time passes at most while nothing comes, µs.
const idleLimit = 3600 * second

// Pass lets virtual time pass until something comes for the idle controller; false
// when nothing does any more.
func (h *Held) Pass() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	came, until := h.came, h.s.now+idleLimit
	for h.came == came && h.s.now < until {
		if !h.once() {
			return false
		}
	}
	return h.came > came
}

func (h *Held) expired() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.c.renew()
	}
}

func (h *Held) peek(_ context.Context, path string) model.Znode {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, stat, code := h.s.store.Get(path)
	return model.Znode{Path: path, Data: slices.Clone(data), Stat: standin.Stat(stat), Missing: code == zkserver.NoNode}
}

func (h *Held) connection() model.Connection {
	return model.Connection{Connected: true, Text: "connected", Since: h.clock.Load()}
}

// brokers says how the brokers stand by the controller's memory.
func (h *Held) brokers(v *model.View) []model.BrokerStatus {
	var out []model.BrokerStatus
	for id := int32(1); int(id) <= h.s.plan.brokers; id++ {
		out = append(out, v.BrokerStatus(id))
	}
	return out
}

// Close ends the seed; the engine is the session's.
func (h *Held) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for _, c := range h.s.controllers {
		if c.eng != nil && c != h.c {
			c.eng.Close()
		}
	}
}
