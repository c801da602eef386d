package engine_test

import (
	"slices"
	"strings"
	"testing"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// Single facts about details that other tests pass over: orders, edges of
// conditions, what a failure leaves. Each fails when the engine does otherwise.

// when is the place of the first step with that text since mark; -1: there is none.
func (s *stage) when(text string, since int) int {
	return slices.IndexFunc(s.taken[since:], func(x model.Step) bool { return strings.Contains(x.String(), text) })
}

// inOrder fails unless steps with these texts came, in this order.
func (s *stage) inOrder(t *testing.T, since int, texts ...string) {
	t.Helper()
	last := -1
	for _, text := range texts {
		at := s.when(text, since)
		if at <= last {
			t.Errorf("%q is at %d, what comes before it at %d", text, at, last)
		}
		last = at
	}
}

// begun counts the events of a name since mark.
func (s *stage) begun(name string, since int) int {
	n := 0
	for _, x := range s.taken[since:] {
		if b, ok := x.(*model.Begin); ok && strings.HasPrefix(b.Event.Event.String(), name) {
			n++
		}
	}
	return n
}

// refusals counts the transitions of a partition that failed since mark.
func (s *stage) refusals(tp model.TopicPartition, since int) (why []string) {
	for _, x := range s.taken[since:] {
		if r, ok := x.(*model.RefusePartition); ok && r.TopicPartition == tp {
			why = append(why, r.Reason)
		}
	}
	return why
}

// 16.29: brokers that do not let the controller act (no CLUSTER_ACTION) answer
// CLUSTER_AUTHORIZATION_FAILED, for each partition of StopReplica too. It keeps the
// role and says so; a deletion halts with that error.
func TestBrokersThatDoNotLetTheControllerAct(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.refuse = model.ErrClusterAuthorizationFailed
	mark := len(s.taken)
	s.create("orders", []int32{1, 2})
	s.run()
	for _, text := range []string{"received error CLUSTER_AUTHORIZATION_FAILED in LeaderAndIsr response from broker 1", "received error CLUSTER_AUTHORIZATION_FAILED in UpdateMetadata response from broker 2"} {
		if !s.said(text, mark) {
			t.Errorf("it is not said: %s", text)
		}
	}
	s.mark("orders")
	s.run()
	v := s.engine.View()
	if !s.engine.IsActive() || v.IneligibleReason("orders") != model.ReplicaDeletionFailed || !s.has(model.TopicPath("orders")) {
		t.Fatalf("active %t, ineligible for %q", s.engine.IsActive(), v.IneligibleReason("orders"))
	}
	s.refuse = model.ErrNone
	s.bounce(1)
	s.run()
	if s.has(model.TopicPath("orders")) {
		t.Error("the topic is still there after the brokers give way")
	}
}

// 12.40: a top-level error in a LeaderAndIsr answer ends it: the partitions beside
// it, here with failed directories, are not looked at.
func TestATopLevelErrorHidesThePartitions(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.refuse = model.ErrStaleControllerEpoch
	s.badDirs[model.Replica{TopicPartition: tp0("orders"), Broker: 1}] = true
	s.create("orders", []int32{1, 2})
	s.run()
	if v := s.engine.View(); v.OnOfflineDir(1, tp0("orders")) || v.Leadership(tp0("orders")).Leader != 1 {
		t.Error("a partition of a refused request was looked at")
	}
}

// 16.41: real brokers write to ZooKeeper beside the controller. It watches all that
// they write, with either way of telling ISRs, and writes over no state but the one
// that it has read.
func TestWhatBrokersWriteIsWatchedAndNotWrittenOver(t *testing.T) {
	for _, ibp := range []model.InterBrokerProtocol{model.IBP_2_6_IV0, model.IBP_3_9_IV0} {
		s := bareStage(t, func(c *engine.Config) { c.IBP = ibp })
		for _, p := range model.PersistentPaths() {
			s.put(p, nil)
		}
		for b := range int32(3) {
			s.start(b + 1)
		}
		s.create("orders", []int32{1, 2})
		s.begin()
		armed := map[string]bool{}
		for _, c := range s.calls {
			for i := range c.Ops {
				if op := &c.Ops[i]; op.Watch {
					armed[op.Kind.String()+" "+op.Path] = true
				}
			}
		}
		for _, want := range []string{"exists " + model.ControllerPath, "children " + model.BrokerIDsPath, "exists " + model.BrokerIDPath(1), "children " + model.TopicsPath,
			"get " + model.TopicPath("orders"), "children " + model.DeleteTopicsPath, "children " + model.LogDirEventNotificationPath, "children " + model.IsrChangeNotificationPath,
			"exists " + model.PreferredReplicaElectionPath, "exists " + model.ReassignPartitionsPath} {
			if !armed[want] {
				t.Errorf("%v: no watch by %s", ibp, want)
			}
		}
		// The leader writes between the controller's read and its write.
		tp := tp0("orders")
		s.arm(&injection{purpose: "update_state", act: func(*model.Call) *model.Result {
			data, stat, _ := s.read(model.TopicPartitionStatePath(tp))
			l, _, err := model.DecodePartitionState("", data)
			if err != nil {
				t.Fatal(err)
			}
			l.ISR = []int32{1}
			s.apply(zkserver.Set(model.TopicPartitionStatePath(tp), model.EncodePartitionState(l), stat.Version))
			return nil
		}})
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp, Target: []int32{1, 3}}}})
		s.run()
		if l := s.engine.View().Leadership(tp); !slices.Equal(l.ISR, []int32{1}) || l.LeaderEpoch != 1 { // 14.03: the leader epoch is raised once
			t.Errorf("%v: the leader's ISR is lost: %+v", ibp, l)
		}
		watched := false
		for _, c := range s.calls {
			for i := range c.Ops {
				op := &c.Ops[i]
				state := model.ParsePath(op.Path).Kind == model.PartitionStateZnode
				watched = watched || state && op.Watch
				if state && op.Kind == model.OpSet && op.Version < 0 {
					t.Errorf("%v: %s is set whatever its version", ibp, op.Path)
				}
			}
		}
		if watched == ibp.AlterPartition() {
			t.Errorf("%v: the state of a moving partition is watched: %t", ibp, watched)
		}
	}
}

