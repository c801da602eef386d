package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// clusterWriter draws random writes to a cluster: every method that changes one.
type clusterWriter struct{ c *Cluster }

func drawTP(t *rapid.T) TopicPartition {
	// 63, 64: two pages; -1: Kafka reads negative numbers too.
	return TP(drawTopic(t), rapid.SampledFrom([]int32{0, 1, 2, 63, 64, 1000, -1}).Draw(t, "partition"))
}

func drawTopic(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "topic")
}

func drawBroker(t *rapid.T) int32 { return rapid.Int32Range(1, 4).Draw(t, "broker") }

func drawIDs(t *rapid.T) []int32 { return rapid.SliceOfN(rapid.Int32Range(1, 4), 0, 3).Draw(t, "ids") }

func (w clusterWriter) actions() map[string]func(*rapid.T) {
	c := w.c
	return map[string]func(*rapid.T){
		"AddTopic":    func(t *rapid.T) { c.AddTopic(drawTopic(t)) },
		"RemoveTopic": func(t *rapid.T) { c.RemoveTopic(drawTopic(t)) },
		"DropTopic":   func(t *rapid.T) { c.DropTopic(drawTopic(t)) },
		"SetTopicID": func(t *rapid.T) {
			_ = c.SetTopicID(drawTopic(t), Uuid{rapid.Byte().Draw(t, "id")}) // a refusal changes nothing
		},
		"PutTopicID":    func(t *rapid.T) { c.PutTopicID(drawTopic(t), Uuid{rapid.Byte().Draw(t, "id")}) },
		"DropPartition": func(t *rapid.T) { c.DropPartition(drawTP(t)) },
		"PutPartitionState": func(t *rapid.T) {
			c.PutPartitionState(drawTP(t), rapid.SampledFrom(PartitionStates).Draw(t, "state"))
		},
		"PutReplicaState": func(t *rapid.T) {
			c.PutReplicaState(Replica{drawTP(t), drawBroker(t)}, rapid.SampledFrom(ReplicaStates).Draw(t, "state"))
		},
		"RemoveReplicaState": func(t *rapid.T) { c.RemoveReplicaState(Replica{drawTP(t), drawBroker(t)}) },
		"UpdateAssignment": func(t *rapid.T) {
			c.UpdateAssignment(drawTP(t), ReplicaAssignment{Replicas: drawIDs(t), Adding: drawIDs(t)})
		},
		"PutLeadership": func(t *rapid.T) {
			l := LeaderIsrAndControllerEpoch{LeaderAndIsr: LeaderAndIsr{Leader: drawBroker(t), ISR: drawIDs(t)}}
			c.PutLeadership(drawTP(t), &l)
		},
		"ForgetLeadership":     func(t *rapid.T) { c.PutLeadership(drawTP(t), nil) },
		"ClearLeadership":      func(*rapid.T) { c.ClearLeadership() },
		"SetReassigning":       func(t *rapid.T) { c.SetReassigning(drawTP(t), rapid.Bool().Draw(t, "on")) },
		"QueueTopicDeletion":   func(t *rapid.T) { c.QueueTopicDeletion(drawTopic(t)) },
		"DequeueTopicDeletion": func(t *rapid.T) { c.DequeueTopicDeletion(drawTopic(t)) },
		"BeginTopicDeletion":   func(t *rapid.T) { c.BeginTopicDeletion(drawTopic(t)) },
		"MarkIneligible":       func(t *rapid.T) { c.MarkIneligible(drawTopic(t), OfflineReplicas) },
		"MarkIneligibleToo":    func(t *rapid.T) { c.MarkIneligible(drawTopic(t), ReassignmentInProgress) },
		"ClearIneligible":      func(t *rapid.T) { c.ClearIneligible(drawTopic(t)) },
		"PutBroker":            func(t *rapid.T) { c.PutBroker(Broker{ID: drawBroker(t), Epoch: rapid.Int64().Draw(t, "epoch")}) },
		"RemoveBroker":         func(t *rapid.T) { c.RemoveBroker(drawBroker(t)) },
		"SetShuttingDown":      func(t *rapid.T) { c.SetShuttingDown(drawBroker(t), rapid.Bool().Draw(t, "on")) },
		"ClearShuttingDown":    func(*rapid.T) { c.ClearShuttingDown() },
		"SetOfflineDir":        func(t *rapid.T) { c.SetOfflineDir(Replica{drawTP(t), drawBroker(t)}, rapid.Bool().Draw(t, "on")) },
		"ClearOfflineDirs":     func(t *rapid.T) { c.ClearOfflineDirs(drawBroker(t)) },
		"SetUnreadable":        func(t *rapid.T) { c.SetUnreadable(drawTP(t), rapid.SampledFrom([]string{"", "x"}).Draw(t, "why")) },
		"SetTopicUnreadable": func(t *rapid.T) {
			c.SetTopicUnreadable(drawTopic(t), rapid.SampledFrom([]string{"", "x"}).Draw(t, "why"))
		},
		"Epoch":                  func(t *rapid.T) { c.Epoch, c.EpochZkVersion = c.Epoch+1, c.EpochZkVersion+1 },
		"ResetOnceInAHundredOps": func(t *rapid.T) { resetSeldom(t, c) },
	}
}

