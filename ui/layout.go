package ui

import "fmt"

const (
	minWidth, minHeight = 60, 16
	chromeRows          = 4 // status, tabs, step at hand, keys

	minGraphsWidth  = 80
	minGraphsHeight = 24 // with a scenario's goal above them

	stripHeight = 4  // the least height of the log below the graphs
	sideWidth   = 50 // the least width of the column beside the graphs
	stackHeight = 40 // the height from which the column holds several panes
)

// render draws the whole screen.
func (d *dashboard) render() {
	d.canvas.reset(max(d.w, 0), max(d.h, 0))
	a := d.canvas.all()
	if a.w < minWidth || a.h < minHeight {
		drawTooSmall(a)
		return
	}
	if d.frame == nil {
		a.put(1, 0, faint, "kstate is waiting for the first picture of the cluster (q quits)")
	} else {
		d.drawStatus(a.sub(0, 0, a.w, 1))
		d.drawTabs(a.sub(0, 1, a.w, 1))
		body := a.sub(0, 2, a.w, a.h-chromeRows)
		if s := d.frame.Scenario; s != nil {
			drawBanner(a.sub(0, 2, a.w, 1), s)
			body = body.below(1)
		}
		d.drawBody(body)
		d.drawStepRow(a.sub(0, a.h-2, a.w, 1))
	}
	if n := len(d.dialogs); n > 0 {
		drawDialog(a.sub(0, 1, a.w, a.h-2), d, d.dialogs[n-1])
	}
	d.drawFooter(a.sub(0, a.h-1, a.w, 1))
}

func drawTooSmall(a area) {
	for y, s := range []string{"Terminal too small.", fmt.Sprintf("kstate needs %dx%d,", minWidth, minHeight), fmt.Sprintf("this is %dx%d.", a.w, a.h)} {
		a.put(0, y, plain, s)
	}
}

// drawBody shows one view, or on a wide screen the graphs and more beside them.
func (d *dashboard) drawBody(a area) {
	if a.w >= largeReplicas.w+2+sideWidth && a.h >= graphsHeight(true) {
		d.drawWide(a)
		return
	}
	if d.view != graphsView {
		d.drawView(a, d.view)
		return
	}
	d.drawGraphs(a)
}

// drawGraphs shows the graphs, with the log below where there is room.
func (d *dashboard) drawGraphs(a area) {
	large, ok := d.graphs.size(a.w, a.h)
	h := graphsHeight(large)
	if !ok || a.h-h < stripHeight {
		d.graphs.draw(a, d.frame)
		return
	}
	d.graphs.draw(a.sub(0, 0, a.w, h), d.frame)
	d.drawView(a.below(h), logView)
}

// drawWide shows the graphs with the log on the left; on the right a list or
// the inspector, and below it, on a high screen, deletion and requests.
func (d *dashboard) drawWide(a area) {
	w := largeReplicas.w + 1
	d.drawGraphs(a.sub(0, 0, w, a.h))
	for y := range a.h {
		a.put(w, y, border, "│")
	}
	a = a.sub(w+1, 0, a.w-w-1, a.h)
	if a.h < stackHeight {
		side := d.side
		if d.view != graphsView && d.view != logView {
			side = d.view
		}
		d.drawView(a, side)
		return
	}
	if d.side == inspectorView {
		d.drawView(a.sub(0, 0, a.w, a.h-a.h/4), inspectorView)
		d.drawView(a.below(a.h-a.h/4), d.lowerView())
		return
	}
	deletion, requests := a.h/4, a.h/4
	top := a.h - deletion - requests
	d.drawView(a.sub(0, 0, a.w, top), d.side)
	d.drawView(a.sub(0, top, a.w, deletion), deletionView)
	d.drawView(a.below(top+deletion), requestsView)
}

// lowerView is what stands below the inspector.
func (d *dashboard) lowerView() view {
	if d.view == requestsView {
		return requestsView
	}
	return deletionView
}

func (d *dashboard) drawView(a area, v view) {
	f, focused := d.frame, d.view == v
	switch v {
	case topicsView:
		d.topics.draw(a, f, focused)
	case partitionsView:
		d.partitions.draw(a, f, focused)
	case brokersView:
		d.brokers.draw(a, f, focused)
	case deletionView:
		d.deletion.draw(a, f, focused)
	case requestsView:
		d.requests.draw(a, f, focused)
	case logView:
		d.log.draw(a, f, focused)
	case inspectorView:
		d.inspector.draw(a, f, focused)
	}
}
