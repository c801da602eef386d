package model

import "fmt"

// KafkaError is an error code of Kafka's protocol.
type KafkaError int16

const (
	ErrUnknownServerError          KafkaError = -1
	ErrNone                        KafkaError = 0
	ErrUnknownTopicOrPartition     KafkaError = 3
	ErrNotLeaderOrFollower         KafkaError = 6
	ErrRequestTimedOut             KafkaError = 7
	ErrBrokerNotAvailable          KafkaError = 8
	ErrStaleControllerEpoch        KafkaError = 11
	ErrInvalidTopicException       KafkaError = 17
	ErrTopicAuthorizationFailed    KafkaError = 29
	ErrClusterAuthorizationFailed  KafkaError = 31
	ErrUnsupportedVersion          KafkaError = 35
	ErrTopicAlreadyExists          KafkaError = 36
	ErrInvalidPartitions           KafkaError = 37
	ErrInvalidReplicationFactor    KafkaError = 38
	ErrInvalidReplicaAssignment    KafkaError = 39
	ErrInvalidConfig               KafkaError = 40
	ErrNotController               KafkaError = 41
	ErrInvalidRequest              KafkaError = 42
	ErrPolicyViolation             KafkaError = 44
	ErrOperationNotAttempted       KafkaError = 55
	ErrKafkaStorageError           KafkaError = 56
	ErrReassignmentInProgress      KafkaError = 60
	ErrTopicDeletionDisabled       KafkaError = 73
	ErrFencedLeaderEpoch           KafkaError = 74
	ErrUnknownLeaderEpoch          KafkaError = 75
	ErrStaleBrokerEpoch            KafkaError = 77
	ErrPreferredLeaderNotAvailable KafkaError = 80
	ErrEligibleLeadersNotAvailable KafkaError = 83
	ErrElectionNotNeeded           KafkaError = 84
	ErrNoReassignmentInProgress    KafkaError = 85
	ErrThrottlingQuotaExceeded     KafkaError = 89
	ErrInvalidUpdateVersion        KafkaError = 95
	ErrFeatureUpdateFailed         KafkaError = 96
	ErrUnknownTopicID              KafkaError = 100
	ErrBrokerIDNotRegistered       KafkaError = 102
	ErrInconsistentTopicID         KafkaError = 103
	ErrIneligibleReplica           KafkaError = 107
)

var kafkaErrorNames = map[KafkaError]string{
	ErrUnknownServerError: "UNKNOWN_SERVER_ERROR", ErrNone: "NONE", ErrUnknownTopicOrPartition: "UNKNOWN_TOPIC_OR_PARTITION",
	ErrNotLeaderOrFollower: "NOT_LEADER_OR_FOLLOWER", ErrRequestTimedOut: "REQUEST_TIMED_OUT", ErrBrokerNotAvailable: "BROKER_NOT_AVAILABLE",
	ErrStaleControllerEpoch: "STALE_CONTROLLER_EPOCH", ErrInvalidTopicException: "INVALID_TOPIC_EXCEPTION",
	ErrTopicAuthorizationFailed: "TOPIC_AUTHORIZATION_FAILED", ErrClusterAuthorizationFailed: "CLUSTER_AUTHORIZATION_FAILED",
	ErrUnsupportedVersion: "UNSUPPORTED_VERSION", ErrTopicAlreadyExists: "TOPIC_ALREADY_EXISTS", ErrInvalidPartitions: "INVALID_PARTITIONS",
	ErrInvalidReplicationFactor: "INVALID_REPLICATION_FACTOR", ErrInvalidReplicaAssignment: "INVALID_REPLICA_ASSIGNMENT",
	ErrInvalidConfig: "INVALID_CONFIG", ErrNotController: "NOT_CONTROLLER", ErrInvalidRequest: "INVALID_REQUEST",
	ErrPolicyViolation: "POLICY_VIOLATION", ErrOperationNotAttempted: "OPERATION_NOT_ATTEMPTED", ErrKafkaStorageError: "KAFKA_STORAGE_ERROR",
	ErrReassignmentInProgress: "REASSIGNMENT_IN_PROGRESS", ErrTopicDeletionDisabled: "TOPIC_DELETION_DISABLED",
	ErrFencedLeaderEpoch: "FENCED_LEADER_EPOCH", ErrUnknownLeaderEpoch: "UNKNOWN_LEADER_EPOCH", ErrStaleBrokerEpoch: "STALE_BROKER_EPOCH",
	ErrPreferredLeaderNotAvailable: "PREFERRED_LEADER_NOT_AVAILABLE", ErrEligibleLeadersNotAvailable: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
	ErrElectionNotNeeded: "ELECTION_NOT_NEEDED", ErrNoReassignmentInProgress: "NO_REASSIGNMENT_IN_PROGRESS",
	ErrThrottlingQuotaExceeded: "THROTTLING_QUOTA_EXCEEDED", ErrInvalidUpdateVersion: "INVALID_UPDATE_VERSION",
	ErrFeatureUpdateFailed: "FEATURE_UPDATE_FAILED", ErrUnknownTopicID: "UNKNOWN_TOPIC_ID", ErrBrokerIDNotRegistered: "BROKER_ID_NOT_REGISTERED",
	ErrInconsistentTopicID: "INCONSISTENT_TOPIC_ID", ErrIneligibleReplica: "INELIGIBLE_REPLICA",
}

// String is Kafka's name of the code.
func (e KafkaError) String() string {
	if n, ok := kafkaErrorNames[e]; ok {
		return n
	}
	return fmt.Sprintf("ERROR(%d)", int16(e))
}

