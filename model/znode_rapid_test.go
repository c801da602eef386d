package model

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawIDList(t *rapid.T, label string) []int32 {
	ids := rapid.SliceOfN(rapid.Int32(), 0, 6).Draw(t, label)
	if len(ids) == 0 {
		return nil
	}
	return ids
}

func drawStateZnode(t *rapid.T) LeaderIsrAndControllerEpoch {
	l := LeaderIsrAndControllerEpoch{ControllerEpoch: rapid.Int32().Draw(t, "controller epoch")}
	l.Leader, l.LeaderEpoch = rapid.Int32().Draw(t, "leader"), rapid.Int32().Draw(t, "leader epoch")
	l.ISR = drawIDList(t, "isr")
	l.Recovery = RecoveryState(rapid.IntRange(0, 1).Draw(t, "recovery"))
	return l
}

func drawTopicZnode(t *rapid.T) TopicAssignment {
	topic := TopicAssignment{Version: 3, Partitions: []PartitionAssignment{}}
	copy(topic.ID[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "id"))
	numbers := rapid.OneOf(rapid.Int32(), rapid.Int32Range(0, 99))
	for _, n := range rapid.SliceOfDistinct(numbers, rapid.ID).Draw(t, "partitions") {
		a := ReplicaAssignment{drawIDList(t, "replicas"), drawIDList(t, "adding"), drawIDList(t, "removing")}
		topic.Partitions = append(topic.Partitions, PartitionAssignment{n, a})
	}
	slices.SortFunc(topic.Partitions, func(a, b PartitionAssignment) int { return cmp.Compare(a.Partition, b.Partition) })
	return topic
}

func drawListed(t *rapid.T) TopicPartition {
	return TP(rapid.String().Draw(t, "topic"), rapid.Int32().Draw(t, "partition"))
}

func sameAgain[T any](t *rapid.T, what string, want, got T, err error) {
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: decoded %+v, %v; encoded was %+v", what, got, err, want)
	}
}

// TestRoundTrips: what is encoded decodes to the same value.
func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := drawStateZnode(t)
		gotState, present, err := DecodePartitionState("/s", EncodePartitionState(state))
		sameAgain(t, "state", state, gotState, err)
		topic := drawTopicZnode(t)
		gotTopic, topicPresent, err := DecodeTopic("/t", EncodeTopic(topic))
		sameAgain(t, "topic", topic, gotTopic, err)
		if !present || !topicPresent {
			t.Fatalf("state present %v, topic present %v", present, topicPresent)
		}
		list := rapid.SliceOfNDistinct(rapid.Custom(drawListed), 1, 5, rapid.ID).Draw(t, "list")
		gotList, err := DecodeIsrChange("/i", EncodeIsrChange(list))
		sameAgain(t, "ISR change", list, gotList, err)
		var moves []PartitionReassignment
		for _, tp := range list {
			moves = append(moves, PartitionReassignment{TopicPartition: tp, Replicas: drawIDList(t, "target")})
		}
		gotMoves, err := DecodeReassignPartitions("/r", EncodeReassignPartitions(moves))
		sameAgain(t, "reassignment", moves, gotMoves, err)
		config := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "config")
		gotConfig, err := DecodeConfig("/c", EncodeConfig(config))
		sameAgain(t, "config", config, gotConfig, err)
		block := ProducerIDBlock{rapid.Int32().Draw(t, "broker"), rapid.Int64Range(0, 1<<60).Draw(t, "first"), rapid.Int32Range(0, 1<<30).Draw(t, "size")}
		gotBlock, err := DecodeProducerIDBlock("/p", EncodeProducerIDBlock(block))
		sameAgain(t, "producer ids", block, gotBlock, err)
		migration := MigrationState{rapid.Int32().Draw(t, "id"), rapid.Int32().Draw(t, "epoch"), rapid.Int64().Draw(t, "offset"), rapid.Int32().Draw(t, "metadata epoch")}
		gotMigration, err := DecodeMigration("/m", EncodeMigration(migration))
		sameAgain(t, "migration", migration, gotMigration, err)
		levels := FinalizedFeatures{rapid.Int32Range(1, 2).Draw(t, "version"), FeatureStatus(rapid.IntRange(0, 1).Draw(t, "status")),
			rapid.MapOf(rapid.String(), rapid.Int16Range(1, 9)).Draw(t, "levels")}
		gotLevels, err := DecodeFeatures("/f", EncodeFeatures(levels))
		sameAgain(t, "features", levels, gotLevels, err)
	})
}

func TestBrokerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := BrokerRegistration{Version: rapid.Int32Range(2, 5).Draw(t, "version"), JMXPort: rapid.Int32().Draw(t, "jmx"), Timestamp: "17"}
		want.ID = rapid.Int32().Draw(t, "id")
		listeners := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z][A-Z_0-9]{0,8}`), 0, 6, rapid.ID).Draw(t, "listeners")
		if want.Version < 4 {
			listeners = rapid.Permutation(securityProtocols).Draw(t, "protocols")[:rapid.IntRange(0, 4).Draw(t, "count")]
		}
		for _, l := range listeners {
			e := Endpoint{l, rapid.SampledFrom(securityProtocols).Draw(t, "protocol"), rapid.StringMatching(`([a-z0-9.-]{1,12}|[0-9a-f:]{2,9}:1)?`).Draw(t, "host"), rapid.Int32().Draw(t, "port")}
			if want.Version < 4 {
				e.Protocol = l
			}
			want.Endpoints = append(want.Endpoints, e)
		}
		if want.Version >= 3 {
			want.Rack = rapid.String().Draw(t, "rack")
		}
		if want.Version >= 5 && rapid.Bool().Draw(t, "features") {
			want.Features = map[string]VersionRange{rapid.String().Draw(t, "feature"): {1, rapid.Int16Range(1, 30).Draw(t, "max")}}
		}
		got, err := DecodeBroker(BrokerIDPath(want.ID), EncodeBroker(&want.Broker, want.Version, want.JMXPort, 17))
		sameAgain(t, "broker", want, got, err)
	})
}

// mutated cuts, swaps and inserts in a text that Kafka would write.
func mutated(t *rapid.T, text string) []byte {
	pieces := []string{`,`, `:`, `{`, `}`, `[`, `]`, `"`, `0`, `-`, `1`, `99999999999`, `2147483648`, ` `, `null`, `"isr"`, `"version":7`, `"07":[1]`, `"x":1`, `"-0":[5]`, `\u0030`, "é", "\x00"}
	b := []byte(text)
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		at := rapid.IntRange(0, len(b)).Draw(t, "at")
		end := min(len(b), at+rapid.IntRange(0, 3).Draw(t, "cut"))
		b = slices.Concat(b[:at], []byte(rapid.SampledFrom(pieces).Draw(t, "piece")), b[end:])
	}
	return b
}

// TestScanAgreesWithTree: the scans for Kafka's own text say nothing that the
// tree reader would not say.
func TestScanAgreesWithTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := mutated(t, string(EncodePartitionState(drawStateZnode(t))))
		var scanned LeaderIsrAndControllerEpoch
		if scanPartitionState(data, &scanned) {
			l, present, err := decodePartitionState("/s", data)
			if !present {
				t.Fatalf("%q: scanned %+v, the tree has none", data, scanned)
			}
			sameAgain(t, string(data), l, scanned, err)
		}
		data = mutated(t, string(EncodeTopic(drawTopicZnode(t))))
		var topic TopicAssignment
		if scanTopic(data, &topic) {
			tree, present, err := decodeTopic("/t", data)
			if !present {
				t.Fatalf("%q: scanned %+v, the tree has none", data, topic)
			}
			sameAgain(t, string(data), tree, topic, err)
		}
	})
}

// TestScanReadsKafkasText: the scans do take what Kafka writes.
func TestScanReadsKafkasText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l LeaderIsrAndControllerEpoch
		if data := EncodePartitionState(drawStateZnode(t)); !scanPartitionState(data, &l) {
			t.Fatalf("not scanned: %s", data)
		}
		topic := drawTopicZnode(t)
		for _, data := range [][]byte{EncodeTopic(topic), EncodeTopicV1(topic), EncodeTopicV2(topic)} {
			if !scanTopic(data, &topic) {
				t.Fatalf("not scanned: %s", data)
			}
		}
	})
}

// TestSharedBuffer: the lists of a topic do not grow into each other.
func TestSharedBuffer(t *testing.T) {
	topic, _, err := DecodeTopic("/t", []byte(`{"partitions":{"0":[1,2],"1":[3]},"version":3}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(topic.Partitions[0].Replicas, 9)
	if got := topic.Partitions[1].Replicas[0]; got != 3 {
		t.Errorf("partition 1 now has replica %d", got)
	}
	if a, ok := topic.Assignment(1); !ok || !slices.Equal(a.Replicas, []int32{3}) {
		t.Errorf("Assignment(1) is %v, %v", a, ok)
	}
	if a, ok := topic.Assignment(2); ok {
		t.Errorf("Assignment(2) is %v", a)
	}
}

func BenchmarkDecodePartitionState(b *testing.B) {
	data := []byte(`{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":3,"isr":[1,2,3]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := DecodePartitionState("/s", data); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTopic100Partitions(b *testing.B) {
	var topic TopicAssignment
	for n := range int32(100) {
		topic.Partitions = append(topic.Partitions, PartitionAssignment{n, ReplicaAssignment{Replicas: []int32{n, n + 1, n + 2}}})
	}
	topic.ID = Uuid{3: 7}
	data := EncodeTopic(topic)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := DecodeTopic("/t", data); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTopicTree(b *testing.B) {
	data := []byte(`{"version": 3,"partitions":{` + strings.Repeat(`"0":[1,2,3],`, 99) + `"1":[1]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := DecodeTopic("/t", data); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePath(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if ParsePath("/brokers/topics/orders/partitions/17/state").Partition != 17 {
			b.Fatal("not parsed")
		}
	}
}
