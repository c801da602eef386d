package shadow

import (
	"fmt"
	"slices"

	"kstate/model"
)

// This file is what is assumed of what cannot be seen: requests over the wire.

// held is a request to delete replicas that a broker is taken to have carried
// out at once.
type held struct {
	broker  int32
	request *model.StopReplicaRequest
	topics  []string // not answered yet
	at      int64
}

// hold keeps a request whose answer matters to the engine.
func (f *follower) hold(s *model.Send) {
	r, ok := s.Request.(*model.StopReplicaRequest)
	if !ok || !r.Callback {
		return
	}
	h := held{broker: s.Broker, request: r, at: f.now}
	for _, e := range r.Entries {
		if e.Delete && (len(h.topics) == 0 || h.topics[len(h.topics)-1] != e.Topic) {
			h.topics = append(h.topics, e.Topic)
		}
	}
	if len(h.topics) > 0 {
		f.held = append(f.held, h)
	}
}

// unhold forgets what was sent to a broker that is gone.
func (f *follower) unhold(broker int32) {
	f.held = slices.DeleteFunc(f.held, func(h held) bool { return h.broker == broker })
}

// deliverHeld answers requests to delete replicas. The answer that completes a
// topic's deletion is given when its znodes begin to go: only then it is known.
func (f *follower) deliverHeld() bool {
	if len(f.held) == 0 {
		return false
	}
	view := f.eng.View()
	for i := range f.held {
		h := &f.held[i]
		for n, topic := range h.topics {
			if view.TopicsWithDeletionStarted.Has(topic) && !f.leaving(topic) && (f.doubted[topic] || completes(view, topic, h.broker)) {
				f.doubt(topic, h)
				continue
			}
			h.topics = slices.Delete(h.topics, n, n+1)
			f.respond(h, topic)
			f.held = slices.DeleteFunc(f.held, func(h held) bool { return len(h.topics) == 0 })
			return true
		}
	}
	return false
}

// respond is a broker's assumed answer for one topic.
func (f *follower) respond(h *held, topic string) {
	var r model.ControlResponse
	for _, e := range h.request.Entries {
		if e.Topic == topic && e.Delete {
			r.Partitions = append(r.Partitions, model.PartitionError{TopicPartition: e.TopicPartition})
		}
	}
	f.eng.Accept(model.Input{At: f.now, Of: &model.Responded{Broker: h.broker, Request: h.request, Response: r}})
}

// doubt takes back that brokers deleted a topic's replicas, when nothing is left
// to wait for and the topic does not go.
func (f *follower) doubt(topic string, h *held) {
	if f.doubted[topic] {
		return
	}
	if due := h.at + trustMillis; f.now < due {
		f.wake(due)
		return
	}
	f.doubted[topic] = true
	f.diverge(topic, topic, fmt.Sprintf("the deletion is not done after %d s although nothing blocks it: what brokers were taken to have answered is taken back", trustMillis/1000))
	f.planRestart()
}

// leaving: znodes of the topic begin to go.
func (f *follower) leaving(topic string) bool {
	return f.changes.any(func(p *pending) bool {
		if !p.Znode.Missing || p.ref.Topic != topic {
			return false
		}
		switch p.ref.Kind {
		case model.TopicZnode, model.TopicPartitionsZnode, model.TopicPartitionZnode, model.PartitionStateZnode:
			return true
		}
		return false
	})
}

// completes: with the answer of that broker all replicas of the topic are deleted.
func completes(v *model.View, topic string, broker int32) bool {
	for n, p := range v.Topic(topic).Partitions() {
		for _, b := range p.Assignment.Replicas {
			if b != broker && v.ReplicaState(model.Replica{TopicPartition: model.TP(topic, n), Broker: b}) != model.ReplicaDeletionSuccessful {
				return false
			}
		}
	}
	return true
}

// follow takes up a change by the controller that the engine did not propose:
// once as the request that may have led to it, then as it is.
func (f *follower) follow(p *pending) {
	z := f.tree.find(p.Znode.Path)
	if z != nil && !p.Znode.Missing && z.czxid == p.Znode.Stat.Czxid && z.mzxid >= p.Znode.Stat.Mzxid {
		f.changes.take(p) // an older look at what is known
		return
	}
	if !p.tried {
		p.tried = true
		if ask := f.cause(p); ask != nil {
			f.asks++
			f.eng.Accept(model.Input{At: f.now, Of: &model.Asked{ID: f.asks, From: "somebody", Ask: ask}})
			return
		}
		if s := f.elects(p); s != 0 {
			f.eng.Accept(model.Input{At: f.now, Of: &model.OperatorElects{Strategy: s, Partitions: []model.TopicPartition{p.ref.TopicPartition()}}})
			return
		}
	}
	f.adopt(p)
}

