package ui

import (
	"fmt"
	"time"

	"kstate/model"
)

// history is the pane of events and of everything that happened. Its cursor is
// on the newest record and follows what comes, until it is moved back; then it
// stays where it is.
type history struct {
	back bool // moved back: at and top hold
	at   int  // the chosen record, counted from the first ever kept
	top  int  // the record on the first row, counted likewise
	x    int  // columns scrolled to the right
	page int
	zone *time.Location

	outcomes map[*model.Result]string // of the records shown; see outcome
}

// move moves the cursor; moving it to the end follows again.
func (h *history) move(m movement, v model.HistoryView) bool {
	first, last := v.First, v.First+v.N-1
	h.settle(v)
	switch m {
	case moveUp:
		h.at--
	case moveDown:
		h.at++
	case movePageUp:
		h.at, h.top = h.at-h.page, h.top-h.page
	case movePageDown:
		h.at, h.top = h.at+h.page, h.top+h.page
	case moveHome:
		h.at, h.x = first, 0
	case moveEnd:
		h.at, h.x = last, 0
	case moveLeft:
		h.x = max(0, h.x-sideStep)
		return true
	case moveRight:
		h.x += sideStep
		return true
	default:
		return false
	}
	h.back = h.at < last
	h.settle(v)
	return true
}

// settle puts the cursor on a record that is kept and the window around it.
func (h *history) settle(v model.HistoryView) {
	first, last := v.First, max(v.First, v.First+v.N-1)
	h.page = max(h.page, 1)
	if !h.back {
		h.at, h.top = last, last
	}
	h.at = min(max(h.at, first), last)
	h.top = min(max(h.top, h.at-h.page+1), h.at)  // the cursor is in the window
	h.top = max(min(h.top, last-h.page+1), first) // which is full where it can be
	h.back = h.at < last
}

// chosen is the record under the cursor; nil when there is none.
func (h *history) chosen(v model.HistoryView) *model.Record {
	if v.N == 0 {
		return nil
	}
	h.settle(v)
	return v.At(h.at - v.First)
}

// draw shows the event at work and the queue, then the log.
func (h *history) draw(a area, f *model.Frame, focused bool) {
	a = a.title("Log", focused, h.info(f))
	known := !f.Mode.Beside() || f.Event != nil || f.QueueLen > 0 // another controller's queue is not
	if a.h >= 8 && known {
		a = h.drawQueue(a, f)
	}
	h.drawLog(a, f.History, focused)
}

func (h *history) info(f *model.Frame) string {
	info := itoa(f.History.First+f.History.N) + " records"
	if f.History.First > 0 {
		info += ", the first " + itoa(f.History.First) + " no longer kept"
	}
	if h.back {
		info += ", scrolled back (end follows)"
	}
	return info
}

// drawQueue takes its rows off the top of the area: the event at work, the head
// of the queue, a rule.
func (h *history) drawQueue(a area, f *model.Frame) area {
	x := a.put(0, 0, faint, "at work ")
	if e := f.Event; e != nil {
		x = a.put(x, 0, strong, e.Event.String())
		a.put(x+1, 0, faint, eventOrigin(e, f.Now))
	} else {
		a.put(x, 0, faint, "nothing")
	}
	x = a.put(0, 1, faint, "queue   ")
	a.put(x, 1, countStyle(f.QueueLen, false, f.QueueLen > 100), itoa(f.QueueLen))
	y := 2
	shown := a.h / 5
	for i := range f.Queue {
		if i == shown {
			break
		}
		e := &f.Queue[i]
		x := a.put(8, y, plain, e.Event.String())
		a.put(x+1, y, faint, eventOrigin(e, f.Now))
		y++
	}
	if more := f.QueueLen - (y - 2); more > 0 {
		a.put(8, y, faint, "and "+itoa(more)+" more")
		y++
	}
	a.fill(0, y, a.w, border, "╌")
	return a.below(y + 1)
}

func eventOrigin(e *model.QueuedEvent, now int64) string {
	s := fmt.Sprintf("#%d, queued %s ago", e.Seq, duration(now-e.EnqueuedAt))
	if e.Cause != "" {
		s += ", by " + e.Cause
	}
	return s
}

