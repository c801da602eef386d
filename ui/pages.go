package ui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// pages is a dialog of lines to read: the help, or the notices.
type pages struct {
	name   string
	indent int // of the second row of a line that is broken
	width  int // the wish for the inside
	scroll scroll
	lines  []line // not yet broken at any width

	rows     []line // the lines broken at rowWidth; nil when the lines have changed
	rowWidth int
}

const (
	helpWidth  = 84
	helpIndent = 14 // "pgdown ctrl+f" and a space
)

// newHelp lists all keys with what they do, and why some do nothing now.
func newHelp(d *dashboard) dialog {
	h := &pages{name: "Help", indent: helpIndent, width: helpWidth}
	group := ""
	for i := range d.keys {
		b := &d.keys[i]
		if b.group != group {
			if group != "" {
				h.lines = append(h.lines, nil)
			}
			group = b.group
			h.lines = append(h.lines, line{{heading, group}})
		}
		l := line{{keyName, pad(b.Help().Key, helpIndent)}, {plain, b.does}}
		if why := b.why(d); why != "" {
			l = append(l, span{warn, " [not now: " + why + "]"})
		}
		h.lines = append(h.lines, l)
	}
	entry := func(st style, sign, means string) {
		h.lines = append(h.lines, line{{st, pad(sign, helpIndent)}, {plain, means}})
	}
	h.lines = append(h.lines, nil, line{{heading, "Signs"}})
	entry(lastEdge, "━━►", "the transition that was taken last")
	entry(nextEdge, "══►", "the transition that the step at hand proposes")
	entry(plain, "Deletion...", "in the small graph DeletionStarted, DeletionSuccessful and DeletionIneligible are ReplicaDeletionStarted, ReplicaDeletionSuccessful and ReplicaDeletionIneligible")
	entry(plain, "┌ │ └", "in the log: an event begins, one of its steps, it ends")
	entry(plain, "» · ~", "in the log: an input, a step outside of events, something inferred from outside")
	entry(plain, "= ≠", "in the inspector: memory is as the znode says, or differs")
	return h
}

const noticeIndent = 9

// newNotices lists what was said, the newest last.
func newNotices(d *dashboard) dialog {
	p := &pages{name: "Notices", indent: noticeIndent, width: helpWidth}
	for i := range d.told {
		n := &d.told[i]
		p.lines = append(p.lines, line{{faint, pad(d.clock(n.since), noticeIndent)}, {n.style(), n.text}})
	}
	if len(p.lines) == 0 {
		p.lines = []line{{{faint, "nothing was said yet"}}}
	}
	p.scroll.move(moveEnd)
	return p
}

// broken are the lines for a width.
func (h *pages) broken(w int) []line {
	if h.rows == nil || h.rowWidth != w {
		h.rows, h.rowWidth = h.rows[:0], w
		for _, l := range h.lines {
			h.rows = append(h.rows, wrap(l, w, h.indent)...)
		}
	}
	return h.rows
}

// ownIndent, for wrap: two columns more than the line begins with.
const ownIndent = -1

// wrap breaks a line at spaces, and a word that is longer than a row anywhere;
// what follows is indented. The first span is not broken.
func wrap(l line, w, indent int) []line {
	if indent == ownIndent {
		text := l.text()
		indent = min(len(text)-len(strings.TrimLeft(text, " "))+2, w/2)
	}
	var out []line
	row, used := line{}, 0
	put := func(st style, word string) { row, used = append(row, span{st, word}), used+width(word) }
	next := func() {
		out = append(out, row)
		row, used = line{{plain, strings.Repeat(" ", indent)}}, indent
	}
	for i, s := range l {
		if i == 0 {
			put(s.st, s.text)
			continue
		}
		for _, word := range words(s.text) {
			if short := strings.TrimRight(word, " "); used+width(word) > w && used+width(short) <= w {
				word = short
			}
			if used+width(word) > w && used > indent {
				next()
			}
			for width(word) > w-used {
				head := cutRight(word, w-used)
				if head == "" {
					break
				}
				put(s.st, head)
				next()
				word = word[len(head):]
			}
			put(s.st, word)
		}
	}
	return append(out, row)
}

// cutRight keeps what fits into n columns.
func cutRight(s string, n int) string {
	end := 0
	for end < len(s) {
		_, w, size := glyph(s[end:])
		if n -= w; n < 0 {
			break
		}
		end += size
	}
	return s[:end]
}

// words cuts a text behind each space.
func words(s string) []string {
	var out []string
	from := 0
	for i := range len(s) {
		if s[i] == ' ' {
			out = append(out, s[from:i+1])
			from = i + 1
		}
	}
	return append(out, s[from:])
}

func (h *pages) title() string { return h.name }

func (h *pages) size(d *dashboard) (int, int) {
	return h.width, len(h.broken(min(h.width, d.w-frameWidth))) + 1
}

func (h *pages) draw(a area, _ *dashboard) {
	lines := h.broken(a.w)
	body := a
	if len(lines) > a.h {
		body = a.sub(0, 0, a.w, a.h-1) // the last row says how much is missing
	}
	h.scroll.fit(len(lines), body.h)
	for y := 0; y < body.h && h.scroll.y+y < len(lines); y++ {
		body.putLine(y, lines[h.scroll.y+y], 0)
	}
	switch rest := len(lines) - h.scroll.y - body.h; {
	case rest == 1:
		a.put(0, a.h-1, faint, "↓ 1 more line")
	case rest > 0:
		a.put(0, a.h-1, faint, "↓ "+itoa(rest)+" more lines")
	}
}

func (h *pages) press(_ *dashboard, k tea.KeyPressMsg) outcome {
	switch k.String() {
	case "esc", "q", "?", "N", "enter":
		return outcome{close: 1}
	}
	h.scroll.move(movementOf(k.String()))
	return outcome{}
}

func (h *pages) paste(string) {}

func (h *pages) keys() []key.Help {
	return []key.Help{{Key: "↑ ↓ pgup pgdown", Desc: "scroll"}, {Key: "esc", Desc: "closes"}}
}
