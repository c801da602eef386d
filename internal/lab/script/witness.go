package script

import (
	"sync"

	"kstate/model"
)

// Witness remembers which of a scenario's questions have come true. It may be
// told and asked from any goroutine.
type Witness struct {
	mu   sync.Mutex
	seen map[Question]bool
	open int // questions that have not come true
}

// NewWitness looks out for what the scenario asks.
func NewWitness(s *Scenario) *Witness {
	w := &Witness{seen: map[Question]bool{}}
	for _, lines := range [][]Line{s.Start, s.Reached, s.Solution} {
		for _, l := range lines {
			if e, ok := l.Do.(*Expect); ok {
				if q, ok := e.Condition.(Question); ok {
					w.seen[q] = false
				}
			}
		}
	}
	w.open = len(w.seen)
	return w
}

// Record is told of every record of the history.
func (w *Witness) Record(r model.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 {
		return
	}
	happened, event, log := "", "", ""
	switch {
	case r.Input != nil:
		happened = r.Input.String()
	case r.Step != nil:
		happened = r.Step.String()
		switch s := r.Step.(type) {
		case *model.Begin:
			event = s.Event.Event.String()
		case *model.Log:
			log = s.Text
		}
	}
	texts := map[string]string{"happened": happened, "event": event, "log": log}
	for q, seen := range w.seen {
		if text := texts[q.Kind]; !seen && text != "" && q.Pattern.In(text) {
			w.seen[q] = true
			w.open--
		}
	}
}

// Seen is Surroundings'.
func (w *Witness) Seen(q Question) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[q]
}
