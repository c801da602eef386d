package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// machineCase is a case of partition_transitions.json or replica_transitions.json.
type machineCase struct {
	IBP     string `json:"ibp"`
	Initial struct {
		ControllerEpoch int32                        `json:"controller_epoch"`
		LiveBrokers     []int32                      `json:"live_brokers"`
		ShuttingDown    []int32                      `json:"shutting_down"`
		OfflineDirs     map[string][]string          `json:"offline_dirs"`
		Partitions      map[string]machinePartition  `json:"partitions"`
		Replicas        map[string]string            `json:"replicas"`
		Queued          []string                     `json:"topics_queued_for_deletion"`
		Started         []string                     `json:"topics_deletion_started"`
		TopicConfigs    map[string]map[string]string `json:"topic_configs"`
		BrokerConfig    map[string]string            `json:"broker_config"`
	} `json:"initial"`
	Stimulus struct {
		Target       string         `json:"target"`
		Partitions   []string       `json:"partitions"`
		Replicas     []string       `json:"replicas"`
		Strategy     string         `json:"strategy"`
		AllowUnclean bool           `json:"allow_unclean"`
		Call         string         `json:"call"`
		Faults       []machineFault `json:"faults"`
	} `json:"stimulus"`
	Expect Object `json:"expect"`
}

type machinePartition struct {
	Replicas []int32 `json:"replicas"`
	Adding   []int32 `json:"adding"`
	Removing []int32 `json:"removing"`
	State    string  `json:"state"`
	Znode    *record `json:"znode"`
	Cached   *record `json:"cached"`
}

type machineFault struct {
	ZkOp            string  `json:"zk_op"`
	Error           string  `json:"error"`
	Partition       string  `json:"partition"`
	ISR             []int32 `json:"isr"`
	ControllerEpoch *int32  `json:"controller_epoch"`
	Times           *int    `json:"times"`
}

// RunMachineCase runs a case of one of the two state machines.
func RunMachineCase(t *testing.T, text []byte, partitionFile bool) {
	var c machineCase
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	if c.Expect == nil {
		t.Fatal("the case expects nothing")
	}
	b := c.bench(t)
	before := b.e.ctx.Freeze()
	assignments := b.assignments()
	var results outcomes
	thrown := b.run(func() error {
		var err error
		results, err = c.stimulate(b, partitionFile)
		return err
	})
	got := c.outcome(b, before, results, thrown)
	if now := b.assignments(); Text(now) != Text(assignments) {
		got["assignments"] = now
	}
	want := c.Expect
	delete(want, "valid") // the states say it
	if c.Expect["result"] == nil {
		delete(got, "result")
	}
	for _, optional := range []string{"offline_partition_count_delta", "unclean_elections", "partition_states", "replica_states"} {
		if _, ok := want[optional]; !ok {
			delete(got, optional)
		}
	}
	var m Matcher
	for _, d := range m.Diff("expect", want, Plain(got), false) {
		t.Error(d)
	}
}

func (c *machineCase) bench(t *testing.T) *bench {
	cfg := DefaultConfig(5)
	cfg.BrokerConfig = c.Initial.BrokerConfig
	if c.IBP != "" {
		v, err := model.ParseInterBrokerProtocol(c.IBP)
		if err != nil {
			t.Fatal(err)
		}
		cfg.IBP = v
	}
	b := newBench(t, cfg)
	b.fence(c.Initial.ControllerEpoch)
	b.brokers(c.Initial.LiveBrokers, c.Initial.ShuttingDown)
	for _, name := range sortedKeys(c.Initial.Partitions) {
		b.plantPartition(name, c.Initial.Partitions[name])
	}
	for name, s := range c.Initial.Replicas {
		state, err := parseReplicaState(s)
		if err != nil {
			t.Fatal(err)
		}
		b.e.ctx.PutReplicaState(b.replicas([]string{name})[0], state)
	}
	for broker, names := range c.Initial.OfflineDirs {
		id, _ := model.ParseID(broker)
		for _, name := range names {
			b.e.ctx.SetOfflineDir(model.Replica{TopicPartition: b.partition(name), Broker: id}, true)
		}
	}
	for _, topic := range c.Initial.Queued {
		b.e.ctx.QueueTopicDeletion(topic)
	}
	for _, topic := range c.Initial.Started {
		b.e.ctx.BeginTopicDeletion(topic)
	}
	for topic, settings := range c.Initial.TopicConfigs {
		b.create(model.TopicConfigPath(topic), model.EncodeConfig(settings))
	}
	b.call = c.faults(b)
	return b
}

