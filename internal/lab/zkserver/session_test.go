package zkserver

import (
	"testing"
	"time"
)

// reconnected is a client that takes over a session.
func (c *rawClient) reconnected(addr string) *rawClient {
	c.t.Helper()
	n := rawDial(c.t, addr)
	n.connect(0, 10_000, c.id, c.passwd)
	if n.id != c.id {
		c.t.Fatalf("session %x came back as %x", c.id, n.id)
	}
	return n
}

// isGone demands that a session does not come back.
func (c *rawClient) isGone(addr string) {
	c.t.Helper()
	n := rawDial(c.t, addr)
	n.connect(0, 10_000, c.id, c.passwd)
	if n.id != 0 || n.millis != 0 {
		c.t.Fatalf("session %x is alive", c.id)
	}
	n.wantClosed()
}

func TestTimeoutsAreClamped(t *testing.T) {
	_, addr := listening(t)
	for asked, want := range map[int32]int32{0: 4000, -5: 4000, 3999: 4000, 6000: 6000, 1 << 30: 40000} {
		c := rawDial(t, addr)
		c.connect(0, asked, 0, nil)
		if c.millis != want {
			t.Errorf("asked %d, got %d, want %d", asked, c.millis, want)
		}
	}
}

func TestAClientThatIsAheadIsRefused(t *testing.T) {
	_, addr := listening(t)
	c := rawDial(t, addr)
	c.frame(putBuffer(putInt64(putInt32(putInt64(putInt32(nil, 0), 1<<40), 10_000), 0), nil))
	c.wantClosed()
}

func TestReattachKeepsEphemeralsAndDropsWatches(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createBody("/e", nil, Ephemeral))
	c.want(OK, OpGetData, watchBody("/e", true))
	n := c.reconnected(addr) // the old connection still looks alive
	c.wantClosed()
	a := n.want(OK, OpExists, watchBody("/e", false))
	if st := (&decoder{b: a.body}).stat(); st.EphemeralOwner != c.id {
		t.Errorf("%+v", st)
	}
	n.want(OK, OpSetData, setBody("/e", nil, -1))
	n.quiet()
}

func TestAWrongPasswordMovesNothing(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	n := rawDial(t, addr)
	n.connect(0, 10_000, c.id, make([]byte, 16))
	if n.id != 0 {
		t.Error("the wrong password was taken")
	}
	n.wantClosed()
	c.quiet()
}

func TestCloseSessionSendsItsEventsThenTheReplyThenEnds(t *testing.T) {
	_, addr := listening(t)
	c, w := connected(t, addr), connected(t, addr)
	c.want(OK, OpCreate, createBody("/e", nil, Ephemeral))
	c.want(OK, OpExists, watchBody("/e", true))
	w.want(OK, OpExists, watchBody("/e", true))
	xid := c.send(OpCloseSession, nil)
	c.send(OpCreate, createBody("/after", nil, 0)) // in the pipe: never executed
	c.wantEvents("NodeDeleted /e")
	if a := c.next(); a.xid != xid || a.code != OK {
		t.Errorf("reply %+v", a)
	}
	c.wantClosed()
	w.wantEvents("NodeDeleted /e")
	w.want(NoNode, OpExists, watchBody("/after", false))
	c.isGone(addr)
}

func TestASilentSessionExpiresAndIsToldSo(t *testing.T) {
	store, _ := quietStore(t)
	store.opt.Now = nil
	s := serveStore(t, store, func(o *ServerOptions) { o.TickTime = 100 * time.Millisecond })
	a, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := a.String()
	w := connected(t, addr)
	silent := rawDial(t, addr)
	silent.connect(0, 300, 0, nil)
	silent.want(OK, OpCreate, createBody("/e", nil, Ephemeral))
	w.want(OK, OpExists, watchBody("/e", true))
	heard := time.Now()
	silent.quiet()
	silent.wantClosed()
	if after := time.Since(heard); after < 300*time.Millisecond {
		t.Errorf("expired %v after its last frame: early", after)
	}
	w.wantEvents("NodeDeleted /e")
	silent.isGone(addr)
}

func TestExpireNowClosesTheConnection(t *testing.T) {
	s, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createBody("/e", nil, Ephemeral))
	if !s.Store().Expire(c.id) {
		t.Fatal("no such session")
	}
	c.wantClosed()
	c.isGone(addr)
	if _, code := s.Store().Exists("/e"); code != NoNode {
		t.Errorf("its ephemeral: %v", code)
	}
}

func TestALateWakeUpCountsAsAPauseOfTheServer(t *testing.T) {
	store, clk := quietStore(t)
	id, _ := store.CreateSession(4 * time.Second)
	real := time.Unix(5000, 0)
	k := &timekeeper{store: store, beat: 250 * time.Millisecond}
	pass := func(d time.Duration) {
		clk.at, real = clk.at.Add(d), real.Add(d)
	}
	alive := func() bool { return len(store.Sessions()) == 1 }

	wait := k.look(real)
	if wait != 250*time.Millisecond {
		t.Fatalf("waits %v", wait)
	}
	pass(100 * time.Millisecond)
	store.Touch(id) // between two looks
	pass(time.Hour) // stopped by a signal, a debugger, a closed lid
	k.look(real)
	if !alive() {
		t.Fatal("expired by the server's own pause")
	}
	for range 14 { // from here on it is the client that is silent
		pass(k.look(real))
	}
	if !alive() {
		t.Fatal("expired early")
	}
	for range 4 {
		pass(k.look(real))
	}
	if alive() {
		t.Fatalf("session %x does not expire after a pause", id)
	}
}

func TestTheTimekeeperWakesAtTheDeadline(t *testing.T) {
	store, clk := quietStore(t)
	store.CreateSession(100 * time.Millisecond)
	k := &timekeeper{store: store, beat: 250 * time.Millisecond}
	if wait := k.look(clk.at); wait != 100*time.Millisecond {
		t.Errorf("waits %v, want 100ms", wait)
	}
}

func TestCutAndPartition(t *testing.T) {
	s, addr := listening(t)
	c := connected(t, addr)
	if !s.Cut(c.id) || s.Cut(c.id) {
		t.Error("one connection to cut")
	}
	c.wantClosed()
	c = c.reconnected(addr)
	s.PartitionSession(c.id)
	c.wantClosed()
	n := rawDial(t, addr)
	n.frame(putBuffer(putInt64(putInt32(putInt64(putInt32(nil, 0), 0), 10_000), c.id), c.passwd))
	n.wantClosed()
	other := connected(t, addr)
	other.quiet()
	s.HealSession(c.id)
	c.reconnected(addr).quiet()
}

func TestPartitionOfAPeerRefusesNewSessionsToo(t *testing.T) {
	s, _ := listening(t)
	dial := func() *rawClient {
		nc, err := s.Dial("broker-1")
		if err != nil {
			return nil
		}
		c := &rawClient{t: t, nc: nc}
		c.connect(0, 10_000, 0, nil)
		return c
	}
	c := dial()
	c.quiet()
	s.PartitionPeer("broker-1")
	c.wantClosed()
	if dial() != nil {
		t.Error("a partitioned peer gets through")
	}
	s.HealPeer("broker-1")
	dial().quiet()
}
