package engine_test

import (
	"slices"
	"testing"

	"kstate/engine"
	"kstate/model"
)

// The watches of a term are those that its failover registers; without the role
// only that on /controller is left.
func TestTermNamesItsWatches(t *testing.T) {
	s := newStage(t, func(c *engine.Config) { c.DeleteTopicEnable, c.Mend.GhostStates = false, true }, 1, 2, 3)
	orders(s)
	s.create("later", []int32{1})
	s.run()
	term := s.engine.Term()
	for _, want := range []model.WatchGroup{
		{Path: model.ControllerPath, Events: "ControllerChange, Reelect", Count: 1},
		{Path: model.DeleteTopicsPath, Child: true, Events: "TopicDeletion", Count: 1},
		{Path: "/brokers/topics/<topic>", Events: "PartitionModifications", Count: 2},
		{Path: "/brokers/ids/<id>", Events: "BrokerModifications", Count: 3},
	} {
		if !slices.Contains(term.Watches, want) {
			t.Errorf("%+v is not among %+v", want, term.Watches)
		}
	}
	for _, want := range []string{"delete.topic.enable=false", "unclean.leader.election.enable=false", "--mend ghost-states"} {
		if !slices.Contains(term.Settings, want) {
			t.Errorf("%s is not among %q", want, term.Settings)
		}
	}
	s.usurp()
	s.run()
	if w := s.engine.Term().Watches; len(w) != 1 || w[0].Path != model.ControllerPath {
		t.Errorf("without the role: %+v", w)
	}
}
