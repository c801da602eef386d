package debugger_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/journal"
	"kstate/internal/lab"
	"kstate/internal/live"
	"kstate/model"
	"kstate/zkwatch"
)

// transcript is every step as it was proposed, to the byte.
type transcript struct {
	mu    sync.Mutex
	steps []string
}

func (t *transcript) add(s model.Step) {
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, fmt.Sprintf("%T %s %s", s, s, text))
}

// onLab is a controller of a lab's brokers, with a journal.
func onLab(t *testing.T, path string, seen *transcript) (*front, *journal.Writer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	l, err := lab.Start(ctx, lab.Options{Brokers: 3, TickTime: 250 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var session *debugger.Session
	ready := make(chan struct{})
	out, err := live.Dial(ctx, live.Options{ControllerID: 1000, Listener: "PLAINTEXT", ClusterID: lab.ClusterID,
		OnInput:   func(s model.Stimulus) { <-ready; session.Input(s) },
		ZooKeeper: zkwatch.Options{Servers: l.Addr(), SessionTimeout: 4 * time.Second, Gate: zkwatch.Controller()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	cfg := engine.DefaultConfig(1000)
	self := out.Self()
	cfg.Self = &self
	cfg.BrokerConfig = map[string]string{"ssl.key.password": "hunter2", "num.partitions": "2"}
	eng := engine.New(cfg)
	w, err := journal.Create(journal.Options{Path: path, Header: journal.Header{Kstate: "test", Mode: model.ControlMode, Source: l.Addr(), ClusterID: lab.ClusterID}})
	if err != nil {
		t.Fatal(err)
	}
	session = debugger.NewSession(debugger.Options{Engine: eng, Env: out, Mode: model.ControlMode, Source: l.Addr(), Operate: l.Operate, Journal: w,
		Peek: out.Peek, Channels: out.Channels.Snapshot, Connection: out.Connection, SessionID: out.SessionID, Expired: out.Conn.Proceed, Viewed: out.Viewed,
		Recorded: func(r model.Record) {
			if r.Step != nil {
				seen.add(r.Step)
			}
		}})
	close(ready)
	f := &front{Session: session, t: t, next: make(chan struct{})}
	f.run()
	return f, w
}

// What the journal of a session on sockets holds is enough: a fresh engine fed
// from it takes the same steps, to the byte, elections, a failed broker, a
// deletion and admin requests among them. No secret is in it.
func TestAJournalIsEnoughToTakeTheSameStepsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lab.journal")
	var seen transcript
	f, w := onLab(t, path, &seen)
	f.await("the controller with its partitions", func(m *model.Frame) bool {
		return active(m) && m.View.PartitionCounts[model.OnlinePartition] == 6
	})
	secret := model.CreateTopic{Topic: "refused", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"sasl.jaas.config": "hunter2"}}
	f.Do(secret)
	f.Do(model.CreateTopic{Topic: "made", Partitions: 4, ReplicationFactor: 3, Config: map[string]string{"cleanup.policy": "compact"}})
	f.await("a topic that was asked for", func(m *model.Frame) bool { return idle(m) && m.View.PartitionCounts[model.OnlinePartition] == 10 })
	f.Do(model.KillBroker{Broker: 2})
	f.await("broker 2 is gone", func(m *model.Frame) bool { return idle(m) && !m.View.IsLive(2) })
	f.Do(model.DeleteTopic{Topic: "orders"})
	f.await("a deletion that waits", func(m *model.Frame) bool { return idle(m) && m.View.TopicsIneligibleForDeletion.Has("orders") })
	f.Do(model.StartBroker{Broker: 2})
	f.await("the deletion is done", func(m *model.Frame) bool {
		return idle(m) && !m.View.TopicsToBeDeleted.Has("orders") && m.View.IsLive(2)
	})
	f.Do(model.RunElection{Strategy: model.PreferredStrategy})
	f.Do(model.Pause{})
	f.await("a stop", func(m *model.Frame) bool { return m.Run == model.Paused })
	f.Do(model.Continue{})
	f.await("rest", func(m *model.Frame) bool { return idle(m) && m.Run == model.Running })
	f.end()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	replayed := replay(t, path)
	if len(replayed) == 0 || len(replayed) != len(seen.steps) {
		t.Errorf("%d steps again, %d before", len(replayed), len(seen.steps))
	}
	for i := range min(len(replayed), len(seen.steps)) {
		if replayed[i] != seen.steps[i] {
			t.Fatalf("step %d of %d:\n%s\nwas\n%s", i, len(seen.steps), replayed[i], seen.steps[i])
		}
	}
	if text := textOf(t, path); strings.Contains(text, "hunter2") || !strings.Contains(text, "sasl.jaas.config") || !strings.Contains(text, "ssl.key.password") {
		t.Errorf("a secret is in the journal, or its name is not:\n%.4000s", text)
	}
}

// replay feeds a fresh engine from the journal and gives its steps.
func replay(t *testing.T, path string) []string {
	t.Helper()
	in, err := journal.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p, err := debugger.NewReplay(in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Close() }()
	var steps transcript
	p.Each = steps.add
	for {
		if _, err := p.Next(); errors.Is(err, io.EOF) {
			return steps.steps
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// textOf is what zcat prints of a journal.
func textOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A recording of what was only looked at feeds no engine.
func TestNoEngineIsFedFromBeside(t *testing.T) {
	for _, mode := range []model.Mode{model.ObserveMode, model.AdminMode} {
		path := filepath.Join(t.TempDir(), "beside.journal")
		w, err := journal.Create(journal.Options{Path: path, Header: journal.Header{Mode: mode, Source: "a cluster"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		in, err := journal.Open(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := debugger.NewReplay(in); err == nil || !strings.Contains(err.Error(), "no engine can be fed from it") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
