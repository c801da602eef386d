package realkafka

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The recordings of four releases are one and the same where it counts: a
// controller that is right for one is right for all.
func TestReleasesAgree(t *testing.T) {
	ref := Golden(t, Versions[0])
	if len(ref) != len(Tour()) {
		t.Fatalf("the recording has %d steps, the tour %d", len(ref), len(Tour()))
	}
	for i, a := range Tour() {
		if ref[i].Name != a.Name {
			t.Errorf("step %d is %q in the recording, %q in the tour", i, ref[i].Name, a.Name)
		}
		if a.Until != nil && !a.Until(ref[i]) {
			t.Errorf("step %d (%s): the recording is not what the tour waits for", i, a.Name)
		}
	}
	for _, v := range Versions {
		for _, d := range Compare(ref, Golden(t, v)) {
			t.Errorf("Kafka %s: %v", v, d)
		}
	}
}

// Nothing is lost in our types: what they write is what the file says.
func TestRecordingKeepsEveryField(t *testing.T) {
	for _, v := range Versions {
		file, err := recordings.ReadFile("testdata/kafka-" + v + "-tour.json")
		if err != nil {
			t.Fatal(err)
		}
		ours, err := json.Marshal(Golden(t, v))
		if err != nil {
			t.Fatal(err)
		}
		want, got := plain(t, file), plain(t, ours)
		for i := range want {
			if !reflect.DeepEqual(want[i], got[i]) {
				t.Errorf("Kafka %s, step %d: read and written again it is\n%v\nnot\n%v", v, i, got[i], want[i])
			}
		}
	}
}

// plain decodes a recording without its types. Empty lists of a reassignment
// are left out: a topic znode may have them or not.
func plain(t *testing.T, data []byte) []map[string]any {
	t.Helper()
	var steps []map[string]any
	if err := json.Unmarshal(data, &steps); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		for _, topic := range s["topics"].(map[string]any) {
			for _, f := range []string{"adding_replicas", "removing_replicas"} {
				if m, ok := topic.(map[string]any)[f].(map[string]any); ok && len(m) == 0 {
					delete(topic.(map[string]any), f)
				}
			}
		}
		for _, p := range s["partitions"].(map[string]any) {
			if m := p.(map[string]any); m["leader_recovery_state"] == 0.0 {
				delete(m, "leader_recovery_state")
			}
		}
	}
	return steps
}

func TestCompareFindsEachKindOfDifference(t *testing.T) {
	// Broker 2 is dead and orders queued in step 2; orders-0 has no leader.
	const step = 2
	for name, c := range map[string]struct {
		change func(*Step)
		want   string
	}{
		"missing transition": {func(s *Step) { s.Transitions = s.Transitions[1:] }, "only in the reference: partition orders-0: OnlinePartition -> OfflinePartition"},
		"extra transition": {func(s *Step) {
			s.Transitions = append(s.Transitions, Transition{"replica", "x-0@1", "NewReplica", "OnlineReplica"})
		}, "only in the other: replica x-0@1: NewReplica -> OnlineReplica"},
		"leader":            {edit("orders-0", func(p *Partition) { p.Leader = 1 }), "of orders-0: -1 [3] 2 / 1 [3] 2"},
		"isr":               {edit("orders-0", func(p *Partition) { p.ISR = []int32{3, 1} }), "of orders-0: -1 [3] 2 / -1 [1 3] 2"},
		"leader epoch":      {edit("orders-0", func(p *Partition) { p.LeaderEpoch++ }), "of orders-0: -1 [3] 2 / -1 [3] 3"},
		"unreadable state":  {edit("orders-0", func(p *Partition) { p.Error = "NoNodeError" }), "of orders-0: -1 [3] 2 / unreadable"},
		"partition missing": {func(s *Step) { delete(s.Partitions, "orders-0") }, "of orders-0: -1 [3] 2 / none"},
		"broker":            {func(s *Step) { s.Brokers = []string{"1"} }, "brokers: [1 3] / [1]"},
		"marker":            {func(s *Step) { s.DeleteTopics = []string{} }, "/admin/delete_topics: [orders] / []"},
		"reassignment":      {func(s *Step) { s.Reassign = map[string]any{"version": 1.0} }, "/admin/reassign_partitions: <nil> / map[version:1]"},
		"preferred":         {func(s *Step) { s.Preferred = map[string]any{"version": 1.0} }, "/admin/preferred_replica_election: <nil> / map[version:1]"},
		"assignment":        {func(s *Step) { s.Topics["clicks"].Partitions["0"][0] = 3 }, "assignment of clicks: map[0:[1 2] 1:[2 1]] / map[0:[3 2] 1:[2 1]]"},
		"topic missing":     {func(s *Step) { delete(s.Topics, "clicks") }, "assignment of clicks: map[0:[1 2] 1:[2 1]] / none"},
	} {
		t.Run(name, func(t *testing.T) {
			other := Golden(t, "3.9.2")
			c.change(&other[step])
			diffs := Compare(Golden(t, "3.9.2"), other)
			if len(diffs) == 0 || diffs[0].Step != step {
				t.Fatalf("no difference in step %d: %v", step, diffs)
			}
			if !strings.Contains(diffs[0].String(), c.want) {
				t.Errorf("%v\nhas no line with %q", diffs[0], c.want)
			}
		})
	}
}

