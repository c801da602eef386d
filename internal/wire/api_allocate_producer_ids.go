package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// allocateProducerIDsAPI hands out blocks of producer ids.
func allocateProducerIDsAPI() api {
	return asked(0, 0,
		func(q *kmsg.AllocateProducerIDsRequest) (model.Ask, kmsg.Response) {
			return &model.AllocateProducerIDs{BrokerID: q.BrokerID, BrokerEpoch: q.BrokerEpoch}, nil
		},
		func(q *kmsg.AllocateProducerIDsRequest, a *model.AllocateProducerIDsAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
			out.ErrorCode = int16(a.Error)
			if a.Error == model.ErrNone {
				out.ProducerIDStart, out.ProducerIDLen = a.Start, a.Len
			}
			return out
		})
}
