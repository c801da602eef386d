package sim

import (
	"fmt"
	"slices"

	"kstate/internal/wire"
	"kstate/model"
)

const (
	retryPause     = 100_000     // µs after a failed attempt
	requestTimeout = 30 * second // for an answer
)

// channel is a controller's way to one broker: in order, one request in flight,
// each tried until it is answered or the channel is dropped.
// Kafka: RequestSendThread.
type channel struct {
	c           *controller
	broker      int32
	gone        bool
	busy        bool
	queue       []model.ControlRequest
	correlation int32
	stopped     map[model.TopicPartition]bool // told to stop and not to delete since the last deletion
}

func (ch *channel) put(r model.ControlRequest) {
	ch.c.s.watch.sent(ch, r)
	ch.queue = append(ch.queue, r)
	ch.next()
}

// drop discards what is queued.
func (ch *channel) drop() {
	ch.gone = true
	for _, r := range ch.queue {
		ch.c.s.watch.missed(ch.c.s.node(ch.broker), r)
	}
}

func (ch *channel) next() {
	if !ch.busy && !ch.gone && len(ch.queue) > 0 {
		ch.busy = true
		ch.correlation++
		ch.try()
	}
}

// try sends the oldest request once more.
func (ch *channel) try() {
	if ch.gone {
		return
	}
	ch.c.s.after(ch.c.s.latency(), ch.arrive)
}

// again tries again after a time, in the process: one that is stopped does not.
func (ch *channel) again(d int64) {
	ch.c.s.after(d, func() { ch.c.deliver(ch.try) })
}

// arrive is the request at its broker.
func (ch *channel) arrive() {
	s := ch.c.s
	n := s.node(ch.broker)
	switch {
	case ch.gone:
		return
	case n == nil || !n.up || n.cutFrom[ch.c.id]:
		ch.again(retryPause)
		return
	case n.resets(s):
		ch.again(retryPause)
		return
	}
	life := n.life
	s.after(n.slow(), func() {
		if n.life != life || !n.up {
			ch.again(retryPause)
			return
		}
		ch.handled(n)
	})
}

// handled is the broker's work on it, and the way of the answer.
func (ch *channel) handled(n *node) {
	s := ch.c.s
	req := ch.queue[0]
	frame, err := wire.EncodeRequest(req, ch.correlation)
	if err != nil {
		s.fail("%s: %s: %v", ch.c, req, err)
		return
	}
	var answer model.ControlResponse
	out, err := n.replicas.HandleFrame(s.clock(), model.IBP_3_9_IV0, frame, nil)
	if err == nil {
		answer, err = wire.DecodeResponse(req, ch.correlation, out[4:])
	}
	if err != nil {
		s.fail("broker %d takes %s of %s: %v", n.id, req, ch.c, err)
		return
	}
	if s.opt.Trace != nil {
		s.tracef("broker %d takes %s of %s: %s", n.id, describeRequest(req), ch.c, describeAnswer(answer))
	}
	s.watch.handled(ch, n, req, &answer)
	s.moved()
	switch {
	case n.silent > s.now:
		s.stats.Unanswered++
		ch.again(requestTimeout)
		return
	case n.resets(s), n.cutFrom[ch.c.id]:
		s.stats.Resent++
		ch.again(retryPause)
		return
	}
	s.after(s.latency(), func() {
		ch.c.deliver(func() {
			if ch.gone {
				return
			}
			ch.c.input(&model.Responded{Broker: ch.broker, Request: req, Response: answer})
			ch.queue = slices.Delete(ch.queue, 0, 1)
			ch.busy = false
			ch.next()
		})
	})
}

func describeRequest(r model.ControlRequest) string {
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		return fmt.Sprintf("%s (epoch %d, broker epoch %d) %v", r.Kind(), r.ControllerEpoch, r.BrokerEpoch, r.Entries)
	case *model.UpdateMetadataRequest:
		return fmt.Sprintf("%s (epoch %d, broker epoch %d) %v of %d brokers", r.Kind(), r.ControllerEpoch, r.BrokerEpoch, r.Entries, len(r.LiveBrokers))
	case *model.StopReplicaRequest:
		return fmt.Sprintf("%s (epoch %d, broker epoch %d) %v", r.Kind(), r.ControllerEpoch, r.BrokerEpoch, r.Entries)
	}
	return r.String()
}

func describeAnswer(a model.ControlResponse) string {
	text := a.Error.String()
	for _, p := range a.Partitions {
		if p.Error != model.ErrNone {
			text += fmt.Sprintf(" %s: %s", p.TopicPartition, p.Error)
		}
	}
	return text
}
