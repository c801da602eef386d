package explain

import (
	"fmt"
	"slices"
	"strings"

	"kstate/engine"
	"kstate/internal/tree"
	"kstate/model"
)

// Words of availability and leadership.
const (
	available    = "available"
	unavailable  = "unavailable"
	preferred    = "preferred"
	notPreferred = "not-preferred"
	noLeader     = "none"
	notKnown     = "unknown"
)

// partition explains why a partition is not available, or what else is not as it
// should be; false: no such partition.
func (c *Cluster) partition(e *model.Explanation, tp model.TopicPartition) bool {
	p := c.view.Partition(tp)
	if p == nil || p.Assignment == nil {
		return c.unassigned(e, tp)
	}
	e.State = partitionState(p.State)
	e.Availability, e.Leadership = c.verdict(tp, p)
	e.Replicas = c.candidates(tp, p)
	e.Facts = append(e.Facts, c.stateEvidence(tp), c.assignmentEvidence(tp, p), c.epochEvidence(), c.controllerEvidence())
	if see := c.look(model.TopicPartitionStatePath(tp)); p.State == model.NoPartitionState && see.Err != "" && see.Version == nil {
		e.Undecided, e.Availability, e.Leadership = true, notKnown, notKnown
		e.Answer = "whether it is available is not known: " + see.Err
		return true
	}
	if e.Availability == available {
		c.remarks(e, tp, p)
		e.Answer = fmt.Sprintf("%s: available, led by broker %d (leadership %s)", e.State, p.Leader(), e.Leadership)
		if words := causeWords(e.Causes); words != "" {
			e.Answer += "; " + words
		}
	} else {
		e.Found = true
		e.Why = tree.Why(c.view, tp, c.unclean)
		for _, word := range e.Why {
			e.Causes = append(e.Causes, c.notOnline(tp, p, word))
		}
		if p.State == model.OnlinePartition { // without leadership, or it would be available
			e.Why = append(e.Why, tree.NoStateZnode)
			e.Causes = append(e.Causes, c.heldForOnline(tp))
		}
		e.Causes = append(e.Causes, c.uncleanImminent(tp, p)...)
		if p.Reassigning {
			e.Causes = append(e.Causes, c.moving(tp, p))
		}
		e.Causes = append(e.Causes, c.controllerCauses()...)
		e.Answer = fmt.Sprintf("%s: unavailable, leadership %s: %s", e.State, e.Leadership, strings.Join(e.Why, ", "))
		c.controllerUnread(e)
	}
	if c.memory == nil {
		e.NotKnown = append(e.NotKnown, "whether a replica lies on a failed log directory, and whether a broker is shutting down: no znode keeps that")
		if p.State == model.NewPartition {
			e.NotKnown = append(e.NotKnown, "whether the controller in charge still tries to create its state znode: one that holds it for online does not, until another takes over")
		}
	}
	return true
}

// unassigned is a partition that the topic does not list; it is known only if
// the topic may not be read.
func (c *Cluster) unassigned(e *model.Explanation, tp model.TopicPartition) bool {
	see := c.look(model.TopicPath(tp.Topic))
	state := c.look(model.TopicPartitionStatePath(tp))
	switch why := c.unreadableTopic(tp.Topic); {
	case why != "" && see.Version == nil:
		e.Undecided, e.State, e.Availability, e.Leadership = true, notKnown, notKnown, notKnown
		e.Answer = "which partitions the topic has is not known: " + see.Err
	case why != "":
		e.Found, e.State, e.Availability, e.Leadership = true, notKnown, notKnown, notKnown
		e.Causes = append(e.Causes, c.unparsable(tp.Topic, why))
		e.Answer = "which partitions the topic has cannot be read"
	case see.Err != "" && c.survey != nil:
		e.Undecided, e.State, e.Availability, e.Leadership = true, notKnown, notKnown, notKnown
		e.Answer = "whether it exists is not known: " + see.Err
	case state.Exists && c.survey != nil:
		e.Found, e.State, e.Availability, e.Leadership = true, "orphan", unavailable, noLeader
		e.Answer = "its znode exists, but the topic does not list it: nobody serves it"
		e.Causes = append(e.Causes, model.Cause{What: "orphan-partition-znode", Subject: "the assignment does not list the partition", Holds: true,
			Evidence: []model.Evidence{c.at(model.TopicPartitionStatePath(tp), "a state znode", ""), c.at(model.TopicPath(tp.Topic), "does not list the partition", "the topic is not there")},
			Resumes:  []string{"the topic znode lists it"}})
	default:
		return false
	}
	return true
}

