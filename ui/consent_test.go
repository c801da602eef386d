package ui

import (
	"reflect"
	"strings"
	"testing"

	"kstate/model"
)

// adminFrame is the sample cluster in admin mode.
func adminFrame() *model.Frame {
	f := labFrame()
	f.Mode, f.ReadOnly = model.AdminMode, false
	return f
}

// samplePlan deletes orders.
func samplePlan(number uint64) *model.Plan {
	return &model.Plan{Number: number, What: "delete topic orders", Source: "zk:2181/kafka", ClusterID: "abcdefghijklmnopqrstuv", Confirm: "orders",
		Writes: []model.PlannedWrite{{Op: model.Op{Kind: model.OpCheck, Path: "/brokers/topics/orders", Version: 7}},
			{Op: model.Op{Kind: model.OpCreate, Path: "/admin/delete_topics/orders"}, Before: model.Znode{Missing: true}, ACL: "world:anyone:cdrwa"}},
		Checks:   []model.PlanCheck{{What: "topic orders exists", OK: true, Saw: "3 partitions"}},
		Warnings: []string{"the topic's records are lost, on all brokers"}, Follow: "the marker"}
}

// with is a frame with a plan, and what has come of it.
func with(f *model.Frame, p *model.Plan, out *model.PlanProgress) *model.Frame {
	g := *f
	g.Plan, g.Outcome = p, out
	return &g
}

func TestConsentIsTyped(t *testing.T) {
	f := adminFrame()
	f.Plan = samplePlan(1) // of an earlier change: not the answer
	s := newScreen(f, 80, 24).typed("2", "down", "D", "enter")
	if want := (model.DeleteTopic{Topic: "orders"}); len(s.commands) != 1 || s.commands[0] != want {
		t.Fatalf("commands %#v, want %#v", s.commands, want)
	}
	if text := s.text(); !strings.Contains(text, "reading what the plan needs") || strings.Contains(text, "To write this") {
		t.Fatalf("an old plan is taken for the answer:\n%s", text)
	}
	s.typed("'orders", "enter")
	plan := samplePlan(2)
	s.setFrame(with(f, plan, nil))
	golden(t, "consent80x24", s.text())
	s.typed("'order", "enter")
	if text := s.text(); len(s.commands) != 1 || !strings.Contains(text, "That is not orders.") {
		t.Fatalf("commands %#v after a wrong name:\n%s", s.commands, text)
	}
	s.typed("'s", "enter", "enter")
	if want := (model.Consent{Number: 2, Typed: "orders"}); len(s.commands) != 2 || s.commands[1] != want {
		t.Fatalf("commands %#v, want the second to be %#v", s.commands, want)
	}
}

func TestTheOutcomeIsShown(t *testing.T) {
	f := adminFrame()
	s := newScreen(f, 160, 50).typed("2", "down", "D", "enter")
	s.setFrame(with(f, samplePlan(2), nil))
	s.typed("'orders", "enter")
	if !strings.Contains(s.text(), "writing …") {
		t.Errorf("nothing is said after consent:\n%s", s.text())
	}
	other := &model.PlanProgress{Number: 1, Lines: []model.PlanLine{{At: testNow, Text: "of another"}}}
	s.setFrame(with(f, s.frame.Plan, other))
	if strings.Contains(s.text(), "of another") {
		t.Error("the progress of another plan is shown")
	}
	s.setFrame(with(f, s.frame.Plan, &model.PlanProgress{Number: 2, State: "waiting", Lines: []model.PlanLine{{At: testNow, Text: "written"}, {At: testNow, Text: "waiting: waits for broker 2"}}}))
	if text := s.text(); !strings.Contains(text, "waiting: waits for broker 2") || !strings.Contains(text, "goes on watching") {
		t.Errorf("the progress is not shown:\n%s", text)
	}
	s.setFrame(with(f, s.frame.Plan, &model.PlanProgress{Number: 2, State: "done", Done: true, Lines: []model.PlanLine{{At: testNow, Text: "done: gone"}}}))
	if text := s.text(); !strings.Contains(text, "done: gone") || strings.Contains(text, "goes on watching") {
		t.Errorf("the end is not shown:\n%s", text)
	}
	n := len(s.commands)
	s.typed("esc")
	if len(s.dialogs) != 0 || len(s.commands) != n {
		t.Errorf("esc at the end gives %#v, %d dialogs", s.commands[n:], len(s.dialogs))
	}
}

