package model

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Explanation answers why of one subject: what holds it or keeps it from being
// available, on what evidence, and what would change that. Lists are never nil.
type Explanation struct {
	Subject Subject `json:"-"`
	Kind    string  `json:"kind"` // topic, partition, replica, broker, leadership, controller
	Name    string  `json:"name"` // T, T-P, T-P@B, B; empty for the last two kinds
	Found   bool    `json:"found"`
	// Undecided: the evidence may not be read, so that neither yes nor no is known.
	Undecided bool   `json:"undecided"`
	Answer    string `json:"answer"` // one sentence
	State     string `json:"state"`  // of the partition, replica, deletion, broker or controller, in its own words
	// Availability (available, unavailable, unknown) and Leadership (preferred,
	// not-preferred, none, unknown) of a partition.
	Availability string `json:"availability,omitempty"`
	Leadership   string `json:"leadership,omitempty"`

	Why               []string           `json:"why"`                // of a partition: the closed list of reasons why it is not online
	IneligibleReasons []IneligibleReason `json:"ineligible_reasons"` // of a topic that is to be deleted
	BlockedBy         []string           `json:"blocked_by"`         // broker:N, reassignment:T-P, log-dir:N, config:delete.topic.enable

	Causes   []Cause          `json:"causes"`   // those that hold it first
	Facts    []Evidence       `json:"facts"`    // what else is known of it
	Replicas []ReplicaVerdict `json:"replicas"` // of a partition, in the order of its assignment
	Balance  []BrokerBalance  `json:"balance"`  // of the leadership, by broker
	NotKnown []string         `json:"not_known"`

	Memory bool `json:"memory"` // from a controller's memory; else from the znodes alone
}

// Cause is one reason. Holds: it alone keeps the subject from going on or from
// being available; else it is worth knowing only.
type Cause struct {
	What      string     `json:"what"` // a word of a closed list: ineligible reasons, reasons of partitions, kinds of problems
	Subject   string     `json:"subject"`
	Holds     bool       `json:"holds"`
	BlockedBy []string   `json:"blocked_by"`
	Evidence  []Evidence `json:"evidence"`
	Resumes   []string   `json:"resumes"` // what would change it; any one of them
}

// Evidence is a znode and what it says, or, without a path, what a controller
// remembers. Version is nil for a missing znode and for one whose version is not
// known.
type Evidence struct {
	Path    string `json:"path"`
	Version *int32 `json:"version"`
	Missing bool   `json:"missing"`
	Says    string `json:"says"`
}

// ReplicaVerdict is one replica with the conditions of an election. A nil
// ShuttingDown or OfflineDir is not known.
type ReplicaVerdict struct {
	Broker       int32  `json:"broker"`
	Live         bool   `json:"live"` // registered, and not known to be shutting down
	ShuttingDown *bool  `json:"shutting_down"`
	OfflineDir   *bool  `json:"offline_dir"`
	InISR        bool   `json:"in_isr"`
	Clean        bool   `json:"clean"`   // meets the conditions of a clean election
	Unclean      bool   `json:"unclean"` // meets those of an unclean one, were it allowed
	Leader       bool   `json:"leader"`
	Adding       bool   `json:"adding"`
	Removing     bool   `json:"removing"`
	State        string `json:"state"`
}

// BrokerBalance is how the partitions that prefer one broker are led.
type BrokerBalance struct {
	Broker     int32          `json:"broker"`
	Live       bool           `json:"live"`
	Leads      int            `json:"leads"`      // partitions that it leads, preferred or not
	Preferring int            `json:"preferring"` // partitions whose first replica it is
	Elsewhere  int            `json:"elsewhere"`  // of these, led by another broker or by none
	Percent    float64        `json:"percent"`    // Elsewhere of Preferring
	Acts       bool           `json:"acts"`       // over the limit: the balancer would elect
	Elects     []string       `json:"elects"`     // T-P that it would elect, by name
	CannotBe   []NotElectable `json:"cannot_be"`  // those led elsewhere that cannot be elected
}

// NotElectable is a partition whose preferred replica cannot be elected.
type NotElectable struct {
	Partition string `json:"partition"`
	Why       string `json:"why"`
}

// LineKind is what a line of an explanation is, for those who colour it.
type LineKind uint8

const (
	AnswerLine LineKind = iota
	HoldsLine           // a cause that holds
	RemarkLine          // a cause that is worth knowing only
	EvidenceLine
	ResumesLine
	TableLine
	HeadingLine
	NotKnownLine
	BlankLine
)

// ExplanationLine is one line of text. Indent is how far its continuation is
// moved in when it is broken.
type ExplanationLine struct {
	Kind   LineKind
	Text   string
	Indent int
}

