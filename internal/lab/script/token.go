package script

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"kstate/model"
)

// ParseError says what in a script is not understood, and what may stand there.
type ParseError struct {
	Name         string // of the file; empty: not told
	Line, Column int    // from 1
	Word         string // empty: the end of the line
	Want         string
}

// Error is NAME:LINE:COLUMN: the word, and what may stand there.
func (e *ParseError) Error() string {
	what := "the line ends here"
	if e.Word != "" {
		what = strconv.Quote(e.Word) + " is not understood"
	}
	at := fmt.Sprintf("%d:%d", e.Line, e.Column)
	if e.Name != "" {
		at = e.Name + ":" + at
	}
	return at + ": " + what + ": want " + e.Want
}

// token is one word of a line.
type token struct {
	text   string
	column int // from 1, in characters
	quoted bool
}

// tokens are the words of a line; a reader of them stops at its first error.
type tokens struct {
	line int
	list []token
	at   int
	end  int // the column behind the last word
	err  *ParseError
}

// split cuts a line into words. What begins with # is left out.
func split(number int, line string) *tokens {
	t := &tokens{line: number}
	column := 1
	for rest := line; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(r):
			rest = rest[n:]
			column++
			continue
		case r == '#':
			t.end = column
			return t
		case r == '"':
			quoted, err := strconv.QuotedPrefix(rest)
			text, err2 := strconv.Unquote(quoted)
			if err != nil || err2 != nil || !utf8.ValidString(text) {
				t.list = append(t.list, token{rest, column, true})
				t.err = &ParseError{Line: number, Column: column, Word: rest, Want: `text between two ", in which \" is a quote and \\ a backslash`}
				return t
			}
			t.list = append(t.list, token{text, column, true})
			column += utf8.RuneCountInString(quoted)
			rest = rest[len(quoted):]
			continue
		}
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		t.list = append(t.list, token{rest[:end], column, false})
		column += utf8.RuneCountInString(rest[:end])
		rest = rest[end:]
	}
	t.end = column
	return t
}

// fail notes what may stand at a word; the first failure counts.
func (t *tokens) fail(at int, want string) {
	if t.err != nil {
		return
	}
	t.err = &ParseError{Line: t.line, Column: max(t.end, 1), Want: want}
	if at < len(t.list) {
		t.err.Column, t.err.Word = t.list[at].column, t.list[at].text
	}
}

// peek is the next word if it is a bare one, else empty.
func (t *tokens) peek() string {
	if t.err == nil && t.at < len(t.list) && !t.list[t.at].quoted {
		return t.list[t.at].text
	}
	return ""
}

// take takes the next word if it is that one.
func (t *tokens) take(word string) bool {
	if t.peek() != word {
		return false
	}
	t.at++
	return true
}

// must takes these words.
func (t *tokens) must(words ...string) {
	for _, w := range words {
		if !t.take(w) {
			t.fail(t.at, strconv.Quote(w))
			return
		}
	}
}

// one takes one of these words.
func (t *tokens) one(words ...string) string {
	w := t.peek()
	if slices.Contains(words, w) && w != "" {
		t.at++
		return w
	}
	t.fail(t.at, oneOf(words))
	return ""
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// text takes any word that is not empty.
func (t *tokens) text(want string) string {
	if t.err == nil && t.at < len(t.list) && t.list[t.at].text != "" {
		t.at++
		return t.list[t.at-1].text
	}
	t.fail(t.at, want)
	return ""
}

// data takes any word, an empty one in quotes as well.
func (t *tokens) data(want string) string {
	if t.err == nil && t.at < len(t.list) {
		t.at++
		return t.list[t.at-1].text
	}
	t.fail(t.at, want)
	return ""
}

// read takes a word and has it read.
func read[T any](t *tokens, want string, of func(string) (T, error)) T {
	var none T
	at := t.at
	s := t.text(want)
	if t.err != nil {
		return none
	}
	v, err := of(s)
	if err != nil {
		t.fail(at, want+" ("+err.Error()+")")
		return none
	}
	return v
}

// number takes a number from low to high.
func (t *tokens) number(what string, low, high int) int {
	return read(t, what, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("a number from %d to %d", low, high)
		}
		return n, nil
	})
}

func (t *tokens) broker() int32 { return int32(t.number("a broker id", 0, math.MaxInt32)) }

// duration takes a time as Go writes it, in whole milliseconds.
func (t *tokens) duration(most time.Duration) time.Duration {
	return read(t, "a time as 500ms or 2s", func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d < time.Millisecond || d > most || d%time.Millisecond != 0 {
			return 0, fmt.Errorf("from 1ms to %s, in whole milliseconds", most)
		}
		return d, nil
	})
}

func (t *tokens) ids() []int32 {
	return read(t, "broker ids as 1,2,3", parseIDs)
}

func parseIDs(s string) ([]int32, error) {
	var ids []int32
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no broker id", part)
		}
		ids = append(ids, int32(n))
	}
	return ids, nil
}

func (t *tokens) partition() model.TopicPartition {
	return read(t, "a partition as orders-0", func(s string) (model.TopicPartition, error) {
		tp, err := model.ParseTopicPartition(s)
		if err == nil && tp.String() != s {
			err = fmt.Errorf("it is written %s", tp)
		}
		return tp, err
	})
}

func (t *tokens) path() string {
	return read(t, "the path of a znode", func(s string) (string, error) {
		if s[0] != '/' || len(s) > 1 && s[len(s)-1] == '/' {
			return "", fmt.Errorf("it begins with / and does not end in it")
		}
		return s, nil
	})
}

func (t *tokens) topic() string {
	return read(t, "a topic", func(s string) (string, error) { return s, model.ValidateTopicName(s) })
}

// done wants no more words.
func (t *tokens) done() {
	if t.err == nil && t.at < len(t.list) {
		t.fail(t.at, "the end of the line")
	}
}