// verdict is availability and leadership, two words.
func (c *Cluster) verdict(tp model.TopicPartition, p *model.Partition) (availability, leadership string) {
	switch {
	case p.State != model.OnlinePartition && p.Leadership == nil && p.Unreadable != "":
		return unavailable, notKnown
	case p.State != model.OnlinePartition || p.Leadership == nil:
		return unavailable, noLeader
	case len(p.Assignment.Replicas) > 0 && model.HasPreferredLeader(p.Assignment, p.Leadership):
		return available, preferred
	}
	return available, notPreferred
}

func causeWords(list []model.Cause) string {
	var words []string
	for i := range list {
		if !slices.Contains(words, list[i].What) {
			words = append(words, list[i].What)
		}
	}
	return strings.Join(words, ", ")
}

// candidates judges each replica as an offline election would.
func (c *Cluster) candidates(tp model.TopicPartition, p *model.Partition) []model.ReplicaVerdict {
	var isr []int32
	if p.Leadership != nil {
		isr = p.Leadership.ISR
	}
	online := func(id int32) bool { return c.view.IsReplicaOnline(id, tp, false) }
	inSync := slices.ContainsFunc(isr, online)
	out := make([]model.ReplicaVerdict, 0, len(p.Assignment.Replicas))
	for _, id := range p.Assignment.Replicas {
		r, _ := p.Replica(id)
		v := model.ReplicaVerdict{Broker: id, Live: c.view.IsLive(id), InISR: slices.Contains(isr, id),
			Leader: p.Leadership != nil && p.Leadership.Leader == id, Adding: slices.Contains(p.Assignment.Adding, id),
			Removing: slices.Contains(p.Assignment.Removing, id), State: r.State.String()}
		v.Clean, v.Unclean = online(id) && v.InISR, online(id) && !inSync
		if c.memory != nil {
			v.ShuttingDown, v.OfflineDir = boolp(slices.Contains(c.view.ShuttingDown(), id)), boolp(c.view.OnOfflineDir(id, tp))
		} else if !v.Live {
			v.ShuttingDown = boolp(false) // it has gone
		}
		out = append(out, v)
	}
	return out
}

// stateEvidence is the state znode, as it was read or as the controller
// remembers it.
func (c *Cluster) stateEvidence(tp model.TopicPartition) model.Evidence {
	path := model.TopicPartitionStatePath(tp)
	p := c.view.Partition(tp)
	if p == nil || p.Leadership == nil {
		says := "it says who leads"
		if p != nil && p.Unreadable != "" {
			says = unreadable(path, p.Unreadable)
		}
		return c.at(path, says, "nobody ever led the partition, or its state was deleted")
	}
	l := p.Leadership
	says := fmt.Sprintf("leader %d, leader epoch %d, ISR %s, controller epoch %d", l.Leader, l.LeaderEpoch, ids(l.ISR), l.ControllerEpoch)
	if l.Recovery == model.Recovering {
		says += ", recovering from an unclean election"
	}
	ev := c.at(path, says, "the controller remembers "+says)
	if c.memory != nil && ev.Version != nil && *ev.Version != l.PartitionEpoch {
		ev.Says = fmt.Sprintf("it has changed; at version %d the controller knew %s", l.PartitionEpoch, says)
	}
	return ev
}

