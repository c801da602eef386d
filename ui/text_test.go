package ui

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// Whatever a text holds, it measures the same here and in every terminal, and
// holds nothing that a terminal obeys.
func FuzzClean(f *testing.F) {
	for _, s := range append(oddNames, "", "\u0301", "a\u0301\u0301", "\u200d", "🇩", "👍🏽", "한국어", "\u1100\u1161\u11a8", "\ufe0f", "☺️", "\u00ad", "\U000e0001", "👍\x10🏽", "\u0d4e\x10a") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := clean(s)
		if strange := cleanSlow(c); strange != c {
			t.Errorf("clean(%q) = %q, which clean changes again to %q", s, c, strange)
		}
		w := width(s)
		if a, b := ansi.StringWidth(c), ansi.StringWidthWc(c); a != w || b != w {
			t.Errorf("%q measures %d, a terminal says %d or %d", c, w, a, b)
		}
		for i := range len(c) {
			if c[i] < ' ' || c[i] == 0x7f {
				t.Errorf("%q has a control character", c)
			}
		}
	})
}

func TestPutCutsByWidth(t *testing.T) {
	for _, c := range []struct {
		w    int
		s    string
		want string
	}{
		{5, "abcde", "abcde\n"}, {5, "abcdef", "abcd…\n"}, {5, "字字字", "字字…\n"}, {4, "字字字", "字 …\n"}, {4, "a字字", "a字…\n"}, {1, "字", "…\n"}, {2, "字", "字\n"}, {3, "", "\n"},
	} {
		var k canvas
		k.reset(c.w, 1)
		k.all().put(0, 0, plain, c.s)
		if got := k.text(); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.s, c.w, got, c.want)
		}
	}
}

// A line of several spans says that it goes on, also where one of them ends just
// at the edge; spaces are no loss.
func TestPutLineCutsBetweenSpans(t *testing.T) {
	for _, c := range []struct {
		spans []string
		skip  int
		want  string
	}{
		{[]string{"abc", "de"}, 0, "abcde\n"}, {[]string{"abcde", ","}, 0, "abcd…\n"}, {[]string{"abcde", "  "}, 0, "abcde\n"}, {[]string{"abcde", "", "f", "g"}, 0, "abcd…\n"},
		{[]string{"abcdef", "g"}, 0, "abcd…\n"}, {[]string{"abcdef", "g"}, 1, "bcde…\n"}, {[]string{"abcdef", "g"}, 2, "cdefg\n"}, {[]string{"a字字", "b"}, 0, "a字 …\n"},
	} {
		var k canvas
		k.reset(5, 1)
		var l line
		for _, s := range c.spans {
			l = append(l, span{plain, s})
		}
		k.all().putLine(0, l, c.skip)
		if got := k.text(); got != c.want {
			t.Errorf("%q from column %d: %q, want %q", c.spans, c.skip, got, c.want)
		}
	}
	var k canvas
	k.reset(0, 0)
	k.all().putLine(0, line{{plain, "a"}}, 0)
}

// Writing over half of a wide character leaves no half behind.
func TestOverwriteWide(t *testing.T) {
	var k canvas
	k.reset(4, 1)
	k.all().put(0, 0, plain, "字字")
	k.all().put(1, 0, plain, "ab")
	if got := k.text(); got != " ab\n" {
		t.Errorf("%q", got)
	}
}
