package model

import (
	"slices"
	"strconv"
	"strings"
)

// The znodes of a Kafka cluster, chroot not included.
// Kafka: kafka.zk.ZkData (one object per znode).
const (
	ControllerPath               = "/controller"
	ControllerEpochPath          = "/controller_epoch"
	BrokersPath                  = "/brokers"
	BrokerIDsPath                = "/brokers/ids"
	BrokerSequenceIDPath         = "/brokers/seqid"
	TopicsPath                   = "/brokers/topics"
	AdminPath                    = "/admin"
	DeleteTopicsPath             = "/admin/delete_topics"
	ReassignPartitionsPath       = "/admin/reassign_partitions"
	PreferredReplicaElectionPath = "/admin/preferred_replica_election"
	IsrChangeNotificationPath    = "/isr_change_notification"
	LogDirEventNotificationPath  = "/log_dir_event_notification"
	ConfigPath                   = "/config"
	ConfigTopicsPath             = "/config/topics"
	ConfigClientsPath            = "/config/clients"
	ConfigUsersPath              = "/config/users"
	ConfigBrokersPath            = "/config/brokers"
	ConfigIPsPath                = "/config/ips"
	ConfigChangesPath            = "/config/changes"
	ClusterPath                  = "/cluster"
	ClusterIDPath                = "/cluster/id"
	FeaturePath                  = "/feature"
	ProducerIDBlockPath          = "/latest_producer_id_block"
	MigrationPath                = "/migration"
	ConsumersPath                = "/consumers"
	DelegationTokenPath          = "/delegation_token"
	DelegationTokensPath         = "/delegation_token/tokens"
	DelegationTokenChangesPath   = "/delegation_token/token_changes"
	ACLPath                      = "/kafka-acl"
	ACLChangesPath               = "/kafka-acl-changes"
	ExtendedACLPath              = "/kafka-acl-extended"
	PrefixedACLPath              = "/kafka-acl-extended/prefixed"
	ExtendedACLChangesPath       = "/kafka-acl-extended-changes"
)

// The prefixes of sequential znodes; ZooKeeper appends ten digits.
const (
	isrChangePrefix    = "isr_change_"
	logDirEventPrefix  = "log_dir_event_"
	configChangePrefix = "config_change_"
	tokenChangePrefix  = "token_change_"
	aclChangePrefix    = "acl_changes_"
)

// DefaultEntity is the name of the entity that holds the defaults of a config
// type, as in /config/brokers/<default>.
const DefaultEntity = "<default>"

// The config types that ZooKeeper holds. Kafka: ConfigType.ALL.
const (
	ConfigTypeTopics  = "topics"
	ConfigTypeClients = "clients"
	ConfigTypeUsers   = "users"
	ConfigTypeBrokers = "brokers"
	ConfigTypeIPs     = "ips"
)

// PersistentPaths are the znodes that each broker makes sure of at its start,
// in that order. Kafka: ZkData.PersistentZkPaths.
func PersistentPaths() []string {
	return []string{ConsumersPath, BrokerIDsPath, TopicsPath, ConfigChangesPath, DeleteTopicsPath, BrokerSequenceIDPath,
		IsrChangeNotificationPath, ProducerIDBlockPath, LogDirEventNotificationPath,
		ConfigTopicsPath, ConfigClientsPath, ConfigUsersPath, ConfigBrokersPath, ConfigIPsPath}
}

// SecureRootPaths are the trees that get restricted access control lists when
// zookeeper.set.acl is on. Kafka: ZkData.SecureRootPaths.
func SecureRootPaths() []string {
	return []string{AdminPath, BrokersPath, ClusterPath, ConfigPath, ControllerPath, ControllerEpochPath,
		IsrChangeNotificationPath, ProducerIDBlockPath, LogDirEventNotificationPath, DelegationTokenPath,
		ExtendedACLPath, MigrationPath, FeaturePath, ACLPath, ACLChangesPath, PrefixedACLPath, ExtendedACLChangesPath}
}

// SensitiveRootPaths are the trees that the world may not read when
// zookeeper.set.acl is on. Kafka: ZkData.SensitiveRootPaths.
func SensitiveRootPaths() []string {
	return []string{ConfigUsersPath, ConfigBrokersPath, DelegationTokensPath}
}

// IsSensitivePath tells whether the path begins like one of
// SensitiveRootPaths; a mere prefix of a name counts, as it does in Kafka.
func IsSensitivePath(path string) bool {
	return slices.ContainsFunc(SensitiveRootPaths(), func(root string) bool { return strings.HasPrefix(path, root) })
}

