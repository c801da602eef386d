package ui

import (
	"fmt"
	"strings"
	"testing"

	"kstate/model"
)

// What the inspector shows of each kind of subject, with znodes that differ
// from memory, are missing, or cannot be read.
func TestInspector(t *testing.T) {
	topic := func(data string) model.Znode {
		return model.Znode{Path: "/kafka/brokers/topics/orders", Data: []byte(data), Stat: model.Stat{Version: 2, Czxid: 80}}
	}
	marker := model.Znode{Path: "/kafka/admin/delete_topics/orders", Missing: true}
	state := model.Znode{Path: "/kafka/brokers/topics/orders/partitions/0/state", Data: []byte(`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,3]}`)}
	malformed := state
	malformed.Data = []byte(`{"controller_epoch":1,"leader":"one"}`)
	broker := model.Znode{Path: "/kafka/brokers/ids/2", Stat: model.Stat{Czxid: 99, EphemeralOwner: 0x10002},
		Data: []byte(`{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://10.0.0.9:9092"],"jmx_port":-1,"port":9092,"host":"10.0.0.9","version":5,"timestamp":"1"}`)}
	partition := model.Subject{Kind: model.PartitionSubject, Topic: "orders"}
	var b strings.Builder
	for _, c := range []struct {
		name    string
		frame   *model.Frame
		subject model.Subject
		znodes  []model.Znode
	}{
		{"a topic that is being deleted, its marker gone", deletionFrame(), model.Subject{Kind: model.TopicSubject, Topic: "orders"},
			[]model.Znode{topic(`{"version":2,"partitions":{"0":[1,2,3],"1":[2,3]},"adding_replicas":{"1":[3]},"removing_replicas":{}}`), marker}},
		{"a topic that is unknown", labFrame(), model.Subject{Kind: model.TopicSubject, Topic: "nope"}, []model.Znode{{Path: "/brokers/topics/nope", Missing: true}}},
		{"a partition that is as its znode says", labFrame(), partition, []model.Znode{{Path: state.Path, Data: model.EncodePartitionState(*leadership(1, 0, 1, 2, 3))}, topic(`{"version":1,"partitions":{"0":[1,2,3]}}`)}},
		{"a partition whose state cannot be decoded", labFrame(), partition, []model.Znode{malformed}},
		{"a partition without a state znode", labFrame(), partition, []model.Znode{{Path: state.Path, Missing: true}}},
		{"a replica that its leader has shed", offlineFrame(), model.Subject{Kind: model.ReplicaSubject, Topic: "orders", Broker: 2}, []model.Znode{state}},
		{"a broker that came back elsewhere", labFrame(), model.Subject{Kind: model.BrokerSubject, Broker: 2}, []model.Znode{broker}},
		{"a broker that is gone", offlineFrame(), model.Subject{Kind: model.BrokerSubject, Broker: 2}, []model.Znode{{Path: broker.Path, Missing: true}}},
	} {
		c.frame.Inspection = &model.Inspection{Subject: c.subject, Znodes: c.znodes}
		s := newScreen(c.frame, 100, 32)
		s.inspector.choose(c.subject)
		s.show(inspectorView)
		fmt.Fprintf(&b, "%s\n%s\n", c.name, s.text())
	}
	golden(t, "inspector_100x32", b.String())
}

// An inspection of something else is not shown as that of the subject.
func TestInspectionOfAnotherSubject(t *testing.T) {
	f := inspectedFrame()
	f.StepZnodes, f.At = nil, nil
	s := newScreen(f, 80, 24).typed("2", "enter")
	if text := s.text(); !strings.Contains(text, "reading its znodes") || strings.Contains(text, "≠ znode") {
		t.Errorf("another subject's znodes are shown:\n%s", text)
	}
}

// Znodes before and after belong to one step: those of another are not shown.
func TestZnodesOfAnotherStep(t *testing.T) {
	f := inspectedFrame()
	f.Position++
	if text := newScreen(f, 80, 24).typed("8").text(); strings.Contains(text, "the znode goes") || strings.Contains(text, "czxid") {
		t.Errorf("the znodes of another step are shown:\n%s", text)
	}
}

