package broker

import (
	"maps"
	"slices"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadata is a broker's picture of the cluster, as the last UpdateMetadata
// requests drew it. Kafka: ZkMetadataCache.
type metadata struct {
	controller int32 // NoLeader: none
	brokers    map[int32]*liveBroker
	topics     map[string]map[int32]*kmsg.UpdateMetadataRequestTopicPartition
	ids        map[string]model.Uuid
}

// liveBroker is a broker of the last UpdateMetadata.
type liveBroker struct {
	endpoints []model.Endpoint
	rack      *string
}

func newMetadata() *metadata {
	return &metadata{controller: model.NoLeader, brokers: map[int32]*liveBroker{},
		topics: map[string]map[int32]*kmsg.UpdateMetadataRequestTopicPartition{}, ids: map[string]model.Uuid{}}
}

func (m *metadata) alive(id int32) bool { return m.brokers[id] != nil }

// endpoint is the address of a live broker on a listener.
func (m *metadata) endpoint(id int32, listener string) (model.Endpoint, bool) {
	b := m.brokers[id]
	if b == nil {
		return model.Endpoint{}, false
	}
	for _, e := range b.endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return model.Endpoint{}, false
}

// updateMetadata replaces controller and brokers, and merges the partitions.
// Kafka: KafkaApis.handleUpdateMetadataRequest, ZkMetadataCache.updateMetadata.
func (r *Replicas) updateMetadata(req *kmsg.UpdateMetadataRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.UpdateMetadataResponse)
	if resp.ErrorCode = r.heed(req.BrokerEpoch, req.ControllerEpoch); resp.ErrorCode != codeNone {
		return resp
	}
	before := r.cache.brokers
	r.cache.update(req)
	for id := range r.cache.brokers {
		if before[id] == nil {
			r.reviewWaiting()
			break
		}
	}
	return resp
}

// reviewWaiting has the partitions looked at where a follower is ready for the
// ISR: a broker has become alive in the cache.
func (r *Replicas) reviewWaiting() {
	for tp, p := range r.parts {
		if p.leader != r.id {
			continue
		}
		for id, f := range p.followers {
			if f.caughtUp && !slices.Contains(p.isr, id) {
				r.touch(tp)
				break
			}
		}
	}
}

func (m *metadata) update(req *kmsg.UpdateMetadataRequest) {
	m.controller = req.ControllerID
	if m.controller < 0 {
		m.controller = model.NoLeader
	}
	m.brokers = map[int32]*liveBroker{}
	for i := range req.LiveBrokers {
		b := &req.LiveBrokers[i]
		m.brokers[b.ID] = &liveBroker{endpoints: endpoints(req.Version, b), rack: b.Rack}
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		if id := model.Uuid(t.TopicID); id.IsZero() {
			delete(m.ids, t.Topic)
		} else {
			m.ids[t.Topic] = id
		}
	}
	for i := range req.PartitionStates {
		p := &req.PartitionStates[i]
		m.merge(p.Topic, p)
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		for j := range t.PartitionStates {
			m.merge(t.Topic, &t.PartitionStates[j])
		}
	}
}

// merge takes one partition in, or out when its topic is being deleted; the
// last one takes its topic along.
func (m *metadata) merge(topic string, p *kmsg.UpdateMetadataRequestTopicPartition) {
	parts := m.topics[topic]
	if p.Leader != model.LeaderDuringDelete {
		if parts == nil {
			parts = map[int32]*kmsg.UpdateMetadataRequestTopicPartition{}
			m.topics[topic] = parts
		}
		parts[p.Partition] = p
		return
	}
	if parts == nil {
		return
	}
	delete(parts, p.Partition)
	if len(parts) == 0 {
		delete(m.topics, topic)
		delete(m.ids, topic)
	}
}

// securityProtocols by their number on the wire.
var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// endpoints of a broker in the request: one plain address in version 0; below
// version 3 listeners are called after their protocol.
func endpoints(version int16, b *kmsg.UpdateMetadataRequestLiveBroker) []model.Endpoint {
	if version == 0 {
		return []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: b.Host, Port: b.Port}}
	}
	var out []model.Endpoint
	for _, e := range b.Endpoints {
		protocol := ""
		if i := int(e.SecurityProtocol); i >= 0 && i < len(securityProtocols) {
			protocol = securityProtocols[i]
		}
		listener := e.ListenerName
		if version < 3 {
			listener = protocol
		}
		out = append(out, model.Endpoint{Listener: listener, Protocol: protocol, Host: e.Host, Port: e.Port})
	}
	return out
}

