package broker

import (
	"slices"

	"kstate/model"
)

// Snapshot is the state of a broker at one moment, in values of its own.
type Snapshot struct {
	ID              int32
	Up              bool
	Stopping        bool
	Port            int32
	Epoch           int64 // broker epoch; -1 when it is not registered
	ControllerEpoch int32 // highest seen since the start
	Controller      int32 // by its metadata cache; -1: none
	Alive           []int32
	Cached          []model.TopicPartition // partitions in its metadata cache, sorted
	Hosted          []Hosted               // sorted; nothing when it is down
	Dirs            []LogDir
}

// Hosted is one replica on a broker.
type Hosted struct {
	model.TopicPartition
	TopicID         model.Uuid
	Dir             string // of its log; "" when it has none yet
	Offline         bool   // its directory failed
	Leader          int32  // -1: not told yet
	LeaderEpoch     int32  // -1: not told yet
	PartitionEpoch  int32
	ControllerEpoch int32
	Replicas        []int32
	Adding          []int32
	Removing        []int32
	Fetching        bool    // from the leader
	ISR             []int32 // as the leader: committed
	Pending         []int32 // as the leader: proposed, not decided
	CaughtUp        []int32 // as the leader: followers that have everything, sorted
}

// Snapshot of this broker.
func (b *Broker) Snapshot() (s Snapshot) {
	b.c.look(func() { s = b.snapshot() })
	return s
}

// Find finds a replica of the broker; false when it does not host it.
func (s Snapshot) Find(tp model.TopicPartition) (Hosted, bool) {
	i, ok := slices.BinarySearchFunc(s.Hosted, tp, func(h Hosted, tp model.TopicPartition) int { return h.TopicPartition.Compare(tp) })
	if !ok {
		return Hosted{}, false
	}
	return s.Hosted[i], true
}

func (b *Broker) snapshot() Snapshot {
	s := Snapshot{ID: b.id, Port: b.port, Epoch: unknownBrokerEpoch, Controller: model.NoLeader, Dirs: b.disk.Dirs()}
	if b.run == nil {
		return s
	}
	r := b.run.replicas
	s.Up, s.Stopping = b.run.up, b.run.stopping
	s.Epoch, s.ControllerEpoch, s.Controller = r.brokerEpoch, r.controllerEpoch, r.cache.controller
	s.Alive = sortedKeys(r.cache.brokers)
	for _, topic := range sortedKeys(r.cache.topics) {
		for _, p := range sortedKeys(r.cache.topics[topic]) {
			s.Cached = append(s.Cached, model.TP(topic, p))
		}
	}
	for _, tp := range r.hosted() {
		s.Hosted = append(s.Hosted, r.describe(r.parts[tp]))
	}
	return s
}

func (r *Replicas) describe(p *partition) Hosted {
	h := Hosted{TopicPartition: p.tp, TopicID: p.topicID, Offline: p.offline, Leader: p.leader, LeaderEpoch: p.leaderEpoch,
		PartitionEpoch: p.partitionEpoch, ControllerEpoch: p.controllerEpoch, Replicas: slices.Clone(p.replicas),
		Adding: slices.Clone(p.adding), Removing: slices.Clone(p.removing), Fetching: p.fetching, ISR: slices.Clone(p.isr)}
	if p.log != nil {
		h.Dir = p.log.dir.path
	}
	if p.pending != nil {
		h.Pending = slices.Clone(p.pending.to.ISR)
	}
	for _, id := range sortedKeys(p.followers) {
		if p.followers[id].caughtUp {
			h.CaughtUp = append(h.CaughtUp, id)
		}
	}
	return h
}
