package explain

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

var update = flag.Bool("update", false, "rewrite the golden texts")

const reports = "../tree/testdata/reports/"

// report is what a report tree says of itself, as far as explanations go.
type report struct {
	file   string
	tree   *tree.File
	survey *tree.Survey
	Expect struct {
		Controller *struct{ Status string }
		Topics     map[string]struct {
			Exists, Deleting bool
			Readable         *bool
			Reasons          []model.IneligibleReason `json:"ineligible_reasons"`
			BlockedBy        []string                 `json:"blocked_by"`
		}
		Partitions map[string]struct {
			State string
			Why   []string
		}
		Elections map[string]map[string]struct {
			Leader *int32
			Error  *string
		}
		Problems []struct {
			Kind, Partition, Path, Topic string
			Broker                       *int32
			Brokers                      []int32
		}
	}
}

func loadReport(t testing.TB, file string) *report {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &report{file: filepath.Base(file)}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if r.tree, err = tree.Load(bytes.NewReader(text)); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r.survey = tree.SurveyFile(r.tree)
	return r
}

func reportNamed(t testing.TB, number string) *report {
	t.Helper()
	files, err := filepath.Glob(reports + number + "-*.json")
	if err != nil || len(files) != 1 {
		t.Fatalf("report %s: %v, %v", number, files, err)
	}
	return loadReport(t, files[0])
}

// eachReport runs a test on every report tree.
func eachReport(t *testing.T, test func(t *testing.T, r *report)) {
	files, err := filepath.Glob(reports + "*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("only %d report trees: %v", len(files), err)
	}
	for _, file := range files {
		r := loadReport(t, file)
		t.Run(r.file[:2], func(t *testing.T) { test(t, r) })
	}
}

