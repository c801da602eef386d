package engine_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// This file lets every call to ZooKeeper in a set of histories fail in every
// way. Whatever happens, the event ends, the controller goes on with the next
// ones, and the invariants hold.

// play is a history: what is there before, and what then happens.
type play struct {
	name   string
	change func(*engine.Config)
	before func(*stage)
	happen func(*stage)
	found  []zkserver.Znode // what before leaves in ZooKeeper, for a controller that takes over
}

func old(c *engine.Config) { c.IBP = model.IBP_2_6_IV0 }

func asBroker(c *engine.Config) { c.Registration = registration(1000, plain(1000), "", nil) }

func asOutsider(c *engine.Config) {
	c.Self = &model.Broker{ID: 1000, Endpoints: []model.Endpoint{plain(1000)}}
}

// emptyTree has what the first broker makes.
func emptyTree() []zkserver.Znode {
	s := bareStage(giveUp{}, nil)
	for _, p := range model.PersistentPaths() {
		s.put(p, nil)
	}
	return s.tree()
}

func orders(s *stage) {
	s.create("orders", []int32{1, 2, 3}, []int32{2, 3, 1})
	s.run()
}

func tp0(topic string) model.TopicPartition { return model.TP(topic, 0) }

// expand lets leaders take all assigned replicas into the ISR.
func expand(s *stage) {
	v := s.engine.View()
	for t := range v.Topics() {
		for n, p := range t.Partitions() {
			if p.Leadership != nil && len(model.Without(p.Assignment.Replicas, p.Leadership.ISR)) > 0 {
				isr := append(slices.Clone(p.Leadership.ISR), model.Without(p.Assignment.Replicas, p.Leadership.ISR)...)
				s.propose(model.TP(t.Name, n), isr)
				s.run()
			}
		}
	}
}

