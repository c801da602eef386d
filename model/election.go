package model

import (
	"fmt"
	"strings"
)

// Strategy is a way to elect a leader.
type Strategy uint8

const (
	OfflineStrategy        Strategy = iota + 1
	OfflineUncleanStrategy          // offline, unclean allowed whatever the topic says
	ReassignStrategy
	PreferredStrategy
	ControlledShutdownStrategy
)

var strategyNames = [...]string{"", "offline", "unclean", "reassign", "preferred", "controlled-shutdown"}

// String is the name on the command line.
func (s Strategy) String() string { return strategyNames[s] }

// Strategies lists all five.
var Strategies = []Strategy{OfflineStrategy, OfflineUncleanStrategy, ReassignStrategy, PreferredStrategy, ControlledShutdownStrategy}

// ParseStrategy reads the name on the command line.
func ParseStrategy(name string) (Strategy, error) {
	for _, s := range Strategies {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is not a strategy: one of preferred, offline, unclean, reassign, controlled-shutdown", name)
}

// Candidate is one replica that an election looked at, with the conditions it met.
type Candidate struct {
	Broker       int32
	Registered   bool // its broker is registered, maybe shutting down
	ShuttingDown bool
	OfflineDir   bool
	Online       bool // counts as live for this strategy
	InISR        bool
}

// Verdict is the outcome of an election for one partition.
type Verdict struct {
	Strategy   Strategy
	Leader     int32 // NoLeader: none could be elected
	Unclean    bool
	Candidates []Candidate // in the order in which they were considered
	// New is the record to be written; its partition epoch is still the one read. Nil without a leader.
	New        *LeaderAndIsr
	Recipients []int32 // brokers that get LeaderAndIsr once New is written; without New nobody does
	Why        string  // why none was elected
}

// String names the strategy, the winner and the candidates in brief.
func (v *Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", v.Strategy)
	switch {
	case v.Leader == NoLeader:
		b.WriteString("no leader")
	case v.Unclean:
		fmt.Fprintf(&b, "leader %d UNCLEAN", v.Leader)
	default:
		fmt.Fprintf(&b, "leader %d", v.Leader)
	}
	if v.New != nil {
		fmt.Fprintf(&b, " isr %s epoch %d", JoinIDs(v.New.ISR), v.New.LeaderEpoch)
	}
	if v.Why != "" {
		b.WriteString(" (" + v.Why + ")")
	}
	return b.String()
}
