package admin

import (
	"fmt"
	"slices"

	"kstate/model"
)

// What is asked of the controller over Kafka's protocol has a plan too, out of
// the same tree; who sends it is the caller's business. Via says by whose way it
// goes, for the operator.

// listed bounds the partitions that a request's line names.
const listed = 10

// AskElection plans an ElectLeaders request, preferred or unclean; see Elect.
// List is what is to be asked for.
func (p *Planner) AskElection(kind model.ElectionType, topic string, partitions []int32, via string) (plan *Plan, list []model.TopicPartition, err error) {
	if kind == model.PreferredElection {
		plan, err = p.elect(topic, partitions, func(d *draft, found []model.TopicPartition) {
			list = found
			d.ask(fmt.Sprintf("ElectLeaders PREFERRED of %s", model.Plural(len(found), "partition")), via, found)
		})
		return plan, list, err
	}
	what, confirm := "elect unclean leaders of all partitions without one", topic
	if topic != "" {
		what = "elect unclean leaders of topic " + topic
	}
	d := p.start(what, topic, confirm)
	if topic == "" {
		d.confirmCluster()
	}
	list, total := d.toElectWith(topic, partitions, uncleanOutcome)
	if d.refused() {
		plan, err = d.done()
		return plan, nil, err
	}
	if len(list) == 0 {
		d.plan.Nothing = fmt.Sprintf("each of %d partitions has a live leader: an unclean election is not needed", total)
		plan, err = d.done()
		return plan, nil, err
	}
	d.warn("an unclean leader has not every record that was acknowledged: what it lacks is LOST, on all replicas")
	d.ask(fmt.Sprintf("ElectLeaders UNCLEAN of %s", model.Plural(len(list), "partition")), via, list)
	plan, err = d.done()
	return plan, list, err
}

// ask is the text of a request.
func (d *draft) ask(what, via string, list []model.TopicPartition) {
	d.plan.Request = []string{what, "by way of " + via}
	for i, tp := range list {
		if i == listed {
			d.plan.Request = append(d.plan.Request, fmt.Sprintf("and %d more", len(list)-listed))
			break
		}
		d.plan.Request = append(d.plan.Request, tp.String())
	}
}

// uncleanOutcome is what an unclean election of a partition gives; empty when it
// needs none. Kafka: KafkaController.processReplicaLeaderElection,
// PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection.
func uncleanOutcome(state *model.LeaderIsrAndControllerEpoch, replicas, live []int32) string {
	if slices.Contains(live, state.Leader) {
		return ""
	}
	from := "leader " + model.LeaderName(state.Leader)
	for _, id := range replicas {
		if slices.Contains(live, id) && slices.Contains(state.ISR, id) {
			return fmt.Sprintf("%s -> %d, which is in the ISR: nothing is lost", from, id)
		}
	}
	for _, id := range replicas {
		if slices.Contains(live, id) {
			return fmt.Sprintf("%s -> %d, UNCLEAN: what it lacks is lost", from, id)
		}
	}
	return from + " stays: no broker with a replica is registered"
}

// AskReassignment plans an AlterPartitionReassignments request: targets, or moves
// that are taken back.
func (p *Planner) AskReassignment(list []model.ReassignmentTarget, via string) (*Plan, error) {
	var moves []model.PartitionReassignment
	var tps []model.TopicPartition
	cancels := 0
	for i := range list {
		tps = append(tps, list[i].TopicPartition)
		if list[i].Cancel {
			cancels++
		}
	}
	topics := topicsOf(tps)
	what := fmt.Sprintf("reassign %s", model.Plural(len(list), "partition"))
	if cancels > 0 {
		what = fmt.Sprintf("take back the reassignment of %s", model.Plural(len(list), "partition"))
	}
	subject := ""
	if len(topics) == 1 {
		subject = topics[0]
		what += " of topic " + subject
	}
	d := p.start(what, subject, subject)
	if subject == "" {
		d.confirmCluster()
	}
	for _, name := range topics {
		_, a, ok := d.existing(name)
		if !ok || !d.notDeleted(name) {
			break
		}
		for i := range list {
			if e := &list[i]; e.Topic == name {
				if to, ok := d.askedMove(e, &a); ok {
					moves = append(moves, model.PartitionReassignment{TopicPartition: e.TopicPartition, Replicas: to})
				}
			}
		}
	}
	if d.refused() {
		return d.done()
	}
	d.ask("AlterPartitionReassignments: "+what, via, tps)
	d.followMoves("each partition, until it is as asked for", moves, topics)
	return d.done()
}

func topicsOf(tps []model.TopicPartition) []string {
	var out []string
	for _, tp := range tps {
		out = append(out, tp.Topic)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// askedMove judges one entry; to is how the partition is to end.
func (d *draft) askedMove(e *model.ReassignmentTarget, a *model.TopicAssignment) (to []int32, ok bool) {
	now, there := a.Assignment(e.Partition)
	switch {
	case !there:
		return nil, d.check("the partitions exist", false, "%s is not in %s", e.TopicPartition, model.TopicPath(e.Topic))
	case e.Cancel && !now.IsBeingReassigned():
		return nil, d.check("a reassignment is under way", false, "%s is at rest on %s", e.TopicPartition, model.JoinIDs(now.Replicas))
	case e.Cancel:
		d.expect("%s: back to %s", e.TopicPartition, model.JoinIDs(now.Origin()))
		return now.Origin(), true
	case len(e.Target) == 0 || twice(e.Target):
		return nil, d.check("the targets are legal", false, "the target of %s is empty or names a broker twice: %s", e.TopicPartition, model.IDsOrNone(e.Target))
	}
	if now.IsBeingReassigned() {
		d.warn("%s is being reassigned already (to %s): this takes its place", e.TopicPartition, model.JoinIDs(now.Target()))
	}
	d.expect("%s: %s -> %s%s", e.TopicPartition, model.JoinIDs(now.Replicas), model.JoinIDs(e.Target), changeOf(now.Replicas, e.Target))
	d.checkLive([][]int32{e.Target}, d.brokers())
	return e.Target, true
}

// SameCluster adds the check that who is asked over the wire belongs to the
// cluster of the tree.
func (p *Plan) SameCluster(id, via string) {
	c := model.PlanCheck{What: "the brokers are this cluster's", OK: id == p.ClusterID, Saw: fmt.Sprintf("%s says cluster id %s", via, id)}
	if !c.OK {
		c.Saw += fmt.Sprintf(", ZooKeeper says %s", p.ClusterID)
	}
	p.Checks = append(p.Checks, c)
}

// NoWayFromOutside is why a strategy cannot be run from outside a controller, and
// what to do instead; empty when it can.
func NoWayFromOutside(s model.Strategy, wire bool) string {
	switch s {
	case model.PreferredStrategy:
		return ""
	case model.OfflineUncleanStrategy:
		if wire {
			return ""
		}
		return "an unclean election has no znode: it is asked for by ElectLeaders, with --bootstrap-server"
	case model.OfflineStrategy:
		return "an offline election cannot be asked for: the controller runs it by itself when a leader is lost, and again when a broker of the ISR starts; " +
			"kstate why partition says what a partition waits for, and an unclean election (--strategy unclean --bootstrap-server) gives it up"
	case model.ReassignStrategy:
		return "an election by reassignment is a part of one: kstate reassign moves a partition, and its first replica is elected when the leader leaves"
	}
	return "an election by controlled shutdown is a part of one: stop the broker (SIGTERM, kafka-server-stop), and it asks the controller to move its leaders away"
}
