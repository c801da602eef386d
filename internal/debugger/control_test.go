package debugger_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kstate/model"
)

// controlled is a session in control mode with a clock that the test moves.
func controlled(t *testing.T, deadMan time.Duration) (*outside, *front, *atomic.Int64) {
	o := newOutside(1)
	clock := &atomic.Int64{}
	clock.Store(1_000_000)
	options := o.options()
	options.Mode, options.DeadMan, options.Clock = model.ControlMode, deadMan, clock.Load
	f := open(t, o, options)
	f.await("the controller is up", active)
	return o, f, clock
}

// A held controller goes on when no command came for that long; each command
// begins the time anew, and no time runs while there is nothing to hold.
func TestTheDeadManTimer(t *testing.T) {
	o, f, clock := controlled(t, 20*time.Second)
	f.Do(model.Pause{})
	f.await("it is paused", paused)
	clock.Add(60_000)
	o.change(func() { o.createTopic("late") })
	x := f.await("the event is held", func(x *model.Frame) bool { return held(x) && x.ContinuesAt > 0 })
	if left := x.ContinuesAt - x.Now; left != 20_000 {
		t.Errorf("%d ms are left when the hold begins", left)
	}
	clock.Add(19_000)
	f.await("a second is left", func(x *model.Frame) bool { return held(x) && x.ContinuesAt-x.Now == 1000 })
	f.Do(model.Inspect{Subject: model.Subject{Kind: model.TopicSubject, Topic: "late"}})
	f.await("a command gave it time", func(x *model.Frame) bool { return held(x) && x.ContinuesAt-x.Now == 20_000 })
	clock.Add(20_000)
	x = f.await("it goes on", func(x *model.Frame) bool { return idle(x) && x.View.KnowsTopic("late") && x.Run == model.Running })
	if n := x.Notices; len(n) == 0 || !strings.Contains(n[len(n)-1].Text, "held for 20s without a command") || x.ContinuesAt != 0 {
		t.Errorf("notices %v, continues at %d", n, x.ContinuesAt)
	}
}

// Giving the role up works whatever the controller is held at.
func TestResigning(t *testing.T) {
	o, f, _ := controlled(t, 0)
	f.Do(model.Pause{})
	f.await("it is paused", paused)
	o.change(func() { o.createTopic("late") })
	f.await("the event is held", held)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	f.await("its memory is empty", func(x *model.Frame) bool { return idle(x) && len(x.View.Brokers()) == 0 })
}

// The operator's requests go to the controller, and its answers are told.
func TestTheOperatorAsksForTopics(t *testing.T) {
	_, f, _ := controlled(t, 0)
	last := uint64(0)
	told := func(c model.Command, want string) {
		t.Helper()
		f.Do(c)
		n := f.notice(last)
		if last = n.Seq; !strings.Contains(n.Text, want) {
			t.Errorf("%T: told %q, want %q", c, n.Text, want)
		}
	}
	told(model.CreateTopic{Topic: "made", Partitions: 2, ReplicationFactor: 2}, "creation of topic made done: 2 partitions have a leader")
	told(model.CreateTopic{Topic: "made", Partitions: 2, ReplicationFactor: 2}, "refused: TOPIC_ALREADY_EXISTS: topic 'made' already exists")
	told(model.CreateTopic{Topic: "placed", Assignment: [][]int32{{1, 0}}}, "creation of topic placed done")
	told(model.AddPartitions{Topic: "made", Total: 3}, "new partitions of topic made have a leader")
	told(model.AddPartitions{Topic: "made", Total: 3}, "refused: INVALID_PARTITIONS")
	f.Do(model.Pause{}) // a held controller takes them, and they wait for it
	f.await("it is paused", paused)
	f.Do(model.DeleteTopic{Topic: "made"})
	f.await("the deletion is held", held)
	f.Do(model.Continue{})
	n := f.notice(last)
	if last = n.Seq; !strings.Contains(n.Text, "deletion of topic made began") {
		t.Errorf("told %q", n.Text)
	}
	f.await("the topic is gone", func(x *model.Frame) bool { return idle(x) && !x.View.KnowsTopic("made") })
	told(model.KillBroker{Broker: 1}, "outside the lab kstate starts and stops no brokers")
	if x := f.frame(); x.ReadOnly {
		t.Error("control mode is read only")
	}
}
