package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file reads JSON as Kafka's reader does (Jackson's tree model, default
// settings), which differs from encoding/json: keys match exactly, the last of
// equal keys counts, what follows the first value is ignored, nothing at all is
// a value of its own (missing), overlong UTF-8 and lone surrogates pass, other
// invalid UTF-8 does not, and nesting ends at 1000.

type jsonKind uint8

const (
	jsonMissing jsonKind = iota // no value at all: an empty payload
	jsonNull
	jsonBool
	jsonInt // fits 32 bits
	jsonLong
	jsonBig
	jsonDouble
	jsonString
	jsonArray
	jsonObject
)

var jsonKindNames = [...]string{"nothing", "null", "a boolean", "an int", "a number beyond 32 bits", "a number beyond 64 bits",
	"a number with fraction or exponent", "a string", "an array", "an object"}

func (k jsonKind) String() string { return jsonKindNames[k] }

// jsonNode is one value. raw is its text in the payload.
type jsonNode struct {
	kind jsonKind
	num  int64      // jsonInt, jsonLong
	raw  string     // as written
	text string     // jsonString: without quotes and escapes
	kids []jsonNode // elements of an array, values of an object
	keys []string   // of an object, beside kids
}

func (n *jsonNode) isNumber() bool { return n.kind >= jsonInt && n.kind <= jsonDouble }

// get finds a field of an object; nil when there is none.
func (n *jsonNode) get(key string) *jsonNode {
	for i := range n.keys {
		if n.keys[i] == key {
			return &n.kids[i]
		}
	}
	return nil
}

// jsonSyntaxError is what makes a payload no JSON.
type jsonSyntaxError struct {
	offset int
	what   string
	thrown bool // Kafka does not take it for bad JSON, the read fails: an encoding of no known byte order
}

func (e *jsonSyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.offset, e.what) }

const (
	maxJSONDepth        = 1000 // StreamReadConstraints.DEFAULT_MAX_DEPTH
	maxJSONNumberLength = 1000 // StreamReadConstraints.DEFAULT_MAX_NUM_LEN
	dedupByMapFrom      = 16   // keys of an object from which on a map finds the equal ones
)

type jsonReader struct {
	s       string
	i       int
	depth   int
	keepAll bool // equal keys stay side by side
}

// parseJSON reads the first value of a payload.
func parseJSON(data []byte) (jsonNode, *jsonSyntaxError) { return parseFirstJSON(data, false) }

func parseFirstJSON(data []byte, keepAll bool) (jsonNode, *jsonSyntaxError) {
	text, cut, bad := jsonText(data)
	if bad != nil {
		return jsonNode{}, bad
	}
	r := jsonReader{s: text, keepAll: keepAll}
	var n jsonNode
	err := r.first(&n)
	if cut && r.i == len(r.s) && (err != nil || n.isNumber() || n.kind == jsonMissing) {
		err = &jsonSyntaxError{offset: r.i, what: "a character is cut off at the end", thrown: true}
	}
	if err != nil {
		return jsonNode{}, err
	}
	return n, nil
}

func (r *jsonReader) first(n *jsonNode) *jsonSyntaxError {
	r.space()
	if r.i == len(r.s) {
		return nil
	}
	if err := r.value(n); err != nil {
		return err
	}
	if n.isNumber() && r.i < len(r.s) && !strings.Contains(" \t\n\r", r.s[r.i:r.i+1]) {
		return r.fail("expected white space after the number, found %s", r.here())
	}
	return nil
}

func (r *jsonReader) fail(format string, args ...any) *jsonSyntaxError {
	return &jsonSyntaxError{offset: r.i, what: fmt.Sprintf(format, args...)}
}

// peek is the next byte, or 0 at the end.
func (r *jsonReader) peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

// here names what stands at the position, for messages.
func (r *jsonReader) here() string {
	if r.i >= len(r.s) {
		return "the end"
	}
	c, size := utf8.DecodeRuneInString(r.s[r.i:])
	if c == utf8.RuneError && size <= 1 {
		return fmt.Sprintf("byte 0x%02x", r.s[r.i])
	}
	return strconv.QuoteRune(c)
}

