package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"kstate/internal/standin"
	"kstate/model"
)

// factCase is a case of engine_facts.json; the fields depend on the kind.
type factCase struct {
	Kind            string            `json:"kind"`
	State           string            `json:"state"`
	Value           int               `json:"value"`
	Timer           *string           `json:"timer"`
	Event           string            `json:"event"`
	PreemptedAnswer *string           `json:"preempted_answer"`
	WhenInactive    string            `json:"when_inactive"`
	StateDuring     string            `json:"state_during"`
	StateAfter      string            `json:"state_after"`
	TimerDelta      int               `json:"timer_count_delta"`
	Fails           bool              `json:"fails"`
	Handled         bool              `json:"handled"`
	Running         int               `json:"running"`
	Waiting         int               `json:"waiting"`
	Preempted       int               `json:"preempted"`
	Gauges          []string          `json:"gauges"`
	Gauge           string            `json:"gauge"`
	Counts          *int              `json:"counts"`
	Assignment      json.RawMessage   `json:"assignment"`
	Target          []int32           `json:"target"`
	Query           any               `json:"query"`
	Steps           []json.RawMessage `json:"steps"`
	Cases           []struct {
		Query  any    `json:"query"`
		Expect Object `json:"expect"`
	} `json:"cases"`
	Expect Object `json:"expect"`
}

// RunFactCase runs a case of engine_facts.json. A field that the notation does
// not explain makes it unreadable.
func RunFactCase(t *testing.T, text []byte) {
	var c factCase
	if err := Strict(text, &struct {
		*factCase
		ID, What, Source, Note string
		VerifiedBy             []string `json:"verified_by"`
	}{factCase: &c}); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	switch c.Kind {
	case "controller_state":
		c.checkState(t)
	case "event":
		c.checkEvent(t)
	case "event_loop":
		c.checkLoop(t)
	case "metrics":
		c.checkMetrics(t)
	case "reassign_to", "target_replicas":
		c.checkReassignment(t)
	case "context":
		c.checkContext(t)
	default:
		t.Fatalf("no kind %q", c.Kind)
	}
}

func (c *factCase) checkState(t *testing.T) {
	timer := ""
	if c.Timer != nil {
		timer = *c.Timer
	}
	s := model.ControllerState(c.Value)
	if s.String() != c.State || s.Timer() != timer {
		t.Errorf("state %d is %s with timer %q, want %s with %q", c.Value, s, s.Timer(), c.State, timer)
	}
}

// factEvent is an event as it comes into the queue: by an input that causes it,
// on an engine that listens to everything.
func factEvent(t *testing.T, name string) model.Stimulus {
	tps := []model.TopicPartition{model.TP("t", 0)}
	child := func(path string) model.Stimulus {
		return &model.WatchFired{Path: path, Kind: model.NodeChildrenChanged}
	}
	node := func(path string, kind model.WatchKind) model.Stimulus {
		return &model.WatchFired{Path: path, Kind: kind}
	}
	asked := func(a model.Ask) model.Stimulus { return &model.Asked{ID: 7, From: "the case", Ask: a} }
	stop := &model.StopReplicaRequest{Callback: true, Entries: []model.StopReplicaEntry{{TopicPartition: tps[0], Delete: true}}}
	all := map[string]model.Stimulus{
		"Startup":                            &model.Started{},
		"ControllerChange":                   node(model.ControllerPath, model.NodeCreated),
		"Reelect":                            node(model.ControllerPath, model.NodeDeleted),
		"RegisterBrokerAndReelect":           &model.SessionRenewed{},
		"Expire":                             &model.SessionExpired{},
		"ShutdownEventThread":                &model.Stopping{},
		"BrokerChange":                       child(model.BrokerIDsPath),
		"BrokerModifications":                node(model.BrokerIDPath(1), model.NodeDataChanged),
		"TopicChange":                        child(model.TopicsPath),
		"PartitionModifications":             node(model.TopicPath("t"), model.NodeDataChanged),
		"TopicDeletion":                      child(model.DeleteTopicsPath),
		"LogDirEventNotification":            child(model.LogDirEventNotificationPath),
		"IsrChangeNotification":              child(model.IsrChangeNotificationPath),
		"ZkPartitionReassignment":            node(model.ReassignPartitionsPath, model.NodeCreated),
		"PartitionReassignmentIsrChange":     node(model.TopicPartitionStatePath(tps[0]), model.NodeDataChanged),
		"AutoPreferredReplicaLeaderElection": &model.AlarmRang{Name: rebalanceAlarm},
		"UncleanLeaderElectionEnable":        &model.UncleanEnabled{},
		"TopicUncleanLeaderElectionEnable":   &model.UncleanEnabled{Topic: "t"},
		"LeaderAndIsrResponseReceived":       &model.Responded{Broker: 1, Request: &model.LeaderAndIsrRequest{}},
		"UpdateMetadataResponseReceived":     &model.Responded{Broker: 1, Request: &model.UpdateMetadataRequest{}},
		"TopicDeletionStopReplicaResponseReceived": &model.Responded{Broker: 1, Request: stop,
			Response: model.ControlResponse{Partitions: []model.PartitionError{{TopicPartition: tps[0]}}}},
		"ReplicaLeaderElection":      asked(&model.ElectLeaders{Partitions: tps}),
		"ControlledShutdown":         asked(&model.ControlledShutdown{BrokerID: 1}),
		"AlterPartitionReceived":     asked(&model.AlterPartition{BrokerID: 1}),
		"ApiPartitionReassignment":   asked(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tps[0], Cancel: true}}}),
		"ListPartitionReassignments": asked(&model.ListPartitionReassignments{All: true}),
		"UpdateFeatures":             asked(&model.UpdateFeatures{}),
		"AllocateProducerIds":        asked(&model.AllocateProducerIDs{BrokerID: 1}),
	}
	s, ok := all[name]
	if !ok {
		t.Fatalf("no event %q", name)
	}
	return s
}

