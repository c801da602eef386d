package model

// Transition is what may be asked of a state machine: a partition to another state
// or, with a broker, its replica there. Broker is NoBroker for the partition.
type Transition struct {
	TopicPartition
	Broker      int32
	ToPartition PartitionState
	ToReplica   ReplicaState
}

// NoBroker stands for no broker.
const NoBroker int32 = -1

// Replica is what it is about if it names a broker.
func (t Transition) Replica() Replica {
	return Replica{TopicPartition: t.TopicPartition, Broker: t.Broker}
}

// String names the subject and the state that it is to have.
func (t Transition) String() string {
	if t.Broker == NoBroker {
		return t.TopicPartition.String() + " to " + t.ToPartition.String()
	}
	return t.Replica().String() + " to " + t.ToReplica.String()
}

// Illegal tells whether a machine refuses it as v stands. A subject without a state
// has none to leave, and none is refused.
func (t Transition) Illegal(v *View) bool {
	if t.Broker == NoBroker {
		from := v.PartitionState(t.TopicPartition)
		return from != NoPartitionState && t.ToPartition != NoPartitionState && !PartitionGraph.Allows(from, t.ToPartition)
	}
	from := v.ReplicaState(t.Replica())
	return from != NoReplicaState && t.ToReplica != NoReplicaState && !ReplicaGraph.Allows(from, t.ToReplica)
}
