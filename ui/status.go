package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kstate/model"
)

// drawStatus is the first row: who answers, may it write, who controls, is it live.
func (d *dashboard) drawStatus(a area) {
	f := d.frame
	x := a.put(0, 0, badge, " "+strings.ToUpper(string(f.Mode))+" ")
	if f.ReadOnly {
		x = a.put(x, 0, alarm, " READ-ONLY ")
	}
	if f.Journal != nil {
		x = drawJournal(a, x, f.Journal)
	}
	if deletionOff(f) {
		x = a.put(x+1, 0, warn, "delete off")
	}
	link, st := "connected"+age(f), good
	if !f.Connection.Connected {
		link, st = " STALE since "+d.clock(f.Connection.Since)+" ", alarm
	}
	controller := controllerText(&f.Controller)
	crowded := func() bool { return x+width(f.Source)+width(controller)+width(link)+4 > a.w }
	if crowded() { // say all of it in fewer words
		controller = strings.Replace(controller, "controller", "ctl", 1)
	}
	if crowded() {
		link = strings.Replace(strings.Replace(link, " since", "", 1), " s old", "s", 1)
	}
	w := a.w - width(link)
	a.put(w, 0, st, link)
	source := shortSource(f.Source, w-width(controller)-x-4)
	at := max(w-width(controller)-2, x+1+width(source)+1)
	a.sub(0, 0, w-1, 1).put(at, 0, controllerStyle(&f.Controller), controller)
	a.sub(0, 0, w-1, 1).put(x+1, 0, plain, source)
}

// sourceTold is the least that a source is shortened to: beyond it what stands
// on its right gives way.
const sourceTold = 12

// shortSource is a source in n columns, shortened in the middle: its beginning
// names the server, its end the chroot. That it is a fork, and of when, is never
// shortened: "FORK of ADDRESS at TIME, here ADDRESS" loses the lab's own address
// first.
func shortSource(s string, n int) string {
	s = clean(s)
	if width(s) <= n {
		return s
	}
	of, fork := strings.CutPrefix(s, "FORK of ")
	addr, at, timed := strings.Cut(of, " at ")
	if !fork || !timed {
		return shortMiddle(s, max(n, sourceTold))
	}
	at, _, _ = strings.Cut(at, ", here ")
	at = " at " + at
	if n -= width("FORK of ") + width(at); n < sourceTold/2 {
		return "FORK" + at
	}
	return "FORK of " + shortMiddle(addr, n) + at
}

// shortMiddle is a text in n columns; what is missing in its middle is an ellipsis.
func shortMiddle(s string, n int) string {
	w := width(s)
	if w <= n {
		return s
	}
	head := cutRight(s, n/2)
	return head + ellipsis + cutLeft(s, w-(n-width(head)-1))
}

// age is how old what is shown may be, where the server is heard now and then.
func age(f *model.Frame) string {
	if f.Connection.Heard == 0 {
		return ""
	}
	return fmt.Sprintf(", %d s old", max(0, f.Now-f.Connection.Heard)/1000)
}

// deletionOff: no topic is deleted, and marks are dropped. Kafka: delete.topic.enable.
func deletionOff(f *model.Frame) bool {
	return slices.ContainsFunc(f.Settings, func(s model.SettingValue) bool { return s.Name == "delete.topic.enable" && s.Value == "false" })
}

// roomy is from which width on words need not be cut.
const roomy = 100

// drawJournal says whether everything is recorded.
func drawJournal(a area, x int, j *model.JournalStatus) int {
	switch {
	case j.Failing != "" && j.Lost > 0:
		return a.put(x, 0, alarm, fmt.Sprintf(" JOURNAL FAILS, %d LOST ", j.Lost))
	case j.Failing != "":
		return a.put(x, 0, alarm, " JOURNAL FAILS ")
	case j.Lost > 0:
		return a.put(x, 0, alarm, fmt.Sprintf(" JOURNAL LACKS %d ", j.Lost))
	case a.w < roomy:
		return a.put(x+1, 0, good, "rec")
	}
	return a.put(x+1, 0, good, "recording")
}

// clock is a time of day.
func (d *dashboard) clock(ms int64) string { return time.UnixMilli(ms).In(d.zone).Format("15:04:05") }

func controllerText(c *model.ControllerStatus) string {
	who := "no controller"
	switch {
	case c.ID >= 0 && c.Self:
		who = fmt.Sprintf("controller %d (self)", c.ID)
	case c.ID >= 0:
		who = fmt.Sprintf("controller %d", c.ID)
	}
	if c.Status != "active" && c.Status != "absent" && c.Status != "" {
		who += " " + c.Status
	}
	if c.Epoch < 0 {
		return who + " no epoch"
	}
	return fmt.Sprintf("%s epoch %d", who, c.Epoch)
}

func controllerStyle(c *model.ControllerStatus) style {
	if c.Status == "active" {
		return strong
	}
	return bad
}

