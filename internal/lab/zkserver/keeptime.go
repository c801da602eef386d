package zkserver

import "time"

// sweepEvery is how often containers and TTL znodes are looked at.
const sweepEvery = time.Minute

// lateness is how much later than asked a wake-up may be before the process
// counts as stopped meanwhile. A stop that is shorter takes less from a session
// than a lost packet does.
const lateness = 100 * time.Millisecond

// timekeeper decides when to look at the sessions again, and notices that the
// process was stopped: by a debugger, a signal, a suspended machine.
type timekeeper struct {
	store *Store
	beat  time.Duration // at most so long between two looks
	wait  time.Duration // the one at hand
	asked time.Time     // when the next look was due, on the real clock
	due   time.Time     // the same moment on the store's clock
}

// look expires what is due and says how long to wait. now is the real clock.
func (k *timekeeper) look(now time.Time) time.Duration {
	if late := now.Sub(k.asked); !k.asked.IsZero() && late > lateness {
		// The stop began somewhere in the wait, so all of it counts. It was on
		// when this look was due: who was heard later was heard after the stop.
		k.store.ExtendDeadlines(k.due, late+k.wait)
	}
	k.store.ExpireDue()
	clock := k.store.clock()
	k.wait = k.beat
	if at, ok := k.store.nextDeadline(); ok {
		k.wait = min(k.beat, max(at.Sub(clock), time.Millisecond))
	}
	k.asked, k.due = now.Add(k.wait), clock.Add(k.wait)
	return k.wait
}

// keepTime expires sessions on time, and sweeps.
func (s *Server) keepTime() {
	k := &timekeeper{store: s.store, beat: min(max(s.opt.TickTime/8, 20*time.Millisecond), 250*time.Millisecond)}
	timer := time.NewTimer(k.look(time.Now()))
	defer timer.Stop()
	swept := time.Now()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
		now := time.Now()
		if now.Sub(swept) >= sweepEvery {
			swept = now
			s.store.Sweep()
		}
		timer.Reset(k.look(now))
	}
}
