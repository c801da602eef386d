package sim

import (
	"context"
	"sync"
	"sync/atomic"
)

// Outcome is how one seed ended.
type Outcome struct {
	Seed    uint64
	Failure *Failure // nil: all held
	Stats   Stats
}

// Play plays one seed to its end.
func Play(opt Options) Outcome {
	s := New(opt)
	defer s.Close()
	f := s.Run()
	return Outcome{Seed: opt.Seed, Failure: f, Stats: s.Stats()}
}

// Sweep plays n seeds from a first one on, so many at a time, and hands the
// outcomes over in the order of the seeds, in the caller's goroutine. It stops
// when each returns false or the context ends.
func Sweep(ctx context.Context, opt Options, n, workers int, each func(Outcome) bool) {
	outcomes := make([]chan Outcome, n)
	for i := range outcomes {
		outcomes[i] = make(chan Outcome, 1)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer wg.Wait()
	defer stop()
	for range max(1, workers) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				one := opt
				one.Seed += uint64(i)
				one.Trace = nil
				outcomes[i] <- Play(one)
			}
		})
	}
	for i := range outcomes {
		select {
		case o := <-outcomes[i]:
			if !each(o) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