// drawTabs names the views and the keys that lead to them.
func (d *dashboard) drawTabs(a area) {
	names := &viewNames
	if a.w < tabsWidth {
		names = &shortViewNames
	}
	x := 0
	for v := range viewCount {
		st := plain
		if v == d.view {
			st = current
		}
		x = a.put(x, 0, keyName, itoa(int(v)+1))
		x = a.put(x, 0, st, names[v]) + 1
	}
}

// tabsWidth is from which width on the names of the views need not be cut;
// shortViewNames fit the least width.
const tabsWidth = 73

var shortViewNames = [viewCount]string{"Graphs", "Topics", "Parts", "Brokers", "Delete", "Reqs", "Log", "Inspect"}

// drawStepRow says whether it runs, and the step at hand.
func (d *dashboard) drawStepRow(a area) {
	f := d.frame
	run, st := f.Run.String(), alarm
	if f.Run == model.Running || f.Run == model.Waiting && !d.pace.slow(f) {
		run, st = model.Running.String(), badge
	}
	if f.Mode.Beside() { // nothing runs here: the controller is the cluster's
		run = "follows"
	}
	x := a.put(0, 0, st, " "+strings.ToUpper(run)+" ") + 1
	if f.Run == model.Paused && f.ContinuesAt > 0 {
		x = a.put(x, 0, alarm, fmt.Sprintf(" goes on in %d s ", max(0, f.ContinuesAt-f.Now+999)/1000)) + 1
	}
	if text := faultCount(f); text != "" {
		x = a.put(x, 0, alarm, text) + 1
	}
	if !f.Connection.Connected {
		x = a.put(x, 0, bad, "no connection: "+orNone(f.Connection.Text)) + 1
	}
	if p := f.Progress; p != nil {
		x = a.put(x, 0, warn, progressText(p)) + 1
	}
	switch {
	case f.At != nil:
		if f.Run == model.Paused {
			x = a.put(x, 0, faint, "next: ")
		}
		x = a.put(x, 0, stepStyle(f.At), f.At.String())
	case f.QueueLen > 0:
		x = a.put(x, 0, faint, fmt.Sprintf("between events, %d queued", f.QueueLen))
	case f.Run == model.Paused:
		x = a.put(x, 0, faint, "idle; the next event will be held")
	case !f.Connection.Connected || f.Progress != nil: // that says it all
	case f.Alert != "":
		x = a.put(x, 0, alarm, " "+f.Alert+" ")
	case f.Mode.Beside():
		x = a.put(x, 0, faint, followingText(f.Following))
	default:
		x = a.put(x, 0, faint, "idle")
	}
	if w := width(f.StopReason); f.Run == model.Paused && x+reasonGap+w <= a.w {
		a.put(a.w-w, 0, warn, f.StopReason)
	}
}

// followingText says how much of the controller's memory is known.
func followingText(f *model.Following) string {
	switch {
	case f == nil:
		return "the tree, as it changes"
	case !f.On:
		return "the tree, as it changes; its controller is not followed: " + f.Why
	case f.Diverged > 0:
		return fmt.Sprintf("the tree, and its controller: ~ is inferred, %d diverged", f.Diverged)
	}
	return "the tree, and its controller: ~ is inferred"
}

// reasonGap parts the step at hand from why it is held. The reason is the first
// thing to go where there is no room: it is mostly the operator's own key, and
// enter in the graphs shows it with the whole step.
const reasonGap = 3

// pace tells a step that was asked for from one of a run: both wait for their
// result, most for a moment only, and the screen must not flicker with them.
type pace struct {
	held     bool   // at rest, or stepping from there
	position uint64 // of the step that waits
	since    int64  // when it was first seen, ms since 1970
}

const slowMillis = 500

func (p *pace) note(f *model.Frame) {
	switch {
	case f.Run == model.Paused:
		p.held = true
	case f.Run == model.Running:
		p.held = false
	case p.position != f.Position:
		p.position, p.since = f.Position, f.Now
	}
}

// slow: the step that waits is one to look at.
func (p *pace) slow(f *model.Frame) bool { return p.held || f.Now-p.since >= slowMillis }

func progressText(p *model.Progress) string {
	what := p.What
	if what == "" {
		what = "the tree"
	}
	if p.Total <= 0 {
		return fmt.Sprintf("loading %s: %d", what, p.Done)
	}
	return fmt.Sprintf("loading %s: %d of %d (%d%%)", what, p.Done, p.Total, int64(p.Done)*100/int64(p.Total))
}

// notice is what the operator is told once.
type notice struct {
	level model.Level
	text  string
	since int64 // ms since 1970, by the frame's clock
}

const (
	noticeMillis = 8_000
	errorMillis  = 30_000
	noticesKept  = 200 // for the dialog that lists them
)

// expire takes the notice away when its time is over.
func (n *notice) expire(now int64) {
	limit := int64(noticeMillis)
	if n.level >= model.Error {
		limit = errorMillis
	}
	if n.since == 0 {
		n.since = now
	}
	if n.text != "" && now-n.since > limit {
		*n = notice{}
	}
}

func (n *notice) style() style {
	switch {
	case n.level >= model.Error:
		return bad
	case n.level == model.Warn:
		return warn
	}
	return strong
}
