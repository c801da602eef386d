package ui

import (
	"fmt"
	"strings"
	"testing"

	"kstate/model"
)

// scenarioFrame is a lab that plays a scenario and rests at a fenced write, with a
// fault armed and an answer held.
func scenarioFrame() *model.Frame {
	f := inspectedFrame()
	f.Scenario = &model.Scenario{Name: "deletion-dead-broker", Title: "A deletion that waits", Goal: "Get the deletion of topic orders through although it waits for broker 3",
		Teaches: []string{"A topic with a replica on a dead broker is ineligible"}, Hints: []string{"Press 5", "Start broker 3 (S)"}, Solution: []string{"start broker 3", "expect eventually topic orders absent"},
		Goals: []model.GoalCheck{{Text: "expect topic orders absent", Found: "exists"}, {Text: "expect broker 3 live", Holds: true, Found: "live"}}}
	f.Faults = []model.ArmedFault{{ID: 4, Seen: 1, Fault: model.Fault{Match: model.FaultMatch{At: model.AtOp, Op: model.AnyWrite, Path: "/admin/*", Nth: 2}, Effect: model.FaultEffect{Kind: model.LostAfter}}}}
	f.Held = []model.HeldAnswer{{Broker: 2, Request: "StopReplica orders-0 epoch=-2 delete", Since: testNow - 900}}
	f.Settings = []model.SettingValue{{Name: "unclean.leader.election.enable", Value: "false"}, {Name: "delete.topic.enable", Value: "true", AtStart: true}}
	f.Brokers[1].Conduct = "silent"
	return f
}

// A scenario of one's own may be a demonstration without a goal.
func TestAScenarioWithoutAGoal(t *testing.T) {
	f := scenarioFrame()
	f.Scenario.Goal, f.Scenario.Goals = "", nil
	if text := newScreen(f, 80, 24).text(); !strings.Contains(text, "Scenario: A deletion that waits") || strings.Contains(text, "Goal:") {
		t.Errorf("with a title only:\n%s", text)
	}
	f.Scenario.Title = ""
	if text := newScreen(f, 80, 24).text(); !strings.Contains(text, "Scenario: deletion-dead-broker") {
		t.Errorf("with neither:\n%s", text)
	}
}

// The goal costs neither the row of the views nor a graph, nor is it lost itself,
// whatever is said of it and whatever the view.
func TestTheGoalTakesNothingsPlace(t *testing.T) {
	for _, size := range []struct{ w, h int }{{60, 16}, {80, 24}, {100, 30}, {160, 50}} {
		for said, change := range map[string]func(*model.Scenario){"Goal: ": func(*model.Scenario) {}, "Being brought about: ": func(s *model.Scenario) { s.Doing = "kill broker 3" },
			"✓ Goal reached: ": func(s *model.Scenario) { s.Reached = true }, "The situation did not come about: ": func(s *model.Scenario) { s.Failed = "line 3" }} {
			for v := range viewCount {
				f := scenarioFrame()
				change(f.Scenario)
				s := newScreen(f, size.w, size.h)
				s.show(v)
				text := s.text()
				rows := strings.Split(text, "\n")
				names := strings.FieldsFunc(strings.TrimSpace(rows[1]), func(r rune) bool { return r == ' ' || r >= '1' && r <= '8' })
				if len(names) != int(viewCount) || strings.Contains(rows[1], ellipsis) || !strings.HasPrefix(rows[2], said) || !strings.HasSuffix(rows[2], "H more") {
					t.Errorf("%dx%d, view %s: the views, or %q, are not there:\n%s", size.w, size.h, viewNames[v], said, text)
				}
				if v == graphsView && size.w >= 80 {
					states, legal := legalEdges(model.ReplicaGraph)
					checkEdges(t, drawnEdges(t, gridOf(text), states), legal, 14)
					states, legal = legalEdges(model.PartitionGraph)
					checkEdges(t, drawnEdges(t, gridOf(text), states), legal, 8)
				}
			}
		}
	}
}

