package wire

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

var (
	idA = model.Uuid{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	idB = model.Uuid{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}
)

// kafkaFrames are frames encoded by Kafka 3.9.2's own classes; see
// testdata/KafkaFrames.java. They come without length prefix.
func kafkaFrames(t testing.TB) func(name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/kafka-3.9.2-frames.json")
	if err != nil {
		t.Fatal(err)
	}
	var frames map[string]string
	if err := json.Unmarshal(raw, &frames); err != nil {
		t.Fatal(err)
	}
	return func(name string) []byte {
		t.Helper()
		b, err := hex.DecodeString(frames[name])
		if err != nil || len(b) == 0 {
			t.Fatalf("frame %s: %d bytes, %v", name, len(b), err)
		}
		return b
	}
}

func header(v int16) model.RequestHeader {
	return model.RequestHeader{Version: v, ControllerID: 1001, ControllerEpoch: 5, BrokerEpoch: 71}
}

func leadership(leader, epoch int32, isr []int32, zk int32) *model.LeaderIsrAndControllerEpoch {
	return &model.LeaderIsrAndControllerEpoch{ControllerEpoch: 4,
		LeaderAndIsr: model.LeaderAndIsr{Leader: leader, LeaderEpoch: epoch, ISR: isr, PartitionEpoch: zk}}
}

func leaderAndIsrRequest(v int16) *model.LeaderAndIsrRequest {
	return &model.LeaderAndIsrRequest{
		RequestHeader: header(v),
		Entries: []model.LeaderAndIsrEntry{
			{TopicPartition: model.TP("a", 0), TopicID: idA, Leadership: leadership(1, 3, []int32{1, 2}, 5), IsNew: true,
				Assignment: &model.ReplicaAssignment{Replicas: []int32{3, 1, 2}, Adding: []int32{3}, Removing: []int32{1}}},
			{TopicPartition: model.TP("a", 1), TopicID: idA, Leadership: leadership(2, 0, []int32{2}, 0), Recovery: model.Recovering,
				Assignment: &model.ReplicaAssignment{Replicas: []int32{2, 1}}},
			{TopicPartition: model.TP("b", 7), TopicID: idB, Leadership: leadership(-1, 9, []int32{2}, 12),
				Assignment: &model.ReplicaAssignment{Replicas: []int32{2}}},
		},
		LiveLeaders: []model.LiveLeader{{ID: 1, Host: "one", Port: 9092}, {ID: 2, Host: "two", Port: 9092}},
	}
}

func updateMetadataRequest(v int16) *model.UpdateMetadataRequest {
	one := []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "one", Port: 9092}}
	if v >= 1 {
		one = append(one, model.Endpoint{Listener: "SSL", Protocol: "SSL", Host: "one", Port: 9093})
	}
	if v >= 3 {
		one = append(one, model.Endpoint{Listener: "CLIENT", Protocol: "SASL_SSL", Host: "one", Port: 9094})
	}
	deleted := model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.DuringDelete([]int32{2}), ControllerEpoch: 4}
	return &model.UpdateMetadataRequest{
		RequestHeader: header(v),
		Entries: []model.UpdateMetadataEntry{
			{TopicPartition: model.TP("a", 0), TopicID: idA, Leadership: leadership(1, 3, []int32{1, 2}, 5), Replicas: []int32{3, 1, 2}, Offline: []int32{3}},
			{TopicPartition: model.TP("a", 1), TopicID: idA, Leadership: leadership(2, 0, []int32{2}, 0), Replicas: []int32{2, 1}},
			{TopicPartition: model.TP("b", 7), TopicID: idB, Leadership: &deleted, Replicas: []int32{2}, Offline: []int32{2}},
		},
		LiveBrokers: []model.Broker{
			{ID: 1, Epoch: 71, Rack: "r1", Endpoints: one},
			{ID: 2, Epoch: 72, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "two", Port: 9092}}},
		},
	}
}

func stopReplicaRequest(v int16) *model.StopReplicaRequest {
	mixed := v >= 3
	return &model.StopReplicaRequest{RequestHeader: header(v), Callback: true, Entries: []model.StopReplicaEntry{
		{TopicPartition: model.TP("a", 0), LeaderEpoch: model.EpochDuringDelete, Delete: true},
		{TopicPartition: model.TP("a", 1), LeaderEpoch: 3, Delete: !mixed},
		{TopicPartition: model.TP("b", 7), LeaderEpoch: model.NoEpoch, Delete: !mixed},
	}}
}

