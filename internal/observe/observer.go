package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

const (
	historyMax  = 65_536
	framePeriod = time.Second / 30 // parts frames at least
	// loadingPeriod parts frames while the tree is read: each makes the survey
	// copy what is written after it.
	loadingPeriod = 100 * time.Millisecond
	noticesKept   = 8
	// sliceChanges are taken in before the clock is looked at again: a picture
	// of 300,000 znodes must not hold up the frames.
	sliceChanges = 4096
	// beatPeriod is how often a frame comes although nothing has changed: the
	// ages in it grow.
	beatPeriod = time.Second
)

// Options of an Observer. Conn, Source and Config are required.
type Options struct {
	Conn   *zkwatch.Conn
	Source string // as the operator named the cluster
	Config tree.Config
	// Recorded is told of every record, in order, from the loop: changes of the
	// tree, and what the controller's shadow did.
	Recorded func(r model.Record)
	// Journal says how a recording stands, for the screen; nil: there is none.
	Journal func() *model.JournalStatus
	// Told is told of every event, in order, from the loop.
	Told  func(e Event)
	Admin Administrator // who plans changes; nil: read only
}

// Observer follows one cluster. Frames come from Frames, latest wins; commands
// go to Do.
type Observer struct {
	opt    Options
	frames chan model.Frame
	cmds   chan model.Command
	done   chan struct{} // closed when Run has ended

	progressMu sync.Mutex
	progress   *model.Progress

	// owned by the loop
	survey    *tree.Survey
	history   *model.History
	positions uint64
	synced    bool // the first picture was complete once
	lost      *lost
	alarm     alarm
	brokers   []model.BrokerStatus // of the survey as it is, nil: to be listed
	notices   []model.Notice
	noticeSeq uint64
	dirty     bool
	shown     time.Time // the last frame

	inspector inspector
	why       explaining

	following  following
	deletions  deletions
	silence    silence
	controller model.ControllerStatus // as it was told last
	zxid       int64                  // the newest transaction that was seen
	admin      administration
}

// lost says since when changes are missed, and why.
type lost struct {
	since int64 // ms since 1970
	why   string
}

// New makes an observer; Run starts it.
func New(opt Options) *Observer {
	return &Observer{opt: opt, frames: make(chan model.Frame, 1), cmds: make(chan model.Command, 64), done: make(chan struct{}),
		survey: tree.NewSurvey(opt.Config), history: model.NewHistory(historyMax), dirty: true,
		progress: &model.Progress{What: "connecting"}, inspector: newInspector(opt.Conn),
		following: newFollowing(), deletions: newDeletions(), silence: newSilence(), admin: newAdministration(opt.Admin)}
}

// Frames yields the newest picture; older ones that nobody took are gone. It is
// closed when Run ends.
func (o *Observer) Frames() <-chan model.Frame { return o.frames }

// Do gives a command.
func (o *Observer) Do(c model.Command) {
	select {
	case o.cmds <- c:
	case <-o.done:
	}
}

// Run follows the cluster until ctx ends (nil) or the connection is closed.
func (o *Observer) Run(ctx context.Context) error {
	defer close(o.frames)
	defer close(o.done)
	o.send()
	mirror, err := o.opt.Conn.Mirror(zkwatch.MirrorOptions{OnProgress: o.loading})
	if err != nil {
		return err
	}
	defer mirror.Close()
	defer o.following.start(ctx)()
	tick := time.NewTicker(framePeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case changes, open := <-mirror.Changes():
			if !open {
				return errors.New("the connection to ZooKeeper was closed")
			}
			for part := range slices.Chunk(changes, sliceChanges) {
				o.apply(part)
				o.following.feed(part)
				o.sendIfDue()
			}
		case <-o.following.bell:
			o.heed()
		case c := <-o.cmds:
			o.command(c)
		case in := <-o.inspector.read:
			o.inspector.take(in)
			o.dirty = true
		case n := <-o.admin.news:
			o.adminNewsIs(n)
		case <-tick.C:
			o.inspector.look(o.lost == nil)
			o.explainAnew()
			o.lookAround()
			o.followChanges()
			o.sendIfDue()
		}
	}
}

