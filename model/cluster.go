package model

import (
	"iter"
	"slices"
)

// ReplicaStatus is what is remembered of one replica of a partition.
type ReplicaStatus struct {
	Broker     int32
	State      ReplicaState // NoReplicaState: none
	OfflineDir bool         // its broker reported the log directory as failed
	// DeletionError is what its broker answered to the last attempt to delete it;
	// ErrNone while none failed. The next attempt forgets it.
	DeletionError KafkaError
}

// Partition is what is remembered of one partition. Nil pointers and zero
// values mean "not known"; what the pointers point at is never changed.
type Partition struct {
	Assignment  *ReplicaAssignment
	Leadership  *LeaderIsrAndControllerEpoch
	State       PartitionState
	Reassigning bool            // member of partitionsBeingReassigned
	Unreadable  string          // tree view only: why the state znode cannot be read
	Replicas    []ReplicaStatus // by broker id; states may outlive the assignment

	gen uint64
}

// Replica finds the status of the replica on that broker.
func (p *Partition) Replica(broker int32) (ReplicaStatus, bool) {
	for _, r := range p.Replicas {
		if r.Broker == broker {
			return r, true
		}
	}
	return ReplicaStatus{Broker: broker}, false
}

// Leader is the remembered leader, NoLeader when there is none.
func (p *Partition) Leader() int32 {
	if p.Leadership == nil {
		return NoLeader
	}
	return p.Leadership.Leader
}

const (
	pageShift = 6
	pageSize  = 1 << pageShift
)

type page struct {
	gen   uint64
	key   int32 // partition number / pageSize, rounded down
	slots []*Partition
}

// pageOf finds the page and the slot of a partition number. A topic znode can
// hold negative numbers (Kafka reads them too): they lie in pages of their own.
func pageOf(n int32) (key int32, slot int) { return n >> pageShift, int(n & (pageSize - 1)) }

// Topic is what is remembered of one topic. A topic that Kafka's controller has
// removed from its memory may leave partition and replica states behind (it
// does so in Kafka); then Known is false.
type Topic struct {
	Name            string
	Known           bool // member of allTopics
	ID              Uuid
	PartitionCounts [5]int // assigned partitions by PartitionState
	ReplicaCounts   [8]int // replicas by ReplicaState
	Reassigning     int    // partitions being reassigned
	Unreadable      string // tree view only: why the topic znode cannot be read

	gen   uint64
	pages []*page
}

func (t *Topic) page(key int32) (int, bool) {
	return slices.BinarySearchFunc(t.pages, key, func(p *page, k int32) int { return int(p.key) - int(k) })
}

// Partition is nil when nothing is remembered under that number.
func (t *Topic) Partition(n int32) *Partition {
	if t == nil {
		return nil
	}
	key, slot := pageOf(n)
	i, ok := t.page(key)
	if !ok || slot >= len(t.pages[i].slots) {
		return nil
	}
	return t.pages[i].slots[slot]
}

// Entries walks everything remembered under this topic by partition number,
// states that outlived their assignment included.
func (t *Topic) Entries() iter.Seq2[int32, *Partition] {
	return func(yield func(int32, *Partition) bool) {
		if t == nil {
			return
		}
		for _, pg := range t.pages {
			for i, p := range pg.slots {
				if p != nil && !yield(pg.key*pageSize+int32(i), p) {
					return
				}
			}
		}
	}
}

// Partitions walks the assigned partitions by number.
func (t *Topic) Partitions() iter.Seq2[int32, *Partition] {
	return func(yield func(int32, *Partition) bool) {
		for n, p := range t.Entries() {
			if p.Assignment != nil && !yield(n, p) {
				return
			}
		}
	}
}

// PartitionCount is the number of assigned partitions.
func (t *Topic) PartitionCount() int {
	n := 0
	for _, c := range t.PartitionCounts {
		n += c
	}
	return n
}

// View is a cluster as a controller remembers it, or as it follows from the
// znodes: for reading. Kafka: ControllerContext.
type View struct {
	Epoch          int32 // controller epoch
	EpochZkVersion int32 // data version of /controller_epoch: the fence

	// PartitionCounts and ReplicaCounts count by state over known topics.
	PartitionCounts [5]int
	ReplicaCounts   [8]int
	TopicCount      int

	// Kafka's two running counters; see state-machines facts D3, D4.
	OfflinePartitionCount          int
	PreferredReplicaImbalanceCount int

	TopicsToBeDeleted            TopicSet
	TopicsWithDeletionStarted    TopicSet
	TopicsIneligibleForDeletion  TopicSet
	ineligibleReasons            sorted[IneligibleReason]
	brokers                      []Broker // by id; replaced, never written
	shuttingDown                 []int32  // by id; replaced, never written
	topics                       sorted[*Topic]
	offlineDirs                  map[int32]int // broker -> replicas on failed dirs; replaced, never written
	leads, hosts                 map[int32]int // broker -> partitions led, replicas assigned; replaced once per generation
	shares                       uint64        // generation of leads and hosts
	reassigning                  int
	unreadableTopics, unreadable int
}

// IneligibleReason says why a topic's deletion is halted.
type IneligibleReason string

const (
	OfflineReplicas        IneligibleReason = "offline-replica"
	ReassignmentInProgress IneligibleReason = "reassignment-in-progress"
	ReplicaDeletionFailed  IneligibleReason = "replica-deletion-failed"
	DeleteTopicDisabled    IneligibleReason = "delete-topic-disabled"
)

// IneligibleReason is why the topic was last marked ineligible; empty when it is not.
func (v *View) IneligibleReason(topic string) IneligibleReason {
	why, _ := v.ineligibleReasons.get(topic)
	return why
}

