package debugger

import (
	"context"

	"kstate/engine"
	"kstate/model"
)

// Known is what is known of a controller at one moment.
type Known struct {
	View       *model.View
	Controller model.ControllerStatus
	Config     engine.Config
	Channels   []model.Channel
	Now        int64                         // ms since 1970
	Queued     int                           // events not finished, the one at work included
	Peek       func(path string) model.Znode // nil: no znode can be read
}

// explaining is what an operator wants explained, and the answer.
type explaining struct {
	subject     model.Subject
	explanation *model.Explanation
	position    uint64 // of the record up to which it was made
	at          int64  // ms since 1970
	busy        bool
}

const (
	explainPeriod = 500  // ms: how old an explanation may get while something happens
	explainIdle   = 3000 // ms: and while nothing does: znodes may change unseen
)

// explain chooses what is explained.
func (s *Session) explain(sub model.Subject) {
	if s.opt.Explain == nil && sub.Kind != model.NoSubject {
		s.notice(model.Warn, "refused: nothing is explained in this mode")
		return
	}
	if sub != s.why.subject {
		s.why = explaining{subject: sub, busy: s.why.busy}
	}
	s.why.at = 0 // anew, at once
}

// explainAnew has the explanation made anew when it may be out of date, outside
// the loop.
func (s *Session) explainAnew(ctx context.Context) {
	w := &s.why
	now := s.opt.Clock()
	if s.opt.Explain == nil || w.subject.Kind == model.NoSubject || w.busy ||
		w.explanation != nil && (now-w.at < explainPeriod || w.position == s.positions && now-w.at < explainIdle) {
		return
	}
	w.busy, w.at, w.position = true, now, s.positions
	subject, by, known := w.subject, s.opt.Explain, s.known(ctx)
	var e *model.Explanation
	s.aside(func() { e = explained(by, known, subject) }, func() {
		s.why.busy = false
		if subject == s.why.subject {
			s.why.explanation = e
		}
	})
}

// explained is the explanation, or one that says why there is none.
func explained(by func(Known, model.Subject) (*model.Explanation, error), known Known, sub model.Subject) *model.Explanation {
	e, err := by(known, sub)
	if err != nil {
		return &model.Explanation{Subject: sub, Kind: sub.Kind.String(), Name: sub.Name(), Answer: err.Error(), Memory: true}
	}
	return e
}

func (s *Session) known(ctx context.Context) Known {
	e := s.opt.Engine
	_, queued := e.Queue(0)
	if e.Current() != nil {
		queued++
	}
	k := Known{View: e.View(), Controller: s.controllerStatus(), Config: e.Config(), Now: s.opt.Clock(), Queued: queued}
	if s.opt.Channels != nil {
		k.Channels = s.opt.Channels()
	}
	if peek := s.opt.Peek; peek != nil {
		k.Peek = func(path string) model.Znode { return peek(ctx, path) }
	}
	return k
}
