package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// session is a broker's ZooKeeper client.
type session struct {
	conn    *zk.Conn
	wire    *zkWire
	notify  chan struct{} // something changed; holds one
	ended   chan struct{} // closed when the client's goroutines are gone
	expired atomic.Bool   // the server has ended a session since this was last reset
}

// hosts hands out the servers in turn, without the client's own pause of a
// second after each round: zkWire pauses.
type hosts struct {
	servers []string
	next    int
}

func (h *hosts) Init(servers []string) error { h.servers = servers; return nil }
func (h *hosts) Len() int                    { return len(h.servers) }
func (h *hosts) Connected()                  {}
func (h *hosts) Next() (string, bool) {
	s := h.servers[h.next%len(h.servers)]
	h.next++
	return s, false
}

// quiet keeps the client's chatter off the terminal; events tell what counts.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// openSession starts the client; it connects on its own goroutine. The lock is
// held.
func (r *run) openSession() error {
	c := r.b.c
	if len(c.cfg.ZooKeeper) == 0 {
		return errors.New("no ZooKeeper address is configured")
	}
	s := &session{notify: make(chan struct{}, 1), ended: make(chan struct{}), wire: newZKWire(c.cfg.Dial, r.b.behaviour.ZooKeeperCut)}
	conn, events, err := zk.Connect(c.cfg.ZooKeeper, r.b.set.SessionTimeout,
		zk.WithDialer(s.wire.dial), zk.WithHostProvider(&hosts{}), zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(16<<20), zk.WithEventCallback(s.heard))
	if err != nil {
		return fmt.Errorf("ZooKeeper client: %w", err)
	}
	s.conn = conn
	r.session = s
	c.spawn(func() {
		for range events {
		}
		close(s.ended)
	})
	return nil
}

// heard runs in the client's own loop, so it only leaves word.
func (s *session) heard(e zk.Event) {
	if e.Type == zk.EventSession && e.State == zk.StateExpired {
		s.expired.Store(true)
	}
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// close ends the session properly: ephemeral znodes go at once. Without a
// connection that is not possible, then it is a drop.
func (s *session) close() {
	if s.conn.State() == zk.StateHasSession {
		s.conn.Close()
	}
	s.drop()
}

// drop ends the client without a word to the server, which keeps the session
// until its timeout. It returns when the client's goroutines have ended.
//
// The client knows only the polite way, so its connection is cut and it is given
// a mute server (farewell) to close its session at.
func (s *session) drop() {
	s.wire.die()
	select {
	case <-s.wire.mute:
	case <-s.ended:
	}
	s.conn.Close()
	<-s.ended
}

// zkWire is how a session reaches ZooKeeper; it can be cut, and it can die.
type zkWire struct {
	open func(network, address string, timeout time.Duration) (net.Conn, error)

	mu     sync.Mutex
	conn   net.Conn
	cut    bool
	change chan struct{} // closed when cut or dead changes
	dead   bool
	mute   chan struct{} // closed when the client talks to a farewell
	once   sync.Once
}

func newZKWire(open func(network, address string, timeout time.Duration) (net.Conn, error), cut bool) *zkWire {
	return &zkWire{open: open, cut: cut, change: make(chan struct{}), mute: make(chan struct{})}
}

func (w *zkWire) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut == cut {
		return
	}
	w.cut = cut
	w.changed()
}

func (w *zkWire) die() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.dead {
		w.dead = true
		w.changed()
	}
}

// changed wakes a waiting dial, and closes the connection that may no longer be.
func (w *zkWire) changed() {
	close(w.change)
	w.change = make(chan struct{})
	if w.conn != nil && (w.cut || w.dead) {
		w.conn.Close()
	}
}

const redialPause = 50 * time.Millisecond

// dial is what the client calls for each connection. A refusal comes after a
// pause, so that the client does not spin.
func (w *zkWire) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	pause := time.NewTimer(timeout)
	defer pause.Stop()
	for {
		w.mu.Lock()
		cut, dead, change := w.cut, w.dead, w.change
		w.mu.Unlock()
		if dead {
			return newFarewell(w), nil
		}
		if cut {
			select {
			case <-change:
				continue
			case <-pause.C:
				return nil, errors.New("cut off from ZooKeeper")
			}
		}
		conn, err := w.open(network, address, timeout)
		if err != nil {
			select {
			case <-change:
			case <-time.After(redialPause):
			}
			return nil, err
		}
		w.mu.Lock()
		if w.conn != nil {
			w.conn.Close() // the client leaves the socket of an expired session open
		}
		w.conn = conn
		if w.cut || w.dead {
			conn.Close()
		}
		w.mu.Unlock()
		return conn, nil
	}
}

// farewell is a connection to nobody: it grants any session, then answers the
// request to close it, and swallows the rest.
type farewell struct {
	mu      sync.Mutex
	arrived *sync.Cond
	granted chan struct{}
	once    *sync.Once // of the wire: granted closes with the first farewell
	greeted bool
	out     []byte
	closed  bool
}

func newFarewell(w *zkWire) *farewell {
	f := &farewell{granted: w.mute, once: &w.once}
	f.arrived = sync.NewCond(&f.mu)
	return f
}

const closeSession = -11

// Write takes one frame, which is how the client writes.
func (f *farewell) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return 0, net.ErrClosed
	case !f.greeted: // connect: protocol 0, timeout, session id, 16 bytes of password
		f.greeted = true
		f.out = binary.BigEndian.AppendUint32(f.out, 36)
		f.out = binary.BigEndian.AppendUint32(f.out, 0)
		f.out = binary.BigEndian.AppendUint32(f.out, 30000)
		f.out = binary.BigEndian.AppendUint64(f.out, 1)
		f.out = binary.BigEndian.AppendUint32(f.out, 16)
		f.out = append(f.out, make([]byte, 16)...)
		f.once.Do(func() { close(f.granted) })
	case len(p) >= 12 && int32(binary.BigEndian.Uint32(p[8:])) == closeSession:
		f.out = binary.BigEndian.AppendUint32(f.out, 16)
		f.out = append(f.out, p[4:8]...) // xid
		f.out = append(f.out, make([]byte, 12)...)
	}
	f.arrived.Broadcast()
	return len(p), nil
}

func (f *farewell) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.out) == 0 && !f.closed {
		f.arrived.Wait()
	}
	if len(f.out) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

func (f *farewell) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.arrived.Broadcast()
	return nil
}

func (f *farewell) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (f *farewell) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (f *farewell) SetDeadline(time.Time) error      { return nil }
func (f *farewell) SetReadDeadline(time.Time) error  { return nil }
func (f *farewell) SetWriteDeadline(time.Time) error { return nil }
