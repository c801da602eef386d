package broker

import (
	"maps"
	"slices"
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Replicas is the state of one running broker: the replicas that it hosts and
// its metadata cache. It is plain data and pure code (no clock, socket, session
// or goroutine), made anew at each start around the Disk that stays.
// It has one user at a time.
// Kafka: kafka.server.ReplicaManager, kafka.cluster.Partition.
type Replicas struct {
	id              int32
	disk            *Disk
	cache           *metadata
	parts           map[model.TopicPartition]*partition
	brokerEpoch     int64
	controllerEpoch int32 // highest seen since the start
	shuttingDown    bool  // no more fetching
	deleteDelay     time.Duration

	// What the owner has to look after since it last asked.
	touched  []model.TopicPartition // replication may have started or ended here
	unsent   map[model.TopicPartition]*proposal
	purgeDue []time.Time
}

// partition is one replica. Kafka: HostedPartition, Partition.
type partition struct {
	tp              model.TopicPartition
	offline         bool // its directory failed: nothing else counts
	log             *log // nil until a LeaderAndIsr applied
	topicID         model.Uuid
	leader          int32
	leaderEpoch     int32
	controllerEpoch int32 // of the controller that made the leader
	partitionEpoch  int32
	recovery        model.RecoveryState
	replicas        []int32
	adding          []int32
	removing        []int32
	fetching        bool // as a follower

	isr       []int32   // as the leader: committed
	pending   *proposal // as the leader: a change that is not decided yet
	followers map[int32]*follower
}

// NewReplicas is a broker that has just started.
func NewReplicas(id int32, disk *Disk, fileDeleteDelay time.Duration) *Replicas {
	return &Replicas{id: id, disk: disk, cache: newMetadata(), parts: map[model.TopicPartition]*partition{},
		brokerEpoch: unknownBrokerEpoch, unsent: map[model.TopicPartition]*proposal{}, deleteDelay: fileDeleteDelay}
}

// Registered sets the broker epoch of the current registration.
func (r *Replicas) Registered(epoch int64) { r.brokerEpoch = epoch }

// Wrong makes a broker answer a partition with an error instead of doing what
// is asked; the code is 0 where it behaves. Nil means a broker that behaves.
type Wrong func(model.TopicPartition) int16

func (w Wrong) code(tp model.TopicPartition) int16 {
	if w == nil {
		return codeNone
	}
	return w(tp)
}

// Handle carries out a request of the controller (LeaderAndIsr, StopReplica,
// UpdateMetadata) and returns the answer; nil for another request.
func (r *Replicas) Handle(now time.Time, req kmsg.Request, wrong Wrong) kmsg.Response {
	switch req := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		return r.leaderAndISR(now, req, wrong)
	case *kmsg.StopReplicaRequest:
		return r.stopReplica(now, req, wrong)
	case *kmsg.UpdateMetadataRequest:
		return r.updateMetadata(req)
	}
	return nil
}

// heed takes the controller epoch of a request, or gives the code by which it is
// refused: it is for an earlier registration of this broker, or of an earlier
// controller. Kafka: ZkBrokerEpochManager.isBrokerEpochStale.
func (r *Replicas) heed(brokerEpoch int64, controllerEpoch int32) int16 {
	switch {
	case brokerEpoch != unknownBrokerEpoch && brokerEpoch < r.brokerEpoch:
		return codeStaleBrokerEpoch
	case controllerEpoch < r.controllerEpoch:
		return codeStaleControllerEpoch
	}
	r.controllerEpoch = controllerEpoch
	return codeNone
}

// leadership is one partition of a LeaderAndIsr request.
type leadership struct {
	tp    model.TopicPartition
	id    model.Uuid
	state *kmsg.LeaderAndISRRequestTopicPartition
}

func leaderships(req *kmsg.LeaderAndISRRequest) []leadership {
	var out []leadership
	for i := range req.PartitionStates {
		s := &req.PartitionStates[i]
		out = append(out, leadership{tp: model.TP(s.Topic, s.Partition), state: s})
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		for j := range t.PartitionStates {
			s := &t.PartitionStates[j]
			out = append(out, leadership{tp: model.TP(t.Topic, s.Partition), id: t.TopicID, state: s})
		}
	}
	return out
}

