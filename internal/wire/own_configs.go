package wire

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ownConfigs answers what is asked about the settings of the controller as a
// broker. Tools ask all brokers that are listed, and clients send such a question
// to the broker that it is about, in a request of its own; a broker that it were
// handed on to would refuse it. There are no such settings: taking one back is
// fine, making one is not. Nil: it is about others, and handed on.
func ownConfigs(c *call) kmsg.Response {
	self := c.conn.server.opt.Cluster().Self
	if self == nil {
		return nil
	}
	own := func(kind kmsg.ConfigResourceType, name string) bool {
		return kind == kmsg.ConfigResourceTypeBroker && name == strconv.Itoa(int(self.ID))
	}
	switch q := c.request.(type) {
	case *kmsg.DescribeConfigsRequest:
		if len(q.Resources) != 1 || !own(q.Resources[0].ResourceType, q.Resources[0].ResourceName) {
			return nil
		}
		out := q.ResponseKind().(*kmsg.DescribeConfigsResponse)
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = q.Resources[0].ResourceType, q.Resources[0].ResourceName
		out.Resources = append(out.Resources, r)
		return out
	}
	return nil
}
