package ui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// binding is one key: the table of bindings makes the footer, the help screen
// and docs/keys.md.
type binding struct {
	key.Binding        // its help is the keys as people write them, and a word or two for the footer
	does        string // what it does, for the help
	group       string
	// footer: shown at the bottom of the screen, where there is room; of a view
	// in near, before the others.
	footer bool
	near   []view
	// disabled says why the key does nothing now; nil or "" when it works.
	disabled func(*dashboard) string
	run      func(*dashboard) tea.Cmd
}

const (
	runGroup     = "Run"
	clusterGroup = "Cluster"
	lookGroup    = "Look"
)

// bind is a binding of any of some keys, as Bubble Tea names them.
func bind(name string, keys ...string) key.Binding {
	shown := make([]string, len(keys))
	for i, k := range keys {
		shown[i] = shownKey(k)
	}
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(strings.Join(shown, " "), name))
}

// keyTable is the table, in the order in which it is shown.
func keyTable() []binding {
	return []binding{
		{Binding: bind("pause", "space"), does: "hold at the next step, or continue when held", group: runGroup, footer: true,
			disabled: cannotHold, run: (*dashboard).togglePause},
		{Binding: bind("continue", "c"), does: "run on", group: runGroup,
			disabled: isRunning, run: command(func(*dashboard) model.Command { return model.Continue{} })},
		{Binding: bind("event", "e"), does: "take the step at hand and hold at the next event", group: runGroup, footer: true,
			disabled: cannotStep, run: stepBy(model.EventGrain)},
		{Binding: bind("batch", "b"), does: "take the step at hand and hold at the next batch of requests, or anything coarser", group: runGroup, footer: true,
			disabled: cannotStep, run: stepBy(model.BatchGrain)},
		{Binding: bind("transition", "t"), does: "take the step at hand and hold at the next transition, or anything coarser", group: runGroup, footer: true,
			disabled: cannotStep, run: stepBy(model.TransitionGrain)},
		{Binding: bind("I/O", "i"), does: "take the step at hand and hold at the very next one", group: runGroup, footer: true,
			disabled: cannotStep, run: stepBy(model.IOGrain)},

		{Binding: bind("fault", "F"), does: "faults that fit the step at hand: an error for it, a lost request, the end of the session, a broker's answer held or dropped, ...; and those that are armed", group: runGroup,
			disabled: noFaults, run: open(newFault)},
		{Binding: bind("until", "U"), does: "run on to a step in whose line a text is found, and hold there", group: runGroup,
			disabled: cannotHold, run: open(newUntil)},

		{Binding: bind("elect", "E"), does: "elect leaders by one of the five strategies on what is chosen: first a preview, then a question", group: clusterGroup, near: []view{partitionsView}, footer: true,
			disabled: noFrame, run: open(newElection)},
		{Binding: bind("create", "C"), does: "create a topic", group: clusterGroup, near: []view{topicsView}, footer: true,
			disabled: cannotWrite, run: open(newCreateTopic)},
		{Binding: bind("add partitions", "A"), does: "add partitions to a topic", group: clusterGroup, near: []view{topicsView},
			disabled: cannotWrite, run: open(newAddPartitions)},
		{Binding: bind("delete", "D"), does: "delete a topic; its name has to be typed", group: clusterGroup, near: []view{topicsView}, footer: true,
			disabled: cannotWrite, run: open(newDeleteTopic)},
		{Binding: bind("reassign", "R"), does: "move a partition to other brokers, or take a running move back", group: clusterGroup, near: []view{partitionsView},
			disabled: cannotWrite, run: open(newReassign)},
		{Binding: bind("move controller", "M"), does: "have another controller elected by deleting /controller; in admin mode only", group: clusterGroup,
			disabled: adminOnly, run: open(newMoveController)},
		{Binding: bind("kill", "K"), does: "kill a broker of the lab, as kill -9 does", group: clusterGroup, near: []view{brokersView}, footer: true,
			disabled: labOnly, run: open(newKill)},
		{Binding: bind("start", "S"), does: "start a broker of the lab that is down, or a new one", group: clusterGroup, near: []view{brokersView},
			disabled: labOnly, run: open(newStart)},
		{Binding: bind("shut down", "T"), does: "shut a broker of the lab down in the controlled way", group: clusterGroup, near: []view{brokersView},
			disabled: labOnly, run: open(newShutDown)},
		{Binding: bind("mishap", "Z"), does: "what happens to a cluster: a log directory fails, a broker is cut off or falls silent, a session ends, another controller comes, a znode is written, ...", group: clusterGroup, near: []view{brokersView},
			disabled: labOnly, run: open(newMishap)},
		{Binding: bind("settings", "O"), does: "change a setting of the lab's brokers and controller, or of a topic", group: clusterGroup,
			disabled: labOnly, run: open(newSettings)},
		{Binding: bind("reset", "X"), does: "start the lab anew with its first content", group: clusterGroup,
			disabled: labOnly, run: open(newReset)},

		{Binding: bind("inspect", "enter"), does: "show memory and znodes of the chosen topic, partition, replica or broker; in the log the whole record, in the graphs the step at hand", group: lookGroup, near: []view{graphsView, topicsView, partitionsView, brokersView, deletionView, logView},
			disabled: nothingToEnter, run: (*dashboard).enter},
		{Binding: bind("why", "w"), does: "why of the chosen topic, partition, replica or broker: what holds it, on what evidence, and what would change that; in other views of the controller. Again: memory and znodes; of the controller, back", group: lookGroup, near: []view{graphsView, topicsView, partitionsView, brokersView, deletionView, requestsView, logView, inspectorView},
			disabled: nothingToExplain, run: (*dashboard).explain},
		{Binding: bind("balance", "W"), does: "how leadership is spread over the brokers, and what the automatic balancer would do", group: lookGroup, near: []view{brokersView},
			disabled: noFrame, run: (*dashboard).explainLeadership},
		{Binding: bind("filter", "/"), does: "show only what contains a text; topic-12 finds one partition", group: lookGroup, near: []view{topicsView, partitionsView, brokersView},
			disabled: noFilter, run: (*dashboard).openPrompt},
		{Binding: bind("back", "esc"), does: "close a dialog, clear a filter, leave the inspector: what was inspected is there again with 8, an explanation is not", group: lookGroup, near: []view{topicsView, partitionsView, brokersView, inspectorView},
			disabled: nothingToLeave, run: (*dashboard).leave},
		{Binding: bind("next view", "tab"), does: "go to the next view", group: lookGroup, run: turn(+1)},
		{Binding: bind("previous view", "shift+tab"), does: "go to the previous view", group: lookGroup, run: turn(-1)},
		{Binding: bind("graphs", "1"), does: "both graphs of states, with counts and the transition at hand", group: lookGroup, run: show(graphsView)},
		{Binding: bind("topics", "2"), does: "the topics", group: lookGroup, run: show(topicsView)},
		{Binding: bind("partitions", "3"), does: "the partitions; left and right choose a replica", group: lookGroup, run: show(partitionsView)},
		{Binding: bind("brokers", "4"), does: "the brokers", group: lookGroup, run: show(brokersView)},
		{Binding: bind("deletion", "5"), does: "topicsToBeDeleted, topicsWithDeletionStarted, topicsIneligibleForDeletion", group: lookGroup, run: show(deletionView)},
		{Binding: bind("requests", "6"), does: "the open batch, and the queue of requests to each broker", group: lookGroup, run: show(requestsView)},
		{Binding: bind("log", "7"), does: "the event at work, the event queue, and everything that happened", group: lookGroup, run: show(logView)},
		{Binding: bind("inspector", "8"), does: "memory and znodes of what was inspected, and what the step at hand writes. Again: the controller, as while nothing is inspected", group: lookGroup, near: []view{inspectorView}, run: (*dashboard).showInspector},
		{Binding: bind("up", "up", "k"), does: "one row up", group: lookGroup, disabled: cannotMove, run: move(moveUp)},
		{Binding: bind("down", "down", "j"), does: "one row down", group: lookGroup, disabled: cannotMove, run: move(moveDown)},
		{Binding: bind("page up", "pgup", "ctrl+b"), does: "one page up", group: lookGroup, disabled: cannotMove, run: move(movePageUp)},
		{Binding: bind("page down", "pgdown", "ctrl+f"), does: "one page down", group: lookGroup, disabled: cannotMove, run: move(movePageDown)},
		{Binding: bind("first", "home", "g"), does: "to the first row", group: lookGroup, disabled: cannotMove, run: move(moveHome)},
		{Binding: bind("last", "end", "G"), does: "to the last row; the log follows again", group: lookGroup, near: []view{logView}, disabled: cannotMove, run: move(moveEnd)},
		{Binding: bind("left", "left", "h"), does: "partitions: another replica; log, inspector: scroll sideways", group: lookGroup, disabled: cannotMoveSideways, run: move(moveLeft)},
		{Binding: bind("right", "right", "l"), does: "topics: to the topic's partitions; partitions: another replica; log, inspector: scroll sideways", group: lookGroup, near: []view{topicsView, partitionsView, logView, inspectorView}, disabled: cannotMoveSideways, run: move(moveRight)},
		{Binding: bind("help", "?"), does: "all keys, and why some do nothing now", group: lookGroup, footer: true, run: open(newHelp)},
		{Binding: bind("scenario", "H"), does: "the scenario's goal and how far it is, hints, and the solution", group: lookGroup,
			disabled: noScenario, run: open(newExercise)},
		{Binding: bind("notices", "N"), does: "what was said at the bottom of the screen so far", group: lookGroup, run: open(newNotices)},
		{Binding: bind("redraw", "ctrl+l"), does: "draw the screen anew", group: lookGroup, run: func(*dashboard) tea.Cmd { return tea.ClearScreen }},
		{Binding: bind("suspend", "ctrl+z"), does: "go to the background; not in control mode", group: lookGroup,
			disabled: cannotSuspend, run: func(*dashboard) tea.Cmd { return tea.Suspend }},
		{Binding: bind("quit", "q", "ctrl+c"), does: "end kstate; in control mode it asks first, for it resigns", group: lookGroup, footer: true, run: (*dashboard).quit},
	}
}