// leaderAndISR checks all partitions first, then makes leaders, then followers.
// Kafka: ReplicaManager.becomeLeaderOrFollower.
func (r *Replicas) leaderAndISR(now time.Time, req *kmsg.LeaderAndISRRequest, wrong Wrong) kmsg.Response {
	states := leaderships(req)
	codes := make([]int16, len(states))
	if code := r.heed(req.BrokerEpoch, req.ControllerEpoch); code != codeNone {
		return leaderAndISRAnswer(req, code, states, nil)
	}
	var leaders, followers []int
	for i, s := range states {
		if codes[i] = wrong.code(s.tp); codes[i] != codeNone {
			continue
		}
		var apply bool
		codes[i], apply = r.admit(s, req.IsKRaftController)
		switch {
		case !apply:
		case s.state.Leader == r.id:
			leaders = append(leaders, i)
		default:
			followers = append(followers, i)
		}
	}
	for _, i := range leaders {
		codes[i] = r.makeLeader(now, states[i])
	}
	for _, i := range followers {
		codes[i] = r.makeFollower(states[i])
	}
	return leaderAndISRAnswer(req, codeNone, states, codes)
}

// admit is the check of one partition; an unhosted one is hosted from here on,
// whatever the outcome.
func (r *Replicas) admit(s leadership, kraft bool) (code int16, apply bool) {
	p := r.parts[s.tp]
	if p == nil {
		p = newPartition(s.tp)
		r.parts[s.tp] = p
	}
	if p.offline {
		return codeKafkaStorageError, false
	}
	known := r.topicID(p)
	epoch := s.state.LeaderEpoch
	switch {
	case !s.id.IsZero() && !known.IsZero() && s.id != known:
		return codeInconsistentTopicID, false
	case epoch > p.leaderEpoch || kraft && epoch == p.leaderEpoch:
		if !slices.Contains(s.state.Replicas, r.id) {
			return codeUnknownTopicOrPartition, false
		}
		return codeNone, true
	case epoch < p.leaderEpoch:
		return codeStaleControllerEpoch, false
	case !s.id.IsZero() && known.IsZero():
		if p.log == nil {
			return codeUnknownServerError, false
		}
		p.log.topicID, p.topicID = s.id, s.id
		return codeNone, false
	case s.id.IsZero() && !known.IsZero() && s.state.Leader != r.id:
		return codeNone, false
	}
	return codeStaleControllerEpoch, false
}

func newPartition(tp model.TopicPartition) *partition {
	return &partition{tp: tp, leader: model.NoLeader, leaderEpoch: initialLeaderEpoch, partitionEpoch: initialPartitionEpoch}
}

// topicID is what the replica knows, else what its log on disk says.
func (r *Replicas) topicID(p *partition) model.Uuid {
	if p.topicID.IsZero() {
		if l := r.logOf(p); l != nil {
			p.topicID = l.topicID
		}
	}
	return p.topicID
}

func (r *Replicas) logOf(p *partition) *log {
	if p.log != nil {
		return p.log
	}
	return r.disk.find(p.tp)
}

// makeLeader applies a state that names this broker. A partition epoch lower
// than the known one is skipped with success: it is older than an ISR change
// that this leader got confirmed. Kafka: Partition.makeLeader.
func (r *Replicas) makeLeader(now time.Time, s leadership) int16 {
	p := r.parts[s.tp]
	p.fetching = false
	r.touch(p.tp)
	if s.state.ZKVersion < p.partitionEpoch {
		return codeNone
	}
	wasLeader := p.leader == r.id
	r.assign(p, s)
	p.isr, p.pending, p.recovery = slices.Clone(s.state.ISR), nil, model.Recovered
	if !r.openLog(p, s) {
		return codeKafkaStorageError
	}
	p.resetFollowers(r.id, now, wasLeader)
	p.leader, p.leaderEpoch, p.partitionEpoch = r.id, s.state.LeaderEpoch, s.state.ZKVersion
	return codeNone
}