func explain(t *testing.T, c *Cluster, kind model.SubjectKind, name string) *model.Explanation {
	t.Helper()
	s, err := model.ParseSubject(kind, name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Explain(s)
	if err != nil {
		t.Fatalf("%s %s: %v", kind, name, err)
	}
	return e
}

func whats(e *model.Explanation) []string {
	var out []string
	for i := range e.Causes {
		out = append(out, e.Causes[i].What)
	}
	return out
}

func sameSet[T ~string](a, b []T) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestTopicsOfTheReports(t *testing.T) {
	eachReport(t, func(t *testing.T, r *report) {
		c := OfTree(r.survey)
		for _, name := range slices.Sorted(maps.Keys(r.Expect.Topics)) {
			w := r.Expect.Topics[name]
			e := explain(t, c, model.TopicSubject, name)
			if (e.State != deletionNone) != w.Deleting {
				t.Errorf("%s: state %s, deleting %t", name, e.State, w.Deleting)
			}
			if !w.Deleting {
				if len(e.IneligibleReasons)+len(e.BlockedBy) > 0 {
					t.Errorf("%s, which nobody deletes: %v, blocked by %v", name, e.IneligibleReasons, e.BlockedBy)
				}
				continue
			}
			if !w.Exists {
				if !slices.Contains(whats(e), "stale-delete-marker") || !e.Found {
					t.Errorf("%s: a marker without a topic: %v", name, whats(e))
				}
				continue
			}
			if !sameSet(e.IneligibleReasons, w.Reasons) || !sameSet(e.BlockedBy, w.BlockedBy) {
				t.Errorf("%s: %v blocked by %v, want %v by %v", name, e.IneligibleReasons, e.BlockedBy, w.Reasons, w.BlockedBy)
			}
			if len(w.Reasons) > 0 && !e.Found {
				t.Errorf("%s: it is blocked, and not found to be", name)
			}
			for i := range e.Causes {
				if x := &e.Causes[i]; x.Holds && (len(x.Evidence) == 0 || len(x.Resumes) == 0) {
					t.Errorf("%s: %s without evidence or without what would change it", name, x.What)
				}
			}
		}
	})
}

func TestPartitionsOfTheReports(t *testing.T) {
	eachReport(t, func(t *testing.T, r *report) {
		c := OfTree(r.survey)
		requested := map[string]bool{} // what a controller that takes over reassigns first
		if z, ok := r.survey.Znode(model.ReassignPartitionsPath); ok {
			list, _ := model.DecodeReassignPartitions(z.Path, z.Data)
			for _, entry := range list {
				requested[entry.TopicPartition.String()] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(r.Expect.Partitions)) {
			w := r.Expect.Partitions[name]
			e := explain(t, c, model.PartitionSubject, name)
			if e.State != w.State || !sameSet(e.Why, w.Why) {
				t.Errorf("%s: %s %v, want %s %v", name, e.State, e.Why, w.State, w.Why)
			}
			if online := w.State == "OnlinePartition"; (e.Availability == available) != online || e.Found == online {
				t.Errorf("%s: %s, availability %s, found %t", name, w.State, e.Availability, e.Found)
			}
			for _, word := range w.Why {
				if !slices.Contains(whats(e), word) {
					t.Errorf("%s: no cause for %s: %v", name, word, whats(e))
				}
			}
			for kind, all := range r.Expect.Elections {
				if x, ok := all[name]; ok && !requested[name] {
					agrees(t, name+" "+kind, e, kind, x.Leader, x.Error)
				}
			}
		}
	})
}

// agrees holds an explanation of the tree as it lies against what a controller
// that took it over answered to an election.
func agrees(t *testing.T, what string, e *model.Explanation, kind string, leader *int32, code *string) {
	t.Helper()
	says := func(words ...string) bool {
		return slices.ContainsFunc(whats(e), func(w string) bool { return slices.Contains(words, w) })
	}
	head := func() *model.ReplicaVerdict {
		if len(e.Replicas) == 0 {
			return &model.ReplicaVerdict{}
		}
		return &e.Replicas[0]
	}
	newer := says("newer-controller-epoch", "state-from-newer-controller-epoch")
	ok := false
	switch {
	case leader != nil && kind == "preferred":
		ok = head().Clean && head().Broker == *leader
	case leader != nil:
		i := slices.IndexFunc(e.Replicas, func(v model.ReplicaVerdict) bool { return v.Unclean })
		ok = i >= 0 && e.Replicas[i].Broker == *leader && e.Found
	case code == nil:
		t.Errorf("%s: neither a leader nor an error", what)
		return
	case *code == "INVALID_TOPIC_EXCEPTION":
		ok = says(tree.TopicDeleting)
	case *code == "PREFERRED_LEADER_NOT_AVAILABLE":
		ok = !head().Clean || newer
	case *code == "ELIGIBLE_LEADERS_NOT_AVAILABLE":
		ok = newer || says(tree.LiveIsrNotAssigned) || !slices.ContainsFunc(e.Replicas, func(v model.ReplicaVerdict) bool { return v.Live })
	case *code == "NO_ANSWER":
		ok = e.Availability == unavailable && says(tree.NoStateZnode, tree.StateZnodeUnparsable, tree.AssignmentEmpty)
	case *code == "ELECTION_NOT_NEEDED" && kind == "preferred":
		ok = e.Leadership == preferred || e.Leadership == notPreferred || head().Leader || says(tree.NoStateZnode, tree.ElectableNow, "unclean-election-imminent")
	case *code == "ELECTION_NOT_NEEDED":
		ok = e.Availability == available || says(tree.ElectableNow, "unclean-election-imminent") ||
			says(tree.NoStateZnode) && slices.ContainsFunc(e.Replicas, func(v model.ReplicaVerdict) bool { return v.Live })
	}
	if !ok {
		got := "a leader"
		if code != nil {
			got = *code
		}
		t.Errorf("%s: a controller answered %s; explained as %s, %s: %v, %+v", what, got, e.Availability, e.Leadership, whats(e), e.Replicas)
	}
}

// Problems that name a subject are among the causes of that subject.
func TestProblemsOfTheReports(t *testing.T) {
	ofPartition := []string{"under-replicated", "under-min-isr", "leader-not-preferred", "leader-not-in-isr", "leader-recovering", "unclean-election-imminent",
		"isr-empty", "assignment-empty", "reassignment-in-progress", "reassignment-target-missing", "reassignment-complete-in-isr"}
	ofBroker := []string{"broker-in-no-isr", "duplicate-endpoint", "log-dir-failure-notification"}
	ofController := []string{"no-controller", "controller-not-registered", "controller-znode-persistent", "controller-znode-unparsable", "kraft-controller",
		"migration-state-present", "controller-epoch-missing", "controller-not-draining", "preferred-election-pending", "preferred-election-unparsable",
		"reassignment-znode-present", "reassignment-unparsable"}
	seen := map[string]bool{}
	eachReport(t, func(t *testing.T, r *report) {
		c := OfTree(r.survey)
		for _, p := range r.Expect.Problems {
			var e *model.Explanation
			switch {
			case slices.Contains(ofPartition, p.Kind) && p.Partition != "":
				e = explain(t, c, model.PartitionSubject, p.Partition)
			case slices.Contains(ofBroker, p.Kind) && p.Broker != nil:
				e = explain(t, c, model.BrokerSubject, fmt.Sprint(*p.Broker))
			case slices.Contains(ofBroker, p.Kind):
				e = explain(t, c, model.BrokerSubject, fmt.Sprint(p.Brokers[0]))
			case slices.Contains(ofController, p.Kind):
				e = explain(t, c, model.ControllerSubject, "")
			default:
				continue
			}
			seen[p.Kind] = true
			if !slices.Contains(whats(e), p.Kind) {
				t.Errorf("%s %s: no cause %s among %v", e.Kind, e.Name, p.Kind, whats(e))
			}
		}
	})
	if len(seen) < 15 {
		t.Errorf("only %d kinds of problems were looked at: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}

// subjects lists everything in a tree that can be explained.
func subjects(s *tree.Survey) []model.Subject {
	out := []model.Subject{{Kind: model.LeadershipSubject}, {Kind: model.ControllerSubject}}
	for t := range s.Topics() {
		out = append(out, model.Subject{Kind: model.TopicSubject, Topic: t.Name})
	}
	for _, b := range s.Brokers() {
		out = append(out, model.Subject{Kind: model.BrokerSubject, Broker: b.ID})
	}
	n := 0
	for t := range s.View().Topics() {
		for i, p := range t.Partitions() {
			if n++; n > 50 {
				return out
			}
			out = append(out, model.Subject{Kind: model.PartitionSubject, Topic: t.Name, Partition: i})
			for _, id := range p.Assignment.Replicas {
				out = append(out, model.Subject{Kind: model.ReplicaSubject, Topic: t.Name, Partition: i, Broker: id})
			}
		}
	}
	return out
}

// Each piece of evidence is in the tree, or is said to be missing and is.
func TestEvidenceOfTheReports(t *testing.T) {
	eachReport(t, func(t *testing.T, r *report) {
		checkEvidence(t, r.tree, r.survey, func(e *model.Explanation) { checkJSON(t, e) })
	})
}

// The same of the report trees with one znode gone, and with one that holds
// something else.
func TestEvidenceOfBrokenTrees(t *testing.T) {
	eachReport(t, func(t *testing.T, r *report) {
		if len(r.tree.Znodes) > 100 {
			return // the wide one
		}
		for i := range r.tree.Znodes {
			for _, data := range []string{"gone", "{}", `{"version":1,"partitions":{"0":[]},"leader":-1,"isr":[],"leader_epoch":0,"controller_epoch":99}`} {
				f := *r.tree
				f.Znodes = slices.Clone(f.Znodes)
				if data == "gone" {
					path := f.Znodes[i].Path
					f.Znodes = slices.DeleteFunc(f.Znodes, func(z tree.Znode) bool { return z.Path == path || strings.HasPrefix(z.Path, path+"/") })
				} else {
					f.Znodes[i].Data, f.Znodes[i].Version = []byte(data), 7
				}
				checkEvidence(t, &f, tree.SurveyFile(&f), func(*model.Explanation) {})
			}
		}
	})
}

func checkEvidence(t *testing.T, f *tree.File, survey *tree.Survey, also func(*model.Explanation)) {
	t.Helper()
	there := map[string]*tree.Znode{}
	for i := range f.Znodes {
		if path, ok := model.StripChroot(f.Chroot, f.Znodes[i].Path); ok {
			there[path] = &f.Znodes[i]
		}
	}
	c := OfTree(survey)
	for _, s := range subjects(survey) {
		e, err := c.Explain(s)
		if err != nil {
			t.Fatalf("%s %s: %v", s.Kind, s.Name(), err)
		}
		if e.Answer == "" || e.State == "" {
			t.Errorf("%s %s: no answer or no state", e.Kind, e.Name)
		}
		all := slices.Clone(e.Facts)
		for i := range e.Causes {
			x := &e.Causes[i]
			all = append(all, x.Evidence...)
			if x.Subject == "" || x.Holds && len(x.Resumes) == 0 || len(x.Evidence) == 0 {
				t.Errorf("%s %s: %s says nothing, or not what would change it: %+v", e.Kind, e.Name, x.What, x)
			}
		}
		for _, ev := range all {
			z, ok := there[ev.Path]
			switch {
			case ev.Missing == ok:
				t.Errorf("%s %s: %s: missing %t, in the tree %t", e.Kind, e.Name, ev.Path, ev.Missing, ok)
			case ev.Missing && ev.Version != nil, ok && z.Error == "" && (ev.Version == nil || *ev.Version != z.Version):
				t.Errorf("%s %s: %s: version %v", e.Kind, e.Name, ev.Path, ev.Version)
			case ev.Says == "":
				t.Errorf("%s %s: %s says nothing", e.Kind, e.Name, ev.Path)
			}
		}
		also(e)
	}
}

// checkJSON: lists are lists, never null, and nothing is lost on the way.
func checkJSON(t *testing.T, e *model.Explanation) {
	t.Helper()
	var b strings.Builder
	if err := WriteJSON(&b, e); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"why", "ineligible_reasons", "blocked_by", "causes", "facts", "replicas", "balance", "not_known"} {
		if _, ok := back[key].([]any); !ok {
			t.Errorf("%s %s: %s is %v", e.Kind, e.Name, key, back[key])
		}
	}
	for _, x := range back["causes"].([]any) {
		for _, key := range []string{"blocked_by", "evidence", "resumes"} {
			if _, ok := x.(map[string]any)[key].([]any); !ok {
				t.Errorf("%s %s: %s of a cause is %v", e.Kind, e.Name, key, x)
			}
		}
	}
}

func TestControllersOfTheReports(t *testing.T) {
	eachReport(t, func(t *testing.T, r *report) {
		if r.Expect.Controller == nil {
			return
		}
		e := explain(t, OfTree(r.survey), model.ControllerSubject, "")
		if e.State != r.Expect.Controller.Status || e.State != tree.ControllerActive && !e.Found {
			t.Errorf("%s, found %t, want %s", e.State, e.Found, r.Expect.Controller.Status)
		}
	})
}