// answer is the Metadata response for clients of that listener. Topics are not
// created on the way, which is what a broker does whose
// auto.create.topics.enable is off.
// Kafka: KafkaApis.handleTopicMetadataRequest, ZkMetadataCache.getTopicMetadata.
func (m *metadata) answer(req *kmsg.MetadataRequest, clusterID, listener string) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID = &clusterID
	resp.ControllerID = m.controller
	for _, id := range slices.Sorted(maps.Keys(m.brokers)) {
		e, ok := m.endpoint(id, listener)
		if !ok {
			continue
		}
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = id, e.Host, e.Port, m.brokers[id].rack
		resp.Brokers = append(resp.Brokers, b)
	}
	for _, want := range m.wanted(req) {
		resp.Topics = append(resp.Topics, m.topic(req.Version, want, listener))
	}
	return resp
}

// wanted resolves the topics of a request: none means all (null from version 1
// on, empty in version 0).
func (m *metadata) wanted(req *kmsg.MetadataRequest) []kmsg.MetadataRequestTopic {
	if req.Topics != nil && (req.Version > 0 || len(req.Topics) > 0) {
		return req.Topics
	}
	var out []kmsg.MetadataRequestTopic
	for _, name := range slices.Sorted(maps.Keys(m.topics)) {
		out = append(out, kmsg.MetadataRequestTopic{Topic: &name})
	}
	return out
}

func (m *metadata) topic(version int16, want kmsg.MetadataRequestTopic, listener string) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID = want.Topic, want.TopicID
	if id := model.Uuid(want.TopicID); !id.IsZero() {
		t.ErrorCode = codeUnknownTopicID
		for name, known := range m.ids {
			if known == id && m.topics[name] != nil {
				t.Topic, t.ErrorCode = &name, codeNone
			}
		}
		if t.ErrorCode != codeNone {
			t.Topic = nil
			return t
		}
	}
	if t.Topic == nil {
		t.ErrorCode = codeInvalidRequest
		return t
	}
	name := *t.Topic
	t.TopicID, t.IsInternal = m.ids[name], model.IsInternalTopic(name)
	parts, ok := m.topics[name]
	switch {
	case ok:
		for _, n := range slices.Sorted(maps.Keys(parts)) {
			t.Partitions = append(t.Partitions, m.partition(version, parts[n], listener))
		}
	case model.ValidateTopicName(name) != nil:
		t.ErrorCode = codeInvalidTopic
	default:
		t.ErrorCode = codeUnknownTopicOrPartition
	}
	return t
}

func (m *metadata) partition(version int16, s *kmsg.UpdateMetadataRequestTopicPartition, listener string) kmsg.MetadataResponseTopicPartition {
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Partition, p.Leader, p.LeaderEpoch = s.Partition, s.Leader, s.LeaderEpoch
	p.Replicas, p.ISR, p.OfflineReplicas = s.Replicas, s.ISR, s.OfflineReplicas
	missing := false
	if version == 0 { // version 0 hides replicas that can't be reached, and says so
		reachable := func(ids []int32) []int32 {
			var out []int32
			for _, id := range ids {
				if _, ok := m.endpoint(id, listener); ok {
					out = append(out, id)
				}
			}
			return out
		}
		p.Replicas, p.ISR = reachable(s.Replicas), reachable(s.ISR)
		missing = len(p.Replicas) < len(s.Replicas) || len(p.ISR) < len(s.ISR)
	}
	_, ok := m.endpoint(s.Leader, listener)
	switch {
	case !ok && version >= 6 && m.alive(s.Leader):
		p.Leader, p.ErrorCode = model.NoLeader, codeListenerNotFound
	case !ok:
		p.Leader, p.ErrorCode = model.NoLeader, codeLeaderNotAvailable
	case missing:
		p.ErrorCode = codeReplicaNotAvailable
	}
	return p
}
