package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kstate/internal/realkafka"
)

// lag is how far what is shown may be behind the tree.
const lag = time.Second

// Kafka's own controller, the tour of the recordings, and kstate beside it: what
// observe shows follows the tree, state after each step is the recording, and so
// are the transitions that observe prints. Then the controller falls silent.
func TestRealObserveAndStateBesideKafka(t *testing.T) {
	// The controller's session outlives its silence.
	c := realkafka.StartCluster(t, realkafka.Require(t, "3.9.2"), realkafka.Options{OfBroker: map[int32]map[string]string{1: {"zookeeper.session.timeout.ms": "40000"}}})
	w := watch(t, c.Connect(), 6*time.Second)
	p := openPane(t, 160, 50, "observe", "--zookeeper", c.Connect())
	w.await(10*time.Second, "the whole tree was read", synced)
	p.await(10*time.Second, "the dashboard", holding("OBSERVE", "READ-ONLY", "connected", "OnlinePartition"))
	golden := realkafka.Golden(t, "3.9.2")
	headless := runBeside(t, "observe", "--headless", "--zookeeper", c.Connect(), "--state-change-log", "-")
	headless.awaitSaid(20*time.Second, "is followed")
	follower := follow(t, c, w, p)
	var states, told realkafka.Recording
	realkafka.Run(t, c, realkafka.Tour(), realkafka.RunOptions{After: func(i int, s realkafka.Step) {
		o := kstate(t, "state", "--json", "--zookeeper", c.Connect())
		o.check(t, exitOK, `"mode": "observe"`, "")
		step := stateAsStep(t, o.out)
		step.Name = s.Name
		if i < len(golden) { // what state does not tell
			step.Transitions, step.Reassign, step.Preferred = golden[i].Transitions, golden[i].Reassign, golden[i].Preferred
		}
		states = append(states, step)
		s.Transitions = headless.transitions(s.Transitions)
		told = append(told, s)
	}})
	follower.stop()
	differing := realkafka.Compare(golden, told)
	for _, d := range differing {
		t.Logf("the transitions that observe told are not the recording: %v", d)
	}
	if len(differing) > 1 { // docs/fidelity.md says what may be missed
		t.Errorf("the transitions that observe told differ in %d of %d steps", len(differing), len(golden))
	}
	for _, line := range headless.unmarked() {
		t.Errorf("not marked as inferred: %s", line)
	}
	t.Logf("the transitions that observe told: %d of %d steps as recorded", len(golden)-len(differing), len(golden))
	diffs := realkafka.Compare(golden, states)
	for _, d := range diffs {
		t.Errorf("kstate state is not the recording: %v", d)
	}
	t.Logf("kstate state: %d of %d steps as recorded; %s", len(golden)-len(diffs), len(golden), follower)
	silentController(t, c, p, headless)
	newTerm(t, c, headless)
	headless.end()
	administered(t, c)
}

// stateAsStep is what kstate state --json says, in the form of the recordings.
func stateAsStep(t *testing.T, text string) realkafka.Step {
	t.Helper()
	var st struct {
		Controller struct {
			ID     *int32
			Epoch  int32
			Status string
		}
		Brokers []struct {
			ID    int32
			State string
		}
		Partitions []struct {
			Topic       string
			Partition   int32
			State       string
			Leader      *int32
			LeaderEpoch int32 `json:"leader_epoch"`
			ISR         []int32
			Replicas    []int32
		}
		Replicas []struct {
			Topic             string
			Partition, Broker int32
		}
		Deletion struct{ Queued []string }
	}
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		t.Fatalf("kstate state --json: %v in\n%s", err, text)
	}
	s := realkafka.Step{Controller: st.Controller.ID, ControllerEpoch: st.Controller.Epoch, DeleteTopics: st.Deletion.Queued,
		Topics: map[string]realkafka.Topic{}, Partitions: map[string]realkafka.Partition{}}
	if st.Controller.Status != "active" {
		t.Errorf("the controller is %s", st.Controller.Status)
	}
	for _, b := range st.Brokers {
		if b.State == "live" {
			s.Brokers = append(s.Brokers, strconv.Itoa(int(b.ID)))
		}
	}
	listed := map[string][]int32{} // from the list of replicas
	for _, r := range st.Replicas {
		tp := fmt.Sprintf("%s-%d", r.Topic, r.Partition)
		listed[tp] = append(listed[tp], r.Broker)
	}
	for _, p := range st.Partitions {
		tp := fmt.Sprintf("%s-%d", p.Topic, p.Partition)
		if s.Topics[p.Topic].Partitions == nil {
			s.Topics[p.Topic] = realkafka.Topic{Partitions: map[string][]int32{}}
		}
		s.Topics[p.Topic].Partitions[strconv.Itoa(int(p.Partition))] = p.Replicas
		if sorted := slices.Sorted(slices.Values(p.Replicas)); !slices.Equal(slices.Sorted(slices.Values(listed[tp])), sorted) {
			t.Errorf("%s has replicas %v, and listed are %v", tp, p.Replicas, listed[tp])
		}
		s.Partitions[tp] = realkafka.Partition{LeaderEpoch: p.LeaderEpoch, ISR: p.ISR}
		if p.Leader == nil {
			s.Partitions[tp] = realkafka.Partition{Error: p.State}
		} else {
			part := s.Partitions[tp]
			part.Leader = *p.Leader
			s.Partitions[tp] = part
		}
	}
	return s
}

