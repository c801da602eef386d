package shadow

import (
	"fmt"
	"strconv"

	"kstate/engine"
	"kstate/model"
)

// This file is the life of an engine: it begins with the failover code on the
// tree and ends with the controller's term.

const uncleanKey = "unclean.leader.election.enable"

// start lets an engine take over: quietly when the controller has held the role
// before, told when it is the controller's own takeover.
func (f *follower) start(quiet bool) bool {
	id, epoch, _ := f.role()
	cfg := engine.DefaultConfig(id)
	cfg.AutoRebalance, cfg.DeleteTopicEnable, cfg.IBP, cfg.InterBrokerListener = false, !f.deleteOff, f.protocol(), f.listener()
	if f.uncleanDefault(id) {
		cfg.BrokerConfig = map[string]string{uncleanKey: "true"}
	}
	f.eng = engine.New(cfg)
	f.term, f.began, f.quiet, f.electing, f.broken, f.restartAt, f.started = epoch, true, quiet, true, "", 0, f.now
	f.early = map[string]bool{}
	if markers := f.tree.find(model.DeleteTopicsPath); quiet && markers != nil {
		for _, m := range markers.kids {
			f.early[m.name] = true
		}
	}
	f.eng.Accept(model.Input{At: f.now, Of: &model.Started{}})
	return true
}

// stop abandons the engine and what it waited for.
func (f *follower) stop() {
	if f.eng == nil {
		return
	}
	f.eng.Close()
	f.eng, f.await, f.quiet, f.held, f.reread, f.verify, f.phantom, f.restartAt = nil, nil, false, nil, nil, nil, nil, 0
	f.event = eventAtWork{}
	clear(f.nodeWatches)
	clear(f.childWatches)
	f.restartAt = f.now + 1_000 // unless a new term begins
}

// planRestart has the engine begin anew when its event has ended.
func (f *follower) planRestart() {
	if f.restartAt != 0 {
		return
	}
	if f.now-f.started > 10*f.pause {
		f.pause = restartMillis
	}
	f.restartAt = f.now
	if soon := f.started + f.pause; f.now < soon {
		f.restartAt = soon
		f.pause = min(2*f.pause, maxRestartMillis)
	}
}

func (f *follower) restart() {
	f.stop()
	f.start(true)
}

// breakOff ends an engine that could not take over, or gave the role up; it is
// tried again later.
func (f *follower) breakOff() {
	why := "the shadow gave the role up"
	if err := f.eng.TakeoverError(); err != nil {
		why = err.Error()
	}
	f.stop()
	f.broken = why
	f.restartAt = f.now + max(f.pause, 1_000)
	f.pause = min(2*f.pause, maxRestartMillis)
	f.tell(model.Warn, "the controller cannot be followed, only its znodes: "+why)
}

// protocol guesses the inter-broker protocol by what controllers have written.
func (f *follower) protocol() model.InterBrokerProtocol {
	if topics := f.tree.find(model.TopicsPath); topics != nil && len(topics.kids) > 0 {
		for _, t := range topics.kids[max(0, len(topics.kids)-20):] {
			if a, _, err := model.DecodeTopic(model.TopicPath(t.name), t.data); err == nil && !a.ID.IsZero() {
				return model.LatestIBP
			}
		}
		if f.tree.find(model.FeaturePath) != nil {
			return model.IBP_2_7_IV2
		}
		return model.IBP_2_6_IV0
	}
	if f.tree.find(model.FeaturePath) != nil {
		return model.LatestIBP
	}
	return model.IBP_2_6_IV0
}

// listener is one that all brokers have; nobody is called on it.
func (f *follower) listener() string {
	ids := f.tree.find(model.BrokerIDsPath)
	count := map[string]int{}
	best := "PLAINTEXT"
	if ids == nil {
		return best
	}
	for _, b := range ids.kids {
		reg, err := model.DecodeBroker(model.BrokerIDsPath+"/"+b.name, b.data)
		if err != nil {
			continue
		}
		for _, e := range reg.Endpoints {
			count[e.Listener]++
			if count[e.Listener] > count[best] {
				best = e.Listener
			}
		}
	}
	return best
}

func (f *follower) uncleanDefault(id int32) bool {
	for _, name := range []string{strconv.Itoa(int(id)), model.DefaultEntity} {
		path := model.ConfigBrokersPath + "/" + name
		if z := f.tree.find(path); z != nil {
			if c, err := model.DecodeConfig(path, z.data); err == nil && c[uncleanKey] != "" {
				return c[uncleanKey] == "true"
			}
		}
	}
	return false
}

