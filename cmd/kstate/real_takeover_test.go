//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/realkafka"
	"kstate/model"
)

// The takeover beside Kafka's own controller: how long it takes from the
// creation of /controller to the last LeaderAndIsr request that a broker has
// received, and how large the process gets. The same ZooKeeper, the same
// answering brokers, nothing else; kstate with its journal on.
//
// Each controller takes over several times, the first time cold, and the mean
// counts: most failovers are the first that a process has to do, and Kafka's
// halves its time as the compiler warms up.

// takeoverLimit is how long one may take before the test gives up.
const takeoverLimit = 5 * time.Minute

// takeover is what came of a controller.
type takeover struct {
	mean  time.Duration
	all   []time.Duration
	peakM int // of the process, MB: VmHWM
}

func (x takeover) String() string {
	var all []string
	for _, d := range x.all {
		all = append(all, fmt.Sprintf("%.2f", d.Seconds()))
	}
	return fmt.Sprintf("%7.2f s %6d MB   (%s)", x.mean.Seconds(), x.peakM, strings.Join(all, ", "))
}

func TestRealTakeoverBesideKafka(t *testing.T) {
	jars := realkafka.Require(t, "3.9.2")
	server := realkafka.StartZooKeeper(t, jars)
	for _, size := range []struct{ topics, partitions, times int }{{200, 50, 3}, {1000, 100, 2}} {
		f := plantField(t, server, size.topics, size.partitions)
		name := fmt.Sprintf("%d topics of %d partitions", size.topics, size.partitions)
		own := f.kstate(t, size.times)
		kafka := f.kafka(t, jars, size.times)
		t.Logf("%-32s kstate %v", name, own)
		t.Logf("%-32s Kafka  %v", name, kafka)
		t.Logf("%-32s kstate needs 1/%.1f of the time and 1/%.1f of the memory", name,
			kafka.mean.Seconds()/own.mean.Seconds(), float64(kafka.peakM)/float64(own.peakM))
		if own.mean > kafka.mean/10 {
			t.Errorf("%s: kstate takes over in %v, more than a tenth of Kafka's %v", name, own.mean, kafka.mean)
		}
		if own.peakM > kafka.peakM/3 {
			t.Errorf("%s: kstate grows to %d MB, more than a third of Kafka's %d MB", name, own.peakM, kafka.peakM)
		}
	}
}

// field is a cluster of answering brokers on a real ZooKeeper.
type field struct {
	zk      *realkafka.ZooKeeper
	conn    *zk.Conn
	chroot  string
	brokers *answerers
}

// plantField writes the znodes of a cluster: topics with 3 replicas on 3 brokers,
// everything in order.
func plantField(t *testing.T, server *realkafka.ZooKeeper, topics, partitions int) *field {
	t.Helper()
	f := &field{zk: server, conn: realkafka.Dial(t, server.Addr), chroot: fmt.Sprintf("/of-%d", topics*partitions), brokers: startAnswerers(t, nil, 101, 102, 103)}
	create := func(path string, data []byte) *zk.CreateRequest {
		return &zk.CreateRequest{Path: f.chroot + path, Data: data, Acl: zk.WorldACL(zk.PermAll)}
	}
	multi := func(requests ...any) {
		if _, err := f.conn.Multi(requests...); err != nil {
			t.Errorf("create %s and others: %v", requests[0].(*zk.CreateRequest).Path, err)
		}
	}
	first := []any{create("", nil)}
	made := map[string]bool{}
	for _, p := range model.PersistentPaths() {
		for i := 1; i <= len(p); i++ {
			if (i == len(p) || p[i] == '/') && !made[p[:i]] {
				made[p[:i]] = true
				first = append(first, create(p[:i], nil))
			}
		}
	}
	multi(first...)
	var group sync.WaitGroup
	next := make(chan int)
	for range 8 {
		group.Go(func() {
			for i := range next {
				multi(topicZnodes(create, i, partitions)...)
			}
		})
	}
	for i := range topics {
		next <- i
	}
	close(next)
	group.Wait()
	for _, id := range f.brokers.ids {
		r := create(model.BrokerIDPath(id), model.EncodeBroker(&model.Broker{ID: id, Endpoints: []model.Endpoint{
			{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: f.brokers.ports[id]}}}, 5, -1, 1))
		r.Flags = zk.FlagEphemeral
		multi(r)
	}
	if t.Failed() {
		t.FailNow()
	}
	return f
}

