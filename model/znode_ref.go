package model

import "strings"

// ZnodeKind says what a znode is for.
type ZnodeKind uint8

// The kinds of znodes. UnknownZnode is any path on which Kafka keeps nothing.
const (
	UnknownZnode ZnodeKind = iota
	RootZnode
	ControllerZnode
	ControllerEpochZnode
	BrokersZnode
	BrokerIDsZnode
	BrokerZnode
	BrokerSequenceIDZnode
	TopicsZnode
	TopicZnode
	TopicPartitionsZnode
	TopicPartitionZnode
	PartitionStateZnode
	AdminZnode
	DeleteTopicsZnode
	DeleteTopicZnode
	ReassignPartitionsZnode
	PreferredReplicaElectionZnode
	IsrChangesZnode
	IsrChangeZnode
	LogDirEventsZnode
	LogDirEventZnode
	ConfigZnode
	ConfigTypeZnode
	ConfigEntityZnode
	ConfigChangesZnode
	ConfigChangeZnode
	ClusterZnode
	ClusterIDZnode
	FeatureZnode
	ProducerIDBlockZnode
	MigrationZnode
	ConsumersZnode
	DelegationTokenZnode
	ACLZnode
)

var znodeKindNames = [...]string{
	UnknownZnode: "unknown", RootZnode: "root", ControllerZnode: "controller", ControllerEpochZnode: "controller epoch",
	BrokersZnode: "brokers", BrokerIDsZnode: "broker ids", BrokerZnode: "broker", BrokerSequenceIDZnode: "broker sequence id",
	TopicsZnode: "topics", TopicZnode: "topic", TopicPartitionsZnode: "topic partitions", TopicPartitionZnode: "partition",
	PartitionStateZnode: "partition state", AdminZnode: "admin", DeleteTopicsZnode: "delete topics", DeleteTopicZnode: "delete topic",
	ReassignPartitionsZnode: "reassign partitions", PreferredReplicaElectionZnode: "preferred replica election",
	IsrChangesZnode: "ISR change notifications", IsrChangeZnode: "ISR change notification",
	LogDirEventsZnode: "log dir event notifications", LogDirEventZnode: "log dir event notification",
	ConfigZnode: "config", ConfigTypeZnode: "config type", ConfigEntityZnode: "config entity",
	ConfigChangesZnode: "config changes", ConfigChangeZnode: "config change notification",
	ClusterZnode: "cluster", ClusterIDZnode: "cluster id", FeatureZnode: "feature", ProducerIDBlockZnode: "producer id block",
	MigrationZnode: "migration", ConsumersZnode: "consumers", DelegationTokenZnode: "delegation token", ACLZnode: "acl",
}

// String is a short name of the kind for messages.
func (k ZnodeKind) String() string {
	if int(k) < len(znodeKindNames) {
		return znodeKindNames[k]
	}
	return "unknown"
}

// CreateMode is how a znode is created in ZooKeeper.
type CreateMode uint8

const (
	Persistent CreateMode = iota
	Ephemeral
	PersistentSequential
)

// String is persistent, ephemeral or persistent sequential.
func (m CreateMode) String() string {
	return [...]string{"persistent", "ephemeral", "persistent sequential"}[min(m, PersistentSequential)]
}

// Mode is how Kafka creates znodes of this kind.
func (k ZnodeKind) Mode() CreateMode {
	switch k {
	case ControllerZnode, BrokerZnode:
		return Ephemeral
	case IsrChangeZnode, LogDirEventZnode, ConfigChangeZnode:
		return PersistentSequential
	}
	return Persistent
}

// ZnodeRef names one znode by what it is about. Only the fields that belong to
// its Kind are set.
type ZnodeRef struct {
	Kind      ZnodeKind
	Topic     string // TopicZnode and below it, DeleteTopicZnode, ConfigEntityZnode of a topic
	Partition int32  // TopicPartitionZnode, PartitionStateZnode
	Broker    int32  // BrokerZnode
	Entity    string // ConfigTypeZnode, ConfigEntityZnode: topics, brokers, ...
	Name      string // ConfigEntityZnode: entity name; notifications: sequence; else: the path below the kind's root
}

// TopicPartition is the partition that a TopicPartitionZnode or a
// PartitionStateZnode is about.
func (r ZnodeRef) TopicPartition() TopicPartition { return TP(r.Topic, r.Partition) }

