package engine

import (
	"slices"

	"kstate/model"
)

// between checks the memory of an active controller between two events.
func (i *Invariants) between(v *model.View) {
	offline, imbalanced := 0, 0
	for t := range v.Entries() {
		for n, p := range t.Entries() {
			tp := model.TP(t.Name, n)
			if p.State == model.OfflinePartition && !v.TopicsWithDeletionStarted.Has(t.Name) {
				offline++
			}
			if p.Leadership == nil || p.Assignment == nil {
				continue
			}
			if !v.IsQueued(t.Name) && len(p.Assignment.Replicas) > 0 && !balanced(p) {
				imbalanced++
			}
			i.znode(v, tp, p)
		}
		if t.Known && !i.haunted[t.Name] {
			i.topic(v, t)
		}
	}
	if offline != v.OfflinePartitionCount && i.fault == "" {
		i.breaks(26, "%d partitions are offline, the counter says %d", offline, v.OfflinePartitionCount)
	}
	if imbalanced != v.PreferredReplicaImbalanceCount {
		i.breaks(27, "%d partitions are not led by their preferred replica, the counter says %d", imbalanced, v.PreferredReplicaImbalanceCount)
	}
	i.deletion(v)
	if i.fault != "" {
		return
	}
	for _, b := range []*batch{i.e.psm, i.e.rsm, i.e.own} {
		if !b.empty() {
			i.breaks(13, "the batch of %s is not empty", b.machine)
		}
	}
	i.failed(v)
}

// balanced: the first replica leads; while it is still being added, it is not
// yet in the ISR.
func balanced(p *model.Partition) bool {
	head := p.Assignment.Replicas[0]
	if slices.Contains(p.Assignment.Adding, head) {
		return !slices.Contains(p.Leadership.ISR, head)
	}
	return p.Leadership.Leader == head
}

// topic checks a topic that is not what an outside deletion left behind.
func (i *Invariants) topic(v *model.View, t *model.Topic) {
	queued := v.IsQueued(t.Name)
	for n, p := range t.Partitions() {
		tp := model.TP(t.Name, n)
		if p.State == model.OnlinePartition && p.Leadership == nil {
			i.breaks(2, "%s is online without a leadership record", tp)
		}
		for _, r := range p.Replicas {
			if (r.State == model.ReplicaDeletionStarted || r.State == model.ReplicaDeletionSuccessful) && !queued {
				i.breaks(21, "replica %d of %s is in %s, its topic is not queued", r.Broker, tp, r.State)
			}
		}
		if i.fault != "" {
			continue
		}
		if p.State == model.NewPartition {
			i.fresh(v, tp, p)
		}
		if p.State != model.NonExistentPartition && v.TopicsWithDeletionStarted.Has(t.Name) {
			i.breaks(20, "%s is in %s, the deletion of its topic has started", tp, p.State)
		}
		for _, b := range p.Assignment.Replicas {
			// A reassignment that fails for want of a state znode leaves its added replicas without a state (8.73).
			if r, _ := p.Replica(b); r.State == model.NoReplicaState && !slices.Contains(p.Assignment.Adding, b) {
				i.breaks(25, "replica %d of %s has no state", b, tp)
			}
		}
		// A reassignment that was ended may have left its partition without a leader (8.72).
		if v.Epoch != i.before.Epoch && !queued && !p.Reassigning && !i.moving[tp] {
			online := p.Leadership != nil && v.IsReplicaOnline(p.Leadership.Leader, tp, false)
			if online != (p.State == model.OnlinePartition) {
				i.breaks(32, "%s is in %s after the controller started, its leader is %d", tp, p.State, p.Leader())
			}
		}
	}
}

func (i *Invariants) fresh(v *model.View, tp model.TopicPartition, p *model.Partition) {
	path := model.TopicPartitionStatePath(tp)
	if p.Leadership != nil {
		i.breaks(3, "%s is new and has a leadership record", tp)
	} else if data, _, present := i.read(path); present {
		if l, ok, err := model.DecodePartitionState(path, data); ok && err == nil && l.ControllerEpoch == v.Epoch {
			i.breaks(3, "%s is new and has a znode of this controller: %s", tp, l)
		}
	}
}

// znode checks a state znode against the past and against the memory.
func (i *Invariants) znode(v *model.View, tp model.TopicPartition, p *model.Partition) {
	path := model.TopicPartitionStatePath(tp)
	data, stat, present := i.read(path)
	if !present {
		return
	}
	l, ok, err := model.DecodePartitionState(path, data)
	if !ok || err != nil {
		return
	}
	floor, known := i.floors[tp]
	if known && floor.czxid == stat.Czxid && (l.LeaderEpoch < floor.record.LeaderEpoch || l.ControllerEpoch < floor.record.ControllerEpoch) {
		i.breaks(5, "%s: %s after %s", path, l, floor.record)
	}
	i.floors[tp] = seen{l, stat.Czxid}
	if epoch, _, there := i.read(model.ControllerEpochPath); there {
		if now, err := model.DecodeControllerEpoch(model.ControllerEpochPath, epoch); err == nil && l.ControllerEpoch > now {
			i.breaks(5, "%s: %s, the controller epoch is %d", path, l, now)
		}
	}
	if last := i.last[tp]; last.czxid == stat.Czxid && last.record.PartitionEpoch >= p.Leadership.PartitionEpoch && p.Leadership.PartitionEpoch > stat.Version {
		i.breaks(28, "%s has version %d, memory says %d", path, stat.Version, p.Leadership.PartitionEpoch)
	}
}

// deletion checks the deletion sets.
func (i *Invariants) deletion(v *model.View) {
	for t := range v.TopicsWithDeletionStarted.All() {
		if !v.IsQueued(t) {
			i.breaks(19, "the deletion of %s has started, it is not queued", t)
		}
	}
	if i.e.cfg.DeleteTopicEnable {
		return
	}
	if n := v.TopicsToBeDeleted.Len(); n > 0 {
		i.breaks(29, "%d topics are queued, deletion is disabled", n)
	}
	for _, t := range i.markers {
		path := model.DeleteTopicPath(t)
		if _, _, present := i.read(path); present && !i.told[path] && i.fault == "" {
			i.breaks(29, "the marker of %s is still there, deletion is disabled", t)
		}
	}
}

// failed checks the replicas whose broker or log directory went away in this event.
func (i *Invariants) failed(v *model.View) {
	if v.Epoch != i.before.Epoch {
		return
	}
	for t := range i.before.Topics() {
		if i.before.IsQueued(t.Name) || v.IsQueued(t.Name) || !v.KnowsTopic(t.Name) || i.haunted[t.Name] {
			continue
		}
		for n, p := range t.Partitions() {
			tp := model.TP(t.Name, n)
			for _, b := range p.Assignment.Replicas {
				was := i.before.IsLiveOrShuttingDown(b) && !i.before.OnOfflineDir(b, tp)
				is := v.IsLiveOrShuttingDown(b) && !v.OnOfflineDir(b, tp)
				r := model.Replica{TopicPartition: tp, Broker: b}
				before := i.before.ReplicaState(r)
				existed := before != model.NoReplicaState && before != model.NonExistentReplica
				if was && !is && existed && slices.Contains(v.Assignment(tp).Replicas, b) && v.ReplicaState(r) != model.OfflineReplica {
					i.breaks(33, "replica %s is in %s, its broker or log directory is gone", r, v.ReplicaState(r))
				}
			}
		}
	}
}
