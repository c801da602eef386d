package observe

import (
	"fmt"
	"slices"
	"strings"

	"kstate/internal/tree"
	"kstate/model"
)

// DeletionState is how far the deletion of a topic has come, as seen from outside.
type DeletionState string

const (
	DeletionQueued    DeletionState = "queued"    // the marker is there, nothing was done yet
	DeletionRunning   DeletionState = "running"   // the controller is at it
	DeletionWaiting   DeletionState = "waiting"   // for a broker, or for a reassignment: see BlockedBy
	DeletionRetrying  DeletionState = "retrying"  // what it waited for is over, and it goes on; or no broker has confirmed for long
	DeletionDone      DeletionState = "done"      // topic and marker are gone
	DeletionRefused   DeletionState = "refused"   // the controller dropped the marker: unknown topic, or deletion is off
	DeletionWithdrawn DeletionState = "withdrawn" // somebody took the marker away
)

// Over tells that nothing more will come.
func (s DeletionState) Over() bool {
	return s == DeletionDone || s == DeletionRefused || s == DeletionWithdrawn
}

const (
	// refusalLimit: a controller with delete.topic.enable=false drops a marker at
	// once. One that lay longer was taken away by somebody.
	refusalLimit = 5_000
	// retryLimit is after how many ms without anything blocking, and without a
	// change, brokers are taken not to have confirmed.
	retryLimit = 15_000
)

// DeletionStatus is a deletion at one moment.
type DeletionStatus struct {
	Topic     string
	State     DeletionState
	Reasons   []model.IneligibleReason // while it waits
	BlockedBy []string                 // while it waits: broker:2, reassignment:t-0, ...
	Why       string                   // one sentence
	Inferred  bool                     // the state is not in the tree: it follows from what was seen before, or from time
}

// Text is the state with its reason, for a line of output.
func (s DeletionStatus) Text() string {
	text := fmt.Sprintf("deletion of %s: %s", s.Topic, s.State)
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

func (s DeletionStatus) equal(o DeletionStatus) bool {
	return s.State == o.State && s.Why == o.Why && slices.Equal(s.BlockedBy, o.BlockedBy) && slices.Equal(s.Reasons, o.Reasons)
}

// Deletion follows the deletion of one topic in a tree to its end. Look at it
// after each change of the tree, and every second or so, for some states come
// with time; it reads only what the survey has of the topic.
type Deletion struct {
	status  DeletionStatus
	since   int64 // when the marker was first seen
	epochs  map[int32]int32
	id      model.Uuid
	existed bool // the topic was there while the marker was
	gone    bool // and was seen to go
	waited  bool
	begun   bool  // the controller was seen at work: its traces go before the topic does
	stirred int64 // when anything last changed
	trace   int   // what the controller's work had left behind then
}

// FollowDeletion begins with a topic that has its marker in the tree: one without
// counts as vanished. at is in ms since 1970, as in Look.
func FollowDeletion(topic string, s *tree.Survey, at int64) *Deletion {
	d := &Deletion{since: at, stirred: at, epochs: map[int32]int32{}}
	d.status = DeletionStatus{Topic: topic, State: DeletionQueued}
	if t := s.View().Topic(topic); t != nil && t.Known {
		d.id = t.ID
		for n, p := range t.Partitions() {
			if p.Leadership != nil {
				d.epochs[n] = p.Leadership.LeaderEpoch
			}
		}
	}
	d.Look(s, at)
	return d
}

// Status is the last state that was seen.
func (d *Deletion) Status() DeletionStatus { return d.status }

// Look takes in the tree as it is at that time, in ms since 1970; the answer
// tells whether the status is another one. After the end nothing changes.
func (d *Deletion) Look(s *tree.Survey, at int64) (DeletionStatus, bool) {
	if d.status.State.Over() {
		return d.status, false
	}
	now := d.judge(s, at)
	changed := !now.equal(d.status)
	d.status = now
	return now, changed
}

func (d *Deletion) judge(s *tree.Survey, at int64) DeletionStatus {
	topic := d.status.Topic
	t := s.View().Topic(topic)
	exists := t != nil && t.Known
	d.existed = d.existed || exists
	if d.existed && (!exists || t.ID != d.id && !d.id.IsZero() && !t.ID.IsZero()) {
		d.gone = true
	}
	if !s.View().IsQueued(topic) {
		return d.vanished(at)
	}
	trace := d.traces(s.View(), t)
	if trace != d.trace {
		d.trace, d.stirred, d.begun = trace, at, d.begun || trace > 0
	}
	out := DeletionStatus{Topic: topic, State: DeletionQueued}
	if reasons := s.IneligibleReasons(topic); len(reasons) > 0 && !d.gone {
		d.waited, d.stirred = true, at
		out.State, out.Reasons, out.BlockedBy = DeletionWaiting, reasons, s.BlockedBy(topic)
		out.Why = "waits for " + blockers(out.BlockedBy)
		return out
	}
	if d.status.State == DeletionWaiting { // nobody looked while it waited
		d.stirred = at
	}
	switch {
	case d.gone:
		out.State, out.Why = DeletionRunning, "the topic is gone, its config and its marker go next"
	case !d.existed:
		out.Why = "no such topic: a controller drops the marker"
	case d.waited:
		out.State, out.Inferred, out.Why = DeletionRetrying, true, "what it waited for is over, and it is tried again"
	case d.begun:
		out.State, out.Why = DeletionRunning, "the partitions have no leader any more, their replicas are being deleted"
	}
	if d.existed && !d.gone && d.begun && at-d.stirred >= retryLimit {
		out.State, out.Inferred = DeletionRetrying, true
		out.Why = "nothing blocks it, and for long nothing has changed: a broker has not confirmed, or the deletion failed there"
	}
	return out
}

// traces counts what a controller's work has left: partitions without a leader
// although a broker of their ISR is there, and partitions that went.
func (d *Deletion) traces(v *model.View, t *model.Topic) int {
	n := 0
	if t == nil {
		return n
	}
	for number, p := range t.Partitions() {
		l := p.Leadership
		if l == nil || l.Leader != model.NoLeader {
			continue
		}
		was, known := d.epochs[number]
		if known && l.LeaderEpoch > was || slices.ContainsFunc(l.ISR, v.IsLive) {
			n += 1 + int(l.LeaderEpoch)
		}
	}
	return n
}

// vanished says what became of a marker that is not there any more.
func (d *Deletion) vanished(at int64) DeletionStatus {
	out := DeletionStatus{Topic: d.status.Topic}
	switch {
	case d.gone:
		out.State, out.Why = DeletionDone, "the topic and its marker are gone"
	case !d.existed:
		out.State, out.Why = DeletionRefused, "there is no such topic, so the controller dropped the marker"
	case !d.begun && !d.waited && at-d.since < refusalLimit, d.status.Reasons != nil && d.status.Reasons[0] == model.DeleteTopicDisabled:
		out.State, out.Inferred, out.Why = DeletionRefused, true, "the marker went at once and the topic is untouched: delete.topic.enable is off at the controller"
	default:
		out.State, out.Inferred, out.Why = DeletionWithdrawn, true, "the marker was taken away and the topic is still there"
		if d.begun {
			out.Why += "; the controller does not forget what it has begun: its partitions stay without a leader until another controller takes over"
		}
	}
	return out
}

// blockers reads broker:2 as broker 2.
func blockers(list []string) string {
	words := make([]string, len(list))
	for i, b := range list {
		words[i] = strings.Replace(b, ":", " ", 1)
	}
	return strings.Join(words, ", ")
}
