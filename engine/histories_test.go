package engine_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// This file plays random histories: whatever a cluster's operators, brokers,
// clients and (if faults are wanted) bad luck may do, in any order.

// move is one thing that happens; x, y and z choose on what. rest: the
// controller comes to rest before the next one.
type move struct {
	what    string
	x, y, z int
	rest    bool
}

func (m move) String() string { return fmt.Sprintf("%s(%d,%d,%d) %t", m.what, m.x, m.y, m.z, m.rest) }

var historyBrokers = []int32{1, 2, 3, 4}

func (m move) broker() int32 { return historyBrokers[m.x%4] }
func (m move) topic() string { return fmt.Sprintf("topic-%d", m.y%4) }
func (m move) tp() model.TopicPartition {
	return model.TP(m.topic(), int32(m.z%3))
}

// replicas is a list of 1 to 4 brokers in an order that n chooses.
func replicas(n int) []int32 {
	left := slices.Clone(historyBrokers)
	count := 1 + n%4
	var out []int32
	for n /= 4; len(out) < count; n /= 5 {
		i := n % len(left)
		out = append(out, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return out
}

// moves are what happens in histories without faults, as often as listed.
var moves = map[string]func(*stage, move){
	"create": func(s *stage, m move) {
		if !s.has(model.TopicPath(m.topic())) && !s.has(model.DeleteTopicPath(m.topic())) {
			s.create(m.topic(), replicas(m.x), replicas(m.x+m.z))
		}
	},
	"grow": func(s *stage, m move) { s.grow(m.topic(), replicas(m.x)) },
	"mark": func(s *stage, m move) {
		if m.x%2 == 0 || s.has(model.TopicPath(m.topic())) {
			s.mark(m.topic())
		}
	},
	"kill": func(s *stage, m move) {
		if s.up(m.broker()) {
			s.kill(m.broker())
		}
	},
	"start": func(s *stage, m move) {
		if !s.up(m.broker()) {
			s.start(m.broker())
		}
	},
	"bounce": func(s *stage, m move) {
		if s.up(m.broker()) {
			s.bounce(m.broker())
		}
	},
	"endpoint": func(s *stage, m move) {
		if s.up(m.broker()) {
			s.apply(zkserver.Set(model.BrokerIDPath(m.broker()), brokerData(m.broker(), int32(10_000+m.z)), -1))
		}
	},
	"shutdown": func(s *stage, m move) {
		s.ask(&model.ControlledShutdown{BrokerID: m.broker(), BrokerEpoch: s.brokerEpoch(m.broker())})
	},
	"reassign": func(s *stage, m move) {
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: m.tp(), Target: replicas(m.x)}}})
	},
	"cancel": func(s *stage, m move) {
		s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: m.tp(), Cancel: true}}})
	},
	"reassign by znode": func(s *stage, m move) {
		s.put(model.ReassignPartitionsPath, model.EncodeReassignPartitions([]model.PartitionReassignment{{TopicPartition: m.tp(), Replicas: replicas(m.x)}}))
	},
	"elect": func(s *stage, m move) {
		a := &model.ElectLeaders{Type: model.ElectionType(m.x % 2), Partitions: []model.TopicPartition{m.tp()}}
		if m.x%5 == 0 {
			a.Partitions = nil
		}
		s.ask(a)
	},
	"elect by znode": func(s *stage, m move) {
		s.run()
		if s.engine.View().Leadership(m.tp()) != nil { // another partition stops every new controller (9.11)
			s.put(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection([]model.TopicPartition{m.tp()}))
			s.run()
		}
	},
	"elect by operator": func(s *stage, m move) {
		s.world.Push(&model.OperatorElects{Strategy: model.Strategies[m.x%5], Partitions: []model.TopicPartition{m.tp(), model.TP(m.topic(), 0)}})
	},
	"balance": func(s *stage, m move) { s.world.Push(&model.AlarmRang{Name: "auto-leader-rebalance"}) },
	"unclean": func(s *stage, m move) {
		s.config(m.topic(), "unclean.leader.election.enable", fmt.Sprint(m.x%3 > 0))
		if m.x%3 > 0 {
			s.world.Push(&model.UncleanEnabled{Topic: m.topic()})
		}
	},
	"unclean by default": func(s *stage, m move) {
		if m.x%4 == 0 {
			s.world.Push(&model.UncleanEnabled{})
		}
	},
	"propose": func(s *stage, m move) {
		p := s.engine.View().Partition(m.tp())
		if p == nil || p.Leadership == nil || p.Assignment == nil {
			return
		}
		isr := []int32{p.Leadership.Leader}
		for i, b := range p.Assignment.Replicas {
			if b != p.Leadership.Leader && (m.x>>i)%2 == 0 {
				isr = append(isr, b)
			}
		}
		s.propose(m.tp(), isr)
	},
	"catch up": func(s *stage, m move) { s.run(); expand(s) },
	"follow": func(s *stage, m move) {
		if p := s.engine.View().Partition(m.tp()); p != nil && p.Leadership != nil && p.Assignment != nil && len(p.Assignment.Replicas) > 0 {
			s.follow(m.tp(), p.Assignment.Replicas[:1+m.x%len(p.Assignment.Replicas)])
		}
	},
	"dir fails": func(s *stage, m move) {
		s.badDirs[model.Replica{TopicPartition: m.tp(), Broker: m.broker()}] = true
		s.notify(model.LogDirEventNotificationPath, "log_dir_event_", model.EncodeLogDirEvent(m.broker()))
	},
	"errors":  func(s *stage, m move) { s.broken[m.broker()] = model.ErrKafkaStorageError },
	"no more": func(s *stage, m move) { delete(s.broken, m.broker()) },
	"hold":    func(s *stage, m move) { s.hold = true },
	"release": func(s *stage, m move) {
		if len(s.pending) > 0 {
			s.release(m.x % len(s.pending))
		}
	},
	"release all": func(s *stage, m move) { s.releaseAll() },
	"new session": func(s *stage, m move) { s.renew() },
	"move the controller": func(s *stage, m move) {
		s.apply(zkserver.Delete(model.ControllerPath, -1))
	},
	"create by request": func(s *stage, m move) {
		s.ask(&model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 100}, Topics: []model.NewTopic{{Topic: m.topic(), Partitions: int32(1 + m.x%3), ReplicationFactor: int16(1 + m.z%4)}}})
	},
	"delete by request": func(s *stage, m move) {
		s.ask(&model.DeleteTopics{Mutation: model.Mutation{TimeoutMillis: 100}, Version: 6, Topics: []model.TopicOrID{{Topic: m.topic()}}})
	},
	"grow by request": func(s *stage, m move) {
		s.ask(&model.CreatePartitions{Mutation: model.Mutation{TimeoutMillis: 100}, Topics: []model.GrownTopic{{Topic: m.topic(), Count: int32(2 + m.x%3)}}})
	},
	"producer ids": func(s *stage, m move) {
		s.ask(&model.AllocateProducerIDs{BrokerID: m.broker(), BrokerEpoch: s.brokerEpoch(m.broker())})
	},
	"list": func(s *stage, m move) { s.ask(&model.ListPartitionReassignments{All: true}) },
}