var plays = []play{
	{name: "failover over everything pending", found: everythingPending(nil), happen: func(s *stage) { s.begin() }},
	{name: "failover before protocol 2.8", change: old, found: everythingPending(old), happen: func(s *stage) { s.begin() }},
	{name: "the first controller ever", found: emptyTree(), happen: func(s *stage) { s.begin() }},
	{name: "a new session of a broker", change: asBroker, before: orders, happen: func(s *stage) { s.renew() }},
	{name: "another controller goes", before: func(s *stage) {
		orders(s)
		s.usurp()
		s.inv.Fault("another controller was there")
		s.run()
	}, happen: func(s *stage) {
		s.store.Expire(s.usurper)
		s.run()
	}},
	{name: "a topic on a controller that is no broker", change: asOutsider, happen: func(s *stage) {
		s.create("orders", []int32{1000, 1, 2}, []int32{1000})
		s.run()
		s.grow("orders", []int32{2, 1000})
		s.run()
	}},
	{name: "topic creation", happen: orders},
	{name: "topic creation with a dead broker and no id", happen: func(s *stage) {
		s.kill(1)
		a := assignmentOf("orders", []int32{1, 2}, []int32{1})
		a.ID = model.Uuid{}
		s.put(model.TopicPath("orders"), model.EncodeTopic(a))
		s.run()
		s.start(1)
		s.run()
	}},
	{name: "partition growth", before: orders, happen: func(s *stage) {
		s.grow("orders", []int32{3, 1, 2})
		s.run()
	}},
	{name: "growth during deletion", before: func(s *stage) {
		orders(s)
		s.kill(3)
		s.run()
		s.mark("orders")
		s.run()
	}, happen: func(s *stage) {
		s.grow("orders", []int32{1, 2})
		s.run()
	}},
	{name: "deletion with all up", before: orders, happen: func(s *stage) {
		s.config("orders", "retention.ms", "1000")
		s.mark("orders")
		s.mark("nowhere")
		s.run()
	}},
	{name: "deletion with a dead broker", before: orders, happen: func(s *stage) {
		s.kill(3)
		s.run()
		s.mark("orders")
		s.run()
		s.start(3)
		s.run()
	}},
	{name: "deletion answered with errors", before: orders, happen: func(s *stage) {
		s.broken[2] = model.ErrKafkaStorageError
		s.mark("orders")
		s.run()
		delete(s.broken, 2)
		s.bounce(2)
		s.run()
	}},
	{name: "deletion disabled", change: func(c *engine.Config) { c.DeleteTopicEnable = false }, before: orders, happen: func(s *stage) {
		s.mark("orders")
		s.run()
	}},
	{name: "broker death and return", before: orders, happen: func(s *stage) {
		s.kill(1)
		s.run()
		s.kill(2)
		s.run()
		s.start(1)
		s.start(2)
		s.run()
	}},
	{name: "broker bounce", before: orders, happen: func(s *stage) {
		s.bounce(1)
		s.run()
	}},
	{name: "broker endpoint", before: orders, happen: func(s *stage) {
		s.apply(zkserver.Set(model.BrokerIDPath(1), brokerData(1, 19092), -1))
		s.run()
	}},
	{name: "controlled shutdown", before: orders, happen: func(s *stage) {
		s.ask(&model.ControlledShutdown{BrokerID: 1, BrokerEpoch: s.brokerEpoch(1)})
		s.run()
		s.kill(1)
		s.run()
	}},
	{name: "reassignment by request", before: orders, happen: func(s *stage) {
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Target: []int32{4, 2}}}})
		s.run()
		s.ask(&model.ListPartitionReassignments{All: true})
		expand(s)
	}},
	{name: "reassignment by znode", before: orders, happen: func(s *stage) {
		s.put(model.ReassignPartitionsPath, model.EncodeReassignPartitions([]model.PartitionReassignment{
			{TopicPartition: tp0("orders"), Replicas: []int32{2, 4}}, {TopicPartition: tp0("nowhere"), Replicas: []int32{1}}}))
		s.run()
		expand(s)
	}},
	{name: "reassignment before protocol 2.7", change: old, before: orders, happen: func(s *stage) {
		s.put(model.ReassignPartitionsPath, model.EncodeReassignPartitions([]model.PartitionReassignment{{TopicPartition: tp0("orders"), Replicas: []int32{4, 3}}}))
		s.run()
		s.follow(tp0("orders"), []int32{1, 2, 3, 4})
		s.run()
	}},
	{name: "reassignment replaced and cancelled", before: orders, happen: func(s *stage) {
		for _, target := range [][]int32{{4, 1, 2}, {1, 2, 3, 4}} {
			s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Target: target}}})
			s.run()
		}
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("orders"), Cancel: true}}})
		s.run()
	}},
	{name: "preferred election by znode", before: ledElsewhere, happen: func(s *stage) {
		s.put(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection([]model.TopicPartition{tp0("orders"), model.TP("orders", 1)}))
		s.run()
	}},
	{name: "preferred election by request and by the balancer", before: ledElsewhere, happen: func(s *stage) {
		s.ask(&model.ElectLeaders{Type: model.PreferredElection, Partitions: []model.TopicPartition{tp0("orders"), tp0("nowhere")}})
		s.run()
		s.world.Push(&model.AlarmRang{Name: "auto-leader-rebalance"})
		s.run()
	}},
	{name: "unclean elections", before: lost, happen: func(s *stage) {
		s.ask(&model.ElectLeaders{Type: model.UncleanElection, Partitions: []model.TopicPartition{tp0("orders")}})
		s.run()
		s.config("payments", "unclean.leader.election.enable", "true")
		s.world.Push(&model.UncleanEnabled{Topic: "payments"})
		s.run()
		s.world.Push(&model.UncleanEnabled{})
		s.run()
	}},
	{name: "ISR notification", before: orders, happen: func(s *stage) {
		s.follow(tp0("orders"), []int32{1, 3})
		s.follow(model.TP("orders", 1), []int32{2})
		s.run()
	}},
	{name: "log directory failure", before: orders, happen: func(s *stage) {
		s.badDirs[model.Replica{TopicPartition: tp0("orders"), Broker: 1}] = true
		s.notify(model.LogDirEventNotificationPath, "log_dir_event_", model.EncodeLogDirEvent(1))
		s.run()
	}},
	{name: "AlterPartition", before: orders, happen: func(s *stage) {
		s.propose(tp0("orders"), []int32{1, 2})
		s.propose(model.TP("orders", 1), []int32{2})
		s.run()
	}},
	{name: "producer ids and features", happen: func(s *stage) {
		for range 2 {
			s.ask(&model.AllocateProducerIDs{BrokerID: 1, BrokerEpoch: s.brokerEpoch(1)})
			s.run()
		}
		s.ask(&model.UpdateFeatures{Updates: []model.FeatureUpdate{{Feature: "nothing", MaxLevel: 1, Type: model.Upgrade}}})
		s.run()
	}},
	{name: "requests for topics", happen: func(s *stage) {
		m := model.Mutation{From: "client", TimeoutMillis: 1000}
		s.ask(&model.CreateTopics{Mutation: m, Topics: []model.NewTopic{{Topic: "orders.a", Partitions: 2, ReplicationFactor: 2}}})
		s.run()
		s.ask(&model.CreatePartitions{Mutation: m, Topics: []model.GrownTopic{{Topic: "orders.a", Count: 3}}})
		s.run()
		s.ask(&model.DeleteTopics{Mutation: m, Version: 6, Topics: []model.TopicOrID{{Topic: "orders.a"}}})
		s.run()
	}},
	{name: "topic deleted from outside", before: orders, happen: func(s *stage) {
		s.remove(model.TopicPath("orders"))
		s.run()
		orders(s)
	}},
}