func resetSeldom(t *rapid.T, c *Cluster) {
	if rapid.IntRange(0, 99).Draw(t, "reset") == 0 {
		c.Reset()
	}
}

// picture writes down everything that can be read from a view.
func picture(v *View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d/%d partitions %v replicas %v topics %d offline %d imbalance %d reassigning %d\n", v.Epoch, v.EpochZkVersion,
		v.PartitionCounts, v.ReplicaCounts, v.TopicCount, v.OfflinePartitionCount, v.PreferredReplicaImbalanceCount, v.ReassigningCount())
	fmt.Fprintf(&b, "queued %v started %v ineligible %v brokers %v shutting down %v\n", v.TopicsToBeDeleted.Slice(),
		v.TopicsWithDeletionStarted.Slice(), v.TopicsIneligibleForDeletion.Slice(), v.Brokers(), v.ShuttingDown())
	topics, partitions := v.UnreadableCounts()
	fmt.Fprintf(&b, "unreadable %d %d\n", topics, partitions)
	for broker := int32(1); broker <= 4; broker++ {
		fmt.Fprintln(&b, broker, v.Leads(broker), v.Hosts(broker))
	}
	for topic := range v.TopicsIneligibleForDeletion.All() {
		fmt.Fprintf(&b, "%s is ineligible: %s\n", topic, v.IneligibleReason(topic))
	}
	for topic := range v.Entries() {
		fmt.Fprintf(&b, "%s known %t id %s partitions %v replicas %v reassigning %d unreadable %q\n", topic.Name, topic.Known, topic.ID,
			topic.PartitionCounts, topic.ReplicaCounts, topic.Reassigning, topic.Unreadable)
		for n, p := range topic.Entries() {
			fmt.Fprintf(&b, "  %d %v %v %v %t %q %v\n", n, p.Assignment, p.Leadership, p.State, p.Reassigning, p.Unreadable, p.Replicas)
			for broker := int32(1); broker <= 4; broker++ {
				fmt.Fprint(&b, v.OnOfflineDir(broker, TP(topic.Name, n)), " ")
			}
		}
	}
	return b.String()
}

func TestAFrozenViewNeverChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCluster()
		var views []*View
		var pictures []string
		actions := clusterWriter{c}.actions()
		actions["Freeze"] = func(*rapid.T) {
			views = append(views, c.Freeze())
			pictures = append(pictures, picture(views[len(views)-1]))
		}
		t.Repeat(actions)
		for i, v := range views {
			if now := picture(v); now != pictures[i] {
				t.Fatalf("frozen view %d of %d changed:\nwas %s\nis  %s", i+1, len(views), pictures[i], now)
			}
		}
	})
}

func TestCountsEqualARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCluster()
		actions := clusterWriter{c}.actions()
		actions["Freeze"] = func(*rapid.T) { c.Freeze() }
		actions[""] = func(t *rapid.T) { recount(t, &c.View) }
		t.Repeat(actions)
	})
}

