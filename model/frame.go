package model

// Mode is who answers the controller, see the README's table.
type Mode string

const (
	LabMode     Mode = "lab"
	ObserveMode Mode = "observe"
	AdminMode   Mode = "admin"
	ControlMode Mode = "control"
	ReplayMode  Mode = "replay"
)

// Beside tells that the controller is the cluster's own and is only looked at.
func (m Mode) Beside() bool { return m == ObserveMode || m == AdminMode }

// RunState is what the debugger's loop is doing.
type RunState uint8

const (
	Running RunState = iota + 1
	Paused           // rests at Frame.At, or between events
	Waiting          // a step was taken and its result has not come yet
)

var runStateNames = [...]string{"", "running", "paused", "waiting"}

// String is the word on the status line.
func (r RunState) String() string { return runStateNames[r] }

// ControllerStatus says who holds the role.
type ControllerStatus struct {
	Status string // active, absent, not-registered, persistent, kraft, unparsable
	ID     int32  // -1 when none is known
	Epoch  int32  // from /controller_epoch, -1 when missing
	Self   bool   // this engine is the active controller
}

// Connection is the state of the link to ZooKeeper. Since is when it began, ms
// since 1970; Text adds detail. Heard is when the server was last heard: what is
// shown was true then; 0 where that goes without saying.
type Connection struct {
	Connected bool
	Since     int64
	Heard     int64
	Text      string
}

// Progress of loading a tree; Total 0 means not known yet.
type Progress struct {
	Done, Total int
	What        string
}

// PartitionEdge is a partition transition with its subject.
type PartitionEdge struct {
	Edge[PartitionState]
	Subject  TopicPartition
	Refused  bool
	Inferred bool // from outside, not seen
}

// ReplicaEdge is a replica transition with its subject.
type ReplicaEdge struct {
	Edge[ReplicaState]
	Subject  Replica
	Refused  bool
	Inferred bool
}

// Edges that the graphs light up; nil when there is none.
type Edges struct {
	LastPartition, ProposedPartition *PartitionEdge
	LastReplica, ProposedReplica     *ReplicaEdge
}

// OpenRequests is what the open batch holds so far.
type OpenRequests struct {
	Machine Machine
	Entries []BatchEntry // by broker, then kind, then partition; capped, see Total
	Total   int
}

// BatchEntry is one partition of one request of the open batch. Broker is -1
// for metadata, which goes to all receivers alike.
type BatchEntry struct {
	Broker int32
	Kind   RequestKind
	Text   string
}

// Channel is the queue of requests to one broker.
type Channel struct {
	Broker    int32
	Connected bool
	Depth     int    // requests not yet answered, the one in flight included
	Head      string // the request in flight or next
	HeadSince int64  // when it became the head, ms since 1970
	Waited    int64  // how long it had waited behind others until then, ms
	Sent      uint64 // requests queued since the channel was opened
}

// QueueSize is how many requests wait behind the first, which Kafka takes out of the
// queue at once, whether the broker can be reached or not.
// Kafka: ControllerChannelManager, gauge QueueSize; TotalQueueSize is the sum.
func (c *Channel) QueueSize() int { return max(0, c.Depth-1) }

// SilentAfter is how long a request may be unanswered, in ms, before a broker is
// said to be silent. It is above what a broker needs for a request about thousands
// of partitions, and below Kafka's controller.socket.timeout.ms (30 s).
const SilentAfter = 10_000

// Silent is for how long the first request has not been answered, in ms; 0 while
// that is less than SilentAfter, or there is none.
func (c *Channel) Silent(now int64) int64 {
	if c.Depth == 0 || c.HeadSince <= 0 || now-c.HeadSince < SilentAfter {
		return 0
	}
	return now - c.HeadSince
}

// BrokerStatus is a broker as the lab or the tree knows it.
type BrokerStatus struct {
	ID        int32
	Epoch     int64  // 0 when not registered
	State     string // live, shutting-down, dead; in a lab also killed (still registered), down (process not running), running (process runs, the controller does not count it live)
	Endpoints []string
	Leads     int // partitions led
	Replicas  int // replicas assigned
	// Conduct of a lab's broker in words: silent, cut off from zookeeper, ...;
	// empty: it behaves.
	Conduct string
}

// BrokerStatus is a broker by the controller's memory: live, shutting-down or dead.
func (v *View) BrokerStatus(id int32) BrokerStatus {
	s := BrokerStatus{ID: id, State: "dead", Leads: v.Leads(id), Replicas: v.Hosts(id)}
	if b := v.Broker(id); b != nil {
		s.State, s.Epoch = "live", b.Epoch
		if !v.IsLive(id) {
			s.State = "shutting-down"
		}
		for _, e := range b.Endpoints {
			s.Endpoints = append(s.Endpoints, e.String())
		}
	}
	return s
}

// LogDir is a log directory of a broker, as its disk has it.
type LogDir struct {
	Path     string
	Failed   bool
	Logs     []TopicPartition // sorted
	Deleting []string         // renamed topic-partition.<id>-delete, not yet removed
}

// Znode is a znode as read for the inspector.
type Znode struct {
	Path    string
	Data    []byte // nil: null data
	Stat    Stat
	Missing bool
	Err     string // why it could not be read
}

// Inspection is what the inspector shows of the chosen subject: the znodes, read
// at At. Memory comes from the frame's View.
type Inspection struct {
	Subject Subject
	Znodes  []Znode
	Dirs    []LogDir // of a lab's broker
	At      int64
}

