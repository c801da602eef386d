package journal

import (
	"strconv"

	"kstate/model"
)

// entriesShown is how many partitions of a request are written out: the others
// follow from what was recorded before.
const entriesShown = 100

// fields are those of a step that is no call.
func (e *encoder) fields(x *entry) {
	switch s := x.step.(type) {
	case *model.Begin:
		e.str("cause", s.Event.Cause)
		e.num("enqueued_at", s.Event.EnqueuedAt)
	case *model.Send:
		e.send(x.n, s)
	case *model.Link:
		for _, r := range e.queues[s.Broker.ID] {
			delete(e.sent, r)
		}
		delete(e.queues, s.Broker.ID)
		e.raw("of", encodeMasked(s))
	case *model.Reply:
		e.count("ask", s.Ask)
		e.raw("of", encodeMasked(s.Answer))
	case *model.Alarm, *model.Draw, *model.Probe:
		e.raw("of", encodeMasked(s))
	}
	e.str("text", x.step.String())
}

// send is a request: its head, and its first partitions as text.
func (e *encoder) send(n uint64, s *model.Send) {
	e.sent[s.Request] = n
	e.queues[s.Broker] = append(e.queues[s.Broker], s.Request)
	e.num("broker", int64(s.Broker))
	e.str("request", s.Request.Kind().String())
	var h model.RequestHeader
	var text func(i int) string
	switch r := s.Request.(type) {
	case *model.LeaderAndIsrRequest:
		h, text = r.RequestHeader, func(i int) string { return r.Entries[i].String() }
	case *model.UpdateMetadataRequest:
		h, text = r.RequestHeader, func(i int) string { return r.Entries[i].String() }
	case *model.StopReplicaRequest:
		h, text = r.RequestHeader, func(i int) string { return r.Entries[i].String() }
	}
	e.num("version", int64(h.Version))
	e.num("controller_epoch", int64(h.ControllerEpoch))
	e.num("broker_epoch", h.BrokerEpoch)
	e.num("total", int64(s.Request.Size()))
	e.key("entries")
	e.b = append(e.b, '[')
	for i := range min(entriesShown, s.Request.Size()) {
		e.comma()
		e.b = appendString(e.b, text(i))
	}
	e.b = append(e.b, ']')
}

// run is a row of moves that differ in their subject only: one line.
type run struct {
	first    entry
	last     uint64
	step     string
	from, to string
	reason   string
	n        int
	subjects []byte // "topic","p@b p@b","topic",...: the second not closed yet
	topic    string
}

// runMax is how many moves one line tells of at most.
const runMax = 10_000

// move is a step as a run sees it.
type move struct {
	step, from, to, reason string
	tp                     model.TopicPartition
	broker                 int32 // -1: a partition's
}

func moveOf(s model.Step) (m move, ok bool) {
	switch s := s.(type) {
	case *model.MovePartition:
		return move{"MovePartition", s.From.String(), s.To.String(), s.Reason, s.TopicPartition, -1}, true
	case *model.MoveReplica:
		return move{"MoveReplica", s.From.String(), s.To.String(), s.Reason, s.TopicPartition, s.Broker}, true
	case *model.RefusePartition:
		return move{refusal(s.Invalid) + "Partition", s.From.String(), s.To.String(), s.Reason, s.TopicPartition, -1}, true
	case *model.RefuseReplica:
		return move{refusal(s.Invalid) + "Replica", s.From.String(), s.To.String(), s.Reason, s.TopicPartition, s.Broker}, true
	}
	return move{}, false
}

func refusal(invalid bool) string {
	if invalid {
		return "Refuse"
	}
	return "Fail"
}

// begin starts a run with a move; false when the entry is none.
func (r *run) begin(x *entry) bool {
	m, ok := moveOf(x.step)
	if !ok || !x.local {
		return false
	}
	r.first, r.last, r.n = *x, x.n, 0
	r.step, r.from, r.to, r.reason, r.topic = m.step, m.from, m.to, m.reason, ""
	r.subjects = r.subjects[:0]
	r.subject(&m)
	return true
}

// takes adds an entry to the run at work, if it fits.
func (r *run) takes(x *entry) bool {
	if r.n == 0 || r.n == runMax || !x.local || x.n != r.last+1 || x.at != r.first.at || x.event != r.first.event || x.aside != r.first.aside || x.inferred != r.first.inferred {
		return false
	}
	m, ok := moveOf(x.step)
	if !ok || m.step != r.step || m.from != r.from || m.to != r.to || m.reason != r.reason {
		return false
	}
	r.last = x.n
	r.subject(&m)
	return true
}

func (r *run) subject(m *move) {
	if r.n == 0 || m.tp.Topic != r.topic {
		if r.n > 0 {
			r.subjects = append(r.subjects, '"', ',')
		}
		r.subjects = appendString(r.subjects, m.tp.Topic)
		r.subjects = append(r.subjects, ',', '"')
		r.topic = m.tp.Topic
	} else {
		r.subjects = append(r.subjects, ' ')
	}
	r.n++
	r.subjects = strconv.AppendInt(r.subjects, int64(m.tp.Partition), 10)
	if m.broker >= 0 {
		r.subjects = append(r.subjects, '@')
		r.subjects = strconv.AppendInt(r.subjects, int64(m.broker), 10)
	}
}

// flushRun makes the line of the run at work.
func (e *encoder) flushRun() {
	r := &e.run
	if r.n == 0 {
		return
	}
	e.open()
	e.count("n", r.first.n)
	if r.last > r.first.n {
		e.count("to", r.last)
	}
	e.num("at", r.first.at)
	if r.first.event > 0 {
		e.count("event", r.first.event)
	}
	if r.first.aside > 0 {
		e.count("aside", r.first.aside)
	}
	e.str("step", r.step)
	e.str("from", r.from)
	e.str("into", r.to)
	if r.reason != "" {
		e.str("reason", r.reason)
	}
	e.num("moves", int64(r.n))
	e.key("subjects")
	e.b = append(e.b, '[')
	e.b = append(e.b, r.subjects...)
	e.b = append(e.b, '"', ']')
	e.local(&r.first)
	e.end()
	r.n = 0
}
