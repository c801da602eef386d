package debugger

import (
	"context"
	"errors"

	"kstate/model"
)

// order is a command with the one who waits for what comes of it, if there is one.
type order struct {
	command model.Command
	done    chan<- carried // nil: nobody waits
}

type carried struct {
	text string
	err  error
}

func (o order) answer(text string, err error) {
	if o.done != nil {
		o.done <- carried{text, err}
	}
}

// Carry gives a command as Do does, and waits until it was carried out or
// refused. What the controller makes of it is not waited for. The text says what
// was done; the error is the refusal, or that of ctx.
func (s *Session) Carry(ctx context.Context, c model.Command) (string, error) {
	done := make(chan carried, 1)
	s.mu.Lock()
	s.commands = append(s.commands, order{c, done})
	s.mu.Unlock()
	s.signal()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Look is the picture as it is now: all inputs that came before it are in it.
func (s *Session) Look(ctx context.Context) (model.Frame, error) {
	seen := make(chan model.Frame, 1)
	s.inLoop(func() {
		if s.resetting || s.gone {
			close(seen)
			return
		}
		seen <- s.frame()
	})
	select {
	case f, ok := <-seen:
		if !ok {
			return f, errors.New("there is no controller just now")
		}
		return f, nil
	case <-ctx.Done():
		return model.Frame{}, ctx.Err()
	}
}

// Remark notes in the history what was done to the controller's surroundings. It
// may be called from any goroutine and never blocks.
func (s *Session) Remark(text string) { s.Input(&model.Remarked{Text: text}) }

// refusalSince is the warning or error that was told since a notice, if any.
func (s *Session) refusalSince(seq uint64) error {
	for i := range s.notices {
		if n := &s.notices[i]; n.Seq > seq && n.Level >= model.Warn {
			return errors.New(n.Text)
		}
	}
	return nil
}

// runUntil runs on to a step in whose line the pattern is found: not the one at
// which the controller was held, but one that has come to hand since.
func (s *Session) runUntil(c model.RunUntil) {
	if c.Step == "" {
		s.notice(model.Warn, "refused: until what step?")
		return
	}
	s.mode, s.until, s.stopReason, s.stepZnodes = seeking, c.Step, "", nil
}

// found tells whether the step at hand is the one that is run until.
func (s *Session) found(at model.Step) bool {
	return s.mode == seeking && s.taken+1 != s.heldAt && s.until.In(at.String())
}
