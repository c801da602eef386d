package model

import "fmt"

// ControllerState is what the controller is busy with while an event runs.
// The values are Kafka's. Kafka: kafka.controller.ControllerState.
type ControllerState uint8

const (
	StateIdle ControllerState = iota
	StateControllerChange
	StateBrokerChange
	StateTopicChange
	StateTopicDeletion
	StateAlterPartitionReassignment
	StateAutoLeaderBalance
	StateManualLeaderBalance
	StateControlledShutdown
	StateIsrChange
	StateLeaderAndIsrResponseReceived
	StateLogDirChange
	StateControllerShutdown
	StateUncleanLeaderElectionEnable
	StateTopicUncleanLeaderElectionEnable
	StateListPartitionReassignment
	StateUpdateMetadataResponseReceived
	StateUpdateFeatures
)

var controllerStateNames = [...]string{"Idle", "ControllerChange", "BrokerChange", "TopicChange", "TopicDeletion",
	"AlterPartitionReassignment", "AutoLeaderBalance", "ManualLeaderBalance", "ControlledShutdown", "IsrChange",
	"LeaderAndIsrResponseReceived", "LogDirChange", "ControllerShutdown", "UncleanLeaderElectionEnable",
	"TopicUncleanLeaderElectionEnable", "ListPartitionReassignment", "UpdateMetadataResponseReceived", "UpdateFeatures"}

// String is Kafka's name of the state.
func (s ControllerState) String() string { return controllerStateNames[s] }

// Timer is the name of the state's rate-and-time metric; empty when it has none.
func (s ControllerState) Timer() string {
	switch s {
	case StateIdle, StateUpdateMetadataResponseReceived:
		return ""
	case StateBrokerChange:
		return "LeaderElectionRateAndTimeMs"
	case StateAlterPartitionReassignment:
		return "PartitionReassignmentRateAndTimeMs"
	}
	return s.String() + "RateAndTimeMs"
}

// Event is one entry of the controller's queue. Kafka: kafka.controller.ControllerEvent.
type Event interface {
	// String is Kafka's name of the event, with what it concerns.
	String() string
	State() ControllerState
}

// QueuedEvent is an event with its place in the queue. Seq numbers all events
// of an engine from 1; Cause is the input that made it.
type QueuedEvent struct {
	Seq        uint64
	Event      Event
	EnqueuedAt int64 // ms since 1970
	Cause      string
}

// The controller's events. AskID is the number under which a client's or
// broker's request is answered.
type (
	Startup                            struct{}
	ControllerChange                   struct{}
	Reelect                            struct{}
	RegisterBrokerAndReelect           struct{}
	Expire                             struct{}
	ShutdownEventThread                struct{}
	BrokerChange                       struct{}
	BrokerModifications                struct{ Broker int32 }
	TopicChange                        struct{}
	PartitionModifications             struct{ Topic string }
	TopicDeletion                      struct{}
	ZkPartitionReassignment            struct{}
	PartitionReassignmentIsrChange     struct{ TopicPartition }
	AutoPreferredReplicaLeaderElection struct{}
	UncleanLeaderElectionEnable        struct{}
	TopicUncleanLeaderElectionEnable   struct{ Topic string }
	LogDirEventNotification            struct{}
	IsrChangeNotification              struct{}

	// TopicDeletionStopReplicaResponseReceived: a broker answered the deletion of replicas.
	TopicDeletionStopReplicaResponseReceived struct {
		Broker     int32
		Error      KafkaError
		Partitions []PartitionError
	}
	LeaderAndIsrResponseReceived struct {
		Broker   int32
		Response ControlResponse
	}
	UpdateMetadataResponseReceived struct {
		Broker   int32
		Response ControlResponse
	}
	ApiPartitionReassignment struct {
		AskID uint64
		Ask   *AlterPartitionReassignments
	}
	ListPartitionReassignmentsEvent struct {
		AskID uint64
		Ask   *ListPartitionReassignments
	}
	// ReplicaLeaderElection: Ask is nil when the znode asked (Trigger is ZkTriggered).
	ReplicaLeaderElection struct {
		AskID   uint64
		Ask     *ElectLeaders
		Trigger ElectionTrigger
	}
	ControlledShutdownEvent struct {
		AskID uint64
		Ask   *ControlledShutdown
	}
	AlterPartitionReceived struct {
		AskID uint64
		Ask   *AlterPartition
	}
	UpdateFeaturesEvent struct {
		AskID uint64
		Ask   *UpdateFeatures
	}
	AllocateProducerIDsEvent struct {
		AskID uint64
		Ask   *AllocateProducerIDs
	}
	// ProtocolSettled: the first brokers have said what they speak, where the
	// inter-broker protocol is not configured; Kafka has no such event.
	ProtocolSettled struct{ IBP InterBrokerProtocol }
	// OperatorTransition has a machine refuse a transition because kstate's operator
	// asked; Kafka has no such event.
	OperatorTransition struct{ Transition }
	// OperatorElection runs one strategy on chosen partitions because kstate's
	// operator asked; Kafka has no such event.
	OperatorElection struct {
		Strategy   Strategy
		Partitions []TopicPartition
	}
)

