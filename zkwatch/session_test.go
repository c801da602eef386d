package zkwatch

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// controllerConn is a Conn whose inputs a test reads.
func controllerConn(l *lab, opt Options) (*Conn, *stream[string]) {
	in := newStream[string]()
	opt.OnInput = func(s model.Stimulus) { in.put(s.String()) }
	if opt.Gate == nil {
		opt.Gate = Controller()
	}
	return l.connect(opt), in
}

// Kafka hangs one watcher on everything: however often a path was read with a
// watch, its change is one event.
func TestManyArmsOneEvent(t *testing.T) {
	l := newLab(t)
	l.seed("/k/brokers/topics/t=a")
	c, in := controllerConn(l, Options{Servers: "lab/k"})
	topic := watched(get("/brokers/topics/t"))
	wantCodes(t, c.Do(call(topic, topic, watched(exists("/brokers/topics/t")), watched(children("/brokers/topics/t")), watched(exists("/controller")),
		watched(exists("/controller")), watched(children("/brokers/topics")))), "OK OK OK OK NONODE NONODE OK")
	l.set("/k/brokers/topics/t", "b")
	l.set("/k/brokers/topics/t", "c")
	l.seed("/k/controller")
	l.remove("/k/brokers/topics/t")
	l.remove("/k/controller")
	wantCodes(t, c.Do(call(exists("/brokers/topics/t"))), "NONODE")
	want := []string{"watch fired: NodeDataChanged /brokers/topics/t", "watch fired: NodeCreated /controller",
		"watch fired: NodeDeleted /brokers/topics/t", "watch fired: NodeChildrenChanged /brokers/topics"}
	if got := in.drained(); !slices.Equal(got, want) {
		t.Errorf("inputs\n%q, want\n%q", got, want)
	}
}

// The client's own event channel holds six and drops the rest.
func TestNoEventIsDropped(t *testing.T) {
	l := newLab(t)
	c, in := controllerConn(l, Options{})
	k := &model.Call{}
	const n = 2000
	for i := range n {
		path := fmt.Sprintf("/t/%04d", i)
		l.seed(path)
		k.Ops = append(k.Ops, watched(get(path)))
	}
	c.Do(k)
	for i := range n {
		l.set(fmt.Sprintf("/t/%04d", i), "x")
	}
	for i := range n {
		if got, want := in.next(t, "an event"), fmt.Sprintf("watch fired: NodeDataChanged /t/%04d", i); got != want {
			t.Fatalf("input %q, want %q", got, want)
		}
	}
}

// An event is an input before any result can show what it tells of.
func TestEventBeforeResult(t *testing.T) {
	l := newLab(t)
	l.seed("/controller_epoch=0")
	var told atomic.Int64
	c := l.connect(Options{Gate: Controller(), OnInput: func(model.Stimulus) { told.Add(1) }})
	for i := range 300 {
		c.Do(call(watched(get("/controller_epoch"))))
		if i%2 == 0 {
			c.Do(call(set("/controller_epoch", fmt.Sprint(i), -1)))
		} else {
			l.set("/controller_epoch", fmt.Sprint(i))
			if r := c.Do(call(get("/controller_epoch"))); string(r.Ops[0].Data) != fmt.Sprint(i) {
				t.Fatalf("read %q after %d was set", r.Ops[0].Data, i)
			}
		}
		if n := told.Load(); n != int64(i+1) {
			t.Fatalf("%d events after %d changes", n, i+1)
		}
	}
}

