package observe

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kstate/internal/tree"
	"kstate/model"
)

// clerk is an Administrator of its own making.
type clerk struct {
	err  error
	plan model.Plan
	file *paper
}

func (c *clerk) Plan(model.Command) (Change, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.plan.Number++
	p := c.plan
	c.file = &paper{plan: &p}
	return c.file, nil
}

type paper struct {
	plan  *model.Plan
	wrote int
	err   error
	state string
	done  bool
}

func (p *paper) Plan() *model.Plan { return p.plan }

func (p *paper) Write() (string, error) {
	p.wrote++
	return "written", p.err
}

func (p *paper) Look(*tree.Survey, time.Time) (string, model.PlanLine, bool) {
	return p.state, model.PlanLine{At: 1, Level: model.Info, Text: p.state + ": seen"}, p.done
}

// desk is an observer that does not run: commands and news are given by hand.
type desk struct {
	*Observer
	t     *testing.T
	clerk *clerk
}

func newDesk(t *testing.T) *desk {
	c := &clerk{plan: model.Plan{What: "a change", Confirm: "t", Writes: make([]model.PlannedWrite, 1)}}
	d := &desk{New(Options{Admin: c}), t, c}
	d.synced = true
	return d
}

// settle takes what the goroutine at work brings.
func (d *desk) settle() {
	d.t.Helper()
	select {
	case n := <-d.admin.news:
		d.adminNewsIs(n)
	case <-time.After(limit):
		d.t.Fatal("nothing came")
	}
}

func (d *desk) last() string {
	if len(d.notices) == 0 {
		return ""
	}
	return d.notices[len(d.notices)-1].Text
}

func TestAChangeNeedsConsent(t *testing.T) {
	d := newDesk(t)
	d.command(model.DeleteTopic{Topic: "t"})
	d.command(model.CreateTopic{Topic: "u"}) // while the first is being planned
	if !strings.Contains(d.last(), "a plan is being made first") {
		t.Errorf("two plans at a time: %q", d.last())
	}
	d.settle()
	if d.admin.plan == nil || d.admin.plan.Number != 1 {
		t.Fatalf("plan %+v", d.admin.plan)
	}
	for _, c := range []model.Consent{{Number: 1, Typed: "T"}, {Number: 1}, {Number: 2, Typed: "t"}} {
		if d.command(c); !strings.HasPrefix(d.last(), "refused: ") || d.admin.busy != "" {
			t.Errorf("%+v: %q", c, d.last())
		}
	}
	d.command(model.Consent{Number: 1, Typed: "t"})
	d.command(model.Consent{Number: 1, Typed: "t"})
	d.settle()
	if d.clerk.file.wrote != 1 || d.last() != "a change: written" || d.admin.outcome.State != "written" {
		t.Errorf("written %d times, %q, %+v", d.clerk.file.wrote, d.last(), d.admin.outcome)
	}
	if d.command(model.Consent{Number: 1, Typed: "t"}); d.admin.busy != "" {
		t.Error("consent is taken twice")
	}
}

func TestAWrittenChangeIsFollowed(t *testing.T) {
	d := newDesk(t)
	d.command(model.DeleteTopic{Topic: "t"})
	d.settle()
	d.command(model.Consent{Number: 1, Typed: "t"})
	d.settle()
	first := d.clerk.file
	look := func(state string, done bool) {
		first.state, first.done = state, done
		d.admin.looked = time.Time{}
		d.followChanges()
	}
	look("waiting", false)
	look("waiting", false)
	if d.last() != "a change: waiting: seen" || len(d.admin.outcome.Lines) != 3 || d.admin.outcome.Done {
		t.Errorf("%q, %+v", d.last(), d.admin.outcome)
	}
	before := d.admin.outcome
	d.command(model.DeleteTopic{Topic: "v"}) // another plan: the first is still followed
	d.settle()
	look("done", true)
	if d.last() != "a change: done: seen" || len(d.admin.followed) != 0 || d.admin.outcome != nil {
		t.Errorf("%q, %d followed, outcome %+v", d.last(), len(d.admin.followed), d.admin.outcome)
	}
	if len(before.Lines) != 3 {
		t.Error("the lines of an older frame have changed")
	}
}

