package ui

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"kstate/model"
)

// span is a piece of a line in one style; line is a row of the inspector.
type span struct {
	st   style
	text string
}

type line []span

// highlightLimit is the payload size beyond which lines are shown without colours.
const highlightLimit = 64 << 10

// payloads remembers how payloads look: laid out and coloured once.
type payloads struct {
	known map[string][]line
}

const payloadsKept = 64

// lines is the payload of a znode as lines: JSON indented, text as it is,
// anything else in hexadecimal.
func (p *payloads) lines(data []byte) []line {
	if data == nil {
		return []line{{{faint, "null"}}}
	}
	if out, ok := p.known[string(data)]; ok {
		return out
	}
	if p.known == nil || len(p.known) >= payloadsKept {
		p.known = map[string][]line{}
	}
	out := layOut(data)
	p.known[string(data)] = out
	return out
}

// ofZnode is lines of a znode's payload without its secrets.
func (p *payloads) ofZnode(path string, data []byte) []line {
	return p.lines(model.MaskedData(path, data))
}

func layOut(data []byte) []line {
	switch {
	case len(data) == 0:
		return []line{{{faint, "empty"}}}
	case json.Valid(data):
		return colour("json", indentJSON(data))
	case isText(data):
		return colour("json", string(data))
	}
	return colour("hexdump", hex.Dump(data))
}

func isText(data []byte) bool {
	return utf8.Valid(data) && !bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' })
}

// indentJSON lays valid JSON out over lines; lists and objects that hold only
// plain values stay on one.
func indentJSON(data []byte) string {
	var b strings.Builder
	depth := 0
	newline := func() {
		b.WriteByte('\n')
		for range depth {
			b.WriteString("  ")
		}
	}
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case ' ', '\t', '\n', '\r':
		case '"':
			end := stringEnd(data, i)
			b.Write(data[i:end])
			i = end - 1
		case '{', '[':
			if end := flatEnd(data, i); end > 0 && (depth > 0 || end == i+2) {
				writeFlat(&b, data[i:end])
				i = end - 1
				continue
			}
			b.WriteByte(c)
			depth++
			newline()
		case '}', ']':
			depth--
			newline()
			b.WriteByte(c)
		case ',':
			b.WriteByte(c)
			newline()
		case ':':
			b.WriteString(": ")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// stringEnd is the place behind a string that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// flatEnd is the place behind the list or object at i when it holds no other
// one; 0 otherwise.
func flatEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i) - 1
		case '{', '[':
			return 0
		case '}', ']':
			return i + 1
		}
	}
	return 0
}

func writeFlat(b *strings.Builder, data []byte) {
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case ' ', '\t', '\n', '\r':
		case '"':
			end := stringEnd(data, i)
			b.Write(data[i:end])
			i = end - 1
		case ',', ':':
			b.WriteByte(c)
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
}

// colour cuts a text into lines of coloured spans.
func colour(language, text string) []line {
	if len(text) > highlightLimit {
		return plainLines(text)
	}
	tokens, err := lexers.Get(language).Tokenise(nil, text)
	if err != nil {
		return plainLines(text)
	}
	var out []line
	var row line
	for t := tokens(); t != chroma.EOF; t = tokens() {
		st := tokenStyle(t.Type)
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				out, row = append(out, row), nil
			}
			if part != "" {
				row = append(row, span{st, part})
			}
		}
	}
	if row != nil {
		out = append(out, row)
	}
	return out
}

func plainLines(text string) []line {
	var out []line
	for s := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		out = append(out, line{{plain, s}})
	}
	return out
}

func tokenStyle(t chroma.TokenType) style {
	switch {
	case t == chroma.NameTag:
		return jsonName
	case t == chroma.NameLabel:
		return faint
	case t.InSubCategory(chroma.LiteralString):
		return jsonText
	case t.InSubCategory(chroma.LiteralNumber):
		return jsonNumber
	case t.InCategory(chroma.Keyword):
		return jsonWord
	case t == chroma.Error:
		return bad
	}
	return plain
}

// text is the line without styles.
func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// putLine draws a line from column skip on.
func (a area) putLine(y int, l line, skip int) {
	x := 0
	for _, s := range l {
		text := s.text
		if skip > 0 {
			w := width(text)
			text = cutLeft(text, skip)
			skip -= w - width(text)
		}
		if x >= a.w && strings.TrimSpace(text) != "" { // what went before ends just at the edge
			a.put(a.w-1, y, s.st, ellipsis)
			return
		}
		x = a.put(x, y, s.st, text)
	}
}
