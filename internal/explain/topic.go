package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kstate/internal/tree"
	"kstate/model"
)

// States of a deletion.
const (
	deletionNone    = "not-deleting"
	deletionQueued  = "queued"
	deletionRunning = "running"
	deletionWaiting = "waiting"
	deletionRefused = "refused"
)

// topic explains what holds the deletion of a topic; false: no such topic.
func (c *Cluster) topic(e *model.Explanation, name string) bool {
	marker := c.look(model.DeleteTopicPath(name))
	exists := c.look(model.TopicPath(name))
	known := exists.Exists || c.view.KnowsTopic(name)
	queued := c.memory != nil && c.view.IsQueued(name)
	if !known && !marker.Exists && !queued {
		if exists.Err == "" && marker.Err == "" {
			return false
		}
		e.Undecided, e.State, e.Answer = true, notKnown, "whether it exists is not known: "+first(exists.Err, marker.Err)
		return true
	}
	e.Facts = append(e.Facts, c.at(model.DeleteTopicPath(name), "the request to delete it", "nobody asked to delete it"))
	switch {
	case !marker.Exists && !queued && marker.Err != "":
		e.Undecided, e.State = true, deletionNone
		e.Answer = "whether it is to be deleted is not known: " + marker.Err
	case !marker.Exists && !queued:
		c.notDeleting(e, name)
	case !known && !queued:
		c.staleMarker(e, name)
	default:
		c.deletion(e, name)
	}
	return true
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// notDeleting says in brief how a topic is that nobody deletes.
func (c *Cluster) notDeleting(e *model.Explanation, name string) {
	e.State = deletionNone
	c.topicFact(e, name)
	if why := c.unreadableTopic(name); why != "" && c.look(model.TopicPath(name)).Version == nil {
		e.Undecided = true
		e.Answer = "it is not being deleted; how its partitions are is not known: " + why
		return
	} else if why != "" {
		e.Found = true
		e.Answer = "it is not being deleted, and its znode cannot be read"
		e.Causes = append(e.Causes, c.unparsable(name, why))
		return
	}
	t := c.view.Topic(name)
	counts := partitionCounts(t)
	e.Answer = "it is not being deleted; " + counts
	if c.memory != nil && c.view.TopicsIneligibleForDeletion.Has(name) {
		e.Causes = append(e.Causes, model.Cause{What: TopicMarkedIneligible, Subject: "a deletion would start out halted: a mark of a former topic of this name is left",
			Evidence: []model.Evidence{remembers("%s is in topicsIneligibleForDeletion", name)},
			Resumes:  []string{"a broker that hosts one of its replicas starts once it is queued", "another controller takes over"}})
	}
	var bad []int32
	for n, p := range t.Partitions() {
		if p.State != model.OnlinePartition {
			bad = append(bad, n)
		}
	}
	if len(bad) == 0 {
		return
	}
	e.Found = true
	e.Causes = append(e.Causes, model.Cause{What: "offline-partition", Subject: "partitions " + numbers(bad) + " are not available", Holds: true,
		Evidence: []model.Evidence{c.stateEvidence(model.TP(name, bad[0]))},
		Resumes:  []string{"see why partition " + model.TP(name, bad[0]).String()}})
}

// partitionCounts is "3 partitions: 2 OnlinePartition, 1 OfflinePartition".
func partitionCounts(t *model.Topic) string {
	if t == nil {
		return "no partitions"
	}
	var parts []string
	for s, n := range t.PartitionCounts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, partitionState(model.PartitionState(s))))
		}
	}
	text := model.Plural(t.PartitionCount(), "partition")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

func partitionState(s model.PartitionState) string {
	if s == model.NoPartitionState {
		return tree.UnreadablePartition
	}
	return s.String()
}

func (c *Cluster) topicFact(e *model.Explanation, name string) {
	if c.unreadableTopic(name) != "" {
		return // the cause says so
	}
	n := 0
	if t := c.view.Topic(name); t != nil {
		n = t.PartitionCount()
	}
	e.Facts = append(e.Facts, c.at(model.TopicPath(name), model.Plural(n, "partition"), "the topic is not there"))
}

func (c *Cluster) unreadableTopic(name string) string {
	if t := c.view.Topic(name); t != nil {
		return t.Unreadable
	}
	return ""
}

// unreadable is what is wrong with a znode, for evidence that names it already.
func unreadable(path, why string) string {
	return tree.Printable(strings.TrimPrefix(why, "znode "+path+": "))
}

