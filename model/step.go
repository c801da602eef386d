package model

import (
	"fmt"
	"strings"
)

// Grain is how fine a step is. A debugger that steps by a grain holds at steps
// of that grain and at all coarser ones.
type Grain uint8

const (
	EventGrain Grain = iota + 1
	BatchGrain
	TransitionGrain
	IOGrain
)

var grainNames = [...]string{"", "event", "batch", "transition", "I/O"}

// String is event, batch, transition or I/O.
func (g Grain) String() string { return grainNames[g] }

// Step is what the controller is about to do: it is proposed before it happens.
// The environment performs it and answers with a Result. Steps are pointers;
// what they point at is never changed after the step was proposed.
type Step interface {
	Grain() Grain
	// String is one line: what a transcript and the screen show.
	String() string
}

// Begin: the controller takes an event off its queue.
type Begin struct{ Event QueuedEvent }

// End: the event is done, or was abandoned with an error.
type End struct {
	Event QueuedEvent
	Err   error
}

// Machine is one of the three owners of a request batch.
type Machine uint8

const (
	PartitionStateMachine Machine = iota + 1
	ReplicaStateMachine
	ControllerItself
)

var machineNames = [...]string{"", "PartitionStateMachine", "ReplicaStateMachine", "Controller"}

// String is Kafka's class name.
func (m Machine) String() string { return machineNames[m] }

// OpenBatch: a machine starts to collect requests.
type OpenBatch struct {
	Machine  Machine
	Target   string // the state to which subjects move; empty for the controller's own batch
	Subjects int
}

// CloseBatch: the collected requests are about to be queued.
type CloseBatch struct {
	Machine                                   Machine
	LeaderAndIsr, UpdateMetadata, StopReplica int // brokers to which such a request goes
	Partitions                                int // partitions in the metadata
}

// Elect: a leader was chosen, or none could be; nothing is written yet.
type Elect struct {
	TopicPartition
	Verdict Verdict
}

// MovePartition: a partition is about to change state.
type MovePartition struct {
	TopicPartition
	From, To   PartitionState
	Reason     string
	Leadership *LeaderIsrAndControllerEpoch // when To is OnlinePartition
}

// MoveReplica: a replica is about to change state.
type MoveReplica struct {
	Replica
	From, To ReplicaState
	Reason   string
	// Leadership is the record after the replica left the ISR (To is OfflineReplica).
	Leadership *LeaderIsrAndControllerEpoch
}

// RefusePartition: a transition was asked for and does not happen.
type RefusePartition struct {
	TopicPartition
	From, To PartitionState
	Invalid  bool // not a legal transition; otherwise it failed
	Reason   string
}

// RefuseReplica: a transition was asked for and does not happen.
type RefuseReplica struct {
	Replica
	From, To ReplicaState
	Invalid  bool
	Reason   string
}

// DeletionSet is one of the topic deletion manager's sets.
type DeletionSet uint8

const (
	ToBeDeleted DeletionSet = iota + 1
	DeletionStarted
	IneligibleForDeletion
)

var deletionSetNames = [...]string{"", "topicsToBeDeleted", "topicsWithDeletionStarted", "topicsIneligibleForDeletion"}

// String is Kafka's name of the set.
func (s DeletionSet) String() string { return deletionSetNames[s] }

// Mark: a topic is about to enter or leave a deletion set.
type Mark struct {
	Topic  string
	Set    DeletionSet
	On     bool
	Reason string
	Why    IneligibleReason // when Set is IneligibleForDeletion and On
}

// Level is the level of a log line.
type Level uint8

const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

var levelNames = [...]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR"}

// String is log4j's name of the level.
func (l Level) String() string { return levelNames[l] }

// Log: something that Kafka would write to one of its logs and that no other
// step says.
type Log struct {
	Logger string // "controller", "state.change.logger", ...
	Level  Level
	Text   string
}

// Watch: the controller starts or stops to listen to a path. It is local:
// a read op arms the watch itself.
type Watch struct {
	Path  string
	Child bool // the node's children, else the node itself
	On    bool
}

// Call: operations on ZooKeeper, pipelined; results come per op. Fenced writes
// are each preceded, in one transaction, by a check of /controller_epoch at
// version Epoch. Atomic: all ops are one transaction (and are then unfenced).
type Call struct {
	Purpose string // get_state, update_state, create_state, get_config, ...
	Ops     []Op
	Fenced  bool
	Epoch   int32
	Atomic  bool
}

// Writes tells whether any op writes.
func (c *Call) Writes() bool {
	for i := range c.Ops {
		if c.Ops[i].Kind.Writes() {
			return true
		}
	}
	return false
}

// Send: a request is queued for a broker.
type Send struct {
	Broker  int32
	Request ControlRequest
}

// Link: the channel to a broker is opened or dropped. Dropping discards what is queued.
type Link struct {
	Broker Broker
	Up     bool
}

// Reply answers an Ask.
type Reply struct {
	Ask    uint64 // the number under which it was asked
	Name   string
	Answer Answer
}

// Alarm asks for an AlarmRang input after a delay in ms; Cancel stops it.
type Alarm struct {
	Name        string
	AfterMillis int64
	Cancel      bool
}

// Probe asks for a ProtocolLearned input once these brokers have all said what
// they speak. It takes the place of the Probe before; without brokers it only
// ends that one.
type Probe struct{ Brokers []Broker }

// Draw asks for 16 random bytes that make a topic id.
type Draw struct{ For string }

