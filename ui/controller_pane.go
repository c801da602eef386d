package ui

import (
	"fmt"

	"kstate/model"
)

// controllerFacts is what the controller goes by and how much it remembers: the
// inspector's content while nothing is chosen. Its length does not depend on the
// cluster's size.
func (in *inspector) controllerFacts(f *model.Frame) []line {
	fs := &facts{w: in.stepWidth}
	v := f.View
	partitions := 0
	for _, n := range v.PartitionCounts {
		partitions += n
	}
	fs.note(faint, "the controller: enter on a topic, partition, replica or broker inspects that")
	fs.plainFact("epoch", itoa(v.Epoch))
	fs.plainFact("fence", fmt.Sprintf("%s at version %d", model.ControllerEpochPath, v.EpochZkVersion))
	fs.plainFact("brokers", fmt.Sprintf("%d registered, %d of them shutting down", len(v.Brokers()), len(v.ShuttingDown())))
	fs.plainFact("allTopics", itoa(v.TopicCount))
	fs.plainFact("assignments", fmt.Sprintf("%d partitions", partitions))
	fs.plainFact("reassigning", itoa(v.ReassigningCount()))
	fs.plainFact("deletion sets", fmt.Sprintf("%d queued, %d started, %d ineligible", v.TopicsToBeDeleted.Len(), v.TopicsWithDeletionStarted.Len(), v.TopicsIneligibleForDeletion.Len()))
	fs.plainFact("offline", fmt.Sprintf("%d partitions (OfflinePartitionsCount)", v.OfflinePartitionCount))
	fs.plainFact("imbalance", fmt.Sprintf("%d partitions not led by their first replica", v.PreferredReplicaImbalanceCount))
	fs.note(faint, "settings")
	for _, s := range f.Term.Settings {
		fs.note(plain, "  "+s)
	}
	return append(fs.lines, watchLines(f.Term.Watches)...)
}

// watchLines are the handlers that the controller has registered in ZooKeeper's
// client, with the events that their watches become.
func watchLines(groups []model.WatchGroup) []line {
	kinds := "kinds"
	if len(groups) == 1 {
		kinds = "kind"
	}
	out := []line{{{faint, fmt.Sprintf("watches: %d %s of paths, and what fires there becomes", len(groups), kinds)}}}
	for _, g := range groups {
		what := "node    "
		if g.Child {
			what = "children"
		}
		times := ""
		if g.Count > 1 {
			times = fmt.Sprintf(" x %d", g.Count)
		}
		out = append(out, line{{faint, what + " "}, {plain, g.Path + times}, {strong, "  " + g.Events}})
	}
	return out
}