// BrokerIDPath is the registration of a broker.
func BrokerIDPath(broker int32) string { return BrokerIDsPath + "/" + itoa(broker) }

// TopicPath is the assignment of a topic.
func TopicPath(topic string) string { return TopicsPath + "/" + topic }

// TopicPartitionsPath is the parent of the partitions of a topic.
func TopicPartitionsPath(topic string) string { return TopicsPath + "/" + topic + "/partitions" }

// TopicPartitionPath is the parent of a partition's state.
func TopicPartitionPath(tp TopicPartition) string {
	return TopicsPath + "/" + tp.Topic + "/partitions/" + itoa(tp.Partition)
}

// TopicPartitionStatePath is the leadership record of a partition.
func TopicPartitionStatePath(tp TopicPartition) string {
	return TopicsPath + "/" + tp.Topic + "/partitions/" + itoa(tp.Partition) + "/state"
}

// DeleteTopicPath is the request to delete a topic.
func DeleteTopicPath(topic string) string { return DeleteTopicsPath + "/" + topic }

// ConfigTypePath is the parent of the entities of a config type.
func ConfigTypePath(entityType string) string { return ConfigPath + "/" + entityType }

// ConfigEntityPath is the configuration of an entity. The name is sanitized
// already (percent-encoded where it is a user, client or address), and may be
// "user/clients/client" for the type users.
func ConfigEntityPath(entityType, name string) string {
	return ConfigPath + "/" + entityType + "/" + name
}

// TopicConfigPath is the configuration of a topic.
func TopicConfigPath(topic string) string { return ConfigTopicsPath + "/" + topic }

// BrokerConfigPath is the dynamic configuration of a broker.
func BrokerConfigPath(broker int32) string { return ConfigBrokersPath + "/" + itoa(broker) }

// BrokerDefaultConfigPath is the dynamic configuration of all brokers.
func BrokerDefaultConfigPath() string { return ConfigBrokersPath + "/" + DefaultEntity }

// IsrChangePath is an ISR change notification; sequence is the part of its name
// behind isr_change_. With an empty sequence it is the path to create with the
// sequential flag.
func IsrChangePath(sequence string) string {
	return IsrChangeNotificationPath + "/" + isrChangePrefix + sequence
}

// LogDirEventPath is the notice of a failed log directory; see IsrChangePath.
func LogDirEventPath(sequence string) string {
	return LogDirEventNotificationPath + "/" + logDirEventPrefix + sequence
}

// ConfigChangePath is a config change notification; see IsrChangePath.
func ConfigChangePath(sequence string) string {
	return ConfigChangesPath + "/" + configChangePrefix + sequence
}

// ConsumerOffsetPath is the offset of an old (pre-0.9) consumer group.
func ConsumerOffsetPath(group string, tp TopicPartition) string {
	return ConsumersPath + "/" + group + "/offsets/" + tp.Topic + "/" + itoa(tp.Partition)
}

// DelegationTokenInfoPath is a delegation token.
func DelegationTokenInfoPath(tokenID string) string { return DelegationTokensPath + "/" + tokenID }

func itoa(n int32) string { return strconv.FormatInt(int64(n), 10) }

// ParentPath is the path above; "" for "/" and for what is no path.
func ParentPath(path string) string {
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0 || path == "/":
		return ""
	case i == 0:
		return "/"
	}
	return path[:i]
}

// ChildName is what follows the last slash of a path.
func ChildName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// JoinChroot puts a path of a Kafka cluster below its chroot. Chroot is "" or
// "/" for none, else it begins with a slash; a slash at its end is dropped.
func JoinChroot(chroot, path string) string {
	chroot = strings.TrimRight(chroot, "/")
	switch {
	case chroot == "":
		return path
	case path == "/" || path == "":
		return chroot
	}
	return chroot + path
}

// StripChroot is the inverse of JoinChroot. It is false for a path that is not
// below the chroot; the chroot itself becomes "/".
func StripChroot(chroot, path string) (string, bool) {
	chroot = strings.TrimRight(chroot, "/")
	rest, ok := strings.CutPrefix(path, chroot)
	switch {
	case !ok:
		return "", false
	case rest == "":
		if path == "" {
			return "", false
		}
		return "/", true
	case rest[0] != '/':
		return "", false
	}
	return rest, true
}
