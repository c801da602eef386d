package observe

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kstate/internal/tree"
	"kstate/model"
)

// Administrator plans what an operator asks of a cluster. It makes an Observer
// one of admin mode.
type Administrator interface {
	// Plan makes the plan of a command. It reads, and may take its time.
	Plan(model.Command) (Change, error)
}

// Change is a planned change of a cluster.
type Change interface {
	Plan() *model.Plan
	// Write carries the plan out, and may take its time. What it returns without
	// an error is what to say of it.
	Write() (string, error)
	// Look says what the tree shows of a change that was written; done when nothing
	// more is awaited.
	Look(s *tree.Survey, now time.Time) (state string, l model.PlanLine, done bool)
}

const (
	// changePeriod parts looks at changes that are followed: some look at many
	// partitions.
	changePeriod = 200 * time.Millisecond
	// followLimit is for how long a change is followed; one that waits for a
	// broker may never end.
	followLimit = time.Hour
)

// administration is what admin mode has at hand: one plan, and the changes that
// were written and are followed.
type administration struct {
	by       Administrator // nil: read only
	news     chan adminNews
	busy     string // what is under way beside the loop; empty: nothing
	change   Change // planned, neither written nor withdrawn
	plan     *model.Plan
	outcome  *model.PlanProgress // of plan
	followed []*followed
	looked   time.Time
	deleting map[string]bool // topics whose deletion was written here: the change tells of it, and nobody else
}

// followed is a written change on its way.
type followed struct {
	change   Change
	progress *model.PlanProgress // replaced, never written
	since    time.Time
}

// adminNews is what came of a goroutine: a plan, or a write.
type adminNews struct {
	change Change
	wrote  bool
	text   string
	err    error
}

func newAdministration(by Administrator) administration {
	return administration{by: by, news: make(chan adminNews, 4), deleting: map[string]bool{}}
}

// administer takes a command of admin mode; false when it is none.
func (o *Observer) administer(c model.Command) bool {
	a := &o.admin
	if a.by == nil {
		return false
	}
	switch c := c.(type) {
	case model.Consent:
		o.consent(c)
		return true
	case model.Withdraw:
		if a.plan != nil && a.plan.Number == c.Number && a.outcome == nil && a.change != nil {
			a.change = nil
			o.notice(model.Info, "withdrawn: "+a.plan.What+"; nothing was written")
		}
		return true
	}
	if !model.IsPlanned(c) {
		return false
	}
	switch {
	case a.busy != "":
		o.notice(model.Warn, "refused: "+a.busy+" first")
	case !o.synced || o.lost != nil:
		o.notice(model.Warn, "refused: the tree is not up to date")
	default:
		a.busy, a.change = "a plan is being made", nil
		by, news := a.by, a.news
		go func() {
			change, err := by.Plan(c)
			news <- adminNews{change: change, err: err}
		}()
	}
	return true
}

// consent has the plan at hand written.
func (o *Observer) consent(c model.Consent) {
	a := &o.admin
	switch {
	case a.busy != "":
		o.notice(model.Warn, "refused: "+a.busy)
	case a.change == nil || a.plan == nil || a.plan.Number != c.Number:
		o.notice(model.Warn, "refused: that plan is not the one at hand")
	case a.plan.Refused() != "" || a.plan.Nothing != "":
		o.notice(model.Warn, "refused: "+a.plan.Refused()+a.plan.Nothing)
	case c.Typed != a.plan.Confirm:
		o.notice(model.Warn, "refused: what was typed is not "+tree.Printable(a.plan.Confirm))
	default:
		change := a.change
		a.busy, a.change = "a change is being written", nil
		a.noteDeletions(a.plan)
		a.outcome = a.progress(a.plan.Number, nil, "writing", model.PlanLine{Text: "writing"}, false)
		o.dirty = true
		news := a.news
		go func() {
			text, err := change.Write()
			news <- adminNews{change: change, wrote: true, text: text, err: err}
		}()
	}
}

