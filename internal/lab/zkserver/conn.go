package zkserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"
)

// Sizes of frames that are accepted. maxFrame is ZooKeeper's jute.maxbuffer.
const (
	minFrame     = 8
	maxFrame     = 0xfffff
	minHandshake = 28
	maxHandshake = 1024
)

// maxUnanswered is how many replies may wait for a client before its next
// requests are left unread.
const maxUnanswered = 1000

// conn is one connection: a reading goroutine that also does the requests, and
// a writer for events and slow peers.
type conn struct {
	server *Server
	store  *Store
	nc     net.Conn
	in     *bufio.Reader
	out    *outQueue
	peer   string
	done   chan struct{} // closed by shut
	once   sync.Once

	// Guarded by the store's lock.
	who     *caller
	serving bool // its own goroutine is in the store: no need to wake the writer
	mute    bool // the reply at hand is dropped
	scratch []byte

	stats connStats
}

func newConn(s *Server, nc net.Conn, peer string) *conn {
	c := &conn{
		server: s, store: s.store, nc: nc, in: bufio.NewReaderSize(nc, 16<<10),
		out: newOutQueue(nc, s.opt.MaxBacklog), peer: peer, done: make(chan struct{}), who: &caller{},
	}
	c.stats.since = time.Now()
	host := "127.0.0.1" // in process
	if a, err := netip.ParseAddrPort(peer); err == nil {
		host = a.Addr().Unmap().String()
	}
	c.who.addIdentity(identity{"ip", host})
	return c
}

// shut closes the connection now, with a reason for the log; the first one
// counts. It may be called from anywhere and takes no lock of the store.
func (c *conn) shut(format string, args ...any) {
	c.once.Do(func() {
		close(c.done)
		c.out.close()
		c.nc.Close()
		c.server.logf("connection of %s closed: %s", c.peer, fmt.Sprintf(format, args...))
	})
}

// run serves the connection to its end.
func (c *conn) run() {
	writer := make(chan struct{})
	go func() {
		defer close(writer)
		if err := c.out.run(); err != nil {
			c.shut("write: %v", err)
		}
	}()
	c.shut("%s", c.converse())
	c.leave()
	<-writer
}

// leave takes the connection out of the store. Its session stays.
func (c *conn) leave() {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.forget(c)
	if own := c.store.sessions[c.who.session]; own != nil && own.conn == c {
		own.conn = nil
	}
}

// converse reads and answers frames and tells why it stopped. A panic in a
// request, of this package or of a hook, costs this connection only.
func (c *conn) converse() (reason string) {
	defer func() {
		if p := recover(); p != nil {
			reason = fmt.Sprintf("panic in a request: %v\n%s", p, debug.Stack())
		}
	}()
	c.nc.SetReadDeadline(time.Now().Add(c.server.opt.HandshakeTimeout))
	first, err := c.in.Peek(4)
	if err != nil {
		return readFailure("the handshake", err)
	}
	if answer := c.server.fourLetterWord(string(first)); answer != "" {
		return c.sayAndClose(answer, string(first))
	}
	frame, err := c.readFrame(nil, minHandshake, maxHandshake)
	if err != nil {
		return readFailure("the handshake", err)
	}
	c.nc.SetReadDeadline(time.Time{})
	if reason := c.handshake(frame); reason != "" {
		c.finish(reason)
		return reason
	}
	var buf []byte
	for {
		if err := c.out.flushUnless(c.frameBuffered()); err != nil {
			return "write: " + err.Error()
		}
		buf, err = c.readFrame(buf, minFrame, maxFrame)
		if err != nil {
			if errors.Is(err, io.EOF) {
				c.finish("the client hung up") // it may have closed its sending side only
			}
			return readFailure("a request", err)
		}
		c.stats.received.Add(1)
		c.server.stats.received.Add(1)
		if reason := c.handle(buf); reason != "" {
			c.finish(reason)
			return reason
		}
		if cap(buf) > keepBuffer/4 {
			buf = nil
		}
	}
}

