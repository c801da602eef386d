package broker

import (
	"slices"
	"testing"
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const latest = model.LatestIBP

var (
	epoch0 = time.Unix(1700000000, 0)
	t0     = model.TP("t", 0)
	idA    = model.Uuid{1}
	idB    = model.Uuid{2}
)

// state is one partition of a LeaderAndIsr; the zero values of a test are those
// of a first leadership: replicas 1,2,3, leader 1, epoch 0.
type state struct {
	tp             model.TopicPartition
	id             model.Uuid
	leader         int32
	epoch          int32
	partitionEpoch int32
	isr, replicas  []int32
	isNew          bool
	recovering     bool
}

type request struct {
	version         int16
	controllerEpoch int32
	brokerEpoch     int64
}

func (r request) leaderAndISR(states ...state) *kmsg.LeaderAndISRRequest {
	req := kmsg.NewPtrLeaderAndISRRequest()
	req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = r.version, 9, r.controllerEpoch, r.brokerEpoch
	for _, s := range states {
		p := kmsg.NewLeaderAndISRRequestTopicPartition()
		if s.isr == nil {
			s.isr = []int32{1, 2, 3}
		}
		if s.replicas == nil {
			s.replicas = []int32{1, 2, 3}
		}
		p.Topic, p.Partition, p.Leader, p.LeaderEpoch, p.ZKVersion = s.tp.Topic, s.tp.Partition, s.leader, s.epoch, s.partitionEpoch
		p.ISR, p.Replicas, p.IsNew, p.ControllerEpoch = s.isr, s.replicas, s.isNew, r.controllerEpoch
		if s.recovering {
			p.LeaderRecoveryState = 1
		}
		if r.version < 2 {
			req.PartitionStates = append(req.PartitionStates, p)
			continue
		}
		i := slices.IndexFunc(req.TopicStates, func(t kmsg.LeaderAndISRRequestTopicState) bool { return t.Topic == s.tp.Topic })
		if i < 0 {
			i = len(req.TopicStates)
			req.TopicStates = append(req.TopicStates, kmsg.LeaderAndISRRequestTopicState{Topic: s.tp.Topic, TopicID: s.id})
		}
		req.TopicStates[i].PartitionStates = append(req.TopicStates[i].PartitionStates, p)
	}
	return req
}

func (r request) stopReplica(stops ...stop) *kmsg.StopReplicaRequest {
	req := kmsg.NewPtrStopReplicaRequest()
	req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = r.version, 9, r.controllerEpoch, r.brokerEpoch
	for _, s := range stops {
		t := kmsg.NewStopReplicaRequestTopic()
		t.Topic = s.tp.Topic
		switch {
		case r.version == 0:
			t.Partition, req.DeletePartitions = s.tp.Partition, s.delete
		case r.version < 3:
			t.Partitions, req.DeletePartitions = []int32{s.tp.Partition}, s.delete
		default:
			t.PartitionStates = []kmsg.StopReplicaRequestTopicPartitionState{{Partition: s.tp.Partition, LeaderEpoch: s.epoch, Delete: s.delete}}
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// cached is one partition of an UpdateMetadata.
type cached struct {
	tp     model.TopicPartition
	id     model.Uuid
	leader int32
}

// updateMetadata makes the given brokers live, at host h<id>.
func (r request) updateMetadata(controller int32, live []int32, parts ...cached) *kmsg.UpdateMetadataRequest {
	req := kmsg.NewPtrUpdateMetadataRequest()
	req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = r.version, controller, r.controllerEpoch, r.brokerEpoch
	for _, id := range live {
		b := kmsg.NewUpdateMetadataRequestLiveBroker()
		b.ID, b.Host, b.Port = id, "h", 9000+id
		e := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
		e.Host, e.Port, e.ListenerName = "h", 9000+id, "PLAINTEXT"
		b.Endpoints = append(b.Endpoints, e)
		req.LiveBrokers = append(req.LiveBrokers, b)
	}
	for _, c := range parts {
		p := kmsg.NewUpdateMetadataRequestTopicPartition()
		p.Topic, p.Partition, p.Leader, p.ISR, p.Replicas = c.tp.Topic, c.tp.Partition, c.leader, []int32{c.leader}, []int32{1, 2, 3}
		if r.version < 5 {
			req.PartitionStates = append(req.PartitionStates, p)
			continue
		}
		t := kmsg.NewUpdateMetadataRequestTopicState()
		t.Topic, t.TopicID = c.tp.Topic, c.id
		t.PartitionStates = append(t.PartitionStates, p)
		req.TopicStates = append(req.TopicStates, t)
	}
	return req
}

// leaderCodes are the top-level code and the partitions' codes of an answer, in
// the order of the request.
func leaderCodes(resp kmsg.Response) (int16, []int16) {
	r := resp.(*kmsg.LeaderAndISRResponse)
	var codes []int16
	for _, p := range r.Partitions {
		codes = append(codes, p.ErrorCode)
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return r.ErrorCode, codes
}

func stopCodes(resp kmsg.Response) (int16, []int16) {
	r := resp.(*kmsg.StopReplicaResponse)
	var codes []int16
	for _, p := range r.Partitions {
		codes = append(codes, p.ErrorCode)
	}
	return r.ErrorCode, codes
}

// newReplicas is broker 1 of brokers 1 to 3, registered with epoch 100, whose
// cache knows them all; controller epoch 5 was seen.
func newReplicas(t *testing.T, dirs int) *Replicas {
	t.Helper()
	r := NewReplicas(1, NewDisk("d", dirs), time.Minute)
	r.Registered(100)
	resp := r.Handle(epoch0, request{8, 5, 100}.updateMetadata(2, []int32{1, 2, 3}), nil)
	if code := resp.(*kmsg.UpdateMetadataResponse).ErrorCode; code != 0 {
		t.Fatalf("UpdateMetadata is answered with %d", code)
	}
	return r
}

var now7 = request{7, 5, 100}

// TestLeaderAndIsrChecks walks facts M1 to M4 and 12.50 to 12.54. Each case
// prepares broker 1, sends one request and looks at the answer and at the
// replica.
func TestLeaderAndIsrChecks(t *testing.T) {
	lead := func(r *Replicas, s state) { r.Handle(epoch0, now7.leaderAndISR(s), nil) }
	hosted := state{tp: t0, id: idA, leader: 1, epoch: 4, partitionEpoch: 7}
	for _, c := range []struct {
		name    string
		dirs    int
		prepare func(*Replicas)
		req     request
		send    state
		top     int16
		code    int16
		check   func(*testing.T, *Replicas, *partition)
	}{
		{name: "broker epoch of an earlier registration", req: request{7, 5, 99}, send: hosted, top: codeStaleBrokerEpoch, code: codeStaleBrokerEpoch,
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p != nil {
					t.Error("the replica was hosted")
				}
			}},
		{name: "broker epoch of an earlier registration comes before the controller epoch", req: request{7, 4, 99}, send: hosted, top: codeStaleBrokerEpoch, code: codeStaleBrokerEpoch},
		{name: "broker epoch ahead passes", req: request{7, 5, 101}, send: hosted},
		{name: "no broker epoch passes", req: request{7, 5, -1}, send: hosted},
		{name: "controller epoch behind", req: request{7, 4, 100}, send: hosted, top: codeStaleControllerEpoch, code: codeStaleControllerEpoch},
		{name: "controller epoch ahead is remembered", req: request{7, 6, 100}, send: hosted,
			check: func(t *testing.T, r *Replicas, p *partition) {
				if _, codes := leaderCodes(r.Handle(epoch0, now7.leaderAndISR(hosted), nil)); codes[0] != codeStaleControllerEpoch {
					t.Errorf("a request of the older controller gets %d", codes[0])
				}
			}},
		{name: "unhosted, any epoch applies", req: now7, send: state{tp: t0, id: idA, leader: 1, epoch: 0},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leaderEpoch != 0 || p.log == nil || p.log.topicID != idA {
					t.Errorf("%+v", p)
				}
			}},
		{name: "leader epoch higher applies", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: 2, epoch: 5, partitionEpoch: 8},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leader != 2 || p.leaderEpoch != 5 || !p.fetching {
					t.Errorf("%+v", p)
				}
			}},
		{name: "leader epoch equal is ignored", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: 2, epoch: 4, partitionEpoch: 9}, code: codeStaleControllerEpoch,
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leader != 1 || p.partitionEpoch != 7 {
					t.Errorf("%+v", p)
				}
			}},
		{name: "leader epoch lower is ignored", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: 2, epoch: 3, partitionEpoch: 9}, code: codeStaleControllerEpoch},
		{name: "leader epoch equal hands out the first topic id", prepare: func(r *Replicas) { lead(r, state{tp: t0, leader: 1, epoch: 4}) }, req: now7, send: state{tp: t0, id: idA, leader: 1, epoch: 4},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.log.topicID != idA {
					t.Errorf("topic id %s", p.log.topicID)
				}
			}},
		{name: "leader epoch equal without an id answers a follower that has one", prepare: func(r *Replicas) { lead(r, state{tp: t0, id: idA, leader: 2, epoch: 4}) }, req: now7, send: state{tp: t0, leader: 2, epoch: 4},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.log.topicID != idA {
					t.Errorf("topic id %s", p.log.topicID)
				}
			}},
		{name: "leader epoch equal without an id is ignored by a leader that has one", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, leader: 1, epoch: 4}, code: codeStaleControllerEpoch},
		{name: "another topic id", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idB, leader: 1, epoch: 5}, code: codeInconsistentTopicID},
		{name: "another topic id comes before the leader epoch", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idB, leader: 1, epoch: 0}, code: codeInconsistentTopicID},
		{name: "another topic id on disk, unhosted since the start", prepare: func(r *Replicas) { r.disk.create(t0, idB) }, req: now7, send: hosted, code: codeInconsistentTopicID},
		{name: "not in the replica list", req: now7, send: state{tp: t0, id: idA, leader: 2, epoch: 1, replicas: []int32{2, 3}}, code: codeUnknownTopicOrPartition},
		{name: "leader epoch equal comes before the replica list", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: 2, epoch: 4, replicas: []int32{2, 3}}, code: codeStaleControllerEpoch},
		{name: "directory of the replica failed", dirs: 2, prepare: func(r *Replicas) { lead(r, hosted); r.FailDir("d/0") }, req: now7, send: state{tp: t0, id: idA, leader: 1, epoch: 9, isNew: true}, code: codeKafkaStorageError},
		{name: "directory failed comes before the topic id", dirs: 2, prepare: func(r *Replicas) { lead(r, hosted); r.FailDir("d/0") }, req: now7, send: state{tp: t0, id: idB, leader: 1, epoch: 9}, code: codeKafkaStorageError},
		{name: "missing log with a failed directory, not new, as leader", dirs: 2, prepare: func(r *Replicas) { r.FailDir("d/0") }, req: now7, send: hosted, code: codeKafkaStorageError,
			check: func(t *testing.T, r *Replicas, p *partition) {
				if !p.offline {
					t.Error("the replica is not offline")
				}
			}},
		{name: "missing log with a failed directory, not new, as follower", dirs: 2, prepare: func(r *Replicas) { r.FailDir("d/0") }, req: now7, send: state{tp: t0, leader: 2}, code: codeKafkaStorageError},
		{name: "missing log with a failed directory, new", dirs: 2, prepare: func(r *Replicas) { r.FailDir("d/0") }, req: now7, send: state{tp: t0, id: idA, leader: 1, isNew: true},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.log == nil || p.log.dir.path != "d/1" {
					t.Errorf("log %+v", p.log)
				}
			}},
		{name: "partition epoch lower is skipped with success, leader", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: 1, epoch: 6, partitionEpoch: 6},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leaderEpoch != 4 {
					t.Errorf("leader epoch %d", p.leaderEpoch)
				}
			}},
		{name: "partition epoch lower is skipped with success, follower", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: 2, epoch: 6, partitionEpoch: 6},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leader != 1 {
					t.Errorf("leader %d", p.leader)
				}
			}},
		{name: "partition epoch equal applies", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: 1, epoch: 6, partitionEpoch: 7},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leaderEpoch != 6 {
					t.Errorf("leader epoch %d", p.leaderEpoch)
				}
			}},
		{name: "a leader that the cache does not know is not followed", req: now7, send: state{tp: t0, id: idA, leader: 4, epoch: 6, replicas: []int32{1, 4}},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leaderEpoch != -1 || p.fetching || p.log == nil {
					t.Errorf("%+v", p)
				}
			}},
		{name: "no leader is not followed", prepare: func(r *Replicas) { lead(r, hosted) }, req: now7, send: state{tp: t0, id: idA, leader: -1, epoch: 6, partitionEpoch: 9},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.leader != 1 || p.leaderEpoch != 4 {
					t.Errorf("%+v", p)
				}
			}},
		{name: "a leader is RECOVERED in memory", req: now7, send: state{tp: t0, id: idA, leader: 1, recovering: true},
			check: func(t *testing.T, r *Replicas, p *partition) {
				if p.recovery != model.Recovered {
					t.Error("still recovering")
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReplicas(t, max(c.dirs, 1))
			if c.prepare != nil {
				c.prepare(r)
			}
			top, codes := leaderCodes(r.Handle(epoch0, c.req.leaderAndISR(c.send), nil))
			if top != c.top || len(codes) != 1 || codes[0] != c.code {
				t.Errorf("answered %d %v, want %d [%d]", top, codes, c.top, c.code)
			}
			if c.check != nil {
				c.check(t, r, r.parts[t0])
			}
		})
	}
}

