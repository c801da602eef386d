package script

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"kstate/model"
)

// mostBytes is the longest script: a scenario is read by people.
const mostBytes = 1 << 20

// mostBrokers is how many simulated brokers a scenario may have.
const mostBrokers = 50

// Parse reads a script. The error is a *ParseError, of its first line that is
// not understood.
func Parse(name, text string) (*Scenario, error) {
	if len(text) > mostBytes {
		return nil, &ParseError{Name: name, Line: 1, Column: 1, Word: fmt.Sprintf("%d bytes", len(text)), Want: fmt.Sprintf("at most %d", mostBytes)}
	}
	p := &parser{s: &Scenario{Name: name, Brokers: 3}}
	text = strings.TrimPrefix(text, "\ufeff") // some editors begin a file with it
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		if err := p.line(n, line); err != nil {
			err.Name = name
			return nil, err
		}
	}
	if err := p.whole(); err != nil {
		err.Name = name
		return nil, err
	}
	return p.s, nil
}

type parser struct {
	s       *Scenario
	section *[]Line // nil: the head
	brokers bool    // said how many
	said    bool    // anything
	// later checks what depends on how many brokers there are, which may be said
	// further down.
	later []func() *ParseError
}

// whole checks what only the whole text tells.
func (p *parser) whole() *ParseError {
	if !p.said {
		return &ParseError{Line: 1, Column: 1, Want: "a scenario, but the text says nothing"}
	}
	for _, check := range p.later {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// line reads one line.
func (p *parser) line(number int, line string) *ParseError {
	if i := strings.IndexFunc(line, func(r rune) bool {
		return r != '\t' && !unicode.IsPrint(r) && !unicode.IsSpace(r) || r == utf8.RuneError
	}); i >= 0 {
		r, n := utf8.DecodeRuneInString(line[i:])
		if r != utf8.RuneError || n == 1 {
			return &ParseError{Line: number, Column: utf8.RuneCountInString(line[:i]) + 1, Word: line[i : i+n], Want: "printable UTF-8 text"}
		}
	}
	t := split(number, line)
	if len(t.list) == 0 {
		return nil
	}
	p.said = true
	if first := t.list[0]; !first.quoted && slices.Contains(textWords, first.text) {
		rest := strings.Join(strings.Fields(strings.TrimSpace(line)[len(first.text):]), " ")
		return p.prose(t, first.text, rest)
	}
	if t.err != nil {
		return t.err
	}
	switch {
	case t.take("start:"):
		p.section = &p.s.Start
	case t.take("reached:"):
		p.section = &p.s.Reached
	case t.take("solution:"):
		p.section = &p.s.Solution
	case p.section == nil:
		p.head(t)
	default:
		if do := statement(t); t.err == nil {
			t.done()
			if _, expect := do.(*Expect); p.section == &p.s.Reached && !expect {
				t.fail(0, "expect: the goal is made of expectations")
			}
			*p.section = append(*p.section, Line{number, do})
		}
	}
	t.done()
	return t.err
}

// textWords are followed by a text to the end of the line, as it is.
var textWords = []string{"title", "goal", "teaches", "hint", "say"}

func (p *parser) prose(t *tokens, word, text string) *ParseError {
	t.err = nil // of quotes, which mean nothing here
	once := func(to *string) {
		if *to != "" {
			t.fail(0, word+" once")
		}
		*to = text
	}
	switch {
	case text == "":
		t.list = t.list[:1]
		t.fail(1, "a text")
	case word == "say" && p.section == nil, word != "say" && p.section != nil:
		t.fail(0, map[bool]string{true: "what stands at the head: brokers, topic, ...; say comes behind start: or solution:", false: "an action, fault, stop or expectation; " + word + " stands before start:"}[word == "say"])
	case word == "say":
		if p.section == &p.s.Reached {
			t.fail(0, "expect: the goal is made of expectations")
		}
		*p.section = append(*p.section, Line{t.line, &Say{text}})
	case word == "title":
		once(&p.s.Title)
	case word == "goal":
		once(&p.s.Goal)
	case word == "teaches":
		p.s.Teaches = append(p.s.Teaches, text)
	default:
		p.s.Hints = append(p.s.Hints, text)
	}
	return t.err
}

var headWords = append([]string{"title", "goal", "teaches", "hint", "brokers", "broker", "topic", "set", "protocol"}, append(slices.Clone(timeOrder), "start:", "reached:", "solution:")...)

// head reads what the cluster is.
func (p *parser) head(t *tokens) {
	s := p.s
	word := t.one(headWords...)
	switch word {
	case "brokers":
		if p.brokers {
			t.fail(0, "brokers once")
		}
		p.brokers = true
		s.Brokers = t.number("how many brokers", 1, mostBrokers)
	case "broker":
		p.special(t)
	case "topic":
		c := topic(t)
		if slices.ContainsFunc(s.Topics, func(o model.CreateTopic) bool { return o.Topic == c.Topic }) {
			t.fail(1, "each topic once")
		}
		s.Topics = append(s.Topics, c)
		p.later = append(p.later, func() *ParseError { return fits(t, c, s.Brokers) })
	case "set":
		s.settingLines = append(s.settingLines, t.line)
		s.Settings = append(s.Settings, model.ChangeSetting{Name: t.text("the name of a setting"), Value: t.text("its value")})
	case "protocol":
		if s.Protocol != "" {
			t.fail(0, "protocol once")
		}
		s.Protocol = protocol(t)
	case "":
	default:
		if _, twice := s.Times[word]; twice {
			t.fail(0, word+" once")
		}
		if s.Times == nil {
			s.Times = map[string]time.Duration{}
		}
		s.Times[word] = t.duration(10 * time.Minute)
	}
}

func protocol(t *tokens) string {
	return read(t, "a version as 2.4", func(v string) (string, error) {
		ibp, err := model.ParseInterBrokerProtocol(v)
		if err == nil && ibp > model.LatestIBP {
			err = fmt.Errorf("there is no ZooKeeper controller after %s", model.LatestIBP)
		}
		return v, err
	})
}

func (p *parser) special(t *tokens) {
	x := Special{Broker: t.broker()}
	if slices.ContainsFunc(p.s.Special, func(o Special) bool { return o.Broker == x.Broker }) {
		t.fail(1, "each broker once")
	}
	for first := true; t.err == nil && (first || t.at < len(t.list)); first = false {
		switch t.one("rack", "dirs", "protocol") {
		case "rack":
			x.Rack = t.text("the name of a rack")
		case "dirs":
			x.LogDirs = t.number("how many log directories", 1, 10)
		case "protocol":
			x.Protocol = protocol(t)
		}
	}
	p.s.Special = append(p.s.Special, x)
}

// fits refuses a topic at the head whose replicas are more than the brokers, or
// are on brokers that there are not.
func fits(t *tokens, c model.CreateTopic, brokers int) *ParseError {
	if c.Assignment == nil {
		if c.ReplicationFactor > brokers {
			t.fail(2, fmt.Sprintf("no more replicas than brokers, which are %d", brokers))
		}
		return t.err
	}
	for _, list := range c.Assignment {
		for _, id := range list {
			if id < 1 || int(id) > brokers {
				t.fail(3, fmt.Sprintf("replicas on brokers 1 to %d", brokers))
			}
		}
	}
	return t.err
}

// topic reads NAME PxR or NAME assignment LISTS, and config.
func topic(t *tokens) model.CreateTopic {
	c := model.CreateTopic{Topic: t.topic()}
	if t.take("assignment") {
		c.Assignment = read(t, "replica lists as 1,2;2,3", func(s string) ([][]int32, error) {
			var lists [][]int32
			for part := range strings.SplitSeq(s, ";") {
				ids, err := parseIDs(part)
				if err != nil {
					return nil, err
				}
				lists = append(lists, ids)
			}
			return lists, nil
		})
		c.Partitions = len(c.Assignment)
		if len(c.Assignment) > 0 {
			c.ReplicationFactor = len(c.Assignment[0])
		}
	} else {
		shape := read(t, "partitions x replicas as 3x2, or assignment", func(s string) ([2]int, error) {
			parts, replicas, _ := strings.Cut(s, "x")
			n, err := strconv.Atoi(parts)
			m, err2 := strconv.Atoi(replicas)
			if err = errors.Join(err, err2); err != nil || n < 1 || m < 1 || n > 10000 || m > mostBrokers {
				return [2]int{}, fmt.Errorf("up to 10000x%d", mostBrokers)
			}
			return [2]int{n, m}, nil
		})
		c.Partitions, c.ReplicationFactor = shape[0], shape[1]
	}
	for t.take("config") {
		kv := read(t, "a setting as key=value", func(s string) ([2]string, error) {
			k, v, ok := strings.Cut(s, "=")
			if !ok || k == "" {
				return [2]string{}, errors.New("key=value")
			}
			return [2]string{k, v}, nil
		})
		if c.Config == nil {
			c.Config = map[string]string{}
		}
		c.Config[kv[0]] = kv[1]
	}
	return c
}

// Equal tells whether two scenarios say the same.
func (s *Scenario) Equal(o *Scenario) bool {
	a, b := *s, *o
	for _, x := range []*Scenario{&a, &b} {
		for _, part := range []*[]Line{&x.Start, &x.Reached, &x.Solution} {
			*part = slices.Clone(*part)
			for i := range *part {
				(*part)[i].Number = 0
			}
		}
	}
	a.Name, b.Name = "", ""
	a.settingLines, b.settingLines = nil, nil
	return reflect.DeepEqual(a, b)
}