func TestCandidatesOfTheElectionAtHand(t *testing.T) {
	f := paused()
	f.At = &model.Elect{TopicPartition: model.TP("orders", 1), Verdict: model.Verdict{Strategy: model.OfflineStrategy, Leader: 3,
		Candidates: []model.Candidate{{Broker: 2, InISR: true}, {Broker: 3, Registered: true, Online: true, InISR: true}, {Broker: 1, Registered: true, ShuttingDown: true}}}}
	text := newScreen(f, 80, 24).typed("8").text()
	for _, want := range []string{"broker 3 is elected", "  BROKER REGISTERED  SHUTS DOWN  LOG DIR  LIVE  IN ISR",
		"  2      no          no          ok       no    yes", "► 3      yes         no          ok       yes   yes     elected", "  1      yes         yes         ok       no    no"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown:\n%s", want, text)
		}
	}
}

func TestPayloads(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"version":1,"isr":[1, 2],"partitions":{"0":[1,2],"1":[]},"s":"a\"]{,:"}`, "{\n  \"version\": 1,\n  \"isr\": [1, 2],\n  \"partitions\": {\n    \"0\": [1, 2],\n    \"1\": []\n  },\n  \"s\": \"a\\\"]{,:\"\n}"},
		{`{}`, "{}"},
		{` [ {"a" : 1 } , [ ] ] `, "[\n  {\"a\": 1},\n  []\n]"},
		{`12`, "12"},
		{`not json`, "not json"},
		{``, "empty"},
		{"\x00\xff", "00000000  00 ff                                             |..|"},
	} {
		var p payloads
		var rows []string
		for _, l := range p.lines([]byte(c.data)) {
			rows = append(rows, l.text())
		}
		if got := strings.Join(rows, "\n"); got != c.want {
			t.Errorf("%q is shown as\n%s\nwant\n%s", c.data, got, c.want)
		}
	}
	var p payloads
	if got := p.lines(nil)[0].text(); got != "null" {
		t.Errorf("null data is shown as %q", got)
	}
	if st := p.lines([]byte(`{"a":1}`))[1][1]; st.st != jsonName || st.text != `"a"` {
		t.Errorf("a name is not coloured: %+v", st)
	}
}

// A payload too large to colour is shown all the same.
func TestLargePayload(t *testing.T) {
	var p payloads
	data := []byte(`{"partitions":{"0":[1]` + strings.Repeat(`,"1":[1,2,3]`, highlightLimit/10) + `}}`)
	if n := len(p.lines(data)); n < highlightLimit/10 {
		t.Errorf("%d lines", n)
	}
}

// However malformed the JSON, nothing panics and nothing is lost but white space.
func FuzzPayload(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\\"}]}`, `[`, `"`, `{"a":"\u00`, "\x1b[31m", `[[[[]]]]`, `"\"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p payloads
		p.lines(data)
	})
}

// The settings of a znode that may be secrets are not on the screen, neither in
// the inspector nor in a record of the log.
func TestSecretsAreNotShown(t *testing.T) {
	path, data := model.TopicConfigPath("orders"), []byte(`{"version":1,"config":{"ssl.keystore.password":"hunter2","retention.ms":"1"}}`)
	var in inspector
	var texts []string
	for _, l := range in.appendZnode(nil, &model.Znode{Path: path, Data: data}) {
		texts = append(texts, l.text())
	}
	var p payloads
	for _, l := range callLines(&model.Call{Ops: []model.Op{{Kind: model.OpSet, Path: path, Data: data}, {Kind: model.OpGet, Path: path}}},
		&model.Result{Ops: []model.OpResult{{}, {Data: data}}}, &p) {
		texts = append(texts, l.text())
	}
	text := strings.Join(texts, "\n")
	if strings.Contains(text, "hunter2") || strings.Count(text, `"***"`) != 3 || strings.Count(text, `"retention.ms": "1"`) != 3 {
		t.Errorf("shown:\n%s", text)
	}
}
