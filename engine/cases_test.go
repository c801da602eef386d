package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kstate/engine"
)

// scenario is a case of testdata/scenarios; what it holds depends on the file.
type scenario struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Level string `json:"level"`
	text  json.RawMessage
	err   error // why it cannot be read
}

// runners run the cases of one file each.
var runners = map[string]func(*testing.T, *scenario){
	"controller_integration": runTraceCase,
	"alter_partition":        runTraceCase,
	"controlled_shutdown":    runTraceCase,
	"reassignment":           runTraceCase,
	"topic_deletion":         runTraceCase,
	"elections":              func(t *testing.T, s *scenario) { engine.RunElectionCase(t, s.text) },
	"partition_transitions":  func(t *testing.T, s *scenario) { engine.RunMachineCase(t, s.text, true) },
	"replica_transitions":    func(t *testing.T, s *scenario) { engine.RunMachineCase(t, s.text, false) },
	"engine_facts":           func(t *testing.T, s *scenario) { engine.RunFactCase(t, s.text) },
	"zk_layout":              runLayoutCase,
	"zk_operations":          func(t *testing.T, s *scenario) { engine.RunOperationCase(t, s.text) },
	"control_requests":       func(t *testing.T, s *scenario) { engine.RunRequestCase(t, s.text) },
}

func runTraceCase(t *testing.T, s *scenario) {
	if s.Level == "manager" {
		engine.RunManagerCase(t, s.text)
		return
	}
	var c traceCase
	if err := json.Unmarshal(s.text, &c); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	if len(c.Steps) == 0 {
		t.Fatal("the case has no steps")
	}
	runTrace(t, &c)
}

// caseRoots are the folders of cases: what Kafka's own controller did, and what
// follows from its source where nothing was recorded.
var caseRoots = []string{"testdata", "testdata/derived"}

// TestCases runs the conformance tables: each case of testdata/scenarios and
// each report of testdata/reports, and those of testdata/derived. KSTATE_CASES
// names another folder with these two; then only its cases run. A case that
// can't be read fails, and the others run.
func TestCases(t *testing.T) {
	roots, total := caseRoots, 0
	if other := os.Getenv("KSTATE_CASES"); other != "" {
		roots = []string{other}
	}
	ran := 0
	seen := map[string]bool{}
	run := func(id string, f func(*testing.T)) {
		total++
		t.Run(id, func(t *testing.T) {
			ran++
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("the case cannot be read, or breaks what runs it: %v", r)
				}
			}()
			switch {
			case id == "":
				t.Error("a case has no id")
			case seen[id]:
				t.Errorf("case id %q is given twice", id)
			}
			seen[id] = true
			f(t)
		})
	}
	for _, dir := range roots {
		runCasesOf(t, dir, run)
	}
	if total == 0 {
		t.Errorf("%s holds no cases: it must have folders scenarios and reports with JSON files", strings.Join(roots, ", "))
	}
	fmt.Printf("ran %d of %d cases\n", ran, total)
}

// runCasesOf runs what a folder holds.
func runCasesOf(t *testing.T, dir string, run func(id string, f func(*testing.T))) {
	for _, file := range caseFiles(t, dir, "scenarios") {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		list, err := readScenarios(file)
		if err == nil && runners[name] == nil {
			err = fmt.Errorf("there is no such file of scenarios; there are %s", strings.Join(slices.Sorted(maps.Keys(runners)), ", "))
		}
		if err != nil {
			run(name, func(t *testing.T) { t.Fatalf("%s: %v", file, err) })
			continue
		}
		for _, s := range list {
			run(s.ID, func(t *testing.T) {
				if s.err != nil {
					t.Fatalf("the case cannot be read: %v", s.err)
				}
				runners[name](t, s)
			})
		}
	}
	for _, file := range caseFiles(t, dir, "reports") {
		run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) { runReport(t, file) })
	}
}

func caseFiles(t *testing.T, dir, kind string) []string {
	files, err := filepath.Glob(filepath.Join(dir, kind, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// readScenarios reads the cases of a file; one that is no object comes back with
// the reason, and fails when it runs.
func readScenarios(file string) ([]*scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("it is no list of cases: %w", err)
	}
	out := make([]*scenario, len(raw))
	for i, r := range raw {
		out[i] = &scenario{text: r}
		if err := json.Unmarshal(r, out[i]); err != nil {
			out[i] = &scenario{ID: fmt.Sprintf("%s-%d", filepath.Base(file), i), err: err}
		}
	}
	return out, nil
}
