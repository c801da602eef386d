package zkserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// outQueue holds the bytes that a connection's peer has not taken yet. Adding
// never blocks. The bytes are written either by the goroutine that reads
// requests, right after it has answered, which saves a wake-up per reply, or by
// the connection's writer, when others have added an event or when the peer is
// slow.
type outQueue struct {
	nc    net.Conn
	limit int // bytes that may wait

	mu      sync.Mutex
	change  sync.Cond // signalled when bytes have left, or on close
	pending batch
	rest    batch  // what a reader's write left over for the writer
	spare   []byte // an empty buffer for reuse
	backlog int    // bytes not written yet
	replies int    // replies not written yet
	writing bool   // somebody writes, or rest waits for the writer
	closed  bool
	wake    chan struct{} // tells the writer to look
}

// batch is bytes to be written, with the number of replies among them.
type batch struct {
	bytes   []byte
	replies int
}

// readerPatience is how long the reading goroutine waits for a slow peer before
// it leaves the rest to the writer and goes on reading.
const readerPatience = 10 * time.Millisecond

// keepBuffer is the largest buffer kept for reuse.
const keepBuffer = 1 << 20

func newOutQueue(nc net.Conn, limit int) *outQueue {
	q := &outQueue{nc: nc, limit: limit, wake: make(chan struct{}, 1)}
	q.change.L = &q.mu
	return q
}

// add appends a frame. It fails when too much waits already.
func (q *outQueue) add(body []byte, isReply bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	if q.backlog > q.limit {
		return fmt.Errorf("the client does not read: %d bytes wait for it, more than %d", q.backlog, q.limit)
	}
	q.pending.bytes = append(putInt32(q.pending.bytes, int32(len(body))), body...)
	q.backlog += 4 + len(body)
	if isReply {
		q.pending.replies++
		q.replies++
	}
	return nil
}

// size is the number of bytes and of replies that wait.
func (q *outQueue) size() (bytes, replies int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.backlog, q.replies
}

// nudge tells the writer that there is something to write.
func (q *outQueue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// flush writes what waits, unless somebody else is at it. What a slow peer does
// not take within readerPatience is left to the writer.
func (q *outQueue) flush() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing || q.closed || len(q.pending.bytes) == 0 {
		return nil
	}
	err := q.drain(q.swap(), readerPatience)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		q.nudge()
		return nil
	}
	return err
}

// flushUnless flushes, but lets replies gather while more requests are at hand
// and neither bytes nor replies have become many.
func (q *outQueue) flushUnless(more bool) error {
	bytes, replies := q.size()
	if more && bytes < 64<<10 && replies < maxUnanswered {
		return nil
	}
	if err := q.flush(); err != nil {
		return err
	}
	q.waitFor(maxUnanswered)
	return nil
}

// run is the writer: it ends when the queue is closed or a write fails.
func (q *outQueue) run() error {
	for range q.wake {
		q.mu.Lock()
		var err error
		switch {
		case q.closed:
			q.mu.Unlock()
			return nil
		case len(q.rest.bytes) > 0:
			b := q.rest
			q.rest = batch{}
			err = q.drain(b, 0)
		case !q.writing && len(q.pending.bytes) > 0:
			err = q.drain(q.swap(), 0)
		}
		q.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// drain writes b and whatever is added meanwhile. With a patience it gives up
// on a slow peer, and the rest of b is kept for the writer. The lock is held
// but for the writes.
func (q *outQueue) drain(b batch, patience time.Duration) error {
	q.writing = true
	for {
		q.mu.Unlock()
		var deadline time.Time
		if patience > 0 {
			deadline = time.Now().Add(patience)
		}
		q.nc.SetWriteDeadline(deadline)
		n, err := q.nc.Write(b.bytes)
		q.mu.Lock()
		q.backlog -= n
		if errors.Is(err, os.ErrDeadlineExceeded) && patience > 0 && !q.closed {
			q.rest = batch{b.bytes[n:], b.replies}
			return err // writing stays true: the rest goes first
		}
		if err == nil {
			q.replies -= b.replies
		}
		if cap(b.bytes) <= keepBuffer {
			q.spare = b.bytes[:0]
		}
		q.change.Broadcast()
		if err != nil || q.closed || len(q.pending.bytes) == 0 {
			q.writing = false
			return err
		}
		b = q.swap()
	}
}

// swap takes the pending bytes for writing.
func (q *outQueue) swap() batch {
	b := q.pending
	q.pending, q.spare = batch{bytes: q.spare[:0]}, nil
	return b
}

// waitFor blocks until at most so many replies wait, or the queue is closed.
func (q *outQueue) waitFor(replies int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.replies > replies {
		q.change.Wait()
	}
}

// waitEmpty blocks until every byte is written, or the queue is closed.
func (q *outQueue) waitEmpty() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && (q.writing || len(q.pending.bytes) > 0) {
		q.change.Wait()
	}
}

// close drops what waits and ends run.
func (q *outQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.pending, q.rest, q.spare, q.backlog = batch{}, batch{}, nil, 0
	q.mu.Unlock()
	q.change.Broadcast()
	q.nudge()
}