func (c *Cluster) assignmentEvidence(tp model.TopicPartition, p *model.Partition) model.Evidence {
	a := p.Assignment
	says := fmt.Sprintf("partition %d has the replicas %s", tp.Partition, ids(a.Replicas))
	if a.IsBeingReassigned() {
		says += fmt.Sprintf(", adding %s, removing %s", ids(a.Adding), ids(a.Removing))
	}
	return c.at(model.TopicPath(tp.Topic), says, "the controller remembers it, but the topic is not there")
}

// epochEvidence is the epoch in its znode, and the one that the controller
// remembers where that is another: the role has been taken from it.
func (c *Cluster) epochEvidence() model.Evidence {
	ev := c.at(model.ControllerEpochPath, fmt.Sprintf("controller epoch %d", c.view.Epoch), "it counts as 0")
	z, ok := c.data(model.ControllerEpochPath)
	if c.memory == nil || !ok {
		return ev
	}
	switch epoch, err := model.DecodeControllerEpoch(z.Path, z.Data); {
	case err != nil:
		ev.Says = fmt.Sprintf("it cannot be read; the controller remembers controller epoch %d", c.view.Epoch)
	case epoch != c.view.Epoch:
		ev.Says = fmt.Sprintf("controller epoch %d; the controller remembers %d", epoch, c.view.Epoch)
	}
	return ev
}

// elected previews what an offline election would give; nil verdict: nobody.
func (c *Cluster) elected(tp model.TopicPartition, s model.Strategy) *model.Verdict {
	r := engine.Preview(c.view, c.protocol(), s, []model.TopicPartition{tp}, func(topic string) (bool, error) { return c.unclean(topic), nil })
	if r[0].Verdict.New == nil {
		return nil
	}
	return &r[0].Verdict
}

// notOnline is the cause behind one word of why.
func (c *Cluster) notOnline(tp model.TopicPartition, p *model.Partition, word string) model.Cause {
	x := model.Cause{What: word, Holds: true, Evidence: []model.Evidence{c.stateEvidence(tp)}}
	switch word {
	case tree.NoStateZnode:
		c.notCreated(&x, tp)
	case tree.StateZnodeUnparsable:
		x.Subject = "its state znode cannot be read, and no controller overwrites it"
		x.Resumes = []string{"the state znode is deleted or written anew, and another controller takes over"}
	case tree.AssignmentEmpty:
		x.Subject = "no broker has a replica of it"
		x.Evidence = []model.Evidence{c.assignmentEvidence(tp, p)}
		x.Resumes = []string{"the topic znode lists replicas for it, and another controller takes over"}
	case tree.NoLiveReplica:
		x.Subject = "none of its replicas is on a live broker"
		x.Evidence = append([]model.Evidence{c.assignmentEvidence(tp, p)}, c.absentees(tp, p.Assignment.Replicas)...)
		x.BlockedBy, x.Resumes = c.mustStart(tp, c.returning(p))
	case tree.LeaderNone:
		x.Subject = "nobody leads it"
		x.Resumes = []string{"a leader is elected"}
	case tree.LeaderNotLive:
		x.Subject = fmt.Sprintf("its leader, broker %d, is not live", p.Leadership.Leader)
		x.Evidence = append(x.Evidence, c.absentees(tp, []int32{p.Leadership.Leader})...)
		x.Resumes = []string{"a leader is elected"}
	case tree.IsrEmpty:
		x.Subject = "no replica is in sync"
		x.Resumes = []string{"an unclean election takes a live replica; what it lacks cannot be told", "the state znode is written by hand with an ISR, and another controller takes over"}
	case tree.NoLiveIsrMember:
		x.Subject = "no member of the ISR is live"
		x.Evidence = append(x.Evidence, c.absentees(tp, p.Leadership.ISR)...)
		x.BlockedBy, x.Resumes = c.mustStart(tp, c.returning(p))
	case tree.LiveIsrNotAssigned:
		x.Subject = "live members of the ISR are not assigned, so that none of them can lead"
		x.Evidence = append(x.Evidence, c.assignmentEvidence(tp, p))
		x.BlockedBy, x.Resumes = c.mustStart(tp, c.returning(p))
		x.Resumes = append(x.Resumes, "a reassignment makes a live member of the ISR a replica")
	case tree.NewerControllerEpoch:
		c.newerEpoch(&x, p)
	case tree.ElectableNow:
		c.electable(&x, tp)
	case tree.UncleanElectionDisabled:
		c.uncleanOff(&x, tp, p)
	case tree.TopicDeleting:
		x.Subject = "its topic is marked for deletion: no leader is elected any more"
		x.Evidence = []model.Evidence{c.at(model.DeleteTopicPath(tp.Topic), "the request to delete the topic", "the controller has it queued, though the marker is gone")}
		x.Resumes = []string{"the deletion completes, see why topic " + tp.Topic}
	}
	return x
}

