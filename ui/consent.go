package ui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// consent shows the plan of a command, has its name typed, and then what comes
// of it. It is opened with the command, before the plan is there.
type consent struct {
	before *model.Plan // what the frame held when the plan was asked for
	seen   uint64      // the newest notice then
	plan   *model.Plan // nil until it has come
	typed  input
	given  bool // consent was given: what is shown then is the outcome
	done   bool // nothing more is awaited
	err    string
	body   pages
}

// planned tells that a command is answered by a plan, not by a deed.
func planned(d *dashboard, c model.Command) bool {
	return d.frame != nil && d.frame.Mode == model.AdminMode && model.IsPlanned(c)
}

func newConsent(d *dashboard) *consent {
	return &consent{before: d.frame.Plan, seen: d.seen, typed: newInput("")}
}

// payloadLimit bounds each payload on the screen; the rest is counted.
const payloadLimit = 4000

// follow takes a newer frame.
func (c *consent) follow(d *dashboard) {
	if o := d.frame.Outcome; o != nil && c.plan != nil && o.Number == c.plan.Number {
		c.done = o.Done
	}
	p := d.frame.Plan
	if c.plan != nil || p == nil || p == c.before {
		return
	}
	c.plan = p
	c.body = pages{indent: ownIndent}
	for _, l := range p.Text(payloadLimit) {
		text := strings.TrimLeft(l.Text, " ")
		c.body.lines = append(c.body.lines, line{{plain, l.Text[:len(l.Text)-len(text)]}, {planStyle(l.Kind), text}})
	}
}

func planStyle(k model.PlanTextKind) style {
	switch k {
	case model.PlanTitle, model.PlanOp:
		return strong
	case model.PlanHeading:
		return heading
	case model.PlanHolds:
		return faint
	case model.PlanFails:
		return bad
	case model.PlanOld:
		return removed
	case model.PlanNew:
		return added
	case model.PlanWarning:
		return warn
	}
	return plain
}

func (c *consent) title() string {
	switch {
	case c.plan == nil:
		return "Planning"
	case c.given:
		return "Written"
	case c.writable():
		return "Consent"
	}
	return "Plan"
}

// writable: there is something that consent can be given to.
func (c *consent) writable() bool {
	return c.plan != nil && c.plan.Refused() == "" && c.plan.Nothing == ""
}

const (
	consentWidth = 100
	consentFoot  = 5 // a rule and what is below it
)

func (c *consent) size(d *dashboard) (w, h int) {
	c.follow(d)
	if c.plan == nil {
		return consentWidth, 6
	}
	return consentWidth, len(c.body.broken(min(consentWidth, d.w-frameWidth))) + consentFoot
}

func (c *consent) draw(a area, d *dashboard) {
	c.follow(d)
	if c.plan == nil {
		a.put(0, 0, faint, "reading what the plan needs …")
		for y, l := range wrap(line{{plain, ""}, {warn, d.refusedSince(c.seen)}}, a.w, 0) {
			a.putLine(2+y, l, 0)
		}
		return
	}
	foot := min(consentFoot, a.h-1)
	c.body.draw(a.sub(0, 0, a.w, a.h-foot), d)
	a.fill(0, a.h-foot, a.w, border, "─")
	c.drawFoot(a.sub(0, a.h-foot+1, a.w, foot-1), d)
}

// drawFoot asks, or says what came of it.
func (c *consent) drawFoot(a area, d *dashboard) {
	switch {
	case c.plan.Nothing != "":
		a.put(0, 0, strong, "There is nothing to do.")
	case c.plan.Refused() != "":
		drawLines(a, wrap(line{{bad, ""}, {bad, "Refused: " + c.plan.Refused()}}, a.w, 0), scroll{})
	case c.given:
		drawLines(a, c.outcomeLines(d, a.w, a.h), scroll{})
	default:
		x := a.put(0, 0, plain, "To write this, type ")
		x = a.put(x, 0, strong, c.plan.Confirm)
		x = a.put(x, 0, plain, ": ")
		if room := a.w - x; room >= len(c.plan.Confirm)+2 {
			c.typed.draw(a.sub(x, 0, room, 1), true)
		} else {
			c.typed.draw(a.sub(0, 1, a.w, 1), true)
		}
		a.put(0, 2, bad, c.err)
	}
}

// outcomeLines are the last lines of what has come of the plan, as many as fit.
func (c *consent) outcomeLines(d *dashboard, w, h int) []line {
	p := d.frame.Outcome
	if p == nil || p.Number != c.plan.Number {
		text := d.refusedSince(c.seen)
		if text == "" {
			return []line{{{faint, "writing …"}}}
		}
		return wrap(line{{bad, ""}, {bad, text}}, w, 0)
	}
	var out []line
	for i := range p.Lines {
		l := &p.Lines[i]
		st := plain
		switch {
		case l.Level >= model.Error:
			st = bad
		case l.Level == model.Warn:
			st = warn
		case p.Done && i == len(p.Lines)-1:
			st = good
		}
		out = append(out, wrap(line{{faint, d.clock(l.At) + " "}, {st, l.Text}}, w, noticeIndent)...)
	}
	return out[max(0, len(out)-h):]
}

func (c *consent) press(d *dashboard, k tea.KeyPressMsg) outcome {
	c.follow(d)
	asking := c.writable() && !c.given
	switch s := k.String(); s {
	case "esc":
		if asking {
			return outcome{close: 1, command: model.Withdraw{Number: c.plan.Number}}
		}
		return outcome{close: 1}
	case "enter":
		if !asking {
			if c.plan == nil {
				return outcome{}
			}
			return outcome{close: 1}
		}
		if c.typed.value() != c.plan.Confirm && c.typed.value() != clean(c.plan.Confirm) {
			c.err = "That is not " + clean(c.plan.Confirm) + "."
			return outcome{}
		}
		c.given = true
		return outcome{command: model.Consent{Number: c.plan.Number, Typed: c.plan.Confirm}}
	case "up", "down", "pgup", "pgdown":
		c.body.scroll.move(movementOf(s))
	default:
		if asking {
			c.err = ""
			c.typed.press(k)
		}
	}
	return outcome{}
}

func (c *consent) paste(text string) {
	if c.writable() && !c.given {
		c.err = ""
		c.typed.insert(text)
	}
}

func (c *consent) keys() []key.Help {
	scrolling := key.Help{Key: "↑ ↓ pgup pgdown", Desc: "scroll"}
	switch {
	case c.writable() && !c.given:
		return []key.Help{{Key: "enter", Desc: "writes it"}, scrolling, {Key: "esc", Desc: "withdraws it"}}
	case c.given && !c.done:
		return []key.Help{scrolling, {Key: "esc", Desc: "closes, and goes on watching"}}
	}
	return []key.Help{scrolling, {Key: "esc", Desc: "closes"}}
}
