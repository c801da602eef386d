package broker

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// alter is the one partition of an AlterPartition.
func alter(t *testing.T, req *kmsg.AlterPartitionRequest) kmsg.AlterPartitionRequestTopicPartition {
	t.Helper()
	if len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 1 {
		t.Fatalf("AlterPartition of %+v", req.Topics)
	}
	return req.Topics[0].Partitions[0]
}

func TestISRThroughTheController(t *testing.T) {
	clock := newHandClock()
	l := newLab(t, labOptions{clock: clock, set: Settings{CatchUp: 10 * time.Second}})
	l.metadata(1, 2, 3)
	l.lead(state{tp: t0, id: idA, leader: 1, epoch: 4, partitionEpoch: 7, isr: []int32{1, 2}}, 1, 2, 3)
	l.await("fetching", func() bool { return l.hosted(2, t0).Fetching && l.hosted(3, t0).Fetching })
	clock.move(9999 * time.Millisecond)
	if h := l.hosted(1, t0); h.Pending != nil || !slices.Equal(h.CaughtUp, []int32{2}) {
		t.Fatalf("before its time: %+v", h)
	}
	clock.move(time.Millisecond)
	req, answer := l.nextAlter()
	p := alter(t, req)
	if req.Version != 3 || req.BrokerID != 1 || req.BrokerEpoch != l.broker(1).Snapshot().Epoch || req.Topics[0].TopicID != idA ||
		p.LeaderEpoch != 4 || p.PartitionEpoch != 7 || !slices.Equal(proposedISR(p), []int32{1, 2, 3}) {
		t.Errorf("asked %+v", req)
	}
	if h := l.hosted(1, t0); !slices.Equal(h.ISR, []int32{1, 2}) || !slices.Equal(h.Pending, []int32{1, 2, 3}) {
		t.Errorf("while it is asked: %+v", h)
	}
	answer(0)
	l.await("the larger ISR", func() bool { return slices.Equal(l.hosted(1, t0).ISR, []int32{1, 2, 3}) })
	if h := l.hosted(1, t0); h.PartitionEpoch != 8 || h.Pending != nil {
		t.Errorf("after the answer: %+v", h)
	}

	l.broker(2).Kill()
	clock.move(30*time.Second - 1)
	if h := l.hosted(1, t0); h.Pending != nil {
		t.Fatalf("broker 2 is taken out early: %+v", h)
	}
	clock.move(1)
	req, answer = l.nextAlter()
	if got := proposedISR(alter(t, req)); !slices.Equal(got, []int32{1, 3}) || alter(t, req).PartitionEpoch != 8 {
		t.Errorf("asked %+v", req)
	}
	answer(0)
	l.await("the smaller ISR", func() bool { return slices.Equal(l.hosted(1, t0).ISR, []int32{1, 3}) })
}

// TestSilentFollower is taken out although its broker lives, and comes back.
func TestSilentFollower(t *testing.T) {
	clock := newHandClock()
	l := newLab(t, labOptions{clock: clock, set: Settings{ReplicaLagTime: 5 * time.Second}})
	l.metadata(1, 2, 3)
	l.lead(state{tp: t0, id: idA, leader: 1}, 1, 2, 3)
	if err := l.broker(3).SetBehaviour(Behaviour{FetchSilent: true}); err != nil {
		t.Fatal(err)
	}
	clock.move(5 * time.Second)
	req, answer := l.nextAlter()
	if got := proposedISR(alter(t, req)); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("asked for %v", got)
	}
	answer(0)
	l.await("the smaller ISR", func() bool { return slices.Equal(l.hosted(1, t0).ISR, []int32{1, 2}) })
	if err := l.broker(3).SetBehaviour(Behaviour{}); err != nil {
		t.Fatal(err)
	}
	req, answer = l.nextAlter()
	if got := proposedISR(alter(t, req)); !slices.Equal(got, []int32{1, 2, 3}) {
		t.Errorf("asked for %v", got)
	}
	answer(0)
	l.await("the full ISR", func() bool { return len(l.hosted(1, t0).ISR) == 3 })
}

