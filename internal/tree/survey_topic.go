package tree

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"kstate/model"
)

// topic finds or makes the entry of a topic; release drops it again when
// nothing is left of it.
func (s *Survey) topic(name string) *topic {
	te := s.topics[name]
	if te == nil {
		name = strings.Clone(name) // it must not keep a path alive
		te = &topic{name: name}
		s.topics[name] = te
	}
	return te
}

func (s *Survey) release(te *topic) {
	if !te.exists && !te.marked && te.unclean == nil && len(te.znodes) == 0 && len(te.strays) == 0 {
		delete(s.topics, te.name)
	}
}

// applyTopic takes in a topic znode: the list of partitions and their
// assignments. One that cannot be read lists none: what was known of them
// becomes stray.
func (s *Survey) applyTopic(name string, z *model.Znode) {
	te := s.topic(name)
	defer s.release(te)
	defer s.judge(te)
	if z.Missing {
		s.forgetTopic(te)
		return
	}
	te.exists, te.version = true, z.Stat.Version
	s.cluster.AddTopic(te.name)
	assignment, why := decodeTopic(z)
	s.assign(te, assignment.Partitions)
	s.cluster.PutTopicID(te.name, assignment.ID)
	if s.cluster.Topic(te.name).Unreadable != why {
		s.cluster.SetTopicUnreadable(te.name, why)
	}
	if why != "" && z.Err == "" {
		s.trouble(z.Path, errors.New(why))
	}
}

// decodeTopic reads a topic znode; why is empty when that went well. Kafka's
// controller takes bad JSON for a topic without partitions; here it is no list
// of partitions at all.
func decodeTopic(z *model.Znode) (model.TopicAssignment, string) {
	if z.Err != "" {
		return model.TopicAssignment{}, z.Err
	}
	assignment, present, err := model.DecodeTopic(z.Path, z.Data)
	if err == nil && !present {
		err = model.WhyNotJSON(z.Path, z.Data)
	}
	if err != nil {
		return model.TopicAssignment{}, err.Error()
	}
	return assignment, ""
}

func (s *Survey) forgetTopic(te *topic) {
	if !te.exists {
		return
	}
	te.exists = false
	s.assign(te, nil)
	s.cluster.DropTopic(te.name)
	if te.marked {
		s.cluster.QueueTopicDeletion(te.name)
	}
}

// assign makes the assignment of a topic what its znode lists (ascending).
func (s *Survey) assign(te *topic, listed []model.PartitionAssignment) {
	var gone []int32
	i := 0
	for n := range s.cluster.Topic(te.name).Partitions() {
		for i < len(listed) && listed[i].Partition < n {
			i++
		}
		if i == len(listed) || listed[i].Partition != n {
			gone = append(gone, n)
		}
	}
	for _, n := range gone {
		s.unassign(te, n)
	}
	for i := range listed {
		s.assignPartition(te, &listed[i])
	}
}

func (s *Survey) assignPartition(te *topic, listed *model.PartitionAssignment) {
	tp := model.TP(te.name, listed.Partition)
	p := s.cluster.Partition(tp)
	known := p != nil && p.Assignment != nil
	if known && p.Assignment.Equal(listed.ReplicaAssignment) {
		return
	}
	before := membersOf(p)
	if known {
		s.dropReplicas(tp, p, listed.Replicas)
	}
	s.cluster.UpdateAssignment(tp, listed.ReplicaAssignment)
	s.cluster.SetReassigning(tp, listed.IsBeingReassigned())
	if st, ok := te.strays[listed.Partition]; ok && !known {
		delete(te.strays, listed.Partition)
		s.putStray(tp, st)
	}
	s.settle(tp)
	s.reindex(te, listed.Partition, before)
}

// dropReplicas forgets the replicas that are no longer assigned.
func (s *Survey) dropReplicas(tp model.TopicPartition, p *model.Partition, replicas []int32) {
	for _, r := range slices.Clone(p.Replicas) {
		if !slices.Contains(replicas, r.Broker) {
			s.cluster.RemoveReplicaState(model.Replica{TopicPartition: tp, Broker: r.Broker})
		}
	}
}

// unassign makes a partition unknown, but for its state znode, which is stray
// from now on.
func (s *Survey) unassign(te *topic, n int32) {
	tp := model.TP(te.name, n)
	p := s.cluster.Partition(tp)
	before := membersOf(p)
	if st := strayOf(p); st != (stray{}) {
		te.putStray(n, st)
	}
	s.cluster.DropPartition(tp)
	s.reindex(te, n, before)
}

func strayOf(p *model.Partition) stray {
	return stray{leadership: p.Leadership, unreadable: p.Unreadable, noContent: p.Unreadable != "" && p.State == model.NewPartition}
}

func (te *topic) putStray(n int32, st stray) {
	if te.strays == nil {
		te.strays = map[int32]stray{}
	}
	te.strays[n] = st
}

