package model

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// readJSON is the first step of each decoder: the payload as a tree.
func readJSON(path string, data []byte) (jsonNode, *DecodeError) {
	if data == nil {
		return jsonNode{}, &DecodeError{Path: path, Category: NullPayload}
	}
	n, bad := parseJSON(data)
	if bad != nil {
		return jsonNode{}, notJSON(path, data, bad)
	}
	return n, nil
}

func notJSON(path string, data []byte, bad *jsonSyntaxError) *DecodeError {
	return &DecodeError{Path: path, Value: shorten(string(data)), Category: NotJSON, Reason: bad.Error()}
}

// readLenientJSON is readJSON for the readers that take bad JSON for no content:
// ok is false then.
func readLenientJSON(path string, data []byte) (n jsonNode, ok bool, err *DecodeError) {
	if data == nil {
		return jsonNode{}, false, &DecodeError{Path: path, Category: NullPayload}
	}
	n, bad := parseJSON(data)
	switch {
	case bad == nil:
		return n, true, nil
	case bad.thrown:
		return n, false, notJSON(path, data, bad)
	}
	return n, false, nil
}

// WhyNotJSON tells what makes a payload no JSON in the eyes of Kafka; nil when
// it is JSON. Decoders that read bad JSON as nothing leave this to the caller.
// A null payload is an error of category NullPayload.
func WhyNotJSON(path string, data []byte) error {
	if _, err := readJSON(path, data); err != nil {
		return err
	}
	return nil
}

// fieldReader takes typed fields out of an object and keeps the first error, so
// that a decoder reads as a list of fields. Types are strict as in Kafka's
// DecodeJson: an int is a number without fraction that fits 32 bits.
type fieldReader struct {
	path   string
	prefix string // of field names, as "partitions[2]."
	obj    *jsonNode
	err    *DecodeError
}

// newFieldReader is for the root of a payload, which must be an object.
func newFieldReader(path string, root *jsonNode) *fieldReader {
	r := &fieldReader{path: path, obj: root}
	if root.kind != jsonObject {
		r.err = &DecodeError{Path: path, Value: shorten(root.raw), Category: NotObject, Reason: "the payload is " + root.kind.String() + ", not an object"}
		r.obj = &jsonNode{}
	}
	return r
}

// within is a reader for an object that is a value of this one.
func (r *fieldReader) within(field string, n *jsonNode) *fieldReader {
	in := &fieldReader{path: r.path, prefix: r.prefix + field + ".", obj: n}
	if n.kind != jsonObject {
		in.err = r.wrongType(field, n, "an object")
		in.obj = &jsonNode{}
	}
	return in
}

func (r *fieldReader) fail(field, value string, category DecodeCategory, reason string) *DecodeError {
	e := &DecodeError{Path: r.path, Field: cutText(r.prefix+field, maxShownField), Value: shorten(value), Category: category, Reason: reason}
	if r.err == nil {
		r.err = e
	}
	return e
}

func (r *fieldReader) wrongType(field string, n *jsonNode, want string) *DecodeError {
	return r.fail(field, n.raw, WrongType, "it is "+n.kind.String()+", not "+want)
}

// need finds a field that must be there.
func (r *fieldReader) need(field string) *jsonNode {
	n := r.obj.get(field)
	if n == nil && r.err == nil {
		r.fail(field, "", MissingField, "")
	}
	return n
}

// optional finds a field; nil when it is absent or null.
func (r *fieldReader) optional(field string) *jsonNode {
	n := r.obj.get(field)
	if n != nil && n.kind == jsonNull {
		return nil
	}
	return n
}

func (r *fieldReader) int32(field string) int32 {
	if n := r.need(field); n != nil {
		return r.asInt32(field, n)
	}
	return 0
}

func (r *fieldReader) asInt32(field string, n *jsonNode) int32 {
	if n.kind != jsonInt {
		r.wrongType(field, n, "an int")
	}
	return int32(n.num)
}

func (r *fieldReader) int64(field string) int64 {
	n := r.need(field)
	if n == nil {
		return 0
	}
	if n.kind != jsonInt && n.kind != jsonLong {
		r.wrongType(field, n, "a long")
	}
	return n.num
}

func (r *fieldReader) str(field string) string {
	if n := r.need(field); n != nil {
		return r.asString(field, n)
	}
	return ""
}

func (r *fieldReader) asString(field string, n *jsonNode) string {
	if n.kind != jsonString {
		r.wrongType(field, n, "a string")
	}
	return n.text
}

func (r *fieldReader) int32s(field string) []int32 {
	if n := r.need(field); n != nil {
		return r.asInt32s(field, n)
	}
	return nil
}

func (r *fieldReader) asInt32s(field string, n *jsonNode) []int32 {
	if n.kind != jsonArray {
		r.wrongType(field, n, "an array of ints")
		return nil
	}
	if len(n.kids) == 0 {
		return nil
	}
	out := make([]int32, len(n.kids))
	for i := range n.kids {
		if n.kids[i].kind != jsonInt {
			r.wrongType(field+index(i), &n.kids[i], "an int")
			return nil
		}
		out[i] = int32(n.kids[i].num)
	}
	return out
}

func (r *fieldReader) asStrings(field string, n *jsonNode) []string {
	if n.kind != jsonArray {
		r.wrongType(field, n, "an array of strings")
		return nil
	}
	out := make([]string, len(n.kids))
	for i := range n.kids {
		out[i] = r.asString(field+index(i), &n.kids[i])
	}
	return out
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// parseJavaInt reads a whole number as Java's Integer.parseInt (bits 32) and
// Long.parseLong (bits 64) do: an optional sign, then digits of any script.
// The category is empty when all is well.
func parseJavaInt(s string, bits int) (int64, DecodeCategory) {
	plain := s
	for i := range len(s) {
		if s[i] >= 0x80 {
			plain = asciiDigits(s)
			break
		}
	}
	n, err := strconv.ParseInt(plain, 10, bits)
	switch {
	case err == nil:
		return n, ""
	case errors.Is(err, strconv.ErrRange):
		return 0, OutOfRange
	}
	return 0, NotANumber
}

// asciiDigits rewrites the decimal digits of other scripts; those beyond 16 bits
// stay, as Java looks at one char at a time.
func asciiDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 || c > math.MaxUint16 || !unicode.Is(unicode.Nd, c) {
			return c
		}
		for _, block := range unicode.Nd.R16 {
			if rune(block.Lo) <= c && c <= rune(block.Hi) {
				return '0' + (c-rune(block.Lo))%10
			}
		}
		return c
	}, s)
}

// ParseID reads a broker id or a partition number out of a znode's name as
// Kafka does when it lists children: a sign and leading zeros pass.
func ParseID(name string) (int32, bool) {
	n, bad := parseJavaInt(name, 32)
	return int32(n), bad == ""
}
