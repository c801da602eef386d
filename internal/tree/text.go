package tree

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"kstate/model"
)

// Printable is a text that can be printed on a terminal: names and payloads may hold
// anything, control characters included. Those are quoted.
func Printable(s string) string {
	for _, r := range s {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// WriteText writes the state for a reader: controller, brokers, counts, deletion
// queue, then partitions, those that are not online first. limit bounds the
// partitions and the queue (0: no bound); what is left out is counted in a line
// of its own. Of the znodes that cannot be read it gives the number: the caller
// names them on standard error.
func (st *State) WriteText(w io.Writer, limit int) error {
	t := &textReport{w: tabwriter.NewWriter(&lineTrimmer{w: w}, 0, 8, 2, ' ', 0)}
	t.line("source\t%s (%s)", Printable(st.Source), st.Mode)
	t.line("controller\t%s", st.Controller.text())
	st.brokersText(t)
	st.countsText(t)
	st.deletionText(t, limit)
	st.partitionsText(t, limit)
	if n := len(st.Unreadable); n > 0 {
		t.section("znodes that cannot be read: %d, named on standard error", n)
	}
	return t.flush()
}

// lineTrimmer takes the spaces off that pad an empty last column.
type lineTrimmer struct {
	w      io.Writer
	spaces int // held back: at the end of a line they go
}

func (l *lineTrimmer) Write(b []byte) (int, error) {
	out := make([]byte, 0, len(b)+l.spaces)
	for _, c := range b {
		switch c {
		case ' ':
			l.spaces++
			continue
		case '\n':
			l.spaces = 0
		}
		for ; l.spaces > 0; l.spaces-- {
			out = append(out, ' ')
		}
		out = append(out, c)
	}
	if _, err := l.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// textReport keeps the first error.
type textReport struct {
	w   *tabwriter.Writer
	err error
}

func (t *textReport) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

func (t *textReport) flush() error {
	if t.err == nil {
		t.err = t.w.Flush()
	}
	return t.err
}

// section ends the columns of what was before.
func (t *textReport) section(format string, args ...any) {
	if t.err = t.flush(); t.err == nil {
		t.line("\n"+format, args...)
		t.err = t.flush()
	}
}

func (c Controller) text() string {
	var b strings.Builder
	b.WriteString(c.Status)
	if c.ID != nil {
		fmt.Fprintf(&b, ": broker %d", *c.ID)
	}
	if c.Epoch != nil {
		fmt.Fprintf(&b, ", epoch %d", *c.Epoch)
	} else {
		b.WriteString(", epoch missing")
	}
	return b.String()
}

func (st *State) brokersText(t *textReport) {
	t.section("brokers: %d", len(st.Brokers))
	if len(st.Brokers) == 0 {
		return
	}
	t.line("  id\tstate\tepoch\treplicas\tleads\tendpoints")
	for _, b := range st.Brokers {
		epoch := "-"
		if b.Epoch != nil {
			epoch = strconv.FormatInt(*b.Epoch, 10)
		}
		t.line("  %d\t%s\t%s\t%d\t%d\t%s", b.ID, b.State, epoch, b.Replicas, b.Leads, Printable(strings.Join(b.Endpoints, ",")))
	}
}

func (st *State) countsText(t *textReport) {
	p, r := st.Counts.Partitions, st.Counts.Replicas
	t.section("partitions: %d", p.Online+p.Offline+p.New+p.NonExistent+p.Unreadable)
	t.counts([]namedCount{{"OnlinePartition", p.Online}, {"OfflinePartition", p.Offline}, {"NewPartition", p.New},
		{"NonExistentPartition", p.NonExistent}, {UnreadablePartition, p.Unreadable}})
	t.section("replicas: %d", r.New+r.Online+r.Offline+r.DeletionStarted+r.DeletionSuccessful+r.DeletionIneligible+r.NonExistent)
	t.counts([]namedCount{{"NewReplica", r.New}, {"OnlineReplica", r.Online}, {"OfflineReplica", r.Offline}, {"ReplicaDeletionStarted", r.DeletionStarted},
		{"ReplicaDeletionSuccessful", r.DeletionSuccessful}, {"ReplicaDeletionIneligible", r.DeletionIneligible}, {"NonExistentReplica", r.NonExistent}})
}

type namedCount struct {
	name string
	n    int
}

func (t *textReport) counts(list []namedCount) {
	for _, c := range list {
		if c.n > 0 {
			t.line("  %s\t%d", c.name, c.n)
		}
	}
}

func (st *State) deletionText(t *textReport, limit int) {
	enabled := ""
	if !st.Deletion.Enabled {
		enabled = " (delete.topic.enable=false: the markers will be dropped)"
	}
	t.section("topics queued for deletion: %d%s", len(st.Deletion.Topics), enabled)
	for i, td := range st.Deletion.Topics {
		if limit > 0 && i == limit {
			t.more(len(st.Deletion.Topics) - limit)
			break
		}
		t.line("  %s\t%s\t%s", Printable(td.Topic), td.State, td.reason())
	}
}

func (td *TopicDeletion) reason() string {
	if td.State != DeletionWaiting {
		return ""
	}
	reasons := make([]string, len(td.IneligibleReasons))
	for i, r := range td.IneligibleReasons {
		reasons[i] = string(r)
	}
	return strings.Join(reasons, ", ") + "; blocked by " + strings.Join(td.BlockedBy, ", ")
}

func (t *textReport) more(n int) {
	t.line("  ... and %d more: --limit 0 shows all, --json writes all", n)
}

// partitionsText lists the partitions that need a look before the others. It
// goes over the cluster twice rather than keep a list.
func (st *State) partitionsText(t *textReport, limit int) {
	p := st.Counts.Partitions
	problems := p.Offline + p.New + p.NonExistent + p.Unreadable
	t.section("partitions not online: %d", problems)
	shown := st.listPartitions(t, limit, func(p *model.Partition) bool { return p.State != model.OnlinePartition })
	if shown < problems {
		t.more(problems - shown)
	}
	t.section("partitions online: %d", p.Online)
	left := limit
	if limit > 0 {
		left = max(0, limit-shown)
	}
	online := 0
	if limit == 0 || left > 0 {
		online = st.listPartitions(t, left, func(p *model.Partition) bool { return p.State == model.OnlinePartition })
	}
	if online < p.Online {
		t.more(p.Online - online)
	}
}

// listPartitions lists at most limit (0: all) of the partitions chosen, and
// tells how many it listed.
func (st *State) listPartitions(t *textReport, limit int, choose func(*model.Partition) bool) int {
	shown := 0
	for topic := range st.survey.View().Topics() {
		for n, p := range topic.Partitions() {
			if !choose(p) {
				continue
			}
			if limit > 0 && shown == limit {
				return shown
			}
			tp := model.TP(topic.Name, n)
			why := st.survey.Why(tp)
			if shown++; shown == 1 {
				t.line("  partition\tstate\tleader\tisr\treplicas\t%s", whyHeading(why))
			}
			partitionLine(t, tp, p, why)
		}
	}
	return shown
}

// whyHeading: partitions that are online have no reasons to show.
func whyHeading(why []string) string {
	if len(why) == 0 {
		return ""
	}
	return "why"
}

func partitionLine(t *textReport, tp model.TopicPartition, p *model.Partition, why []string) {
	leader, isr := "-", "-"
	if l := p.Leadership; l != nil {
		leader, isr = strconv.Itoa(int(l.Leader)), "["+model.JoinIDs(l.ISR)+"]"
	}
	t.line("  %s\t%s\t%s\t%s\t[%s]\t%s", Printable(tp.String()), partitionStateName(p.State), leader, isr,
		model.JoinIDs(p.Assignment.Replicas), strings.Join(why, ", "))
}
