package model

import (
	"fmt"
	"strings"
)

// InterBrokerProtocol is a version of the protocol that brokers speak among each
// other (inter.broker.protocol.version). It decides which features a controller
// uses and in which versions it writes znodes and requests. Newer versions
// compare greater; the zero value means that none is set.
// Kafka: org.apache.kafka.server.common.MetadataVersion (ApiVersion before 3.3).
type InterBrokerProtocol uint8

// The versions by Kafka's names.
const (
	NoIBP InterBrokerProtocol = iota
	IBP_0_8_0
	IBP_0_8_1
	IBP_0_8_2
	IBP_0_9_0
	IBP_0_10_0_IV0
	IBP_0_10_0_IV1
	IBP_0_10_1_IV0
	IBP_0_10_1_IV1
	IBP_0_10_1_IV2
	IBP_0_10_2_IV0
	IBP_0_11_0_IV0
	IBP_0_11_0_IV1
	IBP_0_11_0_IV2
	IBP_1_0_IV0
	IBP_1_1_IV0
	IBP_2_0_IV0
	IBP_2_0_IV1
	IBP_2_1_IV0
	IBP_2_1_IV1
	IBP_2_1_IV2
	IBP_2_2_IV0
	IBP_2_2_IV1
	IBP_2_3_IV0
	IBP_2_3_IV1
	IBP_2_4_IV0
	IBP_2_4_IV1
	IBP_2_5_IV0
	IBP_2_6_IV0
	IBP_2_7_IV0
	IBP_2_7_IV1
	IBP_2_7_IV2
	IBP_2_8_IV0
	IBP_2_8_IV1
	IBP_3_0_IV0
	IBP_3_0_IV1
	IBP_3_1_IV0
	IBP_3_2_IV0
	IBP_3_3_IV0
	IBP_3_3_IV1
	IBP_3_3_IV2
	IBP_3_3_IV3
	IBP_3_4_IV0
	IBP_3_5_IV0
	IBP_3_5_IV1
	IBP_3_5_IV2
	IBP_3_6_IV0
	IBP_3_6_IV1
	IBP_3_6_IV2
	IBP_3_7_IV0
	IBP_3_7_IV1
	IBP_3_7_IV2
	IBP_3_7_IV3
	IBP_3_7_IV4
	IBP_3_8_IV0
	IBP_3_9_IV0
	IBP_4_0_IV0
)

// LatestIBP is the default of Kafka 3.9, the last release with a ZooKeeper
// controller.
const LatestIBP = IBP_3_9_IV0

var ibpNames = [...]string{"unset",
	"0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2", "0.10.2-IV0",
	"0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0", "2.1-IV1", "2.1-IV2",
	"2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0", "2.7-IV0", "2.7-IV1", "2.7-IV2",
	"2.8-IV0", "2.8-IV1", "3.0-IV0", "3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0",
	"3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4",
	"3.8-IV0", "3.9-IV0", "4.0-IV0"}

// ibpByName maps full names and release names; a release name means the last
// version of that release.
var ibpByName = func() map[string]InterBrokerProtocol {
	m := make(map[string]InterBrokerProtocol, 2*len(ibpNames))
	for i, name := range ibpNames[1:] {
		v := InterBrokerProtocol(i + 1)
		m[name] = v
		m[v.Release()] = v
	}
	return m
}()

// InterBrokerProtocols lists all known versions, oldest first.
func InterBrokerProtocols() []InterBrokerProtocol {
	out := make([]InterBrokerProtocol, 0, len(ibpNames)-1)
	for i := range ibpNames[1:] {
		out = append(out, InterBrokerProtocol(i+1))
	}
	return out
}

// String is the full name, as 2.8-IV1; unset for the zero value.
func (v InterBrokerProtocol) String() string {
	if int(v) < len(ibpNames) {
		return ibpNames[v]
	}
	return "unset"
}

// Release is the name without the internal version, as 2.8.
func (v InterBrokerProtocol) Release() string {
	release, _, _ := strings.Cut(v.String(), "-")
	return release
}

// ParseInterBrokerProtocol reads a version as Kafka does: a full name, a release
// (which means its last internal version), or either with further parts, which
// are ignored: 3.9.1 is 3.9-IV0, 0.10.2.1 is 0.10.2-IV0.
// Kafka: MetadataVersion.fromVersionString.
func ParseInterBrokerProtocol(s string) (InterBrokerProtocol, error) {
	parts := 2
	if strings.HasPrefix(s, "0.") {
		parts = 3
	}
	segments := strings.Split(s, ".")
	for len(segments) > 0 && segments[len(segments)-1] == "" { // Java's split drops empty parts at the end
		segments = segments[:len(segments)-1]
	}
	key := s
	if len(segments) > parts {
		key = strings.Join(segments[:parts], ".")
	}
	if v, ok := ibpByName[key]; ok {
		return v, nil
	}
	return NoIBP, fmt.Errorf("inter-broker protocol version %q is not known; known are %s", shorten(s), strings.Join(ibpNames[1:], ", "))
}

