package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// metadataAPI answers as a broker does that has got all of the controller's
// UpdateMetadata requests: it knows the partitions that have leadership, of
// topics that are not queued for deletion. Topics are never created.
// Kafka: KafkaApis.handleTopicMetadataRequest, ZkMetadataCache.
func metadataAPI() api {
	return local(0, 12, func(c *call, q *kmsg.MetadataRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.MetadataResponse)
		if !validMetadataRequest(q) {
			for i := range q.Topics {
				out.Topics = append(out.Topics, invalidTopic(&q.Topics[i]))
			}
			return out
		}
		cluster := c.conn.server.opt.Cluster()
		m := metadata{call: c, cluster: &cluster, version: q.Version, alive: map[int32]bool{}}
		for _, n := range cluster.nodes(c.conn.listener) {
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port, b.Rack = n.id, n.host, n.port, n.rack
			out.Brokers = append(out.Brokers, b)
			m.alive[n.id] = true
		}
		if cluster.ClusterID != "" {
			out.ClusterID = &cluster.ClusterID
		}
		out.ControllerID = cluster.ControllerID
		out.Topics = m.topics(q)
		m.operations(q, out)
		return out
	})
}

// Below version 12 topics cannot be asked for by id, and need a name.
func validMetadataRequest(q *kmsg.MetadataRequest) bool {
	return q.Version >= 12 || !slices.ContainsFunc(q.Topics, func(t kmsg.MetadataRequestTopic) bool {
		return t.Topic == nil || t.TopicID != [16]byte{}
	})
}

func invalidTopic(q *kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	name := ""
	if q.Topic != nil {
		name = *q.Topic
	}
	t.ErrorCode, t.Topic, t.TopicID = int16(model.ErrInvalidRequest), &name, q.TopicID
	return t
}

type metadata struct {
	call    *call
	cluster *Cluster
	version int16
	alive   map[int32]bool // brokers with an endpoint that the client can use
}

func (m *metadata) topics(q *kmsg.MetadataRequest) []kmsg.MetadataResponseTopic {
	view := m.cluster.View
	if q.Topics == nil || q.Version == 0 && len(q.Topics) == 0 {
		var out []kmsg.MetadataResponseTopic
		if view != nil {
			for t := range view.Topics() {
				if !m.call.mayTopic(acl.Describe, t.Name) {
					continue
				}
				if known, ok := m.topic(t); ok {
					out = append(out, known)
				}
			}
		}
		return out
	}
	if slices.ContainsFunc(q.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.TopicID != [16]byte{} }) {
		return m.topicsByID(q.Topics)
	}
	var out []kmsg.MetadataResponseTopic
	seen := map[string]bool{}
	for i := range q.Topics {
		name := ""
		if q.Topics[i].Topic != nil {
			name = *q.Topics[i].Topic
		}
		if !seen[name] {
			seen[name] = true
			out = append(out, m.topicByName(name))
		}
	}
	return out
}

func (m *metadata) topicByName(name string) kmsg.MetadataResponseTopic {
	if !m.call.mayTopic(acl.Describe, name) { // whether it exists is not told
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.ErrorCode = &name, int16(model.ErrTopicAuthorizationFailed)
		return t
	}
	if m.cluster.View != nil {
		if t, ok := m.topic(m.cluster.View.Topic(name)); ok {
			return t
		}
	}
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.IsInternal = &name, model.IsInternalTopic(name)
	t.ErrorCode = int16(model.ErrUnknownTopicOrPartition)
	if model.ValidateTopicName(name) != nil {
		t.ErrorCode = int16(model.ErrInvalidTopicException)
	}
	return t
}

