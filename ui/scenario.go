package ui

import (
	"cmp"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// drawBanner is one row about the scenario: what is being done, or the goal.
func drawBanner(a area, s *model.Scenario) {
	const more = "H more"
	a.fill(0, 0, a.w, plain, " ")
	room := a.sub(0, 0, a.w-width(more)-1, 1)
	switch {
	case s.Reached:
		x := room.put(0, 0, good, "✓ Goal reached: ")
		room.put(x, 0, good, s.Goal)
	case s.Failed != "":
		x := room.put(0, 0, bad, "The situation did not come about: ")
		room.put(x, 0, bad, s.Failed)
	case s.Doing != "":
		x := room.put(0, 0, warn, "Being brought about: ")
		room.put(x, 0, plain, s.Doing)
	case s.Goal == "":
		x := room.put(0, 0, heading, "Scenario: ")
		room.put(x, 0, strong, cmp.Or(s.Title, s.Name))
	default:
		x := room.put(0, 0, heading, "Goal: ")
		room.put(x, 0, strong, s.Goal)
	}
	a.put(a.w-width(more), 0, keyName, "H")
	a.put(a.w-width(more)+1, 0, faint, more[1:])
}

// exercise is the dialog about the scenario: its goal and what is left of it, and
// what the operator asks for: one hint after the other, then the solution.
type exercise struct {
	pages
	hints    int // shown so far
	solution bool
}

func newExercise(d *dashboard) dialog {
	e := &exercise{pages: pages{name: "Scenario " + d.frame.Scenario.Name, indent: 4, width: helpWidth}}
	e.follow(d)
	return e
}

// follow writes the lines anew: the goal may have come nearer.
func (e *exercise) follow(d *dashboard) {
	s := d.frame.Scenario
	if s == nil {
		return
	}
	put := func(l ...span) { e.lines = append(e.lines, append(line{{plain, ""}}, l...)) }
	e.lines, e.rows = e.lines[:0], nil
	put(span{heading, s.Title})
	put(span{plain, s.Goal})
	if s.Failed != "" {
		put(span{bad, "The situation did not come about: " + s.Failed})
	}
	if s.Reached {
		put(span{good, "✓ Reached."})
	}
	put()
	for _, g := range s.Goals {
		if g.Holds {
			put(span{good, "✓ "}, span{plain, g.Text})
		} else {
			put(span{warn, "· "}, span{plain, g.Text}, span{faint, " (now: " + g.Found + ")"})
		}
	}
	put()
	for _, t := range s.Teaches {
		put(span{faint, "It shows: "}, span{plain, t})
	}
	for i := range min(e.hints, len(s.Hints)) {
		put(span{keyName, "Hint: "}, span{plain, s.Hints[i]})
	}
	if e.solution {
		put()
		put(span{heading, "One way"})
		for _, l := range s.Solution {
			put(span{plain, "  " + l})
		}
	}
}

// size writes the lines, which draw finds: it comes first.
func (e *exercise) size(d *dashboard) (int, int) {
	e.follow(d)
	return e.pages.size(d)
}

func (e *exercise) press(d *dashboard, k tea.KeyPressMsg) outcome {
	switch k.String() {
	case "h":
		e.hints++
	case "s":
		e.solution = !e.solution
	case "H":
		return outcome{close: 1}
	default:
		return e.pages.press(d, k)
	}
	e.scroll.move(moveEnd)
	return outcome{}
}

func (e *exercise) keys() []key.Help {
	return []key.Help{{Key: "h", Desc: "a hint"}, {Key: "s", Desc: "the solution"}, {Key: "↑ ↓", Desc: "scroll"}, {Key: "esc", Desc: "closes"}}
}

// diskLines are the log directories of a lab's broker: what lies in each, what was
// renamed and waits to be removed.
func diskLines(dirs []model.LogDir) []line {
	if dirs == nil {
		return nil
	}
	out := []line{nil, {{heading, "log directories"}}}
	for _, d := range dirs {
		head := line{{strong, d.Path}}
		if d.Failed {
			head = append(head, span{bad, " failed"})
		}
		out = append(out, head)
		for i, tp := range d.Logs {
			if i == logsShown {
				out = append(out, line{{faint, "  and " + itoa(len(d.Logs)-i) + " more"}})
				break
			}
			out = append(out, line{{plain, "  " + tp.String()}})
		}
		for i, name := range d.Deleting {
			if i == logsShown {
				out = append(out, line{{faint, "  and " + itoa(len(d.Deleting)-i) + " more that are being deleted"}})
				break
			}
			out = append(out, line{{removed, "  " + name}})
		}
		if len(d.Logs)+len(d.Deleting) == 0 {
			out = append(out, line{{faint, "  empty"}})
		}
	}
	return out
}

const logsShown = 100 // of one directory
