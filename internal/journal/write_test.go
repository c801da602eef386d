package journal

import (
	"testing"

	"kstate/model"
)

// TestTakenMemoryIsNotTheQueues: a batch and the queue never share memory, also
// after a turn that found nothing to take. Otherwise what is queued while lines are
// made overwrites what they are made of.
func TestTakenMemoryIsNotTheQueues(t *testing.T) {
	w := &Writer{opt: Options{QueueBytes: 1 << 20}, wake: make(chan struct{}, 1)}
	w.room.L = &w.mu
	took := func() []entry {
		t.Helper()
		batch, _ := w.take()
		return batch
	}
	input := func(text string) { w.Input(model.Input{Of: &model.Remarked{Text: text}}) }
	for round := range 3 {
		input("first")
		w.release(took())
		w.release(took()) // nothing waits
		input("second")
		batch := took()
		input("third")
		if n := len(batch); n != 1 || batch[0].input.String() != "second" {
			t.Fatalf("round %d: took %d entries, the first %+v; want the second input", round, n, batch[0])
		}
		w.release(batch)
		if batch = took(); len(batch) != 1 || batch[0].input == nil || batch[0].input.String() != "third" {
			t.Fatalf("round %d: took %+v; want the third input", round, batch)
		}
		w.release(batch)
	}
}
