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
	// AddPartitions grows a topic to Total partitions. With Assignment nil the
	// replicas of the new ones are spread over the live brokers.
	AddPartitions struct {
		Topic      string
		Total      int
		Assignment [][]int32 // of the new partitions, in order
	}
	// DeleteTopic writes the delete marker.
	DeleteTopic struct{ Topic string }
	// Reassign moves a partition to a new replica list; Cancel takes a running move back.
	Reassign struct {
		TopicPartition
		Target []int32
		Cancel bool
	}
	// ForceMove asks the lab's controller for a transition that is not legal, to see
	// it refused. A legal one is not made.
	ForceMove struct{ Transition }
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

	// RunUntil runs on to the next step in whose line the pattern is found, the
	// one at hand excepted, and holds there.
	RunUntil struct{ Step Pattern }
	// InjectFault arms a fault. With a Position it is for the step that the
	// operator saw, and refused when the engine has moved on.
	InjectFault struct {
		Fault    Fault
		Position uint64
	}
	// ClearFault takes a fault back; 0: all of them.
	ClearFault struct{ ID uint64 }
	// ReleaseAnswers lets the answers of a broker go that faults hold; AnyBroker:
	// of all.
	ReleaseAnswers struct{ Broker int32 }
)

// What an operator can do to a lab beside what any cluster allows.
type (
	// WriteZnode writes a znode as an outside client would: it is created, with
	// its parents, or set whatever its version; Delete deletes it, unless it has children.
	WriteZnode struct {
		Path   string
		Data   []byte
		Delete bool
	}
	// FailLogDir makes a log directory of a broker fail; Dir empty: its first good one.
	FailLogDir struct {
		Broker int32
		Dir    string
	}
	// RepairLogDirs makes all failed directories of a broker good, from its next start on.
	RepairLogDirs struct{ Broker int32 }
	// CutBroker lets nothing pass any more between a broker and another side.
	CutBroker struct {
		Broker int32
		From   Side
	}
	// HealBroker ends cuts and misconduct of a broker.
	HealBroker struct{ Broker int32 }
	// SetConduct has a broker behave in a way.
	SetConduct struct {
		Broker  int32
		Conduct Conduct
	}
	// ExpireSession ends the ZooKeeper session of a broker, or (Broker -1) of the controller.
	ExpireSession struct{ Broker int32 }
	// MoveController deletes /controller, as an operator who wants another election.
	MoveController struct{}
	// RestartController ends the controller's process at once and starts it again.
	RestartController struct{}
	// RivalTakesOver: another process takes the role, as after a failover that
	// this controller has not noticed; it does nothing with it.
	RivalTakesOver struct{}
	// RivalLeaves: that process ends.
	RivalLeaves struct{}
	// ChangeSetting changes a setting of a topic, or (Topic empty) of all brokers
	// and the controller; Unset takes it back to its default.
	ChangeSetting struct {
		Topic, Name, Value string
		Unset              bool
	}
)

// Side is whom a broker is cut off from.
type Side string

const (
	ZooKeeperSide  Side = "zookeeper"
	ControllerSide Side = "controller"
)

// Conduct is how a broker of the lab behaves.
type Conduct string

const (
	Well     Conduct = "well"     // as it should
	Silent   Conduct = "silent"   // takes the controller's requests, carries them out, and never answers
	Refusing Conduct = "refusing" // takes no connection
	Lagging  Conduct = "lagging"  // does not replicate
)

// Conducts lists them.
var Conducts = []Conduct{Well, Silent, Refusing, Lagging}

// Scope is what an election is for: one partition, a topic's partitions, those
// with a replica on a broker, or all.
type Scope struct {
	Subject Subject // NoSubject: all partitions
}

func (Pause) command()             {}
func (Continue) command()          {}
func (StepBy) command()            {}
func (KillBroker) command()        {}
func (StartBroker) command()       {}
func (ShutDownBroker) command()    {}
func (CreateTopic) command()       {}
func (AddPartitions) command()     {}
func (DeleteTopic) command()       {}
func (Reassign) command()          {}
func (ForceMove) command()         {}
func (RunElection) command()       {}
func (PreviewElection) command()   {}
func (Inspect) command()           {}
func (Explain) command()           {}
func (ResetLab) command()          {}
func (RunUntil) command()          {}
func (InjectFault) command()       {}
func (ClearFault) command()        {}
func (ReleaseAnswers) command()    {}
func (WriteZnode) command()        {}
func (FailLogDir) command()        {}
func (RepairLogDirs) command()     {}
func (CutBroker) command()         {}
func (HealBroker) command()        {}
func (SetConduct) command()        {}
func (ExpireSession) command()     {}
func (MoveController) command()    {}
func (RestartController) command() {}
func (RivalTakesOver) command()    {}
func (RivalLeaves) command()       {}
func (ChangeSetting) command()     {}
