package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kstate/internal/realkafka"
	"kstate/model"
)

// logged waits until a log holds that text behind an offset, and returns the
// length of the log.
func logged(t testing.TB, name string, from int64, what string) int64 {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(name)
		if err == nil && int64(len(data)) > from && strings.Contains(string(data[from:]), what) {
			return int64(len(data))
		}
	}
	t.Fatalf("%s does not hold %q", name, what)
	return 0
}

// size is how long a file is now.
func size(name string) int64 {
	st, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return st.Size()
}

// wide creates a topic whose deletion takes a while.
func wide(c *realkafka.Cluster, topic string) {
	var assignment [][]int32
	for i := range int32(30) {
		assignment = append(assignment, []int32{1 + i%3, 1 + (i+1)%3, 1 + (i+2)%3})
	}
	c.CreateTopic(topic, assignment, nil)
}

// goneFrom waits until nothing is left of a topic in ZooKeeper.
func goneFrom(t testing.TB, c *realkafka.Cluster, topic string) {
	t.Helper()
	paths := []string{model.TopicPath(topic), model.TopicConfigPath(topic), model.DeleteTopicPath(topic)}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		left := []string{}
		for _, p := range paths {
			if there, _, err := c.Conn.Exists(c.Chroot + p); there || err != nil {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left of topic %s: %v", topic, left)
		}
	}
}

// The role goes from kstate to a broker and back in the middle of deletions, by
// kill -9, and is lost by a process that stands still for longer than its session.
func TestRealControlRoleMoves(t *testing.T) {
	c := realkafka.StartCluster(t, realkafka.Require(t, realkafka.Versions[0]), realkafka.Options{Hold: true})
	first := takeControl(t, c)
	first.says(time.Minute, "is the controller, epoch 1")
	c.StartAll()
	wide(c, "one")
	wide(c, "two")
	wide(c, "three")
	wide(c, "kept")

	// Killed in the middle of a deletion: a broker finishes it.
	from := size(first.log)
	c.Put(model.DeleteTopicPath("one"), "")
	logged(t, first.log, from, "to ReplicaDeletionStarted")
	first.signal(syscall.SIGKILL)
	first.ends()
	isBroker := func(id int32) bool { return id >= 1 && id <= 3 }
	awaitController(t, c, isBroker)
	goneFrom(t, c, "one")

	// The other way round. The broker's replicas hold the deletion up until it is back.
	second := takeControl(t, c)
	second.says(time.Minute, "holds the role")
	holder := c.ControllerID()
	from = size(c.LogPath(holder))
	c.Put(model.DeleteTopicPath("two"), "")
	logged(t, c.LogPath(holder), from, "to ReplicaDeletionStarted")
	c.KillBroker(holder)
	awaitController(t, c, func(id int32) bool { return id == controllerID || isBroker(id) && id != holder })
	c.StartBroker(holder)
	c.WaitBrokers(c.IDs()...)
	goneFrom(t, c, "two")
	if c.ControllerID() != controllerID { // a broker was faster: take it
		second.signal(syscall.SIGTERM)
		second.ends()
		second = takeControl(t, c, "--take-over")
	}
	second.says(time.Minute, "is the controller")

	// Stopped in the middle of a deletion for longer than the session.
	from = size(second.log)
	c.Put(model.DeleteTopicPath("three"), "")
	logged(t, second.log, from, "to ReplicaDeletionStarted")
	second.signal(syscall.SIGSTOP)
	awaitController(t, c, isBroker)
	goneFrom(t, c, "three")
	second.signal(syscall.SIGCONT)
	second.says(time.Minute, "lost the role")
	noWriteOfAnOldEpoch(t, c)
}

// noWriteOfAnOldEpoch: no state znode was written after the last election by a
// controller of an earlier epoch.
func noWriteOfAnOldEpoch(t *testing.T, c *realkafka.Cluster) {
	t.Helper()
	data, epochStat, err := c.Conn.Get(c.Chroot + model.ControllerEpochPath)
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := strconv.Atoi(string(data))
	if err != nil {
		t.Fatal(err)
	}
	s, err := realkafka.Snapshot(c.Conn, c.Chroot)
	if err != nil {
		t.Fatal(err)
	}
	for tp, p := range s.Partitions {
		i := strings.LastIndexByte(tp, '-')
		n, err := strconv.ParseInt(tp[i+1:], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		_, st, err := c.Conn.Get(c.Chroot + model.TopicPartitionStatePath(model.TP(tp[:i], int32(n))))
		if err == nil && st.Mzxid > epochStat.Mzxid && int(p.ControllerEpoch) < epoch {
			t.Errorf("%s was written by a controller of epoch %d after that of epoch %d was elected", tp, p.ControllerEpoch, epoch)
		}
	}
}
