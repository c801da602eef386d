package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab"
	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// desk is a lab with its controller and debugger, as the dashboard has them:
// commands go in, frames come out.
type desk struct {
	t       testing.TB
	bench   *bench
	session *debugger.Session

	mu      sync.Mutex
	latest  model.Frame
	arrived []time.Time // of frames
	events  []broker.Event
	next    chan struct{} // closed with the next frame or event
}

// openDesk starts a lab whose controller does not balance leaders by itself.
func openDesk(t testing.TB, opt lab.Options, change ...func(*bench)) *desk {
	t.Helper()
	d := &desk{t: t, next: make(chan struct{})}
	if opt.TickTime == 0 {
		opt.TickTime = 2 * time.Second
	}
	opt.OnBrokerEvent = d.noteEvent
	d.bench = &bench{opt: opt, config: engine.DefaultConfig(labControllerID)}
	d.bench.config.AutoRebalance = false
	for _, f := range change {
		f(d.bench)
	}
	ctx, cancel := context.WithCancel(context.Background())
	options, err := d.bench.start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.session = d.bench.session(options)
	var loop sync.WaitGroup
	loop.Go(func() { d.session.Run(ctx) })
	loop.Go(func() {
		for {
			select {
			case f := <-d.session.Frames():
				d.take(f)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			f := d.frame()
			t.Logf("at the end:\n%s", d.tail(&f, 60))
		}
		cancel()
		loop.Wait()
		d.bench.end()
	})
	return d
}

func (d *desk) take(f model.Frame) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest, d.arrived = f, append(d.arrived, time.Now())
	close(d.next)
	d.next = make(chan struct{})
}

func (d *desk) noteEvent(e broker.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
	close(d.next)
	d.next = make(chan struct{})
}

func (d *desk) frame() model.Frame {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest
}

// eventCount is how many events the brokers have told of so far.
func (d *desk) eventCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.events)
}

