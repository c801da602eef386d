package debugger_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

func carry(t *testing.T, f *front, c model.Command) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := f.Carry(ctx, c)
	return err
}

func look(t *testing.T, f *front) model.Frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	x, err := f.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func atOp(op model.OpMatch, path model.Pattern, nth int, e model.FaultEffect) model.InjectFault {
	return model.InjectFault{Fault: model.Fault{Match: model.FaultMatch{At: model.AtOp, Op: op, Path: path, Nth: nth}, Effect: e}}
}

func remarked(x model.Frame, text string) bool {
	for i := range x.History.N {
		if r, ok := x.History.At(i).Input.(*model.Remarked); ok && strings.Contains(r.Text, text) {
			return true
		}
	}
	return false
}

// An op that a fault answers does not reach ZooKeeper; the others of its call do.
func TestAFaultAnswersTheSecondWrite(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	f.await("the controller is up", active)
	inject := atOp(model.CreateOp, "/brokers/topics/*/partitions", 2, model.FaultEffect{Kind: model.AnswerCode, Code: model.CodeNoAuth})
	if err := carry(t, f, inject); err != nil {
		t.Fatal(err)
	}
	o.change(func() { o.createTopic("a"); o.createTopic("b") })
	x := f.await("one of two topics is online", func(x *model.Frame) bool {
		return idle(x) && len(x.Faults) == 1 && x.Faults[0].Spent && x.View.KnowsTopic("b")
	})
	if a := x.Faults[0]; a.Hit != 1 || a.Seen != 2 {
		t.Errorf("seen %d, hit %d", a.Seen, a.Hit)
	}
	if !remarked(x, "answers NOAUTH: create /brokers/topics/b/partitions") {
		t.Error("the log does not say what came over what")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, code := o.store.Exists("/brokers/topics/a/partitions"); code != 0 {
		t.Errorf("the op beside the fault was not done: %s", code)
	}
	if _, code := o.store.Exists("/brokers/topics/b/partitions"); code == 0 {
		t.Error("the op that was answered by the fault was done")
	}
}

// A fence that fails ends the event as one of a controller that was replaced.
// /controller is still its own, so it stays, as Kafka's does.
func TestAFenceThatFails(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	epoch := f.await("the controller is up", active).Controller.Epoch
	if err := carry(t, f, atOp(model.AnyWrite, "*/state", 1, model.FaultEffect{Kind: model.FenceFails})); err != nil {
		t.Fatal(err)
	}
	o.change(func() { o.createTopic("a") })
	x := f.await("the event is over", func(x *model.Frame) bool {
		return active(x) && x.View.KnowsTopic("a") && x.Faults[0].Spent
	})
	moved := false
	for i := range x.History.N {
		end, ok := x.History.At(i).Step.(*model.End)
		moved = moved || ok && end.Err != nil && strings.Contains(end.Err.Error(), "controller moved")
	}
	if s := x.View.PartitionState(model.TP("a", 0)); s != model.NewPartition || !moved || x.Controller.Epoch != epoch {
		t.Errorf("the partition is %s, the event ended for its fence: %v, epoch %d after %d", s, moved, x.Controller.Epoch, epoch)
	}
}

// PSM-03, C2, C18, C19: a fence that fails amid a batch leaves requests in it, and
// the machine's next batch finds it not empty. The role is still its own, so that
// is seen in the same term.
func TestABatchIsLeftDirty(t *testing.T) {
	o := newOutside(1)
	f := open(t, o, o.options())
	f.await("the controller is up", active)
	if err := carry(t, f, atOp(model.AnyWrite, "*", 1, model.FaultEffect{Kind: model.LeavesDirty})); err != nil {
		t.Fatal(err)
	}
	o.change(func() { o.createTopic("a") }) // its writes come while nothing is unsent
	x := f.await("a topic is online", func(x *model.Frame) bool {
		return idle(x) && x.View.PartitionState(model.TP("a", 0)) == model.OnlinePartition
	})
	if x.Faults[0].Spent || x.Open != nil {
		t.Fatalf("it came over a write outside of a batch: %+v, open %+v", x.Faults[0], x.Open)
	}
	o.change(func() { o.store.Apply(0, zkserver.Delete(model.BrokerIDPath(2), zkserver.AnyVersion)) })
	x = f.await("the batch is dirty", func(x *model.Frame) bool { return idle(x) && x.Faults[0].Spent })
	if x.Open == nil || x.Open.Machine != model.ReplicaStateMachine || !x.Controller.Self {
		t.Fatalf("open %+v, controller %+v", x.Open, x.Controller)
	}
	o.change(func() { o.createTopic("b") })
	x = f.await("the next topic", func(x *model.Frame) bool { return idle(x) && x.View.KnowsTopic("b") })
	refused := false
	for i := range x.History.N {
		l, ok := x.History.At(i).Step.(*model.Log)
		refused = refused || ok && l.Level == model.Error && strings.Contains(l.Text, "the request batch is not empty while creating a new one")
	}
	if state := x.View.ReplicaState(model.Replica{TopicPartition: model.TP("b", 0), Broker: 1}); !refused || state == model.OnlineReplica {
		t.Errorf("the replica is in %q; that the batch is not empty was said: %t", state, refused)
	}
}

// What is done before a step is done while it is held, and the step follows.
func TestSomethingIsDoneBeforeAStep(t *testing.T) {
	o := newOutside(0)
	options := o.options()
	var done []string
	var session *debugger.Session
	options.Operate = func(ctx context.Context, c model.Command) (string, error) {
		x, err := session.Look(ctx)
		if err == nil && x.Run == model.Waiting && x.At != nil {
			done = append(done, x.At.String())
		}
		return "", errors.New("its dog ate it")
	}
	f := open(t, o, options)
	session = f.Session
	f.await("the controller is up", active)
	kill := model.FaultEffect{Kind: model.DoFirst, Do: model.KillBroker{Broker: 1}}
	if err := carry(t, f, model.InjectFault{Fault: model.Fault{Match: model.FaultMatch{At: model.AtStep, Text: "move partition*OnlinePartition", Nth: 1}, Effect: kill}}); err != nil {
		t.Fatal(err)
	}
	if err := carry(t, f, model.InjectFault{Fault: model.Fault{Match: model.FaultMatch{At: model.AtSend, Broker: 2, Request: model.LeaderAndIsrKind, Nth: 1}, Effect: kill}}); err != nil {
		t.Fatal(err)
	}
	if err := carry(t, f, atOp(model.AnyWrite, "*/state", 1, kill)); err != nil {
		t.Fatal(err)
	}
	o.change(func() { o.createTopic("a") })
	x := f.await("the topic is online", func(x *model.Frame) bool {
		return idle(x) && x.View.PartitionCounts[model.OnlinePartition] == 1 && len(x.Faults) == 3 && x.Faults[0].Hit+x.Faults[1].Hit+x.Faults[2].Hit == 3
	})
	if len(done) != 3 || !strings.Contains(done[0], "/state") || !strings.HasPrefix(done[1], "move partition a-0") || !strings.HasPrefix(done[2], "send to broker 2 LeaderAndIsr") {
		t.Errorf("done while at hand: %q", done)
	}
	if !remarked(x, "kill broker 1: it could not be done: its dog ate it") {
		t.Error("the log does not say that it failed")
	}
}

func TestFaultsOfAnswers(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	f.await("the controller is up", active)
	answer := func(e model.FaultEffect, nth int) {
		t.Helper()
		m := model.FaultMatch{At: model.AtAnswer, Broker: 2, Request: model.StopReplicaKind, Nth: nth}
		if err := carry(t, f, model.InjectFault{Fault: model.Fault{Match: m, Effect: e}}); err != nil {
			t.Fatal(err)
		}
	}
	tp := model.TP("t", 0)
	request := &model.StopReplicaRequest{Entries: []model.StopReplicaEntry{{TopicPartition: tp, Delete: true}}}
	answer(model.FaultEffect{Kind: model.DelayAnswer, Millis: 70}, 1)
	answer(model.FaultEffect{Kind: model.DropAnswer}, 2)
	answer(model.FaultEffect{Kind: model.ErrorAnswer, Error: model.ErrKafkaStorageError}, 3)
	answer(model.FaultEffect{Kind: model.HoldAnswer}, 4)
	ask := func(broker int32, r model.ControlRequest) debugger.Interference {
		return f.Answered(broker, r, &model.ControlResponse{Partitions: []model.PartitionError{{TopicPartition: tp}}})
	}
	if i := ask(1, request); i != (debugger.Interference{}) {
		t.Errorf("another broker: %+v", i)
	}
	if i := ask(2, &model.UpdateMetadataRequest{}); i != (debugger.Interference{}) {
		t.Errorf("another request: %+v", i)
	}
	if i := ask(2, request); i.Millis != 70 || i.Drop || i.Hold != nil {
		t.Errorf("the first: %+v", i)
	}
	if i := ask(2, request); !i.Drop {
		t.Errorf("the second: %+v", i)
	}
	if i := ask(2, request); i.Answer == nil || len(i.Answer.Partitions) != 1 || i.Answer.Partitions[0] != (model.PartitionError{TopicPartition: tp, Error: model.ErrKafkaStorageError}) {
		t.Errorf("the third: %+v", i.Answer)
	}
	i := ask(2, request)
	if x := look(t, f); len(x.Held) != 1 || x.Held[0].Broker != 2 || !strings.HasPrefix(x.Held[0].Request, "StopReplica") {
		t.Fatalf("held: %+v", x.Held)
	}
	select {
	case <-i.Hold:
		t.Fatal("it is not held")
	default:
	}
	if err := carry(t, f, model.ReleaseAnswers{Broker: 2}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-i.Hold:
	case <-time.After(patience):
		t.Fatal("it is not released")
	}
	if err := carry(t, f, model.ReleaseAnswers{Broker: 2}); err == nil {
		t.Error("nothing is held, and is released")
	}
	if i := ask(2, request); i != (debugger.Interference{}) {
		t.Errorf("the fifth: %+v", i)
	}
}

// Clearing the faults lets go what they hold.
func TestClearedFaultsHoldNothing(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	m := model.FaultMatch{At: model.AtAnswer, Broker: model.AnyBroker, Nth: model.EveryTime}
	if err := carry(t, f, model.InjectFault{Fault: model.Fault{Match: m, Effect: model.FaultEffect{Kind: model.HoldAnswer}}}); err != nil {
		t.Fatal(err)
	}
	var holds sync.WaitGroup
	for broker := range int32(3) {
		i := f.Answered(broker, &model.UpdateMetadataRequest{}, &model.ControlResponse{})
		holds.Go(func() { <-i.Hold })
	}
	if err := carry(t, f, model.ClearFault{ID: 7}); err == nil {
		t.Error("a fault that is not there was cleared")
	}
	if err := carry(t, f, model.ClearFault{}); err != nil {
		t.Fatal(err)
	}
	holds.Wait()
	if x := look(t, f); len(x.Faults)+len(x.Held) != 0 {
		t.Errorf("%v, %v", x.Faults, x.Held)
	}
}

func TestFaultsThatAreRefused(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	x := f.await("the controller is up", active)
	late := atOp(model.AnyWrite, "*", 1, model.FaultEffect{Kind: model.FenceFails})
	late.Position = x.Position + 3
	for want, c := range map[string]model.InjectFault{
		"moved on":                 late,
		"only the lab's ZooKeeper": atOp(model.AnyWrite, "*", 1, model.FaultEffect{Kind: model.LostAfter}),
		"session cannot be ended":  atOp(model.AnyWrite, "*", 1, model.FaultEffect{Kind: model.ExpiresSession}),
		"only the lab has brokers": atOp(model.AnyWrite, "*", 1, model.FaultEffect{Kind: model.DoFirst, Do: model.KillBroker{}}),
		"counted from 1":           atOp(model.AnyWrite, "*", 0, model.FaultEffect{Kind: model.FenceFails}),
	} {
		if err := carry(t, f, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if x := look(t, f); len(x.Faults) != 0 {
		t.Errorf("armed: %v", x.Faults)
	}
	options := o.options()
	options.NoFaults = "not without a flag"
	g := open(t, newOutside(0), options)
	if err := carry(t, g, atOp(model.AnyWrite, "*", 1, model.FaultEffect{Kind: model.FenceFails})); err == nil || !strings.Contains(err.Error(), "not without a flag") {
		t.Errorf("where none may be: %v", err)
	}
}

func TestRunUntil(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	f.await("the controller is up", active)
	if err := carry(t, f, model.RunUntil{Step: "move partition b-0*OnlinePartition"}); err != nil {
		t.Fatal(err)
	}
	o.change(func() { o.createTopic("a"); o.createTopic("b") })
	x := f.await("it holds", held)
	if m, ok := x.At.(*model.MovePartition); !ok || m.Topic != "b" || m.To != model.OnlinePartition || !strings.Contains(x.StopReason, "until") {
		t.Fatalf("at %v, %q", x.At, x.StopReason)
	}
	// The step at hand is not found again.
	if err := carry(t, f, model.RunUntil{Step: "move"}); err != nil {
		t.Fatal(err)
	}
	y := f.await("it holds at the next one", func(y *model.Frame) bool { return held(y) && y.Position > x.Position })
	if _, ok := y.At.(*model.MoveReplica); !ok {
		t.Errorf("at %v", y.At)
	}
	if err := carry(t, f, model.RunUntil{}); err == nil {
		t.Error("until nothing")
	}
}

// A step that has come to hand while the controller was held is found: whether it
// came before the command or after it is nobody's to say.
func TestRunUntilFindsWhatHasJustCome(t *testing.T) {
	o := newOutside(0)
	f := open(t, o, o.options())
	f.await("the controller is at rest", func(x *model.Frame) bool { return active(x) && x.At == nil && len(x.Queue) == 0 })
	if err := carry(t, f, model.Pause{}); err != nil {
		t.Fatal(err)
	}
	o.change(func() { o.createTopic("a") })
	f.await("the event is at hand", func(x *model.Frame) bool { return held(x) && x.At != nil })
	for _, want := range []string{"begin TopicChange", "open batch"} { // once found, it is passed
		if err := carry(t, f, model.RunUntil{Step: model.Pattern(want)}); err != nil {
			t.Fatal(err)
		}
		f.await("it holds at "+want, func(x *model.Frame) bool {
			return held(x) && strings.HasPrefix(x.StopReason, "ran until") && strings.Contains(x.At.String(), want)
		})
	}
	before := look(t, f).Position
	if err := carry(t, f, model.RunUntil{Step: "open batch"}); err != nil {
		t.Fatal(err)
	}
	if x := f.await("it holds at the next batch", func(x *model.Frame) bool { return held(x) && x.Position > before }); !strings.Contains(x.At.String(), "open batch") {
		t.Errorf("at %v", x.At)
	}
}

// A restarted controller is a new one in the same surroundings: its history goes
// on, and it stays held.
func TestARestart(t *testing.T) {
	o := newOutside(1)
	options := o.options()
	var settings []model.Command
	options.Restarts = func(c model.ChangeSetting) (bool, error) {
		if c.Name == "bad" {
			return false, errors.New("there is no such setting")
		}
		return true, nil
	}
	options.Restart = func(_ context.Context, c model.Command) (debugger.Options, error) {
		settings = append(settings, c)
		o.mu.Lock()
		o.world.Expire()
		o.world.Renew()
		for _, ok := o.world.Next(); ok; _, ok = o.world.Next() {
		}
		o.mu.Unlock()
		fresh := o.options()
		fresh.Restarts, fresh.Restart = options.Restarts, options.Restart
		return fresh, nil
	}
	f := open(t, o, options)
	x := f.await("the controller is up", active)
	if err := carry(t, f, model.RestartController{}); err != nil {
		t.Fatal(err)
	}
	y := f.await("another one is up", func(y *model.Frame) bool { return active(y) && y.Controller.Epoch > x.Controller.Epoch })
	if y.History.N <= x.History.N || !remarked(y, "restarted") {
		t.Errorf("the history has %d records after %d", y.History.N, x.History.N)
	}
	if err := carry(t, f, model.ChangeSetting{Name: "bad"}); err == nil || len(settings) != 1 {
		t.Errorf("a bad setting: %v, %d restarts", err, len(settings))
	}
	f.Do(model.Pause{})
	f.await("it is paused", paused)
	if err := carry(t, f, model.ChangeSetting{Name: "delete.topic.enable", Value: "false"}); err != nil {
		t.Fatal(err)
	}
	if z := look(t, f); z.Run != model.Paused || z.At == nil || len(settings) != 2 {
		t.Errorf("%s at %v after %d restarts", z.Run, z.At, len(settings))
	}
}
