package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kstate/internal/lab"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// process is kstate as a process of its own, without a terminal.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	addr string // of its ZooKeeper
	out  bytes.Buffer
	mu   sync.Mutex // guards errs
	errs strings.Builder
	done chan error
}

var addressLine = regexp.MustCompile(`ZooKeeper (?:is )?at (\S+)`)

// launch starts kstate and waits until it prints the address of its ZooKeeper,
// or ends.
func launch(t testing.TB, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self, args...), done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 2)
	var readers sync.WaitGroup
	read := func(r *bufio.Scanner, to func(string)) {
		readers.Go(func() {
			for r.Scan() {
				to(r.Text())
				if m := addressLine.FindStringSubmatch(r.Text()); m != nil {
					address <- m[1]
				}
			}
		})
	}
	read(bufio.NewScanner(stdout), func(line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.out.WriteString(line + "\n")
	})
	read(bufio.NewScanner(stderr), func(line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs.WriteString(line + "\n")
	})
	ended := make(chan struct{})
	go func() {
		readers.Wait()
		close(ended)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	select {
	case p.addr = <-address:
	case <-ended:
		select {
		case p.addr = <-address:
		default:
		}
	case <-time.After(patience):
		t.Fatalf("kstate %q prints no address: %s", args, p.said())
	}
	return p
}

// said is what it wrote to standard output and standard error so far.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String() + p.errs.String()
}

// end sends a signal and waits for the end.
func (p *process) end(s syscall.Signal) error {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

func (p *process) wait() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		p.t.Fatalf("it does not end: %s", p.said())
		return nil
	}
}

// clusterState is what kstate state --json says, by the names that scripts rely on.
type clusterState struct {
	Controller struct {
		Status string
		Epoch  *int32
	}
	Brokers []struct {
		ID    int32
		State string
	}
	Counts   struct{ Partitions, Replicas map[string]int }
	Replicas []struct {
		Topic     string
		Partition int32
		Broker    int32
		State     string
	}
	Partitions []struct {
		Topic     string
		Partition int32
		State     string
		Leader    *int32
		ISR       []int32
		Epoch     *int32 `json:"leader_epoch"`
	}
	Deletion struct{ Queued []string }
}

// liveState reads a cluster with kstate state --json.
func liveState(t testing.TB, addr string) (st clusterState, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"state", "--json", "--zookeeper", addr}, console{strings.NewReader(""), &out, &errs}); code != exitOK {
		return st, fmt.Errorf("exit code %d: %s", code, errs.String())
	}
	return st, json.Unmarshal(out.Bytes(), &st)
}

// awaitState waits until the state of a cluster is as wanted.
func awaitState(t testing.TB, addr, what string, holds func(*clusterState) bool) {
	t.Helper()
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		st, err := liveState(t, addr)
		if err == nil && holds(&st) {
			return
		}
		last = fmt.Sprintf("%+v, %v", st.Counts, err)
	}
	t.Fatalf("within %v the state did not say %s: %s", patience, what, last)
}

func onlineIn(st *clusterState, partitions, replicas int) bool {
	return st.Counts.Partitions["OnlinePartition"] == partitions && st.Counts.Replicas["OnlineReplica"] == replicas
}

// From the start of the process to a cluster that serves: under a second where
// nothing else runs, never above two.
func TestALabStartsAtOnce(t *testing.T) {
	best := time.Hour
	for range 4 { // the best of some: the machine may be busy
		began := time.Now()
		p := launch(t, "lab", "--headless")
		printed := time.Since(began)
		awaitState(t, p.addr, "that all is online", func(st *clusterState) bool { return onlineIn(st, 6, 15) && len(st.Brokers) == 3 })
		up := time.Since(began)
		t.Logf("the address was printed after %v, all was online after %v", printed.Round(time.Millisecond), up.Round(time.Millisecond))
		if err := p.end(syscall.SIGTERM); err != nil {
			t.Errorf("SIGTERM: %v: %s", err, p.said())
		}
		if best = min(best, up); best < time.Second {
			break
		}
	}
	if best > 2*time.Second {
		t.Errorf("the lab takes %v to start", best)
	}
}

