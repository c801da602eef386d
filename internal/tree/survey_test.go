package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/model"

	"pgregory.net/rapid"
)

// recordedStep is one step of a recording of a real controller: the tree, and
// what the recorder itself read out of it.
type recordedStep struct {
	Step         string   `json:"step"`
	Brokers      []string `json:"brokers"`
	Controller   int32    `json:"controller"`
	Epoch        int32    `json:"controller_epoch"`
	DeleteTopics []string `json:"delete_topics"`
	Partitions   map[string]struct {
		Leader          int32   `json:"leader"`
		LeaderEpoch     int32   `json:"leader_epoch"`
		ISR             []int32 `json:"isr"`
		ControllerEpoch int32   `json:"controller_epoch"`
		Recovery        int8    `json:"leader_recovery_state"`
		Version         int32   `json:"zk_version"`
	} `json:"partitions"`
	Topics map[string]struct {
		Partitions map[string][]int32 `json:"partitions"`
	} `json:"topics"`
	Tree map[string]struct {
		Data      string `json:"data"`
		Ephemeral bool   `json:"ephemeral"`
		Version   int32  `json:"version"`
		Czxid     int64  `json:"czxid"`
	} `json:"tree"`
}

// file wraps the recorded tree into a tree file with the chroot /kafka.
func (r *recordedStep) file(t *testing.T) *File {
	t.Helper()
	f := File{Chroot: "/kafka", Config: DefaultConfig()}
	for _, path := range slices.Sorted(maps.Keys(r.Tree)) {
		z := r.Tree[path]
		f.Znodes = append(f.Znodes, Znode{Path: model.JoinChroot("/kafka", path), Data: []byte(z.Data), Ephemeral: z.Ephemeral, Version: z.Version, Czxid: z.Czxid})
	}
	var b strings.Builder
	if err := Write(&b, &f); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestRecordingsOfRealControllersAreReadAsRecorded(t *testing.T) {
	files, err := filepath.Glob("../realkafka/testdata/kafka-*-tour.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("only %d recordings found: %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var steps []recordedStep
		if err := json.Unmarshal(text, &steps); err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(path), i), func(t *testing.T) { checkRecorded(t, &steps[i]) })
		}
	}
}

func checkRecorded(t *testing.T, r *recordedStep) {
	t.Logf("%s", r.Step)
	s := SurveyFile(r.file(t))
	v := s.View()
	live := []string{}
	for _, id := range v.Live() {
		live = append(live, fmt.Sprint(id))
	}
	equal(t, "brokers", live, r.Brokers)
	equal(t, "controller", describeController(s.Controller()), Controller{ControllerActive, &r.Controller, &r.Epoch})
	equal(t, "deletion queue", v.TopicsToBeDeleted.Slice(), append([]string{}, r.DeleteTopics...))
	assigned := 0
	for name, topic := range r.Topics {
		for number, replicas := range topic.Partitions {
			tp, err := model.ParseTopicPartition(name + "-" + number)
			if err != nil {
				t.Fatal(err)
			}
			assigned++
			equal(t, tp.String()+" replicas", v.Assignment(tp).Replicas, replicas)
			want, led := r.Partitions[tp.String()]
			l := v.Leadership(tp)
			if led != (l != nil) {
				t.Errorf("%s: leadership %v, recorded %v", tp, l, led)
			} else if led {
				equal(t, tp.String(), *l, model.LeaderIsrAndControllerEpoch{ControllerEpoch: want.ControllerEpoch, LeaderAndIsr: model.LeaderAndIsr{
					Leader: want.Leader, LeaderEpoch: want.LeaderEpoch, ISR: want.ISR, Recovery: model.RecoveryState(want.Recovery), PartitionEpoch: want.Version}})
			}
		}
	}
	total := 0
	for _, n := range v.PartitionCounts {
		total += n
	}
	equal(t, "partitions", total, assigned)
	checkStateJSON(t, s)
}