// recount counts everything that a view keeps a number of.
func recount(t *rapid.T, v *View) {
	var partitions [5]int
	var replicas [8]int
	topics, imbalance, reassigning, unreadable, unreadableTopics := 0, 0, 0, 0, 0
	dirs, leads, hosts := map[int32]int{}, map[int32]int{}, map[int32]int{}
	for topic := range v.Entries() {
		var ownPartitions [5]int
		var ownReplicas [8]int
		ownReassigning := 0
		for _, p := range topic.Entries() {
			if p.Assignment != nil {
				ownPartitions[p.State]++
			}
			if imbalanced(p) && !v.IsQueued(topic.Name) {
				imbalance++
			}
			if p.Reassigning {
				ownReassigning++
			}
			if p.Unreadable != "" {
				unreadable++
			}
			leads[p.Leader()]++
			if p.Assignment != nil {
				for _, broker := range p.Assignment.Replicas {
					hosts[broker]++
				}
			}
			for _, r := range p.Replicas {
				if r.State != NoReplicaState {
					ownReplicas[r.State]++
				}
				if r.OfflineDir {
					dirs[r.Broker]++
				}
			}
		}
		same(t, topic.Name+" partitions", topic.PartitionCounts, ownPartitions)
		same(t, topic.Name+" replicas", topic.ReplicaCounts, ownReplicas)
		same(t, topic.Name+" reassigning", topic.Reassigning, ownReassigning)
		reassigning += ownReassigning
		if !topic.Known {
			continue
		}
		topics++
		for i, n := range ownPartitions {
			partitions[i] += n
		}
		for i, n := range ownReplicas {
			replicas[i] += n
		}
		if topic.Unreadable != "" {
			unreadableTopics++
		}
	}
	same(t, "partitions", v.PartitionCounts, partitions)
	same(t, "replicas", v.ReplicaCounts, replicas)
	same(t, "topics", v.TopicCount, topics)
	same(t, "imbalance", v.PreferredReplicaImbalanceCount, imbalance)
	same(t, "reassigning", v.ReassigningCount(), reassigning)
	same(t, "unreadable topics", v.unreadableTopics, unreadableTopics)
	same(t, "unreadable states", v.unreadable, unreadable)
	for broker := int32(1); broker <= 4; broker++ {
		same(t, fmt.Sprintf("offline dirs of broker %d", broker), v.offlineDirs[broker], dirs[broker])
		same(t, fmt.Sprintf("partitions led by broker %d", broker), v.Leads(broker), leads[broker])
		same(t, fmt.Sprintf("replicas of broker %d", broker), v.Hosts(broker), hosts[broker])
	}
	if !slices.Equal(v.TopicsIneligibleForDeletion.Slice(), keysOf(&v.ineligibleReasons)) {
		t.Fatalf("ineligible topics %v, reasons of %v", v.TopicsIneligibleForDeletion.Slice(), keysOf(&v.ineligibleReasons))
	}
}

func same[T comparable](t *rapid.T, what string, kept, counted T) {
	if kept != counted {
		t.Fatalf("%s: kept %v, counted %v", what, kept, counted)
	}
}

func keysOf[V any](s *sorted[V]) []string {
	keys := []string{}
	for k := range s.all() {
		keys = append(keys, k)
	}
	return keys
}

func TestSortedIsAMapInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type frozen struct {
			index sorted[int]
			twin  map[string]int
		}
		var s sorted[int]
		twin, gen := map[string]int{}, uint64(1)
		var old []frozen
		// More keys than a chunk holds, put in runs so that chunks split.
		key := func(t *rapid.T) int { return rapid.IntRange(0, 4*chunkMax).Draw(t, "key") }
		name := func(k int) string { return fmt.Sprintf("%04d", k) }
		t.Repeat(map[string]func(*rapid.T){
			"put run": func(t *rapid.T) {
				for k, n := key(t), rapid.IntRange(1, chunkMax).Draw(t, "n"); n > 0; k, n = k+1, n-1 {
					s.put(gen, name(k), n)
					twin[name(k)] = n
				}
			},
			"remove run": func(t *rapid.T) {
				for k, n := key(t), rapid.IntRange(1, chunkMax).Draw(t, "n"); n > 0; k, n = k+1, n-1 {
					s.remove(gen, name(k))
					delete(twin, name(k))
				}
			},
			"freeze": func(*rapid.T) {
				old = append(old, frozen{s, maps.Clone(twin)})
				gen++
			},
			"": func(t *rapid.T) { sameAsMap(t, &s, twin, name(key(t))) },
		})
		for _, f := range old {
			sameAsMap(t, &f.index, f.twin, name(0))
		}
	})
}

