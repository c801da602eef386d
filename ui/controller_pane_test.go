package ui

import (
	"strings"
	"testing"

	"kstate/model"
)

// With nothing chosen the inspector shows what the controller goes by: its fence,
// its settings, its watches and what they become.
func TestTheControllerInTheInspector(t *testing.T) {
	f := deletionFrame()
	f.Term = &model.Term{Settings: []string{"delete.topic.enable=false"}, Watches: []model.WatchGroup{
		{Path: "/admin/delete_topics", Child: true, Events: "TopicDeletion", Count: 1}, {Path: "/brokers/topics/<topic>", Events: "PartitionModifications", Count: 7}}}
	for _, width := range []int{80, 160} {
		s := newScreen(f, width, 40)
		s.show(inspectorView)
		text := s.text()
		for _, want := range []string{"delete.topic.enable=false", "children /admin/delete_topics  TopicDeletion", "/brokers/topics/<topic> x 7", "/controller_epoch at version", "2 queued"} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d columns %q is not shown:\n%s", width, want, text)
			}
		}
	}
}

// What does not fit is counted, and scrolled to; a step at hand that writes has
// the room, for it cannot be scrolled.
func TestTheControllerAboveAStep(t *testing.T) {
	f := inspectedFrame()
	f.Term = &model.Term{Settings: []string{"delete.topic.enable=false", "auto.leader.rebalance.enable=true"}, Watches: []model.WatchGroup{{Path: "/admin/delete_topics", Child: true, Events: "TopicDeletion", Count: 1}}}
	f.StepZnodes.Changes = f.StepZnodes.Changes[:1]
	s := newScreen(f, 80, 24).typed("8")
	holds(t, "the step, and what is left of the controller", s.text(), "the controller:", "/controller_epoch at version", "↓ 8 more lines", `-  "leader": 2,`, `+  "leader": 3,`, `+  "isr": [3, 1]`)
	if text := s.text(); strings.Count(text, "more lines") != 1 {
		t.Errorf("the step is not whole:\n%s", text)
	}
	holds(t, "scrolled to its end", s.typed("end").text(), "/admin/delete_topics  TopicDeletion", `+  "leader": 3,`)
	if text := s.text(); strings.Contains(text, "more lines") {
		t.Errorf("something is left at the end:\n%s", text)
	}
	f.Run, f.At, f.StepZnodes = model.Running, nil, nil
	holds(t, "at the least size", newScreen(f, 60, 16).typed("8").text(), "↓ ", "more lines")
}
