package journal

import (
	"bytes"
	"fmt"
	"time"

	"github.com/klauspost/compress/gzip"
)

// run is the Writer's goroutine: it makes lines of entries, blocks of lines, and
// hands them to the disk.
func (w *Writer) run() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		batch, closing := w.take()
		w.adding = true
		for i := range batch {
			w.enc.add(&batch[i])
			w.next = batch[i].n + 1
			if g := batch[i].lost; g != nil {
				w.next = g.To + 1
			}
		}
		w.adding = false
		w.release(batch)
		now := w.opt.Clock()
		if w.flushAt.IsZero() && (len(batch) > 0 || len(w.enc.b) > 0) {
			w.flushAt = now.Add(w.opt.flushAfter)
		}
		if !w.flushAt.IsZero() && (closing || !now.Before(w.flushAt)) {
			w.enc.flush()
			w.spill()
			w.flushAt = time.Time{}
		}
		w.write(closing)
		if closing {
			w.end()
			return
		}
		if w.mayTake() {
			continue
		}
		timer.Reset(w.untilDue())
		select {
		case <-w.wake:
			w.settle(timer)
		case <-timer.C:
		}
	}
}

// mayTake tells whether more waits and can be taken.
func (w *Writer) mayTake() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) > 0 && len(w.held) == 0
}

// settle lets a few more entries come: they share the work of being taken.
func (w *Writer) settle(timer *time.Timer) {
	const pause = 5 * time.Millisecond
	w.mu.Lock()
	hurry := w.closing || w.waiting > w.opt.QueueBytes/4
	w.mu.Unlock()
	if hurry {
		return
	}
	timer.Reset(pause)
	select {
	case <-w.wake:
	case <-timer.C:
	}
}

// untilDue is how long nothing has to be done.
func (w *Writer) untilDue() time.Duration {
	due := time.Hour
	now := w.opt.Clock()
	for _, t := range []time.Time{w.flushAt, w.syncAt, w.retryAt} {
		if !t.IsZero() {
			due = min(due, max(t.Sub(now), time.Millisecond))
		}
	}
	return due
}

// take takes what waits, unless blocks wait for a disk that does not take them.
func (w *Writer) take() (batch []entry, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing {
		w.endGap(w.opt.Clock().UnixMilli())
	} else if len(w.held) > 0 {
		return nil, false
	}
	batch, w.queue = w.queue, w.recycled[:0]
	w.recycled = nil // it is the queue's now, whether or not this batch comes back to take its place
	return batch, w.closing
}

// release gives the memory of entries back that were made lines.
func (w *Writer) release(batch []entry) {
	if batch == nil {
		return
	}
	var size int64
	for i := range batch {
		size += batch[i].bytes()
	}
	clear(batch)
	w.recycled = batch[:0]
	if cap(batch) > 64<<10 {
		w.recycled = nil
	}
	w.mu.Lock()
	w.waiting -= size
	w.room.Broadcast()
	w.mu.Unlock()
}

// spill makes a block of the lines there are.
func (w *Writer) spill() {
	if len(w.enc.b) == 0 {
		return
	}
	w.held = append(w.held, w.zip.block(w.enc.b))
	w.enc.b = w.enc.b[:0]
	if w.retryAt.IsZero() {
		w.write(false)
	}
}

// write hands blocks to the disk. After a failure they wait.
func (w *Writer) write(last bool) {
	now := w.opt.Clock()
	if !w.retryAt.IsZero() && now.Before(w.retryAt) && !last {
		return
	}
	var err error
	for len(w.held) > 0 && err == nil {
		if err = w.timed(func() error { return w.sink.Append(w.held[0]) }); err == nil {
			w.held[0] = nil
			w.held = w.held[1:]
			if w.syncAt.IsZero() {
				w.syncAt = now.Add(syncAfter)
			}
		}
	}
	if err == nil && !w.syncAt.IsZero() && (last || !now.Before(w.syncAt)) {
		if err = w.timed(w.sink.Sync); err == nil {
			w.syncAt = time.Time{}
		}
	}
	if err == nil && !w.adding && len(w.enc.b) == 0 && w.enc.idle() {
		h := w.opt.Header
		h.From = w.next
		err = w.timed(func() error { return w.sink.Rotate(h) })
	}
	w.retryAt = time.Time{}
	if err != nil {
		w.retryAt = now.Add(retryAfter)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err, w.bytes = err, w.sink.Size()
	if err == nil && w.waiting <= w.opt.QueueBytes/2 {
		w.endGap(now.UnixMilli())
	}
	w.room.Broadcast()
}

// timed does what may wait for the disk; meanwhile others see for how long.
func (w *Writer) timed(f func() error) error {
	w.mu.Lock()
	w.busy = w.opt.Clock()
	w.mu.Unlock()
	err := f()
	w.mu.Lock()
	w.busy = time.Time{}
	w.mu.Unlock()
	return err
}

// end closes the file, and says what is missing in it.
func (w *Writer) end() {
	w.mu.Lock()
	err, lost := w.err, w.lostN
	w.mu.Unlock()
	if closeErr := w.sink.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
		w.closeErr = fmt.Errorf("the end of the journal %s is missing: %w", w.opt.Path, err)
	case lost > 0:
		w.closeErr = fmt.Errorf("the journal %s lacks %d records; where, its gap records say", w.opt.Path, lost)
	}
}

// compressor makes blocks: each is a whole gzip member, with its own checksum.
type compressor struct {
	out bytes.Buffer
	zip *gzip.Writer
}

func newCompressor() *compressor {
	c := &compressor{}
	c.zip, _ = gzip.NewWriterLevel(&c.out, gzip.BestSpeed) // only a level that does not exist is an error
	return c
}

// block is a copy that nothing overwrites.
func (c *compressor) block(lines []byte) []byte {
	c.out.Reset()
	c.zip.Reset(&c.out)
	c.zip.Write(lines) // a bytes.Buffer takes everything
	c.zip.Close()
	return bytes.Clone(c.out.Bytes())
}
