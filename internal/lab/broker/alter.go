package broker

import (
	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sendProposals asks the controller to change ISRs, one request at a time with
// all that are waiting. Kafka: DefaultAlterPartitionManager.
func (r *run) sendProposals() {
	for {
		var batch []*proposal
		var epoch int64
		r.b.c.do(func() {
			if r.alive() {
				batch, epoch = r.replicas.proposals(), r.replicas.brokerEpoch
			}
			r.sending = len(batch) > 0
		})
		if len(batch) == 0 {
			return
		}
		req, resp, err := r.ask(func(controllerMax int16) kmsg.Request {
			if req := r.b.alterPartition(batch, epoch, controllerMax); req != nil {
				return req
			}
			return nil
		})
		if err != nil {
			return
		}
		again := req == nil // the controller knows no AlterPartition
		if !again {
			r.b.c.do(func() {
				if r.alive() {
					again = r.takeAlterPartition(batch, req.(*kmsg.AlterPartitionRequest), resp.(*kmsg.AlterPartitionResponse))
				}
			})
		}
		if again && !r.sleep(resendPause) {
			return
		}
	}
}

// alterPartition builds the request in the highest version that both sides know;
// topic ids, which it names topics by from version 2 on, need the protocol for
// them and one for each topic. Nil when there is no common version.
// Kafka: DefaultAlterPartitionManager.buildRequest.
func (b *Broker) alterPartition(batch []*proposal, epoch int64, controllerMax int16) *kmsg.AlterPartitionRequest {
	version, ok := maxVersion(b.set.Release, keyAlterPartition)
	if !ok || controllerMax < 0 {
		return nil
	}
	version = min(version, controllerMax)
	ids := b.set.InterBrokerProtocol.TopicIDs()
	for _, x := range batch {
		ids = ids && !x.topicID.IsZero()
	}
	if !ids {
		version = min(version, 1)
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = version, b.id, epoch
	for _, x := range batch {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != x.tp.Topic {
			t := kmsg.NewAlterPartitionRequestTopic()
			t.Topic, t.TopicID = x.tp.Topic, x.topicID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewAlterPartitionRequestTopicPartition()
		p.Partition, p.LeaderEpoch, p.PartitionEpoch = x.tp.Partition, x.to.LeaderEpoch, x.to.PartitionEpoch
		p.NewISR = x.to.ISR
		for _, id := range x.to.ISR { // brokers of the ZooKeeper era know no epochs of others
			m := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
			m.BrokerID, m.BrokerEpoch = id, unknownBrokerEpoch
			p.NewEpochISR = append(p.NewEpochISR, m)
		}
		if b.set.InterBrokerProtocol.LeaderRecovery() {
			p.LeaderRecoveryState = int8(x.to.Recovery)
		}
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return req
}

// takeAlterPartition applies the answer. It returns whether to pause before the
// next request: after an error of the whole request, or one to be repeated.
// Proposals that the answer leaves out stay queued. The lock is held.
// Kafka: DefaultAlterPartitionManager.handleAlterPartitionResponse.
func (r *run) takeAlterPartition(batch []*proposal, req *kmsg.AlterPartitionRequest, resp *kmsg.AlterPartitionResponse) (pause bool) {
	if resp.ErrorCode != codeNone {
		return true
	}
	type outcome struct {
		code  int16
		state model.LeaderAndIsr
	}
	names := map[model.Uuid]string{}
	for _, x := range batch {
		names[x.topicID] = x.tp.Topic
	}
	got := map[model.TopicPartition]outcome{}
	for _, t := range resp.Topics {
		name := t.Topic
		if req.Version > 1 {
			name = names[t.TopidID]
		}
		for _, p := range t.Partitions {
			o := outcome{p.ErrorCode, model.LeaderAndIsr{Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch, ISR: p.ISR,
				Recovery: model.RecoveryState(p.LeaderRecoveryState), PartitionEpoch: p.PartitionEpoch}}
			if p.LeaderRecoveryState < 0 || p.LeaderRecoveryState > 1 {
				o.code = codeUnknownServerError
			}
			got[model.TP(name, p.Partition)] = o
		}
	}
	for _, x := range batch {
		o, ok := got[x.tp]
		switch {
		case !ok:
			pause = true
		case o.code == codeNone:
			r.replicas.settled(x, o.state)
		default:
			switch r.replicas.refused(x, o.code) {
			case again:
				pause = true
			case rolledBack:
				r.later(r.b.set.FetchInterval, func() { r.replicas.touch(x.tp) })
			}
		}
	}
	return pause
}