func (b *bench) plantPartition(name string, p machinePartition) {
	b.t.Helper()
	tp := b.partition(name)
	b.e.ctx.AddTopic(tp.Topic)
	b.create(model.TopicPath(tp.Topic), nil)
	b.e.ctx.UpdateAssignment(tp, model.ReplicaAssignment{Replicas: p.Replicas, Adding: p.Adding, Removing: p.Removing})
	if p.Cached != nil {
		b.e.ctx.PutLeadership(tp, p.Cached.state())
	}
	if p.State != "" {
		state, err := parsePartitionState(p.State)
		if err != nil {
			b.t.Fatal(err)
		}
		b.e.ctx.PutPartitionState(tp, state)
	}
	switch path := model.TopicPartitionStatePath(tp); {
	case p.Znode == nil:
	case p.Znode.Raw != nil:
		b.plant(path, []byte(*p.Znode.Raw), p.Znode.Version)
	default:
		b.plant(path, model.EncodePartitionState(*p.Znode.state()), p.Znode.Version)
	}
}

// faults makes what disturbs the calls.
func (c *machineCase) faults(b *bench) func(*model.Call) *model.Result {
	left := make([]int, len(c.Stimulus.Faults))
	for i, f := range c.Stimulus.Faults {
		left[i] = 1
		if f.Times != nil {
			left[i] = *f.Times
		}
	}
	return func(call *model.Call) *model.Result {
		for i, f := range c.Stimulus.Faults {
			switch {
			case left[i] == 0:
			case f.Error == "CONCURRENT_WRITE" || f.Error == "CONCURRENT_DELETE":
				if call.Purpose == f.ZkOp {
					left[i]--
					b.interfere(f)
				}
			case f.ZkOp == "batch": // c.stimulate sees to it
			default:
				if r := FaultResult(call, f.ZkOp, f.Error); r != nil {
					left[i]--
					return r
				}
			}
		}
		return nil
	}
}

// interfere is another writer of a state znode.
func (b *bench) interfere(f machineFault) {
	path := model.TopicPartitionStatePath(b.partition(f.Partition))
	if f.Error == "CONCURRENT_DELETE" {
		b.store.Apply(0, zkserver.Delete(path, zkserver.AnyVersion))
		return
	}
	data, _, _ := b.store.Get(path)
	l, _, err := model.DecodePartitionState(path, data)
	if err != nil {
		b.t.Fatal(err)
	}
	if f.ISR != nil {
		l.ISR = f.ISR
	}
	if f.ControllerEpoch != nil {
		l.ControllerEpoch = *f.ControllerEpoch
	}
	b.store.Apply(0, zkserver.Set(path, model.EncodePartitionState(l), zkserver.AnyVersion))
}

var caseStrategies = map[string]model.Strategy{"": 0, "offline": model.OfflineStrategy, "reassign": model.ReassignStrategy,
	"preferred": model.PreferredStrategy, "controlled_shutdown": model.ControlledShutdownStrategy}

