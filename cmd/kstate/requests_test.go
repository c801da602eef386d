package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/realkafka"
	"kstate/model"
)

// asked is what one request asks of a broker for one partition, as the
// recordings have it.
type asked struct {
	Broker      int32   `json:"broker"`
	Request     string  `json:"request"`
	Version     int16   `json:"version"`
	TP          string  `json:"tp"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leader_epoch"`
	ISR         []int32 `json:"isr"`
	Replicas    []int32 `json:"replicas"`
	Adding      []int32 `json:"adding"`
	Removing    []int32 `json:"removing"`
	Offline     []int32 `json:"offline"`
	IsNew       bool    `json:"is_new"`
	Recovery    int8    `json:"recovery"`
	Delete      bool    `json:"delete"`
}

// String shows all of it. The ISR and the offline replicas are sets.
func (a asked) String() string {
	set := func(ids []int32) []int32 { return slices.Sorted(slices.Values(ids)) }
	return fmt.Sprintf("%d %s v%d %s leader %d epoch %d isr %v replicas %v adding %v removing %v offline %v new %v recovery %d delete %v",
		a.Broker, a.Request, a.Version, a.TP, a.Leader, a.LeaderEpoch, set(a.ISR), a.Replicas, a.Adding, a.Removing, set(a.Offline), a.IsNew, a.Recovery, a.Delete)
}

// askedStep is one step of a recording: what was asked since the step before, and
// the state znodes at its end.
type askedStep struct {
	Step       string                         `json:"step"`
	Entries    []asked                        `json:"entries"`
	Partitions map[string]realkafka.Partition `json:"partitions"`
}

