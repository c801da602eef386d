package zkwatch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
)

// picture is what a receiver of changes has.
type picture struct {
	t      testing.TB
	m      *Mirror
	znodes map[string]string // path: data, version and czxid, or the error
	log    []string          // changes since the last look, without znodes of the first picture
	synced bool
	zxid   int64
}

func newPicture(t testing.TB, m *Mirror) *picture {
	return &picture{t: t, m: m, znodes: map[string]string{}}
}

func (p *picture) apply(ch Change) {
	switch {
	case ch.Mark == Synced:
		p.synced, p.zxid = true, ch.Zxid
		p.log = append(p.log, "synced")
	case ch.Mark == Lost:
		p.synced = false
		p.log = append(p.log, "lost")
	case ch.Deleted:
		delete(p.znodes, ch.Path)
		p.log = append(p.log, "- "+ch.Path)
	case ch.Err != nil:
		p.znodes[ch.Path] = ch.Err.Error()
		p.log = append(p.log, "! "+ch.Path)
	default:
		p.znodes[ch.Path] = shown(ch.Data, ch.Stat.Version, ch.Stat.Czxid)
		p.log = append(p.log, "+ "+ch.Path)
	}
}

func shown(data []byte, version int32, czxid int64) string {
	if data == nil {
		return fmt.Sprintf("null v%d c%d", version, czxid)
	}
	return fmt.Sprintf("%q v%d c%d", data, version, czxid)
}

// until receives until the condition holds.
func (p *picture) until(what string, holds func() bool) {
	p.t.Helper()
	deadline := time.After(limit)
	for !holds() {
		select {
		case list, ok := <-p.m.Changes():
			if !ok {
				p.t.Fatalf("the channel was closed while waiting for %s", what)
			}
			for _, ch := range list {
				p.apply(ch)
			}
		case <-deadline:
			p.t.Fatalf("waited %v for %s; last changes %q", limit, what, p.log[max(0, len(p.log)-20):])
		}
	}
}

func (p *picture) untilSynced() {
	p.t.Helper()
	p.until("Synced", func() bool { return p.synced })
}

// untilSame receives until the picture is the store's tree, and is synced.
func (p *picture) untilSame(store *zkserver.Store, chroot string, roots []string) {
	p.t.Helper()
	defer func() {
		p.t.Helper()
		if !p.t.Failed() {
			return
		}
		want := treeOf(store, chroot, roots)
		for path, v := range want {
			if p.znodes[path] != v {
				p.t.Logf("%s is %q, want %q; known %+v, generation %d", path, p.znodes[path], v, p.m.known[path], p.m.gen)
			}
		}
		for path, v := range p.znodes {
			if want[path] == "" {
				p.t.Logf("%s is %q and should be gone", path, v)
			}
		}
	}()
	p.until("the same tree", func() bool { return p.synced && p.equals(store, chroot, roots) })
}

// equals tells whether the picture is the store's tree below the roots.
func (p *picture) equals(store *zkserver.Store, chroot string, roots []string) bool {
	return maps.Equal(p.znodes, treeOf(store, chroot, roots))
}

func treeOf(store *zkserver.Store, chroot string, roots []string) map[string]string {
	want := map[string]string{}
	for _, root := range roots {
		store.Walk(chroot+root, func(path string, data []byte, st zkserver.Stat) bool {
			want[strings.TrimPrefix(path, chroot)] = shown(data, st.Version, st.Czxid)
			return true
		})
	}
	return want
}

// ways are the two ways to follow a server: with and without multiRead and
// addWatch.
func ways(t *testing.T, f func(t *testing.T, l *lab)) {
	t.Run("recursive", func(t *testing.T) { f(t, newLab(t)) })
	t.Run("one-shot", func(t *testing.T) {
		l := newLab(t)
		l.onRequest(oldServer)
		f(t, l)
	})
}

func oldServer(r zkserver.Request) zkserver.Verdict {
	if r.Op == zkserver.OpMultiRead || r.Op == zkserver.OpAddWatch {
		return zkserver.Verdict{Code: zkserver.Unimplemented}
	}
	return zkserver.Verdict{}
}

