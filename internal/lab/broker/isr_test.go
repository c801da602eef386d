package broker

import (
	"slices"
	"testing"
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// leading is broker 1 as the leader of t-0 with an ISR.
func leading(t *testing.T, isr ...int32) (*Replicas, *partition) {
	r := newReplicas(t, 1)
	r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, id: idA, leader: 1, epoch: 4, partitionEpoch: 7, isr: isr}), nil)
	return r, r.parts[t0]
}

func after(d time.Duration) time.Time { return epoch0.Add(d) }

func takes(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func TestFollowerCatchesUpAndIsProposed(t *testing.T) {
	r, p := leading(t, 1, 2)
	session, in := r.fetches(epoch0, t0, 3, true, takes(time.Second))
	if in != time.Second || p.pending != nil {
		t.Fatalf("ready in %s, pending %+v", in, p.pending)
	}
	r.caughtUp(after(time.Second), t0, 3, session)
	want := model.LeaderAndIsr{Leader: 1, LeaderEpoch: 4, ISR: []int32{1, 2, 3}, PartitionEpoch: 7}
	if p.pending == nil || !p.pending.to.Equal(want) || p.pending.topicID != idA || p.pending.controllerEpoch != 5 {
		t.Fatalf("proposed %+v", p.pending)
	}
	want.PartitionEpoch = 8
	r.settled(r.proposals()[0], want)
	if !slices.Equal(p.isr, []int32{1, 2, 3}) || p.partitionEpoch != 8 || p.pending != nil || len(r.unsent) != 0 {
		t.Errorf("after the answer %+v", p)
	}
}

func TestMembersOfTheISRNeedNoCatchingUp(t *testing.T) {
	r, p := leading(t, 1, 2)
	if _, in := r.fetches(epoch0, t0, 2, true, takes(time.Hour)); in != 0 || !p.followers[2].caughtUp {
		t.Errorf("ready in %s, %+v", in, p.followers[2])
	}
}

// TestInterruptedCatchingUpGoesOn: what was fetched from the same leader counts.
func TestInterruptedCatchingUpGoesOn(t *testing.T) {
	r, p := leading(t, 1, 2)
	old, _ := r.fetches(epoch0, t0, 3, true, takes(10*time.Second))
	r.fetches(after(4*time.Second), t0, 3, false, nil)
	r.caughtUp(after(10*time.Second), t0, 3, old)
	if p.followers[3].caughtUp {
		t.Error("caught up while it did not fetch")
	}
	if _, in := r.fetches(after(20*time.Second), t0, 3, true, takes(time.Hour)); in != 6*time.Second {
		t.Errorf("ready in %s, want the missing 6s", in)
	}
	r.Handle(after(21*time.Second), now7.leaderAndISR(state{tp: t0, id: idA, leader: 1, epoch: 5, partitionEpoch: 8, isr: []int32{1, 2}}), nil)
	if _, in := r.fetches(after(30*time.Second), t0, 3, true, takes(time.Hour)); in != 5*time.Second {
		t.Errorf("after an epoch of the same leader ready in %s, want 5s", in)
	}
}

func TestDeadFollowerIsNotProposed(t *testing.T) {
	r, p := leading(t, 1)
	r.Handle(epoch0, request{8, 5, 100}.updateMetadata(2, []int32{1, 2}), nil)
	r.fetches(epoch0, t0, 3, true, takes(0))
	if p.pending != nil {
		t.Fatalf("proposed %v with broker 3 not in the cache", p.pending.to.ISR)
	}
	r.touched = nil
	r.Handle(epoch0, request{8, 5, 100}.updateMetadata(2, []int32{1, 2, 3}), nil)
	if !slices.Equal(r.touched, []model.TopicPartition{t0}) {
		t.Fatalf("to look at: %v", r.touched)
	}
	r.expand(p)
	if p.pending == nil || !slices.Equal(p.pending.to.ISR, []int32{1, 3}) {
		t.Errorf("proposed %+v", p.pending)
	}
}

func TestLaggardsAreTakenOut(t *testing.T) {
	const lag = 30 * time.Second
	r, p := leading(t, 1, 2, 3)
	r.fetches(epoch0, t0, 2, true, takes(0))
	if next := r.shrink(epoch0, t0, lag); !next.Equal(after(lag)) {
		t.Fatalf("next look at %s, want 30s after the leadership began", next.Sub(epoch0))
	}
	r.fetches(after(5*time.Second), t0, 3, true, takes(0))
	if next := r.shrink(after(lag), t0, lag); !next.IsZero() || p.pending != nil {
		t.Fatalf("next %s, pending %+v: nobody lags", next, p.pending)
	}
	r.fetches(after(40*time.Second), t0, 2, false, nil)
	r.fetches(after(50*time.Second), t0, 3, false, nil)
	if next := r.shrink(after(69*time.Second), t0, lag); !next.Equal(after(70 * time.Second)) {
		t.Fatalf("next look at %s", next.Sub(epoch0))
	}
	r.shrink(after(70*time.Second), t0, lag)
	if p.pending == nil || !slices.Equal(p.pending.to.ISR, []int32{1, 3}) {
		t.Fatalf("proposed %+v", p.pending)
	}
	r.settled(p.pending, p.pending.to)
	r.shrink(after(80*time.Second), t0, lag)
	if p.pending == nil || !slices.Equal(p.pending.to.ISR, []int32{1}) {
		t.Errorf("proposed %+v", p.pending)
	}
}

// TestRefusals walks fact 11.29.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		code    int16
		want    verdict
		pending bool
		queued  bool
	}{
		{codeOperationNotAttempted, rolledBack, false, false},
		{codeIneligibleReplica, rolledBack, false, false},
		{codeUnknownTopicOrPartition, stuck, true, false},
		{codeUnknownTopicID, stuck, true, false},
		{codeFencedLeaderEpoch, stuck, true, false},
		{codeInvalidUpdateVersion, stuck, true, false},
		{codeInvalidRequest, stuck, true, false},
		{codeNewLeaderElected, stuck, true, false},
		{codeUnknownServerError, again, true, true},
		{codeKafkaStorageError, again, true, true},
	} {
		r, p := leading(t, 1, 2)
		r.fetches(epoch0, t0, 3, true, takes(0))
		if got := r.refused(p.pending, c.code); got != c.want || (p.pending != nil) != c.pending || (len(r.unsent) > 0) != c.queued {
			t.Errorf("code %d: verdict %d, pending %t, queued %t", c.code, got, p.pending != nil, len(r.unsent) > 0)
		}
		if !slices.Equal(p.isr, []int32{1, 2}) {
			t.Errorf("code %d: ISR %v", c.code, p.isr)
		}
		r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, id: idA, leader: 1, epoch: 5, partitionEpoch: 8, isr: []int32{1, 2}}), nil)
		if p.pending != nil {
			t.Errorf("code %d: still pending after a LeaderAndIsr", c.code)
		}
	}
}