// settings passes on what brokers learn of their settings, the controller among
// them: unclean election was switched on.
func (f *follower) settings(p *pending) {
	if p.ref.Kind != model.ConfigEntityZnode || p.Znode.Missing {
		return
	}
	c, err := model.DecodeConfig(p.Znode.Path, p.Znode.Data)
	if err != nil || c[uncleanKey] != "true" {
		return
	}
	switch p.ref.Entity {
	case model.ConfigTypeTopics:
		f.eng.Accept(model.Input{At: f.now, Of: &model.UncleanEnabled{Topic: p.ref.Topic}})
	case model.ConfigTypeBrokers:
		if p.ref.Name == model.DefaultEntity || p.ref.Name == strconv.Itoa(int(f.eng.Config().ID)) {
			f.eng.Accept(model.Input{At: f.now, Of: &model.UncleanEnabled{}})
		}
	}
}

// perform takes one step of the engine.
func (f *follower) perform(at model.Step) {
	switch s := at.(type) {
	case *model.Begin:
		f.event = eventAtWork{assumed: assumed(s.Event.Event), confirmed: map[string]bool{}}
	case *model.Call:
		f.call(s)
		return
	case *model.Send:
		f.hold(s)
	case *model.Link:
		if !s.Up {
			f.unhold(s.Broker.ID)
		}
	}
	f.note(at)
	f.settle(model.Result{ID: model.Uuid{15: 1}})
	if _, ok := at.(*model.End); ok {
		f.endEvent()
	}
}

func (f *follower) settle(r model.Result) {
	r.At = f.now
	f.eng.Settle(r)
}

// assumed events come from inputs that nobody saw.
func assumed(e model.Event) bool {
	switch e := e.(type) {
	case *model.AlterPartitionReceived, *model.ControlledShutdownEvent, *model.ApiPartitionReassignment, *model.OperatorElection, *model.OperatorTransition,
		*model.TopicDeletionStopReplicaResponseReceived:
		return true
	case *model.ReplicaLeaderElection:
		return e.Ask != nil
	}
	return false
}

// note keeps a step for the history until it is known whether the controller
// took it too.
func (f *follower) note(at model.Step) {
	if f.quiet {
		return
	}
	r := model.Record{At: f.now, Step: at, Inferred: f.event.assumed}
	switch s := at.(type) {
	case *model.MovePartition:
		r.Inferred = f.inferred(s.TopicPartition)
	case *model.MoveReplica:
		r.Inferred = f.inferred(s.TopicPartition) || s.To == model.ReplicaDeletionSuccessful
	case *model.Mark:
		r.Inferred = r.Inferred || f.early[s.Topic]
	case *model.Begin, *model.End, *model.Elect, *model.RefusePartition, *model.RefuseReplica:
	case *model.Call:
		if !s.Writes() {
			return
		}
	case *model.Send:
		if s.Request.Kind() != model.StopReplicaKind { // the others are sent at every turn
			return
		}
		r.Inferred = true
	default:
		return
	}
	f.event.records = append(f.event.records, r)
	switch at.(type) {
	case *model.Begin, *model.End:
	default:
		f.event.stirred = true
	}
}

// inferred: what concerns a partition was not seen. A state znode that came as
// proposed is evidence enough.
func (f *follower) inferred(tp model.TopicPartition) bool {
	if f.event.confirmed[model.TopicPartitionStatePath(tp)] {
		return false
	}
	_, diverged := f.diverged[tp.String()]
	return f.event.assumed || f.early[tp.Topic] || diverged
}

// publish tells what was kept.
func (f *follower) publish() {
	f.news.Records = append(f.news.Records, f.event.records...)
	f.event.records = nil
}

// endEvent tells what an event did, unless the controller did not do it.
func (f *follower) endEvent() {
	if f.event.abandoned {
		f.event = eventAtWork{}
		f.planRestart()
		return
	}
	if f.event.stirred {
		f.publish()
	}
	f.event = eventAtWork{}
}

// moved appends a transition that follows from the tree without the engine.
func (f *follower) moved(r model.Replica, from, to model.ReplicaState, reason string) {
	f.news.Records = append(f.news.Records, model.Record{At: f.now, Inferred: true, Step: &model.MoveReplica{Replica: r, From: from, To: to, Reason: reason}})
}

// String is for messages.
func (f *follower) String() string {
	return fmt.Sprintf("term %d, quiet %v, awaits %v", f.term, f.quiet, f.await != nil)
}
