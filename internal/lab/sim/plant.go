package sim

import (
	"slices"

	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// Plant is a bug that is planted at the seam between the engine and its
// environment, to show that the simulation finds it. The engine itself is not
// touched: what it does is changed on its way.
type Plant string

const (
	NoPlant               Plant = ""
	FenceSkipped          Plant = "fence-skipped"           // writes are done whatever the controller epoch
	DeadMemberKept        Plant = "dead-isr-member-kept"    // an ISR is written with the members that had to leave it
	MarkerFirst           Plant = "marker-before-topic"     // the delete marker goes before the topic
	StartedWithoutOffline Plant = "started-without-offline" // replicas are told to delete that were not told to stop
	BadVersionIgnored     Plant = "badversion-ignored"      // a write that lost a race is taken for done
)

// Plants are all of them.
var Plants = []Plant{FenceSkipped, DeadMemberKept, MarkerFirst, StartedWithoutOffline, BadVersionIgnored}

// alter changes a fenced write.
func (p Plant) alter(f *flight, op *model.Op) *model.Op {
	ref := model.ParsePath(op.Path)
	switch {
	case p == DeadMemberKept && ref.Kind == model.PartitionStateZnode && op.Kind == model.OpSet:
		old, _, ok := f.x.s.state(ref.TopicPartition())
		l, present, err := model.DecodePartitionState(op.Path, op.Data)
		if !ok || !present || err != nil || l.LeaderEpoch == old.LeaderEpoch {
			return op
		}
		for _, b := range old.ISR {
			if !slices.Contains(l.ISR, b) {
				l.ISR = append(slices.Clone(l.ISR), b)
			}
		}
		changed := *op
		changed.Data = model.EncodePartitionState(l)
		return &changed
	case p == MarkerFirst && f.call.Purpose == "delete" && ref.Topic != "":
		path := model.DeleteTopicPath(ref.Topic)
		f.x.s.store.Multi(f.x.id, []zkserver.Op{zkserver.Check(model.ControllerEpochPath, f.call.Epoch), zkserver.Delete(path, -1)})
	}
	return op
}

// answer changes what a write is answered with.
func (p Plant) answer(s *Sim, op *model.Op, r model.OpResult) model.OpResult {
	if p != BadVersionIgnored || op.Kind != model.OpSet || r.Code != model.CodeBadVersion {
		return r
	}
	stat, _ := s.store.Exists(op.Path)
	r = model.OpResult{Stat: standin.Stat(stat)}
	r.Stat.Version = op.Version + 1
	return r
}

// request changes what is sent to a broker; nil: nothing is.
func (p Plant) request(r model.ControlRequest) model.ControlRequest {
	x, ok := r.(*model.StopReplicaRequest)
	if p != StartedWithoutOffline || !ok {
		return r
	}
	changed := *x
	changed.Entries = nil
	for _, e := range x.Entries {
		if e.Delete || e.LeaderEpoch != model.EpochDuringDelete {
			changed.Entries = append(changed.Entries, e)
		}
	}
	if len(changed.Entries) == 0 {
		return nil
	}
	return &changed
}
