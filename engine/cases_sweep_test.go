package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kstate/model"
)

// The traces of testdata/scenarios are played once more, each with one call that
// fails. What they assert does not hold then; but every event ends, the cluster
// comes to rest, and whoever holds the role in the end can be replaced. (The
// invariants are held over such failures by TestEveryCallFailsInEveryWay.)

// caseFailures are the ways in which a call fails. "Lost before" is missing:
// such a call is sent again, and answered as if nothing had been.
var caseFailures = []struct {
	name string
	when func(*model.Call) bool
	act  func(*candidate, *model.Call) *model.Result
}{
	{"NONODE", anyCall, answerAll(model.OpResult{Code: model.CodeNoNode})},
	{"NODEEXISTS", anyCall, answerAll(model.OpResult{Code: model.CodeNodeExists})},
	{"BADVERSION", anyCall, answerAll(model.OpResult{Code: model.CodeBadVersion})},
	{"NOTEMPTY", anyCall, answerAll(model.OpResult{Code: model.CodeNotEmpty})},
	{"NOAUTH", anyCall, answerAll(model.OpResult{Code: model.CodeNoAuth})},
	{"fence failure", func(c *model.Call) bool { return c.Fenced },
		answerAll(model.OpResult{Code: model.CodeRuntimeInconsistency, Check: model.CodeBadVersion})},
	{"lost after", anyCall, func(c *candidate, call *model.Call) *model.Result {
		c.world.Perform(call)
		r := c.world.Perform(call)
		return &r
	}},
	{"SESSIONEXPIRED", anyCall, func(c *candidate, _ *model.Call) *model.Result {
		c.world.Expire()
		c.expired = true
		return &model.Result{At: c.world.Now, Code: model.CodeSessionExpired}
	}},
}

func anyCall(*model.Call) bool { return true }

func answerAll(with model.OpResult) func(*candidate, *model.Call) *model.Result {
	return func(c *candidate, call *model.Call) *model.Result {
		r := &model.Result{At: c.world.Now, Ops: make([]model.OpResult, len(call.Ops))}
		for i := range r.Ops {
			r.Ops[i] = with
		}
		return r
	}
}

// onlooker is the test of a lab whose trace may go wrong: what the harness finds
// missing ends that run, and only a cluster that does not come to rest fails;
// unless it is for a controller that wins the role, cannot start and gives the
// role up, again and again, as Kafka's does.
type onlooker struct {
	*testing.T
	name string
	lab  *lab
}

type ended struct{}

func (o *onlooker) Errorf(string, ...any) {}

func (o *onlooker) Fatalf(format string, args ...any) {
	for _, c := range o.lab.candidates {
		if c.engine.TakeoverError() != nil {
			panic(ended{})
		}
	}
	if strings.Contains(format, "come to rest") {
		o.T.Fatalf(o.name+": "+format, args...)
	}
	panic(ended{})
}

func onlookersLab(t *testing.T, name string) *lab {
	o := &onlooker{T: t, name: name}
	o.lab = newLab(o)
	o.lab.patience = 20_000
	return o.lab
}

// untilEnded runs f until the harness cannot go on.
func untilEnded(f func()) {
	defer func() {
		if r := recover(); r != nil && r != any(ended{}) {
			panic(r)
		}
	}()
	f()
}

// playTrace runs a trace without looking at what it expects, until the harness
// cannot go on; then all has to come to rest.
func playTrace(l *lab, c *traceCase) {
	untilEnded(func() {
		l.startCluster(c)
		for i := range c.Steps {
			clear(l.received)
			if _, err := l.do(&c.Steps[i]); err != nil {
				return
			}
			for id := range l.epochs {
				l.noteEpoch(id)
			}
			l.settle()
		}
	})
	for _, x := range l.candidates {
		x.paused = false
	}
	untilEnded(l.settle)
}

func TestEveryCallOfEveryCaseFails(t *testing.T) {
	for _, file := range caseFiles(t, "testdata", "scenarios") {
		list, err := readScenarios(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			for _, s := range list {
				if s.Level != "controller" {
					continue
				}
				var c traceCase
				if err := json.Unmarshal(s.text, &c); err != nil {
					t.Fatal(err)
				}
				runs += failCalls(t, s.ID, &c)
			}
			t.Logf("%d runs", runs)
		})
	}
}

// failCalls plays a trace once for each call and each way to fail, of which a
// part is drawn by name.
func failCalls(t *testing.T, id string, c *traceCase) int {
	calls := 0
	l := onlookersLab(t, id)
	l.onCall = func(*candidate, *model.Call) *model.Result { calls++; return nil }
	playTrace(l, c)
	closeLab(l)
	runs := 0
	for at := 1; at <= calls; at++ {
		for _, x := range caseFailures {
			name := fmt.Sprintf("%s: %s at call %d", id, x.name, at)
			if !drawn(name) {
				continue
			}
			runs++
			n := 0
			l := onlookersLab(t, name)
			l.onCall = func(who *candidate, call *model.Call) *model.Result {
				if n++; n != at || !x.when(call) {
					return nil
				}
				return x.act(who, call)
			}
			playTrace(l, c)
			closeLab(l)
		}
	}
	return runs
}

// closeLab abandons the engines, so that thousands of labs do not pile up.
func closeLab(l *lab) {
	for _, c := range l.candidates {
		c.engine.Close()
	}
	l.candidates = nil
}

// drawn takes one of sixteen runs, of 256 in short tests; all with KSTATE_SWEEP=1.
func drawn(name string) bool {
	return os.Getenv("KSTATE_SWEEP") == "1" || sample(name) && (!testing.Short() || sample(name+", short"))
}