// AtLeast tells that v is o or newer.
func (v InterBrokerProtocol) AtLeast(o InterBrokerProtocol) bool { return v >= o }

// FeatureVersioning: the controller maintains /feature, brokers register their
// features. Kafka: isFeatureVersioningSupported.
func (v InterBrokerProtocol) FeatureVersioning() bool { return v >= IBP_2_7_IV0 }

// AlterPartition: leaders change the ISR by asking the controller, instead of
// writing the state znode and a notification. Kafka: isAlterPartitionSupported.
func (v InterBrokerProtocol) AlterPartition() bool { return v >= IBP_2_7_IV2 }

// TopicIDs: topics get an id. Kafka: isTopicIdsSupported.
func (v InterBrokerProtocol) TopicIDs() bool { return v >= IBP_2_8_IV0 }

// AllocateProducerIDs: the controller hands out blocks of producer ids, instead
// of each broker for itself. Kafka: isAllocateProducerIdsSupported.
func (v InterBrokerProtocol) AllocateProducerIDs() bool { return v >= IBP_3_0_IV0 }

// LeaderRecovery: an unclean election marks the partition as recovering.
// Kafka: isLeaderRecoverySupported.
func (v InterBrokerProtocol) LeaderRecovery() bool { return v >= IBP_3_2_IV0 }

// BrokerZnodeVersion is the version in which brokers register.
// Kafka: BrokerInfo.apply.
func (v InterBrokerProtocol) BrokerZnodeVersion() int32 {
	switch {
	case v >= IBP_2_7_IV0:
		return 5
	case v >= IBP_0_10_0_IV1:
		return 4
	}
	return 2
}

// FeatureZnodeVersion is the version of /feature. Kafka: FeatureZNode.apply.
func (v InterBrokerProtocol) FeatureZnodeVersion() int32 {
	if v >= IBP_3_3_IV0 {
		return 2
	}
	return 1
}

// LeaderAndIsrVersion is the version of the requests that a controller sends.
// Kafka: AbstractControllerBrokerRequestBatch.sendLeaderAndIsrRequest.
func (v InterBrokerProtocol) LeaderAndIsrVersion() int16 {
	switch {
	case v >= IBP_3_4_IV0:
		return 7
	case v >= IBP_3_2_IV0:
		return 6
	case v >= IBP_2_8_IV1:
		return 5
	case v >= IBP_2_4_IV1:
		return 4
	case v >= IBP_2_4_IV0:
		return 3
	case v >= IBP_2_2_IV0:
		return 2
	case v >= IBP_1_0_IV0:
		return 1
	}
	return 0
}

// UpdateMetadataVersion is the version of the requests that a controller sends.
// Kafka: AbstractControllerBrokerRequestBatch.sendUpdateMetadataRequests.
func (v InterBrokerProtocol) UpdateMetadataVersion() int16 {
	switch {
	case v >= IBP_3_4_IV0:
		return 8
	case v >= IBP_2_8_IV1:
		return 7
	case v >= IBP_2_4_IV1:
		return 6
	case v >= IBP_2_2_IV0:
		return 5
	case v >= IBP_1_0_IV0:
		return 4
	case v >= IBP_0_10_2_IV0:
		return 3
	case v >= IBP_0_10_0_IV1:
		return 2
	case v >= IBP_0_9_0:
		return 1
	}
	return 0
}

// StopReplicaVersion is the version of the requests that a controller sends.
// Kafka: AbstractControllerBrokerRequestBatch.sendStopReplicaRequests.
func (v InterBrokerProtocol) StopReplicaVersion() int16 {
	switch {
	case v >= IBP_3_4_IV0:
		return 4
	case v >= IBP_2_6_IV0:
		return 3
	case v >= IBP_2_4_IV1:
		return 2
	case v >= IBP_2_2_IV0:
		return 1
	}
	return 0
}

// MarshalText is the full name; empty for the zero value.
func (v InterBrokerProtocol) MarshalText() ([]byte, error) {
	if v == NoIBP {
		return nil, nil
	}
	return []byte(v.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (v *InterBrokerProtocol) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = NoIBP
		return nil
	}
	p, err := ParseInterBrokerProtocol(string(text))
	*v = p
	return err
}
