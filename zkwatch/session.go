package zkwatch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/model"
)

// session is one ZooKeeper session with its own go-zookeeper client. It never
// gets a second session: go-zookeeper would send in it what was queued in the
// first. When it is over, the Conn makes another session value.
type session struct {
	c      *Conn
	client *zk.Conn
	made   chan struct{} // client is set
	ended  chan struct{} // go-zookeeper's goroutines are gone
	ctx    context.Context
	cancel context.CancelFunc // ends dialling and waiting

	turn      sync.Mutex // whoever holds it has the next frame
	announced atomic.Pointer[flight]

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when link or over changes
	link      *link         // the ready one, nil while there is none
	socket    *link         // the last one dialled, ready or not
	over      bool          // the server, or the watchdog, ended it
	id        int64
	granted   time.Duration
	upAt      time.Time // when a link was last ready
	rejected  int       // handshakes in a row that a server hung up on
	lastZxid  int64
	watches   watchTable
	firstLink bool // a link was ready
}

// errOver is what a dialer gets after the end of its session.
var errOver = errors.New("the ZooKeeper session is over")

// newSession starts a client. It looks for a server in the background.
func newSession(c *Conn) (*session, error) {
	s := &session{c: c, made: make(chan struct{}), ended: make(chan struct{}), changed: make(chan struct{}), upAt: time.Now(), watches: newWatchTable()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	client, events, err := zk.Connect(slices.Clone(c.address.Servers), c.opt.SessionTimeout,
		zk.WithDialer(s.dial), zk.WithHostProvider(&hosts{s: s}), zk.WithEventCallback(s.clientEvent),
		zk.WithLogger(clientLog{c}), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(maxRequest+64<<10))
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("ZooKeeper %s: %w", c.address, err)
	}
	s.client = client
	close(s.made)
	go func() {
		// The channel drops events when it is full, so nothing is taken from
		// it but its end.
		for range events {
		}
		close(s.ended)
	}()
	return s, nil
}

// clientLog routes go-zookeeper's own log lines.
type clientLog struct{ c *Conn }

func (l clientLog) Printf(format string, args ...any) {
	l.c.opt.logf("ZooKeeper client: "+format, args...)
}

// dial opens a socket for go-zookeeper. Its limit of one second is too short for
// TLS over a long way.
func (s *session) dial(network, address string, _ time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, dialLimit(s.c.opt.SessionTimeout))
	defer cancel()
	if s.isOver() {
		return nil, errOver
	}
	s.c.noteServer(address)
	conn, err := s.c.dialSocket(ctx, network, address)
	if err != nil {
		err = fmt.Errorf("ZooKeeper %s: %w", address, err)
		s.c.noteError(err)
		return nil, err
	}
	l := newLink(s, conn, address)
	s.mu.Lock()
	s.socket = l
	over := s.over
	s.mu.Unlock()
	if over {
		l.Close()
		return nil, errOver
	}
	return l, nil
}

// dialLimit is how long one attempt may take.
func dialLimit(sessionTimeout time.Duration) time.Duration {
	return min(max(sessionTimeout/3, time.Second), 10*time.Second)
}

func (c *Conn) dialSocket(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.opt.Dialer
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil || c.opt.TLS == nil {
		return conn, err
	}
	cfg := c.opt.TLS
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(address)
	}
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secure, nil
}

// mayGreet looks at a connect request of the client. Only the first may ask for
// a new session.
func (s *session) mayGreet(body []byte) error {
	d := decoder{b: body}
	d.int32() // protocol version
	d.int64() // last zxid seen
	d.int32() // timeout
	asked := d.int64()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.err != nil || s.over || asked != s.id {
		return errOver
	}
	return nil
}

