package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"kstate/model"
)

// contextStep is one change of a context, or a claim about its count of imbalanced
// partitions, or both.
type contextStep struct {
	Op         string                     `json:"op"`
	TP         string                     `json:"tp"`
	Partition  string                     `json:"partition"`
	Topic      string                     `json:"topic"`
	Topics     []string                   `json:"topics"`
	Replicas   []int32                    `json:"replicas"`
	Adding     []int32                    `json:"adding"`
	Removing   []int32                    `json:"removing"`
	Leader     *int32                     `json:"leader"`
	ISR        []int32                    `json:"isr"`
	Assignment map[string]json.RawMessage `json:"assignment"`
	Leadership map[string]record          `json:"leadership"`
	Queued     []string                   `json:"queued"`
	Removed    []string                   `json:"removed"`
	Count      *int                       `json:"count"`
	Imbalance  *int                       `json:"imbalance"`
	Gauge      *int                       `json:"preferred_replica_imbalance_count"`
	Expect     json.RawMessage            `json:"expect"`
	Note       string                     `json:"note"`
}

// runContextSteps changes a context step by step and counts its imbalance.
func (c *factCase) runContextSteps(t *testing.T) {
	b := factEngine(t, true)
	for i, raw := range c.Steps {
		var s contextStep
		if err := Strict(raw, &s); err != nil {
			t.Fatalf("step %d cannot be read: %v", i, err)
		}
		b.changeContext(&s)
		want := s.Count
		for _, p := range []*int{s.Imbalance, s.Gauge} {
			if p != nil {
				want = p
			}
		}
		if s.Expect != nil {
			want = expectedCount(t, s.Expect)
		}
		if got := b.e.ctx.PreferredReplicaImbalanceCount; want != nil && got != *want {
			t.Errorf("step %d: %d partitions are led by another than their preferred replica, want %d", i, got, *want)
		}
	}
}

// expectedCount reads a number, or an object that holds only one.
func expectedCount(t *testing.T, raw json.RawMessage) *int {
	var n int
	if json.Unmarshal(raw, &n) == nil {
		return &n
	}
	var named map[string]int
	if err := json.Unmarshal(raw, &named); err != nil || len(named) != 1 {
		t.Fatalf("%s is no count: %v", raw, err)
	}
	for _, n = range named {
	}
	return &n
}

func (b *bench) changeContext(s *contextStep) {
	assign := func(name string, a model.ReplicaAssignment) {
		tp := b.partition(name)
		b.e.ctx.AddTopic(tp.Topic)
		b.e.ctx.UpdateAssignment(tp, a)
	}
	name := s.TP + s.Partition
	if name != "" && s.Replicas != nil {
		assign(name, model.ReplicaAssignment{Replicas: s.Replicas, Adding: s.Adding, Removing: s.Removing})
	}
	for _, name := range sortedKeys(s.Assignment) {
		var a model.ReplicaAssignment
		if json.Unmarshal(s.Assignment[name], &a.Replicas) != nil {
			if err := json.Unmarshal(s.Assignment[name], &a); err != nil {
				b.t.Fatal(err)
			}
		}
		assign(name, a)
	}
	if name != "" && s.Leader != nil {
		b.e.ctx.PutLeadership(b.partition(name), (&record{Leader: *s.Leader, ISR: s.ISR}).state())
	}
	for _, name := range sortedKeys(s.Leadership) {
		r := s.Leadership[name]
		b.e.ctx.PutLeadership(b.partition(name), r.state())
	}
	topics := s.Topics
	if s.Topic != "" {
		topics = append(topics, s.Topic)
	}
	if strings.Contains(s.Op, "remove") {
		s.Removed = append(s.Removed, topics...)
	} else {
		s.Queued = append(s.Queued, topics...)
	}
	for _, topic := range s.Queued {
		b.e.ctx.QueueTopicDeletion(topic)
	}
	for _, topic := range s.Removed {
		b.e.ctx.RemoveTopic(topic)
	}
}