func seedCluster(l *lab, chroot string) {
	for _, z := range []string{
		"/controller_epoch=1", "/controller={}", "/cluster/id={}", "/brokers/ids/1=b1", "/brokers/ids/2=b2", "/brokers/seqid", "/admin/delete_topics", "/isr_change_notification",
		"/config/topics/a={}", "/config/users/u=secret", "/consumers/g",
	} {
		l.seed(chroot + z)
	}
	for _, topic := range []string{"a", "b"} {
		l.seed(chroot + "/brokers/topics/" + topic + "=assignment")
		for i := range 3 {
			l.seed(fmt.Sprintf("%s/brokers/topics/%s/partitions/%d/state=s%d", chroot, topic, i, i))
		}
	}
}

func startMirror(t testing.TB, c *Conn, opt MirrorOptions) *picture {
	t.Helper()
	m, err := c.Mirror(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return newPicture(t, m)
}

func TestMirrorFollows(t *testing.T) {
	ways(t, func(t *testing.T, l *lab) {
		seedCluster(l, "/k")
		p := startMirror(t, l.connect(Options{Servers: "lab/k"}), MirrorOptions{})
		p.untilSynced()
		if !p.equals(l.store, "/k", DefaultPaths()) {
			t.Fatalf("picture\n%v, want\n%v", p.znodes, treeOf(l.store, "/k", DefaultPaths()))
		}
		if p.zxid != l.store.Zxid() {
			t.Errorf("synced at zxid %d, the store is at %d", p.zxid, l.store.Zxid())
		}
		if _, there := p.znodes["/config/users/u"]; there {
			t.Error("it reads what it was not asked for")
		}
		p.log = nil
		l.set("/k/brokers/topics/a/partitions/1/state", "new")
		l.remove("/k/controller")
		l.seed("/k/controller=again", "/k/feature={}", "/k/brokers/topics/c=x", "/k/brokers/topics/c/partitions/0/state=s", "/k/admin/delete_topics/b", "/k/config/topics/b={}")
		l.set("/k/controller_epoch", "2")
		for i := range 3 {
			l.remove(fmt.Sprintf("/k/brokers/topics/b/partitions/%d/state", i))
			l.remove(fmt.Sprintf("/k/brokers/topics/b/partitions/%d", i))
		}
		l.remove("/k/brokers/topics/b/partitions")
		l.remove("/k/brokers/topics/b")
		l.remove("/k/brokers/ids/2")
		p.until("the changes", func() bool { return p.equals(l.store, "/k", DefaultPaths()) })
		l.set("/k/config/users/u", "x")
		l.set("/k/feature", "y")
		p.until("a change of a znode that came later", func() bool { return strings.Contains(p.znodes["/feature"], "v1") })
		if slices.Contains(p.log, "lost") || slices.Contains(p.log, "synced") {
			t.Errorf("log %q", p.log)
		}
	})
}

// Random changes, while the picture is read and after; with cuts and expiries.
func TestMirrorEndsWithTheSameTree(t *testing.T) {
	ways(t, func(t *testing.T, l *lab) {
		rng := rand.New(rand.NewPCG(1, 2))
		seedCluster(l, "")
		change := func() {
			topic := fmt.Sprintf("/brokers/topics/r%d", rng.IntN(8))
			part := fmt.Sprintf("%s/partitions/%d", topic, rng.IntN(3))
			paths := []string{topic, topic + "/partitions", part, part + "/state", "/controller", "/feature", "/admin/delete_topics/x", "/brokers/ids/7"}
			path := paths[rng.IntN(len(paths))]
			switch rng.IntN(3) {
			case 0:
				l.store.Apply(0, zkserver.Create(path, fmt.Appendf(nil, "%d", rng.IntN(99)), 0))
			case 1:
				// What is only a parent has no data that anybody would change.
				if data, _ := holds(path); data {
					l.store.Apply(0, zkserver.Set(path, fmt.Appendf(nil, "%d", rng.IntN(99)), -1))
				}
			default:
				l.store.Apply(0, zkserver.Delete(path, -1))
			}
		}
		c := l.connect(Options{})
		p := startMirror(t, c, MirrorOptions{})
		for round := range 12 {
			for range 200 {
				change()
			}
			switch round % 4 {
			case 1:
				l.server.Cut(c.State().SessionID)
			case 3:
				l.store.Expire(c.State().SessionID)
			}
			for range 50 {
				change()
			}
			p.untilSame(l.store, "", DefaultPaths())
		}
	})
}

// After a lost connection only what differs is told, between Lost and Synced.
func TestMirrorResyncs(t *testing.T) {
	ways(t, func(t *testing.T, l *lab) {
		for name, end := range map[string]func(int64){
			"same session": func(id int64) { l.server.HealSession(id) },
			"new session":  func(id int64) { l.store.Expire(id); l.server.HealSession(id) },
		} {
			t.Run(name, func(t *testing.T) {
				chroot := "/" + strings.ReplaceAll(name, " ", "_")
				seedCluster(l, chroot)
				c := l.connect(Options{Servers: "lab" + chroot, SessionTimeout: 2 * time.Second})
				p := startMirror(t, c, MirrorOptions{})
				p.untilSynced()
				p.log = nil
				id := c.State().SessionID
				l.server.PartitionSession(id)
				p.until("Lost", func() bool { return slices.Contains(p.log, "lost") })
				l.set(chroot+"/brokers/topics/a", "changed")
				l.remove(chroot + "/brokers/ids/1")
				l.remove(chroot + "/controller")
				l.seed(chroot + "/controller={}")
				l.seed(chroot + "/brokers/ids/3=b3")
				end(id)
				p.untilSynced()
				p.until("the same tree", func() bool { return p.equals(l.store, chroot, DefaultPaths()) })
				changes := p.log
				slices.Sort(changes)
				changes = slices.DeleteFunc(slices.Compact(changes), func(s string) bool { return s == "- /controller" })
				want := []string{"+ /brokers/ids/3", "+ /brokers/topics/a", "+ /controller", "- /brokers/ids/1", "lost", "synced"}
				if !slices.Equal(changes, want) {
					t.Errorf("changes %q, want %q", changes, want)
				}
			})
		}
	})
}

func TestMirrorShowsWhatItMayNotRead(t *testing.T) {
	ways(t, func(t *testing.T, l *lab) {
		seedCluster(l, "")
		owner := []zkserver.ACL{{Perms: zkserver.PermAll, Scheme: "digest", ID: zkserver.Digest("a:b")}}
		for _, path := range []string{"/brokers/topics/hidden", "/brokers/topics/b/partitions/9"} {
			if r, _ := l.store.Apply(0, zkserver.Op{Kind: zkserver.OpCreate, Path: path, Data: []byte("x"), ACL: owner}); r.Code != 0 {
				t.Fatal(r.Code)
			}
		}
		p := startMirror(t, l.connect(Options{Servers: "lab"}), MirrorOptions{})
		p.untilSynced()
		for _, path := range []string{"/brokers/topics/hidden", "/brokers/topics/b/partitions/9"} {
			if p.znodes[path] != "ZooKeeper get "+path+": NOAUTH" {
				t.Errorf("%s: %q", path, p.znodes[path])
			}
		}
	})
}

// A receiver that does not receive loses nothing but what is out of date.
func TestSlowReceiverGetsTheNewest(t *testing.T) {
	stop := make(chan struct{})
	d := newDelivery(stop)
	for i := range 10000 {
		d.post(Change{Path: fmt.Sprintf("/%d", i%10), Zxid: int64(i)})
		if i == 5000 {
			d.post(Change{Mark: Lost})
			d.post(Change{Mark: Synced})
		}
	}
	go d.run()
	var marks []Mark
	last := map[string]int64{}
	var order int64
	for _, ch := range <-d.out {
		if ch.Mark != NoMark {
			marks = append(marks, ch.Mark)
			continue
		}
		if ch.Zxid < order {
			t.Errorf("zxid %d after %d", ch.Zxid, order)
		}
		order = ch.Zxid
		last[ch.Path] = ch.Zxid
	}
	for i := range 10 {
		if got := last[fmt.Sprintf("/%d", i)]; got != int64(9990+i) {
			t.Errorf("/%d at %d", i, got)
		}
	}
	if !slices.Equal(marks, []Mark{Lost, Synced}) {
		t.Errorf("marks %v", marks)
	}
	d.post(Change{Path: "/0", Zxid: 20000})
	if list := <-d.out; len(list) != 1 || list[0].Zxid != 20000 {
		t.Errorf("then %v", list)
	}
	close(stop)
	for range d.out {
	}
}

func TestMirrorNeedsItsOwnConnection(t *testing.T) {
	l := newLab(t)
	c, _ := controllerConn(l, Options{})
	if _, err := c.Mirror(MirrorOptions{}); err == nil || !strings.Contains(err.Error(), "OnInput") {
		t.Errorf("error %v", err)
	}
	o := l.connect(Options{})
	startMirror(t, o, MirrorOptions{Paths: []string{"/controller"}}).untilSynced()
	if _, err := o.Mirror(MirrorOptions{}); err == nil {
		t.Error("a second mirror")
	}
	if _, err := l.connect(Options{}).Mirror(MirrorOptions{Paths: []string{"/a//b"}}); err == nil {
		t.Error("a mirror of no path")
	}
	// It does not take watches of calls: nobody would be told.
	l.asked()
	o.Do(call(watched(get("/controller")), watched(exists("/controller"))))
	if n := o.session().oneShots(); n != 0 {
		t.Errorf("%d one-shot watches", n)
	}
}

func TestMirrorReadsFewTimes(t *testing.T) {
	l := newLab(t)
	const topics, partitions = 50, 20
	for i := range topics {
		l.seed(fmt.Sprintf("/brokers/topics/t%d=a", i))
		for j := range partitions {
			l.seed(fmt.Sprintf("/brokers/topics/t%d/partitions/%d/state=s", i, j))
		}
	}
	c := l.connect(Options{})
	l.asked()
	var last Progress
	p := startMirror(t, c, MirrorOptions{OnProgress: func(pr Progress) {
		if pr.Read > pr.Found || pr.Read < last.Read {
			t.Errorf("progress %+v after %+v", pr, last)
		}
		last = pr
	}})
	p.untilSynced()
	znodes := len(p.znodes)
	if znodes != topics*(2+2*partitions)+2 {
		t.Errorf("%d znodes", znodes)
	}
	reads, requests := 0, l.asked()
	for _, line := range requests {
		if strings.HasPrefix(line, "multiRead") {
			reads += strings.Count(line, " ")
		}
	}
	if max := znodes + topics + 50; reads > max {
		t.Errorf("%d reads of %d znodes in %d topics", reads, znodes, topics)
	}
	if len(requests) > 60 {
		t.Errorf("%d requests", len(requests))
	}
}

func TestReadRateBounds(t *testing.T) {
	p := pace{perSecond: 1000}
	if d := p.take(500); d != 0 {
		t.Errorf("the first batch waits %v", d)
	}
	if d := p.take(1000); d < 400*time.Millisecond || d > 500*time.Millisecond {
		t.Errorf("the second batch waits %v, want about 0.5 s", d)
	}
	if d := p.take(1); d < 1400*time.Millisecond {
		t.Errorf("the third batch waits %v, want about 1.5 s", d)
	}
	l := newLab(t)
	seedCluster(l, "")
	c := l.connect(Options{ReadRate: 200})
	began := time.Now()
	startMirror(t, c, MirrorOptions{}).untilSynced()
	if n := c.pace.free.Sub(began); n < 150*time.Millisecond {
		t.Errorf("the picture was paid with %v", n)
	}
}
