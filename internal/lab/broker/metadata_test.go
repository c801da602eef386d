package broker

import (
	"slices"
	"testing"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var now8 = request{8, 5, 100}

// TestUpdateMetadataChecks walks M1, M2, M7, 16.04 and 16.05.
func TestUpdateMetadataChecks(t *testing.T) {
	for _, c := range []struct {
		req  request
		want int16
	}{
		{request{8, 5, 99}, codeStaleBrokerEpoch},
		{request{8, 4, 99}, codeStaleBrokerEpoch},
		{request{8, 4, 100}, codeStaleControllerEpoch},
		{request{8, 5, 100}, 0},
		{request{8, 6, 101}, 0},
		{request{8, 5, -1}, 0},
	} {
		r := newReplicas(t, 1)
		got := r.Handle(epoch0, c.req.updateMetadata(3, nil), nil).(*kmsg.UpdateMetadataResponse).ErrorCode
		if got != c.want || (r.cache.controller == 3) != (c.want == 0) {
			t.Errorf("%+v: answered %d, controller %d", c.req, got, r.cache.controller)
		}
	}
}

func TestMetadataCache(t *testing.T) {
	r := newReplicas(t, 1)
	u0 := model.TP("u", 0)
	t1 := model.TP("t", 1)
	r.Handle(epoch0, now8.updateMetadata(2, []int32{1, 2}, cached{t0, idA, 1}, cached{t1, idA, 2}, cached{u0, idB, 1}), nil)
	r.Handle(epoch0, now8.updateMetadata(-7, []int32{3}), nil)
	m := r.cache
	if m.controller != model.NoLeader || m.alive(1) || !m.alive(3) || len(m.topics["t"]) != 2 {
		t.Fatalf("a request without partitions replaces brokers and controller only: %+v", m)
	}
	r.Handle(epoch0, now8.updateMetadata(2, nil, cached{t0, idA, model.LeaderDuringDelete}), nil)
	if len(m.topics["t"]) != 1 || m.ids["t"] != idA {
		t.Errorf("leader -2 took %v", m.topics["t"])
	}
	r.Handle(epoch0, now8.updateMetadata(2, nil, cached{t1, idA, model.LeaderDuringDelete}), nil)
	if _, ok := m.topics["t"]; ok || !m.ids["t"].IsZero() || m.topics["u"] == nil {
		t.Errorf("the topic is still there: %v %v", m.topics, m.ids)
	}
	r.Handle(epoch0, now8.updateMetadata(2, nil, cached{u0, model.Uuid{}, 1}), nil)
	if !m.ids["u"].IsZero() {
		t.Error("a zero topic id does not remove the known one")
	}
}

func TestMetadataVersions(t *testing.T) {
	r := newReplicas(t, 1)
	r.Handle(epoch0, now8.updateMetadata(2, []int32{1, 2}, cached{t0, idA, 1}, cached{model.TP("t", 1), idA, 3}), nil)
	for version := int16(0); version <= 12; version++ {
		req := kmsg.NewPtrMetadataRequest()
		req.Version = version
		if version == 0 {
			req.Topics = []kmsg.MetadataRequestTopic{}
		}
		in := overTheWire(t, req).(*kmsg.MetadataRequest)
		raw := appendResponse(nil, r.cache.answer(in, "cid", "PLAINTEXT"), 1)
		resp, err := parseResponse(raw[4:], in, 1)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		m := resp.(*kmsg.MetadataResponse)
		if len(m.Brokers) != 2 || m.Brokers[1].Port != 9002 || len(m.Topics) != 1 || *m.Topics[0].Topic != "t" {
			t.Fatalf("version %d: %+v", version, m)
		}
		if version >= 1 && m.ControllerID != 2 || version >= 2 && *m.ClusterID != "cid" || version >= 10 && m.Topics[0].TopicID != idA {
			t.Errorf("version %d: %+v", version, m)
		}
		p := m.Topics[0].Partitions
		code, replicas := int16(0), []int32{1, 2, 3}
		if version == 0 {
			code, replicas = codeReplicaNotAvailable, []int32{1, 2}
		}
		if p[0].ErrorCode != code || p[0].Leader != 1 || !slices.Equal(p[0].Replicas, replicas) {
			t.Errorf("version %d: %+v", version, p[0])
		}
		if p[1].ErrorCode != codeLeaderNotAvailable || p[1].Leader != -1 {
			t.Errorf("version %d: %+v", version, p[1])
		}
	}
}

func TestMetadataByName(t *testing.T) {
	r := newReplicas(t, 1)
	r.Handle(epoch0, now8.updateMetadata(2, []int32{1, 2}, cached{t0, idA, 1}), nil)
	ask := func(version int16, want ...kmsg.MetadataRequestTopic) []int16 {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.Topics = version, want
		if want == nil {
			req.Topics = []kmsg.MetadataRequestTopic{}
		}
		var codes []int16
		for _, x := range r.cache.answer(req, "", "PLAINTEXT").(*kmsg.MetadataResponse).Topics {
			codes = append(codes, x.ErrorCode)
		}
		return codes
	}
	name := func(s string) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{Topic: &s} }
	if got := ask(9, name("t"), name("no"), name("bad/name")); !slices.Equal(got, []int16{0, codeUnknownTopicOrPartition, codeInvalidTopic}) {
		t.Errorf("codes %v", got)
	}
	if got := ask(12, kmsg.MetadataRequestTopic{TopicID: idA}, kmsg.MetadataRequestTopic{TopicID: idB}); !slices.Equal(got, []int16{0, codeUnknownTopicID}) {
		t.Errorf("codes by id %v", got)
	}
	if got := ask(9); got != nil {
		t.Errorf("no topics: %v", got)
	}
}

func TestListenerNotFound(t *testing.T) {
	r := newReplicas(t, 1)
	r.Handle(epoch0, now8.updateMetadata(2, []int32{1, 2}, cached{t0, idA, 1}), nil)
	for version, want := range map[int16]int16{5: codeLeaderNotAvailable, 6: codeListenerNotFound} {
		req := kmsg.NewPtrMetadataRequest()
		req.Version = version
		m := r.cache.answer(req, "", "CLIENT").(*kmsg.MetadataResponse)
		if got := m.Topics[0].Partitions[0].ErrorCode; got != want || len(m.Brokers) != 0 {
			t.Errorf("version %d: code %d, brokers %v", version, got, m.Brokers)
		}
	}
}
