package engine

import (
	"slices"

	"kstate/model"
)

// Aside is a step of an admin request that runs outside the event thread, as in
// Kafka: requests for topics are served by the broker's request handlers, so
// they go on while an event is held. ID is the ask's number.
type Aside struct {
	ID   uint64
	Step model.Step
}

// aside is one such request at work.
type aside struct {
	id uint64
	at model.Step
	t  *turn
}

// Asides lists the steps that admin requests are about to take, by their number.
// Looking changes nothing.
func (e *Engine) Asides() []Aside {
	out := make([]Aside, 0, len(e.asides))
	for _, a := range e.asides {
		out = append(out, Aside{a.id, a.at})
	}
	return out
}

// SettleAside takes the step of an admin request with the environment's result.
// A number that Asides does not list changes nothing.
func (e *Engine) SettleAside(id uint64, r model.Result) {
	i := slices.IndexFunc(e.asides, func(a *aside) bool { return a.id == id })
	if i < 0 {
		return
	}
	e.now = max(e.now, r.At)
	a := e.asides[i]
	a.t.result = r
	if a.at = e.resume(a.t); a.at == nil {
		e.asides = slices.Delete(e.asides, i, i+1)
	}
	e.propose()
}

// startAside runs work beside the event thread.
func (e *Engine) startAside(id uint64, work func()) {
	a := &aside{id: id, t: newTurn(model.QueuedEvent{})}
	a.at = e.run(a.t, work)
	if a.at != nil {
		e.asides = append(e.asides, a)
		slices.SortFunc(e.asides, func(x, y *aside) int {
			if x.id < y.id {
				return -1
			}
			return 1
		})
	}
}
