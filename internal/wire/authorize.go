package wire

import (
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// may tells whether who asks may do that to a resource. Kafka: AuthHelper.authorize.
func (c *call) may(op acl.Operation, resource acl.ResourceType, name string) bool {
	return c.rules == nil || c.rules.Allows(acl.Request{Principal: acl.Principal(c.user), Host: c.host(), Operation: op, Resource: resource, Name: name})
}

// mayCluster is may for the cluster as a whole.
func (c *call) mayCluster(op acl.Operation) bool { return c.may(op, acl.Cluster, acl.ClusterName) }

// mayTopic is may for a topic.
func (c *call) mayTopic(op acl.Operation, topic string) bool { return c.may(op, acl.Topic, topic) }

// host is the address that the request comes from.
func (c *call) host() string {
	host, _, err := net.SplitHostPort(c.conn.peer())
	if err != nil {
		return c.conn.peer()
	}
	return host
}

// operations is what may be done to a resource, as bits.
func (c *call) operations(resource acl.ResourceType, name string) int32 {
	return c.rules.Operations(acl.Principal(c.user), c.host(), resource, name)
}

const clusterDenied = int16(model.ErrClusterAuthorizationFailed)

// clusterDeniedText is what Kafka says of it.
var clusterDeniedText = message(model.ErrClusterAuthorizationFailed, "Cluster authorization failed.")

// authorizeHandOn answers in Kafka's words what who asks may not ask any broker.
// What is handed on arrives there under this process's own identity, so the broker
// cannot judge it. It is nil where everything in it is allowed; where only a part
// is, the request that remains is handed on, and merge puts the refusals into its
// answer.
func authorizeHandOn(c *call) (refusal kmsg.Response, merge func(kmsg.Response)) {
	switch q := c.request.(type) {
	case *kmsg.FindCoordinatorRequest:
		return authorizeCoordinators(c, q)
	case *kmsg.InitProducerIDRequest:
		return authorizeProducer(c, q), nil
	case *kmsg.DescribeConfigsRequest:
		return authorizeDescribeConfigs(c, q)
	case *kmsg.DescribeACLsRequest:
		if !c.mayCluster(acl.Describe) {
			out := q.ResponseKind().(*kmsg.DescribeACLsResponse)
			out.ErrorCode, out.ErrorMessage = clusterDenied, clusterDeniedText
			return out, nil
		}
	case *kmsg.CreateACLsRequest:
		if !c.mayCluster(acl.Alter) {
			out := q.ResponseKind().(*kmsg.CreateACLsResponse)
			for range q.Creations {
				r := kmsg.NewCreateACLsResponseResult()
				r.ErrorCode, r.ErrorMessage = clusterDenied, clusterDeniedText
				out.Results = append(out.Results, r)
			}
			return out, nil
		}
	case *kmsg.DeleteACLsRequest:
		if !c.mayCluster(acl.Alter) {
			out := q.ResponseKind().(*kmsg.DeleteACLsResponse)
			for range q.Filters {
				r := kmsg.NewDeleteACLsResponseResult()
				r.ErrorCode, r.ErrorMessage = clusterDenied, clusterDeniedText
				out.Results = append(out.Results, r)
			}
			return out, nil
		}
	case *kmsg.DescribeClientQuotasRequest:
		if !c.mayCluster(acl.DescribeConfigs) {
			out := q.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
			out.ErrorCode, out.ErrorMessage = clusterDenied, clusterDeniedText
			return out, nil
		}
	case *kmsg.DescribeUserSCRAMCredentialsRequest:
		if !c.mayCluster(acl.Describe) {
			out := q.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
			out.ErrorCode, out.ErrorMessage = clusterDenied, clusterDeniedText
			return out, nil
		}
	}
	return nil, nil
}

// authorizeProducer. Kafka: KafkaApis.handleInitProducerIdRequest.
func authorizeProducer(c *call, q *kmsg.InitProducerIDRequest) kmsg.Response {
	out := q.ResponseKind().(*kmsg.InitProducerIDResponse)
	out.ProducerID, out.ProducerEpoch = -1, -1
	switch {
	case q.TransactionalID != nil && !c.may(acl.Write, acl.TransactionalID, *q.TransactionalID):
		out.ErrorCode = int16(errTransactionalIDAuthorizationFailed)
		return out
	case q.TransactionalID == nil && !c.mayCluster(acl.IdempotentWrite) && !c.rules.AllowsSome(acl.Principal(c.user), c.host(), acl.Write, acl.Topic):
		out.ErrorCode = clusterDenied
		return out
	}
	return nil
}

const coordinatesTransactions = 1

// authorizeCoordinators: from version 4 on several are asked for at once.
// Kafka: KafkaApis.getCoordinator.
func authorizeCoordinators(c *call, q *kmsg.FindCoordinatorRequest) (kmsg.Response, func(kmsg.Response)) {
	resource, code := acl.Group, errGroupAuthorizationFailed
	if q.CoordinatorType == coordinatesTransactions {
		resource, code = acl.TransactionalID, errTransactionalIDAuthorizationFailed
	}
	if q.Version < 4 {
		if c.may(acl.Describe, resource, q.CoordinatorKey) {
			return nil, nil
		}
		out := q.ResponseKind().(*kmsg.FindCoordinatorResponse)
		out.ErrorCode, out.ErrorMessage, out.NodeID, out.Port = int16(code), message(code, ""), -1, -1
		return out, nil
	}
	var allowed []string
	var denied []kmsg.FindCoordinatorResponseCoordinator
	for _, key := range q.CoordinatorKeys {
		if c.may(acl.Describe, resource, key) {
			allowed = append(allowed, key)
			continue
		}
		r := kmsg.NewFindCoordinatorResponseCoordinator()
		r.Key, r.ErrorCode, r.ErrorMessage, r.NodeID, r.Port = key, int16(code), message(code, ""), -1, -1
		denied = append(denied, r)
	}
	add := func(to kmsg.Response) {
		out := to.(*kmsg.FindCoordinatorResponse)
		out.Coordinators = append(out.Coordinators, denied...)
	}
	q.CoordinatorKeys = allowed
	return partly(q, len(allowed), len(denied), add)
}

// authorizeDescribeConfigs. Kafka: ConfigHelper.handleDescribeConfigsRequest.
func authorizeDescribeConfigs(c *call, q *kmsg.DescribeConfigsRequest) (kmsg.Response, func(kmsg.Response)) {
	var allowed []kmsg.DescribeConfigsRequestResource
	var denied []kmsg.DescribeConfigsResponseResource
	for _, r := range q.Resources {
		code, fine := model.ErrClusterAuthorizationFailed, false
		if r.ResourceType == kmsg.ConfigResourceTypeTopic {
			code, fine = model.ErrTopicAuthorizationFailed, c.mayTopic(acl.DescribeConfigs, r.ResourceName)
		} else {
			fine = c.mayCluster(acl.DescribeConfigs)
		}
		if fine {
			allowed = append(allowed, r)
			continue
		}
		x := kmsg.NewDescribeConfigsResponseResource()
		x.ResourceType, x.ResourceName, x.ErrorCode, x.ErrorMessage = r.ResourceType, r.ResourceName, int16(code), message(code, "")
		denied = append(denied, x)
	}
	add := func(to kmsg.Response) {
		out := to.(*kmsg.DescribeConfigsResponse)
		out.Resources = append(out.Resources, denied...)
	}
	q.Resources = allowed
	return partly(q, len(allowed), len(denied), add)
}

// partly is the verdict on a request that only its allowed parts are left in; add
// puts the refusals of the others into an answer.
func partly(q kmsg.Request, allowed, denied int, add func(kmsg.Response)) (refusal kmsg.Response, merge func(kmsg.Response)) {
	switch {
	case denied == 0:
		return nil, nil
	case allowed == 0:
		out := q.ResponseKind()
		add(out)
		return out, nil
	}
	return nil, add
}
