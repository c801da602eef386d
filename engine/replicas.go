package engine

import (
	"slices"

	"kstate/model"
)

// startReplicas gives every assigned replica its first state: Online if it is
// online, else DeletionIneligible; then moves the online ones to Online (so that
// brokers hear of them) and the others to Offline.
// Kafka: ReplicaStateMachine.startup.
func (e *Engine) startReplicas() error {
	e.logf(controllerLogger, model.Info, "initializing replica state")
	total := 0
	for _, b := range e.ctx.Brokers() {
		total += e.ctx.Hosts(b.ID)
	}
	online := make([]model.Replica, 0, total)
	var offline []model.Replica
	for t := range e.ctx.Entries() {
		for n, p := range t.Partitions() {
			tp := model.TP(t.Name, n)
			for _, b := range p.Assignment.Replicas {
				r := model.Replica{TopicPartition: tp, Broker: b}
				if e.ctx.IsReplicaOnline(b, tp, false) {
					e.ctx.PutReplicaState(r, model.OnlineReplica)
					online = append(online, r)
				} else {
					e.ctx.PutReplicaState(r, model.ReplicaDeletionIneligible)
					offline = append(offline, r)
				}
			}
		}
	}
	e.logf(controllerLogger, model.Debug, "initial states of replicas: %s", countsByState(model.ReplicaStates, e.ctx.ReplicaCounts[:]))
	e.logf(controllerLogger, model.Info, "triggering online replica state changes")
	if err := e.changeReplicas(online, model.OnlineReplica, "controller startup: its broker is live"); err != nil {
		return err
	}
	e.logf(controllerLogger, model.Info, "triggering offline replica state changes")
	return e.changeReplicas(offline, model.OfflineReplica, "controller startup: its broker is not live")
}

// changeReplicas moves replicas to a state, broker by broker, and sends what
// follows. The error is always that the controller moved; every other failure is
// logged only. Kafka: ZkReplicaStateMachine.handleStateChanges.
func (e *Engine) changeReplicas(rs []model.Replica, to model.ReplicaState, reason string) error {
	if len(rs) == 0 {
		return nil
	}
	err := e.tryChangeReplicas(rs, to, reason)
	if err == nil {
		return nil
	}
	e.logf(controllerLogger, model.Error, "error while moving some replicas to %s state: %v", to, err)
	if moved(err) {
		return err
	}
	return nil
}

func (e *Engine) tryChangeReplicas(rs []model.Replica, to model.ReplicaState, reason string) error {
	if err := e.rsm.open(to.String(), len(rs)); err != nil {
		return err
	}
	counts := map[int32]int{}
	for i := range rs {
		counts[rs[i].Broker]++
	}
	onBroker := make(map[int32][]model.Replica, len(counts))
	for broker, n := range counts {
		onBroker[broker] = make([]model.Replica, 0, n)
	}
	for _, r := range rs {
		onBroker[r.Broker] = append(onBroker[r.Broker], r)
	}
	brokers := ids(onBroker)
	if to == model.OfflineReplica || to == model.NonExistentReplica { // for the others the order has no consequence
		brokers = inHashOrder(brokers)
	}
	for _, broker := range brokers {
		group := onBroker[broker]
		if !slices.IsSortedFunc(group, model.Replica.Compare) {
			slices.SortFunc(group, model.Replica.Compare)
		}
		if err := e.changeOnBroker(broker, slices.Compact(group), to, reason); err != nil {
			return err
		}
	}
	return e.rsm.flush()
}

