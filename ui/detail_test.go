package ui

import (
	"strconv"
	"strings"
	"testing"

	"kstate/model"
)

// recordsFrame has one record of each kind that has something to unfold.
func recordsFrame() *model.Frame {
	h := model.NewHistory(100)
	seq := uint64(0)
	add := func(r model.Record) {
		seq++
		r.Position, r.At, r.EventSeq = seq, testNow+int64(seq), 7
		h.Append(r)
	}
	tp := model.TP("orders", 1)
	path := model.TopicPartitionStatePath(tp)
	add(model.Record{Input: &model.Asked{ID: 5, From: "3@127.0.0.1:59958", Ask: &model.AlterPartition{BrokerID: 3, BrokerEpoch: 23, Partitions: []model.AlterPartitionEntry{
		{TopicPartition: tp, ISR: []int32{3, 1}, LeaderEpoch: 4, PartitionEpoch: 9}, {TopicPartition: model.TP("", 2), TopicID: model.Uuid{15: 1}, ISR: []int32{3}}}}}})
	add(model.Record{Step: &model.Begin{Event: model.QueuedEvent{Seq: 7, Cause: "broker 2 answered StopReplica", Event: &model.TopicDeletionStopReplicaResponseReceived{
		Broker: 2, Partitions: []model.PartitionError{{TopicPartition: tp, Error: model.ErrKafkaStorageError}}}}}})
	add(model.Record{Step: &model.Elect{TopicPartition: tp, Verdict: model.Verdict{Strategy: model.OfflineUncleanStrategy, Leader: 1, Unclean: true, Recipients: []int32{1, 3},
		New:        &model.LeaderAndIsr{Leader: 1, LeaderEpoch: 5, ISR: []int32{1}},
		Candidates: []model.Candidate{{Broker: 2, InISR: true}, {Broker: 3, Registered: true, Online: true, OfflineDir: true}, {Broker: 1, Registered: true, Online: true}}}}})
	add(model.Record{Step: &model.Elect{TopicPartition: tp, Verdict: model.Verdict{Strategy: model.OfflineStrategy, Leader: model.NoLeader, Recipients: []int32{3}, Why: "no replica of the ISR [2] is live"}}})
	add(model.Record{Step: &model.Call{Purpose: "update_state", Fenced: true, Epoch: 3, Ops: []model.Op{
		{Kind: model.OpGet, Path: model.DeleteTopicsPath, Watch: true}, {Kind: model.OpChildren, Path: model.DeleteTopicsPath}, {Kind: model.OpExists, Path: "/controller"},
		{Kind: model.OpSet, Path: path, Version: 9, Data: []byte(`{"leader":1,"isr":[1]}`)}, {Kind: model.OpDelete, Path: path, Version: model.AnyVersion}}},
		Result: &model.Result{Ops: []model.OpResult{{Data: []byte(`{"a":1}`), Stat: model.Stat{Version: 2, Czxid: 80, Mzxid: 81}}, {Children: []string{"clicks", "orders"}, Stat: model.Stat{Czxid: 8, CVersion: 6}},
			{Code: model.CodeNoNode}, {Code: model.CodeBadVersion}, {Check: model.CodeBadVersion}}}})
	add(model.Record{Step: &model.Call{Purpose: "get_state", Ops: []model.Op{{Kind: model.OpGet, Path: path}}}, Result: &model.Result{Code: model.CodeConnectionLoss}})
	add(model.Record{Step: &model.Call{Atomic: true, Ops: []model.Op{{Kind: model.OpCreate, Path: "/controller", Ephemeral: true, Data: []byte(`{"brokerid":1}`)}}}})
	add(model.Record{Step: &model.Send{Broker: 3, Request: &model.LeaderAndIsrRequest{RequestHeader: model.RequestHeader{Version: 7, ControllerID: 1000, ControllerEpoch: 2, BrokerEpoch: 23},
		Entries:     []model.LeaderAndIsrEntry{{TopicPartition: tp, Leadership: leadership(1, 5, 1), Assignment: &model.ReplicaAssignment{Replicas: []int32{2, 3, 1, 4}, Adding: []int32{4}}, IsNew: true}},
		LiveLeaders: []model.LiveLeader{{ID: 1, Host: "127.0.0.1", Port: 9091}}}}})
	add(model.Record{Step: &model.Send{Broker: 1, Request: &model.StopReplicaRequest{Entries: []model.StopReplicaEntry{{TopicPartition: tp, LeaderEpoch: -2, Delete: true}}, Callback: true}}})
	add(model.Record{Step: &model.Reply{Ask: 5, Name: "AlterPartition", Answer: &model.AlterPartitionAnswer{Partitions: []model.AlterPartitionResult{{TopicPartition: tp, Error: model.ErrInvalidUpdateVersion}}}}})
	add(model.Record{Step: &model.MovePartition{TopicPartition: tp, From: model.OfflinePartition, To: model.OnlinePartition, Reason: "a leader was elected", Leadership: leadership(1, 5, 1)}, Inferred: true})
	add(model.Record{Step: &model.Mark{Topic: "orders", Set: model.IneligibleForDeletion, On: true, Reason: "a broker is down", Why: model.OfflineReplicas}})
	add(model.Record{Step: &model.Log{Logger: "controller", Level: model.Warn, Text: strings.Repeat("a long line of the log ", 12)}})
	f := labFrame()
	f.History = h.Snapshot()
	return f
}

// Enter on a record of the log shows all of it: what a call read, wrote and got,
// whom an election looked at, what a request carries.
func TestRecordDetail(t *testing.T) {
	f := recordsFrame()
	var b strings.Builder
	for i := range f.History.N {
		s := newScreen(f, 100, 40).typed("7", "home")
		for range i {
			s.typed("down")
		}
		s.typed("enter")
		if len(s.dialogs) != 1 || s.dialogs[0].title() != "Record "+strconv.Itoa(i+1) {
			t.Fatalf("enter on record %d does not show it:\n%s", i+1, s.text())
		}
		b.WriteString(dialogText(s))
	}
	golden(t, "records_100x40", b.String())
}