// TestOvertakenProposal: a LeaderAndIsr comes while the proposal is on its way.
func TestOvertakenProposal(t *testing.T) {
	r, p := leading(t, 1, 2)
	r.fetches(epoch0, t0, 3, true, takes(0))
	first := p.pending
	r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, id: idA, leader: 1, epoch: 5, partitionEpoch: 8, isr: []int32{1, 2}}), nil)
	r.fetches(epoch0, t0, 3, true, takes(0))
	if p.pending != nil {
		t.Fatal("a second proposal is attempted while the first is on its way")
	}
	state := first.to
	state.PartitionEpoch = 8
	r.touched = nil
	r.settled(first, state)
	if !slices.Equal(r.touched, []model.TopicPartition{t0}) {
		t.Errorf("to look at: %v", r.touched)
	}
	if !slices.Equal(p.isr, []int32{1, 2}) {
		t.Errorf("ISR %v: the answer was for an earlier state", p.isr)
	}
	r.expand(p)
	if p.pending == nil || p.pending.to.LeaderEpoch != 5 || p.pending.to.PartitionEpoch != 8 {
		t.Errorf("proposed %+v", p.pending)
	}
}

func TestAnswersOfAnotherTimeAreIgnored(t *testing.T) {
	for name, change := range map[string]func(*model.LeaderAndIsr){
		"leader epoch":          func(s *model.LeaderAndIsr) { s.LeaderEpoch++ },
		"older partition epoch": func(s *model.LeaderAndIsr) { s.PartitionEpoch-- },
	} {
		r, p := leading(t, 1, 2)
		r.fetches(epoch0, t0, 3, true, takes(0))
		state := p.pending.to
		change(&state)
		r.settled(p.pending, state)
		if p.pending == nil || len(r.unsent) != 0 || !slices.Equal(p.isr, []int32{1, 2}) {
			t.Errorf("%s: pending %+v, ISR %v", name, p.pending, p.isr)
		}
	}
}

