package realkafka

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
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

	t     testing.TB
	jars  *Jars
	work  string
	port  int
	extra map[string]string // settings beside and above the usual ones
	proc  *process
}

// StartZooKeeper starts a server, with settings beside and above the usual ones
// if given, and waits until it answers.
func StartZooKeeper(t testing.TB, jars *Jars, extra ...map[string]string) *ZooKeeper {
	t.Helper()
	work := t.TempDir()
	port := freePort(t)
	z := &ZooKeeper{Addr: loopback(port), DataDir: filepath.Join(work, "data"), t: t, jars: jars, work: work, port: port, extra: map[string]string{}}
	for _, settings := range extra {
		maps.Copy(z.extra, settings)
	}
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
	conf := map[string]string{
		"dataDir": z.DataDir, "clientPort": strconv.Itoa(z.port), "clientPortAddress": "127.0.0.1",
		"tickTime": strconv.Itoa(zkTickMillis), "minSessionTimeout": "1000", "maxSessionTimeout": "60000",
		"admin.enableServer": "false", "4lw.commands.whitelist": "*", "maxClientCnxns": "0", "syncEnabled": "false",
		"forceSync": "no", // what is written outlives a killed process, if not a machine
	}
	maps.Copy(conf, z.extra)
	z.proc = launchJava(z.t, z.jars, "zookeeper", z.work, zkHeap, "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf, false)
	await(z.t, zkStartLimit, "ZooKeeper on "+z.Addr, []*process{z.proc}, func() error { return serves(z.Addr) })
}

// serves asks the server whether it takes sessions: imok it says before that.
func serves(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("srvr")); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	if err == nil && !bytes.HasPrefix(answer, []byte("Zookeeper version")) {
		err = fmt.Errorf("it answers %q to srvr", answer)
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
