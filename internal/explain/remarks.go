package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kstate/internal/tree"
	"kstate/model"
)

// remarks are what is not as it should be with a partition that is available.
func (c *Cluster) remarks(e *model.Explanation, tp model.TopicPartition, p *model.Partition) {
	l, a := p.Leadership, p.Assignment
	say := func(x model.Cause) { e.Causes = append(e.Causes, x) }
	if c.view.IsQueued(tp.Topic) {
		say(model.Cause{What: tree.TopicDeleting, Subject: "its topic is marked for deletion",
			Evidence: []model.Evidence{c.at(model.DeleteTopicPath(tp.Topic), "the request to delete the topic", "the controller has it queued, though the marker is gone")},
			Resumes:  []string{"the deletion completes, see why topic " + tp.Topic}})
	}
	if l.ControllerEpoch > c.view.Epoch {
		x := model.Cause{What: "state-from-newer-controller-epoch", Evidence: []model.Evidence{c.stateEvidence(tp)}}
		c.newerEpoch(&x, p)
		say(x)
	}
	if !c.view.IsReplicaOnline(l.Leader, tp, false) {
		say(model.Cause{What: tree.LeaderNotLive, Subject: fmt.Sprintf("the controller has not looked yet: its leader, broker %d, is no longer live", l.Leader), Evidence: c.absentees(tp, []int32{l.Leader})})
	}
	if len(l.ISR) > 0 && !slices.Contains(l.ISR, l.Leader) {
		say(model.Cause{What: "leader-not-in-isr", Subject: fmt.Sprintf("its leader, broker %d, is not in the ISR", l.Leader), Evidence: []model.Evidence{c.stateEvidence(tp)}, Resumes: []string{"another leader is elected"}})
	}
	if l.Recovery == model.Recovering {
		say(model.Cause{What: "leader-recovering", Subject: "an unclean election made its leader: records were lost", Evidence: []model.Evidence{c.stateEvidence(tp)}, Resumes: []string{"the leader reports that it has recovered"}})
	}
	c.replication(tp, p, say)
	if p.Reassigning {
		say(c.moving(tp, p))
	}
	if len(a.Replicas) > 0 && !model.HasPreferredLeader(a, l) {
		say(c.notPreferred(tp, p))
	}
}

// replication looks at the size of the ISR.
func (c *Cluster) replication(tp model.TopicPartition, p *model.Partition, say func(model.Cause)) {
	l := p.Leadership
	var lagging, absent []int32
	for _, id := range p.Assignment.Origin() {
		switch {
		case slices.Contains(l.ISR, id) || slices.Contains(lagging, id) || slices.Contains(absent, id):
		case c.view.IsReplicaOnline(id, tp, false):
			lagging = append(lagging, id)
		default:
			absent = append(absent, id)
		}
	}
	waits := func() []string {
		var out []string
		for _, id := range absent {
			out = append(out, fmt.Sprintf("broker %d registers and catches up", id))
		}
		for _, id := range lagging {
			out = append(out, fmt.Sprintf("broker %d, which is live, catches up and the leader asks for it to join the ISR", id))
		}
		return out
	}
	if len(lagging)+len(absent) > 0 || len(l.ISR) < len(p.Assignment.Origin()) {
		x := model.Cause{What: "under-replicated", Subject: fmt.Sprintf("%d of %s in sync; not in the ISR: %s", len(l.ISR), model.Plural(len(p.Assignment.Origin()), "replica"), ids(slices.Concat(absent, lagging))),
			Evidence: append([]model.Evidence{c.stateEvidence(tp)}, c.absentees(tp, absent)...), Resumes: waits()}
		x.BlockedBy = brokerWords(absent)
		say(x)
	}
	text, from := c.setting(tp.Topic, l.Leader, minISRConfig, "1")
	least, err := strconv.Atoi(strings.TrimSpace(text))
	if least = min(least, len(p.Assignment.Replicas)); err == nil && len(l.ISR) < least {
		say(model.Cause{What: "under-min-isr", Subject: fmt.Sprintf("%d in sync, %d needed: producers with acks=all are refused", len(l.ISR), least),
			Evidence: []model.Evidence{c.stateEvidence(tp), from}, BlockedBy: brokerWords(absent), Resumes: append(waits(), "min.insync.replicas of the topic is lowered")})
	}
}

func brokerWords(list []int32) []string {
	var out []string
	for _, id := range list {
		out = append(out, fmt.Sprintf("broker:%d", id))
	}
	return out
}

