package engine

import (
	"fmt"

	"kstate/model"
)

// processReplicaLeaderElection: a client, or the znode, asks for elections. A
// partition that never had a leader makes the whole event fail, and the caller
// gets no answer, as in Kafka. Kafka: KafkaController.processReplicaLeaderElection.
func (e *Engine) processReplicaLeaderElection(ev *model.ReplicaLeaderElection) error {
	if !e.IsActive() {
		if ev.Ask != nil {
			e.reply(ev.AskID, notController(ev.Ask))
		}
		return nil
	}
	tps, kind, all, err := e.electionScope(ev)
	if err != nil || tps == nil {
		return err
	}
	var electable []model.TopicPartition
	results := map[model.TopicPartition]model.ElectionResult{}
	refuse := func(tp model.TopicPartition, code model.KafkaError, why string) {
		results[tp] = model.ElectionResult{TopicPartition: tp, Error: code, Leader: model.NoLeader, Why: why}
	}
	for _, tp := range tps {
		p := e.ctx.Partition(tp)
		switch {
		case p == nil || p.Assignment == nil:
			refuse(tp, model.ErrUnknownTopicOrPartition, "the partition does not exist")
			continue
		case e.isQueuedForDeletion(tp.Topic):
			refuse(tp, model.ErrInvalidTopicException, "the topic is being deleted")
			continue
		}
		needed, err := e.electionNeeded(tp, p, kind)
		if err != nil {
			return err
		}
		if needed {
			electable = append(electable, tp)
		} else if !all {
			refuse(tp, model.ErrElectionNotNeeded, "leader election not needed for topic partition")
		}
	}
	elected, err := e.runElection(electable, kind, ev.Trigger)
	if err != nil {
		return err
	}
	for _, tp := range electable {
		results[tp] = electionResult(tp, elected[tp], kind)
	}
	if ev.Ask == nil {
		return nil
	}
	answer := &model.ElectLeadersAnswer{}
	for _, tp := range tps {
		if r, ok := results[tp]; ok {
			answer.Results = append(answer.Results, r)
		}
	}
	e.reply(ev.AskID, answer)
	return nil
}

// electionScope is what an election event is about; nil when there is nothing to do.
func (e *Engine) electionScope(ev *model.ReplicaLeaderElection) (tps []model.TopicPartition, kind model.ElectionType, all bool, err error) {
	if ev.Ask != nil {
		tps = append([]model.TopicPartition{}, ev.Ask.Partitions...)
		if ev.Ask.Partitions == nil {
			all = true
			for t := range e.ctx.Topics() {
				for n, p := range t.Partitions() {
					if p.Leadership != nil { // others are in no broker's metadata cache, from which Kafka takes them
						tps = append(tps, model.TP(t.Name, n))
					}
				}
			}
		}
		return sortTPs(tps), ev.Ask.Type, all, nil
	}
	present, err := e.exists(model.PreferredReplicaElectionPath)
	if err != nil || !present {
		return nil, 0, false, err
	}
	tps, err = e.getPreferredElection()
	return append([]model.TopicPartition{}, sortTPs(tps)...), model.PreferredElection, false, err
}

// getPreferredElection reads the znode; a missing one is an empty list.
// Kafka: KafkaZkClient.getPreferredReplicaElection.
func (e *Engine) getPreferredElection() ([]model.TopicPartition, error) {
	data, _, present, err := e.get("get_preferred_election", model.PreferredReplicaElectionPath)
	if err != nil || !present {
		return nil, err
	}
	return model.DecodePreferredReplicaElection(model.PreferredReplicaElectionPath, data)
}

// electionNeeded tells whether the wanted kind of leader is not there yet.
func (e *Engine) electionNeeded(tp model.TopicPartition, p *model.Partition, kind model.ElectionType) (bool, error) {
	if p.Leadership == nil {
		return false, &missingValue{"the leadership of " + tp.String()}
	}
	if kind == model.UncleanElection {
		return uncleanNeeded(&e.ctx.View, p), nil
	}
	if len(p.Assignment.Replicas) == 0 {
		return false, &missingValue{"the preferred replica of " + tp.String()}
	}
	return preferredNeeded(p), nil
}

