package zkserver

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// ServerOptions of a Server. A zero field takes its default.
type ServerOptions struct {
	// TickTime is ZooKeeper's tickTime, default 2 s. Session timeouts are
	// clamped to between 2 and 20 ticks. Expiry does not wait for a tick.
	TickTime time.Duration
	// HandshakeTimeout is how long a new connection may take to say who it is,
	// and the last reply to be taken; default 5 s.
	HandshakeTimeout time.Duration
	// MaxConns bounds open connections; default 5,000.
	MaxConns int
	// MaxBacklog bounds the bytes that wait for one client before its
	// connection is closed; default 64 MiB.
	MaxBacklog int
	// Log is told why connections close. It is called from many goroutines,
	// at times with the store's lock held: it must not call the store.
	Log func(line string)
}

// Server speaks ZooKeeper's client protocol over a Store.
type Server struct {
	store *Store
	opt   ServerOptions
	start time.Time
	stats serverStats

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[*conn]struct{}
	noSession map[int64]struct{}  // partitioned sessions
	noPeer    map[string]struct{} // partitioned Dial names

	stop chan struct{}
	wg   sync.WaitGroup
}

// NewServer starts a server without a listener: sessions of the store expire
// from now on. Close it.
func NewServer(store *Store, o ServerOptions) *Server {
	if o.TickTime <= 0 {
		o.TickTime = 2 * time.Second
	}
	if o.HandshakeTimeout <= 0 {
		o.HandshakeTimeout = 5 * time.Second
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 5000
	}
	if o.MaxBacklog <= 0 {
		o.MaxBacklog = 64 << 20
	}
	s := &Server{
		store: store, opt: o, start: time.Now(), conns: map[*conn]struct{}{},
		noSession: map[int64]struct{}{}, noPeer: map[string]struct{}{}, stop: make(chan struct{}),
	}
	s.wg.Go(s.keepTime)
	return s
}

// Store is the tree that the server serves.
func (s *Server) Store() *Store { return s.store }

func (s *Server) logf(format string, args ...any) {
	if s.opt.Log != nil {
		s.opt.Log(fmt.Sprintf(format, args...))
	}
}

// clamp brings an asked session timeout into the server's bounds.
func (s *Server) clamp(asked time.Duration) time.Duration {
	return min(max(asked, 2*s.opt.TickTime), 20*s.opt.TickTime)
}

var errClosed = errors.New("zkserver: the server is closed")

// Listen accepts clients on a TCP address such as 127.0.0.1:0 and tells which
// one it got. Give a loopback address: there is no TLS.
func (s *Server) Listen(addr string) (net.Addr, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("zkserver: listen: %w", err)
	}
	if err := s.Serve(l); err != nil {
		return nil, err
	}
	return l.Addr(), nil
}

// Serve accepts clients from a listener until the server closes, which closes
// the listener too. It returns at once.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.Close()
		return errClosed
	}
	s.listeners = append(s.listeners, l)
	s.wg.Go(func() { s.accept(l) })
	return nil
}

func (s *Server) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err == nil {
			s.serve(nc, nc.RemoteAddr().String())
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.logf("accept on %s: %v", l.Addr(), err)
		select { // out of descriptors: let connections go first
		case <-time.After(50 * time.Millisecond):
		case <-s.stop:
			return
		}
	}
}

// Dial opens an in-memory connection, for go-zookeeper's WithDialer. The name
// stands for the caller in Request.Peer and PartitionPeer.
func (s *Server) Dial(name string) (net.Conn, error) {
	client, server := net.Pipe()
	if err := s.serve(server, name); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// serve runs a connection in its own goroutine, if there is a place for it.
func (s *Server) serve(nc net.Conn, peer string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	_, away := s.noPeer[peer]
	switch {
	case s.closed:
		err = errClosed
	case len(s.conns) >= s.opt.MaxConns:
		err = fmt.Errorf("zkserver: %d connections are open, no more are taken", len(s.conns))
	case away:
		err = fmt.Errorf("zkserver: %s is partitioned away", peer)
	}
	if err != nil {
		nc.Close()
		s.logf("connection of %s refused: %v", peer, err)
		return err
	}
	c := newConn(s, nc, peer)
	s.conns[c] = struct{}{}
	s.wg.Go(func() {
		c.run()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	})
	return nil
}

// Close ends all connections, sessions stay in the store. It returns when no
// goroutine of the server is left.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
		for _, l := range s.listeners {
			l.Close()
		}
		for c := range s.conns {
			c.shut("the server closes")
		}
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// Cut closes the connection of a session, as a broken network would; the
// session lives on. False when it has no connection.
func (s *Server) Cut(session int64) bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	own := s.store.sessions[session]
	if own == nil || own.conn == nil {
		return false
	}
	c := own.conn
	own.conn = nil
	s.store.forget(c)
	c.shut("session 0x%x was cut", session)
	return true
}

// PartitionSession cuts a session and refuses its reconnects until Heal: unless
// that comes in time, it expires.
func (s *Server) PartitionSession(session int64) {
	s.mu.Lock()
	s.noSession[session] = struct{}{}
	s.mu.Unlock()
	s.Cut(session)
}

// PartitionPeer cuts all connections of a Dial name and refuses new ones, new
// sessions too, until Heal.
func (s *Server) PartitionPeer(name string) {
	s.mu.Lock()
	s.noPeer[name] = struct{}{}
	var cut []*conn
	for c := range s.conns {
		if c.peer == name {
			cut = append(cut, c)
		}
	}
	s.mu.Unlock()
	for _, c := range cut {
		c.shut("%s is partitioned away", name)
		c.leave()
	}
}

// HealSession ends PartitionSession.
func (s *Server) HealSession(session int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.noSession, session)
}

// HealPeer ends PartitionPeer.
func (s *Server) HealPeer(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.noPeer, name)
}

func (s *Server) cutOff(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, away := s.noSession[session]
	return away
}

// connections lists the open ones, oldest first.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*conn
	for c := range s.conns {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *conn) int { return a.stats.since.Compare(b.stats.since) })
	return out
}