// lines is the set of entries, sorted.
func lines(entries []asked) []string {
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.TP, barrier) {
			out = append(out, e.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// entriesOf is what a controller's request asks, partition by partition.
func entriesOf(id int32, r kmsg.Request) []asked {
	var out []asked
	put := func(topic string, partition int32, a asked) {
		a.Broker, a.Request, a.Version, a.TP = id, kmsg.NameForKey(r.Key()), r.GetVersion(), fmt.Sprintf("%s-%d", topic, partition)
		a.Request = strings.ReplaceAll(a.Request, "ISR", "Isr")
		out = append(out, a)
	}
	switch r := r.(type) {
	case *kmsg.LeaderAndISRRequest:
		for _, t := range r.TopicStates {
			for _, p := range t.PartitionStates {
				put(t.Topic, p.Partition, asked{Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, ISR: p.ISR, Replicas: p.Replicas,
					Adding: p.AddingReplicas, Removing: p.RemovingReplicas, IsNew: p.IsNew, Recovery: p.LeaderRecoveryState})
			}
		}
	case *kmsg.UpdateMetadataRequest:
		for _, t := range r.TopicStates {
			for _, p := range t.PartitionStates {
				put(t.Topic, p.Partition, asked{Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, ISR: p.ISR, Replicas: p.Replicas, Offline: p.OfflineReplicas})
			}
		}
	case *kmsg.StopReplicaRequest:
		for _, t := range r.Topics {
			for _, p := range t.PartitionStates {
				put(t.Topic, p.Partition, asked{LeaderEpoch: p.LeaderEpoch, Delete: p.Delete})
			}
		}
	}
	return out
}

// barrier begins the names of the topics that end a step: when each live broker
// has heard of it, all that was asked before has come, too.
const barrier = "barrier-"

// stagehand does what the recordings' script did: three answering brokers, 101 to
// 103, and an operator who writes znodes.
type stagehand struct {
	t        *testing.T
	zk       string // host:port
	conn     *zk.Conn
	brokers  *answerers
	sessions map[int32]*zk.Conn // of the brokers that are up
	golden   []askedStep
	at       int // the step in hand

	mu   sync.Mutex
	seen []asked // since the step before
}

const requestsChroot = "/kafka"

// asksAsKafka has kstate control brokers that answer everything through the
// script, and compares what it asks with what Kafka's own controller asked.
func asksAsKafka(t *testing.T, zookeeper, release string, protocol model.InterBrokerProtocol) {
	data, err := os.ReadFile("testdata/kafka-" + release + "-requests.json")
	if err != nil {
		t.Fatal(err)
	}
	s := &stagehand{t: t, zk: zookeeper, conn: realkafka.Dial(t, zookeeper), sessions: map[int32]*zk.Conn{}}
	if err := json.Unmarshal(data, &s.golden); err != nil {
		t.Fatal(err)
	}
	s.brokers = startAnswerers(t, s.heard, 101, 102, 103)
	c := startControl(t, "--zookeeper", zookeeper+requestsChroot, "--listener", "127.0.0.1:0", "--id", "1", "--inter-broker-protocol", protocol.Release())
	c.says(`is the controller, epoch 1`)
	s.play()
	if s.at != len(s.golden) {
		t.Errorf("%d of %d steps were played", s.at, len(s.golden))
	}
	c.cancel()
	if code := c.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func (s *stagehand) heard(id int32, r kmsg.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, entriesOf(id, r)...)
}

// play is the script.
func (s *stagehand) play() {
	for _, id := range s.brokers.ids {
		s.up(id)
	}
	s.step("brokers up")
	s.topic("t", 1, []int32{101, 102, 103}, []int32{102, 103, 101})
	s.step("topic t created")
	s.down(102)
	s.step("102 down")
	s.up(102)
	s.step("102 up")
	s.rejoin("t", []int32{101, 102, 103}, []int32{102, 103, 101})
	s.step("102 back in the ISR")
	s.create("/admin/preferred_replica_election", `{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"t","partition":1}]}`, 0)
	s.step("preferred election")
	s.create("/admin/reassign_partitions", `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[103,101]}]}`, 0)
	s.step("t-0 reassigned to 103,101")
	s.topic("u", 2, []int32{102}, []int32{103, 101})
	s.step("topic u created")
	s.down(102)
	s.step("102 down, u-0 leaderless")
	s.up(102)
	s.step("102 up, u-0 back")
	s.down(103)
	s.step("103 down")
	s.create("/admin/delete_topics/t", "", 0)
	s.step("t deleted while 103 is down")
	s.up(103)
	s.step("103 up, t goes")
	s.set("/brokers/topics/u", topicZnode(2, []int32{102}, []int32{103, 101}, []int32{101, 103}))
	s.step("u grows")
	s.create("/admin/reassign_partitions", `{"version":1,"partitions":[{"topic":"u","partition":2,"replicas":[101,102]}]}`, 0)
	s.step("u-2 to 101,102: the new replica never joins the ISR")
	s.create("/admin/delete_topics/u", "", 0)
	s.step("u deleted while being reassigned")
}

// step waits until all that the recording has was asked and the state znodes are
// as it has them, then for a barrier, and compares.
func (s *stagehand) step(name string) {
	s.t.Helper()
	if s.at >= len(s.golden) || s.golden[s.at].Step != name {
		s.t.Fatalf("step %d, %q, is not the recording's", s.at, name)
	}
	want := s.golden[s.at]
	s.at++
	asks, states := lines(want.Entries), standing(want.Partitions)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if missing := only(asks, s.lines()); len(missing) == 0 && slices.Equal(states, standing(s.states())) {
			break
		}
	}
	s.barrier()
	got := s.lines()
	for _, l := range only(asks, got) {
		s.t.Errorf("%s: only Kafka asks\n%s", name, l)
	}
	for _, l := range only(got, asks) {
		s.t.Errorf("%s: only kstate asks\n%s", name, l)
	}
	if got := standing(s.states()); !slices.Equal(got, states) {
		s.t.Errorf("%s: the state znodes\n%q, under Kafka\n%q", name, got, states)
	}
	s.mu.Lock()
	s.seen = nil
	s.mu.Unlock()
}

func (s *stagehand) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return lines(s.seen)
}

// barrier creates a topic and waits until each live broker has its metadata.
func (s *stagehand) barrier() {
	s.t.Helper()
	name := fmt.Sprintf("%s%d", barrier, s.at)
	s.topic(name, byte(100+s.at), []int32{101})
	await(s.t, "metadata of "+name+" at each broker", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		told := map[int32]bool{}
		for _, e := range s.seen {
			if e.Request == "UpdateMetadata" && e.TP == name+"-0" && e.Leader == 101 {
				told[e.Broker] = true
			}
		}
		return len(told) == len(s.sessions)
	})
}

// only is what the first sorted list has and the second has not.
func only(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(l string) bool {
		_, there := slices.BinarySearch(b, l)
		return there
	})
}

// standing is what counts of state znodes, sorted.
func standing(partitions map[string]realkafka.Partition) []string {
	var out []string
	for tp, p := range partitions {
		out = append(out, fmt.Sprintf("%s leader %d epoch %d isr %v recovery %d version %d", tp, p.Leader, p.LeaderEpoch, slices.Sorted(slices.Values(p.ISR)), p.Recovery, p.ZKVersion))
	}
	slices.Sort(out)
	return out
}

