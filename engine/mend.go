package engine

import (
	"errors"
	"fmt"
	"strings"

	"kstate/model"
)

// Mends are the known faults of Kafka's controller that this one does not share.
// All are off by default: it then does what Kafka does, and says so.
type Mends struct {
	// ClearBatches mends KAFKA-12315: leftovers of the machines' batches are
	// dropped on resignation. In Kafka they make every later transition of the
	// process fail.
	ClearBatches bool
	// GhostStates drops what memory still holds of a deleted topic when one of that
	// name is created: states that an outside deletion left behind, and marks of
	// reassignment and ineligibility. In Kafka they keep the new topic without a
	// leader, or its deletion from starting, until the next failover.
	GhostStates bool
	// HalfDeletedTopics passes over topics whose znodes are gone by half: a
	// reassignment of a partition without a state znode, a topic znode without a
	// readable content. In Kafka each new controller fails on them.
	HalfDeletedTopics bool
}

// MendNames are the names of the mends, in the order of the fields of Mends.
var MendNames = []string{"clear-batches", "ghost-states", "half-deleted-topics"}

// ParseMends reads names separated by commas; none is no mend.
func ParseMends(list string) (Mends, error) {
	var m Mends
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case MendNames[0]:
			m.ClearBatches = true
		case MendNames[1]:
			m.GhostStates = true
		case MendNames[2]:
			m.HalfDeletedTopics = true
		default:
			return Mends{}, fmt.Errorf("there is no mend %q; there are %s", name, strings.Join(MendNames, ", "))
		}
	}
	return m, nil
}

// String lists the names of those that are on, as ParseMends reads them.
func (m Mends) String() string {
	var on []string
	for i, set := range []bool{m.ClearBatches, m.GhostStates, m.HalfDeletedTopics} {
		if set {
			on = append(on, MendNames[i])
		}
	}
	return strings.Join(on, ",")
}

// dropGhost forgets what is still remembered of a topic that is not known, if
// that is mended.
func (e *Engine) dropGhost(topic string) {
	t := e.ctx.Topic(topic)
	if !e.cfg.Mend.GhostStates || t == nil || t.Known || hasAssignment(t) {
		return
	}
	states := livingStates(t)
	mark := e.ctx.TopicsIneligibleForDeletion.Has(topic)
	if states > 0 || t.Reassigning > 0 || mark {
		e.logf(controllerLogger, model.Warn, "topic %s is created again: %d partition states, %d marks of reassignment and %d of ineligibility that its deletion left in memory are dropped (--mend ghost-states)",
			topic, states, t.Reassigning, map[bool]int{true: 1}[mark])
	}
	e.ctx.DropTopic(topic)
}

// hasAssignment tells whether memory has an assignment of the topic. One that is not
// known has none, unless an event of its znode came before that of its creation
// and took its partitions in: then what is remembered is its own.
func hasAssignment(t *model.Topic) bool {
	for _, p := range t.Entries() {
		if p.Assignment != nil && len(p.Assignment.Replicas) > 0 {
			return true
		}
	}
	return false
}

// livingStates counts the partitions that are in a state other than NonExistent.
func livingStates(t *model.Topic) int {
	n := 0
	for _, p := range t.Entries() {
		if p.State != model.NoPartitionState && p.State != model.NonExistentPartition {
			n++
		}
	}
	return n
}

// passOver tells whether the failure to take up a reassignment is one that is
// mended: its partition has no state znode.
func (e *Engine) passOver(err error) bool {
	missing := new(stateMissing)
	if !e.cfg.Mend.HalfDeletedTopics || !errors.As(err, &missing) {
		return false
	}
	e.logf(controllerLogger, model.Error, "HALF-DELETED TOPIC: the reassignment of %s in %s is passed over, since %s does not exist: Kafka's controller fails here (--mend half-deleted-topics). Delete the rest of the topic, or write its znode without adding_replicas and removing_replicas",
		missing.tp, model.TopicPath(missing.tp.Topic), model.TopicPartitionStatePath(missing.tp))
	return true
}

// passOverTopic tells whether a topic znode that cannot be read is passed over.
func (e *Engine) passOverTopic(err error) bool {
	if !e.cfg.Mend.HalfDeletedTopics {
		return false
	}
	e.logf(controllerLogger, model.Error, "HALF-DELETED TOPIC: %v; the topic is passed over, as one without partitions: Kafka's controller fails here (--mend half-deleted-topics). Delete that znode, or write its assignment anew", err)
	return true
}
