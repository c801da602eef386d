package ui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	controlPictures = '\u2400' // the block of visible pictures of control characters
	deletePicture   = "\u2421"
	replacement     = "\uFFFD"
	ellipsis        = "…"
)

// asciiGlyphs are the one-byte strings, so that a cell of ASCII text is a
// substring of one constant.
const asciiGlyphs = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" +
	" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\x7f"

// glyph takes the first printable unit off a text: what fills one or two cells,
// and how many bytes it took. What would move the cursor, hide itself, or
// measure differently from terminal to terminal comes back as a picture of one cell.
func glyph(s string) (text string, width, size int) {
	if b := s[0]; b < utf8.RuneSelf {
		if (len(s) == 1 || s[1] < utf8.RuneSelf) && b >= ' ' && b != 0x7f {
			return asciiGlyphs[b : b+1], 1, 1
		}
		if b < ' ' {
			return string(controlPictures + rune(b)), 1, 1
		}
		if b == 0x7f {
			return deletePicture, 1, 1
		}
	}
	r, n := utf8.DecodeRuneInString(s)
	if r >= 0x2500 && r < 0x2600 { // box drawing, blocks and arrowheads: one cell each
		return s[:n], 1, n
	}
	cluster, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	size = max(len(cluster), 1)
	if strange(cluster) || sticky(cluster) || width != ansi.StringWidthWc(cluster) || width < 1 || width > 2 {
		return replacement, 1, size
	}
	return cluster, width, size
}

// strange: the cluster holds a control, format, private or broken character.
func strange(cluster string) bool {
	for _, r := range cluster {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) {
			return true
		}
	}
	return cluster == ""
}

// sticky: the cluster would join what stands in front of it or behind it. Alone
// it is whole, but its neighbour may be replaced.
func sticky(cluster string) bool {
	front, _ := ansi.FirstGraphemeCluster("a"+cluster, ansi.GraphemeWidth)
	whole, _ := ansi.FirstGraphemeCluster(cluster+"a", ansi.GraphemeWidth)
	return front != "a" || whole != cluster
}

// clean makes a foreign text safe to print and cut: see glyph.
func clean(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return cleanSlow(s)
		}
	}
	return s
}

func cleanSlow(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		g, _, n := glyph(s)
		b.WriteString(g)
		s = s[n:]
	}
	return b.String()
}

// width is the number of cells that a text takes when it is drawn.
func width(s string) int {
	w := 0
	for len(s) > 0 {
		_, gw, n := glyph(s)
		w += gw
		s = s[n:]
	}
	return w
}
