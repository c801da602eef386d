package debugger

import (
	"context"
	"sync"
	"time"

	"kstate/engine"
	"kstate/internal/journal"
	"kstate/model"
)

// Options of a Session. Engine, Env, Mode and Frames are required.
type Options struct {
	Engine *engine.Engine
	Env    Environment
	Mode   model.Mode
	Source string

	// Operate performs what an operator asks of the cluster (kill a broker,
	// create a topic, ...); it may take its time. The text tells what was done.
	// Nil refuses everything.
	Operate func(ctx context.Context, c model.Command) (string, error)
	// Reset tears the lab down and gives a fresh engine and environment.
	Reset func(ctx context.Context) (Options, error)
	// Peek reads a znode for the screen. It must not go through the engine.
	Peek func(ctx context.Context, path string) model.Znode
	// Explain answers why of a subject; it may read znodes with known.Peek, and
	// runs outside the loop. Nil refuses the command.
	Explain func(known Known, s model.Subject) (*model.Explanation, error)
	// Channels, Brokers, Connection say how things stand; they must not block.
	Channels   func() []model.Channel
	Brokers    func(v *model.View) []model.BrokerStatus
	Connection func() model.Connection
	// SessionID is the id of the ZooKeeper session with which the engine starts.
	SessionID func() int64
	// Expired is called when an Expire event has ended: the next ZooKeeper
	// session may begin.
	Expired func()
	// Recorded is told of every record, in order, from the loop.
	Recorded func(r model.Record)
	// Journal records everything; nil: nothing is recorded. Whoever opened it closes it.
	Journal *journal.Writer
	// Viewed is given the memory after each event, for listeners that answer
	// metadata requests.
	Viewed func(v *model.View, active bool)

	// Restart ends the controller and gives a fresh one on the same surroundings,
	// with a setting changed if the command is one; Restarts tells whether a
	// setting takes effect only then, or why it cannot be changed. Nil: no
	// controller is restarted.
	Restart  func(ctx context.Context, c model.Command) (Options, error)
	Restarts func(c model.ChangeSetting) (bool, error)
	// Lose breaks ZooKeeper's connection at the next request with that operation,
	// before or after it is done. ExpireSession ends the session. Both are for
	// faults; nil refuses those.
	Lose          func(op model.Op, after bool) error
	ExpireSession func() error
	NoFaults      string // why no fault may be injected; empty: they may
	// Disk is what the log directories of a broker hold; it may take its time.
	Disk func(broker int32) []model.LogDir
	// Scenario says how far the lab's exercise is, of the picture that is about to
	// be shown. It must not block, nor take long.
	Scenario func(f *model.Frame) *model.Scenario

	// DeadMan is how long the controller may be held without a command; then it
	// goes on by itself. 0: for ever.
	DeadMan time.Duration

	Clock  func() int64 // ms since 1970; nil: the wall clock
	Paused bool         // hold at the first step
	Begun  bool         // the engine has been at work before: it has had its Started
}

const (
	historyMax    = 65_536                 // records kept for scrolling back
	queueShown    = 200                    // events of the queue in a frame
	batchShown    = 200                    // entries of the open batch in a frame
	noticesKept   = 8                      // notices in a frame
	framesPerSec  = 30                     // at most
	inspectPeriod = 250 * time.Millisecond // how old the inspector's znodes may get
	znodesPeeked  = 32                     // znodes read for the step at hand
)

// Session runs the loop of one engine and its front end. Frames come from
// Frames, latest wins; commands go to Do; inputs go to Input.
type Session struct {
	opt    Options // the loop's
	clock  func() int64
	frames chan model.Frame
	wake   chan struct{}

	mu       sync.Mutex
	inputs   []model.Input
	commands []order
	jobs     []func() // results of work outside the loop, run inside it

	// owned by the loop
	mode           runMode
	grain          model.Grain
	until          model.Pattern // of seeking
	heldAt         uint64        // the number of the step at which the controller was last held; 0: at none
	faults         faultTable
	stopReason     string
	inFlight       model.Step
	inFlightAt     uint64         // number of that step in the journal
	journalFails   bool           // and the operator was told
	silent         map[int32]bool // brokers of which the operator was told that they do not answer
	taken          uint64         // steps settled
	positions      uint64         // records made
	history        *model.History
	partitionMove  model.Step // the last one
	replicaMove    model.Step // the last one
	notices        []model.Notice
	noticeSeq      uint64
	asked          uint64 // asks of the operator
	takeoverFailed string // why the last takeover failed, as the operator was told
	inspection     *model.Inspection
	inspecting     bool
	subject        model.Subject
	stepZnodes     *model.StepZnodes
	preview        *model.ElectionPreview
	why            explaining
	resetting      bool
	gone           bool // the engine was closed and a reset gave no other
	dirty          bool
	lastFrame      time.Time
	calls          chan callJob
	asideAt        map[uint64]model.Step // steps of admin requests that are being performed
	heldSince      int64                 // of a hold that the dead-man timer looks after; 0: there is none
	commandedAt    int64                 // when the operator's last command came
	resigning      bool
	resigned       chan struct{}
	generation     int // rises with each reset: late results of an old engine are dropped
}