// moving is what a reassignment waits for.
func (c *Cluster) moving(tp model.TopicPartition, p *model.Partition) model.Cause {
	a := p.Assignment
	missing, lagging := c.notThere(tp, p)
	x := model.Cause{What: "reassignment-in-progress", Evidence: []model.Evidence{c.assignmentEvidence(tp, p), c.stateEvidence(tp)}, Resumes: c.moveResumes(tp, p)}
	switch {
	case len(missing) > 0:
		x.What, x.BlockedBy = "reassignment-target-missing", brokerWords(missing)
		x.Subject = fmt.Sprintf("it is being moved to %s, and waits for brokers that are not live: %s", ids(a.Target()), ids(missing))
		x.Evidence = append(x.Evidence, c.absentees(tp, missing)...)
	case len(lagging) > 0:
		x.Subject = fmt.Sprintf("it is being moved to %s; not in the ISR yet: %s", ids(a.Target()), ids(lagging))
	default:
		x.What = "reassignment-complete-in-isr"
		x.Subject = fmt.Sprintf("it is being moved to %s: all are in the ISR, and yet the controller has not finished", ids(a.Target()))
	}
	return x
}

// notThere are the targets of a reassignment that are not in the ISR: those on
// brokers that are not live, and those that lag.
func (c *Cluster) notThere(tp model.TopicPartition, p *model.Partition) (missing, lagging []int32) {
	for _, id := range p.Assignment.Target() {
		switch {
		case p.Leadership != nil && slices.Contains(p.Leadership.ISR, id):
		case c.view.IsReplicaOnline(id, tp, false):
			lagging = append(lagging, id)
		default:
			missing = append(missing, id)
		}
	}
	return missing, lagging
}

// moveResumes is what lets a reassignment go on.
func (c *Cluster) moveResumes(tp model.TopicPartition, p *model.Partition) []string {
	missing, lagging := c.notThere(tp, p)
	var needs, out []string
	if len(missing) > 0 {
		needs = append(needs, ids(missing)+" must register")
	}
	if len(missing)+len(lagging) > 0 {
		needs = append(needs, ids(slices.Concat(missing, lagging))+" must catch up and join the ISR")
		out = []string{"the reassignment completes: " + strings.Join(needs, ", ")}
	}
	if out == nil {
		out = []string{"the controller notices that all targets are in the ISR: at the leader's next ISR change, the start of a target's broker, or another controller's take-over"}
	}
	if !c.view.IsQueued(tp.Topic) {
		out = append(out, "it is cancelled, back to "+ids(p.Assignment.Origin()))
	}
	return out
}

// notPreferred says why another than the first replica leads, and what elects it.
func (c *Cluster) notPreferred(tp model.TopicPartition, p *model.Partition) model.Cause {
	head := p.Assignment.Replicas[0]
	x := model.Cause{What: "leader-not-preferred", Subject: fmt.Sprintf("broker %d leads, broker %d is preferred", p.Leadership.Leader, head),
		Evidence: []model.Evidence{c.stateEvidence(tp), c.assignmentEvidence(tp, p)}}
	if why := c.notElectable(tp, p); why != "" {
		x.Subject += ", which cannot be elected: " + why
		x.Resumes = []string{fmt.Sprintf("broker %d is live and in the ISR, and a preferred election runs", head)}
	} else {
		x.Resumes = []string{"a preferred election runs, asked for or by the automatic balancer"}
	}
	return x
}

// notElectable says why a preferred election would not elect the first replica;
// empty when it would.
func (c *Cluster) notElectable(tp model.TopicPartition, p *model.Partition) string {
	head := p.Assignment.Replicas[0]
	l := p.Leadership
	switch {
	case l == nil:
		return "there is no leadership information"
	case !c.view.IsLiveOrShuttingDown(head):
		return fmt.Sprintf("broker %d is not registered", head)
	case c.view.OnOfflineDir(head, tp):
		return fmt.Sprintf("broker %d has it on a failed log directory", head)
	case !c.view.IsLive(head):
		return fmt.Sprintf("broker %d is shutting down", head)
	case !slices.Contains(l.ISR, head):
		return fmt.Sprintf("broker %d is not in the ISR %s", head, ids(l.ISR))
	case l.ControllerEpoch > c.view.Epoch:
		return fmt.Sprintf("its state is from controller epoch %d", l.ControllerEpoch)
	}
	return ""
}
