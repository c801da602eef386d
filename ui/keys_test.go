package ui

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"kstate/model"
)

// docs/keys.md is written from the table of keys.
func TestKeysDocument(t *testing.T) {
	const path = "../docs/keys.md"
	if *update {
		if err := os.WriteFile(path, []byte(KeysMarkdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != KeysMarkdown() {
		t.Errorf("%s is not what the table of keys says: go test ./ui -run TestKeysDocument -update", path)
	}
}

func TestNoKeyTwice(t *testing.T) {
	seen := map[string]string{}
	for _, b := range keyTable() {
		for _, k := range b.Keys() {
			if other, ok := seen[k]; ok {
				t.Errorf("%s is both %s and %s", k, other, b.Help().Desc)
			}
			seen[k] = b.Help().Desc
		}
		if b.does == "" || b.group == "" || b.Help().Desc == "" {
			t.Errorf("%v has no name, group or description", b.Keys())
		}
	}
}

// paused is a lab that rests at a step.
func paused() *model.Frame {
	f := deletionFrame()
	f.Position = 4711
	return f
}

// What each key does: the command that it gives, after the keys before it.
func TestKeysGiveCommands(t *testing.T) {
	running := labFrame()
	for _, c := range []struct {
		name  string
		frame *model.Frame
		keys  []string
		want  model.Command
	}{
		{"space pauses", running, []string{"space"}, model.Pause{}},
		{"space continues", paused(), []string{"space"}, model.Continue{}},
		{"c", paused(), []string{"c"}, model.Continue{}},
		{"e", paused(), []string{"e"}, model.StepBy{Grain: model.EventGrain, Position: 4711}},
		{"b", paused(), []string{"b"}, model.StepBy{Grain: model.BatchGrain, Position: 4711}},
		{"t", paused(), []string{"t"}, model.StepBy{Grain: model.TransitionGrain, Position: 4711}},
		{"i", paused(), []string{"i"}, model.StepBy{Grain: model.IOGrain, Position: 4711}},
		{"kill the chosen broker", running, []string{"4", "down", "K", "enter"}, model.KillBroker{Broker: 2}},
		{"kill a typed broker", running, []string{"K", "'3", "enter"}, model.KillBroker{Broker: 3}},
		{"start the broker that is down", offlineFrame(), []string{"S", "enter"}, model.StartBroker{Broker: 2}},
		{"start a new broker", running, []string{"S", "enter"}, model.StartBroker{Broker: -1}},
		{"shut down", running, []string{"4", "end", "T", "enter"}, model.ShutDownBroker{Broker: 3}},
		{"create", running, []string{"C", "'pay.ments", "tab", "backspace", "'12", "tab", "backspace", "'3", "enter"}, model.CreateTopic{Topic: "pay.ments", Partitions: 12, ReplicationFactor: 3}},
		{"create with an assignment", running, []string{"C", "'a", "up", "'k=v, x = y", "up", "'1,2;2,3", "enter"}, model.CreateTopic{Topic: "a", Partitions: 2, ReplicationFactor: 2,
			Assignment: [][]int32{{1, 2}, {2, 3}}, Config: map[string]string{"k": "v", "x": "y"}}},
		{"add partitions", running, []string{"2", "down", "A", "backspace", "'6", "enter"}, model.AddPartitions{Topic: "orders", Total: 6}},
		{"delete the chosen topic", running, []string{"2", "down", "D", "'orders", "enter"}, model.DeleteTopic{Topic: "orders"}},
		{"delete a typed topic", running, []string{"D", "'clicks", "enter"}, model.DeleteTopic{Topic: "clicks"}},
		{"delete a partition's topic", running, []string{"3", "D", "'clicks", "enter"}, model.DeleteTopic{Topic: "clicks"}},
		{"reassign the chosen partition", running, []string{"3", "down", "R", "ctrl+u", "'3, 1", "enter"}, model.Reassign{TopicPartition: model.TP("clicks", 1), Target: []int32{3, 1}}},
		{"take a move back", offlineFrame(), []string{"R", "'orders-0", "enter"}, model.Reassign{TopicPartition: model.TP("orders", 0), Cancel: true}},
		{"reset", running, []string{"X", "y"}, model.ResetLab{}},
		{"inspect a topic", running, []string{"2", "enter"}, model.Inspect{Subject: model.Subject{Kind: model.TopicSubject, Topic: "clicks"}}},
		{"inspect a partition", running, []string{"3", "j", "enter"}, model.Inspect{Subject: model.Subject{Kind: model.PartitionSubject, Topic: "clicks", Partition: 1}}},
		{"inspect a replica", running, []string{"3", "end", "right", "right", "enter"}, model.Inspect{Subject: model.Subject{Kind: model.ReplicaSubject, Topic: "unclean", Broker: 2}}},
		{"inspect a broker", running, []string{"4", "end", "enter"}, model.Inspect{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 3}}},
		{"inspect a queued topic", paused(), []string{"5", "enter"}, model.Inspect{Subject: model.Subject{Kind: model.TopicSubject, Topic: "orders"}}},
		{"preview on all", running, []string{"E", "enter"}, model.PreviewElection{Strategy: model.OfflineStrategy}},
		{"preview on a topic", running, []string{"2", "E", "down", "enter"}, model.PreviewElection{Strategy: model.OfflineUncleanStrategy, Scope: model.Scope{Subject: model.Subject{Kind: model.TopicSubject, Topic: "clicks"}}}},
		{"preview on a partition's topic", running, []string{"3", "E", "3", "right", "enter"}, model.PreviewElection{Strategy: model.ReassignStrategy, Scope: model.Scope{Subject: model.Subject{Kind: model.TopicSubject, Topic: "clicks"}}}},
		{"preview on a broker", running, []string{"4", "E", "5", "enter"}, model.PreviewElection{Strategy: model.ControlledShutdownStrategy, Scope: model.Scope{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 1}}}},
		{"preview on all from a partition", running, []string{"3", "E", "4", "left", "enter"}, model.PreviewElection{Strategy: model.PreferredStrategy}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScreen(c.frame, 80, 24).typed(c.keys...)
			if len(s.commands) != 1 || !reflect.DeepEqual(s.commands[0], c.want) {
				t.Errorf("%v gives %#v, want %#v\n%s", c.keys, s.commands, c.want, s.text())
			}
			if _, isPreview := c.want.(model.PreviewElection); len(s.dialogs) != 0 && !isPreview {
				t.Errorf("the dialog stays open:\n%s", s.text())
			}
		})
	}
}

