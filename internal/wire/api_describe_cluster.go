package wire

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// describeClusterAPI lists the brokers that have an endpoint for the listener on
// which the question came. A controller that is not among them is not named.
// Kafka: AuthHelper.computeDescribeClusterResponse.
func describeClusterAPI() api {
	return local(0, 1, func(c *call, q *kmsg.DescribeClusterRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.DescribeClusterResponse)
		const brokers, controllers = 1, 2
		if q.Version >= 1 && q.EndpointType != brokers {
			code, text := errUnsupportedEndpointType, fmt.Sprintf("endpoint type %d does not exist", q.EndpointType)
			if q.EndpointType == controllers {
				code, text = errMismatchedEndpointType, "this endpoint describes brokers, not KRaft controllers"
			}
			out.ErrorCode, out.ErrorMessage = int16(code), &text
			return out
		}
		cluster := c.conn.server.opt.Cluster()
		out.EndpointType = brokers
		out.ClusterID = cluster.ClusterID
		out.ControllerID = -1
		for _, n := range cluster.nodes(c.conn.listener) {
			b := kmsg.NewDescribeClusterResponseBroker()
			b.NodeID, b.Host, b.Port, b.Rack = n.id, n.host, n.port, n.rack
			out.Brokers = append(out.Brokers, b)
			if n.id == cluster.ControllerID {
				out.ControllerID = n.id
			}
		}
		return out
	})
}

// node is a broker as a client sees it.
type node struct {
	id   int32
	host string
	port int32
	rack *string
}

// nodes lists by id the registered brokers, and the controller where it is none
// of them, that have an endpoint of that listener.
// Kafka: ZkMetadataCache.getAliveBrokerNodes.
func (c *Cluster) nodes(listener string) []node {
	var out []node
	add := func(b *model.Broker) {
		if e, ok := b.Endpoint(listener); ok {
			n := node{id: b.ID, host: e.Host, port: e.Port}
			if b.Rack != "" {
				rack := b.Rack
				n.rack = &rack
			}
			out = append(out, n)
		}
	}
	brokers := c.brokers()
	for i := range brokers {
		add(&brokers[i])
	}
	return out
}

// brokers are the registered brokers by id, with Self in its place.
func (c *Cluster) brokers() []model.Broker {
	var brokers []model.Broker
	if c.View != nil {
		brokers = c.View.Brokers()
	}
	if c.Self == nil {
		return brokers
	}
	i, registered := slices.BinarySearchFunc(brokers, c.Self.ID, func(b model.Broker, id int32) int { return int(b.ID) - int(id) })
	if registered {
		return brokers
	}
	return slices.Insert(slices.Clone(brokers), i, *c.Self)
}
