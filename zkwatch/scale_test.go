package zkwatch

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// loadTopics fills a lab with topics.
func loadTopics(l *lab, topics, partitions int) (znodes int) {
	list := []zkserver.Znode{{Path: "/brokers"}, {Path: "/brokers/topics"}, {Path: "/controller_epoch", Data: []byte("1")}}
	for i := range topics {
		topic := fmt.Sprintf("/brokers/topics/topic-%04d", i)
		list = append(list, zkserver.Znode{Path: topic, Data: []byte(strings.Repeat("x", 30*partitions))}, zkserver.Znode{Path: topic + "/partitions"})
		for j := range partitions {
			p := fmt.Sprintf("%s/partitions/%d", topic, j)
			list = append(list, zkserver.Znode{Path: p}, zkserver.Znode{Path: p + "/state", Data: []byte(`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`)})
		}
	}
	if err := l.store.Load(list); err != nil {
		l.t.Fatal(err)
	}
	return len(list) - 2 // those at and below /brokers/topics
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return int64(ms.HeapAlloc)
}

// A mirror keeps no payload.
func TestMirrorHoldsLittle(t *testing.T) {
	l := newLab(t)
	znodes := loadTopics(l, 100, 100)
	c := l.connect(Options{})
	l.onRequest(nil)
	before := heap()
	p := startMirror(t, c, MirrorOptions{Paths: []string{model.TopicsPath}})
	for synced, n := false, 0; !synced; {
		for _, ch := range <-p.m.Changes() {
			n++
			synced = synced || ch.Mark == Synced
		}
		if synced && n != znodes+1 {
			t.Errorf("%d changes for %d znodes", n, znodes)
		}
	}
	l.asked()
	per := (heap() - before) / int64(znodes)
	t.Logf("%d bytes of heap per znode", per)
	if per > 300 {
		t.Errorf("%d bytes of heap per znode", per)
	}
	runtime.KeepAlive(p)
}

// An observer leaves nothing in the transaction log but its session.
func TestObserverWritesNothing(t *testing.T) {
	ways(t, func(t *testing.T, l *lab) {
		seedCluster(l, "")
		l.mu.Lock()
		l.txns = nil
		l.mu.Unlock()
		c := l.connect(Options{})
		startMirror(t, c, MirrorOptions{}).untilSynced()
		if _, err := c.ReadTree(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		c.Do(call(get("/controller"), create("/x", ""), set("/controller", "", -1), remove("/controller", -1), children("/brokers")))
		c.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, x := range l.txns {
			if x.Kind != zkserver.TxnCreateSession && x.Kind != zkserver.TxnCloseSession {
				t.Errorf("transaction %+v", x)
			}
		}
		if len(l.txns) != 2 {
			t.Errorf("%d transactions, want the begin and the end of a session", len(l.txns))
		}
	})
}

func BenchmarkDo(b *testing.B) {
	l := newLab(b)
	loadTopics(l, 1, 1000)
	c := l.connect(Options{Gate: Controller()})
	l.onRequest(nil)
	path := func(i int) string { return fmt.Sprintf("/brokers/topics/topic-0000/partitions/%d/state", i%1000) }
	b.Run("one get", func(b *testing.B) {
		for i := range b.N {
			c.Do(call(get(path(i))))
		}
	})
	for name, op := range map[string]func(int) model.Op{
		"gets": func(i int) model.Op { return get(path(i)) }, "exists": func(i int) model.Op { return exists(path(i)) },
		"fenced sets": func(i int) model.Op { return set(path(i), "x", -1) },
	} {
		b.Run(name, func(b *testing.B) {
			k := &model.Call{Fenced: true}
			for i := range b.N {
				k.Ops = append(k.Ops, op(i))
			}
			b.ResetTimer()
			c.Do(k)
		})
	}
}

func BenchmarkMirror100k(b *testing.B) {
	l := newLab(b)
	znodes := loadTopics(l, 1000, 100)
	c := l.connect(Options{})
	for b.Loop() {
		measureScale(b, c, znodes)
	}
}

// measureScale compares a mirror's first picture with a bare multiRead.
func measureScale(t testing.TB, c *Conn, znodes int) {
	t.Helper()
	// Once to warm the server up, and to know the paths.
	tree, err := c.ReadTree(context.Background(), []string{model.TopicsPath}, nil)
	must(t, err)
	if len(tree) != znodes {
		t.Fatalf("%d znodes, want %d", len(tree), znodes)
	}
	k := &model.Call{Purpose: "bare multiRead"}
	for _, n := range tree {
		k.Ops = append(k.Ops, get(n.Path))
	}
	bare, whole := time.Hour, time.Hour
	for range 3 {
		began := time.Now()
		c.Do(k)
		bare = min(bare, time.Since(began))
		m, err := c.Mirror(MirrorOptions{Paths: []string{model.TopicsPath}})
		must(t, err)
		began = time.Now()
		n := 0
	receive:
		for list := range m.Changes() {
			for _, ch := range list {
				if ch.Mark == Synced {
					break receive
				}
				n++
			}
		}
		whole = min(whole, time.Since(began))
		m.Close()
		if n != znodes {
			t.Fatalf("%d changes, want %d", n, znodes)
		}
	}
	t.Logf("%d znodes: bare multiRead %v, whole picture %v (%.1f times)", znodes, bare, whole, float64(whole)/float64(bare))
	if whole > 5*bare {
		t.Errorf("the whole picture takes %v, more than five times the %v of a bare multiRead", whole, bare)
	}
}