// The znodes that the property test draws from: every kind that a survey acts
// on, few enough that they meet.
func drawZnode(t *rapid.T) model.Znode {
	topic := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "topic")
	tp := model.TP(topic, rapid.Int32Range(0, 2).Draw(t, "partition"))
	broker := rapid.Int32Range(1, 3).Draw(t, "broker")
	ids := rapid.SliceOfN(rapid.Int32Range(1, 4), 0, 3)
	var z model.Znode
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0, 1:
		z = model.Znode{Path: model.TopicPath(topic), Data: drawTopic(t, ids)}
	case 2, 3:
		l := model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.LeaderAndIsr{Leader: rapid.Int32Range(-1, 4).Draw(t, "leader"), ISR: ids.Draw(t, "isr")}}
		z = model.Znode{Path: model.TopicPartitionStatePath(tp), Data: model.EncodePartitionState(l)}
	case 4:
		z = model.Znode{Path: model.BrokerIDPath(broker), Data: model.EncodeBroker(&model.Broker{Endpoints: []model.Endpoint{
			{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: broker}}}, 5, -1, 0)}
	case 5:
		z = model.Znode{Path: model.DeleteTopicPath(topic)}
	case 6:
		z = model.Znode{Path: model.TopicPartitionPath(tp)}
	default:
		z = model.Znode{Path: model.TopicConfigPath(topic), Data: model.EncodeConfig(map[string]string{uncleanConfig: rapid.SampledFrom([]string{"true", "false"}).Draw(t, "unclean")})}
	}
	z.Stat.Version = rapid.Int32Range(0, 3).Draw(t, "version")
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0, 1, 2:
		return model.Znode{Path: z.Path, Missing: true}
	case 3:
		z.Data = []byte("{not json")
	case 4:
		z.Data = []byte("{}")
	case 5:
		return model.Znode{Path: z.Path, Err: "NOAUTH"}
	}
	return z
}

func drawTopic(t *rapid.T, ids *rapid.Generator[[]int32]) []byte {
	assignment := model.TopicAssignment{ID: model.Uuid{rapid.Byte().Draw(t, "id")}}
	for n := int32(0); n < 3; n++ {
		if rapid.Bool().Draw(t, "listed") {
			a := model.ReplicaAssignment{Replicas: ids.Draw(t, "replicas")}
			if rapid.IntRange(0, 3).Draw(t, "moving") == 0 {
				a.Adding = ids.Draw(t, "adding")
			}
			assignment.Partitions = append(assignment.Partitions, model.PartitionAssignment{Partition: n, ReplicaAssignment: a})
		}
	}
	return model.EncodeTopic(assignment)
}

// picture is everything that a survey answers.
func picture(t *rapid.T, s *Survey) string {
	var b strings.Builder
	st := BuildState(s, "tree", "x")
	if err := st.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := DescribeTopicsJSON(&b, s, TopicFilter{}); err != nil {
		t.Fatal(err)
	}
	v := s.View()
	topics, partitions := v.UnreadableCounts()
	fmt.Fprintf(&b, "offline %d imbalance %d reassigning %d unreadable %d %d refused %d\n", v.OfflinePartitionCount,
		v.PreferredReplicaImbalanceCount, v.ReassigningCount(), topics, partitions, s.refused)
	for topic := range v.Entries() {
		fmt.Fprintf(&b, "%s %t %v %v %d %q\n", topic.Name, topic.Known, topic.PartitionCounts, topic.ReplicaCounts, topic.Reassigning, topic.Unreadable)
		for n, p := range topic.Entries() {
			fmt.Fprintln(&b, n, p.Assignment, p.Leadership, p.State, p.Reassigning, p.Unreadable, p.Replicas)
		}
	}
	for tp := range s.Orphans() {
		fmt.Fprintln(&b, "orphan", tp)
	}
	for topic := range v.TopicsIneligibleForDeletion.All() {
		fmt.Fprintln(&b, topic, v.IneligibleReason(topic))
	}
	for topic := range s.Topics() {
		fmt.Fprintln(&b, topic, s.UncleanElectionEnabled(topic.Name))
	}
	return b.String()
}

// A survey that was brought up to date change by change answers as one that read
// the last word on each path, in another order. That the view's counts equal a
// recount follows: the fresh survey's are checked by it too.
func TestChangesInAnyOrderEndInTheSameSurvey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSurvey(DefaultConfig())
		tree := map[string]model.Znode{}
		var frozen []*model.View
		var counts []model.View
		for range rapid.IntRange(1, 80).Draw(t, "changes") {
			z := drawZnode(t)
			s.Apply(z)
			if tree[z.Path] = z; z.Missing {
				delete(tree, z.Path)
			}
			if rapid.IntRange(0, 9).Draw(t, "freeze") == 0 {
				v := s.Freeze()
				frozen, counts = append(frozen, v), append(counts, *v)
			}
			recountPartitions(t, s.View())
		}
		fresh := NewSurvey(DefaultConfig())
		for _, path := range rapid.Permutation(slices.Sorted(maps.Keys(tree))).Draw(t, "order") {
			fresh.Apply(tree[path])
		}
		if have, want := picture(t, s), picture(t, fresh); have != want {
			t.Fatalf("change by change:\n%s\nfrom scratch:\n%s", have, want)
		}
		for i, v := range frozen {
			if v.PartitionCounts != counts[i].PartitionCounts || v.ReplicaCounts != counts[i].ReplicaCounts {
				t.Fatalf("frozen view %d changed", i)
			}
			recountPartitions(t, v)
		}
		for _, path := range slices.Sorted(maps.Keys(tree)) {
			s.Apply(model.Znode{Path: path, Missing: true})
		}
		if s.View().TopicCount != 0 || len(s.topics)+len(s.brokers)+len(s.kept)+len(s.troubles)+s.refused != 0 {
			t.Fatalf("an empty tree leaves behind topics %v, shares %v, znodes %v, troubles %v", s.topics, s.brokers, s.kept, s.troubles)
		}
	})
}

