package main

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/lab"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// quiet swallows what the foreign client would print.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// foreign is a client of its own on the lab's port.
func foreign(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	deadline := time.After(patience)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c
			}
		case <-deadline:
			t.Fatal("the foreign client gets no session")
		}
	}
}

func TestAForeignClientDeletesATopic(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	c := foreign(t, d.bench.lab.Addr())
	gone := d.watchDeletions(model.TopicPath("orders"), model.TopicConfigPath("orders"), model.DeleteTopicPath("orders"))
	createMarker(t, c, "orders")
	f := d.await("the topic is deleted", func(f *model.Frame) bool { return !f.View.KnowsTopic("orders") && idle(f) })
	if got, want := gone.list(), kafkasOrder("orders", 3); !slices.Equal(got, want) {
		t.Errorf("znodes went in the order %q, want %q", got, want)
	}
	if n := len(stepTexts[*model.MoveReplica](&f, "ReplicaDeletionSuccessful -> NonExistentReplica")); n != 9 {
		t.Errorf("%d replicas came to their end in the log, want 9", n)
	}
	if e := f.Edges.LastReplica; e == nil || e.To != model.NonExistentReplica {
		t.Errorf("the last edge is %+v", e)
	}
}

func TestAForeignClientDeletesTheController(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	f := d.up()
	epoch, from := f.Controller.Epoch, records(&f)
	c := foreign(t, d.bench.lab.Addr())
	if err := c.Delete(model.ControllerPath, -1); err != nil {
		t.Fatal(err)
	}
	f = d.await("a failover is done", func(f *model.Frame) bool { return idle(f) && f.Controller.Self && f.Controller.Epoch == epoch+1 })
	log := ""
	for i := range f.History.N {
		if r := f.History.At(i); r.Position > from {
			log += recordText(r) + "\n"
		}
	}
	for _, want := range []string{"» watch fired: NodeDeleted /controller", "begin Reelect", "/controller_epoch", "initializing partition state", "send to broker 1 UpdateMetadata", "end Reelect"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log of the failover lacks %q:\n%s", want, log)
		}
	}
	d.online(6, 15)
}

// The controller's session ends at the server: an Expire event, then the next
// session and an election that it wins again; twice.
func TestTheControllersSessionExpires(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	for range 2 {
		f := d.settled()
		epoch, from := f.Controller.Epoch, records(&f)
		st, code := d.bench.lab.Store().Exists(model.ControllerPath)
		if code != zkserver.OK || st.EphemeralOwner == 0 {
			t.Fatalf("%s: %s, owner %d", model.ControllerPath, code, st.EphemeralOwner)
		}
		if !d.bench.lab.Store().Expire(st.EphemeralOwner) {
			t.Fatal("the session is not there")
		}
		f = d.await("it is the controller again", func(f *model.Frame) bool {
			return idle(f) && f.Controller.Self && f.Controller.Epoch == epoch+1 && f.Connection.Connected
		})
		var events []string
		for _, e := range steps[*model.End](&f, from) {
			events = append(events, e.Event.Event.String())
		}
		if i := slices.Index(events, "Expire"); i < 0 || i+1 == len(events) || events[i+1] != "RegisterBrokerAndReelect" {
			t.Errorf("events %q", events)
		}
		d.online(6, 15)
	}
	d.do(model.CreateTopic{Topic: "after", Partitions: 2, ReplicationFactor: 3})
	d.online(8, 21)
}

// A killed broker stays registered until ZooKeeper ends its session.
func TestAKilledBrokerGoesWithItsSession(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3, TickTime: 500 * time.Millisecond})
	d.up()
	d.do(model.KillBroker{Broker: 3})
	began := time.Now()
	if _, code := d.bench.lab.Store().Exists(model.BrokerIDPath(3)); code != zkserver.OK {
		t.Errorf("right after the kill: %s", code)
	}
	f := d.await("the broker is dead", func(f *model.Frame) bool { return f.View.Broker(3) == nil && idle(f) })
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("its session of 1s took %v to end", took)
	}
	if _, code := d.bench.lab.Store().Exists(model.BrokerIDPath(3)); code != zkserver.NoNode {
		t.Errorf("after its session: %s", code)
	}
	for i := range f.Brokers {
		if b := &f.Brokers[i]; b.ID == 3 && b.State != "down" {
			t.Errorf("it is shown as %s", b.State)
		}
	}
	d.back(3)
	d.online(6, 15)
}

