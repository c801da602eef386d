package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"kstate/model"

	"github.com/go-zookeeper/zk"
)

// announcements gathers ISR changes that were written to ZooKeeper until it is
// time to tell the controller. Kafka: ZkAlterPartitionManager.
type announcements struct {
	changed    map[model.TopicPartition]bool
	lastChange time.Time
	lastSent   time.Time // at first, the start of the process
	scheduled  bool
}

// writeProposals writes the ISR as leaders did before AlterPartition: a plain set
// of the state znode at the version that the leader knows.
// Kafka: ReplicationUtils.updateLeaderAndIsr.
func (r *run) writeProposals() {
	for {
		var x *proposal
		r.b.c.do(func() {
			if all := r.replicas.proposals(); r.alive() && len(all) > 0 {
				x = all[0]
			} else {
				r.sending = false
			}
		})
		if x == nil {
			return
		}
		version, err := r.writeState(x)
		if r.ctx.Err() != nil {
			return
		}
		r.b.c.do(func() {
			if !r.alive() {
				return
			}
			r.b.note(Event{Kind: ISRWritten, Partition: x.tp, Err: err})
			if err != nil {
				r.replicas.refused(x, codeInvalidUpdateVersion)
				return
			}
			state := x.to
			state.PartitionEpoch = version
			r.replicas.settled(x, state)
			r.announceISR(x.tp)
		})
	}
}

// writeState returns the new version. After a lost connection the outcome is
// unknown, so the write is repeated; a conflict with equal content is our own
// write, whose reply was lost.
func (r *run) writeState(x *proposal) (int32, error) {
	path := r.path(model.TopicPartitionStatePath(x.tp))
	record := model.LeaderIsrAndControllerEpoch{LeaderAndIsr: x.to, ControllerEpoch: x.controllerEpoch}
	for {
		stat, err := r.session.conn.Set(path, model.EncodePartitionState(record), x.to.PartitionEpoch)
		switch {
		case err == nil:
			return stat.Version, nil
		case errors.Is(err, zk.ErrBadVersion):
			return r.ownWrite(path, record)
		case !transient(err) || r.ctx.Err() != nil:
			return 0, fmt.Errorf("set %s at version %d: %w", path, x.to.PartitionEpoch, err)
		}
		if !r.sleep(redialPause) {
			return 0, r.ctx.Err()
		}
	}
}

func (r *run) ownWrite(path string, want model.LeaderIsrAndControllerEpoch) (int32, error) {
	data, stat, err := r.session.conn.Get(path)
	if err != nil {
		return 0, fmt.Errorf("read %s after a version conflict: %w", path, err)
	}
	got, ok, err := model.DecodePartitionState(path, data)
	same := ok && err == nil && got.Leader == want.Leader && got.LeaderEpoch == want.LeaderEpoch &&
		got.ControllerEpoch == want.ControllerEpoch && got.Recovery == want.Recovery && slices.Equal(got.ISR, want.ISR)
	if !same {
		return 0, fmt.Errorf("set %s at version %d: it is at %d: %w", path, want.PartitionEpoch, stat.Version, zk.ErrBadVersion)
	}
	return stat.Version, nil
}

// announceISR remembers a change and has the announcement looked at. The lock is
// held.
func (r *run) announceISR(tp model.TopicPartition) {
	a, now := &r.isr, r.b.c.clock.Now()
	if a.changed == nil {
		a.changed = map[model.TopicPartition]bool{}
	}
	a.changed[tp], a.lastChange = true, now
	if !a.scheduled {
		a.scheduled = true
		r.later(r.b.set.ISRCheck, r.checkAnnouncement)
	}
}

// checkAnnouncement waits for the changes to settle, but not for ever.
// Kafka: ZkAlterPartitionManager.maybePropagateIsrChanges.
func (r *run) checkAnnouncement() {
	a, now := &r.isr, r.b.c.clock.Now()
	a.scheduled = false
	if now.Sub(a.lastChange) <= r.b.set.ISRLinger && now.Sub(a.lastSent) <= r.b.set.ISRMaxDelay {
		a.scheduled = true
		r.later(r.b.set.ISRCheck, r.checkAnnouncement)
		return
	}
	tps := make([]model.TopicPartition, 0, len(a.changed))
	for tp := range a.changed {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, model.TopicPartition.Compare)
	a.changed, a.lastSent = nil, now
	r.b.c.spawn(func() { r.create(ISRAnnounced, model.IsrChangePath(""), isrChange(tps)) })
}

// isrChange is the content of an ISR change notification.
func isrChange(tps []model.TopicPartition) any {
	type partition struct {
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
	}
	parts := []partition{}
	for _, tp := range tps {
		parts = append(parts, partition{tp.Topic, tp.Partition})
	}
	return map[string]any{"version": 1, "partitions": parts}
}

// announceDir tells the controller that a log directory has failed.
func (r *run) announceDir() {
	r.create(DirAnnounced, model.LogDirEventPath(""), map[string]any{"version": 1, "broker": r.b.id, "event": 1})
}

// create makes a sequential znode, and repeats what a lost connection swallowed:
// a second notification does no harm.
func (r *run) create(kind Kind, path string, content any) {
	data, err := json.Marshal(content)
	for err == nil {
		_, err = r.session.conn.Create(r.path(path), data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if !transient(err) {
			break
		}
		if !r.sleep(redialPause) {
			return
		}
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("create %s: %w", r.path(path), err)
	}
	r.note(Event{Kind: kind, Err: err})
}