// TestStopReplicaChecks walks facts M1, M2, M5 and M6.
func TestStopReplicaChecks(t *testing.T) {
	now4 := request{4, 5, 100}
	hosted := func(r *Replicas) {
		r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, id: idA, leader: 2, epoch: 4}), nil)
	}
	for _, c := range []struct {
		name    string
		dirs    int
		prepare func(*Replicas)
		req     request
		send    stop
		top     int16
		codes   []int16
		gone    bool // the replica
	}{
		{name: "stale broker epoch names no partition", prepare: hosted, req: request{4, 5, 99}, send: stop{t0, -2, true}, top: codeStaleBrokerEpoch},
		{name: "stale controller epoch names no partition", prepare: hosted, req: request{4, 4, 100}, send: stop{t0, -2, true}, top: codeStaleControllerEpoch},
		{name: "epoch of a deletion", prepare: hosted, req: now4, send: stop{t0, model.EpochDuringDelete, true}, codes: []int16{0}, gone: true},
		{name: "no epoch", prepare: hosted, req: now4, send: stop{t0, model.NoEpoch, true}, codes: []int16{0}, gone: true},
		{name: "equal epoch", prepare: hosted, req: now4, send: stop{t0, 4, true}, codes: []int16{0}, gone: true},
		{name: "higher epoch", prepare: hosted, req: now4, send: stop{t0, 5, true}, codes: []int16{0}, gone: true},
		{name: "lower epoch", prepare: hosted, req: now4, send: stop{t0, 3, true}, codes: []int16{codeFencedLeaderEpoch}},
		{name: "without delete the replica stays, unfetched", prepare: hosted, req: now4, send: stop{t0, 4, false}, codes: []int16{0}},
		{name: "failed directory", dirs: 2, prepare: func(r *Replicas) { hosted(r); r.FailDir("d/0") }, req: now4, send: stop{t0, -2, true}, codes: []int16{codeKafkaStorageError}},
		{name: "not hosted", req: now4, send: stop{t0, -2, true}, codes: []int16{0}, gone: true},
		{name: "not hosted, a log was left behind", prepare: func(r *Replicas) { r.disk.create(t0, idA) }, req: now4, send: stop{t0, -2, true}, codes: []int16{0}, gone: true},
		{name: "version 0", prepare: hosted, req: request{0, 5, -1}, send: stop{t0, 0, true}, codes: []int16{0}, gone: true},
		{name: "version 2", prepare: hosted, req: request{2, 5, 100}, send: stop{t0, 0, true}, codes: []int16{0}, gone: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReplicas(t, max(c.dirs, 1))
			if c.prepare != nil {
				c.prepare(r)
			}
			before := r.disk.find(t0) != nil
			top, codes := stopCodes(r.Handle(epoch0, c.req.stopReplica(c.send), nil))
			if top != c.top || !slices.Equal(codes, c.codes) {
				t.Errorf("answered %d %v, want %d %v", top, codes, c.top, c.codes)
			}
			p := r.parts[t0]
			if (p == nil) != c.gone {
				t.Errorf("replica %+v, want gone %t", p, c.gone)
			}
			if c.gone {
				var deleting int
				for _, d := range r.disk.Dirs() {
					deleting += len(d.Deleting)
				}
				if r.disk.find(t0) != nil || deleting != map[bool]int{true: 1}[before] {
					t.Errorf("disk %+v", r.disk.Dirs())
				}
			} else if top == 0 && codes[0] == 0 && p.fetching {
				t.Error("still fetching")
			}
		})
	}
}