// notCreated: a controller creates the state znode when the topic appears, and
// tries again at each trigger.
func (c *Cluster) notCreated(x *model.Cause, tp model.TopicPartition) {
	x.Subject = "it has no state znode: no leader was ever recorded"
	switch v := c.elected(tp, model.OfflineStrategy); {
	case c.view.IsQueued(tp.Topic):
		x.Resumes = []string{"nothing creates it while the topic is being deleted"}
	case v == nil:
		x.Resumes = []string{"a controller can create it: that wants a live replica"}
	default:
		next := fmt.Sprintf("creates it: leader %d, ISR %s", v.Leader, ids(v.New.ISR))
		x.Resumes = []string{"a broker starts or goes: the controller then " + next, "another controller takes over and " + next}
		if c.memory != nil && c.look(model.TopicPartitionStatePath(tp)).Exists {
			x.Subject = "the controller knows of no state znode, but there is one: it fails to create it each time"
			x.Evidence = append(x.Evidence, remembers("partition %s is %s, without leadership", tp, c.view.PartitionState(tp)))
			x.Resumes = []string{"another controller takes over and reads it"}
		}
	}
}

// heldForOnline: a topic went away from outside and came back; its partitions
// kept their states, from which nothing leads to a first leader.
func (c *Cluster) heldForOnline(tp model.TopicPartition) model.Cause {
	return model.Cause{What: tree.NoStateZnode, Subject: "the controller holds it for online, from a topic of this name that was removed from outside: it creates no state znode", Holds: true,
		Evidence: []model.Evidence{remembers("partition %s is %s, without leadership", tp, c.view.PartitionState(tp)), c.stateEvidence(tp)},
		Resumes:  []string{"another controller takes over and creates it"}}
}

// absentees is why each of these brokers does not count as live for the partition.
func (c *Cluster) absentees(tp model.TopicPartition, list []int32) []model.Evidence {
	var out []model.Evidence
	for i, id := range list {
		switch {
		case slices.Contains(list[:i], id) || c.view.IsReplicaOnline(id, tp, false):
		case !c.view.IsLiveOrShuttingDown(id):
			out = append(out, c.brokerEvidence(id))
		case c.view.OnOfflineDir(id, tp):
			out = append(out, remembers("broker %d has the replica on a failed log directory", id))
		default:
			out = append(out, remembers("broker %d is shutting down", id))
		}
	}
	return out
}

// returning are the brokers whose return makes a clean election possible: any
// replica of a partition that never had a leader, else the assigned members of
// the ISR.
func (c *Cluster) returning(p *model.Partition) []int32 {
	var out []int32
	for _, id := range p.Assignment.Replicas {
		if !slices.Contains(out, id) && (p.Leadership == nil || slices.Contains(p.Leadership.ISR, id)) {
			out = append(out, id)
		}
	}
	return out
}