// changeOnBroker moves one broker's replicas; it overwrites rs.
// Kafka: ZkReplicaStateMachine.doHandleStateChanges.
func (e *Engine) changeOnBroker(broker int32, rs []model.Replica, to model.ReplicaState, reason string) error {
	valid := rs[:0] // rs is the caller's own copy
	for _, r := range rs {
		from := e.ctx.ReplicaState(r)
		if from == model.NoReplicaState {
			from = model.NonExistentReplica
			e.ctx.PutReplicaState(r, from)
		}
		if model.ReplicaGraph.Allows(from, to) {
			valid = append(valid, r)
		} else {
			e.step(&model.RefuseReplica{Replica: r, From: from, To: to, Invalid: true,
				Reason: "must be in one of the states " + names(model.ReplicaGraph.Before(to))})
		}
	}
	switch to {
	case model.NewReplica:
		e.toNew(valid, reason)
	case model.OnlineReplica:
		e.toOnline(valid, reason)
	case model.OfflineReplica:
		return e.toOffline(broker, valid, reason)
	case model.ReplicaDeletionStarted:
		for _, r := range valid {
			e.moveReplica(r, to, reason, nil)
			e.rsm.addStopReplica(broker, r.TopicPartition, true)
		}
	case model.NonExistentReplica:
		for _, r := range valid {
			a := e.ctx.Assignment(r.TopicPartition)
			if err := e.updateAssignment(r.TopicPartition, a.RemoveReplica(broker)); err != nil {
				return err
			}
			e.moveReplica(r, to, reason, nil)
			e.ctx.RemoveReplicaState(r)
		}
	default: // ReplicaDeletionSuccessful, ReplicaDeletionIneligible
		for _, r := range valid {
			e.moveReplica(r, to, reason, nil)
		}
	}
	return nil
}

func (e *Engine) moveReplica(r model.Replica, to model.ReplicaState, reason string, l *model.LeaderIsrAndControllerEpoch) {
	e.step(&model.MoveReplica{Replica: r, From: e.ctx.ReplicaState(r), To: to, Reason: reason, Leadership: l})
	e.ctx.PutReplicaState(r, to)
}

func (e *Engine) failReplica(r model.Replica, to model.ReplicaState, err error) {
	e.step(&model.RefuseReplica{Replica: r, From: e.ctx.ReplicaState(r), To: to, Reason: err.Error()})
}

func (e *Engine) toNew(rs []model.Replica, reason string) {
	for _, r := range rs {
		if l := e.ctx.Leadership(r.TopicPartition); l != nil {
			if l.Leader == r.Broker {
				e.failReplica(r, model.NewReplica, failedf("replica %d for partition %s cannot be moved to NewReplica state as it is being requested to become leader", r.Broker, r.TopicPartition))
				continue
			}
			e.rsm.addLeaderAndIsr([]int32{r.Broker}, r.TopicPartition, l, e.assignmentPtr(r.TopicPartition), true)
		}
		e.moveReplica(r, model.NewReplica, reason, nil)
	}
}

func (e *Engine) toOnline(rs []model.Replica, reason string) {
	for _, r := range rs {
		if e.ctx.ReplicaState(r) == model.NewReplica {
			if a := e.ctx.Assignment(r.TopicPartition); !slices.Contains(a.Replicas, r.Broker) {
				e.logf(controllerLogger, model.Error, "adding replica %s that is not part of the assignment [%s]", r, model.JoinIDs(a.Replicas))
				a.Replicas = append(slices.Clone(a.Replicas), r.Broker)
				e.ctx.UpdateAssignment(r.TopicPartition, a)
			}
		} else if l := e.ctx.Leadership(r.TopicPartition); l != nil {
			e.rsm.addLeaderAndIsr([]int32{r.Broker}, r.TopicPartition, l, e.assignmentPtr(r.TopicPartition), false)
		}
		e.moveReplica(r, model.OnlineReplica, reason, nil)
	}
}

// toOffline stops replicas and takes them out of the ISR.
func (e *Engine) toOffline(broker int32, rs []model.Replica, reason string) error {
	var led, unled []model.Replica
	for _, r := range rs {
		e.rsm.addStopReplica(broker, r.TopicPartition, false)
		if e.ctx.Leadership(r.TopicPartition) != nil {
			led = append(led, r)
		} else {
			unled = append(unled, r)
		}
	}
	removed, err := e.removeReplicasFromIsr(broker, led)
	if err != nil {
		return err
	}
	for _, r := range led {
		l, ok := removed[r.TopicPartition]
		if !ok {
			continue
		}
		if !e.ctx.IsQueued(r.Topic) {
			a := e.assignmentPtr(r.TopicPartition)
			e.rsm.addLeaderAndIsr(model.Without(a.Replicas, []int32{broker}), r.TopicPartition, l, a, false)
		}
		e.moveReplica(r, model.OfflineReplica, reason, l)
	}
	for _, r := range unled {
		e.moveReplica(r, model.OfflineReplica, reason, nil)
		e.rsm.addMetadataForAll(r.TopicPartition)
	}
	return nil
}