// After a reconnect the missed events come before every result, even that of a
// request that waited inside the ZooKeeper client, which re-arms too late.
func TestMissedEventsComeBeforeResults(t *testing.T) {
	l := newLab(t)
	l.seed("/brokers/topics/t=a", "/brokers/topics/u=a", "/brokers/ids/1")
	states, dials := newStream[State](), newStream[string]()
	c, in := controllerConn(l, Options{OnState: states.put, Dialer: l.dialTelling(dials)})
	c.Do(call(watched(get("/brokers/topics/t")), watched(get("/brokers/topics/u")), watched(children("/brokers/ids")), watched(exists("/controller")), watched(exists("/feature"))))
	session := c.State().SessionID
	dials.drained()
	l.server.PartitionSession(session)
	awaitPhase(t, states, Disconnected)
	dials.next(t, "the dial after the loss") // the client writes to the old link no more
	l.set("/brokers/topics/t", "b")
	l.seed("/brokers/ids/2", "/controller")
	f := getFlight("/brokers/topics/t", false)
	go c.session().launch(f) // it waits in the client's queue
	l.server.HealSession(session)
	within(t, "the queued read", func() { <-f.done })
	if string(f.data) != "b" {
		t.Fatalf("read %q", f.data)
	}
	got := in.drained()
	slices.Sort(got)
	want := []string{"watch fired: NodeChildrenChanged /brokers/ids", "watch fired: NodeCreated /controller", "watch fired: NodeDataChanged /brokers/topics/t"}
	if !slices.Equal(got, want) {
		t.Fatalf("inputs before the result\n%q, want\n%q", got, want)
	}
	// What was not touched is armed again, and nothing is told twice.
	l.set("/brokers/topics/t", "c")
	l.set("/brokers/topics/u", "b")
	l.seed("/feature")
	c.Do(call(exists("/")))
	want = []string{"watch fired: NodeDataChanged /brokers/topics/u", "watch fired: NodeCreated /feature"}
	if got := in.drained(); !slices.Equal(got, want) {
		t.Errorf("inputs %q, want %q", got, want)
	}
}

func awaitPhase(t testing.TB, states *stream[State], phase Phase) State {
	t.Helper()
	for {
		if st := states.next(t, phase.String()); st.Phase == phase {
			return st
		}
	}
}

func TestSetWatchesGoOutInChunks(t *testing.T) {
	w := newWatchTable()
	for i := range 5000 {
		w.data[fmt.Sprintf("/brokers/topics/t/partitions/%d/state", i)] = true
		w.child[fmt.Sprintf("/brokers/topics/t%d", i)] = true
	}
	w.exist["/controller"] = true
	n := 0
	for _, s := range w.chunks(watchChunk) {
		size := 28
		for _, list := range [][]string{s.data, s.exist, s.child} {
			for _, p := range list {
				size += 4 + len(p)
				n++
			}
		}
		if size > watchChunk {
			t.Errorf("a chunk of %d bytes", size)
		}
	}
	if n != 10001 {
		t.Errorf("%d watches in the chunks", n)
	}
	if len(newWatchTableChunks()) != 0 {
		t.Error("chunks of nothing")
	}
}

func newWatchTableChunks() []watchSet { w := newWatchTable(); return w.chunks(watchChunk) }

// The end of a session, as the controller needs it: what is outstanding fails,
// the next session waits for Proceed, and nothing of the old one is sent in it.
func TestExpiryHandsOver(t *testing.T) {
	l := newLab(t)
	l.seed("/controller_epoch=1", "/brokers/topics/t=a")
	states, dials := newStream[State](), newStream[string]()
	c, in := controllerConn(l, Options{OnState: states.put, Dialer: l.dialTelling(dials)})
	c.Do(call(watched(get("/brokers/topics/t"))))
	old := c.State().SessionID
	dials.drained()
	l.server.PartitionSession(old)
	awaitPhase(t, states, Disconnected)
	dials.next(t, "the dial after the loss") // the client writes to the old link no more

	results := make(chan model.Result, 1)
	fenced := call(set("/brokers/topics/t", "stale", 0), get("/brokers/topics/t"))
	fenced.Fenced = true
	go func() { results <- c.Do(fenced) }()
	stale := newFlight(opSetData, "/brokers/topics/t", false, func(conn *zk.Conn, _ *flight) error {
		_, err := conn.Set("/brokers/topics/t", []byte("stale"), -1)
		return err
	})
	s := c.session()
	go s.launch(stale) // it waits in the client's queue

	l.store.Expire(old)
	l.server.HealSession(old)
	if got := in.next(t, "the expiry"); got != "ZooKeeper session expired" {
		t.Fatalf("input %q", got)
	}
	within(t, "the outstanding call", func() {
		wantCodes(t, <-results, "SESSIONEXPIRED/SESSIONEXPIRED SESSIONEXPIRED")
		<-stale.done
	})
	wantCodes(t, c.Do(call(get("/brokers/topics/t"))), "SESSIONEXPIRED")
	if n := len(l.store.Sessions()); n != 0 {
		t.Fatalf("%d sessions before Proceed", n)
	}
	if st := c.State(); st.Phase != Expired || st.SessionID != 0 {
		t.Errorf("state %+v", st)
	}

	c.Proceed()
	c.Proceed() // no effect
	wantCodes(t, c.Do(call(get("/brokers/topics/t"))), "OK")
	if got := in.next(t, "the renewal"); got != "new ZooKeeper session" {
		t.Fatalf("input %q", got)
	}
	if st := c.State(); st.Phase != Connected || st.SessionID == old {
		t.Errorf("state %+v", st)
	}
	l.set("/brokers/topics/t", "b") // the old watch is gone
	if r := c.Do(call(get("/brokers/topics/t"))); string(r.Ops[0].Data) != "b" || r.Ops[0].Stat.Version != 1 {
		t.Errorf("%+v: something stale was written", r.Ops[0])
	}
	if got := in.drained(); len(got) != 0 {
		t.Errorf("more inputs: %q", got)
	}
}

