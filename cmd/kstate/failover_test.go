package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailoverOfEveryReport: the answer is JSON with starts, and the exit code
// says whether a controller starts.
func TestFailoverOfEveryReport(t *testing.T) {
	files, err := filepath.Glob(reports + "*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d reports: %v", len(files), err)
	}
	for _, file := range files {
		o := kstate(t, "failover", "--tree", file, "--steps", file, "--json")
		var got struct {
			Starts bool
			Steps  []struct{ Active bool }
		}
		if err := json.Unmarshal([]byte(o.out), &got); err != nil {
			t.Errorf("%s: %v\n%s", file, err, o.err)
			continue
		}
		if want := map[bool]int{true: exitOK, false: exitFound}[got.Starts]; o.code != want {
			t.Errorf("%s: exit code %d, want %d", file, o.code, want)
		}
	}
}

func TestFailoverInWords(t *testing.T) {
	dead := reports + "02-delete-dead-replica-live-marker.json"
	o := kstate(t, "failover", "--tree", dead, "--steps", dead)
	o.check(t, exitOK, "a controller starts with epoch 8\nbrokers: [1 2]\n", "")
	o.check(t, exitOK, "after step 1:", "")
	o.check(t, exitOK, "deletion halted: orders", "")
	kstate(t, "failover", "--tree", reports+"07-delete-interrupted-with-reassignment-fields.json").check(t, exitFound,
		"no controller starts on this tree: the role goes round among the brokers, each failing alike\nIllegalStateException: ", "")
	kstate(t, "failover", "--tree", reports+"41-controller-znode-persistent.json").check(t, exitFound, "no controller starts on this tree\n", "")
}

// Without a bound the words on a large cluster are one line of megabytes.
func TestFailoverListsAreBounded(t *testing.T) {
	var tree strings.Builder
	tree.WriteString(`{"format":1,"znodes":[{"path":"/brokers/ids"}`)
	for i := range 50 {
		fmt.Fprintf(&tree, `,{"path":"/brokers/topics/t%02d","data":"{\"version\":1,\"partitions\":{\"0\":[7]}}"}`, i)
	}
	tree.WriteString("]}")
	o := kstateWith(t, tree.String(), "failover", "--tree", "-")
	o.check(t, exitOK, "  t39-0 NewPartition\n  and 10 more that are not online\n", "")
	o.check(t, exitOK, " and 10 more\n", "")
	o = kstateWith(t, tree.String(), "failover", "--tree", "-", "--limit", "0")
	o.check(t, exitOK, "  t49-0 NewPartition\n", "")
	if strings.Contains(o.out, " more") {
		t.Error(o.out)
	}
}

func TestFailoverThatMeansNothing(t *testing.T) {
	any := reports + "01-delete-dead-replica-after-failover.json"
	steps := filepath.Join(t.TempDir(), "steps.json")
	if err := os.WriteFile(steps, []byte(`{"steps":[{"do":"dance"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	kstate(t, "failover", "--tree", any, "--steps", steps).check(t, exitError, "", "step dance: no such step")
	kstate(t, "failover", "--tree", any, "--steps", "nowhere.json").check(t, exitError, "", "--steps: open nowhere.json")
	kstate(t, "failover").check(t, exitUsage, "", "which cluster?")
}

// TestElectPreview: each candidate has its verdict, and the exit code says
// whether all were elected.
func TestElectPreview(t *testing.T) {
	tree := reports + "26-preferred-election-outcomes.json"
	o := kstate(t, "elect", "preview", "--strategy", "preferred", "--topic", "orders", "--partition", "0", "--tree", tree, "--json")
	var got struct {
		Elections map[string]struct {
			Leader     *int32
			Error      *string
			Candidates []struct{ Broker int32 }
		}
	}
	if err := json.Unmarshal([]byte(o.out), &got); err != nil {
		t.Fatal(err)
	}
	e, ok := got.Elections["orders-0"]
	if o.code != exitOK || !ok || len(got.Elections) != 1 || *e.Leader != 1 || e.Error != nil || e.Candidates[0].Broker != 1 {
		t.Errorf("exit code %d: %s", o.code, o.out)
	}
	o = kstate(t, "elect", "preview", "--strategy", "preferred", "--all", "--tree", tree)
	o.check(t, exitFound, "orders-1  ELECTION_NOT_NEEDED", "")
	o.check(t, exitFound, "    broker 1: registered, counts as online, in the ISR", "")
	kstate(t, "elect", "preview", "--strategy", "offline", "--topic", "nowhere", "--tree", tree).check(t, exitError, "", "topic nowhere: the controller knows no partition of it")
	kstate(t, "elect", "preview", "--strategy", "dance", "--all", "--tree", tree).check(t, exitUsage, "", "not one of offline, unclean, reassign, preferred, controlled-shutdown")
	kstate(t, "elect", "preview", "--all", "--tree", tree).check(t, exitUsage, "", "which strategy?")
	kstate(t, "elect", "preview", "--strategy", "offline", "--tree", tree).check(t, exitUsage, "", "which partitions?")
	broken := kstate(t, "elect", "preview", "--strategy", "offline", "--all", "--tree", reports+"55-topic-znode-null-data.json")
	if broken.code != exitError || !strings.Contains(broken.err, "IllegalArgumentException") {
		t.Errorf("exit code %d: %s", broken.code, broken.err)
	}
}

// TestFailoverOfALiveCluster: the answer is that of the tree file.
func TestFailoverOfALiveCluster(t *testing.T) {
	name := "20-isr-only-member-dead.json"
	address := serve(t, loadReport(t, name))
	file := kstate(t, "failover", "--tree", reports+name)
	live := kstate(t, "failover", "--zookeeper", address)
	if file.code != exitOK || live.code != exitOK || file.out != live.out {
		t.Errorf("exit codes %d and %d:\n%s\n%s%s", file.code, live.code, file.out, live.out, live.err)
	}
}
