package engine_test

import (
	"slices"
	"strings"
	"testing"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// This file holds facts that no case of the conformance tables holds; each test
// names its facts.

// said tells whether one of the latest steps contains the text, since mark.
func (s *stage) said(text string, since int) bool {
	return slices.ContainsFunc(s.taken[since:], func(x model.Step) bool { return strings.Contains(x.String(), text) })
}

func (s *stage) sends(since int) int {
	n := 0
	for _, x := range s.taken[since:] {
		if _, ok := x.(*model.Send); ok {
			n++
		}
	}
	return n
}

func registration(b int32, e model.Endpoint, rack string, features map[string]model.VersionRange) []byte {
	return model.EncodeBroker(&model.Broker{ID: b, Endpoints: []model.Endpoint{e}, Rack: rack, Features: features}, 5, -1, 1)
}

func plain(b int32) model.Endpoint {
	return model.Endpoint{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092 + b}
}

// 2.11: a refused registration of the controller is its own if the znodes say so.
func TestALostAnswerDoesNotLoseTheElection(t *testing.T) {
	s := bareStage(t, nil)
	for _, p := range model.PersistentPaths() {
		s.put(p, nil)
	}
	s.arm(&injection{purpose: "controller_epoch", act: func(c *model.Call) *model.Result {
		r := s.world.Perform(c)
		for i := range r.Ops {
			r.Ops[i] = model.OpResult{Code: model.CodeConnectionLoss}
		}
		return &r
	}})
	s.begin()
	_, stat, _ := s.read(model.ControllerEpochPath)
	if v := s.engine.View(); !s.engine.IsActive() || v.Epoch != 1 || v.EpochZkVersion != stat.Version {
		t.Fatalf("active %t, epoch %d, version %d; the znode has version %d", s.engine.IsActive(), v.Epoch, v.EpochZkVersion, stat.Version)
	}
}

// 2.33, C2, C19, Q1: what a failed move left in a machine's batch makes every
// later move of that machine fail, in the next term too (KAFKA-12315).
func TestLeftoversOutliveTheTerm(t *testing.T) {
	for _, mended := range []bool{false, true} {
		s := newStage(t, func(c *engine.Config) { c.Mend.ClearBatches = mended }, 1, 2, 3)
		orders(s)
		s.inv.Fault("a fence fails")
		s.arm(&injection{purpose: "update_state", act: func(c *model.Call) *model.Result {
			s.usurp()
			return nil
		}})
		s.kill(3) // it leads nothing: the replica machine stops it and then finds the fence broken
		s.run()
		if s.engine.IsActive() {
			t.Fatal("still active behind another controller")
		}
		s.store.Expire(s.usurper)
		s.run()
		s.create("later", []int32{1, 2})
		s.run()
		state := s.engine.View().ReplicaState(model.Replica{TopicPartition: tp0("later"), Broker: 1})
		if mended != (state == model.OnlineReplica) {
			t.Errorf("mended %t: the replica is in %q", mended, state)
		}
		if !s.said("KAFKA-12315", 0) && !mended {
			t.Error("it is not said")
		}
	}
}

// 2.34, C19: disorder in the controller's own batch makes it give the role up;
// nobody else being there, it takes it again, with a clean batch. 2.19: if
// another one holds the role already, nothing of the term is undone.
func TestDisorderInTheOwnBatch(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	engine.LeaveInOwnBatch(s.engine)
	s.inv.Fault("something is left in the own batch")
	s.start(4)
	s.run()
	if v := s.engine.View(); !s.engine.IsActive() || v.Epoch != 2 || v.Broker(4) == nil {
		t.Fatalf("active %t, epoch %d", s.engine.IsActive(), v.Epoch)
	}
	engine.LeaveInOwnBatch(s.engine)
	s.kill(4)
	s.usurp()
	s.run()
	if v := s.engine.View(); s.engine.IsActive() || v.Epoch != 2 || v.Broker(4) != nil {
		t.Fatalf("active %t, epoch %d: the term should be left as it is", s.engine.IsActive(), v.Epoch)
	}
	mark := len(s.taken)
	s.store.Expire(s.usurper)
	s.run()
	v := s.engine.View()
	if !s.engine.IsActive() || v.Epoch != 5 || !s.said("already been started", mark) { // 3 was the usurper's, 4 failed
		t.Fatalf("active %t, epoch %d", s.engine.IsActive(), v.Epoch)
	}
}

// 2.39: a registration that another session holds ends the event: the process
// does not run for the role.
func TestARefusedRegistrationEndsTheEvent(t *testing.T) {
	s := newStage(t, func(c *engine.Config) { c.Registration = registration(1000, plain(1000), "", nil) }, 1)
	s.world.Expire()
	s.run()
	s.start(1000) // of another session
	s.world.Renew()
	s.run()
	if s.engine.IsActive() || s.has(model.ControllerPath) {
		t.Fatal("it took the role")
	}
	if len(s.failed) == 0 {
		t.Fatal("no event failed")
	}
}

// N23: a controller whose epoch was raised by hand stays in its role, and each
// write of it fails.
func TestAnEpochRaisedByHandMakesAZombie(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	s.apply(zkserver.Set(model.ControllerEpochPath, []byte("7"), -1))
	s.inv.Fault("the epoch was raised by hand")
	for _, topic := range []string{"orders", "payments"} {
		s.create(topic, []int32{1, 2})
		s.run()
		if s.has(model.TopicPartitionStatePath(tp0(topic))) || !s.engine.IsActive() {
			t.Fatalf("%s: state written, or the role lost", topic)
		}
	}
	if len(s.failed) < 2 {
		t.Fatalf("failed: %v", s.failed)
	}
}

// 6.15: a broker that does not support a finalized feature gets a channel and
// counts as new at each change, but is never live; its channel outlives it.
func TestAnIncompatibleBrokerIsNewForEver(t *testing.T) {
	s := bareStage(t, func(c *engine.Config) { c.Features = map[string]model.VersionRange{"f": {Min: 1, Max: 3}} })
	for _, p := range model.PersistentPaths() {
		s.put(p, nil)
	}
	s.put(model.FeaturePath, model.EncodeFeatures(model.FinalizedFeatures{Version: 2, Status: model.FeaturesEnabled, Features: map[string]int16{"f": 2}}))
	s.begin()
	for range 2 {
		mark := len(s.taken)
		s.bounce(1) // it has no features
		s.run()
		if s.engine.View().Broker(1) != nil || !s.said("newly added brokers: [1]", mark) {
			t.Fatal("the broker is known, or not new")
		}
	}
	s.kill(1)
	s.run()
	if !s.world.Links[1] {
		t.Fatal("the channel was dropped")
	}
}

// 6.41, 6.42: changed endpoints are told to all brokers and keep the channel; a
// changed rack is not noticed.
func TestARackAloneIsIgnored(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	mark := len(s.taken)
	s.apply(zkserver.Set(model.BrokerIDPath(1), registration(1, plain(1), "r1", nil), -1))
	s.run()
	if s.sends(mark) > 0 || s.engine.View().Broker(1).Rack != "" {
		t.Fatal("the rack was noticed")
	}
	s.apply(zkserver.Set(model.BrokerIDPath(1), registration(1, plain(100), "r1", nil), -1))
	s.run()
	if s.sends(mark) != 2 || s.said("link", mark) {
		t.Fatalf("%d requests", s.sends(mark))
	}
	if b := s.engine.View().Broker(1); b.Rack != "r1" || b.Endpoints[0].Port != 9192 {
		t.Fatalf("%+v", b)
	}
}

// 7.47: a topic deleted in the middle of a reassignment leaves its mark behind;
// one of that name then goes through one spurious completion.
func TestADeletedReassignmentHauntsTheNextTopic(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3, 4)
	orders(s)
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Target: []int32{4, 1}}}})
	s.run()
	s.mark("orders")
	s.run()
	if s.has(model.TopicPath("orders")) || !s.engine.View().IsBeingReassigned(tp0("orders")) {
		t.Fatal("not deleted, or the mark is gone")
	}
	orders(s)
	epoch := s.engine.View().Leadership(tp0("orders")).LeaderEpoch
	s.propose(tp0("orders"), []int32{1, 2})
	s.run()
	if v := s.engine.View(); v.IsBeingReassigned(tp0("orders")) || v.Leadership(tp0("orders")).LeaderEpoch != epoch+1 {
		t.Fatalf("marked %t, leader epoch %d after %d", v.IsBeingReassigned(tp0("orders")), v.Leadership(tp0("orders")).LeaderEpoch, epoch)
	}
}

