package model

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// DecodeCategory is the kind of a decoding error; a closed list.
type DecodeCategory string

const (
	MissingField       DecodeCategory = "missing_field"
	UnknownField       DecodeCategory = "unknown_field"
	WrongType          DecodeCategory = "wrong_type"
	NotObject          DecodeCategory = "not_object"
	NotJSON            DecodeCategory = "not_json"
	UnsupportedVersion DecodeCategory = "unsupported_version"
	InvalidValue       DecodeCategory = "invalid_value"
	NotANumber         DecodeCategory = "not_a_number"
	OutOfRange         DecodeCategory = "out_of_range"
	NullPayload        DecodeCategory = "null_payload"
)

// DecodeCategories lists all categories.
var DecodeCategories = []DecodeCategory{MissingField, UnknownField, WrongType, NotObject, NotJSON, UnsupportedVersion,
	InvalidValue, NotANumber, OutOfRange, NullPayload}

// DecodeError says why a znode cannot be read as Kafka reads it.
type DecodeError struct {
	Path     string         // of the znode, as given to the decoder
	Field    string         // dotted and indexed, as partitions.0[1]; empty: the payload as a whole
	Value    string         // what was found there, cut to a readable length; empty for a missing field
	Category DecodeCategory // what is wrong
	Reason   string         // the same in words
	Ignored  bool           // Kafka's controller warns, and reads the znode as if it held nothing
}

// Error names path, field, value and reason; control characters are quoted.
func (e *DecodeError) Error() string {
	var b strings.Builder
	b.WriteString("znode ")
	b.WriteString(quoteControls(e.Path))
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString("field ")
		b.WriteString(quoteControls(e.Field))
		b.WriteByte(' ')
	}
	switch e.Category {
	case MissingField:
		b.WriteString("is missing")
	case NullPayload:
		b.WriteString("has no data (null)")
	default:
		if e.Field == "" {
			b.WriteString("payload is ")
			b.WriteString(quotePayload(e.Value))
		} else {
			b.WriteString("is ")
			b.WriteString(quoteControls(e.Value))
		}
	}
	if e.Reason != "" {
		b.WriteString(": ")
		b.WriteString(quoteControls(e.Reason))
	}
	b.WriteString(" (")
	b.WriteString(string(e.Category))
	b.WriteByte(')')
	return b.String()
}

// How many bytes of a value and of a field's name an error shows.
const (
	maxShownValue = 80
	maxShownField = 160
)

// shorten cuts a text to maxShownValue bytes.
func shorten(s string) string { return cutText(s, maxShownValue) }

// cutText cuts a text to a number of bytes, at a character.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// quoteControls leaves plain text as it is and quotes what holds control
// characters or invalid UTF-8.
func quoteControls(s string) string {
	for _, r := range s {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// quotePayload makes ends visible: payloads may be empty or end in spaces.
func quotePayload(s string) string {
	if s != "" && (s[0] == '"' || s[0] == '{' || s[0] == '[') && quoteControls(s) == s {
		return s
	}
	return strconv.Quote(s)
}
