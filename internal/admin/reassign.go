package admin

import (
	"fmt"
	"maps"
	"slices"

	"kstate/model"
)

// Reassign plans that partitions move to other replica lists.
// Kafka: ReassignPartitionsCommand.executeAssignment.
func (p *Planner) Reassign(list []model.PartitionReassignment) (*Plan, error) {
	topics := map[string]bool{}
	for i := range list {
		topics[list[i].Topic] = true
	}
	names := slices.Sorted(maps.Keys(topics))
	what, subject := fmt.Sprintf("reassign %d partitions of %d topics", len(list), len(names)), ""
	if len(names) == 1 {
		subject = names[0]
		what = fmt.Sprintf("reassign %d partitions of topic %s", len(list), subject)
	}
	if len(list) == 1 {
		what = fmt.Sprintf("reassign %s to %s", list[0].TopicPartition, model.JoinIDs(list[0].Replicas))
	}
	d := p.start(what, subject, subject)
	if subject == "" {
		d.confirmCluster()
	}
	d.noneRequested(model.ReassignPartitionsPath, "reassignment")
	d.judgeReassignment(list, names)
	if d.refused() || d.plan.Nothing != "" {
		return d.done()
	}
	d.parents(model.ReassignPartitionsPath)
	d.create(model.ReassignPartitionsPath, model.EncodeReassignPartitions(list))
	d.checkSize()
	d.warn("data is copied between brokers without a throttle; kafka-reassign-partitions --throttle sets one")
	d.followMoves("the request and each partition, until the controller has removed the old replicas", list, names)
	return d.done()
}

// followMoves has reassignments of these topics followed to their end.
func (d *draft) followMoves(what string, moves []model.PartitionReassignment, topics []string) {
	d.plan.Follow = what
	d.plan.Watch = []string{model.ReassignPartitionsPath, model.BrokerIDsPath, model.ControllerPath}
	for _, name := range topics {
		d.plan.Watch = append(d.plan.Watch, model.TopicPath(name))
	}
	d.plan.follower = func() Follower { return newReassignment(moves) }
}

func (d *draft) judgeReassignment(list []model.PartitionReassignment, names []string) {
	if len(list) == 0 {
		d.check("there is something to reassign", false, "the list is empty")
		return
	}
	assignments := map[string]model.TopicAssignment{}
	for _, name := range names {
		_, a, ok := d.existing(name)
		if !ok || !d.notDeleted(name) {
			return
		}
		assignments[name] = a
	}
	seen := map[model.TopicPartition]bool{}
	var targets [][]int32
	same := 0
	for i := range list {
		e := &list[i]
		a := assignments[e.Topic]
		now, there := a.Assignment(e.Partition)
		switch {
		case seen[e.TopicPartition]:
			d.check("each partition is named once", false, "%s is named twice", e.TopicPartition)
		case !there:
			d.check("the partitions exist", false, "%s is not in %s", e.TopicPartition, model.TopicPath(e.Topic))
		case len(e.Replicas) == 0:
			d.check("the targets are legal", false, "%s has no target replica", e.TopicPartition)
		case twice(e.Replicas):
			d.check("the targets are legal", false, "the target of %s names a broker twice: %s", e.TopicPartition, model.JoinIDs(e.Replicas))
		case now.IsBeingReassigned():
			d.check("the partitions are at rest", false, "%s is being reassigned already: replicas %s, adding %s, removing %s", e.TopicPartition, model.JoinIDs(now.Replicas), model.IDsOrNone(now.Adding), model.IDsOrNone(now.Removing))
		default:
			if slices.Equal(now.Replicas, e.Replicas) {
				same++
			}
			d.expect("%s: %s -> %s%s", e.TopicPartition, model.JoinIDs(now.Replicas), model.JoinIDs(e.Replicas), changeOf(now.Replicas, e.Replicas))
			if len(now.Replicas) != len(e.Replicas) {
				d.warn("%s has %d replicas and will have %d", e.TopicPartition, len(now.Replicas), len(e.Replicas))
			}
		}
		seen[e.TopicPartition] = true
		targets = append(targets, e.Replicas)
	}
	d.checkLive(targets, d.brokers())
	if same == len(list) {
		d.plan.Nothing = "each partition has that assignment already"
	}
}

// changeOf says which replicas come and go.
func changeOf(from, to []int32) string {
	text := ""
	if added := model.Without(to, from); len(added) > 0 {
		text += ", adding " + model.JoinIDs(added)
	}
	if removed := model.Without(from, to); len(removed) > 0 {
		text += ", removing " + model.JoinIDs(removed)
	}
	if text == "" && !slices.Equal(from, to) {
		text = ", another order only"
	}
	return text
}