// shook notes what the server granted.
func (s *session) shook(h handshake) error {
	s.mu.Lock()
	known := s.id
	s.rejected = 0
	if h.session != 0 && (known == 0 || h.session == known) {
		s.id = h.session
		s.granted = time.Duration(h.timeoutMillis) * time.Millisecond
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	switch {
	case known == 0:
		return errors.New("the handshake refuses to open a session")
	case h.session != 0:
		return fmt.Errorf("the handshake answers for session 0x%x, asked for was 0x%x", h.session, known)
	}
	s.end(fmt.Errorf("ZooKeeper session 0x%x has expired", known))
	return nil
}

// turnedAway counts handshakes without an answer. A server whose zxid is lower
// than what the client has seen closes like that for ever, and go-zookeeper
// would go on for ever; the Java client would, too. After twice the session
// timeout the session is given up.
func (s *session) turnedAway(err error) {
	s.mu.Lock()
	s.rejected++
	stuck := s.id != 0 && s.rejected >= minRejections && time.Since(s.upAt) > 2*s.granted
	n := s.rejected
	s.mu.Unlock()
	s.c.noteError(err)
	if stuck {
		s.end(fmt.Errorf("%w (%d times, for more than twice the session timeout): session given up, since the server knows less than it", err, n))
	}
}

// minRejections keeps one hiccup after a long outage from ending a session.
const minRejections = 3

// end marks the session as over, for all who wait for it.
func (s *session) end(err error) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.over = true
	l := s.socket
	s.link = nil
	s.notifyLocked()
	s.mu.Unlock()
	s.cancel()
	s.c.opt.logf("%v", err)
	if l != nil {
		l.Close()
	}
	go func() {
		<-s.made
		s.client.Close()
	}()
	s.c.sessionEnded(s, err)
}

// close ends the session from our side and waits for the client's goroutines.
func (s *session) close() {
	<-s.made
	s.mu.Lock()
	up := s.link != nil
	s.mu.Unlock()
	if !up {
		s.cancel() // nobody is there to be told
	}
	s.client.Close() // waits up to a second for the answer to closeSession
	s.mu.Lock()
	s.over = true
	l := s.socket
	s.link = nil
	s.notifyLocked()
	s.mu.Unlock()
	s.cancel()
	if l != nil {
		l.Close()
	}
	<-s.ended
}

func (s *session) notifyLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

func (s *session) zxid() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastZxid
}

