package engine

import (
	"errors"
	"fmt"
	"slices"

	"kstate/model"
)

// initializeReassignments takes up what a new controller finds: first the
// znode, then the topic znodes' reassignments that it did not cover.
// Kafka: KafkaController.initializePartitionReassignments.
func (e *Engine) initializeReassignments() error {
	resumed, err := e.processZkPartitionReassignment()
	if err != nil {
		return err
	}
	err = e.resumeReassignments(func(tp model.TopicPartition, _ model.ReplicaAssignment) bool { return !slices.Contains(resumed, tp) })
	if missing := new(stateMissing); errors.As(err, &missing) {
		e.logf(controllerLogger, model.Warn, "the reassignment of %s in %s cannot be taken up, since %s does not exist: no controller can start, this one and the next ones, until a replica of it starts, or that topic znode is written without adding_replicas and removing_replicas; --mend half-deleted-topics passes over it",
			missing.tp, model.TopicPath(missing.tp.Topic), model.TopicPartitionStatePath(missing.tp))
	}
	return err
}

// resumeReassignments runs those that are in progress and chosen.
// Kafka: KafkaController.maybeResumeReassignments.
func (e *Engine) resumeReassignments(resume func(model.TopicPartition, model.ReplicaAssignment) bool) error {
	for _, tp := range e.reassigning() {
		if a := e.ctx.Assignment(tp); resume(tp, a) {
			if err := e.onPartitionReassignment(tp, a); err != nil && !e.passOver(err) {
				return err
			}
		}
	}
	return nil
}

// reassigning lists partitionsBeingReassigned in order.
func (e *Engine) reassigning() []model.TopicPartition {
	var out []model.TopicPartition
	if e.ctx.ReassigningCount() == 0 {
		return nil
	}
	for t := range e.ctx.Entries() {
		if t.Reassigning == 0 {
			continue
		}
		for n, p := range t.Entries() {
			if p.Reassigning {
				out = append(out, model.TP(t.Name, n))
			}
		}
	}
	return out
}

// onPartitionReassignment takes a reassignment one phase further; the letters
// are Kafka's. Kafka: KafkaController.onPartitionReassignment.
func (e *Engine) onPartitionReassignment(tp model.TopicPartition, to model.ReplicaAssignment) error {
	e.markIneligible([]string{tp.Topic}, "topic reassignment in progress", model.ReassignmentInProgress)
	if err := e.updateCurrentReassignment(tp, to); err != nil { // U
		return err
	}
	complete, err := e.reassignmentComplete(tp, to)
	if err != nil {
		return err
	}
	if complete {
		return e.finishReassignment(tp, to)
	}
	if err := e.bumpLeaderEpoch(tp, &to); err != nil { // A1
		return err
	}
	for _, b := range to.Adding { // A2
		if err := e.changeReplicas([]model.Replica{{TopicPartition: tp, Broker: b}}, model.NewReplica, "added by a reassignment"); err != nil {
			return err
		}
	}
	return nil
}

// finishReassignment is phase B: all target replicas are in the ISR.
func (e *Engine) finishReassignment(tp model.TopicPartition, from model.ReplicaAssignment) error {
	if err := e.changeReplicas(on(tp, from.Adding), model.OnlineReplica, "reassignment: in the ISR"); err != nil { // B1
		return err
	}
	done := model.ReplicaAssignment{Replicas: from.Target()}
	if err := e.updateAssignment(tp, done); err != nil { // B2
		return err
	}
	if err := e.moveLeaderOfReassigned(tp, &done); err != nil { // B3
		return err
	}
	if err := e.stopRemovedReplicas(tp, from.Removing); err != nil { // B4, B5
		return err
	}
	if err := e.writeAssignment(tp, done); err != nil { // B6
		return err
	}
	if err := e.endReassignment(tp, done); err != nil { // B7
		return err
	}
	if err := e.sendUpdateMetadata(e.ctx.LiveOrShuttingDown(), []model.TopicPartition{tp}); err != nil { // B8
		return err
	}
	return e.resumeDeletionForTopics([]string{tp.Topic}, "its reassignment is complete")
}

