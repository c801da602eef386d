package model

import "slices"

// PartitionState is a state of the partition state machine. The values are
// Kafka's own bytes plus one, so that the zero value means "no state known".
// Kafka: kafka.controller.PartitionState.
type PartitionState uint8

const (
	NoPartitionState PartitionState = iota
	NewPartition
	OnlinePartition
	OfflinePartition
	NonExistentPartition
)

// PartitionStates lists the four states in Kafka's numbering.
var PartitionStates = []PartitionState{NewPartition, OnlinePartition, OfflinePartition, NonExistentPartition}

var partitionStateNames = [...]string{"", "NewPartition", "OnlinePartition", "OfflinePartition", "NonExistentPartition"}

// String is Kafka's name of the state; empty when no state is known.
func (s PartitionState) String() string { return partitionStateNames[s] }

// ReplicaState is a state of the replica state machine; the values are Kafka's
// own bytes (1 to 7), zero means "no state known".
// Kafka: kafka.controller.ReplicaState.
type ReplicaState uint8

const (
	NoReplicaState ReplicaState = iota
	NewReplica
	OnlineReplica
	OfflineReplica
	ReplicaDeletionStarted
	ReplicaDeletionSuccessful
	ReplicaDeletionIneligible
	NonExistentReplica
)

// ReplicaStates lists the seven states in Kafka's numbering.
var ReplicaStates = []ReplicaState{NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionStarted,
	ReplicaDeletionSuccessful, ReplicaDeletionIneligible, NonExistentReplica}

var replicaStateNames = [...]string{"", "NewReplica", "OnlineReplica", "OfflineReplica", "ReplicaDeletionStarted",
	"ReplicaDeletionSuccessful", "ReplicaDeletionIneligible", "NonExistentReplica"}

// String is Kafka's name of the state; empty when no state is known.
func (s ReplicaState) String() string { return replicaStateNames[s] }

// Edge is one legal transition.
type Edge[S comparable] struct{ From, To S }

// Graph is a set of legal transitions. The engine refuses what is not in it,
// the screen draws what is in it, the documentation is written from it.
type Graph[S comparable] struct {
	States []S
	Edges  []Edge[S]
}

// Allows tells whether from -> to is a legal transition.
func (g *Graph[S]) Allows(from, to S) bool {
	return slices.Contains(g.Edges, Edge[S]{from, to})
}

// Before lists the states from which to may be entered, in the order of States.
// Kafka: PartitionState.validPreviousStates, ReplicaState.validPreviousStates.
func (g *Graph[S]) Before(to S) []S {
	var out []S
	for _, s := range g.States {
		if g.Allows(s, to) {
			out = append(out, s)
		}
	}
	return out
}

// PartitionGraph holds the 8 legal transitions of partitions.
var PartitionGraph = &Graph[PartitionState]{
	States: PartitionStates,
	Edges: []Edge[PartitionState]{
		{NonExistentPartition, NewPartition},
		{NewPartition, OnlinePartition}, {NewPartition, OfflinePartition},
		{OnlinePartition, OnlinePartition}, {OnlinePartition, OfflinePartition},
		{OfflinePartition, OnlinePartition}, {OfflinePartition, OfflinePartition}, {OfflinePartition, NonExistentPartition},
	},
}

// ReplicaGraph holds the 14 legal transitions of replicas.
var ReplicaGraph = &Graph[ReplicaState]{
	States: ReplicaStates,
	Edges: []Edge[ReplicaState]{
		{NonExistentReplica, NewReplica},
		{NewReplica, OnlineReplica}, {NewReplica, OfflineReplica},
		{OnlineReplica, OnlineReplica}, {OnlineReplica, OfflineReplica},
		{OfflineReplica, OnlineReplica}, {OfflineReplica, OfflineReplica},
		{OfflineReplica, ReplicaDeletionStarted}, {OfflineReplica, ReplicaDeletionIneligible},
		{ReplicaDeletionStarted, ReplicaDeletionSuccessful}, {ReplicaDeletionStarted, ReplicaDeletionIneligible},
		{ReplicaDeletionSuccessful, NonExistentReplica},
		{ReplicaDeletionIneligible, OnlineReplica}, {ReplicaDeletionIneligible, OfflineReplica},
	},
}
