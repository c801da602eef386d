package zkwatch

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"kstate/model"
)

// The limits of bulk reads.
const (
	// bulkBatches is how many batches are unanswered at a time.
	bulkBatches = 4
	// batchReads and batchBytes bound what one multiRead asks for and, as far as
	// earlier answers tell, what it brings.
	batchReads = 1000
	batchBytes = 1 << 20
	// firstBatch is the size of a batch before anything is known about sizes:
	// topic znodes can be 300 kB each.
	firstBatch = 32
)

// readKind is what a read is for.
type readKind uint8

const (
	readData     readKind = iota // data and Stat
	readChildren                 // names of the children; without multiRead the Stat, too
	readExists                   // Stat; never by multiRead
)

// read is one read of a bulk.
type read struct {
	path  string // in the ensemble
	kind  readKind
	watch bool // arm a one-shot watch; never by multiRead
	index int  // the caller's own
}

// value is the answer to a read.
type value struct {
	lost       bool
	code       model.Code
	data       []byte
	stat       model.Stat
	dataLength int32
	children   []string // sorted
	zxid       int64    // the tree as the server saw it
	seq        uint64   // position in the stream of what was seen
}

// batch is a group of reads and what came of them.
type batch struct {
	reads  []read
	values []value
}

// bulk reads many znodes through one session: by multiRead where the server has
// it, else by pipelined requests. One goroutine adds, pumps and takes.
type bulk struct {
	c      *Conn
	s      *session
	queue  []read
	head   int
	flying int
	single bool // never by multiRead
	done   *inbox[batch]
	// bytesPerRead is a running average of answers, times 16; 0 is unknown.
	bytesPerRead atomic.Int64
	paid         int // reads at the queue's head that the pace has let pass
	payAt        time.Time
}

func newBulk(c *Conn, s *session) *bulk {
	return &bulk{c: c, s: s, done: newInbox[batch]()}
}

func (b *bulk) add(r read) { b.queue = append(b.queue, r) }

// queued is how many reads have not been sent.
func (b *bulk) queued() int { return len(b.queue) - b.head }

// busy tells whether anything is queued or unanswered.
func (b *bulk) busy() bool { return b.queued() > 0 || b.flying > 0 }

// abandon empties the queue and returns what was in it.
func (b *bulk) abandon() []read {
	rest := b.queue[b.head:]
	b.queue, b.head, b.paid = nil, 0, 0
	return rest
}

// landed must be called for each batch taken from done.
func (b *bulk) landed(batch) { b.flying-- }

// size is how many reads the next batch has.
func (b *bulk) size() int {
	n := firstBatch
	if avg := b.bytesPerRead.Load() / 16; avg > 0 {
		n = int(max(1, min(batchReads, batchBytes/avg)))
	}
	n = min(n, b.queued())
	asked := 0
	for i, r := range b.queue[b.head : b.head+n] {
		if asked += len(r.path) + 14; asked > batchBytes/4 {
			return max(i, 1)
		}
	}
	return n
}

// pump sends what may be sent now. A positive result is when to pump again.
func (b *bulk) pump(l *link) time.Duration {
	for b.flying < bulkBatches && b.queued() > 0 {
		if b.paid == 0 {
			b.paid = b.size()
			b.payAt = time.Now().Add(b.c.pace.take(b.paid))
		}
		if wait := time.Until(b.payAt); wait > 0 {
			return wait
		}
		n := min(b.paid, b.queued())
		b.paid = 0
		reads := b.queue[b.head : b.head+n : b.head+n]
		if b.head += n; b.head == len(b.queue) {
			b.queue, b.head = nil, 0
		}
		b.flying++
		if l.multiRead && !b.single {
			b.byMultiRead(l, reads)
		} else {
			go b.onePerRequest(reads)
		}
	}
	return 0
}

// pumpWait pumps, sleeping for the pace while nothing is unanswered.
func (b *bulk) pumpWait(l *link) {
	for {
		wait := b.pump(l)
		if wait == 0 || b.flying > 0 {
			return
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-b.s.ctx.Done():
			t.Stop()
			return
		}
	}
}