// controlRequests has each control request in each version.
func controlRequests() []model.ControlRequest {
	var out []model.ControlRequest
	for v := int16(0); v <= 7; v++ {
		out = append(out, leaderAndIsrRequest(v))
	}
	for v := int16(0); v <= 8; v++ {
		out = append(out, updateMetadataRequest(v))
	}
	for v := int16(0); v <= 4; v++ {
		out = append(out, stopReplicaRequest(v))
	}
	return out
}

func frameName(kind string, r model.ControlRequest) string {
	h, _ := headerOf(r)
	return fmt.Sprintf("%s/%s/%d", kind, r.Kind(), h.Version)
}

func TestControlRequestsAreThoseOfKafka(t *testing.T) {
	kafka := kafkaFrames(t)
	for _, r := range controlRequests() {
		got, err := EncodeRequest(r, 77)
		if err != nil {
			t.Errorf("%s: %v", frameName("request", r), err)
			continue
		}
		want := kafka(frameName("request", r))
		if n := int(got[0])<<24 | int(got[1])<<16 | int(got[2])<<8 | int(got[3]); n != len(want) {
			t.Errorf("%s: length prefix %d, want %d", frameName("request", r), n, len(want))
		}
		if !slices.Equal(got[4:], want) {
			t.Errorf("%s:\n got %x\nwant %x", frameName("request", r), got[4:], want)
		}
	}
}

