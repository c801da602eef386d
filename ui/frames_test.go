package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// The tests of this package make frames by hand, draw them, and compare the
// text with a file (golden), or press keys and look at the commands. There is
// no program, no terminal and no waiting, except in run_test.go.

var update = flag.Bool("update", false, "rewrite the golden files and docs/keys.md")

// testNow is the clock of all frames: 2026-11-29 18:38:14 UTC.
const testNow = 1_795_977_494_000

// cluster is a cluster like the lab's: brokers 1 to 3; orders 3 partitions x 3
// replicas, clicks 2 x 2, unclean 1 x 2; all online.
func labCluster() *model.Cluster {
	c := model.NewCluster()
	for id := int32(1); id <= 3; id++ {
		c.PutBroker(model.Broker{ID: id, Epoch: 20 + int64(id), Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9090 + id}}})
	}
	addTopic(c, "clicks", []int32{1, 2}, []int32{2, 3})
	addTopic(c, "orders", []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
	addTopic(c, "unclean", []int32{1, 2})
	return c
}

// addTopic adds a topic whose partitions and replicas are all online.
func addTopic(c *model.Cluster, name string, assignment ...[]int32) {
	c.AddTopic(name)
	for n, ids := range assignment {
		tp := model.TP(name, int32(n))
		c.UpdateAssignment(tp, model.ReplicaAssignment{Replicas: ids})
		c.PutLeadership(tp, leadership(ids[0], 0, ids...))
		c.PutPartitionState(tp, model.OnlinePartition)
		for _, id := range ids {
			c.PutReplicaState(model.Replica{TopicPartition: tp, Broker: id}, model.OnlineReplica)
		}
	}
}

func leadership(leader, epoch int32, isr ...int32) *model.LeaderIsrAndControllerEpoch {
	return &model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.LeaderAndIsr{Leader: leader, LeaderEpoch: epoch, ISR: isr}, ControllerEpoch: 1}
}

// labFrame is a quiet lab that runs.
func labFrame() *model.Frame {
	return &model.Frame{
		Mode: model.LabMode, Source: "127.0.0.1:42811", Now: testNow, Run: model.Running,
		Connection: model.Connection{Connected: true, Since: testNow - 60_000},
		Controller: model.ControllerStatus{Status: "active", ID: 1000, Epoch: 1, Self: true},
		View:       labCluster().Freeze(),
		Brokers:    labBrokers(),
		Position:   412,
		Channels:   []model.Channel{{Broker: 1, Connected: true, Sent: 12}, {Broker: 2, Connected: true, Sent: 11}, {Broker: 3, Connected: true, Sent: 13}},
	}
}

func labBrokers() []model.BrokerStatus {
	var out []model.BrokerStatus
	for id := int32(1); id <= 3; id++ {
		out = append(out, model.BrokerStatus{ID: id, Epoch: 20 + int64(id), State: "live", Leads: 2, Replicas: 4, Endpoints: []string{fmt.Sprintf("PLAINTEXT://127.0.0.1:909%d", id)}})
	}
	return out
}

