package main

import (
	"testing"

	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// On a live cluster faults are for who asked for them: then the session ends just
// before a write, really, and a broker's answer is held and released.
func TestFaultsInControlMode(t *testing.T) {
	l := keeper(t)
	p := openPane(t, 120, 40, "control", "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:"+freePort(t), "--allow-faults",
		"--override", "auto.leader.rebalance.enable=false")
	p.await(patience, "that it is the controller", holding("CONTROL", "controller 1000 (self) epoch 1"))
	brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}, Chroot: "/kafka"})
	t.Cleanup(brokers.Close)
	if _, err := brokers.Add(1, broker.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := brokers.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
	create := func(topic string) {
		t.Helper()
		a := model.TopicAssignment{Version: 3, ID: model.Uuid{1, topic[0]}, Partitions: []model.PartitionAssignment{{ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{1}}}}}
		if r, _ := l.Store().Apply(0, zkserver.Create("/kafka"+model.TopicPath(topic), model.EncodeTopic(a), 0)); r.Code != zkserver.OK {
			t.Fatal(topic, r.Code)
		}
	}
	p.asked("F", "Faults", "Down", "Down", "Down", "Enter") // the session ends before the next write
	p.await(patience, "the fault armed", holding("faults: 1"))
	create("a")
	p.await(patience, "the next term", holding("controller 1000 (self) epoch 2"))
	awaitState(t, l.Addr()+"/kafka", "that a is online all the same", func(st *clusterState) bool { return onlineIn(st, 1, 1) })
	p.asked("F", "Faults", "Down", "Down", "Down", "Down", "Enter") // the next answer is held
	p.await(patience, "the fault armed", holding("faults: 1"))
	create("b")
	p.await(patience, "the answer held", holding("held answers: 1"))
	p.asked("F", "release those of broker 1", "End", "Up", "Up", "Enter") // behind it both faults, to be cleared
	p.await(patience, "it released", holding("released 1 answers"))
	p.keys("q")
}

// Without the flag the key says why it does nothing.
func TestNoFaultsWithoutTheFlag(t *testing.T) {
	l := keeper(t)
	p := openPane(t, 120, 40, "control", "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:"+freePort(t))
	p.await(patience, "that it is the controller", holding("CONTROL", "controller 1000 (self)"))
	p.keys("F")
	p.await(patience, "why not", holding("--allow-faults"))
	p.keys("q")
}
