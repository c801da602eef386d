package engine

import (
	"runtime"
	"testing"

	"kstate/model"
)

// A step with nothing watching costs under 1 µs; the test fails above twice that.
func TestStepIsCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("a benchmark")
	}
	r := testing.Benchmark(func(b *testing.B) {
		e := New(DefaultConfig(1))
		defer e.Close()
		line := &model.Log{Logger: controllerLogger, Text: "a step"}
		e.at = e.start(model.QueuedEvent{Event: &model.Startup{}}, func() error {
			for {
				e.step(line)
			}
		})
		for b.Loop() {
			e.Settle(model.Result{At: 1})
		}
	})
	t.Logf("%d ns a step", r.NsPerOp())
	if r.NsPerOp() > 2000 {
		t.Errorf("a step costs %d ns", r.NsPerOp())
	}
}

// An event that is abandoned in the middle leaves no coroutine behind.
func TestAbandonedEventsUnwind(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 1000 {
		e := New(DefaultConfig(1))
		e.Accept(model.Input{At: 1, Of: &model.Started{}})
		e.Settle(model.Result{At: 1}) // Begin: the event rests at its first own step
		if e.At() == nil {
			t.Fatal("the event does not rest")
		}
		e.Close()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Fatalf("%d goroutines before, %d after", before, after)
	}
}