// factEngine listens to everything; its world has an empty tree.
func factEngine(t *testing.T, active bool) *bench {
	b := newBench(t, DefaultConfig(1))
	b.e.active = NoController
	if active {
		b.e.active = 1
		b.fence(1)
	}
	for _, p := range []string{model.ControllerPath, model.BrokerIDPath(1), model.TopicPath("t"), model.ReassignPartitionsPath,
		model.PreferredReplicaElectionPath, model.TopicPartitionStatePath(model.TP("t", 0))} {
		b.e.nodeHandlers[p] = true
	}
	for _, p := range []string{model.BrokerIDsPath, model.TopicsPath, model.DeleteTopicsPath, model.LogDirEventNotificationPath, model.IsrChangeNotificationPath} {
		b.e.childHandlers[p] = true
	}
	b.e.ctx.BeginTopicDeletion("t")
	return b
}

// drain runs the queue of events to its end.
func (b *bench) drain() {
	for n := 0; b.e.At() != nil; n++ {
		if n > 100_000 {
			b.t.Fatalf("no end; at %v", b.e.At())
		}
		s := b.e.At()
		b.steps = append(b.steps, s)
		b.e.Settle(b.world.Perform(s))
	}
}

func (b *bench) accept(s model.Stimulus) { b.e.Accept(model.Input{Of: s}) }

func (c *factCase) checkEvent(t *testing.T) {
	stimulus := factEvent(t, c.Event)
	b := factEngine(t, true)
	b.accept(stimulus)
	if len(b.e.queue) != 1 || !strings.HasPrefix(b.e.queue[0].Event.String()+"(", c.Event+"(") {
		t.Fatalf("queue %v, want %s", b.e.queue, c.Event)
	}
	if s := b.e.queue[0].Event.State(); s.String() != c.State {
		t.Errorf("state %s, want %s", s, c.State)
	}
	if c.PreemptedAnswer != nil || c.Event != "ShutdownEventThread" {
		b.accept(&model.SessionExpired{})
		b.drain()
		var want string
		if c.PreemptedAnswer != nil {
			want = *c.PreemptedAnswer
		}
		checkAnswers(t, "preempted", b.world, want)
	}
	c.checkInactive(t, stimulus)
}

// checkInactive gives the event to a controller that is not active.
func (c *factCase) checkInactive(t *testing.T, stimulus model.Stimulus) {
	b := factEngine(t, false)
	b.accept(stimulus)
	queued := len(b.e.queue) > 0
	b.drain()
	worked := slices.ContainsFunc(b.steps, func(s model.Step) bool {
		switch s.(type) {
		case *model.Begin, *model.End, *model.Reply:
			return false
		}
		return true
	})
	switch want := c.WhenInactive; {
	case want == "ignored" || strings.HasSuffix(want, "; ignored"):
		if worked || len(b.world.Replies) > 0 || queued == strings.HasPrefix(want, "not queued") {
			t.Errorf("inactive: queued %v, steps %v", queued, b.steps)
		}
	case want == "runs always":
		if !worked {
			t.Errorf("inactive: it does nothing")
		}
	case want == "ends the event loop":
		if !queued {
			t.Errorf("inactive: it is not queued")
		}
	default:
		checkAnswers(t, "inactive", b.world, want)
	}
}