// hangupIgnored: these tests run under nohup, and so does what they start. It is
// asked before any test listens to the signal, after which it cannot be known.
var hangupIgnored = signal.Ignored(syscall.SIGHUP)

func TestSignalsEndTheLab(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if s == syscall.SIGHUP && hangupIgnored {
			continue
		}
		p := launch(t, "lab", "--headless")
		err := p.end(s)
		if s == syscall.SIGHUP { // nobody catches it
			err = nil
		}
		if err != nil {
			t.Errorf("%s: %v: %s", s, err, p.said())
		}
		if c, err := net.DialTimeout("tcp", p.addr, time.Second); err == nil {
			c.Close()
			t.Errorf("after %s its ZooKeeper still listens", s)
		}
	}
}

func TestTheZooKeeperServerAlone(t *testing.T) {
	p := launch(t, "lab", "--brokers", "0")
	c := foreign(t, p.addr)
	names, _, err := c.Children("/")
	if err != nil || !slices.Equal(names, []string{"zookeeper"}) {
		t.Errorf("children of /: %q, %v", names, err)
	}
	c.Close()
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Errorf("%v: %s", err, p.said())
	}
	p = launch(t, "lab", "--brokers", "0", "--tree", reports+"20-isr-only-member-dead.json")
	st, err := liveState(t, p.addr)
	if err != nil {
		t.Fatal(err)
	}
	var want clusterState
	if err := json.Unmarshal([]byte(kstate(t, "state", "--json", "--tree", reports+"20-isr-only-member-dead.json").out), &want); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(st.Counts) != fmt.Sprint(want.Counts) || len(st.Brokers) != len(want.Brokers) {
		t.Errorf("the served tree has %v and %d brokers, the file %v and %d", st.Counts, len(st.Brokers), want.Counts, len(want.Brokers))
	}
}

func TestTwentyBrokers(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 20})
	d.up()
	d.do(model.CreateTopic{Topic: "wide", Partitions: 40, ReplicationFactor: 5})
	f := d.online(46, 215)
	if n := len(f.View.Live()); n != 20 || len(f.Channels) != 20 {
		t.Errorf("%d brokers, %d channels", n, len(f.Channels))
	}
	st, err := liveState(t, d.bench.lab.Addr())
	if err != nil || !onlineIn(&st, 46, 215) || len(st.Brokers) != 20 {
		t.Errorf("state: %v %v, %d brokers", err, st.Counts, len(st.Brokers))
	}
}

// Each report's tree: the lab starts, with simulated brokers in the place of the
// registered ones; the controller does what it can with it and takes commands.
// Some trees no controller can load: there it resigns and tries again, as Kafka's.
func TestALabOfEachReport(t *testing.T) {
	files, err := filepath.Glob(reports + "*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			t.Parallel()
			inv := &invocation{command: named(commands(), "lab"), given: map[string][]string{"tree": {name}}}
			znodes, err := labTree(inv)
			if err != nil {
				t.Fatal(err)
			}
			ids, _ := registered(znodes)
			d := openDesk(t, lab.Options{Brokers: 3, Znodes: znodes})
			f := d.await("the controller has tried", func(f *model.Frame) bool { return f.History.First > 0 || len(steps[*model.End](f, 0)) > 1 })
			for _, id := range ids {
				if _, code := d.bench.lab.Store().Exists(model.BrokerIDPath(id)); code != zkserver.OK {
					t.Errorf("broker %d is not registered: %s", id, code)
				}
			}
			for i := range f.Brokers {
				if b := &f.Brokers[i]; slices.Contains(ids, b.ID) && b.State == "down" {
					t.Errorf("broker %d is %s", b.ID, b.State)
				}
			}
			if n := d.ask(model.StartBroker{Broker: -1}); n.Level != model.Info && len(ids) > 0 && ids[len(ids)-1] < 1<<31-1 {
				t.Errorf("one more broker: %s", n.Text)
			}
			d.session.Do(model.Pause{})
			d.await("it is paused", func(f *model.Frame) bool { return f.Run == model.Paused })
		})
	}
}

