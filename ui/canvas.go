package ui

import (
	"strings"

	"charm.land/bubbles/v2/key"
)

// cell is one column of one row. The second column of a wide character has an
// empty text.
type cell struct {
	text  string
	style style
}

var blank = cell{text: " "}

// canvas is the screen while it is drawn: exactly w by h cells, whatever is
// written to it, so that no line can be wider than the terminal.
type canvas struct {
	w, h  int
	cells []cell
	out   strings.Builder
}

// reset makes the canvas blank and of that size.
func (c *canvas) reset(w, h int) {
	c.w, c.h = w, h
	if cap(c.cells) < w*h {
		c.cells = make([]cell, w*h)
	}
	c.cells = c.cells[:w*h]
	for i := range c.cells {
		c.cells[i] = blank
	}
}

func (c *canvas) all() area { return area{c: c, w: c.w, h: c.h} }

// set writes one cell. A wide character that loses one of its halves becomes blank.
func (c *canvas) set(x, y int, k cell) {
	i := y*c.w + x
	if c.cells[i].text == "" && x > 0 && k.text != "" {
		c.cells[i-1].text = " "
	}
	if x+1 < c.w && c.cells[i+1].text == "" && k.text != "" {
		c.cells[i+1].text = " "
	}
	c.cells[i] = k
}

// encode is the canvas as text with escape sequences, rows joined by newlines.
// Blank ends of rows are left out.
func (c *canvas) encode() string {
	c.out.Reset()
	c.out.Grow(4 * len(c.cells))
	for y := range c.h {
		if y > 0 {
			c.out.WriteByte('\n')
		}
		c.encodeRow(c.cells[y*c.w : (y+1)*c.w])
	}
	return c.out.String()
}

func (c *canvas) encodeRow(row []cell) {
	end := len(row)
	for end > 0 && row[end-1] == blank {
		end--
	}
	at := plain
	for _, k := range row[:end] {
		if k.style != at {
			if at != plain {
				c.out.WriteString(resetSequence)
			}
			c.out.WriteString(sequences[k.style])
			at = k.style
		}
		c.out.WriteString(k.text)
	}
	if at != plain {
		c.out.WriteString(resetSequence)
	}
}

// text is the canvas without styles.
func (c *canvas) text() string {
	var b strings.Builder
	for y := range c.h {
		var row strings.Builder
		for _, k := range c.cells[y*c.w : (y+1)*c.w] {
			row.WriteString(k.text)
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// area is a rectangle of a canvas with its own origin. Nothing written to it
// shows outside.
type area struct {
	c          *canvas
	x, y, w, h int
}

// sub is a rectangle within the area; what lies outside is cut off.
func (a area) sub(x, y, w, h int) area {
	x, y = min(max(x, 0), a.w), min(max(y, 0), a.h)
	w, h = min(max(w, 0), a.w-x), min(max(h, 0), a.h-y)
	return area{c: a.c, x: a.x + x, y: a.y + y, w: w, h: h}
}

// below is the area without its first n rows.
func (a area) below(n int) area { return a.sub(0, n, a.w, a.h-n) }

// put writes a text at a place and returns the column behind it. What does not
// fit is cut, and the last cell shows an ellipsis.
func (a area) put(x, y int, st style, s string) int {
	if y < 0 || y >= a.h || x < 0 || x >= a.w {
		return x
	}
	for len(s) > 0 {
		g, gw, n := glyph(s)
		if x+gw > a.w {
			a.c.set(a.x+a.w-1, a.y+y, cell{ellipsis, st})
			return a.w
		}
		a.c.set(a.x+x, a.y+y, cell{g, st})
		if gw == 2 {
			a.c.set(a.x+x+1, a.y+y, cell{"", st})
		}
		x, s = x+gw, s[n:]
	}
	return x
}

// putIn writes a text into w columns from x: cut, not spilled.
func (a area) putIn(x, y, w int, st style, s string) {
	a.sub(x, y, w, 1).put(0, 0, st, s)
}

// putRight writes a text so that it ends in front of column x, and returns
// where it begins; a text that is too long is cut on its right.
func (a area) putRight(x, y int, st style, s string) int {
	from := max(0, x-width(s))
	a.putIn(from, y, x-from, st, s)
	return from
}

// fill writes the same glyph over a row's part.
func (a area) fill(x, y, w int, st style, g string) {
	if y < 0 || y >= a.h {
		return
	}
	for i := max(x, 0); i < min(x+w, a.w); i++ {
		a.c.set(a.x+i, a.y+y, cell{g, st})
	}
}

// clear blanks the area.
func (a area) clear() {
	for y := range a.h {
		a.fill(0, y, a.w, plain, " ")
	}
}

// mark adds the selection to the style of a row.
func (a area) mark(y int) {
	if y < 0 || y >= a.h {
		return
	}
	for x := range a.w {
		a.c.cells[(a.y+y)*a.c.w+a.x+x].style |= selected
	}
}

// frame draws a border around the area, with a title above and keys below, and
// returns the inside.
func (a area) frame(title string, keys []key.Help) area {
	if a.w < 2 || a.h < 2 {
		return a.sub(0, 0, 0, 0)
	}
	a.clear()
	a.fill(1, 0, a.w-2, border, "─")
	a.fill(1, a.h-1, a.w-2, border, "─")
	for y := 1; y < a.h-1; y++ {
		a.put(0, y, border, "│")
		a.put(a.w-1, y, border, "│")
	}
	a.put(0, 0, border, "╭")
	a.put(a.w-1, 0, border, "╮")
	a.put(0, a.h-1, border, "╰")
	a.put(a.w-1, a.h-1, border, "╯")
	a.sub(2, 0, a.w-4, 1).put(0, 0, heading, " "+title+" ")
	foot := a.sub(2, a.h-1, a.w-4, 1)
	x := 0
	for _, k := range keys {
		foot.put(x, 0, plain, " ")
		x = foot.put(drawKey(foot, x+1, k)-keyGap, 0, plain, " ")
	}
	return a.sub(2, 1, a.w-4, a.h-2)
}
