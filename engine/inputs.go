package engine

import (
	"slices"

	"kstate/model"
)

// rebalanceAlarm is the timer of the automatic preferred leader check.
const rebalanceAlarm = "auto-leader-rebalance"

// Accept queues what an input means. Inputs that nobody listens to are dropped,
// as Kafka's client drops a watch event without a handler.
func (e *Engine) Accept(in model.Input) {
	e.now = max(e.now, in.At)
	cause := in.Of.String()
	switch s := in.Of.(type) {
	case *model.Started:
		e.session, e.registeredIn = s.Session, s.Session
		e.put(&model.Startup{}, cause)
	case *model.Stopping:
		e.clearAndPut(&model.ShutdownEventThread{}, cause)
	case *model.WatchFired:
		e.watchFired(s, cause)
	case *model.SessionExpired:
		e.clearAndPut(&model.Expire{}, cause)
	case *model.SessionRenewed:
		e.session = s.Session
		e.put(&model.RegisterBrokerAndReelect{}, cause)
	case *model.Responded:
		e.responded(s, cause)
	case *model.AlarmRang:
		if s.Name == rebalanceAlarm {
			e.put(&model.AutoPreferredReplicaLeaderElection{}, cause)
		} else {
			e.requestTimedOut(s.Name)
		}
	case *model.Asked:
		e.asked(s, cause)
	case *model.ProtocolLearned:
		e.put(&model.ProtocolSettled{IBP: s.IBP}, cause)
	case *model.UncleanEnabled:
		e.uncleanEnabled(s.Topic, cause)
	case *model.UncleanDisabled: // no event in Kafka: elections read the setting
		e.setUncleanDefault("false")
	case *model.OperatorMoves:
		e.put(&model.OperatorTransition{Transition: s.Transition}, cause)
	case *model.OperatorElects:
		tps := slices.Clone(s.Partitions)
		e.put(&model.OperatorElection{Strategy: s.Strategy, Partitions: sortTPs(tps)}, cause)
	}
	e.propose()
}

// watchFired finds the event of a watch. Kafka: ZooKeeperClientWatcher.process
// and the handler classes of KafkaController.
func (e *Engine) watchFired(w *model.WatchFired, cause string) {
	if w.Kind == model.NodeChildrenChanged {
		if e.childHandlers[w.Path] {
			e.childrenChanged(w.Path, cause)
		}
		return
	}
	if !e.nodeHandlers[w.Path] {
		return
	}
	changed := w.Kind == model.NodeDataChanged
	created := w.Kind == model.NodeCreated
	switch ref := model.ParsePath(w.Path); ref.Kind {
	case model.ControllerZnode:
		if w.Kind == model.NodeDeleted {
			e.put(&model.Reelect{}, cause)
		} else {
			e.put(&model.ControllerChange{}, cause)
		}
	case model.BrokerZnode:
		if changed {
			e.put(&model.BrokerModifications{Broker: ref.Broker}, cause)
		}
	case model.TopicZnode:
		if changed {
			e.put(&model.PartitionModifications{Topic: ref.Topic}, cause)
		}
	case model.PartitionStateZnode:
		if changed {
			e.put(&model.PartitionReassignmentIsrChange{TopicPartition: ref.TopicPartition()}, cause)
		}
	case model.ReassignPartitionsZnode:
		if created {
			e.put(&model.ZkPartitionReassignment{}, cause)
		}
	case model.PreferredReplicaElectionZnode:
		if created {
			e.put(&model.ReplicaLeaderElection{Trigger: model.ZkTriggered}, cause)
		}
	}
}

func (e *Engine) childrenChanged(path, cause string) {
	switch path {
	case model.BrokerIDsPath:
		e.put(&model.BrokerChange{}, cause)
	case model.TopicsPath:
		e.put(&model.TopicChange{}, cause)
	case model.DeleteTopicsPath:
		e.put(&model.TopicDeletion{}, cause)
	case model.LogDirEventNotificationPath:
		e.put(&model.LogDirEventNotification{}, cause)
	case model.IsrChangeNotificationPath:
		e.put(&model.IsrChangeNotification{}, cause)
	}
}

// responded queues the event of a broker's answer. Whether a StopReplica answer
// matters is decided now, when it arrives, as in Kafka.
// Kafka: ControllerBrokerRequestBatch.handle...Response, sendStopReplicaRequests (callback).
func (e *Engine) responded(r *model.Responded, cause string) {
	switch req := r.Request.(type) {
	case *model.LeaderAndIsrRequest:
		e.put(&model.LeaderAndIsrResponseReceived{Broker: r.Broker, Response: r.Response}, cause)
	case *model.UpdateMetadataRequest:
		e.metadataTaken(req)
		e.put(&model.UpdateMetadataResponseReceived{Broker: r.Broker, Response: r.Response}, cause)
	case *model.StopReplicaRequest:
		if !req.Callback {
			return
		}
		var wanted []model.PartitionError
		for _, p := range r.Response.Partitions {
			if e.ctx.TopicsWithDeletionStarted.Has(p.Topic) && deletes(req, p.TopicPartition) {
				wanted = append(wanted, p)
			}
		}
		if len(wanted) > 0 {
			slices.SortFunc(wanted, func(a, b model.PartitionError) int { return a.Compare(b.TopicPartition) })
			e.put(&model.TopicDeletionStopReplicaResponseReceived{Broker: r.Broker, Error: r.Response.Error, Partitions: wanted}, cause)
		}
	}
}

