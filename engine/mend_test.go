package engine_test

import (
	"testing"

	"kstate/engine"
	"kstate/model"
)

func TestParseMends(t *testing.T) {
	for list, want := range map[string]engine.Mends{
		"":                                    {},
		"clear-batches":                       {ClearBatches: true},
		"ghost-states, half-deleted-topics":   {GhostStates: true, HalfDeletedTopics: true},
		"clear-batches,ghost-states,":         {ClearBatches: true, GhostStates: true},
		"half-deleted-topics,ghost-states,  ": {GhostStates: true, HalfDeletedTopics: true},
	} {
		got, err := engine.ParseMends(list)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", list, got, err)
		}
		if again, err := engine.ParseMends(got.String()); err != nil || again != want {
			t.Errorf("%q reads as %+v, %v", got, again, err)
		}
	}
	if _, err := engine.ParseMends("clear-batches,ghosts"); err == nil {
		t.Error("a mend that there is not is taken")
	}
}

// mendedOrNot makes a stage as Kafka is, and one with a mend.
func mendedOrNot(t *testing.T, mend engine.Mends, check func(t *testing.T, s *stage, mended bool)) {
	for name, m := range map[string]engine.Mends{"as Kafka": {}, "mended": mend} {
		t.Run(name, func(t *testing.T) {
			check(t, newStage(t, func(c *engine.Config) { c.Mend = m }, 1, 2, 3), m == mend)
		})
	}
}

// Q4: a topic deleted from outside and created again has no leader, since its
// states were left behind; mended, it has.
func TestGhostStates(t *testing.T) {
	mendedOrNot(t, engine.Mends{GhostStates: true}, func(t *testing.T, s *stage, mended bool) {
		orders(s)
		s.kill(3) // so that a ghost is not simply what a new topic would be
		s.run()
		s.remove(model.TopicPath("orders"))
		s.run()
		if !s.said("the states of 2 partitions stay in memory", 0) {
			t.Error("the outside deletion is not said")
		}
		orders(s)
		if has := s.has(model.TopicPartitionStatePath(tp0("orders"))); has != mended {
			t.Fatalf("orders-0 has a state znode: %t", has)
		}
		p := s.engine.View().Partition(tp0("orders"))
		if (p.Leadership != nil) != mended {
			t.Errorf("leadership %v", p.Leadership)
		}
		if r, _ := p.Replica(1); mended && (p.State != model.OnlinePartition || r.State != model.OnlineReplica) {
			t.Errorf("partition in %s, replica in %s", p.State, r.State)
		}
		if n := s.engine.View().OfflinePartitionCount; mended && n != 0 {
			t.Errorf("%d partitions count as offline", n)
		}
		if mended != s.said("are dropped (--mend ghost-states)", 0) {
			t.Error("what the mend did is not said, or said of what it did not do")
		}
	})
}

// Q3: a topic that was completed while marked ineligible starts out ineligible
// when it is created and deleted again; mended, it does not.
func TestGhostMarks(t *testing.T) {
	mendedOrNot(t, engine.Mends{GhostStates: true}, func(t *testing.T, s *stage, mended bool) {
		s.create("orders", []int32{1, 2})
		s.run()
		s.broken[2] = model.ErrKafkaStorageError
		s.mark("orders")
		s.run()
		if !s.engine.View().TopicsIneligibleForDeletion.Has("orders") {
			t.Fatal("a failed deletion does not mark the topic")
		}
		s.remove(model.TopicPath("orders"))
		s.run()
		s.create("orders", []int32{1})
		s.run()
		if has := s.engine.View().TopicsIneligibleForDeletion.Has("orders"); has == mended {
			t.Errorf("the new topic is marked: %t", has)
		}
	})
}

// An event of the znode of a deleted topic that is still queued takes in the
// topic that was created in its place, before the event of its creation runs.
// What it remembers then is no ghost: dropped, its partition would be created a
// second time and stay new. Found by seed 30192 of kstate sim.
func TestGhostsAreNotTheStatesOfATopicThatLives(t *testing.T) {
	mendedOrNot(t, engine.Mends{GhostStates: true}, func(t *testing.T, s *stage, mended bool) {
		s.create("orders", []int32{1, 2})
		s.run()
		s.hold = true
		s.mark("orders")
		s.run()
		s.releaseAll()
		s.world.Push(&model.WatchFired{Path: model.TopicPath("orders"), Kind: model.NodeDataChanged})
		for s.has(model.DeleteTopicPath("orders")) { // the deletion is done, the other event waits
			s.steps(1)
		}
		s.create("orders", []int32{2, 1})
		s.run()
		p := s.engine.View().Partition(tp0("orders"))
		if mended && (p == nil || p.State != model.OnlinePartition) {
			t.Errorf("the partition is %+v", p)
		}
		s.check("in the end")
	})
}

// N22, 8.73: a reassignment of a partition without a state znode stops each new
// controller; mended, it is passed over and the others go on.
func TestHalfDeletedTopics(t *testing.T) {
	half := assignmentOf("half", []int32{9, 1})
	half.Partitions[0].Adding = []int32{1}
	for _, mended := range []bool{false, true} {
		s := bareStage(t, func(c *engine.Config) { c.Mend.HalfDeletedTopics = mended })
		for _, p := range model.PersistentPaths() {
			s.put(p, nil)
		}
		// No replica of it is live, so its partition stays without a state znode.
		half.Partitions[0].Replicas, half.Partitions[0].Adding = []int32{9, 8}, []int32{8}
		s.put(model.TopicPath("half"), model.EncodeTopic(half))
		s.create("whole", []int32{1})
		s.start(1)
		s.world.Push(&model.Started{Session: s.world.Session})
		if rests := s.steps(2000); rests != mended {
			t.Fatalf("mended %t: it comes to rest: %t", mended, rests)
		}
		if mended != s.said("HALF-DELETED TOPIC", 0) || mended == s.said("no controller can start", 0) {
			t.Errorf("mended %t: it is not said", mended)
		}
		if p := s.engine.View().Partition(tp0("whole")); mended && (p == nil || p.State != model.OnlinePartition) {
			t.Error("the other topic is not online")
		}
	}
}

// A12: a topic znode that cannot be read stops each new controller; mended, it
// is passed over, left as it is, and taken in when somebody writes it.
func TestUnreadableTopics(t *testing.T) {
	for _, mended := range []bool{false, true} {
		s := bareStage(t, func(c *engine.Config) { c.Mend.HalfDeletedTopics = mended })
		for _, p := range model.PersistentPaths() {
			s.put(p, nil)
		}
		s.put(model.TopicPath("torn"), nil)
		s.create("whole", []int32{1})
		s.start(1)
		s.world.Push(&model.Started{Session: s.world.Session})
		if rests := s.steps(2000); rests != mended {
			t.Fatalf("mended %t: it comes to rest: %t", mended, rests)
		}
		if !mended {
			continue
		}
		if data, stat, _ := s.read(model.TopicPath("torn")); data != nil || stat.Version != 0 {
			t.Errorf("the torn znode was written: %q, version %d", data, stat.Version)
		}
		s.create("torn", []int32{1})
		s.run()
		if p := s.engine.View().Partition(tp0("torn")); p == nil || p.State != model.OnlinePartition {
			t.Error("the topic is not taken in once its znode was written")
		}
	}
}
