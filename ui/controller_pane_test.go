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
