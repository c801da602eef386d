package ui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// dialog is something that has the keyboard until it is closed. Dialogs lie on
// a stack; only the last one is drawn.
type dialog interface {
	title() string
	// size is the wish for the inside, in cells.
	size(d *dashboard) (w, h int)
	draw(a area, d *dashboard)
	press(d *dashboard, k tea.KeyPressMsg) outcome
	paste(text string)
	// keys stand in the lower border.
	keys() []key.Help
}

// outcome is what a key did to a dialog: how many dialogs close, what command
// is given, what opens instead.
type outcome struct {
	close   int
	command model.Command
	open    dialog
	quit    bool
}

const frameWidth = 4 // of a border and its margin, left and right

// drawDialog draws the dialog in the middle of the area, within a frame.
func drawDialog(a area, d *dashboard, g dialog) {
	w, h := g.size(d)
	w = max(w, width(g.title())+2, keysWidth(g.keys())+2)
	w, h = min(w+frameWidth, a.w), min(h+2, a.h)
	x, y := (a.w-w)/2, (a.h-h)/2
	a.sub(max(x-1, 0), y, w+2, h).clear() // half a word beside a border is hard to read
	g.draw(a.sub(x, y, w, h).frame(g.title(), g.keys()), d)
}

// question asks before something is done that cannot be taken back.
type question struct {
	name  string
	lines []string
	yes   string // what enter does, in a word
	do    outcome
}

func (q *question) title() string { return q.name }

func (q *question) size(*dashboard) (w, h int) {
	for _, l := range q.lines {
		w = max(w, width(l))
	}
	return w, len(q.lines)
}

func (q *question) draw(a area, _ *dashboard) {
	for y, l := range q.lines {
		a.put(0, y, plain, l)
	}
}

func (q *question) press(_ *dashboard, k tea.KeyPressMsg) outcome {
	switch k.String() {
	case "enter", "y":
		return q.do
	case "esc", "n", "q":
		return outcome{close: 1}
	}
	return outcome{}
}

func (q *question) paste(string) {}

func (q *question) keys() []key.Help { return []key.Help{{Key: "enter", Desc: q.yes}, leaveKey} }

// leaveKey closes a dialog, and nothing is done.
var leaveKey = key.Help{Key: "esc", Desc: "leaves it"}

func newReset(*dashboard) dialog {
	return &question{name: "Reset the lab", yes: "resets",
		lines: []string{"The lab starts anew with its first content.", "Everything in it now is lost, and so is the log."},
		do:    outcome{close: 1, command: model.ResetLab{}}}
}

func newQuit(d *dashboard) dialog {
	return &question{name: "Quit and resign", yes: "resigns and quits",
		lines: []string{"The cluster now: " + controllerText(&d.frame.Controller) + ".", "Quitting resigns: a broker takes the role over."},
		do:    outcome{close: 1, quit: true}}
}

func newMoveController(d *dashboard) dialog {
	return &question{name: "Move the controller", yes: "plans it",
		lines: []string{"The cluster now: " + controllerText(&d.frame.Controller) + ".", "Its znode is deleted, and a broker takes the role over."},
		do:    outcome{close: 1, command: model.MoveController{}}}
}