// makeFollower applies a state that names another leader. It is skipped, with
// success, unless the metadata cache knows the leader as alive; only the log is
// made then. Kafka: ReplicaManager.makeFollowers, Partition.makeFollower.
func (r *Replicas) makeFollower(s leadership) int16 {
	p := r.parts[s.tp]
	if !r.cache.alive(s.state.Leader) {
		if !r.openLog(p, s) {
			return codeKafkaStorageError
		}
		return codeNone
	}
	if s.state.ZKVersion < p.partitionEpoch {
		return codeNone
	}
	r.touch(p.tp)
	newEpoch := s.state.LeaderEpoch > p.leaderEpoch
	r.assign(p, s)
	p.leader, p.leaderEpoch, p.partitionEpoch = s.state.Leader, s.state.LeaderEpoch, s.state.ZKVersion
	p.isr, p.pending, p.followers = nil, nil, nil
	p.recovery = model.RecoveryState(s.state.LeaderRecoveryState)
	if !r.openLog(p, s) {
		return codeKafkaStorageError
	}
	if newEpoch {
		p.fetching = !r.shuttingDown
	}
	return codeNone
}

func (r *Replicas) assign(p *partition, s leadership) {
	p.controllerEpoch = s.state.ControllerEpoch
	p.replicas = slices.Clone(s.state.Replicas)
	p.adding, p.removing = slices.Clone(s.state.AddingReplicas), slices.Clone(s.state.RemovingReplicas)
}

// openLog finds or makes the log; false marks the replica offline. A log that
// is missing on a broker with a failed directory may be there, so only a
// replica that is new may be made anew. Kafka: LogManager.getOrCreateLog.
func (r *Replicas) openLog(p *partition, s leadership) bool {
	l := r.logOf(p)
	if l == nil && (s.state.IsNew || !r.disk.anyFailed()) {
		l = r.disk.create(p.tp, s.id)
	}
	if l == nil {
		r.goOffline(p)
		return false
	}
	if l.topicID.IsZero() {
		l.topicID = s.id
	}
	p.log, p.topicID = l, l.topicID
	return true
}

// goOffline forgets everything about the replica but its name.
// Kafka: ReplicaManager.markPartitionOffline.
func (r *Replicas) goOffline(p *partition) {
	r.parts[p.tp] = &partition{tp: p.tp, offline: true, leader: model.NoLeader, leaderEpoch: initialLeaderEpoch, replicas: p.replicas}
	r.touch(p.tp)
}

// FailDir takes a log directory away: its replicas are offline until the next
// start. It returns false for a directory that was failed before, and fatal when
// it was the last good one, which a broker does not survive.
// Kafka: ReplicaManager.handleLogDirFailure, LogManager.handleLogDirFailure.
func (r *Replicas) FailDir(path string) (failed, fatal bool) {
	for _, dir := range r.disk.dirs {
		if dir.path != path || dir.failed {
			continue
		}
		for _, tp := range r.hosted() {
			if p := r.parts[tp]; p.log != nil && p.log.dir == dir {
				r.goOffline(p)
			}
		}
		dir.failed = true
		return true, r.disk.allFailed()
	}
	return false, false
}

// ShutDown stops fetching for what becomes a follower from now on.
func (r *Replicas) ShutDown() { r.shuttingDown = true }

func (r *Replicas) touch(tp model.TopicPartition) { r.touched = append(r.touched, tp) }

// hosted lists the hosted partitions in order.
func (r *Replicas) hosted() []model.TopicPartition {
	return slices.SortedFunc(maps.Keys(r.parts), model.TopicPartition.Compare)
}

// leaderAndISRAnswer answers each partition with its code, or all with the code
// of the request. From version 5 on topics are named by id.
func leaderAndISRAnswer(req *kmsg.LeaderAndISRRequest, code int16, states []leadership, codes []int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.LeaderAndISRResponse)
	resp.ErrorCode = code
	byTopic := map[string]int{}
	for i, s := range states {
		p := kmsg.NewLeaderAndISRResponseTopicPartition()
		p.Topic, p.Partition, p.ErrorCode = s.tp.Topic, s.tp.Partition, code
		if codes != nil {
			p.ErrorCode = codes[i]
		}
		if req.Version < 5 {
			resp.Partitions = append(resp.Partitions, p)
			continue
		}
		at, ok := byTopic[s.tp.Topic]
		if !ok {
			at = len(resp.Topics)
			byTopic[s.tp.Topic] = at
			t := kmsg.NewLeaderAndISRResponseTopic()
			t.TopicID = s.id
			resp.Topics = append(resp.Topics, t)
		}
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, p)
	}
	return resp
}
