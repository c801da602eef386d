package engine

import (
	"fmt"
	"slices"

	"kstate/model"
)

// A controller that is no broker (Config.Self is set). Kafka has none: what
// follows lets brokers find it, and keeps it from being taken for one.

// firstProtocolWithoutLookup: from this release on brokers find the controller by
// its UpdateMetadata; before, they look it up at /brokers/ids/ID to shut down.
const firstProtocolWithoutLookup = model.IBP_3_0_IV0

func (e *Engine) outside() bool { return e.cfg.Self != nil }

// idTaken: a broker registered under the id of this process.
type idTaken struct{ id int32 }

func (e *idTaken) Error() string {
	return fmt.Sprintf("a broker with id %d has registered: this controller runs under that id; run it under one that no broker has", e.id)
}

// Barred is why this process does not run for the role any more; nil while it does.
func (e *Engine) Barred() error { return e.barred }

// bar gives the role up for good. Who has it then is for the brokers to find out.
func (e *Engine) bar(why error) error {
	e.barred = why
	e.logf(controllerLogger, model.Error, "giving up the role for good: %v", why)
	if !e.IsActive() {
		return nil
	}
	return e.triggerControllerMove()
}

// settleProtocol: the inter-broker protocol is not known before the first brokers
// have said what they speak. Until then they count as not there.
func (e *Engine) settleProtocol(brokers []model.Broker) (known bool) {
	if e.cfg.IBP != model.NoIBP {
		return true
	}
	e.step(&model.Probe{Brokers: brokers})
	return len(brokers) == 0
}

// awaitsProtocol keeps a process from running for the role that is barred, or that
// does not know yet how to speak to brokers that are there: then it runs when they
// have said what they speak.
func (e *Engine) awaitsProtocol() (bool, error) {
	if e.barred != nil || e.cfg.IBP != model.NoIBP {
		return e.barred != nil, nil
	}
	brokers, err := e.getBrokers()
	if err != nil || len(brokers) == 0 {
		return false, err
	}
	return !e.settleProtocol(brokers), nil
}

// processProtocolSettled: the brokers have said what they speak. What failover
// left out for want of it is done now.
func (e *Engine) processProtocolSettled(v model.InterBrokerProtocol) error {
	if e.cfg.IBP != model.NoIBP {
		return nil
	}
	e.cfg.IBP = v
	e.logf(controllerLogger, model.Info, "the inter-broker protocol is %s from now on: all registered brokers speak it", v)
	if !e.IsActive() {
		return e.elect()
	}
	if err := e.setUpFeatureVersioning(); err != nil {
		return err
	}
	if err := e.registerOutsider(); err != nil {
		return err
	}
	var without []newTopic
	for t := range e.ctx.Topics() {
		if !t.ID.IsZero() {
			continue
		}
		n := newTopic{topic: t.Name, unread: e.cfg.Mend.HalfDeletedTopics && t.PartitionCount() == 0}
		for p, part := range t.Partitions() {
			n.Partitions = append(n.Partitions, model.PartitionAssignment{Partition: p, ReplicaAssignment: *part.Assignment})
		}
		without = append(without, n)
	}
	if err := e.assignTopicIDs(without); err != nil {
		return err
	}
	return e.processBrokerChange()
}

// registerOutsider makes a broker znode of this process for as long as brokers
// look the controller up there. It is left out of the live brokers.
func (e *Engine) registerOutsider() error {
	if !e.cfg.RegisterForOldBrokers || !e.outside() || e.cfg.IBP == model.NoIBP || e.cfg.IBP.AtLeast(firstProtocolWithoutLookup) {
		return nil
	}
	self := e.selfWithRack()
	e.cfg.Registration = model.EncodeBroker(&self, e.cfg.IBP.BrokerZnodeVersion(), -1, e.now)
	err := e.registerBroker()
	if keeperCode(err) == model.CodeNodeExists {
		return &idTaken{e.cfg.ID}
	}
	return err
}

// isOutsider tells whether a registration is this process's own.
func (e *Engine) isOutsider(id int32, st model.Stat) (bool, error) {
	if !e.outside() || id != e.cfg.ID {
		return false, nil
	}
	if st.EphemeralOwner != e.session {
		return false, &idTaken{id}
	}
	return true, nil
}

// selfWithRack is Self on a rack that exists: brokers that place replicas by rack
// refuse to where one listed broker has none.
func (e *Engine) selfWithRack() model.Broker {
	self := *e.cfg.Self
	if self.Rack != "" {
		return self
	}
	for _, b := range e.ctx.Brokers() {
		if b.Rack != "" {
			self.Rack = b.Rack
			break
		}
	}
	return self
}