func (c *Cluster) unparsable(name, why string) model.Cause {
	return model.Cause{What: "topic-znode-unparsable", Subject: "which partitions it has cannot be read", Holds: true,
		Evidence: []model.Evidence{c.at(model.TopicPath(name), unreadable(model.TopicPath(name), why), "")},
		Resumes:  []string{"the znode is written anew with its partitions"}}
}

// staleMarker: the topic is gone, its marker is not.
func (c *Cluster) staleMarker(e *model.Explanation, name string) {
	e.Found, e.State = true, deletionQueued
	e.Answer = "the topic is gone, but its deletion marker is left"
	e.Causes = append(e.Causes, model.Cause{What: "stale-delete-marker", Subject: "a marker without a topic", Holds: true,
		Evidence: []model.Evidence{c.at(model.DeleteTopicPath(name), "the marker", ""), c.at(model.TopicPath(name), "", "the topic is not there")},
		Resumes: []string{"any other deletion marker comes or goes: the controller then drops this one with a warning",
			"a new controller takes over: it completes the deletion at once, the config znode included"}})
	if c.look(model.TopicConfigPath(name)).Exists {
		e.Facts = append(e.Facts, c.at(model.TopicConfigPath(name), "its config is left, too", ""))
	}
	e.Causes = append(e.Causes, c.markerChildren(name)...)
	e.Causes = append(e.Causes, c.controllerCauses()...)
	c.controllerUnread(e)
}

// markerChildren: ZooKeeper deletes no znode that has children.
func (c *Cluster) markerChildren(name string) []model.Cause {
	path := model.DeleteTopicPath(name)
	n := c.children(path)
	if n <= 0 {
		return nil
	}
	evidence := []model.Evidence{c.at(path, model.Plural(n, "znode")+" below it", "")}
	if c.survey != nil {
		for _, z := range c.survey.Children(path) {
			evidence = append(evidence, c.at(z.Path, "it keeps the marker from being deleted", ""))
		}
	}
	return []model.Cause{{What: "delete-marker-not-removable", Subject: "the marker has children, so no controller can drop it", Holds: true,
		Evidence: evidence, Resumes: []string{"what lies below the marker is deleted by hand"}}}
}

// deletion explains a topic that is marked, or queued in memory.
func (c *Cluster) deletion(e *model.Explanation, name string) {
	c.topicFact(e, name)
	e.Facts = append(e.Facts, c.controllerEvidence())
	if why := c.unreadableTopic(name); why != "" {
		e.Causes = append(e.Causes, c.unparsable(name, why))
	}
	if !c.deleteEnabled() {
		e.Causes = append(e.Causes, c.disabled(name))
	} else {
		e.Causes = append(e.Causes, c.absentReplicas(name)...)
		e.Causes = append(e.Causes, c.moves(name)...)
		if c.memory != nil {
			e.Causes = append(e.Causes, c.failedReplicas(name)...)
			e.Causes = append(e.Causes, c.leftoverMark(name, e.Causes)...)
			e.Causes = append(e.Causes, c.stalled(name)...)
			c.memoryFacts(e, name)
		} else {
			e.Causes = append(e.Causes, c.halfDeleted(name)...)
			e.Causes = append(e.Causes, c.dirNotices(name)...)
			e.NotKnown = append(e.NotKnown,
				"whether the controller has started the deletion, and which replicas are ReplicaDeletionStarted or ReplicaDeletionSuccessful: only its memory has that",
				"whether a broker answered the deletion with an error (replica-deletion-failed): the controller keeps that in memory, without a retry until a broker that hosts a replica starts, a reassignment of the topic ends or another controller takes over",
				"whether a replica lies on a failed log directory: no znode keeps that")
			if t := c.view.Topic(name); t != nil && t.Reassigning > 0 {
				e.NotKnown = append(e.NotKnown, "whether the controller in charge saw the marker while the reassignment ran: then it does not wait for it, for it halts a topic before it queues it; one that takes over now waits")
			}
		}
		e.Causes = append(e.Causes, c.markerChildren(name)...)
	}
	e.Causes = append(e.Causes, c.controllerCauses()...)
	c.controllerUnread(e)
	c.concludeDeletion(e, name)
}

