package tree

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kstate/model"
)

// The report trees carry what is expected of them in a field that Load passes
// over. Only what concerns the tree as it lies is looked at here.

type report struct {
	Expect struct {
		Controller  *controllerWanted          `json:"controller"`
		LiveBrokers []int32                    `json:"live_brokers"`
		Topics      map[string]topicWanted     `json:"topics"`
		Partitions  map[string]partitionWanted `json:"partitions"`
		Summary     *summaryWanted             `json:"summary"`
	} `json:"expect"`
}

type controllerWanted struct {
	Status string `json:"status"`
	ID     *int32 `json:"id"`
	Epoch  *int32 `json:"epoch"`
}

type topicWanted struct {
	Exists     bool      `json:"exists"`
	Deleting   bool      `json:"deleting"`
	Readable   *bool     `json:"readable"`
	Partitions *int      `json:"partitions"`
	Reasons    *[]string `json:"ineligible_reasons"`
	BlockedBy  *[]string `json:"blocked_by"`
}

type partitionWanted struct {
	Replicas []int32  `json:"replicas"`
	Adding   []int32  `json:"adding"`
	Removing []int32  `json:"removing"`
	Leader   *int32   `json:"leader"`
	ISR      []int32  `json:"isr"`
	State    string   `json:"state"`
	Why      []string `json:"why"`
}

type summaryWanted struct {
	Topics, Partitions, Offline int
	OfflineElectable            int            `json:"offline_electable"`
	UnderReplicated             int            `json:"under_replicated"`
	LeaderNotPreferred          int            `json:"leader_not_preferred"`
	LeadersByBroker             map[string]int `json:"leaders_by_broker"`
}

func reportFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/reports/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("only %d report trees found: %v", len(files), err)
	}
	return files
}

func loadFile(t testing.TB, path string) *File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := Load(r)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

func TestReportTreesAreReadAsExpected(t *testing.T) {
	for _, path := range reportFiles(t) {
		t.Run(filepath.Base(path)[:2], func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want report
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			s := SurveyFile(loadFile(t, path))
			checkCluster(t, s, &want)
			checkTopics(t, s, want.Expect.Topics)
			if want.Expect.Summary != nil {
				checkSummary(t, s, want.Expect.Summary)
			} else {
				checkPartitions(t, s, want.Expect.Partitions)
			}
			checkStateJSON(t, s)
			if err := BuildState(s, "tree", path).WriteText(io.Discard, 5); err != nil {
				t.Error(err)
			}
		})
	}
}

func checkCluster(t *testing.T, s *Survey, want *report) {
	t.Helper()
	if want.Expect.Controller != nil {
		equal(t, "controller", describeController(s.Controller()), Controller(*want.Expect.Controller))
	}
	if want.Expect.LiveBrokers != nil {
		equal(t, "live brokers", s.View().Live(), want.Expect.LiveBrokers)
	}
}

func checkTopics(t *testing.T, s *Survey, want map[string]topicWanted) {
	t.Helper()
	have := map[string]TopicStatus{}
	for status := range s.Topics() {
		have[status.Name] = status
	}
	if want != nil {
		equal(t, "topics", slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want)))
	}
	for name, w := range want {
		status := have[name]
		equal(t, name+" exists", status.Exists, w.Exists)
		equal(t, name+" deleting", status.Deleting, w.Deleting)
		if !w.Exists {
			continue
		}
		sum := s.topicSummary(status)
		equal(t, name+" readable", sum.Readable, *w.Readable)
		equal(t, name+" partitions", sum.Partitions, w.Partitions)
		equal(t, name+" queued", s.View().IsQueued(name), w.Deleting)
		if w.Reasons != nil {
			td := s.topicDeletion(name)
			reasons := []string{}
			for _, r := range td.IneligibleReasons {
				reasons = append(reasons, string(r))
			}
			equal(t, name+" ineligible", reasons, *w.Reasons)
			equal(t, name+" blocked by", td.BlockedBy, *w.BlockedBy)
			equal(t, name+" marked ineligible", s.View().TopicsIneligibleForDeletion.Has(name), len(reasons) > 0)
		}
	}
}

func checkPartitions(t *testing.T, s *Survey, want map[string]partitionWanted) {
	t.Helper()
	n := 0
	for topic := range s.View().Topics() {
		n += topic.PartitionCount()
	}
	if want != nil {
		equal(t, "partitions in all", n, len(want))
	}
	for name, w := range want {
		tp, err := model.ParseTopicPartition(name)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name, partitionSeen(s, tp), w.withLists())
	}
}