// Topic is nil when nothing is remembered under that name.
func (v *View) Topic(name string) *Topic {
	t, _ := v.topics.get(name)
	return t
}

// KnowsTopic: the topic is a member of allTopics.
func (v *View) KnowsTopic(name string) bool {
	t := v.Topic(name)
	return t != nil && t.Known
}

// Topics walks the known topics by name.
func (v *View) Topics() iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		for t := range v.Entries() {
			if t.Known && !yield(t) {
				return
			}
		}
	}
}

// Entries walks everything remembered by topic name, topics that are no longer
// known but left states behind included.
func (v *View) Entries() iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		for _, t := range v.topics.all() {
			if !yield(t) {
				return
			}
		}
	}
}

// Partition is nil when nothing is remembered of it.
func (v *View) Partition(tp TopicPartition) *Partition {
	return v.Topic(tp.Topic).Partition(tp.Partition)
}

// Assignment is empty when the partition is not assigned.
func (v *View) Assignment(tp TopicPartition) ReplicaAssignment {
	if p := v.Partition(tp); p != nil && p.Assignment != nil {
		return *p.Assignment
	}
	return ReplicaAssignment{}
}

// Leadership is nil when none is known.
func (v *View) Leadership(tp TopicPartition) *LeaderIsrAndControllerEpoch {
	if p := v.Partition(tp); p != nil {
		return p.Leadership
	}
	return nil
}

// PartitionState is NoPartitionState when none is known.
func (v *View) PartitionState(tp TopicPartition) PartitionState {
	if p := v.Partition(tp); p != nil {
		return p.State
	}
	return NoPartitionState
}

// ReplicaState is NoReplicaState when none is known.
func (v *View) ReplicaState(r Replica) ReplicaState {
	if p := v.Partition(r.TopicPartition); p != nil {
		s, _ := p.Replica(r.Broker)
		return s.State
	}
	return NoReplicaState
}

// IsBeingReassigned: member of partitionsBeingReassigned.
func (v *View) IsBeingReassigned(tp TopicPartition) bool {
	p := v.Partition(tp)
	return p != nil && p.Reassigning
}

// ReassigningCount is the size of partitionsBeingReassigned.
func (v *View) ReassigningCount() int { return v.reassigning }

// UnreadableCounts is how many topic znodes and state znodes cannot be read
// (tree view only).
func (v *View) UnreadableCounts() (topics, partitions int) { return v.unreadableTopics, v.unreadable }

// Brokers lists the registered brokers by id, those shutting down included.
func (v *View) Brokers() []Broker { return v.brokers }

// Broker finds a registered broker.
func (v *View) Broker(id int32) *Broker {
	i, ok := slices.BinarySearchFunc(v.brokers, id, func(b Broker, id int32) int { return int(b.ID) - int(id) })
	if !ok {
		return nil
	}
	return &v.brokers[i]
}

// IsLiveOrShuttingDown: the broker is registered.
func (v *View) IsLiveOrShuttingDown(id int32) bool { return v.Broker(id) != nil }

// IsLive: the broker is registered and not shutting down.
func (v *View) IsLive(id int32) bool {
	return v.IsLiveOrShuttingDown(id) && !slices.Contains(v.shuttingDown, id)
}

// LiveOrShuttingDown lists the ids of the registered brokers in order.
func (v *View) LiveOrShuttingDown() []int32 {
	ids := make([]int32, len(v.brokers))
	for i := range v.brokers {
		ids[i] = v.brokers[i].ID
	}
	return ids
}

// Live lists the ids of registered brokers that are not shutting down, in order.
func (v *View) Live() []int32 { return Without(v.LiveOrShuttingDown(), v.shuttingDown) }

// ShuttingDown lists the ids of brokers in controlled shutdown, in order.
func (v *View) ShuttingDown() []int32 { return v.shuttingDown }

// IsReplicaOnline: the broker is live (or, if asked, shutting down) and the
// partition is not on one of its failed log directories.
// Kafka: ControllerContext.isReplicaOnline.
func (v *View) IsReplicaOnline(broker int32, tp TopicPartition, includeShuttingDown bool) bool {
	if includeShuttingDown && !v.IsLiveOrShuttingDown(broker) || !includeShuttingDown && !v.IsLive(broker) {
		return false
	}
	return !v.OnOfflineDir(broker, tp)
}

// OnOfflineDir: the replica is on a failed log directory.
func (v *View) OnOfflineDir(broker int32, tp TopicPartition) bool {
	if v.offlineDirs[broker] == 0 {
		return false
	}
	p := v.Partition(tp)
	if p == nil {
		return false
	}
	r, _ := p.Replica(broker)
	return r.OfflineDir
}

// IsQueued: member of topicsToBeDeleted.
func (v *View) IsQueued(topic string) bool {
	return v.TopicsToBeDeleted.Len() > 0 && v.TopicsToBeDeleted.Has(topic)
}

// Leads is how many partitions the broker is remembered to lead.
func (v *View) Leads(broker int32) int { return v.leads[broker] }

// Assigned lists the brokers that replicas are assigned to, by id.
func (v *View) Assigned() []int32 {
	var out []int32
	for id, n := range v.hosts {
		if n > 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Hosts is how many replicas are assigned to the broker.
func (v *View) Hosts(broker int32) int { return v.hosts[broker] }

// HasPreferredLeader: the first assigned replica leads; while that one is still
// being added, it counts as balanced as long as it is not in the ISR.
// Kafka: ControllerContext.hasPreferredLeader.
func HasPreferredLeader(a *ReplicaAssignment, l *LeaderIsrAndControllerEpoch) bool {
	preferred := a.Replicas[0]
	if a.IsBeingReassigned() && slices.Contains(a.Adding, preferred) {
		return !slices.Contains(l.ISR, preferred)
	}
	return l.Leader == preferred
}