// A confirmed preview runs the same strategy on the same scope, but only the
// preview that was asked for.
func TestElectionIsPreviewedFirst(t *testing.T) {
	s := newScreen(offlineFrame(), 80, 24).typed("3", "E", "4", "enter")
	p := s.dialogs[1].(*preview)
	s.typed("enter")
	if len(s.commands) != 1 {
		t.Fatalf("an election ran without its preview: %#v", s.commands)
	}
	stale := previewFrame(p)
	stale.Preview.Strategy = model.ReassignStrategy
	s.setFrame(stale)
	s.typed("enter")
	other := previewFrame(p)
	other.Preview.Scope = model.Scope{}
	s.setFrame(other)
	s.typed("enter")
	if len(s.commands) != 1 || !strings.Contains(s.text(), "has not come yet") {
		t.Fatalf("an election ran on another preview: %#v\n%s", s.commands, s.text())
	}
	s.setFrame(previewFrame(p))
	if text := s.text(); !strings.Contains(text, "none → 3") || !strings.Contains(text, "ELIGIBLE_LEADERS_NOT_AVAILABLE") || !strings.Contains(text, "of 7 partitions the first 3: 2 would") {
		t.Errorf("the preview does not show what moves and what cannot:\n%s", text)
	}
	s.typed("enter")
	want := model.RunElection{Strategy: p.strategy, Scope: p.scope}
	if len(s.commands) != 2 || s.commands[1] != want || len(s.dialogs) != 0 {
		t.Errorf("commands %#v, want the second to be %#v", s.commands, want)
	}
	// The same preview asked for again must not take the old answer.
	s.typed("E", "4", "enter", "enter")
	if len(s.commands) != 3 {
		t.Errorf("an election ran on an old preview: %#v", s.commands)
	}
}