// 11.32: the block after the last one, whoever is faster; no data is the first
// block, empty data is none at all; the controller's epoch is no fence here. A
// missing znode is refused: Kafka's event thread would try for ever.
func TestProducerIDsBesideOthers(t *testing.T) {
	s := newStage(t, nil, 1)
	ask := func() *model.AllocateProducerIDsAnswer {
		id := s.ask(&model.AllocateProducerIDs{BrokerID: 1, BrokerEpoch: s.brokerEpoch(1)})
		s.run()
		return s.answers[id].(*model.AllocateProducerIDsAnswer)
	}
	s.arm(&injection{purpose: "set_producer_id_block", act: func(*model.Call) *model.Result { // another one takes it
		s.apply(zkserver.Set(model.ProducerIDBlockPath, model.EncodeProducerIDBlock(model.ProducerIDBlock{Broker: 9, Size: model.ProducerIDBlockSize}), -1))
		return nil
	}})
	if a := ask(); a.Error != model.ErrNone || a.Start != 1000 || a.Len != 1000 {
		t.Errorf("beside another: %+v", a)
	}
	s.apply(zkserver.Set(model.ControllerEpochPath, []byte("7"), -1))
	s.inv.Fault("the epoch was raised by hand")
	if a := ask(); a.Error != model.ErrNone || a.Start != 2000 {
		t.Errorf("behind a raised epoch: %+v", a)
	}
	s.apply(zkserver.Set(model.ProducerIDBlockPath, []byte{}, -1))
	if a := ask(); a.Error != model.ErrUnknownServerError {
		t.Errorf("of empty data: %+v", a)
	}
	s.remove(model.ProducerIDBlockPath)
	if a := ask(); a.Error != model.ErrUnknownServerError {
		t.Errorf("without the znode: %+v", a)
	}
}