func (c *machineCase) stimulate(b *bench, partitionFile bool) (outcomes, error) {
	s := &c.Stimulus
	for _, f := range s.Faults {
		if f.Error == "BROKER_BATCH_DIRTY" {
			b.e.psm.metadataTo[5], b.e.rsm.metadataTo[5] = true, true
		}
	}
	switch {
	case s.Call == "startup" && partitionFile:
		return nil, b.e.startPartitions()
	case s.Call == "startup":
		return nil, b.e.startReplicas()
	case s.Call == "trigger_online":
		return b.e.triggerOnlinePartitionStateChange("the case")
	case s.Call != "":
		b.t.Fatalf("no call %q", s.Call)
	case partitionFile:
		to, err := parsePartitionState(s.Target)
		if err != nil {
			b.t.Fatal(err)
		}
		strategy, ok := caseStrategies[s.Strategy]
		if !ok {
			b.t.Fatalf("no strategy %q", s.Strategy)
		}
		if s.AllowUnclean && strategy == model.OfflineStrategy {
			strategy = model.OfflineUncleanStrategy
		}
		return b.e.changePartitions(sortTPs(b.partitions(s.Partitions)), to, strategy, "the case")
	}
	to, err := parseReplicaState(s.Target)
	if err != nil {
		b.t.Fatal(err)
	}
	return nil, b.e.changeReplicas(b.replicas(s.Replicas), to, "the case")
}

func (b *bench) assignments() Object {
	out := Object{}
	for t := range b.e.ctx.Entries() {
		for n, p := range t.Partitions() {
			out[model.TP(t.Name, n).String()] = AssignmentObject(*p.Assignment)
		}
	}
	return out
}

// zkOps are the calls in the words of the cases; the three waves that create
// states are one.
func (b *bench) zkOps() []string {
	names := map[string]string{"get_state": "get_state", "update_state": "update_state", "get_config": "get_config", "create_topic_partitions": "create_state"}
	out := []string{}
	for _, s := range b.steps {
		if s, ok := s.(*model.Call); ok && names[s.Purpose] != "" {
			out = append(out, names[s.Purpose])
		}
	}
	return out
}

func (c *machineCase) outcome(b *bench, before *model.View, results outcomes, thrown error) Object {
	partitions, replicas, cached := b.states()
	znodes := Object{}
	for name := range c.Initial.Partitions {
		znodes[name] = b.stateZnode(b.partition(name))
	}
	result := Object{}
	for tp, r := range results {
		if r.err != nil {
			result[tp.String()] = Object{"error": errorName(r.err)}
		} else {
			result[tp.String()] = recordObject(r.record)
		}
	}
	now := b.e.ctx
	return Object{"partition_states": partitions, "replica_states": replicas, "cached_leadership": cached, "state_znodes": znodes,
		"result": result, "thrown": errorName(thrown), "zk_ops": b.zkOps(), "requests": b.sent(false),
		"offline_partition_count_delta": now.OfflinePartitionCount - before.OfflinePartitionCount,
		"preferred_imbalance_delta":     now.PreferredReplicaImbalanceCount - before.PreferredReplicaImbalanceCount,
		"unclean_elections":             b.e.UncleanElections()}
}

func (b *bench) states() (partitions, replicas, cached Object) {
	partitions, replicas, cached = Object{}, Object{}, Object{}
	for t := range b.e.ctx.Entries() {
		for n, p := range t.Entries() {
			tp := model.TP(t.Name, n)
			if p.State != model.NoPartitionState {
				partitions[tp.String()] = ShortState(p.State)
			}
			if p.Leadership != nil {
				cached[tp.String()] = LeadershipObject(p.Leadership)
			}
			for _, r := range p.Replicas {
				if r.State != model.NoReplicaState {
					replicas[ReplicaName(tp, r.Broker)] = ShortState(r.State)
				}
			}
		}
	}
	return partitions, replicas, cached
}

func (b *bench) stateZnode(tp model.TopicPartition) any {
	path := model.TopicPartitionStatePath(tp)
	data, stat, code := b.store.Get(path)
	if code != zkserver.OK {
		return nil
	}
	l, ok, err := model.DecodePartitionState(path, data)
	if !ok || err != nil {
		return Object{"raw": string(data), "version": stat.Version}
	}
	out := LeadershipObject(&l)
	delete(out, "partition_epoch")
	out["version"] = stat.Version
	return out
}

