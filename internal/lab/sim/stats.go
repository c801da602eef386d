package sim

import (
	"maps"
	"slices"
)

// Stats is what happened in one seed, or in many. Its JSON names are a contract.
type Stats struct {
	Seeds            int            `json:"seeds"`
	Steps            int            `json:"steps"`
	VirtualMillis    int64          `json:"virtual_ms"`
	Faults           map[string]int `json:"faults"`
	Actions          int            `json:"actions"`
	Failovers        int            `json:"failovers"`
	Elections        map[string]int `json:"elections"`
	UncleanElections int            `json:"unclean_elections"`
	Deletions        int            `json:"deletions"`
	ReplicasDeleted  int            `json:"replicas_deleted"`
	Reassignments    int            `json:"reassignments"`
	Uncontrolled     int            `json:"uncontrolled_shutdowns"`
	Requests         int            `json:"requests"`
	Refused          int            `json:"requests_refused"`
	Resent           int            `json:"requests_resent"`
	Unanswered       int            `json:"requests_unanswered"`
	Transactions     int64          `json:"transactions"`
	Excluded         map[string]int `json:"excluded"`
}

// NewStats has counted nothing yet.
func NewStats() Stats {
	return Stats{Faults: map[string]int{}, Elections: map[string]int{}, Excluded: map[string]int{}}
}

func (s *Stats) fault(f Fault) { s.Faults[string(f)]++ }

// Add adds what happened elsewhere.
func (s *Stats) Add(o Stats) {
	s.Seeds += o.Seeds
	s.Steps += o.Steps
	s.VirtualMillis += o.VirtualMillis
	s.Actions += o.Actions
	s.Failovers += o.Failovers
	s.UncleanElections += o.UncleanElections
	s.Deletions += o.Deletions
	s.ReplicasDeleted += o.ReplicasDeleted
	s.Reassignments += o.Reassignments
	s.Uncontrolled += o.Uncontrolled
	s.Requests += o.Requests
	s.Refused += o.Refused
	s.Resent += o.Resent
	s.Unanswered += o.Unanswered
	s.Transactions += o.Transactions
	for _, x := range []struct{ to, from map[string]int }{{s.Faults, o.Faults}, {s.Elections, o.Elections}, {s.Excluded, o.Excluded}} {
		for k, n := range x.from {
			x.to[k] += n
		}
	}
}

// Stats is what has happened so far.
func (s *Sim) Stats() Stats {
	out := NewStats()
	out.Add(s.stats)
	out.Seeds, out.Steps, out.VirtualMillis, out.Transactions = 1, s.steps, s.now/1000, s.watch.zxid
	return out
}

func sortedKeys[K ~int32 | ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
