package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Sentinels that Kafka uses in leadership records.
// Kafka: LeaderAndIsr (constants).
const (
	NoLeader           int32 = -1 // no leader is known
	LeaderDuringDelete int32 = -2 // metadata: the topic is being deleted
	NoEpoch            int32 = -1 // StopReplica: no leader epoch is known
	EpochDuringDelete  int32 = -2 // StopReplica: the topic is being deleted
)

// RecoveryState tells whether the leader still has to recover from an unclean
// election. Kafka: LeaderRecoveryState.
type RecoveryState int8

const (
	Recovered  RecoveryState = 0
	Recovering RecoveryState = 1
)

// String is RECOVERED or RECOVERING.
func (r RecoveryState) String() string {
	if r == Recovering {
		return "RECOVERING"
	}
	return "RECOVERED"
}

// LeaderAndIsr is the leadership record of one partition. PartitionEpoch is the
// data version of its state znode; it is never inside the JSON.
// Kafka: org.apache.kafka.metadata.LeaderAndIsr.
type LeaderAndIsr struct {
	Leader         int32
	LeaderEpoch    int32
	ISR            []int32
	Recovery       RecoveryState
	PartitionEpoch int32
}

// NewLeader sets the leader and raises the leader epoch.
// Kafka: LeaderAndIsr.newLeader.
func (l LeaderAndIsr) NewLeader(leader int32) LeaderAndIsr {
	return l.NewLeaderAndIsr(leader, l.ISR)
}

// NewLeaderAndIsr sets leader and ISR and raises the leader epoch.
// Kafka: LeaderAndIsr.newLeaderAndIsr.
func (l LeaderAndIsr) NewLeaderAndIsr(leader int32, isr []int32) LeaderAndIsr {
	l.Leader, l.ISR = leader, isr
	l.LeaderEpoch++
	return l
}

// NewRecoveringLeaderAndIsr also marks the partition as recovering.
// Kafka: LeaderAndIsr.newRecoveringLeaderAndIsr.
func (l LeaderAndIsr) NewRecoveringLeaderAndIsr(leader int32, isr []int32) LeaderAndIsr {
	l = l.NewLeaderAndIsr(leader, isr)
	l.Recovery = Recovering
	return l
}

// NewEpoch raises the leader epoch only.
// Kafka: LeaderAndIsr.newEpoch.
func (l LeaderAndIsr) NewEpoch() LeaderAndIsr { return l.NewLeaderAndIsr(l.Leader, l.ISR) }

// WithPartitionEpoch sets the partition epoch.
func (l LeaderAndIsr) WithPartitionEpoch(v int32) LeaderAndIsr {
	l.PartitionEpoch = v
	return l
}

// DuringDelete is what metadata says of a partition whose topic is queued for
// deletion. Kafka: LeaderAndIsr.duringDelete.
func DuringDelete(isr []int32) LeaderAndIsr {
	return LeaderAndIsr{Leader: LeaderDuringDelete, ISR: isr}
}

// Equal compares all fields; the order of the ISR counts.
func (l LeaderAndIsr) Equal(o LeaderAndIsr) bool {
	return l.Leader == o.Leader && l.LeaderEpoch == o.LeaderEpoch && l.Recovery == o.Recovery &&
		l.PartitionEpoch == o.PartitionEpoch && slices.Equal(l.ISR, o.ISR)
}

// LeaderIsrAndControllerEpoch is a leadership record with the epoch of the
// controller that wrote (or last confirmed) it.
// Kafka: kafka.controller.LeaderIsrAndControllerEpoch.
type LeaderIsrAndControllerEpoch struct {
	LeaderAndIsr
	ControllerEpoch int32
}

// String has the fields and their order as Kafka's log prints them.
func (l LeaderIsrAndControllerEpoch) String() string {
	return fmt.Sprintf("(Leader:%d,ISR:%s,LeaderRecoveryState:%s,LeaderEpoch:%d,ZkVersion:%d,ControllerEpoch:%d)",
		l.Leader, JoinIDs(l.ISR), l.Recovery, l.LeaderEpoch, l.PartitionEpoch, l.ControllerEpoch)
}