func TestResetStartsTheLabAnew(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3, DataDir: t.TempDir()})
	d.up()
	addr := d.bench.lab.Addr()
	d.do(model.CreateTopic{Topic: "extra", Partitions: 4, ReplicationFactor: 2})
	d.online(10, 23)
	for range 2 { // the second while the first is under way
		d.session.Do(model.ResetLab{})
	}
	f := d.await("the lab is new", func(f *model.Frame) bool {
		return idle(f) && f.Controller.Self && len(f.Notices) > 0 && strings.Contains(f.Notices[len(f.Notices)-1].Text, "anew") && !f.View.KnowsTopic("extra")
	})
	d.up()
	if d.bench.lab.Addr() != addr || f.Source != addr {
		t.Errorf("it was at %s and is at %s, shown as %s", addr, d.bench.lab.Addr(), f.Source)
	}
	d.cut(1)
	d.back(1)
	d.online(6, 15)
}

func TestOperationsThatCannotBe(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	for _, c := range []struct {
		command model.Command
		want    string
	}{
		{model.KillBroker{Broker: 9}, "no broker 9"},
		{model.StartBroker{Broker: 1}, "it is up already"},
		{model.StartBroker{Broker: labControllerID}, "is the controller's"},
		{model.ShutDownBroker{Broker: 9}, "no broker 9"},
		{model.CreateTopic{Topic: "orders", Partitions: 1, ReplicationFactor: 1}, "exists already"},
		{model.CreateTopic{Topic: "a b", Partitions: 1, ReplicationFactor: 1}, "a b"},
		{model.CreateTopic{Topic: "wide", Partitions: 1, ReplicationFactor: 4}, "only 3 are registered"},
		{model.AddPartitions{Topic: "orders", Total: 3}, "the new total must be larger"},
		{model.AddPartitions{Topic: "nosuch", Total: 3}, "does not exist"},
		{model.DeleteTopic{Topic: "nosuch"}, "does not exist"},
		{model.Reassign{TopicPartition: model.TP("orders", 0), Target: []int32{8}}, "INVALID_REPLICA_ASSIGNMENT"},
		{model.Reassign{TopicPartition: model.TP("orders", 0), Cancel: true}, "NO_REASSIGNMENT_IN_PROGRESS"},
	} {
		if n := d.ask(c.command); n.Level != model.Error || !strings.Contains(n.Text, c.want) {
			t.Errorf("%#v: %s %q, want an error with %q", c.command, n.Level, n.Text, c.want)
		}
	}
	d.online(6, 15)
}

// Nothing of a lab is left running after its end.
func TestALabLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("lab", func(t *testing.T) {
		d := openDesk(t, lab.Options{Brokers: 3})
		d.up()
		d.do(model.KillBroker{Broker: 2})
		d.pause()
		d.do(model.DeleteTopic{Topic: "orders"})
		d.held()
		d.step(model.TransitionGrain)
		d.session.Do(model.ResetLab{})
		d.await("the lab is new", func(f *model.Frame) bool { return strings.Contains(f.Notices[len(f.Notices)-1].Text, "anew") })
	})
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			buf := make([]byte, 1<<18)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
}

// A controller that ends in the middle of its start is no trouble.
func TestALabIsEndedWhileItStarts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var errs strings.Builder
	code := run(ctx, []string{"lab", "--headless"}, console{strings.NewReader(""), &strings.Builder{}, &errs})
	if code != exitOK && code != exitError {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// createMarker asks for a topic's deletion as an admin client of old does.
func createMarker(t testing.TB, c *zk.Conn, topic string) {
	t.Helper()
	if _, err := c.Create(model.DeleteTopicPath(topic), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}