// processOperatorTransition has a machine refuse what the operator asked for. What
// became legal meanwhile is not done: nothing but Kafka's own rules moves a state.
func (e *Engine) processOperatorTransition(ev *model.OperatorTransition) error {
	if !e.IsActive() {
		return nil
	}
	if !ev.Illegal(&e.ctx.View) {
		e.logf(controllerLogger, model.Info, "not forced: %s would be legal, or its subject is not known", ev.Transition)
		return nil
	}
	const reason = "the operator asked"
	if ev.Broker != model.NoBroker {
		return e.changeReplicas([]model.Replica{ev.Replica()}, ev.ToReplica, reason)
	}
	_, err := e.changePartitions([]model.TopicPartition{ev.TopicPartition}, ev.ToPartition, model.OfflineStrategy, reason)
	return err
}

// processOperatorElection elects by one strategy where the operator asked for
// it. What is passed over is logged with its reason, the one that Preview gives.
func (e *Engine) processOperatorElection(ev *model.OperatorElection) error {
	tps := make([]model.TopicPartition, 0, len(ev.Partitions))
	for _, tp := range ev.Partitions {
		if code, why := electable(&e.ctx.View, ev.Strategy, tp); code != model.ErrNone {
			e.logf(controllerLogger, model.Info, "no %s election for partition %s: %s: %s", ev.Strategy, tp, code, why)
			continue
		}
		tps = append(tps, tp)
	}
	_, err := e.changePartitions(tps, model.OnlinePartition, ev.Strategy, "the operator asked")
	return err
}

func electionResult(tp model.TopicPartition, o outcome, kind model.ElectionType) model.ElectionResult {
	r := model.ElectionResult{TopicPartition: tp, Leader: o.record.Leader}
	switch {
	case o.err == nil:
		return r
	case !asStateChangeFailed(o.err):
		r.Error = kafkaErrorOf(o.err)
	case kind == model.PreferredElection:
		r.Error = model.ErrPreferredLeaderNotAvailable
	default:
		r.Error = model.ErrEligibleLeadersNotAvailable
	}
	r.Leader, r.Why = model.NoLeader, o.err.Error()
	return r
}

// runElection elects leaders, and for a request by znode deletes the znode
// whatever happened. Kafka: KafkaController.onReplicaElection.
func (e *Engine) runElection(tps []model.TopicPartition, kind model.ElectionType, trigger model.ElectionTrigger) (outcomes, error) {
	e.logf(controllerLogger, model.Info, "starting replica leader election (%s) for %d partitions triggered by %s", kind, len(tps), trigger)
	results, err := e.tryElection(tps, kind, trigger)
	if trigger != model.AdminClientTriggered {
		if endErr := e.endElection(tps, trigger); endErr != nil {
			return nil, endErr
		}
	}
	return results, err
}

func (e *Engine) tryElection(tps []model.TopicPartition, kind model.ElectionType, trigger model.ElectionTrigger) (outcomes, error) {
	strategy := model.PreferredStrategy
	switch {
	case kind == model.UncleanElection && trigger == model.AdminClientTriggered:
		strategy = model.OfflineUncleanStrategy
	case kind == model.UncleanElection:
		strategy = model.OfflineStrategy
	}
	results, err := e.changePartitions(tps, model.OnlinePartition, strategy, fmt.Sprintf("%s election, %s", kind, trigger))
	if err != nil {
		return nil, err
	}
	if trigger == model.AdminClientTriggered {
		return results, nil
	}
	for _, tp := range tps {
		if r := results[tp]; r.err != nil {
			e.logf(controllerLogger, model.Error, "error completing replica leader election (%s) for partition %s: %v", kind, tp, r.err)
		}
	}
	return results, nil
}

