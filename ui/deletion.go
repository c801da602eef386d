package ui

import (
	"fmt"
	"strings"

	"kstate/model"
)

// deletionList is the pane of the three deletion sets, one below the other.
type deletionList struct {
	list[deletionRow]
	moved bool // by the operator, since the view was entered
}

// deletionRow is a topic in a set, or, with an empty topic, the set's heading.
type deletionRow struct {
	set   model.DeletionSet
	topic string
}

// deletionSource walks the headings and their topics.
type deletionSource struct{ v *model.View }

func (s deletionSource) topics(set model.DeletionSet) *model.TopicSet {
	switch set {
	case model.ToBeDeleted:
		return &s.v.TopicsToBeDeleted
	case model.DeletionStarted:
		return &s.v.TopicsWithDeletionStarted
	}
	return &s.v.TopicsIneligibleForDeletion
}

func (s deletionSource) compare(a, b deletionRow) int {
	if a.set != b.set {
		return int(a.set) - int(b.set)
	}
	return strings.Compare(a.topic, b.topic)
}

func (s deletionSource) has(k deletionRow) bool {
	return k.set != 0 && (k.topic == "" || s.topics(k.set).Has(k.topic))
}

func (s deletionSource) first() (deletionRow, bool) {
	return deletionRow{set: model.ToBeDeleted}, true
}

func (s deletionSource) last() (deletionRow, bool) {
	t, _ := s.topics(model.IneligibleForDeletion).Last()
	return deletionRow{model.IneligibleForDeletion, t}, true
}

func (s deletionSource) after(k deletionRow) (deletionRow, bool) {
	if t, ok := s.topics(k.set).After(k.topic); ok {
		return deletionRow{k.set, t}, true
	}
	return deletionRow{set: k.set + 1}, k.set < model.IneligibleForDeletion
}

func (s deletionSource) before(k deletionRow) (deletionRow, bool) {
	if k.topic != "" {
		t, _ := s.topics(k.set).Before(k.topic)
		return deletionRow{k.set, t}, true
	}
	if k.set <= model.ToBeDeleted {
		return deletionRow{}, false
	}
	t, _ := s.topics(k.set - 1).Last()
	return deletionRow{k.set - 1, t}, true
}

// enter puts the cursor on the first topic, where it was on a heading: only
// topics can be inspected.
func (l *deletionList) enter(s deletionSource) {
	l.moved = false
	if l.settle(s) && l.cursor.topic == "" {
		if next, ok := s.after(l.cursor); ok && next.topic != "" {
			l.choose(next)
		}
	}
}

// follow puts the cursor on the first topic that is queued, where it was left on
// a heading because there was none yet.
func (l *deletionList) follow(s deletionSource) {
	if !l.settle(s) || l.moved || l.cursor.topic != "" {
		return
	}
	heading, _ := s.first()
	if next, ok := s.after(heading); ok && next.topic != "" {
		l.choose(next)
	}
}

func (l *deletionList) move(s deletionSource, m movement) {
	l.follow(s)
	l.list.move(s, m)
	l.moved = true
}

func (l *deletionList) draw(a area, f *model.Frame, focused bool) {
	s := deletionSource{viewOf(f)}
	if focused {
		l.follow(s)
	}
	a = a.title("Deletion", focused, deletionInfo(s.v))
	for y, k := range l.rows(s, a.h) {
		if k.topic == "" {
			n := s.topics(k.set).Len()
			x := a.put(0, y, countStyle(n, false, k.set == model.IneligibleForDeletion), k.set.String()+" "+itoa(n))
			a.put(x+2, y, faint, deletionSetMeanings[k.set])
		} else {
			a.putIn(2, y, a.w/2-2, plain, k.topic) // what follows must not fall off the row
			x := min(2+width(k.topic), a.w/2)
			if k.set == model.IneligibleForDeletion {
				x = a.put(x+2, y, warn, string(s.v.IneligibleReason(k.topic)))
			}
			a.put(x+2, y, faint, progressOf(f, k, a.w-x-2))
		}
		if focused && k == l.cursor {
			a.mark(y)
		}
	}
}

// progressOf says how far a topic's deletion has come. Beside another controller
// the states of its replicas are inferred.
func progressOf(f *model.Frame, k deletionRow, room int) string {
	t := viewOf(f).Topic(k.topic)
	if f.Following == nil || k.set != model.ToBeDeleted {
		return replicasByState(t, room)
	}
	p, ok := f.Following.Deletions[k.topic]
	if !ok {
		return replicasByState(t, room)
	}
	text := p.State
	if p.Replicas != nil {
		text += " ~ " + replicasByState(&model.Topic{ReplicaCounts: *p.Replicas}, room-width(text)-3)
	} else if p.Why != "" {
		text += ": " + p.Why
	}
	return text
}

var deletionSetMeanings = map[model.DeletionSet]string{
	model.ToBeDeleted:           "queued",
	model.DeletionStarted:       "replicas are being deleted",
	model.IneligibleForDeletion: "halted, with the reason",
}

func deletionInfo(v *model.View) string {
	if v.TopicsToBeDeleted.Len() == 0 {
		return "nothing queued"
	}
	return itoa(v.TopicsToBeDeleted.Len()) + " queued"
}

// replicasByState counts a topic's replicas: "OnlineReplica 2 OfflineReplica 1".
// Where that is wider than room, the states go without the word they share.
func replicasByState(t *model.Topic, room int) string {
	if t == nil {
		return "no longer known"
	}
	var full, short []string
	for _, s := range model.ReplicaStates {
		if n := t.ReplicaCounts[s]; n > 0 {
			full = append(full, fmt.Sprintf("%s %d", s, n))
			short = append(short, fmt.Sprintf("%s %d", strings.Replace(s.String(), "Replica", "", 1), n))
		}
	}
	if full == nil {
		return "no replicas"
	}
	if s := strings.Join(full, " "); len(s) <= room {
		return s
	}
	return strings.Join(short, " ")
}
