package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kstate/internal/realkafka"
)

// controllerID is what kstate control runs under where no broker has 1000.
const controllerID = 1000

// realControl is kstate control as a process of its own on a real cluster.
type realControl struct {
	t    testing.TB
	cmd  *exec.Cmd
	log  string // its transitions
	errs text
	done chan error
}

// takeControl starts kstate as the cluster's controller-to-be.
func takeControl(t testing.TB, c *realkafka.Cluster, args ...string) *realControl {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &realControl{t: t, log: filepath.Join(t.TempDir(), "state-change.log"), done: make(chan error, 1)}
	r.cmd = exec.Command(self, append([]string{"control", "--headless", "--zookeeper", c.Connect(), "--listener", "127.0.0.1:0",
		"--override", "auto.leader.rebalance.enable=false", "--override", "zookeeper.session.timeout.ms=6000", "--state-change-log", r.log}, args...)...)
	r.cmd.Env = append(os.Environ(), asCommand+"=1")
	r.cmd.Stderr = &r.errs
	r.cmd.Stdout = &bytes.Buffer{}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("kstate control said:\n%s", r.errs.String())
		}
	})
	return r
}

// says waits until it has written that to standard error.
func (r *realControl) says(limit time.Duration, what string) {
	r.t.Helper()
	for end := time.Now().Add(limit); !strings.Contains(r.errs.String(), what); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("kstate control did not say %q within %v:\n%s", what, limit, r.errs.String())
		}
	}
}

func (r *realControl) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// ends waits until the process has ended.
func (r *realControl) ends() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(time.Minute):
		r.t.Fatal("kstate control does not end")
		return nil
	}
}

// kstate is the controller from before the brokers start: what comes of the tour
// is what came of it under Kafka's own controller. At the end a copy of the newest
// release's cluster is played with, and the role goes to a broker at once.
func TestRealControlTour(t *testing.T) {
	realkafka.Require(t, realkafka.Versions[0])
	for _, version := range realkafka.Versions {
		t.Run(version, func(t *testing.T) {
			c := realkafka.StartCluster(t, realkafka.Require(t, version), realkafka.Options{Hold: true})
			r := takeControl(t, c)
			r.says(time.Minute, "is the controller, epoch 1")
			c.StartAll()
			golden := realkafka.Golden(t, version)
			diffs := realkafka.Compare(golden, realkafka.Run(t, c, realkafka.Tour(),
				realkafka.RunOptions{OutsideController: controllerID, Transitions: realkafka.FollowLogs(r.log)}))
			for _, d := range diffs {
				t.Error(d)
			}
			t.Logf("%d of %d steps as recorded", len(golden)-len(diffs), len(golden))
			if version == realkafka.Versions[0] {
				rehearse(t, c)
			}
			began := time.Now()
			r.signal(syscall.SIGTERM)
			if err := r.ends(); err != nil {
				t.Errorf("kstate control ended with %v", err)
			}
			awaitController(t, c, func(id int32) bool { return id == 1 || id == 2 })
			t.Logf("a broker had the role %v after SIGTERM", time.Since(began).Round(10*time.Millisecond))
		})
	}
}

// awaitController waits until /controller names somebody as wanted.
func awaitController(t testing.TB, c *realkafka.Cluster, want func(int32) bool) {
	t.Helper()
	last := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		s, err := realkafka.Snapshot(c.Conn, c.Chroot)
		if err == nil && s.Controller != nil && want(*s.Controller) {
			return
		}
		last = fmt.Sprint(s.Controller, err)
	}
	t.Fatalf("nobody wanted has the role: %s", last)
}