// endElection compares leaders with preferred replicas, and (by znode) deletes
// the znode and queues the event that watches for the next one.
// Kafka: KafkaController.removePartitionsFromPreferredReplicaElection.
func (e *Engine) endElection(tps []model.TopicPartition, trigger model.ElectionTrigger) error {
	for _, tp := range tps {
		p := e.ctx.Partition(tp)
		if p == nil || p.Leadership == nil || p.Assignment == nil || len(p.Assignment.Replicas) == 0 {
			return &missingValue{"the leadership of " + tp.String()}
		}
		if p.Leadership.Leader == p.Assignment.Replicas[0] {
			e.logf(controllerLogger, model.Info, "partition %s completed preferred replica leader election: new leader is %d", tp, p.Leadership.Leader)
		} else {
			e.logf(controllerLogger, model.Warn, "partition %s failed to complete preferred replica leader election to %d: leader is still %d", tp, p.Assignment.Replicas[0], p.Leadership.Leader)
		}
	}
	if trigger != model.ZkTriggered {
		return nil
	}
	if err := e.deleteFenced("delete_preferred_election", []string{model.PreferredReplicaElectionPath}, false); err != nil {
		return err
	}
	e.put(&model.ReplicaLeaderElection{Trigger: model.ZkTriggered}, "the controller deleted "+model.PreferredReplicaElectionPath)
	return nil
}

// fetchPendingPreferredElections is what a new controller finds in the znode,
// less what is done, unknown, or queued for deletion. An entry for a partition
// without leadership is an error, and the failover fails on it, as in Kafka.
// Kafka: KafkaController.fetchPendingPreferredReplicaElections.
func (e *Engine) fetchPendingPreferredElections() ([]model.TopicPartition, error) {
	listed, err := e.getPreferredElection()
	if err != nil {
		return nil, err
	}
	var pending []model.TopicPartition
	for _, tp := range sortTPs(listed) {
		a := e.ctx.Assignment(tp)
		if len(a.Replicas) == 0 {
			continue
		}
		l := e.ctx.Leadership(tp)
		if l == nil {
			e.logf(controllerLogger, model.Warn, "%s names %s, which has no leadership: no controller can start, this one and the next ones, until that znode is deleted", model.PreferredReplicaElectionPath, tp)
			return nil, &missingValue{"the leadership of " + tp.String()}
		}
		if l.Leader != a.Replicas[0] && !e.isQueuedForDeletion(tp.Topic) {
			pending = append(pending, tp)
		}
	}
	e.logf(controllerLogger, model.Info, "resuming preferred replica election for %d partitions", len(pending))
	return pending, nil
}

// processAutoPreferredReplicaLeaderElection is the balancer's check; it sets the
// next alarm whatever happens. Kafka: KafkaController.processAutoPreferredReplicaLeaderElection.
func (e *Engine) processAutoPreferredReplicaLeaderElection() error {
	e.logf(controllerLogger, model.Info, "processing automatic preferred replica leader election")
	err := e.rebalance()
	if e.scheduling { // a check that ends the term ends the timers
		e.scheduleRebalance(e.cfg.ImbalanceCheckInterval)
	}
	return err
}

// rebalance elects preferred leaders for each broker whose share of partitions
// led elsewhere is over the limit. Kafka: KafkaController.checkAndTriggerAutoLeaderRebalance.
func (e *Engine) rebalance() error {
	preferring := map[int32][]model.TopicPartition{}
	for t := range e.ctx.Entries() {
		if e.isQueuedForDeletion(t.Name) {
			continue
		}
		for n, p := range t.Partitions() {
			if len(p.Assignment.Replicas) == 0 {
				return &missingValue{"the preferred replica of " + model.TP(t.Name, n).String()}
			}
			head := p.Assignment.Replicas[0]
			preferring[head] = append(preferring[head], model.TP(t.Name, n))
		}
	}
	for _, broker := range ids(preferring) {
		var elsewhere, candidates []model.TopicPartition
		for _, tp := range preferring[broker] {
			p := e.ctx.Partition(tp)
			if p.Leadership == nil || p.Leadership.Leader == broker {
				continue
			}
			elsewhere = append(elsewhere, tp)
			if elect(e.ctx, model.PreferredStrategy, candidacy{tp: tp, record: &p.Leadership.LeaderAndIsr, assignment: *p.Assignment}).New != nil {
				candidates = append(candidates, tp)
			}
		}
		total := len(preferring[broker])
		e.logf(controllerLogger, model.Debug, "leader imbalance ratio for broker %d is %d/%d", broker, len(elsewhere), total)
		if float64(len(elsewhere))/float64(total) > float64(e.cfg.ImbalancePercentage)/100 {
			if _, err := e.runElection(candidates, model.PreferredElection, model.AutoTriggered); err != nil {
				return err
			}
		}
	}
	return nil
}
