package main

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

var countdown = regexp.MustCompile(`goes on in [1-3] s`)

// A deletion held in the middle, and then no key: the time that is left is on the
// screen, the deletion comes to its end. A lost terminal gives the role up.
func TestAHeldControllerGoesOnByItself(t *testing.T) {
	l := keeper(t)
	p := openPane(t, 120, 40, "control", "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:"+freePort(t), "--dead-man", "3",
		"--override", "auto.leader.rebalance.enable=false")
	p.await(patience, "that it is the controller", holding("CONTROL", "controller 1000 (self)"))
	brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}, Chroot: "/kafka"})
	t.Cleanup(brokers.Close)
	for id := int32(1); id <= 3; id++ {
		if _, err := brokers.Add(id, broker.Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := brokers.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
	a := model.TopicAssignment{Version: 3, ID: model.Uuid{1}}
	for i := range int32(3) {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: i, ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{1, 2, 3}}})
	}
	put := func(path string, data []byte) {
		t.Helper()
		if r, _ := l.Store().Apply(0, zkserver.Create("/kafka"+path, data, 0)); r.Code != zkserver.OK {
			t.Fatal(path, r.Code)
		}
	}
	put(model.TopicPath("orders"), model.EncodeTopic(a))
	awaitState(t, l.Addr()+"/kafka", "that all is online", func(st *clusterState) bool { return onlineIn(st, 3, 9) })
	p.quiet("RUNNING", "idle") // a late answer would be what it is held at
	p.keys("Space")
	p.await(patience, "that it is paused", holding("PAUSED"))
	put(model.DeleteTopicPath("orders"), nil)
	p.await(patience, "the event, held", holding("next: begin TopicDeletion"))
	p.keys("b")
	p.await(patience, "the time that is left", func(text string) bool { return countdown.MatchString(text) })
	if _, code := l.Store().Exists("/kafka" + model.TopicPath("orders")); code != zkserver.OK {
		t.Errorf("it did not hold: %v", code)
	}
	await(t, "the topic is gone", func() bool {
		_, code := l.Store().Exists("/kafka" + model.TopicPath("orders"))
		return code == zkserver.NoNode
	})
	p.await(patience, "that it went on by itself", holding("RUNNING", "without a command"))
	pid, err := strconv.Atoi(strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "the role is given up", func() bool {
		_, code := l.Store().Exists("/kafka" + model.ControllerPath)
		return code == zkserver.NoNode
	})
}

// freePort is a loopback port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
