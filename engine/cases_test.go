package engine_test

import (
	"encoding/json"
	"fmt"
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
		t.Fatal(err)
	}
	runTrace(t, &c)
}

// TestCases runs the conformance tables: each case of testdata/scenarios and
// each report of testdata/reports. KSTATE_CASES names another folder with these two.
func TestCases(t *testing.T) {
	dir := "testdata"
	if other := os.Getenv("KSTATE_CASES"); other != "" {
		dir = other
	}
	ran, total := 0, 0
	run := func(id string, f func(*testing.T)) {
		total++
		t.Run(id, func(t *testing.T) {
			ran++
			f(t)
		})
	}
	files, err := filepath.Glob(filepath.Join(dir, "scenarios", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, file := range files {
		runner := runners[strings.TrimSuffix(filepath.Base(file), ".json")]
		if runner == nil {
			continue
		}
		for _, s := range readScenarios(t, file) {
			run(s.ID, func(t *testing.T) { runner(t, s) })
		}
	}
	fmt.Printf("ran %d of %d cases\n", ran, total)
}

func readScenarios(t *testing.T, file string) []*scenario {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var out []*scenario
	for _, r := range raw {
		s := &scenario{text: r}
		if err := json.Unmarshal(r, s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, s)
	}
	return out
}
