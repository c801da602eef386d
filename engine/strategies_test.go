package engine

import (
	"slices"
	"testing"

	"kstate/model"
)

// This file holds the strategies against the table of controller-events.md
// (19.15), written down once more in another way: brokers are bits, and nothing
// of the engine is used.

// brokerSet has bit b for broker b.
type brokerSet uint8

func (s brokerSet) has(b int32) bool { return s>>b&1 == 1 }

// ballot is everything that an election depends on.
type ballot struct {
	replicas, removing, isr []int32
	registered, leaving     brokerSet // leaving: shutting down, a part of registered
	unclean, recovery       bool
}

// ballotResult is what the table says.
type ballotResult struct {
	leader     int32 // 0: none
	isr        []int32
	recipients []int32
	unclean    bool
}

// tabled is one row of the table: who is asked, in order, and what a candidate
// must have.
type tabled struct {
	asked      func(ballot) []int32
	candidate  func(b ballot, id int32) bool
	isr        func(b ballot) []int32
	recipients func(ballot) []int32
}

func (b ballot) inISR(id int32) bool  { return slices.Contains(b.isr, id) }
func (b ballot) online(id int32) bool { return b.registered.has(id) && !b.leaving.has(id) }

func pick(list []int32, keep func(int32) bool) []int32 {
	out := []int32{}
	for _, id := range list {
		if keep(id) {
			out = append(out, id)
		}
	}
	return out
}

func assigned(b ballot) []int32 { return b.replicas }
func kept(b ballot) []int32     { return b.isr }
func targets(b ballot) []int32 {
	return pick(b.replicas, func(id int32) bool { return !slices.Contains(b.removing, id) })
}

var strategyTable = map[model.Strategy]tabled{
	model.OfflineStrategy: {
		asked:      assigned,
		candidate:  func(b ballot, id int32) bool { return b.online(id) && b.inISR(id) },
		isr:        func(b ballot) []int32 { return pick(b.isr, b.online) },
		recipients: func(b ballot) []int32 { return pick(b.replicas, b.online) },
	},
	model.ReassignStrategy: {
		asked:      targets,
		candidate:  func(b ballot, id int32) bool { return b.online(id) && b.inISR(id) },
		isr:        kept,
		recipients: targets,
	},
	model.PreferredStrategy: {
		asked:      func(b ballot) []int32 { return b.replicas[:min(1, len(b.replicas))] },
		candidate:  func(b ballot, id int32) bool { return b.online(id) && b.inISR(id) },
		isr:        kept,
		recipients: assigned,
	},
	model.ControlledShutdownStrategy: {
		asked:      assigned,
		candidate:  func(b ballot, id int32) bool { return b.registered.has(id) && b.inISR(id) && !b.leaving.has(id) },
		isr:        func(b ballot) []int32 { return pick(b.isr, func(id int32) bool { return !b.leaving.has(id) }) },
		recipients: func(b ballot) []int32 { return pick(b.replicas, b.registered.has) },
	},
}

func byTable(s model.Strategy, b ballot) ballotResult {
	row := strategyTable[s]
	out := ballotResult{recipients: row.recipients(b)}
	for _, id := range row.asked(b) {
		if row.candidate(b, id) {
			out.leader, out.isr = id, row.isr(b)
			return out
		}
	}
	if s != model.OfflineStrategy || !b.unclean {
		return out
	}
	for _, id := range b.replicas {
		if b.online(id) {
			out.leader, out.isr, out.unclean = id, []int32{id}, true
			return out
		}
	}
	return out
}

// bitElectorate shows a ballot to the engine.
type bitElectorate struct {
	b    *ballot
	down []int32
}

func (v bitElectorate) IsReplicaOnline(id int32, _ model.TopicPartition, includeShuttingDown bool) bool {
	return v.b.registered.has(id) && (includeShuttingDown || !v.b.leaving.has(id))
}
func (v bitElectorate) IsLiveOrShuttingDown(id int32) bool            { return v.b.registered.has(id) }
func (v bitElectorate) OnOfflineDir(int32, model.TopicPartition) bool { return false }
func (v bitElectorate) ShuttingDown() []int32                         { return v.down }

