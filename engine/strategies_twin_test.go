package engine

import (
	"slices"
	"testing"

	"kstate/model"
)

// This file elects a second time, from the table of the strategies (F) in
// other code and other words, for every assignment, ISR, set of live brokers,
// set of brokers shutting down and unclean flag of up to four brokers.
//
// Sets of brokers 1 to 4 are bits here; lists are in order.

type twinInput struct {
	assignment, adding, removing []int32
	isr                          []int32
	registered, closing, badDir  uint8 // bits by broker
	unclean, recovery            bool
}

func twinBit(b int32) uint8 { return 1 << (b - 1) }

// twin is what the table says: the leader (0 for none), the ISR after it, and
// who is told.
type twin struct {
	leader     int32
	isr        []int32
	told       []int32
	unclean    bool
	recovering bool
}

// row is one column of the table.
type twinRow struct {
	candidates  func(in *twinInput) []int32
	live        func(in *twinInput) uint8 // counts as live
	barred      func(in *twinInput) uint8 // may not lead, though live
	maybeAnyone bool                      // if no member of the ISR can lead and it is allowed, any live one
	isrAfter    func(in *twinInput, leader int32) []int32
	told        func(in *twinInput, live uint8) []int32
}

func twinPick(list []int32, of uint8) []int32 {
	var out []int32
	for _, b := range list {
		if of&twinBit(b) != 0 {
			out = append(out, b)
		}
	}
	return out
}

func twinBits(list []int32) uint8 {
	var out uint8
	for _, b := range list {
		out |= twinBit(b)
	}
	return out
}

func twinUp(in *twinInput) uint8         { return in.registered &^ in.closing &^ in.badDir }
func twinRegistered(in *twinInput) uint8 { return in.registered &^ in.badDir }
func twinNobody(*twinInput) uint8        { return 0 }
func twinAll(in *twinInput) []int32      { return in.assignment }
func twinTarget(in *twinInput) []int32   { return twinPick(in.assignment, ^twinBits(in.removing)) }
func twinSameISR(in *twinInput, _ int32) []int32 {
	return in.isr
}

var twinTable = map[model.Strategy]twinRow{
	model.OfflineStrategy: {candidates: twinAll, live: twinUp, barred: twinNobody, maybeAnyone: true,
		isrAfter: func(in *twinInput, leader int32) []int32 {
			if twinBits(in.isr)&twinBit(leader) == 0 {
				return []int32{leader}
			}
			return twinPick(in.isr, twinUp(in))
		},
		told: func(in *twinInput, live uint8) []int32 { return twinPick(in.assignment, live) }},
	model.ReassignStrategy: {candidates: twinTarget, live: twinUp, barred: twinNobody, isrAfter: twinSameISR,
		told: func(in *twinInput, _ uint8) []int32 { return twinTarget(in) }},
	model.PreferredStrategy: {candidates: func(in *twinInput) []int32 { return in.assignment[:1] }, live: twinUp, barred: twinNobody, isrAfter: twinSameISR,
		told: func(in *twinInput, _ uint8) []int32 { return in.assignment }},
	model.ControlledShutdownStrategy: {candidates: twinAll, live: twinRegistered, barred: func(in *twinInput) uint8 { return in.closing },
		isrAfter: func(in *twinInput, _ int32) []int32 { return twinPick(in.isr, ^in.closing) },
		told:     func(in *twinInput, live uint8) []int32 { return twinPick(in.assignment, live) }},
}

func twinElect(s model.Strategy, in *twinInput) twin {
	r := twinTable[s]
	live := r.live(in)
	out := twin{told: r.told(in, live)}
	order := r.candidates(in)
	able := twinPick(order, live&^r.barred(in)&twinBits(in.isr))
	if len(able) == 0 && r.maybeAnyone && in.unclean {
		able = twinPick(order, live)
		out.unclean = len(able) > 0
	}
	if len(able) == 0 {
		return out
	}
	out.leader = able[0]
	out.isr = r.isrAfter(in, out.leader)
	out.recovering = out.unclean && in.recovery
	return out
}

// world is the memory of an engine as bits.
type twinWorld struct{ in *twinInput }

func twinHas(set uint8, b int32) bool { return set&twinBit(b) != 0 }