// 7.21: entries of known partitions that changed, or are gone, are ignored.
func TestOnlyNewPartitionsOfATopicZnodeCount(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	s.create("orders", []int32{1, 2}, []int32{2, 1})
	s.run()
	mark := len(s.taken)
	s.put(model.TopicPath("orders"), model.EncodeTopic(assignmentOf("orders", []int32{3, 1})))
	s.run()
	v := s.engine.View()
	if a := v.Assignment(tp0("orders")); !slices.Equal(a.Replicas, []int32{1, 2}) || v.Partition(model.TP("orders", 1)) == nil || s.sends(mark) > 0 {
		t.Errorf("%+v, %d requests", a, s.sends(mark))
	}
}

// 7.23: partitions added to a topic that waits for its deletion are taken back:
// what has a znode stays, with the replicas that memory has.
func TestARestoredAssignmentIsThatOfMemory(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.create("orders", []int32{1, 2}, []int32{2, 1})
	s.run()
	s.kill(2)
	s.run()
	s.mark("orders") // it waits for broker 2
	s.run()
	s.remove(model.TopicPartitionPath(model.TP("orders", 1)))
	s.put(model.TopicPath("orders"), model.EncodeTopic(assignmentOf("orders", []int32{2, 1}, []int32{2, 1}, []int32{1, 2})))
	s.run()
	data, _, _ := s.read(model.TopicPath("orders"))
	a, _, err := model.DecodeTopic(model.TopicPath("orders"), data)
	if err != nil || len(a.Partitions) != 1 || !slices.Equal(a.Partitions[0].Replicas, []int32{1, 2}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// 8.46: a reassignment is completed after the answer to AlterPartition, and also
// when the ISR that was proposed is the one that is known already.
func TestAReassignmentIsCompletedAfterTheAnswer(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	s.create("orders", []int32{1, 2})
	s.run()
	tp := tp0("orders")
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp, Target: []int32{1, 3}}}})
	s.run()
	mark := len(s.taken)
	s.propose(tp, []int32{1, 2, 3})
	s.run()
	s.inOrder(t, mark, "reply", "move replica orders-0@3 NewReplica -> OnlineReplica")

	s.create("payments", []int32{1, 2})
	s.run()
	tp = tp0("payments")
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp, Target: []int32{1, 3}}}})
	s.run()
	reads := 0
	strike := func(*model.Call) *model.Result { // the look whether it is complete fails
		reads++
		return &model.Result{Code: model.CodeNoAuth}
	}
	s.inv.Fault("a read fails")
	s.arm(&injection{purpose: "update_state", act: func(*model.Call) *model.Result {
		s.arm(&injection{purpose: "get_state", act: func(*model.Call) *model.Result { // that of the new record passes
			s.arm(&injection{purpose: "get_state", act: strike})
			return nil
		}})
		return nil
	}})
	s.propose(tp, []int32{1, 2, 3})
	s.run()
	if v := s.engine.View(); reads != 1 || !v.IsBeingReassigned(tp) || len(v.Leadership(tp).ISR) != 3 {
		t.Fatalf("%d reads failed, reassigning %t, %+v", reads, v.IsBeingReassigned(tp), v.Leadership(tp))
	}
	s.propose(tp, []int32{1, 2, 3}) // nothing to change
	s.run()
	if s.engine.View().IsBeingReassigned(tp) {
		t.Error("an ISR that is known already completes nothing")
	}
}

// 2.18: the steps of the resignation come before /controller is deleted.
func TestTheRoleIsUndoneBeforeItIsGivenUp(t *testing.T) {
	s := newStage(t, nil, 1)
	engine.LeaveInOwnBatch(s.engine)
	s.inv.Fault("something is left in the own batch")
	mark := len(s.taken)
	s.start(2)
	s.run()
	s.inOrder(t, mark, "forcing the controller to resign", "log controller INFO resigned", "delete "+model.ControllerPath)
}

// C2: what is left is named by its kind, LeaderAndIsr before the others.
func TestLeftoversAreNamed(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.inv.Fault("a flush fails")
	s.apply(zkserver.Set(model.BrokerIDPath(2), registration(2, model.Endpoint{Listener: "OTHER", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 1}, "", nil), -1))
	s.run()
	s.create("a", []int32{2})
	s.run()
	mark := len(s.taken)
	s.create("b", []int32{1})
	s.run()
	if !s.said("LeaderAndIsr changes for brokers [2] might be lost", mark) {
		t.Error("what is left is not named")
	}
}

