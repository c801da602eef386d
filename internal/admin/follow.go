package admin

import (
	"fmt"
	"slices"
	"time"

	"kstate/internal/observe"
	"kstate/internal/tree"
	"kstate/model"
)

// Result is how a change has ended.
type Result uint8

const (
	Open    Result = iota // not yet
	Done                  // as it was asked for
	Partly                // for some of what it was asked for
	Refused               // the controller did not do it, or somebody took it back
)

// Outlook is what the tree shows of a change that was written.
type Outlook struct {
	State  string // in a word
	Text   string // what is seen
	Result Result
	Leads  []ElectionOutcome // of an election that is over, by partition
}

// ElectionOutcome is one partition of an election. Error is empty when its
// preferred replica leads.
type ElectionOutcome struct {
	model.TopicPartition
	Leader int32
	ISR    []int32
	Error  string
	Why    string
}

// Follower tells from one survey after the other how a change goes on.
type Follower interface {
	Look(s *tree.Survey, now time.Time) Outlook
}

const (
	// settling is how long after the end of a request what it should have
	// changed is waited for: the tree's parts are read side by side.
	settling = time.Second
	// unseen is after how long a request that never showed counts as over: a
	// controller may take it away before it can be seen.
	unseen = 3 * time.Second
)

// request follows a znode that the controller removes when it is done.
type request struct {
	seen bool
	gone time.Time // since when it is not there
}

// over tells that the request has been there and is gone for good.
func (r *request) over(there bool, now time.Time) bool {
	switch {
	case there:
		r.seen, r.gone = true, time.Time{}
		return false
	case r.gone.IsZero():
		r.gone = now
	}
	if r.seen {
		return now.Sub(r.gone) >= settling
	}
	return now.Sub(r.gone) >= unseen
}

// leaderWait follows new partitions until each has a leader.
type leaderWait struct {
	topic    string
	from, to int32 // the partitions, to excluded
	seen     bool
}

// Look counts the leaders.
func (w *leaderWait) Look(s *tree.Survey, _ time.Time) Outlook {
	v := s.View()
	if !v.KnowsTopic(w.topic) {
		if w.seen {
			return Outlook{State: "withdrawn", Result: Refused, Text: "topic " + w.topic + " is gone again: somebody has deleted it"}
		}
		return Outlook{State: "queued", Text: "written; it does not show yet"}
	}
	w.seen = true
	led, none := 0, ""
	for n := w.from; n < w.to; n++ {
		tp := model.TP(w.topic, n)
		if l := v.Leadership(tp); l != nil && l.Leader >= 0 {
			led++
		} else if none == "" {
			none = tp.String()
		}
	}
	total := int(w.to - w.from)
	if led == total {
		return Outlook{State: "done", Result: Done, Text: fmt.Sprintf("%d of %d partitions have a leader", total, total)}
	}
	return Outlook{State: "running", Text: fmt.Sprintf("%d of %d partitions have a leader; the first without: %s", led, total, none)}
}

// deletion follows a topic's deletion: observe.Deletion, from when the marker
// shows.
type deletion struct {
	topic string
	request
	d *observe.Deletion
}

// Look tells queued, running, waiting, retrying, done, refused, withdrawn.
func (f *deletion) Look(s *tree.Survey, now time.Time) Outlook {
	v := s.View()
	if f.d == nil {
		marked := v.IsQueued(f.topic)
		over := f.over(marked, now)
		switch {
		case marked || !v.KnowsTopic(f.topic):
			f.d = observe.FollowDeletion(f.topic, s, now.UnixMilli())
		case !over:
			return Outlook{State: "queued", Text: "written; it does not show yet"}
		default:
			return Outlook{State: string(observe.DeletionRefused), Result: Refused,
				Text: "the marker went before it could be seen, and the topic is untouched: delete.topic.enable is off at the controller"}
		}
		if !marked {
			return Outlook{State: string(observe.DeletionDone), Result: Done, Text: "the topic and its marker are gone"}
		}
	}
	st, _ := f.d.Look(s, now.UnixMilli())
	o := Outlook{State: string(st.State), Text: st.Why}
	if st.State == observe.DeletionQueued && st.Why == "" {
		o.Text = "the marker is there; nothing of the topic has gone yet"
	}
	switch {
	case st.State == observe.DeletionDone:
		o.Result = Done
	case st.State.Over():
		o.Result = Refused
	}
	return o
}

// election follows an election of preferred leaders.
type election struct {
	list []model.TopicPartition
	request
}

