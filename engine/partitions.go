package engine

import (
	"errors"
	"fmt"
	"slices"

	"kstate/model"
)

// outcome is the result of an election for one partition: a record or an error.
type outcome struct {
	record model.LeaderAndIsr
	err    error
}

// outcomes holds a result for each partition that went through an election.
type outcomes map[model.TopicPartition]outcome

// anyElected tells whether one of the elections succeeded.
func (o outcomes) anyElected() bool {
	for _, x := range o {
		if x.err == nil {
			return true
		}
	}
	return false
}

// startPartitions gives every assigned partition its first state and brings
// what can be online. Kafka: PartitionStateMachine.startup.
func (e *Engine) startPartitions() error {
	e.logf(controllerLogger, model.Info, "initializing partition state")
	for t := range e.ctx.Entries() {
		for n, p := range t.Partitions() {
			tp := model.TP(t.Name, n)
			switch {
			case p.Leadership == nil:
				e.ctx.PutPartitionState(tp, model.NewPartition)
			case e.ctx.IsReplicaOnline(p.Leadership.Leader, tp, false):
				e.ctx.PutPartitionState(tp, model.OnlinePartition)
			default:
				e.ctx.PutPartitionState(tp, model.OfflinePartition)
			}
		}
	}
	e.logf(controllerLogger, model.Debug, "initial states of partitions: %s", countsByState(model.PartitionStates, e.ctx.PartitionCounts[:]))
	e.logf(controllerLogger, model.Info, "triggering online partition state changes")
	_, err := e.triggerOnlinePartitionStateChange("controller startup")
	return err
}

// countsByState lists how many are in each state.
func countsByState[S interface {
	~uint8
	String() string
}](states []S, counts []int) string {
	out := ""
	for i, s := range states {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%d %s", counts[s], s)
	}
	return out
}

// triggerOnlinePartitionStateChange tries to bring every New or Offline
// partition online, topics queued for deletion excepted.
// Kafka: PartitionStateMachine.triggerOnlinePartitionStateChange.
func (e *Engine) triggerOnlinePartitionStateChange(reason string) (outcomes, error) {
	var tps []model.TopicPartition
	for t := range e.ctx.Entries() {
		tps = e.appendElectable(tps, t, t.Entries())
	}
	return e.changePartitions(tps, model.OnlinePartition, model.OfflineStrategy, reason)
}

// triggerOnlineForTopic does the same for one topic's assigned partitions.
func (e *Engine) triggerOnlineForTopic(topic string) error {
	t := e.ctx.Topic(topic)
	if t == nil {
		return nil
	}
	_, err := e.changePartitions(e.appendElectable(nil, t, t.Partitions()), model.OnlinePartition, model.OfflineStrategy, "unclean election enabled for the topic")
	return err
}

func (e *Engine) appendElectable(tps []model.TopicPartition, t *model.Topic, ps func(func(int32, *model.Partition) bool)) []model.TopicPartition {
	if e.ctx.IsQueued(t.Name) {
		return tps
	}
	for n, p := range ps {
		if p.State == model.NewPartition || p.State == model.OfflinePartition {
			tps = append(tps, model.TP(t.Name, n))
		}
	}
	return tps
}

// changePartitions moves partitions to a state, electing leaders if that is
// OnlinePartition, and sends what follows. tps are sorted. Results are those of
// elections only. The error is always that the controller moved; every other
// failure is in the results. Kafka: ZkPartitionStateMachine.handleStateChanges.
func (e *Engine) changePartitions(tps []model.TopicPartition, to model.PartitionState, s model.Strategy, reason string) (outcomes, error) {
	if len(tps) == 0 {
		return nil, nil
	}
	results, err := e.tryChangePartitions(tps, to, s, reason)
	if err == nil {
		return results, nil
	}
	e.logf(controllerLogger, model.Error, "error while moving some partitions to %s state: %v", to, err)
	if moved(err) {
		return nil, err
	}
	failed := outcomes{}
	for _, tp := range tps {
		failed[tp] = outcome{err: err}
	}
	return failed, nil
}

func (e *Engine) tryChangePartitions(tps []model.TopicPartition, to model.PartitionState, s model.Strategy, reason string) (outcomes, error) {
	if err := e.psm.open(to.String(), len(tps)); err != nil {
		return nil, err
	}
	results, err := e.doChangePartitions(tps, to, s, reason)
	if err != nil {
		return nil, err
	}
	return results, e.psm.flush()
}

