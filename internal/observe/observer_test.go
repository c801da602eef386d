package observe

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// limit is how long a test waits for what must come; only tests that fail need it.
const limit = 20 * time.Second

// stage is an observer of an embedded server, reached through a pipe.
type stage struct {
	t      *testing.T
	store  *zkserver.Store
	server *zkserver.Server
	conn   *zkwatch.Conn
	o      *Observer
	ended  chan error
	frame  model.Frame

	mu       sync.Mutex
	verdict  func(zkserver.Request) zkserver.Verdict
	requests int // of clients, pings left out
}

const peer = "observer"

// cluster is brokers 1 and 2, and the topic t with two partitions on both.
var cluster = map[string]string{
	"/controller_epoch":                    "3",
	"/admin/delete_topics":                 "",
	"/brokers/ids/1":                       `{"version":1,"host":"h1","port":9092,"jmx_port":-1,"timestamp":"1"}`,
	"/brokers/ids/2":                       `{"version":1,"host":"h2","port":9092,"jmx_port":-1,"timestamp":"1"}`,
	"/brokers/topics/t":                    `{"version":1,"partitions":{"0":[1,2],"1":[2,1]}}`,
	"/brokers/topics/t/partitions/0/state": `{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}`,
	"/brokers/topics/t/partitions/1/state": `{"controller_epoch":3,"leader":2,"version":1,"leader_epoch":0,"isr":[2,1]}`,
}

func newStage(t *testing.T) *stage { return newStageWith(t, func(*Observer) {}) }

// newStageWith lets the observer be changed before it runs.
func newStageWith(t *testing.T, change func(*Observer)) *stage {
	t.Helper()
	s := &stage{t: t, ended: make(chan error, 1)}
	s.store = zkserver.NewStore(zkserver.Options{Intercept: func(r zkserver.Request) zkserver.Verdict {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Peer == "" {
			return zkserver.Verdict{}
		}
		s.requests++
		if s.verdict == nil {
			return zkserver.Verdict{}
		}
		return s.verdict(r)
	}})
	var znodes []zkserver.Znode
	for path, data := range cluster {
		znodes = append(znodes, zkserver.Znode{Path: path, Data: []byte(data)})
	}
	if err := s.store.Load(znodes); err != nil {
		t.Fatal(err)
	}
	s.server = zkserver.NewServer(s.store, zkserver.ServerOptions{TickTime: 100 * time.Millisecond})
	t.Cleanup(func() { s.server.Close() })
	var err error
	s.conn, err = zkwatch.Dial(context.Background(), zkwatch.Options{Servers: "lab:1", SessionTimeout: 2 * time.Second, Gate: zkwatch.ReadOnly(),
		Dialer: func(context.Context, string, string) (net.Conn, error) { return s.server.Dial(peer) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.conn.Close)
	s.o = New(Options{Conn: s.conn, Source: "lab:1", Config: tree.DefaultConfig()})
	change(s.o)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { s.ended <- s.o.Run(ctx) }()
	s.await("the whole tree", func(f *model.Frame) bool { return f.Progress == nil })
	return s
}

// await waits for a frame of which the condition holds.
func (s *stage) await(what string, holds func(*model.Frame) bool) {
	s.t.Helper()
	deadline := time.After(limit)
	for {
		select {
		case f, open := <-s.o.Frames():
			if !open {
				s.t.Fatalf("the frames ended before one in which %s", what)
			}
			s.frame = f
			if holds(&f) {
				return
			}
		case <-deadline:
			s.t.Fatalf("no frame in which %s; the last: %+v, notices %+v", what, s.frame.Connection, s.frame.Notices)
		}
	}
}

func (s *stage) write(op zkserver.Op) {
	s.t.Helper()
	if r, _ := s.store.Apply(0, op); r.Code != zkserver.OK {
		s.t.Fatalf("%s %s: %s", op.Kind, op.Path, r.Code)
	}
}

func (s *stage) set(path, data string) {
	s.t.Helper()
	s.write(zkserver.Set(path, []byte(data), -1))
}

func (s *stage) onRequest(verdict func(zkserver.Request) zkserver.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = verdict
}

func (s *stage) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// told is a condition: a notice holds the words.
func told(words ...string) func(*model.Frame) bool {
	return func(f *model.Frame) bool {
		for _, n := range f.Notices {
			all := true
			for _, w := range words {
				all = all && strings.Contains(n.Text, w)
			}
			if all {
				return true
			}
		}
		return false
	}
}

func TestTheTreeIsShownAndFollowed(t *testing.T) {
	began := time.Now().UnixMilli()
	s := newStage(t)
	f := &s.frame
	if f.View.PartitionCounts[model.OnlinePartition] != 2 || f.View.ReplicaCounts[model.OnlineReplica] != 4 || len(f.Brokers) != 2 || f.Controller.Epoch != 3 ||
		f.Mode != model.ObserveMode || !f.ReadOnly || !f.Connection.Connected || f.Connection.Heard < began || f.Connection.Heard > f.Now || f.History.N != 0 || len(f.Notices) != 0 {
		t.Errorf("the first whole frame: counts %v %v, brokers %v, controller %+v, mode %s, %+v, %d records, notices %v", f.View.PartitionCounts,
			f.View.ReplicaCounts, f.Brokers, f.Controller, f.Mode, f.Connection, f.History.N, f.Notices)
	}
	s.write(zkserver.Delete("/brokers/ids/2", -1))
	s.await("broker 2 is dead", func(f *model.Frame) bool {
		return f.View.PartitionCounts[model.OfflinePartition] == 1 && f.View.ReplicaCounts[model.OfflineReplica] == 2 && f.Brokers[1].State == tree.BrokerDead
	})
	s.write(zkserver.Create("/admin/delete_topics/t", nil, 0))
	s.await("t is queued", func(f *model.Frame) bool { return f.View.IsQueued("t") })
	records := ""
	for i := range s.frame.History.N {
		records += s.frame.History.At(i).Input.String() + "\n"
	}
	if !strings.Contains(records, "/brokers/ids/2") || !strings.Contains(records, "/admin/delete_topics/t") {
		t.Errorf("the history does not tell what changed:\n%s", records)
	}
}

// An answer that does not come keeps nothing else from the screen.
func TestAReadOfTheInspectorHoldsNothingUp(t *testing.T) {
	s := newStage(t)
	release := make(chan struct{})
	s.onRequest(func(r zkserver.Request) zkserver.Verdict {
		if r.Op == zkserver.OpGetData {
			return zkserver.Verdict{Hold: release}
		}
		return zkserver.Verdict{}
	})
	s.o.Do(model.Inspect{Subject: model.Subject{Kind: model.TopicSubject, Topic: "t"}})
	s.await("a beat has come", func(f *model.Frame) bool { return f.Inspection == nil })
	s.o.Do(model.Pause{})
	s.await("a refusal is told", told("refused", "cannot be held"))
	if s.frame.Inspection != nil {
		t.Error("an inspection without an answer")
	}
	close(release)
	s.await("the inspection", func(f *model.Frame) bool { return f.Inspection != nil })
	if in := s.frame.Inspection; in.Subject.Topic != "t" || len(in.Znodes) != 3 || !strings.Contains(string(in.Znodes[0].Data), `"partitions"`) || !in.Znodes[1].Missing || in.At == 0 {
		t.Errorf("inspected: %+v", in)
	}
	s.set("/brokers/topics/t", `{"version":1,"partitions":{"0":[1,2],"1":[2,1],"2":[1]}}`)
	s.await("the inspection is fresh", func(f *model.Frame) bool { return strings.Contains(string(f.Inspection.Znodes[0].Data), `"2"`) })
}

// Nothing is asked again as long as nothing changes, whatever is looked at.
func TestNothingIsPolled(t *testing.T) {
	s := newStage(t)
	s.o.Do(model.Inspect{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 1}})
	s.await("the inspection", func(f *model.Frame) bool { return f.Inspection != nil })
	before := s.asked()
	beats := 0
	s.await("two more frames by the clock", func(*model.Frame) bool { beats++; return beats > 2 })
	if n := s.asked() - before; n != 0 {
		t.Errorf("%d requests while nothing changed", n)
	}
}

func TestALostConnectionAgesTheFrame(t *testing.T) {
	s := newStage(t)
	before := time.Now().UnixMilli()
	s.server.PartitionPeer(peer)
	s.await("the connection is lost", func(f *model.Frame) bool { return !f.Connection.Connected })
	c := s.frame.Connection
	if c.Since < before || c.Since > time.Now().UnixMilli() || !strings.Contains(c.Text, "disconnected: ") || !told("changes are missed")(&s.frame) {
		t.Errorf("lost at %d: %+v, notices %+v", before, c, s.frame.Notices)
	}
	s.write(zkserver.Delete("/brokers/ids/1", -1))
	s.o.Do(model.Inspect{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 1}})
	s.await("another frame", func(f *model.Frame) bool {
		return !f.Connection.Connected && f.View.IsLive(1) && f.Connection.Since == c.Since
	})
	s.server.HealPeer(peer)
	s.await("what was missed", func(f *model.Frame) bool { return f.Connection.Connected && !f.View.IsLive(1) })
	s.await("the inspection", func(f *model.Frame) bool { return f.Inspection != nil && f.Inspection.Znodes[0].Missing })
	if !told("up to date again")(&s.frame) {
		t.Errorf("notices %+v", s.frame.Notices)
	}
}

