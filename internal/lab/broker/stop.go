package broker

import (
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// stop is one partition of a StopReplica request.
type stop struct {
	tp     model.TopicPartition
	epoch  int32 // NoEpoch below version 3
	delete bool
}

func stops(req *kmsg.StopReplicaRequest) []stop {
	var out []stop
	for _, t := range req.Topics {
		switch {
		case req.Version == 0:
			out = append(out, stop{model.TP(t.Topic, t.Partition), model.NoEpoch, req.DeletePartitions})
		case req.Version < 3:
			for _, p := range t.Partitions {
				out = append(out, stop{model.TP(t.Topic, p), model.NoEpoch, req.DeletePartitions})
			}
		default:
			for _, p := range t.PartitionStates {
				out = append(out, stop{model.TP(t.Topic, p.Partition), p.LeaderEpoch, p.Delete})
			}
		}
	}
	return out
}

// stopReplica ends fetching, and with delete the replica and its log. The answer
// to a stale request names no partition.
// Kafka: KafkaApis.handleStopReplicaRequest, ReplicaManager.stopReplicas.
func (r *Replicas) stopReplica(now time.Time, req *kmsg.StopReplicaRequest, wrong Wrong) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.StopReplicaResponse)
	if resp.ErrorCode = r.heed(req.BrokerEpoch, req.ControllerEpoch); resp.ErrorCode != codeNone {
		return resp
	}
	for _, s := range stops(req) {
		p := kmsg.NewStopReplicaResponsePartition()
		p.Topic, p.Partition = s.tp.Topic, s.tp.Partition
		if p.ErrorCode = wrong.code(s.tp); p.ErrorCode == codeNone {
			p.ErrorCode = r.stopOne(now, s)
		}
		resp.Partitions = append(resp.Partitions, p)
	}
	return resp
}

// stopOne: a replica that is not hosted may have left files behind (deleted
// while the broker was down); they go too.
func (r *Replicas) stopOne(now time.Time, s stop) int16 {
	p := r.parts[s.tp]
	if p != nil {
		fenced := s.epoch != model.EpochDuringDelete && s.epoch != model.NoEpoch && s.epoch < p.leaderEpoch
		switch {
		case p.offline:
			return codeKafkaStorageError
		case fenced:
			return codeFencedLeaderEpoch
		}
		p.fetching = false
		r.touch(s.tp)
	}
	if s.delete {
		delete(r.parts, s.tp)
		if due := now.Add(r.deleteDelay); r.disk.remove(s.tp, due) {
			r.purgeDue = append(r.purgeDue, due)
		}
	}
	return codeNone
}
