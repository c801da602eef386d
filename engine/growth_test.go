package engine_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// wide is a controller of a cluster with answering brokers, at rest.
type wide struct {
	t     *testing.T
	store *zkserver.Store
	world *standin.World
	e     *engine.Engine
	asks  uint64
	steps int
}

func newWide(t *testing.T, partitions int32) *wide {
	w := &wide{t: t, store: wideTopics(t, 10, partitions)}
	w.world = standin.New(standin.Options{Store: w.store, Respond: success})
	cfg := engine.DefaultConfig(1000)
	cfg.AutoRebalance = false
	w.e = engine.New(cfg)
	w.world.Push(&model.Started{})
	w.run()
	if !w.e.IsActive() {
		t.Fatal("no take-over")
	}
	return w
}

func (w *wide) run() {
	d := &debugger.Driver{Engine: w.e, Env: w.world, Next: w.world.Next, Each: func(model.Step, model.Result) { w.steps++ }}
	if !d.Run(10_000_000) {
		w.t.Fatalf("it does not come to rest: at %v", w.e.At())
	}
	w.world.Sent, w.world.Replies = nil, nil
}

func (w *wide) ask(a model.Ask) {
	w.asks++
	w.world.Push(&model.Asked{ID: w.asks, From: "a test", Ask: a})
}

func (w *wide) write(op zkserver.Op) {
	if r, _ := w.store.Apply(0, op); r.Code != zkserver.OK {
		w.t.Fatalf("%s: %v", op.Path, r.Code)
	}
}

// narrowEvents are events whose work in Kafka does not depend on how many
// partitions the cluster has. n counts the rounds.
var narrowEvents = []struct {
	name string
	do   func(w *wide, n int)
}{
	{"creation of a topic", func(w *wide, n int) {
		a := model.TopicAssignment{Version: 3, ID: model.Uuid{2, byte(n)}, Partitions: []model.PartitionAssignment{{ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{1, 2, 3}}}}}
		w.write(zkserver.Create(model.TopicPath(fmt.Sprintf("small-%d", n)), model.EncodeTopic(a), 0))
	}},
	{"AlterPartition", func(w *wide, n int) { w.alter(model.TP(fmt.Sprintf("small-%d", n), 0), []int32{1, 2}) }},
	{"AlterPartition of a wide topic", func(w *wide, n int) {
		tp := model.TP("topic-00000", int32(n))
		w.alter(tp, w.e.View().Leadership(tp).ISR[:2])
	}},
	{"notice of an ISR", func(w *wide, n int) {
		w.write(zkserver.Create(model.IsrChangePath(""), model.EncodeIsrChange([]model.TopicPartition{model.TP("topic-00001", int32(n))}), zkserver.Sequential))
	}},
	{"preferred election of one partition", func(w *wide, n int) {
		w.ask(&model.ElectLeaders{Partitions: []model.TopicPartition{model.TP("topic-00002", int32(n))}})
	}},
	{"election of one partition", func(w *wide, n int) {
		w.world.Push(&model.OperatorElects{Strategy: model.ReassignStrategy, Partitions: []model.TopicPartition{model.TP("topic-00004", int32(n))}})
	}},
	{"cancelling what is not moved", func(w *wide, n int) {
		w.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: model.TP("topic-00003", int32(n)), Cancel: true}}})
	}},
	{"list of reassignments", func(w *wide, _ int) { w.ask(&model.ListPartitionReassignments{All: true}) }},
	{"producer ids", func(w *wide, _ int) { w.ask(&model.AllocateProducerIDs{BrokerID: 1, BrokerEpoch: 1}) }},
	{"answer of a broker", func(w *wide, _ int) {
		w.world.Push(&model.Responded{Broker: 1, Request: &model.UpdateMetadataRequest{}})
	}},
	{"deletion of a topic", func(w *wide, n int) {
		w.write(zkserver.Create(model.DeleteTopicPath(fmt.Sprintf("small-%d", n)), nil, 0))
	}},
}

func (w *wide) alter(tp model.TopicPartition, isr []int32) {
	v := w.e.View()
	l := v.Leadership(tp)
	w.ask(&model.AlterPartition{Version: 3, BrokerID: l.Leader, BrokerEpoch: v.Broker(l.Leader).Epoch,
		Partitions: []model.AlterPartitionEntry{{TopicPartition: tp, TopicID: v.Topic(tp.Topic).ID, ISR: isr, LeaderEpoch: l.LeaderEpoch, PartitionEpoch: l.PartitionEpoch}}})
}

// cost is the least number of allocations, and of steps, that an event takes in
// some rounds.
func (w *wide) cost(do func(w *wide, n int)) (allocations, steps int) {
	var a, s []int
	for n := range 5 {
		do(w, n)
		var before, after runtime.MemStats
		w.steps = 0
		runtime.ReadMemStats(&before)
		w.run()
		runtime.ReadMemStats(&after)
		a, s = append(a, int(after.Mallocs-before.Mallocs)), append(s, w.steps)
	}
	return slices.Min(a), slices.Min(s)
}

// TestEventsDoNotGrowWithTheCluster: in a cluster of 10,000 partitions.
func TestEventsDoNotGrowWithTheCluster(t *testing.T) { checkGrowth(t, 1000) }

// TestCostOfEventsInAWideCluster: in one of 100,000.
func TestCostOfEventsInAWideCluster(t *testing.T) {
	if os.Getenv("KSTATE_COST") != "1" {
		t.Skip("set KSTATE_COST=1 to compare with a cluster of 100,000 partitions; .ci/run does")
	}
	checkGrowth(t, 10_000)
}

// checkGrowth compares ten topics of 100 partitions with ten of more: events that
// concern one partition take the same steps, and about the same allocations.
func checkGrowth(t *testing.T, partitions int32) {
	small, large := newWide(t, 100), newWide(t, partitions)
	defer small.e.Close()
	defer large.e.Close()
	for _, event := range narrowEvents {
		fewer, steps := small.cost(event.do)
		more, moreSteps := large.cost(event.do)
		t.Logf("%s: %d steps, %d allocations; in the large cluster %d and %d", event.name, steps, fewer, moreSteps, more)
		if steps == 0 || moreSteps != steps {
			t.Errorf("%s: %d steps, in the large cluster %d", event.name, steps, moreSteps)
		}
		if more > fewer+fewer/4+40 {
			t.Errorf("%s: %d allocations, in the large cluster %d", event.name, fewer, more)
		}
	}
}
