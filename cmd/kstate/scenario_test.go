package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kstate/internal/lab/script"
	"kstate/model"
)

// Every scenario that kstate ships is solved by its solution, and not without it.
func TestShippedScenarios(t *testing.T) {
	names := script.Names()
	if len(names) < 16 {
		t.Errorf("%d scenarios", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := script.Shipped(name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			failed, err := playScript(t.Context(), s, 1, true, &printer{out: &out})
			if err != nil || failed > 0 {
				t.Errorf("%d expectations failed, %v\n%s", failed, err, out.String())
			}
		})
	}
}

// The goal of an exercise is not there from the start.
func TestGoalsAreNotReachedAtOnce(t *testing.T) {
	for _, name := range []string{"delete-topic", "offline-restart", "deletion-dead-broker"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := script.Shipped(name)
			if err != nil {
				t.Fatal(err)
			}
			s.Solution = nil
			s.Start = append(s.Start, s.Reached...) // at once, not eventually
			if failed, err := playScript(t.Context(), s, 1, false, &printer{out: &bytes.Buffer{}}); err != nil || failed == 0 {
				t.Errorf("%d expectations failed, %v", failed, err)
			}
		})
	}
}

func writeScript(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.kstate")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What kstate run prints, and how it ends.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no labs")
	}
	for text, want := range map[string]struct {
		code  int
		out   []string
		flags string
	}{
		"brokers 1\ntopic a 1x1\nstart:\nexpect eventually partition a-0 Online\nsay well\nset x y\n": {exitError, []string{
			"      move partition a-0 NewPartition -> OnlinePartition", "ok   expect eventually partition a-0 Online", "# well", "FAIL line 6: set x y: refused: x is no setting", "not played to its end"}, ""},
		"brokers 1\nstart:\nexpect topic a exists\nexpect controller other\nwait idle\nexpect controller active": {exitError, []string{
			"FAIL line 3: expect topic a exists: found: absent", "1 expectations held, 2 did not"}, ""},
		"brokers 1\nstart:\nwait idle\ncreate topic a 1x1\nexpect eventually leader a-0 1\n": {exitOK, []string{
			"> create topic a 1x1", "! topic a created with 1 partitions", "1 expectations held, 0 did not"}, " --quiet"},
		"start:\nkil broker 1":          {exitUsage, []string{`mine:2:1: "kil" is not understood: want cancel, `}, ""},
		"set delete.topic.enable maybe": {exitUsage, []string{"delete.topic.enable=maybe: not true or false"}, ""},
		"brokers 1\nsay x":              {exitUsage, []string{"say comes behind start:"}, ""},
	} {
		out, stderr, code := runIn(t, "run"+want.flags+" "+writeScript(t, text))
		if code != want.code {
			t.Errorf("%q: exit code %d, want %d: %s", text, code, want.code, stderr)
		}
		for _, w := range want.out {
			if !strings.Contains(out+stderr, w) {
				t.Errorf("%q: %q is not printed:\n%s%s", text, w, out, stderr)
			}
		}
		if want.flags != "" && strings.Contains(out, "move partition") {
			t.Errorf("%q: quiet and yet steps:\n%s", text, out)
		}
	}
}

func TestRunInJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no labs")
	}
	out, stderr, code := runIn(t, "run --json --solution delete-topic")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	kinds := map[string]int{}
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		var x printed
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kinds[x.Kind]++
		if x.Kind == "expect" && (x.Holds == nil || !*x.Holds) || x.Kind == "step" && x.Grain == "" {
			t.Errorf("%s", line)
		}
	}
	if kinds["end"] != 1 || kinds["step"] < 50 || kinds["do"] < 5 || kinds["expect"] < 8 {
		t.Errorf("%v", kinds)
	}
}

func TestWrongRuns(t *testing.T) {
	for line, want := range map[string]string{
		"run":                              "which scenario",
		"run no-such-scenario":             "neither a scenario that kstate ships",
		"lab no-such-scenario":             "neither a scenario that kstate ships",
		"lab delete-topic rolling-restart": "one scenario at a time",
		"lab delete-topic --brokers 2":     "--brokers: a scenario says itself",
		"run delete-topic --seed x":        "--seed x",
	} {
		_, stderr, code := runIn(t, line)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", line, code, stderr)
		}
	}
	if _, stderr, code := runIn(t, "run ./no-such-file.kstate"); code != exitError || !strings.Contains(stderr, "no-such-file") {
		t.Errorf("a file that is not there: exit code %d, %s", code, stderr)
	}
	for text, want := range map[string]string{
		"brokers 1\nset no.such.setting 1\n":           "mine:2: set: no.such.setting is no setting",
		"set auto.leader.rebalance.enable maybe\n":     "mine:1: set: auto.leader.rebalance.enable=maybe",
		"topic a 1x3\nbrokers 2\nstart:\n wait idle\n": `mine:1:9: "1x3" is not understood`,
		"": "the text says nothing",
	} {
		if _, stderr, code := runIn(t, "run "+writeScript(t, text)); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, %s, want %s", text, code, stderr, want)
		}
	}
}

func TestTheListOfScenarios(t *testing.T) {
	out, _, code := runIn(t, "lab --list")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != len(script.Names()) {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for i, name := range script.Names() {
		s, err := script.Shipped(name)
		if err != nil {
			t.Fatal(err)
		}
		if f := strings.Fields(lines[i]); f[0] != name || !strings.HasSuffix(lines[i], s.Goal) {
			t.Errorf("%s", lines[i])
		}
	}
}

// runIn runs a command line in this process.
func runIn(t *testing.T, line string) (stdout, stderr string, code int) {
	t.Helper()
	o := kstate(t, strings.Fields(line)...)
	return o.out, o.err, o.code
}

// looksAround is a condition that holds, and looks around.
type looksAround func(script.Surroundings)

func (looksAround) String() string { return "told" }

func (f looksAround) Holds(_ *model.Frame, see script.Surroundings) (bool, string) {
	f(see)
	return true, ""
}

// The same seed draws the same topic ids; another draws others.
func TestTheSeedOfALab(t *testing.T) {
	id := func(seed int) string {
		s, err := script.Parse("x", "brokers 1\ntopic a 1x1\nstart:\nwait idle\n")
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		p := &printer{out: &bytes.Buffer{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.Start = append(s.Start, script.Line{Do: &script.Expect{Condition: looksAround(func(see script.Surroundings) { out = string(see.Znode("/brokers/topics/a").Data) })}})
		if _, err := playScript(ctx, s, uint64(seed), false, p); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b, c := id(1), id(1), id(2)
	if a == "" || a != b || a == c {
		t.Errorf("of seed 1 %s and %s, of seed 2 %s", a, b, c)
	}
}
