package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Cluster is a View with a writer. Freeze is cheap: it starts a new generation,
// and whatever is written later is copied first (topics in chunks, partitions
// in pages, at most once per generation).
type Cluster struct {
	View
	gen  uint64
	ids  map[Uuid]string
	last *Topic // the topic looked up or written last, as it is now
}

// NewCluster is an empty cluster.
func NewCluster() *Cluster { return &Cluster{gen: 1, ids: map[Uuid]string{}} }

// Freeze returns the cluster as it is now; later writes do not show in it.
func (c *Cluster) Freeze() *View {
	v := c.View
	c.gen++
	c.last = nil
	return &v
}

// Reset forgets everything. Kafka: ControllerContext.resetContext.
func (c *Cluster) Reset() {
	c.View, c.ids, c.last = View{}, map[Uuid]string{}, nil
	c.gen++
}

// Topic, Partition, Leadership, Assignment, PartitionState and ReplicaState are
// those of View, but remember the topic looked up last: a writer goes through
// the partitions of one topic after the other. A View cannot, since many may read it.

// Topic is nil when nothing is remembered under that name.
func (c *Cluster) Topic(name string) *Topic {
	if c.last != nil && c.last.Name == name {
		return c.last
	}
	t := c.View.Topic(name)
	if t != nil {
		c.last = t
	}
	return t
}

// Partition is nil when nothing is remembered of it.
func (c *Cluster) Partition(tp TopicPartition) *Partition {
	return c.Topic(tp.Topic).Partition(tp.Partition)
}

// Leadership is nil when none is known.
func (c *Cluster) Leadership(tp TopicPartition) *LeaderIsrAndControllerEpoch {
	if p := c.Partition(tp); p != nil {
		return p.Leadership
	}
	return nil
}

// Assignment is empty when the partition is not assigned.
func (c *Cluster) Assignment(tp TopicPartition) ReplicaAssignment {
	if p := c.Partition(tp); p != nil && p.Assignment != nil {
		return *p.Assignment
	}
	return ReplicaAssignment{}
}

// PartitionState is NoPartitionState when none is known.
func (c *Cluster) PartitionState(tp TopicPartition) PartitionState {
	if p := c.Partition(tp); p != nil {
		return p.State
	}
	return NoPartitionState
}

// ReplicaState is NoReplicaState when none is known.
func (c *Cluster) ReplicaState(r Replica) ReplicaState {
	if p := c.Partition(r.TopicPartition); p != nil {
		s, _ := p.Replica(r.Broker)
		return s.State
	}
	return NoReplicaState
}

func (c *Cluster) editTopic(name string) *Topic {
	if c.last != nil && c.last.gen == c.gen && c.last.Name == name {
		return c.last
	}
	t, ok := c.topics.get(name)
	switch {
	case !ok:
		t = &Topic{Name: strings.Clone(name), gen: c.gen}
		c.topics.put(c.gen, t.Name, t)
	case t.gen != c.gen:
		copied := *t
		t = &copied
		t.gen, t.pages = c.gen, slices.Clone(t.pages)
		c.topics.put(c.gen, t.Name, t)
	}
	c.last = t
	return t
}

func (c *Cluster) edit(tp TopicPartition) (*Topic, *Partition) {
	t := c.editTopic(tp.Topic)
	key, slot := pageOf(tp.Partition)
	i, ok := t.page(key)
	if !ok {
		t.pages = slices.Insert(t.pages, i, &page{gen: c.gen, key: key})
	}
	pg := t.pages[i]
	if pg.gen != c.gen {
		pg = &page{gen: c.gen, key: key, slots: slices.Clone(pg.slots)}
		t.pages[i] = pg
	}
	for len(pg.slots) <= slot {
		pg.slots = append(pg.slots, nil)
	}
	p := pg.slots[slot]
	switch {
	case p == nil:
		p = &Partition{gen: c.gen}
		pg.slots[slot] = p
	case p.gen != c.gen:
		copied := *p
		p = &copied
		p.gen, p.Replicas = c.gen, slices.Clone(p.Replicas)
		pg.slots[slot] = p
	}
	return t, p
}

func (c *Cluster) countPartition(t *Topic, s PartitionState, d int) {
	t.PartitionCounts[s] += d
	if t.Known {
		c.PartitionCounts[s] += d
	}
}

func (c *Cluster) countReplica(t *Topic, s ReplicaState, d int) {
	if s == NoReplicaState {
		return
	}
	t.ReplicaCounts[s] += d
	if t.Known {
		c.ReplicaCounts[s] += d
	}
}

// AddTopic makes the topic a member of allTopics.
func (c *Cluster) AddTopic(name string) {
	if c.KnowsTopic(name) {
		return
	}
	t := c.editTopic(name)
	t.Known = true
	c.TopicCount++
	c.addCounts(t, +1)
}

