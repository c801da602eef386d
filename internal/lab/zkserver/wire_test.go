package zkserver

import (
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAllOpsAnswerOnTheWire(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	stat := func(a answer, skip func(*decoder)) Stat {
		d := &decoder{b: a.body}
		skip(d)
		st := d.stat()
		if d.bad || len(d.b) > 0 {
			t.Errorf("body %x", a.body)
		}
		return st
	}
	none := func(*decoder) {}
	path := func(d *decoder) { d.path() }

	a := c.want(OK, OpCreate, createBody("/a", []byte("xy"), 0))
	wantBytes(t, "create", a.body, "00000002 2f61")
	a = c.want(OK, OpCreate2, createBody("/a/b", nil, Ephemeral))
	if st := stat(a, path); st.EphemeralOwner != c.id || st.Czxid != a.zxid {
		t.Errorf("create2 %+v", st)
	}
	a = c.want(OK, OpExists, watchBody("/a", false))
	if st := stat(a, none); st.NumChildren != 1 || st.DataLength != 2 || a.zxid != st.Pzxid {
		t.Errorf("exists %+v", st)
	}
	a = c.want(OK, OpGetData, watchBody("/a/b", false))
	if data := (&decoder{b: a.body}).int32(); data != -1 {
		t.Errorf("null data has length %d", data)
	}
	c.want(OK, OpSetData, setBody("/a/b", []byte{}, 0))
	a = c.want(OK, OpGetData, watchBody("/a/b", false))
	if data := (&decoder{b: a.body}).int32(); data != 0 {
		t.Errorf("empty data has length %d", data)
	}
	a = c.want(OK, OpGetChildren, watchBody("/a", false))
	wantBytes(t, "getChildren", a.body, "00000001 00000001 62")
	a = c.want(OK, OpGetChildren2, watchBody("/a/b", false))
	wantBytes(t, "no children: count 0, never null", a.body[:4], "00000000")
	a = c.want(OK, OpSync, pathBody("/a"))
	wantBytes(t, "sync", a.body, "00000002 2f61")
	a = c.want(OK, OpGetACL, pathBody("/a"))
	wantBytes(t, "getACL", a.body[:27], "00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65")
	a = c.want(OK, OpSetACL, aclBody("/a", OpenACL, 0))
	if st := stat(a, none); st.Aversion != 1 || st.Version != 0 {
		t.Errorf("setACL %+v", st)
	}
	if a = c.want(OK, OpCheck, versionBody("/a", 0)); len(a.body) > 0 {
		t.Errorf("a check on its own has a body: %x", a.body)
	}
	c.want(BadVersion, OpCheck, versionBody("/a", 4))
	c.want(ReconfigDisabled, OpReconfig, putInt64(putText(putText(putText(nil, ""), ""), ""), -1))
	a = c.want(OK, OpCreateContainer, createBody("/c", nil, Container))
	stat(a, path)
	a = c.want(OK, OpCreateTTL, ttlBody("/t", SequentialTTL, 5000))
	wantBytes(t, "createTTL", a.body[:16], "0000000c 2f74 30303030303030303032")
	a = c.want(OK, OpGetEphemerals, pathBody("/"))
	wantBytes(t, "getEphemerals", a.body, "00000001 00000004 2f612f62")
	a = c.want(OK, OpGetEphemerals, pathBody("/x"))
	wantBytes(t, "getEphemerals elsewhere", a.body, "00000000")
	a = c.want(OK, OpCountChildren, pathBody("/"))
	wantBytes(t, "getAllChildrenNumber", a.body, "00000007")
	a = c.want(OK, OpSASL, putBuffer(nil, []byte("token")))
	wantBytes(t, "sasl", a.body, "ffffffff")
	a = c.want(OK, OpWhoAmI, nil)
	wantBytes(t, "whoAmI", a.body, "00000001 00000002 6970 00000009 3132372e302e302e31")
	a = c.want(OK, OpMultiRead, multiBody(part{OpGetData, watchBody("/a", true)}, part{OpGetChildren, watchBody("/none", false)},
		part{OpGetChildren, watchBody("/a", true)}))
	d := &decoder{b: a.body}
	if op, _ := d.multiHeader(); op != OpGetData || string(d.buffer()) != "xy" || d.stat().Aversion != 1 {
		t.Errorf("multiRead %x", a.body)
	}
	wantBytes(t, "multiRead goes on after an error", d.b,
		"ffffffff 00 ffffff9b ffffff9b"+"00000008 00 00000000 00000001 00000001 62"+"ffffffff 01 ffffffff")
	c.want(OK, OpDelete, versionBody("/a/b", 1))
	c.quiet() // the watch flags inside the multiRead armed nothing
}

func TestZxidsOfReplies(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr) // 1
	for _, s := range []struct {
		code Code
		op   OpCode
		body []byte
		want int64
	}{
		{OK, OpCreate, createBody("/a", nil, 0), 2},
		{NoNode, OpDelete, versionBody("/none", 0), 3}, // refused, and numbered
		{OK, OpExists, watchBody("/a", false), 3},
		{NoNode, OpExists, watchBody("/none", false), 3},
		{OK, OpSync, pathBody("/a"), 3},
		{OK, OpAuth, authBody("digest", "u:p"), 0},
		{OK, OpAddWatch, versionBody("/w", 0), 3},
		{MarshallingError, OpAddWatch, versionBody("/w", 2), 3},
		{OK, OpMulti, multiBody(part{OpCreate, createBody("/b", nil, 0)}, part{OpCreate, createBody("/c", nil, 0)}), 4},
		{OK, OpMulti, multiBody(part{OpCheck, versionBody("/none", 0)}), 5},
		{ReconfigDisabled, OpReconfig, make([]byte, 20), 6},
		{MarshallingError, OpSetData, []byte{1}, 7},
		{MarshallingError, OpMulti, multiBody(part{OpGetData, watchBody("/a", false)}), 8},
		{MarshallingError, OpMultiRead, multiBody(part{OpCreate, createBody("/d", nil, 0)}), 8},
		{OK, OpPing, nil, 8},
		{OK, OpCloseSession, nil, 9},
	} {
		if a := c.want(s.code, s.op, s.body); a.zxid != s.want {
			t.Errorf("%v: zxid %d, want %d", s.op, a.zxid, s.want)
		}
	}
	c.wantClosed()
}

