//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/lab/zkserver"
	"kstate/internal/observe"
	"kstate/internal/realkafka"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/ui"
	"kstate/zkwatch"
)

// The cluster that an observer of a large one is held to.
const (
	scaleTopics     = 1000
	scalePartitions = 100 // of each topic, 3 replicas each
	scaleBrokers    = 12
)

// largeCluster is its znodes, parents first.
func largeCluster() []zkserver.Znode {
	out := []zkserver.Znode{{Path: "/brokers"}, {Path: model.BrokerIDsPath}, {Path: model.TopicsPath}, {Path: "/admin"}, {Path: model.DeleteTopicsPath}, {Path: model.ControllerEpochPath, Data: []byte("1")}}
	for id := int32(1); id <= scaleBrokers; id++ {
		out = append(out, zkserver.Znode{Path: model.BrokerIDPath(id), Data: registration(id)})
	}
	for i := range int32(scaleTopics) {
		topic := fmt.Sprintf("orders-of-the-day-%04d", i)
		var a model.TopicAssignment
		states := []zkserver.Znode{{Path: model.TopicPath(topic) + "/partitions"}}
		for n := range int32(scalePartitions) {
			replicas := []int32{(n+i)%scaleBrokers + 1, (n+i+1)%scaleBrokers + 1, (n+i+2)%scaleBrokers + 1}
			a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: n, ReplicaAssignment: model.ReplicaAssignment{Replicas: replicas}})
			tp := model.TP(topic, n)
			states = append(states, zkserver.Znode{Path: model.TopicPartitionPath(tp)}, zkserver.Znode{Path: model.TopicPartitionStatePath(tp),
				Data: model.EncodePartitionState(model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.LeaderAndIsr{Leader: replicas[0], ISR: replicas}, ControllerEpoch: 1})})
		}
		out = append(append(out, zkserver.Znode{Path: model.TopicPath(topic), Data: model.EncodeTopic(a)}), states...)
	}
	return out
}

// roleHolder is what /controller says.
func roleHolder() []byte { return model.EncodeController(2, 1, 1, -1) }

// observed is what an observer's process reports.
type observed struct {
	FirstMillis  int64   // until progress was on the screen
	WholeMillis  int64   // until the whole picture was in a frame
	Frames       int     // until then
	FollowMillis int64   // until the shadow had taken over the whole cluster
	PeakMB       int64   // of the process
	Idle         float64 // of a core, when nothing happens any more
	Partitions   int
}

// A cluster of 100,000 partitions, from an embedded server.
func TestCostOfObservingALargeCluster(t *testing.T) {
	if os.Getenv("KSTATE_COST") != "1" {
		t.Skip("set KSTATE_COST=1 to measure what a large cluster costs; .ci/run does")
	}
	server, addr := serveLarge(t)
	defer server()
	observeLarge(t, addr)
}

// The same from a real ZooKeeper.
func TestRealCostOfObservingALargeCluster(t *testing.T) {
	z := realkafka.StartZooKeeper(t, realkafka.Require(t, "3.9.2"))
	conn := realkafka.Dial(t, z.Addr)
	znodes := largeCluster()
	var ops []any
	for i := range znodes {
		ops = append(ops, &zk.CreateRequest{Path: znodes[i].Path, Data: znodes[i].Data, Acl: zk.WorldACL(zk.PermAll)})
		if len(ops) == 1000 || i == len(znodes)-1 {
			if _, err := conn.Multi(ops...); err != nil {
				t.Fatal(err)
			}
			ops = nil
		}
	}
	if _, err := conn.Create(model.ControllerPath, roleHolder(), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	observeLarge(t, z.Addr)
}

// observeLarge measures and judges.
func observeLarge(t *testing.T, addr string) {
	t.Helper()
	var paths []string
	for _, z := range largeCluster() {
		paths = append(paths, z.Path)
	}
	bareMultiRead(t, addr, paths[:1000]) // warms the server up
	bare := bareMultiRead(t, addr, paths)
	t.Logf("a bare multiRead of %d znodes takes %v", len(paths), bare.Round(time.Millisecond))
	for _, c := range []struct {
		what string
		w, h int
		idle float64
	}{{"the dashboard at 160x50", 160, 50, 0.04}, {"--headless", 0, 0, 0.01}} {
		var o observed
		runRole(t, fmt.Sprintf("observe %d %d %s", c.w, c.h, addr), &o)
		whole := time.Duration(o.WholeMillis) * time.Millisecond
		t.Logf("%s: first screen after %d ms, whole picture after %v = %.1f bare multiReads and %d frames, followed after %d ms, peak %d MB, idle %.1f%% of a core",
			c.what, o.FirstMillis, whole, float64(whole)/float64(bare), o.Frames, o.FollowMillis, o.PeakMB, 100*o.Idle)
		if o.Partitions != scaleTopics*scalePartitions {
			t.Errorf("%s: %d partitions online", c.what, o.Partitions)
		}
		if o.FirstMillis > 2000 || o.PeakMB > 600 || o.Idle > 2*c.idle {
			t.Errorf("%s: more than twice what it should be: first screen in 1 s, 300 MB, idle at %.0f%% of a core", c.what, 100*c.idle)
		}
		if whole > 10*bare && whole > 15*time.Second {
			t.Errorf("%s: the whole picture takes more than twice the five bare multiReads that it should", c.what)
		}
	}
}

// serveLarge runs an embedded server in a process of its own.
func serveLarge(t *testing.T) (stop func(), addr string) {
	t.Helper()
	cmd := roleCommand(t, "serve 0 0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server said nothing: %v", err)
	}
	return func() { in.Close(); _ = cmd.Wait() }, strings.TrimSpace(line)
}