func (c *Cluster) addCounts(t *Topic, sign int) {
	for i, n := range t.PartitionCounts {
		c.PartitionCounts[i] += sign * n
	}
	for i, n := range t.ReplicaCounts {
		c.ReplicaCounts[i] += sign * n
	}
	if t.Unreadable != "" {
		c.unreadableTopics += sign
	}
}

// SetTopicID pairs a topic with its id. Kafka: ControllerContext.addTopicId.
func (c *Cluster) SetTopicID(name string, id Uuid) error {
	if !c.KnowsTopic(name) {
		return fmt.Errorf("topic %s is not contained in all topics", name)
	}
	t := c.Topic(name)
	if (t.ID != Uuid{}) && t.ID != id {
		return fmt.Errorf("topic ID map already contained ID for topic %s and new ID %s did not match existing ID %s", name, id, t.ID)
	}
	if old, ok := c.ids[id]; ok && old != name {
		return fmt.Errorf("topic name map already contained ID %s and new name %s did not match existing name %s", id, name, old)
	}
	c.editTopic(name).ID = id
	c.ids[id] = name
	return nil
}

// PutTopicID records the id that a topic znode holds, whatever it held before
// and whatever other topics hold; zero for none. Only the tree view uses it:
// TopicName does not find ids recorded so.
func (c *Cluster) PutTopicID(name string, id Uuid) {
	if t := c.Topic(name); t != nil && t.ID != id {
		c.editTopic(name).ID = id
	}
}

// TopicName is the topic with that id; empty when none is known.
func (c *Cluster) TopicName(id Uuid) string { return c.ids[id] }

// RemoveTopic forgets a topic as Kafka does: the deletion queue, its id,
// assignments and leadership go; partition and replica states, the ineligible
// mark, reassignment marks and offline dirs stay. Kafka: ControllerContext.removeTopic.
func (c *Cluster) RemoveTopic(name string) {
	queued := c.IsQueued(name)
	c.TopicsToBeDeleted.s.remove(c.gen, name)
	c.TopicsWithDeletionStarted.s.remove(c.gen, name)
	if c.Topic(name) == nil {
		return
	}
	t := c.editTopic(name)
	delete(c.ids, t.ID)
	for n, p := range t.Partitions() {
		if !queued && imbalanced(p) {
			c.PreferredReplicaImbalanceCount--
		}
		_, p = c.edit(TP(name, n))
		c.countPartition(t, p.State, -1)
		c.countHosts(p.Assignment, -1)
		c.countLead(p.Leadership, -1)
		p.Assignment, p.Leadership = nil, nil
	}
	if t.Known {
		c.TopicCount--
		c.addCounts(t, -1)
	}
	t.ID, t.Known = Uuid{}, false
}

// PutPartitionState records a state and keeps the counters.
// Kafka: ControllerContext.putPartitionState.
func (c *Cluster) PutPartitionState(tp TopicPartition, s PartitionState) {
	t, p := c.edit(tp)
	if !c.TopicsWithDeletionStarted.Has(tp.Topic) {
		if p.State != OfflinePartition && s == OfflinePartition {
			c.OfflinePartitionCount++
		} else if p.State == OfflinePartition && s != OfflinePartition {
			c.OfflinePartitionCount--
		}
	}
	if p.Assignment != nil {
		c.countPartition(t, p.State, -1)
		c.countPartition(t, s, +1)
	}
	p.State = s
}

// PutReplicaState records a state. Kafka: ControllerContext.putReplicaState.
func (c *Cluster) PutReplicaState(r Replica, s ReplicaState) {
	t, p := c.edit(r.TopicPartition)
	slot := p.slot(r.Broker)
	c.countReplica(t, slot.State, -1)
	c.countReplica(t, s, +1)
	slot.State = s
	if s != OfflineReplica && s != ReplicaDeletionIneligible {
		slot.DeletionError = ErrNone
	}
}

// RemoveReplicaState forgets the state of a replica.
func (c *Cluster) RemoveReplicaState(r Replica) {
	c.PutReplicaState(r, NoReplicaState)
	_, p := c.edit(r.TopicPartition)
	p.Replicas = slices.DeleteFunc(p.Replicas, func(s ReplicaStatus) bool { return s.State == NoReplicaState && !s.OfflineDir })
}

func (p *Partition) slot(broker int32) *ReplicaStatus {
	i, ok := slices.BinarySearchFunc(p.Replicas, broker, func(s ReplicaStatus, b int32) int { return int(s.Broker) - int(b) })
	if !ok {
		if p.Replicas == nil {
			p.Replicas = make([]ReplicaStatus, 0, 3)
		}
		p.Replicas = slices.Insert(p.Replicas, i, ReplicaStatus{Broker: broker})
	}
	return &p.Replicas[i]
}

