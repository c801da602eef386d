package debugger_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

const patience = 20 * time.Second

// outside is a cluster in memory whose brokers answer everything with success.
type outside struct {
	mu      sync.Mutex
	store   *zkserver.Store
	world   *standin.World
	session *debugger.Session
	hold    chan struct{} // calls wait until it is closed; nil: they do not
	held    chan struct{} // closed when a call waits
	expired int
}

func newOutside(topics int) *outside {
	o := &outside{store: zkserver.NewStore(zkserver.Options{FirstZxid: 1}), held: make(chan struct{})}
	o.world = standin.New(standin.Options{Store: o.store, Respond: success})
	for _, p := range model.PersistentPaths() {
		o.put(p, nil)
	}
	for b := range int32(3) {
		s, _ := o.store.CreateSession(time.Hour)
		o.store.Multi(s, []zkserver.Op{zkserver.Create(model.BrokerIDPath(b), model.EncodeBroker(&model.Broker{ID: b, Endpoints: []model.Endpoint{
			{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092 + b}}}, 5, -1, 1), zkserver.Ephemeral)})
	}
	for i := range topics {
		o.createTopic(fmt.Sprintf("t%d", i))
	}
	return o
}

func success(_ int32, r model.ControlRequest) (out model.ControlResponse, ok bool) {
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		for _, e := range r.Entries {
			out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: e.TopicPartition})
		}
	case *model.StopReplicaRequest:
		for _, e := range r.Entries {
			out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: e.TopicPartition})
		}
	}
	return out, true
}

// put creates a znode with its parents.
func (o *outside) put(path string, data []byte) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			o.store.Apply(0, zkserver.Create(path[:i], nil, 0))
		}
	}
	o.store.Apply(0, zkserver.Create(path, data, 0))
}

func (o *outside) createTopic(name string) {
	a := model.TopicAssignment{Version: 3, Partitions: []model.PartitionAssignment{
		{ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{0, 1, 2}}}}}
	copy(a.ID[1:], name)
	o.put(model.TopicPath(name), model.EncodeTopic(a))
}