func on(tp model.TopicPartition, brokers []int32) []model.Replica {
	out := make([]model.Replica, len(brokers))
	for i, b := range brokers {
		out[i] = model.Replica{TopicPartition: tp, Broker: b}
	}
	return out
}

// updateCurrentReassignment records the new target, and stops replicas that an
// earlier target had added and this one does not want.
// Kafka: KafkaController.updateCurrentReassignment.
func (e *Engine) updateCurrentReassignment(tp model.TopicPartition, to model.ReplicaAssignment) error {
	if current := e.ctx.Assignment(tp); !current.Equal(to) {
		e.logf(controllerLogger, model.Info, "updating assignment of partition %s from %s to %s", tp, assignmentText(current), assignmentText(to))
		if err := e.writeAssignment(tp, to); err != nil { // U1
			return err
		}
		if err := e.updateAssignment(tp, to); err != nil { // U2
			return err
		}
		if unneeded := model.Diff(current.Replicas, to.Replicas); len(unneeded) > 0 { // U3
			if err := e.stopRemovedReplicas(tp, unneeded); err != nil {
				return err
			}
		}
	}
	if !e.cfg.IBP.AlterPartition() {
		e.listenNode(model.TopicPartitionStatePath(tp))
	}
	e.ctx.SetReassigning(tp, true)
	return nil
}

func assignmentText(a model.ReplicaAssignment) string {
	return fmt.Sprintf("[%s] (adding [%s], removing [%s])", model.JoinIDs(a.Replicas), model.JoinIDs(a.Adding), model.JoinIDs(a.Removing))
}

// writeAssignment rewrites the topic znode with one partition changed.
// Kafka: KafkaController.updateReplicaAssignmentForPartition.
func (e *Engine) writeAssignment(tp model.TopicPartition, a model.ReplicaAssignment) error {
	ps := []model.PartitionAssignment{{Partition: tp.Partition, ReplicaAssignment: a}}
	for n, p := range e.ctx.Topic(tp.Topic).Partitions() {
		if n != tp.Partition {
			ps = append(ps, model.PartitionAssignment{Partition: n, ReplicaAssignment: *p.Assignment})
		}
	}
	r, err := e.setTopicAssignment(tp.Topic, ps)
	switch {
	case err != nil:
		return err
	case r.Code == model.CodeOK:
		return nil
	case r.Code == model.CodeNoNode:
		return illegalf("topic %s doesn't exist", tp.Topic)
	}
	return &keeperError{r.Code, "set " + model.TopicPath(tp.Topic)}
}

// reassignmentComplete: all target replicas are in the ISR of the state znode.
// Kafka: KafkaController.isReassignmentComplete.
func (e *Engine) reassignmentComplete(tp model.TopicPartition, a model.ReplicaAssignment) (bool, error) {
	if !a.IsBeingReassigned() {
		return true, nil
	}
	states, err := e.getStates([]model.TopicPartition{tp})
	if err != nil {
		return false, err
	}
	l := states[tp]
	return l != nil && len(model.Without(a.Target(), l.ISR)) == 0, nil
}

// moveLeaderOfReassigned makes sure that a target replica leads, and that the
// target replicas hear of the new assignment.
// Kafka: KafkaController.moveReassignedPartitionLeaderIfRequired.
func (e *Engine) moveLeaderOfReassigned(tp model.TopicPartition, a *model.ReplicaAssignment) error {
	l := e.ctx.Leadership(tp)
	switch {
	case l == nil:
		return &missingValue{"the leadership of " + tp.String()}
	case !slices.Contains(a.Replicas, l.Leader), !e.ctx.IsReplicaOnline(l.Leader, tp, false):
		_, err := e.changePartitions([]model.TopicPartition{tp}, model.OnlinePartition, model.ReassignStrategy, "reassignment: its leader leaves or is offline")
		return err
	}
	return e.bumpLeaderEpoch(tp, a)
}

// stopRemovedReplicas takes replicas through deletion without waiting for answers.
// Kafka: KafkaController.stopRemovedReplicasOfReassignedPartition.
func (e *Engine) stopRemovedReplicas(tp model.TopicPartition, removed []int32) error {
	for _, s := range []model.ReplicaState{model.OfflineReplica, model.ReplicaDeletionStarted, model.ReplicaDeletionSuccessful, model.NonExistentReplica} {
		if err := e.changeReplicas(on(tp, removed), s, "removed by a reassignment"); err != nil {
			return err
		}
	}
	return nil
}

