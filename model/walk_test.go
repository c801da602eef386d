package model

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// The walks from any place must agree with the walk from the beginning.
func TestWalksFromAnyPlace(t *testing.T) {
	c := NewCluster()
	for i := range 700 {
		name := fmt.Sprintf("t%04d", i*7%1000)
		c.AddTopic(name)
		for p := range int32(i % 5) {
			c.UpdateAssignment(TP(name, p*40), ReplicaAssignment{Replicas: []int32{1}})
		}
		c.QueueTopicDeletion(name)
		if i%3 == 0 {
			c.PutPartitionState(TP(name, 0), OfflinePartition)
			c.RemoveTopic(name) // leaves the state behind: no longer known
		}
	}
	v := c.Freeze()
	var want []string
	for topic := range v.Topics() {
		want = append(want, topic.Name)
		checkPartitionWalk(t, topic)
	}
	var forth, back []string
	for topic := v.TopicAfter(""); topic != nil; topic = v.TopicAfter(topic.Name) {
		forth = append(forth, topic.Name)
	}
	for topic := v.LastTopic(); topic != nil; topic = v.TopicBefore(topic.Name) {
		back = append(back, topic.Name)
	}
	slices.Reverse(back)
	if len(want) == 0 || !slices.Equal(forth, want) || !slices.Equal(back, want) {
		t.Errorf("topics: %d from the beginning, %d by TopicAfter, %d by TopicBefore", len(want), len(forth), len(back))
	}
	set := v.TopicsToBeDeleted.Slice()
	forth, back = nil, nil
	for k, ok := v.TopicsToBeDeleted.After(""); ok; k, ok = v.TopicsToBeDeleted.After(k) {
		forth = append(forth, k)
	}
	for k, ok := v.TopicsToBeDeleted.Last(); ok; k, ok = v.TopicsToBeDeleted.Before(k) {
		back = append(back, k)
	}
	slices.Reverse(back)
	if len(set) == 0 || !slices.Equal(forth, set) || !slices.Equal(back, set) {
		t.Errorf("set: %d in all, %d by After, %d by Before", len(set), len(forth), len(back))
	}
}

func checkPartitionWalk(t *testing.T, topic *Topic) {
	t.Helper()
	var want, forth, back []int32
	for n := range topic.Partitions() {
		want = append(want, n)
	}
	for n, p := topic.PartitionAfter(-1); p != nil; n, p = topic.PartitionAfter(n) {
		forth = append(forth, n)
	}
	for n, p := topic.PartitionBefore(math.MaxInt32); p != nil; n, p = topic.PartitionBefore(n) {
		back = append(back, n)
	}
	slices.Reverse(back)
	if !slices.Equal(forth, want) || !slices.Equal(back, want) {
		t.Errorf("%s: %v from the beginning, %v by PartitionAfter, %v by PartitionBefore", topic.Name, want, forth, back)
	}
}

func TestWalksOfNothing(t *testing.T) {
	v := &View{}
	if v.TopicAfter("") != nil || v.TopicBefore("x") != nil || v.LastTopic() != nil {
		t.Error("an empty view has a topic")
	}
	if _, ok := v.TopicsToBeDeleted.Last(); ok {
		t.Error("an empty set has a last topic")
	}
	topic := &Topic{}
	if _, p := topic.PartitionBefore(9); p != nil {
		t.Error("an empty topic has a partition")
	}
	if _, p := topic.PartitionAfter(math.MaxInt32 - 1); p != nil {
		t.Error("an empty topic has a partition")
	}
}
