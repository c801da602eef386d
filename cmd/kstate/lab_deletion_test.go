package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kstate/internal/lab"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// passed notes the states that subjects are seen in, one after the other.
type passed[K comparable, S comparable] map[K][]S

func (p passed[K, S]) note(k K, s S) {
	if l := p[k]; len(l) == 0 || l[len(l)-1] != s {
		p[k] = append(l, s)
	}
}

// noteTopic notes the states of a topic's partitions and replicas in a frame. A
// replica that has left memory is NonExistentReplica.
func noteTopic(f *model.Frame, topic string, partitions passed[model.TopicPartition, model.PartitionState], replicas passed[model.Replica, model.ReplicaState], brokers ...int32) {
	for n := range int32(3) {
		tp := model.TP(topic, n)
		if s := f.View.PartitionState(tp); s != model.NoPartitionState {
			partitions.note(tp, s)
		}
		for _, b := range brokers {
			r := model.Replica{TopicPartition: tp, Broker: b}
			s := f.View.ReplicaState(r)
			if s == model.NoReplicaState {
				s = model.NonExistentReplica
			}
			replicas.note(r, s)
		}
	}
}

// A deletion, transition by transition: what a frame shows at each of them.
func TestADeletionStepByStep(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	gone := d.watchDeletions(model.TopicPath("orders"), model.TopicConfigPath("orders"), model.DeleteTopicPath("orders"))
	d.pause()
	d.do(model.DeleteTopic{Topic: "orders"})
	partitions, replicas := passed[model.TopicPartition, model.PartitionState]{}, passed[model.Replica, model.ReplicaState]{}
	started, marked := false, []string{}
	last := d.frame()
	for n := 0; d.frame().View.KnowsTopic("orders"); n++ {
		if n > 2000 {
			t.Fatal("the deletion does not end")
		}
		f := d.held()
		noteTopic(&f, "orders", partitions, replicas, 1, 2, 3)
		if m, ok := f.At.(*model.Mark); ok {
			marked = append(marked, m.String())
		}
		started = started || f.View.TopicsWithDeletionStarted.Has("orders")
		if f.At.Grain() > model.TransitionGrain {
			t.Fatalf("it holds at %s, which is finer than a transition", f.At)
		}
		last = d.step(model.TransitionGrain)
	}
	noteTopic(&last, "orders", partitions, replicas, 1, 2, 3)
	wantPartition := []model.PartitionState{model.OnlinePartition, model.OfflinePartition, model.NonExistentPartition}
	wantReplica := []model.ReplicaState{model.OnlineReplica, model.OfflineReplica, model.ReplicaDeletionStarted, model.ReplicaDeletionSuccessful, model.NonExistentReplica}
	if len(partitions) != 3 || len(replicas) != 9 {
		t.Fatalf("%d partitions and %d replicas were seen", len(partitions), len(replicas))
	}
	for tp, seen := range partitions {
		if !slices.Equal(seen, wantPartition) {
			t.Errorf("%s was seen in %v, want %v", tp, seen, wantPartition)
		}
	}
	for r, seen := range replicas {
		if !slices.Equal(seen, wantReplica) {
			t.Errorf("%s was seen in %v, want %v", r, seen, wantReplica)
		}
	}
	if !started {
		t.Error("the topic was never in topicsWithDeletionStarted")
	}
	if want := []string{"+topicsToBeDeleted", "+topicsWithDeletionStarted", "-topicsToBeDeleted"}; !eachContains(marked, want) {
		t.Errorf("marks %q, want %q", marked, want)
	}
	if got, want := gone.list(), kafkasOrder("orders", 3); !slices.Equal(got, want) {
		t.Errorf("znodes went in the order\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	d.goOn()
	d.online(3, 6)
}

func eachContains(texts, parts []string) bool {
	return slices.EqualFunc(texts, parts, strings.Contains)
}

// kafkasOrder is how a topic's znodes go: the tree depth first, the config, and
// the marker last.
func kafkasOrder(topic string, partitions int) []string {
	var out []string
	for n := range int32(partitions) {
		tp := model.TP(topic, n)
		out = append(out, model.TopicPartitionStatePath(tp), model.TopicPartitionPath(tp))
	}
	return append(out, model.TopicPartitionsPath(topic), model.TopicPath(topic), model.TopicConfigPath(topic), model.DeleteTopicPath(topic))
}

func TestADeletionWaitsForADeadBroker(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.cut(3)
	d.do(model.DeleteTopic{Topic: "orders"})
	f := d.await("the deletion is halted", func(f *model.Frame) bool {
		return f.View.TopicsIneligibleForDeletion.Has("orders") && idle(f) &&
			f.View.Topic("orders").ReplicaCounts[model.ReplicaDeletionSuccessful] == 6
	})
	if why := f.View.IneligibleReason("orders"); why != model.OfflineReplicas {
		t.Errorf("the reason is %q, want %q", why, model.OfflineReplicas)
	}
	topic := f.View.Topic("orders")
	if topic.ReplicaCounts[model.OfflineReplica] != 3 || topic.PartitionCounts[model.NonExistentPartition] != 3 {
		t.Errorf("replicas %v, partitions %v", topic.ReplicaCounts, topic.PartitionCounts)
	}
	if ineligible := stepTexts[*model.MoveReplica](&f, "@3 OfflineReplica -> ReplicaDeletionIneligible"); len(ineligible) != 3 {
		t.Errorf("%d replicas became ineligible, want the 3 of the dead broker: %q", len(ineligible), ineligible)
	}
	if _, code := d.bench.lab.Store().Exists(model.DeleteTopicPath("orders")); code != zkserver.OK {
		t.Errorf("the marker: %s", code)
	}
	d.back(3)
	f = d.await("the deletion is done", func(f *model.Frame) bool { return !f.View.KnowsTopic("orders") && idle(f) })
	for _, p := range kafkasOrder("orders", 3) {
		if _, code := d.bench.lab.Store().Exists(p); code != zkserver.NoNode {
			t.Errorf("%s: %s", p, code)
		}
	}
	if f.View.TopicsToBeDeleted.Len() != 0 || f.View.TopicsIneligibleForDeletion.Len() != 0 {
		t.Error("a deletion set is not empty")
	}
	d.online(3, 6)
}

// stepTexts are the steps of a kind whose text holds a part.
func stepTexts[S model.Step](f *model.Frame, part string) []string {
	var out []string
	for _, s := range steps[S](f, 0) {
		if text := s.String(); strings.Contains(text, part) {
			out = append(out, text)
		}
	}
	return out
}

func TestAReturningBrokerIsToldOfADeletion(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.cut(2)
	d.do(model.DeleteTopic{Topic: "clicks"})
	d.await("the deletion is halted", func(f *model.Frame) bool { return f.View.TopicsIneligibleForDeletion.Has("clicks") && idle(f) })
	tp := model.TP("clicks", 0)
	d.back(2)
	d.await("the deletion is done", func(f *model.Frame) bool { return !f.View.KnowsTopic("clicks") && idle(f) })
	for _, id := range []int32{1, 2} {
		if h, ok := d.bench.lab.Cluster().Broker(id).Snapshot().Find(tp); ok {
			t.Errorf("broker %d still hosts %s", id, fmt.Sprintf("%+v", h))
		}
	}
}
