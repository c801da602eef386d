package zkwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kstate/model"
)

// Phase is where a Conn stands.
type Phase uint8

// Connecting: no session was ever there. Connected: requests are answered.
// Disconnected: the session may live on, a server is being looked for. Expired:
// the session is over and the next one has not begun. AuthFailed: the server
// refuses the credentials. Closed: Close was called.
const (
	Connecting Phase = iota
	Connected
	Disconnected
	Expired
	AuthFailed
	Closed
)

var phaseNames = [...]string{"connecting", "connected", "disconnected", "expired", "auth failed", "closed"}

// String is one or two words.
func (p Phase) String() string { return phaseNames[p] }

// State is where a Conn stands, since when, and why.
type State struct {
	Phase     Phase
	Since     time.Time
	Server    string        // host:port, the last one dialled
	SessionID int64         // 0: none
	Timeout   time.Duration // as granted by the server
	MultiRead bool          // the server has multiRead and addWatch (ZooKeeper 3.6)
	Err       error         // why it is not Connected, or what broke last
}

// Conn is a connection to a ZooKeeper ensemble: one session at a time, renewed
// after its end. Its methods may be called from any goroutine but not from the
// callbacks in Options.
type Conn struct {
	opt       Options
	address   Address
	abilities abilities
	pace      pace
	seq       atomic.Uint64 // frames read, over all sessions: the order of what was seen
	heard     atomic.Int64  // when the last frame was read, ms since 1970
	window    chan struct{} // holds a token for each request of a call in flight

	mu      sync.Mutex
	sess    *session
	renewed bool // sess is not the first
	held    bool // sess is over; the next one waits for Proceed
	closed  bool
	state   State
	mirrors []*Mirror

	states *inbox[State]
	failed chan error // the credentials were refused
	done   chan struct{}
}

// Dial opens a session. It fails when the options are wrong, the server refuses
// the credentials, or ctx ends first; the error then says what was last tried
// and what came back. Without a deadline in ctx it tries for the session timeout.
func Dial(ctx context.Context, opt Options) (*Conn, error) {
	address, err := opt.check()
	if err != nil {
		return nil, err
	}
	c := &Conn{opt: opt, address: address, window: make(chan struct{}, opt.Window), states: newInbox[State](),
		failed: make(chan error, 1), done: make(chan struct{})}
	c.abilities = abilities{able: map[string]bool{}, silent: map[string]int{}}
	c.pace.perSecond = opt.ReadRate
	c.state = State{Phase: Connecting, Since: time.Now()}
	go c.tellStates()
	c.mu.Lock()
	c.sess, err = newSession(c)
	c.mu.Unlock()
	if err != nil {
		close(c.done)
		return nil, err
	}
	if err := c.awaitSession(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) awaitSession(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opt.SessionTimeout)
		defer cancel()
	}
	began := time.Now()
	up := make(chan *link, 1)
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	s := c.session()
	go func() { up <- s.ready(wait) }()
	select {
	case err := <-c.failed:
		return err
	case l := <-up:
		if l != nil {
			return nil
		}
	}
	st := c.State()
	err := st.Err
	if err == nil {
		err = fmt.Errorf("no answer yet (%w)", ctx.Err())
	}
	return fmt.Errorf("ZooKeeper %s: no session after %v, last tried %s: %w", c.address, time.Since(began).Round(10*time.Millisecond), st.Server, err)
}

func (c *Conn) session() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sess
}

// Proceed lets the Conn open the next session after a SessionExpired input: from
// then on calls wait for it instead of failing. It does nothing at other times.
func (c *Conn) Proceed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held || c.closed {
		return
	}
	s, err := newSession(c)
	if err != nil {
		c.opt.logf("%v", err)
		return
	}
	c.held, c.renewed, c.sess = false, true, s
}

// EndSession closes the session at the server, whose ephemeral znodes go with it,
// and then has it be over here, as if it had expired: what is under way gets
// SESSIONEXPIRED, and a SessionExpired input follows. The error says that there is
// no session that could be closed now.
func (c *Conn) EndSession() error {
	s := c.session()
	st := c.State()
	if s.isOver() || st.Phase != Connected {
		return fmt.Errorf("ZooKeeper %s: no session can be ended: %s", c.address, st.Phase)
	}
	<-s.made
	s.client.Close() // waits up to a second for the answer
	s.end(fmt.Errorf("ZooKeeper session 0x%x was ended", st.SessionID))
	return nil
}