// TestOneRequestForMany: what becomes due while a request is on its way goes
// together in the next one.
func TestOneRequestForMany(t *testing.T) {
	l := newLab(t, labOptions{})
	l.metadata(1, 2, 3)
	tps := []model.TopicPartition{t0, model.TP("t", 1), model.TP("u", 0)}
	for i, tp := range tps {
		l.lead(state{tp: tp, id: model.Uuid{tp.Topic[0]}, leader: 1, isr: []int32{1}, replicas: []int32{1, 2}}, 1, 2)
		if i == 0 {
			l.await("the first request", func() bool { return l.broker(1).Count(Sent, keyAlterPartition) == 1 })
		}
	}
	first, answer := l.nextAlter()
	if p := alter(t, first); p.Partition != 0 {
		t.Errorf("first %+v", first)
	}
	answer(0)
	second, answer := l.nextAlter()
	if len(second.Topics) != 2 || len(second.Topics[0].Partitions) != 1 || len(second.Topics[1].Partitions) != 1 {
		t.Errorf("second %+v", second)
	}
	answer(0)
	for _, tp := range tps {
		l.await(tp.String(), func() bool { return len(l.hosted(1, tp).ISR) == 2 })
	}
}

func TestNotControllerLooksAgain(t *testing.T) {
	l := newLab(t, labOptions{})
	l.metadata(1, 2, 3)
	l.lead(state{tp: t0, id: idA, leader: 1, isr: []int32{1}, replicas: []int32{1, 2}}, 1, 2)
	a := l.next()
	a.answer <- alterAnswer(a.req.(*kmsg.AlterPartitionRequest), codeNotController, 0)
	a = l.next() // top level
	a.answer <- alterAnswer(a.req.(*kmsg.AlterPartitionRequest), 0, codeNotController)
	a = l.next() // partition
	a.answer <- nil
	_, answer := l.nextAlter() // hung up
	if h := l.hosted(1, t0); !slices.Equal(h.Pending, []int32{1, 2}) {
		t.Errorf("not pending any more: %+v", h)
	}
	answer(0)
	l.await("the ISR", func() bool { return len(l.hosted(1, t0).ISR) == 2 })
	if sent, failed := l.broker(1).Count(Sent, keyAlterPartition), 0; sent != 4 {
		t.Errorf("sent %d, failed %d", sent, failed)
	}
}

func TestRefusedProposals(t *testing.T) {
	for _, c := range []struct {
		name  string
		top   int16
		code  int16
		again bool // asked again without anything new
	}{
		{"top-level error", codeStaleBrokerEpoch, 0, true},
		{"unknown error of the partition", 0, codeUnknownServerError, true},
		{"ineligible replica", 0, codeIneligibleReplica, true},
		{"operation not attempted", 0, codeOperationNotAttempted, true},
		{"invalid update version", 0, codeInvalidUpdateVersion, false},
		{"unknown topic id", 0, codeUnknownTopicID, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, labOptions{brokers: []int32{1, 2}, set: Settings{FetchInterval: time.Millisecond}})
			l.metadata(1, 2)
			l.lead(state{tp: t0, id: idA, leader: 1, isr: []int32{1}, replicas: []int32{1, 2}}, 1, 2)
			a := l.next()
			a.answer <- alterAnswer(a.req.(*kmsg.AlterPartitionRequest), c.top, c.code)
			l.await("the answer", func() bool { return l.broker(1).Count(Returned, keyAlterPartition) == 1 })
			if c.again {
				_, answer := l.nextAlter()
				answer(0)
				l.await("the ISR", func() bool { return len(l.hosted(1, t0).ISR) == 2 })
				return
			}
			// A new leadership lets go of what is stuck.
			l.lead(state{tp: t0, id: idA, leader: 1, epoch: 1, partitionEpoch: 1, isr: []int32{1}, replicas: []int32{1, 2}}, 1, 2)
			req, answer := l.nextAlter()
			if p := alter(t, req); p.LeaderEpoch != 1 || p.PartitionEpoch != 1 {
				t.Errorf("asked %+v before the new leadership", p)
			}
			answer(0)
			l.await("the ISR", func() bool { return len(l.hosted(1, t0).ISR) == 2 })
		})
	}
}

const stateOfT0 = `{"controller_epoch":5,"leader":1,"version":1,"leader_epoch":4,"isr":[1,2]}`

// plant makes the state znode of t-0, and sets it until it has a version.
func (l *lab) plant(version int32) {
	for _, path := range []string{"/brokers/topics/t", "/brokers/topics/t/partitions", "/brokers/topics/t/partitions/0", "/brokers/topics/t/partitions/0/state"} {
		if res, _ := l.store.Apply(0, zkserver.Create(path, []byte(stateOfT0), 0)); res.Code != 0 {
			l.t.Fatalf("create %s: %v", path, res.Code)
		}
	}
	for range version {
		l.store.Apply(0, zkserver.Op{Kind: zkserver.OpSetData, Path: "/brokers/topics/t/partitions/0/state", Data: []byte(stateOfT0), Version: -1})
	}
}

