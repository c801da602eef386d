package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

const (
	historyMax   = 65_536
	framesPerSec = 30
	noticesKept  = 8
)

// Options of an Observer.
type Options struct {
	Conn   *zkwatch.Conn
	Source string
	Config tree.Config
}

// Observer follows one cluster. Frames come from Frames, latest wins; commands
// go to Do.
type Observer struct {
	opt    Options
	frames chan model.Frame
	cmds   chan model.Command

	progressMu sync.Mutex
	progress   *model.Progress

	// owned by the loop
	survey    *tree.Survey
	history   *model.History
	positions uint64
	synced    bool
	lostSince int64
	lostWhy   string
	subject   model.Subject
	notices   []model.Notice
	noticeSeq uint64
	dirty     bool
}

// New makes an observer; Run starts it.
func New(opt Options) *Observer {
	return &Observer{opt: opt, frames: make(chan model.Frame, 1), cmds: make(chan model.Command, 64),
		survey: tree.NewSurvey(opt.Config), history: model.NewHistory(historyMax), dirty: true,
		progress: &model.Progress{What: "connecting"}}
}

// Frames yields the newest picture; older ones that nobody took are gone.
func (o *Observer) Frames() <-chan model.Frame { return o.frames }

// Do gives a command.
func (o *Observer) Do(c model.Command) { o.cmds <- c }

// Run follows the cluster until ctx ends.
func (o *Observer) Run(ctx context.Context) error {
	o.send()
	mirror, err := o.opt.Conn.Mirror(zkwatch.MirrorOptions{OnProgress: o.loading})
	if err != nil {
		return err
	}
	defer mirror.Close()
	tick := time.NewTicker(time.Second / framesPerSec)
	defer tick.Stop()
	idle := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case changes := <-mirror.Changes():
			o.apply(changes)
		case c := <-o.cmds:
			o.command(c)
		case <-tick.C:
			if o.dirty || time.Since(idle) > time.Second || o.loadingNow() != nil {
				idle = time.Now()
				o.send()
			}
		}
	}
}

func (o *Observer) loading(p zkwatch.Progress) {
	o.progressMu.Lock()
	defer o.progressMu.Unlock()
	o.progress = &model.Progress{Done: p.Read, Total: p.Found, What: "reading znodes"}
}

func (o *Observer) loadingNow() *model.Progress {
	o.progressMu.Lock()
	defer o.progressMu.Unlock()
	return o.progress
}

func (o *Observer) apply(changes []zkwatch.Change) {
	now := time.Now().UnixMilli()
	for _, c := range changes {
		o.dirty = true
		switch c.Mark {
		case zkwatch.Synced:
			o.synced, o.lostSince, o.lostWhy = true, 0, ""
			o.progressMu.Lock()
			o.progress = nil
			o.progressMu.Unlock()
			continue
		case zkwatch.Lost:
			o.lostSince = now
			if c.Err != nil {
				o.lostWhy = c.Err.Error()
			}
			continue
		}
		z := model.Znode{Path: c.Path, Data: c.Data, Stat: c.Stat, Missing: c.Deleted}
		if c.Err != nil {
			z.Err = c.Err.Error()
		}
		o.survey.Apply(z)
		if o.synced {
			o.positions++
			o.history.Append(model.Record{Position: o.positions, At: now,
				Input: &model.ZnodeSeen{Path: c.Path, Version: c.Stat.Version, Gone: c.Deleted, Zxid: c.Zxid}})
		}
	}
}

func (o *Observer) command(c model.Command) {
	o.dirty = true
	if in, ok := c.(model.Inspect); ok {
		o.subject = in.Subject
		return
	}
	o.noticeSeq++
	o.notices = append(o.notices, model.Notice{Seq: o.noticeSeq, At: time.Now().UnixMilli(), Level: model.Warn, Text: refusal(c)})
	if len(o.notices) > noticesKept {
		o.notices = append([]model.Notice(nil), o.notices[1:]...)
	}
}

// refusal says why a command does nothing here.
func refusal(c model.Command) string {
	switch c.(type) {
	case model.Pause, model.Continue, model.StepBy:
		return "refused: observe mode shows the cluster's own controller, which cannot be held or stepped"
	case model.PreviewElection:
		return "refused: use kstate elect preview; observe mode has no controller to ask"
	}
	return fmt.Sprintf("refused: observe mode is read only (%T)", c)
}

// send makes a frame and hands it over, latest wins.
func (o *Observer) send() {
	f := o.frame()
	o.dirty = false
	select {
	case <-o.frames:
	default:
	}
	o.frames <- f
}

func (o *Observer) frame() model.Frame {
	state := o.opt.Conn.State()
	f := model.Frame{Mode: model.ObserveMode, ReadOnly: true, Source: o.opt.Source, Now: time.Now().UnixMilli(), Run: model.Running,
		Controller: o.survey.Controller(), Progress: o.loadingNow(), View: o.survey.Freeze(), Brokers: o.survey.Brokers(),
		History: o.history.Snapshot(), Notices: o.notices}
	f.Connection = model.Connection{Connected: state.Phase == zkwatch.Connected && o.lostSince == 0, Since: state.Since.UnixMilli(), Text: state.Phase.String()}
	if o.lostSince != 0 {
		f.Connection.Since = o.lostSince
		if o.lostWhy != "" {
			f.Connection.Text += ": " + o.lostWhy
		}
	}
	if o.subject.Kind != model.NoSubject {
		f.Inspection = o.inspect(f.Now)
	}
	return f
}

// inspect shows the subject's znodes as the survey last saw them: those that it
// keeps whole; of topic and state znodes it keeps the content, not the text.
func (o *Observer) inspect(now int64) *model.Inspection {
	in := &model.Inspection{Subject: o.subject, At: now}
	for _, path := range o.subject.Paths() {
		in.Znodes = append(in.Znodes, o.read(path))
	}
	return in
}

func (o *Observer) read(path string) model.Znode {
	r := o.opt.Conn.Do(&model.Call{Purpose: "peek", Ops: []model.Op{{Kind: model.OpGet, Path: path}}})
	return model.PeekedZnode(path, r)
}