// doChangePartitions. Kafka: ZkPartitionStateMachine.doHandleStateChanges.
func (e *Engine) doChangePartitions(tps []model.TopicPartition, to model.PartitionState, s model.Strategy, reason string) (outcomes, error) {
	for _, tp := range tps {
		if e.ctx.PartitionState(tp) == model.NoPartitionState {
			e.ctx.PutPartitionState(tp, model.NonExistentPartition)
		}
	}
	valid := make([]model.TopicPartition, 0, len(tps))
	for _, tp := range tps {
		if from := e.ctx.PartitionState(tp); model.PartitionGraph.Allows(from, to) {
			valid = append(valid, tp)
		} else {
			e.step(&model.RefusePartition{TopicPartition: tp, From: from, To: to, Invalid: true,
				Reason: "must be in one of the states " + names(model.PartitionGraph.Before(to))})
		}
	}
	if to != model.OnlinePartition {
		for _, tp := range valid {
			e.movePartition(tp, to, reason)
		}
		return nil, nil
	}
	var fresh, led []model.TopicPartition
	for _, tp := range valid {
		if e.ctx.PartitionState(tp) == model.NewPartition {
			fresh = append(fresh, tp)
		} else {
			led = append(led, tp)
		}
	}
	if len(fresh) > 0 {
		created, err := e.initializeLeaderAndIsr(fresh)
		if err != nil {
			return nil, err
		}
		for _, tp := range created {
			e.movePartition(tp, model.OnlinePartition, reason)
		}
	}
	if len(led) == 0 {
		return nil, nil
	}
	if s == 0 {
		return nil, &illegalArgument{"no election strategy for partitions that are to come online"}
	}
	results, err := e.electLeaders(led, s)
	if err != nil {
		return nil, err
	}
	for _, tp := range led {
		if r, ok := results[tp]; ok && r.err == nil {
			e.movePartition(tp, model.OnlinePartition, reason)
		}
	}
	return results, nil
}

func names[S interface{ String() string }](states []S) string {
	out := ""
	for i, s := range states {
		if i > 0 {
			out += ", "
		}
		out += s.String()
	}
	return out
}

func (e *Engine) movePartition(tp model.TopicPartition, to model.PartitionState, reason string) {
	m := &model.MovePartition{TopicPartition: tp, From: e.ctx.PartitionState(tp), To: to, Reason: reason}
	if to == model.OnlinePartition {
		m.Leadership = e.ctx.Leadership(tp)
	}
	e.step(m)
	e.ctx.PutPartitionState(tp, to)
}

func (e *Engine) failPartition(tp model.TopicPartition, to model.PartitionState, err error) {
	e.step(&model.RefusePartition{TopicPartition: tp, From: e.ctx.PartitionState(tp), To: to, Reason: err.Error()})
}

// initializeLeaderAndIsr creates the state znodes of new partitions: the first
// online replica leads, all online replicas are in sync. It returns those that
// were created. Kafka: ZkPartitionStateMachine.initializeLeaderAndIsrForPartitions.
func (e *Engine) initializeLeaderAndIsr(tps []model.TopicPartition) ([]model.TopicPartition, error) {
	var create []model.TopicPartition
	var records []*model.LeaderIsrAndControllerEpoch
	for _, tp := range tps {
		a := e.ctx.Assignment(tp)
		live := keep(a.Replicas, func(b int32) bool { return e.ctx.IsReplicaOnline(b, tp, false) })
		if len(live) == 0 {
			e.failPartition(tp, model.OnlinePartition, failedf("none of the assigned replicas [%s] is among the live brokers [%s]", model.JoinIDs(a.Replicas), model.JoinIDs(e.ctx.Live())))
			continue
		}
		create = append(create, tp)
		records = append(records, &model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.LeaderAndIsr{Leader: live[0], ISR: live}, ControllerEpoch: e.ctx.Epoch})
	}
	results, err := e.createStates(create, records)
	if moved(err) {
		e.logf(controllerLogger, model.Error, "controller moved to another broker when trying to create the partition states: %v", err)
		return nil, err
	}
	if err != nil {
		for _, tp := range create {
			e.failPartition(tp, model.NewPartition, err)
		}
		return nil, nil
	}
	var done []model.TopicPartition
	for i, tp := range create {
		if results[i].Code != model.CodeOK {
			e.failPartition(tp, model.OnlinePartition, failedf("create of %s: ZooKeeper answered %s", model.TopicPartitionStatePath(tp), results[i].Code))
			continue
		}
		e.ctx.PutLeadership(tp, records[i])
		e.psm.addLeaderAndIsr(records[i].ISR, tp, records[i], e.ctx.Partition(tp).Assignment, true)
		done = append(done, tp)
	}
	return done, nil
}

// electLeaders elects until no write fails for a changed znode version: there
// is no limit, and each round reads everything again.
// Kafka: ZkPartitionStateMachine.electLeaderForPartitions.
func (e *Engine) electLeaders(tps []model.TopicPartition, s model.Strategy) (outcomes, error) {
	results := outcomes{}
	for remaining := tps; len(remaining) > 0; {
		round, retry, err := e.electOnce(remaining, s)
		if err != nil {
			return nil, err
		}
		for _, tp := range remaining {
			r, ok := round[tp]
			if !ok {
				continue
			}
			results[tp] = r
			if r.err != nil {
				e.failPartition(tp, model.OnlinePartition, r.err)
			}
		}
		if len(retry) > 0 {
			e.logf(controllerLogger, model.Info, "retrying leader election with strategy %s for %d partitions: %s, ...", s, len(retry), retry[0])
		}
		remaining = retry
	}
	return results, nil
}

