package broker

import (
	"maps"
	"slices"
	"time"

	"kstate/model"
)

// follower is what a leader knows of one of its followers.
type follower struct {
	fetching     bool
	session      int // counts the times that fetching began
	caughtUp     bool
	lastCaughtUp time.Time
	since        time.Time     // fetching since
	behind       time.Duration // fetching still needed; unknownLag: not known yet
}

const unknownLag time.Duration = -1

// proposal is a change of the ISR that the leader made up and somebody has to
// confirm: the controller, or ZooKeeper itself.
// Kafka: PendingPartitionChange, AlterPartitionItem.
type proposal struct {
	tp              model.TopicPartition
	topicID         model.Uuid
	to              model.LeaderAndIsr
	controllerEpoch int32
}

// resetFollowers begins a new leadership: members of the ISR count as caught up
// now, what the others had fetched from this leader is not lost.
// Kafka: Replica.resetReplicaState.
func (p *partition) resetFollowers(me int32, now time.Time, wasLeader bool) {
	before := p.followers
	p.followers = map[int32]*follower{}
	for _, id := range p.replicas {
		if id == me {
			continue
		}
		f := before[id]
		if f == nil || !wasLeader {
			f = &follower{behind: unknownLag}
		}
		f.pause(now)
		if slices.Contains(p.isr, id) {
			f.lastCaughtUp, f.behind = now, 0
		}
		p.followers[id] = f
	}
}

func (f *follower) pause(now time.Time) {
	if !f.fetching {
		return
	}
	f.fetching = false
	if f.caughtUp {
		f.caughtUp, f.lastCaughtUp, f.behind = false, now, unknownLag
		return
	}
	f.behind = max(f.behind-now.Sub(f.since), 1)
}

// leads returns the partition if this broker leads it.
func (r *Replicas) leads(tp model.TopicPartition) *partition {
	if p := r.parts[tp]; p != nil && p.leader == r.id {
		return p
	}
	return nil
}

// follows tells whether the replica fetches from that leader in that epoch.
func (r *Replicas) follows(tp model.TopicPartition, leader, epoch int32) bool {
	p := r.parts[tp]
	return p != nil && p.fetching && p.leader == leader && p.leaderEpoch == epoch
}

// fetches tells the leader of tp that a follower fetches from it, or no longer.
// When the follower has to catch up first, the owner calls caughtUp with the
// returned session after that time. delay draws how long it takes from nothing.
func (r *Replicas) fetches(now time.Time, tp model.TopicPartition, id int32, on bool, delay func() time.Duration) (session int, in time.Duration) {
	p := r.leads(tp)
	if p == nil || p.followers[id] == nil || p.followers[id].fetching == on {
		return 0, 0
	}
	f := p.followers[id]
	if !on {
		f.pause(now)
		return 0, 0
	}
	f.fetching, f.since = true, now
	f.session++
	switch {
	case slices.Contains(p.isr, id):
		f.behind = 0
	case f.behind == unknownLag:
		f.behind = delay()
	}
	if f.behind <= 0 {
		r.caughtUp(now, tp, id, f.session)
		return 0, 0
	}
	return f.session, f.behind
}

// caughtUp: the follower has everything, if that session of fetching is still on.
func (r *Replicas) caughtUp(now time.Time, tp model.TopicPartition, id int32, session int) {
	p := r.leads(tp)
	if p == nil || p.followers[id] == nil {
		return
	}
	if f := p.followers[id]; f.fetching && f.session == session {
		f.caughtUp, f.lastCaughtUp = true, now
		r.expand(p)
	}
}

// expand proposes the first follower that is caught up, not in the ISR and alive
// by the metadata cache. One change at a time.
// Kafka: Partition.maybeExpandIsr.
func (r *Replicas) expand(p *partition) {
	if p.pending != nil {
		return
	}
	for _, id := range p.replicas {
		if f := p.followers[id]; f != nil && f.caughtUp && !slices.Contains(p.isr, id) && r.cache.alive(id) {
			r.propose(p, append(slices.Clone(p.isr), id))
			return
		}
	}
}