// 8.53: only the creation of the znode is watched.
func TestAnOverwrittenReassignmentIsNotNoticed(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3, 4)
	orders(s)
	write := func(target ...int32) {
		s.put(model.ReassignPartitionsPath, model.EncodeReassignPartitions([]model.PartitionReassignment{{TopicPartition: tp0("orders"), Replicas: target}}))
		s.run()
	}
	write(4, 1)
	write(3, 1)
	if a := s.engine.View().Assignment(tp0("orders")); !slices.Equal(a.Adding, []int32{4}) {
		t.Fatalf("assignment %+v", a)
	}
	s.renew()
	if a := s.engine.View().Assignment(tp0("orders")); slices.Contains(a.Replicas, 4) {
		t.Fatalf("assignment %+v after a failover", a)
	}
}

// 8.73: a partition without a state znode takes its new assignment, and the
// request fails; the added replica has no state (an exception to INV25).
func TestAReassignmentWithoutALeaderIsHalfDone(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.create("orders", []int32{9})
	s.run()
	id := s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Target: []int32{1}}}})
	s.run()
	a := s.answers[id].(*model.AlterPartitionReassignmentsAnswer)
	v := s.engine.View()
	if a.Partitions[0].Error != model.ErrUnknownServerError || !slices.Equal(v.Assignment(tp0("orders")).Replicas, []int32{1, 9}) || !v.IsBeingReassigned(tp0("orders")) {
		t.Fatalf("%+v, assignment %+v", a, v.Assignment(tp0("orders")))
	}
	if st := v.ReplicaState(model.Replica{TopicPartition: tp0("orders"), Broker: 1}); st != model.NoReplicaState {
		t.Fatalf("the added replica is in %s", st)
	}
	s.mark("orders") // N22: the deletion fails on the replica without a state
	s.run()
	if len(s.failed) == 0 || !s.has(model.DeleteTopicPath("orders")) {
		t.Fatalf("failed: %v", s.failed)
	}
}