// countHosts adds (sign +1) or takes out (-1) an assignment's replicas.
func (c *Cluster) countHosts(a *ReplicaAssignment, sign int) {
	if a != nil {
		c.ownShares()
		for _, b := range a.Replicas {
			c.hosts[b] += sign
		}
	}
}

// countLead adds (sign +1) or takes out (-1) a led partition.
func (c *Cluster) countLead(l *LeaderIsrAndControllerEpoch, sign int) {
	if l != nil && l.Leader >= 0 {
		c.ownShares()
		c.leads[l.Leader] += sign
	}
}

func (c *Cluster) ownShares() {
	if c.shares == c.gen {
		return
	}
	c.leads, c.hosts, c.shares = maps.Clone(c.leads), maps.Clone(c.hosts), c.gen
	if c.leads == nil {
		c.leads = map[int32]int{}
	}
	if c.hosts == nil {
		c.hosts = map[int32]int{}
	}
}

// imbalanced: leadership is known and the preferred replica does not lead.
func imbalanced(p *Partition) bool {
	return p.Assignment != nil && p.Leadership != nil && len(p.Assignment.Replicas) > 0 && !HasPreferredLeader(p.Assignment, p.Leadership)
}

func (c *Cluster) updateImbalance(tp TopicPartition, p *Partition, change func()) {
	if c.IsQueued(tp.Topic) {
		change()
		return
	}
	before := imbalanced(p)
	change()
	switch after := imbalanced(p); {
	case after && !before:
		c.PreferredReplicaImbalanceCount++
	case before && !after:
		c.PreferredReplicaImbalanceCount--
	}
}

// UpdateAssignment records the replica assignment of a partition.
// Kafka: ControllerContext.updatePartitionFullReplicaAssignment.
func (c *Cluster) UpdateAssignment(tp TopicPartition, a ReplicaAssignment) {
	t, p := c.edit(tp)
	if p.Assignment == nil {
		c.countPartition(t, p.State, +1)
	}
	c.countHosts(p.Assignment, -1)
	c.countHosts(&a, +1)
	c.updateImbalance(tp, p, func() { p.Assignment = &a })
}

// PutLeadership records the leadership of a partition; l is not copied.
// Kafka: ControllerContext.putPartitionLeadershipInfo.
func (c *Cluster) PutLeadership(tp TopicPartition, l *LeaderIsrAndControllerEpoch) {
	_, p := c.edit(tp)
	c.countLead(p.Leadership, -1)
	c.countLead(l, +1)
	c.updateImbalance(tp, p, func() { p.Leadership = l })
}

// ClearLeadership forgets all leadership. Kafka: ControllerContext.clearPartitionLeadershipInfo.
func (c *Cluster) ClearLeadership() {
	for t := range c.Entries() {
		for n, p := range t.Entries() {
			if p.Leadership != nil {
				c.PutLeadership(TP(t.Name, n), nil)
			}
		}
	}
}

// SetReassigning adds the partition to partitionsBeingReassigned or takes it out.
func (c *Cluster) SetReassigning(tp TopicPartition, on bool) {
	if c.IsBeingReassigned(tp) == on {
		return
	}
	t, p := c.edit(tp)
	p.Reassigning = on
	d := 1
	if !on {
		d = -1
	}
	t.Reassigning += d
	c.reassigning += d
}

// QueueTopicDeletion adds topics to topicsToBeDeleted; the imbalance counter
// loses what each new one contributed. Kafka: ControllerContext.queueTopicDeletion.
func (c *Cluster) QueueTopicDeletion(topic string) {
	if c.IsQueued(topic) {
		return
	}
	for _, p := range c.Topic(topic).Partitions() {
		if imbalanced(p) {
			c.PreferredReplicaImbalanceCount--
		}
	}
	c.TopicsToBeDeleted.s.put(c.gen, topic, struct{}{})
}

// DequeueTopicDeletion takes the topic out of topicsToBeDeleted, as a view of
// the tree does when the marker goes while the topic stays. (A controller's
// memory loses the topic with it: RemoveTopic.)
func (c *Cluster) DequeueTopicDeletion(topic string) {
	if !c.IsQueued(topic) {
		return
	}
	c.TopicsToBeDeleted.s.remove(c.gen, topic)
	for _, p := range c.Topic(topic).Partitions() {
		if imbalanced(p) {
			c.PreferredReplicaImbalanceCount++
		}
	}
}

