package engine

import (
	"slices"

	"kstate/model"
)

// Config is what a controller process is started with. The zero value of a
// field is not a default; use DefaultConfig.
type Config struct {
	ID                     int32                     // broker.id under which it runs for the role
	IBP                    model.InterBrokerProtocol // inter.broker.protocol.version; NoIBP: what the first brokers speak
	InterBrokerListener    string                    // listener on which brokers are reached
	DeleteTopicEnable      bool                      // delete.topic.enable
	BrokerConfig           map[string]string         // the broker's own settings, under which topic configs lie
	AutoRebalance          bool                      // auto.leader.rebalance.enable
	ImbalancePercentage    int                       // leader.imbalance.per.broker.percentage
	ImbalanceCheckInterval int64                     // leader.imbalance.check.interval.seconds, in ms
	NumPartitions          int32                     // num.partitions, of topics created without a number
	ReplicationFactor      int16                     // default.replication.factor
	QuotaWindows           int                       // controller.quota.window.num: how many seconds of mutations may come at once

	// Registration is the payload of /brokers/ids/ID for a process that registers
	// as a broker when its session is renewed; nil for one that does not.
	Registration []byte
	// Self, for a process that is not a broker, is listed among the live brokers
	// in UpdateMetadata, so that brokers and clients find the controller.
	Self *model.Broker
	// RegisterForOldBrokers: a process that is not a broker makes a broker znode all
	// the same while the inter-broker protocol is older than 3.0.
	RegisterForOldBrokers bool
	// TakeOver: the first time that somebody else holds the role it is taken.
	TakeOver bool
	// Features are those that the controller itself supports.
	Features map[string]model.VersionRange
	// Mend has the known faults of Kafka's controller that are mended.
	Mend Mends
}

// DefaultConfig has Kafka 3.9's defaults.
func DefaultConfig(id int32) Config {
	return Config{ID: id, IBP: model.IBP_3_9_IV0, InterBrokerListener: "PLAINTEXT", DeleteTopicEnable: true,
		AutoRebalance: true, ImbalancePercentage: 10, ImbalanceCheckInterval: 300_000,
		NumPartitions: 1, ReplicationFactor: 1, QuotaWindows: 11}
}

// Engine is one controller process.
type Engine struct {
	cfg Config
	ctx *model.Cluster

	queue   []model.QueuedEvent
	seq     uint64
	now     int64        // of the latest input or result
	begun   *model.Begin // proposed for the head of the queue
	at      model.Step   // inside an event
	turn    *turn        // of the event at work
	running *turn        // the coroutine that runs now
	asides  []*aside     // admin requests at work
	active  int32        // id of the active controller as last read, NoController

	session, registeredIn int64 // ZooKeeper sessions: this one, and that of the broker's registration; 0 when not told

	nodeHandlers, childHandlers map[string]bool
	watching                    map[model.ZnodeKind]int // handlers by kind of path
	channels                    map[int32]bool
	asks                        map[uint64]model.Ask
	preempted                   []model.Reply // answers owed for events that were cleared from the queue

	psm, rsm, own *batch
	metadata      metadataCache
	untaken       []*untaken         // what brokers were told and requests wait for
	delayed       []*delayed         // admin requests that wait for the metadata
	buckets       map[string]*bucket // mutations by requester
	rebalancing   bool               // the balancer's alarm is set
	scheduling    bool               // this term has come as far as its timers

	takeoverErr      error            // of the last attempt
	barred           error            // why it does not run for the role any more
	finalized        map[string]int16 // feature levels in /feature
	uncleanElections int
}

// NoController: /controller names nobody.
const NoController int32 = -1

// New makes an engine that waits for its first input, Started.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg, ctx: model.NewCluster(), active: NoController,
		nodeHandlers: map[string]bool{}, childHandlers: map[string]bool{}, watching: map[model.ZnodeKind]int{}, channels: map[int32]bool{}, asks: map[uint64]model.Ask{},
		metadata: metadataCache{}, buckets: map[string]*bucket{}}
	e.psm = newBatch(e, model.PartitionStateMachine)
	e.rsm = newBatch(e, model.ReplicaStateMachine)
	e.own = newBatch(e, model.ControllerItself)
	return e
}

