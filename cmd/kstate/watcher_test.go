package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/internal/observe"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// watcher is an observer whose frames are looked at.
type watcher struct {
	t    testing.TB
	conn *zkwatch.Conn
	o    *observe.Observer

	mu      sync.Mutex
	latest  model.Frame
	notices []string // all that were ever in a frame
	seen    uint64
	next    chan struct{} // closed with the next frame
}

// watch observes a cluster until the end of the test.
func watch(t testing.TB, servers string, sessionTimeout time.Duration) *watcher {
	t.Helper()
	return watchAs(t, servers, sessionTimeout, "")
}

// watchAs observes with an identity of the digest scheme.
func watchAs(t testing.TB, servers string, sessionTimeout time.Duration, digest string) *watcher {
	t.Helper()
	conn, err := zkwatch.Dial(context.Background(), zkwatch.Options{Servers: servers, SessionTimeout: sessionTimeout, Digest: digest, Gate: zkwatch.ReadOnly()})
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{t: t, conn: conn, next: make(chan struct{}),
		o: observe.New(observe.Options{Conn: conn, Source: servers, Config: tree.DefaultConfig()})}
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() { failed <- w.o.Run(ctx) }()
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for f := range w.o.Frames() {
			w.take(f)
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-failed; err != nil {
			t.Errorf("the observer ended: %v", err)
		}
		<-taken
		conn.Close()
	})
	return w
}

func (w *watcher) take(f model.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = f
	for _, n := range f.Notices {
		if n.Seq > w.seen {
			w.seen = n.Seq
			w.notices = append(w.notices, n.Text)
		}
	}
	close(w.next)
	w.next = make(chan struct{})
}

func (w *watcher) frame() model.Frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest
}

func (w *watcher) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.notices, "\n")
}

// await waits for a frame of which the condition holds.
func (w *watcher) await(limit time.Duration, what string, holds func(f *model.Frame) bool) {
	w.t.Helper()
	deadline := time.After(limit)
	for {
		w.mu.Lock()
		f, next := w.latest, w.next
		w.mu.Unlock()
		if holds(&f) {
			return
		}
		select {
		case <-next:
		case <-deadline:
			w.t.Fatalf("no frame within %v in which %s; the last: %s, %+v, notices:\n%s", limit, what, pictureOf(&f), f.Connection, w.said())
		}
	}
}

// synced: all was read, and nothing is missed.
func synced(f *model.Frame) bool { return f.Connection.Connected && f.Progress == nil }

// picture is what a dashboard shows of a cluster, as a text that can be compared.
type picture struct {
	Partitions struct{ Online, Offline, New int }
	Replicas   struct{ Online, Offline int }
	Brokers    string // ids of the registered ones
	Queued     string // topics
}

func (p *picture) String() string { return fmt.Sprintf("%+v", *p) }

// pictureOf is the picture in a frame.
func pictureOf(f *model.Frame) *picture {
	p := &picture{}
	v := f.View
	if v == nil {
		return p
	}
	p.Partitions.Online, p.Partitions.Offline, p.Partitions.New = v.PartitionCounts[model.OnlinePartition], v.PartitionCounts[model.OfflinePartition], v.PartitionCounts[model.NewPartition]
	p.Replicas.Online, p.Replicas.Offline = v.ReplicaCounts[model.OnlineReplica], v.ReplicaCounts[model.OfflineReplica]
	var ids []string
	for i := range f.Brokers {
		if b := &f.Brokers[i]; b.State == tree.BrokerLive {
			ids = append(ids, fmt.Sprint(b.ID))
		}
	}
	p.Brokers, p.Queued = strings.Join(ids, " "), strings.Join(v.TopicsToBeDeleted.Slice(), " ")
	return p
}