// 14.06: the end of a watched parent is no event of its children.
func TestADeletedParentIsNoEvent(t *testing.T) {
	s := newStage(t, nil, 1)
	mark := len(s.taken)
	s.apply(zkserver.Delete(model.DeleteTopicsPath, -1))
	s.run()
	if n := s.begun("TopicDeletion", mark); n != 0 {
		t.Errorf("%d events", n)
	}
}

// 3.08: of a broker's znode only changed data is an event.
func TestOnlyChangedDataModifiesABroker(t *testing.T) {
	s := newStage(t, nil, 1)
	mark := len(s.taken)
	for _, kind := range []model.WatchKind{model.NodeCreated, model.NodeDeleted} {
		s.world.Push(&model.WatchFired{Path: model.BrokerIDPath(1), Kind: kind})
		s.run()
	}
	if n := s.begun("BrokerModifications", mark); n != 0 {
		t.Errorf("%d events", n)
	}
	s.world.Push(&model.WatchFired{Path: model.BrokerIDPath(1), Kind: model.NodeDataChanged})
	s.run()
	if n := s.begun("BrokerModifications", mark); n != 1 {
		t.Errorf("%d events of changed data", n)
	}
}

// C12: metadata carries the ids of topics.
func TestMetadataCarriesTopicIDs(t *testing.T) {
	s := newStage(t, nil, 1)
	s.create("orders", []int32{1})
	s.run()
	id, told := s.engine.View().Topic("orders").ID, 0
	for _, x := range s.world.Sent {
		if r, ok := x.Request.(*model.UpdateMetadataRequest); ok {
			for _, e := range r.Entries {
				if told++; e.TopicID != id || id.IsZero() {
					t.Errorf("entry of topic %v, its id is %v", e.TopicID, id)
				}
			}
		}
	}
	if told == 0 {
		t.Error("no metadata was sent")
	}
}

// 2.55, H2, E28: a state written under a newer epoch than one's own, be it the next
// one, is left alone: by the raising of leader epochs, by the removal from ISRs, by
// elections. The role is not given up for that.
func TestAStateOfANewerControllerIsLeftAlone(t *testing.T) {
	tp := tp0("orders")
	for name, happen := range map[string]func(*stage){
		"epoch": func(s *stage) {
			s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp, Target: []int32{1, 2, 3}}}})
		},
		"isr":      func(s *stage) { s.kill(2) },
		"election": func(s *stage) { s.kill(1) },
	} {
		s := newStage(t, nil, 1, 2, 3)
		s.create("orders", []int32{1, 2})
		s.run()
		data, stat, _ := s.read(model.TopicPartitionStatePath(tp))
		l, _, err := model.DecodePartitionState("", data)
		if err != nil {
			t.Fatal(err)
		}
		l.ControllerEpoch++
		s.apply(zkserver.Set(model.TopicPartitionStatePath(tp), model.EncodePartitionState(l), stat.Version))
		s.inv.Fault("a newer controller wrote")
		happen(s)
		s.run()
		if _, now, _ := s.read(model.TopicPartitionStatePath(tp)); now.Version != stat.Version+1 || !s.engine.IsActive() {
			t.Errorf("%s: the znode's version is %d after %d, active %t", name, now.Version, stat.Version+1, s.engine.IsActive())
		}
	}
}

// N9, F8: a topic's config that cannot be read is said, and then that no leader was
// found, since the record is withheld from the strategy.
func TestAConfigThatCannotBeReadIsSaidTwice(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	lost(s)
	s.inv.Fault("a read fails")
	mark := len(s.taken)
	s.arm(&injection{purpose: "get_config", act: func(c *model.Call) *model.Result {
		r := s.world.Perform(c)
		for i := range r.Ops {
			r.Ops[i] = model.OpResult{Code: model.CodeNoAuth}
		}
		return &r
	}})
	s.world.Push(&model.UncleanEnabled{})
	s.run()
	why := s.refusals(tp0("orders"), mark)
	if len(why) != 2 || !strings.Contains(why[0], "NOAUTH") || !strings.Contains(why[1], "the leadership record is not available") {
		t.Errorf("%q", why)
	}
}