func TestMalformedBodiesKeepTheConnection(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	bodies := map[OpCode][]byte{
		OpCreate: createBody("/a", []byte("d"), 0), OpCreate2: createBody("/b", nil, 0), OpDelete: versionBody("/none", 0),
		OpExists: watchBody("/a", false), OpGetData: watchBody("/a", false), OpSetData: setBody("/a", nil, 0),
		OpGetACL: pathBody("/a"), OpSetACL: aclBody("/a", OpenACL, 0), OpGetChildren: watchBody("/a", false),
		OpSync: pathBody("/a"), OpGetChildren2: watchBody("/a", false), OpCheck: versionBody("/a", 0),
		OpMulti: multiBody(part{OpCheck, versionBody("/a", 0)}), OpMultiRead: multiBody(part{OpGetData, watchBody("/a", false)}),
		OpCreateContainer: createBody("/c", nil, Container), OpCreateTTL: ttlBody("/d", PersistentTTL, 1),
		OpSetWatches:    setWatchesBody(0, nil, nil, nil),
		OpGetEphemerals: pathBody("/"), OpCountChildren: pathBody("/"), OpAddWatch: versionBody("/a", 0),
		OpSetWatches2: setWatchesBody(0, nil, nil, nil, nil, nil), OpRemoveWatches: versionBody("/a", 3), OpCheckWatches: versionBody("/a", 3),
		OpReconfig: make([]byte, 20),
	}
	for op, body := range bodies {
		for n := range body {
			c.want(MarshallingError, op, body[:n])
		}
	}
	for _, huge := range [][]byte{
		{0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, // a path: too long, negative, null
	} {
		c.want(MarshallingError, OpGetData, append(huge, 0))
	}
	c.want(MarshallingError, OpSetWatches, append(putInt64(nil, 0), 0x7f, 0xff, 0xff, 0xff))
	c.want(OK, OpExists, append(watchBody("/", false), 1, 2, 3)) // bytes left over are nobody's business
}

// ZooKeeper reads these two outside its pipeline, where a short body ends the
// connection.
func TestMalformedCredentialsCloseTheConnection(t *testing.T) {
	_, addr := listening(t)
	for op, body := range map[OpCode][]byte{OpAuth: authBody("digest", "u:p"), OpSASL: putBuffer(nil, []byte("token"))} {
		for n := range body {
			c := connected(t, addr)
			c.send(op, body[:n])
			c.wantClosed()
		}
	}
	c := connected(t, addr)
	c.send(OpSASL, putBuffer(nil, nil))
	c.wantClosed()
}

func TestNullACLAndNullVectors(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(InvalidACL, OpCreate, putInt32(putInt32(putBuffer(putText(nil, "/a"), nil), -1), 0))
	c.want(InvalidACL, OpCreate, createACLBody("/a", nil))
	c.want(OK, OpSetWatches, putInt32(putInt32(putInt32(putInt64(nil, 0), -1), -1), -1))
}

func TestHostileFramesCloseWithAReason(t *testing.T) {
	lines := make(chan string, 100)
	store, _ := quietStore(t)
	s := serveStore(t, store, func(o *ServerOptions) { o.Log = func(l string) { lines <- l } })
	a, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(part string) {
		t.Helper()
		select {
		case l := <-lines:
			if !strings.Contains(l, part) {
				t.Errorf("log says %q, want something with %q", l, part)
			}
		case <-time.After(patience):
			t.Fatalf("no log line with %q", part)
		}
	}
	for _, h := range []struct{ bytes, reason string }{
		{"0000001b", "frame length 27"}, {"00000401", "frame length 1025"}, {"ffffffff", "frame length -1"},
		{"7fffffff", "frame length 2147483647"}, {"474554 20", "frame length"}, // GET
		{"0000001c" + strings.Repeat("00", 24) + "00000010", "malformed handshake"}, // password beyond the frame
	} {
		c := rawDial(t, a.String())
		c.write(unhex(h.bytes))
		c.wantClosed()
		expect(h.reason)
	}
	bystander := connected(t, a.String())
	for _, h := range []struct{ bytes, reason string }{
		{"00000007", "frame length 7"}, {"00100000", "frame length 1048576"}, {"80000000", "frame length -2147483648"},
	} {
		c := connected(t, a.String())
		c.write(unhex(h.bytes))
		c.wantClosed()
		expect(h.reason)
	}
	torn := connected(t, a.String())
	torn.write(unhex("00000020 0000"))
	torn.nc.(*net.TCPConn).CloseWrite()
	torn.wantClosed()
	expect("in the middle of a request")
	bystander.quiet()
}

func TestHandshakeMustComeInTime(t *testing.T) {
	store, _ := quietStore(t)
	lines := make(chan string, 10)
	s := serveStore(t, store, func(o *ServerOptions) {
		o.HandshakeTimeout = 50 * time.Millisecond
		o.Log = func(l string) { lines <- l }
	})
	a, _ := s.Listen("127.0.0.1:0")
	rawDial(t, a.String()).wantClosed()
	if l := <-lines; !strings.Contains(l, "read the handshake") {
		t.Errorf("log %q", l)
	}
}

func TestPipelinedRepliesLeaveInOrder(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createBody("/n", []byte("v"), 0))
	var all []byte
	const n = 5000 // more than may be unanswered
	for i := range int32(n) {
		body := append(putInt32(putInt32(nil, i+100), int32(OpGetData)), watchBody("/n", false)...)
		all = append(putInt32(all, int32(len(body))), body...)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.nc.Write(all)
	}()
	for i := range int32(n) {
		if a := c.next(); a.xid != i+100 || a.code != OK {
			t.Fatalf("reply %d: %+v", i, a)
		}
	}
	<-sent
}

