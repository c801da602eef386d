package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"kstate/model"
)

// In whatever order partitions are added, and however often, there is one entry
// for each, and they come out by name.
func TestEntriesAreOnePerPartitionAndByName(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := []int32{0, 1, 2, 63, 64, 200, dense - 1, dense, dense + 7, -1, -64, 1<<31 - 1}
	for round := range 200 {
		var s entries[model.StopReplicaEntry]
		want := map[model.TopicPartition]int32{}
		n := r.IntN(60)
		for i := range n {
			tp := model.TP(fmt.Sprintf("t%d", r.IntN(4)), numbers[r.IntN(len(numbers))])
			if round%2 == 0 {
				tp = model.TP("t", int32(i/3)) // in order, each three times
			}
			x := s.at(tp, n)
			if x.LeaderEpoch != want[tp] {
				t.Fatalf("%s has %d, want %d", tp, x.LeaderEpoch, want[tp])
			}
			want[tp] = int32(i + 1)
			*x = model.StopReplicaEntry{TopicPartition: tp, LeaderEpoch: int32(i + 1)}
		}
		got := s.take()
		names := slices.SortedFunc(maps.Keys(want), model.TopicPartition.Compare)
		if len(got) != len(names) || len(s.list) != 0 {
			t.Fatalf("%d entries, want %d", len(got), len(names))
		}
		for i, x := range got {
			if x.TopicPartition != names[i] || x.LeaderEpoch != want[x.TopicPartition] {
				t.Fatalf("round %d: entry %d is %+v, want %s with %d", round, i, x, names[i], want[names[i]])
			}
		}
	}
}