// ElectionTrigger is who asked for an election.
type ElectionTrigger uint8

const (
	AdminClientTriggered ElectionTrigger = iota + 1
	ZkTriggered
	AutoTriggered
)

var triggerNames = [...]string{"", "AdminClientTriggered", "ZkTriggered", "AutoTriggered"}

// String is Kafka's name of the trigger.
func (t ElectionTrigger) String() string { return triggerNames[t] }

func (*Startup) String() string                  { return "Startup" }
func (*ControllerChange) String() string         { return "ControllerChange" }
func (*Reelect) String() string                  { return "Reelect" }
func (*RegisterBrokerAndReelect) String() string { return "RegisterBrokerAndReelect" }
func (*Expire) String() string                   { return "Expire" }
func (*ShutdownEventThread) String() string      { return "ShutdownEventThread" }
func (*BrokerChange) String() string             { return "BrokerChange" }
func (e *BrokerModifications) String() string {
	return fmt.Sprintf("BrokerModifications(%d)", e.Broker)
}
func (*TopicChange) String() string              { return "TopicChange" }
func (e *PartitionModifications) String() string { return "PartitionModifications(" + e.Topic + ")" }
func (*TopicDeletion) String() string            { return "TopicDeletion" }
func (e *TopicDeletionStopReplicaResponseReceived) String() string {
	return fmt.Sprintf("TopicDeletionStopReplicaResponseReceived(broker %d, %d partitions)", e.Broker, len(e.Partitions))
}
func (*ZkPartitionReassignment) String() string { return "ZkPartitionReassignment" }
func (e *ApiPartitionReassignment) String() string {
	return fmt.Sprintf("ApiPartitionReassignment(%d partitions)", len(e.Ask.Partitions))
}
func (e *PartitionReassignmentIsrChange) String() string {
	return "PartitionReassignmentIsrChange(" + e.TopicPartition.String() + ")"
}
func (*ListPartitionReassignmentsEvent) String() string { return "ListPartitionReassignments" }
func (*AutoPreferredReplicaLeaderElection) String() string {
	return "AutoPreferredReplicaLeaderElection"
}
func (e *ReplicaLeaderElection) String() string {
	return "ReplicaLeaderElection(" + e.Trigger.String() + ")"
}
func (*UncleanLeaderElectionEnable) String() string { return "UncleanLeaderElectionEnable" }
func (e *TopicUncleanLeaderElectionEnable) String() string {
	return "TopicUncleanLeaderElectionEnable(" + e.Topic + ")"
}
func (e *ControlledShutdownEvent) String() string {
	return fmt.Sprintf("ControlledShutdown(%d)", e.Ask.BrokerID)
}
func (e *LeaderAndIsrResponseReceived) String() string {
	return fmt.Sprintf("LeaderAndIsrResponseReceived(broker %d)", e.Broker)
}
func (e *UpdateMetadataResponseReceived) String() string {
	return fmt.Sprintf("UpdateMetadataResponseReceived(broker %d)", e.Broker)
}
func (*LogDirEventNotification) String() string { return "LogDirEventNotification" }
func (*IsrChangeNotification) String() string   { return "IsrChangeNotification" }
func (e *AlterPartitionReceived) String() string {
	return fmt.Sprintf("AlterPartitionReceived(broker %d, %d partitions)", e.Ask.BrokerID, len(e.Ask.Partitions))
}
func (*UpdateFeaturesEvent) String() string { return "UpdateFeatures" }
func (e *AllocateProducerIDsEvent) String() string {
	return fmt.Sprintf("AllocateProducerIds(broker %d)", e.Ask.BrokerID)
}
func (e *ProtocolSettled) String() string { return "ProtocolSettled(" + e.IBP.String() + ")" }
func (e *OperatorTransition) String() string {
	return "OperatorTransition(" + e.Transition.String() + ")"
}
func (e *OperatorElection) String() string {
	return fmt.Sprintf("OperatorElection(%s, %d partitions)", e.Strategy, len(e.Partitions))
}

