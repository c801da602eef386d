package engine

import (
	"errors"

	"kstate/model"
)

// handle processes one event; the error is what Kafka would have logged as
// escaping from it. Kafka: KafkaController.process.
func (e *Engine) handle(ev model.Event) error {
	err := e.process(ev)
	switch {
	case err == nil:
		return nil
	case moved(err):
		e.logf(controllerLogger, model.Info, "controller moved to another broker when processing %s", ev)
		if resignErr := e.maybeResign(); resignErr != nil {
			return resignErr
		}
	default:
		e.logf(controllerLogger, model.Error, "error processing event %s: %v", ev, err)
		if _, taken := errors.AsType[*idTaken](err); taken && e.barred == nil {
			if barErr := e.bar(err); barErr != nil {
				return barErr
			}
		}
	}
	return err
}

func (e *Engine) process(ev model.Event) error {
	switch ev := ev.(type) {
	case *model.Startup:
		return e.processStartup()
	case *model.ControllerChange:
		return e.maybeResign()
	case *model.Reelect:
		return e.processReelect()
	case *model.RegisterBrokerAndReelect:
		return e.processRegisterBrokerAndReelect()
	case *model.Expire:
		e.answerPreempted()
		return e.processExpire()
	case *model.ShutdownEventThread:
		e.answerPreempted()
		e.resign()
		return nil
	case *model.ReplicaLeaderElection:
		return e.processReplicaLeaderElection(ev)
	case *model.ControlledShutdownEvent:
		return e.processControlledShutdown(ev)
	case *model.AlterPartitionReceived:
		return e.processAlterPartition(ev)
	case *model.ApiPartitionReassignment:
		return e.processApiPartitionReassignment(ev)
	case *model.ListPartitionReassignmentsEvent:
		e.processListPartitionReassignments(ev)
		return nil
	case *model.UpdateFeaturesEvent:
		return e.processUpdateFeatures(ev)
	case *model.ProtocolSettled:
		return e.processProtocolSettled(ev.IBP)
	case *model.AllocateProducerIDsEvent:
		return e.processAllocateProducerIDs(ev)
	}
	if !e.IsActive() {
		return nil // every other event is for the active controller only
	}
	return e.processActive(ev)
}

func (e *Engine) processActive(ev model.Event) error {
	switch ev := ev.(type) {
	case *model.BrokerChange:
		return e.processBrokerChange()
	case *model.BrokerModifications:
		return e.processBrokerModification(ev.Broker)
	case *model.TopicChange:
		return e.processTopicChange()
	case *model.PartitionModifications:
		return e.processPartitionModifications(ev.Topic)
	case *model.TopicDeletion:
		return e.processTopicDeletion()
	case *model.TopicDeletionStopReplicaResponseReceived:
		return e.processTopicDeletionStopReplicaResponse(ev)
	case *model.ZkPartitionReassignment:
		_, err := e.processZkPartitionReassignment()
		return err
	case *model.PartitionReassignmentIsrChange:
		if !e.ctx.IsBeingReassigned(ev.TopicPartition) {
			return nil
		}
		return e.maybeCompleteReassignment(ev.TopicPartition)
	case *model.AutoPreferredReplicaLeaderElection:
		return e.processAutoPreferredReplicaLeaderElection()
	case *model.UncleanLeaderElectionEnable:
		e.logf(controllerLogger, model.Info, "unclean leader election has been enabled by default")
		_, err := e.triggerOnlinePartitionStateChange("unclean election enabled by default")
		return err
	case *model.TopicUncleanLeaderElectionEnable:
		e.logf(controllerLogger, model.Info, "unclean leader election has been enabled for topic %s", ev.Topic)
		return e.triggerOnlineForTopic(ev.Topic)
	case *model.LeaderAndIsrResponseReceived:
		return e.processLeaderAndIsrResponse(ev)
	case *model.UpdateMetadataResponseReceived:
		if ev.Response.Error != model.ErrNone {
			e.logf(stateChangeLogger, model.Error, "received error %s in UpdateMetadata response from broker %d", ev.Response.Error, ev.Broker)
		}
		return nil
	case *model.LogDirEventNotification:
		return e.processLogDirEventNotification()
	case *model.IsrChangeNotification:
		return e.processIsrChangeNotification()
	case *model.OperatorTransition:
		return e.processOperatorTransition(ev)
	case *model.OperatorElection:
		return e.processOperatorElection(ev)
	}
	return illegalf("no handler for event %s", ev)
}