func recountPartitions(t *rapid.T, v *model.View) {
	var partitions [5]int
	var replicas [8]int
	for topic := range v.Topics() {
		for _, p := range topic.Partitions() {
			partitions[p.State]++
			for _, r := range p.Replicas {
				replicas[r.State]++
			}
		}
	}
	if partitions != v.PartitionCounts || replicas != v.ReplicaCounts {
		t.Fatalf("kept %v %v, counted %v %v", v.PartitionCounts, v.ReplicaCounts, partitions, replicas)
	}
}

func TestABrokerThatGoesTakesItsShareOffline(t *testing.T) {
	s := SurveyFile(loadFile(t, "testdata/reports/45-wide-cluster-counts.json"))
	before := s.View().PartitionCounts
	leads := map[int32]int{}
	for _, b := range s.Brokers() {
		leads[b.ID] = b.Leads
	}
	registration, ok := s.Znode(model.BrokerIDPath(3))
	if !ok {
		t.Fatal("broker 3 is not registered")
	}
	s.Apply(model.Znode{Path: registration.Path, Missing: true})
	after := s.View().PartitionCounts
	equal(t, "partitions that went offline", after[model.OfflinePartition]-before[model.OfflinePartition], leads[3])
	s.Apply(registration)
	equal(t, "counts after it returned", s.View().PartitionCounts, before)
}

func TestTheWordsOfTroubles(t *testing.T) {
	s := NewSurvey(DefaultConfig())
	for _, z := range []model.Znode{
		{Path: "/brokers/topics/t", Data: []byte(`{"partitions":{"0":[1],"1":[1],"2":[1],"3":[1],"-4":[1]}}`)},
		{Path: "/brokers/topics/t/partitions/0/state", Data: []byte(`{"leader":1}`)},
		{Path: "/brokers/topics/t/partitions/1/state", Data: []byte(`hello`)},
		{Path: "/brokers/topics/t/partitions/2/state", Err: "NOAUTH"},
		{Path: "/brokers/topics/t/partitions/3/state", Data: []byte{}},
		{Path: "/brokers/topics/u", Data: []byte(`[`)},
		{Path: "/brokers/ids/1", Data: []byte(`creator:host:9092`)},
		{Path: "/controller_epoch", Data: []byte(`seven`)},
	} {
		s.Apply(z)
	}
	states := map[string]string{}
	for topic := range s.View().Topics() {
		for n, p := range topic.Partitions() {
			states[model.TP(topic.Name, n).String()] = partitionStateName(p.State) + " " + strings.Join(s.Why(model.TP(topic.Name, n)), " ")
		}
	}
	equal(t, "states", states, map[string]string{
		"t-0":  "unreadable state-znode-unparsable no-live-replica",
		"t-1":  "NewPartition state-znode-unparsable no-live-replica",
		"t-2":  "unreadable state-znode-unparsable no-live-replica",
		"t-3":  "NewPartition state-znode-unparsable no-live-replica",
		"t--4": "NewPartition no-state-znode no-live-replica",
	})
	var paths []string
	for _, trouble := range s.Troubles() {
		paths = append(paths, trouble.Path)
		if !strings.Contains(trouble.Err, trouble.Path) {
			t.Errorf("%q does not name its path", trouble.Err)
		}
	}
	equal(t, "troubles", paths, []string{"/brokers/ids/1", "/brokers/topics/t/partitions/0/state", "/brokers/topics/t/partitions/1/state",
		"/brokers/topics/t/partitions/2/state", "/brokers/topics/t/partitions/3/state", "/brokers/topics/u", "/controller_epoch"})
	equal(t, "controller", s.Controller(), model.ControllerStatus{Status: ControllerAbsent, ID: -1, Epoch: -1})
	if s.Refused() || len(s.Blind()) != 0 {
		t.Error("a survey that could read says that it could not")
	}
}