// Whoever only looks gets the next session at once.
func TestObserverRenewsByItself(t *testing.T) {
	l := newLab(t)
	l.seed("/a=1")
	states := newStream[State]()
	c := l.connect(Options{OnState: states.put})
	awaitPhase(t, states, Connected)
	for range 3 {
		l.store.Expire(c.State().SessionID)
		awaitPhase(t, states, Expired)
		awaitPhase(t, states, Connected)
		wantCodes(t, c.Do(call(get("/a"))), "OK")
	}
}

// A server that knows less than the client has seen hangs up for ever. So does
// one that has no quorum, for a while: only after twice the timeout is the
// session given up.
func TestStuckSessionIsGivenUp(t *testing.T) {
	stores := [2]*zkserver.Store{zkserver.NewStore(zkserver.Options{FirstZxid: 1 << 40}), zkserver.NewStore(zkserver.Options{FirstZxid: 1})}
	var servers [2]*zkserver.Server
	for i, s := range stores {
		servers[i] = zkserver.NewServer(s, zkserver.ServerOptions{TickTime: 50 * time.Millisecond})
		defer servers[i].Close()
	}
	var at atomic.Int32
	in := newStream[string]()
	log := newStream[string]()
	c := dialTest(t, Options{Servers: "lab", SessionTimeout: 150 * time.Millisecond, Log: log.put,
		Dialer:  func(context.Context, string, string) (net.Conn, error) { return servers[at.Load()].Dial("") },
		OnInput: func(s model.Stimulus) { in.put(s.String()) }})
	wantCodes(t, c.Do(call(exists("/"))), "OK")
	began := time.Now()
	at.Store(1)
	servers[0].Cut(c.State().SessionID)
	if got := in.next(t, "the expiry"); got != "ZooKeeper session expired" {
		t.Fatalf("input %q", got)
	}
	if d := time.Since(began); d < 300*time.Millisecond {
		t.Errorf("given up after %v already", d)
	}
	if err := c.State().Err; err == nil || !strings.Contains(err.Error(), "knows less") {
		t.Errorf("error %v", err)
	}
	c.Proceed()
	wantCodes(t, c.Do(call(exists("/"))), "OK")
	if got := in.next(t, "the renewal"); got != "new ZooKeeper session" {
		t.Fatalf("input %q", got)
	}
}

// go-zookeeper's own provider sleeps a second before each reconnect to the only
// server.
func TestReconnectIsImmediate(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := &hosts{s: &session{ctx: ctx}}
	if err := h.Init([]string{"a:1"}); err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	try := func() {
		pause, server := h.advance()
		if server != "a:1" {
			t.Fatalf("server %q", server)
		}
		pauses = append(pauses, pause)
	}
	for range 7 {
		try()
	}
	h.Connected()
	try() // it broke at once: still a failure
	h.Connected()
	h.connected = h.connected.Add(-settled)
	try()
	ms := time.Millisecond
	want := []time.Duration{0, 50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms, 0}
	if !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	if _, sleep := h.Next(); sleep {
		t.Error("go-zookeeper is told to sleep")
	}
	cancel()
	if _, sleep := h.Next(); !sleep {
		t.Error("go-zookeeper is not told to look whether it was closed")
	}
}

