package engine

import (
	"slices"
	"strings"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// Facts that no event of the controller reaches, on its parts.

// E12: without a strategy no partition that had a leader comes online; those
// asked for all fail, and nothing is written.
func TestNoElectionWithoutAStrategy(t *testing.T) {
	b := newBench(t, DefaultConfig(5))
	b.fence(1)
	b.brokers([]int32{1, 2}, nil)
	r := &record{Leader: 2, ISR: []int32{1, 2}}
	b.plantPartition("t-0", machinePartition{Replicas: []int32{1, 2}, State: "Online", Znode: r, Cached: r})
	b.plantPartition("t-1", machinePartition{Replicas: []int32{1, 2}, State: "New"})
	var results outcomes
	if err := b.run(func() error {
		var err error
		results, err = b.e.changePartitions(b.partitions([]string{"t-0", "t-1"}), model.OnlinePartition, 0, "a test")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"t-0", "t-1"} {
		if got := errorName(results[b.partition(name)].err); got != "INVALID_ARGUMENT" {
			t.Errorf("%s: %v", name, got)
		}
	}
	if slices.Contains(b.zkOps(), "update_state") {
		t.Errorf("it wrote: %v", b.zkOps())
	}
}

// C20, 12.06: a request for a broker without a channel is dropped with a warning.
func TestNoRequestWithoutAChannel(t *testing.T) {
	b := newBench(t, DefaultConfig(5))
	if err := b.run(func() error {
		b.e.send(7, &model.UpdateMetadataRequest{})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	said := slices.ContainsFunc(b.steps, func(s model.Step) bool {
		l, ok := s.(*model.Log)
		return ok && l.Level == model.Warn && strings.Contains(l.Text, "broker 7")
	})
	if sent := slices.ContainsFunc(b.steps, func(s model.Step) bool { _, ok := s.(*model.Send); return ok }); sent || !said {
		t.Errorf("sent %t, said %t: %v", sent, said, b.steps)
	}
}

// 5.13: ids are written over whatever the topic znode holds by then.
func TestTopicIDsOverwriteWhatCameBetween(t *testing.T) {
	b := newBench(t, DefaultConfig(5))
	b.fence(1)
	b.e.ctx.AddTopic("t")
	one := []model.PartitionAssignment{{ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{1}}}}
	b.create(model.TopicPath("t"), model.EncodeTopic(model.TopicAssignment{Version: 3, Partitions: one}))
	if err := b.run(func() error {
		ts, err := b.e.readNewTopics([]string{"t"})
		if err != nil {
			return err
		}
		two := append(slices.Clone(one), model.PartitionAssignment{Partition: 1, ReplicaAssignment: one[0].ReplicaAssignment})
		b.store.Apply(0, zkserver.Set(model.TopicPath("t"), model.EncodeTopic(model.TopicAssignment{Version: 3, Partitions: two}), zkserver.AnyVersion))
		return b.e.assignTopicIDs(ts)
	}); err != nil {
		t.Fatal(err)
	}
	data, _, _ := b.store.Get(model.TopicPath("t"))
	if a, _, err := model.DecodeTopic("", data); err != nil || len(a.Partitions) != 1 || a.ID.IsZero() {
		t.Errorf("%s, %v", data, err)
	}
}
