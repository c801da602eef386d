package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// heldReply waits for the view.
type heldReply struct {
	question *question
	answer   model.Answer
	timer    *time.Timer
}

// shown tells whether a client that asks for metadata next finds what it was told:
// created topics and partitions with leaders, deleted topics gone. Kafka answers
// these requests from the same metadata cache that serves Metadata.
// Kafka: DelayedCreatePartitions, DelayedDeleteTopics.
func shown(q kmsg.Request, a model.Answer, v *model.View) bool {
	led := func(topic string, partitions int32) bool {
		for p := range partitions {
			if v.Leadership(model.TP(topic, p)) == nil {
				return false
			}
		}
		return true
	}
	switch a := a.(type) {
	case *model.CreateTopicsAnswer:
		if q.(*kmsg.CreateTopicsRequest).ValidateOnly {
			return true
		}
		for i := range a.Topics {
			if t := &a.Topics[i]; t.Error == model.ErrNone && !led(t.Topic, t.Partitions) {
				return false
			}
		}
	case *model.CreatePartitionsAnswer:
		r := q.(*kmsg.CreatePartitionsRequest)
		if r.ValidateOnly {
			return true
		}
		fine := map[string]bool{}
		for i := range a.Topics {
			fine[a.Topics[i].Topic] = a.Topics[i].Error == model.ErrNone
		}
		for i := range r.Topics {
			if t := &r.Topics[i]; fine[t.Topic] && !led(t.Topic, t.Count) {
				return false
			}
		}
	case *model.DeleteTopicsAnswer:
		for i := range a.Topics {
			if t := &a.Topics[i]; t.Error == model.ErrNone && v.KnowsTopic(t.Topic) && !v.IsQueued(t.Topic) {
				return false
			}
		}
	}
	return true
}

// answer gives the reply to the connection, now or when the view shows it.
func (s *Server) answer(id uint64, q *question, a model.Answer) {
	if v := s.opt.Cluster().View; v == nil || shown(q.call.request, a, v) {
		q.ready <- reply{question: q, answer: a} // has room for this one
		return
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.held[id] = &heldReply{question: q, answer: a, timer: time.AfterFunc(s.opt.Patience, func() { s.release(id) })}
	s.mu.Unlock()
	s.Viewed() // which may have come in between
}

// release gives a held reply to its connection, once.
func (s *Server) release(id uint64) {
	s.mu.Lock()
	h := s.held[id]
	delete(s.held, id)
	s.mu.Unlock()
	if h != nil {
		h.timer.Stop()
		h.question.ready <- reply{question: h.question, answer: h.answer}
	}
}

// Viewed says that Cluster has a new view.
func (s *Server) Viewed() {
	s.mu.Lock()
	if len(s.held) == 0 {
		s.mu.Unlock()
		return
	}
	var ready []uint64
	v := s.opt.Cluster().View
	for id, h := range s.held {
		if v == nil || shown(h.question.call.request, h.answer, v) {
			ready = append(ready, id)
		}
	}
	s.mu.Unlock()
	for _, id := range ready {
		s.release(id)
	}
}