// bumpLeaderEpoch raises the leader epoch so that brokers accept a request that
// changes nothing else: the origin replicas, and the added ones as new.
// Kafka: KafkaController.updateLeaderEpochAndSendRequest.
func (e *Engine) bumpLeaderEpoch(tp model.TopicPartition, a *model.ReplicaAssignment) error {
	l, err := e.updateLeaderEpoch(tp)
	if err != nil {
		return err
	}
	return e.withOwnBatch(func() {
		e.own.addLeaderAndIsr(a.Origin(), tp, l, a, false)
		e.own.addLeaderAndIsr(a.Adding, tp, l, a, true)
	})
}

// updateLeaderEpoch reads, raises and writes until no version conflict is left.
// Kafka: KafkaController.updateLeaderEpoch.
func (e *Engine) updateLeaderEpoch(tp model.TopicPartition) (*model.LeaderIsrAndControllerEpoch, error) {
	for {
		states, err := e.getStates([]model.TopicPartition{tp})
		if err != nil {
			return nil, err
		}
		l := states[tp]
		switch {
		case l == nil:
			return nil, &stateMissing{tp}
		case l.ControllerEpoch > e.ctx.Epoch:
			return nil, failedf("leader and isr path written by another controller: the current controller with epoch %d went through a soft failure and another controller was elected with epoch %d", e.ctx.Epoch, l.ControllerEpoch)
		}
		finished, retry, err := e.updateLeaderAndIsr([]stateWrite{{tp, l.NewEpoch()}})
		if err != nil {
			return nil, err
		}
		if len(retry) > 0 {
			continue
		}
		r := finished[tp]
		if r.err != nil {
			return nil, r.err
		}
		out := &model.LeaderIsrAndControllerEpoch{LeaderAndIsr: r.record, ControllerEpoch: e.ctx.Epoch}
		return out, e.putLeadership(tp, out)
	}
}

// endReassignment takes the partition out of the set and, if its target
// matches, out of the znode. Kafka: KafkaController.removePartitionFromReassigningPartitions.
func (e *Engine) endReassignment(tp model.TopicPartition, done model.ReplicaAssignment) error {
	if !e.ctx.IsBeingReassigned(tp) {
		return illegalf("cannot remove a reassigning partition that is not being reassigned: %s", tp)
	}
	e.ignoreNode(model.TopicPartitionStatePath(tp))
	err := e.removeFromReassignZnode(func(r model.PartitionReassignment) bool {
		return r.TopicPartition == tp && slices.Equal(r.Replicas, done.Replicas)
	})
	if err != nil {
		return err
	}
	e.ctx.SetReassigning(tp, false)
	return nil
}

// maybeCompleteReassignment runs phase B if the ISR has all targets.
// Kafka: KafkaController.maybeCompleteReassignment.
func (e *Engine) maybeCompleteReassignment(tp model.TopicPartition) error {
	a := e.ctx.Assignment(tp)
	complete, err := e.reassignmentComplete(tp, a)
	if err != nil || !complete {
		return err
	}
	return e.onPartitionReassignment(tp, a)
}

// getReassignZnode reads /admin/reassign_partitions; what Kafka ignores with a
// warning reads as empty. Kafka: KafkaZkClient.getPartitionReassignment.
func (e *Engine) getReassignZnode() ([]model.PartitionReassignment, error) {
	data, _, present, err := e.get("get_reassign_partitions", model.ReassignPartitionsPath)
	if err != nil || !present {
		return nil, err
	}
	list, err := model.DecodeReassignPartitions(model.ReassignPartitionsPath, data)
	if bad, ok := err.(*model.DecodeError); ok && bad.Ignored {
		e.logf(controllerLogger, model.Warn, "ignoring partition reassignment due to invalid json: %v", err)
		return nil, nil
	}
	return list, err
}