// deletionFrame rests at a move while orders is being deleted.
func deletionFrame() *model.Frame {
	c := labCluster()
	for _, topic := range []string{"orders", "unclean"} {
		c.QueueTopicDeletion(topic)
	}
	c.BeginTopicDeletion("orders")
	c.MarkIneligible("unclean", model.OfflineReplicas)
	for n := range int32(3) {
		for id := int32(1); id <= 3; id++ {
			c.PutReplicaState(model.Replica{TopicPartition: model.TP("orders", n), Broker: id}, model.ReplicaDeletionStarted)
		}
		c.PutPartitionState(model.TP("orders", n), model.OfflinePartition)
	}
	r := model.Replica{TopicPartition: model.TP("orders", 0), Broker: 2}
	for _, id := range []int32{1, 3} {
		c.PutReplicaState(model.Replica{TopicPartition: r.TopicPartition, Broker: id}, model.ReplicaDeletionSuccessful)
	}
	f := labFrame()
	f.View = c.Freeze()
	f.Run, f.StopReason, f.Position = model.Paused, "stepped by transition", 977
	f.At = &model.MoveReplica{Replica: r, From: model.ReplicaDeletionStarted, To: model.ReplicaDeletionSuccessful, Reason: "broker 2 has deleted it"}
	last := model.Replica{TopicPartition: r.TopicPartition, Broker: 1}
	f.Edges = model.Edges{
		LastPartition:   &model.PartitionEdge{Edge: model.Edge[model.PartitionState]{From: model.OnlinePartition, To: model.OfflinePartition}, Subject: model.TP("orders", 2)},
		LastReplica:     &model.ReplicaEdge{Edge: model.Edge[model.ReplicaState]{From: model.OfflineReplica, To: model.ReplicaDeletionStarted}, Subject: last},
		ProposedReplica: &model.ReplicaEdge{Edge: model.Edge[model.ReplicaState]{From: model.ReplicaDeletionStarted, To: model.ReplicaDeletionSuccessful}, Subject: r},
	}
	f.Event = &model.QueuedEvent{Seq: 31, Event: &model.TopicDeletionStopReplicaResponseReceived{Broker: 2, Partitions: []model.PartitionError{{TopicPartition: r.TopicPartition}}}, EnqueuedAt: testNow - 1300, Cause: "broker 2 answered StopReplica"}
	f.Queue = []model.QueuedEvent{{Seq: 32, Event: &model.BrokerChange{}, EnqueuedAt: testNow - 900, Cause: "watch fired: NodeChildrenChanged /brokers/ids"}, {Seq: 33, Event: &model.TopicDeletion{}, EnqueuedAt: testNow - 20}}
	f.QueueLen = 5
	f.History = sampleHistory(40).Snapshot()
	f.Open = &model.OpenRequests{Machine: model.ReplicaStateMachine, Total: 9, Entries: []model.BatchEntry{
		{Broker: 1, Kind: model.StopReplicaKind, Text: "orders-0 epoch=-2 delete"}, {Broker: -1, Kind: model.UpdateMetadataKind, Text: "orders-0 leader=-2"}}}
	f.Channels[1] = model.Channel{Broker: 2, Connected: true, Depth: 2, Head: "StopReplica orders-0 epoch=-2 delete (+2)", HeadSince: testNow - 3400, Sent: 14}
	f.Channels[2] = model.Channel{Broker: 3, Sent: 2}
	return f
}

// sampleHistory has inputs, steps of several kinds, and a call that failed.
func sampleHistory(n int) *model.History {
	h := model.NewHistory(5000)
	for i := range n {
		r := model.Record{Position: uint64(i + 1), At: testNow - int64(n-i)*37, EventSeq: uint64(i/6 + 1)}
		tp := model.TP("orders", int32(i%3))
		switch i % 6 {
		case 0:
			r.Input = &model.WatchFired{Path: model.DeleteTopicsPath, Kind: model.NodeChildrenChanged}
		case 1:
			r.Step = &model.Begin{Event: model.QueuedEvent{Seq: uint64(i), Event: &model.TopicDeletion{}}}
		case 2:
			r.Step = &model.MoveReplica{Replica: model.Replica{TopicPartition: tp, Broker: 1}, From: model.OnlineReplica, To: model.OfflineReplica, Reason: "its topic is being deleted"}
		case 3:
			r.Step = &model.Call{Ops: []model.Op{{Kind: model.OpSet, Path: model.TopicPartitionStatePath(tp), Version: 3}}, Fenced: true}
			r.Result = &model.Result{Ops: []model.OpResult{{Code: model.CodeBadVersion}}}
		case 4:
			r.Step = &model.RefuseReplica{Replica: model.Replica{TopicPartition: tp, Broker: 9}, From: model.NewReplica, To: model.ReplicaDeletionStarted, Invalid: true, Reason: "not a legal transition"}
		case 5:
			r.Step, r.Inferred = &model.End{Event: model.QueuedEvent{Seq: uint64(i), Event: &model.TopicDeletion{}}}, true
		}
		h.Append(r)
	}
	return h
}

