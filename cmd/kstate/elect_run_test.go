package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
	"kstate/zkwatch"
)

// Kafka's controller can elect a leader, not notice it in its own metadata cache,
// and answer REQUEST_TIMED_OUT: what the tree shows is done is done.
func TestAnElectionThatTheControllerDidNotSeeInTime(t *testing.T) {
	l := keeper(t)
	put := func(path, data string) {
		t.Helper()
		if r, _ := l.Store().Apply(0, zkserver.Create(path, []byte(data), 0)); r.Code != zkserver.OK && r.Code != zkserver.NodeExists {
			t.Fatalf("create %s: %s", path, r.Code)
		}
	}
	for _, path := range []string{"/brokers", "/brokers/topics"} {
		put(path, "")
	}
	put("/brokers/topics/t", `{"version":3,"partitions":{"0":[1,2],"1":[2,1],"2":[3,1]},"adding_replicas":{},"removing_replicas":{}}`)
	put("/brokers/topics/t/partitions", "")
	for p, leader := range []string{"1", "1", "-1"} {
		path := model.TopicPartitionPath(model.TP("t", int32(p)))
		put(path, "")
		put(path+"/state", `{"controller_epoch":1,"leader":`+leader+`,"version":1,"leader_epoch":3,"isr":[1,2]}`)
	}
	conn, err := zkwatch.Dial(context.Background(), zkwatch.Options{Servers: l.Addr(), Gate: zkwatch.ReadOnly()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, c := range []struct {
		kind model.ElectionType
		done string
		out  []string
	}{
		{model.PreferredElection, "1 of 3 elected; t-1 REQUEST_TIMED_OUT, t-2 REQUEST_TIMED_OUT", []string{"t-0  leader 1, isr [1 2]: elected; the controller has not said so in time", "t-1  leader 1, isr [1 2]: REQUEST_TIMED_OUT", "t-2  leader none, isr [1 2]: REQUEST_TIMED_OUT"}},
		{model.UncleanElection, "2 of 3 elected; t-2 REQUEST_TIMED_OUT", []string{"t-1  leader 1, isr [1 2]: elected; the controller"}},
	} {
		var out bytes.Buffer
		change := &change{inv: &invocation{console: console{strings.NewReader(""), &out, &out}}, conn: conn}
		var results []model.ElectionResult
		for p := range int32(3) {
			results = append(results, model.ElectionResult{TopicPartition: model.TP("t", p), Error: model.ErrRequestTimedOut})
		}
		if err := change.electionsAsked(c.kind, results); err == nil || err.Error() != c.done {
			t.Errorf("%s: %v, want %s", c.kind, err, c.done)
		}
		for _, line := range c.out {
			if !strings.Contains(out.String(), line) {
				t.Errorf("%s: %q is not in\n%s", c.kind, line, out.String())
			}
		}
	}
}
