package engine_test

import (
	"slices"
	"testing"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// More single facts: timers, thresholds, watches.

// 2.23: every failover ends with the deletion of the znode of preferred
// elections, there or not, and with the event that watches for the next one.
func TestEveryFailoverEndsWithAnElection(t *testing.T) {
	s := newStage(t, nil, 1)
	tried := slices.ContainsFunc(s.taken, func(x model.Step) bool {
		c, ok := x.(*model.Call)
		return ok && c.Purpose == "delete_preferred_election"
	})
	elections := 0
	for _, x := range s.taken {
		if b, ok := x.(*model.Begin); ok {
			if _, ok := b.Event.Event.(*model.ReplicaLeaderElection); ok {
				elections++
			}
		}
	}
	if !tried || elections != 1 {
		t.Fatalf("deleted %t, %d elections", tried, elections)
	}
}

// 4.02, 4.14, 2.30: the balancer's first check is 5 s after the failover, each one
// sets the next, also when it fails; resignation stops it.
func TestTheBalancersTimer(t *testing.T) {
	s := newStage(t, func(c *engine.Config) { c.AutoRebalance = true }, 1, 2)
	const alarm = "auto-leader-rebalance"
	alarms := func() []model.Alarm {
		var out []model.Alarm
		for _, x := range s.taken {
			if a, ok := x.(*model.Alarm); ok {
				out = append(out, *a)
			}
		}
		return out
	}
	s.create("orders", []int32{1, 2})
	s.run()
	s.bounce(1) // 2 leads now, and 1 is out of the ISR
	s.run()
	expand(s)
	s.arm(&injection{purpose: "update_state", act: func(*model.Call) *model.Result {
		s.inv.Fault("the election's write fails")
		return &model.Result{Code: model.CodeNoAuth}
	}})
	s.world.Push(&model.AlarmRang{Name: alarm})
	s.run()
	s.world.Expire()
	s.run()
	s.world.Push(&model.AlarmRang{Name: alarm}) // it rang before it was stopped
	s.run()
	want := []model.Alarm{{Name: alarm, AfterMillis: 5000}, {Name: alarm, AfterMillis: 300_000}, {Name: alarm, Cancel: true}}
	if got := alarms(); !slices.Equal(got, want) {
		t.Fatalf("%+v", got)
	}
}

// 9.32: more than the threshold, not as much.
func TestTheBalancersThresholdIsStrict(t *testing.T) {
	for percentage, moves := range map[int]bool{50: false, 49: true} {
		s := newStage(t, func(c *engine.Config) { c.ImbalancePercentage = percentage }, 1, 2)
		s.create("orders", []int32{1, 2}, []int32{1, 2})
		s.run()
		s.kill(1)
		s.run()
		s.start(1)
		s.run()
		expand(s)
		s.ask(&model.ElectLeaders{Partitions: []model.TopicPartition{tp0("orders")}})
		s.run() // one of the two is led by broker 1 again
		s.world.Push(&model.AlarmRang{Name: "auto-leader-rebalance"})
		s.run()
		if leader := s.engine.View().Leadership(model.TP("orders", 1)).Leader; (leader == 1) != moves {
			t.Errorf("at %d%% of 50%%: leader %d", percentage, leader)
		}
	}
}

// 8.72: no target can lead: that is logged, and the completion goes on.
func TestACompletionGoesOnWithoutALeader(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3, 4)
	s.create("orders", []int32{1, 2})
	s.run()
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Target: []int32{4}}}})
	s.run()
	s.kill(4)
	s.run()
	s.follow(tp0("orders"), []int32{1, 2, 4}) // its leader does not know yet that 4 is gone
	s.run()
	v := s.engine.View()
	if a := v.Assignment(tp0("orders")); !slices.Equal(a.Replicas, []int32{4}) || a.IsBeingReassigned() {
		t.Fatalf("assignment %+v", a)
	}
	if l := v.Leadership(tp0("orders")); l.Leader != model.NoLeader || !slices.Equal(l.ISR, []int32{4}) {
		t.Fatalf("leadership %s", l)
	}
	if st := v.PartitionState(tp0("orders")); st != model.OnlinePartition { // ANTI2
		t.Fatalf("state %s", st)
	}
}

// 14.06: a parent that is deleted and made again ends its watch until the next
// failover.
func TestADeletedParentEndsItsWatch(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	orders(s)
	s.apply(zkserver.Delete(model.DeleteTopicsPath, -1))
	s.run()
	s.put(model.DeleteTopicsPath, nil)
	s.mark("orders")
	s.run()
	if s.engine.View().IsQueued("orders") || !s.has(model.TopicPath("orders")) {
		t.Fatal("the marker was noticed")
	}
	s.renew()
	if s.has(model.TopicPath("orders")) {
		t.Fatal("the topic is still there after a failover")
	}
}

// 7.24, 7.35: with deletion disabled a topic is never queued; its markers go, and
// it can grow.
func TestDisabledDeletionQueuesNothing(t *testing.T) {
	s := newStage(t, func(c *engine.Config) { c.DeleteTopicEnable = false }, 1, 2, 3)
	orders(s)
	s.mark("orders")
	s.grow("orders", []int32{1, 2, 3})
	s.run()
	s.check("grown")
	if s.has(model.DeleteTopicPath("orders")) || s.engine.View().PartitionState(model.TP("orders", 2)) != model.OnlinePartition {
		t.Fatal("the marker is there, or the partition is not online")
	}
}