// offlineFrame has lost broker 2: two partitions are without a leader.
func offlineFrame() *model.Frame {
	c := labCluster()
	c.RemoveBroker(2)
	for _, tp := range []model.TopicPartition{model.TP("clicks", 1), model.TP("orders", 1)} {
		c.PutPartitionState(tp, model.OfflinePartition)
		c.PutLeadership(tp, leadership(model.NoLeader, 1, 2))
	}
	for _, tp := range []model.TopicPartition{model.TP("clicks", 0), model.TP("clicks", 1), model.TP("orders", 0), model.TP("orders", 1), model.TP("orders", 2), model.TP("unclean", 0)} {
		c.PutReplicaState(model.Replica{TopicPartition: tp, Broker: 2}, model.OfflineReplica)
	}
	c.SetOfflineDir(model.Replica{TopicPartition: model.TP("orders", 2), Broker: 3}, true)
	c.SetReassigning(model.TP("orders", 0), true)
	f := labFrame()
	f.View = c.Freeze()
	f.Brokers[1].State, f.Brokers[1].Epoch, f.Brokers[1].Leads = "down", 0, 0
	f.Edges.LastPartition = &model.PartitionEdge{Edge: model.Edge[model.PartitionState]{From: model.OfflinePartition, To: model.OnlinePartition}, Subject: model.TP("orders", 1), Refused: true}
	f.Run = model.Waiting
	f.At = &model.Call{Ops: []model.Op{{Kind: model.OpGet, Path: model.TopicPartitionStatePath(model.TP("orders", 1))}}}
	return f
}

// manyFrame has 2,000 topics of 100 partitions with one replica each.
func manyFrame() *model.Frame {
	c := model.NewCluster()
	c.PutBroker(model.Broker{ID: 1, Epoch: 21})
	for i := range 2000 {
		name := fmt.Sprintf("topic-%05d", i)
		c.AddTopic(name)
		l := leadership(1, int32(i), 1)
		for n := range int32(100) {
			tp := model.TP(name, n)
			c.UpdateAssignment(tp, model.ReplicaAssignment{Replicas: []int32{1}})
			c.PutLeadership(tp, l)
			c.PutPartitionState(tp, model.OnlinePartition)
			c.PutReplicaState(model.Replica{TopicPartition: tp, Broker: 1}, model.OnlineReplica)
		}
	}
	f := labFrame()
	f.View = c.Freeze()
	f.Mode, f.ReadOnly, f.Source = model.ObserveMode, true, "zk1:2181,zk2:2181,zk3:2181/kafka/production"
	f.Controller = model.ControllerStatus{Status: "active", ID: 1, Epoch: 2147483647}
	return f
}

// oddNames are what a careless or hostile client may have put into ZooKeeper.
var oddNames = []string{
	"an.extremely.long.topic.name." + strings.Repeat("x", 200),
	"esc\x1b[31mred\x1b]0;title\x07bell", "line\nfeed\tand\rreturn", "wide字字字字字字字字字字字字字字字字字字字字字字字字字",
	"emoji👩‍👩‍👧‍👦family🇩🇪", "bidi\u202eevil\u2066", "comb\u0301ining", "broken\xff\xfe", "c1\u009b31m", "zero\u200bwidth",
}

