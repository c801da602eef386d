package shadow

import (
	"testing"

	"kstate/engine"
	"kstate/model"
)

// tour is the course of the recorded tour, with all that can happen on a cluster
// and no part of it visible but the tree.
func tour(s *scene) {
	s.step("topics are created", func() {
		s.topic("orders", []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
		s.pass(100)
		s.topic("clicks", []int32{1, 2}, []int32{2, 1})
		s.create(model.TopicConfigPath("unclean"), model.EncodeConfig(map[string]string{uncleanKey: "true"}))
		s.topic("unclean", []int32{2, 3})
	})
	s.step("broker 2 dies", func() { s.kill(2) })
	s.step("orders is deleted", func() { s.create(model.DeleteTopicPath("orders"), nil) })
	s.step("broker 2 returns", func() {
		s.start(2)
		s.pass(200)
		s.propose("clicks", 0, 1, 2)
		s.propose("clicks", 1, 1, 2)
		s.propose("unclean", 0, 3, 2)
	})
	s.step("preferred election by the znode", func() {
		s.create(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection([]model.TopicPartition{model.TP("clicks", 0), model.TP("clicks", 1), model.TP("unclean", 0)}))
	})
	s.step("reassignment by the znode", func() {
		s.create(model.ReassignPartitionsPath, model.EncodeReassignPartitions([]model.PartitionReassignment{{TopicPartition: model.TP("clicks", 0), Replicas: []int32{2, 3}}}))
		s.pass(300)
		s.propose("clicks", 0, 1, 2, 3)
	})
	s.step("broker 3 dies", func() { s.kill(3) })
	s.step("broker 2 dies too", func() { s.kill(2) })
	s.step("broker 3 returns", func() { s.start(3) })
	s.step("broker 2 returns again", func() {
		s.start(2)
		s.pass(300)
		s.propose("clicks", 0, 2, 3)
		s.propose("clicks", 1, 1, 2)
		s.propose("unclean", 0, 3, 2)
	})
	s.step("broker 3 shuts down", func() {
		s.shutDown(3)
		s.pass(500)
		s.kill(3)
	})
}

func TestTheTourIsFollowed(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.attach()
	tour(s)
}

// The mirror may read a znode only when it has been written again: what was in
// between is never seen.
func TestTheTourIsFollowedBehindASlowMirror(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.attach()
	s.blind = true
	tour(s)
}

func TestRequestsOverTheWireAreFollowed(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.topic("t", []int32{1, 2}, []int32{2, 3})
	s.topic("u", []int32{2}, []int32{3, 1})
	s.attach()
	s.step("a partition is added", func() { s.grow("t", 3, 1) })
	s.step("broker 1 shuts down", func() { s.shutDown(1) })
	s.step("broker 1 is gone", func() { s.kill(1) })
	s.step("broker 1 is back", func() {
		s.start(1)
		s.pass(200)
		s.propose("t", 0, 2, 1)
		s.propose("u", 1, 3, 1)
		s.propose("t", 2, 3, 1)
	})
	s.step("preferred election", func() {
		s.ask(&model.ElectLeaders{Type: model.PreferredElection, Partitions: []model.TopicPartition{model.TP("t", 0)}})
	})
	s.step("reassignment", func() {
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: model.TP("t", 1), Target: []int32{1, 3}}}})
		s.pass(200)
		s.propose("t", 1, 2, 3, 1)
	})
	s.step("reassignment is cancelled", func() {
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: model.TP("t", 0), Target: []int32{1, 3}}}})
		s.pass(200)
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: model.TP("t", 0), Cancel: true}}})
	})
	s.step("the only replica dies", func() { s.kill(2) })
	s.propose("u", 1, 3)
	s.step("broker 3 dies", func() { s.kill(3) })
	s.step("unclean election", func() {
		s.ask(&model.ElectLeaders{Type: model.UncleanElection, Partitions: []model.TopicPartition{model.TP("u", 1)}})
	})
}

func TestADeletionIsInferred(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.topic("t", []int32{1, 2}, []int32{2, 3})
	s.attach()
	s.step("it is deleted", func() { s.create(model.DeleteTopicPath("t"), nil) })
	for text, want := range map[string]bool{
		"t-0 OnlinePartition>OfflinePartition":                   false,
		"t-0@1 OfflineReplica>ReplicaDeletionStarted":            false,
		"t-0@1 ReplicaDeletionStarted>ReplicaDeletionSuccessful": true,
		"t-1@3 ReplicaDeletionSuccessful>NonExistentReplica":     true,
	} {
		if s.marks(text) != want {
			t.Errorf("%s: inferred %v, want %v", text, !want, want)
		}
	}
}

// A broker that does not answer is taken to have answered, but not for ever.
func TestAnAssumedAnswerIsTakenBack(t *testing.T) {
	s := newScene(t, nil, 1, 2)
	s.topic("t", []int32{1, 2})
	s.attach()
	s.mute[2] = true
	s.create(model.DeleteTopicPath("t"), nil)
	s.pass(10_000)
	if len(s.news.Divergences) > 0 || s.marked["t-0@2 ReplicaDeletionStarted>ReplicaDeletionSuccessful"] {
		t.Errorf("too soon: %v, told %v", s.news.Divergences, s.told)
	}
	s.pass(10_000)
	if len(s.news.Divergences) != 1 || s.news.Divergences[0].Topic != "t" {
		t.Errorf("not taken back: %v", s.news.Divergences)
	}
	s.pass(10_000)
	if counts := s.f.state().Deleting["t"]; counts[model.ReplicaDeletionStarted] != 2 {
		t.Errorf("replicas by state: %v", counts)
	}
	s.did, s.told = nil, nil
	s.mute[2] = false
	v := s.real.View()
	s.world.Push(&model.Responded{Broker: 2, Request: &model.StopReplicaRequest{Callback: true, Entries: []model.StopReplicaEntry{{TopicPartition: model.TP("t", 0), Delete: true}}},
		Response: model.ControlResponse{Partitions: []model.PartitionError{{TopicPartition: model.TP("t", 0)}}}})
	_ = v
	s.pass(2_000)
	for _, b := range []string{"1", "2"} {
		s.marks("t-0@" + b + " ReplicaDeletionStarted>ReplicaDeletionSuccessful")
		s.marks("t-0@" + b + " ReplicaDeletionSuccessful>NonExistentReplica")
	}
}

