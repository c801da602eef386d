package security

import (
	"errors"
	"fmt"
	"strings"
)

// JAAS is one login module of a sasl.jaas.config: its class and its options.
type JAAS struct {
	Module  string // the class, as org.apache.kafka.common.security.plain.PlainLoginModule
	Flag    string // required, requisite, sufficient or optional
	Options map[string]string
}

// String is the class alone: the options hold passwords.
func (j JAAS) String() string { return j.Module }

// GoString is String, for %#v.
func (j JAAS) GoString() string { return j.Module }

// ParseJAAS reads the value of sasl.jaas.config: a class, a flag, options as
// key="value", a semicolon. No error holds a value.
// Kafka: org.apache.kafka.common.security.JaasConfig.
func ParseJAAS(text string) (JAAS, error) {
	words, err := jaasWords(text)
	if err != nil {
		return JAAS{}, err
	}
	if len(words) < 3 {
		return JAAS{}, errors.New(`it is not CLASS required KEY="VALUE" ... ;`)
	}
	j := JAAS{Module: words[0].text, Flag: words[1].text, Options: map[string]string{}}
	switch strings.ToLower(j.Flag) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return JAAS{}, errors.New("behind the class stands no flag (required, requisite, sufficient or optional)")
	}
	rest := words[2:]
	for len(rest) > 0 && !rest[0].is(";") {
		if len(rest) < 3 || !rest[1].is("=") {
			return JAAS{}, fmt.Errorf("option %d is not KEY=\"VALUE\"", len(j.Options)+1)
		}
		j.Options[rest[0].text] = rest[2].text
		rest = rest[3:]
	}
	switch {
	case len(rest) == 0:
		return JAAS{}, errors.New("the semicolon at its end is missing")
	case len(rest) > 1:
		return JAAS{}, errors.New("behind its first semicolon stands more: one login module is expected")
	}
	return j, nil
}

// jaasWord is a word, a quoted text, or one of = and ;.
type jaasWord struct {
	text   string
	quoted bool
}

func (w jaasWord) is(sign string) bool { return !w.quoted && w.text == sign }

func jaasWords(text string) ([]jaasWord, error) {
	var out []jaasWord
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '=' || c == ';':
			out = append(out, jaasWord{text: string(c)})
			i++
		case c == '"' || c == '\'':
			word, n, ok := jaasQuoted(text[i:])
			if !ok {
				return nil, errors.New("a quotation mark is not closed")
			}
			out = append(out, jaasWord{word, true})
			i += n
		default:
			n := strings.IndexAny(text[i:], " \t\r\n=;\"'")
			if n < 0 {
				n = len(text) - i
			}
			out = append(out, jaasWord{text: text[i : i+n]})
			i += n
		}
	}
	return out, nil
}

// jaasQuoted reads a quoted text with the escapes of Java's StreamTokenizer, and
// tells how long it is with its marks.
func jaasQuoted(text string) (word string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return b.String(), i + 1, true
		case c == '\\' && i+1 < len(text):
			i++
			if escaped, known := jaasEscapes[text[i]]; known {
				b.WriteByte(escaped)
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

var jaasEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'b': '\b', 'a': '\a', 'v': '\v'}