// serveRole serves until its standard input ends.
func serveRole() error {
	store := zkserver.NewStore(zkserver.Options{})
	if err := store.Load(largeCluster()); err != nil {
		return err
	}
	session, _ := store.CreateSession(time.Hour)
	if r, _ := store.Apply(session, zkserver.Create(model.ControllerPath, roleHolder(), zkserver.Ephemeral)); r.Code != zkserver.OK {
		return fmt.Errorf("create %s: %s", model.ControllerPath, r.Code)
	}
	server := zkserver.NewServer(store, zkserver.ServerOptions{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(addr)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// observeRole observes, with a screen if it has a size, and reports.
func observeRole(addr string, w, h int) error {
	began := time.Now()
	spareMemory()
	conn, err := zkwatch.Dial(context.Background(), zkwatch.Options{Servers: addr, Gate: zkwatch.ReadOnly()})
	if err != nil {
		return err
	}
	o := observe.New(observe.Options{Conn: conn, Source: addr, Config: tree.DefaultConfig()})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go o.Run(ctx)
	var report observed
	whole, follows := make(chan struct{}), make(chan struct{})
	followed := sync.OnceFunc(func() { report.FollowMillis = time.Since(began).Milliseconds(); close(follows) })
	frames := make(chan model.Frame, 1)
	firstFrame := sync.OnceFunc(func() { report.FirstMillis = time.Since(began).Milliseconds() })
	terminal := &progressTerminal{seen: firstFrame}
	go func() {
		done := false
		for f := range o.Frames() {
			if w == 0 && f.Progress != nil && f.Progress.Done > 0 {
				firstFrame()
			}
			if report.Frames++; !done && f.Progress == nil && f.View.PartitionCounts[model.OnlinePartition] > 0 {
				done = true
				report.WholeMillis, report.Partitions = time.Since(began).Milliseconds(), f.View.PartitionCounts[model.OnlinePartition]
				close(whole)
			}
			if f.Following != nil && f.Following.On {
				followed()
			}
			if w == 0 {
				continue
			}
			select {
			case <-frames:
			default:
			}
			frames <- f
		}
	}()
	if w > 0 {
		never, _ := io.Pipe()
		go ui.Run(ctx, ui.Options{Frames: frames, Do: o.Do, In: never, Out: terminal, Width: w, Height: h, Zone: time.UTC})
	}
	select {
	case <-whole:
	case <-time.After(5 * time.Minute):
		return errors.New("no whole picture after 5 minutes")
	}
	select {
	case <-follows:
	case <-time.After(time.Minute):
		return errors.New("the controller is not followed after a minute")
	}
	seen := report // the goroutine goes on counting
	time.Sleep(2 * costWarmUp)
	cpu, from := cpuTime(), time.Now()
	time.Sleep(2 * costWindow)
	seen.Idle = (cpuTime() - cpu).Seconds() / time.Since(from).Seconds()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	seen.PeakMB = u.Maxrss >> 10
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// progressTerminal tells when the first progress is drawn.
type progressTerminal struct{ seen func() }

func (p *progressTerminal) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("loading")) {
		p.seen()
	}
	return len(b), nil
}

// bareMultiRead reads znodes by multiRead, 1,000 at a time and four unanswered,
// and looks at nothing but the length of the answers.
func bareMultiRead(t *testing.T, addr string, paths []string) time.Duration {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	be := binary.BigEndian
	frame := func(body []byte) []byte { return append(be.AppendUint32(nil, uint32(len(body))), body...) }
	in := bufio.NewReaderSize(conn, 1<<20)
	var size [4]byte
	answer := func() {
		if _, err := io.ReadFull(in, size[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Discard(int(be.Uint32(size[:]))); err != nil {
			t.Fatal(err)
		}
	}
	hello := be.AppendUint32(nil, 0)                                // protocol version
	hello = be.AppendUint64(hello, 0)                               // last zxid
	hello = be.AppendUint32(hello, 30_000)                          // timeout
	hello = be.AppendUint64(hello, 0)                               // no session yet
	hello = append(be.AppendUint32(hello, 16), make([]byte, 17)...) // password, not read-only
	if _, err := conn.Write(frame(hello)); err != nil {
		t.Fatal(err)
	}
	answer()
	began := time.Now()
	flying := 0
	for xid := uint32(1); len(paths) > 0; xid++ {
		n := min(len(paths), 1000)
		body := be.AppendUint32(be.AppendUint32(nil, xid), 22) // multiRead
		for _, p := range paths[:n] {
			body = append(be.AppendUint32(body, 4), 0) // getData follows
			body = be.AppendUint32(body, 0xffffffff)   // no error
			body = append(be.AppendUint32(body, uint32(len(p))), p...)
			body = append(body, 0) // no watch
		}
		body = be.AppendUint32(append(be.AppendUint32(body, 0xffffffff), 1), 0xffffffff) // the end
		paths = paths[n:]
		if _, err := conn.Write(frame(body)); err != nil {
			t.Fatal(err)
		}
		if flying++; flying == 4 {
			answer()
			flying--
		}
	}
	for range flying {
		answer()
	}
	return time.Since(began)
}