// withLists makes absent lists empty ones, and why a sorted set.
func (w partitionWanted) withLists() partitionWanted {
	w.Replicas, w.Adding, w.Removing = listed(w.Replicas), listed(w.Adding), listed(w.Removing)
	w.Why = slices.Sorted(slices.Values(w.Why))
	return w
}

func listed(ids []int32) []int32 { return append([]int32{}, ids...) }

func partitionSeen(s *Survey, tp model.TopicPartition) partitionWanted {
	p := s.View().Partition(tp)
	if p == nil {
		return partitionWanted{State: "unknown"}
	}
	a := p.Assignment
	have := partitionWanted{Replicas: a.Replicas, Adding: a.Adding, Removing: a.Removing, State: partitionStateName(p.State), Why: s.Why(tp)}
	if p.Leadership != nil {
		leader := p.Leadership.Leader
		have.Leader, have.ISR = &leader, listed(p.Leadership.ISR)
	}
	return have.withLists()
}

func checkSummary(t *testing.T, s *Survey, w *summaryWanted) {
	t.Helper()
	v := s.View()
	have := summaryWanted{Topics: v.TopicCount, Offline: v.PartitionCounts[model.OfflinePartition],
		LeaderNotPreferred: 0, LeadersByBroker: map[string]int{}}
	for topic := range v.Topics() {
		for n, p := range topic.Partitions() {
			have.Partitions++
			if p.State == model.OnlinePartition && p.Leader() != p.Assignment.Replicas[0] {
				have.LeaderNotPreferred++
			}
			if p.State == model.OnlinePartition && underReplicated(p) {
				have.UnderReplicated++
			}
			if slices.Contains(s.Why(model.TP(topic.Name, n)), ElectableNow) {
				have.OfflineElectable++
			}
		}
	}
	for _, b := range s.Brokers() {
		have.LeadersByBroker[fmt.Sprint(b.ID)] = b.Leads
	}
	equal(t, "summary", have, *w)
}

func equal[T any](t *testing.T, what string, have, want T) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		h, _ := json.Marshal(have)
		w, _ := json.Marshal(want)
		t.Errorf("%s: have %s, want %s", what, h, w)
	}
}

// checkStateJSON reads back what State writes and holds it against the survey.
func checkStateJSON(t *testing.T, s *Survey) {
	t.Helper()
	var b strings.Builder
	if err := BuildState(s, "tree", "x").WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var st stateJSON
	if err := json.Unmarshal([]byte(b.String()), &st); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	counts, replicas := map[string]int{}, map[string]int{}
	for _, p := range st.Partitions {
		counts[p.State]++
	}
	for _, r := range st.Replicas {
		replicas[r.State]++
		equal(t, "evidence", r.Evidence, "observed")
	}
	for state, n := range st.Counts.Partitions {
		equal(t, "count of "+state, n, counts[state])
	}
	for state, n := range st.Counts.Replicas {
		equal(t, "count of "+state, n, replicas[state])
	}
	equal(t, "queued", st.Deletion.Queued, s.View().TopicsToBeDeleted.Slice())
}

// stateJSON is the contract of `kstate state --json`, written down once more.
type stateJSON struct {
	Mode, Source string
	Controller   struct {
		Status    string
		ID, Epoch *int
	}
	Brokers []struct {
		ID        int
		Epoch     *int64
		State     string
		Endpoints []string
	}
	Counts     struct{ Partitions, Replicas map[string]int }
	Partitions []struct {
		Topic                    string
		Partition                int
		State                    string
		Leader                   *int
		LeaderEpoch              *int  `json:"leader_epoch"`
		ISR                      []int `json:"isr"`
		Replicas, Adding         []int
		Removing                 []int
		ControllerEpoch, Version *int
		Why                      []string
	}
	Replicas []struct {
		Topic     string
		Partition int
		Broker    int
		State     string
		Evidence  string
	}
	Deletion struct {
		Enabled                     bool
		Queued, Started, Ineligible []string
		Topics                      []struct {
			Topic, State string
			Reasons      []string `json:"ineligible_reasons"`
			BlockedBy    []string `json:"blocked_by"`
			Replicas     map[string]int
		}
	}
}