// bindingOf finds the binding of a key.
func (d *dashboard) bindingOf(k tea.KeyPressMsg) *binding {
	for i := range d.keys {
		if key.Matches(k, d.keys[i].Binding) {
			return &d.keys[i]
		}
	}
	return nil
}

// why says why a key does nothing now; empty when it works.
func (b *binding) why(d *dashboard) string {
	if b.disabled == nil {
		return ""
	}
	return b.disabled(d)
}

// label is the name in the footer: what the key would do now.
func (b *binding) label(d *dashboard) string {
	switch k := b.Keys()[0]; {
	case k == "space" && d.frame != nil && d.frame.Run == model.Paused:
		return "continue"
	case k == "enter" && d.view == graphsView:
		return "step at hand"
	case k == "enter" && d.view == logView:
		return "record"
	case k == "right" && d.view == topicsView:
		return "parts"
	case k == "right" && d.view == partitionsView:
		return "replica"
	case k == "right" && (d.view == inspectorView || d.view == logView):
		return "sideways"
	case k == "8" && d.view == inspectorView:
		return "controller"
	case k == "w" && d.view == inspectorView && d.inspector.why && onlyExplained(d.inspector.subject):
		return "back"
	case k == "w" && d.view == inspectorView && d.inspector.why:
		return "memory"
	case k == "esc" && d.filterText() != "":
		return "show all"
	case k == "end" && d.view == logView:
		return "follow"
	}
	return b.Help().Desc
}

