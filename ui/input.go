package ui

import (
	"slices"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// inputLimit is the most characters that a field takes; a topic name has at
// most 249, a list of brokers may be longer.
const inputLimit = 1000

// input is a line that is being typed.
type input struct {
	text []rune
	at   int // the cursor, in characters
}

// newInput is a field with a text in it and the cursor behind it.
func newInput(text string) input {
	r := []rune(text)
	return input{text: r, at: len(r)}
}

func (in *input) value() string { return string(in.text) }

// press takes a key.
func (in *input) press(k tea.KeyPressMsg) {
	switch k.String() {
	case "left", "ctrl+b":
		in.at = max(0, in.at-1)
	case "right", "ctrl+f":
		in.at = min(len(in.text), in.at+1)
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "backspace", "ctrl+h":
		in.cut(in.at-1, in.at)
	case "delete", "ctrl+d":
		in.cut(in.at, in.at+1)
	case "ctrl+u":
		in.cut(0, in.at)
	case "ctrl+k":
		in.cut(in.at, len(in.text))
	case "ctrl+w":
		from := in.at
		for from > 0 && unicode.IsSpace(in.text[from-1]) {
			from--
		}
		for from > 0 && !unicode.IsSpace(in.text[from-1]) {
			from--
		}
		in.cut(from, in.at)
	default:
		in.insert(k.Text)
	}
}

// cut takes characters out and puts the cursor there.
func (in *input) cut(from, to int) {
	from, to = max(from, 0), min(to, len(in.text))
	if from < to {
		in.text = slices.Delete(in.text, from, to)
		in.at = from
	}
}

// insert adds printable text at the cursor; line ends and other control
// characters of a pasted text are dropped.
func (in *input) insert(s string) {
	for _, r := range s {
		if len(in.text) < inputLimit && unicode.IsPrint(r) {
			in.text = slices.Insert(in.text, in.at, r)
			in.at++
		}
	}
}

// draw shows as much as fits, the cursor always in it.
func (in *input) draw(a area, focused bool) {
	a.fill(0, 0, a.w, field, " ")
	from := 0
	for from < in.at && width(string(in.text[from:in.at])) >= a.w {
		from++
	}
	a.put(0, 0, field, string(in.text[from:]))
	if x := width(string(in.text[from:in.at])); focused && x < a.w {
		a.c.cells[a.y*a.c.w+a.x+x].style = field | selected
	}
}