func (c *Cluster) concludeDeletion(e *model.Explanation, name string) {
	var words []string
	for _, reason := range []model.IneligibleReason{model.DeleteTopicDisabled, model.OfflineReplicas, model.ReassignmentInProgress, model.ReplicaDeletionFailed} {
		if slices.ContainsFunc(e.Causes, func(x model.Cause) bool { return x.Holds && x.What == string(reason) }) {
			e.IneligibleReasons = append(e.IneligibleReasons, reason)
		}
	}
	for i := range e.Causes {
		if x := &e.Causes[i]; x.Holds && !slices.Contains(words, x.What) {
			words = append(words, x.What)
		}
	}
	e.Found = len(words) > 0
	e.State = c.deletionState(e, name)
	switch {
	case slices.Contains(words, string(model.DeleteTopicDisabled)):
		e.Answer = "the request to delete it will be dropped: delete.topic.enable is false"
	case e.Found:
		e.Answer = "its deletion does not go on: " + strings.Join(words, ", ")
	case e.State == deletionRunning:
		e.Answer = "its deletion runs: brokers have been asked and have not all answered yet"
	case c.memory != nil:
		e.Answer = "its deletion is queued, and nothing that the controller remembers holds it"
	default:
		e.Answer = "it is marked for deletion, and nothing in the tree holds that: it should be gone within seconds, or else look at the controller"
	}
}

func (c *Cluster) deletionState(e *model.Explanation, name string) string {
	switch {
	case !c.deleteEnabled():
		return deletionRefused
	case c.memory != nil && c.view.Topic(name) != nil && c.view.Topic(name).ReplicaCounts[model.ReplicaDeletionStarted] > 0:
		return deletionRunning
	case e.Found:
		return deletionWaiting
	}
	return deletionQueued
}

func (c *Cluster) disabled(name string) model.Cause {
	evidence := c.at(model.DeleteTopicPath(name), "delete.topic.enable=false: the controller drops the marker, and the topic stays", "")
	return model.Cause{What: string(model.DeleteTopicDisabled), Subject: "deleting topics is switched off", Holds: true,
		BlockedBy: []string{"config:delete.topic.enable"}, Evidence: []model.Evidence{evidence},
		Resumes: []string{"delete.topic.enable is set to true on the controller, which must restart for it, and the topic is deleted again"}}
}

// absentReplicas has a cause for each broker whose replicas of the topic cannot
// be deleted now.
func (c *Cluster) absentReplicas(name string) []model.Cause {
	missing, dirs, leaving := map[int32][]int32{}, map[int32][]int32{}, map[int32][]int32{}
	for n, p := range c.view.Topic(name).Partitions() {
		for i, id := range p.Assignment.Replicas {
			switch tp := model.TP(name, n); {
			case slices.Contains(p.Assignment.Replicas[:i], id): // listed twice
			case !c.view.IsLiveOrShuttingDown(id):
				missing[id] = append(missing[id], n)
			case c.view.OnOfflineDir(id, tp):
				dirs[id] = append(dirs[id], n)
			case !c.view.IsLive(id):
				leaving[id] = append(leaving[id], n)
			}
		}
	}
	var out []model.Cause
	add := func(by map[int32][]int32, block, subject string, resumes ...string) {
		for _, id := range slices.Sorted(maps.Keys(by)) {
			x := model.Cause{What: string(model.OfflineReplicas), Subject: fmt.Sprintf(subject, id), Holds: true,
				BlockedBy: []string{fmt.Sprintf("%s:%d", block, id)}, Evidence: []model.Evidence{c.brokerEvidence(id),
					c.at(model.TopicPath(name), fmt.Sprintf("broker %d has a replica of %s %s", id, partitionsWord(by[id]), numbers(by[id])), "")}}
			x.Evidence = append(x.Evidence, c.replicaStates(name, id, by[id])...)
			for _, r := range resumes {
				x.Resumes = append(x.Resumes, fmt.Sprintf(r, id))
			}
			out = append(out, x)
		}
	}
	add(missing, "broker", "broker %d is not registered", "broker %d registers; an id that is gone for good can be given to any empty broker",
		"another controller takes over after the topic znode was written without broker %d")
	add(dirs, "log-dir", "broker %d has replicas on a failed log directory", "broker %d restarts with the directory repaired or removed")
	add(leaving, "broker", "broker %d is shutting down", "broker %d registers again")
	return out
}

func partitionsWord(list []int32) string {
	if len(list) == 1 {
		return "partition"
	}
	return "partitions"
}

