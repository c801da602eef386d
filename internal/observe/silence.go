package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kstate/internal/tree"
	"kstate/model"
)

const (
	// silenceLimit is how long a request to the controller may lie in the tree, and
	// the controller do nothing else, until it counts as not answering.
	silenceLimit = 10 * time.Second
	// suspicionLimit is the same for being patient with it.
	suspicionLimit = 3 * time.Second
	// slowPartitions: a takeover may take a second more for so many partitions.
	slowPartitions = 5_000
)

// silence watches whether the controller takes up what lies in the tree for it.
// Each question is something that every controller deals with at once; what it
// may rightly leave for long (a deletion that waits, a reassignment, a partition
// without a live replica) is none.
type silence struct {
	limit     time.Duration
	questions map[string]int64 // what was not taken up, in words; since when, ms
	moved     int64            // when the controller last did something; after a takeover, when it should begin to
	requests  map[string]bool  // paths of notifications and admin znodes that lie there
	fresh     map[string]bool  // topics that may have partitions without a state znode
	alert     string           // as it is shown; empty: it answers
	since     int64
}

func newSilence() silence {
	return silence{limit: silenceLimit, questions: map[string]int64{}, requests: map[string]bool{}, fresh: map[string]bool{}}
}

// seen notes a change: a question, or a trace of the controller at work. was is
// the partition's record before it.
func (s *silence) seen(ref model.ZnodeRef, z *model.Znode, was, now *model.LeaderIsrAndControllerEpoch, at int64) {
	at = max(at, s.moved)
	switch ref.Kind {
	case model.IsrChangeZnode, model.LogDirEventZnode, model.PreferredReplicaElectionZnode:
		if z.Missing {
			delete(s.requests, z.Path)
			s.moved = at
		} else {
			s.requests[z.Path] = true
		}
	case model.DeleteTopicZnode, model.ReassignPartitionsZnode:
		if z.Missing {
			s.moved = at
		}
	case model.TopicZnode:
		if z.Missing {
			s.moved = at
		} else {
			s.fresh[ref.Topic] = true
		}
	case model.TopicPartitionsZnode, model.TopicPartitionZnode:
		s.moved = at
	case model.PartitionStateZnode:
		// A leader of an old inter-broker protocol writes its ISR by itself.
		if was == nil || now == nil || was.LeaderEpoch != now.LeaderEpoch {
			s.moved = at
		}
	}
}

// takeover gives a new controller time.
func (s *silence) takeover(partitions int, at int64) {
	s.moved = at + int64(partitions/slowPartitions)*1000
}

// begin finds the questions of the first picture.
func (s *silence) begin(survey *tree.Survey) {
	for t := range survey.View().Topics() {
		if t.PartitionCounts[model.NewPartition] > 0 {
			s.fresh[t.Name] = true
		}
	}
}

// ask lists what the controller should have taken up.
func (s *silence) ask(o *Observer) []string {
	var out []string
	v := o.survey.View()
	for _, topic := range slices.Sorted(maps.Keys(o.deletions.followed)) {
		if d := o.deletions.followed[topic]; d.Status().State == DeletionQueued {
			out = append(out, "the deletion of "+topic+" is not begun")
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.requests)) {
		out = append(out, path+" is not taken up")
	}
	for _, topic := range slices.Sorted(maps.Keys(s.fresh)) {
		t := v.Topic(topic)
		if t == nil || !t.Known || t.PartitionCounts[model.NewPartition] == 0 {
			delete(s.fresh, topic)
			continue
		}
		if !v.IsQueued(topic) && unborn(v, t) {
			out = append(out, "topic "+topic+" has partitions that were not brought online")
		}
	}
	for _, id := range v.Assigned() {
		if !v.IsLive(id) && v.Leads(id) > 0 && leadsLiving(v, id) {
			out = append(out, fmt.Sprintf("broker %d is gone and still the leader of partitions", id))
		}
	}
	return out
}

// unborn: a partition of the topic has no state znode although a replica is live.
func unborn(v *model.View, t *model.Topic) bool {
	for _, p := range t.Partitions() {
		if p.Leadership == nil && p.Unreadable == "" && slices.ContainsFunc(p.Assignment.Replicas, v.IsLive) {
			return true
		}
	}
	return false
}

// leadsLiving: the broker leads a partition of a topic that is not being deleted.
func leadsLiving(v *model.View, id int32) bool {
	for t := range v.Topics() {
		if v.IsQueued(t.Name) {
			continue
		}
		for _, p := range t.Partitions() {
			if p.Leadership != nil && p.Leadership.Leader == id {
				return true
			}
		}
	}
	return false
}

// hearSilence looks whether the controller answers, and tells when that changes.
func (o *Observer) hearSilence(now int64) {
	s := &o.silence
	open := map[string]int64{}
	oldest := now
	var list []string
	for _, q := range s.ask(o) {
		since, known := s.questions[q]
		if !known {
			since = now
		}
		open[q] = since
		if since = max(since, s.moved); since < oldest {
			oldest = since
		}
		list = append(list, q)
	}
	s.questions = open
	age := time.Duration(now-oldest) * time.Millisecond
	active := o.held()
	o.following.shadow.Suspect(active && age >= suspicionLimit)
	if !active || age < s.limit {
		o.answering(now)
		return
	}
	begun := s.alert == ""
	s.since = oldest
	s.alert = fmt.Sprintf("NOT ANSWERING for %d s: controller %d: %s", int(age/time.Second), o.controller.ID, summary(list))
	o.dirty = true
	if begun {
		text := fmt.Sprintf("controller %d is not answering: nothing done for %d s: %s", o.controller.ID, int(age/time.Second), summary(list))
		o.notice(model.Error, text)
		o.tell(Event{Type: NotAnsweringEvent, At: now, What: "on", Controller: &o.controller.ID, Term: &o.controller.Epoch, Reason: summary(list), Evidence: "inferred"})
	}
}

// held: somebody's session holds the role.
func (o *Observer) held() bool {
	return o.controller.Status == tree.ControllerActive || o.controller.Status == tree.ControllerNotRegistered
}

// answering ends the alarm.
func (o *Observer) answering(now int64) {
	s := &o.silence
	if s.alert == "" {
		return
	}
	s.alert, o.dirty = "", true
	what := "answers again"
	if !o.held() {
		what = "has lost the role"
	}
	o.notice(model.Info, fmt.Sprintf("the controller %s after %d s", what, (now-s.since)/1000))
	o.tell(Event{Type: NotAnsweringEvent, At: now, What: "off", Controller: &o.controller.ID, Term: &o.controller.Epoch, Reason: what, Evidence: "inferred"})
}

// summary names the first questions.
func summary(list []string) string {
	if len(list) <= 2 {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; %s; and %d more", list[0], list[1], len(list)-2)
}