// Look tells, when the request is over, who leads.
func (f *election) Look(s *tree.Survey, now time.Time) Outlook {
	v := s.View()
	_, there := s.Znode(model.PreferredReplicaElectionPath)
	over := f.over(there, now)
	var out []ElectionOutcome
	moved := 0
	for _, tp := range f.list {
		o := electionOutcome(v, tp)
		if o.Error == "" {
			moved++
		}
		out = append(out, o)
	}
	text := fmt.Sprintf("%d of %d partitions are led by their preferred replica", moved, len(f.list))
	switch {
	case there:
		return Outlook{State: "running", Text: "the request is there; " + text}
	case moved == len(f.list):
		return Outlook{State: "done", Result: Done, Text: text, Leads: out}
	case !over:
		return Outlook{State: "queued", Text: text}
	}
	for i := range out {
		if out[i].Error != "" {
			text += fmt.Sprintf("; %s stays with leader %s: %s", out[i].TopicPartition, model.LeaderName(out[i].Leader), out[i].Why)
			break
		}
	}
	if moved == 0 {
		return Outlook{State: "refused", Result: Partly, Text: text, Leads: out}
	}
	return Outlook{State: "partly", Result: Partly, Text: text, Leads: out}
}

// The words of elections that gave no preferred leader, as ElectLeaders has them.
const (
	preferredNotAvailable = "PREFERRED_LEADER_NOT_AVAILABLE"
	unknownPartition      = "UNKNOWN_TOPIC_OR_PARTITION"
)

func electionOutcome(v *model.View, tp model.TopicPartition) ElectionOutcome {
	o := ElectionOutcome{TopicPartition: tp, Leader: model.NoLeader, ISR: []int32{}}
	a := v.Assignment(tp)
	if len(a.Replicas) == 0 {
		o.Error, o.Why = unknownPartition, "it is gone"
		return o
	}
	l := v.Leadership(tp)
	if l == nil {
		o.Error, o.Why = preferredNotAvailable, "it has no usable state znode"
		return o
	}
	o.Leader, o.ISR = l.Leader, l.ISR
	if l.Leader == a.Replicas[0] {
		return o
	}
	o.Error = preferredNotAvailable
	if o.Why = notElectable(l, a.Replicas[0], v.LiveOrShuttingDown()); o.Why == "" {
		o.Why = "no reason shows in the tree: the controller's log has it"
	}
	if v.IsQueued(tp.Topic) {
		o.Why = "the topic is queued for deletion"
	}
	return o
}

// reassignment follows partitions that move.
type reassignment struct {
	list []model.PartitionReassignment
	request
}

func newReassignment(list []model.PartitionReassignment) *reassignment {
	return &reassignment{list: slices.Clone(list)}
}

// Look tells which partitions still move, and which never did.
func (f *reassignment) Look(s *tree.Survey, now time.Time) Outlook {
	v := s.View()
	_, there := s.Znode(model.ReassignPartitionsPath)
	over := f.over(there, now)
	done, moving, stays := 0, "", ""
	for i := range f.list {
		e := &f.list[i]
		a := v.Assignment(e.TopicPartition)
		switch {
		case a.IsBeingReassigned():
			if moving == "" {
				moving = fmt.Sprintf("%s: adding %s, removing %s, in sync %s", e.TopicPartition, model.IDsOrNone(a.Adding), model.IDsOrNone(a.Removing), isrText(v, e.TopicPartition))
			}
		case slices.Equal(a.Replicas, e.Replicas):
			done++
		case stays == "":
			stays = fmt.Sprintf("%s is on %s", e.TopicPartition, model.IDsOrNone(a.Replicas))
		}
	}
	text := fmt.Sprintf("%d of %d partitions moved", done, len(f.list))
	switch {
	case moving != "":
		return Outlook{State: "running", Text: text + "; " + moving}
	case done == len(f.list) && !there:
		return Outlook{State: "done", Result: Done, Text: text}
	case there:
		return Outlook{State: "queued", Text: text + "; the request is there"}
	case !over:
		return Outlook{State: "queued", Text: text}
	case done == 0:
		return Outlook{State: "refused", Result: Refused, Text: "the request is gone and nothing moved: " + stays + "; the controller's log says why"}
	}
	return Outlook{State: "partly", Result: Partly, Text: text + "; " + stays}
}

func isrText(v *model.View, tp model.TopicPartition) string {
	if l := v.Leadership(tp); l != nil {
		return model.IDsOrNone(l.ISR)
	}
	return "unknown"
}

// controllerMove follows a change of the controller.
type controllerMove struct {
	from, epoch int32
}

// Look tells who is the controller.
func (f *controllerMove) Look(s *tree.Survey, _ time.Time) Outlook {
	c := s.Controller()
	switch {
	case c.Epoch <= f.epoch:
		return Outlook{State: "running", Text: fmt.Sprintf("broker %d resigns; nobody has taken over yet", f.from)}
	case c.ID < 0:
		return Outlook{State: "running", Text: "there is no controller"}
	case c.ID == f.from:
		return Outlook{State: "done", Result: Done, Text: fmt.Sprintf("broker %d is the controller again, epoch %d", c.ID, c.Epoch)}
	}
	return Outlook{State: "done", Result: Done, Text: fmt.Sprintf("broker %d is the controller, epoch %d", c.ID, c.Epoch)}
}
