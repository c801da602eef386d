package model

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonWriter writes compact JSON as Jackson does: characters as they are, except
// for control characters and those beyond 16 bits, which are escaped with
// upper-case hex digits; no escaped slash.
type jsonWriter struct {
	b     []byte
	comma bool // the next field or element needs one before it
}

func (w *jsonWriter) open(c byte) *jsonWriter {
	w.b = append(w.b, c)
	w.comma = false
	return w
}

func (w *jsonWriter) close(c byte) *jsonWriter {
	w.b = append(w.b, c)
	w.comma = true
	return w
}

func (w *jsonWriter) sep() {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
}

func (w *jsonWriter) key(name string) *jsonWriter {
	w.sep()
	w.b = appendJSONString(w.b, name)
	w.b = append(w.b, ':')
	return w
}

func (w *jsonWriter) int(name string, n int64) *jsonWriter {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
	return w
}

func (w *jsonWriter) str(name, value string) *jsonWriter {
	w.key(name)
	w.b = appendJSONString(w.b, value)
	return w
}

func (w *jsonWriter) null(name string) *jsonWriter {
	w.key(name)
	w.b = append(w.b, "null"...)
	return w
}

func (w *jsonWriter) object(name string) *jsonWriter { return w.key(name).open('{') }

func (w *jsonWriter) array(name string) *jsonWriter { return w.key(name).open('[') }

func (w *jsonWriter) ints(name string, list []int32) *jsonWriter {
	return w.key(name).elements(list)
}

// intsByNumber is ints under a key that is a number, without making it a string.
func (w *jsonWriter) intsByNumber(number []byte, list []int32) *jsonWriter {
	w.sep()
	w.b = append(w.b, '"')
	w.b = append(w.b, number...)
	w.b = append(w.b, '"', ':')
	return w.elements(list)
}

func (w *jsonWriter) elements(list []int32) *jsonWriter {
	w.open('[')
	for _, n := range list {
		w.sep()
		w.b = strconv.AppendInt(w.b, int64(n), 10)
	}
	return w.close(']')
}

func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendJSONEscape(appendJSONEscape(b, high), low)
		case r >= ' ':
			b = utf8.AppendRune(b, r)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\r':
			b = append(b, `\r`...)
		default:
			b = appendJSONEscape(b, r)
		}
	}
	return append(b, '"')
}

func appendJSONEscape(b []byte, u rune) []byte {
	const hex = "0123456789ABCDEF"
	return append(b, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}
