package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// The whole of what the log and the last but one row of the screen show in one
// line: a record, or the step at hand.

const detailWidth = 110

// newRecordDetail shows the chosen record of the log.
func newRecordDetail(d *dashboard) dialog {
	r := d.log.chosen(d.frame.History)
	p := &pages{name: "Record " + itoa(r.Position), indent: ownIndent, width: detailWidth}
	at := time.UnixMilli(r.At).In(d.zone).Format("2006-01-02 15:04:05.000")
	if r.EventSeq > 0 {
		at += ", within event #" + itoa(r.EventSeq)
	}
	if r.Inferred {
		at += ", inferred from outside"
	}
	p.lines = append(p.lines, line{{faint, at}}, nil)
	switch r.Step.(type) {
	case nil:
		if r.Input != nil {
			p.lines = append(p.lines, line{{good, "» "}, {good, r.Input.String()}}, nil)
			p.lines = append(p.lines, fieldLines(r.Input)...)
		}
		return p
	case *model.Call:
		if r.Result == nil {
			p.lines = append(p.lines, line{{warn, "not answered yet"}})
		}
	}
	p.lines = append(p.lines, stepLines(r.Step, r.Result, &d.inspector.payloads)...)
	return p
}

// stepDetail shows the step at hand, and goes on with the controller: the keys
// that step it work here too.
type stepDetail struct {
	pages
	of      *model.Frame // of which the lines are
	tallest int          // a frame that changes its height with each step is hard to read
}

func newStepDetail(d *dashboard) dialog {
	s := &stepDetail{pages: pages{name: "Step at hand", indent: ownIndent, width: detailWidth}}
	s.follow(d)
	return s
}

// follow makes the lines of a newer frame.
func (s *stepDetail) follow(d *dashboard) {
	f := d.frame
	if s.of == f {
		return
	}
	if s.of == nil || s.of.Position != f.Position {
		s.scroll.y = 0
	}
	s.of, s.rows = f, nil
	if f.At == nil {
		s.lines = []line{{{faint, "There is none: the controller is between events."}}}
		return
	}
	about := "It is proposed, and has not been taken"
	switch {
	case f.Run == model.Running:
		about = "It is being taken"
	case f.Run == model.Waiting:
		about = "It was taken; its result has not come yet"
	case f.StopReason != "":
		about += "; held: " + f.StopReason
	}
	s.lines = append([]line{{{faint, about + "."}}, nil}, stepLines(f.At, nil, &d.inspector.payloads)...)
	if z := f.StepZnodes; z != nil && z.Position == f.Position {
		one := inspector{payloads: d.inspector.payloads, narrow: true, lineWidth: detailWidth}
		s.lines = append(s.lines, nil, line{{heading, "before and after"}})
		s.lines = append(s.lines, one.changeColumns(z).left...)
	}
}

func (s *stepDetail) size(d *dashboard) (w, h int) {
	s.follow(d)
	w, h = s.pages.size(d)
	s.tallest = max(s.tallest, h)
	return w, s.tallest
}

func (s *stepDetail) press(d *dashboard, k tea.KeyPressMsg) outcome {
	b := d.bindingOf(k)
	if b == nil || b.group != runGroup || k.String() == "space" { // space is a page down, as in other dialogs
		return s.pages.press(d, k)
	}
	if why := b.why(d); why != "" {
		d.say(model.Warn, b.Help().Key+" "+b.label(d)+": "+why)
		return outcome{}
	}
	b.run(d)
	return outcome{}
}

func (s *stepDetail) keys() []key.Help {
	return append([]key.Help{{Key: "e b t i", Desc: "step"}}, s.pages.keys()...)
}

