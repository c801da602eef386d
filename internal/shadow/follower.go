package shadow

import (
	"fmt"

	"kstate/engine"
	"kstate/model"
)

// All times are in ms.
const (
	// settleMillis is how long a change rests before the engine is told: by then
	// those that belong before it have come, and often what the controller made of it.
	settleMillis = 120
	// unclaimedMillis is the same for what the controller did and the engine did not
	// propose: a deletion is told at once, and its reason may still be being read.
	unclaimedMillis = 400
	// awaitMillis is how long a proposed write waits for its znode, and silentMillis
	// is the same while the controller answers nobody: it goes on later where it stopped.
	awaitMillis  = 5_000
	silentMillis = 60_000
	// trustMillis is how long an assumed answer of a broker may go without the
	// topic's end before it is taken back.
	trustMillis = 15_000
	// restartMillis parts restarts, twice as long after each that came soon.
	restartMillis    = 5_000
	maxRestartMillis = 300_000
	divergencesKept  = 1_000
)

// Divergence is a subject of which the controller did something else than the
// engine proposed.
type Divergence struct {
	At      int64
	Topic   string
	Subject string // a topic-partition, or a path
	Text    string // what was expected and what came
}

// Notice is something that the operator is told.
type Notice struct {
	At    int64
	Level model.Level
	Text  string
}

// News is what a follower has to tell since it was last asked. Records have no
// position yet.
type News struct {
	Records     []model.Record
	Notices     []Notice
	Divergences []Divergence
}

// follower is the shadow without its goroutine: it is fed and told the time, and
// everything that follows happens at once.
type follower struct {
	now     int64
	tree    *znodes
	changes *changes
	synced  bool
	roles   int // pending changes of who holds the role

	eng       *engine.Engine // nil while nothing is followed
	term      int32          // controller epoch of the last engine
	began     bool           // an engine was there since the connection came
	quiet     bool           // the engine takes over from the tree: nothing of it is told
	electing  bool           // and has not got the virtual role yet
	broken    string         // why there is no engine although there is a controller
	restartAt int64          // when it begins anew; 0: not planned
	pause     int64          // between restarts
	started   int64

	nodeWatches, childWatches map[string]bool
	await                     *await
	event                     eventAtWork
	held                      []held
	doubted                   map[string]bool // topics whose brokers' answers are not assumed any more
	early                     map[string]bool // topics that were being deleted when the engine began
	deleteOff                 bool            // the controller drops markers: delete.topic.enable is off there
	reread, verify            []model.TopicPartition
	phantom                   []byte // a notification that only the engine sees
	asks                      uint64
	suspect                   bool // the controller seems to answer nobody
	wakeAt                    int64

	diverged map[string]Divergence
	news     News
}

// eventAtWork is what is known of the engine's event.
type eventAtWork struct {
	assumed   bool            // its input was assumed, not seen
	abandoned bool            // a write of it did not come
	stirred   bool            // it did something that is told
	confirmed map[string]bool // state znodes that came as proposed
	records   []model.Record  // not told yet
}

func newFollower() *follower {
	return &follower{tree: newZnodes(), changes: newChanges(), pause: restartMillis, nodeWatches: map[string]bool{}, childWatches: map[string]bool{},
		doubted: map[string]bool{}, early: map[string]bool{}, diverged: map[string]Divergence{}}
}

// feed takes in what the mirror saw.
func (f *follower) feed(list []Change, now int64) {
	f.now = max(f.now, now)
	for i := range list {
		c := &list[i]
		switch {
		case c.Mark == Synced:
			f.letIn()
			f.synced = true
		case c.Mark == Lost:
			f.stop()
			f.synced, f.began, f.broken = false, false, ""
			f.letIn()
		case !f.synced:
			f.apply(*c)
		default:
			f.queue(*c)
		}
	}
}

func (f *follower) queue(c Change) {
	known := int64(0)
	if z := f.tree.find(c.Znode.Path); z != nil {
		known = z.czxid
	}
	if f.await != nil {
		f.await.fresh = append(f.await.fresh, c.Znode.Path)
	}
	if p := f.changes.add(c, known, f.now); isRole(p.ref.Kind) {
		f.roles++
	}
}

func isRole(k model.ZnodeKind) bool {
	return k == model.ControllerZnode || k == model.ControllerEpochZnode
}

// letIn applies all that is pending, without an engine that would care.
func (f *follower) letIn() {
	for p := f.changes.head(); p != nil; p = f.changes.head() {
		f.enter(p)
	}
}

// enter lets a change into the tree.
func (f *follower) enter(p *pending) {
	f.changes.take(p)
	if isRole(p.ref.Kind) {
		f.roles--
	}
	if p.ref.Kind == model.DeleteTopicZnode && p.Znode.Missing { // the next topic of that name is another
		delete(f.doubted, p.ref.Topic)
		delete(f.early, p.ref.Topic)
	}
	f.apply(p.Change)
}

// advance does all that can be done now; it returns when to come again without
// news, 0 for never.
func (f *follower) advance(now int64) int64 {
	f.now, f.wakeAt = max(f.now, now), 0
	for f.step() {
	}
	return f.wakeAt
}

// wake asks to be called at that time at the latest.
func (f *follower) wake(at int64) {
	if f.wakeAt == 0 || at < f.wakeAt {
		f.wakeAt = at
	}
}

