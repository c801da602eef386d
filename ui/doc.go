// Package ui is the terminal: it draws frames and turns keys into commands.
//
// There is one Bubble Tea model, the dashboard. Everything else is a plain
// struct: panes draw themselves into a rectangle of a canvas of cells, dialogs
// lie on a stack and return a command, and one table of keys (keys.go) makes
// the footer, the help screen and docs/keys.md. The graphs of states are
// pictures in the source (pictures.go): nodes, strokes and arrowheads are read
// from the drawing, and a test follows every legal edge on the screen.
//
// It is not the debugger: it decides nothing about a cluster, opens nothing,
// and keeps no state but what is chosen and scrolled.
//
// Bubbles edits its text fields and matches its keys; the rest of Bubbles makes
// text, where a canvas needs cells.
//
// It may import model, Bubble Tea, bubbles, lipgloss, chroma and x/ansi; never
// engine or internal/debugger.
//
// Duties of the caller of Run:
//   - Frames are values that do not change after they were sent. A newer frame
//     replaces an older one, so the sender may drop what was not taken; it sends
//     at most 30 a second. Closing the channel ends the program.
//   - Options.Do must return at once: it runs between a key and the next picture.
//   - Commands come in the order of the keys, on one goroutine.
package ui
