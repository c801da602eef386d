package zkserver

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// silent drops go-zookeeper's log lines.
type silent struct{}

func (silent) Printf(string, ...any) {}

// client is a go-zookeeper client of whatever server dial reaches.
func client(t *testing.T, dial func() (net.Conn, error)) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, events, err := zk.Connect([]string{"127.0.0.1:1"}, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return dial() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, events
}

// await takes events until one has the state.
func await(t *testing.T, events <-chan zk.Event, state zk.State) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case e := <-events:
			if e.State == state {
				return
			}
		case <-limit:
			t.Fatalf("the client never reached %v", state)
		}
	}
}

func TestGoZookeeperOverAnInMemoryConnection(t *testing.T) {
	store, _ := quietStore(t)
	s := serveStore(t, store)
	c, _ := client(t, func() (net.Conn, error) { return s.Dial("client") })
	if _, err := c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	_, _, events, err := c.GetW("/a")
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 0}, &zk.SetDataRequest{Path: "/a", Data: []byte("x"), Version: 0})
	if err != nil || len(res) != 2 || res[1].Stat.Version != 1 {
		t.Fatalf("%v %v", res, err)
	}
	if e := <-events; e.Type != zk.EventNodeDataChanged || e.Path != "/a" {
		t.Errorf("%+v", e)
	}
	res, err = c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 0}, &zk.DeleteRequest{Path: "/a", Version: -1})
	if err != zk.ErrBadVersion || len(res) != 2 || res[0].Error != zk.ErrBadVersion {
		t.Errorf("a refused multi has all its entries: %+v %v", res, err)
	}
	if err := c.AddAuth("digest", []byte("nocolon")); err != nil {
		t.Error(err)
	}
	id := c.SessionID()
	c.Close()
	for deadline := time.Now().Add(patience); len(store.Ephemerals(id)) > 0 || len(store.Sessions()) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("Close leaves the session")
		}
	}
}

func TestGoZookeeperParsesTheFourLetterWords(t *testing.T) {
	_, addr := listening(t)
	c := connected(t, addr)
	c.quiet()
	stats, ok := zk.FLWSrvr([]string{addr}, patience)
	if !ok || stats[0].Mode != zk.ModeStandalone || stats[0].NodeCount != 4 {
		t.Errorf("srvr: %+v", stats[0])
	}
	if ok := zk.FLWRuok([]string{addr}, patience); !ok[0] {
		t.Error("ruok")
	}
	cons, ok := zk.FLWCons([]string{addr}, patience)
	if !ok || len(cons[0].Clients) != 1 || cons[0].Clients[0].SessionID != c.id {
		t.Errorf("cons: %+v", cons[0])
	}
}

func TestACutClientComesBackInItsSession(t *testing.T) {
	if testing.Short() {
		t.Skip("go-zookeeper sleeps a second before it reconnects: not in -short")
	}
	t.Parallel()
	store, _ := quietStore(t)
	store.opt.Now = nil
	s := serveStore(t, store)
	c, events := client(t, func() (net.Conn, error) { return s.Dial("client") })
	await(t, events, zk.StateHasSession)
	id := c.SessionID()
	if _, err := c.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	_, _, watch, err := c.ExistsW("/missed")
	if err != nil {
		t.Fatal(err)
	}
	s.Cut(id)
	must(t, store, 0, Create("/missed", nil, 0))
	await(t, events, zk.StateHasSession)
	select {
	case e := <-watch:
		if e.Type != zk.EventNodeCreated {
			t.Errorf("%+v", e)
		}
	case <-time.After(patience):
		t.Error("setWatches does not tell what was missed")
	}
	if _, st, err := c.Exists("/e"); err != nil || st.EphemeralOwner != id || c.SessionID() != id {
		t.Errorf("%+v %v", st, err)
	}
}

func TestAClientOfAnEarlierLifeRecovers(t *testing.T) {
	if testing.Short() {
		t.Skip("go-zookeeper sleeps a second before it reconnects: not in -short")
	}
	t.Parallel()
	var now atomic.Pointer[Server]
	start := func() { now.Store(NewServer(NewStore(Options{}), ServerOptions{})) }
	start()
	c, events := client(t, func() (net.Conn, error) { return now.Load().Dial("client") })
	await(t, events, zk.StateHasSession)
	for i := range 500 {
		if _, err := c.Create(fmt.Sprintf("/n%d", i), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	old := now.Load()
	start() // an empty tree, with higher zxids than the client has seen
	old.Close()
	await(t, events, zk.StateExpired)
	await(t, events, zk.StateHasSession)
	if ok, _, err := c.Exists("/n0"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	now.Load().Close()
}

func TestAStoppedProcessExpiresNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("stops a server process for seconds: not in -short")
	}
	t.Parallel()
	kill, err := exec.LookPath("kill")
	if err != nil {
		t.Skip("needs kill")
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free just now
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	config := filepath.Join(dir, "zoo.cfg")
	os.WriteFile(config, []byte("dataDir="+dir+"\ntickTime=500\nclientPort="+port+"\n"), 0o666)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(self)
	server.Env = append(os.Environ(), configVariable+"="+config)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	var nc net.Conn
	for deadline := time.Now().Add(patience); ; {
		if nc, err = net.Dial("tcp", addr); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	defer nc.Close()
	c := &rawClient{t: t, nc: nc}
	c.connect(0, 1000, 0, nil)
	signal := func(name string) {
		if out, err := exec.Command(kill, "-"+name, fmt.Sprint(server.Process.Pid)).CombinedOutput(); err != nil {
			t.Fatalf("kill -%s: %v %s", name, err, out)
		}
	}
	c.quiet()
	signal("STOP")
	time.Sleep(2500 * time.Millisecond) // more than twice the session's timeout
	signal("CONT")
	c.quiet()
}