// brokerEpoch is a broker's epoch as the controller knows it.
func (s *stage) brokerEpoch(b int32) int64 {
	if known := s.engine.View().Broker(b); known != nil {
		return known.Epoch
	}
	return -1
}

// ledElsewhere: both partitions are led by broker 3.
func ledElsewhere(s *stage) {
	s.create("orders", []int32{1, 3, 2}, []int32{2, 3, 1})
	s.run()
	s.kill(1)
	s.kill(2)
	s.run()
	s.start(1)
	s.start(2)
	s.run()
	expand(s)
}

// lost: two partitions whose only ISR member is dead.
func lost(s *stage) {
	s.create("orders", []int32{1, 2})
	s.create("payments", []int32{1, 3})
	s.run()
	s.kill(2)
	s.kill(3)
	s.run()
	s.kill(1)
	s.run()
	s.start(2)
	s.start(3)
	s.run()
}

// everythingPending is what a new controller can find.
func everythingPending(change func(*engine.Config)) []zkserver.Znode {
	s := newStage(giveUp{}, change, 1, 2, 3, 4)
	ledElsewhere(s)
	s.create("doomed", []int32{1, 2}, []int32{4})
	s.create("moving", []int32{1, 2})
	s.create("unled", []int32{9})
	s.run()
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("moving"), Target: []int32{3, 4}}}})
	s.run()
	s.kill(4)
	s.run()
	s.mark("doomed")
	s.mark("nowhere")
	s.run()
	s.check("everything pending")
	s.world.Expire() // from here on nobody watches
	s.run()
	s.engine.Close()
	s.create("fresh", []int32{2, 1})
	s.put(model.ReassignPartitionsPath, model.EncodeReassignPartitions([]model.PartitionReassignment{{TopicPartition: model.TP("orders", 1), Replicas: []int32{2, 3}}}))
	s.put(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection([]model.TopicPartition{tp0("orders")}))
	s.notify(model.LogDirEventNotificationPath, "log_dir_event_", model.EncodeLogDirEvent(1))
	s.notify(model.IsrChangeNotificationPath, "isr_change_", model.EncodeIsrChange([]model.TopicPartition{tp0("orders")}))
	s.mark("orders")
	return s.tree()
}

// giveUp is a failer where there is no test yet.
type giveUp struct{}

func (giveUp) Helper()                           {}
func (giveUp) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// strike is one way in which a call fails. one: at a single op, else at all.
type strike struct {
	name string
	one  bool
	when func(c *model.Call) bool // nil: at any call
	act  func(s *stage, c *model.Call, hit func(i int) bool) *model.Result
}

