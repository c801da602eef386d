package ui

import (
	"math/rand/v2"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestInputEditing(t *testing.T) {
	for _, c := range []struct {
		start string
		keys  []string
		want  string
		at    int
	}{
		{"abc", []string{"left", "'X"}, "abXc", 3},
		{"abc", []string{"home", "delete", "'Z"}, "Zbc", 1},
		{"abc", []string{"ctrl+a", "right", "ctrl+k"}, "a", 1},
		{"abc", []string{"ctrl+b", "ctrl+u"}, "c", 0},
		{"abc", []string{"home", "ctrl+e", "backspace", "ctrl+h"}, "a", 1},
		{"one two  ", []string{"ctrl+w"}, "one ", 4},
		{"", []string{"backspace", "delete", "left", "ctrl+w", "ctrl+d"}, "", 0},
		{"a", []string{"ctrl+x", "space", "ctrl+f"}, "a ", 2},
		{"one two", []string{"home", "alt+f", "alt+d"}, "one", 3},
		{"ab c", []string{"left", "alt+d"}, "ab ", 3},
		{"a", []string{"up", "down", "tab", "ctrl+n", "ctrl+p", "ctrl+v"}, "a", 1},
	} {
		in := newInput(c.start)
		for _, k := range c.keys {
			if k[0] == '\'' {
				in.insert(k[1:])
				continue
			}
			in.press(keyPress(k))
		}
		if in.value() != c.want || in.field.Position() != c.at {
			t.Errorf("%q and %v: %q with the cursor at %d, want %q at %d", c.start, c.keys, in.value(), in.field.Position(), c.want, c.at)
		}
	}
}

func TestInputDropsControlCharacters(t *testing.T) {
	in := newInput("")
	in.insert("a\x1b[31mb\r\n\u202ec")
	if in.value() != "a[31mbc" {
		t.Errorf("the field holds %q", in.value())
	}
}

// A proposed text goes when something is typed or pasted over it, or as a whole
// when it is taken away, and stays when the cursor is moved into it.
func TestProposedText(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{nil, "12"}, {[]string{"'3"}, "3"}, {[]string{"'34"}, "34"}, {[]string{"backspace"}, ""}, {[]string{"delete", "'5"}, "5"},
		{[]string{"left", "'3"}, "132"}, {[]string{"end", "'3"}, "123"}, {[]string{"end", "backspace"}, "1"},
	} {
		s := newScreen(labFrame(), 80, 24).typed("C", "tab")
		in := &s.dialogs[0].(*form).fields[1].input
		*in = newProposal("12")
		if s.typed(c.keys...); in.value() != c.want {
			t.Errorf("after %v the field holds %q, want %q", c.keys, in.value(), c.want)
		}
	}
	in := newProposal("12")
	if in.insert("7"); in.value() != "7" {
		t.Errorf("after a paste the field holds %q", in.value())
	}
	if in := newProposal(""); in.proposed {
		t.Error("an empty field proposes something")
	}
}

// The cursor stays visible in a field that is too narrow for its text.
func TestInputShowsTheCursor(t *testing.T) {
	in := newInput("abcdefghijklmnopqrstuvwxyz")
	var c canvas
	c.reset(10, 1)
	in.draw(c.all(), true)
	if got := c.text(); got != "rstuvwxyz\n" {
		t.Errorf("the end shows %q", got)
	}
	in.field.CursorStart()
	c.reset(10, 1)
	in.draw(c.all(), true)
	if got := c.text(); got != "abcdefghi…\n" || c.cells[0].style != field|selected {
		t.Errorf("the beginning shows %q", got)
	}
}

// No order of keys breaks the field, and none makes a command: not even that of
// the clipboard.
func TestInputTakesAnyKeys(t *testing.T) {
	keys := []string{"left", "right", "home", "end", "backspace", "delete", "ctrl+u", "ctrl+k", "ctrl+w", "ctrl+a", "ctrl+e", "ctrl+v",
		"alt+b", "alt+f", "alt+d", "alt+backspace", "alt+delete", "ctrl+left", "ctrl+right", "tab", "space", "x", "字"}
	r := rand.New(rand.NewPCG(3, 4))
	in := newInput("")
	for range 20_000 {
		k := keyPress(keys[r.IntN(len(keys))])
		in.press(k)
		if at := in.field.Position(); at < 0 || at > len([]rune(in.value())) {
			t.Fatalf("after %s the cursor is at %d of %q", k, at, in.value())
		}
	}
	for _, k := range keys {
		if k == "alt+d" || k == "alt+delete" {
			continue // press has its own way with these at the end of a text
		}
		if _, command := in.field.Update(keyPress(k)); command != nil {
			t.Errorf("%s makes a command", k)
		}
	}
}

func TestInputIsBounded(t *testing.T) {
	in := newInput("")
	for range inputLimit {
		in.insert("ab")
	}
	in.press(tea.KeyPressMsg{Code: 'c', Text: "c"})
	if n := len(in.value()); n != inputLimit {
		t.Errorf("the field holds %d characters", n)
	}
}
