package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// view is one of the things that the screen can show.
type view uint8

const (
	graphsView view = iota
	topicsView
	partitionsView
	brokersView
	deletionView
	requestsView
	logView
	inspectorView
	viewCount
)

var viewNames = [viewCount]string{"Graphs", "Topics", "Partitions", "Brokers", "Deletion", "Requests", "Log", "Inspector"}

// dashboard is the one Bubble Tea model: what the operator looks at and has
// chosen. Panes keep their own place; frames come from outside.
type dashboard struct {
	give  func(model.Command)
	keys  []binding
	zone  *time.Location
	w, h  int
	frame *model.Frame // nil before the first
	pace  pace
	view  view
	from  view // where the inspector was opened from
	side  view // what stands beside the graphs on a wide screen
	aside view // what stood there when the inspector was opened

	graphs     graphs
	topics     topicList
	partitions partitionList
	brokers    brokerList
	deletion   deletionList
	requests   requests
	log        history
	inspector  inspector

	dialogs []dialog // the last one has the keyboard
	prompt  *input
	notice  notice
	told    []notice // the last ones, oldest first
	seen    uint64   // the newest notice of a frame that was shown

	canvas  canvas
	content string
	dirty   bool
}

func newDashboard(give func(model.Command), zone *time.Location) *dashboard {
	if zone == nil {
		zone = time.Local
	}
	return &dashboard{give: give, keys: keyTable(), zone: zone, side: topicsView, log: history{zone: zone}, dirty: true}
}

// do hands a command over.
func (d *dashboard) do(c model.Command) {
	if c != nil {
		d.give(c)
	}
}

// resize takes the terminal's size.
func (d *dashboard) resize(w, h int) { d.w, d.h, d.dirty = w, h, true }

// setFrame takes a newer frame.
func (d *dashboard) setFrame(f *model.Frame) {
	d.frame, d.dirty = f, true
	d.pace.note(f)
	d.inspector.held = d.pace.held
	d.topics.filter.advance(viewOf(f), filterOnFrame)
	d.partitions.filter.advance(viewOf(f), filterOnFrame)
	for i := range f.Notices {
		if n := &f.Notices[i]; n.Seq > d.seen {
			d.seen = n.Seq
			d.say(n.Level, n.Text)
		}
	}
	d.notice.expire(f.Now)
}

// refusedSince is the last warning said after a notice with that number: why
// what was asked for does not come.
func (d *dashboard) refusedSince(seq uint64) string {
	text := ""
	for i := range d.frame.Notices {
		if n := &d.frame.Notices[i]; n.Seq > seq && n.Level >= model.Warn {
			text = n.Text
		}
	}
	return text
}

// say shows a notice until a key is pressed or its time is over.
func (d *dashboard) say(l model.Level, text string) {
	d.notice, d.dirty = notice{level: l, text: text}, true
	if d.frame != nil {
		d.notice.since = d.frame.Now
	}
	if len(d.told) == noticesKept {
		d.told = append(d.told[:0], d.told[1:]...)
	}
	d.told = append(d.told, d.notice)
}

// press takes a key: a dialog has it first, then the filter prompt, then the table.
func (d *dashboard) press(k tea.KeyPressMsg) tea.Cmd {
	d.dirty = true
	d.notice = notice{}
	if n := len(d.dialogs); n > 0 {
		if k.String() == "ctrl+c" {
			d.dialogs = nil
			return d.quit()
		}
		return d.settle(d.dialogs[n-1].press(d, k))
	}
	if d.prompt != nil {
		d.pressPrompt(k)
		return nil
	}
	b := d.bindingOf(k)
	if b == nil {
		d.say(model.Info, k.String()+" is no key here; ? shows them all")
		return nil
	}
	if why := b.why(d); why != "" {
		d.say(model.Warn, b.Help().Key+" "+b.label(d)+": "+why)
		return nil
	}
	return b.run(d)
}

// paste puts text into the field that has the keyboard.
func (d *dashboard) paste(text string) {
	d.dirty = true
	if n := len(d.dialogs); n > 0 {
		d.dialogs[n-1].paste(text)
	} else if d.prompt != nil {
		d.prompt.insert(text)
		d.applyFilter(d.prompt.value())
	}
}

// settle does what a dialog's answer says.
func (d *dashboard) settle(o outcome) tea.Cmd {
	if o.close > 0 {
		d.dialogs = d.dialogs[:max(0, len(d.dialogs)-o.close)]
	}
	if o.open == nil && planned(d, o.command) {
		o.open = newConsent(d)
	}
	d.do(o.command)
	if o.open != nil {
		d.dialogs = append(d.dialogs, o.open)
	}
	if o.quit {
		return tea.Quit
	}
	return nil
}

func (d *dashboard) quit() tea.Cmd {
	if d.frame != nil && d.frame.Mode == model.ControlMode {
		d.dialogs = append(d.dialogs, newQuit(d))
		return nil
	}
	return tea.Quit
}

func (d *dashboard) togglePause() tea.Cmd {
	if d.frame.Run == model.Paused {
		d.do(model.Continue{})
	} else {
		d.do(model.Pause{})
	}
	return nil
}

// show goes to a view.
func (d *dashboard) show(v view) {
	if v == inspectorView && d.view != inspectorView {
		d.from, d.aside = d.view, d.side
	}
	d.view = v
	switch v {
	case topicsView, partitionsView, brokersView, inspectorView:
		d.side = v
	case deletionView:
		if d.frame != nil {
			d.deletion.enter(deletionSource{viewOf(d.frame)})
		}
	}
}