// A controller that meets such a name under /brokers/ids fails with
// NumberFormatException: what lists the registered brokers must not pass it over.
func TestNamesThatAreNoBrokerIDs(t *testing.T) {
	s := NewSurvey(DefaultConfig())
	names := []string{"foo", "99999999999", "1x", "2\u009b"}
	for _, name := range names {
		s.Apply(model.Znode{Path: "/brokers/ids/" + name, Data: []byte("{}")})
		s.Apply(model.Znode{Path: "/brokers/ids/" + name + "/below"})
	}
	s.Apply(model.Znode{Path: "/brokers/names/foo"})
	var told []string
	for _, trouble := range s.Troubles() {
		if told = append(told, trouble.Path); Printable(trouble.Err) != trouble.Err || !strings.Contains(trouble.Err, "not a broker id") {
			t.Errorf("%q", trouble.Err)
		}
	}
	equal(t, "troubles", told, []string{"/brokers/ids/1x", "/brokers/ids/2\u009b", "/brokers/ids/99999999999", "/brokers/ids/foo"})
	for _, name := range names {
		s.Apply(model.Znode{Path: "/brokers/ids/" + name, Missing: true})
	}
	if left := s.Troubles(); len(left) > 0 {
		t.Errorf("after they went: %v", left)
	}
}

func TestNothingMayBeRead(t *testing.T) {
	s := NewSurvey(DefaultConfig())
	s.Apply(model.Znode{Path: "/"})
	for _, path := range []string{"/brokers", "/brokers/ids", "/brokers/topics", "/controller"} {
		s.Apply(model.Znode{Path: path, Err: "NOAUTH"})
	}
	if !s.Refused() {
		t.Error("everything was refused, and the survey does not say so")
	}
	equal(t, "blind", s.Blind(), []string{"/brokers", "/brokers/ids", "/brokers/topics"})
	equal(t, "status of a controller that may not be read", s.Controller().Status, ControllerUnparsable)
}

// largeTree is a tree file of topics x partitions with three replicas each, as
// text.
func largeTree(t testing.TB, topics, partitions int) string {
	t.Helper()
	f := File{Config: DefaultConfig()}
	add := func(path string, data []byte, ephemeral bool) {
		f.Znodes = append(f.Znodes, Znode{Path: path, Data: data, Ephemeral: ephemeral, Czxid: int64(len(f.Znodes))})
	}
	const brokers = 12
	for id := int32(1); id <= brokers; id++ {
		add(model.BrokerIDPath(id), model.EncodeBroker(&model.Broker{Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: id}}}, 5, -1, 0), true)
	}
	for i := range topics {
		name := fmt.Sprintf("topic-%05d", i)
		var assignment model.TopicAssignment
		for n := range int32(partitions) {
			replicas := []int32{(n+int32(i))%brokers + 1, (n+int32(i)+1)%brokers + 1, (n+int32(i)+2)%brokers + 1}
			assignment.Partitions = append(assignment.Partitions, model.PartitionAssignment{Partition: n, ReplicaAssignment: model.ReplicaAssignment{Replicas: replicas}})
			add(model.TopicPartitionPath(model.TP(name, n)), nil, false)
			add(model.TopicPartitionStatePath(model.TP(name, n)), model.EncodePartitionState(model.LeaderIsrAndControllerEpoch{
				LeaderAndIsr: model.LeaderAndIsr{Leader: replicas[0], ISR: replicas, LeaderEpoch: n}}), false)
		}
		add(model.TopicPath(name), model.EncodeTopic(assignment), false)
	}
	slices.SortFunc(f.Znodes, func(a, b Znode) int { return strings.Compare(a.Path, b.Path) })
	var b strings.Builder
	if err := Write(&b, &f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// On a machine that does nothing else it takes well below a second. Under load
// the clock says little, so only what is many times over fails.
func TestALargeTreeIsReadQuickly(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes and reads a tree of 200,000 znodes")
	}
	text := largeTree(t, 1000, 100)
	before := liveHeap()
	start := time.Now()
	f, err := Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	loaded := time.Since(start)
	s := SurveyFile(f)
	surveyed := time.Since(start)
	heap := liveHeap() - before
	equal(t, "online", s.View().PartitionCounts[model.OnlinePartition], 100_000)
	equal(t, "replicas online", s.View().ReplicaCounts[model.OnlineReplica], 300_000)
	t.Logf("%d znodes, %d MB of text: read after %v, surveyed after %v, %d MB live", len(f.Znodes), len(text)>>20, loaded, surveyed, heap)
	if surveyed > 90*time.Second {
		t.Errorf("it took %v", surveyed)
	}
	if heap > 140 { // so that a collector that lets the heap double stays below 300
		t.Errorf("file and survey hold %d MB", heap)
	}
	runtime.KeepAlive(f)
	start = time.Now()
	var n countingWriter
	if err := BuildState(s, "tree", "x").WriteJSON(&n); err != nil {
		t.Fatal(err)
	}
	t.Logf("state of %d MB written in %v", n>>20, time.Since(start))
	start = time.Now()
	s.Apply(model.Znode{Path: model.BrokerIDPath(1), Missing: true})
	t.Logf("a broker of 12 goes: %v", time.Since(start))
}

// liveHeap is what is reachable, in MB.
func liveHeap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

type countingWriter int

func (n *countingWriter) Write(b []byte) (int, error) {
	*n += countingWriter(len(b))
	return len(b), nil
}