var sweepCodes = []model.Code{model.CodeNoNode, model.CodeNodeExists, model.CodeBadVersion, model.CodeNotEmpty, model.CodeNoAuth}

// fits tells whether a call can fail in that way.
func (x *strike) fits(c *model.Call) bool {
	return (!x.one || len(c.Ops) > 1) && (x.when == nil || x.when(c))
}

func strikes() []strike {
	fenced := func(c *model.Call) bool { return c.Fenced }
	single := func(c *model.Call) bool { return !c.Atomic }
	var out []strike
	for _, code := range sweepCodes {
		out = append(out, strike{name: code.String(), act: func(s *stage, c *model.Call, hit func(int) bool) *model.Result {
			return spoil(s, c, hit, model.OpResult{Code: code})
		}})
	}
	out = append(out,
		strike{name: "SESSIONEXPIRED", act: func(s *stage, c *model.Call, hit func(int) bool) *model.Result {
			first := 0
			for !hit(first) {
				first++
			}
			if !c.Atomic {
				applied := *c
				applied.Ops = c.Ops[:first]
				s.world.Perform(&applied)
			}
			s.world.Expire()
			s.expired = true
			return &model.Result{Code: model.CodeSessionExpired}
		}},
		strike{name: "fence failure", when: fenced, act: func(s *stage, c *model.Call, hit func(int) bool) *model.Result {
			return spoil(s, c, hit, model.OpResult{Code: model.CodeRuntimeInconsistency, Check: model.CodeBadVersion})
		}},
		strike{name: "another controller", act: func(s *stage, c *model.Call, _ func(int) bool) *model.Result {
			s.usurp()
			return nil
		}},
		strike{name: "lost before", act: func(s *stage, c *model.Call, hit func(int) bool) *model.Result {
			return spoil(s, c, hit, model.OpResult{Code: model.CodeConnectionLoss})
		}},
		strike{name: "lost after", when: single, act: func(s *stage, c *model.Call, hit func(int) bool) *model.Result {
			r := s.world.Perform(c)
			for i := range r.Ops {
				if hit(i) {
					r.Ops[i] = model.OpResult{Code: model.CodeConnectionLoss}
				}
			}
			return &r
		}},
		strike{name: "lost after, one transaction", when: func(c *model.Call) bool { return c.Atomic }, act: func(s *stage, c *model.Call, _ func(int) bool) *model.Result {
			r := s.world.Perform(c)
			for i := range r.Ops {
				r.Ops[i] = model.OpResult{Code: model.CodeConnectionLoss}
			}
			return &r
		}})
	for _, x := range slices.Clone(out) {
		x.one, x.name = true, x.name+" at one op"
		out = append(out, x)
	}
	return out
}

// spoil performs the ops that are not hit and answers the others with a result.
// A transaction has one outcome.
func spoil(s *stage, c *model.Call, hit func(int) bool, with model.OpResult) *model.Result {
	r := &model.Result{Ops: make([]model.OpResult, len(c.Ops))}
	rest := *c
	rest.Ops = nil
	for i := range c.Ops {
		if !hit(i) {
			rest.Ops = append(rest.Ops, c.Ops[i])
		}
	}
	var done []model.OpResult
	if !c.Atomic && len(rest.Ops) > 0 {
		done = s.world.Perform(&rest).Ops
	}
	lost := with.Code == model.CodeConnectionLoss
	for i := range r.Ops {
		switch {
		case hit(i) || c.Atomic && lost:
			r.Ops[i] = with
		case c.Atomic:
			r.Ops[i].Code = model.CodeRuntimeInconsistency
		default:
			r.Ops[i], done = done[0], done[1:]
		}
	}
	return r
}