// replicaStates is what the controller remembers of replicas on a broker.
func (c *Cluster) replicaStates(name string, id int32, list []int32) []model.Evidence {
	if c.memory == nil {
		return nil
	}
	var out []model.Evidence
	for _, n := range list[:min(len(list), numbersShown)] {
		r := model.Replica{TopicPartition: model.TP(name, n), Broker: id}
		out = append(out, remembers("replica %s is %s", r, c.view.ReplicaState(r)))
	}
	return out
}

// moves has a cause for each partition that is being reassigned. A controller
// that saw the marker while it was active is not held by them: its mark comes
// before the topic is queued.
func (c *Cluster) moves(name string) []model.Cause {
	var out []model.Cause
	for n, p := range c.view.Topic(name).Partitions() {
		if !p.Reassigning {
			continue
		}
		tp := model.TP(name, n)
		a := p.Assignment
		x := model.Cause{What: string(model.ReassignmentInProgress), Subject: tp.String() + " is being reassigned",
			Holds:     c.memory == nil || c.view.IneligibleReason(name) == model.ReassignmentInProgress,
			BlockedBy: []string{"reassignment:" + tp.String()},
			Evidence:  []model.Evidence{c.at(model.TopicPath(name), fmt.Sprintf("partition %d: adding %s, removing %s", n, ids(a.Adding), ids(a.Removing)), "")}}
		x.Resumes = append(c.moveResumes(tp, p), "another controller takes over after the topic znode was written without adding_replicas and removing_replicas for the partition")
		if !x.Holds {
			x.BlockedBy = nil
			x.Evidence = append(x.Evidence, remembers("the topic is not marked ineligible for it: the deletion does not wait for the reassignment"))
			x.Resumes = nil
		}
		out = append(out, x)
	}
	return out
}

// halfDeleted: state znodes of a marked topic are gone, or never were.
func (c *Cluster) halfDeleted(name string) []model.Cause {
	var gone []int32
	var out []model.Cause
	for n, p := range c.view.Topic(name).Partitions() {
		if p.Leadership != nil || p.Unreadable != "" {
			continue
		}
		gone = append(gone, n)
		if tp := model.TP(name, n); p.Reassigning {
			out = append(out, model.Cause{What: "controller-cannot-start", Subject: "a controller that takes over now fails at the reassignment of " + tp.String() + ", gives the role up, and so does each next one", Holds: true,
				Evidence: []model.Evidence{c.stateEvidence(tp), c.at(model.TopicPath(name), fmt.Sprintf("partition %d: adding %s, removing %s", n, ids(p.Assignment.Adding), ids(p.Assignment.Removing)), "")},
				Resumes:  []string{"the topic znode is written without adding_replicas and removing_replicas for the partition, or deleted with all below it and the marker"}})
		}
	}
	if len(gone) == 0 {
		return out
	}
	return append(out, model.Cause{What: tree.NoStateZnode, Subject: partitionsWord(gone) + " " + numbers(gone) + ": half deleted, or never created",
		Evidence: []model.Evidence{c.stateEvidence(model.TP(name, gone[0]))},
		Resumes: []string{"the deletion completes: a new controller needs no state znode for it",
			"another controller takes over, should the active one have known the znode: it then refuses to take these replicas offline and stalls"}})
}

// dirNotices: a broker that hosts replicas reported a failed log directory, and
// nobody has read that yet.
func (c *Cluster) dirNotices(name string) []model.Cause {
	hosts := map[int32]bool{}
	for _, p := range c.view.Topic(name).Partitions() {
		for _, id := range p.Assignment.Replicas {
			hosts[id] = true
		}
	}
	var out []model.Cause
	for _, n := range c.dirFailures() {
		if hosts[n.broker] {
			out = append(out, model.Cause{What: "log-dir-failure-notification", Subject: fmt.Sprintf("broker %d lost a log directory; whether a replica of the topic was there is not known", n.broker),
				Evidence: []model.Evidence{c.at(n.path, fmt.Sprintf("unread notice of broker %d", n.broker), "")},
				Resumes:  []string{fmt.Sprintf("the controller asks broker %d, and if a replica was there, broker %d restarts", n.broker, n.broker)}})
		}
	}
	return out
}

// dirFailure is the notice of a broker that lost a log directory, not read yet.
type dirFailure struct {
	path   string
	broker int32
}

func (c *Cluster) dirFailures() []dirFailure {
	var out []dirFailure
	for _, z := range c.survey.Children(model.LogDirEventNotificationPath) {
		if id, ok, err := model.DecodeLogDirEvent(z.Path, z.Data); err == nil && ok {
			out = append(out, dirFailure{z.Path, id})
		}
	}
	return out
}