// The reasons for which keys do nothing.

func noFrame(d *dashboard) string {
	if d.frame == nil {
		return "nothing was received yet"
	}
	return ""
}

func cannotHold(d *dashboard) string {
	if d.frame != nil && d.frame.Mode.Beside() {
		return fmt.Sprintf("%s mode cannot hold the cluster's own controller", d.frame.Mode)
	}
	return noFrame(d)
}

func isRunning(d *dashboard) string {
	if why := cannotHold(d); why != "" {
		return why
	}
	if d.frame != nil && d.frame.Run == model.Running {
		return "it is running already"
	}
	return noFrame(d)
}

func cannotStep(d *dashboard) string {
	if why := cannotHold(d); why != "" {
		return why
	}
	if d.frame != nil && d.frame.Run == model.Running {
		return "it is running: pause first (space)"
	}
	return noFrame(d)
}

func cannotWrite(d *dashboard) string {
	if d.frame != nil && d.frame.ReadOnly {
		return fmt.Sprintf("%s mode is read only here", d.frame.Mode)
	}
	return noFrame(d)
}

func adminOnly(d *dashboard) string {
	if d.frame != nil && d.frame.Mode != model.AdminMode {
		return fmt.Sprintf("only in admin mode, and this is %s mode", d.frame.Mode)
	}
	return cannotWrite(d)
}