// Lines is the explanation as text, not yet broken to any width. max bounds the
// causes and the rows of each table (0: no bound); what is left out is counted.
func (e *Explanation) Lines(max int) []ExplanationLine {
	l := &explanationLines{max: max}
	l.add(AnswerLine, 2, strings.TrimSpace(e.Kind+" "+e.Name)+": "+e.Answer)
	l.replicas(e.Replicas)
	l.balance(e.Balance)
	for i := range l.shown(len(e.Causes)) {
		l.cause(&e.Causes[i])
	}
	l.more(len(e.Causes))
	if len(e.Facts) > 0 {
		l.add(BlankLine, 0, "")
		l.add(HeadingLine, 0, "evidence")
		for i := range l.shown(len(e.Facts)) {
			l.add(EvidenceLine, 4, "  "+e.Facts[i].String())
		}
		l.more(len(e.Facts))
	}
	if len(e.NotKnown) > 0 {
		l.add(BlankLine, 0, "")
		l.add(HeadingLine, 0, "cannot be known from here")
		for _, text := range e.NotKnown {
			l.add(NotKnownLine, 4, "  "+text)
		}
	}
	return l.out
}

type explanationLines struct {
	out []ExplanationLine
	max int
}

func (l *explanationLines) add(k LineKind, indent int, text string) {
	l.out = append(l.out, ExplanationLine{k, text, indent})
}

func (l *explanationLines) shown(n int) int {
	if l.max > 0 {
		return min(n, l.max)
	}
	return n
}

func (l *explanationLines) more(n int) {
	if left := n - l.shown(n); left > 0 {
		l.add(HeadingLine, 2, "  ... and "+strconv.Itoa(left)+" more")
	}
}

func (l *explanationLines) cause(c *Cause) {
	l.add(BlankLine, 0, "")
	kind, text := RemarkLine, "note: "+c.What
	if c.Holds {
		kind, text = HoldsLine, c.What
	}
	if c.Subject != "" {
		text += ": " + c.Subject
	}
	if len(c.BlockedBy) > 0 {
		text += ", blocked by " + strings.Join(c.BlockedBy, ", ")
	}
	l.add(kind, 2, text)
	for i := range c.Evidence {
		l.add(EvidenceLine, 4, "  "+c.Evidence[i].String())
	}
	for i, text := range c.Resumes {
		lead := "  changes when "
		if i > 0 {
			lead = "        or when "
		}
		l.add(ResumesLine, 10, lead+text)
	}
}

// String is the path with its version and what it says.
func (e *Evidence) String() string {
	switch {
	case e.Path == "":
		return "the controller remembers: " + e.Says
	case e.Missing:
		return e.Path + " does not exist: " + e.Says
	case e.Version == nil:
		return e.Path + ": " + e.Says
	}
	return e.Path + " (version " + strconv.Itoa(int(*e.Version)) + "): " + e.Says
}

func (l *explanationLines) replicas(list []ReplicaVerdict) {
	if len(list) == 0 {
		return
	}
	rows := [][]string{{"broker", "live", "shutting down", "log dir", "in ISR", "clean", "unclean", "state", ""}}
	for i := range l.shown(len(list)) {
		r := &list[i]
		dir := "unknown"
		if r.OfflineDir != nil {
			dir = "good"
			if *r.OfflineDir {
				dir = "failed"
			}
		}
		rows = append(rows, []string{itoa(r.Broker), yes(&r.Live), yes(r.ShuttingDown), dir, yes(&r.InISR), yes(&r.Clean), yes(&r.Unclean), r.State, r.role()})
	}
	l.table(rows)
	l.more(len(list))
}

func (r *ReplicaVerdict) role() string {
	var out []string
	for _, x := range []struct {
		on   bool
		word string
	}{{r.Leader && r.Live, "leader"}, {r.Leader && !r.Live, "last leader"}, {r.Adding, "being added"}, {r.Removing, "being removed"}} {
		if x.on {
			out = append(out, x.word)
		}
	}
	return strings.Join(out, ", ")
}

func yes(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "yes"
	}
	return "no"
}

func (l *explanationLines) balance(list []BrokerBalance) {
	if len(list) == 0 {
		return
	}
	rows := [][]string{{"broker", "live", "leads", "preferred by", "led elsewhere", "ratio", "balancer"}}
	for i := range l.shown(len(list)) {
		b := &list[i]
		acts := "leaves it"
		if b.Acts {
			acts = "elects " + strconv.Itoa(len(b.Elects)) + " of " + strconv.Itoa(b.Elsewhere)
		}
		rows = append(rows, []string{itoa(b.Broker), yes(&b.Live), strconv.Itoa(b.Leads), strconv.Itoa(b.Preferring), strconv.Itoa(b.Elsewhere),
			strconv.FormatFloat(b.Percent, 'f', 1, 64) + "%", acts})
	}
	l.table(rows)
	l.more(len(list))
}

func (l *explanationLines) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	l.add(BlankLine, 0, "")
	for y, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString("  " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		kind := TableLine
		if y == 0 {
			kind = HeadingLine
		}
		l.add(kind, 2, strings.TrimRight(b.String(), " "))
	}
}
