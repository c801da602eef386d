package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kstate/internal/debugger"
	"kstate/internal/journal"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// TestMain keeps the recordings of the tests' controllers out of the user's
// directories.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kstate")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A controller records from its start to its end, by default in the user's
// directory for state, and what it recorded can be replayed.
func TestControlRecords(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	l := keeper(t)
	c := startControl(t, "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:0")
	path := c.says(`recording to (\S+)`)[1]
	if filepath.Dir(path) != filepath.Join(home, "kstate") || !strings.HasSuffix(path, "_kafka-1000.journal") {
		t.Error(path)
	}
	c.says(`is the controller, epoch 1`)
	o := kstate(t, "control", "--headless", "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:0", "--id", "1000")
	o.check(t, exitError, "", "another kstate writes it")
	c.cancel()
	if code := c.end(); code != exitOK {
		t.Fatal(code)
	}
	in, err := journal.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if h := in.Header; h.Mode != model.ControlMode || h.Source != l.Addr()+"/kafka" || h.Kstate != version() {
		t.Errorf("%+v", h)
	}
	p, err := debugger.NewReplay(in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Close() }()
	was, last := false, ""
	for err == nil {
		var rec *journal.Record
		if rec, err = p.Next(); err == nil && rec.Kind == journal.Taken {
			was, last = was || p.Engine.IsActive(), rec.Text
		}
	}
	if !errors.Is(err, io.EOF) || !was || last != "end ShutdownEventThread" {
		t.Errorf("%v; it was the controller: %v; the last step is %s", err, was, last)
	}
}

// Without a place to record there is no controller, and ZooKeeper stays as it was.
func TestControlDoesNotStartWithoutAJournal(t *testing.T) {
	l := keeper(t)
	letter := filepath.Join(t.TempDir(), "letter")
	if err := os.WriteFile(letter, []byte("Dear reader"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{letter: "no recording of kstate", filepath.Join(t.TempDir(), "none", "j"): "no such file or directory"} {
		o := kstate(t, "control", "--headless", "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0", "--journal", path)
		o.check(t, exitError, "", why)
		if !strings.Contains(o.err, "a controller always records") {
			t.Error(o.err)
		}
	}
	if _, code := l.Store().Exists(model.BrokersPath); code == 0 {
		t.Error("the paths of a cluster were made")
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	kstate(t, "control", "--headless", "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0").check(t, exitError, "", "say where with --journal FILE")
	kstate(t, "lab", "--brokers", "0", "--headless", "--journal", "x").check(t, exitUsage, "", "no controller")
}

// What an observer sees is recorded, too; no engine can be fed from it.
func TestObserveRecords(t *testing.T) {
	l := keeper(t)
	c := startControl(t, "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:0")
	c.says(`is the controller, epoch 1`)
	path := filepath.Join(t.TempDir(), "seen")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errs text
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"observe", "--headless", "--zookeeper", l.Addr() + "/kafka", "--journal", path}, console{strings.NewReader(""), io.Discard, &errs})
	}()
	// Changes before the first picture are part of it: one is made again and again.
	marker := "/kafka" + model.DeleteTopicPath("nothing")
	await(t, "a change is in the journal", func() bool {
		l.Store().Apply(0, zkserver.Create(marker, nil, 0))
		l.Store().Apply(0, zkserver.Delete(marker, -1))
		in, err := journal.Open(path, false)
		if err != nil {
			return false
		}
		defer in.Close()
		for {
			rec, err := in.Read()
			if err != nil {
				return false
			}
			if z, ok := rec.Input.(*model.ZnodeSeen); ok && z.Path == model.DeleteTopicPath("nothing") {
				return true
			}
		}
	})
	cancel()
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	in, err := journal.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := debugger.NewReplay(in); err == nil || !strings.Contains(err.Error(), "no engine can be fed") {
		t.Error(err)
	}
}

// After kill -9 what was recorded until half a second before is there, and can be
// replayed.
func TestAKilledControllersJournalIsRead(t *testing.T) {
	l := keeper(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "killed")
	cmd := exec.Command(self, "control", "--headless", "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0", "--journal", path)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	elected := func() (was bool, err error) {
		in, err := journal.Open(path, false)
		if err != nil {
			return false, err
		}
		defer in.Close()
		p, err := debugger.NewReplay(in)
		if err != nil {
			return false, err
		}
		defer func() { p.Close() }()
		for err == nil {
			if _, err = p.Next(); err == nil {
				was = was || p.Engine.IsActive()
			}
		}
		return was, err
	}
	await(t, "the election is in the journal", func() bool { was, _ := elected(); return was })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	var tear *journal.Tear
	if was, err := elected(); !was || !errors.Is(err, io.EOF) && !errors.As(err, &tear) {
		t.Errorf("%v, %v", was, err)
	}
}