// 8.73: once the added replica leads, taking such a reassignment back finds no state
// to take it out of: it goes on leading a partition that is not assigned to it. When
// its broker has been away, memory has the partition offline, since no assigned
// replica is in the ISR; a new controller asks only whether the leader lives.
func TestAReassignmentTakenBackLeavesAForeignLeader(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.create("orders", []int32{9})
	s.run()
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Target: []int32{1}}}})
	s.run()
	s.bounce(2) // partitions without a leader are tried again: replica 1 is elected
	s.run()
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Cancel: true}}})
	s.run()
	is := func(want model.PartitionState, when string) {
		t.Helper()
		v := s.engine.View()
		p := v.Partition(tp0("orders"))
		if l := p.Leadership; p.State != want || l == nil || l.Leader != 1 || !slices.Equal(p.Assignment.Replicas, []int32{9}) || p.Reassigning {
			t.Fatalf("%s: %s %+v, leadership %+v", when, p.State, *p.Assignment, l)
		}
	}
	is(model.OnlinePartition, "taken back")
	s.kill(1)
	s.run()
	s.start(1)
	s.run()
	is(model.OfflinePartition, "the leader was away")
	s.renew()
	is(model.OnlinePartition, "a new controller")
}

// 2.14, 8.73: a new controller that finds a reassignment of a partition without a
// state znode and without a live replica fails on it, and so does the next one;
// the topic's znode has to be mended.
func TestAReassignmentWithoutALeaderStopsEveryController(t *testing.T) {
	s := newStage(t, nil, 1)
	s.create("orders", []int32{9})
	s.run()
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Target: []int32{1}}}})
	s.run()
	s.world.Expire()
	s.run()
	s.kill(1)
	s.world.Renew()
	if s.steps(2000) || !s.said("no controller can start", 0) {
		t.Fatal("a new controller comes to rest, or does not say what stops it")
	}
	s.create("orders", []int32{9}) // without the reassignment
	s.run()
	if !s.engine.IsActive() {
		t.Fatal("no controller after the znode was mended")
	}
}