// arrangements are all ordered selections of brokers 1 to n, the empty one first.
func arrangements(n int32) [][]int32 {
	out := [][]int32{{}}
	for i := 0; i < len(out); i++ {
		for id := int32(1); id <= n; id++ {
			if !slices.Contains(out[i], id) {
				out = append(out, append(slices.Clone(out[i]), id))
			}
		}
	}
	return out
}

// TestStrategiesByTable holds every strategy on every assignment, ISR, set of
// registered brokers, set of those shutting down and unclean flag of up to four
// brokers against the table.
func TestStrategiesByTable(t *testing.T) {
	brokers := int32(4)
	if testing.Short() {
		brokers = 3
	}
	lists := arrangements(brokers)
	elections := 0
	for _, replicas := range lists {
		for _, isr := range lists {
			for registered := brokerSet(0); registered < 1<<(brokers+1); registered += 2 {
				for leaving := registered; ; leaving = (leaving - 1) & registered {
					b := ballot{replicas: replicas, isr: isr, registered: registered, leaving: leaving}
					v := bitElectorate{&b, bits(leaving)}
					for s := range strategyTable {
						elections += compareBallots(t, s, b, v)
					}
					if leaving == 0 {
						break
					}
				}
			}
		}
	}
	if t.Failed() {
		return
	}
	t.Logf("%d elections", elections)
}

func bits(s brokerSet) []int32 {
	var out []int32
	for id := int32(0); id < 8; id++ {
		if s.has(id) {
			out = append(out, id)
		}
	}
	return out
}

// compareBallots runs one strategy in all variants that it looks at: unclean and
// the recovery state for offline, what a reassignment removes for reassign.
func compareBallots(t *testing.T, s model.Strategy, b ballot, v bitElectorate) int {
	switch s {
	case model.OfflineStrategy:
		for _, b.unclean = range []bool{false, true} {
			b.recovery = !b.recovery
			compareBallot(t, s, b, v)
		}
		return 2
	case model.ReassignStrategy:
		for n := range len(b.replicas) + 1 {
			b.removing = b.replicas[n:]
			compareBallot(t, s, b, v)
		}
		return len(b.replicas) + 1
	}
	compareBallot(t, s, b, v)
	return 1
}

func compareBallot(t *testing.T, s model.Strategy, b ballot, v bitElectorate) {
	record := model.LeaderAndIsr{Leader: 9, LeaderEpoch: 4, ISR: b.isr, PartitionEpoch: 7}
	got := elect(v, s, candidacy{record: &record, assignment: model.ReplicaAssignment{Replicas: b.replicas, Removing: b.removing}, unclean: b.unclean, recovery: b.recovery})
	want := byTable(s, b)
	bad := ""
	switch {
	case want.leader == 0 && (got.Leader != model.NoLeader || got.New != nil || got.Why == ""):
		bad = "somebody was elected"
	case want.leader != 0 && (got.Leader != want.leader || got.New == nil || got.New.Leader != want.leader):
		bad = "another one was elected"
	case want.leader != 0 && !slices.Equal(got.New.ISR, want.isr):
		bad = "another ISR"
	case want.leader != 0 && (got.New.LeaderEpoch != 5 || got.New.PartitionEpoch != 7 || (got.New.Recovery == model.Recovering) != (want.unclean && b.recovery)):
		bad = "wrong epochs or recovery state"
	case got.Unclean != want.unclean:
		bad = "unclean or not"
	case !slices.Equal(got.Recipients, want.recipients):
		bad = "other recipients"
	}
	if bad != "" {
		t.Fatalf("%s: %s on %+v: have %+v, want %+v", s, bad, b, got, want)
	}
}

