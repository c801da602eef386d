package ui

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// style is what a cell means; the table below says how that looks. Only the
// sixteen basic colours are used: the terminal's owner has chosen them to be
// readable, on light and on dark.
type style uint8

const (
	plain style = iota
	faint
	strong
	heading // titles of panes
	border  // frames of dialogs, rules between panes
	good
	warn
	bad
	badge    // the mode on the status line
	alarm    // READ-ONLY, STALE
	current  // the chosen tab
	keyName  // a key in the footer and the help
	lastEdge // the transition that was taken last
	nextEdge // the transition that is proposed
	jsonName
	jsonText
	jsonNumber
	jsonWord
	added
	removed
	field // an input field
	styleCount

	// selected is added to the style of a chosen row.
	selected style = 0x80
)

const resetSequence = "\x1b[m"

// sequences holds the escape sequence of each style, made once.
var sequences = makeSequences()

func looks() map[style]lipgloss.Style {
	s := lipgloss.NewStyle
	return map[style]lipgloss.Style{
		plain: s(), faint: s().Faint(true), strong: s().Bold(true),
		heading: s().Bold(true).Foreground(lipgloss.Cyan), border: s().Faint(true),
		good: s().Foreground(lipgloss.Green), warn: s().Foreground(lipgloss.Yellow),
		bad:   s().Bold(true).Foreground(lipgloss.Red),
		badge: s().Bold(true).Reverse(true), alarm: s().Bold(true).Reverse(true).Foreground(lipgloss.Red),
		current: s().Bold(true).Underline(true), keyName: s().Bold(true).Foreground(lipgloss.Cyan),
		lastEdge: s().Bold(true).Foreground(lipgloss.Yellow), nextEdge: s().Bold(true).Foreground(lipgloss.Magenta),
		jsonName: s().Foreground(lipgloss.Cyan), jsonText: s().Foreground(lipgloss.Green),
		jsonNumber: s().Foreground(lipgloss.Yellow), jsonWord: s().Foreground(lipgloss.Magenta),
		added: s().Foreground(lipgloss.Green), removed: s().Foreground(lipgloss.Red),
		field: s().Underline(true),
	}
}

func makeSequences() (table [256]string) {
	for st, look := range looks() {
		table[st] = opening(look)
		table[st|selected] = opening(look.Reverse(true))
	}
	return table
}

// opening is what a style writes in front of a text.
func opening(look lipgloss.Style) string {
	before, _, _ := strings.Cut(look.Render("x"), "x")
	return before
}
