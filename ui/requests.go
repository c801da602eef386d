package ui

import (
	"fmt"

	"kstate/model"
)

// requests is the pane of what is on its way to brokers: the queue of each
// channel, and what the open batch has collected.
type requests struct{ scroll }

var channelTable = table{{title: "BROKER", width: 6, right: true}, {title: "LINK", width: 4}, {title: "QUEUED", width: 6, right: true},
	{title: "AGE", width: 6, right: true}, {title: "SENT", width: 7, right: true}, {title: "IN FLIGHT OR NEXT", weight: 1}}

func (r *requests) draw(a area, f *model.Frame, focused bool) {
	a = a.title("Requests", focused, requestInfo(f))
	batch := 1
	if f.Open != nil {
		batch += len(f.Open.Entries)
		if f.Open.Total > len(f.Open.Entries) {
			batch++
		}
	}
	n := 1 + len(f.Channels) + 1 + batch
	r.fit(n, a.h)
	for y := range a.h {
		if r.y+y < n {
			r.drawLine(a, y, r.y+y, f)
		}
	}
}

func requestInfo(f *model.Frame) string {
	queued := 0
	for i := range f.Channels {
		queued += f.Channels[i].Depth
	}
	return itoa(queued) + " queued to " + itoa(len(f.Channels)) + " brokers"
}

// drawLine draws line i of the whole pane in row y: heading, channels, a blank, the batch.
func (r *requests) drawLine(a area, y, i int, f *model.Frame) {
	if i == 0 {
		channelTable.header(a, y)
		return
	}
	if i--; i < len(f.Channels) {
		drawChannel(a, y, &f.Channels[i], f.Now)
		return
	}
	if i -= len(f.Channels); i == 0 {
		return
	}
	i -= 2
	switch {
	case f.Open == nil:
		a.put(0, y, faint, "no open batch")
	case i < 0:
		a.put(0, y, strong, fmt.Sprintf("open batch of %s: %d entries", f.Open.Machine, f.Open.Total))
	case i < len(f.Open.Entries):
		e := &f.Open.Entries[i]
		to := "all brokers"
		if e.Broker >= 0 {
			to = "broker " + itoa(e.Broker)
		}
		x := a.put(1, y, faint, to)
		x = a.put(max(x+1, 14), y, plain, e.Kind.String())
		a.put(max(x+1, 29), y, plain, e.Text)
	default:
		a.put(1, y, faint, fmt.Sprintf("and %d more", f.Open.Total-len(f.Open.Entries)))
	}
}

func drawChannel(a area, y int, c *model.Channel, now int64) {
	st, link, age := plain, "up", "-"
	if !c.Connected {
		st, link = bad, "down"
	}
	if c.Depth > 0 && c.HeadSince > 0 {
		age = duration(now - c.HeadSince)
	}
	channelTable.row(a, y, st, itoa(c.Broker), link, itoa(c.Depth), age, itoa(c.Sent), c.Head)
}

// duration is a time span in ms for a narrow column: 12ms, 3.4s, 5m, 2h.
func duration(ms int64) string {
	switch {
	case ms < 0:
		return "0ms"
	case ms < 1000:
		return fmt.Sprintf("%dms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1fs", float64(ms)/1000)
	case ms < 3_600_000:
		return fmt.Sprintf("%dm", ms/60_000)
	}
	return fmt.Sprintf("%dh", ms/3_600_000)
}