// electOnce is one round: read, decide, write. It returns what is finished, and
// the partitions whose znode had changed in between.
// Kafka: ZkPartitionStateMachine.doElectLeaderForPartitions.
func (e *Engine) electOnce(tps []model.TopicPartition, s model.Strategy) (outcomes, []model.TopicPartition, error) {
	out := outcomes{}
	results, err := e.getStatesRaw(tps)
	if err != nil {
		for _, tp := range tps {
			out[tp] = outcome{err: err}
		}
		return out, nil, nil
	}
	var valid []candidacy
	for i, tp := range tps {
		l, present, err := e.decodeState(tp, &results[i])
		switch {
		case err != nil && results[i].Code == model.CodeOK:
			return nil, nil, err // a payload of the wrong shape escapes from the whole call
		case err != nil:
			out[tp] = outcome{err: err}
		case !present:
			out[tp] = outcome{err: failedf("LeaderAndIsr information doesn't exist for partition %s in %s state", tp, e.ctx.PartitionState(tp))}
		case l.ControllerEpoch > e.ctx.Epoch:
			out[tp] = outcome{err: failedf("aborted leader election for partition %s since the LeaderAndIsr path was already written by another controller: the current controller %d may have gone through a soft failure and another controller was elected with epoch %d", tp, e.cfg.ID, l.ControllerEpoch)}
		default:
			valid = append(valid, candidacy{tp: tp, record: &l.LeaderAndIsr, assignment: e.ctx.Assignment(tp), recovery: e.cfg.IBP.LeaderRecovery()})
		}
	}
	if len(valid) == 0 {
		return out, nil, nil
	}
	if s == model.OfflineStrategy || s == model.OfflineUncleanStrategy {
		if valid, err = e.collectUnclean(valid, s == model.OfflineUncleanStrategy); err != nil {
			return nil, nil, err
		}
	}
	return e.writeElected(valid, s, out)
}

func (e *Engine) writeElected(valid []candidacy, s model.Strategy, out outcomes) (outcomes, []model.TopicPartition, error) {
	var writes []stateWrite
	recipients := map[model.TopicPartition][]int32{}
	for _, c := range valid {
		v := elect(e.ctx, s, c)
		if v.Unclean {
			e.uncleanElections++
		}
		e.step(&model.Elect{TopicPartition: c.tp, Verdict: v})
		if v.New == nil {
			out[c.tp] = outcome{err: failedf("failed to elect leader for partition %s under strategy %s: %s", c.tp, s, v.Why)}
			continue
		}
		writes = append(writes, stateWrite{c.tp, *v.New})
		recipients[c.tp] = v.Recipients
	}
	finished, retry, err := e.updateLeaderAndIsr(writes)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range writes {
		r, ok := finished[w.tp]
		if !ok {
			continue
		}
		if r.err == nil {
			l := &model.LeaderIsrAndControllerEpoch{LeaderAndIsr: r.record, ControllerEpoch: e.ctx.Epoch}
			e.ctx.PutLeadership(w.tp, l)
			e.psm.addLeaderAndIsr(recipients[w.tp], w.tp, l, e.assignmentPtr(w.tp), false)
		}
		out[w.tp] = r
	}
	return out, retry, nil
}

var noAssignment = &model.ReplicaAssignment{}

// assignmentPtr is the partition's assignment as the context holds it.
func (e *Engine) assignmentPtr(tp model.TopicPartition) *model.ReplicaAssignment {
	if p := e.ctx.Partition(tp); p != nil && p.Assignment != nil {
		return p.Assignment
	}
	return noAssignment
}

// collectUnclean decides for which partitions an unclean election is allowed:
// only those without any online ISR member come into question. They come first.
// Kafka: ZkPartitionStateMachine.collectUncleanLeaderElectionState.
func (e *Engine) collectUnclean(valid []candidacy, always bool) ([]candidacy, error) {
	var lost, rest []candidacy
	var topics []string
	for _, c := range valid {
		if anyOnline(e.ctx, c.tp, c.record.ISR) {
			rest = append(rest, c)
			continue
		}
		lost = append(lost, c)
		topics = append(topics, c.tp.Topic)
	}
	if always {
		for i := range lost {
			lost[i].unclean = true
		}
		return slices.Concat(lost, rest), nil
	}
	slices.Sort(topics)
	configs, err := e.topicConfigs(slices.Compact(topics))
	if err != nil {
		return nil, err
	}
	for i := range lost {
		c := configs[lost[i].tp.Topic]
		if c.err != nil {
			e.failPartition(lost[i].tp, model.OnlinePartition, c.err)
			lost[i].record = nil
			continue
		}
		lost[i].unclean = c.unclean
	}
	return slices.Concat(lost, rest), nil
}

// asStateChangeFailed tells whether an election failed for a reason of the
// partition, as opposed to an unexpected error.
func asStateChangeFailed(err error) bool {
	var s *stateChangeFailed
	return errors.As(err, &s)
}