// removeReplicasFromIsr takes a broker out of the ISR of partitions, again and
// again while the znode changes in between; it returns the records of those
// that succeeded. Kafka: ZkReplicaStateMachine.removeReplicasFromIsr.
func (e *Engine) removeReplicasFromIsr(broker int32, rs []model.Replica) (map[model.TopicPartition]*model.LeaderIsrAndControllerEpoch, error) {
	out := map[model.TopicPartition]*model.LeaderIsrAndControllerEpoch{}
	remaining := make([]model.TopicPartition, len(rs))
	for i, r := range rs {
		remaining[i] = r.TopicPartition
	}
	for len(remaining) > 0 {
		retry, failed, err := e.removeFromIsrOnce(broker, remaining, out)
		if err != nil {
			return nil, err
		}
		for _, tp := range remaining {
			if err := failed[tp]; err != nil {
				e.failReplica(model.Replica{TopicPartition: tp, Broker: broker}, model.OfflineReplica, err)
			}
		}
		remaining = retry
	}
	return out, nil
}

// removeFromIsrOnce is one round: read, take out, write. Records that succeeded
// are cached and put into out. Kafka: ZkReplicaStateMachine.doRemoveReplicasFromIsr.
func (e *Engine) removeFromIsrOnce(broker int32, tps []model.TopicPartition, out map[model.TopicPartition]*model.LeaderIsrAndControllerEpoch) (retry []model.TopicPartition, failed map[model.TopicPartition]error, err error) {
	failed = map[model.TopicPartition]error{}
	results, err := e.getStatesRaw(tps)
	if err != nil {
		for _, tp := range tps {
			failed[tp] = err
		}
		return nil, failed, nil
	}
	var writes []stateWrite
	var confirmed []stateWrite // not in the ISR: nothing to write
	for i, tp := range tps {
		l, present, err := e.decodeState(tp, &results[i])
		switch {
		case err != nil && results[i].Code == model.CodeOK:
			return nil, nil, err
		case err != nil:
			failed[tp] = err
		case !present && !e.ctx.IsQueued(tp.Topic):
			failed[tp] = failedf("failed to change state of replica %d for partition %s since the leader and isr path in ZooKeeper is empty", broker, tp)
		case !present: // of a topic queued for deletion: silently nothing
		case l.ControllerEpoch > e.ctx.Epoch:
			failed[tp] = failedf("leader and isr path written by another controller: this probably means the current controller with epoch %d went through a soft failure and another controller was elected with epoch %d", e.ctx.Epoch, l.ControllerEpoch)
		case slices.Contains(l.ISR, broker):
			leader, isr := l.Leader, l.ISR
			if leader == broker {
				leader = model.NoLeader
			}
			if len(isr) > 1 {
				isr = model.Without(isr, []int32{broker})
			}
			writes = append(writes, stateWrite{tp, l.NewLeaderAndIsr(leader, isr)})
		default:
			confirmed = append(confirmed, stateWrite{tp, l.LeaderAndIsr})
		}
	}
	finished, retry, err := e.updateLeaderAndIsr(writes)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range writes {
		if r, ok := finished[w.tp]; ok && r.err == nil {
			confirmed = append(confirmed, stateWrite{w.tp, r.record})
		} else if ok {
			failed[w.tp] = r.err
		}
	}
	for _, c := range confirmed {
		l := &model.LeaderIsrAndControllerEpoch{LeaderAndIsr: c.record, ControllerEpoch: e.ctx.Epoch}
		if err := e.putLeadership(c.tp, l); err != nil {
			return nil, nil, err
		}
		out[c.tp] = l
	}
	return retry, failed, nil
}