func TestTheScreenOfAScenario(t *testing.T) {
	for _, size := range []struct{ w, h int }{{60, 16}, {80, 24}, {160, 50}} {
		var b strings.Builder
		s := newScreen(scenarioFrame(), size.w, size.h)
		fmt.Fprintf(&b, "graphs\n%s\n", s.text())
		fmt.Fprintf(&b, "topics\n%s\n", s.typed("2").text())
		for _, keys := range [][]string{{"H"}, {"H", "h", "s"}, {"F"}, {"4", "down", "Z"}, {"2", "O"}, {"U"}} {
			fmt.Fprintf(&b, "%v\n%s\n", keys, newScreen(scenarioFrame(), size.w, size.h).typed(keys...).text())
		}
		send := scenarioFrame()
		send.At = &model.Send{Broker: 2, Request: &model.StopReplicaRequest{Entries: []model.StopReplicaEntry{{TopicPartition: model.TP("orders", 0), Delete: true}}}}
		fmt.Fprintf(&b, "F at a request\n%s\n", newScreen(send, size.w, size.h).typed("F").text())
		for _, change := range []func(*model.Scenario){func(s *model.Scenario) { s.Reached = true }, func(s *model.Scenario) { s.Doing = "kill broker 3" }, func(s *model.Scenario) { s.Failed = "line 3: kill broker 9: there is no broker 9" }} {
			f := scenarioFrame()
			change(f.Scenario)
			fmt.Fprintf(&b, "banner\n%s\n", strings.Join(strings.Split(newScreen(f, size.w, size.h).typed("2").text(), "\n")[1:4], "\n"))
		}
		golden(t, fmt.Sprintf("scenario_%dx%d", size.w, size.h), b.String())
	}
}

// The dialog of faults arms one for the step that the operator saw.
func TestAFaultByKey(t *testing.T) {
	s := newScreen(scenarioFrame(), 80, 24).typed("F", "enter")
	want := model.InjectFault{Position: s.frame.Position, Fault: model.Fault{
		Match:  model.FaultMatch{At: model.AtOp, Op: model.SetOp, Path: "/brokers/topics/orders/partitions/1/state", Nth: 1},
		Effect: model.FaultEffect{Kind: model.AnswerCode, Code: model.CodeBadVersion}}}
	if got := s.given(); got != model.Command(want) {
		t.Errorf("%#v", got)
	}
	s = newScreen(scenarioFrame(), 80, 24).typed("F", "end", "enter")
	if got := s.given(); got != model.Command(model.ClearFault{ID: 4}) {
		t.Errorf("the last choice: %#v", got)
	}
	s = newScreen(scenarioFrame(), 80, 24).typed("F", "end", "up", "enter")
	if got := s.given(); got != model.Command(model.ReleaseAnswers{Broker: 2}) {
		t.Errorf("the last but one: %#v", got)
	}
	f := scenarioFrame()
	f.Run = model.Running
	if got := newScreen(f, 80, 24).typed("F", "enter").given(); got != model.Command(model.InjectFault{Fault: model.Fault{
		Match: model.FaultMatch{At: model.AtOp, Op: model.AnyWrite, Path: "*", Nth: 1}, Effect: model.FaultEffect{Kind: model.AnswerCode, Code: model.CodeBadVersion}}}) {
		t.Errorf("of a controller that runs: %#v", got)
	}
	f.Mode, f.NoFaults = model.ControlMode, "not without --allow-faults"
	if s := newScreen(f, 80, 24).typed("F"); !strings.Contains(s.text(), "not without --allow-faults") || len(s.dialogs) != 0 {
		t.Errorf("faults where none may be:\n%s", s.text())
	}
	f.NoFaults, f.Run = "", model.Paused
	s = newScreen(f, 160, 50).typed("F")
	if text := s.text(); strings.Contains(text, "lost before") || !strings.Contains(text, "session expires") || !strings.Contains(text, "fence fails") {
		t.Errorf("the lab's faults in control mode:\n%s", text)
	}
}