// stepLines is all that a step says, and what came back.
func stepLines(s model.Step, r *model.Result, p *payloads) []line {
	out := []line{{{plain, ""}, {stepStyle(s), s.String()}}, nil}
	switch s := s.(type) {
	case *model.Elect:
		return append(out[:0], electLines(s)...)
	case *model.Call:
		out[0] = line{{strong, ""}, {strong, callTitle(s)}}
		return append(out, callLines(s, r, p)...)
	case *model.Send:
		return append(out, fieldLines(s.Request)...)
	case *model.Begin:
		return append(out, eventLines(&s.Event)...)
	case *model.End:
		if s.Err != nil {
			out = append(out, line{{bad, "error "}, {bad, s.Err.Error()}})
		}
		return append(out, eventLines(&s.Event)...)
	case *model.Reply:
		return append(out, fieldLines(s.Answer)...)
	case *model.Log, *model.Watch:
		return out[:1]
	}
	return append(out, fieldLines(s)...)
}

func eventLines(e *model.QueuedEvent) []line {
	out := []line{
		{{faint, pad("event", factWidth)}, {plain, "#" + itoa(e.Seq)}},
		{{faint, pad("caused by", factWidth)}, {plain, orNone(e.Cause)}},
	}
	return append(out, fieldLines(e.Event)...)
}

func callTitle(s *model.Call) string {
	title := "call"
	if s.Purpose != "" {
		title += " " + s.Purpose
	}
	title += ": " + itoa(len(s.Ops)) + " operation"
	if len(s.Ops) != 1 {
		title += "s"
	}
	switch {
	case s.Atomic:
		title += ", one transaction"
	case s.Fenced && s.Writes():
		title += fmt.Sprintf(", each write fenced by /controller_epoch at version %d", s.Epoch)
	}
	return title
}

// callLines has each operation with the data that it writes, and below it what
// came back.
func callLines(s *model.Call, r *model.Result, p *payloads) []line {
	var out []line
	if r != nil && r.Code != model.CodeOK {
		out = append(out, line{{bad, ""}, {bad, "nothing came back: " + r.Code.String()}})
	}
	for i := range s.Ops {
		if i == fieldsShown {
			return append(out, line{{faint, fmt.Sprintf("and %d more operations", len(s.Ops)-i)}})
		}
		op := &s.Ops[i]
		out = append(out, line{{faint, ""}, {faint, itoa(i+1) + " "}, {strong, op.Kind.String() + " " + op.Path}, {faint, versionText(op)}})
		if op.Kind.Writes() && op.Kind != model.OpDelete {
			out = append(out, indented("    ", p.ofZnode(op.Path, op.Data))...)
		}
		if r != nil && i < len(r.Ops) {
			out = append(out, resultLines(op, &r.Ops[i], p)...)
		}
	}
	return out
}

// resultLines is what one operation gave.
func resultLines(op *model.Op, r *model.OpResult, p *payloads) []line {
	switch {
	case r.Check != model.CodeOK:
		return []line{{{bad, ""}, {bad, "  → fenced: the check of /controller_epoch gave " + r.Check.String()}}}
	case r.Code != model.CodeOK:
		return []line{{{warn, "  → " + r.Code.String()}}}
	}
	out := []line{{{good, "  → OK"}, {faint, resultStat(op, r)}}}
	switch op.Kind {
	case model.OpGet:
		out = append(out, indented("    ", p.ofZnode(op.Path, r.Data))...)
	case model.OpChildren:
		out = append(out, line{{plain, ""}, {plain, "    " + orNone(strings.Join(r.Children, ", "))}})
	}
	return out
}

func resultStat(op *model.Op, r *model.OpResult) string {
	if r.Stat == (model.Stat{}) {
		return ""
	}
	if op.Kind == model.OpChildren {
		return fmt.Sprintf("  %d children, cversion %d", len(r.Children), r.Stat.CVersion)
	}
	return fmt.Sprintf("  version %d  czxid %d  mzxid %d", r.Stat.Version, r.Stat.Czxid, r.Stat.Mzxid)
}

// indented moves lines in. They may be shared, so they are copied.
func indented(margin string, lines []line) []line {
	out := make([]line, len(lines))
	for i, l := range lines {
		out[i] = append(line{{plain, margin}}, l...)
	}
	return out
}
