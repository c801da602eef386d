package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/realkafka"
	"kstate/model"
)

// realTree is a real ZooKeeper with the tree of a recording in it: a cluster
// whose brokers the test plays.
type realTree struct {
	t    *testing.T
	zk   *realkafka.ZooKeeper
	conn *zk.Conn
	addr string // with chroot
}

const realChroot = "/kafka"

// plant starts a ZooKeeper of a Kafka release and puts the tree of a step of the
// tour into it. The ephemeral znodes are those of the test's session.
func plant(t *testing.T, version string, step int) *realTree {
	t.Helper()
	server := realkafka.StartZooKeeper(t, realkafka.Require(t, version))
	r := &realTree{t: t, zk: server, conn: realkafka.Dial(t, server.Addr), addr: server.Addr + realChroot}
	if err := r.conn.AddAuth("digest", []byte("kafka:secret")); err != nil {
		t.Fatal(err)
	}
	tree := realkafka.Golden(t, "3.9.2")[step].Tree
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		full := realChroot
		if path != "/" {
			full += path
		}
		z := tree[path]
		var flags int32
		if z.Ephemeral {
			flags = zk.FlagEphemeral
		}
		if _, err := r.conn.Create(full, []byte(z.Data), flags, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatalf("create %s: %v", full, err)
		}
	}
	return r
}

func (r *realTree) create(path, data string) {
	r.t.Helper()
	if _, err := r.conn.Create(realChroot+path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
		r.t.Fatalf("create %s: %v", path, err)
	}
}

func (r *realTree) set(path, data string) {
	r.t.Helper()
	if _, err := r.conn.Set(realChroot+path, []byte(data), -1); err != nil {
		r.t.Fatalf("set %s: %v", path, err)
	}
}

func (r *realTree) remove(path string) {
	r.t.Helper()
	if err := r.conn.Delete(realChroot+path, -1); err != nil {
		r.t.Fatalf("delete %s: %v", path, err)
	}
}

// close lets only the identity kafka:secret read a znode.
func (r *realTree) close(path string) {
	r.t.Helper()
	if _, err := r.conn.SetACL(realChroot+path, zk.DigestACL(zk.PermAll, "kafka", "secret"), -1); err != nil {
		r.t.Fatalf("setACL %s: %v", path, err)
	}
}

// picture is what must be shown of the tree now.
func (r *realTree) picture() string {
	r.t.Helper()
	s, err := realkafka.Snapshot(r.conn, realChroot)
	if err != nil {
		r.t.Fatal(err)
	}
	p := pictureOfTree(&s)
	return p.String()
}

// shown waits until the observer shows what the tree is now.
func (r *realTree) shown(w *watcher) {
	r.t.Helper()
	want := r.picture()
	w.await(lag, want, func(f *model.Frame) bool { return pictureOf(f).String() == want })
}

// ZooKeeper 3.8 has recursive watches and multiRead, 3.5 has neither: there the
// one-shot watches and single reads of the fallback do the same.
func TestRealObserveAcrossZooKeeperReleases(t *testing.T) {
	for _, c := range []struct {
		kafka     string
		multiRead bool
	}{
		{"3.9.2", true},  // ZooKeeper 3.8.4
		{"2.4.1", false}, // ZooKeeper 3.5.7
	} {
		t.Run("ZooKeeper of Kafka "+c.kafka, func(t *testing.T) {
			r := plant(t, c.kafka, 0)
			w := watch(t, r.addr, 4*time.Second)
			w.await(10*time.Second, "the whole tree was read", synced)
			if w.conn.State().MultiRead != c.multiRead {
				t.Errorf("multiRead: %v, want %v", w.conn.State().MultiRead, c.multiRead)
			}
			r.shown(w)
			followsChanges(t, r, w)
			namesWhatCannotBeRead(t, r, w)
			survivesAbsence(t, r, w)
		})
	}
}

func followsChanges(t *testing.T, r *realTree, w *watcher) {
	r.create("/brokers/topics/late", `{"partitions":{"0":[1,2],"1":[2,9]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","adding_replicas":{},"removing_replicas":{},"version":3}`)
	r.shown(w)
	for _, p := range []string{"", "/0", "/1"} {
		r.create("/brokers/topics/late/partitions"+p, "")
	}
	r.create("/brokers/topics/late/partitions/0/state", `{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}`)
	r.create("/brokers/topics/late/partitions/1/state", `{"controller_epoch":1,"leader":9,"version":1,"leader_epoch":0,"isr":[9]}`)
	r.shown(w)
	r.remove("/brokers/ids/2")
	r.shown(w)
	r.create("/admin/delete_topics/late", "")
	r.create("/admin/delete_topics/orders", "")
	r.shown(w)
	r.set("/brokers/topics/late/partitions/1/state", `{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":1,"isr":[1]}`)
	r.shown(w)
	for _, p := range []string{"/brokers/topics/late/partitions/0/state", "/brokers/topics/late/partitions/1/state", "/brokers/topics/late/partitions/0",
		"/brokers/topics/late/partitions/1", "/brokers/topics/late/partitions", "/brokers/topics/late", "/admin/delete_topics/late"} {
		r.remove(p)
	}
	r.shown(w)
	sameAsState(t, r, w)
}

