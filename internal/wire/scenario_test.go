package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// scenarioRequest is a request of testdata/control_requests.json.
type scenarioRequest struct {
	API             string
	Version         int16
	ControllerEpoch int32   `json:"controller_epoch"`
	LiveBrokers     []int32 `json:"live_brokers"`
	LiveLeaders     []int32 `json:"live_leaders"`
	Partitions      []struct {
		TP              string
		Leader          int32
		LeaderEpoch     int32 `json:"leader_epoch"`
		ISR             []int32
		PartitionEpoch  int32 `json:"partition_epoch"`
		ControllerEpoch int32 `json:"controller_epoch"`
		Replicas        []int32
		Adding          []int32
		Removing        []int32
		Offline         []int32 `json:"offline_replicas"`
		IsNew           bool    `json:"is_new"`
		Recovery        string
		Delete          bool
	}
}

// request makes it a request of the model, and the lines that kmsg should read.
func (s *scenarioRequest) request(t *testing.T) (model.ControlRequest, []string) {
	t.Helper()
	h := model.RequestHeader{Version: s.Version, ControllerID: 1001, ControllerEpoch: s.ControllerEpoch, BrokerEpoch: 71}
	lisr, um, sr := &model.LeaderAndIsrRequest{RequestHeader: h}, &model.UpdateMetadataRequest{RequestHeader: h}, &model.StopReplicaRequest{RequestHeader: h}
	for _, id := range s.LiveLeaders {
		lisr.LiveLeaders = append(lisr.LiveLeaders, model.LiveLeader{ID: id, Host: "h", Port: 1})
	}
	for _, id := range s.LiveBrokers {
		um.LiveBrokers = append(um.LiveBrokers, model.Broker{ID: id, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: 1}}})
	}
	var want []string
	for _, p := range s.Partitions {
		tp, err := model.ParseTopicPartition(p.TP)
		if err != nil {
			t.Fatal(err)
		}
		l := leadership(p.Leader, p.LeaderEpoch, p.ISR, p.PartitionEpoch)
		l.ControllerEpoch = p.ControllerEpoch
		recovery := model.Recovered
		if p.Recovery == "RECOVERING" {
			recovery = model.Recovering
		}
		state := fmt.Sprint(tp, p.Leader, p.LeaderEpoch, p.ISR, p.PartitionEpoch, p.ControllerEpoch, p.Replicas)
		switch s.API {
		case "LEADER_AND_ISR":
			lisr.Entries = append(lisr.Entries, model.LeaderAndIsrEntry{TopicPartition: tp, Leadership: l, IsNew: p.IsNew, Recovery: recovery,
				Assignment: &model.ReplicaAssignment{Replicas: p.Replicas, Adding: p.Adding, Removing: p.Removing}})
			state += since(s.Version, 1, p.IsNew) + since(s.Version, 3, fmt.Sprint(p.Adding, p.Removing)) + since(s.Version, 6, int8(recovery))
		case "UPDATE_METADATA":
			um.Entries = append(um.Entries, model.UpdateMetadataEntry{TopicPartition: tp, Leadership: l, Replicas: p.Replicas, Offline: p.Offline})
			state += since(s.Version, 4, p.Offline)
		case "STOP_REPLICA":
			sr.Entries = append(sr.Entries, model.StopReplicaEntry{TopicPartition: tp, LeaderEpoch: p.LeaderEpoch, Delete: p.Delete})
			state = fmt.Sprint(tp, p.Delete) + since(s.Version, 3, p.LeaderEpoch)
		}
		want = append(want, state)
	}
	want = append(want, fmt.Sprint("brokers", s.LiveBrokers, s.LiveLeaders))
	switch s.API {
	case "LEADER_AND_ISR":
		return lisr, want
	case "UPDATE_METADATA":
		return um, want
	}
	return sr, want
}

// since is empty before the version from which on a field is sent.
func since(version, first int16, field any) string {
	if version < first {
		return ""
	}
	return fmt.Sprint(" ", field)
}