// State tells where the connection stands.
func (c *Conn) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Heard is when the server was last heard, ms since 1970; 0: never. Pings see to
// it that on a connection at rest this is at most a third of the session's timeout ago.
func (c *Conn) Heard() int64 { return c.heard.Load() }

// Address is where the connection goes.
func (c *Conn) Address() Address { return c.address }

// Gate is the gate that its writes pass.
func (c *Conn) Gate() *Gate { return c.opt.Gate }

// Close ends the session and everything that waits on the Conn.
func (c *Conn) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.done
		return
	}
	c.closed = true
	s, mirrors := c.sess, slices.Clone(c.mirrors)
	c.mu.Unlock()
	for _, m := range mirrors {
		m.Close()
	}
	s.close()
	c.setState(func(st *State) { st.Phase, st.SessionID = Closed, 0 })
	c.states.close()
	close(c.done)
}

// setState changes the state and has OnState told, in order.
func (c *Conn) setState(change func(*State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.state
	change(&c.state)
	if c.state.Phase != old.Phase {
		c.state.Since = time.Now()
	}
	c.states.post(c.state)
}

func (c *Conn) tellStates() {
	for {
		list, open := c.states.wait()
		for _, st := range list {
			if c.opt.OnState != nil {
				c.opt.OnState(st)
			}
		}
		if !open {
			return
		}
	}
}

func (c *Conn) noteServer(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Server = server
}

// noteError keeps what broke last, for the state and for Dial's error.
func (c *Conn) noteError(err error) {
	c.setState(func(st *State) { st.Err = err })
}

func (c *Conn) authRefused(err error) {
	c.setState(func(st *State) { st.Phase, st.Err = AuthFailed, err })
	select {
	case c.failed <- err:
	default:
	}
}

// linkUp is told of a link that is ready, before anybody else.
func (c *Conn) linkUp(s *session, l *link, first bool) {
	s.mu.Lock()
	id, granted := s.id, s.granted
	s.mu.Unlock()
	c.setState(func(st *State) {
		*st = State{Phase: Connected, Since: st.Since, Server: l.server, SessionID: id, Timeout: granted, MultiRead: l.multiRead}
	})
	c.mu.Lock()
	renewed := first && c.renewed
	c.mu.Unlock()
	if renewed && c.opt.OnInput != nil {
		c.opt.OnInput(&model.SessionRenewed{Session: id})
	}
}

func (c *Conn) tellMirrors(n mirrorNews) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.mirrors {
		m.box.post(n)
	}
}

// linkDown is told of a link that broke, ready or not.
func (c *Conn) linkDown(s *session, was bool, err error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return
	}
	if !was {
		c.noteError(err)
		return
	}
	c.setState(func(st *State) { st.Phase, st.Err = Disconnected, err })
	c.tellMirrors(mirrorNews{down: err})
}

// sessionEnded starts the hand-over to the next session.
func (c *Conn) sessionEnded(s *session, err error) {
	c.mu.Lock()
	if c.closed || c.sess != s {
		c.mu.Unlock()
		return
	}
	c.held = true
	c.mu.Unlock()
	c.setState(func(st *State) { st.Phase, st.SessionID, st.Err = Expired, 0, err })
	c.tellMirrors(mirrorNews{down: err})
	if c.opt.OnInput == nil {
		c.Proceed()
		return
	}
	c.opt.OnInput(&model.SessionExpired{})
}

// watchFired passes an event on, on the reading goroutine.
func (c *Conn) watchFired(path string, kind model.WatchKind, seq uint64, zxid int64) {
	if c.opt.OnInput != nil {
		c.opt.OnInput(&model.WatchFired{Path: path, Kind: kind})
		return
	}
	c.tellMirrors(mirrorNews{path: path, kind: kind, seq: seq, zxid: zxid})
}