// sameAsState: the command counts what the dashboard counts.
func sameAsState(t *testing.T, r *realTree, w *watcher) {
	t.Helper()
	o := kstate(t, "state", "--json", "--zookeeper", r.addr)
	f := w.frame()
	p := pictureOf(&f)
	o.check(t, exitOK, fmt.Sprintf(`"OnlinePartition":%d,"OfflinePartition":%d,"NewPartition":%d`, p.Partitions.Online, p.Partitions.Offline, p.Partitions.New), "")
}

// namesWhatCannotBeRead: malformed and closed znodes, live and by the commands.
func namesWhatCannotBeRead(t *testing.T, r *realTree, w *watcher) {
	notice := func(words ...string) {
		t.Helper()
		w.await(lag, fmt.Sprint("a notice tells of ", words), func(*model.Frame) bool { return holding(words...)(w.said()) })
	}
	r.set("/brokers/topics/clicks/partitions/1/state", `{"leader":1}`)
	notice("/brokers/topics/clicks/partitions/1/state", "leader_epoch")
	r.create("/brokers/topics/broken", "{oops")
	notice("/brokers/topics/broken", "{oops")
	for _, args := range []string{"state --json", "state", "topics list", "topics list --json", "topics describe", "topics describe --json"} {
		o := kstate(t, append(strings.Fields(args), "--zookeeper", r.addr)...)
		o.check(t, exitOK, "clicks", "kstate: znode /brokers/topics/broken: ")
		o.check(t, exitOK, "", "kstate: znode /brokers/topics/clicks/partitions/1/state: ")
	}
	kstate(t, "state", "--json", "--zookeeper", r.addr).check(t, exitOK, `"topic": "clicks", "partition": 1, "state": "unreadable"`, "")
	w.await(lag, "the partition is unreadable", func(f *model.Frame) bool {
		topics, partitions := f.View.UnreadableCounts()
		return topics == 1 && partitions == 1
	})

	r.close("/brokers/topics/clicks/partitions/0/state")
	kstate(t, "state", "--zookeeper", r.addr).check(t, exitOK, "clicks-0", "kstate: znode /brokers/topics/clicks/partitions/0/state: reading it failed: NOAUTH")
	kstate(t, "state", "--json", "--zookeeper", r.addr, "--zookeeper-digest", "kafka:secret").check(t, exitOK,
		`"topic": "clicks", "partition": 0, "state": "OnlinePartition"`, "")
	closed := watch(t, r.addr, 4*time.Second)
	closed.await(10*time.Second, "the whole tree was read", synced)
	closed.await(lag, "a notice tells of it", func(*model.Frame) bool { return strings.Contains(closed.said(), "3 znodes cannot be read") })
	for _, path := range []string{"/brokers/ids/1", "/brokers/ids/3", "/brokers/ids", "/brokers/topics", "/brokers"} {
		r.close(path)
	}
	for _, args := range []string{"state --json", "topics list", "topics describe", "observe --headless"} {
		o := kstate(t, append(strings.Fields(args), "--zookeeper", r.addr)...)
		if o.check(t, exitUnknown, "", "NOAUTH"); o.out != "" {
			t.Errorf("%s answers although it may read nothing:\n%s", args, o.out)
		}
	}
	kstate(t, "state", "--zookeeper", r.addr, "--zookeeper-digest", "kafka:secret").check(t, exitOK, "clicks-0", "")
}