// dialogText is the rows of the screen that a dialog covers.
func dialogText(s *screen) string {
	var b strings.Builder
	inside := false
	for row := range strings.Lines(s.text()) {
		inside = inside || strings.Contains(row, "╭─ ")
		if inside {
			b.WriteString(row)
		}
		if strings.Contains(row, "╰─ ") {
			break
		}
	}
	return b.String()
}

// A long list is cut, and says by how much.
func TestRecordDetailIsBounded(t *testing.T) {
	r := &model.StopReplicaRequest{}
	for i := range 2 * fieldsShown {
		r.Entries = append(r.Entries, model.StopReplicaEntry{TopicPartition: model.TP("orders", int32(i))})
	}
	lines := fieldLines(r)
	if n := len(lines); n > fieldsShown+20 {
		t.Errorf("%d lines", n)
	}
	found := false
	for _, l := range lines {
		found = found || strings.Contains(l.text(), "and 500 more")
	}
	if !found {
		t.Error("nothing says that entries are left out")
	}
}

// A list within an entry is named, and its parts are told apart.
func TestListsWithinAnEntry(t *testing.T) {
	r := &model.UpdateMetadataRequest{LiveBrokers: []model.Broker{{ID: 2, Epoch: 71, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Host: "b", Port: 9092}, {Listener: "SSL", Host: "::1", Port: 9093}}}, {ID: 3}}}
	var b strings.Builder
	for _, l := range fieldLines(r) {
		b.WriteString(l.text() + "\n")
	}
	holds(t, "live brokers", b.String(), "  ID 2  epoch 71  endpoints PLAINTEXT://b:9092, SSL://[::1]:9093  rack none", "  ID 3  epoch 0  endpoints none  rack none")
}

// The step at hand is shown whole from the graphs, with why it is held.
func TestStepDetail(t *testing.T) {
	s := newScreen(paused(), 80, 24).typed("1", "enter")
	if text := s.text(); !strings.Contains(text, "held: stepped by transition") || !strings.Contains(text, "broker 2 has deleted it") || !strings.Contains(text, "has not been taken") {
		t.Errorf("the step at hand is not shown whole:\n%s", text)
	}
	// Of a call that writes, the znodes before and after.
	s.setFrame(inspectedFrame())
	if text := newScreen(inspectedFrame(), 120, 60).typed("1", "enter").text(); !strings.Contains(text, `-  "leader": 2,`) || !strings.Contains(text, `+  "leader": 3,`) || !strings.Contains(text, "the znode goes") {
		t.Errorf("the znodes are not shown:\n%s", text)
	}
	s.setFrame(paused())
	// It is stepped from there, and shows the next one.
	if s.typed("t"); len(s.commands) != 1 || s.commands[0] != (model.StepBy{Grain: model.TransitionGrain, Position: 4711}) {
		t.Errorf("commands %#v", s.commands)
	}
	next := paused()
	next.Position, next.At = 4712, &model.Mark{Topic: "clicks", Set: model.ToBeDeleted, Reason: "it is gone"}
	s.setFrame(next)
	if text := s.text(); !strings.Contains(text, "mark clicks -topicsToBeDeleted") || strings.Contains(text, "broker 2 has deleted it") {
		t.Errorf("the next step is not shown:\n%s", text)
	}
	s.setFrame(labFrame())
	if s.typed("t"); len(s.commands) != 1 || !strings.Contains(s.text(), "There is none") || !strings.Contains(s.text(), "it is running: pause first") {
		t.Errorf("without a step, commands %v:\n%s", s.commands, s.text())
	}
	if s.typed("esc"); len(s.dialogs) != 0 {
		t.Error("esc does not close it")
	}
	s = newScreen(labFrame(), 80, 24).typed("enter")
	if len(s.dialogs) != 0 || !strings.Contains(s.text(), "there is no step at hand") {
		t.Errorf("without a step:\n%s", s.text())
	}
}

func TestFieldName(t *testing.T) {
	for in, want := range map[string]string{"LeaderEpoch": "leader epoch", "ISR": "ISR", "TopicID": "topic ID", "IsNew": "is new", "AskID": "ask ID", "On": "on", "LeaderAndIsr": "LeaderAndIsr"} {
		if got := fieldName(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// Nothing of a line is lost when it is broken, and no row is too wide.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text   string
		w, own int
		want   string
	}{
		{"one two three", 8, ownIndent, "one two\n  three"},
		{"one two three", 7, 0, "one two\nthree"},
		{"/brokers/topics/orders", 10, ownIndent, "/brokers/t\n  opics/or\n  ders"},
		{"    in already", 13, ownIndent, "    in\n      already"},
		{"字字字字", 5, 0, "字字\n字字"},
		{"exact fit", 9, 0, "exact fit"},
		{"exact fi t", 8, 0, "exact fi\nt"},
		{"", 5, 0, ""},
	} {
		var rows []string
		for _, l := range wrap(line{{plain, ""}, {plain, c.text}}, c.w, c.own) {
			if n := width(strings.TrimRight(l.text(), " ")); n > c.w {
				t.Errorf("%q in %d: a row is %d wide: %q", c.text, c.w, n, l.text())
			}
			rows = append(rows, strings.TrimRight(l.text(), " "))
		}
		if got := strings.Join(rows, "\n"); got != c.want {
			t.Errorf("%q in %d:\n%s\nwant\n%s", c.text, c.w, got, c.want)
		}
	}
}
