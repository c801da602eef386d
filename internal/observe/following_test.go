package observe

import (
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// listener keeps what an observer tells.
type listener struct {
	mu     sync.Mutex
	events []Event
}

func (l *listener) told(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// find waits for an event of which the condition holds.
func (l *listener) find(t *testing.T, what string, holds func(Event) bool) Event {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		for _, e := range l.events {
			if holds(e) {
				l.mu.Unlock()
				return e
			}
		}
		all := len(l.events)
		l.mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatalf("no event: %s (of %d)", what, all)
		}
	}
}

// withController is a stage with a broker in the role that never does anything.
func withController(t *testing.T) (*stage, *listener) {
	t.Helper()
	l := &listener{}
	s := newStageWith(t, func(o *Observer) {
		o.opt.Told = l.told
		o.silence.limit, o.following.period = 400*time.Millisecond, 20*time.Millisecond
	})
	session, _ := s.store.CreateSession(time.Hour)
	if r, _ := s.store.Apply(session, zkserver.Create("/controller", []byte(`{"version":1,"brokerid":1,"timestamp":"1"}`), zkserver.Ephemeral)); r.Code != zkserver.OK {
		t.Fatal(r.Code)
	}
	s.await("the controller", func(f *model.Frame) bool { return f.Controller.Status == "active" })
	return s, l
}

func TestAControllerThatDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		path, data string
		act        func(s *stage)
		answer     func(s *stage)
		reason     string
	}{
		"deletion": {path: "/admin/delete_topics/t", reason: "the deletion of t is not begun",
			answer: func(s *stage) { s.set("/brokers/topics/t/partitions/0/state", leaderless) }},
		"election": {path: "/admin/preferred_replica_election", data: `{"version":1,"partitions":[]}`, reason: "/admin/preferred_replica_election is not taken up",
			answer: func(s *stage) { s.write(zkserver.Delete("/admin/preferred_replica_election", -1)) }},
		"notification": {path: "/isr_change_notification/isr_change_0000000001", data: `{"version":1,"partitions":[]}`, reason: "isr_change_0000000001 is not taken up",
			answer: func(s *stage) { s.write(zkserver.Delete("/isr_change_notification/isr_change_0000000001", -1)) }},
		"topic": {path: "/brokers/topics/new", data: `{"version":1,"partitions":{"0":[1]}}`, reason: "topic new has partitions",
			answer: func(s *stage) {
				s.write(zkserver.Create("/brokers/topics/new/partitions", nil, 0))
				s.write(zkserver.Create("/brokers/topics/new/partitions/0", nil, 0))
				s.write(zkserver.Create("/brokers/topics/new/partitions/0/state", []byte(`{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}`), 0))
			}},
		"dead broker": {act: func(s *stage) { s.write(zkserver.Delete("/brokers/ids/2", -1)) }, reason: "broker 2 is gone and still the leader",
			answer: func(s *stage) {
				s.set("/brokers/topics/t/partitions/1/state", `{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":1,"isr":[1]}`)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := withController(t)
			if c.act != nil {
				c.act(s)
			} else {
				if c.path == "/isr_change_notification/isr_change_0000000001" {
					s.write(zkserver.Create("/isr_change_notification", nil, 0))
				}
				s.write(zkserver.Create(c.path, []byte(c.data), 0))
			}
			s.await("the alarm", func(f *model.Frame) bool { return strings.Contains(f.Alert, c.reason) })
			e := l.find(t, "the alarm", func(e Event) bool { return e.Type == NotAnsweringEvent && e.What == "on" })
			if !strings.Contains(e.Reason, c.reason) || *e.Controller != 1 || e.Zxid == 0 || e.At == 0 {
				t.Errorf("told %+v", e)
			}
			c.answer(s)
			s.await("it is over", func(f *model.Frame) bool { return f.Alert == "" })
			l.find(t, "the end", func(e Event) bool { return e.Type == NotAnsweringEvent && e.What == "off" })
		})
	}
}

