package script

import (
	"errors"
	"strings"
	"testing"
)

// Every word's example is a line that is understood, and printed as it stands.
func TestTheExamplesOfWords(t *testing.T) {
	for _, w := range words {
		text := w.example + "\n"
		switch w.group {
		case aboutGroup, headGroup:
		default:
			text = "start:\n" + text
		}
		s, err := Parse("", text)
		if err != nil {
			t.Errorf("%s: %v", w.form, err)
			continue
		}
		if printed := s.String(); !strings.Contains(printed, w.example) && w.form != "session TIME" && w.form != "file-delete TIME" {
			t.Errorf("%s is printed as\n%s", w.example, printed)
		}
	}
}

// Every word of the parser is in the table, so that the document has it.
func TestTheTableHasEveryWord(t *testing.T) {
	has := func(word string) bool {
		for _, w := range words {
			if strings.HasPrefix(w.example, word) || strings.HasPrefix(w.form, word) {
				return true
			}
		}
		return false
	}
	for _, list := range [][]string{headWords, sorted(verbs), sorted(actions), sorted(conditions)} {
		for _, word := range list {
			if !has(word) && !strings.HasSuffix(word, ":") {
				t.Errorf("%s is missing", word)
			}
		}
	}
}

func TestShippedScenariosAreWellFormed(t *testing.T) {
	for _, name := range Names() {
		s, err := Shipped(name)
		if err != nil {
			t.Error(err)
			continue
		}
		again, err := Parse(name, s.String())
		if err != nil || !again.Equal(s) {
			t.Errorf("%s is not the same after it was printed: %v\n%s", name, err, s)
		}
		if s.Title == "" || s.Goal == "" || len(s.Teaches) == 0 || len(s.Hints) == 0 || len(s.Reached) == 0 || len(s.Solution) == 0 {
			t.Errorf("%s lacks a title, goal, lesson, hint, goal or solution", name)
		}
	}
	if _, err := Shipped("no-such"); err == nil || !strings.Contains(err.Error(), "--list") {
		t.Errorf("a scenario that is not there: %v", err)
	}
}

// What is not understood is said with its place, the word, and what may stand there.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"brokers none":              `x:1:9: "none" is not understood: want how many brokers (a number from 1 to 50)`,
		"brokers 3\nbrokers 2":      `x:2:1: "brokers" is not understood: want brokers once`,
		"brokrs 3":                  `want title, goal, teaches, hint, brokers, broker, topic`,
		"brokers":                   `x:1:8: the line ends here: want how many brokers`,
		"topic orders":              `x:1:13: the line ends here: want partitions x replicas as 3x2, or assignment`,
		"topic orders 3by2":         `"3by2" is not understood: want partitions x replicas`,
		"topic a/b 1x1":             `x:1:7: "a/b" is not understood: want a topic (`,
		"topic a 1x1\ntopic a 1x1":  `want each topic once`,
		"topic a 1x1 config x":      `want a setting as key=value`,
		"session 5":                 `want a time as 500ms or 2s`,
		"protocol 4.0":              `want a version as 2.4`,
		"broker 1":                  `want rack, dirs or protocol`,
		"kill broker 1":             `"kill" is not understood: want title`,
		"start:\nkill brokr 1":      `x:2:6: "brokr" is not understood: want "broker"`,
		"start:\nkill broker one":   `"one" is not understood: want a broker id`,
		"start:\nkill broker 1 now": `x:2:15: "now" is not understood: want the end of the line`,
		"start:\nkil broker 1":      `want cancel, clear, continue, create`,
		"start:\ntitle x":           `stands before start:`,
		"say x":                     `say comes behind start: or solution:`,
		"title":                     `x:1:6: the line ends here: want a text`,
		"start:\nexpect partition orders 0 Online":                  `want a partition as orders-0`,
		"start:\nexpect partition orders-0 Onlin":                   `"Onlin" is not understood: want New, Online, Offline or NonExistent`,
		"start:\nexpect leader orders-00 1":                         `it is written orders-0`,
		"start:\nexpect deletion a waiting because it":              `want offline-replica, reassignment-in-progress or replica-deletion-failed`,
		"start:\nfault write /x answers OK":                         `want NONODE, NODEEXISTS, BADVERSION, NOTEMPTY or NOAUTH`,
		"start:\nfault 2th write /x fence fails":                    `"2th" is not understood`,
		"start:\nfault every write /x lost before":                  `what is lost every time never ends`,
		"start:\nfault read /x fence fails":                         `reads are not fenced`,
		"start:\nfault step x do shut down broker 1":                `"shut" is not understood: want kill, fail, cut`,
		"start:\nfault StopReplica to broker 1 dropped":             `"dropped" is not understood: want do`,
		"start:\nfault StopReplica answered by broker 1 error NONE": `which NONE is not`,
		"start:\nuntil":               `want text of a step's line`,
		"start:\nwrite znode admin x": `want the path of a znode (it begins with /`,
		"start:\nwrite znode /a \"x":  `want text between two "`,
		"reached:\nkill broker 1":     `want expect: the goal is made of expectations`,
		"title a\x1b[2J":              `want printable UTF-8 text`,
		"title a\xff":                 `want printable UTF-8 text`,
		"start: now":                  `want the end of the line`,
		"":                            `x:1:1: the line ends here: want a scenario, but the text says nothing`,
		"\ufeff# only this\n":         `the text says nothing`,
		"topic a 1x3\nbrokers 2":      `x:1:9: "1x3" is not understood: want no more replicas than brokers, which are 2`,
		"topic a 1x4":                 `no more replicas than brokers, which are 3`,
		"topic a assignment 1,2;3,4":  `x:1:20: "1,2;3,4" is not understood: want replicas on brokers 1 to 3`,
	} {
		_, err := Parse("x", text)
		var e *ParseError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func TestCommentsAndSpaceMeanNothing(t *testing.T) {
	if _, err := Parse("", "start:\n   kill broker 1#\n"); err == nil {
		t.Fatal("1# is no broker id")
	}
	a, err := Parse("", "# a\n\n  title  One   two # three\r\nbrokers\t2 # of them\nstart:\n   kill broker 1 # now\n")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse("", "title One two # three\nbrokers 2\nstart:\nkill broker 1")
	if err != nil || !a.Equal(b) || a.Title != "One two # three" {
		t.Errorf("%v, %v\n%s\n%s", err, a.Title, a, b)
	}
}

// What is printed of any script that is understood is understood, too, as the same.
func FuzzPrint(f *testing.F) {
	for _, w := range words {
		f.Add(w.example + "\nstart:\n" + w.example)
		f.Add("start:\n" + w.example + "\nreached:\nexpect faults hit\nsolution:\n" + w.example)
	}
	for _, name := range Names() {
		text, _ := Text(name)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f", text)
		if err != nil {
			return
		}
		printed := s.String()
		again, err := Parse("f", printed)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if !again.Equal(s) {
			t.Fatalf("it is not the same:\n%s\n%s", printed, again)
		}
	})
}