// BeginTopicDeletion adds the topic to topicsWithDeletionStarted.
func (c *Cluster) BeginTopicDeletion(topic string) {
	c.TopicsWithDeletionStarted.s.put(c.gen, topic, struct{}{})
}

// MarkIneligible adds the topic to topicsIneligibleForDeletion.
func (c *Cluster) MarkIneligible(topic string, why IneligibleReason) {
	c.TopicsIneligibleForDeletion.s.put(c.gen, topic, struct{}{})
	c.ineligibleReasons.put(c.gen, topic, why)
}

// ClearIneligible takes the topic out of topicsIneligibleForDeletion.
func (c *Cluster) ClearIneligible(topic string) {
	c.TopicsIneligibleForDeletion.s.remove(c.gen, topic)
	c.ineligibleReasons.remove(c.gen, topic)
}

// PutBroker adds or replaces a registered broker.
func (c *Cluster) PutBroker(b Broker) {
	i, ok := slices.BinarySearchFunc(c.brokers, b.ID, func(x Broker, id int32) int { return int(x.ID) - int(id) })
	c.brokers = slices.Clone(c.brokers)
	if ok {
		c.brokers[i] = b
	} else {
		c.brokers = slices.Insert(c.brokers, i, b)
	}
}

// RemoveBroker forgets a broker's registration.
func (c *Cluster) RemoveBroker(id int32) {
	c.brokers = slices.DeleteFunc(slices.Clone(c.brokers), func(b Broker) bool { return b.ID == id })
}

// SetShuttingDown adds a broker to shuttingDownBrokerIds or takes it out.
func (c *Cluster) SetShuttingDown(id int32, on bool) {
	i, ok := slices.BinarySearch(c.shuttingDown, id)
	switch {
	case on && !ok:
		c.shuttingDown = slices.Insert(slices.Clone(c.shuttingDown), i, id)
	case !on && ok:
		c.shuttingDown = slices.Delete(slices.Clone(c.shuttingDown), i, i+1)
	}
}

// ClearShuttingDown empties shuttingDownBrokerIds.
func (c *Cluster) ClearShuttingDown() { c.shuttingDown = nil }

// SetUnreadable records that a state znode (tp) cannot be read; why is empty
// when it can. Only the tree view uses it.
func (c *Cluster) SetUnreadable(tp TopicPartition, why string) {
	_, p := c.edit(tp)
	if (p.Unreadable != "") != (why != "") {
		if why != "" {
			c.unreadable++
		} else {
			c.unreadable--
		}
	}
	p.Unreadable = why
}

// SetTopicUnreadable records that a topic znode cannot be read; why is empty
// when it can. Only the tree view uses it.
func (c *Cluster) SetTopicUnreadable(topic, why string) {
	t := c.editTopic(topic)
	if t.Known && (t.Unreadable != "") != (why != "") {
		if why != "" {
			c.unreadableTopics++
		} else {
			c.unreadableTopics--
		}
	}
	t.Unreadable = why
}

// DropTopic forgets a topic with everything remembered under it, as a view of
// the tree does when its znode goes. (A controller's memory keeps states: RemoveTopic.)
func (c *Cluster) DropTopic(name string) {
	t := c.Topic(name)
	if t == nil {
		return
	}
	for n, p := range t.Entries() {
		tp := TP(name, n)
		c.SetReassigning(tp, false)
		c.PutLeadership(tp, nil)
		for _, r := range p.Replicas {
			c.SetOfflineDir(Replica{tp, r.Broker}, false)
		}
		if p.State == OfflinePartition {
			c.PutPartitionState(tp, NonExistentPartition)
		}
		c.SetUnreadable(tp, "")
	}
	c.SetTopicUnreadable(name, "")
	c.ClearIneligible(name)
	c.RemoveTopic(name)
	c.topics.remove(c.gen, name)
	c.last = nil
}

// DropPartition forgets one partition with everything remembered of it, as a
// view of the tree does when the topic znode no longer lists it.
func (c *Cluster) DropPartition(tp TopicPartition) {
	if c.Partition(tp) == nil {
		return
	}
	c.SetReassigning(tp, false)
	c.SetUnreadable(tp, "")
	c.PutLeadership(tp, nil)
	c.PutPartitionState(tp, NonExistentPartition)
	t, p := c.edit(tp)
	for _, r := range slices.Clone(p.Replicas) {
		c.SetOfflineDir(Replica{tp, r.Broker}, false)
		c.RemoveReplicaState(Replica{tp, r.Broker})
	}
	if p.Assignment != nil {
		c.countPartition(t, p.State, -1)
		c.countHosts(p.Assignment, -1)
	}
	key, slot := pageOf(tp.Partition)
	i, _ := t.page(key)
	t.pages[i].slots[slot] = nil
}
