package engine

import (
	"fmt"
	"maps"
	"slices"

	"kstate/model"
)

// batch collects the requests of one machine's transitions until they are
// flushed. Entries are kept per partition: the last one added wins, but isNew
// and delete stay once set. Kafka: AbstractControllerBrokerRequestBatch.
type batch struct {
	e       *Engine
	machine model.Machine

	leaderAndIsr map[int32]*entries[model.LeaderAndIsrEntry]
	stopReplica  map[int32]*entries[model.StopReplicaEntry]
	metadata     entries[model.UpdateMetadataEntry]
	metadataTo   map[int32]bool
	toAll        bool // all registered brokers are in metadataTo
	expect       int  // subjects of the transition at work: how large collections may get
}

func newBatch(e *Engine, m model.Machine) *batch {
	b := &batch{e: e, machine: m}
	b.clear()
	return b
}

func (b *batch) empty() bool {
	return len(b.leaderAndIsr) == 0 && len(b.stopReplica) == 0 && len(b.metadataTo) == 0
}

// subjects says what is in the batch, in a few words.
func (b *batch) subjects() string {
	return fmt.Sprintf("LeaderAndIsr to %v, StopReplica to %v, UpdateMetadata to %v", ids(b.leaderAndIsr), ids(b.stopReplica), ids(b.metadataTo))
}

// clear drops everything collected. Kafka: AbstractControllerBrokerRequestBatch.clear.
func (b *batch) clear() {
	b.leaderAndIsr = map[int32]*entries[model.LeaderAndIsrEntry]{}
	b.stopReplica = map[int32]*entries[model.StopReplicaEntry]{}
	b.clearMetadata()
}

func (b *batch) clearMetadata() {
	b.metadata, b.metadataTo, b.toAll = entries[model.UpdateMetadataEntry]{}, map[int32]bool{}, false
}

// open starts to collect; leftovers of an earlier collection are an illegal state.
// Kafka: AbstractControllerBrokerRequestBatch.newBatch.
func (b *batch) open(target string, subjects int) error {
	b.e.step(&model.OpenBatch{Machine: b.machine, Target: target, Subjects: subjects})
	b.expect = subjects
	switch {
	case len(b.leaderAndIsr) > 0:
		return illegalf("%s: the request batch is not empty while creating a new one: LeaderAndIsr changes for brokers %v might be lost (KAFKA-12315)", b.machine, ids(b.leaderAndIsr))
	case len(b.stopReplica) > 0:
		return illegalf("%s: the request batch is not empty while creating a new one: StopReplica changes for brokers %v might be lost (KAFKA-12315)", b.machine, ids(b.stopReplica))
	case len(b.metadataTo) > 0:
		return illegalf("%s: the request batch is not empty while creating a new one: UpdateMetadata changes for brokers %v might be lost (KAFKA-12315)", b.machine, ids(b.metadataTo))
	}
	return nil
}

func ids[V any](m map[int32]V) []int32 { return slices.Sorted(maps.Keys(m)) }

// addLeaderAndIsr adds a partition for each broker, and its metadata for all.
// Kafka: addLeaderAndIsrRequestForBrokers.
func (b *batch) addLeaderAndIsr(brokers []int32, tp model.TopicPartition, l *model.LeaderIsrAndControllerEpoch, a *model.ReplicaAssignment, isNew bool) {
	entry := model.LeaderAndIsrEntry{TopicPartition: tp, Leadership: l, Assignment: a}
	if t := b.e.ctx.Topic(tp.Topic); t != nil {
		entry.TopicID = t.ID
	}
	if b.e.cfg.IBP.LeaderRecovery() {
		entry.Recovery = l.Recovery
	}
	for _, id := range brokers {
		if id < 0 {
			continue
		}
		set := b.leaderAndIsr[id]
		if set == nil {
			set = &entries[model.LeaderAndIsrEntry]{}
			b.leaderAndIsr[id] = set
		}
		x := set.at(tp, b.expect/max(1, len(b.e.ctx.Brokers())))
		entry.IsNew = isNew || x.IsNew
		*x = entry
	}
	b.addMetadataForAll(tp)
}

