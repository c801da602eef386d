package explain

import (
	"fmt"
	"slices"

	"kstate/model"
)

// replica explains why a replica is not online or not in sync; false: no such
// partition. A broker that has no replica of it is an answer.
func (c *Cluster) replica(e *model.Explanation, r model.Replica) bool {
	tp := r.TopicPartition
	p := c.view.Partition(tp)
	if p == nil || p.Assignment == nil {
		return c.unassigned(e, tp)
	}
	e.Facts = append(e.Facts, c.brokerEvidence(r.Broker), c.stateEvidence(tp), c.assignmentEvidence(tp, p))
	status, _ := p.Replica(r.Broker)
	e.State = status.State.String()
	if !slices.Contains(p.Assignment.Replicas, r.Broker) {
		e.Found = true
		e.Answer = fmt.Sprintf("broker %d has no replica of it: the replicas are %s", r.Broker, ids(p.Assignment.Replicas))
		e.Causes = append(e.Causes, model.Cause{What: NotAssigned, Subject: "the assignment does not list the broker", Holds: true,
			Evidence: []model.Evidence{c.assignmentEvidence(tp, p)}, Resumes: []string{"a reassignment adds it"}})
		return true
	}
	for _, v := range c.candidates(tp, p) {
		if v.Broker == r.Broker {
			e.Replicas = []model.ReplicaVerdict{v}
			break
		}
	}
	c.replicaOffline(e, r)
	c.replicaOutOfSync(e, r, p)
	if status.DeletionError != model.ErrNone {
		for _, x := range c.failedReplicas(tp.Topic) {
			if slices.ContainsFunc(x.Evidence, func(ev model.Evidence) bool { return ev.Path == model.BrokerIDPath(r.Broker) }) {
				e.Causes = append(e.Causes, x)
				break
			}
		}
	}
	if c.view.IsQueued(tp.Topic) {
		e.Causes = append(e.Causes, model.Cause{What: "topic-deleting", Subject: "its topic is marked for deletion",
			Evidence: []model.Evidence{c.at(model.DeleteTopicPath(tp.Topic), "the request to delete the topic", "the controller has it queued, though the marker is gone")},
			Resumes:  []string{"the deletion completes, see why topic " + tp.Topic}})
	}
	e.Found = slices.ContainsFunc(e.Causes, func(x model.Cause) bool { return x.Holds })
	c.concludeReplica(e, r, p)
	return true
}

func (c *Cluster) concludeReplica(e *model.Explanation, r model.Replica, p *model.Partition) {
	role := "follower"
	if p.Leader() == r.Broker {
		role = "leader"
	}
	switch {
	case e.Found:
		e.Answer = fmt.Sprintf("%s, %s: %s", e.State, role, causeWords(e.Causes))
	default:
		e.Answer = fmt.Sprintf("%s, %s, live and in the ISR", e.State, role)
	}
	if c.memory == nil {
		e.NotKnown = append(e.NotKnown, "how far it lags behind its leader, and whether it lies on a failed log directory: no znode keeps that")
	} else {
		e.NotKnown = append(e.NotKnown, "how far it lags behind its leader: only the leader has that")
	}
}

func (c *Cluster) replicaOffline(e *model.Explanation, r model.Replica) {
	id, tp := r.Broker, r.TopicPartition
	x := model.Cause{What: BrokerNotRegistered, Subject: fmt.Sprintf("broker %d is not registered", id), Holds: true,
		BlockedBy: []string{fmt.Sprintf("broker:%d", id)}, Evidence: []model.Evidence{c.brokerEvidence(id)}, Resumes: []string{fmt.Sprintf("broker %d registers", id)}}
	switch {
	case !c.view.IsLiveOrShuttingDown(id):
		if see := c.look(model.BrokerIDPath(id)); c.survey != nil && see.Err != "" && !see.Exists {
			e.Undecided = true
			e.NotKnown = append(e.NotKnown, fmt.Sprintf("whether broker %d is registered: %s", id, see.Err))
		}
	case c.view.OnOfflineDir(id, tp):
		x.What, x.BlockedBy = OfflineLogDir, []string{fmt.Sprintf("log-dir:%d", id)}
		x.Subject = fmt.Sprintf("broker %d has it on a failed log directory", id)
		x.Evidence = append(x.Evidence, remembers("broker %d answered for %s that its log directory has failed", id, tp))
		x.Resumes = []string{fmt.Sprintf("broker %d restarts with the directory repaired or removed", id)}
	case !c.view.IsLive(id):
		x.What, x.Subject = BrokerShuttingDown, fmt.Sprintf("broker %d is shutting down", id)
		x.Evidence = append(x.Evidence, remembers("broker %d asked for a controlled shutdown", id))
		x.Resumes = []string{fmt.Sprintf("broker %d registers again", id)}
	default:
		return
	}
	e.Causes = append(e.Causes, x)
}

func (c *Cluster) replicaOutOfSync(e *model.Explanation, r model.Replica, p *model.Partition) {
	l := p.Leadership
	switch {
	case l == nil:
		e.Causes = append(e.Causes, model.Cause{What: NotInISR, Subject: "nobody leads the partition yet", Holds: true,
			Evidence: []model.Evidence{c.stateEvidence(r.TopicPartition)}, Resumes: []string{"the partition gets a leader, see why partition " + r.TopicPartition.String()}})
	case slices.Contains(l.ISR, r.Broker):
	default:
		x := model.Cause{What: NotInISR, Subject: "it is not in the ISR " + ids(l.ISR), Holds: true, Evidence: []model.Evidence{c.stateEvidence(r.TopicPartition)}}
		switch {
		case !c.view.IsReplicaOnline(r.Broker, r.TopicPartition, false):
			x.Resumes = []string{"it is back and catches up, and the leader asks for it to join the ISR"}
		case p.State != model.OnlinePartition:
			x.Resumes = []string{"the partition has a leader, from which it catches up"}
		default:
			x.Resumes = []string{fmt.Sprintf("it catches up with broker %d, which then asks the controller for it to join the ISR", l.Leader)}
		}
		if slices.Contains(p.Assignment.Adding, r.Broker) {
			x.Subject += ": it is being added"
		}
		e.Causes = append(e.Causes, x)
	}
}
