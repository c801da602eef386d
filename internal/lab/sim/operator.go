package sim

import (
	"fmt"
	"slices"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// operator does what operators, tools and clients do to a cluster, from outside
// or by asking the controller.
type operator struct {
	s       *Sim
	names   []string
	deleted map[string]int64 // topics whose deletion was acknowledged, with the zxid that had created them
}

func newOperator(s *Sim) *operator {
	o := &operator{s: s, deleted: map[string]int64{}}
	for i := range s.plan.topics {
		o.names = append(o.names, fmt.Sprintf("topic-%d", i))
	}
	return o
}

// actions are what it does, those that come more often listed more often.
var actions = []func(*operator) bool{
	(*operator).create, (*operator).create, (*operator).create, (*operator).delete, (*operator).delete, (*operator).grow, (*operator).recreate,
	(*operator).reassign, (*operator).reassign, (*operator).cancel, (*operator).reassignByZnode, (*operator).prefer, (*operator).preferByZnode,
	(*operator).electUnclean, (*operator).configure, (*operator).ask,
}

// act does one thing, and the next later.
func (o *operator) act() {
	if o.s.healed {
		return
	}
	o.s.after(o.s.around(o.s.plan.actEvery), o.act)
	actions[o.s.rng.IntN(len(actions))](o)
}

func (o *operator) name() string { return o.names[o.s.rng.IntN(len(o.names))] }

// existing draws a topic that has a znode.
func (o *operator) existing() (string, model.TopicAssignment, bool) {
	all := o.s.topics()
	if len(all) == 0 {
		return "", model.TopicAssignment{}, false
	}
	t := all[o.s.rng.IntN(len(all))]
	a, ok := o.s.assignment(t)
	return t, a, ok && len(a.Partitions) > 0
}

// partition draws one of a topic that exists.
func (o *operator) partition() (model.TopicPartition, model.PartitionAssignment, bool) {
	t, a, ok := o.existing()
	if !ok {
		return model.TopicPartition{}, model.PartitionAssignment{}, false
	}
	p := a.Partitions[o.s.rng.IntN(len(a.Partitions))]
	return model.TP(t, p.Partition), p, true
}

// replicas draws a list of brokers.
func (o *operator) replicas() []int32 {
	ids := make([]int32, len(o.s.nodes))
	for i := range ids {
		ids[i] = int32(i + 1)
	}
	o.s.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids[:1+o.s.rng.IntN(o.s.plan.replication)]
}

// active is a controller that takes itself for active, else any.
func (o *operator) active() *controller {
	for _, c := range o.s.controllers {
		if c.eng != nil && c.eng.IsActive() {
			return c
		}
	}
	return o.s.controllers[o.s.rng.IntN(len(o.s.controllers))]
}

func (o *operator) did(what string, args ...any) {
	o.s.moved()
	o.s.stats.Actions++
	o.s.tracef("operator: "+what, args...)
}

func (o *operator) create() bool {
	t := o.name()
	if o.s.has(model.TopicPath(t)) || o.s.has(model.DeleteTopicPath(t)) {
		return false // Kafka's tools and brokers refuse the first; the second is asked for trouble
	}
	n := 1 + o.s.rng.IntN(o.s.plan.partitions)
	if o.s.percent(50) {
		o.did("asks to create %s", t)
		o.s.ask(o.active(), nil, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 5000}, Topics: []model.NewTopic{{Topic: t, Partitions: int32(n),
			ReplicationFactor: int16(1 + o.s.rng.IntN(o.s.plan.replication))}}}, func(model.Answer) {})
		return true
	}
	a := model.TopicAssignment{Version: 2}
	if o.s.plan.ibp.TopicIDs() && o.s.percent(80) {
		a.Version, a.ID = 3, o.s.uuid()
	}
	for i := range n {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(i), ReplicaAssignment: model.ReplicaAssignment{Replicas: o.replicas()}})
	}
	o.did("creates %s %v", t, a.Partitions)
	o.s.put(model.TopicPath(t), model.EncodeTopic(a))
	return true
}

