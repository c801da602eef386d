package model

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The text side of the JSON reader: strings, escapes, encodings.

// str reads a string whose opening quote is next.
func (r *jsonReader) str() (string, *jsonSyntaxError) {
	r.i++
	for j := r.i; j < len(r.s); j++ {
		switch c := r.s[j]; {
		case c == '"':
			s := r.s[r.i:j]
			r.i = j + 1
			return s, nil
		case c == '\\' || c >= utf8.RuneSelf:
			return r.escapedStr(j)
		case c < ' ':
			r.i = j
			return "", r.fail("a control character (%s) in a string", r.here())
		}
	}
	r.i = len(r.s)
	return "", r.fail("a string does not end")
}

// escapedStr reads on from j a string that has escapes or multi-byte characters.
func (r *jsonReader) escapedStr(j int) (string, *jsonSyntaxError) {
	out := utf16Builder{buf: append(make([]byte, 0, 2*(j-r.i)+16), r.s[r.i:j]...)}
	r.i = j
	for r.i < len(r.s) {
		switch c := r.s[r.i]; {
		case c == '"':
			r.i++
			out.flush()
			return string(out.buf), nil
		case c == '\\':
			u, err := r.escape()
			if err != nil {
				return "", err
			}
			out.unit(u)
		case c < ' ':
			return "", r.fail("a control character (%s) in a string", r.here())
		case c < utf8.RuneSelf:
			out.unit(rune(c))
			r.i++
		default:
			u, err := r.multiByte()
			if err != nil {
				return "", err
			}
			out.unit(u)
		}
	}
	return "", r.fail("a string does not end")
}

func (r *jsonReader) escape() (rune, *jsonSyntaxError) {
	r.i++
	c := r.peek()
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if k := strings.IndexByte(letters, c); k >= 0 && r.i < len(r.s) {
		r.i++
		return rune(meanings[k]), nil
	}
	if c != 'u' {
		return 0, r.fail("an unknown escape (%s)", r.here())
	}
	r.i++
	u := rune(0)
	for range 4 {
		h := unhex(r.peek())
		if h < 0 {
			return 0, r.fail("expected a hex digit, found %s", r.here())
		}
		u = u<<4 | h
		r.i++
	}
	return u, nil
}

func unhex(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// multiByte reads one character of two to four bytes. As in Jackson only the
// shape counts: overlong forms and surrogates pass.
func (r *jsonReader) multiByte() (rune, *jsonSyntaxError) {
	c := r.s[r.i]
	var u rune
	var more int
	switch {
	case c&0xe0 == 0xc0:
		u, more = rune(c&0x1f), 1
	case c&0xf0 == 0xe0:
		u, more = rune(c&0x0f), 2
	case c&0xf8 == 0xf0:
		u, more = rune(c&0x07), 3
	default:
		return 0, r.fail("invalid UTF-8 (%s)", r.here())
	}
	for k := 1; k <= more; k++ {
		if r.i+k >= len(r.s) || r.s[r.i+k]&0xc0 != 0x80 {
			return 0, r.fail("invalid UTF-8 (byte 0x%02x)", c)
		}
		u = u<<6 | rune(r.s[r.i+k]&0x3f)
	}
	r.i += more + 1
	return u, nil
}

// utf16Builder puts characters together that may come as two surrogates, each
// by itself. A surrogate alone becomes the question mark that Java makes of it
// wherever it leaves the process, as in a path.
type utf16Builder struct {
	buf  []byte
	high rune // a surrogate that waits for its second half
}

func (b *utf16Builder) unit(u rune) {
	if b.high != 0 && u >= 0xdc00 && u < 0xe000 {
		u = (b.high-0xd800)<<10 | (u - 0xdc00) + 0x10000
		b.high = 0
	}
	b.flush()
	if u >= 0xd800 && u < 0xdc00 {
		b.high = u
		return
	}
	b.put(u)
}

func (b *utf16Builder) flush() {
	if b.high != 0 {
		b.put(b.high)
		b.high = 0
	}
}

func (b *utf16Builder) put(u rune) {
	if u >= 0xd800 && u < 0xe000 {
		u = '?'
	}
	b.buf = utf8.AppendRune(b.buf, u)
}

// jsonText finds out the encoding as Jackson does (byte order mark, else the
// zero bytes among the first four) and turns the payload into UTF-8. It is cut
// when the last character of four bytes is not whole.
func jsonText(data []byte) (text string, cut bool, bad *jsonSyntaxError) {
	var head [4]byte
	copy(head[:], data)
	if len(data) < 2 || head[0] != 0 && head[1] != 0 && head[0] < 0xef && (len(data) < 4 || head[2] != 0 && head[3] != 0) {
		return string(data), false, nil
	}
	skip, width, big := 0, 1, false
	if len(data) >= 4 {
		switch {
		case head == [4]byte{0, 0, 0xfe, 0xff}:
			skip, width, big = 4, 4, true
		case head == [4]byte{0xff, 0xfe, 0, 0}:
			skip, width = 4, 4
		case head == [4]byte{0, 0, 0xff, 0xfe}, head == [4]byte{0xfe, 0xff, 0, 0}:
			return "", false, &jsonSyntaxError{what: "an encoding of unknown byte order", thrown: true}
		case head[0] == 0xfe && head[1] == 0xff:
			skip, width, big = 2, 2, true
		case head[0] == 0xff && head[1] == 0xfe:
			skip, width = 2, 2
		case head[0] == 0xef && head[1] == 0xbb && head[2] == 0xbf:
			skip = 3
		case head[0] == 0 && head[1] == 0 && head[2] == 0:
			width, big = 4, true
		case head[1] == 0 && head[2] == 0 && head[3] == 0:
			width = 4
		case head[0] == 0 && head[2] == 0 && head[3] == 0, head[0] == 0 && head[1] == 0 && head[3] == 0:
			return "", false, &jsonSyntaxError{what: "an encoding of unknown byte order", thrown: true}
		}
	}
	if skip == 0 && width == 1 && (head[0] == 0 || head[1] == 0) {
		width, big = 2, head[0] == 0
	}
	return decodeUnits(data[skip:], width, big)
}

func decodeUnits(data []byte, width int, big bool) (text string, cut bool, bad *jsonSyntaxError) {
	if width == 1 {
		return string(data), false, nil
	}
	var out utf16Builder
	for ; len(data) >= width; data = data[width:] {
		var u uint32
		for k := range width {
			if big {
				u = u<<8 | uint32(data[k])
			} else {
				u |= uint32(data[k]) << (8 * k)
			}
		}
		if u > unicode.MaxRune {
			return "", false, &jsonSyntaxError{what: "a character beyond Unicode", thrown: true}
		}
		out.unit(rune(u))
	}
	out.flush()
	if len(data) > 0 && width == 2 {
		out.put(utf8.RuneError)
	}
	return string(out.buf), len(data) > 0 && width == 4, nil
}