// checkAnswers reads how a caller is answered: NOT_CONTROLLER for the request or
// per named partition, the controller-moved error, or not at all.
func checkAnswers(t *testing.T, when string, w *standin.World, want string) {
	t.Helper()
	var got []model.KafkaError
	for _, r := range w.Replies {
		switch a := r.Answer.(type) {
		case *model.ElectLeadersAnswer:
			for _, p := range a.Results {
				got = append(got, p.Error)
			}
		case *model.ControlledShutdownAnswer:
			got = append(got, a.Error)
		case *model.AlterPartitionAnswer:
			got = append(got, a.Error)
		case *model.AlterPartitionReassignmentsAnswer:
			got = append(got, a.Error)
		case *model.ListPartitionReassignmentsAnswer:
			got = append(got, a.Error)
		case *model.UpdateFeaturesAnswer:
			got = append(got, a.Error)
		case *model.AllocateProducerIDsAnswer:
			got = append(got, a.Error)
		}
	}
	var wanted []model.KafkaError
	switch {
	case want == "":
	case strings.HasPrefix(want, "NOT_CONTROLLER"):
		wanted = append(wanted, model.ErrNotController)
	case want == "controller-moved error":
		wanted = append(wanted, model.ErrStaleControllerEpoch)
	default:
		t.Fatalf("%s: no answer %q", when, want)
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("%s: answers %v, want %v", when, got, wanted)
	}
}

func (c *factCase) checkLoop(t *testing.T) {
	b := factEngine(t, true)
	if c.Waiting > 0 || c.Preempted > 0 {
		c.checkPreemption(t, b)
		return
	}
	b.call = func(*model.Call) *model.Result {
		if c.Fails {
			return &model.Result{Code: model.CodeSessionExpired}
		}
		return nil
	}
	b.accept(factEvent(t, c.Event))
	b.e.Settle(b.world.Perform(b.e.At()))
	if c.StateDuring != "" {
		if g := b.e.Gauges()["ControllerState"]; model.ControllerState(g).String() != c.StateDuring {
			t.Errorf("state during the event: %d", g)
		}
	}
	b.drain()
	var ends []*model.End
	for _, s := range b.steps {
		if s, ok := s.(*model.End); ok {
			ends = append(ends, s)
		}
	}
	if len(ends) != 1 || (ends[0].Err != nil) != c.Fails {
		t.Fatalf("ends %v", ends)
	}
	state := ends[0].Event.Event.State()
	if c.Timer != nil && (state.Timer() != *c.Timer || c.TimerDelta != 1) {
		t.Errorf("timer %s, want %s", state.Timer(), *c.Timer)
	}
	if c.Handled && state.Timer() != "" {
		t.Errorf("timer %s, want none", state.Timer())
	}
	if c.StateAfter != "" && b.e.Gauges()["ControllerState"] != int(model.StateIdle) {
		t.Errorf("not idle afterwards")
	}
	b.call, b.steps = nil, nil
	b.accept(factEvent(t, "TopicChange"))
	if b.drain(); len(b.steps) == 0 {
		t.Errorf("the loop handles nothing after it")
	}
}

// checkPreemption: the running event ends, the waiting ones never begin.
func (c *factCase) checkPreemption(t *testing.T, b *bench) {
	for range c.Running + c.Waiting {
		b.accept(factEvent(t, "TopicChange"))
	}
	begin := b.e.At()
	b.steps = append(b.steps, begin)
	b.e.Settle(b.world.Perform(begin))
	b.accept(&model.SessionExpired{})
	if _, n := b.e.Queue(10); n != 1 {
		t.Errorf("%d events wait, want only the new one", n)
	}
	b.drain()
	var done []string
	for _, s := range b.steps {
		if s, ok := s.(*model.End); ok {
			done = append(done, s.Event.Event.String())
		}
	}
	if !slices.Equal(done, []string{"TopicChange", "Expire"}) || c.Running != 1 || c.Preempted != c.Waiting {
		t.Errorf("handled %v", done)
	}
}

