package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"kstate/internal/lab"
	"kstate/internal/lab/zkserver"
	"kstate/internal/tree"
	"kstate/model"
)

// liveSource is a ZooKeeper with a cluster's tree under /kafka, whose brokers'
// endpoints are listeners that count who connects.
type liveSource struct {
	store   *zkserver.Store
	addr    string // with the chroot
	callers atomic.Int32
	writes  atomic.Int32
}

// endpoint is an address that nothing may connect to.
func (s *liveSource) endpoint(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.callers.Add(1)
			c.Close()
		}
	}()
	return l.Addr().String()
}

func serveSource(t *testing.T) *liveSource {
	t.Helper()
	s := &liveSource{}
	s.store = zkserver.NewStore(zkserver.Options{OnTxn: func(x zkserver.Txn) {
		if x.Kind == zkserver.TxnRequest {
			s.writes.Add(1)
		}
	}})
	owner, _ := s.store.CreateSession(0)
	registration := func(rack string) []byte {
		return fmt.Appendf(nil, `{"version":5,"host":"x","port":1,"jmx_port":-1,"timestamp":"1","rack":%q,"features":{},"endpoints":["CLIENT://%s","INTERNAL://%s"],`+
			`"listener_security_protocol_map":{"CLIENT":"SASL_SSL","INTERNAL":"SSL"}}`, rack, s.endpoint(t), s.endpoint(t))
	}
	err := s.store.Load([]zkserver.Znode{
		{Path: "/kafka/brokers/ids/5", Data: registration("east"), Owner: owner, Czxid: 71},
		{Path: "/kafka/brokers/ids/7", Data: registration("west"), Owner: owner, Czxid: 72},
		{Path: "/kafka/cluster/id", Data: []byte(`{"version":"1","id":"the-real-cluster-id-22"}`)},
		{Path: "/kafka/controller", Data: []byte(`{"version":2,"brokerid":5,"timestamp":"1","kraftControllerEpoch":-1}`), Owner: owner},
		{Path: "/kafka/controller_epoch", Data: []byte("41"), Version: 41},
		{Path: "/kafka/consumers/g/ids/member", Data: []byte("x"), Owner: owner},
		{Path: "/kafka/admin/delete_topics"},
		{Path: "/kafka/config/users/u", Data: []byte(`{"version":1,"config":{"SCRAM-SHA-256":"salt=hunter2"}}`)},
		{Path: "/kafka/config/brokers/<default>", Data: []byte(`{"version":1,"config":{"ssl.keystore.password":"hunter2"}}`)},
		{Path: "/kafka/delegation_token/tokens/t", Data: []byte("hunter2")},
		{Path: "/kafka/brokers/topics/orders", Data: []byte(`{"version":2,"partitions":{"0":[5,7],"1":[7,9]},"adding_replicas":{},"removing_replicas":{}}`)},
		{Path: "/kafka/brokers/topics/orders/partitions/0/state", Version: 3,
			Data: []byte(`{"controller_epoch":41,"leader":5,"version":1,"leader_epoch":12,"isr":[5,7]}`)},
		{Path: "/kafka/brokers/topics/orders/partitions/1/state", Version: 4,
			Data: []byte(`{"controller_epoch":41,"leader":7,"version":1,"leader_epoch":4,"isr":[7]}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := zkserver.NewServer(s.store, zkserver.ServerOptions{})
	t.Cleanup(func() { server.Close() })
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = addr.String() + "/kafka"
	return s
}

// forkOf is what --fork makes of a source, with what it says meanwhile.
func forkOf(t *testing.T, s *liveSource) (znodes []zkserver.Znode, source, said string) {
	t.Helper()
	var errs bytes.Buffer
	inv := &invocation{ctx: context.Background(), command: named(commands(), "lab"), given: map[string][]string{"fork": {s.addr}}, console: console{err: &errs}}
	znodes, source, err := fork(inv)
	if err != nil {
		t.Fatal(err)
	}
	return znodes, source, errs.String()
}

// A deletion is rehearsed on a copy of a live cluster: brokers of the same ids,
// racks and listener names stand in, the epochs go on, and nothing is written to
// the source nor connects to its brokers.
func TestADeletionIsRehearsedOnAFork(t *testing.T) {
	src := serveSource(t)
	znodes, source, said := forkOf(t, src)
	if !strings.HasPrefix(source, "FORK of "+src.addr+" at 20") || !strings.Contains(said, source) || !strings.Contains(said, "secrets of 3 znodes left out") {
		t.Errorf("it is called %q, and it said\n%s", source, said)
	}
	for _, z := range znodes {
		if strings.Contains(string(z.Data), "hunter2") || strings.HasPrefix(z.Path, "/consumers/g/ids/") || z.Path == model.ControllerPath {
			t.Errorf("%s %q is in the copy", z.Path, z.Data)
		}
	}
	d := openDesk(t, lab.Options{Brokers: 3, Znodes: znodes}, func(b *bench) { b.source = source })
	store := func() *zkserver.Store { return d.bench.lab.Store() }
	f := d.await("its controller is there", func(f *model.Frame) bool {
		return idle(f) && f.Controller.Self && f.View.PartitionCounts[model.OnlinePartition] == 2
	})
	if !strings.Contains(f.Source, source) || !strings.Contains(f.Source, d.bench.lab.Addr()) {
		t.Errorf("the screen says %q", f.Source)
	}
	if f.Controller.Epoch != 42 {
		t.Errorf("controller epoch %d, want 42, one beyond the source's", f.Controller.Epoch)
	}
	if data, _, _ := store().Get(model.ClusterIDPath); !strings.Contains(string(data), "the-real-cluster-id-22") || d.bench.lab.ClusterID() != "the-real-cluster-id-22" {
		t.Errorf("/cluster/id is %s, the lab says %s", data, d.bench.lab.ClusterID())
	}
	for id, rack := range map[int32]string{5: "east", 7: "west"} {
		data, stat, _ := store().Get(model.BrokerIDPath(id))
		reg, err := model.DecodeBroker(model.BrokerIDPath(id), data)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range reg.Endpoints {
			names = append(names, e.Listener+" "+e.Protocol)
		}
		if slices.Sort(names); !slices.Equal(names, []string{"CLIENT PLAINTEXT", "INTERNAL PLAINTEXT"}) || reg.Rack != rack || stat.Czxid <= 72 {
			t.Errorf("broker %d registered %s with epoch %d", id, data, stat.Czxid)
		}
	}
	if st := d.state(model.TP("orders", 0)); st.Leader != 5 || st.LeaderEpoch != 12 {
		t.Errorf("orders-0: %+v", st)
	}

	d.do(model.DeleteTopic{Topic: "orders"})
	d.await("the dead broker 9 holds the deletion", func(f *model.Frame) bool {
		return idle(f) && f.View.IneligibleReason("orders") == model.OfflineReplicas
	})
	d.do(model.StartBroker{Broker: 9})
	d.await("the topic is gone", func(f *model.Frame) bool {
		return idle(f) && f.View.TopicCount == 0 && f.View.TopicsToBeDeleted.Len() == 0
	})
	if _, code := store().Exists(model.TopicPath("orders")); code != zkserver.NoNode {
		t.Errorf("the topic's znode: %v", code)
	}
	if _, code := src.store.Exists("/kafka" + model.TopicPath("orders")); code != zkserver.OK {
		t.Errorf("the source's topic: %v", code)
	}
	if src.writes.Load() != 0 || src.callers.Load() != 0 {
		t.Errorf("the source saw %d writes, and %d connections to its brokers", src.writes.Load(), src.callers.Load())
	}
}

func TestAForkStartsHeadless(t *testing.T) {
	src := serveSource(t)
	p := launch(t, "lab", "--headless", "--fork", src.addr, "--read-rate", "0")
	addr := p.addr
	awaitState(t, addr, "its brokers are there", func(st *clusterState) bool { return onlineIn(st, 2, 3) })
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if said := p.said(); !strings.Contains(said, "FORK of "+src.addr) {
		t.Errorf("it said\n%s", said)
	}
	if src.callers.Load() != 0 {
		t.Errorf("%d connections to the source's brokers", src.callers.Load())
	}
}

func TestWrongForkFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--fork x:1 --tree y", "give one of them"},
		{"--fork x:1 --brokers 3", "the brokers are those of the cluster that is copied"},
		{"--fork x:y", "--fork:"},
		{"--read-rate 3", "there is no --fork"},
		{"--zookeeper-tls", "there is no --fork"},
	} {
		kstate(t, append([]string{"lab", "--headless"}, strings.Fields(c.args)...)...).check(t, exitUsage, "", c.want)
	}
	kstate(t, "lab", "--headless", "--zookeeper-timeout", "200", "--fork", "127.0.0.1:1").check(t, exitUnknown, "", "127.0.0.1:1")
}

// What a controller cannot do without stops the copy; the rest is named.
func TestACopyThatWouldNotBeTheCluster(t *testing.T) {
	for _, chroot := range []string{"", "/kafka"} {
		for path, stops := range map[string]bool{"": true, "/brokers": true, "/brokers/ids": true, "/brokers/topics": true, "/brokers/topics/a": false, "/config": false} {
			z := chroot + path
			if z == "" {
				z = "/"
			}
			var said bytes.Buffer
			err := unreadable(&said, &tree.File{Chroot: chroot, Znodes: []tree.Znode{{Path: z, Error: "NoAuth"}}})
			if (err != nil) != stops || !strings.Contains(said.String(), z+" is not in the copy: NoAuth") {
				t.Errorf("%s: %v, it said %s", z, err, said.String())
			}
		}
	}
	if err := unreadable(io.Discard, &tree.File{Chroot: "/kafka", Znodes: []tree.Znode{{Path: "/", Error: "NoAuth"}}}); err != nil {
		t.Errorf("what lies above the chroot: %v", err)
	}
}

// A copy goes into an empty data directory only.
func TestAForkDoesNotCoverAnotherCluster(t *testing.T) {
	src := serveSource(t)
	dir := t.TempDir()
	first := launch(t, "lab", "--headless", "--fork", src.addr, "--zookeeper-data", dir)
	awaitState(t, first.addr, "the copy is there", func(st *clusterState) bool { return onlineIn(st, 2, 3) })
	if err := first.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	kstate(t, "lab", "--headless", "--fork", src.addr, "--zookeeper-data", dir).check(t, exitError, "", "holds a cluster already")
}

func TestAnExportHoldsNoSecrets(t *testing.T) {
	src := serveSource(t)
	o := kstate(t, "export", "--zookeeper", src.addr, "--out", "-")
	o.check(t, exitOK, "/kafka/config/users/u", "")
	if strings.Contains(o.out, "hunter2") || strings.Contains(o.out, "/delegation_token/tokens/t") {
		t.Errorf("exported was\n%s", o.out)
	}
	file := filepath.Join(t.TempDir(), "tree.json")
	kstate(t, "export", "--zookeeper", src.addr, "--out", file).check(t, exitOK, "", "secrets of 3 znodes left out")
}
