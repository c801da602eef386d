package model

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestRecordedZnodes decodes what real controllers and brokers (2.4.1, 2.8.2,
// 3.4.1, 3.9.2) wrote, and encodes it again to the same bytes.
func TestRecordedZnodes(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded_znodes.json")
	if err != nil {
		t.Fatal(err)
	}
	var znodes []struct{ Release, Path, Data string }
	if err := json.Unmarshal(text, &znodes); err != nil {
		t.Fatal(err)
	}
	kinds := map[ZnodeKind]int{}
	for _, z := range znodes {
		ref := ParsePath(z.Path)
		kinds[ref.Kind]++
		again, err := recode(ref, z.Path, []byte(z.Data))
		if err != nil {
			t.Errorf("%s: %v", z.Release, err)
			continue
		}
		if string(again) != z.Data {
			t.Errorf("%s %s:\n%s, recorded\n%s", z.Release, z.Path, again, z.Data)
		}
	}
	for _, kind := range []ZnodeKind{ControllerZnode, ControllerEpochZnode, BrokerZnode, TopicZnode, PartitionStateZnode,
		ConfigEntityZnode, ClusterIDZnode, FeatureZnode, ProducerIDBlockZnode} {
		if kinds[kind] == 0 {
			t.Errorf("no recorded %v", kind)
		}
	}
}

// recode decodes and encodes one znode, in the version in which it was.
func recode(ref ZnodeRef, path string, data []byte) ([]byte, error) {
	switch ref.Kind {
	case ControllerZnode:
		reg, err := DecodeControllerRegistration(path, data)
		ms, _ := strconv.ParseInt(reg.Timestamp, 10, 64)
		return EncodeController(reg.Version, reg.Broker, ms, reg.KRaftEpoch), err
	case ControllerEpochZnode:
		epoch, err := DecodeControllerEpoch(path, data)
		return EncodeControllerEpoch(epoch), err
	case BrokerZnode:
		reg, err := DecodeBroker(path, data)
		ms, _ := strconv.ParseInt(reg.Timestamp, 10, 64)
		return EncodeBroker(&reg.Broker, reg.Version, reg.JMXPort, ms), err
	case TopicZnode:
		topic, _, err := DecodeTopic(path, data)
		if topic.Version == 2 {
			return EncodeTopicV2(topic), err
		}
		return EncodeTopic(topic), err
	case PartitionStateZnode:
		state, _, err := DecodePartitionState(path, data)
		return EncodePartitionState(state), err
	case ConfigEntityZnode:
		config, err := DecodeConfig(path, data)
		return EncodeConfig(config), err
	case ClusterIDZnode:
		id, err := DecodeClusterID(path, data)
		return EncodeClusterID(id), err
	case FeatureZnode:
		features, err := DecodeFeatures(path, data)
		return EncodeFeatures(features), err
	case ProducerIDBlockZnode:
		block, err := DecodeProducerIDBlock(path, data)
		return EncodeProducerIDBlock(block), err
	}
	return nil, &DecodeError{Path: path, Reason: "no codec for a " + ref.Kind.String()}
}

// TestEncodedText pins texts that the table and the recordings do not hold; they
// are what Kafka 3.9.1 writes.
func TestEncodedText(t *testing.T) {
	var numbers []PartitionAssignment
	for n := range int32(30) {
		numbers = append(numbers, PartitionAssignment{n, ReplicaAssignment{Replicas: []int32{1}}})
	}
	broker := &Broker{Rack: "r", Features: map[string]VersionRange{"f": {1, 3}, "b": {0, 2}}, Endpoints: []Endpoint{
		{"CLIENT", "SSL", "h", 1}, {"REPL", "PLAINTEXT", "::1", 2}, {"A", "SASL_SSL", "", 3}}}
	cases := []struct {
		what      string
		got, want string
	}{
		{"broker 5", string(EncodeBroker(broker, 5, 9, 1)), `{"features":{"b":{"min_version":0,"max_version":2},"f":{"min_version":1,"max_version":3}},` +
			`"listener_security_protocol_map":{"CLIENT":"SSL","REPL":"PLAINTEXT","A":"SASL_SSL"},"endpoints":["CLIENT://h:1","REPL://[::1]:2","A://:3"],` +
			`"rack":"r","jmx_port":9,"port":2,"host":"::1","version":5,"timestamp":"1"}`},
		{"topic without id", string(EncodeTopic(TopicAssignment{Partitions: []PartitionAssignment{{0, ReplicaAssignment{Replicas: []int32{1, 2}, Adding: []int32{1}}}}})),
			`{"partitions":{"0":[1,2]},"adding_replicas":{"0":[1]},"removing_replicas":{},"version":3}`},
		{"topic 1", string(EncodeTopicV1(TopicAssignment{Partitions: []PartitionAssignment{{0, ReplicaAssignment{Replicas: []int32{1}}}}})),
			`{"version":1,"partitions":{"0":[1]}}`},
		{"topic of 30 partitions", strings.ReplaceAll(string(EncodeTopic(TopicAssignment{Partitions: numbers})), ":[1]", ""),
			`{"partitions":{"22","23","24","25","26","27","28","29","10","11","12","13","14","15","16","17","18","19","0","1","2","3","4","5","6","7","8","9","20","21"},` +
				`"adding_replicas":{},"removing_replicas":{},"version":3}`},
		{"topic of 12 partitions", strings.ReplaceAll(string(EncodeTopic(TopicAssignment{Partitions: numbers[:12]})), ":[1]", ""),
			`{"partitions":{"11","0","1","2","3","4","5","6","7","8","9","10"},"adding_replicas":{},"removing_replicas":{},"version":3}`},
		{"config", string(EncodeConfig(map[string]string{"a": "x\"\\\u0001\u001f\n/é\u007f😀", "\b\t\f\r": ""})),
			`{"version":1,"config":{"\b\t\f\r":"","a":"x\"\\\u0001\u001F\n/é` + "\u007f" + `\uD83D\uDE00"}}`},
		{"migration", string(EncodeMigration(MigrationState{1, 2, 3, 4})),
			`{"version":0,"kraft_metadata_offset":3,"kraft_controller_id":1,"kraft_metadata_epoch":4,"kraft_controller_epoch":2}`},
		{"producer ids", string(EncodeProducerIDBlock(ProducerIDBlock{3, 1000, 1000})),
			`{"version":1,"broker":3,"block_start":"1000","block_end":"1999"}`},
		{"controller 1", string(EncodeController(1, 7, 123, -1)), `{"version":1,"brokerid":7,"timestamp":"123"}`},
		{"preferred", string(EncodePreferredReplicaElection([]TopicPartition{TP("t", 1)})), `{"version":1,"partitions":[{"topic":"t","partition":1}]}`},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.what, c.got, c.want)
		}
	}
}
