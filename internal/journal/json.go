package journal

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"
)

// line appends the fields of one JSON object. Hot records (reads of 100,000
// znodes) are made with it, others by encoding/json.
type line struct{ b []byte }

func (l *line) key(name string) {
	if n := len(l.b); n > 0 && l.b[n-1] != '{' && l.b[n-1] != '[' {
		l.b = append(l.b, ',')
	}
	l.b = append(l.b, '"')
	l.b = append(l.b, name...)
	l.b = append(l.b, '"', ':')
}

func (l *line) open()  { l.b = append(l.b, '{') }
func (l *line) close() { l.b = append(l.b, '}') }

func (l *line) num(name string, v int64) {
	l.key(name)
	l.b = strconv.AppendInt(l.b, v, 10)
}

func (l *line) count(name string, v uint64) {
	l.key(name)
	l.b = strconv.AppendUint(l.b, v, 10)
}

func (l *line) str(name, v string) {
	l.key(name)
	l.b = appendString(l.b, v)
}

func (l *line) yes(name string) {
	l.key(name)
	l.b = append(l.b, "true"...)
}

func (l *line) raw(name string, v []byte) {
	l.key(name)
	l.b = append(l.b, v...)
}

// comma stands before an element that is not the first.
func (l *line) comma() {
	if n := len(l.b); n > 0 && l.b[n-1] != '[' {
		l.b = append(l.b, ',')
	}
}

// data is a znode's payload: text where it is UTF-8, else base64, nothing where
// it is null.
func (l *line) data(v []byte) {
	switch {
	case v == nil:
	case utf8.Valid(v):
		l.key("data")
		l.b = appendString(l.b, v)
	default:
		l.key("data_b64")
		l.b = append(l.b, '"')
		l.b = base64.StdEncoding.AppendEncode(l.b, v)
		l.b = append(l.b, '"')
	}
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		case c == '"' || c == '\\':
			b = append(append(b, s[from:i]...), '\\', c)
			from = i + 1
		case c < ' ' || c == 0x7f:
			b = append(append(b, s[from:i]...), '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			from = i + 1
		}
		i++
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