func (o *Observer) loading(p zkwatch.Progress) {
	o.setProgress(&model.Progress{Done: p.Read, Total: p.Found, What: "znodes"})
}

func (o *Observer) setProgress(p *model.Progress) {
	o.progressMu.Lock()
	defer o.progressMu.Unlock()
	o.progress = p
}

func (o *Observer) loadingNow() *model.Progress {
	o.progressMu.Lock()
	defer o.progressMu.Unlock()
	return o.progress
}

func (o *Observer) apply(changes []zkwatch.Change) {
	now := time.Now().UnixMilli()
	o.dirty, o.brokers, o.why.stale = true, nil, true
	for i := range changes {
		c := &changes[i]
		switch c.Mark {
		case zkwatch.Synced:
			o.whole(now)
		case zkwatch.Lost:
			o.lost = &lost{since: now}
			if c.Err != nil {
				o.lost.why = c.Err.Error()
			}
			o.notice(model.Error, "changes are missed: "+o.lost.why)
			o.tell(Event{Type: ConnectionEvent, At: now, What: "lost", Reason: o.lost.why})
		default:
			o.applyZnode(c, now)
		}
	}
}

// whole notes that the picture is complete.
func (o *Observer) whole(now int64) {
	o.setProgress(nil)
	if !o.synced {
		o.troublesAtFirst(now)
	}
	if o.lost != nil {
		o.notice(model.Info, fmt.Sprintf("up to date again after %v", (time.Duration(now-o.lost.since)*time.Millisecond).Round(100*time.Millisecond)))
		o.inspector.stale = true
	}
	first := !o.synced
	o.synced, o.lost = true, nil
	o.alarm = alarm{}
	o.tell(Event{Type: ConnectionEvent, At: now, What: "synced"})
	if first {
		o.silence.begin(o.survey)
		o.deletions.begin(o, now)
	}
	o.silence.moved = now
	o.tellController(now)
}

func partitionsOf(v *model.View) int {
	n := 0
	for _, c := range v.PartitionCounts {
		n += c
	}
	return n
}

func (o *Observer) applyZnode(c *zkwatch.Change, now int64) {
	z := c.Znode()
	o.zxid = max(o.zxid, c.Zxid, c.Stat.Mzxid)
	ref := model.ParsePath(z.Path)
	was := o.survey.View().Leadership(ref.TopicPartition())
	o.survey.Apply(z)
	o.inspector.changed(c.Path)
	var is *model.LeaderIsrAndControllerEpoch
	if !z.Missing {
		is = o.survey.View().Leadership(ref.TopicPartition())
	}
	o.silence.seen(ref, &z, was, is, now)
	if !o.synced {
		return
	}
	o.tellZnode(&z, ref, now, z.Stat.Version > 0 || z.Stat.Czxid != z.Stat.Mzxid)
	if ref.Kind == model.ControllerZnode || ref.Kind == model.ControllerEpochZnode {
		o.silence.takeover(partitionsOf(o.survey.View()), now)
		o.tellController(now)
	}
	o.deletions.seen(o, ref, z.Missing, now)
	o.record(model.Record{At: now, Input: &model.ZnodeSeen{Path: c.Path, Version: c.Stat.Version, Gone: c.Deleted, Zxid: c.Zxid}})
	if t, ok := o.survey.Trouble(c.Path); ok {
		o.trouble(&t, now)
		o.notice(model.Warn, tree.Printable(t.Err))
	}
}

func (o *Observer) record(r model.Record) {
	o.positions++
	r.Position = o.positions
	o.history.Append(r)
	if o.opt.Recorded != nil {
		o.opt.Recorded(r)
	}
}

// trouble writes down a znode that cannot be read.
func (o *Observer) trouble(t *tree.Trouble, now int64) {
	o.record(model.Record{At: now, Step: &model.Log{Logger: "kstate", Level: model.Warn, Text: tree.Printable(t.Err)}})
}

