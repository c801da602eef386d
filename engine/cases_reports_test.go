package engine_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"sort"
	"testing"

	"kstate/engine"
	"kstate/internal/inquiry"
	"kstate/internal/tree"
	"kstate/model"
)

// reportCase is what a report of testdata/reports expects of a controller that
// takes over its tree.
type reportCase struct {
	Steps  []struct{ Expect engine.Object } `json:"steps"`
	Expect *struct {
		Failover  engine.Object            `json:"failover"`
		Elections map[string]engine.Object `json:"elections"`
	} `json:"expect"`
}

// runReport holds failover, steps and elections of a report against the engine.
func runReport(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want reportCase
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("the report cannot be read: %v", err)
	}
	if want.Expect == nil {
		t.Fatal("the report expects nothing")
	}
	if _, err := tree.Load(bytes.NewReader(text)); err != nil {
		t.Fatalf("the report cannot be read: %v", err)
	}
	steps, err := inquiry.ReadSteps(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if want.Expect.Failover == nil {
		return
	}
	c, got := copyTakenOver(t, text)
	defer c.Close()
	delete(want.Expect.Failover, "error") // for information
	checkFacts(t, "failover", want.Expect.Failover, engine.Plain(got))
	for i, s := range steps {
		after, err := c.Do(s)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		checkFacts(t, "step "+s.Do, want.Steps[i].Expect, engine.Plain(after))
	}
	strategies := map[string]model.Strategy{"preferred": model.PreferredStrategy, "unclean": model.OfflineUncleanStrategy}
	for name, answers := range want.Expect.Elections {
		strategy, ok := strategies[name]
		if !ok {
			t.Fatalf("no strategy %q", name)
		}
		c, _ := copyTakenOver(t, text)
		elections, err := c.Elect(strategy, c.Partitions(""))
		if err != nil {
			t.Fatal(err)
		}
		checkFacts(t, name, answers, engine.Plain(elections))
		c.Close()
	}
}

func copyTakenOver(t *testing.T, text []byte) (*inquiry.Copy, *inquiry.Takeover) {
	t.Helper()
	f, err := tree.Load(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := inquiry.NewCopy(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.TakeOver()
	if err != nil {
		t.Fatal(err)
	}
	return c, got
}

// checkFacts compares what is wanted, leaf by leaf; lists are sets.
func checkFacts(t *testing.T, where string, want engine.Object, got any) {
	t.Helper()
	var m engine.Matcher
	for _, d := range m.Diff(where, asSets(want), asSets(got), true) {
		t.Error(d)
	}
}

func asSets(v any) any {
	switch x := v.(type) {
	case engine.Object:
		out := engine.Object{}
		for k, v := range x {
			out[k] = asSets(v)
		}
		return out
	case []any:
		out := slices.Clone(x)
		sort.Slice(out, func(i, j int) bool { return engine.Text(out[i]) < engine.Text(out[j]) })
		return out
	}
	return v
}
