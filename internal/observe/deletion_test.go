package observe

import (
	"fmt"
	"strings"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

// deletionTree is the cluster of the stage, as a survey.
func deletionTree(t *testing.T) *tree.Survey {
	t.Helper()
	s := tree.NewSurvey(tree.DefaultConfig())
	for path, data := range cluster {
		s.Apply(model.Znode{Path: path, Data: []byte(data)})
	}
	return s
}

func put(s *tree.Survey, path, data string) { s.Apply(model.Znode{Path: path, Data: []byte(data)}) }
func drop(s *tree.Survey, path string)      { s.Apply(model.Znode{Path: path, Missing: true}) }

const (
	marker     = "/admin/delete_topics/t"
	broker2    = "/brokers/ids/2"
	leaderless = `{"controller_epoch":3,"leader":-1,"version":1,"leader_epoch":1,"isr":[2]}`
)

// Each row is a course of events and the states that must be seen, in order.
func TestADeletionIsFollowedToItsEnd(t *testing.T) {
	stopLeading := func(s *tree.Survey) {
		for n := range 2 {
			put(s, fmt.Sprintf("/brokers/topics/t/partitions/%d/state", n), leaderless)
		}
	}
	type act struct {
		at int64
		do func(*tree.Survey)
	}
	for name, c := range map[string]struct {
		topic string
		acts  []act
		want  []string
	}{
		"done": {"t", []act{{10, stopLeading}, {20, func(s *tree.Survey) { drop(s, "/brokers/topics/t") }}, {30, func(s *tree.Survey) { drop(s, marker) }}},
			[]string{"queued", "running", "running", "done"}},
		"its states go before it": {"t", []act{{10, stopLeading}, {20, func(s *tree.Survey) {
			drop(s, "/brokers/topics/t/partitions/0/state")
			drop(s, "/brokers/topics/t/partitions/1/state")
		}}, {30, func(s *tree.Survey) { drop(s, "/brokers/topics/t") }}, {40, func(s *tree.Survey) { drop(s, marker) }}},
			[]string{"queued", "running", "running", "done"}},
		"waiting for a broker": {"t", []act{{10, func(s *tree.Survey) { drop(s, broker2) }}, {20, stopLeading}, {30_000, func(*tree.Survey) {}}, {30_010, func(s *tree.Survey) { put(s, broker2, cluster[broker2]) }},
			{30_020, func(s *tree.Survey) { drop(s, "/brokers/topics/t") }}, {30_030, func(s *tree.Survey) { drop(s, marker) }}},
			[]string{"queued", "waiting", "retrying", "running", "done"}},
		"unknown topic":                  {"nope", []act{{10, func(s *tree.Survey) { drop(s, "/admin/delete_topics/nope") }}}, []string{"queued", "refused"}},
		"deletion is off":                {"t", []act{{10, func(s *tree.Survey) { drop(s, marker) }}}, []string{"queued", "refused"}},
		"withdrawn while nobody answers": {"t", []act{{60_000, func(s *tree.Survey) { drop(s, marker) }}}, []string{"queued", "withdrawn"}},
		"withdrawn while it waits":       {"t", []act{{1, func(s *tree.Survey) { drop(s, broker2) }}, {10, func(s *tree.Survey) { drop(s, marker) }}}, []string{"queued", "waiting", "withdrawn"}},
		"a broker does not confirm": {"t", []act{{10, stopLeading}, {15_009, func(*tree.Survey) {}}, {15_010, func(*tree.Survey) {}}},
			[]string{"queued", "running", "retrying"}},
		"created again at once": {"t", []act{{10, func(s *tree.Survey) { drop(s, "/brokers/topics/t") }}, {20, func(s *tree.Survey) { put(s, "/brokers/topics/t", cluster["/brokers/topics/t"]) }},
			{30, func(s *tree.Survey) { drop(s, marker) }}}, []string{"queued", "running", "done"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := deletionTree(t)
			put(s, "/admin/delete_topics/"+c.topic, "")
			d := FollowDeletion(c.topic, s, 0)
			got := []string{string(d.Status().State)}
			for _, a := range c.acts {
				a.do(s)
				if st, changed := d.Look(s, a.at); changed {
					got = append(got, string(st.State))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("states %v, want %v; last: %s", got, c.want, d.Status().Text())
			}
			last := d.Status()
			if _, changed := d.Look(deletionTree(t), 90_000); changed && last.State.Over() {
				t.Error("something comes after the end")
			}
		})
	}
}

// The time that a deletion waited does not count against the brokers.
func TestADeletionThatWaitedLongIsTriedAgain(t *testing.T) {
	s := deletionTree(t)
	put(s, marker, "")
	put(s, "/brokers/topics/t/partitions/0/state", leaderless)
	drop(s, broker2)
	d := FollowDeletion("t", s, 0)
	put(s, broker2, cluster[broker2])
	if st, _ := d.Look(s, 60_000); st.State != DeletionRetrying || st.Why != "what it waited for is over, and it is tried again" {
		t.Errorf("%s", st.Text())
	}
	if st, _ := d.Look(s, 75_000); !strings.Contains(st.Why, "a broker has not confirmed") {
		t.Errorf("15 s later: %s", st.Text())
	}
}

func TestAWaitingDeletionNamesWhatBlocksIt(t *testing.T) {
	s := deletionTree(t)
	put(s, marker, "")
	drop(s, broker2)
	st := FollowDeletion("t", s, 0).Status()
	if st.State != DeletionWaiting || fmt.Sprint(st.BlockedBy) != "[broker:2]" || st.Reasons[0] != model.OfflineReplicas || st.Text() != "deletion of t: waiting: waits for broker 2" {
		t.Errorf("%+v: %s", st, st.Text())
	}
}