func TestWhatCannotBeConsentedTo(t *testing.T) {
	refused, nothing := samplePlan(2), samplePlan(2)
	refused.Checks[0] = model.PlanCheck{What: "no deletion is under way", Saw: "/admin/delete_topics/orders is there"}
	nothing.Nothing = "it is so already"
	for _, p := range []*model.Plan{refused, nothing} {
		f := adminFrame()
		s := newScreen(f, 80, 24).typed("2", "down", "D", "enter")
		s.setFrame(with(f, p, nil))
		text := s.text()
		if !strings.Contains(text, "Refused: required is that no deletion is under way") && !strings.Contains(text, "There is nothing to do.") {
			t.Errorf("it is not said why:\n%s", text)
		}
		if s.typed("'orders", "enter"); len(s.commands) != 1 || len(s.dialogs) != 0 {
			t.Errorf("commands %#v, %d dialogs", s.commands, len(s.dialogs))
		}
	}
}

// What the keys of admin mode give, up to consent or its refusal.
func TestAdminKeys(t *testing.T) {
	partition := model.Subject{Kind: model.PartitionSubject, Topic: "clicks"}
	for _, c := range []struct {
		keys []string
		want model.Command
	}{
		{[]string{"C", "'new", "tab", "'2", "enter"}, model.CreateTopic{Topic: "new", Partitions: 2, ReplicationFactor: 1}},
		{[]string{"2", "down", "A", "enter"}, model.AddPartitions{Topic: "orders", Total: 4}},
		{[]string{"3", "R", "'3,1", "enter"}, model.Reassign{TopicPartition: model.TP("clicks", 0), Target: []int32{3, 1}}},
		{[]string{"3", "E", "enter"}, model.RunElection{Strategy: model.PreferredStrategy, Scope: model.Scope{Subject: partition}}},
		{[]string{"E", "2", "enter"}, model.RunElection{Strategy: model.OfflineUncleanStrategy}},
		{[]string{"M", "enter"}, model.MoveController{}},
	} {
		f := adminFrame()
		s := newScreen(f, 80, 24).typed(c.keys...)
		if len(s.commands) != 1 || !reflect.DeepEqual(s.commands[0], c.want) || len(s.dialogs) != 1 {
			t.Errorf("%v gives %#v, want %#v and a dialog:\n%s", c.keys, s.commands, c.want, s.text())
			continue
		}
		s.setFrame(with(f, samplePlan(5), nil))
		s.typed("esc")
		if len(s.commands) != 2 || s.commands[1] != (model.Withdraw{Number: 5}) || len(s.dialogs) != 0 {
			t.Errorf("%v and esc gives %#v", c.keys, s.commands)
		}
	}
	for _, f := range []*model.Frame{labFrame(), disconnectedFrame()} {
		if s := newScreen(f, 80, 24).typed("M", "enter"); len(s.commands) != 0 {
			t.Errorf("%s mode: M gives %#v", f.Mode, s.commands)
		}
	}
	s := newScreen(adminFrame(), 80, 24).typed("space", "e", "K", "X")
	if len(s.commands) != 0 || len(s.dialogs) != 0 || !strings.Contains(s.text(), "only the lab") {
		t.Errorf("admin mode takes keys of the lab: %#v\n%s", s.commands, s.text())
	}
}

// A plan that is refused before it is made says why in its pane.
func TestNoPlanComes(t *testing.T) {
	f := adminFrame()
	s := newScreen(f, 80, 24).typed("E", "1", "enter")
	g := *f
	g.Notices = []model.Notice{{Seq: 1, At: testNow, Level: model.Error, Text: "no plan: an offline election cannot be asked for"}}
	s.setFrame(&g)
	if text := dialogText(s); !strings.Contains(text, "an offline election cannot be asked for") {
		t.Errorf("the pane does not say why:\n%s", s.text())
	}
	if s.typed("esc"); len(s.dialogs) != 0 || len(s.commands) != 1 {
		t.Errorf("commands %#v", s.commands)
	}
}