func TestAnswersAreReadAsKafkaWritesThem(t *testing.T) {
	kafka := kafkaFrames(t)
	e := func(topic string, p int32, code model.KafkaError) model.PartitionError {
		return model.PartitionError{TopicPartition: model.TP(topic, p), Error: code}
	}
	for _, r := range controlRequests() {
		name := frameName("response", r)
		got, err := DecodeResponse(r, 77, kafka(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want model.ControlResponse
		switch r.(type) {
		case *model.LeaderAndIsrRequest: // from version 5 on the frame also has an id that the request lacks
			want.Partitions = []model.PartitionError{e("a", 0, model.ErrStaleControllerEpoch), e("a", 1, model.ErrNone), e("b", 7, model.ErrKafkaStorageError)}
		case *model.UpdateMetadataRequest:
			want.Error = model.ErrStaleBrokerEpoch
		case *model.StopReplicaRequest:
			want.Partitions = []model.PartitionError{e("a", 0, model.ErrNone), e("a", 1, model.ErrNone), e("b", 7, model.ErrFencedLeaderEpoch)}
		}
		if got.Error != want.Error || !slices.Equal(got.Partitions, want.Partitions) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// readBy decodes an encoded frame with kmsg and returns the header's fields too.
func readBy(t *testing.T, frame []byte, into kmsg.Request, v int16) {
	t.Helper()
	into.SetVersion(v)
	body := frame[4+2+2+4+2+len("1001"):]
	if into.IsFlexible() {
		body = body[1:]
	}
	if err := into.ReadFrom(body); err != nil {
		t.Fatalf("kmsg cannot read %T version %d: %v", into, v, err)
	}
}

func TestKmsgReadsLeaderAndIsr(t *testing.T) {
	for v := int16(0); v <= 7; v++ {
		frame, err := EncodeRequest(leaderAndIsrRequest(v), 1)
		if err != nil {
			t.Fatal(err)
		}
		r := kmsg.NewPtrLeaderAndISRRequest()
		readBy(t, frame, r, v)
		if r.ControllerID != 1001 || r.ControllerEpoch != 5 || r.IsKRaftController || r.Type != 0 || v >= 2 && r.BrokerEpoch != 71 {
			t.Errorf("version %d: header %+v", v, r)
		}
		flat := r.PartitionStates
		for _, topic := range r.TopicStates {
			if v >= 5 && topic.TopicID != map[string][16]byte{"a": idA, "b": idB}[topic.Topic] {
				t.Errorf("version %d: topic %s has id %v", v, topic.Topic, topic.TopicID)
			}
			for _, p := range topic.PartitionStates {
				p.Topic = topic.Topic
				flat = append(flat, p)
			}
		}
		if len(flat) != 3 || len(r.LiveLeaders) != 2 || r.LiveLeaders[1].Host != "two" || r.LiveLeaders[1].Port != 9092 {
			t.Fatalf("version %d: %d partitions, leaders %+v", v, len(flat), r.LiveLeaders)
		}
		p := flat[0]
		if p.Topic != "a" || p.Partition != 0 || p.ControllerEpoch != 4 || p.Leader != 1 || p.LeaderEpoch != 3 || p.ZKVersion != 5 ||
			!slices.Equal(p.ISR, []int32{1, 2}) || !slices.Equal(p.Replicas, []int32{3, 1, 2}) || p.IsNew != (v >= 1) ||
			v >= 3 && (!slices.Equal(p.AddingReplicas, []int32{3}) || !slices.Equal(p.RemovingReplicas, []int32{1})) {
			t.Errorf("version %d: a-0 is %+v", v, p)
		}
		if p := flat[1]; p.Partition != 1 || p.IsNew || (p.LeaderRecoveryState == 1) != (v >= 6) {
			t.Errorf("version %d: a-1 is %+v", v, p)
		}
		if p := flat[2]; p.Topic != "b" || p.Partition != 7 || p.Leader != -1 || p.LeaderEpoch != 9 || p.ZKVersion != 12 {
			t.Errorf("version %d: b-7 is %+v", v, p)
		}
	}
}

func TestKmsgReadsUpdateMetadata(t *testing.T) {
	for v := int16(0); v <= 8; v++ {
		frame, err := EncodeRequest(updateMetadataRequest(v), 1)
		if err != nil {
			t.Fatal(err)
		}
		r := kmsg.NewPtrUpdateMetadataRequest()
		readBy(t, frame, r, v)
		if r.ControllerID != 1001 || r.ControllerEpoch != 5 || r.IsKRaftController || v >= 5 && r.BrokerEpoch != 71 || r.UnknownTags.Len() != 0 {
			t.Errorf("version %d: header %+v", v, r)
		}
		flat := r.PartitionStates
		for _, topic := range r.TopicStates {
			if v >= 7 && topic.TopicID != map[string][16]byte{"a": idA, "b": idB}[topic.Topic] {
				t.Errorf("version %d: topic %s has id %v", v, topic.Topic, topic.TopicID)
			}
			for _, p := range topic.PartitionStates {
				p.Topic = topic.Topic
				flat = append(flat, p)
			}
		}
		if len(flat) != 3 {
			t.Fatalf("version %d: %d partitions", v, len(flat))
		}
		if p := flat[2]; p.Topic != "b" || p.Partition != 7 || p.Leader != -2 || p.LeaderEpoch != 0 || p.ZKVersion != 0 || p.ControllerEpoch != 4 ||
			v >= 4 && !slices.Equal(p.OfflineReplicas, []int32{2}) {
			t.Errorf("version %d: b-7 is %+v", v, p)
		}
		one, two := r.LiveBrokers[0], r.LiveBrokers[1]
		switch {
		case v == 0:
			if one.Host != "one" || one.Port != 9092 || two.Host != "two" {
				t.Errorf("version 0: brokers %+v", r.LiveBrokers)
			}
		case len(one.Endpoints) != map[bool]int{false: 2, true: 3}[v >= 3] || one.Endpoints[1].Host != "one" || one.Endpoints[1].Port != 9093 || one.Endpoints[1].SecurityProtocol != 1:
			t.Errorf("version %d: endpoints %+v", v, one.Endpoints)
		}
		if v >= 3 && (one.Endpoints[2].ListenerName != "CLIENT" || one.Endpoints[2].SecurityProtocol != 3) {
			t.Errorf("version %d: endpoint %+v", v, one.Endpoints[2])
		}
		if v >= 2 && (one.Rack == nil || *one.Rack != "r1" || two.Rack != nil) {
			t.Errorf("version %d: racks %v, %v", v, one.Rack, two.Rack)
		}
	}
}

func TestKmsgReadsStopReplica(t *testing.T) {
	for v := int16(0); v <= 4; v++ {
		frame, err := EncodeRequest(stopReplicaRequest(v), 1)
		if err != nil {
			t.Fatal(err)
		}
		r := kmsg.NewPtrStopReplicaRequest()
		readBy(t, asKmsgWantsIt(frame, v), r, v)
		if r.ControllerID != 1001 || r.ControllerEpoch != 5 || r.IsKRaftController || v >= 1 && r.BrokerEpoch != 71 || r.DeletePartitions != (v < 3) {
			t.Errorf("version %d: header %+v", v, r)
		}
		var flat []string
		for _, topic := range r.Topics {
			if v == 0 {
				flat = append(flat, fmt.Sprintf("%s-%d", topic.Topic, topic.Partition))
			}
			for _, p := range topic.Partitions {
				flat = append(flat, fmt.Sprintf("%s-%d", topic.Topic, p))
			}
			for _, p := range topic.PartitionStates {
				flat = append(flat, fmt.Sprintf("%s-%d %d %v", topic.Topic, p.Partition, p.LeaderEpoch, p.Delete))
			}
		}
		want := []string{"a-0", "a-1", "b-7"}
		if v >= 3 {
			want = []string{"a-0 -2 true", "a-1 3 false", "b-7 -1 false"}
		}
		if !slices.Equal(flat, want) {
			t.Errorf("version %d: %q", v, flat)
		}
	}
}
