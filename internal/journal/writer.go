package journal

import (
	"fmt"
	"sync"
	"time"

	"kstate/model"
)

// Options of a Writer. Path and Header are needed.
type Options struct {
	Path   string
	Header Header // Format, Recording, Part, From, Oldest and Began are set by the Writer
	// MaxBytes bounds FILE and the older files beside it together; see file.go.
	MaxBytes int64 // default 1 GiB
	// QueueBytes bounds the memory of what waits to be written.
	QueueBytes int64            // default 32 MiB
	Clock      func() time.Time // default time.Now
	// Open makes the sink in the place of a file at Path: tests of disks that fail.
	Open func(h Header) (Sink, error)

	flushAfter time.Duration // how long a line may wait for its block; 0: half a second
}

// Sink takes the blocks of a recording. After an error of Append nothing of that
// block remains, or the next Append fails, too.
type Sink interface {
	Append(block []byte) error
	Sync() error
	// Rotate begins the next file, if it is time to. It is called between blocks.
	Rotate(h Header) error
	Size() int64
	Close() error
}

const (
	blockBytes   = 256 << 10              // lines in a block, before compression
	flushAfter   = 500 * time.Millisecond // how long a line may wait for its block
	syncAfter    = 5 * time.Second        // how long a block may wait for the disk itself
	retryAfter   = time.Second            // between two attempts to write a block that failed
	stalledAfter = time.Second            // a write that takes longer counts as a disk that does not take it
	entryBytes   = 160                    // what an entry takes in memory, without its result
)

// Status is how a Writer stands.
type Status struct {
	Path    string
	Records uint64 // recorded, those that are lost among them
	Bytes   int64  // on the disk, in the file at work
	Lost    uint64 // records that are missing
	Err     string // why the disk does not take what is written now; empty: it does
	Waiting int64  // bytes of memory that wait to be written
}

// Writer records. Its methods never wait for the disk, except while more than
// QueueBytes wait and the disk still takes them. A nil Writer records nothing.
type Writer struct {
	opt  Options
	sink Sink

	mu      sync.Mutex
	room    sync.Cond // the queue got shorter, or the disk failed
	queue   []entry
	waiting int64 // bytes of the queue and of what is being written
	n       uint64
	lost    *Lost // of the gap that is open
	lostN   uint64
	err     error
	busy    time.Time // when the write under way began; zero: none
	bytes   int64
	closing bool
	wake    chan struct{}
	done    chan struct{}

	// of the goroutine
	enc      *encoder
	zip      *compressor
	held     [][]byte  // blocks that the disk did not take yet
	next     uint64    // number of the first record that is in no line yet
	flushAt  time.Time // of what is in enc; zero: nothing is
	syncAt   time.Time // zero: all that was written is on the disk
	adding   bool      // in the middle of an entry's lines
	retryAt  time.Time // zero: the disk takes what is written
	closeErr error
	recycled []entry
}

// Create begins a recording. An existing recording at Path is moved aside, as
// when a file has got too large; anything else there is refused.
func Create(opt Options) (*Writer, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = 1 << 30
	}
	if opt.QueueBytes <= 0 {
		opt.QueueBytes = 32 << 20
	}
	if opt.flushAfter <= 0 {
		opt.flushAfter = flushAfter
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	now := opt.Clock()
	h := &opt.Header
	h.Format, h.Part, h.From, h.Oldest, h.Began = FormatVersion, 1, 1, 1, now.UnixMilli()
	h.Recording = fmt.Sprintf("%s-%d", now.UTC().Format("20060102T150405.000Z"), processID())
	open := opt.Open
	if open == nil {
		open = func(h Header) (Sink, error) { return openFile(opt.Path, opt.MaxBytes, h) }
	}
	sink, err := open(*h)
	if err != nil {
		return nil, err
	}
	w := &Writer{opt: opt, sink: sink, wake: make(chan struct{}, 1), done: make(chan struct{}), zip: newCompressor(), next: 1}
	w.enc = newEncoder(w.spill)
	w.room.L = &w.mu
	w.bytes = sink.Size()
	go w.run()
	return w, nil
}

// Input records that something came from outside.
func (w *Writer) Input(in model.Input) {
	if w != nil {
		w.put(entry{kind: Input, at: in.At, input: in.Of})
	}
}

// Step records a step that the environment is about to perform, and returns its
// number, for Settled. event is the number of the event at work, aside that of
// the admin request whose step it is, or 0.
func (w *Writer) Step(at int64, event, aside uint64, s model.Step) uint64 {
	if w == nil {
		return 0
	}
	return w.put(entry{kind: Taken, at: at, event: event, aside: aside, step: s})
}

// Settled records the result of a step that Step recorded under that number.
func (w *Writer) Settled(of uint64, s model.Step, r model.Result) {
	if w == nil {
		return
	}
	x := entry{kind: Result, at: r.At, of: of, step: s}
	if r.Ops != nil || r.Code != model.CodeOK || !r.ID.IsZero() {
		x.result = &r
	}
	w.put(x)
}