// leadOld is LeaderAndIsr of t-0 as a controller of protocol 2.6 sends it.
func (l *lab) leadOld(partitionEpoch int32) {
	l.t.Helper()
	for id := int32(1); id <= 3; id++ {
		req := request{4, 5, l.broker(id).Snapshot().Epoch}.leaderAndISR(state{tp: t0, leader: 1, epoch: 4, partitionEpoch: partitionEpoch, isr: []int32{1, 2}})
		if top, codes := leaderCodes(l.call(id, req)); top != 0 || codes[0] != 0 {
			l.t.Fatalf("LeaderAndIsr is answered with %d %v", top, codes)
		}
	}
}

func TestISRThroughZooKeeper(t *testing.T) {
	clock := newHandClock()
	l := newLab(t, labOptions{clock: clock, set: Settings{InterBrokerProtocol: model.IBP_2_6_IV0}})
	l.plant(3)
	l.metadata(1, 2, 3)
	l.leadOld(3)
	l.await("the ISR", func() bool { return len(l.hosted(1, t0).ISR) == 3 })
	data, stat, _ := l.get("/brokers/topics/t/partitions/0/state")
	got, ok, err := model.DecodePartitionState("", []byte(data))
	if !ok || err != nil || stat.Version != 4 || got.Leader != 1 || got.LeaderEpoch != 4 || got.ControllerEpoch != 5 || !slices.Equal(got.ISR, []int32{1, 2, 3}) {
		t.Errorf("version %d: %s", stat.Version, data)
	}
	if h := l.hosted(1, t0); h.PartitionEpoch != 4 {
		t.Errorf("partition epoch %d", h.PartitionEpoch)
	}
	// Looked at every 2.5s, announced once the change is more than 5s old.
	clock.move(5 * time.Second)
	if names, _, _ := l.store.Children(model.IsrChangeNotificationPath); len(names) > 0 {
		t.Fatalf("announced early: %v", names)
	}
	clock.move(2500 * time.Millisecond)
	l.await("the announcement", func() bool { return l.broker(1).Count(ISRAnnounced, AnyAPI) == 1 })
	names, _, _ := l.store.Children(model.IsrChangeNotificationPath)
	if !slices.Equal(names, []string{"isr_change_0000000000"}) {
		t.Fatalf("announced as %v", names)
	}
	text, _, _ := l.get(model.IsrChangeNotificationPath + "/" + names[0])
	if want := `{"partitions":[{"topic":"t","partition":0}],"version":1}`; text != want {
		t.Errorf("announced %s, want %s", text, want)
	}
	if l.broker(1).Count(Sent, AnyAPI) != 0 {
		t.Error("the controller was asked as well")
	}
}

// TestISRAnnouncementAfterALongSilence goes out at the next look, without the
// linger: the last one is more than a minute old.
func TestISRAnnouncementAfterALongSilence(t *testing.T) {
	clock := newHandClock()
	l := newLab(t, labOptions{clock: clock, set: Settings{InterBrokerProtocol: model.IBP_2_6_IV0}})
	clock.move(2 * time.Minute)
	l.plant(3)
	l.metadata(1, 2, 3)
	l.leadOld(3)
	l.await("the ISR", func() bool { return len(l.hosted(1, t0).ISR) == 3 })
	clock.move(2500 * time.Millisecond)
	l.await("the announcement", func() bool { return l.broker(1).Count(ISRAnnounced, AnyAPI) == 1 })
}

func TestJitterIsSeeded(t *testing.T) {
	draw := func(seed uint64) (out []time.Duration) {
		c := New(Config{Rand: rand.New(rand.NewPCG(seed, 1))})
		if _, err := c.Add(1, Settings{CatchUp: time.Second, CatchUpJitter: time.Second}); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			d := c.catchUp(1)
			if d < time.Second || d > 2*time.Second {
				t.Errorf("drew %s", d)
			}
			out = append(out, d)
		}
		return out
	}
	if a, b := draw(1), draw(1); !slices.Equal(a, b) {
		t.Errorf("one seed, two results: %v, %v", a, b)
	}
	if a, b := draw(1), draw(2); slices.Equal(a, b) {
		t.Error("two seeds, one result")
	}
}

func TestISRConflictInZooKeeperIsStuck(t *testing.T) {
	l := newLab(t, labOptions{set: Settings{InterBrokerProtocol: model.IBP_2_6_IV0}})
	l.plant(3)
	l.metadata(1, 2, 3)
	l.leadOld(2)
	l.await("the conflict", func() bool { return len(l.saw(1, ISRWritten)) == 1 })
	if e := l.saw(1, ISRWritten)[0]; e.Err == nil || e.Partition != t0 {
		t.Errorf("event %+v", e)
	}
	if h := l.hosted(1, t0); !slices.Equal(h.ISR, []int32{1, 2}) || !slices.Equal(h.Pending, []int32{1, 2, 3}) {
		t.Errorf("%+v", h)
	}
	if _, stat, _ := l.get("/brokers/topics/t/partitions/0/state"); stat.Version != 3 {
		t.Errorf("version %d", stat.Version)
	}
}