// registered are the ids of a tree's brokers, in order.
func registered(znodes []zkserver.Znode) (ids []int32, odd bool) {
	for _, z := range znodes {
		if ref := model.ParsePath(z.Path); ref.Kind == model.BrokerZnode {
			ids = append(ids, ref.Broker)
			odd = odd || ref.Broker > 1000
		}
	}
	slices.Sort(ids)
	return ids, odd
}

func TestOddBrokerIDs(t *testing.T) {
	reg := func(id string) zkserver.Znode {
		return zkserver.Znode{Path: "/brokers/ids/" + id, Data: []byte(`{"version":1,"host":"x","port":1,"endpoints":["PLAINTEXT://x:1"]}`)}
	}
	topic := zkserver.Znode{Path: "/brokers/topics/t", Data: []byte(`{"version":1,"partitions":{"0":[1000,2147483647],"1":[7,0]}}`)}
	d := openDesk(t, lab.Options{Brokers: 3, Znodes: []zkserver.Znode{reg("0"), reg("1000"), reg("2147483647"), topic}})
	f := d.await("all is up", func(f *model.Frame) bool {
		return idle(f) && f.Controller.Self && f.View.PartitionCounts[model.OnlinePartition] == 2
	})
	if f.Controller.ID != 1001 {
		t.Errorf("the controller is %d, beside a broker 1000", f.Controller.ID)
	}
	var states []string
	for _, b := range f.Brokers {
		states = append(states, fmt.Sprint(b.ID, b.State))
	}
	if want := []string{"0live", "7down", "1000live", "2147483647live"}; !slices.Equal(states, want) {
		t.Errorf("brokers %q, want %q", states, want)
	}
	if n := d.ask(model.StartBroker{Broker: -1}); n.Level != model.Error || !strings.Contains(n.Text, "beyond 2147483647") {
		t.Errorf("a broker more: %s", n.Text)
	}
	d.back(7) // it was assigned, not registered
	d.await("its replica is online", func(f *model.Frame) bool { return f.View.ReplicaCounts[model.OnlineReplica] == 4 })
}

func TestTheDataDirectoryIsReadBack(t *testing.T) {
	dir := t.TempDir()
	const session = 40 * time.Second // the longest that the server grants
	t.Run("first", func(t *testing.T) {
		d := openDesk(t, lab.Options{Brokers: 3, DataDir: dir, SessionTimeout: session})
		d.up()
		d.do(model.CreateTopic{Topic: "kept", Partitions: 4, ReplicationFactor: 3})
		d.do(model.DeleteTopic{Topic: "unclean"})
		d.online(9, 25)
		d.cut(3)
		d.settled()
	})
	t.Run("second", func(t *testing.T) {
		began := time.Now()
		d := openDesk(t, lab.Options{Brokers: 3, DataDir: dir})
		f := d.online(9, 25)
		if took := time.Since(began); took > session*3/4 {
			t.Errorf("it took %v: old registrations were waited for", took)
		}
		if f.View.KnowsTopic("unclean") || !f.View.KnowsTopic("kept") || f.Controller.Epoch != 2 {
			t.Errorf("kept %v, unclean %v, epoch %d", f.View.KnowsTopic("kept"), f.View.KnowsTopic("unclean"), f.Controller.Epoch)
		}
	})
	t.Run("killed", func(t *testing.T) {
		p := launch(t, "lab", "--headless", "--zookeeper-data", dir)
		awaitState(t, p.addr, "that all is online", func(st *clusterState) bool { return onlineIn(st, 9, 25) })
		q := launch(t, "lab", "--headless", "--zookeeper-data", dir)
		if err := q.wait(); err == nil || q.cmd.ProcessState.ExitCode() != exitError || !strings.Contains(q.said(), dir) {
			t.Errorf("two labs on one directory: %v: %s", err, q.said())
		}
		p.end(syscall.SIGKILL)
		p = launch(t, "lab", "--headless", "--zookeeper-data", dir)
		awaitState(t, p.addr, "that all is online", func(st *clusterState) bool { return onlineIn(st, 9, 25) && len(st.Brokers) == 3 })
	})
}

func TestAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, more := range [][]string{nil, {"--brokers", "0"}, {"--zookeeper-data", t.TempDir()}} {
		kstate(t, append([]string{"lab", "--headless", "--zookeeper-port", port}, more...)...).
			check(t, exitError, "", "cannot listen on port "+port)
	}
}

func TestWrongLabFlags(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--brokers -1", exitUsage, "not a number from 0 to 200"},
		{"--brokers many", exitUsage, "not a number from 0 to 200"},
		{"--zookeeper-tick 0", exitUsage, "--zookeeper-tick 0: below 50 ms"},
		{"--zookeeper-tick 5", exitUsage, "--zookeeper-tick 5: below 50 ms"},
		{"--zookeeper-port 70000", exitUsage, "--zookeeper-port 70000: not a number from 0 to 65535"},
		{"--state-change-log -", exitUsage, "standard output is the screen"},
		{"--tree " + missing, exitError, "missing"},
		{"--state-change-log " + filepath.Join(missing, "x") + " --headless", exitError, "--state-change-log"},
		{"somewhere", exitUsage, "neither a scenario that kstate ships"},
	} {
		kstate(t, append([]string{"lab"}, strings.Fields(c.args)...)...).check(t, c.code, "", c.want)
	}
}

var stateChangeLine = regexp.MustCompile(`^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (INFO|TRACE) \[Controller id=1000 epoch=1\] Changed (partition \S+ state|state of replica \d+ for partition \S+) from \w+ to \w+ \(state\.change\.logger\)$`)

func TestTheStateChangeLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state-change.log")
	p := launch(t, "lab", "--headless", "--state-change-log", name)
	awaitState(t, p.addr, "that all is online", func(st *clusterState) bool { return onlineIn(st, 6, 15) })
	c := foreign(t, p.addr)
	if _, err := c.Create(model.DeleteTopicPath("unclean"), nil, 0, nil); err == nil {
		t.Error("an empty ACL was taken")
	}
	createMarker(t, c, "unclean")
	awaitState(t, p.addr, "that the topic is gone", func(st *clusterState) bool { return onlineIn(st, 5, 13) && len(st.Deletion.Queued) == 0 })
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var of []string
	for _, l := range lines {
		if !stateChangeLine.MatchString(l) {
			t.Errorf("not as in Kafka's log: %s", l)
		}
		if _, rest, ok := strings.Cut(l, "Changed "); ok && strings.Contains(l, "unclean-0") {
			of = append(of, strings.TrimSuffix(rest, " (state.change.logger)"))
		}
	}
	want := []string{"partition unclean-0 state from NewPartition to OnlinePartition"}
	if len(of) == 0 || !slices.Contains(of, want[0]) {
		t.Errorf("lines of unclean-0: %q", of)
	}
	for _, edge := range []string{"OnlineReplica to OfflineReplica", "OfflineReplica to ReplicaDeletionStarted", "ReplicaDeletionStarted to ReplicaDeletionSuccessful", "ReplicaDeletionSuccessful to NonExistentReplica"} {
		for _, b := range []string{"2", "3"} {
			if line := "state of replica " + b + " for partition unclean-0 from " + edge; !slices.Contains(of, line) {
				t.Errorf("the log lacks %q; it has %q", line, of)
			}
		}
	}
	p = launch(t, "lab", "--headless", "--state-change-log", "-")
	awaitState(t, p.addr, "that all is online", func(st *clusterState) bool { return onlineIn(st, 6, 15) })
	p.end(syscall.SIGTERM)
	if !strings.Contains(p.out.String(), "Changed partition orders-0 state from NewPartition to OnlinePartition (state.change.logger)\n") {
		t.Errorf("standard output: %s", p.out.String())
	}
}