// Term is what a controller goes by, beside its memory of the cluster.
type Term struct {
	Settings []string // key=value, of those that decide what it does
	Watches  []WatchGroup
}

// WatchGroup are the handlers for one path, or for one kind of path, that a
// controller has registered: what fires there becomes one of the events.
type WatchGroup struct {
	Path   string // or a pattern: /brokers/topics/<topic>
	Child  bool   // of the children of the path; else of the znode itself
	Events string
	Count  int
}

// StepZnodes is, for the Call at hand, each written znode before and after.
type StepZnodes struct {
	Position uint64
	Changes  []ZnodeChange
}

// ZnodeChange is one write of the step at hand.
type ZnodeChange struct {
	Op     Op
	Before Znode
}

// SubjectKind is what a Subject names.
type SubjectKind uint8

const (
	NoSubject SubjectKind = iota
	TopicSubject
	PartitionSubject
	ReplicaSubject
	BrokerSubject
	LeadershipSubject // how leadership is spread over the cluster
	ControllerSubject
)

// Subject is a topic, partition, replica or broker chosen on screen, or what
// else can be explained.
type Subject struct {
	Kind      SubjectKind
	Topic     string
	Partition int32
	Broker    int32
}

// ElectionPreview answers PreviewElection: what each partition's election would
// give. Strategy and Scope are those that were asked for; each answer is a new
// ElectionPreview, so that a front end can tell it from an older one.
type ElectionPreview struct {
	Strategy Strategy
	Scope    Scope
	Results  []PreviewResult
	Total    int // partitions in the scope; Results may be fewer
}

// PreviewResult is one partition's outcome: Error ErrNone means that Verdict.New
// would be written.
type PreviewResult struct {
	TopicPartition
	OldLeader int32
	Verdict   Verdict
	Error     KafkaError
	Why       string
}

// Notice tells the operator something once: the answer to a command, a refusal,
// a warning. Seq rises by one each.
type Notice struct {
	Seq   uint64
	At    int64
	Level Level
	Text  string
}

// JournalStatus is how the recording stands.
type JournalStatus struct {
	Path    string
	Records uint64 // so far, those that are lost among them
	Lost    uint64 // records that are missing in it
	Failing string // why the disk does not take it now; empty: it does
}

// Following is how far a controller that runs elsewhere is followed. What is
// said of its memory is inferred.
type Following struct {
	On       bool
	Why      string // why not
	Diverged int    // subjects of which it did something else than was expected
	// Deletions says how far the deletion of each queued topic has come: its
	// state, a reason, and (where On) its replicas in their states of deletion.
	Deletions map[string]DeletionProgress
}

// DeletionProgress is how far one topic's deletion has come, seen from outside.
type DeletionProgress struct {
	State    string // queued, running, waiting, retrying
	Why      string
	Replicas *[8]int // by ReplicaState, inferred; nil when not known
}

// Frame is everything a front end needs to draw one picture. Frames are values:
// nothing in one changes after it was sent. A newer frame replaces an older one.
type Frame struct {
	Mode       Mode
	ReadOnly   bool
	Source     string // the ZooKeeper address with chroot, or the file
	Now        int64  // ms since 1970
	Run        RunState
	StopReason string // why it rests, when Paused
	// ContinuesAt is when a held controller goes on by itself unless a command
	// comes, ms since 1970; 0: it does not.
	ContinuesAt int64
	Position    uint64 // of the step at hand; commands that step carry it
	Connection  Connection
	Controller  ControllerStatus
	Progress    *Progress // nil when nothing is being loaded
	// Alert is what is wrong now and lasts, as a controller that does not answer;
	// empty when nothing is.
	Alert string
	// Following is how the cluster's own controller is followed; nil where the
	// engine is the controller.
	Following *Following
	Journal   *JournalStatus // nil: nothing is recorded

	View    *View // the controller's memory; in observe mode what follows from the tree
	Brokers []BrokerStatus

	Event    *QueuedEvent  // at work
	Queue    []QueuedEvent // the head of the queue
	QueueLen int
	At       Step // proposed; nil when idle
	Edges    Edges
	History  HistoryView
	Open     *OpenRequests
	Channels []Channel

	Inspection  *Inspection
	Explanation *Explanation // of the subject that Explain chose; nil until it is there
	StepZnodes  *StepZnodes
	Preview     *ElectionPreview
	Plan        *Plan         // the last one made; nil before the first
	Outcome     *PlanProgress // of that plan; nil before consent
	Notices     []Notice      // the last few, oldest first

	Settings []SettingValue // of the controller, that an operator may want to change
	Faults   []ArmedFault   // in the order in which they were armed
	NoFaults string         // why none may be; empty: they may
	Held     []HeldAnswer   // by broker
	Scenario *Scenario      // that a lab plays; nil without one
	// Term is nil where no controller of kstate's own runs.
	Term *Term
}

// SettingValue is a setting of the controller and its brokers as it is now. AtStart:
// it is read at the start only.
type SettingValue struct {
	Name, Value string
	AtStart     bool
}

// Scenario is a lab's exercise and how far it is.
type Scenario struct {
	Name, Title string
	Goal        string // a sentence
	Teaches     []string
	Hints       []string
	Solution    []string // its lines
	Goals       []GoalCheck
	Reached     bool   // once all goals held at the same time
	Failed      string // the line that brings the situation about and went wrong
	Doing       string // the line at work; empty: it is the operator's turn
}

// GoalCheck is one expectation that a scenario wants to hold.
type GoalCheck struct {
	Text  string
	Holds bool
	Found string // what was there
}
