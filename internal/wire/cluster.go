package wire

import (
	"slices"

	"kstate/model"
)

// Cluster is what Metadata and DescribeCluster are answered from.
type Cluster struct {
	View         *model.View // frozen; nil: nothing is known yet
	ControllerID int32       // -1 when none is known
	ClusterID    string
	// Self is the controller where it is no registered broker: it is listed
	// among the brokers, so that clients can find it. Nil: it is not listed.
	Self *model.Broker
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