// callJob is a call to perform outside the loop, for the engine of a generation.
type callJob struct {
	call       *model.Call
	env        Environment
	generation int
	hits       []opHit
	hands      hands
}

type runMode uint8

const (
	running runMode = iota
	paused
	stepping // until a step of the grain is at hand
	seeking  // until a step with a text is at hand
)

// NewSession makes a session; Run starts it.
func NewSession(opt Options) *Session {
	if opt.Clock == nil {
		opt.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	s := &Session{opt: opt, clock: opt.Clock, frames: make(chan model.Frame, 1), wake: make(chan struct{}, 1), calls: make(chan callJob, 1), resigned: make(chan struct{})}
	s.start()
	return s
}

// start begins with a fresh engine and a fresh history.
func (s *Session) start() {
	s.history, s.positions = model.NewHistory(historyMax), 0
	s.mode, s.stopReason, s.partitionMove, s.replicaMove = running, "", nil, nil
	if s.opt.Paused {
		s.mode, s.stopReason = paused, "started paused"
	}
	s.faults.clear(0)
	s.begin()
}

// begin begins with a fresh engine.
func (s *Session) begin() {
	s.inFlight, s.stepZnodes, s.preview, s.inspection = nil, nil, nil, nil
	s.why = explaining{subject: s.why.subject}
	s.dirty = true // taken goes on: a command must not fit a step of another engine
	s.faults.mu.Lock()
	s.faults.operate = s.opt.Operate
	s.faults.release(model.AnyBroker)
	s.faults.mu.Unlock()
	s.asideAt = map[uint64]model.Step{}
	s.opt.Journal.Engine(s.opt.Clock(), Settings(s.opt.Engine.Config()))
	if s.opt.Begun {
		return
	}
	started := &model.Started{}
	if s.opt.SessionID != nil {
		started.Session = s.opt.SessionID()
	}
	s.accept(model.Input{At: s.opt.Clock(), Of: started})
}

// Frames yields the newest picture; older ones that nobody took are gone.
func (s *Session) Frames() <-chan model.Frame { return s.frames }

// Do gives a command; it never blocks.
func (s *Session) Do(c model.Command) {
	s.mu.Lock()
	s.commands = append(s.commands, order{command: c})
	s.mu.Unlock()
	s.signal()
}

// Input gives an input, from any goroutine; it never blocks. Inputs given
// before a call's result was returned are queued before that result counts.
func (s *Session) Input(st model.Stimulus) {
	in := model.Input{At: s.clock(), Of: st}
	s.mu.Lock()
	s.inputs = append(s.inputs, in)
	s.mu.Unlock()
	s.signal()
}

// inLoop has f run in the loop, which owns everything.
func (s *Session) inLoop(f func()) {
	s.mu.Lock()
	s.jobs = append(s.jobs, f)
	s.mu.Unlock()
	s.signal()
}

// aside runs work outside the loop and then done in it, unless the engine was
// replaced in between: what was found out about the old one is of no use. It is
// called in the loop.
func (s *Session) aside(work, done func()) {
	generation := s.generation
	go func() {
		work()
		s.inLoop(func() {
			if s.generation == generation {
				done()
			}
		})
	}()
}

func (s *Session) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run is the loop; it returns when ctx ends. The engine is closed then.
func (s *Session) Run(ctx context.Context) {
	defer func() { s.opt.Engine.Close() }()
	go s.callWorker(ctx)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		s.drain(ctx)
		s.takeAsides(ctx)
		for range 256 { // then look at commands again
			if !s.takeStep(ctx) {
				break
			}
		}
		s.restWhenIdle()
		left := s.deadMan()
		wait := s.showFrame(ctx)
		if left > 0 {
			wait = min(wait, left)
		}
		if s.mayTake() != nil || s.pending() {
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// restWhenIdle ends stepping when there is nothing left to step: the next event
// is held at its begin.
func (s *Session) restWhenIdle() {
	if s.mode == stepping && s.inFlight == nil && !s.resetting && s.opt.Engine.At() == nil {
		s.pause("stepped by " + s.grain.String() + ": the event queue is empty")
	}
}

func (s *Session) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inputs)+len(s.jobs) > 0 || len(s.commands) > 0 && !s.resetting
}

// drain takes what has come from outside: inputs before the results of calls, so
// that an event that was fired first is queued first. Commands wait while the
// lab is being reset.
func (s *Session) drain(ctx context.Context) {
	s.mu.Lock()
	inputs, jobs := s.inputs, s.jobs
	s.inputs, s.jobs = nil, nil
	var commands []order
	if !s.resetting {
		commands, s.commands = s.commands, nil
	}
	s.mu.Unlock()
	s.dirty = s.dirty || len(inputs)+len(jobs)+len(commands) > 0
	for _, in := range inputs {
		s.accept(in)
	}
	for _, f := range jobs {
		f()
	}
	for i, c := range commands {
		if s.resetting {
			s.mu.Lock()
			s.commands = append(commands[i:len(commands):len(commands)], s.commands...)
			s.mu.Unlock()
			break
		}
		s.command(ctx, c)
	}
}

// accept hands an input to the engine. One that comes while there is none, from
// an environment that is being taken down, concerns nobody.
func (s *Session) accept(in model.Input) {
	if s.resetting || s.gone {
		return
	}
	s.opt.Journal.Input(in)
	if _, remark := in.Of.(*model.Remarked); remark {
		s.record(model.Record{At: in.At, Input: in.Of})
		return
	}
	s.opt.Engine.Accept(in)
	s.record(model.Record{At: in.At, Input: in.Of})
}

// mayTake is the step that may be taken now; nil when it rests or waits.
func (s *Session) mayTake() model.Step {
	if s.inFlight != nil || s.resetting || s.gone {
		return nil
	}
	at := s.opt.Engine.At()
	if at == nil || s.mode == paused {
		return nil
	}
	if s.mode == stepping && at.Grain() <= s.grain {
		s.pause("stepped by " + s.grain.String())
		return nil
	}
	if s.found(at) {
		s.pause("ran until " + string(s.until))
		return nil
	}
	return at
}

// takeStep takes the step at hand, if it may be taken; true when more may follow.
func (s *Session) takeStep(ctx context.Context) bool {
	at := s.mayTake()
	if at == nil {
		return false
	}
	return s.perform(ctx, at)
}

// perform has the environment perform the step at hand, after what faults want
// done before it; true when more may follow.
func (s *Session) perform(ctx context.Context, at model.Step) bool {
	s.note(at)
	s.dirty = true
	if s.before(ctx, at) {
		return false
	}
	return s.performHeld(at)
}

// performHeld performs the step at hand. A call is performed outside the loop; its
// result comes back as a job.
func (s *Session) performHeld(at model.Step) bool {
	if call, ok := at.(*model.Call); ok {
		s.inFlight = at
		s.inFlightAt = s.opt.Journal.Step(s.opt.Clock(), s.opt.Engine.EventSeq(), 0, at)
		s.calls <- callJob{call, s.opt.Env, s.generation, s.faults.onCall(call, s.opt.Engine.HasOpenRequests()), s.hands()}
		return false
	}
	if link, ok := at.(*model.Link); ok && !link.Up {
		s.faults.mu.Lock()
		s.faults.release(link.Broker.ID) // nobody waits for them any more
		s.faults.mu.Unlock()
	}
	s.settle(at, s.performNow(at, s.opt.Engine.EventSeq(), 0))
	return true
}

// performNow performs a step that waits for nobody, of the event or of the admin
// request with that number. What somebody performs is in the journal before.
func (s *Session) performNow(at model.Step, event, aside uint64) model.Result {
	j := s.opt.Journal
	if !Performed(at) {
		r := s.opt.Env.Perform(at)
		j.Taken(r.At, event, aside, at)
		return r
	}
	n := j.Step(s.opt.Clock(), event, aside, at)
	r := model.Result{At: s.opt.Clock()}
	if reply, ok := isOperators(at); ok {
		s.answered(reply)
	} else {
		r = s.opt.Env.Perform(at)
	}
	j.Settled(n, at, r)
	return r
}

// Performed tells whether somebody outside does something for a step: a recording
// has such a step and its result apart.
func Performed(at model.Step) bool {
	_, local := at.(*model.Watch)
	return at.Grain() == model.IOGrain && !local
}

// takeAsides takes the steps of admin requests, which go on while the
// controller is held. Their calls are performed outside the loop, each on its own.
func (s *Session) takeAsides(ctx context.Context) {
	for again := true; again && !s.resetting; {
		again = false
		for _, a := range s.opt.Engine.Asides() {
			if s.asideAt[a.ID] == a.Step {
				continue
			}
			s.record(model.Record{At: s.opt.Clock(), Step: a.Step})
			s.dirty = true
			call, ok := a.Step.(*model.Call)
			if !ok {
				s.opt.Engine.SettleAside(a.ID, s.performNow(a.Step, 0, a.ID))
				again = true
				continue
			}
			s.asideAt[a.ID] = a.Step
			s.callAside(ctx, a.ID, call)
		}
	}
}

func (s *Session) callAside(ctx context.Context, id uint64, call *model.Call) {
	job := callJob{call, s.opt.Env, s.generation, s.faults.onCall(call, false), s.hands()} // it has no batch
	n := s.opt.Journal.Step(s.opt.Clock(), 0, id, call)
	go func() {
		r := s.performCall(ctx, job)
		s.inLoop(func() {
			if s.generation == job.generation {
				delete(s.asideAt, id)
				s.opt.Journal.Settled(n, call, r)
				s.opt.Engine.SettleAside(id, r)
			}
		})
	}()
}

// callWorker performs calls one at a time.
func (s *Session) callWorker(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-s.calls:
			r := s.performCall(ctx, job)
			s.inLoop(func() {
				if s.generation == job.generation {
					s.inFlight = nil
					s.history.SetResult(r)
					s.opt.Journal.Settled(s.inFlightAt, job.call, r)
					s.settle(job.call, r)
				}
			})
		}
	}
}

