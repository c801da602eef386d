package broker

import (
	"fmt"
	"slices"
	"time"

	"kstate/model"
)

// What an owner of Replicas needs who has no Cluster: a simulation on virtual
// time brings its own network, clock and ZooKeeper, and the same replicas.

// HandleFrame carries out a controller's request as it comes on the wire, length
// prefix included, and returns the frame of the answer, length prefix included.
// A frame that is no LeaderAndIsr, StopReplica or UpdateMetadata of a version
// that the release takes is an error; a real broker closes the connection then.
func (r *Replicas) HandleFrame(now time.Time, release model.InterBrokerProtocol, frame []byte, wrong Wrong) ([]byte, error) {
	if len(frame) < 4 {
		return nil, fmt.Errorf("a frame of %d bytes has no length", len(frame))
	}
	h, body, err := parseHeader(frame[4:])
	if err != nil {
		return nil, err
	}
	if limit, ok := maxVersion(release, h.key); !ok || h.version < 0 || h.version > limit {
		return nil, fmt.Errorf("request key %d version %d: %w", h.key, h.version, errVersion)
	}
	req, err := parseBody(h, body)
	if err != nil {
		return nil, err
	}
	resp := r.Handle(now, req, wrong)
	if resp == nil {
		return nil, fmt.Errorf("request key %d is not a controller's", h.key)
	}
	return appendResponse(nil, resp, h.correlation), nil
}

// Mount is what a start does with the disk: repaired directories are good again.
func (d *Disk) Mount(now time.Time) { d.mount(now) }

// Repair makes a failed directory good from the next Mount on.
func (d *Disk) Repair(path string) error { return d.repair(path) }

// Touched takes the partitions where replication may have begun or ended since
// it was last asked, sorted: Replication.Review wants to see them.
func (r *Replicas) Touched() []model.TopicPartition {
	tps := r.touched
	r.touched = nil
	slices.SortFunc(tps, model.TopicPartition.Compare)
	return slices.Compact(tps)
}

// Hosted describes the hosted replicas in order.
func (r *Replicas) Hosted() []Hosted {
	var out []Hosted
	for _, tp := range r.hosted() {
		out = append(out, r.describe(r.parts[tp]))
	}
	return out
}

// Epochs are the broker epoch of the registration and the highest controller
// epoch seen since the start.
func (r *Replicas) Epochs() (broker int64, controller int32) { return r.brokerEpoch, r.controllerEpoch }

// Controller is who the metadata cache says is the controller; NoLeader: nobody.
func (r *Replicas) Controller() int32 { return r.cache.controller }

// Follows tells whether the replica fetches from that leader in that epoch.
func (r *Replicas) Follows(tp model.TopicPartition, leader, epoch int32) bool {
	return r.follows(tp, leader, epoch)
}

// Cached is one partition of a broker's metadata cache.
type Cached struct {
	model.TopicPartition
	Leader, LeaderEpoch, PartitionEpoch int32
	ISR                                 []int32
}

// Cached lists the metadata cache in order.
func (r *Replicas) Cached() []Cached {
	var out []Cached
	for _, topic := range sortedKeys(r.cache.topics) {
		for _, n := range sortedKeys(r.cache.topics[topic]) {
			p := r.cache.topics[topic][n]
			out = append(out, Cached{model.TP(topic, n), p.Leader, p.LeaderEpoch, p.ZKVersion, p.ISR})
		}
	}
	return out
}

// Proposal is a change of an ISR that its leader made up, and that the
// controller (AlterPartition) or ZooKeeper (older protocols) has to confirm. It
// is shared: do not change it.
type Proposal struct {
	model.TopicPartition
	TopicID         model.Uuid
	To              model.LeaderAndIsr
	ControllerEpoch int32
	made            *proposal
}

// Proposals lists what is to be confirmed, in order, until Settled or Refused.
func (r *Replicas) Proposals() []Proposal {
	var out []Proposal
	for _, x := range r.proposals() {
		out = append(out, Proposal{x.tp, x.topicID, x.to, x.controllerEpoch, x})
	}
	return out
}

// Settled takes the state that a proposal led to.
func (r *Replicas) Settled(x Proposal, state model.LeaderAndIsr) { r.settled(x.made, state) }

// Refused takes the error that a proposal met. Again: it is queued once more, and
// to be sent after a pause. RolledBack: Touch the partition after the followers'
// next fetch.
func (r *Replicas) Refused(x Proposal, code model.KafkaError) (sendAgain, rolled bool) {
	v := r.refused(x.made, int16(code))
	return v == again, v == rolledBack
}

// Touch has Touched list a partition.
func (r *Replicas) Touch(tp model.TopicPartition) { r.touch(tp) }

// Replication lets the followers of running brokers catch up, and leaders change
// their ISR. Its functions are called in the caller's goroutine.
type Replication struct {
	Now     func() time.Time
	Fetches func(id int32, tp model.TopicPartition, leader, epoch int32) bool // does that broker follow?
	CatchUp func(id int32) time.Duration                                      // how long it takes from nothing
}

// Lags holds until when a leader means to look at a partition's laggards again.
// The zero value is ready.
type Lags map[model.TopicPartition]time.Time

// Review looks at a partition with the eyes of one broker that may lead it:
// followers that have begun or ended to fetch, and the ISR that follows. later
// runs something of that broker's after a time, if its process still lives.
func (x *Replication) Review(l *Replicas, lags Lags, lag time.Duration, tp model.TopicPartition, later func(time.Duration, func())) {
	p := l.leads(tp)
	if p == nil {
		return
	}
	now := x.Now()
	for _, id := range p.replicas {
		on := x.Fetches(id, tp, l.id, p.leaderEpoch)
		session, in := l.fetches(now, tp, id, on, func() time.Duration { return x.CatchUp(id) })
		if in > 0 {
			later(in, func() { l.caughtUp(x.Now(), tp, id, session) })
		}
	}
	l.expand(p)
	x.checkLag(l, lags, lag, tp, later)
}

// checkLag takes laggards out of the ISR now or when they are due.
func (x *Replication) checkLag(l *Replicas, lags Lags, lag time.Duration, tp model.TopicPartition, later func(time.Duration, func())) {
	next := l.shrink(x.Now(), tp, lag)
	if at, ok := lags[tp]; next.IsZero() || ok && !at.After(next) {
		return
	}
	lags[tp] = next
	later(next.Sub(x.Now()), func() {
		delete(lags, tp)
		x.checkLag(l, lags, lag, tp, later)
	})
}