func edit(tp string, f func(*Partition)) func(*Step) {
	return func(s *Step) {
		p := s.Partitions[tp]
		f(&p)
		s.Partitions[tp] = p
	}
}

// What depends on timing alone is no difference.
func TestCompareOverlooksTiming(t *testing.T) {
	other := Golden(t, "3.9.2")
	for i := range other {
		s := &other[i]
		s.Seconds, s.Tree = 0, nil
		s.Transitions = append(s.Transitions, s.Transitions...)
		slices.Reverse(s.Transitions)
		for tp, p := range s.Partitions {
			slices.Reverse(p.ISR)
			p.ZKVersion++
			s.Partitions[tp] = p
		}
		s.Topics["__consumer_offsets"] = Topic{}
		s.Partitions["__consumer_offsets-0"] = Partition{}
	}
	if diffs := Compare(Golden(t, "3.9.2"), other); len(diffs) > 0 {
		t.Errorf("differences: %v", diffs)
	}
}

// One step that raises an epoch too often is one difference, not one in every
// step from there on.
func TestCompareCountsEpochChangesByStep(t *testing.T) {
	other := Golden(t, "3.9.2")
	for i := 4; i < len(other); i++ {
		edit("clicks-0", func(p *Partition) { p.LeaderEpoch++ })(&other[i])
	}
	if diffs := Compare(Golden(t, "3.9.2"), other); len(diffs) != 1 || diffs[0].Step != 4 {
		t.Errorf("differences: %v; want one, in step 4", diffs)
	}
}

// A follower that the leader took back and the controller removed again raises
// the epoch once more; the znode then has two changes more, not one.
func TestCompareAllowsAFollowerTakenBack(t *testing.T) {
	const last = 10
	for versions, want := range map[int32]int{2: 0, 1: 1} {
		other := Golden(t, "2.4.1")
		edit("clicks-0", func(p *Partition) { p.LeaderEpoch, p.ZKVersion = p.LeaderEpoch+1, p.ZKVersion+versions })(&other[last])
		if diffs := Compare(Golden(t, "2.4.1"), other); len(diffs) != want {
			t.Errorf("an epoch more and %d changes more: %v", versions, diffs)
		}
		if diffs := Compare(other, Golden(t, "2.4.1")); len(diffs) != want {
			t.Errorf("the other way round, %d changes: %v", versions, diffs)
		}
		edit("clicks-0", func(p *Partition) { p.ISR = []int32{2, 3} })(&other[last])
		if diffs := Compare(Golden(t, "2.4.1"), other); len(diffs) != 1 {
			t.Errorf("with another ISR: %v", diffs)
		}
	}
}