func TestWhatCannotBeReadIsTold(t *testing.T) {
	s := newStage(t)
	s.set("/brokers/topics/t/partitions/1/state", `{"leader":`)
	s.await("a notice", told("/brokers/topics/t/partitions/1/state"))
	s.write(zkserver.Create("/brokers/topics/esc\x7e", []byte("\x1b[31m"), 0))
	s.await("a notice without control characters", told(`\x1b[31m`))
	last := s.frame.History.At(s.frame.History.N - 1)
	if l, ok := last.Step.(*model.Log); !ok || l.Level != model.Warn {
		t.Errorf("the last record is %+v", last)
	}
	s.set("/brokers/topics/t/partitions/1/state", `{"controller_epoch":3,"leader":2,"version":1,"leader_epoch":1,"isr":[2]}`)
	s.await("it is well again", func(f *model.Frame) bool { return f.View.PartitionCounts[model.OnlinePartition] == 2 })
}

// A tree that goes, as with a chroot that is emptied, is no cluster that is well.
func TestATreeThatGoesIsTold(t *testing.T) {
	s := newStage(t)
	for _, path := range []string{"/brokers/ids/1", "/brokers/ids/2", "/brokers/ids"} {
		s.write(zkserver.Delete(path, -1))
	}
	s.await("a notice", told("/brokers/ids is not there"))
}

func TestTheEnd(t *testing.T) {
	s := newStage(t)
	s.conn.Close()
	select {
	case err := <-s.ended:
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("Run returned %v", err)
		}
	case <-time.After(limit):
		t.Fatal("Run goes on without a connection")
	}
	for range s.o.Frames() { // ends
	}
	for range 100 { // more than the buffer holds
		s.o.Do(model.Pause{})
	}
}