// At returns the step that the controller is about to take, or nil when it is
// idle. Looking changes nothing.
func (e *Engine) At() model.Step {
	switch {
	case e.at != nil:
		return e.at
	case e.begun != nil:
		return e.begun
	}
	return nil
}

// Settle takes the step that At returns with the environment's result. It
// panics when there is none: a bug of the caller.
func (e *Engine) Settle(r model.Result) {
	e.now = max(e.now, r.At)
	if e.at == nil {
		if e.begun == nil {
			panic("engine: Settle without a step")
		}
		q := e.queue[0]
		e.queue = slices.Delete(e.queue, 0, 1)
		e.begun = nil
		e.at = e.begin(q)
	} else {
		e.turn.result = r
		e.at = e.resume(e.turn)
	}
	if e.at == nil {
		e.turn = nil
	}
	e.propose()
}

// propose makes the Begin step of the next event when none is at work.
func (e *Engine) propose() {
	if e.at != nil || len(e.queue) == 0 {
		e.begun = nil
		return
	}
	if e.begun == nil || e.begun.Event.Seq != e.queue[0].Seq {
		e.begun = &model.Begin{Event: e.queue[0]}
	}
}

// Close abandons the event at work, if any. The engine must not be used after.
func (e *Engine) Close() {
	if e.turn != nil {
		e.turn.stop()
		e.turn, e.at = nil, nil
	}
	for _, a := range e.asides {
		a.t.stop()
	}
	e.asides = nil
	e.queue, e.begun = nil, nil
}

// put appends an event to the queue. Kafka: ControllerEventManager.put.
func (e *Engine) put(ev model.Event, cause string) {
	e.seq++
	e.queue = append(e.queue, model.QueuedEvent{Seq: e.seq, Event: ev, EnqueuedAt: e.now, Cause: cause})
}

// clearAndPut preempts all queued events and appends one. What preempted events
// owe their callers is answered when the new event runs.
// Kafka: ControllerEventManager.clearAndPut.
func (e *Engine) clearAndPut(ev model.Event, cause string) {
	for _, q := range e.queue {
		e.preempt(q.Event)
	}
	e.queue = e.queue[:0:0]
	e.put(ev, cause)
}

// View is the controller's memory as it is now; it never changes afterwards.
func (e *Engine) View() *model.View { return e.ctx.Freeze() }

// Queue lists the first max waiting events, and says how many there are.
func (e *Engine) Queue(max int) ([]model.QueuedEvent, int) {
	return slices.Clone(e.queue[:min(max, len(e.queue))]), len(e.queue)
}

// Current is the event at work; nil between events.
func (e *Engine) Current() *model.QueuedEvent {
	if e.turn == nil {
		return nil
	}
	q := e.turn.event
	return &q
}

// EventSeq is the number of the event at work; 0 between events.
func (e *Engine) EventSeq() uint64 {
	if e.turn == nil {
		return 0
	}
	return e.turn.event.Seq
}

// ActiveController is the id of the active controller as last read, or NoController.
func (e *Engine) ActiveController() int32 {
	if e.active == formerSelf {
		return e.cfg.ID
	}
	return e.active
}

// IsActive: this engine is the active controller. Kafka: KafkaController.isActive.
func (e *Engine) IsActive() bool { return e.active == e.cfg.ID }

// Epoch is the controller epoch; 0 while this engine is not the controller.
func (e *Engine) Epoch() int32 { return e.ctx.Epoch }

// UncleanElections counts unclean elections: attempts, as Kafka's meter does.
func (e *Engine) UncleanElections() int { return e.uncleanElections }

// Config is what the engine was made with.
func (e *Engine) Config() Config { return e.cfg }

// OpenRequests shows what the batch being filled holds; nil when all are empty.
func (e *Engine) OpenRequests(max int) *model.OpenRequests {
	if b := e.openBatch(); b != nil {
		return b.show(max)
	}
	return nil
}

// HasOpenRequests tells whether a batch holds requests that are not sent yet.
func (e *Engine) HasOpenRequests() bool { return e.openBatch() != nil }

func (e *Engine) openBatch() *batch {
	for _, b := range []*batch{e.psm, e.rsm, e.own} {
		if !b.empty() {
			return b
		}
	}
	return nil
}
