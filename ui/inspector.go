package ui

import (
	"fmt"
	"slices"

	"kstate/model"
)

// inspector is the pane that shows what the controller remembers of one subject
// beside what its znodes say, and what the step at hand would write.
type inspector struct {
	scroll
	subject  model.Subject
	why      bool // the subject is explained, in the place of memory and znodes
	payloads payloads
	decoded  decoded

	held      bool // the controller rests, or was stepped: see pace
	narrow    bool // no room for two columns
	lineWidth int  // of a column; paths are cut to it, on their left
	stepWidth int  // of the step at hand
	stepRows  int  // the most that one took since the controller is held
}

// factsKept is the least number of rows that the controller keeps above a step.
const factsKept = 6

// twoColumns is the width from which memory and znodes stand side by side.
const twoColumns = 70

func (in *inspector) choose(s model.Subject) {
	in.subject, in.scroll, in.why = s, scroll{}, false
}

func (in *inspector) draw(a area, f *model.Frame, focused bool) {
	a = in.title(a, f, focused)
	if in.why {
		in.drawWhy(a, f)
		return
	}
	in.narrow, in.lineWidth, in.stepWidth = a.w < twoColumns, a.w, a.w
	if !in.narrow {
		in.lineWidth = a.w - leftColumn(a.w) - 2
	}
	step := in.stepColumns(f)
	if step.empty() {
		in.drawSubject(a, f)
		return
	}
	in.stepRows = max(in.stepRows, step.height(a.w)+1) // so that the rest stays where it is
	h := min(in.stepRows, a.h*2/5)
	switch {
	case in.subject.Kind != model.NoSubject:
	case f.Term == nil:
		h = a.h - 2
	default: // the controller can be scrolled, the step cannot
		h = min(in.stepRows, a.h-factsKept)
	}
	in.drawSubject(a.sub(0, 0, a.w, a.h-h), f)
	info := "not taken yet"
	if f.Run == model.Waiting {
		info = "its result has not come yet"
	}
	s := a.below(a.h-h).title("Step at hand", focused, info)
	step.draw(s, scroll{x: in.x})
}

func (in *inspector) drawSubject(a area, f *model.Frame) {
	if in.subject.Kind == model.NoSubject && f.Term != nil && f.View != nil {
		in.drawScrolled(a, in.controllerFacts(f))
		return
	}
	if in.subject.Kind == model.NoSubject {
		a.put(1, 0, faint, "Nothing chosen: enter on a topic, partition, replica or broker inspects it.")
		return
	}
	c := columns{left: in.memory(f), right: in.znodes(f)}
	in.fit(c.height(a.w), a.h)
	c.draw(a, in.scroll)
}

// subjectName is how a subject is called on the screen.
func subjectName(s model.Subject) string {
	switch s.Kind {
	case model.TopicSubject:
		return "topic " + s.Topic
	case model.PartitionSubject:
		return "partition " + model.TP(s.Topic, s.Partition).String()
	case model.ReplicaSubject:
		return "replica " + model.Replica{TopicPartition: model.TP(s.Topic, s.Partition), Broker: s.Broker}.String()
	case model.BrokerSubject:
		return "broker " + itoa(s.Broker)
	case model.LeadershipSubject, model.ControllerSubject:
		return s.Kind.String()
	}
	return ""
}

// columns are two stacks of lines: side by side where there is room, one above
// the other where there is not.
type columns struct{ left, right []line }

func (c columns) empty() bool { return len(c.left)+len(c.right) == 0 }

// beside: the two stand side by side.
func (c columns) beside(w int) bool { return w >= twoColumns && len(c.right) > 0 }

func (c columns) height(w int) int {
	if c.beside(w) {
		return max(len(c.left), len(c.right))
	}
	return len(c.stacked())
}

// stacked are the two, one above the other.
func (c columns) stacked() []line {
	if len(c.left) == 0 || len(c.right) == 0 {
		return append(slices.Clip(c.left), c.right...)
	}
	return append(append(slices.Clip(c.left), nil), c.right...)
}

// draw shows the lines from the scrolled place on. Where not all fit, the last
// row says how many are missing.
func (c columns) draw(a area, s scroll) {
	if rest := c.height(a.w) - s.y - a.h; rest > 0 && a.h > 0 {
		a.put(0, a.h-1, faint, fmt.Sprintf("↓ %d more lines", rest+1))
		a = a.sub(0, 0, a.w, a.h-1)
	}
	if !c.beside(a.w) {
		drawLines(a, c.stacked(), s)
		return
	}
	half := leftColumn(a.w)
	for y := range a.h {
		a.put(half, y, border, "│")
	}
	drawLines(a.sub(0, 0, half, a.h), c.left, s)
	drawLines(a.sub(half+2, 0, a.w-half-2, a.h), c.right, s)
}

// leftColumn is the width of the left one of two columns; the other one has
// two cells less, for the rule between them.
func leftColumn(w int) int { return w / 2 }

