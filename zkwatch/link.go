package zkwatch

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"kstate/model"
)

// link is one socket to one server, as go-zookeeper gets it from the dialer. It
// cuts both streams into frames. Outgoing frames pass the gate; between them go
// the link's own, which have xids from -1000 down. Incoming frames are checked;
// answers to the link's own are taken out.
//
// A link's life: handshake, preamble (credentials, watches, what the server can
// do), then ready. The preamble goes out before any frame of the client.
type link struct {
	net.Conn
	s      *session
	server string
	in     *bufio.Reader

	// Of the writing side.
	wmu       sync.Mutex
	nextXid   int32
	greeted   bool // the handshake went out
	readLimit time.Duration

	// Of the reading side.
	buf   []byte // the frame at hand, its length included
	rest  []byte // what go-zookeeper has not taken of it yet
	shook bool   // the handshake came back

	mu       sync.Mutex
	pending  map[int32]*request // by xid, unanswered
	preamble int                // answers of the preamble that are due
	dead     bool
	err      error // the first thing that went wrong

	multiRead bool // set before the link is ready
}

// request is an unanswered frame. It is a client's (flight is nil for a
// housekeeping frame) or the link's own (done is set).
type request struct {
	op     int32
	flight *flight
	done   func(answer)
}

// answer is what came of a request of the link's own.
type answer struct {
	lost bool // no answer came, and none will
	code model.Code
	zxid int64  // the tree as the server saw it
	seq  uint64 // position in the stream of what was seen
	body []byte // valid during the call
}

// tap is a socket whose reads give up when nothing comes for a while.
type tap struct{ l *link }

func (t tap) Read(p []byte) (int, error) {
	if err := t.l.Conn.SetReadDeadline(time.Now().Add(t.l.readLimit)); err != nil {
		return 0, err
	}
	return t.l.Conn.Read(p)
}

func newLink(s *session, conn net.Conn, server string) *link {
	l := &link{Conn: conn, s: s, server: server, nextXid: privateXids, pending: map[int32]*request{}}
	l.readLimit = max(s.c.opt.SessionTimeout*2/3, time.Second)
	l.in = bufio.NewReaderSize(tap{l}, 64<<10)
	return l
}

// Deadlines are the link's own business: its frames come between those of
// go-zookeeper, which would time them wrongly.
func (l *link) SetDeadline(time.Time) error      { return nil }
func (l *link) SetReadDeadline(time.Time) error  { return nil }
func (l *link) SetWriteDeadline(time.Time) error { return nil }

// Close ends the link. What is unanswered is lost.
func (l *link) Close() error {
	l.close(nil)
	return nil
}

// close notes why, wakes both sides and answers the link's own requests.
func (l *link) close(err error) {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return
	}
	l.dead = true
	if l.err == nil {
		l.err = err
	}
	lost := l.pending
	l.pending = nil
	err = l.err
	l.mu.Unlock()
	l.Conn.Close()
	l.s.linkDown(l, err)
	for _, r := range lost {
		if r.done != nil {
			r.done(answer{lost: true})
		}
	}
}

// broken closes the link for a frame that no sound server sends.
func (l *link) broken(err error) error {
	err = &ProtocolError{Server: l.server, What: err.Error()}
	l.s.c.opt.logf("%v", err)
	l.close(err)
	return err
}