// toldOf are the brokers that got LeaderAndIsr with a partition's record of that
// epoch since some count of events, by what came in on their sockets.
func (d *desk) toldOf(from int, tp model.TopicPartition, epoch int32) []int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []int32
	for _, e := range d.events[from:] {
		r, ok := e.Request.(*kmsg.LeaderAndISRRequest)
		if !ok || e.Kind != broker.Received {
			continue
		}
		for _, t := range r.TopicStates {
			for _, p := range t.PartitionStates {
				if t.Topic == tp.Topic && p.Partition == tp.Partition && p.LeaderEpoch == epoch && !p.IsNew {
					ids = append(ids, e.Broker)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// tail is the end of the log, the notices and the step at hand.
func (d *desk) tail(f *model.Frame, n int) string {
	var b strings.Builder
	for i := max(0, f.History.N-n); i < f.History.N; i++ {
		b.WriteString(recordText(f.History.At(i)) + "\n")
	}
	for _, n := range f.Notices {
		fmt.Fprintf(&b, "notice %d: %s\n", n.Seq, n.Text)
	}
	fmt.Fprintf(&b, "%s %s, position %d, at %v, %d queued", f.Run, f.StopReason, f.Position, f.At, f.QueueLen)
	return b.String()
}

func recordText(r *model.Record) string {
	if r.Input != nil {
		return "» " + r.Input.String()
	}
	return "· " + r.Step.String()
}

// await waits for a frame of which the condition holds.
func (d *desk) await(what string, holds func(f *model.Frame) bool) model.Frame {
	d.t.Helper()
	deadline := time.After(patience)
	for {
		d.mu.Lock()
		f, next := d.latest, d.next
		d.mu.Unlock()
		if f.Position > 0 && holds(&f) {
			return f
		}
		select {
		case <-next:
		case <-deadline:
			d.t.Fatalf("within %v no frame in which %s", patience, what)
		}
	}
}

// do gives a command and waits for its notice, which must not be an error.
func (d *desk) do(c model.Command) string {
	d.t.Helper()
	n := d.ask(c)
	if n.Level > model.Info {
		d.t.Fatalf("%T: %s", c, n.Text)
	}
	return n.Text
}

// ask gives a command and waits for the notice that answers it.
func (d *desk) ask(c model.Command) model.Notice {
	d.t.Helper()
	f := d.frame()
	before := lastNotice(&f)
	d.session.Do(c)
	f = d.await(fmt.Sprintf("%T is answered", c), func(f *model.Frame) bool { return lastNotice(f) > before })
	for _, n := range f.Notices {
		if n.Seq == before+1 {
			return n
		}
	}
	d.t.Fatalf("%T: the notice is gone", c)
	return model.Notice{}
}

func lastNotice(f *model.Frame) uint64 {
	if len(f.Notices) == 0 {
		return 0
	}
	return f.Notices[len(f.Notices)-1].Seq
}

// idle: the controller has nothing to do.
func idle(f *model.Frame) bool { return f.At == nil && f.QueueLen == 0 && f.Run != model.Waiting }

// settled waits until the controller is up and idle and all of its requests are
// answered.
func (d *desk) settled() model.Frame {
	d.t.Helper()
	return d.await("all is done", func(f *model.Frame) bool {
		if !idle(f) || !f.Controller.Self {
			return false
		}
		for i := range f.Channels {
			if f.Channels[i].Depth > 0 {
				return false
			}
		}
		return true
	})
}

// counts waits for counts of partitions and replicas that are online.
func (d *desk) online(partitions, replicas int) model.Frame {
	d.t.Helper()
	return d.await(fmt.Sprintf("%d partitions and %d replicas are online", partitions, replicas), func(f *model.Frame) bool {
		return idle(f) && f.View.PartitionCounts[model.OnlinePartition] == partitions && f.View.ReplicaCounts[model.OnlineReplica] == replicas
	})
}

// up waits until the default content is online.
func (d *desk) up() model.Frame {
	d.t.Helper()
	d.online(6, 15)
	return d.settled()
}

// cut kills a broker and ends its session at once.
func (d *desk) cut(id int32) model.Frame {
	d.t.Helper()
	session := d.bench.lab.Cluster().Broker(id).SessionID()
	d.do(model.KillBroker{Broker: id})
	d.bench.lab.Store().Expire(session)
	return d.await(fmt.Sprintf("broker %d is gone", id), func(f *model.Frame) bool {
		return f.View.Broker(id) == nil && idle(f)
	})
}

// back starts a broker and waits until the controller has welcomed it.
func (d *desk) back(id int32) model.Frame {
	d.t.Helper()
	d.do(model.StartBroker{Broker: id})
	d.await(fmt.Sprintf("broker %d is back", id), func(f *model.Frame) bool { return f.View.Broker(id) != nil && idle(f) })
	return d.settled()
}

// step steps and waits until it holds again: at a step, or with nothing to do.
func (d *desk) step(g model.Grain) model.Frame {
	d.t.Helper()
	f := d.frame()
	at := f.Position
	d.session.Do(model.StepBy{Grain: g, Position: at})
	return d.await("the step is taken", func(f *model.Frame) bool { return f.Run == model.Paused && f.Position > at })
}

// held waits until a step is at hand.
func (d *desk) held() model.Frame {
	d.t.Helper()
	return d.await("a step is at hand", func(f *model.Frame) bool { return f.Run == model.Paused && f.At != nil })
}

func (d *desk) pause() {
	d.t.Helper()
	d.session.Do(model.Pause{})
	d.await("it is paused", func(f *model.Frame) bool { return f.Run == model.Paused })
}

func (d *desk) goOn() {
	d.t.Helper()
	d.session.Do(model.Continue{})
	d.await("it runs", func(f *model.Frame) bool { return f.Run != model.Paused })
}

// steps are those in the history from a position of records on.
func steps[S model.Step](f *model.Frame, from uint64) []S {
	var out []S
	for i := range f.History.N {
		if r := f.History.At(i); r.Position > from {
			if s, ok := r.Step.(S); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// records is the position of the newest record.
func records(f *model.Frame) uint64 {
	if f.History.N == 0 {
		return 0
	}
	return f.History.At(f.History.N - 1).Position
}

// state is a partition's state znode as it lies in ZooKeeper.
func (d *desk) state(tp model.TopicPartition) model.LeaderIsrAndControllerEpoch {
	d.t.Helper()
	path := model.TopicPartitionStatePath(tp)
	data, st, code := d.bench.lab.Store().Get(path)
	if code != zkserver.OK {
		d.t.Fatalf("get %s: %s", path, code)
	}
	l, ok, err := model.DecodePartitionState(path, data)
	if err != nil || !ok {
		d.t.Fatalf("%s: %q: %v", path, data, err)
	}
	l.PartitionEpoch = st.Version
	return l
}

// deletions notes deleted znodes in the order in which they went.
type deletions struct {
	mu    sync.Mutex
	paths []string
}

func (n *deletions) Notify(e zkserver.Event) {
	if e.Type == zkserver.NodeDeleted {
		n.mu.Lock()
		n.paths = append(n.paths, e.Path)
		n.mu.Unlock()
	}
}

func (n *deletions) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.paths)
}

// watchDeletions notes what is deleted below paths.
func (d *desk) watchDeletions(paths ...string) *deletions {
	d.t.Helper()
	n := &deletions{}
	for _, p := range paths {
		if code := d.bench.lab.Store().Watch(n, p, zkserver.RecursiveWatch); code != zkserver.OK {
			d.t.Fatalf("watch %s: %s", p, code)
		}
	}
	return n
}