// electionCase is a case of elections.json.
type electionCase struct {
	Strategy       string  `json:"strategy"`
	Assignment     []int32 `json:"assignment"`
	ISR            []int32 `json:"isr"`
	LiveReplicas   []int32 `json:"live_replicas"`
	ShuttingDown   []int32 `json:"shutting_down"`
	UncleanAllowed bool    `json:"unclean_allowed"`
	Context        *struct {
		RegisteredBrokers []int32                 `json:"registered_brokers"`
		OfflineDirBrokers []int32                 `json:"offline_dir_brokers"`
		FullAssignment    model.ReplicaAssignment `json:"full_assignment"`
		Leader            int32                   `json:"leader"`
		LeaderEpoch       int32                   `json:"leader_epoch"`
		PartitionEpoch    int32                   `json:"partition_epoch"`
		Recovery          string                  `json:"recovery"`
		RecoverySupported bool                    `json:"recovery_supported"`
		StateUnreadable   bool                    `json:"state_unreadable"`
	} `json:"context"`
	Expect Object `json:"expect"`
}

// liveSet is an electorate that knows only which replicas are online.
type liveSet struct{ online, shuttingDown []int32 }

func (l liveSet) IsReplicaOnline(b int32, _ model.TopicPartition, _ bool) bool {
	return slices.Contains(l.online, b)
}
func (l liveSet) IsLiveOrShuttingDown(b int32) bool             { return slices.Contains(l.online, b) }
func (l liveSet) OnOfflineDir(int32, model.TopicPartition) bool { return false }
func (l liveSet) ShuttingDown() []int32                         { return l.shuttingDown }

// RunElectionCase runs a case of the pure elections, and where it has a context
// also of the step around them.
func RunElectionCase(t *testing.T, text []byte) {
	var c electionCase
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	if c.Expect == nil {
		t.Fatal("the case expects nothing")
	}
	strategy := caseStrategies[c.Strategy]
	if strategy == 0 {
		t.Fatalf("no strategy %q", c.Strategy)
	}
	tp := model.TP("t", 0)
	pure := candidacy{tp: tp, record: &model.LeaderAndIsr{ISR: c.ISR}, assignment: model.ReplicaAssignment{Replicas: c.Assignment}, unclean: c.UncleanAllowed, recovery: true}
	if c.Context == nil || !c.Context.StateUnreadable {
		v := elect(liveSet{c.LiveReplicas, c.ShuttingDown}, strategy, pure)
		checkVerdict(t, "pure", c.Expect, v, false)
	}
	if c.Context == nil {
		return
	}
	x := c.Context
	cluster := model.NewCluster()
	cluster.AddTopic("t")
	cluster.UpdateAssignment(tp, x.FullAssignment)
	for _, id := range x.RegisteredBrokers {
		cluster.PutBroker(model.Broker{ID: id})
	}
	for _, id := range c.ShuttingDown {
		cluster.SetShuttingDown(id, true)
	}
	for _, id := range x.OfflineDirBrokers {
		cluster.SetOfflineDir(model.Replica{TopicPartition: tp, Broker: id}, true)
	}
	in := candidacy{tp: tp, assignment: x.FullAssignment, unclean: c.UncleanAllowed, recovery: x.RecoverySupported}
	if !x.StateUnreadable {
		r := record{Leader: x.Leader, ISR: c.ISR, LeaderEpoch: x.LeaderEpoch, PartitionEpoch: x.PartitionEpoch, Recovery: x.Recovery}
		in.record = &r.state().LeaderAndIsr
	}
	checkVerdict(t, "context", c.Expect, elect(cluster, strategy, in), true)
}

func checkVerdict(t *testing.T, where string, want Object, v model.Verdict, context bool) {
	t.Helper()
	got := Object{"leader": nil, "unclean": 0, "new_state": nil, "recipients": List(v.Recipients)}
	if v.Leader != model.NoLeader {
		got["leader"] = v.Leader
	}
	if v.Unclean {
		got["unclean"] = 1
	}
	if v.New != nil {
		got["new_state"] = recordObject(*v.New)
	}
	if !context {
		got = Object{"leader": got["leader"], "unclean": got["unclean"]}
		want = Object{"leader": want["leader"], "unclean": want["unclean"]}
	}
	var m Matcher
	for _, d := range m.Diff(where, want, Plain(got), false) {
		t.Error(d)
	}
}