func (*Begin) Grain() Grain           { return EventGrain }
func (*End) Grain() Grain             { return EventGrain }
func (*OpenBatch) Grain() Grain       { return BatchGrain }
func (*CloseBatch) Grain() Grain      { return BatchGrain }
func (*Elect) Grain() Grain           { return TransitionGrain }
func (*MovePartition) Grain() Grain   { return TransitionGrain }
func (*MoveReplica) Grain() Grain     { return TransitionGrain }
func (*RefusePartition) Grain() Grain { return TransitionGrain }
func (*RefuseReplica) Grain() Grain   { return TransitionGrain }
func (*Mark) Grain() Grain            { return TransitionGrain }
func (*Log) Grain() Grain             { return TransitionGrain }
func (*Watch) Grain() Grain           { return IOGrain }
func (*Call) Grain() Grain            { return IOGrain }
func (*Send) Grain() Grain            { return IOGrain }
func (*Link) Grain() Grain            { return IOGrain }
func (*Reply) Grain() Grain           { return IOGrain }
func (*Alarm) Grain() Grain           { return IOGrain }
func (*Draw) Grain() Grain            { return IOGrain }
func (*Probe) Grain() Grain           { return IOGrain }

func (s *Begin) String() string { return "begin " + s.Event.Event.String() }

func (s *End) String() string {
	if s.Err != nil {
		return "end " + s.Event.Event.String() + ": " + s.Err.Error()
	}
	return "end " + s.Event.Event.String()
}

func (s *OpenBatch) String() string {
	if s.Target == "" {
		return "open batch " + s.Machine.String()
	}
	return fmt.Sprintf("open batch %s -> %s (%d)", s.Machine, s.Target, s.Subjects)
}

func (s *CloseBatch) String() string {
	return fmt.Sprintf("close batch %s: LeaderAndIsr to %d, UpdateMetadata to %d, StopReplica to %d brokers",
		s.Machine, s.LeaderAndIsr, s.UpdateMetadata, s.StopReplica)
}

func (s *Elect) String() string { return fmt.Sprintf("elect %s %s", s.TopicPartition, &s.Verdict) }

func (s *MovePartition) String() string {
	return move("move partition "+s.TopicPartition.String(), s.From, s.To, s.Reason)
}

func (s *MoveReplica) String() string {
	return move("move replica "+s.Replica.String(), s.From, s.To, s.Reason)
}

func (s *RefusePartition) String() string {
	return move(refused(s.Invalid)+" partition "+s.TopicPartition.String(), s.From, s.To, s.Reason)
}

func (s *RefuseReplica) String() string {
	return move(refused(s.Invalid)+" replica "+s.Replica.String(), s.From, s.To, s.Reason)
}

func refused(invalid bool) string {
	if invalid {
		return "refuse"
	}
	return "fail"
}

func move(what string, from, to fmt.Stringer, reason string) string {
	s := what + " " + from.String() + " -> " + to.String()
	if reason != "" {
		s += " (" + reason + ")"
	}
	return s
}

func (s *Mark) String() string {
	sign := "+"
	if !s.On {
		sign = "-"
	}
	return fmt.Sprintf("mark %s %s%s (%s)", s.Topic, sign, s.Set, s.Reason)
}

func (s *Log) String() string { return fmt.Sprintf("log %s %s %s", s.Logger, s.Level, s.Text) }

func (s *Watch) String() string {
	verb, what := "watch", "node"
	if !s.On {
		verb = "unwatch"
	}
	if s.Child {
		what = "children"
	}
	return fmt.Sprintf("%s %s %s", verb, what, s.Path)
}

func (s *Call) String() string {
	var b strings.Builder
	b.WriteString("call ")
	for i := range s.Ops {
		if i == 3 && len(s.Ops) > 4 {
			fmt.Fprintf(&b, "; ... %d ops", len(s.Ops))
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s.Ops[i].String())
	}
	if s.Atomic {
		b.WriteString(" (one transaction)")
	}
	return b.String()
}

// String is the verb and path, with the expected version of conditional writes.
func (o *Op) String() string {
	s := o.Kind.String() + " " + o.Path
	if o.Kind >= OpSet && o.Version != AnyVersion {
		s += fmt.Sprintf(" v%d", o.Version)
	}
	return s
}

func (s *Send) String() string { return fmt.Sprintf("send to broker %d %s", s.Broker, s.Request) }

func (s *Link) String() string {
	if s.Up {
		return fmt.Sprintf("link up broker %d", s.Broker.ID)
	}
	return fmt.Sprintf("link down broker %d", s.Broker.ID)
}

func (s *Reply) String() string { return fmt.Sprintf("reply #%d %s", s.Ask, s.Name) }

func (s *Alarm) String() string {
	if s.Cancel {
		return "cancel alarm " + s.Name
	}
	return fmt.Sprintf("alarm %s in %d ms", s.Name, s.AfterMillis)
}

func (s *Draw) String() string { return "draw for " + s.For }

func (s *Probe) String() string {
	ids := make([]int32, len(s.Brokers))
	for i := range s.Brokers {
		ids[i] = s.Brokers[i].ID
	}
	return "ask brokers [" + JoinIDs(ids) + "] what they speak"
}

// Result is the environment's answer to a step. At is in ms since 1970. For a
// Call: Ops has a result for each op, or Code says why none came (then Ops is
// empty). For a Draw: ID. For all other steps only At counts.
type Result struct {
	At   int64
	Ops  []OpResult
	Code Code
	ID   Uuid
}
