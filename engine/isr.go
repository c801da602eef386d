package engine

import (
	"fmt"
	"slices"

	"kstate/model"
)

// processIsrChangeNotification: leaders of old inter-broker protocols wrote new
// ISRs and say so. The notices are deleted whatever happens.
// Kafka: KafkaController.processIsrChangeNotification.
func (e *Engine) processIsrChangeNotification() error {
	names, err := e.notifications(model.IsrChangeNotificationPath)
	if err != nil {
		return err
	}
	err = e.followIsrChanges(names)
	if dropErr := e.deleteNotifications(model.IsrChangeNotificationPath, names); dropErr != nil {
		return dropErr
	}
	return err
}

func (e *Engine) followIsrChanges(names []string) error {
	tps, err := e.readIsrChanges(names)
	if err != nil || len(tps) == 0 {
		return err
	}
	slices.SortFunc(tps, model.TopicPartition.Compare)
	moving := slices.DeleteFunc(slices.Clone(tps), func(tp model.TopicPartition) bool { return !e.ctx.IsBeingReassigned(tp) })
	tps = slices.Compact(tps)
	if err := e.cacheStates(tps); err != nil {
		return err
	}
	e.logf(controllerLogger, model.Debug, "sending MetadataRequest to brokers for %d partitions", len(tps))
	if err := e.sendUpdateMetadata(e.ctx.LiveOrShuttingDown(), tps); err != nil {
		return err
	}
	for _, tp := range moving { // one that two notices name is completed twice
		if err := e.maybeCompleteReassignment(tp); err != nil {
			return err
		}
	}
	return nil
}

// readIsrChanges lists the partitions that notices name, as often as they do.
// Kafka: KafkaZkClient.getPartitionsFromIsrChangeNotifications.
func (e *Engine) readIsrChanges(names []string) ([]model.TopicPartition, error) {
	var tps []model.TopicPartition
	err := e.readNotifications(model.IsrChangeNotificationPath, names, func(path string, data []byte) error {
		list, err := model.DecodeIsrChange(path, data)
		tps = append(tps, list...)
		return err
	})
	return tps, err
}

// readNotifications reads the notices of those names that are still there.
func (e *Engine) readNotifications(parent string, names []string, read func(path string, data []byte) error) error {
	ops := make([]model.Op, len(names))
	for i, n := range names {
		ops[i] = e.getOp(parent + "/" + n)
	}
	results, err := e.call("get_notification", ops)
	if err != nil {
		return err
	}
	for i := range results {
		switch results[i].Code {
		case model.CodeOK:
			if err := read(ops[i].Path, results[i].Data); err != nil {
				return err
			}
		case model.CodeNoNode:
		default:
			return &keeperError{results[i].Code, "get " + ops[i].Path}
		}
	}
	return nil
}

// completeReassigned checks whether reassignments among the partitions are complete.
func (e *Engine) completeReassigned(tps []model.TopicPartition) error {
	for _, tp := range tps {
		if !e.ctx.IsBeingReassigned(tp) {
			continue
		}
		if err := e.maybeCompleteReassignment(tp); err != nil {
			return err
		}
	}
	return nil
}

// lastOfEach keeps of entries with the same key the last one: Kafka puts them into a map.
func lastOfEach[T any, K comparable](list []T, key func(*T) K) []T {
	at := make(map[K]int, len(list))
	out := make([]T, 0, len(list))
	for i := range list {
		k := key(&list[i])
		if j, twice := at[k]; twice {
			out[j] = list[i]
			continue
		}
		at[k] = len(out)
		out = append(out, list[i])
	}
	return out
}

// proposal is one partition of an AlterPartition request.
type proposal struct {
	tp     model.TopicPartition
	id     model.Uuid
	record model.LeaderAndIsr
	result model.AlterPartitionResult
	write  bool
}

// processAlterPartition: every failure, that the controller moved included, is
// answered as an unknown server error and does not escape; reassignments are
// completed after the answer. Kafka: KafkaController.processAlterPartition.
func (e *Engine) processAlterPartition(ev *model.AlterPartitionReceived) error {
	if code := e.mayAlterPartition(ev.Ask); code != model.ErrNone {
		e.reply(ev.AskID, &model.AlterPartitionAnswer{Error: code})
		return nil
	}
	ps, err := e.tryAlterPartition(ev)
	if err != nil {
		e.logf(controllerLogger, model.Error, "error when processing AlterPartition for partitions of broker %d: %v", ev.Ask.BrokerID, err)
		e.reply(ev.AskID, &model.AlterPartitionAnswer{Error: model.ErrUnknownServerError})
		return nil
	}
	var done []model.TopicPartition
	for _, p := range ps {
		if p.result.Error == model.ErrNone {
			done = append(done, p.tp)
		}
	}
	return e.completeReassigned(sortTPs(done))
}