// troublesAtFirst writes down what could not be read of the first picture.
func (o *Observer) troublesAtFirst(now int64) {
	all := o.survey.Troubles()
	for i := range all {
		o.trouble(&all[i], now)
	}
	switch len(all) {
	case 0:
	case 1:
		o.notice(model.Warn, tree.Printable(all[0].Err))
	default:
		o.notice(model.Warn, fmt.Sprintf("%d znodes cannot be read, all of them in the log; the first: %s", len(all), tree.Printable(all[0].Err)))
	}
}

func (o *Observer) command(c model.Command) {
	switch c := c.(type) {
	case model.Inspect:
		o.inspector.choose(c.Subject)
		o.dirty = true
		return
	case model.Explain:
		o.why = explaining{subject: c.Subject, stale: true}
		o.explainAnew()
		return
	}
	if !o.administer(c) {
		o.notice(model.Warn, o.refusal(c))
	}
}

func (o *Observer) notice(l model.Level, text string) {
	o.noticeSeq++
	o.notices = append(o.notices, model.Notice{Seq: o.noticeSeq, At: time.Now().UnixMilli(), Level: l, Text: text})
	if len(o.notices) > noticesKept { // a frame may hold the old slice
		o.notices = slices.Clone(o.notices[1:])
	}
	o.dirty = true
}

// refusal says why a command does nothing here.
func (o *Observer) refusal(c model.Command) string {
	mode := o.mode()
	switch c.(type) {
	case model.Pause, model.Continue, model.StepBy:
		return fmt.Sprintf("refused: %s mode shows the cluster's own controller, which cannot be held or stepped", mode)
	case model.PreviewElection:
		return fmt.Sprintf("refused: use kstate elect preview; %s mode has no controller to ask", mode)
	}
	if mode == model.AdminMode {
		return fmt.Sprintf("refused: there is no way to do that from outside (%T)", c)
	}
	return fmt.Sprintf("refused: observe mode is read only (%T)", c)
}

func (o *Observer) mode() model.Mode {
	if o.admin.by != nil {
		return model.AdminMode
	}
	return model.ObserveMode
}

// sendIfDue sends a frame if there is something new, or the last one is old.
func (o *Observer) sendIfDue() {
	age, loading := time.Since(o.shown), o.loadingNow() != nil
	switch {
	case loading && age >= loadingPeriod,
		!loading && o.dirty && age >= framePeriod*9/10, // a ticker is not exact
		age > beatPeriod:
		o.send()
	}
}

// send makes a frame and hands it over, latest wins.
func (o *Observer) send() {
	o.alarm.raise(o)
	f := o.frame()
	o.dirty, o.shown = false, time.Now()
	select {
	case <-o.frames:
	default:
	}
	o.frames <- f
}

func (o *Observer) frame() model.Frame {
	if o.brokers == nil {
		o.brokers = o.survey.Brokers()
	}
	f := model.Frame{Mode: o.mode(), ReadOnly: o.admin.by == nil, Source: o.opt.Source, Now: time.Now().UnixMilli(), Run: model.Running,
		Connection: o.connection(), Controller: o.survey.Controller(), Progress: o.loadingNow(), View: o.survey.Freeze(), Brokers: o.brokers,
		History: o.history.Snapshot(), Notices: o.notices, Inspection: o.inspector.inspection, Explanation: o.why.explanation,
		Alert: o.silence.alert, Following: o.followed(), Edges: o.following.edges, Plan: o.admin.plan, Outcome: o.admin.outcome}
	if o.opt.Journal != nil {
		f.Journal = o.opt.Journal()
	}
	return f
}

// connection is not connected until what was missed has been read, whatever the
// socket says: what is shown is old until then.
func (o *Observer) connection() model.Connection {
	state := o.opt.Conn.State()
	c := model.Connection{Connected: state.Phase == zkwatch.Connected && o.lost == nil, Since: state.Since.UnixMilli(), Heard: o.opt.Conn.Heard(), Text: state.Phase.String()}
	if state.Err != nil && state.Phase != zkwatch.Connected {
		c.Text += ": " + state.Err.Error()
	}
	if o.lost == nil {
		return c
	}
	c.Since = o.lost.since
	if state.Phase == zkwatch.Connected {
		c.Text = "it is back, reading what was missed"
	}
	return c
}