// Perform is debugger.Environment.
func (o *outside) Perform(s model.Step) model.Result {
	if _, call := s.(*model.Call); call {
		o.mu.Lock()
		hold := o.hold
		o.mu.Unlock()
		if hold != nil {
			close(o.held)
			<-hold
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.world.Perform(s)
	o.pass()
	return r
}

// change changes the cluster from outside.
func (o *outside) change(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	o.pass()
}

func (o *outside) pass() {
	for in, ok := o.world.Next(); ok; in, ok = o.world.Next() {
		o.session.Input(in.Of)
	}
}

func (o *outside) options() debugger.Options {
	cfg := engine.DefaultConfig(1000)
	cfg.AutoRebalance = false
	return debugger.Options{Engine: engine.New(cfg), Env: o, Mode: model.LabMode, Source: "memory", Expired: func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.expired++
		o.world.Renew()
		o.pass()
	}}
}

// front is what a front end does: it takes frames and gives commands.
type front struct {
	*debugger.Session
	t       testing.TB
	mu      sync.Mutex
	latest  model.Frame
	arrived []time.Time
	next    chan struct{}
	end     func() // ends the loop and waits for it
}

// open runs a session until the end of the test.
func open(t testing.TB, o *outside, options debugger.Options) *front {
	f := &front{Session: debugger.NewSession(options), t: t, next: make(chan struct{})}
	o.session = f.Session
	f.run()
	return f
}

func (f *front) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var loop sync.WaitGroup
	loop.Go(func() { f.Run(ctx) })
	loop.Go(func() {
		for {
			select {
			case x := <-f.Frames():
				f.mu.Lock()
				f.latest, f.arrived = x, append(f.arrived, time.Now())
				close(f.next)
				f.next = make(chan struct{})
				f.mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	})
	f.end = func() { cancel(); loop.Wait() }
	f.t.Cleanup(f.end)
}

func (f *front) frame() model.Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}

func (f *front) await(what string, holds func(*model.Frame) bool) model.Frame {
	f.t.Helper()
	deadline := time.After(patience)
	for {
		f.mu.Lock()
		x, next := f.latest, f.next
		f.mu.Unlock()
		if x.Position > 0 && holds(&x) {
			return x
		}
		select {
		case <-next:
		case <-deadline:
			f.t.Fatalf("within %v no frame in which %s; the last is %s, position %d, at %v, notices %v", patience, what, x.Run, x.Position, x.At, x.Notices)
		}
	}
}

func idle(f *model.Frame) bool   { return f.At == nil && f.QueueLen == 0 && f.Run != model.Waiting }
func paused(f *model.Frame) bool { return f.Run == model.Paused }
func held(f *model.Frame) bool   { return f.Run == model.Paused && f.At != nil }

func active(f *model.Frame) bool { return idle(f) && f.Controller.Self }

// notice waits for the next notice after one.
func (f *front) notice(after uint64) model.Notice {
	f.t.Helper()
	x := f.await("a notice is given", func(x *model.Frame) bool {
		return len(x.Notices) > 0 && x.Notices[len(x.Notices)-1].Seq > after
	})
	return x.Notices[len(x.Notices)-1]
}

func TestPauseHoldsAndContinueRuns(t *testing.T) {
	o := newOutside(2)
	f := open(t, o, o.options())
	f.await("the controller is up", active)
	f.Do(model.Pause{})
	x := f.await("it is paused", paused)
	if x.StopReason == "" || x.At != nil {
		t.Errorf("paused for %q at %v", x.StopReason, x.At)
	}
	o.change(func() { o.createTopic("late") })
	x = f.await("the event is held", held)
	if begin, ok := x.At.(*model.Begin); !ok || begin.Event.Event.String() != "TopicChange" {
		t.Fatalf("it holds at %v", x.At)
	}
	if x.View.KnowsTopic("late") {
		t.Error("a held event has done something")
	}
	f.Do(model.Continue{})
	x = f.await("the topic is online", func(x *model.Frame) bool { return idle(x) && x.View.PartitionCounts[model.OnlinePartition] == 3 })
	if x.Run != model.Running || x.StopReason != "" {
		t.Errorf("%s %q", x.Run, x.StopReason)
	}
}

// Each grain holds at the steps of it and of coarser ones, and at no other.
func TestStepsByGrain(t *testing.T) {
	for _, grain := range []model.Grain{model.EventGrain, model.BatchGrain, model.TransitionGrain, model.IOGrain} {
		o := newOutside(1)
		options := o.options()
		options.Paused = true
		f := open(t, o, options)
		x := f.await("it holds at the first step", held)
		if _, ok := x.At.(*model.Begin); !ok || x.Position != 1 {
			t.Fatalf("it holds at %v, position %d", x.At, x.Position)
		}
		stops := map[model.Grain]int{}
		for range 30 {
			if x.At == nil {
				break
			}
			stops[x.At.Grain()]++
			at := x.Position
			f.Do(model.StepBy{Grain: grain, Position: at})
			x = f.await("it holds again", func(x *model.Frame) bool { return paused(x) && x.Position > at })
			if grain == model.IOGrain && x.Position != at+1 {
				t.Fatalf("a step by I/O went from %d to %d", at, x.Position)
			}
		}
		for g := range stops {
			if g > grain {
				t.Errorf("by %s it held %d times at %s", grain, stops[g], g)
			}
		}
		if stops[grain] == 0 {
			t.Errorf("by %s it held at no step of that grain: %v", grain, stops)
		}
		// Every step of the grain and coarser was held at.
		want := map[model.Grain]int{}
		for i := range x.History.N {
			if s := x.History.At(i).Step; s != nil && s.Grain() <= grain {
				want[s.Grain()]++
			}
		}
		if fmt.Sprint(stops) != fmt.Sprint(want) {
			t.Errorf("by %s it held at %v, the steps were %v", grain, stops, want)
		}
		if grain == model.EventGrain && (x.Run != model.Paused || !active(&x)) {
			t.Errorf("stepped by events to the end, it is %s at %v", x.Run, x.At)
		}
	}
}

func TestAStepThatTheOperatorDidNotSeeIsRefused(t *testing.T) {
	o := newOutside(1)
	options := o.options()
	options.Paused = true
	f := open(t, o, options)
	x := f.await("it holds", held)
	f.Do(model.StepBy{Grain: model.IOGrain, Position: x.Position})
	f.Do(model.StepBy{Grain: model.IOGrain, Position: x.Position}) // the key pressed twice
	n := f.notice(0)
	if n.Level != model.Warn || !strings.Contains(n.Text, "not stepped") {
		t.Errorf("%s %s", n.Level, n.Text)
	}
	y := f.await("it holds again", func(y *model.Frame) bool { return held(y) && y.Position > x.Position })
	if y.Position != x.Position+1 {
		t.Errorf("two keys for one step took %d", y.Position-x.Position)
	}
	f.Do(model.StepBy{Grain: model.IOGrain, Position: y.Position + 5})
	if n := f.notice(n.Seq); !strings.Contains(n.Text, "moved on") {
		t.Errorf("a step ahead: %s", n.Text)
	}
	if z := f.frame(); z.Position != y.Position {
		t.Errorf("a refused command moved it to %d", z.Position)
	}
}

func TestNoCommandIsLost(t *testing.T) {
	o := newOutside(300)
	options := o.options()
	var mu sync.Mutex
	got := map[string]bool{}
	done := make(chan struct{})
	const each, writers = 200, 5
	options.Operate = func(_ context.Context, c model.Command) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		got[c.(model.DeleteTopic).Topic] = true
		if len(got) == each*writers {
			close(done)
		}
		return "", nil
	}
	f := open(t, o, options)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				f.Do(model.DeleteTopic{Topic: fmt.Sprint(w, "-", i)})
			}
		})
	}
	wg.Wait()
	select {
	case <-done:
	case <-time.After(patience):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%d commands of %d were carried out", len(got), each*writers)
	}
}