// usurp: another process takes the role.
func (s *stage) usurp() {
	s.usurper, _ = s.store.CreateSession(1 << 40)
	s.apply(zkserver.Delete(model.ControllerPath, -1))
	s.store.Apply(s.usurper, zkserver.Create(model.ControllerPath, model.EncodeController(2, 77, 1, -1), zkserver.Ephemeral))
	epoch := int32(0)
	if data, _, ok := s.read(model.ControllerEpochPath); ok {
		epoch, _ = model.DecodeControllerEpoch(model.ControllerEpochPath, data)
		s.apply(zkserver.Set(model.ControllerEpochPath, model.EncodeControllerEpoch(epoch+1), -1))
	}
}

// perform plays a history, with a fault or without.
func perform(t *testing.T, p play, f *injection) *stage {
	t.Helper()
	var s *stage
	if p.found == nil {
		s = newStage(t, p.change, 1, 2, 3, 4)
	} else {
		s = bareStage(t, p.change)
		if err := s.store.Load(p.found); err != nil {
			t.Fatal(err)
		}
	}
	if p.before != nil {
		p.before(s)
	}
	s.check(p.name + ", before")
	s.written = 0
	s.arm(f)
	if f != nil {
		f.on = s
	}
	p.happen(s)
	s.check(p.name)
	return s
}

// goesOn makes sure that a controller is of use after whatever happened: in a
// new session it takes the role and brings a new topic online.
func (s *stage) goesOn() {
	s.t.Helper()
	s.fault = nil
	if s.usurper != 0 {
		s.store.Expire(s.usurper)
		s.run()
	}
	leftovers := s.engine.OpenRequests(1) != nil
	s.renew()
	s.check("in a new session")
	if s.stopped || leftovers {
		return // the machines refuse everything in this process: KAFKA-12315
	}
	if !s.engine.IsActive() {
		s.t.Fatalf("not the controller in a new session; /controller there: %t", s.has(model.ControllerPath))
	}
	if !s.up(2) {
		s.start(2)
	}
	s.create("probe", []int32{2, 3})
	s.run()
	s.check("a new topic")
	if st := s.engine.View().PartitionState(tp0("probe")); st != model.OnlinePartition {
		s.t.Fatalf("the new topic is in %q", st)
	}
}

func TestHistoriesWithoutFaults(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			s := perform(t, p, nil)
			defer s.engine.Close()
			for id := range s.asks {
				if s.answered[id+1] != 1 {
					t.Errorf("request %d was answered %d times", id+1, s.answered[id+1])
				}
			}
			s.goesOn()
		})
	}
}

// sample tells whether a run belongs to the sample that a short test takes.
func sample(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%16 == 0
}

func TestEveryCallFailsInEveryWay(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			base := perform(t, p, nil)
			defer base.engine.Close()
			calls, written := slices.Clone(base.calls), base.written
			runs := 0
			defer func() { t.Logf("%d runs, %d calls", runs, len(calls)) }()
			for _, x := range strikes() {
				for i, c := range calls {
					name := fmt.Sprintf("%s: %s at call %d", p.name, x.name, i+1)
					if x.fits(c) && (!testing.Short() || sample(name)) {
						runs++
						failOnce(t, p, x, i+1, name, written)
					}
				}
			}
		})
	}
}

// failOnce plays a history in which one call fails.
func failOnce(t *testing.T, p play, x strike, at int, name string, written int) {
	t.Helper()
	var struck *model.Call
	var during model.Event
	f := &injection{at: at}
	f.act = func(c *model.Call) *model.Result {
		struck = c
		if q := f.on.engine.Current(); q != nil {
			during = q.Event
		}
		f.on.inv.Fault(name)
		return x.act(f.on, c, func(i int) bool { return !x.one || i == len(c.Ops)/2 })
	}
	defer func() {
		if t.Failed() {
			t.Logf("%s: %s", name, f.struck)
		}
	}()
	s := perform(t, p, f)
	defer s.engine.Close()
	if struck == nil {
		return
	}
	_, proposed := during.(*model.AlterPartitionReceived) // whose writes are not repeated
	if x.name == model.CodeBadVersion.String() && struck.Purpose == "update_state" && !proposed && s.written != written {
		t.Fatalf("INV34: %d state znodes were written over, %d without the conflict", s.written, written)
	}
	s.goesOn()
}
