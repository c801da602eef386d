package realkafka

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	zkStartLimit = 60 * time.Second
	zkHeap       = "512m"
	// zkTickMillis keeps the rounding of session expiry small: a server looks
	// at its sessions once a tick.
	zkTickMillis = 1000
)

// ZooKeeper is a real ZooKeeper server, standalone, on loopback.
type ZooKeeper struct {
	Addr    string // host:port
	DataDir string // holds its snapshots and transaction logs

	t    testing.TB
	jars *Jars
	work string
	port int
	proc *process
}

// StartZooKeeper starts a server and waits until it answers.
func StartZooKeeper(t testing.TB, jars *Jars) *ZooKeeper {
	t.Helper()
	work := t.TempDir()
	port := freePort(t)
	z := &ZooKeeper{Addr: loopback(port), DataDir: filepath.Join(work, "data"), t: t, jars: jars, work: work, port: port}
	z.Start()
	return z
}

// Start starts the server again after Stop, on the same port and data, and waits
// until it answers.
func (z *ZooKeeper) Start() {
	z.t.Helper()
	if z.proc.running() {
		z.t.Fatalf("start ZooKeeper on %s: it runs", z.Addr)
	}
	z.proc = launchJava(z.t, z.jars, "zookeeper", z.work, zkHeap, "org.apache.zookeeper.server.quorum.QuorumPeerMain", map[string]string{
		"dataDir": z.DataDir, "clientPort": strconv.Itoa(z.port), "clientPortAddress": "127.0.0.1",
		"tickTime": strconv.Itoa(zkTickMillis), "minSessionTimeout": "1000", "maxSessionTimeout": "60000",
		"admin.enableServer": "false", "4lw.commands.whitelist": "*", "maxClientCnxns": "0", "syncEnabled": "false",
	})
	await(z.t, zkStartLimit, "ZooKeeper on "+z.Addr, []*process{z.proc}, func() error { return imok(z.Addr) })
}

// imok asks the server whether it runs without error.
func imok(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("ruok")); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	if err == nil && string(answer) != "imok" {
		err = fmt.Errorf("it answers %q to ruok", answer)
	}
	return err
}

// Stop kills the server. Its data directory stays until the end of the test.
func (z *ZooKeeper) Stop() { z.t.Helper(); z.proc.stop(z.t, sigKill) }

// Pause stops the server's process (SIGSTOP): connections stay open, nothing
// is answered.
func (z *ZooKeeper) Pause() { z.t.Helper(); z.proc.pause(z.t) }

// Resume lets a paused server go on.
func (z *ZooKeeper) Resume() { z.t.Helper(); z.proc.signal(z.t, sigCont) }

// LogPath is the file with the server's output.
func (z *ZooKeeper) LogPath() string { return z.proc.log }

type silent struct{}

func (silent) Printf(string, ...any) {}

const (
	dialLimit   = 30 * time.Second
	dialSession = 30 * time.Second
)

// Dial opens a session with the ZooKeeper at addr (host:port) for the test to
// look and write with. It is closed at the end of the test. A call on it waits
// as long as the server is away, so bound the test.
func Dial(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, dialSession, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatalf("connect to ZooKeeper %s: %v", addr, err)
	}
	t.Cleanup(conn.Close)
	limit := time.After(dialLimit)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("connect to ZooKeeper %s: the client closed", addr)
			}
			if e.State == zk.StateHasSession {
				return conn
			}
		case <-limit:
			t.Fatalf("connect to ZooKeeper %s: no session after %v", addr, dialLimit)
		}
	}
}

// noNode is err, or nil when err only says that a znode is missing.
func noNode(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}