// removeFromReassignZnode takes entries out of the znode; the last one takes the
// znode with it, and the event that arms its watch again is queued.
// Kafka: KafkaController.maybeRemoveFromZkReassignment.
func (e *Engine) removeFromReassignZnode(remove func(model.PartitionReassignment) bool) error {
	present, err := e.exists(model.ReassignPartitionsPath)
	if err != nil || !present {
		return err
	}
	list, err := e.getReassignZnode()
	if err != nil {
		return err
	}
	var kept []model.PartitionReassignment
	for _, r := range list {
		if !remove(r) {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		if err := e.deleteRecursive(model.ReassignPartitionsPath); err != nil {
			return err
		}
		e.put(&model.ZkPartitionReassignment{}, "the controller deleted "+model.ReassignPartitionsPath)
		return nil
	}
	return e.writeReassignZnode(kept)
}

// writeReassignZnode sets or creates it. Kafka: KafkaZkClient.setOrCreatePartitionReassignment.
func (e *Engine) writeReassignZnode(list []model.PartitionReassignment) error {
	data := model.EncodeReassignPartitions(list)
	r, err := e.fenced("set_reassign_partitions", []model.Op{{Kind: model.OpSet, Path: model.ReassignPartitionsPath, Version: model.AnyVersion, Data: data}})
	if err != nil {
		return err
	}
	if r[0].Code == model.CodeNoNode {
		if r, err = e.fenced("create_reassign_partitions", []model.Op{{Kind: model.OpCreate, Path: model.ReassignPartitionsPath, Data: data}}); err != nil {
			return err
		}
	}
	if r[0].Code != model.CodeOK {
		return &keeperError{r[0].Code, "set " + model.ReassignPartitionsPath}
	}
	return nil
}

// target is one partition with the assignment that it is to get.
type target struct {
	tp model.TopicPartition
	to model.ReplicaAssignment
}

// buildReassignment: a new target counts from the origin replicas; cancelling
// (no target) needs one in progress. Kafka: KafkaController.maybeBuildReassignment.
func (e *Engine) buildReassignment(tp model.TopicPartition, replicas []int32, cancel bool) (target, bool) {
	a := e.ctx.Assignment(tp)
	if cancel {
		if !a.IsBeingReassigned() {
			return target{}, false
		}
		replicas = a.Origin()
	}
	return target{tp, a.ReassignTo(replicas)}, true
}

// triggerReassignments runs each one. The error is always that the controller
// moved. Kafka: KafkaController.maybeTriggerPartitionReassignment.
func (e *Engine) triggerReassignments(targets []target) (map[model.TopicPartition]model.KafkaError, error) {
	out := map[model.TopicPartition]model.KafkaError{}
	for _, t := range targets {
		switch {
		case e.isQueuedForDeletion(t.tp.Topic):
			e.logf(controllerLogger, model.Info, "skipping reassignment of %s since the topic is currently being deleted", t.tp)
			out[t.tp] = model.ErrUnknownTopicOrPartition
		case len(e.ctx.Assignment(t.tp).Replicas) == 0:
			out[t.tp] = model.ErrUnknownTopicOrPartition
		default:
			e.logf(controllerLogger, model.Info, "handling reassignment of partition %s from %s to %s", t.tp, assignmentText(e.ctx.Assignment(t.tp)), assignmentText(t.to))
			err := e.onPartitionReassignment(t.tp, t.to)
			if moved(err) {
				return nil, err
			}
			if err != nil {
				e.logf(controllerLogger, model.Error, "error completing reassignment of partition %s: %v", t.tp, err)
			}
			out[t.tp] = kafkaErrorOf(err)
		}
	}
	return out, nil
}

// processZkPartitionReassignment handles the znode; it returns the partitions
// whose reassignment was accepted. Kafka: KafkaController.processZkPartitionReassignment.
func (e *Engine) processZkPartitionReassignment() ([]model.TopicPartition, error) {
	present, err := e.exists(model.ReassignPartitionsPath)
	if err != nil || !present {
		return nil, err
	}
	list, err := e.getReassignZnode()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b model.PartitionReassignment) int { return a.Compare(b.TopicPartition) })
	var targets []target
	for _, r := range list {
		if r.Unusable != nil && !e.isQueuedForDeletion(r.Topic) && len(e.ctx.Assignment(r.TopicPartition).Replicas) > 0 {
			return nil, r.Unusable
		}
		t, _ := e.buildReassignment(r.TopicPartition, r.Replicas, false)
		targets = append(targets, t)
	}
	results, err := e.triggerReassignments(targets)
	if err != nil {
		return nil, err
	}
	var accepted []model.TopicPartition
	failed := map[model.TopicPartition]bool{}
	for _, t := range targets {
		if results[t.tp] == model.ErrNone {
			accepted = append(accepted, t.tp)
		} else {
			failed[t.tp] = true
			e.logf(controllerLogger, model.Warn, "failed reassignment of %s through ZooKeeper: %s", t.tp, results[t.tp])
		}
	}
	if len(failed) > 0 {
		if err := e.removeFromReassignZnode(func(r model.PartitionReassignment) bool { return failed[r.TopicPartition] }); err != nil {
			return nil, err
		}
	}
	return accepted, nil
}