func (s *Session) settle(at model.Step, r model.Result) {
	s.opt.Engine.Settle(r)
	s.taken++
	end, ok := at.(*model.End)
	if !ok {
		return
	}
	if _, expire := end.Event.Event.(*model.Expire); expire && s.opt.Expired != nil {
		s.opt.Expired()
	}
	if _, shut := end.Event.Event.(*model.ShutdownEventThread); shut && s.resigning && !s.gone {
		s.gone = true // it does not run for the role again
		close(s.resigned)
	}
	s.noteTakeover()
	if s.opt.Viewed != nil {
		s.opt.Viewed(s.opt.Engine.View(), s.opt.Engine.IsActive())
	}
}

// noteTakeover says why the controller cannot start, once for each reason: it
// may be elected and fail hundreds of times a second.
func (s *Session) noteTakeover() {
	why := ""
	err := s.opt.Engine.TakeoverError()
	if err != nil {
		why = err.Error()
	}
	switch {
	case why == s.takeoverFailed || why == "":
	case engine.ExceptionClass(err) == "ControllerMovedException": // as in each race for the role
		s.notice(model.Warn, "another controller was faster, or took the role before this one had started")
	default:
		s.notice(model.Error, "the controller won the role and could not start, so it gave the role up: "+why)
	}
	s.takeoverFailed = why
}