// TestEveryPairOfStates holds both machines, on every pair of states, against
// the matrices of state-machines.md (R), rows from, columns to.
func TestEveryPairOfStates(t *testing.T) {
	partitions := map[string]string{ // columns NonExistent, New, Online, Offline
		"NonExistent": "nynn", "New": "nnyy", "Online": "nnyy", "Offline": "ynyy"}
	columns := []string{"NonExistent", "New", "Online", "Offline"}
	for from, row := range partitions {
		for i, to := range columns {
			checkPartitionPair(t, from, to, row[i] == 'y')
		}
	}
	replicas := map[string]string{ // columns NonExistent, New, Online, Offline, Started, Successful, Ineligible
		"NonExistent": "nynnnnn", "New": "nnyynnn", "Online": "nnyynnn", "Offline": "nnyyyny",
		"ReplicaDeletionStarted": "nnnnnyy", "ReplicaDeletionSuccessful": "ynnnnnn", "ReplicaDeletionIneligible": "nnyynnn"}
	columns = append(columns, "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "ReplicaDeletionIneligible")
	for from, row := range replicas {
		for i, to := range columns {
			checkReplicaPair(t, from, to, row[i] == 'y')
		}
	}
}

// pairBench has partition t-0 on brokers 1 and 2, led by 1, both in sync.
func pairBench(t *testing.T, from string) *bench {
	b := newBench(t, DefaultConfig(1))
	b.fence(1)
	b.brokers([]int32{1, 2}, nil)
	r := &record{Leader: 1, ISR: []int32{1, 2}}
	p := machinePartition{Replicas: []int32{1, 2}, Znode: r, Cached: r}
	if from == "New" || from == "NonExistent" {
		p.Znode, p.Cached = nil, nil
	}
	b.plantPartition("t-0", p)
	return b
}

func checkPartitionPair(t *testing.T, from, to string, valid bool) {
	t.Helper()
	b := pairBench(t, from)
	tp := model.TP("t", 0)
	state, err := parsePartitionState(from)
	if err != nil {
		t.Fatal(err)
	}
	target, err := parsePartitionState(to)
	if err != nil {
		t.Fatal(err)
	}
	b.e.ctx.PutPartitionState(tp, state)
	err = b.run(func() error {
		_, err := b.e.changePartitions([]model.TopicPartition{tp}, target, model.OfflineStrategy, "the test")
		return err
	})
	checkPair(t, b, "partition", from, to, valid, ShortState(b.e.ctx.PartitionState(tp)), err)
}

func checkReplicaPair(t *testing.T, from, to string, valid bool) {
	t.Helper()
	b := pairBench(t, from)
	r := model.Replica{TopicPartition: model.TP("t", 0), Broker: 2}
	state, err := parseReplicaState(from)
	if err != nil {
		t.Fatal(err)
	}
	target, err := parseReplicaState(to)
	if err != nil {
		t.Fatal(err)
	}
	b.e.ctx.PutReplicaState(r, state)
	err = b.run(func() error { return b.e.changeReplicas([]model.Replica{r}, target, "the test") })
	now := ShortState(b.e.ctx.ReplicaState(r))
	if now == "" && to == "NonExistent" {
		now = to // forgotten
	}
	checkPair(t, b, "replica", from, to, valid, now, err)
}

// checkPair: a valid pair moves, an invalid one is refused in so many words and
// changes nothing.
func checkPair(t *testing.T, b *bench, what, from, to string, valid bool, now string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s %s to %s: %v", what, from, to, err)
	}
	refused := 0
	for _, s := range b.steps {
		switch s := s.(type) {
		case *model.RefusePartition:
			if s.Invalid {
				refused++
			}
		case *model.RefuseReplica:
			if s.Invalid {
				refused++
			}
		case *model.Call, *model.Send, *model.MovePartition, *model.MoveReplica:
			if !valid {
				t.Errorf("%s %s to %s is not legal, and has the step %s", what, from, to, s)
			}
		}
	}
	switch {
	case valid && (now != to || refused != 0):
		t.Errorf("%s %s to %s: it is %s now, refused %d times", what, from, to, now, refused)
	case !valid && (now != from || refused != 1):
		t.Errorf("%s %s to %s is not legal: it is %s now, refused %d times", what, from, to, now, refused)
	}
}