func TestCompareCountsMissingSteps(t *testing.T) {
	short := Golden(t, "3.9.2")
	if diffs := Compare(short, short[:10]); len(diffs) != 1 || diffs[0].Step != 10 {
		t.Errorf("a recording without its last step: %v", diffs)
	}
	if diffs := Compare(short[:10], short); len(diffs) != 1 || diffs[0].Step != 10 {
		t.Errorf("a recording with one step too many: %v", diffs)
	}
}

func TestTreeFile(t *testing.T) {
	step := Golden(t, "3.9.2")[0]
	data, err := step.TreeFile("/kafka")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Format int
		Chroot string
		Znodes []struct {
			Path      string
			Data      string
			Ephemeral bool
			CZxid     int64
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.Format != 1 || file.Chroot != "/kafka" || len(file.Znodes) != len(step.Tree) {
		t.Errorf("format %d, chroot %s, %d znodes; want 1, /kafka, %d", file.Format, file.Chroot, len(file.Znodes), len(step.Tree))
	}
	for _, z := range file.Znodes {
		key := strings.TrimPrefix(z.Path, "/kafka")
		if key == "" {
			key = "/"
		}
		if want := step.Tree[key]; z.Data != want.Data || z.Ephemeral != want.Ephemeral || z.CZxid != want.CZxid {
			t.Errorf("%s is %v, the recording has %v", z.Path, z, want)
		}
	}
}

func TestTransitionLines(t *testing.T) {
	for line, want := range map[string]string{
		"[2026-11-29 18:38:14,774] TRACE [Controller id=1 epoch=1] Changed partition orders-0 state from OnlinePartition to OfflinePartition (state.change.logger)":               "partition orders-0: OnlinePartition -> OfflinePartition",
		"[x] INFO [Controller id=1 epoch=1] Changed partition a-b-12 from NewPartition to OnlinePartition with state LeaderAndIsr(leader=1) (state.change.logger)":                "partition a-b-12: NewPartition -> OnlinePartition",
		"[x] TRACE [Controller id=1 epoch=1] Changed state of replica 2 for partition orders-0 from OfflineReplica to ReplicaDeletionIneligible (state.change.logger)":            "replica orders-0@2: OfflineReplica -> ReplicaDeletionIneligible",
		"[x] TRACE [Controller id=1 epoch=1] Changed state of replica 2 for partition orders-0 from OfflineReplica to ReplicaDeletionIneligible (state.change.logger) (inferred)": "replica orders-0@2: OfflineReplica -> ReplicaDeletionIneligible",
		"[x] TRACE [Controller id=1 epoch=1] Changed partition __consumer_offsets-0 state from NewPartition to OnlinePartition (state.change.logger)":                             "",
		"[x] ERROR [Controller id=1 epoch=1] Controller 1 epoch 1 failed to change state for partition orders-0 from OnlinePartition to OnlinePartition (state.change.logger)":    "",
		"[x] TRACE [Broker id=2] Received LeaderAndIsr request correlationId 1 from controller 1 epoch 1 (state.change.logger)":                                                   "",
	} {
		tr, ok := ParseTransition(line)
		if got := tr.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%s\nis read as %q (%v), want %q", line, got, ok, want)
		}
	}
}

func TestLogIsFollowedByWholeLines(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")
	log := FollowLogs(a, b)
	next := func(want ...string) {
		t.Helper()
		ts, err := log.Next()
		var got []string
		for _, tr := range ts {
			got = append(got, tr.Subject)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("transitions of %v, %v; want %v", got, err, want)
		}
	}
	write := func(name, s string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	next() // no file yet
	write(b, "Changed partition t-0 state from NewPartition to OnlinePartition\nChanged partition t-1 state from NewPar")
	next("t-0")
	next()
	write(b, "tition to OnlinePartition\n")
	write(a, "Changed partition u-0 state from NewPartition to OnlinePartition\n")
	next("u-0", "t-1")
}