// mustStart says which brokers would bring a partition back.
func (c *Cluster) mustStart(tp model.TopicPartition, brokers []int32) (blockedBy, resumes []string) {
	for _, id := range brokers {
		switch {
		case c.view.IsReplicaOnline(id, tp, false):
		case c.view.OnOfflineDir(id, tp):
			blockedBy = append(blockedBy, fmt.Sprintf("log-dir:%d", id))
			resumes = append(resumes, fmt.Sprintf("broker %d restarts with its log directory repaired", id))
		default:
			blockedBy = append(blockedBy, fmt.Sprintf("broker:%d", id))
			resumes = append(resumes, fmt.Sprintf("broker %d registers", id))
		}
	}
	switch p := c.view.Partition(tp); {
	case resumes != nil:
	case len(p.Assignment.Replicas) == 0:
		resumes = []string{"the topic znode lists replicas for it, and another controller takes over"}
	default:
		resumes = []string{"a replica is live and an unclean election takes it: none that is assigned is in the ISR"}
	}
	return blockedBy, resumes
}

func (c *Cluster) newerEpoch(x *model.Cause, p *model.Partition) {
	behind := p.Leadership.ControllerEpoch - c.view.Epoch
	x.Subject = fmt.Sprintf("its state was written under controller epoch %d, above the cluster's %d: each election and ISR change is refused", p.Leadership.ControllerEpoch, c.view.Epoch)
	x.Evidence = append(x.Evidence, c.epochEvidence())
	x.Resumes = []string{fmt.Sprintf("the controller epoch reaches %d: each change of the controller adds 1, so after %d", p.Leadership.ControllerEpoch, behind),
		fmt.Sprintf("%s is set to %d or more by hand while no controller runs", model.ControllerEpochPath, p.Leadership.ControllerEpoch)}
}

func (c *Cluster) electable(x *model.Cause, tp model.TopicPartition) {
	x.Subject = "a controller could elect a leader at once, but none has"
	x.Evidence = append(x.Evidence, c.controllerEvidence())
	text := "the controller elects at its next trigger (a broker starts or goes)"
	if v := c.elected(tp, model.OfflineStrategy); v != nil {
		x.Subject = fmt.Sprintf("broker %d could be elected at once, ISR %s, but has not been", v.Leader, ids(v.New.ISR))
		text = fmt.Sprintf("the controller elects broker %d, at its next trigger (a broker starts or goes)", v.Leader)
	}
	x.Resumes = []string{text, "another controller takes over, which elects at once"}
}

func (c *Cluster) uncleanOff(x *model.Cause, tp model.TopicPartition, p *model.Partition) {
	_, from := c.setting(tp.Topic, c.status().ID, uncleanConfig, "false")
	x.Subject = "live replicas are out of sync, and unclean election is off"
	x.Evidence = append(x.Evidence, from)
	x.Resumes = []string{"unclean.leader.election.enable is set for the topic, or an unclean election is asked for" + c.loss(tp, p)}
}

// loss is what an unclean election would cost.
func (c *Cluster) loss(tp model.TopicPartition, p *model.Partition) string {
	v := c.elected(tp, model.OfflineUncleanStrategy)
	if v == nil {
		return ""
	}
	if len(p.Leadership.ISR) == 0 {
		return fmt.Sprintf(": broker %d would lead with itself as the ISR, and what others have beyond its log is lost", v.Leader)
	}
	return fmt.Sprintf(": broker %d would lead with itself as the ISR, and all records that only %s has are lost", v.Leader, ids(p.Leadership.ISR))
}

// uncleanImminent: the next action of a controller elects uncleanly.
func (c *Cluster) uncleanImminent(tp model.TopicPartition, p *model.Partition) []model.Cause {
	if p.Leadership == nil || c.view.IsQueued(tp.Topic) || p.Leadership.ControllerEpoch > c.view.Epoch {
		return nil
	}
	v := c.elected(tp, model.OfflineStrategy)
	if v == nil || !v.Unclean {
		return nil
	}
	_, from := c.setting(tp.Topic, c.status().ID, uncleanConfig, "false")
	return []model.Cause{{What: "unclean-election-imminent", Subject: "the controller's next trigger elects uncleanly" + c.loss(tp, p), Holds: true,
		Evidence: []model.Evidence{c.stateEvidence(tp), from}, Resumes: []string{"the controller acts (a broker starts or goes, or another takes over): records are lost",
			"before that, a member of the ISR registers (" + ids(c.returning(p)) + "): nothing is lost"}}}
}