// However much happens, a second has at most 30 frames.
func TestFramesAreAtMost30ASecond(t *testing.T) {
	o := newOutside(1)
	f := open(t, o, o.options())
	f.await("the controller is up", active)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				o.change(func() { o.createTopic(fmt.Sprintf("x%d", n)) })
			}
		}
	}()
	const span = 30
	var arrived []time.Time
	f.await("many frames came", func(*model.Frame) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		arrived = slices.Clone(f.arrived)
		return len(arrived) > 4+2*span
	})
	close(stop)
	<-stopped
	// Frames are stamped where they are taken, so one may look late and the next
	// early; over many that evens out.
	for i := 4 + span; i < len(arrived); i++ {
		if d := arrived[i].Sub(arrived[i-span]); d < (span-1)*time.Second/30 {
			t.Errorf("%d frames in %v", span, d)
		}
	}
}

func TestALateResultOfAnOldEngineIsDropped(t *testing.T) {
	o, fresh := newOutside(1), newOutside(2)
	o.hold = make(chan struct{})
	options := o.options()
	options.Reset = func(context.Context) (debugger.Options, error) { return fresh.options(), nil }
	f := open(t, o, options)
	fresh.session = f.Session
	<-o.held // the first call of the old engine is under way
	f.Do(model.ResetLab{})
	f.await("the lab is new", func(x *model.Frame) bool { return len(x.Notices) > 0 && strings.Contains(x.Notices[0].Text, "anew") })
	close(o.hold)
	x := f.await("the new controller is up", func(x *model.Frame) bool { return active(x) && x.View.TopicCount == 2 })
	for i := range x.History.N {
		if r := x.History.At(i); r.Position != uint64(i)+1 {
			t.Fatalf("record %d has position %d: the log is not that of the new lab", i, r.Position)
		}
	}
}

func TestAResetThatFailsCanBeTriedAgain(t *testing.T) {
	o, fresh := newOutside(1), newOutside(2)
	options := o.options()
	asked := 0
	options.Operate = func(context.Context, model.Command) (string, error) { return "done", nil }
	options.Reset = func(context.Context) (debugger.Options, error) {
		if asked++; asked == 1 {
			return debugger.Options{}, errors.New("the port is taken")
		}
		return fresh.options(), nil
	}
	f := open(t, o, options)
	fresh.session = f.Session
	f.await("the controller is up", active)
	f.Do(model.ResetLab{})
	n := f.notice(0)
	if n.Level != model.Error || !strings.Contains(n.Text, "the port is taken") {
		t.Fatalf("%s %s", n.Level, n.Text)
	}
	for _, c := range []model.Command{model.Pause{}, model.StepBy{Grain: model.IOGrain, Position: 1}, model.RunElection{Strategy: model.OfflineStrategy}, model.DeleteTopic{Topic: "t0"}} {
		f.Do(c)
		if n = f.notice(n.Seq); n.Level != model.Error || !strings.Contains(n.Text, "reset it") {
			t.Errorf("%T without a lab: %s", c, n.Text)
		}
	}
	o.change(func() { o.createTopic("late") }) // an input that concerns nobody
	f.Do(model.ResetLab{})
	f.await("the new controller is up", func(x *model.Frame) bool { return active(x) && x.View.TopicCount == 2 })
}

func TestAnExpiredSessionIsRenewedAfterItsEvent(t *testing.T) {
	o := newOutside(1)
	f := open(t, o, o.options())
	x := f.await("the controller is up", active)
	for n := 1; n <= 2; n++ {
		epoch := x.Controller.Epoch
		o.change(func() { o.world.Expire() })
		x = f.await("it is the controller again", func(x *model.Frame) bool { return active(x) && x.Controller.Epoch > epoch })
		if x.Controller.Epoch != epoch+1 {
			t.Errorf("the epoch went from %d to %d", epoch, x.Controller.Epoch)
		}
		o.mu.Lock()
		if o.expired != n {
			t.Errorf("the next session was let go %d times, want %d", o.expired, n)
		}
		o.mu.Unlock()
	}
	var events []string
	for i := range x.History.N {
		if e, ok := x.History.At(i).Step.(*model.End); ok {
			events = append(events, e.Event.Event.String())
		}
	}
	expire, again := slices.Index(events, "Expire"), slices.Index(events, "RegisterBrokerAndReelect")
	if expire < 0 || again != expire+1 {
		t.Errorf("events %q", events)
	}
}

func TestTheSessionLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("session", func(t *testing.T) {
		o := newOutside(5)
		f := open(t, o, o.options())
		f.await("the controller is up", active)
		f.Do(model.Pause{})
		f.await("it is paused", paused)
		o.change(func() { o.createTopic("late") })
		x := f.await("an event is held", held)
		f.Do(model.StepBy{Grain: model.TransitionGrain, Position: x.Position}) // an event is at work when it ends
		f.await("it holds inside of an event", func(y *model.Frame) bool { return held(y) && y.Position > x.Position })
	})
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
}