// TestLostReplyOfAnISRWrite: the write is done, its reply is lost, the repeated
// write meets a conflict with equal content, which is success (fact 11.02).
func TestLostReplyOfAnISRWrite(t *testing.T) {
	var cut atomic.Int32
	l := newLab(t, labOptions{set: Settings{InterBrokerProtocol: model.IBP_2_6_IV0}, intercept: func(r zkserver.Request) zkserver.Verdict {
		if r.Op == zkserver.OpSetData && r.Session != 0 && cut.Add(1) == 1 {
			return zkserver.Verdict{Cut: zkserver.CutAfter}
		}
		return zkserver.Verdict{}
	}})
	l.plant(3)
	l.metadata(1, 2, 3)
	l.leadOld(3)
	l.await("the ISR", func() bool { return len(l.hosted(1, t0).ISR) == 3 })
	if _, stat, _ := l.get("/brokers/topics/t/partitions/0/state"); stat.Version != 4 || cut.Load() != 2 {
		t.Errorf("version %d after %d writes", stat.Version, cut.Load())
	}
}

func TestLogDirFailureIsAnnounced(t *testing.T) {
	l := newLab(t, labOptions{set: Settings{LogDirs: 2}})
	l.metadata(1, 2, 3)
	t1 := model.TP("t", 1)
	l.lead(state{tp: t0, id: idA, leader: 1, replicas: []int32{1, 2}, isr: []int32{1, 2}}, 1, 2)
	l.lead(state{tp: t1, id: idA, leader: 2, replicas: []int32{1, 2}, isr: []int32{1, 2}}, 1, 2)
	b := l.broker(1)
	dir := l.hosted(1, t0).Dir
	if err := b.FailLogDir(dir); err != nil {
		t.Fatal(err)
	}
	l.await("the announcement", func() bool { return b.Count(DirAnnounced, AnyAPI) == 1 })
	data, _, _ := l.get("/log_dir_event_notification/log_dir_event_0000000000")
	var got map[string]int
	if err := json.Unmarshal([]byte(data), &got); err != nil || fmt.Sprint(got) != "map[broker:1 event:1 version:1]" {
		t.Errorf("announced %s: %v", data, err)
	}
	// The controller asks with unchanged epochs which replicas still work (6.52).
	req := request{7, 5, b.Snapshot().Epoch}.leaderAndISR(
		state{tp: t0, id: idA, leader: 1, replicas: []int32{1, 2}, isr: []int32{1, 2}},
		state{tp: t1, id: idA, leader: 2, replicas: []int32{1, 2}, isr: []int32{1, 2}})
	if top, codes := leaderCodes(l.call(1, req)); top != 0 || !slices.Equal(codes, []int16{codeKafkaStorageError, codeStaleControllerEpoch}) {
		t.Errorf("answered %d %v", top, codes)
	}
	if err := b.FailLogDir(dir); err == nil {
		t.Error("it failed twice")
	}
	if err := b.RepairLogDir(dir); err != nil {
		t.Fatal(err)
	}
	if !l.hosted(1, t0).Offline {
		t.Error("repaired while it runs")
	}
	session := b.SessionID()
	b.Kill()
	l.store.Expire(session)
	if err := b.Start(l.ctx); err != nil {
		t.Fatal(err)
	}
	if d := b.Snapshot().Dirs; d[0].Failed || d[1].Failed || len(d[0].Logs)+len(d[1].Logs) != 2 {
		t.Errorf("after the restart %+v", d)
	}
	if err := b.RepairLogDir("/nowhere"); err == nil {
		t.Error("an unknown directory is repaired")
	}
}

func TestDeletedLogIsPurged(t *testing.T) {
	clock := newHandClock()
	l := newLab(t, labOptions{clock: clock, brokers: []int32{1}})
	l.lead(state{tp: t0, id: idA, leader: 1, replicas: []int32{1}, isr: []int32{1}}, 1)
	l.call(1, request{4, 5, -1}.stopReplica(stop{t0, -2, true}))
	deleting := func() int { return len(l.broker(1).Snapshot().Dirs[0].Deleting) }
	if deleting() != 1 {
		t.Fatalf("%d logs are being deleted", deleting())
	}
	clock.move(time.Minute)
	if deleting() != 0 {
		t.Errorf("%d logs are left", deleting())
	}
}