// ParsePath finds out what a path (chroot taken off) names. It is total: what
// Kafka does not know is UnknownZnode, and so is a number that Kafka would not
// write that way (/brokers/ids/07). It allocates nothing.
func ParsePath(path string) ZnodeRef {
	unknown := ZnodeRef{}
	if path == "" || path[0] != '/' {
		return unknown
	}
	if path == "/" {
		return ZnodeRef{Kind: RootZnode}
	}
	if path[len(path)-1] == '/' || strings.Contains(path, "//") {
		return unknown
	}
	root, rest, below := strings.Cut(path[1:], "/")
	switch root {
	case "brokers":
		return parseBrokersPath(rest, below)
	case "admin":
		return parseAdminPath(rest, below)
	case "config":
		return parseConfigPath(rest, below)
	case "isr_change_notification":
		return parseNotificationPath(rest, below, isrChangePrefix, IsrChangesZnode, IsrChangeZnode)
	case "log_dir_event_notification":
		return parseNotificationPath(rest, below, logDirEventPrefix, LogDirEventsZnode, LogDirEventZnode)
	case "cluster":
		if rest == "id" {
			return ZnodeRef{Kind: ClusterIDZnode}
		}
		return leafRef(ClusterZnode, below)
	case "controller":
		return leafRef(ControllerZnode, below)
	case "controller_epoch":
		return leafRef(ControllerEpochZnode, below)
	case "feature":
		return leafRef(FeatureZnode, below)
	case "latest_producer_id_block":
		return leafRef(ProducerIDBlockZnode, below)
	case "migration":
		return leafRef(MigrationZnode, below)
	case "consumers":
		return ZnodeRef{Kind: ConsumersZnode, Name: rest}
	case "delegation_token":
		return ZnodeRef{Kind: DelegationTokenZnode, Name: rest}
	case "kafka-acl", "kafka-acl-changes", "kafka-acl-extended", "kafka-acl-extended-changes":
		return ZnodeRef{Kind: ACLZnode, Name: path[1:]}
	}
	return unknown
}

// leafRef is a znode that has no known children.
func leafRef(kind ZnodeKind, below bool) ZnodeRef {
	if below {
		return ZnodeRef{}
	}
	return ZnodeRef{Kind: kind}
}

func parseBrokersPath(rest string, below bool) ZnodeRef {
	if !below {
		return ZnodeRef{Kind: BrokersZnode}
	}
	head, rest, below := strings.Cut(rest, "/")
	switch head {
	case "topics":
		return parseTopicPath(rest, below)
	case "seqid":
		return leafRef(BrokerSequenceIDZnode, below)
	case "ids":
		if !below {
			return ZnodeRef{Kind: BrokerIDsZnode}
		}
		if id, ok := canonicalInt32(rest); ok {
			return ZnodeRef{Kind: BrokerZnode, Broker: id}
		}
	}
	return ZnodeRef{}
}

func parseTopicPath(rest string, below bool) ZnodeRef {
	if !below {
		return ZnodeRef{Kind: TopicsZnode}
	}
	topic, rest, below := strings.Cut(rest, "/")
	if !below {
		return ZnodeRef{Kind: TopicZnode, Topic: topic}
	}
	if rest == "partitions" {
		return ZnodeRef{Kind: TopicPartitionsZnode, Topic: topic}
	}
	rest, ok := strings.CutPrefix(rest, "partitions/")
	if !ok {
		return ZnodeRef{}
	}
	number, rest, below := strings.Cut(rest, "/")
	partition, ok := canonicalInt32(number)
	switch {
	case !ok:
		return ZnodeRef{}
	case !below:
		return ZnodeRef{Kind: TopicPartitionZnode, Topic: topic, Partition: partition}
	case rest == "state":
		return ZnodeRef{Kind: PartitionStateZnode, Topic: topic, Partition: partition}
	}
	return ZnodeRef{}
}

func parseAdminPath(rest string, below bool) ZnodeRef {
	if !below {
		return ZnodeRef{Kind: AdminZnode}
	}
	head, rest, below := strings.Cut(rest, "/")
	switch head {
	case "delete_topics":
		if !below {
			return ZnodeRef{Kind: DeleteTopicsZnode}
		}
		if !strings.Contains(rest, "/") {
			return ZnodeRef{Kind: DeleteTopicZnode, Topic: rest}
		}
	case "reassign_partitions":
		return leafRef(ReassignPartitionsZnode, below)
	case "preferred_replica_election":
		return leafRef(PreferredReplicaElectionZnode, below)
	}
	return ZnodeRef{}
}

func parseConfigPath(rest string, below bool) ZnodeRef {
	if !below {
		return ZnodeRef{Kind: ConfigZnode}
	}
	head, rest, below := strings.Cut(rest, "/")
	switch head {
	case "changes":
		return parseNotificationPath(rest, below, configChangePrefix, ConfigChangesZnode, ConfigChangeZnode)
	case ConfigTypeTopics, ConfigTypeClients, ConfigTypeUsers, ConfigTypeBrokers, ConfigTypeIPs:
		if !below {
			return ZnodeRef{Kind: ConfigTypeZnode, Entity: head}
		}
		if head != ConfigTypeUsers && strings.Contains(rest, "/") {
			return ZnodeRef{}
		}
		ref := ZnodeRef{Kind: ConfigEntityZnode, Entity: head, Name: rest}
		if head == ConfigTypeTopics {
			ref.Topic = rest
		}
		return ref
	}
	return ZnodeRef{}
}

func parseNotificationPath(rest string, below bool, prefix string, parent, child ZnodeKind) ZnodeRef {
	if !below {
		return ZnodeRef{Kind: parent}
	}
	if sequence, ok := strings.CutPrefix(rest, prefix); ok && sequence != "" && !strings.Contains(sequence, "/") {
		return ZnodeRef{Kind: child, Name: sequence}
	}
	return ZnodeRef{}
}

// canonicalInt32 reads a decimal number that is written as Kafka writes it: no
// plus sign, no leading zeros, no -0.
func canonicalInt32(s string) (int32, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 10 || (digits[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n := int64(0)
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if len(digits) != len(s) {
		n = -n
	}
	return int32(n), n == int64(int32(n))
}