// mishaps happen beside the moves in histories with faults.
var mishaps = map[string]func(*stage, move){
	"topic vanishes":  func(s *stage, m move) { s.remove(model.TopicPath(m.topic())) },
	"state vanishes":  func(s *stage, m move) { s.remove(model.TopicPartitionStatePath(m.tp())) },
	"marker vanishes": func(s *stage, m move) { s.remove(model.DeleteTopicPath(m.topic())) },
	"state is another's": func(s *stage, m move) {
		path := model.TopicPartitionStatePath(m.tp())
		data, _, ok := s.read(path)
		epoch, _, there := s.read(model.ControllerEpochPath)
		l, present, err := model.DecodePartitionState(path, data)
		if ok && there && present && err == nil {
			l.Leader, l.ISR, l.LeaderEpoch = 1, []int32{1, 2}, l.LeaderEpoch+10
			l.ControllerEpoch, _ = model.DecodeControllerEpoch(model.ControllerEpochPath, epoch)
			s.apply(zkserver.Set(path, model.EncodePartitionState(l), -1))
		}
	},
	"another controller": func(s *stage, m move) { s.usurp() },
	"it goes": func(s *stage, m move) {
		if s.usurper != 0 {
			s.store.Expire(s.usurper)
			s.usurper = 0
		}
	},
	"call fails":       callFails,
	"call fails again": callFails,
}

// callFails lets a call that is to come fail.
func callFails(s *stage, m move) {
	all := strikes()
	x := all[m.x%len(all)]
	s.arm(&injection{at: 1 + m.y%12, act: func(c *model.Call) *model.Result {
		if !x.fits(c) {
			return nil
		}
		return x.act(s, c, func(i int) bool { return !x.one || i == m.z%len(c.Ops) })
	}})
}