// step does one thing; false when there is nothing to do now.
func (f *follower) step() bool {
	switch {
	case !f.synced:
		return false
	case f.eng == nil:
		return f.withoutEngine()
	case f.await != nil:
		return f.answerAwaited()
	}
	if at := f.eng.At(); at != nil {
		f.perform(at)
		return true
	}
	return f.idle()
}

// idle is what happens between events.
func (f *follower) idle() bool {
	switch {
	case !f.eng.IsActive():
		f.breakOff()
		return true
	case f.deliverHeld(), f.rereadStates():
		return true
	case f.quiet:
		f.quiet = false
		return true
	case f.mismatched():
		f.planRestart()
		return true
	case f.restartAt != 0 && f.now >= f.restartAt:
		f.restart()
		return true
	}
	if f.restartAt != 0 {
		f.wake(f.restartAt)
	}
	return f.takeChange()
}

// withoutEngine follows the tree until somebody holds the role.
func (f *follower) withoutEngine() bool {
	if f.ready() {
		return f.start(!f.began || f.termNow() == f.term)
	}
	p := f.changes.head()
	if p == nil {
		return false
	}
	if ready := p.at + settleMillis; f.now < ready {
		f.wake(ready)
		return false
	}
	f.enter(p)
	return true
}

// ready: there is a controller to follow. One of a new term is followed from
// where its work begins; a known term is taken up again when all is at rest.
func (f *follower) ready() bool {
	_, epoch, ok := f.role()
	switch {
	case !ok || f.roleAhead():
		return false
	case f.began && epoch > f.term:
		return true
	case f.changes.head() != nil:
		return false
	case f.now < f.restartAt:
		f.wake(f.restartAt)
		return false
	}
	return true
}

func (f *follower) termNow() int32 {
	_, epoch, _ := f.role()
	return epoch
}

// role reads who the controller is.
func (f *follower) role() (id, epoch int32, ok bool) {
	c, e := f.tree.find(model.ControllerPath), f.tree.find(model.ControllerEpochPath)
	if c == nil || e == nil || c.owner == 0 { // a persistent one is a leftover, or KRaft's
		return 0, 0, false
	}
	id, present, err := model.DecodeController(model.ControllerPath, c.data)
	if err != nil || !present || id < 0 {
		return 0, 0, false
	}
	epoch, err = model.DecodeControllerEpoch(model.ControllerEpochPath, e.data)
	return id, epoch, err == nil
}

// roleAhead: before the controller did anything more, the role changes.
func (f *follower) roleAhead() bool {
	if f.roles == 0 {
		return false
	}
	for _, p := range f.changes.list {
		switch {
		case p.taken:
		case isRole(p.ref.Kind):
			return true
		case byController(p, f.tree.find(p.Znode.Path)):
			return false
		}
	}
	return false
}

// takeChange lets the next change in: what others did, all of it up to what the
// controller did; or that, which nobody proposed.
func (f *follower) takeChange() bool {
	p := f.changes.head()
	if p == nil {
		return false
	}
	ready, unclaimed := p.at+settleMillis, byController(p, f.tree.find(p.Znode.Path))
	if unclaimed {
		ready = p.at + unclaimedMillis
	}
	if f.now < ready {
		f.wake(ready)
		return false
	}
	if f.roleAhead() {
		f.stop()
		return true
	}
	if unclaimed {
		f.follow(p)
		return true
	}
	for ; p != nil && !byController(p, f.tree.find(p.Znode.Path)); p = f.changes.head() {
		f.foresee(p)
		f.enter(p)
		f.settings(p)
	}
	return true
}

// foresee looks ahead: a marker that is gone again while its topic stays was
// dropped by a controller that deletes no topics.
func (f *follower) foresee(p *pending) {
	if p.ref.Kind != model.DeleteTopicZnode || p.Znode.Missing || f.deleteOff || f.tree.find(model.TopicPath(p.ref.Topic)) == nil {
		return
	}
	touched := f.changes.any(func(o *pending) bool {
		return o.ref.Topic == p.ref.Topic && o.ref.Kind != model.DeleteTopicZnode && byController(o, f.tree.find(o.Znode.Path))
	})
	gone := f.changes.any(func(o *pending) bool { return o.Znode.Path == p.Znode.Path && o.Znode.Missing })
	if gone && !touched {
		f.learnDeleteOff()
	}
}

func (f *follower) learnDeleteOff() {
	f.deleteOff = true
	f.tell(model.Info, "the controller drops deletion markers at once: delete.topic.enable is off there")
	f.restart()
}

func (f *follower) tell(l model.Level, text string) {
	f.news.Notices = append(f.news.Notices, Notice{f.now, l, text})
}

func (f *follower) diverge(topic, subject, text string) {
	d := Divergence{f.now, topic, subject, text}
	if len(f.diverged) < divergencesKept || f.diverged[subject] != (Divergence{}) {
		f.diverged[subject] = d
	}
	f.news.Divergences = append(f.news.Divergences, d)
	f.news.Records = append(f.news.Records, model.Record{At: f.now, Inferred: true, Step: &model.Log{Logger: "shadow", Level: model.Warn, Text: fmt.Sprintf("diverged: %s: %s", subject, text)}})
}