// leaveOutSelf mends topics that have a replica on this process: brokers that
// create a topic by themselves choose among all that are listed. Another live
// broker takes the place, before the partitions leave NonExistent; without one
// the replica is left out.
func (e *Engine) leaveOutSelf(ts []newTopic) error {
	if !e.outside() {
		return nil
	}
	for {
		var ops []model.Op
		var at []int
		for i := range ts {
			if e.replaceSelf(&ts[i]) {
				ops = append(ops, model.Op{Kind: model.OpSet, Path: model.TopicPath(ts[i].topic), Version: ts[i].version, Data: model.EncodeTopic(ts[i].TopicAssignment)})
				at = append(at, i)
			}
		}
		results, err := e.fenced("leave_out_controller", ops)
		if err != nil {
			return err
		}
		again := false
		for k, i := range at {
			switch results[k].Code {
			case model.CodeOK:
				ts[i].version = results[k].Stat.Version
			case model.CodeNoNode, model.CodeBadVersion:
				again = true
				if err := e.readTopicAgain(&ts[i]); err != nil {
					return err
				}
			default:
				return &keeperError{results[k].Code, "set " + ops[k].Path}
			}
		}
		if !again {
			return nil
		}
	}
}

func (e *Engine) readTopicAgain(t *newTopic) error {
	path := model.TopicPath(t.topic)
	data, stat, present, err := e.get("get_topic", path)
	if err != nil {
		return err
	}
	*t = newTopic{topic: t.topic}
	if !present {
		return nil
	}
	t.version = stat.Version
	t.TopicAssignment, _, err = model.DecodeTopic(path, data)
	return err
}

// replaceSelf changes the assignment; false when there was nothing to change.
func (e *Engine) replaceSelf(t *newTopic) bool {
	load := map[int32]int{}
	named := false
	for _, p := range t.Partitions {
		named = named || slices.Contains(p.Replicas, e.cfg.ID)
		for _, b := range p.Replicas {
			load[b]++
		}
	}
	if !named {
		return false
	}
	live := model.Without(e.ctx.LiveOrShuttingDown(), e.ctx.ShuttingDown())
	t.Partitions = slices.Clone(t.Partitions)
	changed := false
	for i := range t.Partitions {
		p := &t.Partitions[i]
		at := slices.Index(p.Replicas, e.cfg.ID)
		if at < 0 {
			continue
		}
		p.Replicas = slices.Clone(p.Replicas)
		free := model.Without(live, p.Replicas)
		switch {
		case len(free) > 0:
			instead := slices.MinFunc(free, func(a, b int32) int { return load[a] - load[b] }) // of equals the first
			load[instead]++
			p.Replicas[at] = instead
		case len(p.Replicas) > 1:
			p.Replicas = slices.Delete(p.Replicas, at, at+1)
		default:
			e.logf(controllerLogger, model.Warn, "%s-%d is assigned to this controller alone, and no broker is there to take it", t.topic, p.Partition)
			continue
		}
		changed = true
		e.logf(controllerLogger, model.Info, "%s-%d was assigned to this controller, which holds no replicas: it is on [%s] instead", t.topic, p.Partition, model.JoinIDs(p.Replicas))
	}
	return changed
}

// takeOver replaces who holds the role, in one transaction that succeeds only if
// nobody else was elected since the epoch was read.
func (e *Engine) takeOver(holder int32) (epoch, version int32, err error) {
	data, stat, present, err := e.get("get_controller", model.ControllerPath)
	if err != nil {
		return 0, 0, err
	}
	if !present {
		return e.registerController()
	}
	reg, err := model.DecodeControllerRegistration(model.ControllerPath, data)
	switch {
	case err != nil:
		return 0, 0, err
	case reg.KRaftEpoch > 0:
		return 0, 0, illegalf("%s belongs to the KRaft controller %d: it is not taken over", model.ControllerPath, reg.Broker)
	}
	current, version, err := e.controllerEpoch()
	if err != nil {
		return 0, 0, err
	}
	epoch = current + 1
	e.logf(controllerLogger, model.Warn, "taking the role over from %d, epoch %d", holder, current)
	r, err := e.perform(&model.Call{Purpose: "take_over", Atomic: true, Ops: []model.Op{
		{Kind: model.OpCheck, Path: model.ControllerEpochPath, Version: version},
		{Kind: model.OpDelete, Path: model.ControllerPath, Version: stat.Version},
		{Kind: model.OpCreate, Path: model.ControllerPath, Ephemeral: true, Data: model.EncodeController(2, e.cfg.ID, e.now, -1)},
		{Kind: model.OpSet, Path: model.ControllerEpochPath, Version: version, Data: model.EncodeControllerEpoch(epoch)}}})
	if err != nil {
		return 0, 0, err
	}
	switch code := firstCode(r); code {
	case model.CodeOK:
		return epoch, r[3].Stat.Version, nil
	case model.CodeNoNode, model.CodeNodeExists, model.CodeBadVersion:
		return e.checkOwnRegistration(epoch)
	default:
		return 0, 0, &keeperError{code, "replace " + model.ControllerPath}
	}
}