func TestEveryServerGetsItsTurn(t *testing.T) {
	h := &hosts{s: &session{ctx: context.Background()}}
	if err := h.Init([]string{"a", "b", "c"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 7 {
		pause, server := h.advance()
		got = append(got, fmt.Sprint(server, pause))
	}
	want := []string{"a0s", "b0s", "c0s", "a50ms", "b0s", "c0s", "a100ms"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStatesAreToldInOrder(t *testing.T) {
	l := newLab(t)
	states := newStream[State]()
	c := l.connect(Options{OnState: states.put})
	l.server.Cut(c.State().SessionID)
	within(t, "a call after the cut", func() { c.Do(call(exists("/"))) })
	go c.Close()
	var phases []Phase
	for len(phases) == 0 || phases[len(phases)-1] != Closed {
		st := states.next(t, "a state")
		if len(phases) == 0 || phases[len(phases)-1] != st.Phase {
			phases = append(phases, st.Phase)
		}
	}
	if want := []Phase{Connected, Disconnected, Connected, Closed}; !slices.Equal(phases[len(phases)-min(4, len(phases)):], want) {
		t.Errorf("phases %v, want %v at the end", phases, want)
	}
}

func TestDigestIsSentAgain(t *testing.T) {
	l := newLab(t)
	if r, _ := l.store.Apply(0, zkserver.Op{Kind: zkserver.OpCreate, Path: "/secret", Data: []byte("s"), ACL: []zkserver.ACL{{Perms: zkserver.PermAll, Scheme: "digest", ID: zkserver.Digest("u:p")}}}); r.Code != zkserver.OK {
		t.Fatal(r.Code)
	}
	stranger := l.connect(Options{Digest: "u:wrong"})
	wantCodes(t, stranger.Do(call(get("/secret"))), "NOAUTH")
	c := l.connect(Options{Digest: "u:p"})
	for range 3 {
		wantCodes(t, c.Do(call(get("/secret"))), "OK")
		l.server.Cut(c.State().SessionID)
	}
}

func TestRestrictedACLs(t *testing.T) {
	l := newLab(t)
	l.seed("/brokers/topics", "/config/topics")
	c := l.connect(Options{Digest: "u:p", SetACL: true, Gate: Controller()})
	wantCodes(t, c.Do(call(create("/brokers/topics/t", "x"))), "OK")
	stranger := l.connect(Options{Gate: Controller()})
	wantCodes(t, stranger.Do(call(get("/brokers/topics/t"), set("/brokers/topics/t", "y", -1))), "OK NOAUTH")
}

func TestCloseLeavesNothing(t *testing.T) {
	l := newLab(t)
	l.seed("/a")
	before := runtime.NumGoroutine()
	for range 3 {
		c, _ := controllerConn(l, Options{})
		c.Do(call(watched(get("/a"))))
		l.server.Cut(c.State().SessionID)
		c.Close()
		c.Close()
		wantCodes(t, c.Do(call(get("/a"))), "SESSIONEXPIRED")
		o := l.connect(Options{})
		m, err := o.Mirror(MirrorOptions{Paths: []string{"/a"}})
		if err != nil {
			t.Fatal(err)
		}
		o.Close()
		for range m.Changes() {
		}
	}
	deadline := time.Now().Add(limit)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines became %d\n%s", before, n, buf[:runtime.Stack(buf, true)])
	}
	if n := len(l.store.Sessions()); n > 3 {
		t.Errorf("%d sessions are left", n)
	}
}

// A port on which something else listens takes the connection and waits for
// words that never come.
func TestAServerThatSaysNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	go func() { // the second connection comes when the first is given up
		for range 2 {
			if conn, err := silent.Accept(); err == nil {
				defer conn.Close()
			}
		}
		cancel()
		<-t.Context().Done()
	}()
	_, err = Dial(ctx, Options{Servers: silent.Addr().String(), SessionTimeout: 300 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "did not answer the handshake") || !strings.Contains(err.Error(), "plain text?") {
		t.Errorf("error %v", err)
	}
}