func (s *stage) releaseAll() {
	for s.hold = false; len(s.pending) > 0; {
		s.release(0)
	}
}

func history(faults bool) *rapid.Generator[scene] {
	names := sortedNames(moves)
	names = append(names, "create", "create", "kill", "start", "release", "mark", "catch up", "reassign") // more often
	if faults {
		names = append(names, sortedNames(mishaps)...)
	}
	one := rapid.Custom(func(t *rapid.T) move {
		n := rapid.IntRange(0, 999)
		return move{rapid.SampledFrom(names).Draw(t, "what"), n.Draw(t, "x"), n.Draw(t, "y"), n.Draw(t, "z"), rapid.Bool().Draw(t, "rest")}
	})
	return rapid.Custom(func(t *rapid.T) scene {
		return scene{rapid.SampledFrom(sortedNames(settings)).Draw(t, "with"), rapid.SliceOfN(one, rapid.SampledFrom([]int{1, 30}).Draw(t, "at least"), 80).Draw(t, "moves")}
	})
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// settings are those of the controllers that histories are played with.
var settings = map[string]func(*engine.Config){
	"defaults":          func(*engine.Config) {},
	"protocol 2.6":      func(c *engine.Config) { c.IBP = model.IBP_2_6_IV0 },
	"protocol 1.0":      func(c *engine.Config) { c.IBP = model.IBP_1_0_IV0 },
	"deletion disabled": func(c *engine.Config) { c.DeleteTopicEnable = false },
	"balancer":          func(c *engine.Config) { c.AutoRebalance = true },
	"no broker":         asOutsider,
}

// scene is a history and the settings that it is played with.
type scene struct {
	with  string
	moves []move
}

// live plays a history on a stage of its own.
func live(t failer, h scene, faults bool, lines *strings.Builder) *stage {
	s := newStage(t, func(c *engine.Config) {
		settings[h.with](c)
		c.Mend.ClearBatches = faults
	}, 1, 2, 3)
	s.lines = lines
	if faults {
		s.inv.Fault("faults are part of this history")
	}
	s.create("topic-0", []int32{1, 2, 3}, []int32{2, 3, 1})
	s.run()
	for n, m := range h.moves {
		if s.stopped {
			return s
		}
		if act := moves[m.what]; act != nil {
			act(s, m)
		} else {
			mishaps[m.what](s, m)
		}
		if m.rest {
			s.run()
			s.check(fmt.Sprintf("move %d, %s", n, m))
		}
	}
	s.run()
	s.check("in the end")
	return s
}

// heal brings all brokers up and lets them answer; leaders take all replicas
// into the ISR, so that reassignments complete.
func (s *stage) heal() {
	s.fault = nil
	s.releaseAll()
	clear(s.broken)
	clear(s.badDirs)
	s.run()
	if s.stateless() {
		s.renew()
	}
	for _, b := range historyBrokers {
		if s.up(b) {
			s.kill(b)
			s.run()
		}
		s.start(b)
		s.run()
	}
	for range 3 {
		expand(s)
	}
	// A znode that was written over is not noticed (8.53); a failover would take it up.
	s.remove(model.ReassignPartitionsPath)
	s.run()
	if s.deletedWhileMoved() {
		s.renew()
		s.run()
	}
	s.check("healed")
}

// deletedWhileMoved: a topic is queued, and a reassignment of a partition of it that
// never had a leader is left (8.73). It fails at each start of a broker of its
// replicas, before the deletion is resumed. Only a new controller goes on.
func (s *stage) deletedWhileMoved() bool {
	v := s.engine.View()
	for t := range v.TopicsToBeDeleted.All() {
		for n := range v.Topic(t).Partitions() {
			if v.IsBeingReassigned(model.TP(t, n)) {
				return true
			}
		}
	}
	return false
}

// stateless: a reassignment of a partition that never had a leader left added
// replicas without a state (8.73). Only a new controller gives them one; until
// then the topic cannot be deleted.
func (s *stage) stateless() bool {
	for t := range s.engine.View().Topics() {
		for _, p := range t.Partitions() {
			for _, b := range p.Assignment.Replicas {
				if r, _ := p.Replica(b); r.State == model.NoReplicaState || r.State == model.NonExistentReplica {
					return true
				}
			}
		}
	}
	return false
}

// deleted makes sure that every queued topic is gone for good.
func (s *stage) deleted() {
	v := s.engine.View()
	if v.TopicsToBeDeleted.Len() > 0 {
		for t := range v.TopicsToBeDeleted.All() {
			for n, p := range v.Topic(t).Partitions() {
				s.t.Fatalf("INV30: %s is still queued (ineligible: %q); %s-%d: %v %+v %v", t, v.IneligibleReason(t), t, n, p.State, *p.Assignment, p.Replicas)
			}
			s.t.Fatalf("INV30: %s is still queued", t)
		}
	}
	left, _, _ := s.store.Children(model.DeleteTopicsPath)
	if len(left) > 0 {
		s.t.Fatalf("INV30: markers %v are left", left)
	}
}

// sameAsFailover compares memory with what a new controller makes of the znodes.
func (s *stage) sameAsFailover() {
	other := bareStage(s.t, func(c *engine.Config) { *c = s.engine.Config(); c.ID = 2000 })
	var tree []zkserver.Znode
	for _, z := range s.tree() {
		if z.Path != model.ControllerPath {
			tree = append(tree, z)
		}
	}
	if err := other.store.Load(tree); err != nil {
		s.t.Fatalf("%v", err)
	}
	other.begin()
	defer other.engine.Close()
	other.check("failover")
	a, b := s.engine.View(), other.engine.View()
	for t := range a.Topics() {
		if a.IsQueued(t.Name) {
			continue
		}
		for n, p := range t.Partitions() {
			q := b.Partition(model.TP(t.Name, n))
			if q == nil || q.Assignment == nil {
				s.t.Fatalf("a failover does not know %s-%d", t.Name, n)
			}
			one, two := describe(p), describe(q)
			if one != two {
				s.t.Fatalf("%s-%d: memory has %s, a failover makes %s", t.Name, n, one, two)
			}
		}
	}
	if a.OfflinePartitionCount != b.OfflinePartitionCount || a.TopicCount != b.TopicCount {
		s.t.Fatalf("memory has %d offline partitions of %d topics, a failover %d of %d", a.OfflinePartitionCount, a.TopicCount, b.OfflinePartitionCount, b.TopicCount)
	}
}

// describe says what a failover has to reproduce. An incomplete reassignment
// gets another leader epoch with each controller.
func describe(p *model.Partition) string {
	s := fmt.Sprint(p.State, *p.Assignment, p.Reassigning)
	if l := p.Leadership; l != nil {
		s += fmt.Sprint(" leader ", l.Leader, " isr ", l.ISR, " ", l.Recovery)
		if !p.Reassigning {
			s += fmt.Sprint(" epoch ", l.LeaderEpoch)
		}
	}
	for _, r := range p.Replicas {
		if slices.Contains(p.Assignment.Replicas, r.Broker) { // states of others may be left over
			s += fmt.Sprint(" ", r.Broker, ":", r.State)
		}
	}
	return s
}

// often checks a property on some hundreds of histories; on fewer if the tests
// are to be short. They are the same each time, so that a change is judged by its own
// faults; -rapid.seed N tries others.
func often(t *testing.T, property func(*rapid.T)) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	const name = "rapid.seed"
	seed := flag.Lookup(name)
	given := seed.Value.String()
	defer func() { seed.Value.Set(given) }()
	for round := range rounds {
		if given == "0" {
			if err := seed.Value.Set(strconv.Itoa(round + 1)); err != nil {
				t.Fatal(err)
			}
		}
		rapid.Check(t, property)
	}
}

func TestRandomHistoriesWithoutFaults(t *testing.T) {
	often(t, func(rt *rapid.T) {
		s := live(rt, history(false).Draw(rt, "history"), false, nil)
		defer s.engine.Close()
		s.heal()
		if s.stopped {
			return
		}
		s.deleted()
		s.sameAsFailover()
	})
}

func TestRandomHistoriesWithFaults(t *testing.T) {
	often(t, func(rt *rapid.T) {
		s := live(rt, history(true).Draw(rt, "history"), true, nil)
		defer s.engine.Close()
		if s.fault = nil; !s.stopped {
			s.run()
			s.goesOn()
		}
	})
}

// The same history gives the same steps, byte for byte.
func TestHistoriesRepeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := history(true).Draw(rt, "history")
		var one, two strings.Builder
		live(rt, h, true, &one).engine.Close()
		live(rt, h, true, &two).engine.Close()
		if one.String() != two.String() {
			a, b := strings.Split(one.String(), "\n"), strings.Split(two.String(), "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					rt.Fatalf("line %d:\n%s\n%s", i, a[i], b[i])
				}
			}
			rt.Fatalf("%d and %d lines", len(a), len(b))
		}
	})
}