// topicsByID: once one topic is asked for by id, names are not looked at.
func (m *metadata) topicsByID(asked []kmsg.MetadataRequestTopic) []kmsg.MetadataResponseTopic {
	byID := map[model.Uuid]*model.Topic{}
	if m.cluster.View != nil {
		for t := range m.cluster.View.Topics() {
			byID[t.ID] = t
		}
	}
	var out []kmsg.MetadataResponseTopic
	seen := map[model.Uuid]bool{{}: true}
	for i := range asked {
		id := model.Uuid(asked[i].TopicID)
		if seen[id] {
			continue
		}
		seen[id] = true
		t, ok := m.topic(byID[id])
		code := model.ErrUnknownTopicID
		if ok && !m.call.mayTopic(acl.Describe, *t.Topic) { // ids are no secret, names are
			ok, code = false, model.ErrTopicAuthorizationFailed
		}
		if !ok {
			t = kmsg.NewMetadataResponseTopic()
			t.ErrorCode, t.TopicID = int16(code), id
			if m.version < 12 { // where the name may not be null
				t.Topic = new(string)
			}
		}
		out = append(out, t)
	}
	return out
}

// topic is false for a topic that brokers have not been told of.
func (m *metadata) topic(t *model.Topic) (kmsg.MetadataResponseTopic, bool) {
	out := kmsg.NewMetadataResponseTopic()
	if t == nil || !t.Known || m.cluster.View.IsQueued(t.Name) {
		return out, false
	}
	name := t.Name
	out.Topic, out.TopicID, out.IsInternal = &name, t.ID, model.IsInternalTopic(name)
	for n, p := range t.Partitions() {
		if p.Leadership != nil {
			out.Partitions = append(out.Partitions, m.partition(model.TP(name, n), p))
		}
	}
	return out, len(out.Partitions) > 0
}

// Kafka: ZkMetadataCache.getPartitionMetadata.
func (m *metadata) partition(tp model.TopicPartition, p *model.Partition) kmsg.MetadataResponseTopicPartition {
	l, replicas := p.Leadership, p.Assignment.Replicas
	out := kmsg.NewMetadataResponseTopicPartition()
	out.Partition, out.Leader, out.LeaderEpoch = tp.Partition, l.Leader, l.LeaderEpoch
	out.Replicas, out.ISR = replicas, l.ISR
	if m.version == 0 { // which cannot bear brokers that are not listed
		out.Replicas, out.ISR = m.reachable(replicas), m.reachable(l.ISR)
	}
	for _, id := range replicas {
		if !m.cluster.View.IsReplicaOnline(id, tp, false) {
			out.OfflineReplicas = append(out.OfflineReplicas, id)
		}
	}
	switch {
	case !m.alive[l.Leader]:
		out.Leader = model.NoLeader
		out.ErrorCode = int16(errLeaderNotAvailable)
		if m.version >= 6 && m.isRegistered(l.Leader) {
			out.ErrorCode = int16(errListenerNotFound)
		}
	case len(out.Replicas) < len(replicas) || len(out.ISR) < len(l.ISR):
		out.ErrorCode = int16(errReplicaNotAvailable)
	}
	return out
}

func (m *metadata) reachable(ids []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return !m.alive[id] })
}

func (m *metadata) isRegistered(id int32) bool {
	return slices.ContainsFunc(m.cluster.brokers(), func(b model.Broker) bool { return b.ID == id })
}

// operations tells, where it is asked, what may be done to each topic and, up to
// version 10, to the cluster.
func (m *metadata) operations(q *kmsg.MetadataRequest, out *kmsg.MetadataResponse) {
	if q.IncludeClusterAuthorizedOperations {
		out.AuthorizedOperations = 0
		if m.call.mayCluster(acl.Describe) {
			out.AuthorizedOperations = m.call.operations(acl.Cluster, acl.ClusterName)
		}
	}
	if !q.IncludeTopicAuthorizedOperations {
		return
	}
	for i := range out.Topics {
		if t := &out.Topics[i]; t.ErrorCode != int16(model.ErrTopicAuthorizationFailed) && t.Topic != nil && len(t.Partitions) > 0 {
			t.AuthorizedOperations = m.call.operations(acl.Topic, *t.Topic)
		}
	}
}
