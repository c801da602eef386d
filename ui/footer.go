package ui

import (
	"slices"

	"charm.land/bubbles/v2/key"

	"kstate/model"
)

// drawFooter is the last row: the filter being typed, a notice, or the keys.
func (d *dashboard) drawFooter(a area) {
	switch {
	case d.prompt != nil:
		x := a.put(0, 0, keyName, "/")
		d.prompt.draw(a.sub(x, 0, 40, 1), true)
		a.put(x+42, 0, faint, "enter keeps, esc clears")
	case d.notice.text != "":
		d.drawNotice(a)
	case len(d.dialogs) == 0:
		d.drawKeys(a)
	}
}

// drawNotice says where the rest of a long notice can be read.
func (d *dashboard) drawNotice(a area) {
	more := key.Help{Key: "N", Desc: "shows all of it"}
	if width(d.notice.text) > a.w && len(d.dialogs) == 0 {
		w := a.w - helpWidthOf(more) - 1
		a.putIn(0, 0, w, d.notice.style(), d.notice.text)
		drawKey(a, w+1, more)
		return
	}
	a.put(0, 0, d.notice.style(), d.notice.text)
}

const keyGap = 2 // columns between two keys

// drawKeys names the keys that matter in the view at hand, as far as there is
// room. Help and quit are always there, on the right.
func (d *dashboard) drawKeys(a area) {
	var last []key.Help
	for i := range d.keys {
		if b := &d.keys[i]; b.footer && b.group == lookGroup {
			last = append(last, b.shown(d))
		}
	}
	room := a.w - keysWidth(last)
	x := 0
	for _, h := range d.footerKeys(room) {
		if x+helpWidthOf(h)+keyGap <= room {
			x = drawKey(a, x, h)
		}
	}
	x = room
	for _, h := range last {
		x = drawKey(a, x, h)
	}
}

// footerKeys are the keys that work now, the most useful first: those that look
// at what this view shows, those that run the controller, those that change what
// this view shows, and the others that run the controller or change the cluster.
// Where the steps would take too much room, they come as one, and those that look
// give way.
func (d *dashboard) footerKeys(room int) []key.Help {
	var look, run, steps, near, rest, more []key.Help
	for i := range d.keys {
		b := &d.keys[i]
		isNear := slices.Contains(b.near, d.view) && !d.idle(b)
		switch {
		case b.why(d) != "":
		case b.group == lookGroup && isNear && b.Keys()[0] == "8": // gives way to the others that look
			near = append(near, b.shown(d))
		case b.group == lookGroup && isNear:
			look = append(look, b.shown(d))
		case b.group == lookGroup:
		case b.group == runGroup && b.footer && b.Keys()[0] == "space":
			run = append(run, b.shown(d))
		case b.group == runGroup && b.footer:
			steps = append(steps, b.shown(d))
		case isNear:
			near = append(near, b.shown(d))
		case b.footer:
			rest = append(rest, b.shown(d))
		case b.Keys()[0] != "c": // space says that
			more = append(more, b.shown(d))
		}
	}
	all := slices.Concat(look, run, steps)
	if keysWidth(all)+keyGap > room {
		if len(steps) > 0 {
			run = append(run, oneOf(steps, "step"))
		}
		all = slices.Concat(fitting(look, room-keysWidth(run)-keyGap), run)
	}
	return slices.Concat(all, near, rest, more)
}

// idle: the key works, but there is no use for it now.
func (d *dashboard) idle(b *binding) bool {
	switch b.Keys()[0] {
	case "end":
		return !d.log.back
	case "8":
		return d.inspector.subject.Kind == model.NoSubject
	case "/": // esc is more useful
		return d.filterText() != ""
	}
	return false
}

// fitting are the keys, from the first on, that fit.
func fitting(keys []key.Help, room int) []key.Help {
	n := len(keys)
	for n > 0 && keysWidth(keys[:n])+keyGap > room {
		n--
	}
	return keys[:n]
}

// oneOf is several keys as one entry.
func oneOf(keys []key.Help, name string) key.Help {
	h := key.Help{Desc: name}
	for i, k := range keys {
		if i > 0 {
			h.Key += " "
		}
		h.Key += k.Key
	}
	return h
}

// shown is a binding as the footer has it: its first key, and what it does now.
func (b *binding) shown(d *dashboard) key.Help {
	return key.Help{Key: shownKey(b.Keys()[0]), Desc: b.label(d)}
}

func helpWidthOf(h key.Help) int { return width(h.Key) + 1 + width(h.Desc) }

// keysWidth is the width of several keys in a row.
func keysWidth(keys []key.Help) int {
	w := 0
	for i, h := range keys {
		if i > 0 {
			w += keyGap
		}
		w += helpWidthOf(h)
	}
	return w
}

func drawKey(a area, x int, h key.Help) int {
	x = a.put(x, 0, keyName, h.Key)
	return a.put(x, 0, plain, " "+h.Desc) + keyGap
}
