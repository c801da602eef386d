package ui

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"kstate/model"
)

// blocked explains a topic whose deletion waits for a broker.
func blocked() *model.Explanation {
	version := int32(4)
	znode := func(path, says string) model.Evidence {
		return model.Evidence{Path: path, Version: &version, Says: says}
	}
	return &model.Explanation{Subject: model.Subject{Kind: model.TopicSubject, Topic: "orders"}, Kind: "topic", Name: "orders", Found: true, Memory: true,
		State: "waiting", Answer: "its deletion does not go on: offline-replica", IneligibleReasons: []model.IneligibleReason{model.OfflineReplicas}, BlockedBy: []string{"broker:3"},
		Causes: []model.Cause{
			{What: "offline-replica", Subject: "broker 3 is not registered", Holds: true, BlockedBy: []string{"broker:3"}, Evidence: []model.Evidence{
				{Path: "/brokers/ids/3", Missing: true, Says: "broker 3 is not registered"}, znode("/brokers/topics/orders", "broker 3 has a replica of partitions 0,1,2"),
				{Says: "replica orders-0@3 is OfflineReplica"}},
				Resumes: []string{"broker 3 registers; an id that is gone for good can be given to any empty broker", "another controller takes over after the topic znode was written without broker 3"}},
			{What: "reassignment-in-progress", Subject: "orders-1 is being reassigned", Evidence: []model.Evidence{znode("/brokers/topics/orders", "partition 1: adding 3, removing 1")}},
		},
		Facts:    []model.Evidence{znode("/admin/delete_topics/orders", "the request to delete it"), {Says: "orders is in topicsToBeDeleted"}},
		NotKnown: []string{"what the brokers' server.properties say"}}
}

// tables explain a partition and the leadership.
func tables() (partition, leadership *model.Explanation) {
	no := false
	partition = &model.Explanation{Subject: ordersOne, Kind: "partition", Name: "orders-1", State: "OnlinePartition", Answer: "OnlinePartition: available, led by broker 1 (leadership preferred)",
		Replicas: []model.ReplicaVerdict{{Broker: 1, Live: true, ShuttingDown: &no, OfflineDir: &no, InISR: true, Clean: true, Leader: true, State: "OnlineReplica"},
			{Broker: 2, State: "OfflineReplica", ShuttingDown: &no}}}
	leadership = &model.Explanation{Subject: model.Subject{Kind: model.LeadershipSubject}, Kind: "leadership", State: "imbalanced", Found: true,
		Answer:  "4 of 12 partitions led by another than the preferred replica; 1 broker over the balancer's limit",
		Balance: []model.BrokerBalance{{Broker: 1, Live: true, Preferring: 4, Elsewhere: 4, Percent: 100, Acts: true, Elects: []string{"t-0"}}, {Broker: 2, Live: true, Leads: 8, Preferring: 4}}}
	return partition, leadership
}

func TestWhyPane(t *testing.T) {
	partition, leadership := tables()
	for _, size := range sizes {
		var b strings.Builder
		for _, e := range []*model.Explanation{nil, blocked(), partition, leadership} {
			f := deletionFrame()
			s := newScreen(f, size.w, size.h)
			subject := model.Subject{Kind: model.TopicSubject, Topic: "orders"}
			if e != nil {
				subject = e.Subject
			}
			s.explainSubject(subject)
			g := deletionFrame()
			g.Explanation = e
			s.setFrame(g)
			rows := strings.Split(s.text(), "\n")
			fmt.Fprintf(&b, "%s\n%s\n", subjectName(subject), strings.Join(rows[:size.h-1], "\n")) // but for the footer
		}
		golden(t, fmt.Sprintf("why_%dx%d", size.w, size.h), b.String())
	}
}

func TestWhyKeys(t *testing.T) {
	topic := model.Subject{Kind: model.TopicSubject, Topic: "clicks"}
	for _, c := range []struct {
		keys []string
		want []model.Command
		has  string
	}{
		{[]string{"2", "w"}, []model.Command{model.Explain{Subject: topic}}, "─ Why ─ topic clicks"},
		{[]string{"2", "w", "w"}, []model.Command{model.Explain{Subject: topic}, model.Explain{}, model.Inspect{Subject: topic}}, "─ Inspector ─ topic clicks"},
		{[]string{"2", "enter", "w"}, []model.Command{model.Inspect{Subject: topic}, model.Explain{Subject: topic}}, "─ Why ─"},
		{[]string{"w"}, []model.Command{model.Explain{Subject: model.Subject{Kind: model.ControllerSubject}}}, "─ Why ─ controller"},
		{[]string{"w", "w"}, []model.Command{model.Explain{Subject: model.Subject{Kind: model.ControllerSubject}}, model.Explain{}, model.Inspect{}}, "NonExistentReplica"},
		{[]string{"4", "W"}, []model.Command{model.Explain{Subject: model.Subject{Kind: model.LeadershipSubject}}}, "─ Why ─ leadership"},
		{[]string{"4", "w", "esc"}, []model.Command{model.Explain{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 1}}, model.Explain{}, model.Inspect{}}, "─ Brokers ─"},
		{[]string{"8", "w"}, nil, "choose a topic"},
	} {
		s := newScreen(deletionFrame(), 100, 30).typed(c.keys...)
		if !reflect.DeepEqual(s.commands, c.want) || !strings.Contains(s.text(), c.has) {
			t.Errorf("%v: commands %#v, want %#v, and %q in\n%s", c.keys, s.commands, c.want, c.has, s.text())
		}
	}
}

