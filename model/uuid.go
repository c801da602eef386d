package model

import (
	"encoding/base64"
	"fmt"
)

// Uuid is a topic id; the zero value means that there is none. Its text form is
// base64 with the URL alphabet and without padding: 22 characters.
// Kafka: org.apache.kafka.common.Uuid.
type Uuid [16]byte

// String is the 22 character text form.
func (u Uuid) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// IsZero tells that there is no id.
func (u Uuid) IsZero() bool { return u == Uuid{} }

// Reserved tells that Kafka never draws this id for a topic: zero, one, and ids
// whose text begins with a dash (tools would take it for an option).
// Kafka: Uuid.randomUuid.
func (u Uuid) Reserved() bool {
	return u.IsZero() || u == Uuid{15: 1} || u[0]>>2 == 62
}

// uuidEncodings are the two spellings that Java's decoder takes: with padding
// and without. Bits that the last character has too many are dropped.
var uuidEncodings = [2]*base64.Encoding{base64.RawURLEncoding, base64.URLEncoding}

// ParseUuid reads the text form, with or without padding. The errors are those
// of Kafka's Uuid.fromString: longer than 24 characters, not base64 with the URL
// alphabet, not 16 bytes.
func ParseUuid(s string) (Uuid, error) {
	if len(s) > 24 {
		return Uuid{}, fmt.Errorf("%q is no topic id: longer than the 24 characters of a base64 UUID", shorten(s))
	}
	padding := 0
	if n := len(s); n > 0 && s[n-1] == '=' {
		padding = 1
	}
	var buf [18]byte
	n, err := decodeUuidText(buf[:], s, padding)
	if err != nil {
		return Uuid{}, fmt.Errorf("%q is no topic id: not base64 of the URL alphabet", s)
	}
	if n != len(Uuid{}) {
		return Uuid{}, fmt.Errorf("%q is no topic id: it has %d bytes, not 16", s, n)
	}
	return Uuid(buf[:16]), nil
}

func decodeUuidText(dst []byte, s string, padding int) (int, error) {
	for i := range len(s) { // encoding/base64 skips line ends, Java's decoder does not
		if s[i] == '\n' || s[i] == '\r' {
			return 0, base64.CorruptInputError(i)
		}
	}
	var src [24]byte
	return uuidEncodings[padding].Decode(dst, src[:copy(src[:], s)])
}

// MarshalText is the text form.
func (u Uuid) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the text form, as ParseUuid does.
func (u *Uuid) UnmarshalText(text []byte) error {
	v, err := ParseUuid(string(text))
	*u = v
	return err
}