// note writes the step down before it is performed, and lights its edge.
func (s *Session) note(at model.Step) {
	s.record(model.Record{At: s.opt.Clock(), Step: at})
	switch at.(type) {
	case *model.MovePartition, *model.RefusePartition:
		s.partitionMove = at
	case *model.MoveReplica, *model.RefuseReplica:
		s.replicaMove = at
	}
}

func (s *Session) record(r model.Record) {
	s.positions++
	r.Position, r.EventSeq = s.positions, s.opt.Engine.EventSeq()
	s.history.Append(r)
	if s.opt.Recorded != nil {
		s.opt.Recorded(r)
	}
}

func (s *Session) pause(reason string) {
	s.mode, s.stopReason, s.dirty = paused, reason, true
	s.stepZnodes, s.heldAt = nil, 0
	if s.inFlight == nil && s.opt.Engine.At() != nil {
		s.heldAt = s.taken + 1
	}
}

func (s *Session) notice(l model.Level, text string) {
	s.noticeSeq++
	s.opt.Journal.Notice(s.opt.Clock(), l, text)
	s.notices = append(s.notices, model.Notice{Seq: s.noticeSeq, At: s.opt.Clock(), Level: l, Text: text})
	if len(s.notices) > noticesKept {
		s.notices = append([]model.Notice(nil), s.notices[1:]...)
	}
	s.dirty = true
}

func partitionEdge(s model.Step) *model.PartitionEdge {
	switch m := s.(type) {
	case *model.MovePartition:
		return &model.PartitionEdge{Edge: model.Edge[model.PartitionState]{From: m.From, To: m.To}, Subject: m.TopicPartition}
	case *model.RefusePartition:
		return &model.PartitionEdge{Edge: model.Edge[model.PartitionState]{From: m.From, To: m.To}, Subject: m.TopicPartition, Refused: true}
	}
	return nil
}

func replicaEdge(s model.Step) *model.ReplicaEdge {
	switch m := s.(type) {
	case *model.MoveReplica:
		return &model.ReplicaEdge{Edge: model.Edge[model.ReplicaState]{From: m.From, To: m.To}, Subject: m.Replica}
	case *model.RefuseReplica:
		return &model.ReplicaEdge{Edge: model.Edge[model.ReplicaState]{From: m.From, To: m.To}, Subject: m.Replica, Refused: true}
	}
	return nil
}
