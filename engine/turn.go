package engine

import (
	"iter"

	"kstate/model"
)

// unwound is the private panic by which an abandoned event leaves its stack.
type unwound struct{}

// turn is the coroutine of the event at work. Between events there is none.
type turn struct {
	event  model.QueuedEvent
	yield  func(model.Step) bool
	result model.Result
	next   func() (model.Step, bool)
	stop   func()
}

// begin starts the coroutine of an event and runs it to its first step.
func (e *Engine) begin(q model.QueuedEvent) model.Step {
	return e.start(q, func() error { return e.handle(q.Event) })
}

// start runs work in a coroutine, as the event q.
func (e *Engine) start(q model.QueuedEvent, work func() error) model.Step {
	t := &turn{event: q}
	e.turn = t
	t.next, t.stop = iter.Pull(func(yield func(model.Step) bool) {
		defer func() {
			if r := recover(); r != nil && r != any(unwound{}) {
				panic(r)
			}
		}()
		t.yield = yield
		err := work()
		e.step(&model.End{Event: q, Err: err})
	})
	return e.resume()
}

// resume runs the event at work to its next step; nil when it is done.
func (e *Engine) resume() model.Step {
	s, ok := e.turn.next()
	if !ok {
		e.turn = nil
		return nil
	}
	return s
}

// step proposes a step and rests until its result is there.
func (e *Engine) step(s model.Step) model.Result {
	if !e.turn.yield(s) {
		panic(unwound{})
	}
	return e.turn.result
}