func TestAPanicInAHookEndsThatConnectionOnly(t *testing.T) {
	var armed atomic.Bool
	s, addr := listening(t,
		func(o *Options) {
			o.Intercept = func(r Request) Verdict {
				if len(r.Paths) > 0 && r.Paths[0] == "/boom" {
					panic("boom in Intercept")
				}
				return Verdict{}
			}
			o.OnTxn = func(x Txn) {
				if armed.CompareAndSwap(true, false) {
					panic("boom in OnTxn")
				}
			}
		})
	other := connected(t, addr)
	c := connected(t, addr)
	c.send(OpGetData, watchBody("/boom", false))
	c.wantClosed()
	other.want(NoNode, OpExists, watchBody("/late", true))
	c = connected(t, addr)
	armed.Store(true)
	c.send(OpCreate, createBody("/late", nil, 0))
	c.wantClosed()
	other.wantEvents("NodeCreated /late") // it was committed, and those who watch know
	other.quiet()
	if _, code := s.Store().Exists("/late"); code != OK {
		t.Errorf("after the panic: %v", code)
	}
}

func TestASlowReaderLosesItsConnectionNotItsSession(t *testing.T) {
	store, _ := quietStore(t)
	closed := make(chan string, 10)
	s := serveStore(t, store, func(o *ServerOptions) {
		o.MaxBacklog = 100_000
		o.Log = func(l string) { closed <- l }
	})
	a, _ := s.Listen("127.0.0.1:0")
	c := connected(t, a.String())
	c.want(OK, OpAddWatch, versionBody("/", 1))
	long := "/" + strings.Repeat("x", 50_000)
	must(t, store, 0, Create(long, nil, 0))
	for len(closed) == 0 {
		must(t, store, 0, Set(long, nil, -1))
	}
	if l := <-closed; !strings.Contains(l, "does not read") {
		t.Errorf("log %q", l)
	}
	again := rawDial(t, a.String())
	again.connect(0, 10_000, c.id, c.passwd)
	if again.id != c.id {
		t.Error("the session is gone")
	}
}