// ready waits for a usable link. It is nil when the session is over or ctx ends.
func (s *session) ready(ctx context.Context) *link {
	for {
		s.mu.Lock()
		l, over, changed := s.link, s.over, s.changed
		s.mu.Unlock()
		if over || l != nil {
			return l
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// linkUp makes a link the one to use. It runs on the link's reading goroutine.
func (s *session) linkUp(l *link) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	first := !s.firstLink
	s.firstLink, s.upAt = true, time.Now()
	s.mu.Unlock()
	s.c.linkUp(s, l, first) // before anyone can get a result from it
	s.mu.Lock()
	if !s.over {
		s.link = l
	}
	up := s.link == l
	s.notifyLocked()
	s.mu.Unlock()
	if up {
		s.c.tellMirrors(mirrorNews{up: l})
	}
}

// linkDown takes a link out of use.
func (s *session) linkDown(l *link, err error) {
	s.mu.Lock()
	was := s.link == l
	if was {
		s.link = nil
		s.upAt = time.Now()
		s.notifyLocked()
	}
	over := s.over
	s.mu.Unlock()
	if err == nil {
		err = fmt.Errorf("ZooKeeper %s: connection closed", l.server)
	}
	if !over {
		s.c.linkDown(s, was, err)
	}
}

// step is one frame of a preamble.
type step struct {
	op   int32
	body func(*encoder)
	done func(answer)
}

// watchChunk is how many bytes of paths one setWatches may hold, as in Java's
// client: a server refuses frames above 1 MiB.
const watchChunk = 128 << 10

// preamble is what a new link says first: who we are, which watches to arm
// again (with what changed meanwhile coming back as events), and, of a server
// that is not known yet, whether it has multiRead.
func (s *session) preamble(l *link) []step {
	var steps []step
	if digest := s.c.opt.Digest; digest != "" {
		steps = append(steps, step{op: opAuth, body: func(e *encoder) {
			e.int32(0)
			e.str("digest")
			e.bytes([]byte(digest))
		}, done: func(a answer) {
			if !a.lost && a.code != model.CodeOK {
				s.c.authRefused(fmt.Errorf("ZooKeeper %s refuses the digest credentials: %s", l.server, a.code))
			}
		}})
	}
	s.mu.Lock()
	zxid, chunks := s.lastZxid, s.watches.chunks(watchChunk)
	s.mu.Unlock()
	for _, w := range chunks {
		steps = append(steps, step{op: opSetWatches, body: func(e *encoder) {
			e.int64(zxid)
			e.strs(w.data)
			e.strs(w.exist)
			e.strs(w.child)
		}, done: func(a answer) {
			if !a.lost && a.code != model.CodeOK {
				l.close(fmt.Errorf("ZooKeeper %s: setWatches: %s", l.server, a.code))
			}
		}})
	}
	able, known := s.c.abilities.of(l.server)
	l.multiRead = able
	if !known {
		steps = append(steps, step{op: opMultiRead, body: func(e *encoder) {
			e.multiHeader(opGetData, false)
			e.str("/")
			e.bool(false)
			e.multiHeader(opError, true)
		}, done: func(a answer) { l.multiRead = s.c.abilities.learn(l.server, a) }})
	}
	return steps
}

// frameCame counts a frame and keeps the largest zxid that an answer told. Events
// and pings do not count: what they tell of may still be on its way.
func (s *session) frameCame(h replyHeader) uint64 {
	if h.xid != xidEvent && h.xid != xidPing {
		s.mu.Lock()
		s.lastZxid = max(s.lastZxid, h.zxid)
		s.mu.Unlock()
	}
	s.c.heard.Store(time.Now().UnixMilli())
	return s.c.seq.Add(1)
}

// answered arms the watch that a read asked for, before the next frame is read.
func (s *session) answered(f *flight, code model.Code) {
	if !f.watch {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.op == opExists && code == model.CodeNoNode:
		s.watches.exist[f.path] = true
	case code != model.CodeOK:
	case f.op == opGetChildren2:
		s.watches.child[f.path] = true
	default:
		s.watches.data[f.path] = true
	}
}

// eventCame takes the event's watch off the table; false when there is none, as
// for what an earlier connection has told already.
func (s *session) eventCame(ev event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ev.kind != 0 && s.watches.fire(ev)
}

// clientEvent is go-zookeeper's callback: the one for node events only. It runs
// on the reading goroutine, before the next frame is read.
func (s *session) clientEvent(ev zk.Event) {
	if ev.Type < zk.EventNodeCreated || ev.Type > zk.EventNodeChildrenChanged {
		return
	}
	path, ok := model.StripChroot(s.c.address.Chroot, ev.Path)
	if !ok {
		return
	}
	s.c.watchFired(path, model.WatchKind(ev.Type), s.c.seq.Load(), s.zxid())
}

// announcedFor is the flight whose frame go-zookeeper now writes, nil if it is
// another.
func (s *session) announcedFor(op int32, body []byte) *flight {
	f := s.announced.Load()
	if f == nil || !f.matches(op, body) {
		return nil
	}
	s.announced.Store(nil)
	return f
}

// launch has go-zookeeper perform a flight and returns when its frame is on the
// wire, or when there will be none: so requests leave in the order of launches,
// and at most one waits inside go-zookeeper while there is no connection.
func (s *session) launch(f *flight) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.announced.Store(f)
	go f.fly(s.client)
	select {
	case <-f.sent:
	case <-f.done:
	}
	s.announced.Store(nil)
}

// launchInWindow is launch for a request of a call: it waits for a place among
// those in flight.
func (s *session) launchInWindow(f *flight) {
	s.c.window <- struct{}{}
	s.launch(f)
	go func() {
		<-f.done
		<-s.c.window
	}()
}