func TestDeletedLogsStayForAWhile(t *testing.T) {
	r := newReplicas(t, 1)
	r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, leader: 1}), nil)
	r.Handle(epoch0, request{4, 5, 100}.stopReplica(stop{t0, -2, true}), nil)
	want := "t-0.00000000000000000000000000000001-delete"
	if got := r.disk.Dirs()[0].Deleting; !slices.Equal(got, []string{want}) {
		t.Fatalf("renamed %v, want %s", got, want)
	}
	r.disk.purge(epoch0.Add(time.Minute - 1))
	if len(r.disk.Dirs()[0].Deleting) != 1 {
		t.Error("gone too early")
	}
	r.disk.purge(epoch0.Add(time.Minute))
	if len(r.disk.Dirs()[0].Deleting) != 0 {
		t.Error("still there")
	}
}

func TestDirectoryFailure(t *testing.T) {
	r := newReplicas(t, 2)
	t1 := model.TP("t", 1)
	r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, leader: 1}, state{tp: t1, leader: 2}), nil)
	if a, b := r.parts[t0].log.dir.path, r.parts[t1].log.dir.path; a != "d/0" || b != "d/1" {
		t.Fatalf("logs in %s and %s: want the emptiest directory", a, b)
	}
	failed, fatal := r.FailDir("d/0")
	if !failed || fatal || !r.parts[t0].offline || r.parts[t1].offline {
		t.Errorf("failed %t, fatal %t, offline %t %t", failed, fatal, r.parts[t0].offline, r.parts[t1].offline)
	}
	if failed, _ := r.FailDir("d/0"); failed {
		t.Error("it failed twice")
	}
	if failed, _ := r.FailDir("d/7"); failed {
		t.Error("an unknown directory failed")
	}
	if _, fatal := r.FailDir("d/1"); !fatal {
		t.Error("a broker survives its last directory")
	}
	r.disk.repair("d/0")
	if r.disk.find(t0) != nil {
		t.Error("a running broker finds the repaired directory")
	}
	r.disk.mount(epoch0)
	if r.disk.find(t0) == nil || r.disk.find(t1) != nil {
		t.Error("after a mount the repaired directory has its logs, the other has none")
	}
}