func readFailure(what string, err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the client hung up"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the client hung up in the middle of %s", what)
	}
	return fmt.Sprintf("read %s: %v", what, err)
}

// frameBuffered tells whether the next request is here already, so that its
// reply can leave together with those before it.
func (c *conn) frameBuffered() bool {
	if c.in.Buffered() < 4 {
		return false
	}
	head, _ := c.in.Peek(4)
	n := int(int32(binary.BigEndian.Uint32(head)))
	return n >= minFrame && c.in.Buffered()-4 >= n
}

// readFrame reads a length and that many bytes into buf, which grows as bytes
// come, not as the length claims.
func (c *conn) readFrame(buf []byte, least, most int) ([]byte, error) {
	return readFrame(c.in, buf, least, most)
}

func readFrame(in io.Reader, buf []byte, least, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(head[:])))
	if n < least || n > most {
		return nil, fmt.Errorf("frame length %d is not between %d and %d", n, least, most)
	}
	const chunk = 32 << 10
	buf = buf[:0]
	for len(buf) < n {
		have := len(buf)
		want := min(n, have+max(chunk, have)) // doubles: at most twice of what came
		if cap(buf) < want {
			buf = append(make([]byte, 0, want), buf...)
		}
		buf = buf[:want]
		if _, err := io.ReadFull(in, buf[have:]); err != nil {
			return nil, errors.Join(io.ErrUnexpectedEOF, err)
		}
	}
	return buf, nil
}

// finish lets the last reply leave before the connection is closed for a
// reason. Meanwhile it reads and drops what the client still sends: the client
// may be writing and not yet reading, and a socket that is closed with unread
// input resets and takes the reply with it.
func (c *conn) finish(reason string) {
	if bytes, _ := c.out.size(); bytes == 0 {
		return
	}
	slow := time.AfterFunc(c.server.opt.HandshakeTimeout, func() { c.shut("%s; it did not take the last reply", reason) })
	defer slow.Stop()
	c.out.flush()
	left := make(chan struct{})
	go func() {
		defer close(left)
		c.out.waitEmpty()
		c.hangUp(reason)
	}()
	io.Copy(io.Discard, c.in)
	<-left
}

// hangUp tells the client that no more comes, and gives it a second to close
// its side. A connection that cannot be closed by halves is closed: it has
// handed over every byte by now.
func (c *conn) hangUp(reason string) {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		c.shut("%s", reason)
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(time.Second))
}

// sayAndClose answers a four-letter word.
func (c *conn) sayAndClose(text, word string) string {
	c.nc.SetWriteDeadline(time.Now().Add(c.server.opt.HandshakeTimeout))
	if _, err := io.WriteString(c.nc, text); err != nil {
		return fmt.Sprintf("write the answer to %s: %v", word, err)
	}
	c.hangUp("answered " + word)
	io.Copy(io.Discard, c.in)
	return "answered " + word
}

// Notify queues an event. The store's lock is held.
func (c *conn) Notify(e Event) {
	b := putReplyHeader(c.scratch[:0], -1, -1, OK)
	b = putText(putInt32(putInt32(b, int32(e.Type)), 3), e.Path)
	c.scratch = b
	c.enqueue(b, false)
	if !c.serving {
		c.out.nudge()
	}
}

// reply queues the reply to a request. The store's lock is held.
func (c *conn) reply(xid int32, zxid int64, code Code, body func([]byte) []byte) {
	if c.mute {
		return
	}
	b := putReplyHeader(c.scratch[:0], xid, zxid, code)
	if code == OK && body != nil {
		b = body(b)
	}
	c.scratch = b
	if cap(b) > keepBuffer {
		c.scratch = nil
	}
	c.enqueue(b, xid > 0)
}

func (c *conn) enqueue(b []byte, counted bool) {
	c.stats.sent.Add(1)
	c.server.stats.sent.Add(1)
	if err := c.out.add(b, counted); err != nil {
		c.shut("%v", err)
	}
}