func (r *jsonReader) space() {
	for r.i < len(r.s) {
		switch r.s[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

func (r *jsonReader) value(n *jsonNode) *jsonSyntaxError {
	start := r.i
	var err *jsonSyntaxError
	switch c := r.peek(); {
	case c == '{':
		err = r.object(n)
	case c == '[':
		err = r.array(n)
	case c == '"':
		n.kind = jsonString
		n.text, err = r.str()
	case c == '-' || c >= '0' && c <= '9':
		err = r.number(n)
	case c == 't':
		n.kind, n.num = jsonBool, 1
		err = r.literal("true")
	case c == 'f':
		n.kind = jsonBool
		err = r.literal("false")
	case c == 'n':
		n.kind = jsonNull
		err = r.literal("null")
	default:
		err = r.fail("expected a value, found %s", r.here())
	}
	n.raw = r.s[start:r.i]
	return err
}

func (r *jsonReader) literal(word string) *jsonSyntaxError {
	if !strings.HasPrefix(r.s[r.i:], word) {
		return r.fail("expected a value, found %s", r.here())
	}
	after, _ := utf8.DecodeRuneInString(r.s[r.i+len(word):])
	if after == '_' || after == 0x7f || unicode.IsLetter(after) && after != utf8.RuneError || unicode.IsDigit(after) {
		return r.fail("expected %s, found a longer word", word)
	}
	r.i += len(word)
	return nil
}

func (r *jsonReader) number(n *jsonNode) *jsonSyntaxError {
	start := r.i
	if r.peek() == '-' {
		r.i++
	}
	first := r.i
	digits := r.digits()
	if digits == 0 {
		return r.fail("expected a digit, found %s", r.here())
	}
	if r.s[first] == '0' && digits > 1 {
		return r.fail("a number has leading zeros")
	}
	n.kind = jsonBig
	if r.peek() == '.' {
		n.kind = jsonDouble
		r.i++
		fraction := r.digits()
		if fraction == 0 {
			return r.fail("expected a digit behind the point, found %s", r.here())
		}
		digits += fraction
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		n.kind = jsonDouble
		r.i++
		if c := r.peek(); c == '+' || c == '-' {
			r.i++
		}
		exponent := r.digits()
		if exponent == 0 {
			return r.fail("expected a digit in the exponent, found %s", r.here())
		}
		digits += exponent
	}
	if digits > maxJSONNumberLength {
		return r.fail("a number has more than %d digits", maxJSONNumberLength)
	}
	if n.kind == jsonBig {
		if v, err := strconv.ParseInt(r.s[start:r.i], 10, 64); err == nil {
			n.num, n.kind = v, jsonLong
			if v >= math.MinInt32 && v <= math.MaxInt32 {
				n.kind = jsonInt
			}
		}
	}
	return nil
}

func (r *jsonReader) digits() int {
	start := r.i
	for r.i < len(r.s) && r.s[r.i] >= '0' && r.s[r.i] <= '9' {
		r.i++
	}
	return r.i - start
}

func (r *jsonReader) enter() *jsonSyntaxError {
	if r.depth++; r.depth > maxJSONDepth {
		return r.fail("nested deeper than %d", maxJSONDepth)
	}
	r.i++
	r.space()
	return nil
}

func (r *jsonReader) array(n *jsonNode) *jsonSyntaxError {
	n.kind = jsonArray
	if err := r.enter(); err != nil {
		return err
	}
	defer func() { r.depth-- }()
	if r.peek() == ']' {
		r.i++
		return nil
	}
	for {
		n.kids = append(n.kids, jsonNode{})
		if err := r.value(&n.kids[len(n.kids)-1]); err != nil {
			return err
		}
		r.space()
		switch r.peek() {
		case ',':
			r.i++
			r.space()
		case ']':
			r.i++
			return nil
		default:
			return r.fail("expected ',' or ']', found %s", r.here())
		}
	}
}

func (r *jsonReader) object(n *jsonNode) *jsonSyntaxError {
	n.kind = jsonObject
	if err := r.enter(); err != nil {
		return err
	}
	defer func() { r.depth-- }()
	if r.peek() == '}' {
		r.i++
		return nil
	}
	var seen map[string]int
	for {
		if r.peek() != '"' {
			return r.fail("expected a field name, found %s", r.here())
		}
		key, err := r.str()
		if err != nil {
			return err
		}
		r.space()
		if r.peek() != ':' {
			return r.fail("expected ':', found %s", r.here())
		}
		r.i++
		r.space()
		var kid jsonNode
		if err := r.value(&kid); err != nil {
			return err
		}
		if r.keepAll {
			n.keys, n.kids = append(n.keys, key), append(n.kids, kid)
		} else {
			n.put(key, kid, &seen)
		}
		r.space()
		switch r.peek() {
		case ',':
			r.i++
			r.space()
		case '}':
			r.i++
			return nil
		default:
			return r.fail("expected ',' or '}', found %s", r.here())
		}
	}
}

// put adds a field, or replaces the one with that key. seen finds keys once
// there are many.
func (n *jsonNode) put(key string, kid jsonNode, seen *map[string]int) {
	at := -1
	if *seen == nil {
		for i := range n.keys {
			if n.keys[i] == key {
				at = i
			}
		}
		if len(n.keys) == dedupByMapFrom {
			*seen = make(map[string]int, 4*dedupByMapFrom)
			for i, k := range n.keys {
				(*seen)[k] = i
			}
		}
	} else if i, ok := (*seen)[key]; ok {
		at = i
	}
	if at >= 0 {
		n.kids[at] = kid
		return
	}
	if *seen != nil {
		(*seen)[key] = len(n.keys)
	}
	n.keys = append(n.keys, key)
	n.kids = append(n.kids, kid)
}

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