// states are the state znodes, but those of barriers.
func (s *stagehand) states() map[string]realkafka.Partition {
	s.t.Helper()
	seen, err := realkafka.Snapshot(s.conn, requestsChroot)
	if err != nil {
		s.t.Fatal(err)
	}
	maps.DeleteFunc(seen.Partitions, func(tp string, _ realkafka.Partition) bool { return strings.HasPrefix(tp, barrier) })
	return seen.Partitions
}

// up registers a broker in a session of its own.
func (s *stagehand) up(id int32) {
	s.t.Helper()
	own := realkafka.Dial(s.t, s.zk)
	data := model.EncodeBroker(&model.Broker{ID: id, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: s.brokers.ports[id]}}}, 5, -1, 1)
	if _, err := own.Create(requestsChroot+model.BrokerIDPath(id), data, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		s.t.Fatalf("register broker %d: %v", id, err)
	}
	s.sessions[id] = own
}

// down ends a broker's session.
func (s *stagehand) down(id int32) {
	s.sessions[id].Close()
	delete(s.sessions, id)
}

func (s *stagehand) create(path, data string, flags int32) {
	s.t.Helper()
	if _, err := s.conn.Create(requestsChroot+path, []byte(data), flags, zk.WorldACL(zk.PermAll)); err != nil {
		s.t.Fatalf("create %s: %v", path, err)
	}
}

func (s *stagehand) set(path string, data []byte) {
	s.t.Helper()
	if _, err := s.conn.Set(requestsChroot+path, data, -1); err != nil {
		s.t.Fatalf("set %s: %v", path, err)
	}
}

// topic creates a topic as Kafka's admin does: its settings first.
func (s *stagehand) topic(name string, id byte, replicas ...[]int32) {
	s.t.Helper()
	s.create(model.TopicConfigPath(name), `{"version":1,"config":{}}`, 0)
	s.create(model.TopicPath(name), string(topicZnode(id, replicas...)), 0)
}

func topicZnode(id byte, replicas ...[]int32) []byte {
	a := model.TopicAssignment{Version: 3, ID: model.Uuid{15: id}}
	for p, r := range replicas {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(p), ReplicaAssignment: model.ReplicaAssignment{Replicas: r}})
	}
	return model.EncodeTopic(a)
}

// rejoin has the leaders take every replica back into the ISR, as a broker below
// 2.7 tells it: by the state znode and a notification.
func (s *stagehand) rejoin(topic string, replicas ...[]int32) {
	s.t.Helper()
	var told []string
	for p, isr := range replicas {
		tp := model.TP(topic, int32(p))
		data, _, err := s.conn.Get(requestsChroot + model.TopicPartitionStatePath(tp))
		if err != nil {
			s.t.Fatalf("%s: %v", tp, err)
		}
		state, _, err := model.DecodePartitionState(model.TopicPartitionStatePath(tp), data)
		if err != nil {
			s.t.Fatal(err)
		}
		isr = slices.DeleteFunc(slices.Clone(isr), func(id int32) bool { return id == state.LeaderAndIsr.Leader })
		state.LeaderAndIsr.ISR = slices.Insert(isr, 0, state.LeaderAndIsr.Leader)
		s.set(model.TopicPartitionStatePath(tp), model.EncodePartitionState(state))
		told = append(told, fmt.Sprintf(`{"topic":%q,"partition":%d}`, topic, p))
	}
	s.create("/isr_change_notification/isr_change_", `{"version":1,"partitions":[`+strings.Join(told, ",")+`]}`, zk.FlagSequence)
}

// recordedRequests are the recordings, each with its inter-broker protocol.
var recordedRequests = []struct {
	release  string
	protocol model.InterBrokerProtocol
}{{"3.9.2", model.IBP_3_9_IV0}, {"2.8.2", model.IBP_2_8_IV1}}

// What kstate asks of brokers is what Kafka's own controller asked of them, step
// by step, as sets of partition entries.
func TestControlAsksWhatKafkaAsks(t *testing.T) {
	for _, r := range recordedRequests {
		t.Run(r.release, func(t *testing.T) { asksAsKafka(t, keeper(t).Addr(), r.release, r.protocol) })
	}
}

// The same with a real ZooKeeper.
func TestRealControlAsksWhatKafkaAsks(t *testing.T) {
	jars := realkafka.Require(t, realkafka.Versions[0])
	for _, r := range recordedRequests {
		t.Run(r.release, func(t *testing.T) {
			asksAsKafka(t, realkafka.StartZooKeeper(t, jars).Addr, r.release, r.protocol)
		})
	}
}
