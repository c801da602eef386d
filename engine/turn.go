package engine

import (
	"iter"

	"kstate/model"
)

// unwound is the private panic by which an abandoned event leaves its stack.
type unwound struct{}

// turn is a coroutine: the event at work, or an admin request beside it. Between
// events there is none.
type turn struct {
	event  model.QueuedEvent
	yield  func(model.Step) bool
	result model.Result
	next   func() (model.Step, bool)
	stop   func()
}

func newTurn(q model.QueuedEvent) *turn { return &turn{event: q} }

// begin starts the coroutine of an event and runs it to its first step.
func (e *Engine) begin(q model.QueuedEvent) model.Step {
	return e.start(q, func() error { return e.handle(q.Event) })
}

// start runs work in a coroutine, as the event q.
func (e *Engine) start(q model.QueuedEvent, work func() error) model.Step {
	e.turn = newTurn(q)
	return e.run(e.turn, func() {
		err := work()
		e.step(&model.End{Event: q, Err: err})
	})
}

// run starts a coroutine and runs it to its first step; nil when it has none.
func (e *Engine) run(t *turn, work func()) model.Step {
	t.next, t.stop = iter.Pull(func(yield func(model.Step) bool) {
		defer func() {
			if r := recover(); r != nil && r != any(unwound{}) {
				panic(r)
			}
		}()
		t.yield = yield
		work()
	})
	return e.resume(t)
}

// resume runs a coroutine to its next step; nil when it is done.
func (e *Engine) resume(t *turn) model.Step {
	before := e.running
	e.running = t
	s, ok := t.next()
	e.running = before
	if !ok {
		return nil
	}
	return s
}

// step proposes a step and rests until its result is there.
func (e *Engine) step(s model.Step) model.Result {
	t := e.running
	if !t.yield(s) {
		panic(unwound{})
	}
	return t.result
}