func TestWrongAnswersLeaveTheReplicaAlone(t *testing.T) {
	r := newReplicas(t, 1)
	t1 := model.TP("t", 1)
	wrong := Wrong(func(tp model.TopicPartition) int16 {
		if tp == t0 {
			return codeKafkaStorageError
		}
		return 0
	})
	_, codes := leaderCodes(r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, leader: 1}, state{tp: t1, leader: 1}), wrong))
	if !slices.Equal(codes, []int16{codeKafkaStorageError, 0}) || r.parts[t0] != nil || r.parts[t1] == nil {
		t.Errorf("codes %v, hosted %v", codes, r.hosted())
	}
	_, codes = stopCodes(r.Handle(epoch0, request{4, 5, 100}.stopReplica(stop{t0, -2, true}, stop{t1, -2, true}), wrong))
	if !slices.Equal(codes, []int16{codeKafkaStorageError, 0}) || r.parts[t1] != nil {
		t.Errorf("codes %v, hosted %v", codes, r.hosted())
	}
}

// TestRequestVersions sends each control request in each version: the same state
// must come of it.
func TestRequestVersions(t *testing.T) {
	for version := int16(0); version <= 7; version++ {
		r := newReplicas(t, 1)
		in := request{version, 5, 100}.leaderAndISR(state{tp: t0, id: idA, leader: 1, epoch: 3, partitionEpoch: 2})
		top, codes := leaderCodes(r.Handle(epoch0, overTheWire(t, in), nil))
		p := r.parts[t0]
		if top != 0 || !slices.Equal(codes, []int16{0}) || p.leader != 1 || p.leaderEpoch != 3 || p.partitionEpoch != 2 || !slices.Equal(p.replicas, []int32{1, 2, 3}) {
			t.Errorf("LeaderAndIsr %d: %d %v, %+v", version, top, codes, p)
		}
		if got := !p.topicID.IsZero(); got != (version >= 5) {
			t.Errorf("LeaderAndIsr %d: topic id %s", version, p.topicID)
		}
	}
	for version := int16(0); version <= 4; version++ {
		r := newReplicas(t, 1)
		r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, leader: 1, epoch: 3}), nil)
		in := request{version, 5, 100}.stopReplica(stop{t0, 3, true})
		if top, codes := stopCodes(r.Handle(epoch0, overTheWire(t, in), nil)); top != 0 || !slices.Equal(codes, []int16{0}) || r.parts[t0] != nil {
			t.Errorf("StopReplica %d: %d %v, %v", version, top, codes, r.hosted())
		}
	}
	for version := int16(0); version <= 8; version++ {
		r := newReplicas(t, 1)
		in := request{version, 5, 100}.updateMetadata(3, []int32{1, 3}, cached{t0, idA, 3})
		code := r.Handle(epoch0, overTheWire(t, in), nil).(*kmsg.UpdateMetadataResponse).ErrorCode
		e, ok := r.cache.endpoint(3, "PLAINTEXT")
		if code != 0 || r.cache.controller != 3 || !ok || e.Port != 9003 || r.cache.alive(2) || r.cache.topics["t"][0].Leader != 3 {
			t.Errorf("UpdateMetadata %d: %d, %+v", version, code, r.cache)
		}
		if got := !r.cache.ids["t"].IsZero(); got != (version >= 7) {
			t.Errorf("UpdateMetadata %d: topic id %s", version, r.cache.ids["t"])
		}
	}
}

// overTheWire encodes and decodes a request.
func overTheWire(t *testing.T, req kmsg.Request) kmsg.Request {
	t.Helper()
	h, body, err := parseHeader(appendRequest(nil, req, 1, "9")[4:])
	if err != nil {
		t.Fatal(err)
	}
	out, err := parseBody(h, body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