func oddFrame() *model.Frame {
	c := labCluster()
	for _, name := range oddNames {
		addTopic(c, name, []int32{1, 2, 3})
		c.QueueTopicDeletion(name)
	}
	f := labFrame()
	f.View = c.Freeze()
	f.Source = "host\x1b[2Jname:2181/" + oddNames[3]
	f.Run, f.StopReason = model.Paused, "break\x1b[7mpoint"
	f.At = &model.MovePartition{TopicPartition: model.TP(oddNames[1], 0), From: model.OnlinePartition, To: model.OfflinePartition, Reason: oddNames[2]}
	f.Edges.ProposedPartition = &model.PartitionEdge{Edge: model.Edge[model.PartitionState]{From: model.OnlinePartition, To: model.OfflinePartition}, Subject: model.TP(oddNames[1], 0)}
	h := model.NewHistory(100)
	for i, name := range oddNames {
		h.Append(model.Record{Position: uint64(i + 1), At: testNow, Step: &model.Mark{Topic: name, Set: model.ToBeDeleted, On: true, Reason: name}})
	}
	f.History = h.Snapshot()
	f.Notices = []model.Notice{{Seq: 1, At: testNow, Level: model.Error, Text: "topic " + oddNames[1] + " cannot be read"}}
	return f
}

func loadingFrame() *model.Frame {
	f := labFrame()
	f.Mode, f.ReadOnly, f.Source = model.ObserveMode, true, "zk1.example.org:2181/kafka"
	f.View, f.Brokers, f.Channels = nil, nil, nil
	f.Controller = model.ControllerStatus{Status: "absent", ID: -1, Epoch: -1}
	f.Progress = &model.Progress{Done: 12_000, Total: 200_000, What: "partition states"}
	return f
}

func disconnectedFrame() *model.Frame {
	f := labFrame()
	f.Mode, f.ReadOnly, f.Source = model.ObserveMode, true, "zk1.example.org:2181/kafka"
	f.Controller = model.ControllerStatus{Status: "active", ID: 2, Epoch: 14}
	f.Connection = model.Connection{Since: testNow - 95_000, Text: "dial tcp 10.0.0.1:2181: connection refused"}
	f.Notices = []model.Notice{{Seq: 1, At: testNow, Level: model.Error, Text: "lost the connection to ZooKeeper; what is shown is old"}}
	return f
}

func emptyFrame() *model.Frame {
	f := labFrame()
	f.View, f.Brokers, f.Channels, f.Position = model.NewCluster().Freeze(), nil, nil, 0
	return f
}

// screen is a dashboard that remembers its commands.
type screen struct {
	*dashboard
	commands []model.Command
}

func newScreen(f *model.Frame, w, h int) *screen {
	s := &screen{}
	s.dashboard = newDashboard(func(c model.Command) { s.commands = append(s.commands, c) }, time.UTC)
	s.resize(w, h)
	if f != nil {
		s.setFrame(f)
	}
	return s
}

// typed presses keys by their names; a text behind a single quote is typed. As
// in the program, the screen is drawn after each key.
func (s *screen) typed(keys ...string) *screen {
	for _, k := range keys {
		s.draw()
		if text, ok := strings.CutPrefix(k, "'"); ok {
			for _, r := range text {
				s.press(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
			continue
		}
		s.press(keyPress(k))
	}
	return s
}

// keyPress is the message for a key named as in the key table.
func keyPress(name string) tea.KeyPressMsg {
	special := map[string]rune{"space": ' ', "enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete}
	var k tea.KeyPressMsg
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		k.Mod, name = tea.ModCtrl, rest
	}
	if rest, ok := strings.CutPrefix(name, "alt+"); ok {
		k.Mod, name = tea.ModAlt, rest
	}
	if rest, ok := strings.CutPrefix(name, "shift+"); ok {
		k.Mod, name = tea.ModShift, rest
	}
	if code, ok := special[name]; ok {
		k.Code = code
		if code == ' ' {
			k.Text = " "
		}
		return k
	}
	k.Code = []rune(name)[0]
	if k.Mod == 0 {
		k.Text = name
	}
	return k
}

// text is the screen without styles.
func (s *screen) text() string {
	s.draw()
	return s.canvas.text()
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference\n--- got\n%s--- want\n%s", path, got, want)
	}
}
