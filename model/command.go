package model

// Command is what an operator asks of the debugger. The answer is the next
// frame; refusals come as a Notice.
type Command interface{ command() }

type (
	// Pause holds at the next step.
	Pause struct{}
	// Continue runs on.
	Continue struct{}
	// StepBy takes the step at hand and holds at the next one of that grain or
	// coarser. Position is the step that the operator saw: if the engine has moved
	// on, the command is refused.
	StepBy struct {
		Grain    Grain
		Position uint64
	}
	// KillBroker ends a lab broker as kill -9 does.
	KillBroker struct{ Broker int32 }
	// StartBroker starts a lab broker that is down; -1 adds a new one.
	StartBroker struct{ Broker int32 }
	// ShutDownBroker stops a lab broker by controlled shutdown.
	ShutDownBroker struct{ Broker int32 }
	// CreateTopic writes the znodes of a new topic. With Assignment nil the
	// replicas are spread over the live brokers.
	CreateTopic struct {
		Topic             string
		Partitions        int
		ReplicationFactor int
		Assignment        [][]int32
		Config            map[string]string
	}
	// AddPartitions grows a topic to Total partitions.
	AddPartitions struct {
		Topic string
		Total int
	}
	// DeleteTopic writes the delete marker.
	DeleteTopic struct{ Topic string }
	// Reassign moves a partition to a new replica list; Cancel takes a running move back.
	Reassign struct {
		TopicPartition
		Target []int32
		Cancel bool
	}
	// RunElection runs a strategy on the partitions of a scope.
	RunElection struct {
		Strategy Strategy
		Scope    Scope
	}
	// PreviewElection asks for the outcome without running it.
	PreviewElection struct {
		Strategy Strategy
		Scope    Scope
	}
	// Inspect chooses what the inspector shows.
	Inspect struct{ Subject Subject }
	// Explain chooses what Frame.Explanation is about; NoSubject ends it.
	Explain struct{ Subject Subject }
	// ResetLab starts the lab anew with its first content.
	ResetLab struct{}
)

// Scope is what an election is for: one partition, a topic's partitions, those
// with a replica on a broker, or all.
type Scope struct {
	Subject Subject // NoSubject: all partitions
}

func (Pause) command()           {}
func (Continue) command()        {}
func (StepBy) command()          {}
func (KillBroker) command()      {}
func (StartBroker) command()     {}
func (ShutDownBroker) command()  {}
func (CreateTopic) command()     {}
func (AddPartitions) command()   {}
func (DeleteTopic) command()     {}
func (Reassign) command()        {}
func (RunElection) command()     {}
func (PreviewElection) command() {}
func (Inspect) command()         {}
func (Explain) command()         {}
func (ResetLab) command()        {}