func TestMishapsAndSettingsByKey(t *testing.T) {
	if got := newScreen(scenarioFrame(), 80, 24).typed("4", "down", "Z", "enter").given(); got != model.Command(model.HealBroker{Broker: 2}) {
		t.Errorf("%#v", got)
	}
	if got := newScreen(scenarioFrame(), 80, 24).typed("1", "Z", "enter").given(); got != model.Command(model.ExpireSession{Broker: -1}) {
		t.Errorf("%#v", got)
	}
	s := newScreen(scenarioFrame(), 80, 24).typed("Z", "end", "up", "enter", "'/a/", "tab", "'{}", "enter")
	if len(s.dialogs) != 1 || s.given() != nil || !strings.Contains(s.text(), "begins with / and does not end in it") {
		t.Fatalf("a path that ends in /:\n%s", s.text())
	}
	s.typed("shift+tab", "backspace", "enter")
	if got, ok := s.given().(model.WriteZnode); !ok || got.Path != "/a" || string(got.Data) != "{}" || got.Delete {
		t.Errorf("%#v", s.given())
	}
	s = newScreen(scenarioFrame(), 80, 24).typed("Z", "end", "enter", "'/a", "enter")
	if got, ok := s.given().(model.WriteZnode); !ok || got.Path != "/a" || !got.Delete {
		t.Errorf("%#v", s.given())
	}
	if got := newScreen(scenarioFrame(), 80, 24).typed("O", "enter").given(); got != model.Command(model.ChangeSetting{Name: "unclean.leader.election.enable", Value: "true"}) {
		t.Errorf("%#v", got)
	}
	s = newScreen(scenarioFrame(), 80, 24).typed("2", "down", "O", "end", "enter")
	if len(s.dialogs) != 1 || !strings.Contains(s.text(), "orders") {
		t.Fatalf("no form for another setting:\n%s", s.text())
	}
	s.typed("'ret", "tab", "'5", "enter")
	if got := s.given(); got != model.Command(model.ChangeSetting{Topic: "orders", Name: "ret", Value: "5"}) {
		t.Errorf("%#v", got)
	}
	if got := newScreen(scenarioFrame(), 80, 24).typed("U", "'move", "enter").given(); got != model.Command(model.RunUntil{Step: "move"}) {
		t.Errorf("%#v", got)
	}
}

// What no machine allows is offered for the chosen partition or replica, to see it
// refused, and nothing that is allowed.
func TestForcedTransitionsByKey(t *testing.T) {
	for _, keys := range [][]string{{"3", "Z"}, {"3", "right", "Z"}} {
		s := newScreen(scenarioFrame(), 160, 50).typed(keys...)
		text := s.text()
		if !strings.Contains(text, "to NonExistentPartition") || strings.Contains(text, "to OfflinePartition") || strings.Contains(text, "to NonExistentReplica") != (len(keys) == 3) {
			t.Errorf("%v:\n%s", keys, text)
		}
	}
	s := newScreen(scenarioFrame(), 160, 50).typed("3", "Z", "enter")
	if c, ok := s.given().(model.ForceMove); !ok || !c.Illegal(s.frame.View) {
		t.Errorf("%#v", s.given())
	}
}

// given is the last command, nil when none was given.
func (s *screen) given() model.Command {
	if len(s.commands) == 0 {
		return nil
	}
	return s.commands[len(s.commands)-1]
}

// The inspector of a lab's broker shows its disk.
func TestTheDiskOfABroker(t *testing.T) {
	f := labFrame()
	f.Inspection = &model.Inspection{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 2}, At: testNow, Dirs: []model.LogDir{
		{Path: "/lab/broker-2/0", Logs: []model.TopicPartition{model.TP("clicks", 0)}, Deleting: []string{"orders-0.00000000000000000000000000000001-delete"}},
		{Path: "/lab/broker-2/1", Failed: true}}}
	s := newScreen(f, 160, 50)
	s.inspector.choose(f.Inspection.Subject)
	s.show(inspectorView)
	for _, want := range []string{"log directories", "/lab/broker-2/0", "  clicks-0", "orders-0.00000000000000000000000000000001-delete", "/lab/broker-2/1 failed"} {
		if !strings.Contains(s.text(), want) {
			t.Errorf("%q is not there:\n%s", want, s.text())
		}
	}
}