func (w twinWorld) IsReplicaOnline(b int32, _ model.TopicPartition, includeShuttingDown bool) bool {
	return twinHas(w.in.registered, b) && !twinHas(w.in.badDir, b) && (includeShuttingDown || !twinHas(w.in.closing, b))
}
func (w twinWorld) IsLiveOrShuttingDown(b int32) bool                 { return twinHas(w.in.registered, b) }
func (w twinWorld) OnOfflineDir(b int32, _ model.TopicPartition) bool { return twinHas(w.in.badDir, b) }
func (w twinWorld) ShuttingDown() []int32                             { return twinPick([]int32{1, 2, 3, 4}, w.in.closing) }

// arrangements are all ordered lists of up to n of the brokers, the empty one too.
func arrangements(brokers []int32) [][]int32 {
	out := [][]int32{nil}
	for i, b := range brokers {
		rest := slices.Concat(brokers[:i], brokers[i+1:])
		for _, tail := range arrangements(rest) {
			out = append(out, append([]int32{b}, tail...))
		}
	}
	return out
}

// differs compares an election with the table's.
func twinDiffers(s model.Strategy, in *twinInput) bool {
	record := model.LeaderAndIsr{Leader: model.NoLeader, LeaderEpoch: 7, ISR: in.isr, PartitionEpoch: 3}
	got := elect(twinWorld{in}, s, candidacy{tp: model.TP("t", 0), record: &record, unclean: in.unclean, recovery: in.recovery,
		assignment: model.ReplicaAssignment{Replicas: in.assignment, Adding: in.adding, Removing: in.removing}})
	want := twinElect(s, in)
	if !slices.Equal(got.Recipients, want.told) || got.Unclean != want.unclean {
		return true
	}
	if want.leader == 0 {
		return got.Leader != model.NoLeader || got.New != nil
	}
	n := got.New
	return got.Leader != want.leader || n == nil || n.Leader != want.leader || !slices.Equal(n.ISR, want.isr) ||
		n.LeaderEpoch != 8 || n.PartitionEpoch != 3 || (n.Recovery == model.Recovering) != want.recovering
}

func TestStrategiesAgainstTheTable(t *testing.T) {
	lists := arrangements([]int32{1, 2, 3, 4})
	cases, complaints := 0, 0
	try := func(s model.Strategy, in twinInput) {
		cases++
		if twinDiffers(s, &in) {
			if complaints++; complaints < 10 {
				t.Errorf("%s of %+v: not what the table says: %+v", s, in, twinElect(s, &in))
			}
		}
	}
	all := func(in twinInput) {
		for _, s := range []model.Strategy{model.OfflineStrategy, model.ReassignStrategy, model.PreferredStrategy, model.ControlledShutdownStrategy} {
			try(s, in)
		}
		in.unclean = true
		try(model.OfflineStrategy, in)
	}
	for _, assignment := range lists[1:] {
		if testing.Short() && len(assignment) == 4 {
			continue
		}
		for _, isr := range lists {
			for registered := range uint8(16) {
				for closing := range uint8(16) {
					if closing&^registered == 0 {
						all(twinInput{assignment: assignment, isr: isr, registered: registered, closing: closing, recovery: true})
					}
				}
				for removing := range twinBits(assignment) {
					if leaving := twinPick(assignment, removing); twinBits(leaving) == removing {
						try(model.ReassignStrategy, twinInput{assignment: assignment, removing: leaving, isr: isr, registered: registered})
					}
				}
			}
			for bad := range uint8(16) { // failed log directories, before protocol 3.2
				all(twinInput{assignment: assignment, isr: isr, registered: 15, badDir: bad})
			}
		}
	}
	t.Logf("%d elections", cases)
}

// An unclean election is considered only where no member of the ISR is online,
// in the assignment or not (F6).
func TestUncleanIsConsideredWithoutOnlineISROnly(t *testing.T) {
	tp := model.TP("t", 0)
	for registered := range uint8(16) {
		for closing := range uint8(16) {
			e := New(DefaultConfig(9))
			for _, b := range twinPick([]int32{1, 2, 3, 4}, registered) {
				e.ctx.PutBroker(model.Broker{ID: b})
				e.ctx.SetShuttingDown(b, closing&twinBit(b) != 0)
			}
			for _, isr := range arrangements([]int32{1, 2, 3, 4}) {
				got, err := e.collectUnclean([]candidacy{{tp: tp, record: &model.LeaderAndIsr{ISR: isr}}}, true)
				want := twinBits(isr)&registered&^closing == 0
				if err != nil || len(got) != 1 || got[0].unclean != want {
					t.Fatalf("ISR %v, registered %04b, shutting down %04b: unclean %v, want %t (%v)", isr, registered, closing, got, want, err)
				}
			}
		}
	}
}
