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