// Write takes one whole frame of go-zookeeper.
func (l *link) Write(p []byte) (int, error) {
	if len(p) < 4 || int(binary.BigEndian.Uint32(p)) != len(p)-4 {
		return 0, fmt.Errorf("ZooKeeper %s: the client wrote half a frame", l.server)
	}
	l.wmu.Lock()
	defer l.wmu.Unlock()
	if !l.greeted {
		l.greeted = true
		if err := l.s.mayGreet(p[4:]); err != nil {
			return 0, err
		}
		return len(p), l.put(p)
	}
	if err := l.forward(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// forward sends a frame of the client, after the gate has seen it. A dead link
// is no error here, for the client's reading goroutine learns of it: go-zookeeper
// answers a request twice whose write failed, into a channel with room for one.
// Where the caller has left, as all do when the client closes, it would never end.
func (l *link) forward(p []byte) error {
	d := decoder{b: p[4:]}
	xid, op := d.int32(), d.int32()
	if d.err != nil {
		return fmt.Errorf("ZooKeeper %s: the client wrote a frame without a header", l.server)
	}
	r := &request{op: op}
	switch op {
	case opPing:
		_ = l.put(p)
		return nil
	case opClose:
	default:
		r.flight = l.s.announcedFor(op, d.b)
		if r.flight == nil {
			l.close(fmt.Errorf("ZooKeeper %s: %s that nobody asked for was not sent", l.server, opName(op)))
			return nil
		}
		defer r.flight.wasSent()
	}
	if err := l.s.c.opt.Gate.admit(op, d.b, l.s.c.address.Chroot); err != nil {
		l.s.c.opt.logf("%v", err)
		if r.flight != nil {
			r.flight.outcome.Store(&outcome{code: model.CodeReadOnlyMode})
		}
		return err
	}
	if r.flight != nil && r.flight.watch {
		p = armed(p)
	}
	if l.expect(xid, r) {
		if r.flight != nil {
			r.flight.wasSent() // its place in the order is certain
		}
		_ = l.put(p) // on failure the link is closed
	}
	return nil
}

// armed is a read's frame with its watch flag, the last byte, set. go-zookeeper
// does not know of the watch: of those that it knows it keeps a channel for each
// read until they fire, and after a reconnect it re-arms them behind whatever
// waits to be sent, while another goroutine of it writes the zxid that it reads
// for that.
func armed(p []byte) []byte {
	p = append(make([]byte, 0, len(p)), p...)
	p[len(p)-1] = 1
	return p
}

// put writes bytes to the socket. The caller holds wmu.
func (l *link) put(p []byte) error {
	if err := l.Conn.SetWriteDeadline(time.Now().Add(l.readLimit)); err != nil {
		return err
	}
	if _, err := l.Conn.Write(p); err != nil {
		l.close(fmt.Errorf("ZooKeeper %s: write: %w", l.server, err))
		return err
	}
	return nil
}

// expect notes a request before it goes out; false when the link is dead.
func (l *link) expect(xid int32, r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return false
	}
	l.pending[xid] = r
	return true
}

// send sends a frame of the link's own. done is called once, by the reading
// goroutine or, when the link is dead, by whoever notices: it must not send.
// Never call send from the reading goroutine: on an in-memory connection both
// ends would wait for each other.
func (l *link) send(op int32, body func(*encoder), done func(answer)) {
	l.wmu.Lock()
	ok := l.sendLocked(op, body, done)
	l.wmu.Unlock()
	if !ok {
		done(answer{lost: true})
	}
}

func (l *link) sendLocked(op int32, body func(*encoder), done func(answer)) bool {
	xid := l.nextXid
	l.nextXid--
	if l.nextXid >= 0 { // it wrapped around
		l.nextXid = privateXids
	}
	e := newFrame(xid, op)
	body(e)
	if !l.expect(xid, &request{op: op, done: done}) {
		return false
	}
	p := e.frame()
	if err := l.s.c.opt.Gate.admit(op, p[12:], l.s.c.address.Chroot); err != nil {
		l.close(err)
		return true // close has answered it
	}
	_ = l.put(p) // on failure close has answered it
	return true
}

// Read hands checked frames to go-zookeeper, which asks for four bytes and then
// for the rest.
func (l *link) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next reads frames until one is for go-zookeeper, and puts it into rest.
func (l *link) next() error {
	for {
		body, err := l.readFrame()
		if err != nil {
			return err
		}
		if !l.shook {
			l.shook = true
			err = l.shake(body)
		} else {
			var mine bool
			if mine, err = l.take(body); mine && err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		l.rest = l.buf
		return nil
	}
}

// bigFrame is how large a buffer may be that is kept for the next frame.
const bigFrame = 4 << 20

func (l *link) readFrame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(l.in, head[:]); err != nil {
		return nil, l.cut(err)
	}
	n, err := frameLength(head[:], !l.shook)
	if err != nil {
		return nil, l.broken(err)
	}
	if cap(l.buf) < n+4 || cap(l.buf) > bigFrame {
		l.buf = make([]byte, max(n+4, 4<<10))
	}
	l.buf = append(l.buf[:0], head[:]...)
	l.buf = l.buf[:n+4]
	if _, err := io.ReadFull(l.in, l.buf[4:]); err != nil {
		return nil, l.cut(err)
	}
	return l.buf[4:], nil
}

// cut closes the link after a failed read.
func (l *link) cut(err error) error {
	l.mu.Lock()
	dead, first := l.dead, l.err
	l.mu.Unlock()
	if dead {
		return errors.Join(first, net.ErrClosed)
	}
	var slow net.Error
	late := errors.As(err, &slow) && slow.Timeout()
	if !l.shook && late {
		err = fmt.Errorf("ZooKeeper %s took the connection and did not answer the handshake (%w): is a ZooKeeper there, and does that port speak %s?",
			l.server, err, l.s.c.opt.transport())
		l.close(err)
		return err
	}
	if !l.shook {
		err = fmt.Errorf("ZooKeeper %s closed the connection without an answer to the handshake (%w)", l.server, err)
		l.close(err)
		l.s.turnedAway(err)
		return err
	}
	err = fmt.Errorf("ZooKeeper %s: read: %w", l.server, err)
	l.close(err)
	return err
}

// shake deals with the server's answer to the handshake. The preamble is
// written by another goroutine: the server may wait for this one to read.
func (l *link) shake(body []byte) error {
	h, err := parseHandshake(body)
	if err == nil {
		err = l.s.shook(h)
	}
	if err != nil {
		return l.broken(err)
	}
	if h.session == 0 {
		l.close(nil)
		return nil // go-zookeeper reads of the expiry from this frame
	}
	granted := time.Duration(h.timeoutMillis) * time.Millisecond
	l.readLimit = granted * 2 / 3
	steps := l.s.preamble(l)
	l.preamble = len(steps)
	if len(steps) == 0 {
		l.s.linkUp(l)
		return nil
	}
	l.wmu.Lock()
	go func() {
		defer l.wmu.Unlock()
		for _, step := range steps {
			done := step.done
			ok := l.sendLocked(step.op, step.body, func(a answer) {
				done(a)
				l.preambleAnswered(a)
			})
			if !ok {
				return
			}
		}
	}()
	return nil
}

// preambleAnswered makes the link ready after the last answer.
func (l *link) preambleAnswered(a answer) {
	if a.lost {
		return
	}
	l.mu.Lock()
	l.preamble--
	ready := l.preamble == 0 && !l.dead
	l.mu.Unlock()
	if ready {
		l.s.linkUp(l)
	}
}

// take looks at a frame behind the handshake. It is mine when go-zookeeper must
// not see it.
func (l *link) take(body []byte) (mine bool, err error) {
	d := decoder{b: body}
	h := d.header()
	seq := l.s.frameCame(h)
	switch h.xid {
	case xidPing:
		return false, nil
	case xidEvent:
		ev, err := parseEvent(d.b)
		if err != nil {
			return false, l.broken(err)
		}
		return !l.s.eventCame(ev), nil
	}
	l.mu.Lock()
	r := l.pending[h.xid]
	delete(l.pending, h.xid)
	l.mu.Unlock()
	if r == nil {
		return false, l.broken(fmt.Errorf("an answer with xid %d, which is not awaited", h.xid))
	}
	if r.done != nil {
		r.done(answer{code: h.code, zxid: h.zxid, seq: seq, body: d.b})
		return true, nil
	}
	o := &outcome{code: h.code, zxid: h.zxid, seq: seq}
	if h.code == model.CodeOK {
		if o.entries, err = checkReply(r.op, d.b); err != nil {
			return false, l.broken(err)
		}
	}
	if r.flight != nil {
		r.flight.outcome.Store(o)
		l.s.answered(r.flight, h.code)
	}
	return false, nil
}
