package broker

import (
	"maps"
	"slices"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answer carries out any request that the broker serves.
func (b *Broker) answer(req kmsg.Request, wrong Wrong) kmsg.Response {
	r := b.run.replicas
	if resp := r.Handle(b.c.clock.Now(), req, wrong); resp != nil {
		return resp
	}
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return b.apiVersions(req)
	case *kmsg.MetadataRequest:
		return r.cache.answer(req, b.c.clusterID(), b.set.Listener)
	case *kmsg.DescribeClusterRequest:
		return r.cache.describe(req, b.c.clusterID(), b.set.Listener)
	}
	return r.notController(req)
}

// apiVersions lists what the release serves. Kafka: ApiVersionManager.
func (b *Broker) apiVersions(req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	for _, key := range slices.Sorted(maps.Keys(served)) {
		if v, ok := maxVersion(b.set.Release, key); ok {
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MaxVersion = key, v
			resp.ApiKeys = append(resp.ApiKeys, k)
		}
	}
	return resp
}

// describe is Metadata without topics. Kafka: KafkaApis.handleDescribeCluster.
func (m *metadata) describe(req *kmsg.DescribeClusterRequest, clusterID, listener string) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	if req.Version >= 1 && req.EndpointType == 2 { // controllers: only a KRaft quorum has them
		resp.ErrorCode = codeUnsupportedEndpointType
		return resp
	}
	resp.ClusterID, resp.ControllerID, resp.EndpointType = clusterID, m.controller, req.EndpointType
	for _, id := range slices.Sorted(maps.Keys(m.brokers)) {
		if e, ok := m.endpoint(id, listener); ok {
			b := kmsg.NewDescribeClusterResponseBroker()
			b.NodeID, b.Host, b.Port, b.Rack = id, e.Host, e.Port, m.brokers[id].rack
			resp.Brokers = append(resp.Brokers, b)
		}
	}
	return resp
}

// notController is what a broker that is not the controller answers to what only
// the controller does: NOT_CONTROLLER, where the request has a place for it.
// Kafka: KafkaApis (handlers of the controller's requests).
func (r *Replicas) notController(req kmsg.Request) kmsg.Response {
	const code = codeNotController
	switch resp := req.ResponseKind().(type) {
	case *kmsg.ControlledShutdownResponse:
		resp.ErrorCode = codeStaleControllerEpoch // "controller moved" has this code
		return resp
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.UpdateFeaturesResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.AlterPartitionAssignmentsResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.CreateTopicsResponse:
		for _, t := range req.(*kmsg.CreateTopicsRequest).Topics {
			x := kmsg.NewCreateTopicsResponseTopic()
			x.Topic, x.ErrorCode = t.Topic, code
			resp.Topics = append(resp.Topics, x)
		}
		return resp
	case *kmsg.DeleteTopicsResponse:
		return refuseDeleteTopics(req.(*kmsg.DeleteTopicsRequest), resp)
	case *kmsg.CreatePartitionsResponse:
		for _, t := range req.(*kmsg.CreatePartitionsRequest).Topics {
			x := kmsg.NewCreatePartitionsResponseTopic()
			x.Topic, x.ErrorCode = t.Topic, code
			resp.Topics = append(resp.Topics, x)
		}
		return resp
	case *kmsg.ElectLeadersResponse:
		return r.refuseElectLeaders(req.(*kmsg.ElectLeadersRequest), resp)
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		return refuseScram(req.(*kmsg.AlterUserSCRAMCredentialsRequest), resp)
	}
	return nil
}

func refuseDeleteTopics(req *kmsg.DeleteTopicsRequest, resp *kmsg.DeleteTopicsResponse) kmsg.Response {
	for _, name := range req.TopicNames {
		x := kmsg.NewDeleteTopicsResponseTopic()
		x.Topic, x.ErrorCode = &name, codeNotController
		resp.Topics = append(resp.Topics, x)
	}
	for _, t := range req.Topics {
		x := kmsg.NewDeleteTopicsResponseTopic()
		x.Topic, x.TopicID, x.ErrorCode = t.Topic, t.TopicID, codeNotController
		resp.Topics = append(resp.Topics, x)
	}
	return resp
}

// refuseElectLeaders names each partition; a request without topics means all
// that the metadata cache knows.
func (r *Replicas) refuseElectLeaders(req *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse) kmsg.Response {
	topics := req.Topics
	if topics == nil {
		for _, name := range slices.Sorted(maps.Keys(r.cache.topics)) {
			topics = append(topics, kmsg.ElectLeadersRequestTopic{Topic: name, Partitions: slices.Sorted(maps.Keys(r.cache.topics[name]))})
		}
	}
	for _, t := range topics {
		x := kmsg.NewElectLeadersResponseTopic()
		x.Topic = t.Topic
		for _, n := range t.Partitions {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode = n, codeNotController
			x.Partitions = append(x.Partitions, p)
		}
		resp.Topics = append(resp.Topics, x)
	}
	return resp
}

func refuseScram(req *kmsg.AlterUserSCRAMCredentialsRequest, resp *kmsg.AlterUserSCRAMCredentialsResponse) kmsg.Response {
	var users []string
	for _, d := range req.Deletions {
		users = append(users, d.Name)
	}
	for _, u := range req.Upsertions {
		users = append(users, u.Name)
	}
	slices.Sort(users)
	for _, user := range slices.Compact(users) {
		x := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		x.User, x.ErrorCode = user, codeNotController
		resp.Results = append(resp.Results, x)
	}
	return resp
}

// wholly is the answer to a request that fails as a whole, without anything
// being done; nil where the response has no place for it.
func wholly(req kmsg.Request, code int16) kmsg.Response {
	switch req := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		return leaderAndISRAnswer(req, code, leaderships(req), nil)
	case *kmsg.MetadataRequest:
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.ControllerID = model.NoLeader
		for _, want := range req.Topics {
			t := kmsg.NewMetadataResponseTopic()
			t.Topic, t.TopicID, t.ErrorCode = want.Topic, want.TopicID, code
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	}
	switch resp := req.ResponseKind().(type) {
	case *kmsg.StopReplicaResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.UpdateMetadataResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.ApiVersionsResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.DescribeClusterResponse:
		resp.ErrorCode = code
		return resp
	}
	return nil
}