// applyState takes in a state znode. Without an assignment it is kept as stray.
func (s *Survey) applyState(tp model.TopicPartition, z *model.Znode) {
	te := s.topic(tp.Topic)
	tp.Topic = te.name
	st, err := decodeState(z)
	if err != nil && z.Err == "" {
		s.trouble(z.Path, err)
	}
	p := s.cluster.Partition(tp)
	if p == nil || p.Assignment == nil {
		if delete(te.strays, tp.Partition); !z.Missing {
			te.putStray(tp.Partition, st)
		}
		s.release(te)
		return
	}
	before := membersOf(p)
	s.putStray(tp, st)
	s.settle(tp)
	s.reindex(te, tp.Partition, before)
}

// decodeState reads a state znode; a missing one is the zero stray. What is no
// JSON object leaves the partition in NewPartition: Kafka reads bad JSON as no
// leadership, and the vocabulary calls only a broken object unreadable.
func decodeState(z *model.Znode) (stray, error) {
	switch {
	case z.Missing:
		return stray{}, nil
	case z.Err != "":
		return stray{unreadable: "reading it failed: " + z.Err}, nil
	}
	l, present, err := model.DecodePartitionState(z.Path, z.Data)
	if err == nil && !present {
		err = model.WhyNotJSON(z.Path, z.Data)
	}
	if err != nil {
		return stray{unreadable: err.Error(), noContent: isNoObject(err)}, err
	}
	l.PartitionEpoch = z.Stat.Version
	return stray{leadership: &l}, nil
}

func isNoObject(err error) bool {
	bad, ok := errors.AsType[*model.DecodeError](err)
	return ok && (bad.Category == model.NotJSON || bad.Category == model.NotObject && bad.Field == "" || bad.Category == model.NullPayload)
}

// putStray records what a state znode says of an assigned partition, and its
// state as far as that does not depend on brokers.
func (s *Survey) putStray(tp model.TopicPartition, st stray) {
	p := s.cluster.Partition(tp)
	if p.Leadership != st.leadership {
		s.cluster.PutLeadership(tp, st.leadership)
	}
	if p.Unreadable != st.unreadable {
		s.cluster.SetUnreadable(tp, st.unreadable)
	}
	to := model.NewPartition
	if st.unreadable != "" && !st.noContent {
		to = model.NoPartitionState
	}
	if st.leadership == nil && p.State != to {
		s.cluster.PutPartitionState(tp, to)
	}
}

// settle gives a partition and its replicas the states that follow from who is
// registered.
func (s *Survey) settle(tp model.TopicPartition) {
	p := s.cluster.Partition(tp)
	for _, broker := range p.Assignment.Replicas {
		to := model.OfflineReplica
		if s.cluster.IsLive(broker) {
			to = model.OnlineReplica
		}
		if r, _ := p.Replica(broker); r.State != to {
			s.cluster.PutReplicaState(model.Replica{TopicPartition: tp, Broker: broker}, to)
			p = s.cluster.Partition(tp)
		}
	}
	to := p.State
	switch {
	case p.Leadership == nil:
		if to == model.NoPartitionState && p.Unreadable == "" {
			to = model.NewPartition
		}
	case p.Leadership.Leader >= 0 && s.cluster.IsLive(p.Leadership.Leader):
		to = model.OnlinePartition
	default:
		to = model.OfflinePartition
	}
	if p.State != to {
		s.cluster.PutPartitionState(tp, to)
	}
}

// applyPartitionZnode keeps the list of partition znodes, for the orphans among them.
func (s *Survey) applyPartitionZnode(tp model.TopicPartition, missing bool) {
	te := s.topic(tp.Topic)
	te.znodes = setMember(te.znodes, tp.Partition, !missing)
	s.release(te)
}

// applyMarker takes in a deletion marker: the topic is queued, there or not.
func (s *Survey) applyMarker(name string, on bool) {
	te := s.topic(name)
	te.marked = on
	if on {
		s.cluster.QueueTopicDeletion(te.name)
	} else {
		s.cluster.DequeueTopicDeletion(te.name)
	}
	s.judge(te)
	s.release(te)
}

// judge keeps the view's set of ineligible topics: of several reasons it holds
// the first.
func (s *Survey) judge(te *topic) {
	reasons := s.ineligible(te)
	if len(reasons) == 0 {
		if s.cluster.TopicsIneligibleForDeletion.Has(te.name) {
			s.cluster.ClearIneligible(te.name)
		}
		return
	}
	if s.cluster.IneligibleReason(te.name) != reasons[0] {
		s.cluster.MarkIneligible(te.name, reasons[0])
	}
}

// setMember puts n into an ascending list or takes it out.
func setMember(list []int32, n int32, in bool) []int32 {
	if k := len(list); in && (k == 0 || list[k-1] < n) {
		return append(list, n) // most lists are built in order
	}
	i, ok := slices.BinarySearchFunc(list, n, cmp.Compare[int32])
	switch {
	case in && !ok:
		return slices.Insert(list, i, n)
	case !in && ok:
		return slices.Delete(list, i, i+1)
	}
	return list
}