// readBack tells with kmsg's decoder what a frame says.
func readBack(t *testing.T, r model.ControlRequest, frame []byte) []string {
	t.Helper()
	h, _ := headerOf(r)
	var got []string
	brokers, leaders := []int32(nil), []int32(nil)
	switch r.(type) {
	case *model.LeaderAndIsrRequest:
		q := kmsg.NewPtrLeaderAndISRRequest()
		readBy(t, frame, q, h.Version)
		add := func(topic string, p kmsg.LeaderAndISRRequestTopicPartition) {
			got = append(got, fmt.Sprint(model.TP(topic, p.Partition), p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion, p.ControllerEpoch, p.Replicas)+
				since(h.Version, 1, p.IsNew)+since(h.Version, 3, fmt.Sprint(p.AddingReplicas, p.RemovingReplicas))+since(h.Version, 6, p.LeaderRecoveryState))
		}
		for _, p := range q.PartitionStates {
			add(p.Topic, p)
		}
		for _, topic := range q.TopicStates {
			for _, p := range topic.PartitionStates {
				add(topic.Topic, p)
			}
		}
		for _, l := range q.LiveLeaders {
			leaders = append(leaders, l.BrokerID)
		}
	case *model.UpdateMetadataRequest:
		q := kmsg.NewPtrUpdateMetadataRequest()
		readBy(t, frame, q, h.Version)
		add := func(topic string, p kmsg.UpdateMetadataRequestTopicPartition) {
			got = append(got, fmt.Sprint(model.TP(topic, p.Partition), p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion, p.ControllerEpoch, p.Replicas)+since(h.Version, 4, p.OfflineReplicas))
		}
		for _, p := range q.PartitionStates {
			add(p.Topic, p)
		}
		for _, topic := range q.TopicStates {
			for _, p := range topic.PartitionStates {
				add(topic.Topic, p)
			}
		}
		for _, b := range q.LiveBrokers {
			brokers = append(brokers, b.ID)
		}
	case *model.StopReplicaRequest:
		q := kmsg.NewPtrStopReplicaRequest()
		readBy(t, asKmsgWantsIt(frame, h.Version), q, h.Version)
		for _, topic := range q.Topics {
			for _, p := range topic.Partitions {
				got = append(got, fmt.Sprint(model.TP(topic.Topic, p), q.DeletePartitions))
			}
			if h.Version == 0 {
				got = append(got, fmt.Sprint(model.TP(topic.Topic, topic.Partition), q.DeletePartitions))
			}
			for _, p := range topic.PartitionStates {
				got = append(got, fmt.Sprint(model.TP(topic.Topic, p.Partition), p.Delete)+since(h.Version, 3, p.LeaderEpoch))
			}
		}
	}
	return append(got, fmt.Sprint("brokers", brokers, leaders))
}

// asKmsgWantsIt moves isKRaftController of StopReplica version 4 behind the
// controller epoch, where kmsg 1.15 reads it.
func asKmsgWantsIt(frame []byte, version int16) []byte {
	if version < 4 {
		return frame
	}
	at := 4 + 2 + 2 + 4 + 2 + len("1001") + 1 + 4
	return slices.Concat(frame[:at], frame[at+1:at+5], frame[at:at+1], frame[at+5:])
}

// Each request that a batch of the scenarios turns into, under the inter-broker
// protocol given, says on the wire what it should.
func TestRequestsOfTheScenarios(t *testing.T) {
	raw, err := os.ReadFile("testdata/control_requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var scenarios []struct {
		ID     string
		Given  struct{ IBP string }
		Expect struct {
			Requests map[string][]scenarioRequest
		}
	}
	if err := json.Unmarshal(raw, &scenarios); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range scenarios {
		ibp, err := model.ParseInterBrokerProtocol(s.Given.IBP)
		if err != nil {
			t.Errorf("%s: %v", s.ID, err)
			continue
		}
		versions := map[string]int16{"LEADER_AND_ISR": ibp.LeaderAndIsrVersion(), "UPDATE_METADATA": ibp.UpdateMetadataVersion(), "STOP_REPLICA": ibp.StopReplicaVersion()}
		for broker, requests := range s.Expect.Requests {
			for i := range requests {
				n++
				q := &requests[i]
				name := fmt.Sprintf("%s, broker %s, %s", s.ID, broker, strings.ToLower(q.API))
				if v, ok := versions[q.API]; !ok || v != q.Version {
					t.Errorf("%s: version %d under %s, want %d", name, v, ibp, q.Version)
				}
				r, want := q.request(t)
				frame, err := EncodeRequest(r, 1)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if got := readBack(t, r, frame); !slices.Equal(got, want) {
					t.Errorf("%s says\n  %q, want\n  %q", name, got, want)
				}
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d requests were found", n)
	}
}