// progress is what was known, with a line more.
func (a *administration) progress(number uint64, before *model.PlanProgress, state string, l model.PlanLine, done bool) *model.PlanProgress {
	if l.At == 0 {
		l.At = time.Now().UnixMilli()
	}
	p := &model.PlanProgress{Number: number, State: state, Done: done}
	if before != nil {
		p.Lines = before.Lines
	}
	p.Lines = append(slices.Clone(p.Lines), l)
	return p
}

// adminNewsIs takes what came of a goroutine.
func (o *Observer) adminNewsIs(n adminNews) {
	a := &o.admin
	a.busy, o.dirty = "", true
	switch {
	case !n.wrote && n.err != nil:
		o.notice(model.Error, "no plan: "+tree.Printable(n.err.Error()))
	case !n.wrote:
		a.plan, a.outcome, a.change = n.change.Plan(), nil, n.change
		if why := a.plan.Refused(); why != "" {
			o.notice(model.Warn, tree.Printable("refused: "+why))
		}
	case n.err != nil:
		a.outcome = a.progress(a.plan.Number, a.outcome, "failed", model.PlanLine{Level: model.Error, Text: n.err.Error()}, true)
		o.notice(model.Error, tree.Printable(a.plan.What+": "+n.err.Error()))
	default:
		f := &followed{change: n.change, since: time.Now()}
		f.progress = a.progress(a.plan.Number, a.outcome, "written", model.PlanLine{Text: n.text}, false)
		a.followed = append(a.followed, f)
		o.notice(model.Info, tree.Printable(a.plan.What+": "+n.text))
		o.show(f)
	}
}

// noteDeletions notes the topics that a plan, which is about to be written, deletes.
func (a *administration) noteDeletions(p *model.Plan) {
	for i := range p.Writes {
		op := &p.Writes[i].Op
		if ref := model.ParsePath(op.Path); op.Kind == model.OpCreate && ref.Kind == model.DeleteTopicZnode {
			a.deleting[ref.Topic] = true
		}
	}
}

// forgetDeletions ends that for deletions of which nothing more is told: they are
// over for their change and for those that follow the tree.
func (o *Observer) forgetDeletions() {
	if a := &o.admin; a.busy == "" && len(a.followed) == 0 {
		maps.DeleteFunc(a.deleting, func(topic string, _ bool) bool { return o.deletions.followed[topic] == nil })
	}
}

// show puts the progress of the plan at hand into the frame.
func (o *Observer) show(f *followed) {
	if p := o.admin.plan; p != nil && p.Number == f.progress.Number {
		o.admin.outcome = f.progress
	}
	o.dirty = true
}

// followChanges looks what has come of the changes that were written.
func (o *Observer) followChanges() {
	a := &o.admin
	now := time.Now()
	if len(a.followed) == 0 || o.lost != nil || now.Sub(a.looked) < changePeriod {
		return
	}
	a.looked = now
	a.followed = slices.DeleteFunc(a.followed, func(f *followed) bool { return o.followChange(f, now) })
}

// followChange is true when nothing more is awaited.
func (o *Observer) followChange(f *followed, now time.Time) (over bool) {
	state, l, done := f.change.Look(o.survey, now)
	last := f.progress.Lines[len(f.progress.Lines)-1]
	what := f.change.Plan().What
	if !done && now.Sub(f.since) > followLimit {
		done, l.Level, l.Text = true, model.Warn, fmt.Sprintf("followed no longer, after %v; the last: %s", followLimit, l.Text)
	}
	if state == f.progress.State && l.Text == last.Text && !done {
		return false
	}
	if done || state != f.progress.State {
		o.notice(l.Level, tree.Printable(what+": "+l.Text))
	}
	f.progress = o.admin.progress(f.progress.Number, f.progress, state, l, done)
	o.show(f)
	return done
}
