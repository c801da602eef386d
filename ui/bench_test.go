package ui

import (
	"fmt"
	"testing"

	"kstate/model"
)

// The frames of the benchmarks change as those of a busy controller do: other
// counts, another step, another edge, new records.
func busyFrames(n int) []*model.Frame {
	c := labCluster()
	for i := range 200 {
		addTopic(c, fmt.Sprintf("topic-%03d", i), []int32{1, 2, 3}, []int32{2, 3, 1})
	}
	c.QueueTopicDeletion("orders")
	h := sampleHistory(3000)
	var out []*model.Frame
	for i := range n {
		tp := model.TP(fmt.Sprintf("topic-%03d", i%200), 0)
		c.PutPartitionState(tp, model.PartitionStates[i%3])
		h.Append(model.Record{Position: uint64(3000 + i), At: testNow + int64(i), Step: &model.MovePartition{TopicPartition: tp, From: model.OnlinePartition, To: model.OfflinePartition}})
		f := deletionFrame()
		f.Run, f.View, f.History, f.Position, f.Now = model.Running, c.Freeze(), h.Snapshot(), uint64(3000+i), testNow+int64(i)*33
		e := model.ReplicaGraph.Edges[i%len(model.ReplicaGraph.Edges)]
		f.Edges.ProposedReplica = &model.ReplicaEdge{Edge: e, Subject: model.Replica{TopicPartition: tp, Broker: 1}}
		out = append(out, f)
	}
	return out
}

func benchmarkFrame(b *testing.B, w, h int, v view) {
	frames := busyFrames(64)
	s := newScreen(frames[0], w, h)
	s.inspector.choose(ordersOne)
	s.show(v)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.setFrame(frames[i%len(frames)])
		s.draw()
	}
}

func BenchmarkFrame80x24(b *testing.B)  { benchmarkFrame(b, 80, 24, graphsView) }
func BenchmarkFrame160x50(b *testing.B) { benchmarkFrame(b, 160, 50, graphsView) }

func BenchmarkView80x24(b *testing.B) {
	for v := range viewCount {
		b.Run(viewNames[v], func(b *testing.B) { benchmarkFrame(b, 80, 24, v) })
	}
}

// BenchmarkPartitions200000 draws a page in the middle of 200,000 partitions,
// plain and filtered.
func BenchmarkPartitions200000(b *testing.B) {
	s := newScreen(many(), 160, 50)
	for _, filter := range []string{"", "9", "no such topic"} {
		b.Run("filter "+filter, func(b *testing.B) {
			s.show(partitionsView)
			s.applyFilter(filter)
			s.partitions.choose(model.TP("topic-00999", 50))
			for b.Loop() {
				s.setFrame(many())
				s.draw()
			}
		})
	}
}