func (b *bulk) byMultiRead(l *link, reads []read) {
	l.send(opMultiRead, func(e *encoder) {
		size := 32
		for i := range reads {
			size += len(reads[i].path) + 14
		}
		e.b = slices.Grow(e.b, size)
		for _, r := range reads {
			op := opGetData
			if r.kind == readChildren {
				op = opGetChildren
			}
			e.multiHeader(op, false)
			e.str(r.path)
			e.bool(false)
		}
		e.multiHeader(opError, true)
	}, func(a answer) {
		values := make([]value, len(reads))
		err := decodeMultiRead(a, reads, values)
		if err != nil {
			l.broken(err)
		}
		if err != nil || a.lost || a.code != model.CodeOK {
			for i := range values {
				values[i] = value{lost: a.lost || err != nil, code: a.code}
			}
			if a.code == model.CodeUnimplemented {
				b.c.abilities.learn(l.server, a)
				for i := range values {
					values[i].lost = true // once more, one by one
				}
			}
		} else {
			b.measure(len(a.body), len(reads))
		}
		b.done.post(batch{reads, values})
	})
}

// measure keeps the size of answers in mind, recent ones more.
func (b *bulk) measure(bytes, reads int) {
	now := int64(bytes) * 16 / int64(reads)
	if old := b.bytesPerRead.Load(); old > 0 {
		now = (old + 3*now) / 4
	}
	b.bytesPerRead.Store(max(now, 16))
}

// decodeMultiRead copies the entries of an answer out of its frame.
func decodeMultiRead(a answer, reads []read, values []value) error {
	if a.lost || a.code != model.CodeOK {
		return nil
	}
	d := decoder{b: a.body}
	n := 0
	// One allocation holds the data of all: what is read together is mostly
	// forgotten together.
	arena := make([]byte, 0, max(0, len(a.body)-len(reads)*(9+4+statSize)))
	for d.err == nil {
		kind, done := d.int32(), d.bool()
		code := model.Code(d.int32())
		if done || d.err != nil {
			break
		}
		if n == len(values) {
			d.fail("more than the %d entries that were asked for", n)
			break
		}
		v := &values[n]
		v.zxid, v.seq, v.code = a.zxid, a.seq, code
		switch {
		case kind == opError:
			v.code = model.Code(d.int32())
		case kind == opGetData && reads[n].kind == readData:
			if data := d.buffer(); data != nil {
				from := len(arena)
				arena = append(arena, data...)
				v.data = arena[from:len(arena):len(arena)]
			}
			v.stat, v.dataLength = d.stat()
		case kind == opGetChildren && reads[n].kind == readChildren:
			v.children = d.strs()
		default:
			d.fail("an entry of type %d", kind)
		}
		n++
	}
	if d.err == nil && n < len(values) {
		d.fail("%d entries where %d were asked for", n, len(values))
	}
	if d.err != nil {
		return errAnswer(opMultiRead, d.err)
	}
	return nil
}

// onePerRequest reads a batch through go-zookeeper, pipelined.
func (b *bulk) onePerRequest(reads []read) {
	flights := make([]*flight, len(reads))
	for i, r := range reads {
		switch r.kind {
		case readChildren:
			flights[i] = childrenFlight(r.path, r.watch)
		case readExists:
			flights[i] = existsFlight(r.path, r.watch)
		default:
			flights[i] = getFlight(r.path, r.watch)
		}
	}
	values := make([]value, len(reads))
	for _, f := range flights {
		if b.s.ready(context.Background()) == nil {
			f.lost = true
			close(f.done)
			continue
		}
		b.s.launchInWindow(f)
	}
	for i, f := range flights {
		<-f.done
		v := value{lost: f.lost, code: f.code, data: f.data, stat: f.stat, dataLength: f.dataLength, children: f.children}
		if o := f.outcome.Load(); o != nil {
			v.zxid, v.seq = o.zxid, o.seq
		}
		values[i] = v
	}
	b.done.post(batch{reads, values})
}