// What a controller may leave for long is no silence.
func TestWhatIsNoSilence(t *testing.T) {
	s, l := withController(t)
	// What the controller must do is done before it could be asked for.
	s.set("/brokers/topics/t/partitions/1/state", `{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":1,"isr":[1]}`)
	s.write(zkserver.Delete("/brokers/ids/2", -1))
	s.write(zkserver.Create("/admin/delete_topics/t", nil, 0))                                          // waits for broker 2
	s.write(zkserver.Create("/brokers/topics/dead", []byte(`{"version":1,"partitions":{"0":[2]}}`), 0)) // no replica is live
	s.write(zkserver.Create("/admin/reassign_partitions", []byte(`{"version":1,"partitions":[]}`), 0))  // may take hours
	s.await("the deletion waits", func(f *model.Frame) bool { return f.Following.Deletions["t"].State == "waiting" })
	e := l.find(t, "the deletion waits", func(e Event) bool { return e.Type == DeletionEvent && e.State == "waiting" })
	if len(e.BlockedBy) != 1 || e.BlockedBy[0] != "broker:2" {
		t.Errorf("told %+v", e)
	}
	begin := time.Now()
	s.await("twice the limit is over", func(f *model.Frame) bool {
		if f.Alert != "" {
			t.Fatalf("alarm: %s", f.Alert)
		}
		return time.Since(begin) > 2*s.o.silence.limit
	})
}

// A marker that vanishes is explained, and so is a new controller.
func TestAVanishedMarkerIsExplained(t *testing.T) {
	s, l := withController(t)
	s.write(zkserver.Create("/admin/delete_topics/t", nil, 0))
	s.await("it is queued", func(f *model.Frame) bool { return f.View.IsQueued("t") })
	s.write(zkserver.Delete("/admin/delete_topics/t", -1))
	e := l.find(t, "the refusal", func(e Event) bool { return e.Type == DeletionEvent && e.State == "refused" })
	if e.Topic != "t" || e.Evidence != "inferred" || !strings.Contains(e.Reason, "delete.topic.enable") {
		t.Errorf("told %+v", e)
	}
	s.await("the notice", told("deletion of t: refused"))
	s.write(zkserver.Delete("/controller", -1))
	l.find(t, "the role is free", func(e Event) bool { return e.Type == ControllerEvent && e.Status == "absent" })
	z := l.find(t, "the znode", func(e Event) bool { return e.Type == ZnodeEvent && e.Path == "/controller" && e.What == "deleted" })
	if z.Zxid == 0 {
		t.Errorf("told %+v", z)
	}
}

// What the shadow tells is in the history, in the frame and among the events.
func TestTransitionsAreTold(t *testing.T) {
	s, l := withController(t)
	records := 0
	s.await("the controller is followed", func(f *model.Frame) bool { return f.Following.On })
	s.write(zkserver.Delete("/brokers/ids/2", -1))
	s.set("/brokers/topics/t/partitions/1/state", `{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":1,"isr":[1]}`)
	s.set("/brokers/topics/t/partitions/0/state", `{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":1,"isr":[1]}`)
	e := l.find(t, "the election", func(e Event) bool {
		return e.Type == TransitionEvent && e.What == "partition" && e.To == "OnlinePartition"
	})
	if e.Topic != "t" || *e.Partition != 1 || e.From != "OfflinePartition" || *e.Leader != 1 || e.Evidence != "observed" {
		t.Errorf("told %+v", e)
	}
	l.find(t, "the replica", func(e Event) bool {
		return e.Type == TransitionEvent && e.What == "replica" && *e.Broker == 2 && *e.Partition == 0 && e.To == "OfflineReplica"
	})
	s.await("the edge", func(f *model.Frame) bool { return f.Edges.LastReplica != nil })
	for i := range s.frame.History.N {
		if _, ok := s.frame.History.At(i).Step.(*model.MovePartition); ok {
			records++
		}
	}
	if records != 2 {
		t.Errorf("%d transitions of partitions in the history, want 2", records)
	}
}