// follower holds what is shown against the tree, which it reads by itself, with
// another client and other rules than the observer's.
type follower struct {
	t    *testing.T
	conn *zk.Conn
	end  chan struct{}
	wg   sync.WaitGroup

	// of the goroutine, until stop
	pictures int // of the tree that lasted
	worst    time.Duration
	late     []string
}

func follow(t *testing.T, c *realkafka.Cluster, w *watcher, p *pane) *follower {
	f := &follower{t: t, conn: realkafka.Dial(t, c.ZKAddr), end: make(chan struct{})}
	f.wg.Add(1)
	go func() { defer f.wg.Done(); f.run(c.Chroot, w, p) }()
	return f
}

func (f *follower) run(chroot string, w *watcher, p *pane) {
	var want picture
	var since time.Time // want is in the tree
	var inFrame, inPane bool
	for {
		select {
		case <-f.end:
			return
		case <-time.After(20 * time.Millisecond):
		}
		s, err := realkafka.Snapshot(f.conn, chroot)
		if err != nil {
			f.late = append(f.late, err.Error())
			return
		}
		if now := pictureOfTree(&s); now != want {
			want, since, inFrame, inPane = now, time.Now(), false, false
		}
		if !inFrame {
			frame := w.frame()
			inFrame = f.compare("the frame", pictureOf(&frame).String(), want.String(), since)
		}
		if !inPane {
			text, err := p.capture()
			if err != nil {
				text = err.Error()
			}
			shown := want
			shown.Brokers = "" // their list is another view
			inPane = f.compare("the pane", pictureOfPane(text), shown.String(), since)
		}
	}
}

// compare says whether what is shown needs no further look: it is as it must be,
// or it came too late.
func (f *follower) compare(who, have, want string, since time.Time) bool {
	after := time.Since(since)
	switch {
	case have == want:
		f.pictures++
		f.worst = max(f.worst, after)
		return true
	case after > lag:
		f.late = append(f.late, fmt.Sprintf("%v after the tree became\n%s\n%s shows\n%s", after.Round(time.Millisecond), want, who, have))
		return true
	}
	return false
}

func (f *follower) stop() {
	close(f.end)
	f.wg.Wait()
	for _, l := range f.late {
		f.t.Error(l)
	}
	if f.pictures < 20 {
		f.t.Errorf("only %d pictures were compared", f.pictures)
	}
}

func (f *follower) String() string {
	return fmt.Sprintf("%d pictures of the tree shown, the slowest after %v", f.pictures, f.worst.Round(time.Millisecond))
}

// pictureOfTree is what must be shown of a tree.
func pictureOfTree(s *realkafka.Step) picture {
	var p picture
	live := func(id int32) bool { return slices.Contains(s.Brokers, strconv.Itoa(int(id))) }
	for name, topic := range s.Topics {
		for n, replicas := range topic.Partitions {
			state, there := s.Partitions[name+"-"+n]
			switch {
			case !there || state.Error != "":
				p.Partitions.New++
			case live(state.Leader):
				p.Partitions.Online++
			default:
				p.Partitions.Offline++
			}
			for _, id := range replicas {
				if live(id) {
					p.Replicas.Online++
				} else {
					p.Replicas.Offline++
				}
			}
		}
	}
	brokers := slices.Clone(s.Brokers)
	slices.Sort(brokers)
	p.Brokers, p.Queued = strings.Join(brokers, " "), strings.Join(s.DeleteTopics, " ")
	return p
}

// pictureOfPane reads the large graphs and the list of queued topics.
func pictureOfPane(text string) string {
	var p picture
	p.Partitions.Online, p.Partitions.Offline, p.Partitions.New = nodeCount(text, "OnlinePartition"), nodeCount(text, "OfflinePartition"), nodeCount(text, "NewPartition")
	p.Replicas.Online, p.Replicas.Offline = nodeCount(text, "OnlineReplica"), nodeCount(text, "OfflineReplica")
	p.Queued = queuedInPane(text)
	return p.String()
}

// divider stands between the graphs and what is beside them.
const divider = "│"

// queuedInPane lists the topics below topicsToBeDeleted in the pane Deletion.
func queuedInPane(text string) string {
	var topics []string
	in := false
	for line := range strings.Lines(text) {
		at := strings.LastIndex(line, divider)
		if at < 0 {
			continue
		}
		words := strings.Fields(line[at+len(divider):])
		switch {
		case len(words) > 0 && words[0] == "topicsToBeDeleted":
			in = true
		case len(words) > 0 && strings.HasPrefix(words[0], "topics"):
			in = false
		case in && len(words) > 0:
			topics = append(topics, words[0])
		}
	}
	slices.Sort(topics)
	return strings.Join(topics, " ")
}