func (*Startup) State() ControllerState                                  { return StateControllerChange }
func (*ControllerChange) State() ControllerState                         { return StateControllerChange }
func (*Reelect) State() ControllerState                                  { return StateControllerChange }
func (*RegisterBrokerAndReelect) State() ControllerState                 { return StateControllerChange }
func (*Expire) State() ControllerState                                   { return StateControllerChange }
func (*ShutdownEventThread) State() ControllerState                      { return StateControllerShutdown }
func (*BrokerChange) State() ControllerState                             { return StateBrokerChange }
func (*BrokerModifications) State() ControllerState                      { return StateBrokerChange }
func (*TopicChange) State() ControllerState                              { return StateTopicChange }
func (*PartitionModifications) State() ControllerState                   { return StateTopicChange }
func (*TopicDeletion) State() ControllerState                            { return StateTopicDeletion }
func (*TopicDeletionStopReplicaResponseReceived) State() ControllerState { return StateTopicDeletion }
func (*ZkPartitionReassignment) State() ControllerState                  { return StateAlterPartitionReassignment }
func (*ApiPartitionReassignment) State() ControllerState                 { return StateAlterPartitionReassignment }
func (*PartitionReassignmentIsrChange) State() ControllerState {
	return StateAlterPartitionReassignment
}
func (*ListPartitionReassignmentsEvent) State() ControllerState {
	return StateListPartitionReassignment
}
func (*AutoPreferredReplicaLeaderElection) State() ControllerState { return StateAutoLeaderBalance }
func (*ReplicaLeaderElection) State() ControllerState              { return StateManualLeaderBalance }
func (*UncleanLeaderElectionEnable) State() ControllerState        { return StateUncleanLeaderElectionEnable }
func (*TopicUncleanLeaderElectionEnable) State() ControllerState {
	return StateTopicUncleanLeaderElectionEnable
}
func (*ControlledShutdownEvent) State() ControllerState { return StateControlledShutdown }
func (*LeaderAndIsrResponseReceived) State() ControllerState {
	return StateLeaderAndIsrResponseReceived
}
func (*UpdateMetadataResponseReceived) State() ControllerState {
	return StateUpdateMetadataResponseReceived
}
func (*LogDirEventNotification) State() ControllerState  { return StateLogDirChange }
func (*IsrChangeNotification) State() ControllerState    { return StateIsrChange }
func (*AlterPartitionReceived) State() ControllerState   { return StateIsrChange }
func (*UpdateFeaturesEvent) State() ControllerState      { return StateUpdateFeatures }
func (*AllocateProducerIDsEvent) State() ControllerState { return StateIdle }
func (*OperatorTransition) State() ControllerState       { return StateManualLeaderBalance }
func (*OperatorElection) State() ControllerState         { return StateManualLeaderBalance }
func (*ProtocolSettled) State() ControllerState          { return StateBrokerChange }
