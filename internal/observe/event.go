package observe

import (
	"slices"

	"kstate/internal/shadow"
	"kstate/model"
)

// The types of events.
const (
	ZnodeEvent        = "znode"         // a znode was created, changed or deleted, or can't be read
	TransitionEvent   = "transition"    // a partition or replica changed state in the controller's memory
	DivergedEvent     = "diverged"      // the controller did something else than was expected
	ControllerEvent   = "controller"    // who holds the role
	NotAnsweringEvent = "not_answering" // what: on, off
	DeletionEvent     = "deletion"      // how far the deletion of a topic has come
	ConnectionEvent   = "connection"    // what: lost, synced
	FollowingEvent    = "following"     // what: on, off: only while it is on are there transitions
	NoticeEvent       = "notice"        // anything else that the operator is told
)

// Event is one thing that happened, as kstate watch prints it. At is in ms since
// 1970, Zxid the newest transaction seen by then. Fields that a type does not use
// are left out.
type Event struct {
	Type       string   `json:"type"`
	At         int64    `json:"at"`
	Zxid       int64    `json:"zxid"`
	What       string   `json:"what"`
	Path       string   `json:"path,omitempty"`
	Version    *int32   `json:"version,omitempty"`
	Topic      string   `json:"topic,omitempty"`
	Partition  *int32   `json:"partition,omitempty"`
	Broker     *int32   `json:"broker,omitempty"`
	From       string   `json:"from,omitempty"`
	To         string   `json:"to,omitempty"`
	Leader     *int32   `json:"leader,omitempty"`
	ISR        []int32  `json:"isr,omitempty"`
	Epoch      *int32   `json:"leader_epoch,omitempty"`
	Controller *int32   `json:"controller,omitempty"`
	Term       *int32   `json:"controller_epoch,omitempty"`
	Status     string   `json:"status,omitempty"`
	State      string   `json:"state,omitempty"`
	BlockedBy  []string `json:"blocked_by,omitempty"`
	Subject    string   `json:"subject,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Evidence   string   `json:"evidence,omitempty"`
}

func evidence(inferred bool) string {
	if inferred {
		return "inferred"
	}
	return "observed"
}

// evidenceOf is that of a transition: what concerns a partition of which the
// controller did something else than was expected counts as diverged.
func (o *Observer) evidenceOf(r *model.Record, tp model.TopicPartition) string {
	if r.Inferred && len(o.following.status.Diverged) > 0 {
		subject := tp.String()
		if slices.ContainsFunc(o.following.status.Diverged, func(d shadow.Divergence) bool { return d.Subject == subject }) {
			return "diverged"
		}
	}
	return evidence(r.Inferred)
}

// tell hands an event to who listens.
func (o *Observer) tell(e Event) {
	if o.opt.Told != nil {
		e.Zxid = o.zxid
		o.opt.Told(e)
	}
}

// tellZnode tells of a znode that changed; before is what the survey had of its
// partition.
func (o *Observer) tellZnode(z *model.Znode, ref model.ZnodeRef, at int64, existed bool) {
	if o.opt.Told == nil {
		return
	}
	e := Event{Type: ZnodeEvent, At: at, What: "changed", Path: z.Path, Topic: ref.Topic}
	switch {
	case z.Missing:
		e.What = "deleted"
	case z.Err != "":
		e.What, e.Reason = "unreadable", z.Err
	case !existed:
		e.What = "created"
	}
	if !z.Missing {
		e.Version = &z.Stat.Version
	}
	switch ref.Kind {
	case model.BrokerZnode:
		e.Broker = &ref.Broker
	case model.TopicPartitionZnode:
		e.Partition = &ref.Partition
	case model.PartitionStateZnode:
		e.Partition = &ref.Partition
		if l := o.survey.View().Leadership(ref.TopicPartition()); l != nil && !z.Missing {
			e.Leader, e.ISR, e.Epoch = &l.Leader, l.ISR, &l.LeaderEpoch
		}
	}
	o.tell(e)
}

// tellRecord tells of a transition.
func (o *Observer) tellRecord(r *model.Record) {
	if o.opt.Told == nil {
		return
	}
	e := Event{Type: TransitionEvent, At: r.At}
	switch m := r.Step.(type) {
	case *model.MovePartition:
		e.Evidence = o.evidenceOf(r, m.TopicPartition)
		e.What, e.Topic, e.Partition, e.From, e.To, e.Reason = "partition", m.Topic, &m.Partition, m.From.String(), m.To.String(), m.Reason
		if m.Leadership != nil {
			e.Leader, e.ISR, e.Epoch = &m.Leadership.Leader, m.Leadership.ISR, &m.Leadership.LeaderEpoch
		}
	case *model.MoveReplica:
		e.Evidence = o.evidenceOf(r, m.TopicPartition)
		e.What, e.Topic, e.Partition, e.Broker, e.From, e.To, e.Reason = "replica", m.Topic, &m.Partition, &m.Broker, m.From.String(), m.To.String(), m.Reason
	default:
		return
	}
	o.tell(e)
}

// tellController tells who holds the role, when that changes.
func (o *Observer) tellController(at int64) {
	c := o.survey.Controller()
	if c == o.controller {
		return
	}
	o.controller = c
	if o.synced {
		o.tell(Event{Type: ControllerEvent, At: at, What: c.Status, Status: c.Status, Controller: &c.ID, Term: &c.Epoch})
	}
}

// Holder is who held the role when the last record or event was told: only for
// use within Options.Recorded and Options.Told.
func (o *Observer) Holder() model.ControllerStatus { return o.controller }