// 9.10: what waits for a preferred election at a failover, less topics that are
// queued for deletion.
func TestPendingElectionsLeaveOutWhatIsDeleted(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	s.create("orders", []int32{1, 2})
	s.create("payments", []int32{1, 2})
	s.run()
	s.bounce(1)
	s.run()
	expand(s)
	s.world.Expire()
	s.run()
	s.kill(3)
	s.put(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection([]model.TopicPartition{tp0("orders"), tp0("payments")}))
	s.mark("payments")
	mark := len(s.taken)
	s.world.Renew()
	s.run()
	if !s.said("resuming preferred replica election for 1 partitions", mark) || s.engine.View().Leadership(tp0("orders")).Leader != 1 {
		t.Errorf("leader %d", s.engine.View().Leadership(tp0("orders")).Leader)
	}
}

// 6.30 step 7, 12.30, K16: the death of a broker whose replicas are all of topics
// being deleted, or that has none, is told by metadata of its own, unless an
// election has told it.
func TestADeathIsToldOnce(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	s.create("orders", []int32{1})
	s.run()
	mark := len(s.taken)
	s.kill(3) // it has no replica
	s.run()
	if n := s.sends(mark); n != 2 {
		t.Errorf("%d requests", n)
	}
	s = newStage(t, nil, 1, 2, 3)
	s.create("orders", []int32{1, 2})
	s.run()
	s.kill(2)
	s.run()
	s.kill(1)
	s.run()
	s.start(2)
	s.run()
	s.config("orders", "unclean.leader.election.enable", "true")
	mark = len(s.taken)
	s.kill(3) // the next trigger finds the setting
	s.run()
	if n := s.sends(mark); n != 2 || s.engine.View().Leadership(tp0("orders")).Leader != 2 {
		t.Errorf("with an election: %d requests", n)
	}
}

// 4.02: a check that fails sets the next one, too.
func TestAFailedCheckOfTheBalancerSetsTheNext(t *testing.T) {
	s := newStage(t, func(c *engine.Config) { c.AutoRebalance = true }, 1, 2)
	s.create("orders", []int32{1, 2})
	s.run()
	s.bounce(1) // 2 leads now, and 1 is out of the ISR
	s.run()
	expand(s)
	s.inv.Fault("a fence fails")
	s.arm(&injection{purpose: "update_state", act: func(c *model.Call) *model.Result {
		return &model.Result{Ops: []model.OpResult{{Check: model.CodeBadVersion, Code: model.CodeRuntimeInconsistency}}}
	}})
	mark := len(s.taken)
	s.world.Push(&model.AlarmRang{Name: "auto-leader-rebalance"})
	s.run()
	if next := s.world.Alarms["auto-leader-rebalance"]; len(s.failed) != 1 || next == 0 || s.when("alarm", mark) < 0 {
		t.Errorf("failed %v, the next alarm at %d", s.failed, next)
	}
}

// H7, Q10, N18: the missing state of a topic queued for deletion is passed over in
// silence, and its replica stays where it is.
func TestAMissingStateOfADoomedTopicIsPassedOver(t *testing.T) {
	for _, doomed := range []bool{false, true} {
		s := newStage(t, nil, 1, 2)
		s.create("orders", []int32{1, 2})
		s.run()
		s.inv.Fault("a state znode is gone")
		s.remove(model.TopicPartitionStatePath(tp0("orders")))
		mark := len(s.taken)
		if doomed {
			s.mark("orders")
		} else {
			s.kill(2)
		}
		s.run()
		said := s.said("the leader and isr path in ZooKeeper is empty", mark)
		if st := s.engine.View().ReplicaState(model.Replica{TopicPartition: tp0("orders"), Broker: 2}); said == doomed || st != model.OnlineReplica {
			t.Errorf("doomed %t: said %t, the replica is in %s", doomed, said, st)
		}
	}
}