// Taken records a step that nobody performs, with the time of its result.
func (w *Writer) Taken(at int64, event, aside uint64, s model.Step) {
	if w != nil {
		w.put(entry{kind: Taken, local: true, at: at, event: event, aside: aside, step: s})
	}
}

// Seen records what was seen of a controller from outside, an input or a step.
func (w *Writer) Seen(r model.Record) {
	switch {
	case w == nil:
	case r.Input != nil:
		w.put(entry{kind: Input, at: r.At, input: r.Input})
	case r.Step != nil:
		w.put(entry{kind: Taken, local: true, at: r.At, event: r.EventSeq, step: r.Step, inferred: r.Inferred})
	}
}

// Command records what the operator asked for.
func (w *Writer) Command(at int64, c model.Command) {
	if w != nil {
		w.put(entry{kind: Command, at: at, text: TypeName(c) + " " + string(encodeMasked(c))})
	}
}

// Notice records what the operator was told.
func (w *Writer) Notice(at int64, level model.Level, text string) {
	if w != nil {
		w.put(entry{kind: Notice, at: at, text: level.String() + " " + text})
	}
}

// Engine records that a fresh engine begins, in the place of the one before if
// there was one; settings is what it was made with, as JSON without secrets.
func (w *Writer) Engine(at int64, settings []byte) {
	if w != nil {
		w.put(entry{kind: Engine, at: at, text: string(settings)})
	}
}

// Status says how it stands; it never waits. A nil Writer has none.
func (w *Writer) Status() (Status, bool) {
	if w == nil {
		return Status{}, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Status{Path: w.opt.Path, Records: w.n, Bytes: w.bytes, Lost: w.lostN, Waiting: w.waiting}
	switch {
	case w.err != nil:
		s.Err = w.err.Error()
	case w.stalled():
		s.Err = fmt.Sprintf("a write has taken %d s", int(w.opt.Clock().Sub(w.busy).Seconds()))
	}
	return s, true
}

// Shown is the Status for a screen; nil for a nil Writer.
func (w *Writer) Shown() *model.JournalStatus {
	st, ok := w.Status()
	if !ok {
		return nil
	}
	return &model.JournalStatus{Path: st.Path, Records: st.Records, Lost: st.Lost, Failing: st.Err}
}

// stalled tells whether the write under way takes too long.
func (w *Writer) stalled() bool { return !w.busy.IsZero() && w.opt.Clock().Sub(w.busy) > stalledAfter }

// put queues an entry and gives it its number.
func (w *Writer) put(x entry) uint64 {
	size := x.bytes()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing { // too late: its end is written
		return 0
	}
	w.n++
	x.n = w.n
	if w.full() {
		w.await()
	}
	if w.full() || w.lost != nil && w.waiting > w.opt.QueueBytes/2 {
		w.lose(x.n)
		return x.n
	}
	w.endGap(x.at)
	w.queue = append(w.queue, x)
	w.waiting += size
	if len(w.queue) == 1 || w.waiting > w.opt.QueueBytes/4 {
		w.signal()
	}
	return x.n
}

// bytes is about what an entry keeps in memory.
func (x *entry) bytes() int64 {
	size := int64(entryBytes)
	if x.result != nil {
		for i := range x.result.Ops {
			size += int64(entryBytes + len(x.result.Ops[i].Data))
		}
	}
	return size
}

func (w *Writer) full() bool { return w.waiting >= w.opt.QueueBytes }

// await waits while the queue is full and the disk takes what is written.
func (w *Writer) await() {
	w.signal()
	for w.full() && w.err == nil && !w.stalled() && !w.closing {
		t := time.AfterFunc(stalledAfter/10, func() { // a stalled write tells nobody
			w.mu.Lock()
			defer w.mu.Unlock()
			w.room.Broadcast()
		})
		w.room.Wait()
		t.Stop()
	}
}

// lose notes that a record was not taken.
func (w *Writer) lose(n uint64) {
	w.lostN++
	if w.lost == nil {
		why := "the disk took too long"
		if w.err != nil {
			why = w.err.Error()
		}
		w.lost = &Lost{From: n, Why: why}
	}
	w.lost.To = n
}

// endGap writes down what was lost, in the place of it.
func (w *Writer) endGap(at int64) {
	if w.lost == nil {
		return
	}
	w.queue = append(w.queue, entry{kind: Gap, n: w.lost.From, at: at, lost: w.lost})
	w.waiting += entryBytes
	w.lost = nil
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close writes what is left and closes the file. The error says what was lost.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	w.closing = true
	w.room.Broadcast()
	w.mu.Unlock()
	w.signal()
	<-w.done
	return w.closeErr
}