// chosen is the subject under the cursor of the view that has the keyboard.
func (d *dashboard) chosen() model.Subject {
	v := viewOf(d.frame)
	switch d.view {
	case topicsView:
		if d.topics.settle(d.topics.source(v)) {
			return model.Subject{Kind: model.TopicSubject, Topic: d.topics.cursor}
		}
	case partitionsView:
		if d.partitions.settle(d.partitions.source(v)) {
			tp := d.partitions.cursor
			s := model.Subject{Kind: model.PartitionSubject, Topic: tp.Topic, Partition: tp.Partition}
			if b, ok := d.partitions.chosenReplica(v.Partition(tp)); ok {
				s.Kind, s.Broker = model.ReplicaSubject, b
			}
			return s
		}
	case brokersView:
		if d.brokers.settle(d.brokers.source(d.frame)) {
			return model.Subject{Kind: model.BrokerSubject, Broker: d.brokers.cursor}
		}
	case deletionView:
		if d.deletion.follow(deletionSource{v}); d.deletion.cursor.topic != "" {
			return model.Subject{Kind: model.TopicSubject, Topic: d.deletion.cursor.topic}
		}
	case inspectorView:
		return d.inspector.subject
	}
	return model.Subject{}
}

// enter opens what is chosen: in the inspector, or whole in a dialog.
func (d *dashboard) enter() tea.Cmd {
	switch d.view {
	case graphsView:
		return open(newStepDetail)(d)
	case logView:
		return open(newRecordDetail)(d)
	}
	return d.inspect()
}

func (d *dashboard) inspect() tea.Cmd {
	s := d.chosen()
	d.stopExplaining()
	d.inspector.choose(s)
	d.show(inspectorView)
	d.do(model.Inspect{Subject: s})
	return nil
}

// showInspector goes to the inspector, and from there back to nothing inspected.
func (d *dashboard) showInspector() tea.Cmd {
	if d.view != inspectorView {
		d.show(inspectorView)
		return nil
	}
	d.inspectNothing()
	return nil
}

// inspectNothing leaves the controller to be shown by the inspector.
func (d *dashboard) inspectNothing() {
	d.stopExplaining()
	d.inspector.choose(model.Subject{})
	d.do(model.Inspect{})
}

// leave clears the filter of the view, or goes back from the inspector. What was
// inspected is kept, an explanation is not: it is a question that was answered.
func (d *dashboard) leave() tea.Cmd {
	if d.view != inspectorView {
		d.applyFilter("")
		return nil
	}
	if d.inspector.why {
		d.inspectNothing()
	}
	d.side = d.aside
	d.show(d.from)
	return nil
}

// move gives a movement to the view that has the keyboard.
func (d *dashboard) move(m movement) {
	v := viewOf(d.frame)
	switch d.view {
	case topicsView:
		if m == moveRight {
			d.enterTopic()
			return
		}
		d.topics.move(d.topics.source(v), m)
	case partitionsView:
		switch m {
		case moveLeft:
			d.partitions.sideways(v, -1)
		case moveRight:
			d.partitions.sideways(v, +1)
		default:
			d.partitions.replica = 0
			d.partitions.move(d.partitions.source(v), m)
		}
	case brokersView:
		d.brokers.move(d.brokers.source(d.frame), m)
	case deletionView:
		d.deletion.move(deletionSource{v}, m)
	case requestsView:
		d.requests.move(m)
	case logView:
		d.log.move(m, d.frame.History)
	case inspectorView:
		d.inspector.move(m)
	}
}

// enterTopic goes from a topic to its partitions.
func (d *dashboard) enterTopic() {
	v := viewOf(d.frame)
	if !d.topics.settle(d.topics.source(v)) {
		return
	}
	d.partitions.filter.setText("", v)
	d.partitions.replica = 0
	d.show(partitionsView)
	if n, p := v.Topic(d.topics.cursor).PartitionAfter(-1); p != nil {
		tp := model.TP(d.topics.cursor, n)
		d.partitions.choose(tp)
		d.partitions.top = tp
	}
}

// filterText is the filter of the view that has the keyboard.
func (d *dashboard) filterText() string {
	switch d.view {
	case topicsView:
		return d.topics.filter.text
	case partitionsView:
		return d.partitions.filter.text
	case brokersView:
		return d.brokers.text
	}
	return ""
}

func (d *dashboard) applyFilter(text string) {
	v := viewOf(d.frame)
	switch d.view {
	case topicsView:
		d.topics.filter.setText(text, v)
	case partitionsView:
		d.partitions.replica = 0
		d.partitions.filter.setText(text, v)
	case brokersView:
		d.brokers.text = text
	}
}

// openPrompt lets the operator type a filter.
func (d *dashboard) openPrompt() tea.Cmd {
	in := newInput(d.filterText())
	d.prompt = &in
	return nil
}

// pressPrompt takes a key for the filter: each changes the list at once.
func (d *dashboard) pressPrompt(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter", "up", "down", "tab":
		d.prompt = nil
	case "esc", "ctrl+c":
		d.applyFilter("")
		d.prompt = nil
	default:
		d.prompt.press(k)
		d.applyFilter(d.prompt.value())
	}
}
