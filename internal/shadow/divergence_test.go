package shadow

import (
	"slices"
	"strings"
	"testing"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// plant writes a state znode as some controller may.
func (s *scene) plant(topic string, leader, epoch int32, isr ...int32) {
	s.t.Helper()
	s.set(model.TopicPartitionStatePath(model.TP(topic, 0)), model.EncodePartitionState(model.LeaderIsrAndControllerEpoch{
		LeaderAndIsr: model.LeaderAndIsr{Leader: leader, LeaderEpoch: epoch, ISR: isr}, ControllerEpoch: s.f.term}))
}

// Another leader than the expected one is taken over, and the subject marked.
func TestAnotherLeaderIsAdopted(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.topic("t", []int32{2, 3, 1})
	s.attach()
	s.stopped = true
	s.kill(2)
	s.plant("t", 1, 1, 1, 3)
	s.pass(3_000)
	if d := s.news.Divergences; len(d) != 1 || d[0].Subject != "t-0" || d[0].Text != "expected leader 3, ISR 3,1, leader epoch 1, and there came leader 1, ISR 1,3, leader epoch 1" {
		t.Fatalf("divergences %v", d)
	}
	if l := s.f.eng.View().Leadership(model.TP("t", 0)); l.Leader != 1 {
		t.Errorf("the follower has %v", l)
	}
	if !s.marks("t-0 OfflinePartition>OnlinePartition") {
		t.Error("a transition of a diverged partition is told as seen")
	}
	if st := s.f.state(); !st.Following || len(st.Diverged) != 1 {
		t.Errorf("status %+v", st)
	}
}

// The topic of a deletion that waited is taken away by hand.
func TestATopicThatGoes(t *testing.T) {
	s := newScene(t, nil, 1, 2)
	s.topic("t", []int32{1, 2})
	s.attach()
	s.step("broker 2 dies", func() { s.kill(2) })
	s.step("the deletion waits", func() { s.create(model.DeleteTopicPath("t"), nil) })
	s.told, s.did = nil, nil
	s.stopped = true
	tp := model.TP("t", 0)
	for _, path := range []string{model.TopicPartitionStatePath(tp), model.TopicPartitionPath(tp), model.TopicPath("t") + "/partitions", model.TopicPath("t"), model.DeleteTopicPath("t")} {
		s.remove(path)
	}
	s.pass(3_000)
	for _, text := range []string{"t-0@1 ReplicaDeletionSuccessful>NonExistentReplica", "t-0@2 OfflineReplica>NonExistentReplica"} {
		if !s.marks(text) {
			t.Errorf("%s: told as seen", text)
		}
	}
	if s.f.eng.View().KnowsTopic("t") {
		t.Error("the topic is remembered")
	}
}

func TestUncleanElectionSwitchedOn(t *testing.T) {
	s := newScene(t, nil, 1, 2, 3)
	s.topic("t", []int32{1, 2})
	s.attach()
	s.step("broker 2 dies", func() { s.kill(2) })
	s.step("broker 1 dies", func() { s.kill(1) })
	s.step("broker 2 returns", func() { s.start(2) })
	s.step("the topic allows unclean elections", func() {
		s.create(model.TopicConfigPath("t"), model.EncodeConfig(map[string]string{uncleanKey: "true"}))
		s.world.Push(&model.UncleanEnabled{Topic: "t"}) // as the controller's broker learns of it
	})
}

// A tree on which no controller starts is not followed, and why is said; when it
// is mended, following goes on.
func TestATreeOnWhichNoControllerStarts(t *testing.T) {
	s := newScene(t, nil, 1, 2)
	s.topic("t", []int32{1, 2})
	s.run()
	s.stopped = true
	s.create(model.BrokerIDsPath+"/nobody", nil)
	s.stopped = false
	if c := s.store.Watch(s, "/", zkserver.RecursiveWatch); c != zkserver.OK {
		t.Fatal(c)
	}
	s.store.Walk("/", func(path string, _ []byte, _ zkserver.Stat) bool {
		s.paths = append(s.paths, path)
		return true
	})
	s.see()
	s.f.feed([]Change{{Mark: Synced}}, s.now)
	s.pass(500)
	if st := s.f.state(); st.Following || !strings.Contains(st.Why, "nobody") {
		t.Fatalf("status %+v", st)
	}
	if len(s.news.Notices) != 1 || s.news.Notices[0].Level != model.Warn {
		t.Errorf("notices %v", s.news.Notices)
	}
	s.remove(model.BrokerIDsPath + "/nobody")
	s.pass(20_000)
	if st := s.f.state(); !st.Following {
		t.Errorf("status %+v, notices %v", st, s.news.Notices)
	}
}

// The marker is dropped so late that the deletion was expected already.
func TestALateRefusal(t *testing.T) {
	s := newScene(t, func(c *engine.Config) { c.DeleteTopicEnable = false }, 1, 2)
	s.topic("t", []int32{1, 2})
	s.attach()
	s.stopped = true
	s.create(model.DeleteTopicPath("t"), nil)
	s.pass(1_000)
	s.stopped = false
	s.pass(20_000)
	if len(s.told) > 0 || s.f.eng.View().IsQueued("t") {
		t.Errorf("told %v, queued %v", s.told, s.f.eng.View().IsQueued("t"))
	}
	if !slices.ContainsFunc(s.news.Notices, func(n Notice) bool { return strings.Contains(n.Text, "delete.topic.enable") }) {
		t.Errorf("notices %v, divergences %v", s.news.Notices, s.news.Divergences)
	}
}

// A broker dies while replicas are being deleted on it: its answer is not
// assumed any more.
func TestABrokerDiesWhileItDeletes(t *testing.T) {
	s := newScene(t, nil, 1, 2)
	s.topic("t", []int32{1, 2})
	s.attach()
	s.mute[2] = true
	s.create(model.DeleteTopicPath("t"), nil)
	s.pass(1_000)
	s.kill(2)
	s.pass(2_000)
	if got := s.f.state().Deleting["t"]; got[model.OfflineReplica] != 1 || got[model.ReplicaDeletionSuccessful] != 1 {
		t.Errorf("replicas by state: %v; told %v, did %v", got, set(s.told), set(s.did))
	}
	s.mute[2] = false
	s.start(2)
	s.pass(3_000)
	if did, told := set(s.did), set(s.told); !slices.Equal(did, told) {
		t.Errorf("the controller did %s, the follower told %s", missing(did, told), missing(told, did))
	}
}