func (c *factCase) checkMetrics(t *testing.T) {
	b := factEngine(t, true)
	b.brokers([]int32{1, 2}, nil)
	for name, replicas := range map[string][]int32{"q-0": {1, 2}, "q-1": {2, 1}, "t-0": {1, 2}, "t-1": {1}} {
		b.plantPartition(name, machinePartition{Replicas: replicas})
		for i, id := range replicas {
			r := model.Replica{TopicPartition: b.partition(name), Broker: id}
			b.e.ctx.PutReplicaState(r, []model.ReplicaState{model.ReplicaDeletionSuccessful, model.ReplicaDeletionIneligible}[i])
		}
	}
	b.e.ctx.PutReplicaState(b.replicas([]string{"q-1@1"})[0], model.ReplicaDeletionStarted)
	for _, name := range []string{"t-0", "q-0"} {
		b.e.ctx.PutLeadership(b.partition(name), (&record{Leader: 2, ISR: []int32{2}}).state())
	}
	b.e.ctx.QueueTopicDeletion("q")
	b.e.ctx.MarkIneligible("q", model.OfflineReplicas)
	b.e.ctx.PutPartitionState(b.partition("t-1"), model.OfflinePartition)
	counts := map[string]int{"ActiveControllerCount": 1, "OfflinePartitionsCount": 1, "PreferredReplicaImbalanceCount": 1, "ControllerState": 0,
		"GlobalTopicCount": 2, "GlobalPartitionCount": 2, "TopicsToDeleteCount": 1, "ReplicasToDeleteCount": 2, "TopicsIneligibleToDeleteCount": 1,
		"ReplicasIneligibleToDeleteCount": 1, "ActiveBrokerCount": 2, "FencedBrokerCount": 0, "ZkMigrationState": zkMigrationState}
	got := b.e.Gauges()
	if want, ok := counts[c.Gauge]; c.Gauge != "" && (!ok || got[c.Gauge] != want) {
		t.Errorf("%s is %d, want %d", c.Gauge, got[c.Gauge], want)
	}
	if c.Gauges != nil && !slices.Equal(slices.Sorted(slices.Values(c.Gauges)), sortedKeys(got)) {
		t.Errorf("gauges %v, want %v", sortedKeys(got), c.Gauges)
	}
	if c.Counts == nil {
		return
	}
	b.e.active = 2
	for name, n := range b.e.Gauges() {
		if name != "ZkMigrationState" && n != *c.Counts {
			t.Errorf("inactive: %s is %d", name, n)
		}
	}
}

func (c *factCase) checkReassignment(t *testing.T) {
	var a model.ReplicaAssignment
	if err := json.Unmarshal(c.Assignment, &a); err != nil {
		t.Fatal(err)
	}
	got := Object{"target": List(a.Target()), "being_reassigned": a.IsBeingReassigned()}
	if c.Kind == "reassign_to" {
		got = AssignmentObject(a.ReassignTo(c.Target))
	}
	var m Matcher
	for _, d := range m.Diff("expect", c.Expect, Plain(got), c.Kind == "target_replicas") {
		t.Error(d)
	}
}

// checkContext looks up assignments of what is not there, in a context with topic A.
func (c *factCase) checkContext(t *testing.T) {
	if c.Steps != nil {
		c.runContextSteps(t)
		return
	}
	if c.Cases != nil {
		for _, x := range c.Cases {
			(&factCase{Query: x.Query, Expect: x.Expect}).checkContext(t)
		}
		return
	}
	b := factEngine(t, true)
	b.plantPartition("A-0", machinePartition{Replicas: []int32{1, 2}})
	var m Matcher
	switch q := c.Query.(type) {
	case string:
		got := Object{}
		for n, p := range b.e.ctx.Topic(q).Partitions() {
			got[model.TP(q, n).String()] = AssignmentObject(*p.Assignment)
		}
		for _, d := range m.Diff(q, c.Expect, Plain(got), false) {
			t.Error(d)
		}
	case []any:
		for _, name := range q {
			got := AssignmentObject(b.e.ctx.Assignment(b.partition(name.(string))))
			for _, d := range m.Diff(name.(string), c.Expect, Plain(got), false) {
				t.Error(d)
			}
		}
	default:
		t.Fatalf("query %v", c.Query)
	}
}