// A deletion that was written here is told of by its change only, one of somebody
// else by the tree, and so is the next one of the same topic.
func TestADeletionIsToldOfOnce(t *testing.T) {
	d := newDesk(t)
	d.clerk.plan.Writes[0].Op = model.Op{Kind: model.OpCreate, Path: model.DeleteTopicPath("t")}
	var told []string
	d.opt.Told = func(e Event) { told = append(told, e.What) }
	d.command(model.DeleteTopic{Topic: "t"})
	d.settle()
	d.command(model.Consent{Number: 1, Typed: "t"})
	marker := func(topic string, there bool) {
		d.survey.Apply(model.Znode{Path: model.DeleteTopicPath(topic), Missing: !there})
		d.deletions.seen(d.Observer, model.ParsePath(model.DeleteTopicPath(topic)), !there, 1)
		d.following.looked = time.Time{}
		d.lookAround()
	}
	before := len(d.notices)
	marker("t", true) // seen before the write has come back
	marker("u", true)
	if len(told) != 2 || len(d.notices) != before+1 || !strings.HasPrefix(d.last(), "deletion of u: queued") {
		t.Fatalf("told %q, notices %+v", told, d.notices)
	}
	d.settle()
	d.clerk.file.state, d.clerk.file.done = "done", true
	d.followChanges()
	if before = len(d.notices); d.last() != "a change: done: seen" {
		t.Fatalf("%q", d.last())
	}
	if marker("t", false); len(d.notices) != before || len(told) != 3 {
		t.Errorf("told %q, notices %+v", told, d.notices[before:])
	}
	if marker("t", true); !strings.HasPrefix(d.last(), "deletion of t: queued") {
		t.Errorf("the next deletion of t is not told of: %q", d.last())
	}
}

func TestChangesThatAreNotMade(t *testing.T) {
	d := newDesk(t)
	d.clerk.err = errors.New("read /x: NOAUTH")
	d.command(model.DeleteTopic{Topic: "t"})
	d.settle()
	if d.last() != "no plan: read /x: NOAUTH" || d.admin.plan != nil {
		t.Errorf("%q", d.last())
	}
	d.clerk.err = nil
	d.clerk.plan.Checks = []model.PlanCheck{{What: "a", Saw: "b"}}
	d.command(model.DeleteTopic{Topic: "t"})
	d.settle()
	if d.command(model.Consent{Number: 1, Typed: "t"}); d.admin.busy != "" || d.last() != "refused: required is that a, but b" {
		t.Errorf("a refused plan: %q", d.last())
	}
	d.clerk.plan.Checks = nil
	d.command(model.DeleteTopic{Topic: "t"})
	d.settle()
	d.command(model.Withdraw{Number: 2})
	if d.command(model.Consent{Number: 2, Typed: "t"}); d.admin.busy != "" || d.clerk.file.wrote != 0 {
		t.Errorf("a withdrawn plan: %q", d.last())
	}
	d.command(model.DeleteTopic{Topic: "t"})
	d.settle()
	d.clerk.file.err = errors.New("create /x: NODEEXISTS")
	d.command(model.Consent{Number: 3, Typed: "t"})
	d.settle()
	if d.last() != "a change: create /x: NODEEXISTS" || !d.admin.outcome.Done || len(d.admin.followed) != 0 {
		t.Errorf("a failed write: %q, %+v", d.last(), d.admin.outcome)
	}
	d.lost = &lost{}
	if d.command(model.DeleteTopic{Topic: "t"}); d.admin.busy != "" || !strings.Contains(d.last(), "not up to date") {
		t.Errorf("a plan of what is not known: %q", d.last())
	}
	if d.command(model.KillBroker{Broker: 1}); !strings.Contains(d.last(), "no way to do that from outside") {
		t.Errorf("%q", d.last())
	}
}

// Without an Administrator nothing is ever planned.
func TestObserveTakesNoChange(t *testing.T) {
	o := New(Options{})
	o.synced = true
	for _, c := range []model.Command{model.DeleteTopic{Topic: "t"}, model.MoveController{}, model.Consent{Number: 0}, model.Withdraw{}} {
		o.command(c)
		if n := o.notices[len(o.notices)-1].Text; !strings.Contains(n, "observe mode is read only") {
			t.Errorf("%T: %q", c, n)
		}
	}
}