// cause is the request that makes a controller do that; nil when there is none.
func (f *follower) cause(p *pending) model.Ask {
	z := f.tree.find(p.Znode.Path)
	if z == nil || p.Znode.Missing {
		return nil
	}
	switch p.ref.Kind {
	case model.TopicZnode:
		return reassigned(p, z)
	case model.PartitionStateZnode:
		was, okWas, errWas := model.DecodePartitionState(p.Znode.Path, z.data)
		now, okNow, errNow := model.DecodePartitionState(p.Znode.Path, p.Znode.Data)
		if errWas == nil && errNow == nil && okWas && okNow {
			now.PartitionEpoch = p.Znode.Stat.Version
			return f.stateCause(p.ref.TopicPartition(), &was, &now, z.version)
		}
	}
	return nil
}

// stateCause reads a new leadership record: a leader's AlterPartition, a
// controlled shutdown, or an election that somebody asked for.
func (f *follower) stateCause(tp model.TopicPartition, was, now *model.LeaderIsrAndControllerEpoch, version int32) model.Ask {
	v := f.eng.View()
	live := func(id int32) *model.Broker {
		if v.IsLive(id) {
			return v.Broker(id)
		}
		return nil
	}
	isr, replicas := now.ISR, v.Assignment(tp)
	joined := len(replicas.Adding) > 0 && now.PartitionEpoch > version+1 // the controller went on before the ISR was read
	if joined {
		isr = append(slices.Clone(was.ISR), model.Without(replicas.Adding, was.ISR)...)
	}
	if b := v.Broker(was.Leader); b != nil && (joined || now.Leader == was.Leader && now.LeaderEpoch == was.LeaderEpoch) {
		return &model.AlterPartition{Version: 1, BrokerID: b.ID, BrokerEpoch: b.Epoch, Partitions: []model.AlterPartitionEntry{{TopicPartition: tp,
			ISR: isr, LeaderEpoch: was.LeaderEpoch, PartitionEpoch: version, Recovery: now.Recovery}}}
	}
	for _, id := range was.ISR { // led or followed by a broker that leaves in order
		if b := live(id); b != nil && !slices.Contains(now.ISR, id) && (now.Leader != was.Leader) == (id == was.Leader) {
			return &model.ControlledShutdown{BrokerID: id, BrokerEpoch: b.Epoch}
		}
	}
	switch {
	case now.Leader == was.Leader || now.Leader < 0:
		return nil
	case live(was.Leader) == nil && !slices.Contains(was.ISR, now.Leader):
		return &model.ElectLeaders{Type: model.UncleanElection, Partitions: []model.TopicPartition{tp}}
	case live(was.Leader) != nil && len(replicas.Replicas) > 0 && replicas.Replicas[0] == now.Leader:
		return &model.ElectLeaders{Type: model.PreferredElection, Partitions: []model.TopicPartition{tp}}
	}
	return nil
}

// elects is the strategy of an election of a partition without a leader for
// which the engine saw no reason: the controller found one later.
func (f *follower) elects(p *pending) model.Strategy {
	if p.ref.Kind != model.PartitionStateZnode || p.Znode.Missing {
		return 0
	}
	now, ok, err := model.DecodePartitionState(p.Znode.Path, p.Znode.Data)
	if err != nil || !ok || now.Leader < 0 {
		return 0
	}
	switch f.eng.View().PartitionState(p.ref.TopicPartition()) {
	case model.NewPartition, model.OfflinePartition:
		return model.OfflineStrategy
	}
	return 0
}

