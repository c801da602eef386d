package script

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kstate/model"
)

// Stage is what a scenario is played on: a lab with its controller.
type Stage interface {
	// Carry gives a command and waits until it was carried out; the error is why not.
	Carry(ctx context.Context, c model.Command) (string, error)
	// Look is the picture as it is now.
	Look(ctx context.Context) (model.Frame, error)
}

// Outcome is what came of a line.
type Outcome struct {
	Line   Line
	Text   string // of an action: what was done; of an expectation: what was there
	Failed bool   // the expectation does not hold, or the line could not be carried out
}

// Runner plays lines on a stage.
type Runner struct {
	Stage    Stage
	See      Surroundings
	Patience time.Duration
	Begin    func(Line)    // called before each line; may be nil
	Tell     func(Outcome) // called after each line; may be nil
}

// lookPeriod is how often a condition that shall come true is looked at.
const lookPeriod = 10 * time.Millisecond

// quiet is how long nothing may happen for the lab to count as idle.
const quiet = 200 * time.Millisecond

// Run plays lines. Expectations that do not hold are counted and the play goes
// on; a line that cannot be carried out, as what comes behind it relies on it, or
// the end of ctx, ends it with an error.
func (r *Runner) Run(ctx context.Context, lines []Line) (failed int, err error) {
	for _, l := range lines {
		if r.Begin != nil {
			r.Begin(l)
		}
		o := Outcome{Line: l}
		o.Text, o.Failed, err = r.line(ctx, l)
		if err != nil {
			o.Text, o.Failed = err.Error(), true
			err = fmt.Errorf("line %d: %s: %w", l.Number, l.Do, err)
		}
		if r.Tell != nil && ctx.Err() == nil {
			r.Tell(o)
		}
		if err != nil {
			return failed, err
		}
		if o.Failed {
			failed++
		}
	}
	return failed, nil
}

func (r *Runner) line(ctx context.Context, l Line) (text string, failed bool, err error) {
	switch do := l.Do.(type) {
	case *Say:
		return "", false, nil
	case *Wait:
		return "", false, r.wait(ctx, do)
	case *Expect:
		return r.expect(ctx, do)
	case *Act:
		text, err = r.act(ctx, do.Command)
		return text, false, err
	}
	return "", false, fmt.Errorf("a script has no %T", l.Do)
}

// act gives a command; one that runs to a stop is waited for.
func (r *Runner) act(ctx context.Context, c model.Command) (string, error) {
	held := false
	switch x := c.(type) {
	case model.StepBy:
		f, err := r.Stage.Look(ctx)
		if err != nil {
			return "", err
		}
		if f.Run != model.Paused {
			return "", errors.New("the controller is not held: pause, or until, first")
		}
		x.Position = f.Position
		c, held = x, true
	case model.Pause, model.RunUntil:
		held = true
	}
	text, err := r.Stage.Carry(ctx, c)
	if err != nil || !held {
		return text, err
	}
	last := ""
	err = r.await(ctx, func(f *model.Frame) bool {
		last = "it is " + f.Run.String()
		if f.At != nil {
			last += " at " + f.At.String()
		}
		return f.Run == model.Paused
	})
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, last)
	}
	return "", nil
}

// await looks until it holds.
func (r *Runner) await(ctx context.Context, holds func(*model.Frame) bool) error {
	limit := time.Now().Add(r.Patience)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		f, err := r.Stage.Look(ctx)
		if err != nil {
			return err
		}
		if holds(&f) {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("not within %s", r.Patience)
		}
		pause.Reset(lookPeriod)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

func (r *Runner) expect(ctx context.Context, e *Expect) (found string, failed bool, err error) {
	check := func(f *model.Frame) bool {
		holds, text := e.Check(f, r.See)
		found = text
		return holds
	}
	if !e.Eventually {
		f, err := r.Stage.Look(ctx)
		if err != nil {
			return "", true, err
		}
		return found, !check(&f), nil
	}
	err = r.await(ctx, check)
	if err != nil && ctx.Err() != nil {
		return found, true, err
	}
	if err != nil {
		found += ", " + err.Error()
	}
	return found, err != nil, nil
}

func (r *Runner) wait(ctx context.Context, w *Wait) error {
	if !w.Idle {
		t := time.NewTimer(w.For)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var since time.Time
	position, records := uint64(0), 0
	return r.await(ctx, func(f *model.Frame) bool {
		n := f.History.First + f.History.N
		if !idle(f) || f.Position != position || n != records {
			since, position, records = time.Now(), f.Position, n
			return false
		}
		return time.Since(since) >= quiet
	})
}

// idle: the controller has nothing to do, and waits for nobody who is well.
func idle(f *model.Frame) bool {
	if f.At != nil || f.QueueLen > 0 || f.Run == model.Waiting {
		return false
	}
	ill := map[int32]bool{}
	for i := range f.Brokers {
		if b := &f.Brokers[i]; b.Conduct != "" || b.State != "live" {
			ill[b.ID] = true
		}
	}
	for _, h := range f.Held {
		ill[h.Broker] = true
	}
	for i := range f.Channels {
		if c := &f.Channels[i]; c.Depth > 0 && !ill[c.Broker] {
			return false
		}
	}
	return true
}

// Goals checks the expectations of a goal at one picture.
func Goals(lines []Line, f *model.Frame, see Surroundings) (out []model.GoalCheck, all bool) {
	all = len(lines) > 0
	for _, l := range lines {
		e, ok := l.Do.(*Expect)
		if !ok {
			continue
		}
		g := model.GoalCheck{Text: (&Expect{Not: e.Not, Condition: e.Condition}).String()}
		g.Holds, g.Found = e.Check(f, see)
		out = append(out, g)
		all = all && g.Holds
	}
	return out, all
}
