package explain

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

// golden holds what is shown against what was.
func golden(t *testing.T, name, have string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != have {
		t.Errorf("%s differs (%v); -update writes it anew. Now:\n%s", path, err, have)
	}
}

func TestTexts(t *testing.T) {
	for _, x := range []struct {
		report string
		kind   model.SubjectKind
		name   string
	}{
		{"01", model.TopicSubject, "orders"}, {"07", model.TopicSubject, "moved"}, {"11", model.TopicSubject, "keepme"},
		{"12", model.TopicSubject, "ghost"}, {"14", model.TopicSubject, "blank"}, {"17", model.TopicSubject, "scratch"}, {"20", model.TopicSubject, "payments"},
		{"20", model.PartitionSubject, "payments-0"}, {"20", model.PartitionSubject, "payments-2"}, {"21", model.PartitionSubject, "events-0"},
		{"33", model.PartitionSubject, "ledger-0"}, {"37", model.PartitionSubject, "t-0"}, {"62", model.PartitionSubject, "stuck-0"}, {"62", model.PartitionSubject, "stuck-1"},
		{"69", model.PartitionSubject, "t-0"}, {"20", model.ReplicaSubject, "payments-0@1"}, {"30", model.BrokerSubject, "10"}, {"04", model.BrokerSubject, "9"},
		{"35", model.LeadershipSubject, ""}, {"17", model.ControllerSubject, ""}, {"40", model.ControllerSubject, ""},
	} {
		t.Run(x.report+x.kind.String(), func(t *testing.T) {
			r := reportNamed(t, x.report)
			var b strings.Builder
			if err := WriteText(&b, explain(t, OfTree(r.survey), x.kind, x.name), 0); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.Trim(x.report+"-"+x.kind.String()+"-"+x.name, "-")+".txt", b.String())
		})
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := WriteJSON(&b, explain(t, OfTree(reportNamed(t, "69").survey), model.PartitionSubject, "t-0")); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&b, explain(t, OfTree(reportNamed(t, "35").survey), model.LeadershipSubject, "")); err != nil {
		t.Fatal(err)
	}
	golden(t, "explanations.json", b.String())
}

// What is left out of a text is counted.
func TestLimit(t *testing.T) {
	var b strings.Builder
	if err := WriteText(&b, explain(t, OfTree(reportNamed(t, "35").survey), model.LeadershipSubject, ""), 1); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "... and 2 more") {
		t.Errorf("two rows are left out, and not counted:\n%s", b.String())
	}
}

func TestNamesThatDoNotExist(t *testing.T) {
	c := OfTree(reportNamed(t, "01").survey)
	for _, x := range []struct {
		kind model.SubjectKind
		name string
		near string // empty: none
	}{
		{model.TopicSubject, "ordrs", "orders"}, {model.TopicSubject, "ORDERS", "orders"}, {model.TopicSubject, "zzzzzz", ""},
		{model.PartitionSubject, "orders-9", "orders-0 to orders-2"}, {model.PartitionSubject, "click-0", "clicks"},
		{model.ReplicaSubject, "orders-7@1", "orders-0 to orders-2"}, {model.BrokerSubject, "77", "1"},
	} {
		s, err := model.ParseSubject(x.kind, x.name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Explain(s)
		unknown, ok := errors.AsType[*UnknownError](err)
		if !ok || (x.near == "") != (len(unknown.Near) == 0) || x.near != "" && !slices.Contains(unknown.Near, x.near) {
			t.Errorf("%s %s: %v", x.kind, x.name, err)
		}
	}
	if _, err := c.Explain(model.Subject{}); err == nil {
		t.Error("nothing was asked for, and explained")
	}
}

// What may not be read is neither there nor missing.
func TestWhatMayNotBeRead(t *testing.T) {
	survey := func(znodes ...model.Znode) *Cluster {
		s := tree.NewSurvey(tree.DefaultConfig())
		for _, z := range znodes {
			s.Apply(z)
		}
		return OfTree(s)
	}
	topic := model.Znode{Path: "/brokers/topics/t", Data: []byte(`{"partitions":{"0":[1]}}`)}
	broker := model.Znode{Path: "/brokers/ids/1", Data: []byte(`{"version":1,"host":"h","port":1}`), Stat: model.Stat{EphemeralOwner: 1}}
	for _, x := range []struct {
		kind    model.SubjectKind
		name    string
		cluster *Cluster
	}{
		{model.TopicSubject, "t", survey(topic, model.Znode{Path: "/admin/delete_topics", Err: "NoAuth"})},
		{model.TopicSubject, "u", survey(topic, model.Znode{Path: "/brokers/topics", Err: "NoAuth"})},
		{model.PartitionSubject, "t-0", survey(topic, broker, model.Znode{Path: "/brokers/topics/t/partitions/0/state", Err: "NoAuth"})},
		{model.PartitionSubject, "u-0", survey(model.Znode{Path: "/brokers/topics/u", Err: "NoAuth"})},
		{model.ReplicaSubject, "t-0@1", survey(topic, model.Znode{Path: "/brokers/ids", Err: "NoAuth"})},
		{model.BrokerSubject, "3", survey(topic, model.Znode{Path: "/brokers/ids", Err: "NoAuth"})},
		{model.ControllerSubject, "", survey(topic, model.Znode{Path: "/controller", Err: "NoAuth"})},
	} {
		e := explain(t, x.cluster, x.kind, x.name)
		if !e.Undecided || !strings.Contains(e.Answer+strings.Join(e.NotKnown, " "), "not known") && !strings.Contains(strings.Join(e.NotKnown, " "), "NoAuth") {
			t.Errorf("%s %s: decided without the evidence: %+v", x.kind, x.name, e)
		}
	}
}

// A marker that has children is what no controller can drop.
func TestMarkerWithChildren(t *testing.T) {
	s := tree.NewSurvey(tree.DefaultConfig())
	for _, path := range []string{"/admin/delete_topics/t", "/admin/delete_topics/t/x"} {
		s.Apply(model.Znode{Path: path})
	}
	s.Apply(model.Znode{Path: "/brokers/topics/t", Data: []byte(`{"partitions":{}}`)})
	e := explain(t, OfTree(s), model.TopicSubject, "t")
	if !e.Found || !slices.Contains(whats(e), "delete-marker-not-removable") || !slices.Contains(whats(e), "no-controller") {
		t.Errorf("causes %v", whats(e))
	}
}