// shrink proposes the ISR without the members that have lagged for the given
// time. It returns when the next one is due; zero when nobody lags.
// Kafka: Partition.maybeShrinkIsr.
func (r *Replicas) shrink(now time.Time, tp model.TopicPartition, lag time.Duration) (next time.Time) {
	p := r.leads(tp)
	if p == nil || p.pending != nil {
		return time.Time{}
	}
	var stay []int32
	for _, id := range p.isr {
		f := p.followers[id]
		switch {
		case id == r.id, f != nil && f.caughtUp:
			stay = append(stay, id)
		case f == nil || !now.Before(f.lastCaughtUp.Add(lag)):
			// out
		default:
			stay = append(stay, id)
			if due := f.lastCaughtUp.Add(lag); next.IsZero() || due.Before(next) {
				next = due
			}
		}
	}
	if len(stay) < len(p.isr) {
		r.propose(p, stay)
		return time.Time{}
	}
	return next
}

// propose makes the change pending and queues it. While an earlier change of the
// same partition is still on its way (a LeaderAndIsr has overtaken it), the new
// one is not attempted. Kafka: AlterPartitionManager.submit.
func (r *Replicas) propose(p *partition, isr []int32) {
	if r.unsent[p.tp] != nil {
		return
	}
	p.pending = &proposal{tp: p.tp, topicID: r.topicID(p), controllerEpoch: p.controllerEpoch,
		to: model.LeaderAndIsr{Leader: r.id, LeaderEpoch: p.leaderEpoch, ISR: isr, Recovery: p.recovery, PartitionEpoch: p.partitionEpoch}}
	r.unsent[p.tp] = p.pending
}

// proposals lists what is to be confirmed, in order.
func (r *Replicas) proposals() []*proposal {
	var out []*proposal
	for _, tp := range slices.SortedFunc(maps.Keys(r.unsent), model.TopicPartition.Compare) {
		out = append(out, r.unsent[tp])
	}
	return out
}

// settled takes the confirmed state. It counts only if the partition still waits
// for this proposal, and is not older than what it knows.
// Kafka: Partition.handleAlterPartitionUpdate.
func (r *Replicas) settled(x *proposal, state model.LeaderAndIsr) {
	p := r.decided(x)
	if p == nil || state.LeaderEpoch != p.leaderEpoch || state.PartitionEpoch < p.partitionEpoch {
		return
	}
	p.isr, p.partitionEpoch, p.recovery, p.pending = slices.Clone(state.ISR), state.PartitionEpoch, state.Recovery, nil
	r.touch(p.tp)
}

// verdict is what a refusal means for the partition.
type verdict uint8

const (
	dropped    verdict = iota // no longer of interest
	rolledBack                // the ISR is what it was; the next fetch proposes again
	stuck                     // pending until the next LeaderAndIsr
	again                     // sent again
)

// refused takes the error that a proposal met.
// Kafka: Partition.handleAlterPartitionError.
func (r *Replicas) refused(x *proposal, code int16) verdict {
	p := r.decided(x)
	if p == nil {
		return dropped
	}
	switch code {
	case codeOperationNotAttempted, codeIneligibleReplica:
		p.pending = nil
		return rolledBack
	case codeUnknownTopicOrPartition, codeUnknownTopicID, codeFencedLeaderEpoch, codeInvalidUpdateVersion, codeInvalidRequest, codeNewLeaderElected:
		return stuck
	}
	r.unsent[x.tp] = x
	return again
}

// decided takes the proposal off the queue and returns its partition if that
// still waits for it; if not, what the proposal has held up gets its turn.
func (r *Replicas) decided(x *proposal) *partition {
	if r.unsent[x.tp] == x {
		delete(r.unsent, x.tp)
	}
	if p := r.parts[x.tp]; p != nil && p.pending == x {
		return p
	}
	r.touch(x.tp)
	return nil
}