// reassigned is the request behind a topic znode in which replicas began to be
// added or removed, or ceased to.
func reassigned(p *pending, z *znode) model.Ask {
	was, _, errWas := model.DecodeTopic(p.Znode.Path, z.data)
	now, _, errNow := model.DecodeTopic(p.Znode.Path, p.Znode.Data)
	if errWas != nil || errNow != nil {
		return nil
	}
	ask := &model.AlterPartitionReassignments{}
	for _, x := range now.Partitions {
		old, known := was.Assignment(x.Partition)
		if !known || old.Equal(x.ReplicaAssignment) {
			continue
		}
		target := model.ReassignmentTarget{TopicPartition: model.TP(p.ref.Topic, x.Partition), Target: x.Target()}
		if !x.IsBeingReassigned() {
			if !slices.Equal(x.Replicas, old.Origin()) {
				continue // it is complete: no request does that
			}
			target.Target, target.Cancel = nil, true
		}
		ask.Partitions = append(ask.Partitions, target)
	}
	if len(ask.Partitions) == 0 {
		return nil
	}
	return ask
}

// adopt lets in a change by the controller as it is.
func (f *follower) adopt(p *pending) {
	v := f.eng.View()
	switch {
	case p.Znode.Missing && p.ref.Kind == model.TopicZnode:
		f.gone(v, p.ref.Topic)
	case p.Znode.Missing && p.ref.Kind == model.DeleteTopicZnode:
		f.markerGone(v, p.ref.Topic)
	case p.Znode.Missing, p.ref.Kind != model.PartitionStateZnode, v.IsQueued(p.ref.Topic):
	default:
		tp := p.ref.TopicPartition()
		before := "nothing"
		if z := f.tree.find(p.Znode.Path); z != nil {
			before = content(p.Znode.Path, z.data)
		}
		f.diverge(tp.Topic, tp.String(), fmt.Sprintf("%s, and there came %s for no reason that was seen", before, content(p.Znode.Path, p.Znode.Data)))
		f.reread = append(f.reread, tp)
	}
	f.enter(p)
}

// gone: the topic's znode went although the engine was not that far: what was
// left of its replicas was deleted.
func (f *follower) gone(v *model.View, topic string) {
	t := v.Topic(topic)
	if t == nil || !t.Known || !v.IsQueued(topic) {
		return
	}
	const reason = "the topic is gone"
	for n, p := range t.Partitions() {
		for _, b := range p.Assignment.Replicas {
			r := model.Replica{TopicPartition: model.TP(topic, n), Broker: b}
			from := v.ReplicaState(r)
			if from == model.ReplicaDeletionStarted {
				f.moved(r, from, model.ReplicaDeletionSuccessful, reason)
				from = model.ReplicaDeletionSuccessful
			}
			f.moved(r, from, model.NonExistentReplica, reason)
		}
	}
}

// markerGone: the marker went and the topic is there. A controller that deletes
// no topics did that, or somebody changed their mind; the controller then goes
// on with what it has in memory.
func (f *follower) markerGone(v *model.View, topic string) {
	if !v.IsQueued(topic) || f.tree.find(model.TopicPath(topic)) == nil || f.deleteOff {
		return
	}
	for n, p := range v.Topic(topic).Partitions() {
		if p.Leadership != nil && p.Leadership.Leader == model.NoLeader && f.now-f.started > trustMillis {
			return // work on it has begun
		}
		if l := f.tree.find(model.TopicPartitionStatePath(model.TP(topic, n))); l != nil {
			if st, ok, err := model.DecodePartitionState("", l.data); err == nil && ok && st.Leader == model.NoLeader {
				return
			}
		}
	}
	f.learnDeleteOff()
}

// rereadStates has the engine read state znodes again, by a notification that
// only it sees.
func (f *follower) rereadStates() bool {
	if len(f.reread) == 0 || f.phantom != nil || !f.childWatches[model.IsrChangeNotificationPath] {
		return false
	}
	f.phantom = model.EncodeIsrChange(f.reread)
	if !f.quiet {
		f.verify = append(f.verify, f.reread...)
	}
	f.reread = nil
	f.fireChildren(model.IsrChangeNotificationPath)
	return true
}

// mismatched: after reading again, a partition's state in the engine's memory
// does not fit who leads it.
func (f *follower) mismatched() bool {
	if len(f.verify) == 0 || f.restartAt != 0 {
		return false
	}
	v, list := f.eng.View(), f.verify
	f.verify = nil
	return slices.ContainsFunc(list, func(tp model.TopicPartition) bool {
		p := v.Partition(tp)
		if p == nil || p.Leadership == nil || v.IsQueued(tp.Topic) {
			return false
		}
		return (p.State == model.OnlinePartition) != v.IsLive(p.Leadership.Leader)
	})
}
