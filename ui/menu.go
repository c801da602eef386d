package ui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// menu is a dialog that picks one of several commands.
type menu struct {
	name  string
	about []line
	yes   string // what enter does, in a word
	items []menuItem
	empty string // said when there are none
	at    int
	top   int // the first one shown
	shown int // how many were, when it was last drawn
}

// menuItem is one choice; one with only a text is a heading.
type menuItem struct {
	text, note string
	do         outcome
	heading    bool
}

const menuWidth = 74

func (m *menu) add(text, note string, c model.Command) {
	m.items = append(m.items, menuItem{text: text, note: note, do: outcome{close: 1, command: c}})
}

func (m *menu) head(text string) {
	m.items = append(m.items, menuItem{text: text, heading: true})
}

func (m *menu) title() string { return m.name }

func (m *menu) size(*dashboard) (w, h int) {
	h = len(m.about) + max(1, len(m.items))
	if len(m.about) > 0 {
		h++
	}
	return menuWidth, h
}

func (m *menu) draw(a area, _ *dashboard) {
	y := 0
	for _, l := range m.about {
		a.putLine(y, l, 0)
		y++
	}
	if y > 0 {
		y++
	}
	if len(m.items) == 0 {
		a.put(0, y, faint, m.empty)
		return
	}
	m.settle()
	m.shown = max(1, a.h-y)
	m.top = min(m.top, m.at)
	if m.at >= m.top+m.shown {
		m.top = m.at - m.shown + 1
	}
	if m.at == 1 && m.items[0].heading {
		m.top = 0
	}
	notes := 0 // the column of the notes
	for i := range m.items {
		if x := &m.items[i]; x.note != "" && !x.heading {
			notes = max(notes, width(x.text)+4)
		}
	}
	notes = min(notes, a.w/2)
	for i := m.top; i < len(m.items) && i < m.top+m.shown; i++ {
		x := &m.items[i]
		if x.heading {
			a.put(0, y, heading, x.text)
		} else {
			end := a.put(2, y, plain, x.text)
			a.put(max(end+2, notes), y, faint, x.note)
		}
		if i == m.at && !x.heading {
			a.mark(y)
		}
		y++
	}
}

// settle keeps the cursor off headings.
func (m *menu) settle() {
	for m.at < len(m.items)-1 && m.items[m.at].heading {
		m.at++
	}
}

// step moves to the next choice in a direction, around the ends.
func (m *menu) step(by int) {
	for range m.items {
		m.at = (m.at + by + len(m.items)) % len(m.items)
		if !m.items[m.at].heading {
			return
		}
	}
}

func (m *menu) press(_ *dashboard, k tea.KeyPressMsg) outcome {
	switch k.String() {
	case "esc", "q":
		return outcome{close: 1}
	}
	if len(m.items) == 0 {
		return outcome{}
	}
	m.settle()
	switch movementOf(k.String()) {
	case moveUp:
		m.step(-1)
	case moveDown:
		m.step(+1)
	case moveHome:
		m.at = 0
		m.settle()
	case moveEnd:
		m.at = 0
		m.step(-1)
	case movePageUp:
		for range min(m.shown, m.at) {
			m.step(-1)
		}
	case movePageDown:
		for range min(m.shown, len(m.items)-1-m.at) {
			m.step(+1)
		}
	}
	switch k.String() {
	case "tab":
		m.step(+1)
	case "shift+tab":
		m.step(-1)
	case "enter":
		if !m.items[m.at].heading {
			return m.items[m.at].do
		}
	}
	return outcome{}
}

func (m *menu) paste(string) {}

func (m *menu) keys() []key.Help {
	if len(m.items) == 0 {
		return []key.Help{leaveKey}
	}
	return []key.Help{{Key: "enter", Desc: m.yes}, {Key: "↑ ↓", Desc: "choose"}, leaveKey}
}
