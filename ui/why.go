package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// causesShown bounds the causes and rows of an explanation on the screen; what
// is left out is counted.
const causesShown = 200

func (in *inspector) title(a area, f *model.Frame, focused bool) area {
	if !in.why {
		return a.title("Inspector", focused, subjectName(in.subject))
	}
	info := subjectName(in.subject)
	if e := in.explanation(f); e != nil && e.Memory {
		info += ", from the controller's memory"
	} else if e != nil {
		info += ", from the tree"
	}
	return a.title("Why", focused, info)
}

// explanation is that of the subject; nil while it is being made.
func (in *inspector) explanation(f *model.Frame) *model.Explanation {
	if f.Explanation == nil || f.Explanation.Subject != in.subject {
		return nil
	}
	return f.Explanation
}

func (in *inspector) drawWhy(a area, f *model.Frame) {
	in.drawScrolled(a, in.whyLines(f, a.w))
}

// whyLines are the lines of the explanation, broken to a width but for tables.
func (in *inspector) whyLines(f *model.Frame, w int) []line {
	e := in.explanation(f)
	if e == nil {
		return []line{{{faint, "asking why …"}}}
	}
	var out []line
	for _, l := range e.Lines(causesShown) {
		st := whyStyle(l.Kind, e)
		if l.Kind == model.TableLine || l.Kind == model.HeadingLine {
			out = append(out, line{{st, l.Text}})
			continue
		}
		text := strings.TrimLeft(l.Text, " ")
		out = append(out, wrap(line{{st, l.Text[:len(l.Text)-len(text)]}, {st, text}}, w, min(l.Indent, w/2))...)
	}
	return out
}

func whyStyle(k model.LineKind, e *model.Explanation) style {
	switch k {
	case model.AnswerLine:
		switch {
		case e.Found:
			return bad
		case e.Undecided:
			return warn
		}
		return strong
	case model.HoldsLine:
		return bad
	case model.RemarkLine:
		return warn
	case model.ResumesLine:
		return good
	case model.HeadingLine, model.NotKnownLine:
		return faint
	}
	return plain
}

// explain shows why of what is chosen, in views that choose nothing of the
// controller; from there it goes back to memory and znodes.
func (d *dashboard) explain() tea.Cmd {
	s := d.chosen()
	switch {
	case d.view != inspectorView:
		if s.Kind == model.NoSubject {
			s.Kind = model.ControllerSubject
		}
		return d.explainSubject(s)
	case !d.inspector.why:
		return d.explainSubject(s)
	case onlyExplained(s):
		return d.leave()
	}
	return d.inspect()
}

// onlyExplained tells of what there is an explanation but neither memory nor
// znodes.
func onlyExplained(s model.Subject) bool {
	return s.Kind == model.ControllerSubject || s.Kind == model.LeadershipSubject
}

// explainLeadership shows how leadership is spread.
func (d *dashboard) explainLeadership() tea.Cmd {
	return d.explainSubject(model.Subject{Kind: model.LeadershipSubject})
}

func (d *dashboard) explainSubject(s model.Subject) tea.Cmd {
	d.inspector.choose(s)
	d.inspector.why = true
	d.show(inspectorView)
	d.do(model.Explain{Subject: s})
	return nil
}

// stopExplaining tells that nobody looks any more.
func (d *dashboard) stopExplaining() {
	if d.inspector.why {
		d.inspector.why = false
		d.do(model.Explain{})
	}
}

func nothingToExplain(d *dashboard) string {
	if d.view == inspectorView && d.inspector.subject.Kind == model.NoSubject {
		return "choose a topic, partition, replica or broker first (views 2 to 5)"
	}
	return noFrame(d)
}