// A preview that is refused says so for as long as it is open.
func TestRefusedPreview(t *testing.T) {
	f := offlineFrame()
	f.Notices = []model.Notice{{Seq: 3, At: testNow, Level: model.Warn, Text: "an older notice"}}
	s := newScreen(f, 80, 24).typed("E", "enter")
	if strings.Contains(dialogText(s), "an older notice") {
		t.Errorf("an older notice is taken for the refusal:\n%s", s.text())
	}
	g := offlineFrame()
	g.Now += 2 * errorMillis
	g.Notices = append(f.Notices, model.Notice{Seq: 4, At: testNow, Level: model.Warn, Text: "refused: there is no controller to ask"})
	s.setFrame(g)
	if !strings.Contains(dialogText(s), "refused: there is no controller to ask") {
		t.Errorf("the refusal is not shown:\n%s", s.text())
	}
}

// In a read-only mode a preview is shown, and says why it cannot be run.
func TestPreviewInReadOnlyMode(t *testing.T) {
	f := offlineFrame()
	f.Mode, f.ReadOnly = model.ObserveMode, true
	s := newScreen(f, 80, 24).typed("E", "enter")
	g := previewFrame(s.dialogs[1].(*preview))
	g.Mode, g.ReadOnly = model.ObserveMode, true
	s.setFrame(g)
	s.typed("enter")
	if len(s.commands) != 1 || !strings.Contains(s.text(), "it cannot be run: observe mode is read only here") {
		t.Errorf("commands %#v\n%s", s.commands, s.text())
	}
}

// Every key that is disabled says why on the screen and gives no command.
func TestDisabledKeysSayWhy(t *testing.T) {
	observe := offlineFrame()
	observe.Mode, observe.ReadOnly, observe.Run = model.ObserveMode, true, model.Running
	control := labFrame()
	control.Mode = model.ControlMode
	tested := map[string]bool{}
	for _, c := range []struct {
		frame *model.Frame
		view  view
	}{{nil, graphsView}, {observe, graphsView}, {observe, topicsView}, {control, graphsView}, {control, requestsView}, {labFrame(), logView}} {
		probe := newScreen(c.frame, 80, 24)
		for i := range probe.keys {
			for _, key := range probe.keys[i].Keys() {
				s := newScreen(c.frame, 80, 24)
				s.show(c.view)
				why := s.keys[i].why(s.dashboard)
				if why == "" {
					continue
				}
				tested[key] = true
				s.typed(key)
				row := strings.Split(s.text(), "\n")[23]
				if !strings.Contains(row, firstWords(why)) || len(s.commands) != 0 || len(s.dialogs) != 0 {
					t.Errorf("%s in view %s: commands %v, last row %q, want %q", key, viewNames[c.view], s.commands, row, why)
				}
			}
		}
	}
	for _, b := range keyTable() {
		for _, k := range b.Keys() {
			if b.disabled != nil && !tested[k] {
				t.Errorf("%s is never disabled in this test", k)
			}
		}
	}
}

// Without topics or partitions nothing leads to the side, and no footer says so.
func TestNothingToTheSideOfNothing(t *testing.T) {
	for _, view := range []string{"2", "3"} {
		s := newScreen(emptyFrame(), 160, 50).typed(view)
		if text := s.text(); strings.Contains(text, "→ ") {
			t.Errorf("view %s offers it:\n%s", view, text)
		}
		if s.typed("right"); !strings.Contains(s.text(), "there is none to go to the side from") {
			t.Errorf("view %s does not say why:\n%s", view, s.text())
		}
	}
}

// firstWords is as much of a reason as surely fits on the last row.
func firstWords(s string) string { return s[:min(len(s), 40)] }

// A topic that comes into a deletion view without any is chosen, unless the
// operator has gone elsewhere.
func TestTheDeletionThatComesIsChosen(t *testing.T) {
	topic := model.Subject{Kind: model.TopicSubject, Topic: "orders"}
	s := newScreen(labFrame(), 80, 24).typed("5")
	s.setFrame(deletionFrame())
	if s.typed("w"); s.given() != model.Command(model.Explain{Subject: topic}) {
		t.Errorf("w gives %#v", s.given())
	}
	s = newScreen(labFrame(), 80, 24).typed("5", "end", "home")
	s.setFrame(deletionFrame())
	if s.typed("w"); s.given() != model.Command(model.Explain{Subject: model.Subject{Kind: model.ControllerSubject}}) {
		t.Errorf("on the heading that was gone to, w gives %#v", s.given())
	}
	s = newScreen(labFrame(), 80, 24).typed("5", "end", "5")
	s.setFrame(deletionFrame())
	if s.typed("enter"); s.given() != model.Command(model.Inspect{Subject: topic}) {
		t.Errorf("after the view was entered anew, enter gives %#v", s.given())
	}
}