// 9.06: an election for a partition that never had a leader is never answered;
// asked for by znode, it leaves the znode. 9.11: such a znode stops every new
// controller until somebody deletes it.
func TestAPartitionThatNeverHadALeaderBreaksElections(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.create("orders", []int32{9})
	s.run()
	id := s.ask(&model.ElectLeaders{Type: model.PreferredElection, Partitions: []model.TopicPartition{tp0("orders")}})
	s.run()
	if s.answered[id] > 0 || len(s.failed) != 1 {
		t.Fatalf("answered, or failed: %v", s.failed)
	}
	s.put(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection([]model.TopicPartition{tp0("orders")}))
	s.run()
	if !s.has(model.PreferredReplicaElectionPath) {
		t.Fatal("the znode is gone")
	}
	s.world.Expire()
	s.run()
	s.world.Renew()
	if s.steps(2000) || !s.said("no controller can start", 0) {
		t.Fatal("a new controller comes to rest, or does not say what stops it")
	}
	s.remove(model.PreferredReplicaElectionPath)
	s.run()
	if !s.engine.IsActive() {
		t.Fatal("no controller after the znode is gone")
	}
}

// 11.45, 11.46: what is refused, and that valid updates are written together.
func TestFeatureUpdates(t *testing.T) {
	s := bareStage(t, func(c *engine.Config) {
		c.Features = map[string]model.VersionRange{"f": {Min: 1, Max: 5}, "g": {Min: 1, Max: 5}}
	})
	for _, p := range model.PersistentPaths() {
		s.put(p, nil)
	}
	s.put(model.FeaturePath, model.EncodeFeatures(model.FinalizedFeatures{Version: 2, Status: model.FeaturesEnabled, Features: map[string]int16{"f": 2}}))
	session, _ := s.store.CreateSession(1 << 40)
	s.store.Apply(session, zkserver.Create(model.BrokerIDPath(1), registration(1, plain(1), "", map[string]model.VersionRange{"f": {Min: 1, Max: 3}}), zkserver.Ephemeral))
	s.begin()
	refused := []model.FeatureUpdate{
		{Feature: "", MaxLevel: 1, Type: model.Upgrade},
		{Feature: "f", MaxLevel: 3, Type: model.UpgradeUnknown},
		{Feature: "g", MaxLevel: 0, Type: model.SafeDowngrade}, // not finalized
		{Feature: "f", MaxLevel: 0, Type: model.Upgrade},
		{Feature: "f", MaxLevel: 2, Type: model.Upgrade},         // the same
		{Feature: "f", MaxLevel: 1, Type: model.Upgrade},         // lower
		{Feature: "f", MaxLevel: 3, Type: model.SafeDowngrade},   // higher
		{Feature: "h", MaxLevel: 1, Type: model.Upgrade},         // not the controller's
		{Feature: "f", MaxLevel: 9, Type: model.Upgrade},         // out of range
		{Feature: "f", MaxLevel: 4, Type: model.Upgrade},         // beyond broker 1
		{Feature: "g", MaxLevel: 1, Type: model.Upgrade},         // unknown to broker 1
		{Feature: "f", MaxLevel: 1, Type: model.UnsafeDowngrade}, // not safe
		{Feature: "f", MaxLevel: 3, Type: model.UnsafeDowngrade}, // higher
		{Feature: "f", MaxLevel: 0, Type: model.UpgradeUnknown},  // no deletion
	}
	id := s.ask(&model.UpdateFeatures{Updates: append(slices.Clone(refused), model.FeatureUpdate{Feature: "f", MaxLevel: 3, Type: model.Upgrade})})
	s.run()
	a := s.answers[id].(*model.UpdateFeaturesAnswer)
	for i, u := range refused {
		if a.Features[i].Error != model.ErrInvalidRequest || a.Features[i].Message == "" {
			t.Errorf("%+v: %+v", u, a.Features[i])
		}
		if u.MaxLevel < 1 && u.Type == model.Upgrade && !strings.Contains(a.Features[i].Message, "less than 1 without a downgrade") {
			t.Errorf("%+v: %s", u, a.Features[i].Message)
		}
	}
	if last := a.Features[len(refused)]; last.Error != model.ErrNone {
		t.Errorf("the valid one: %+v", last)
	}
	level := func() int16 {
		data, _, _ := s.read(model.FeaturePath)
		f, err := model.DecodeFeatures(model.FeaturePath, data)
		if err != nil {
			t.Fatal(err)
		}
		return f.Features["f"]
	}
	if level() != 3 {
		t.Fatalf("level %d", level())
	}
	s.arm(&injection{purpose: "write_feature", act: func(c *model.Call) *model.Result {
		return &model.Result{Ops: []model.OpResult{{Code: model.CodeNoAuth}}}
	}})
	id = s.ask(&model.UpdateFeatures{Updates: []model.FeatureUpdate{{Feature: "f", MaxLevel: 0, Type: model.SafeDowngrade}}})
	s.run()
	if a := s.answers[id].(*model.UpdateFeaturesAnswer); a.Features[0].Error != model.ErrFeatureUpdateFailed || level() != 3 {
		t.Fatalf("%+v, level %d", a, level())
	}
}