// drawScrolled shows lines from the scrolled place on; the last row says how
// many are missing.
func (in *inspector) drawScrolled(a area, lines []line) {
	in.fit(len(lines), a.h)
	if rest := len(lines) - in.y - a.h; rest > 0 && a.h > 0 {
		a.put(0, a.h-1, faint, fmt.Sprintf("↓ %d more lines", rest+1))
		a = a.sub(0, 0, a.w, a.h-1)
	}
	drawLines(a, lines, in.scroll)
}

func drawLines(a area, lines []line, s scroll) {
	for y := 0; y < a.h && s.y+y < len(lines); y++ {
		a.putLine(y, lines[s.y+y], s.x)
	}
}

// inspection is what was read of the chosen subject; nil while it is being read.
func (in *inspector) inspection(f *model.Frame) *model.Inspection {
	if f.Inspection == nil || f.Inspection.Subject != in.subject {
		return nil
	}
	return f.Inspection
}

// znodes are the znodes of the subject as they were read.
func (in *inspector) znodes(f *model.Frame) []line {
	r := in.inspection(f)
	if r == nil {
		return []line{{{faint, "reading its znodes …"}}}
	}
	var out []line
	for i := range r.Znodes {
		if i > 0 {
			out = append(out, nil)
		}
		out = in.appendZnode(out, &r.Znodes[i])
	}
	return append(out, diskLines(r.Dirs)...)
}

func (in *inspector) appendZnode(out []line, z *model.Znode) []line {
	out = append(out, line{{strong, in.path(z.Path)}})
	switch {
	case z.Err != "":
		return append(out, line{{bad, "cannot be read: " + z.Err}})
	case z.Missing:
		return append(out, line{{faint, "does not exist"}})
	}
	about := fmt.Sprintf("version %d  czxid %d  mzxid %d", z.Stat.Version, z.Stat.Czxid, z.Stat.Mzxid)
	if z.Stat.EphemeralOwner != 0 {
		about += fmt.Sprintf("  ephemeral of 0x%x", z.Stat.EphemeralOwner)
	}
	out = append(out, line{{faint, about}})
	return append(out, in.payloads.ofZnode(z.Path, z.Data)...)
}

// stepColumns is what the step at hand is about: of a call that writes, the
// znodes before and after; of any other step, what it holds. A controller that
// runs has no step at hand for long enough to be read.
func (in *inspector) stepColumns(f *model.Frame) columns {
	if !in.held {
		in.stepRows = 0
	}
	if f.At == nil || !in.held {
		return columns{}
	}
	if z := f.StepZnodes; z != nil && z.Position == f.Position {
		return in.changeColumns(z)
	}
	var c columns
	for _, l := range stepLines(f.At, nil, &in.payloads) {
		c.left = append(c.left, wrap(l, in.stepWidth, ownIndent)...)
	}
	return c
}

const changesShown = 40

// changeColumns sets the written znodes' content before and after side by side.
func (in *inspector) changeColumns(z *model.StepZnodes) columns {
	var c columns
	for i := range z.Changes {
		if i == changesShown {
			c.left = append(c.left, line{{faint, fmt.Sprintf("and %d more writes", len(z.Changes)-i)}})
			break
		}
		ch := &z.Changes[i]
		before := in.appendZnode(nil, &ch.Before)
		after := []line{{{strong, ch.Op.Kind.String()}, {faint, versionText(&ch.Op)}}}
		if ch.Op.Kind == model.OpDelete {
			after = append(after, line{{removed, "the znode goes"}})
		} else {
			after = append(after, line{{faint, "data after it"}})
			after = append(after, in.payloads.ofZnode(ch.Op.Path, ch.Op.Data)...)
		}
		markChanged(before, after)
		if in.narrow {
			c.left = append(append(append(c.left, before...), after...), nil)
			continue
		}
		n := max(len(before), len(after)) + 1
		c.left = append(c.left, append(before, make([]line, n-len(before))...)...)
		c.right = append(c.right, append(after, make([]line, n-len(after))...)...)
	}
	return c
}

// headLines are the lines of a znode in front of its payload.
const headLines = 2

// markChanged marks, in place, the payload lines that only one side has.
func markChanged(before, after []line) {
	mark := func(lines, others []line, st style, sign string) {
		known := map[string]bool{}
		for _, l := range others[min(headLines, len(others)):] {
			known[l.text()] = true
		}
		for i := min(headLines, len(lines)); i < len(lines); i++ {
			if text := lines[i].text(); !known[text] {
				lines[i] = line{{st, sign + text}}
			} else {
				lines[i] = append(line{{plain, " "}}, lines[i]...)
			}
		}
	}
	old := append([]line(nil), before...)
	mark(before, after, removed, "-")
	mark(after, old, added, "+")
}

// path cuts a path on its left: its end tells more.
func (in *inspector) path(p string) string {
	if w := width(p); w > in.lineWidth {
		return ellipsis + cutLeft(p, w-in.lineWidth+1)
	}
	return p
}

// versionText says which data version a write expects.
func versionText(o *model.Op) string {
	switch {
	case o.Kind < model.OpCreate:
		return ""
	case o.Kind == model.OpCreate && o.Ephemeral:
		return " ephemeral"
	case o.Kind == model.OpCreate:
		return ""
	case o.Version == model.AnyVersion:
		return " any version"
	}
	return fmt.Sprintf(" if version %d", o.Version)
}