// deletes tells whether a request asks to delete that partition; its entries are sorted.
func deletes(r *model.StopReplicaRequest, tp model.TopicPartition) bool {
	i, ok := slices.BinarySearchFunc(r.Entries, tp, func(x model.StopReplicaEntry, tp model.TopicPartition) int { return x.Compare(tp) })
	return ok && r.Entries[i].Delete
}

func (e *Engine) asked(s *model.Asked, cause string) {
	e.asks[s.ID] = s.Ask
	switch a := s.Ask.(type) {
	case *model.AlterPartition:
		e.put(&model.AlterPartitionReceived{AskID: s.ID, Ask: a}, cause)
	case *model.ControlledShutdown:
		e.put(&model.ControlledShutdownEvent{AskID: s.ID, Ask: a}, cause)
	case *model.ElectLeaders:
		e.put(&model.ReplicaLeaderElection{AskID: s.ID, Ask: a, Trigger: model.AdminClientTriggered}, cause)
	case *model.AlterPartitionReassignments:
		e.put(&model.ApiPartitionReassignment{AskID: s.ID, Ask: a}, cause)
	case *model.ListPartitionReassignments:
		e.put(&model.ListPartitionReassignmentsEvent{AskID: s.ID, Ask: a}, cause)
	case *model.AllocateProducerIDs:
		e.put(&model.AllocateProducerIDsEvent{AskID: s.ID, Ask: a}, cause)
	case *model.UpdateFeatures:
		e.put(&model.UpdateFeaturesEvent{AskID: s.ID, Ask: a}, cause)
	case *model.CreateTopics:
		e.startAside(s.ID, func() { e.createTopics(s.ID, a) })
	case *model.DeleteTopics:
		e.startAside(s.ID, func() { e.deleteTopics(s.ID, a) })
	case *model.CreatePartitions:
		e.startAside(s.ID, func() { e.createPartitions(s.ID, a) })
	}
}

// uncleanEnabled: the broker's own setting is on from now on, or that of a topic,
// which stands in its znode. The per-topic event is queued only while active.
// Kafka: KafkaController.enableTopicUncleanLeaderElection, enableDefaultUncleanLeaderElection,
// DynamicLogConfig.reconfigure.
func (e *Engine) uncleanEnabled(topic, cause string) {
	if topic == "" {
		e.setUncleanDefault("true")
		e.put(&model.UncleanLeaderElectionEnable{}, cause)
	} else if e.IsActive() {
		e.put(&model.TopicUncleanLeaderElectionEnable{Topic: topic}, cause)
	}
}

// setUncleanDefault changes the broker's own setting, in a map of its own: the
// one before may be looked at.
func (e *Engine) setUncleanDefault(value string) {
	settings := map[string]string{}
	for k, v := range e.cfg.BrokerConfig {
		settings[k] = v
	}
	settings[uncleanKey] = value
	e.cfg.BrokerConfig = settings
}

// preempt notes what a cleared event owes its caller. Events whose callers get
// nothing in Kafka get nothing here. Kafka: the preempt methods of ControllerEvent.
func (e *Engine) preempt(ev model.Event) {
	owe := func(id uint64, a model.Answer) {
		if ask, ok := e.asks[id]; ok {
			e.preempted = append(e.preempted, model.Reply{Ask: id, Name: ask.AskName(), Answer: a})
		}
	}
	switch ev := ev.(type) {
	case *model.ControlledShutdownEvent:
		owe(ev.AskID, &model.ControlledShutdownAnswer{Error: model.ErrStaleControllerEpoch})
	case *model.ApiPartitionReassignment:
		owe(ev.AskID, &model.AlterPartitionReassignmentsAnswer{Error: model.ErrNotController})
	case *model.ListPartitionReassignmentsEvent:
		owe(ev.AskID, &model.ListPartitionReassignmentsAnswer{Error: model.ErrNotController})
	case *model.ReplicaLeaderElection:
		if ev.Ask != nil {
			owe(ev.AskID, notController(ev.Ask))
		}
	case *model.AlterPartitionReceived:
		delete(e.asks, ev.AskID)
	case *model.UpdateFeaturesEvent:
		delete(e.asks, ev.AskID)
	case *model.AllocateProducerIDsEvent:
		delete(e.asks, ev.AskID)
	}
}

// answerPreempted gives preempted callers their answers.
func (e *Engine) answerPreempted() {
	owed := e.preempted
	e.preempted = nil
	for i := range owed {
		delete(e.asks, owed[i].Ask)
		e.step(&owed[i])
	}
}

func notController(a *model.ElectLeaders) *model.ElectLeadersAnswer {
	var out model.ElectLeadersAnswer
	for _, tp := range a.Partitions {
		out.Results = append(out.Results, model.ElectionResult{TopicPartition: tp, Error: model.ErrNotController, Leader: model.NoLeader})
	}
	return &out
}

func sortTPs(tps []model.TopicPartition) []model.TopicPartition {
	slices.SortFunc(tps, model.TopicPartition.Compare)
	return slices.Compact(tps)
}