// Every other key changes what is seen.
func TestKeysChangeTheScreen(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []string
		key    string
		has    string
	}{
		{"graphs", []string{"2"}, "1", "NonExistentReplica"},
		{"topics", nil, "2", "─ Topics ─"}, {"partitions", nil, "3", "─ Partitions ─"}, {"brokers", nil, "4", "─ Brokers ─"},
		{"deletion", nil, "5", "topicsIneligibleForDeletion"}, {"requests", nil, "6", "open batch of ReplicaStateMachine"},
		{"log", nil, "7", "─ Log ─"}, {"inspector", nil, "8", "Nothing chosen"},
		{"next view", nil, "tab", "─ Topics ─"}, {"previous view", nil, "shift+tab", "─ Inspector ─"},
		{"help", nil, "?", "hold at the next step, or continue"},
		{"notices", []string{"y"}, "N", "y is no key here"},
		{"back from the help", []string{"?"}, "esc", "NonExistentReplica"},
		{"back from the inspector", []string{"2", "enter"}, "esc", "─ Topics ─"},
		{"clear a filter", []string{"2", "/", "'ord", "enter"}, "esc", "clicks"},
		{"filter", []string{"2"}, "/", "enter keeps, esc clears"},
		{"right from a topic", []string{"2", "end"}, "right", "─ Partitions ─"},
		{"right in partitions", []string{"3"}, "right", "replica 1"},
		{"l in partitions", []string{"3", "right"}, "l", "replica 2"},
		{"left in partitions", []string{"3", "right", "right"}, "left", "replica 1"},
		{"h in the log", []string{"7", "right", "right"}, "h", "┌ picDeletion"},
		{"home in the log", []string{"7"}, "home", "     1 »"},
		{"g in the log", []string{"7"}, "g", "     1 »"},
		{"up in the log", []string{"7"}, "up", "scrolled back"},
		{"k in the log", []string{"7"}, "k", "scrolled back"},
		{"pgup in the log", []string{"7"}, "pgup", "scrolled back"},
		{"ctrl+b in the log", []string{"7"}, "ctrl+b", "scrolled back"},
		{"an unknown key", nil, "y", "is no key here"},
		{"create asks for a name", []string{"C"}, "enter", "topic name is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScreen(deletionFrame(), 80, 24).typed(c.before...)
			s.typed(c.key)
			if !strings.Contains(s.text(), c.has) {
				t.Errorf("after %v %s the screen does not show %q:\n%s", c.before, c.key, c.has, s.text())
			}
		})
	}
}

// Movement in lists: the cursor is where it should be.
func TestListMovement(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"down"}, "orders"}, {[]string{"j", "j"}, "unclean"}, {[]string{"end"}, "unclean"}, {[]string{"G"}, "unclean"}, {[]string{"end", "up"}, "orders"},
		{[]string{"end", "k", "k", "k"}, "clicks"}, {[]string{"end", "home"}, "clicks"}, {[]string{"pgdown"}, "unclean"}, {[]string{"ctrl+f", "pgup"}, "clicks"}, {[]string{"end", "g"}, "clicks"}, {[]string{"end", "ctrl+b"}, "clicks"},
	} {
		s := newScreen(labFrame(), 80, 24).typed("2")
		s.text()
		if s.typed(c.keys...); s.topics.cursor != c.want {
			t.Errorf("%v: the cursor is on %q, want %q", c.keys, s.topics.cursor, c.want)
		}
	}
}

func TestQuitKeys(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		if s := newScreen(labFrame(), 80, 24); s.press(keyPress(key)) == nil {
			t.Errorf("%s does not quit", key)
		}
		f := labFrame()
		f.Mode = model.ControlMode
		s := newScreen(f, 80, 24)
		if s.press(keyPress(key)) != nil || !strings.Contains(s.text(), "resign") {
			t.Errorf("%s quits control mode without saying that it resigns", key)
		}
		if s.press(keyPress("esc")) != nil || len(s.dialogs) != 0 {
			t.Errorf("esc does not stay")
		}
		s.press(keyPress(key))
		if s.press(keyPress("enter")) == nil {
			t.Errorf("%s and enter do not quit control mode", key)
		}
	}
	// From within a dialog, too.
	if s := newScreen(labFrame(), 80, 24).typed("C"); s.press(keyPress("ctrl+c")) == nil {
		t.Error("ctrl+c in a dialog does not quit")
	}
}