// ParseKafkaError finds a code by its name.
func ParseKafkaError(name string) (KafkaError, error) {
	for e, n := range kafkaErrorNames {
		if n == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("%q is not an error of Kafka's protocol", name)
}

// ControlRequest is a request that a controller sends to a broker:
// *LeaderAndIsrRequest, *UpdateMetadataRequest or *StopReplicaRequest. What it
// points at is shared and never changed.
type ControlRequest interface {
	fmt.Stringer
	Kind() RequestKind
	// Size is the number of partition entries.
	Size() int
}

// RequestKind is one of the three control requests.
type RequestKind uint8

const (
	LeaderAndIsrKind RequestKind = iota + 1
	UpdateMetadataKind
	StopReplicaKind
)

var requestNames = [...]string{"", "LeaderAndIsr", "UpdateMetadata", "StopReplica"}

// String is Kafka's name of the request.
func (k RequestKind) String() string { return requestNames[k] }

// RequestHeader has the fields that all control requests share. BrokerEpoch is
// the registration epoch of the receiver.
type RequestHeader struct {
	Version         int16
	ControllerID    int32
	ControllerEpoch int32
	BrokerEpoch     int64
}

// LeaderAndIsrEntry is one partition of a LeaderAndIsr request. The entry's
// controller epoch is that of the leadership record, not of the request.
type LeaderAndIsrEntry struct {
	TopicPartition
	TopicID    Uuid
	Leadership *LeaderIsrAndControllerEpoch
	Assignment *ReplicaAssignment
	IsNew      bool
	Recovery   RecoveryState // Recovered below inter-broker protocol 3.2
}

// LeaderAndIsrRequest tells a broker to lead or follow partitions. Entries are
// sorted; LiveLeaders are the registered brokers that lead one of them.
type LeaderAndIsrRequest struct {
	RequestHeader
	Entries     []LeaderAndIsrEntry
	LiveLeaders []LiveLeader
}

// LiveLeader is a leader's address on the inter-broker listener.
type LiveLeader struct {
	ID   int32
	Host string
	Port int32
}

// UpdateMetadataEntry is one partition of an UpdateMetadata request. For a topic
// queued for deletion Leadership is that of DuringDelete.
type UpdateMetadataEntry struct {
	TopicPartition
	TopicID    Uuid
	Leadership *LeaderIsrAndControllerEpoch
	Replicas   []int32
	Offline    []int32
}

// UpdateMetadataRequest replaces a broker's list of live brokers and merges
// partitions into its metadata cache. Entries are sorted and shared by all receivers.
type UpdateMetadataRequest struct {
	RequestHeader
	Entries     []UpdateMetadataEntry
	LiveBrokers []Broker
}

// StopReplicaEntry is one partition of a StopReplica request.
type StopReplicaEntry struct {
	TopicPartition
	LeaderEpoch int32
	Delete      bool
}

// StopReplicaRequest tells a broker to stop, and maybe delete, replicas.
type StopReplicaRequest struct {
	RequestHeader
	Entries []StopReplicaEntry
	// Callback: the answer's partition errors matter to the controller.
	Callback bool
}

func (*LeaderAndIsrRequest) Kind() RequestKind   { return LeaderAndIsrKind }
func (*UpdateMetadataRequest) Kind() RequestKind { return UpdateMetadataKind }
func (*StopReplicaRequest) Kind() RequestKind    { return StopReplicaKind }

func (r *LeaderAndIsrRequest) Size() int   { return len(r.Entries) }
func (r *UpdateMetadataRequest) Size() int { return len(r.Entries) }
func (r *StopReplicaRequest) Size() int    { return len(r.Entries) }

func (r *LeaderAndIsrRequest) String() string {
	return requestString(r.Kind(), len(r.Entries), func(i int) string { return r.Entries[i].String() })
}

// String names the partition with leader, ISR and epoch.
func (e LeaderAndIsrEntry) String() string {
	s := fmt.Sprintf("%s leader=%d isr=%s epoch=%d", e.TopicPartition, e.Leadership.Leader, JoinIDs(e.Leadership.ISR), e.Leadership.LeaderEpoch)
	if e.IsNew {
		s += " new"
	}
	return s
}

func (r *UpdateMetadataRequest) String() string {
	return requestString(r.Kind(), len(r.Entries), func(i int) string { return r.Entries[i].String() })
}

// String names the partition with its leader.
func (e UpdateMetadataEntry) String() string {
	return fmt.Sprintf("%s leader=%d", e.TopicPartition, e.Leadership.Leader)
}

func (r *StopReplicaRequest) String() string {
	return requestString(r.Kind(), len(r.Entries), func(i int) string { return r.Entries[i].String() })
}

// String names the partition, its epoch, and whether it is to be deleted.
func (e StopReplicaEntry) String() string {
	s := fmt.Sprintf("%s epoch=%d", e.TopicPartition, e.LeaderEpoch)
	if e.Delete {
		s += " delete"
	}
	return s
}

func requestString(k RequestKind, n int, entry func(int) string) string {
	switch n {
	case 0:
		return k.String() + " (no partitions)"
	case 1:
		return k.String() + " " + entry(0)
	}
	return fmt.Sprintf("%s %s (+%d)", k, entry(0), n-1)
}

// PartitionError is one partition's result in an answer.
type PartitionError struct {
	TopicPartition
	Error KafkaError
}

// ControlResponse is a broker's answer to a control request. Partitions is
// empty for UpdateMetadata and when the request was refused as a whole.
type ControlResponse struct {
	Error      KafkaError
	Partitions []PartitionError
}
