package ui

import "testing"

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
	} {
		in := newInput(c.start)
		for _, k := range c.keys {
			if k[0] == '\'' {
				in.insert(k[1:])
				continue
			}
			in.press(keyPress(k))
		}
		if in.value() != c.want || in.at != c.at {
			t.Errorf("%q and %v: %q with the cursor at %d, want %q at %d", c.start, c.keys, in.value(), in.at, c.want, c.at)
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

// The cursor stays visible in a field that is too narrow for its text.
func TestInputShowsTheCursor(t *testing.T) {
	in := newInput("abcdefghijklmnopqrstuvwxyz")
	var c canvas
	c.reset(10, 1)
	in.draw(c.all(), true)
	if got := c.text(); got != "rstuvwxyz\n" {
		t.Errorf("the end shows %q", got)
	}
	in.at = 0
	c.reset(10, 1)
	in.draw(c.all(), true)
	if got := c.text(); got != "abcdefghi…\n" || c.cells[0].style != field|selected {
		t.Errorf("the beginning shows %q", got)
	}
}