func TestSuspendAndRedraw(t *testing.T) {
	if s := newScreen(labFrame(), 80, 24); s.press(keyPress("ctrl+z")) == nil || s.press(keyPress("ctrl+l")) == nil {
		t.Error("ctrl+z or ctrl+l do nothing in the lab")
	}
}

// The position is that of the frame on the screen, also when frames come fast.
func TestStepCarriesThePositionSeen(t *testing.T) {
	s := newScreen(paused(), 80, 24).typed("t")
	next := paused()
	next.Position = 4712
	s.setFrame(next)
	s.typed("t")
	if s.commands[0].(model.StepBy).Position != 4711 || s.commands[1].(model.StepBy).Position != 4712 {
		t.Errorf("commands %#v", s.commands)
	}
}

func TestFormsRefuse(t *testing.T) {
	for _, c := range []struct {
		keys []string
		says string
	}{
		{[]string{"C", "'sp ace", "enter"}, "sp ace"},
		{[]string{"C", "'orders", "enter"}, "topic orders exists already"},
		{[]string{"C", "'a", "tab", "ctrl+u", "'0", "enter"}, "partitions must be a number of at least 1"},
		{[]string{"C", "'a", "tab", "tab", "ctrl+u", "'x", "enter"}, "replication factor must be a number"},
		{[]string{"C", "'a", "tab", "tab", "tab", "'1,1", "enter"}, "broker 1 is twice in 1,1"},
		{[]string{"C", "'a", "tab", "tab", "tab", "'1,2;3", "enter"}, "they must be"},
		{[]string{"C", "'a", "up", "'novalue", "enter"}, "is not key=value"},
		{[]string{"A", "'nope", "enter"}, "no topic is called nope"},
		{[]string{"2", "down", "A", "ctrl+u", "'3", "enter"}, "number of at least 4"},
		{[]string{"2", "down", "D", "'order", "enter"}, "that is not orders"},
		{[]string{"D", "enter"}, "a topic is needed"},
		{[]string{"R", "'orders", "enter"}, "is not topic-partition"},
		{[]string{"R", "'orders-9", "tab", "'1", "enter"}, "there is no partition orders-9"},
		{[]string{"R", "'orders-0", "enter"}, "brokers are needed"},
		{[]string{"R", "'orders-0", "tab", "'1,x", "enter"}, "is no broker id"},
		{[]string{"K", "'9", "enter"}, "there is no broker 9"},
		{[]string{"K", "enter"}, "is no broker id"},
		{[]string{"S", "ctrl+u", "'1", "enter"}, "broker 1 is live"},
	} {
		s := newScreen(labFrame(), 80, 24).typed(c.keys...)
		if len(s.commands) != 0 || !strings.Contains(s.text(), c.says) {
			t.Errorf("%v: commands %#v, want the form to say %q:\n%s", c.keys, s.commands, c.says, s.text())
		}
		if s.typed("esc"); len(s.dialogs) != 0 {
			t.Errorf("%v: esc does not close the form", c.keys)
		}
	}
}

func TestPasteIntoAForm(t *testing.T) {
	s := newScreen(labFrame(), 80, 24).typed("D")
	s.paste("clicks\n")
	s.typed("enter")
	if len(s.commands) != 1 || s.commands[0] != (model.DeleteTopic{Topic: "clicks"}) {
		t.Errorf("commands %#v", s.commands)
	}
	s = newScreen(labFrame(), 80, 24).typed("2", "/")
	s.paste("ord")
	if s.text(); s.topics.filter.text != "ord" {
		t.Errorf("the filter is %q", s.topics.filter.text)
	}
}

// Before the first frame no key does harm.
func TestKeysWithoutAFrame(t *testing.T) {
	for _, b := range keyTable() {
		for _, k := range b.Keys() {
			s := newScreen(nil, 80, 24).typed("5", k, "esc")
			if len(s.commands) != 0 {
				t.Errorf("%s gives %v", k, s.commands)
			}
			s.draw()
		}
	}
}
