package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
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
		if q.IncludeClusterAuthorizedOperations {
			out.ClusterAuthorizedOperations = 0
			if c.mayCluster(acl.Describe) {
				out.ClusterAuthorizedOperations = c.operations(acl.Cluster, acl.ClusterName)
			}
		}
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