func labOnly(d *dashboard) string {
	if d.frame != nil && d.frame.Mode != model.LabMode {
		return fmt.Sprintf("only the lab has brokers of its own, and this is %s mode", d.frame.Mode)
	}
	return cannotWrite(d)
}

// noFaults: outside the lab faults are for whom asked for them.
func noFaults(d *dashboard) string {
	switch {
	case d.frame == nil:
		return noFrame(d)
	case d.frame.Mode != model.LabMode && d.frame.Mode != model.ControlMode:
		return fmt.Sprintf("in %s mode nothing is kstate's own that a fault could come over", d.frame.Mode)
	}
	return d.frame.NoFaults
}

func noScenario(d *dashboard) string {
	if d.frame != nil && d.frame.Scenario == nil {
		return "no scenario is played: kstate lab --list names those there are"
	}
	return noFrame(d)
}

func nothingToEnter(d *dashboard) string {
	switch {
	case d.frame == nil:
		return noFrame(d)
	case d.view == graphsView && d.frame.At == nil:
		return "there is no step at hand"
	case d.view == logView && d.frame.History.N == 0:
		return "nothing has happened yet"
	case d.view != graphsView && d.view != logView && d.chosen().Kind == model.NoSubject:
		return "choose a topic, partition, replica or broker first (views 2 to 5)"
	}
	return ""
}

func noFilter(d *dashboard) string {
	switch d.view {
	case topicsView, partitionsView, brokersView:
		return noFrame(d)
	}
	return "only topics, partitions and brokers can be filtered (views 2 to 4)"
}

func nothingToLeave(d *dashboard) string {
	if d.view == inspectorView || d.filterText() != "" {
		return ""
	}
	return "there is nothing to close"
}

func cannotMove(d *dashboard) string {
	if d.view == graphsView {
		return "there is nothing to scroll in the graphs"
	}
	return noFrame(d)
}

func cannotMoveSideways(d *dashboard) string {
	switch {
	case d.frame == nil:
		return noFrame(d)
	case d.view == logView, d.view == inspectorView:
		return ""
	case d.view == topicsView, d.view == partitionsView:
		if d.chosen().Kind != model.NoSubject {
			return ""
		}
		return "there is none to go to the side from"
	}
	return "there is nothing to the side"
}

func cannotSuspend(d *dashboard) string {
	if d.frame != nil && d.frame.Mode == model.ControlMode {
		return "a suspended controller would hold up the cluster; quit instead"
	}
	return ""
}

// What keys run.

func command(of func(*dashboard) model.Command) func(*dashboard) tea.Cmd {
	return func(d *dashboard) tea.Cmd {
		d.do(of(d))
		return nil
	}
}

func stepBy(g model.Grain) func(*dashboard) tea.Cmd {
	return command(func(d *dashboard) model.Command { return model.StepBy{Grain: g, Position: d.frame.Position} })
}

func open(of func(*dashboard) dialog) func(*dashboard) tea.Cmd {
	return func(d *dashboard) tea.Cmd {
		d.dialogs = append(d.dialogs, of(d))
		return nil
	}
}

func show(v view) func(*dashboard) tea.Cmd {
	return func(d *dashboard) tea.Cmd {
		d.show(v)
		return nil
	}
}

func turn(by int) func(*dashboard) tea.Cmd {
	return func(d *dashboard) tea.Cmd {
		d.show(view((int(d.view) + by + int(viewCount)) % int(viewCount)))
		return nil
	}
}

func move(m movement) func(*dashboard) tea.Cmd {
	return func(d *dashboard) tea.Cmd {
		d.move(m)
		return nil
	}
}

// shownKey is how a key is written for people.
func shownKey(k string) string {
	switch k {
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	return k
}

// KeysMarkdown is docs/keys.md, written from the table of keys.
func KeysMarkdown() string {
	var b strings.Builder
	b.WriteString("# Keys\n\nWritten by `go test ./ui -run TestKeysDocument -update` from the table of keys in `ui/keys.go`.\n" +
		"A key that does nothing at the moment says why when it is pressed.\n")
	group := ""
	table := keyTable()
	for i := range table {
		k := &table[i]
		if k.group != group {
			group = k.group
			fmt.Fprintf(&b, "\n## %s\n\n| Key | Name | Does |\n|---|---|---|\n", group)
		}
		keys := make([]string, len(k.Keys()))
		for j, name := range k.Keys() {
			keys[j] = "`" + shownKey(name) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(keys, " "), k.Help().Desc, k.does)
	}
	return b.String()
}
