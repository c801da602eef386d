package sim

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"kstate/internal/debugger"
	"kstate/internal/journal"
	"kstate/model"
)

// failing is a seed with a planted bug, and how it fails.
func failing(t *testing.T, p Plant) (Options, *Failure) {
	t.Helper()
	for seed := uint64(1); seed < 200; seed++ {
		opt := Options{Seed: seed, Plant: p}
		if f := Play(opt).Failure; f != nil {
			return opt, f
		}
	}
	t.Fatalf("no seed fails with %s", p)
	return Options{}, nil
}

// The recording of a failing seed's controller replays to its end, all of its lives.
func TestAFailingSeedLeavesARecordingThatReplays(t *testing.T) {
	opt, f := failing(t, BadVersionIgnored)
	path := filepath.Join(t.TempDir(), "seed.journal")
	w, err := journal.Create(journal.Options{Path: path, Header: journal.Header{Mode: model.LabMode, Source: "a seed"}})
	if err != nil {
		t.Fatal(err)
	}
	opt.Journal, opt.Of = w, f.Controller
	Play(opt)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in, err := journal.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p, err := debugger.NewReplay(in)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	steps := 0
	p.Each = func(model.Step) { steps++ }
	for {
		if _, err := p.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if steps < f.Own {
		t.Errorf("%d steps were replayed, the controller had taken %d", steps, f.Own)
	}
}

// A debugger that takes the steps of a controller from a point before the failure
// comes to the same step with the same failure at hand.
func TestAHeldControllerGoesOnAsItWould(t *testing.T) {
	opt, f := failing(t, FenceSkipped)
	h, err := Hold(opt, f.Controller, max(1, f.Own-10))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found := make(chan string, 1)
	h.s.failed = func(what string) {
		select {
		case found <- what:
		default:
		}
	}
	o := h.Options()
	o.Paused = false
	s := debugger.NewSession(o)
	h.Attach(s.Input)
	var loop sync.WaitGroup
	loop.Go(func() { s.Run(ctx) })
	loop.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case frame := <-s.Frames():
				if frame.At == nil && frame.QueueLen == 0 {
					h.Pass()
				}
			}
		}
	})
	select {
	case what := <-found:
		if what != f.What[0] {
			t.Errorf("held, it failed with %s, not %s", what, f.What[0])
		}
	case <-ctx.Done():
		t.Error("held, it did not fail")
	}
	cancel()
	loop.Wait()
}