// B16, N8: a topic setting that does not parse makes the look-up fail for all
// partitions of the call; they stay as they are.
func TestAnUnparsableTopicSettingBlocksElections(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	lost(s)
	s.config("orders", "retention.ms", "soon")
	s.config("payments", "unclean.leader.election.enable", "true")
	s.world.Push(&model.UncleanEnabled{})
	s.run()
	for _, topic := range []string{"orders", "payments"} {
		if st := s.engine.View().PartitionState(tp0(topic)); st != model.OfflinePartition {
			t.Fatalf("%s is in %s", topic, st)
		}
	}
	s.config("orders", "retention.ms", "1000")
	s.world.Push(&model.UncleanEnabled{})
	s.run()
	if st := s.engine.View().PartitionState(tp0("payments")); st != model.OnlinePartition {
		t.Fatalf("payments is in %s", st)
	}
	s.check("in the end")
}

// 12.03: a new broker without the controller's listener makes the event fail.
// C11, C18, N14, 12.23: a known one that loses it makes each flush fail whose
// requests name it as a leader; what is in ZooKeeper stays there.
func TestALeaderWithoutTheListener(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	foreign := model.Endpoint{Listener: "OTHER", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 1}
	session, _ := s.store.CreateSession(1 << 40)
	s.store.Apply(session, zkserver.Create(model.BrokerIDPath(4), registration(4, foreign, "", nil), zkserver.Ephemeral))
	s.run()
	if len(s.failed) != 1 || s.engine.View().Broker(4) != nil {
		t.Fatalf("failed: %v", s.failed)
	}
	s.store.Expire(session)
	s.run()
	s.inv.Fault("a flush fails")
	s.apply(zkserver.Set(model.BrokerIDPath(2), registration(2, foreign, "", nil), -1))
	s.run()
	mark := len(s.taken)
	s.create("a", []int32{1})
	s.create("b", []int32{2})
	s.run()
	if !s.has(model.TopicPartitionStatePath(tp0("b"))) || s.sends(mark) != 1 {
		t.Fatalf("nothing written, or %d requests", s.sends(mark))
	}
	open := s.engine.OpenRequests(10)
	if open == nil || open.Total != 4 { // what was sent to broker 1 is left as well, and the metadata of both
		t.Fatalf("left: %+v", open)
	}
}
