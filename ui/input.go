package ui

import (
	"strings"
	"unicode"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// inputLimit is the most characters that a field takes; a topic name has at
// most 249, a list of brokers may be longer.
const inputLimit = 1000

// input is a line that is being typed. Bubbles' text field edits it; it is drawn
// here, because a field may hold what a terminal must not get as it is, and
// because the screen is made of cells.
type input struct {
	field    textinput.Model
	proposed bool // the text was not typed: it stands for itself, or is replaced as a whole
}

// newInput is a field with a text in it and the cursor behind it.
func newInput(text string) input {
	f := textinput.New()
	f.CharLimit = inputLimit
	f.SetVirtualCursor(false) // it would blink, with a timer of its own
	f.KeyMap.Paste.SetEnabled(false)
	f.KeyMap.AcceptSuggestion.SetEnabled(false)
	f.KeyMap.NextSuggestion.SetEnabled(false)
	f.KeyMap.PrevSuggestion.SetEnabled(false)
	f.Focus()
	f.SetValue(printable(text))
	f.CursorEnd()
	return input{field: f}
}

// newProposal is a field with a text that the first character typed replaces.
func newProposal(text string) input {
	in := newInput(text)
	in.proposed = text != ""
	return in
}

func (in *input) value() string { return in.field.Value() }

// press takes a key. The field's commands are dropped: pasting, the only key
// that makes one, is left to the terminal, which knows where the operator sits;
// the clipboard is that of the machine that kstate runs on.
func (in *input) press(k tea.KeyPressMsg) {
	k.Text = printable(k.Text)
	if in.replaces(k) {
		in.field.Reset()
	}
	in.proposed = false
	last := in.field.Position() == len([]rune(in.value()))-1
	if last && key.Matches(k, in.field.KeyMap.DeleteWordForward) {
		k = tea.KeyPressMsg{Code: tea.KeyDelete} // bubbles 2.2.1 panics on a word of one character at the end
	}
	in.field, _ = in.field.Update(k)
}

// replaces: the key types over a proposed text, or takes it away.
func (in *input) replaces(k tea.KeyPressMsg) bool {
	m := &in.field.KeyMap
	return in.proposed && (k.Text != "" || key.Matches(k, m.DeleteCharacterBackward, m.DeleteCharacterForward))
}

// insert adds the printable part of a pasted text at the cursor.
func (in *input) insert(s string) {
	if in.proposed {
		in.field.Reset()
		in.proposed = false
	}
	in.field, _ = in.field.Update(tea.PasteMsg{Content: printable(s)})
}

// printable drops line ends and other control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}

// draw shows as much as fits, the cursor always in it.
func (in *input) draw(a area, focused bool) {
	a.fill(0, 0, a.w, field, " ")
	text, at, from := []rune(in.value()), in.field.Position(), 0
	for from < at && width(string(text[from:at])) >= a.w {
		from++
	}
	st := field
	if focused && in.proposed {
		st |= selected
	}
	a.put(0, 0, st, string(text[from:]))
	if x := width(string(text[from:at])); focused && x < a.w {
		a.c.cells[a.y*a.c.w+a.x+x].style = field | selected
	}
}