func (o *operator) delete() bool {
	t, _, ok := o.existing()
	if !ok {
		return false
	}
	if o.s.percent(40) {
		o.did("asks to delete %s", t)
		born := o.born(t)
		o.s.ask(o.active(), nil, &model.DeleteTopics{Mutation: model.Mutation{TimeoutMillis: 5000}, Version: 5, Topics: []model.TopicOrID{{Topic: t}}}, func(a model.Answer) {
			if x, ok := a.(*model.DeleteTopicsAnswer); ok && len(x.Topics) == 1 && (x.Topics[0].Error == model.ErrNone || x.Topics[0].Error == model.ErrRequestTimedOut) {
				o.acknowledged(t, born)
			}
		})
		return true
	}
	o.did("marks %s for deletion", t)
	born := o.born(t)
	if o.s.put(model.DeleteTopicPath(t), nil) == zkserver.OK && o.s.plan.deletion {
		o.acknowledged(t, born)
	}
	return true
}

// born is the zxid that created a topic's znode.
func (o *operator) born(t string) int64 {
	stat, _ := o.s.store.Exists(model.TopicPath(t))
	return stat.Czxid
}

// acknowledged: that topic has to go, whoever creates another of its name.
func (o *operator) acknowledged(t string, born int64) {
	o.deleted[t] = born
	o.s.stats.Deletions++
}

// recreate deletes a topic and creates it anew as soon as its znode is gone.
func (o *operator) recreate() bool {
	t, _, ok := o.existing()
	if !ok || !o.s.plan.deletion {
		return false
	}
	o.did("marks %s for deletion, to create it anew", t)
	born := o.born(t)
	if o.s.put(model.DeleteTopicPath(t), nil) == zkserver.OK {
		o.acknowledged(t, born)
	}
	var look func()
	look = func() {
		switch {
		case o.s.healed:
		case o.s.has(model.TopicPath(t)) || o.s.has(model.DeleteTopicPath(t)):
			o.s.after(200_000, look)
		default:
			o.did("creates %s anew", t)
			a := model.TopicAssignment{Version: 2, Partitions: []model.PartitionAssignment{{ReplicaAssignment: model.ReplicaAssignment{Replicas: o.replicas()}}}}
			o.s.put(model.TopicPath(t), model.EncodeTopic(a))
		}
	}
	o.s.after(200_000, look)
	return true
}

func (o *operator) grow() bool {
	t, a, ok := o.existing()
	if !ok || len(a.Partitions) >= 2*o.s.plan.partitions {
		return false
	}
	if o.s.percent(50) {
		o.did("asks to grow %s", t)
		o.s.ask(o.active(), nil, &model.CreatePartitions{Mutation: model.Mutation{TimeoutMillis: 5000}, Topics: []model.GrownTopic{{Topic: t, Count: int32(len(a.Partitions) + 1)}}}, func(model.Answer) {})
		return true
	}
	next := a.Partitions[len(a.Partitions)-1].Partition + 1
	a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: next, ReplicaAssignment: model.ReplicaAssignment{Replicas: o.replicas()}})
	o.did("grows %s", t)
	o.s.apply(zkserver.Set(model.TopicPath(t), model.EncodeTopic(a), -1))
	return true
}

func (o *operator) reassign() bool {
	tp, _, ok := o.partition()
	if !ok {
		return false
	}
	to := o.replicas()
	o.did("asks to reassign %s to %v", tp, to)
	o.s.stats.Reassignments++
	o.s.ask(o.active(), nil, &model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp, Target: to}}}, func(model.Answer) {})
	return true
}

func (o *operator) cancel() bool {
	tp, p, ok := o.partition()
	if !ok || len(p.Adding)+len(p.Removing) == 0 {
		return false
	}
	o.did("asks to cancel the reassignment of %s", tp)
	o.s.ask(o.active(), nil, &model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp, Cancel: true}}}, func(model.Answer) {})
	return true
}