func topicZnodes(create func(string, []byte) *zk.CreateRequest, i, partitions int) []any {
	topic := fmt.Sprintf("topic-%05d", i)
	a := model.TopicAssignment{Version: 3, ID: model.Uuid{1, byte(i >> 8), byte(i)}}
	var states []any
	for p := range int32(partitions) {
		r := []int32{101 + p%3, 101 + (p+1)%3, 101 + (p+2)%3}
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: p, ReplicaAssignment: model.ReplicaAssignment{Replicas: r}})
		states = append(states, create(fmt.Sprintf("%s/%d", model.TopicPartitionsPath(topic), p), nil),
			create(model.TopicPartitionStatePath(model.TP(topic, p)), model.EncodePartitionState(model.LeaderIsrAndControllerEpoch{
				LeaderAndIsr: model.LeaderAndIsr{Leader: r[0], ISR: r}, ControllerEpoch: 1})))
	}
	return append([]any{create(model.TopicPath(topic), model.EncodeTopic(a)), create(model.TopicPartitionsPath(topic), nil)}, states...)
}

// kstate has kstate take over.
func (f *field) kstate(t *testing.T, times int) takeover {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "takeover.journal")
	var said text
	cmd := exec.Command(self, "control", "--headless", "--zookeeper", f.zk.Addr+f.chroot, "--listener", "127.0.0.1:0", "--inter-broker-protocol", "3.9",
		"--override", "auto.leader.rebalance.enable=false", "--journal", file)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := f.takeOvers(t, cmd.Process.Pid, times)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("kstate: %v\n%s", err, said.String())
	}
	if strings.Contains(said.String(), "missing") || strings.Contains(said.String(), "lacks") {
		t.Errorf("kstate said:\n%s", said.String())
	}
	if st, err := os.Stat(file); err != nil {
		t.Error(err)
	} else {
		t.Logf("the journal has %d kB", st.Size()>>10)
	}
	return x
}

// kafka has a broker of Kafka take over that holds no replica.
func (f *field) kafka(t *testing.T, jars *realkafka.Jars, times int) takeover {
	t.Helper()
	c := realkafka.StartCluster(t, jars, realkafka.Options{Brokers: 1, ZooKeeper: f.zk.Addr, Chroot: f.chroot, Heap: "1g", AsInProduction: true, Hold: true})
	c.StartBroker(1)
	x := f.takeOvers(t, c.PID(1), times)
	c.KillBroker(1)
	return x
}

// takeOvers waits for a controller's first term, has it elected again, and
// measures each time.
func (f *field) takeOvers(t *testing.T, pid, times int) takeover {
	t.Helper()
	var x takeover
	for i := range times {
		if i > 0 {
			if err := f.conn.Delete(f.chroot+model.ControllerPath, -1); err != nil {
				t.Fatal(err)
			}
		}
		began, epoch := f.elected(t)
		took := f.brokers.last(epoch, takeoverLimit).Sub(began)
		x.all = append(x.all, took)
		x.mean += took / time.Duration(times)
		f.rest(t, pid)
	}
	x.peakM = peakMB(t, pid)
	return x
}

// elected waits for a controller, and says when it made /controller, as
// ZooKeeper's clock has it, and its epoch.
func (f *field) elected(t *testing.T) (began time.Time, epoch int32) {
	t.Helper()
	deadline := time.After(takeoverLimit)
	for {
		there, st, change, err := f.conn.ExistsW(f.chroot + model.ControllerPath)
		if err != nil {
			t.Fatal(err)
		}
		if there {
			data, _, err := f.conn.Get(f.chroot + model.ControllerEpochPath)
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.Atoi(string(data))
			if err != nil {
				t.Fatal(err)
			}
			return time.UnixMilli(st.Ctime), int32(n)
		}
		select {
		case <-change:
		case <-deadline:
			t.Fatal("nobody takes the role")
		}
	}
}

// rest waits until a process has nothing more to do: its answers are dealt with.
func (f *field) rest(t *testing.T, pid int) {
	t.Helper()
	const pause, little = 300 * time.Millisecond, 30 * time.Millisecond
	for end := time.Now().Add(takeoverLimit); ; {
		before := cpuOf(t, pid)
		time.Sleep(pause) // the window of the measurement
		if cpuOf(t, pid)-before < little {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it does not come to rest")
		}
	}
}

// cpuOf is what a process has used so far.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] { // utime and stime, hundredths of a second
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// peakMB is the largest resident size of a process so far.
func peakMB(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n / 1024
		}
	}
	t.Fatal("no VmHWM in " + string(text))
	return 0
}
