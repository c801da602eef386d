package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// alterPartitionAPI: version 1 adds the recovery state, 2 names topics by id, 3
// has a broker epoch for each member of the ISR, which a ZooKeeper controller
// does not look at.
func alterPartitionAPI() api {
	return asked(0, 3,
		func(c *call, q *kmsg.AlterPartitionRequest) (model.Ask, kmsg.Response) {
			if !c.mayCluster(acl.ClusterAction) {
				out := q.ResponseKind().(*kmsg.AlterPartitionResponse)
				out.ErrorCode = clusterDenied
				return nil, out
			}
			ask := &model.AlterPartition{Version: q.Version, BrokerID: q.BrokerID, BrokerEpoch: q.BrokerEpoch}
			for i := range q.Topics {
				t := &q.Topics[i]
				for j := range t.Partitions {
					p := &t.Partitions[j]
					isr := p.NewISR
					for _, member := range p.NewEpochISR {
						isr = append(isr, member.BrokerID)
					}
					ask.Partitions = append(ask.Partitions, model.AlterPartitionEntry{
						TopicPartition: model.TP(t.Topic, p.Partition), TopicID: t.TopicID, ISR: isr,
						LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Recovery: model.RecoveryState(p.LeaderRecoveryState),
					})
				}
			}
			return ask, nil
		},
		func(c *call, q *kmsg.AlterPartitionRequest, a *model.AlterPartitionAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.AlterPartitionResponse)
			out.ErrorCode = int16(a.Error)
			topic := func(r *model.AlterPartitionResult) string { return r.Topic }
			if q.Version >= 2 {
				topic = func(r *model.AlterPartitionResult) string { return string(r.TopicID[:]) }
			}
			for _, of := range byTopic(a.Partitions, topic) {
				t := kmsg.NewAlterPartitionResponseTopic()
				t.Topic, t.TopidID = of[0].Topic, of[0].TopicID
				for i := range of {
					t.Partitions = append(t.Partitions, alterPartitionResult(&of[i]))
				}
				out.Topics = append(out.Topics, t)
			}
			return out
		})
}

func alterPartitionResult(r *model.AlterPartitionResult) kmsg.AlterPartitionResponseTopicPartition {
	p := kmsg.NewAlterPartitionResponseTopicPartition()
	p.Partition, p.ErrorCode = r.Partition, int16(r.Error)
	if l := r.Leadership; l != nil && r.Error == model.ErrNone {
		p.LeaderID, p.LeaderEpoch, p.ISR = l.Leader, l.LeaderEpoch, l.ISR
		p.LeaderRecoveryState, p.PartitionEpoch = int8(l.Recovery), l.PartitionEpoch
	}
	return p
}