func (o *operator) reassignByZnode() bool {
	tp, _, ok := o.partition()
	if !ok || o.s.has(model.ReassignPartitionsPath) {
		return false
	}
	to := o.replicas()
	o.did("reassigns %s to %v by znode", tp, to)
	o.s.stats.Reassignments++
	o.s.put(model.ReassignPartitionsPath, model.EncodeReassignPartitions([]model.PartitionReassignment{{TopicPartition: tp, Replicas: to}}))
	return true
}

func (o *operator) elect(kind model.ElectionType) bool {
	a := &model.ElectLeaders{Type: kind}
	if tp, _, ok := o.partition(); ok && o.s.percent(80) {
		a.Partitions = []model.TopicPartition{tp}
	}
	o.did("asks for %s elections of %v", kind, a.Partitions)
	o.s.ask(o.active(), nil, a, func(model.Answer) {})
	return true
}

func (o *operator) prefer() bool       { return o.elect(model.PreferredElection) }
func (o *operator) electUnclean() bool { return o.s.plan.unclean && o.elect(model.UncleanElection) }

func (o *operator) preferByZnode() bool {
	tp, _, ok := o.partition()
	if _, _, led := o.s.state(tp); !ok || !led || o.s.has(model.PreferredReplicaElectionPath) || o.s.has(model.DeleteTopicPath(tp.Topic)) {
		return false // one that was never led stops every new controller (9.11)
	}
	o.did("asks for a preferred election of %s by znode", tp)
	o.s.put(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection([]model.TopicPartition{tp}))
	return true
}

// configure allows or forbids unclean elections for a topic. Brokers tell their
// own controller of what is allowed from now on.
func (o *operator) configure() bool {
	t, _, ok := o.existing()
	if !ok {
		return false
	}
	allow := o.s.percent(30)
	o.did("sets unclean.leader.election.enable of %s to %t", t, allow)
	path := model.TopicConfigPath(t)
	data := model.EncodeConfig(map[string]string{"unclean.leader.election.enable": fmt.Sprint(allow)})
	if o.s.put(path, data) == zkserver.NodeExists {
		o.s.apply(zkserver.Set(path, data, -1))
	}
	if allow {
		for _, c := range o.s.controllers {
			o.s.after(o.s.latency(), func() { c.deliver(func() { c.input(&model.UncleanEnabled{Topic: t}) }) })
		}
	}
	return true
}

// ask asks for what changes no partition.
func (o *operator) ask() bool {
	var a model.Ask = &model.ListPartitionReassignments{All: true}
	if o.s.percent(30) {
		a = &model.UpdateFeatures{Updates: []model.FeatureUpdate{{Feature: "nothing", MaxLevel: 1, Type: model.Upgrade}}}
	}
	o.did("asks %s", a.AskName())
	o.s.ask(o.active(), nil, a, func(model.Answer) {})
	return true
}

// halfDelete deletes a part of a topic's znodes: all of them, a state, the marker.
func (o *operator) halfDelete() bool {
	tp, _, ok := o.partition()
	if !ok {
		return false
	}
	path := []string{model.TopicPath(tp.Topic), model.TopicPartitionStatePath(tp), model.DeleteTopicPath(tp.Topic), model.TopicPartitionsPath(tp.Topic)}[o.s.rng.IntN(4)]
	if !o.s.has(path) {
		return false
	}
	o.did("deletes %s", path)
	o.s.watch.maimed[tp.Topic] = true
	for _, c := range o.s.controllers {
		if c.eng != nil {
			c.inv.Fault("znodes are deleted from outside")
		}
	}
	o.s.remove(path)
	return true
}

// overwrite writes a state znode with what it holds.
func (o *operator) overwrite() bool {
	tp, _, ok := o.partition()
	if !ok {
		return false
	}
	path := model.TopicPartitionStatePath(tp)
	data, _, code := o.s.store.Get(path)
	if code != zkserver.OK {
		return false
	}
	o.did("writes %s over", path)
	o.s.apply(zkserver.Set(path, slices.Clone(data), -1))
	return true
}