// addStopReplica adds a partition for a broker; its leader epoch is taken now.
// Kafka: addStopReplicaRequestForBrokers.
func (b *batch) addStopReplica(broker int32, tp model.TopicPartition, remove bool) {
	if broker < 0 {
		return
	}
	set := b.stopReplica[broker]
	if set == nil {
		set = &entries[model.StopReplicaEntry]{}
		b.stopReplica[broker] = set
	}
	x := set.at(tp, 0)
	*x = model.StopReplicaEntry{TopicPartition: tp, LeaderEpoch: b.e.stopEpoch(tp), Delete: remove || x.Delete}
}

// stopEpoch is the leader epoch that StopReplica carries. Kafka: ControllerContext.leaderEpoch.
func (e *Engine) stopEpoch(tp model.TopicPartition) int32 {
	if e.ctx.IsQueued(tp.Topic) {
		return model.EpochDuringDelete
	}
	if l := e.ctx.Leadership(tp); l != nil {
		return l.LeaderEpoch
	}
	return model.NoEpoch
}

// addMetadataForAll adds partitions to the metadata for all registered brokers.
func (b *batch) addMetadataForAll(tps ...model.TopicPartition) {
	if !b.toAll {
		for _, id := range b.e.ctx.LiveOrShuttingDown() {
			b.metadataTo[id] = true
		}
		b.toAll = true
	}
	for _, tp := range tps {
		b.addMetadataEntry(tp)
	}
}

// addMetadata adds partitions to the metadata; all receivers get the same.
// Kafka: addUpdateMetadataRequestForBrokers.
func (b *batch) addMetadata(brokers []int32, tps []model.TopicPartition) {
	for _, id := range brokers {
		if id >= 0 {
			b.metadataTo[id] = true
		}
	}
	for _, tp := range tps {
		b.addMetadataEntry(tp)
	}
}

func (b *batch) addMetadataEntry(tp model.TopicPartition) {
	v := b.e.ctx
	t := v.Topic(tp.Topic)
	p := t.Partition(tp.Partition)
	if p == nil || p.Leadership == nil {
		b.e.logf(controllerLogger, model.Info, "leader not yet assigned for partition %s: skip sending UpdateMetadata", tp)
		return
	}
	entry := model.UpdateMetadataEntry{TopicPartition: tp, TopicID: t.ID, Leadership: p.Leadership}
	if p.Assignment != nil {
		entry.Replicas = p.Assignment.Replicas
	}
	for i, r := range entry.Replicas {
		if !v.IsReplicaOnline(r, tp, false) {
			if entry.Offline == nil {
				entry.Offline = make([]int32, 0, len(entry.Replicas)-i)
			}
			entry.Offline = append(entry.Offline, r)
		}
	}
	if v.IsQueued(tp.Topic) {
		entry.Leadership = &model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.DuringDelete(p.Leadership.ISR), ControllerEpoch: p.Leadership.ControllerEpoch}
	}
	*b.metadata.at(tp, b.expect/3) = entry
}

// flush queues everything collected: all LeaderAndIsr, then all UpdateMetadata,
// then all StopReplica. Only registered brokers get something. After a failure
// what was not reached stays in the batch. Kafka: sendRequestsToBrokers.
func (b *batch) flush() error {
	b.e.step(&model.CloseBatch{Machine: b.machine, LeaderAndIsr: b.registered(ids(b.leaderAndIsr)), StopReplica: b.registered(ids(b.stopReplica)),
		UpdateMetadata: b.registered(ids(b.metadataTo)), Partitions: len(b.metadata.list)})
	if err := b.flushLeaderAndIsr(); err != nil {
		b.e.logf(controllerLogger, model.Error, "%s: %v; not sent: LeaderAndIsr to %v, UpdateMetadata to %v, StopReplica to %v",
			b.machine, err, ids(b.leaderAndIsr), ids(b.metadataTo), ids(b.stopReplica))
		return illegalf("%v", err)
	}
	b.flushMetadata()
	b.flushStopReplica()
	return nil
}

func (b *batch) registered(ids []int32) int {
	return len(keep(ids, b.e.ctx.IsLiveOrShuttingDown))
}

func (b *batch) header(version int16, broker int32) model.RequestHeader {
	return model.RequestHeader{Version: version, ControllerID: b.e.cfg.ID, ControllerEpoch: b.e.ctx.Epoch, BrokerEpoch: b.e.ctx.Broker(broker).Epoch}
}