func TestAMultiReadCannotAskForAnyNumberOfBytes(t *testing.T) {
	s, addr := listening(t)
	must(t, s.Store(), 0, Create("/big", make([]byte, 1_000_000), 0))
	c := connected(t, addr)
	reads := func(n int) []byte {
		return multiBody(slices.Repeat([]part{{OpGetData, watchBody("/big", false)}}, n)...)
	}
	c.want(QuotaExceeded, OpMultiRead, reads(40_000))
	if a := c.want(OK, OpMultiRead, reads(3)); len(a.body) < 3_000_000 {
		t.Errorf("reply of %d bytes", len(a.body))
	}
}

func TestARequestBurstWithoutReadingDoesNotBlockPingsOfOthers(t *testing.T) {
	s, addr := listening(t)
	must(t, s.Store(), 0, Create("/big", make([]byte, 500_000), 0))
	greedy, other := connected(t, addr), connected(t, addr)
	for range 100 { // 50 MB of replies that nobody takes yet
		greedy.send(OpGetData, watchBody("/big", false))
	}
	other.quiet()
	for range 100 {
		if a := greedy.next(); len(a.body) != 4+500_000+68 {
			t.Fatalf("reply of %d bytes", len(a.body))
		}
	}
}

func TestFourLetterWords(t *testing.T) {
	s, addr := listening(t)
	c := connected(t, addr)
	c.want(OK, OpCreate, createBody("/e", nil, Ephemeral))
	c.want(NoNode, OpExists, watchBody("/x", true))
	for deadline := time.Now().Add(patience); s.outstanding() > 0; runtime.Gosched() { // a reply may be here before its writer has counted it
		if time.Now().After(deadline) {
			t.Fatalf("%d replies wait though each was read", s.outstanding())
		}
	}
	for w, parts := range map[string][]string{
		"ruok": {"imok"},
		"isro": {"rw"},
		"srvr": {"Zookeeper version: 3.8.4-kstate, built on 01/01/2026 00:00 GMT\nLatency min/avg/max: ", "\nReceived: 2\nSent: 3\nConnections: ", "\nOutstanding: 0\nZxid: 0x2\nMode: standalone\nNode count: 5\n"},
		"stat": {"GMT\nClients:\n /127.0.0.1:", "\n\nLatency"},
		"mntr": {"zk_znode_count\t5\n", "zk_ephemerals_count\t1\n", "zk_watch_count\t1\n", "zk_server_state\tstandalone\n", "zk_global_sessions\t1\n"},
		"cons": {fmt.Sprintf(",sid=0x%x,", c.id)},
		"wchs": {"1 connections watching 1 paths\nTotal watches:1"},
		"dump": {fmt.Sprintf("0x%x:\n\t/e\n", c.id)},
	} {
		got := word(t, addr, w)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s answered %q, without %q", w, got, part)
			}
		}
	}
	if word(t, addr, "ruok") != "imok" {
		t.Error("ruok")
	}
	s.Close()
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("a closed server still listens")
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	store, _ := quietStore(t)
	s := NewServer(store, ServerOptions{})
	a, _ := s.Listen("127.0.0.1:0")
	var clients []*rawClient
	for range 5 {
		clients = append(clients, connected(t, a.String()))
		p, err := s.Dial("p")
		if err != nil {
			t.Fatal(err)
		}
		c := &rawClient{t: t, nc: p}
		c.connect(0, 10_000, 0, nil)
		c.send(OpPing, nil) // its reply is never read
		clients = append(clients, c)
	}
	clients[0].want(OK, OpAddWatch, versionBody("/", 1))
	rawDial(t, a.String()) // has not shaken hands yet
	s.Close()
	if len(store.watching)+len(store.watches) > 0 {
		t.Error("watches outlive the server")
	}
	for _, c := range clients {
		for {
			if _, err := c.read(); err != nil {
				break
			}
		}
	}
	if got := len(store.Sessions()); got != 10 {
		t.Errorf("%d sessions outlive the server, want 10", got)
	}
	if _, err := s.Dial("p"); err == nil {
		t.Error("a closed server takes connections")
	}
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestRepliesMayBeLargerThanRequests(t *testing.T) {
	s, addr := listening(t)
	var want []string
	for i := range 2000 {
		name := fmt.Sprintf("%04d%s", i, strings.Repeat("n", 996))
		must(t, s.Store(), 0, Create("/"+name, nil, 0))
		want = append(want, name)
	}
	c := connected(t, addr)
	a := c.want(OK, OpGetChildren, watchBody("/", false))
	if got := (&decoder{b: a.body}).texts(); !slices.Equal(got, append(want, "zookeeper")) {
		t.Errorf("%d names", len(got))
	}
}