// drawLog shows the records around the cursor, or the newest.
func (h *history) drawLog(a area, v model.HistoryView, focused bool) {
	h.page = max(a.h, 1)
	h.settle(v)
	from := h.top - v.First
	for y := 0; y < a.h && from+y < v.N; y++ {
		h.drawRecord(a, y, v.At(from+y))
		if focused && h.top+y == h.at {
			a.mark(y)
		}
	}
	if v.N == 0 {
		a.put(1, 0, faint, "nothing has happened yet")
	}
}

func (h *history) drawRecord(a area, y int, r *model.Record) {
	var clock [16]byte
	x := a.put(0, y, faint, string(time.UnixMilli(r.At).In(h.zone).AppendFormat(clock[:0], "15:04:05.000")))
	mark, st, text := "»", good, ""
	switch {
	case r.Step != nil:
		mark, st, text = stepMark(r), stepStyle(r.Step), r.Step.String()
	case r.Input != nil:
		text = r.Input.String()
	}
	if r.Inferred {
		mark = "~"
	}
	x = a.putNumber(x+1, y, 7, faint, r.Position)
	x = a.put(x+1, y, faint, mark)
	rest := a.sub(x+1, y, a.w-x-1, 1)
	if h.x > 0 {
		text = cutLeft(text, h.x)
	}
	x = rest.put(0, 0, st, text)
	if s := h.outcome(r.Result); s != "" {
		rest.put(x+1, 0, outcomeStyle(r), s)
	}
}

// stepMark brackets the steps of one event.
func stepMark(r *model.Record) string {
	switch r.Step.(type) {
	case *model.Begin:
		return "┌"
	case *model.End:
		return "└"
	}
	if r.EventSeq > 0 {
		return "│"
	}
	return "·"
}

// putNumber writes a number that ends w columns behind x, or further when it is long.
func (a area) putNumber(x, y, w int, st style, n uint64) int {
	s := itoa(n)
	return a.put(max(x, x+w-len(s)), y, st, s)
}

// cutLeft drops the first n columns of a text.
func cutLeft(s string, n int) string {
	for n > 0 && len(s) > 0 {
		_, w, size := glyph(s)
		n, s = n-w, s[size:]
	}
	return s
}

const outcomesKept = 512

// outcome says how a call went wrong; empty when it did not. A call may hold
// very many operations: what was found is remembered.
func (h *history) outcome(r *model.Result) string {
	if r == nil {
		return ""
	}
	s, ok := h.outcomes[r]
	if !ok {
		if h.outcomes == nil || len(h.outcomes) >= outcomesKept {
			h.outcomes = map[*model.Result]string{}
		}
		s = outcomeOf(r)
		h.outcomes[r] = s
	}
	return s
}

// outcomeStyle: that a znode is missing which was only looked for is no trouble.
func outcomeStyle(r *model.Record) style {
	if c, ok := r.Step.(*model.Call); ok && !c.Writes() {
		return faint
	}
	return warn
}

func outcomeOf(r *model.Result) string {
	if r.Code != model.CodeOK {
		return r.Code.String()
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Check != model.CodeOK {
			return "fenced: " + o.Check.String()
		}
		if o.Code != model.CodeOK {
			if len(r.Ops) == 1 {
				return o.Code.String()
			}
			return fmt.Sprintf("op %d: %s", i+1, o.Code)
		}
	}
	return ""
}

// stepStyle tells steps apart at a glance: what moves, what fails, what writes.
func stepStyle(s model.Step) style {
	switch s := s.(type) {
	case *model.Begin, *model.End:
		return heading
	case *model.MovePartition, *model.MoveReplica, *model.Elect:
		return strong
	case *model.RefusePartition, *model.RefuseReplica:
		return bad
	case *model.Mark:
		return warn
	case *model.Log:
		if s.Level >= model.Error {
			return bad
		}
		if s.Level == model.Warn {
			return warn
		}
		return faint
	case *model.Call:
		if s.Writes() {
			return plain
		}
		return faint
	case *model.Send, *model.Link, *model.Reply:
		return plain
	}
	return faint
}