func sameAsMap(t *rapid.T, s *sorted[int], twin map[string]int, probe string) {
	want := slices.Sorted(maps.Keys(twin))
	if got := keysOf(s); !slices.Equal(got, want) {
		t.Fatalf("keys %v, want %v", got, want)
	}
	for k, v := range s.all() {
		if v != twin[k] {
			t.Fatalf("walking: %s is %d, want %d", k, v, twin[k])
		}
	}
	v, ok := s.get(probe)
	if wantV, wantOK := twin[probe], slices.Contains(want, probe); v != wantV || ok != wantOK || s.has(probe) != wantOK {
		t.Fatalf("get %s: %d %t, want %d %t", probe, v, ok, wantV, wantOK)
	}
	if s.n != len(twin) {
		t.Fatalf("n %d, want %d", s.n, len(twin))
	}
	for _, ch := range s.chunks {
		if len(ch.keys) == 0 || len(ch.keys) > chunkMax {
			t.Fatalf("a chunk of %d keys", len(ch.keys))
		}
	}
}

func TestViewFindsWhatWasWritten(t *testing.T) {
	c := NewCluster()
	tp := TP("orders", 70)
	if c.Partition(tp) != nil || c.PartitionState(tp) != NoPartitionState || c.Leadership(tp) != nil {
		t.Fatal("an empty cluster knows something of orders-70")
	}
	c.AddTopic("orders")
	c.UpdateAssignment(tp, ReplicaAssignment{Replicas: []int32{1, 2}})
	c.PutReplicaState(Replica{tp, 2}, OnlineReplica)
	c.PutPartitionState(tp, OfflinePartition)
	c.PutLeadership(tp, &LeaderIsrAndControllerEpoch{LeaderAndIsr: LeaderAndIsr{Leader: 2}})
	if got := c.Assignment(tp).Replicas; !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("replicas %v", got)
	}
	if got := c.ReplicaState(Replica{tp, 2}); got != OnlineReplica {
		t.Errorf("replica state %v", got)
	}
	if got := c.ReplicaState(Replica{tp, 1}); got != NoReplicaState {
		t.Errorf("state of a replica nobody spoke of: %v", got)
	}
	if got := c.Partition(tp).Leader(); got != 2 {
		t.Errorf("leader %d", got)
	}
	if c.OfflinePartitionCount != 1 || c.PreferredReplicaImbalanceCount != 1 {
		t.Errorf("offline %d, imbalance %d", c.OfflinePartitionCount, c.PreferredReplicaImbalanceCount)
	}
	c.QueueTopicDeletion("orders")
	if c.PreferredReplicaImbalanceCount != 0 {
		t.Errorf("a queued topic counts as imbalanced: %d", c.PreferredReplicaImbalanceCount)
	}
	c.DequeueTopicDeletion("orders")
	if c.IsQueued("orders") || c.PreferredReplicaImbalanceCount != 1 {
		t.Errorf("after the marker went: queued %t, imbalance %d", c.IsQueued("orders"), c.PreferredReplicaImbalanceCount)
	}
	c.RemoveTopic("orders")
	if c.KnowsTopic("orders") || c.ReplicaState(Replica{tp, 2}) != OnlineReplica {
		t.Error("RemoveTopic keeps the states of replicas and forgets the topic")
	}
	c.DropTopic("orders")
	if c.Topic("orders") != nil || c.OfflinePartitionCount != 0 {
		t.Errorf("after DropTopic: %v, offline %d", c.Topic("orders"), c.OfflinePartitionCount)
	}
}

func TestTopicIDsAreOneToOne(t *testing.T) {
	c := NewCluster()
	c.AddTopic("a")
	c.AddTopic("b")
	if err := c.SetTopicID("a", Uuid{1}); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []struct {
		topic string
		id    Uuid
	}{{"a", Uuid{2}}, {"b", Uuid{1}}, {"c", Uuid{3}}} {
		if err := c.SetTopicID(refused.topic, refused.id); err == nil {
			t.Errorf("topic %s took the id %s", refused.topic, refused.id)
		}
	}
	if c.TopicName(Uuid{1}) != "a" || c.TopicName(Uuid{3}) != "" {
		t.Errorf("names %q, %q", c.TopicName(Uuid{1}), c.TopicName(Uuid{3}))
	}
	c.PutTopicID("b", Uuid{1}) // a tree may hold an id twice
	if c.Topic("b").ID != (Uuid{1}) || c.TopicName(Uuid{1}) != "a" {
		t.Error("PutTopicID takes any id and leaves the names alone")
	}
}