// survivesAbsence: ZooKeeper stands still, goes, comes back.
func survivesAbsence(t *testing.T, r *realTree, w *watcher) {
	digest := watchAs(t, r.addr, 4*time.Second, "kafka:secret")
	digest.await(10*time.Second, "the whole tree was read", synced)
	p := openPane(t, 80, 24, "observe", "--zookeeper", r.addr, "--zookeeper-digest", "kafka:secret", "--zookeeper-timeout", "4000")
	p.await(10*time.Second, "the dashboard", holding("OBSERVE", "READ-ONLY", "connected"))
	p.keys("2", "Enter") // inspect a topic: that must not hang
	p.await(5*time.Second, "a topic's znode", holding("/brokers/topics/", "czxid"))

	before := time.Now()
	r.zk.Pause()
	digest.await(10*time.Second, "it is stale", func(f *model.Frame) bool { return !f.Connection.Connected })
	f := digest.frame()
	if since := time.UnixMilli(f.Connection.Since); since.Before(before) || since.After(time.Now()) || f.Connection.Text == "" {
		t.Errorf("stale since %v (%q), paused at %v", since, f.Connection.Text, before)
	}
	p.await(10*time.Second, "that it is stale", holding("STALE", "no connection"))
	p.keys("4", "Enter") // looking elsewhere must not hang either
	p.await(5*time.Second, "the brokers' view", holding("Inspector", "broker"))
	r.zk.Resume()
	digest.await(20*time.Second, "it is up to date again", synced)
	p.await(20*time.Second, "that it is connected", func(s string) bool { return strings.Contains(s, "connected") && !strings.Contains(s, "STALE") })
	r.set("/controller_epoch", "7")
	digest.await(lag, "the change after the pause is shown", func(f *model.Frame) bool { return f.Controller.Epoch == 7 })

	r.zk.Stop()
	digest.await(10*time.Second, "it is stale", func(f *model.Frame) bool { return !f.Connection.Connected })
	o := kstate(t, "state", "--zookeeper", r.addr, "--zookeeper-timeout", "500")
	o.check(t, exitUnknown, "", r.zk.Addr)
	r.zk.Start()
	if _, err := realkafka.Dial(t, r.zk.Addr).Create(realChroot+"/admin/delete_topics/unclean", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	digest.await(20*time.Second, "it is up to date again", synced)
	digest.await(lag, "what came while it was away is shown", func(f *model.Frame) bool { return f.View.IsQueued("unclean") })
	p.await(20*time.Second, "that it is connected", func(s string) bool { return strings.Contains(s, "connected") && !strings.Contains(s, "STALE") })
}

// A wrong chroot is told by every command, with the right ones; observe does not
// show an empty cluster.
func TestRealWrongPlaces(t *testing.T) {
	r := plant(t, "3.9.2", 0)
	addr := r.zk.Addr
	if _, err := r.conn.Create("/empty", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"", "/brokers", "/brokers/ids", "/brokers/topics"} {
		if _, err := r.conn.Create("/fresh"+p, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"state --json", "topics list", "topics describe", "observe --headless", "export --out -"} {
		for _, chroot := range []string{"", "/empty", "/kafka/brokers", "/nowhere"} {
			o := kstate(t, append(strings.Fields(args), "--zookeeper", addr+chroot)...)
			if o.check(t, exitError, "", "/kafka"); o.out != "" {
				t.Errorf("%s of %q answers:\n%s", args, chroot, o.out)
			}
		}
		if !strings.HasPrefix(args, "export") {
			kstate(t, append(strings.Fields(args), "--zookeeper", addr+"/fresh")...).check(t, exitError, "", "Kafka trees exist under /kafka")
		}
		kstate(t, append(strings.Fields(args), "--zookeeper", "127.0.0.1:1", "--zookeeper-timeout", "300")...).check(t, exitUnknown, "", "127.0.0.1:1")
	}
	p := openPane(t, 80, 24, "observe", "--zookeeper", addr+"/empty")
	p.await(10*time.Second, "why it ended", holding("/empty/brokers/ids is not there", "/kafka"))
	small := openPane(t, 40, 10, "observe", "--zookeeper", addr+"/kafka")
	small.await(10*time.Second, "that it is too small", holding("too small", "40x10"))
}

// ZooKeeper's own log shows nothing of our sessions but their beginning and end,
// whatever is pressed.
func TestRealReadOnly(t *testing.T) {
	r := plant(t, "3.9.2", 2)
	before := r.lastZxid()
	p := openPane(t, 160, 50, "observe", "--zookeeper", r.addr)
	p.await(10*time.Second, "the dashboard", holding("OBSERVE", "connected", "orders"))
	for k := '!'; k <= '~'; k++ {
		if k == 'q' || k >= '1' && k <= '8' {
			continue
		}
		key := string(k)
		if k == ';' {
			key = `\;` // else it parts commands of tmux
		}
		p.keys("3", key, "Enter", "Escape")
		p.leaveDialogs()
	}
	p.keys("Space", "Tab", "Up", "Down", "Left", "Right", "Home", "End", "PPage", "NPage", "BSpace", "Delete")
	p.await(10*time.Second, "that it lives", holding("OBSERVE", "connected"))
	for _, args := range []string{"state --json", "state", "topics list", "topics describe", "export --out -"} {
		kstate(t, append(strings.Fields(args), "--zookeeper", r.addr)...).check(t, exitOK, "", "")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"observe", "--headless", "--zookeeper", r.addr}, console{strings.NewReader(""), &out, &errs}); code != exitOK {
		t.Errorf("observe --headless: exit code %d: %s", code, errs.String())
	}
	p.leaveDialogs()
	p.keys("q")
	p.await(10*time.Second, "its end", func(s string) bool { return !strings.Contains(s, "OBSERVE") })

	own := uint64(r.conn.SessionID())
	opened := 0
	for _, x := range r.zk.Transactions() {
		switch {
		case x.Zxid <= before || x.Session == own:
		case x.Type == "createSession":
			opened++
		case x.Type != "closeSession":
			t.Errorf("a transaction of our sessions: %s", x)
		}
	}
	if opened != 7 {
		t.Errorf("%d sessions in the log, want 7: this test looked at the wrong place", opened)
	}
}

// lastZxid makes a transaction and returns its number.
func (r *realTree) lastZxid() uint64 {
	r.t.Helper()
	stat, err := r.conn.Set(realChroot+"/controller_epoch", []byte("1"), -1)
	if err != nil {
		r.t.Fatal(err)
	}
	return uint64(stat.Mzxid)
}
