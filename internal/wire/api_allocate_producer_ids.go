package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// allocateProducerIDsAPI hands out blocks of producer ids.
func allocateProducerIDsAPI() api {
	return asked(0, 0,
		func(c *call, q *kmsg.AllocateProducerIDsRequest) (model.Ask, kmsg.Response) {
			if !c.mayCluster(acl.ClusterAction) {
				out := q.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
				out.ErrorCode = clusterDenied
				return nil, out
			}
			return &model.AllocateProducerIDs{BrokerID: q.BrokerID, BrokerEpoch: q.BrokerEpoch}, nil
		},
		func(c *call, q *kmsg.AllocateProducerIDsRequest, a *model.AllocateProducerIDsAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
			out.ErrorCode = int16(a.Error)
			if a.Error == model.ErrNone {
				out.ProducerIDStart, out.ProducerIDLen = a.Start, a.Len
			}
			return out
		})
}