// ReplicaAssignment is the ordered replica list of a partition (adding and
// removing replicas included) and the two lists of a reassignment in progress.
// Kafka: kafka.controller.ReplicaAssignment.
type ReplicaAssignment struct {
	Replicas []int32
	Adding   []int32
	Removing []int32
}

// IsBeingReassigned: replicas are being added or removed.
func (a ReplicaAssignment) IsBeingReassigned() bool { return len(a.Adding) > 0 || len(a.Removing) > 0 }

// Origin is the replica list before the reassignment: Replicas minus Adding.
func (a ReplicaAssignment) Origin() []int32 { return Diff(a.Replicas, a.Adding) }

// Target is the replica list after the reassignment: Replicas minus Removing.
func (a ReplicaAssignment) Target() []int32 { return Diff(a.Replicas, a.Removing) }

// ReassignTo is the assignment that starts a move to target: the target first,
// then those origin replicas that are not in it.
// Kafka: ReplicaAssignment.reassignTo.
func (a ReplicaAssignment) ReassignTo(target []int32) ReplicaAssignment {
	origin := a.Origin()
	full := distinct(slices.Concat(target, origin))
	return ReplicaAssignment{Replicas: full, Adding: Diff(full, origin), Removing: Diff(full, target)}
}

// RemoveReplica takes a broker out of all three lists.
// Kafka: ReplicaAssignment.removeReplica.
func (a ReplicaAssignment) RemoveReplica(broker int32) ReplicaAssignment {
	gone := []int32{broker}
	return ReplicaAssignment{Replicas: Without(a.Replicas, gone), Adding: Without(a.Adding, gone), Removing: Without(a.Removing, gone)}
}

// Equal compares the three lists in order.
func (a ReplicaAssignment) Equal(o ReplicaAssignment) bool {
	return slices.Equal(a.Replicas, o.Replicas) && slices.Equal(a.Adding, o.Adding) && slices.Equal(a.Removing, o.Removing)
}

// Without returns the ids of list that are not in gone, in order. The result is
// a new slice unless nothing was taken out.
func Without(list, gone []int32) []int32 {
	keep := func(id int32) bool { return !slices.Contains(gone, id) }
	for i, id := range list {
		if !keep(id) {
			out := slices.Clone(list[:i])
			for _, id := range list[i:] {
				if keep(id) {
					out = append(out, id)
				}
			}
			return out
		}
	}
	return list
}

// Diff takes each id of gone out of list once: what is in list twice and in gone
// once stays once. Scala's Seq.diff, which Kafka uses on replica lists, counts
// duplicates in this way.
func Diff(list, gone []int32) []int32 {
	if len(gone) == 0 {
		return list
	}
	left := slices.Clone(gone)
	out := make([]int32, 0, len(list))
	for _, id := range list {
		if i := slices.Index(left, id); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			out = append(out, id)
		}
	}
	return out
}

func distinct(list []int32) []int32 {
	var out []int32
	for _, id := range list {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// JoinIDs renders ids with commas: 1,2,3.
func JoinIDs(ids []int32) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, id)
	}
	return b.String()
}

// IDsOrNone is JoinIDs, or none where there are no ids.
func IDsOrNone(ids []int32) string {
	if len(ids) == 0 {
		return "none"
	}
	return JoinIDs(ids)
}

// LeaderName is the id of a leader, or none for NoLeader.
func LeaderName(id int32) string {
	if id == NoLeader {
		return "none"
	}
	return strconv.Itoa(int(id))
}

// Plural is n things in words: 1 partition, 2 partitions.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Endpoint is one address that a broker advertises.
type Endpoint struct {
	Listener string // listener name, the key of listener.security.protocol.map
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	Host     string
	Port     int32
}

// String is LISTENER://host:port, as in the broker znode.
func (e Endpoint) String() string {
	host := e.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s://%s:%d", e.Listener, host, e.Port)
}

// VersionRange is the range of a feature that a broker supports.
type VersionRange struct{ Min, Max int16 }

// Broker is a registered broker. Epoch is the czxid of its znode.
type Broker struct {
	ID        int32
	Epoch     int64
	Endpoints []Endpoint
	Rack      string // empty when none
	Features  map[string]VersionRange
}

// Endpoint finds the endpoint with that listener name.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}