// K6, 10.01, 10.03: a partition with one replica is neither moved nor reported by a
// controlled shutdown, and no election is tried for it.
func TestASingleReplicaIsNoPartOfAShutdown(t *testing.T) {
	s := newStage(t, nil, 1, 2)
	s.create("orders", []int32{1})
	s.run()
	mark := len(s.taken)
	id := s.ask(&model.ControlledShutdown{BrokerID: 1, BrokerEpoch: s.brokerEpoch(1)})
	s.run()
	a := s.answers[id].(*model.ControlledShutdownAnswer)
	if a.Error != model.ErrNone || len(a.Remaining) > 0 || s.when("elect", mark) >= 0 || s.sends(mark) > 0 {
		t.Errorf("%+v, %d requests", a, s.sends(mark))
	}
}

// 9.32: the partitions that a broker is preferred for all count, those without a
// leader too: here 1 of 2 are led elsewhere.
func TestTheBalancerCountsWhatHasNoLeader(t *testing.T) {
	for percentage, moves := range map[int]bool{60: false, 40: true} {
		s := newStage(t, func(c *engine.Config) { c.ImbalancePercentage = percentage }, 1, 2)
		s.create("orders", []int32{1, 2})
		s.run()
		s.bounce(1) // 2 leads now, and 1 is out of the ISR
		s.run()
		expand(s)
		s.arm(&injection{purpose: "create_state", act: func(c *model.Call) *model.Result {
			r := model.Result{}
			for range c.Ops {
				r.Ops = append(r.Ops, model.OpResult{Code: model.CodeNoAuth})
			}
			return &r
		}})
		s.inv.Fault("a state cannot be created")
		s.create("never", []int32{1})
		s.run()
		if s.engine.View().Leadership(tp0("never")) != nil {
			t.Fatal("it has a leader")
		}
		s.world.Push(&model.AlarmRang{Name: "auto-leader-rebalance"})
		s.run()
		if got := s.engine.View().Leadership(tp0("orders")).Leader == 1; got != moves {
			t.Errorf("at %d%%: moved %t", percentage, got)
		}
	}
}

// I13: what can be retried is retried before deletions start.
func TestRetriesComeBeforeStarts(t *testing.T) {
	s := newStage(t, nil, 1, 3)
	s.create("a", []int32{3})
	s.create("b", []int32{1})
	s.run()
	s.kill(3)
	s.run()
	s.mark("a")
	s.run()
	mark := len(s.taken)
	s.mark("b")
	s.run()
	s.inOrder(t, mark, "move replica a-0@3 ReplicaDeletionIneligible -> OfflineReplica", "move partition b-0 OnlinePartition -> OfflinePartition", "move replica b-0@1 OnlineReplica -> OfflineReplica")
}

// I25: config and marker go after the tree, the marker last.
func TestTheMarkerGoesLast(t *testing.T) {
	s := newStage(t, nil, 1)
	s.create("orders", []int32{1})
	s.config("orders", "retention.ms", "1000")
	s.run()
	mark := len(s.taken)
	s.mark("orders")
	s.run()
	s.inOrder(t, mark, "delete "+model.TopicPartitionStatePath(tp0("orders")), "delete "+model.TopicConfigPath("orders"), "delete "+model.DeleteTopicPath("orders"))
}

// 14.08: a parent that another one made in between is no error. (15.23: without time
// to wait the answer is that it has run out.)
func TestAParentMadeInBetweenIsFine(t *testing.T) {
	s := newStage(t, nil, 1)
	parent := model.ParentPath(model.TopicConfigPath("orders"))
	s.remove(parent)
	made := false
	var again func(c *model.Call) *model.Result
	again = func(c *model.Call) *model.Result {
		if made = c.Ops[0].Path == parent; made {
			s.put(parent, nil)
		} else {
			s.arm(&injection{purpose: "create_config", act: again})
		}
		return nil
	}
	s.arm(&injection{purpose: "create_config", act: again})
	id := s.ask(&model.CreateTopics{Topics: []model.NewTopic{{Topic: "orders", Partitions: 1, ReplicationFactor: 1}}})
	s.run()
	if a, ok := s.answers[id].(*model.CreateTopicsAnswer); !made || !ok || a.Topics[0].Error != model.ErrRequestTimedOut || !s.has(model.TopicConfigPath("orders")) {
		t.Errorf("made %t, %+v", made, s.answers[id])
	}
}
