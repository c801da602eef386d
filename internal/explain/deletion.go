package explain

import (
	"fmt"
	"slices"

	"kstate/internal/tree"
	"kstate/model"
)

// What only a controller's memory knows of a deletion.

// resumesAfterFailure is what lets a halted topic go on: there is no timer.
func resumesAfterFailure(brokers []int32) []string {
	return []string{"one of the brokers that host its replicas (" + ids(brokers) + ") starts", "a reassignment of one of its partitions completes", "another controller takes over"}
}

func (c *Cluster) hosts(name string) []int32 {
	var out []int32
	for _, p := range c.view.Topic(name).Partitions() {
		out = append(out, p.Assignment.Replicas...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// failedReplicas has a cause for each replica whose broker answered the deletion
// with an error.
func (c *Cluster) failedReplicas(name string) []model.Cause {
	var out []model.Cause
	for n, p := range c.view.Topic(name).Partitions() {
		for _, r := range p.Replicas {
			if r.DeletionError == model.ErrNone || !slices.Contains(p.Assignment.Replicas, r.Broker) {
				continue
			}
			rep := model.Replica{TopicPartition: model.TP(name, n), Broker: r.Broker}
			x := model.Cause{What: string(model.ReplicaDeletionFailed), Subject: fmt.Sprintf("broker %d answered the deletion of replica %s with %s", r.Broker, rep, r.DeletionError),
				Holds: true, BlockedBy: []string{fmt.Sprintf("broker:%d", r.Broker)},
				Evidence: []model.Evidence{remembers("replica %s is %s, broker %d answered %s", rep, r.State, r.Broker, r.DeletionError), c.brokerEvidence(r.Broker)},
				Resumes:  resumesAfterFailure(c.hosts(name))}
			if r.DeletionError == model.ErrKafkaStorageError {
				x.BlockedBy = []string{fmt.Sprintf("log-dir:%d", r.Broker)}
				x.Resumes[0] = fmt.Sprintf("broker %d restarts with its log directory repaired; the start of any broker that hosts a replica (%s) only makes the controller try again", r.Broker, ids(c.hosts(name)))
			}
			out = append(out, x)
		}
	}
	return out
}

// leftoverMark: the topic is marked ineligible for a reason that none of the
// causes found is.
func (c *Cluster) leftoverMark(name string, found []model.Cause) []model.Cause {
	if !c.view.TopicsIneligibleForDeletion.Has(name) {
		return nil
	}
	reason := c.view.IneligibleReason(name)
	if slices.ContainsFunc(found, func(x model.Cause) bool { return x.Holds && x.What == string(reason) }) {
		return nil
	}
	x := model.Cause{What: string(reason), Subject: "halted by a mark whose reason is no more", Holds: true, Resumes: resumesAfterFailure(c.hosts(name)),
		Evidence: []model.Evidence{remembers("%s is in topicsIneligibleForDeletion: %s", name, reason)}}
	if reason == "" {
		x.What = TopicMarkedIneligible
	}
	if reason == model.ReplicaDeletionFailed {
		for i := range found {
			if y := &found[i]; y.What == string(model.OfflineReplicas) { // replicas went away while they were deleted
				x.Subject = "replicas went offline while the topic was queued"
				x.BlockedBy = append(x.BlockedBy, y.BlockedBy...)
			}
		}
	}
	return []model.Cause{x}
}

// stalled finds deletions that nothing marks as halted and that do not move:
// an answer that names no partition, and a state znode that went away.
func (c *Cluster) stalled(name string) []model.Cause {
	out := c.unansweredDeletions(name)
	for n, p := range c.view.Topic(name).Partitions() {
		tp := model.TP(name, n)
		for _, r := range p.Replicas {
			if r.State == model.ReplicaDeletionStarted && c.answeredAll(r.Broker) {
				rep := model.Replica{TopicPartition: tp, Broker: r.Broker}
				out = append(out, model.Cause{What: ReplicaDeletionUnanswered, Subject: fmt.Sprintf("broker %d has answered all requests, none for replica %s", r.Broker, rep), Holds: true,
					Evidence: []model.Evidence{remembers("replica %s is %s, nothing waits for broker %d, and no event is queued", rep, r.State, r.Broker)},
					Resumes:  []string{fmt.Sprintf("broker %d restarts: it refused the request as a whole (a stale broker or controller epoch), which tells the controller nothing", r.Broker), "another controller takes over"}})
			}
		}
		if c.refusedOffline(name, p) && !c.look(model.TopicPartitionStatePath(tp)).Exists && c.look(model.TopicPartitionStatePath(tp)).Err == "" {
			out = append(out, model.Cause{What: tree.NoStateZnode, Subject: tp.String() + ": its replicas cannot be taken offline without its state znode", Holds: true,
				Evidence: []model.Evidence{c.at(model.TopicPartitionStatePath(tp), "", "the controller remembers a leadership, but the znode is gone"), remembers("replicas of %s: %s", tp, replicaStatesText(p))},
				Resumes:  []string{"another controller takes over: it finds no leadership and goes on without"}})
		}
	}
	return out
}

// unansweredDeletions has a cause for each silent broker that was told to delete
// replicas of a topic: the controller waits for its answer without a limit.
func (c *Cluster) unansweredDeletions(name string) []model.Cause {
	started := map[int32]int{}
	for _, p := range c.view.Topic(name).Partitions() {
		for _, r := range p.Replicas {
			if r.State == model.ReplicaDeletionStarted {
				started[r.Broker]++
			}
		}
	}
	var out []model.Cause
	for i := range c.memory.Channels {
		ch := &c.memory.Channels[i]
		if n := started[ch.Broker]; n > 0 && ch.Silent(c.memory.Now) > 0 {
			x := c.silence(ch)
			x.Subject += fmt.Sprintf("; the deletion of %s waits for it", model.Plural(n, "replica"))
			x.Evidence = append(x.Evidence, remembers("%s on broker %d in ReplicaDeletionStarted", model.Plural(n, "replica"), ch.Broker))
			out = append(out, x)
		}
	}
	return out
}

// silence is the cause that a broker does not answer.
func (c *Cluster) silence(ch *model.Channel) model.Cause {
	id := ch.Broker
	link := "connected"
	if !ch.Connected {
		link = "not connected"
	}
	return model.Cause{What: BrokerNotAnswering, Subject: fmt.Sprintf("broker %d has not answered %s for %d s", id, ch.Head, ch.Silent(c.memory.Now)/1000), Holds: true,
		BlockedBy: []string{fmt.Sprintf("broker:%d", id)},
		Evidence:  []model.Evidence{remembers("%s to broker %d not answered, %s, the first: %s", model.Plural(ch.Depth, "request"), id, link, ch.Head), c.brokerEvidence(id)},
		Resumes:   []string{fmt.Sprintf("broker %d answers: the controller waits for that, and sends the request again after each failure", id), fmt.Sprintf("the registration of broker %d ends: then its replicas count as offline, and wait for its start", id)}}
}

// answeredAll: nothing is on the way to or from a broker.
func (c *Cluster) answeredAll(id int32) bool {
	if c.memory.Queued > 0 {
		return false
	}
	for i := range c.memory.Channels {
		if ch := &c.memory.Channels[i]; ch.Broker == id {
			return ch.Connected && ch.Depth == 0
		}
	}
	return false
}

// refusedOffline: the deletion has started, no replica is being deleted, and
// online ones stayed as they were.
func (c *Cluster) refusedOffline(name string, p *model.Partition) bool {
	if !c.view.TopicsWithDeletionStarted.Has(name) || c.view.TopicsIneligibleForDeletion.Has(name) || p.Leadership == nil || c.memory.Queued > 0 {
		return false
	}
	stayed := false
	for _, r := range p.Replicas {
		switch r.State {
		case model.ReplicaDeletionStarted:
			return false
		case model.OnlineReplica:
			stayed = true
		}
	}
	return stayed
}

func replicaStatesText(p *model.Partition) string {
	text := ""
	for i, r := range p.Replicas {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", r.Broker, r.State)
	}
	return text
}

// startFacts says whether the next pass of the deletion loop would start the
// deletion, by its three conditions, and what it would retry.
// Kafka: TopicDeletionManager.isTopicEligibleForDeletion, resumeDeletions.
func (c *Cluster) startFacts(e *model.Explanation, name string) {
	v := c.view
	if !v.TopicsToBeDeleted.Has(name) {
		return
	}
	var started, ineligible int
	for _, p := range v.Topic(name).Partitions() {
		for _, r := range p.Replicas {
			switch {
			case !slices.Contains(p.Assignment.Replicas, r.Broker):
			case r.State == model.ReplicaDeletionStarted:
				started++
			case r.State == model.ReplicaDeletionIneligible:
				ineligible++
			}
		}
	}
	tick := map[bool]string{true: "✓", false: "✗"}
	marked := v.TopicsIneligibleForDeletion.Has(name)
	e.Facts = append(e.Facts, remembers("the next pass starts the deletion if all three hold: %s it is queued; %s no replica is ReplicaDeletionStarted (%d are); %s it is not in topicsIneligibleForDeletion",
		tick[true], tick[started == 0], started, tick[!marked]))
	if ineligible > 0 {
		when := "the next pass takes them back to OfflineReplica, to be deleted again"
		if started > 0 {
			when = "they are taken back to OfflineReplica once no replica is ReplicaDeletionStarted"
		}
		e.Facts = append(e.Facts, remembers("retry: %s in ReplicaDeletionIneligible; %s", model.Plural(ineligible, "replica"), when))
	}
}

// memoryFacts are the deletion sets and the replicas' states.
func (c *Cluster) memoryFacts(e *model.Explanation, name string) {
	v := c.view
	for _, set := range []struct {
		which model.DeletionSet
		has   bool
	}{{model.ToBeDeleted, v.TopicsToBeDeleted.Has(name)}, {model.DeletionStarted, v.TopicsWithDeletionStarted.Has(name)},
		{model.IneligibleForDeletion, v.TopicsIneligibleForDeletion.Has(name)}} {
		is := "is not in"
		if set.has {
			is = "is in"
		}
		e.Facts = append(e.Facts, remembers("%s %s %s", name, is, set.which))
	}
	t := v.Topic(name)
	if t == nil {
		return
	}
	text := ""
	for _, s := range model.ReplicaStates {
		if n := t.ReplicaCounts[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, s)
		}
	}
	if text != "" {
		e.Facts = append(e.Facts, remembers("replicas: %s", text[2:]))
	}
	c.startFacts(e, name)
}
