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
