package debugger

import (
	"context"
	"fmt"
	"time"

	"kstate/model"
)

// holding tells whether a step is kept from being taken: then the cluster has no
// controller that acts.
func (s *Session) holding() bool {
	return s.mode == paused && s.inFlight == nil && !s.resetting && !s.gone && s.opt.Engine.At() != nil
}

// deadMan ends a hold that lasted too long without a command of the operator. It
// returns how long it still may last; 0 for no limit now.
func (s *Session) deadMan() time.Duration {
	if s.opt.DeadMan <= 0 || !s.holding() {
		s.heldSince = 0
		return 0
	}
	now := s.opt.Clock()
	if s.heldSince == 0 {
		s.heldSince = now
	}
	if left := time.Duration(s.continuesAt()-now) * time.Millisecond; left > 0 {
		return left
	}
	s.mode, s.stopReason, s.stepZnodes, s.heldSince = running, "", nil, 0
	s.notice(model.Warn, fmt.Sprintf("held for %s without a command: the controller goes on, so that the cluster does not stand still", s.opt.DeadMan))
	return 0
}

// continuesAt is when the hold ends by itself, ms since 1970; 0: it does not.
func (s *Session) continuesAt() int64 {
	if s.opt.DeadMan <= 0 || s.heldSince == 0 {
		return 0
	}
	return max(s.heldSince, s.commandedAt) + s.opt.DeadMan.Milliseconds()
}

// Resign has the controller give the role up, whatever it was held at, and waits
// until it has. The error is that of ctx.
func (s *Session) Resign(ctx context.Context) error {
	s.inLoop(func() {
		s.mode, s.stopReason, s.stepZnodes = running, "", nil
		s.resigning = true
		s.accept(model.Input{At: s.opt.Clock(), Of: &model.Stopping{}})
	})
	select {
	case <-s.resigned:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