// A controller that does something else is believed.
func TestADivergenceIsAdopted(t *testing.T) {
	s := newScene(t, func(c *engine.Config) { c.BrokerConfig = map[string]string{uncleanKey: "true"} }, 1, 2)
	s.topic("t", []int32{1, 2})
	s.attach()
	s.step("broker 2 dies", func() { s.kill(2) })
	s.did, s.told, s.news = nil, nil, News{}
	// The follower's engine does not know that unclean election is on.
	s.kill(1)
	s.pass(300)
	s.start(2)
	s.pass(20_000)
	if p := s.f.eng.View().Partition(model.TP("t", 0)); p.State != model.OnlinePartition || p.Leadership.Leader != 2 {
		t.Errorf("the follower has %v, %v; divergences %v", p.State, p.Leadership, s.news.Divergences)
	}
}

// Somebody writes a state znode that no controller would write.
func TestAPlantedDivergence(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.topic("t", []int32{1, 2, 3})
	s.attach()
	path := model.TopicPartitionStatePath(model.TP("t", 0))
	s.set(path, model.EncodePartitionState(model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.LeaderAndIsr{Leader: 3, LeaderEpoch: 7, ISR: []int32{1, 2, 3}}, ControllerEpoch: 1}))
	s.pass(12_000)
	if len(s.news.Divergences) == 0 || s.news.Divergences[0].Subject != "t-0" {
		t.Errorf("divergences %v", s.news.Divergences)
	}
	if l := s.f.eng.View().Leadership(model.TP("t", 0)); l.Leader != 3 || l.LeaderEpoch != 7 {
		t.Errorf("the follower has %v", l)
	}
	if st := s.f.state(); !st.Following || len(st.Diverged) != 1 {
		t.Errorf("status %+v", st)
	}
}

// A controller that does nothing is waited for, then its event is given up and
// not told; when it wakes, it is followed again.
func TestASilentControllerIsWaitedFor(t *testing.T) {
	for name, suspect := range map[string]bool{"suspected": true, "not suspected": false} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil, 1, 2)
			s.topic("t", []int32{1, 2})
			s.attach()
			s.stopped = true
			s.kill(1)
			s.pass(4_000)
			s.f.suspect = suspect
			s.pass(21_000)
			if len(s.told) > 0 {
				t.Errorf("told although nothing happened: %v", s.told)
			}
			s.stopped, s.f.suspect = false, false
			s.pass(8_000)
			if l := s.f.eng.View(); l.PartitionState(model.TP("t", 0)) != model.OnlinePartition || l.Leadership(model.TP("t", 0)).Leader != 2 {
				t.Errorf("after it woke: %v", l.Leadership(model.TP("t", 0)))
			}
			if suspect {
				s.marks("t-0 OfflinePartition>OnlinePartition")
				s.marks("t-0@1 OnlineReplica>OfflineReplica")
			}
		})
	}
}

// A new controller's takeover is told, and the old one's term is over.
func TestANewTermIsFollowed(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.topic("t", []int32{2, 3}, []int32{3, 1})
	s.attach()
	old := s.f.term
	s.step("another term", func() {
		s.world.Expire()
		s.kill(3)
		s.run()
		s.pass(500)
		s.world.Renew()
	})
	if s.f.term != old+1 {
		t.Errorf("follows term %d after %d", s.f.term, old)
	}
}

// A controller with delete.topic.enable=false drops the marker.
func TestADroppedMarker(t *testing.T) {
	s := newScene(t, func(c *engine.Config) { c.DeleteTopicEnable = false }, 1, 2)
	s.topic("t", []int32{1, 2})
	s.attach()
	for range 2 {
		s.create(model.DeleteTopicPath("t"), nil)
		s.pass(15_000)
	}
	if len(s.told) > 0 || len(s.news.Divergences) > 0 || s.f.eng.View().IsQueued("t") {
		t.Errorf("told %v, diverged %v", s.told, s.news.Divergences)
	}
}

// Changes that were missed begin a new picture.
func TestALostConnectionBeginsAnew(t *testing.T) {
	s := newScene(t, nil, 1, 2)
	s.topic("t", []int32{1, 2})
	s.attach()
	s.f.feed([]Change{{Mark: Lost}}, s.now)
	s.advance()
	if st := s.f.state(); st.Following {
		t.Error("follows although changes are missed")
	}
	s.kill(2)
	s.run()
	s.f.feed([]Change{{Mark: Synced}}, s.now)
	s.pass(1_000)
	if st := s.f.state(); !st.Following || s.f.eng.View().IsLive(2) {
		t.Errorf("status %+v", st)
	}
	if len(s.told) > 0 {
		t.Errorf("told of what was missed: %v", s.told)
	}
	s.step("broker 2 returns", func() { s.start(2) })
}
