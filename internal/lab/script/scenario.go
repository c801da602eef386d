package script

import (
	"fmt"
	"strings"
	"time"

	"kstate/model"
)

// Scenario is a parsed script.
type Scenario struct {
	Name    string // of the file, without its ending; not part of the text
	Title   string
	Goal    string // a sentence for whom it is an exercise
	Teaches []string
	Hints   []string

	Brokers  int // how many, ids from 1 on
	Special  []Special
	Topics   []model.CreateTopic
	Settings []model.ChangeSetting // of the controller and all brokers, from the start on
	Protocol string                // inter.broker.protocol.version; empty: the newest
	Times    map[string]time.Duration

	Start    []Line // brings the situation about
	Reached  []Line // expectations: the goal
	Solution []Line

	settingLines []int // where each of Settings stands
}

// SettingLine is the line of Settings[i], from 1; 0 in a scenario that was not
// parsed.
func (s *Scenario) SettingLine(i int) int {
	if i < len(s.settingLines) {
		return s.settingLines[i]
	}
	return 0
}

// Special is what is special about one broker.
type Special struct {
	Broker   int32
	Rack     string // empty: none
	LogDirs  int    // 0: one
	Protocol string // its own inter-broker protocol; empty: the scenario's
}

// The times that a scenario may set, with their defaults.
const (
	SessionTime    = "session"     // ZooKeeper session timeout of brokers and controller
	BuryTime       = "bury"        // until a killed broker's session ends
	LagTime        = "lag"         // replica.lag.time.max.ms
	CatchUpTime    = "catch-up"    // until a follower has everything
	FileDeleteTime = "file-delete" // file.delete.delay.ms
	PatienceTime   = "patience"    // how long until, wait and eventually wait
)

// DefaultTimes are the times of a scenario that sets none.
var DefaultTimes = map[string]time.Duration{SessionTime: 20 * time.Second, BuryTime: 300 * time.Millisecond, LagTime: 2 * time.Second,
	CatchUpTime: 200 * time.Millisecond, FileDeleteTime: time.Minute, PatienceTime: 30 * time.Second}

var timeOrder = []string{SessionTime, BuryTime, LagTime, CatchUpTime, FileDeleteTime, PatienceTime}

// Time is one of the times, the default where it is not set.
func (s *Scenario) Time(name string) time.Duration {
	if d, ok := s.Times[name]; ok {
		return d
	}
	return DefaultTimes[name]
}

// Line is one statement, where it stands.
type Line struct {
	Number int // in the text, from 1
	Do     Statement
}

// Statement is an *Act, *Wait, *Expect or *Say. String is it as a script has it.
type Statement interface {
	String() string
	statement()
}

// Act gives a command.
type Act struct{ Command model.Command }

// Wait waits: until nothing happens any more, or for a time.
type Wait struct {
	Idle bool
	For  time.Duration
}

// Expect wants a condition to hold: at once, or eventually.
type Expect struct {
	Eventually bool
	Not        bool
	Condition  Condition
}

// Say tells the reader something.
type Say struct{ Text string }

func (*Act) statement()    {}
func (*Wait) statement()   {}
func (*Expect) statement() {}
func (*Say) statement()    {}

func (a *Act) String() string { return model.CommandText(a.Command) }

func (w *Wait) String() string {
	if w.Idle {
		return "wait idle"
	}
	return "wait " + w.For.String()
}

func (e *Expect) String() string {
	s := "expect "
	if e.Eventually {
		s += "eventually "
	}
	if e.Not {
		s += "not "
	}
	return s + e.Condition.String()
}

func (s *Say) String() string { return "say " + s.Text }

// String is the scenario as a script; Parse makes an equal one of it, but for
// the numbers of lines.
func (s *Scenario) String() string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	text := func(word, value string) {
		if value != "" {
			put("%s %s", word, value)
		}
	}
	text("title", s.Title)
	text("goal", s.Goal)
	for _, t := range s.Teaches {
		text("teaches", t)
	}
	for _, t := range s.Hints {
		text("hint", t)
	}
	put("brokers %d", s.Brokers)
	if s.Protocol != "" {
		put("protocol %s", model.QuoteWord(s.Protocol))
	}
	for _, x := range s.Special {
		put("%s", x)
	}
	for _, t := range s.Topics {
		put("%s", strings.TrimPrefix(model.CommandText(t), "create "))
	}
	for _, c := range s.Settings {
		put("%s", model.CommandText(c))
	}
	for _, name := range timeOrder {
		if d, ok := s.Times[name]; ok {
			put("%s %s", name, d)
		}
	}
	for _, part := range []struct {
		name  string
		lines []Line
	}{{"start", s.Start}, {"reached", s.Reached}, {"solution", s.Solution}} {
		if len(part.lines) == 0 {
			continue
		}
		put("\n%s:", part.name)
		for _, l := range part.lines {
			put("  %s", l.Do)
		}
	}
	return b.String()
}

// String is the line of a script.
func (x Special) String() string {
	s := fmt.Sprintf("broker %d", x.Broker)
	if x.Rack != "" {
		s += " rack " + model.QuoteWord(x.Rack)
	}
	if x.LogDirs != 0 {
		s += fmt.Sprintf(" dirs %d", x.LogDirs)
	}
	if x.Protocol != "" {
		s += " protocol " + model.QuoteWord(x.Protocol)
	}
	return s
}
