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

// Mutation is what the three topic requests share. From is the requester, by
// whom mutations are counted; Rate is its controller_mutation_rate in partitions
// a second, 0 for none. Strict: this request version is refused beyond the rate,
// instead of only throttled afterwards.
type Mutation struct {
	From          string
	Rate          float64
	Strict        bool
	TimeoutMillis int32
}

// CreateTopics asks for new topics. ValidateOnly: nothing is written.
type CreateTopics struct {
	Mutation
	ValidateOnly bool
	Topics       []NewTopic
}

// NewTopic is one of them: by numbers (-1 for the broker's defaults) or by an
// assignment, which is by partition number.
type NewTopic struct {
	Topic             string
	Partitions        int32
	ReplicationFactor int16
	Assignment        map[int32][]int32
	Config            map[string]string
	NullConfig        bool // a config had no value
	Denied            bool // who asks may not create it
}

// CreateTopicsAnswer has a result for each topic.
type CreateTopicsAnswer struct {
	ThrottleMillis int32
	Topics         []CreatedTopic
}

// CreatedTopic is the outcome for one topic.
type CreatedTopic struct {
	Topic             string
	ID                Uuid
	Error             KafkaError
	Message           string
	Partitions        int32
	ReplicationFactor int16
}

// DeleteTopics asks to delete topics, each by name or by id.
type DeleteTopics struct {
	Mutation
	Version int16
	Topics  []TopicOrID
	Access  []TopicAccess // for each of Topics; nil: everything is allowed
}

// TopicAccess is what who asks may do to a topic, under the name that was judged;
// it is empty where the topic's id was not known.
type TopicAccess struct {
	Topic            string
	Describe, Delete bool
}

// TopicOrID names a topic one way or the other.
type TopicOrID struct {
	Topic string
	ID    Uuid
}

// DeleteTopicsAnswer has a result for each topic.
type DeleteTopicsAnswer struct {
	ThrottleMillis int32
	Topics         []DeletedTopic
}

// DeletedTopic is the outcome for one topic.
type DeletedTopic struct {
	TopicOrID
	Error   KafkaError
	Message string
}

// CreatePartitions asks to grow topics.
type CreatePartitions struct {
	Mutation
	ValidateOnly bool
	Topics       []GrownTopic
}

// GrownTopic is one of them; Assignment nil lets the controller choose.
type GrownTopic struct {
	Topic      string
	Count      int32
	Assignment [][]int32
	Denied     bool // who asks may not alter it
}

// CreatePartitionsAnswer has a result for each topic.
type CreatePartitionsAnswer struct {
	ThrottleMillis int32
	Topics         []TopicResult
}

// TopicResult is the outcome for one topic.
type TopicResult struct {
	Topic   string
	Error   KafkaError
	Message string
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
func (*CreateTopics) AskName() string                { return "CreateTopics" }
func (*DeleteTopics) AskName() string                { return "DeleteTopics" }
func (*CreatePartitions) AskName() string            { return "CreatePartitions" }

func (*AlterPartitionAnswer) answer()              {}
func (*ControlledShutdownAnswer) answer()          {}
func (*ElectLeadersAnswer) answer()                {}
func (*AlterPartitionReassignmentsAnswer) answer() {}
func (*ListPartitionReassignmentsAnswer) answer()  {}
func (*AllocateProducerIDsAnswer) answer()         {}
func (*UpdateFeaturesAnswer) answer()              {}
func (*CreateTopicsAnswer) answer()                {}
func (*DeleteTopicsAnswer) answer()                {}
func (*CreatePartitionsAnswer) answer()            {}
