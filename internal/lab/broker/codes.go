package broker

// Error codes of Kafka's protocol that the brokers answer or understand.
// Kafka: org.apache.kafka.common.protocol.Errors.
const (
	codeUnknownServerError      int16 = -1
	codeNone                    int16 = 0
	codeUnknownTopicOrPartition int16 = 3
	codeLeaderNotAvailable      int16 = 5
	codeReplicaNotAvailable     int16 = 9
	codeStaleControllerEpoch    int16 = 11
	codeInvalidTopic            int16 = 17
	codeUnsupportedVersion      int16 = 35
	codeNotController           int16 = 41
	codeInvalidRequest          int16 = 42
	codeOperationNotAttempted   int16 = 55
	codeKafkaStorageError       int16 = 56
	codeListenerNotFound        int16 = 72
	codeFencedLeaderEpoch       int16 = 74
	codeStaleBrokerEpoch        int16 = 77
	codeInvalidUpdateVersion    int16 = 95
	codeUnknownTopicID          int16 = 100
	codeInconsistentTopicID     int16 = 103
	codeIneligibleReplica       int16 = 107
	codeNewLeaderElected        int16 = 108
	codeUnsupportedEndpointType int16 = 115
	unknownBrokerEpoch          int64 = -1
	initialLeaderEpoch          int32 = -1 // before the first LeaderAndIsr
	initialPartitionEpoch       int32 = -1
	maxRequestBytes                   = 100 << 20 // socket.request.max.bytes
)

// Keys of the requests that the brokers serve or send.
const (
	keyMetadata                    int16 = 3
	keyLeaderAndISR                int16 = 4
	keyStopReplica                 int16 = 5
	keyUpdateMetadata              int16 = 6
	keyControlledShutdown          int16 = 7
	keyApiVersions                 int16 = 18
	keyCreateTopics                int16 = 19
	keyDeleteTopics                int16 = 20
	keyCreatePartitions            int16 = 37
	keyElectLeaders                int16 = 43
	keyAlterPartitionReassignments int16 = 45
	keyListPartitionReassignments  int16 = 46
	keyAlterUserScramCredentials   int16 = 51
	keyAlterPartition              int16 = 56
	keyUpdateFeatures              int16 = 57
	keyDescribeCluster             int16 = 60
	keyAllocateProducerIDs         int16 = 67
)

// fromController tells the requests that only a controller sends.
func fromController(key int16) bool {
	return key == keyLeaderAndISR || key == keyStopReplica || key == keyUpdateMetadata
}
