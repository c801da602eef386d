package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// feed gives a stream events as `go test -json` writes them.
func feed(t *testing.T, s *stream, events ...event) string {
	t.Helper()
	var in, out bytes.Buffer
	for _, e := range events {
		if err := json.NewEncoder(&in).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	s.out, s.stage = &out, "stage"
	if err := s.read(&in); err != nil {
		t.Fatal(err)
	}
	s.close()
	return out.String()
}

func ran(test, action string, output ...string) []event {
	es := []event{{Action: "run", Package: "p", Test: test}}
	for _, o := range output {
		es = append(es, event{Action: "output", Package: "p", Test: test, Output: o + "\n"})
	}
	return append(es, event{Action: action, Package: "p", Test: test})
}

func TestSkipKeepsItsReason(t *testing.T) {
	for _, c := range []struct {
		output []string
		want   string
	}{
		{[]string{"=== RUN   TestA", "    real_test.go:17: set X=1 to run", "--- SKIP: TestA (0.00s)"}, "set X=1 to run"},
		{[]string{"=== RUN   TestA", "    a_test.go:3: no Kafka: fetch failed:", "        mvn: no route", "--- SKIP: TestA (0.00s)"}, "no Kafka: fetch failed: mvn: no route"},
		{[]string{"=== RUN   TestA", "--- SKIP: TestA (0.00s)"}, "no reason given"},
	} {
		s := &stream{}
		feed(t, s, ran("TestA", "skip", c.output...)...)
		if len(s.results) != 1 || s.results[0].Result != "skip" || s.results[0].Reason != c.want {
			t.Errorf("%q: %+v, want a skip with reason %q", c.output, s.results, c.want)
		}
		if err := s.verdict(); err != nil {
			t.Errorf("a skip is a failure: %v", err)
		}
	}
}

func TestMustRun(t *testing.T) {
	real := regexp.MustCompile("^TestReal")
	for name, c := range map[string]struct {
		events []event
		want   string // part of the error; "" is success
	}{
		"ran":            {ran("TestRealA", "pass"), ""},
		"another skip":   {slices.Concat(ran("TestRealA", "pass"), ran("TestB", "skip")), ""},
		"skipped":        {ran("TestRealA", "skip", "    a_test.go:1: no Java"), "p TestRealA: no Java"},
		"subtest":        {slices.Concat(ran("TestRealA/x", "skip"), ran("TestRealA", "pass")), "TestRealA/x"},
		"nothing there":  {ran("TestB", "pass"), "no test matches"},
		"nothing at all": {nil, "no test matches"},
		"failed":         {ran("TestRealA", "fail"), "1 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stream{mustRun: real}
			feed(t, s, c.events...)
			err := s.verdict()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("verdict %v, want %q", err, c.want)
			}
		})
	}
}

func TestOutputOfAFailureIsPrinted(t *testing.T) {
	s := &stream{show: regexp.MustCompile("^TestReal")}
	out := feed(t, s, slices.Concat(
		ran("TestGood", "pass", "    a_test.go:1: quiet"),
		ran("TestRealGood", "pass", "    a_test.go:2: 11 of 11 steps equal"),
		ran("TestBad", "fail", "=== RUN   TestBad", "    a_test.go:3: got 1, want 2", "--- FAIL: TestBad (0.00s)"),
		[]event{{Action: "start", Package: "p"}, {Action: "output", Package: "p", Output: "leaked 1 goroutine\n"}, {Action: "output", Package: "p", Output: "FAIL\n"},
			{Action: "output", Package: "p", Output: "FAIL\tp\t1.500s\n"}, {Action: "fail", Package: "p", Elapsed: 1.5}})...)
	want := "pass p TestRealGood\n    a_test.go:2: 11 of 11 steps equal\n" +
		"FAIL p TestBad\n    a_test.go:3: got 1, want 2\nleaked 1 goroutine\nFAIL p 1.5 s\n"
	if out != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

func TestWhatNeverEndsHasFailed(t *testing.T) {
	s := &stream{}
	out := feed(t, s, event{Action: "run", Package: "p", Test: "TestHangs"},
		event{Action: "output", Package: "p", Test: "TestHangs", Output: "panic: test timed out\n"})
	if err := s.verdict(); err == nil {
		t.Error("no failure")
	}
	if !strings.Contains(out, "FAIL p TestHangs\n    panic: test timed out\n    it did not end\n") {
		t.Errorf("printed\n%s", out)
	}
}

// A goroutine that a test has left behind may bring the process down when the
// test has long passed; go test puts what it says under that test's name.
func TestWhatEndsAPackageBetweenTestsIsPrinted(t *testing.T) {
	out := feed(t, &stream{}, slices.Concat(
		[]event{{Action: "start", Package: "p"}},
		ran("TestLeaves", "pass"),
		[]event{{Action: "output", Package: "p", Test: "TestLeaves", Output: "panic: late\n"}, {Action: "fail", Package: "p", Elapsed: 1}})...)
	if want := "panic: late\nFAIL p 1.0 s\n"; out != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

// The whole way, on a module of three packages: one that passes, one that
// fails and skips, one that does not build.
func TestModule(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":            "module m\n\ngo 1.26\n",
		"good/good_test.go": "package good\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestShort(t *testing.T) { if testing.Short() { t.Skip(\"too long\") } }\n",
		"bad/bad_test.go": "package bad\n\nimport \"testing\"\n\nfunc TestTable(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) { t.Error(\"wrong\") })\n\tt.Run(\"b\", func(t *testing.T) {})\n}\n\n" +
			"func TestNever(t *testing.T) { t.Skip(\"never here\") }\n",
		"broken/broken_test.go": "package broken\n\nfunc Nothing() { undefined() }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "") // as a user may have set it for the module around
	results := filepath.Join(dir, "results")
	var out bytes.Buffer
	if err := run([]string{"test", "-stage", "first", "-results", results, "--", "go", "test", "./..."}, &out); err == nil || err.Error() != "3 failed" {
		t.Errorf("first stage: %v, want 3 failed (TestTable, TestTable/a, broken)\n%s", err, out.String())
	}
	for _, want := range []string{"FAIL m/bad TestTable/a\n    bad_test.go:6: wrong\n", "undefined: undefined", "ok   m/good "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the first stage does not print %q:\n%s", want, out.String())
		}
	}
	if err := run([]string{"test", "-stage", "second", "-results", results, "--", "go", "test", "-short", "./good"}, &out); err != nil {
		t.Errorf("second stage: %v", err)
	}
	out.Reset()
	if err := run([]string{"summary", "-results", results}, &out); err != nil {
		t.Fatal(err)
	}
	want := "Skipped:\n  m/bad TestNever, in first: never here\n  m/good TestShort, in second: too long (it ran in first)\n3 passed, 3 failed, 1 skipped\n"
	if out.String() != want {
		t.Errorf("summary\n%s\nwant\n%s", out.String(), want)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"test"}, {"summary"}, {"other", "-results", "x"}, {"test", "-stage", "s", "-results", "x", "--", "make", "test"}, {"test", "-stage", "s", "-results", "x", "-show", "(", "--", "go", "test"}} {
		if err := run(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestSummaryOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"summary", "-results", filepath.Join(t.TempDir(), "none")}, &out); err != nil || out.String() != "0 passed, 0 failed, 0 skipped\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