func TestShutDownStopsFetching(t *testing.T) {
	r := newReplicas(t, 1)
	r.ShutDown()
	_, codes := leaderCodes(r.Handle(epoch0, now7.leaderAndISR(state{tp: t0, leader: 2}), nil))
	if p := r.parts[t0]; codes[0] != 0 || p.leader != 2 || p.fetching {
		t.Errorf("code %d, %+v", codes[0], p)
	}
}

func TestAlterPartitionVersions(t *testing.T) {
	r, p := leading(t, 1, 2)
	r.fetches(epoch0, t0, 3, true, takes(0))
	for _, c := range []struct {
		ibp, release  model.InterBrokerProtocol
		controllerMax int16
		id            model.Uuid
		want          int16
	}{
		{model.LatestIBP, model.IBP_3_9_IV0, 3, idA, 3},
		{model.LatestIBP, model.IBP_3_9_IV0, 2, idA, 2},
		{model.LatestIBP, model.IBP_3_9_IV0, 3, model.Uuid{}, 1},
		{model.IBP_2_7_IV2, model.IBP_3_9_IV0, 3, idA, 1},
		{model.IBP_2_7_IV2, model.IBP_2_7_IV0, 3, idA, 0},
		{model.IBP_3_2_IV0, model.IBP_3_2_IV0, 3, idA, 1},
		{model.LatestIBP, model.IBP_3_9_IV0, 0, idA, 0},
		{model.LatestIBP, model.IBP_3_9_IV0, -1, idA, -1},
	} {
		b := &Broker{id: 1, set: Settings{InterBrokerProtocol: c.ibp, Release: c.release}}
		x := *p.pending
		x.topicID = c.id
		req := b.alterPartition([]*proposal{&x}, 100, c.controllerMax)
		if req == nil {
			if c.want != -1 {
				t.Errorf("%+v: no request", c)
			}
			continue
		}
		if req.Version != c.want {
			t.Errorf("%+v: version %d", c, req.Version)
		}
		got := overTheWire(t, req).(*kmsg.AlterPartitionRequest)
		part := got.Topics[0].Partitions[0]
		isr := part.NewISR
		for _, m := range part.NewEpochISR {
			isr = append(isr, m.BrokerID)
			if m.BrokerEpoch != -1 {
				t.Errorf("%+v: broker epoch %d in the ISR", c, m.BrokerEpoch)
			}
		}
		if !slices.Equal(isr, []int32{1, 2, 3}) || part.LeaderEpoch != 4 || part.PartitionEpoch != 7 || got.BrokerEpoch != 100 {
			t.Errorf("%+v: %+v", c, got)
		}
		if named := got.Topics[0].Topic == "t"; named != (c.want <= 1) {
			t.Errorf("%+v: topic %q, id %x", c, got.Topics[0].Topic, got.Topics[0].TopicID)
		}
	}
}