// processApiPartitionReassignment. Kafka: KafkaController.processApiPartitionReassignment.
func (e *Engine) processApiPartitionReassignment(ev *model.ApiPartitionReassignment) error {
	if !e.IsActive() {
		e.reply(ev.AskID, &model.AlterPartitionReassignmentsAnswer{Error: model.ErrNotController})
		return nil
	}
	asked := lastOfEach(ev.Ask.Partitions, func(r *model.ReassignmentTarget) model.TopicPartition { return r.TopicPartition })
	slices.SortFunc(asked, func(a, b model.ReassignmentTarget) int { return a.Compare(b.TopicPartition) })
	results := map[model.TopicPartition]model.KafkaError{}
	var targets []target
	for _, r := range asked {
		if !r.Cancel && !e.validTarget(r) {
			results[r.TopicPartition] = model.ErrInvalidReplicaAssignment
			continue
		}
		if t, ok := e.buildReassignment(r.TopicPartition, r.Target, r.Cancel); ok {
			targets = append(targets, t)
		} else {
			results[r.TopicPartition] = model.ErrNoReassignmentInProgress
		}
	}
	err := e.removeFromReassignZnode(func(r model.PartitionReassignment) bool {
		return slices.ContainsFunc(targets, func(t target) bool { return t.tp == r.TopicPartition })
	})
	if err != nil {
		return err
	}
	triggered, err := e.triggerReassignments(targets)
	if err != nil {
		return err
	}
	for tp, code := range triggered {
		results[tp] = code
	}
	answer := &model.AlterPartitionReassignmentsAnswer{}
	for _, r := range asked {
		answer.Partitions = append(answer.Partitions, model.PartitionError{TopicPartition: r.TopicPartition, Error: results[r.TopicPartition]})
	}
	e.reply(ev.AskID, answer)
	return nil
}

// validTarget: not empty, no duplicates, no negative ids, and every replica that
// would be added is live. Kafka: KafkaController.validateReplicas.
func (e *Engine) validTarget(r model.ReassignmentTarget) bool {
	sorted := slices.Sorted(slices.Values(r.Target))
	if len(sorted) == 0 || len(slices.Compact(sorted)) != len(r.Target) || sorted[0] < 0 {
		return false
	}
	for _, b := range e.ctx.Assignment(r.TopicPartition).ReassignTo(r.Target).Adding {
		if !e.ctx.IsLive(b) {
			return false
		}
	}
	return true
}

// processListPartitionReassignments. Kafka: KafkaController.processListPartitionReassignments.
func (e *Engine) processListPartitionReassignments(ev *model.ListPartitionReassignmentsEvent) {
	answer := &model.ListPartitionReassignmentsAnswer{}
	if !e.IsActive() {
		answer.Error = model.ErrNotController
		e.reply(ev.AskID, answer)
		return
	}
	tps := ev.Ask.Partitions
	if ev.Ask.All {
		tps = e.reassigning()
	}
	for _, tp := range tps {
		if a := e.ctx.Assignment(tp); a.IsBeingReassigned() {
			answer.Partitions = append(answer.Partitions, model.Reassignment{TopicPartition: tp, ReplicaAssignment: a})
		}
	}
	e.reply(ev.AskID, answer)
}
