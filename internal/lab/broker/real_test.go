package broker

import (
	"context"
	"slices"
	"testing"
	"time"

	"kstate/internal/realkafka"
	"kstate/model"
)

// TestRealControllerTakesSimulatedBrokers puts simulated brokers 11 to 13 beside
// a real broker that is the controller: whatever it asks of them and takes from
// them is what it would of real ones.
func TestRealControllerTakesSimulatedBrokers(t *testing.T) {
	realkafka.Require(t, realkafka.Versions[0]) // skips the whole test where there is nothing to run
	for _, version := range realkafka.Versions {
		t.Run(version, func(t *testing.T) { besideReal(t, version) })
	}
}

type real struct {
	t   *testing.T
	ctx context.Context
	k   *realkafka.Cluster
	c   *Cluster
}

func besideReal(t *testing.T, version string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	k := realkafka.StartCluster(t, realkafka.Require(t, version), realkafka.Options{Brokers: 1})
	release, err := model.ParseInterBrokerProtocol(version)
	if err != nil {
		t.Fatal(err)
	}
	r := &real{t, ctx, k, New(Config{ZooKeeper: []string{k.ZKAddr}, Chroot: k.Chroot, Observe: func(e Event) {
		if e.Kind == BadFrame || e.Kind == RegistrationFailed || e.Kind == ISRWritten && e.Err != nil {
			t.Logf("broker %d: %s: %v", e.Broker, e.Kind, e.Err)
		}
	}})}
	defer r.c.Close()
	for _, id := range []int32{11, 12, 13} {
		s := Settings{Release: release, InterBrokerProtocol: release, LogDirs: 2, SessionTimeout: 4 * time.Second, AwaitOldRegistration: true,
			CatchUp: 100 * time.Millisecond, ReplicaLagTime: 2 * time.Second, ISRCheck: 50 * time.Millisecond, ISRLinger: 100 * time.Millisecond}
		if _, err := r.c.Add(id, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	r.await("the metadata", func() bool {
		s := r.c.Broker(11).Snapshot()
		return s.Controller == 1 && slices.Equal(s.Alive, []int32{1, 11, 12, 13})
	})
	t0, t1 := model.TP("t", 0), model.TP("t", 1)
	k.CreateTopic("t", [][]int32{{11, 12, 13}, {12, 13, 11}}, nil)
	r.isr(t0, 11, 11, 12, 13)
	r.isr(t1, 12, 11, 12, 13)

	r.c.Broker(12).Kill()
	r.isr(t0, 11, 11, 13)
	r.isr(t1, 13, 11, 13)
	if err := r.c.Broker(12).Start(ctx); err != nil {
		t.Fatal(err)
	}
	r.isr(t0, 11, 11, 12, 13)
	r.isr(t1, 13, 11, 12, 13)

	if err := r.c.Broker(12).SetBehaviour(Behaviour{FetchSilent: true}); err != nil {
		t.Fatal(err)
	}
	r.isr(t0, 11, 11, 13)
	r.isr(t1, 13, 11, 13)
	if err := r.c.Broker(12).SetBehaviour(Behaviour{}); err != nil {
		t.Fatal(err)
	}
	r.isr(t1, 13, 11, 12, 13)
	r.isr(t0, 11, 11, 12, 13)

	if s, err := r.c.Broker(13).Stop(ctx); err != nil || !s.Controlled {
		t.Fatalf("controlled shutdown: %+v, %v", s, err)
	}
	r.isr(t0, 11, 11, 12)
	r.isr(t1, 12, 11, 12)
	if err := r.c.Broker(13).Start(ctx); err != nil {
		t.Fatal(err)
	}
	r.isr(t0, 11, 11, 12, 13)

	dir := r.hosted(11, t0).Dir
	if err := r.c.Broker(11).FailLogDir(dir); err != nil {
		t.Fatal(err)
	}
	r.isr(t0, 12, 12, 13)
	if h := r.hosted(11, t1); h.Offline {
		t.Error("the replica in the good directory is offline")
	}
	if err := r.c.Broker(11).RepairLogDir(dir); err != nil {
		t.Fatal(err)
	}
	r.c.Broker(11).Kill()
	if err := r.c.Broker(11).Start(ctx); err != nil {
		t.Fatal(err)
	}
	r.isr(t0, 12, 11, 12, 13)

	if err := k.DeleteTopic("t"); err != nil {
		t.Error(err)
	}
	r.await("the deletion", func() bool {
		for _, s := range r.c.Snapshots() {
			if len(s.Hosted) > 0 || slices.ContainsFunc(s.Cached, func(tp model.TopicPartition) bool { return tp.Topic == "t" }) {
				return false
			}
		}
		return true
	})
	for _, s := range r.c.Snapshots() {
		for _, d := range s.Dirs {
			if len(d.Logs) > 0 {
				t.Errorf("broker %d has the logs %v in %s", s.ID, d.Logs, d.Path)
			}
		}
	}
	r.gone(k.Chroot + model.TopicPath("t"))
}

// gone waits until a znode is not there.
func (r *real) gone(path string) {
	r.t.Helper()
	exists, _, change, err := r.k.Conn.ExistsW(path)
	for ; exists && err == nil; exists, _, change, err = r.k.Conn.ExistsW(path) {
		select {
		case <-change:
		case <-r.ctx.Done():
			r.t.Fatalf("%s is still there", path)
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) await(what string, cond func() bool) {
	r.t.Helper()
	if err := r.c.Await(r.ctx, cond); err != nil {
		r.t.Fatalf("waiting for %s: %v\n%+v", what, err, r.c.Snapshots())
	}
}

func (r *real) hosted(id int32, tp model.TopicPartition) Hosted {
	h, _ := r.c.Broker(id).Snapshot().Find(tp)
	return h
}

// isr waits until the leader and the state znode agree on the ISR.
func (r *real) isr(tp model.TopicPartition, leader int32, isr ...int32) {
	r.t.Helper()
	r.await(tp.String(), func() bool {
		h := r.hosted(leader, tp)
		slices.Sort(h.ISR)
		return h.Leader == leader && slices.Equal(h.ISR, isr) && h.Pending == nil
	})
	path := r.k.Chroot + model.TopicPartitionStatePath(tp)
	data, stat, err := r.k.Conn.Get(path)
	if err != nil {
		r.t.Fatal(err)
	}
	l, ok, err := model.DecodePartitionState(path, data)
	slices.Sort(l.ISR)
	if !ok || err != nil || l.Leader != leader || !slices.Equal(l.ISR, isr) || stat.Version != r.hosted(leader, tp).PartitionEpoch {
		r.t.Errorf("%s version %d: %s: %v; the leader has %+v", path, stat.Version, data, err, r.hosted(leader, tp))
	}
}