// The footer says where the key goes: the explanation of the controller has no memory
// behind it, and a second 8 shows the controller as while nothing is inspected.
func TestFromTheExplanationOfTheController(t *testing.T) {
	footer := func(s *screen) string {
		rows := strings.Split(strings.TrimRight(s.text(), "\n"), "\n")
		return rows[len(rows)-1]
	}
	s := newScreen(deletionFrame(), 160, 50).typed("w")
	if got := footer(s); !strings.Contains(got, "w back") || strings.Contains(got, "w memory") {
		t.Errorf("of the controller: %q", got)
	}
	if got := footer(newScreen(deletionFrame(), 160, 50).typed("2", "w")); !strings.Contains(got, "w memory") {
		t.Errorf("of a topic: %q", got)
	}
	if text := s.typed("8").text(); strings.Contains(text, "─ Why ─") || s.inspector.subject.Kind != model.NoSubject {
		t.Errorf("8 in the inspector leaves %v:\n%s", s.inspector.subject, text)
	}
}

// An explanation that esc left is gone: neither 8 nor the column of a wide screen
// shows it. What was inspected is there still.
func TestLeavingAnExplanation(t *testing.T) {
	for _, size := range sizes {
		for _, keys := range [][]string{{"w"}, {"2", "w"}, {"5", "w"}, {"4", "W"}, {"2", "enter", "w"}} {
			s := newScreen(deletionFrame(), size.w, size.h).typed(keys...).typed("esc")
			if text := s.text(); strings.Contains(text, "─ Why ─") || s.view == inspectorView || s.side == inspectorView {
				t.Errorf("%v esc at %dx%d leaves the explanation there:\n%s", keys, size.w, size.h, text)
			}
			if text := s.typed("8").text(); !strings.Contains(text, "─ Inspector ─") || s.inspector.why || s.inspector.subject.Kind != model.NoSubject {
				t.Errorf("%v esc 8 at %dx%d shows %v:\n%s", keys, size.w, size.h, s.inspector.subject, text)
			}
		}
		s := newScreen(deletionFrame(), size.w, size.h).typed("2", "enter", "esc")
		if s.side != topicsView {
			t.Errorf("beside the graphs of %dx%d stands %s after the inspector was left", size.w, size.h, viewNames[s.side])
		}
		if text := s.typed("1", "8").text(); !strings.Contains(text, "─ Inspector ─ topic clicks") {
			t.Errorf("what was inspected is gone:\n%s", text)
		}
	}
}

// An explanation of something else is not shown as that of the subject.
func TestExplanationOfAnotherSubject(t *testing.T) {
	f := deletionFrame()
	f.Explanation = blocked()
	s := newScreen(f, 80, 24).typed("2", "w")
	if text := s.text(); !strings.Contains(text, "asking why") || strings.Contains(text, "offline-replica:") {
		t.Errorf("another subject's explanation is shown:\n%s", text)
	}
}

// A long explanation is scrolled, and what is below is counted.
func TestWhyScrolls(t *testing.T) {
	f := deletionFrame()
	f.Explanation = blocked()
	s := newScreen(f, 60, 16)
	s.explainSubject(f.Explanation.Subject)
	if !strings.Contains(s.text(), "more lines") {
		t.Fatalf("nothing says that there is more:\n%s", s.text())
	}
	s.typed("end")
	if text := s.text(); !strings.Contains(text, "server.properties") || strings.Contains(text, "more lines") {
		t.Errorf("the end is not shown:\n%s", text)
	}
	checkOutside(t, "why", s.draw(), 60, 16)
}

// No row is wider than the terminal, whatever the size and the names.
func TestWhyStaysInside(t *testing.T) {
	odd := blocked()
	odd.Name = "naïve\x1b[31m\u202e漢字\t" + strings.Repeat("long", 60)
	odd.Subject.Topic = odd.Name
	for i := range odd.Causes {
		odd.Causes[i].Subject += " " + odd.Name
	}
	partition, leadership := tables()
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		w, h := minWidth+r.IntN(140), minHeight+r.IntN(45)
		for _, e := range []*model.Explanation{odd, partition, leadership} {
			f := deletionFrame()
			f.Explanation = e
			s := newScreen(f, w, h)
			s.explainSubject(e.Subject)
			for range r.IntN(4) {
				s.typed([]string{"down", "pgdown", "end", "right", "up"}[r.IntN(5)])
			}
			checkOutside(t, fmt.Sprintf("%s at %dx%d", e.Kind, w, h), s.draw(), w, h)
		}
	}
}
