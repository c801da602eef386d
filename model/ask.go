package model

// Ask is a request that a broker or client makes of the controller, each
// answered by one Reply step carrying the Answer of the same name.
type Ask interface{ AskName() string }

// Answer is the controller's answer to an Ask.
type Answer interface{ answer() }

// ElectionType is what an ElectLeaders request asks for.
type ElectionType uint8

const (
	PreferredElection ElectionType = iota
	UncleanElection
)

// String is PREFERRED or UNCLEAN.
func (t ElectionType) String() string {
	if t == UncleanElection {
		return "UNCLEAN"
	}
	return "PREFERRED"
}

// AlterPartition is a leader's proposal of a new ISR.
type AlterPartition struct {
	Version     int16
	BrokerID    int32
	BrokerEpoch int64
	Partitions  []AlterPartitionEntry
}

// AlterPartitionEntry is one partition of an AlterPartition request. From
// version 2 on TopicID names the topic, below it Topic does.
type AlterPartitionEntry struct {
	TopicPartition
	TopicID        Uuid
	ISR            []int32
	LeaderEpoch    int32
	PartitionEpoch int32
	Recovery       RecoveryState
}

// AlterPartitionAnswer has a top-level error, or a result per partition.
type AlterPartitionAnswer struct {
	Error      KafkaError
	Partitions []AlterPartitionResult
}

// AlterPartitionResult is the outcome for one partition.
type AlterPartitionResult struct {
	TopicPartition
	TopicID    Uuid
	Error      KafkaError
	Leadership *LeaderIsrAndControllerEpoch // nil on error
}

// ControlledShutdown asks to move leadership off a broker. BrokerEpoch is -1
// from requests below version 2.
type ControlledShutdown struct {
	BrokerID    int32
	BrokerEpoch int64
}

// ControlledShutdownAnswer lists the partitions that the broker still leads.
type ControlledShutdownAnswer struct {
	Error     KafkaError
	Remaining []TopicPartition
}

// ElectLeaders asks for elections; nil Partitions means all.
type ElectLeaders struct {
	Type       ElectionType
	Partitions []TopicPartition
}

// ElectLeadersAnswer has an outcome for each partition.
type ElectLeadersAnswer struct{ Results []ElectionResult }

// ElectionResult is the outcome of an election for one partition: Leader when
// Error is ErrNone.
type ElectionResult struct {
	TopicPartition
	Error  KafkaError
	Leader int32
	Why    string // in words, when Error is not ErrNone
}

// AlterPartitionReassignments starts, replaces or (Target nil) cancels
// reassignments.
type AlterPartitionReassignments struct{ Partitions []ReassignmentTarget }

// ReassignmentTarget is the wanted replica list; Cancel: back to the origin.
type ReassignmentTarget struct {
	TopicPartition
	Target []int32
	Cancel bool
}

// AlterPartitionReassignmentsAnswer has a top-level error, or one per partition.
type AlterPartitionReassignmentsAnswer struct {
	Error      KafkaError
	Partitions []PartitionError
}

// ListPartitionReassignments asks which reassignments run; nil means all.
type ListPartitionReassignments struct {
	Partitions []TopicPartition
	All        bool
}

// ListPartitionReassignmentsAnswer lists them.
type ListPartitionReassignmentsAnswer struct {
	Error      KafkaError
	Partitions []Reassignment
}

// Reassignment is one running reassignment.
type Reassignment struct {
	TopicPartition
	ReplicaAssignment
}

// AllocateProducerIDs asks for a block of producer ids.
type AllocateProducerIDs struct {
	BrokerID    int32
	BrokerEpoch int64
}

// AllocateProducerIDsAnswer is the block.
type AllocateProducerIDsAnswer struct {
	Error KafkaError
	Start int64
	Len   int32
}

// UpdateFeatures asks to finalize, change or delete feature levels.
type UpdateFeatures struct{ Updates []FeatureUpdate }

// FeatureUpgradeType is how a level may change.
type FeatureUpgradeType int8

const (
	UpgradeUnknown  FeatureUpgradeType = 0
	Upgrade         FeatureUpgradeType = 1
	SafeDowngrade   FeatureUpgradeType = 2
	UnsafeDowngrade FeatureUpgradeType = 3
)

// FeatureUpdate is one change of a finalized feature.
type FeatureUpdate struct {
	Feature  string
	MaxLevel int16
	Type     FeatureUpgradeType
}

// UpdateFeaturesAnswer has a top-level error, or one per feature.
type UpdateFeaturesAnswer struct {
	Error    KafkaError
	Message  string
	Features []FeatureResult
}

// FeatureResult is the outcome for one feature.
type FeatureResult struct {
	Feature string
	Error   KafkaError
	Message string
}

func (*AlterPartition) AskName() string              { return "AlterPartition" }
func (*ControlledShutdown) AskName() string          { return "ControlledShutdown" }
func (*ElectLeaders) AskName() string                { return "ElectLeaders" }
func (*AlterPartitionReassignments) AskName() string { return "AlterPartitionReassignments" }
func (*ListPartitionReassignments) AskName() string  { return "ListPartitionReassignments" }
func (*AllocateProducerIDs) AskName() string         { return "AllocateProducerIds" }
func (*UpdateFeatures) AskName() string              { return "UpdateFeatures" }

func (*AlterPartitionAnswer) answer()              {}
func (*ControlledShutdownAnswer) answer()          {}
func (*ElectLeadersAnswer) answer()                {}
func (*AlterPartitionReassignmentsAnswer) answer() {}
func (*ListPartitionReassignmentsAnswer) answer()  {}
func (*AllocateProducerIDsAnswer) answer()         {}
func (*UpdateFeaturesAnswer) answer()              {}
