package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"kstate/internal/shadow"
	"kstate/model"
	"kstate/zkwatch"
)

// lookPeriod is how often what comes with time is looked at.
const lookPeriod = time.Second

// following is the shadow of the controller and what it has told.
type following struct {
	shadow *shadow.Shadow
	bell   chan struct{}
	status shadow.Status
	edges  model.Edges   // its last transitions
	term   int32         // the last that was told to be followed
	period time.Duration // see lookPeriod
	looked time.Time
}

func newFollowing() following {
	bell := make(chan struct{}, 1)
	return following{bell: bell, period: lookPeriod, status: shadow.Status{Why: "the tree is being read"}, shadow: shadow.New(shadow.Options{Bell: func() {
		select {
		case bell <- struct{}{}:
		default:
		}
	}})}
}

// start has the shadow run beside the loop until the answer is called.
func (f *following) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.shadow.Run(ctx)
	}()
	return func() { cancel(); <-ended }
}

// feed gives the shadow what the mirror saw.
func (f *following) feed(changes []zkwatch.Change) {
	list := make([]shadow.Change, len(changes))
	for i := range changes {
		c := &changes[i]
		list[i] = shadow.Change{Znode: c.Znode(), Zxid: c.Zxid}
		switch c.Mark {
		case zkwatch.Synced:
			list[i].Mark = shadow.Synced
		case zkwatch.Lost:
			list[i].Mark = shadow.Lost
		}
	}
	f.shadow.Feed(list)
}

// heed takes in what the shadow has to tell.
func (o *Observer) heed() {
	news, status := o.following.shadow.Take()
	if was := o.following.status; status.Following && (!was.Following || status.Epoch != was.Epoch) && status.Epoch != o.following.term {
		o.following.term = status.Epoch
		o.notice(model.Info, fmt.Sprintf("the controller of epoch %d is followed: what is inferred is marked ~", status.Epoch))
	}
	if was := o.following.status; status.Following != was.Following {
		e := Event{Type: FollowingEvent, At: time.Now().UnixMilli(), What: "on", Term: &status.Epoch}
		if !status.Following {
			e.What, e.Reason = "off", status.Why
		}
		o.tell(e)
	}
	o.following.status, o.dirty = status, true
	for i := range news.Records {
		r := &news.Records[i]
		switch m := r.Step.(type) {
		case *model.MovePartition:
			o.following.edges.LastPartition = &model.PartitionEdge{Edge: model.Edge[model.PartitionState]{From: m.From, To: m.To}, Subject: m.TopicPartition, Inferred: r.Inferred}
		case *model.MoveReplica:
			o.following.edges.LastReplica = &model.ReplicaEdge{Edge: model.Edge[model.ReplicaState]{From: m.From, To: m.To}, Subject: m.Replica, Inferred: r.Inferred}
		}
		o.record(*r)
		o.tellRecord(r)
	}
	for _, d := range news.Divergences {
		o.tell(Event{Type: DivergedEvent, At: d.At, What: d.Text, Topic: d.Topic, Subject: d.Subject, Evidence: "diverged"})
	}
	if n := len(news.Divergences); n > 0 {
		d := news.Divergences[n-1]
		text := "~ the controller did something else than expected: " + d.Subject + ": " + d.Text
		if n > 1 {
			text += fmt.Sprintf(" (and %d more)", n-1)
		}
		o.notice(model.Warn, text)
	}
	for _, n := range news.Notices {
		o.notice(n.Level, "~ "+n.Text)
		o.tell(Event{Type: NoticeEvent, At: n.At, What: n.Text, Evidence: "inferred"})
	}
}

// lookAround does what comes with time, or with changes, at most once a second.
func (o *Observer) lookAround() {
	if !o.synced || o.lost != nil || time.Since(o.following.looked) < o.following.period {
		return
	}
	o.following.looked = time.Now()
	now := o.following.looked.UnixMilli()
	o.deletions.look(o, now)
	o.forgetDeletions()
	o.hearSilence(now)
}

// followed is the part of a frame that says how the controller is followed.
func (o *Observer) followed() *model.Following {
	st := &o.following.status
	f := &model.Following{On: st.Following, Why: st.Why, Diverged: len(st.Diverged), Deletions: map[string]model.DeletionProgress{}}
	for topic, d := range o.deletions.followed {
		p := model.DeletionProgress{State: string(d.status.State), Why: d.status.Why}
		if counts, ok := st.Deleting[topic]; ok && st.Following {
			p.Replicas = &counts
		}
		f.Deletions[topic] = p
	}
	return f
}

// deletions are those under way.
type deletions struct {
	followed map[string]*Deletion
	touched  map[string]bool // topics of which something changed since they were looked at
}

func newDeletions() deletions {
	return deletions{followed: map[string]*Deletion{}, touched: map[string]bool{}}
}

// begin takes up the deletions that are under way in the first picture.
func (d *deletions) begin(o *Observer, now int64) {
	for topic := range o.survey.View().TopicsToBeDeleted.All() {
		d.add(o, topic, now)
	}
}

func (d *deletions) add(o *Observer, topic string, now int64) {
	if d.followed[topic] != nil {
		return
	}
	f := FollowDeletion(topic, o.survey, now)
	d.followed[topic] = f
	o.tellDeletion(f.Status(), now)
}

// seen notes a change that may matter to a deletion.
func (d *deletions) seen(o *Observer, ref model.ZnodeRef, missing bool, now int64) {
	switch ref.Kind {
	case model.DeleteTopicZnode:
		if !missing {
			d.add(o, ref.Topic, now)
			return
		}
		if f := d.followed[ref.Topic]; f != nil {
			d.lookAt(o, ref.Topic, f, now)
		}
	case model.TopicZnode:
		if f := d.followed[ref.Topic]; f != nil {
			d.lookAt(o, ref.Topic, f, now)
		}
	case model.PartitionStateZnode:
		if d.followed[ref.Topic] != nil {
			d.touched[ref.Topic] = true
		}
	case model.BrokerZnode:
		for topic := range d.followed {
			d.touched[topic] = true
		}
	}
}

// look looks at the deletions; at rest, only time tells something new of them.
func (d *deletions) look(o *Observer, now int64) {
	for _, topic := range slices.Sorted(maps.Keys(d.followed)) {
		f := d.followed[topic]
		if d.touched[topic] || f.Status().State == DeletionRunning || f.Status().State == DeletionRetrying {
			d.lookAt(o, topic, f, now)
		}
	}
	clear(d.touched)
}

func (d *deletions) lookAt(o *Observer, topic string, f *Deletion, now int64) {
	st, changed := f.Look(o.survey, now)
	if !changed {
		return
	}
	if st.State.Over() {
		delete(d.followed, topic)
	}
	o.tellDeletion(st, now)
}

func (o *Observer) tellDeletion(st DeletionStatus, now int64) {
	level, mark := model.Info, ""
	if st.State == DeletionWaiting || st.State == DeletionRetrying || st.State == DeletionRefused || st.State == DeletionWithdrawn {
		level = model.Warn
	}
	if st.Inferred {
		mark = "~ "
	}
	if !o.admin.deleting[st.Topic] {
		o.notice(level, mark+st.Text())
	}
	o.tell(Event{Type: DeletionEvent, At: now, What: st.Text(), Topic: st.Topic, State: string(st.State), Reason: st.Why, BlockedBy: st.BlockedBy, Evidence: evidence(st.Inferred)})
}
