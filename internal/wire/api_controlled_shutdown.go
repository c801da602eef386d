package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// controlledShutdownAPI: before version 2 a broker does not say its epoch.
func controlledShutdownAPI() api {
	return asked(0, 3,
		func(c *call, q *kmsg.ControlledShutdownRequest) (model.Ask, kmsg.Response) {
			if !c.mayCluster(acl.ClusterAction) {
				out := q.ResponseKind().(*kmsg.ControlledShutdownResponse)
				out.ErrorCode = clusterDenied
				return nil, out
			}
			ask := &model.ControlledShutdown{BrokerID: q.BrokerID, BrokerEpoch: q.BrokerEpoch}
			if q.Version < 2 {
				ask.BrokerEpoch = -1
			}
			return ask, nil
		},
		func(c *call, q *kmsg.ControlledShutdownRequest, a *model.ControlledShutdownAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.ControlledShutdownResponse)
			out.ErrorCode = int16(a.Error)
			for _, tp := range a.Remaining {
				p := kmsg.NewControlledShutdownResponsePartitionsRemaining()
				p.Topic, p.Partition = tp.Topic, tp.Partition
				out.PartitionsRemaining = append(out.PartitionsRemaining, p)
			}
			return out
		})
}
