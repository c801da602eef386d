package zkwatch

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/realkafka"
	"kstate/model"
)

// realServers are Kafka releases by the ZooKeeper that comes with them: one with
// recursive watches and multiRead, one without.
var realServers = []struct{ name, release string }{{"ZooKeeper 3.8.4", "3.9.2"}, {"ZooKeeper 3.5", "2.4.1"}}

func onReal(t *testing.T, f func(t *testing.T, z *realkafka.ZooKeeper, other *zk.Conn)) {
	for _, r := range realServers {
		t.Run(r.name, func(t *testing.T) {
			z := realkafka.StartZooKeeper(t, realkafka.Require(t, r.release))
			f(t, z, realkafka.Dial(t, z.Addr))
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plant creates znodes with their parents, path or path=data.
func plant(t testing.TB, conn *zk.Conn, znodes ...string) {
	t.Helper()
	for _, z := range znodes {
		path, data, hasData := strings.Cut(z, "=")
		for i := 1; i < len(path); i++ {
			if path[i] == '/' {
				if _, err := conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
					t.Fatal(err)
				}
			}
		}
		var payload []byte
		if hasData {
			payload = []byte(data)
		}
		_, err := conn.Create(path, payload, 0, zk.WorldACL(zk.PermAll))
		must(t, err)
	}
}

func TestRealCalls(t *testing.T) {
	onReal(t, func(t *testing.T, z *realkafka.ZooKeeper, other *zk.Conn) {
		plant(t, other, "/k/controller_epoch=0", "/k/brokers/topics/t=a", "/k/brokers/topics/e=", "/k/brokers/topics/n")
		in := newStream[string]()
		states := newStream[State]()
		c := dialTest(t, Options{Servers: z.Addr + "/k", SessionTimeout: 6 * time.Second, Gate: Controller(), OnState: states.put,
			OnInput: func(s model.Stimulus) { in.put(s.String()) }})
		r := c.Do(call(watched(get("/brokers/topics/t")), watched(exists("/controller")), watched(children("/brokers/topics")), get("/brokers/topics/e"), get("/brokers/topics/n"), get("/none")))
		wantCodes(t, r, "OK NONODE OK OK OK NONODE")
		if r.Ops[3].Data == nil || r.Ops[4].Data != nil {
			t.Errorf("empty %#v, null %#v", r.Ops[3].Data, r.Ops[4].Data)
		}
		controller := create("/controller", "me")
		controller.Ephemeral = true
		elect := call(controller, set("/controller_epoch", "1", 0))
		elect.Atomic = true
		r = c.Do(elect)
		wantCodes(t, r, "OK OK")
		if r.Ops[0].Stat.Czxid != r.Ops[1].Stat.Mzxid {
			t.Errorf("stats %+v", r.Ops)
		}
		fenced := call(set("/brokers/topics/t", "b", 0), set("/brokers/topics/e", "b", 9), create("/brokers/topics/new", "x"), remove("/brokers/topics/n", -1))
		fenced.Fenced, fenced.Epoch = true, 1
		wantCodes(t, c.Do(fenced), "OK BADVERSION OK OK")
		fenced.Epoch = 0
		wantCodes(t, c.Do(fenced), "BADVERSION/RUNTIMEINCONSISTENCY BADVERSION/RUNTIMEINCONSISTENCY BADVERSION/RUNTIMEINCONSISTENCY BADVERSION/RUNTIMEINCONSISTENCY")
		for _, want := range []string{"NodeCreated /controller", "NodeDataChanged /brokers/topics/t", "NodeChildrenChanged /brokers/topics"} {
			if got := in.next(t, want); got != "watch fired: "+want {
				t.Errorf("input %q, want %s", got, want)
			}
		}
		// The server is silent for a while: the session survives, and the
		// watches with it.
		wantCodes(t, c.Do(call(watched(get("/brokers/topics/t")))), "OK")
		session := c.State().SessionID
		c.session().currentLink().Close()
		awaitPhase(t, states, Disconnected)
		wantCodes(t, c.Do(call(exists("/controller"))), "OK")
		if c.State().SessionID != session {
			t.Error("another session")
		}
		_, err := other.Set("/k/brokers/topics/t", []byte("c"), -1)
		must(t, err)
		if got := in.next(t, "an event"); got != "watch fired: NodeDataChanged /brokers/topics/t" {
			t.Errorf("input %q", got)
		}
		if r := c.Do(call(get("/brokers/topics/t"))); string(r.Ops[0].Data) != "c" {
			t.Errorf("%+v", r.Ops[0])
		}
	})
}

func TestRealExpiry(t *testing.T) {
	onReal(t, func(t *testing.T, z *realkafka.ZooKeeper, other *zk.Conn) {
		plant(t, other, "/controller_epoch=0")
		in := newStream[string]()
		tape := &tape{}
		c := dialTest(t, Options{Servers: z.Addr, Dialer: tape.dial, SessionTimeout: 3 * time.Second, Gate: Controller(), OnInput: func(s model.Stimulus) { in.put(s.String()) }})
		controller := create("/controller", "me")
		controller.Ephemeral = true
		wantCodes(t, c.Do(call(controller)), "OK")
		// Another connection takes the session and ends it.
		tape.end(t, z.Addr)
		if got := in.next(t, "the expiry"); got != "ZooKeeper session expired" {
			t.Fatalf("input %q", got)
		}
		wantCodes(t, c.Do(call(get("/controller_epoch"))), "SESSIONEXPIRED")
		c.Proceed()
		wantCodes(t, c.Do(call(exists("/controller"))), "NONODE")
		if got := in.next(t, "the renewal"); got != "new ZooKeeper session" {
			t.Fatalf("input %q", got)
		}
	})
}

func TestRealMirror(t *testing.T) {
	onReal(t, func(t *testing.T, z *realkafka.ZooKeeper, other *zk.Conn) {
		roots := []string{"/brokers", "/admin", "/controller", "/feature"}
		plant(t, other, "/k/brokers/ids/1=x", "/k/admin/delete_topics", "/k/brokers/topics/a=1", "/k/brokers/topics/b=2")
		for i := range 30 {
			plant(t, other, fmt.Sprintf("/k/brokers/topics/a/partitions/%d/state=%d", i, i))
		}
		states := newStream[State]()
		tape := &tape{}
		c := dialTest(t, Options{Servers: z.Addr + "/k", Dialer: tape.dial, SessionTimeout: 6 * time.Second, OnState: states.put})
		if want := strings.HasPrefix(t.Name(), "TestRealMirror/ZooKeeper_3.8"); c.State().MultiRead != want {
			t.Errorf("multiRead %v", c.State().MultiRead)
		}
		reader := dialTest(t, Options{Servers: z.Addr + "/k", SessionTimeout: 6 * time.Second})
		p := startMirror(t, c, MirrorOptions{Paths: roots})
		p.untilSynced()
		same := func() bool {
			znodes, err := reader.ReadTree(context.Background(), roots, nil)
			must(t, err)
			want := map[string]string{}
			for _, n := range znodes {
				want[n.Path] = shown(n.Data, n.Stat.Version, n.Stat.Czxid)
			}
			return maps.Equal(p.znodes, want)
		}
		if !same() {
			t.Fatalf("picture %v", p.znodes)
		}
		for round := range 4 {
			plant(t, other, "/k/feature=f", "/k/controller=c", "/k/admin/delete_topics/b", fmt.Sprintf("/k/brokers/topics/r%d=1", round), fmt.Sprintf("/k/brokers/topics/r%d/partitions/0/state=1", round))
			_, err := other.Set("/k/brokers/topics/a/partitions/7/state", []byte(fmt.Sprint(round)), -1)
			must(t, err)
			if round == 1 {
				c.session().currentLink().Close()
			}
			if round == 2 {
				tape.end(t, z.Addr)
				p.until("the expiry", func() bool { return !p.synced })
			}
			p.until("the same tree", func() bool { return p.synced && same() })
			for _, path := range []string{"/k/feature", "/k/controller", "/k/admin/delete_topics/b"} {
				must(t, other.Delete(path, -1))
			}
			p.until("the same tree", func() bool { return p.synced && same() })
		}
	})
}

// The whole picture of 100,000 partitions, against a bare multiRead of the same
// znodes.
func TestRealMirrorAtScale(t *testing.T) {
	z := realkafka.StartZooKeeper(t, realkafka.Require(t, "3.9.2"))
	other := realkafka.Dial(t, z.Addr)
	const topics, partitions = 1000, 100
	plant(t, other, "/brokers/topics")
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range topics {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			topic := fmt.Sprintf("/brokers/topics/topic-%04d", i)
			add := func(ops []any, path, data string) []any {
				var payload []byte
				if data != "" {
					payload = []byte(data)
				}
				return append(ops, &zk.CreateRequest{Path: path, Data: payload, Acl: zk.WorldACL(zk.PermAll)})
			}
			ops := add(add(nil, topic, strings.Repeat("x", 3000)), topic+"/partitions", "")
			for j := range partitions {
				p := fmt.Sprintf("%s/partitions/%d", topic, j)
				ops = add(add(ops, p, ""), p+"/state", `{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`)
			}
			if _, err := other.Multi(ops...); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	c := dialTest(t, Options{Servers: z.Addr, SessionTimeout: 18 * time.Second})
	measureScale(t, c, topics*(2+2*partitions)+1)
}
