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
	asked time.Time     // on the real clock: when the next look was due
	slept time.Time     // on the store's clock: when the wait began
}

// look expires what is due and says how long to wait. now is the real clock.
func (k *timekeeper) look(now time.Time) time.Duration {
	if late := now.Sub(k.asked); !k.asked.IsZero() && late > lateness {
		k.store.ExtendDeadlines(k.slept, late)
	}
	k.store.ExpireDue()
	wait := k.beat
	k.slept = k.store.clock()
	if at, ok := k.store.nextDeadline(); ok {
		wait = min(wait, max(at.Sub(k.slept), time.Millisecond))
	}
	k.asked = now.Add(wait)
	return wait
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