func (b *batch) flushLeaderAndIsr() error {
	version := b.e.cfg.IBP.LeaderAndIsrVersion()
	for _, id := range ids(b.leaderAndIsr) {
		if !b.e.ctx.IsLiveOrShuttingDown(id) {
			continue
		}
		leaders, err := b.liveLeaders(b.leaderAndIsr[id].list)
		if err != nil {
			return err
		}
		list := b.leaderAndIsr[id].sorted()
		b.e.send(id, &model.LeaderAndIsrRequest{RequestHeader: b.header(version, id), Entries: list, LiveLeaders: leaders})
	}
	clear(b.leaderAndIsr)
	return nil
}

// liveLeaders are the registered brokers that lead one of the partitions.
func (b *batch) liveLeaders(list []model.LeaderAndIsrEntry) ([]model.LiveLeader, error) {
	leads := map[int32]bool{}
	for i := range list {
		leads[list[i].Leadership.Leader] = true
	}
	var out []model.LiveLeader
	for _, broker := range b.e.ctx.Brokers() {
		if !leads[broker.ID] {
			continue
		}
		ep, ok := broker.Endpoint(b.e.cfg.InterBrokerListener)
		if !ok {
			return nil, &noEndpoint{broker.ID, b.e.cfg.InterBrokerListener}
		}
		out = append(out, model.LiveLeader{ID: broker.ID, Host: ep.Host, Port: ep.Port})
	}
	return out, nil
}

func (b *batch) flushMetadata() {
	receivers := ids(b.metadataTo)
	list := b.metadata.take()
	b.clearMetadata()
	version := b.e.cfg.IBP.UpdateMetadataVersion()
	live := b.e.ctx.Brokers()
	if b.e.cfg.Self != nil && b.e.ctx.Broker(b.e.cfg.Self.ID) == nil {
		live = append(slices.Clone(live), b.e.selfWithRack())
		slices.SortFunc(live, func(a, b model.Broker) int { return int(a.ID) - int(b.ID) })
	}
	sent := map[*model.UpdateMetadataRequest]int32{}
	for _, id := range receivers {
		if b.e.ctx.IsLiveOrShuttingDown(id) {
			r := &model.UpdateMetadataRequest{RequestHeader: b.header(version, id), Entries: list, LiveBrokers: live}
			sent[r] = id
			b.e.send(id, r)
		}
	}
	b.e.metadataSent(list, sent)
}

func (b *batch) flushStopReplica() {
	version := b.e.cfg.IBP.StopReplicaVersion()
	for _, id := range ids(b.stopReplica) {
		if !b.e.ctx.IsLiveOrShuttingDown(id) {
			continue
		}
		list := b.stopReplica[id].take()
		if version >= 3 {
			b.e.send(id, &model.StopReplicaRequest{RequestHeader: b.header(version, id), Entries: list, Callback: true})
			continue
		}
		var remove, stop []model.StopReplicaEntry
		for _, x := range list {
			if x.Delete {
				remove = append(remove, x)
			} else {
				stop = append(stop, x)
			}
		}
		if len(remove) > 0 {
			b.e.send(id, &model.StopReplicaRequest{RequestHeader: b.header(version, id), Entries: remove, Callback: true})
		}
		if len(stop) > 0 {
			b.e.send(id, &model.StopReplicaRequest{RequestHeader: b.header(version, id), Entries: stop})
		}
	}
	clear(b.stopReplica)
}

// show lists what is collected, at most max entries.
func (b *batch) show(max int) *model.OpenRequests {
	out := &model.OpenRequests{Machine: b.machine, Total: len(b.metadata.list)}
	add := func(broker int32, k model.RequestKind, text func() string) {
		if len(out.Entries) < max {
			out.Entries = append(out.Entries, model.BatchEntry{Broker: broker, Kind: k, Text: text()})
		}
	}
	for _, id := range ids(b.leaderAndIsr) {
		out.Total += len(b.leaderAndIsr[id].list)
		for i := range b.leaderAndIsr[id].list {
			add(id, model.LeaderAndIsrKind, b.leaderAndIsr[id].list[i].String)
			if len(out.Entries) == max {
				break
			}
		}
	}
	for i := range b.metadata.list[:min(max, len(b.metadata.list))] {
		add(-1, model.UpdateMetadataKind, b.metadata.list[i].String)
	}
	for _, id := range ids(b.stopReplica) {
		out.Total += len(b.stopReplica[id].list)
		for i := range b.stopReplica[id].list {
			add(id, model.StopReplicaKind, b.stopReplica[id].list[i].String)
			if len(out.Entries) == max {
				break
			}
		}
	}
	return out
}