func (e *Engine) mayAlterPartition(a *model.AlterPartition) model.KafkaError {
	if !e.IsActive() {
		return model.ErrNotController
	}
	if b := e.ctx.Broker(a.BrokerID); b == nil || b.Epoch != a.BrokerEpoch {
		e.logf(controllerLogger, model.Info, "ignoring AlterPartition due to stale broker epoch %d of broker %d", a.BrokerEpoch, a.BrokerID)
		return model.ErrStaleBrokerEpoch
	}
	return model.ErrNone
}

// tryAlterPartition judges, writes, answers. Kafka: KafkaController.tryProcessAlterPartition.
func (e *Engine) tryAlterPartition(ev *model.AlterPartitionReceived) ([]*proposal, error) {
	ps, err := e.judgeProposals(ev.Ask)
	if err != nil {
		return nil, err
	}
	var writes []stateWrite
	for _, p := range ps {
		if p.write {
			writes = append(writes, stateWrite{p.tp, p.record})
		}
	}
	finished, _, err := e.updateLeaderAndIsr(writes)
	if err != nil {
		return nil, err
	}
	var touched, done []model.TopicPartition
	for _, p := range ps {
		if p.tp.Topic != "" {
			touched = append(touched, p.tp)
		}
		if !p.write {
			continue
		}
		r, ok := finished[p.tp]
		switch {
		case !ok:
			p.result.Error = model.ErrInvalidUpdateVersion
		case r.err != nil:
			p.result.Error = kafkaErrorOf(r.err)
		default:
			p.result.Leadership = &model.LeaderIsrAndControllerEpoch{LeaderAndIsr: r.record, ControllerEpoch: e.ctx.Epoch}
			done = append(done, p.tp)
		}
	}
	if err := e.cacheStates(sortTPs(done)); err != nil {
		return nil, err
	}
	if err := e.sendUpdateMetadata(e.ctx.LiveOrShuttingDown(), sortTPs(touched)); err != nil {
		return nil, err
	}
	answer := &model.AlterPartitionAnswer{}
	for _, p := range ps {
		answer.Partitions = append(answer.Partitions, p.result)
	}
	e.reply(ev.AskID, answer)
	return ps, nil
}

// judgeProposals finds the error of each partition, or that it is to be written.
// A recovery state that does not exist is an error of the whole request.
func (e *Engine) judgeProposals(a *model.AlterPartition) ([]*proposal, error) {
	ps := make([]*proposal, 0, len(a.Partitions))
	for _, x := range lastOfEach(a.Partitions, func(x *model.AlterPartitionEntry) any { return [2]any{x.TopicPartition, x.TopicID} }) {
		p := &proposal{tp: x.TopicPartition, id: x.TopicID}
		if a.Version >= 2 {
			p.tp.Topic = e.ctx.TopicName(x.TopicID)
		}
		p.record = model.LeaderAndIsr{Leader: a.BrokerID, LeaderEpoch: x.LeaderEpoch, ISR: x.ISR, Recovery: x.Recovery, PartitionEpoch: x.PartitionEpoch}
		p.result = model.AlterPartitionResult{TopicPartition: p.tp, TopicID: x.TopicID}
		if a.Version >= 2 && p.tp.Topic == "" {
			p.result.Error = model.ErrUnknownTopicID
		} else if x.Recovery != model.Recovered && x.Recovery != model.Recovering {
			return nil, &illegalArgument{fmt.Sprintf("value %d is not a valid leader recovery state", x.Recovery)}
		} else {
			e.judgeProposal(p, a.Version)
		}
		ps = append(ps, p)
	}
	return ps, nil
}

func (e *Engine) judgeProposal(p *proposal, version int16) {
	current := e.ctx.Leadership(p.tp)
	want := p.record
	switch {
	case current == nil:
		p.result.Error = model.ErrUnknownTopicOrPartition
	case want.PartitionEpoch > current.PartitionEpoch || want.LeaderEpoch > current.LeaderEpoch:
		p.result.Error = model.ErrNotController // the sender knows a newer controller
	case want.LeaderEpoch < current.LeaderEpoch:
		p.result.Error = model.ErrFencedLeaderEpoch
	case want.Leader == current.Leader && slices.Equal(want.ISR, current.ISR) && want.Recovery == current.Recovery:
		p.result.Leadership = current // nothing to change; an older partition epoch is fine
	case want.PartitionEpoch < current.PartitionEpoch:
		p.result.Error = model.ErrInvalidUpdateVersion
	case want.Recovery == model.Recovering && len(want.ISR) > 1:
		p.result.Error = model.ErrInvalidRequest
	case current.Recovery == model.Recovered && want.Recovery == model.Recovering:
		p.result.Error = model.ErrInvalidRequest
	case slices.ContainsFunc(want.ISR, func(b int32) bool { return !e.ctx.IsLive(b) }):
		p.result.Error = model.ErrIneligibleReplica
		if version < 2 {
			p.result.Error = model.ErrOperationNotAttempted
		}
	default:
		p.write = true
	}
}
