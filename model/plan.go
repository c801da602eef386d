package model

// Plan is a change to a cluster before it is made: exactly what is to be
// written, or asked of the controller, and what speaks for and against it.
// Nothing in it changes after it was made.
type Plan struct {
	Number    uint64         // among the plans of one run; a Consent names it
	What      string         // in a few words: create topic orders
	Source    string         // the cluster, as the operator named it
	ClusterID string         // from /cluster/id; empty when it cannot be read
	Confirm   string         // what has to be typed as consent
	Writes    []PlannedWrite // one transaction; checks of versions among them
	Request   []string       // instead of writes: the request to a broker, in lines
	Checks    []PlanCheck    // preconditions, in the order in which they were looked at
	Nothing   string         // why there is nothing to do; then Writes and Request are empty
	Expect    []string       // what is to come of it, by partition
	Notes     []string       // how something was decided
	Warnings  []string       // what follows from it, or is not known
	Follow    string         // what is watched to see its end; empty: nothing
}

// PlannedWrite is one operation of a plan, and its znode as it was when the plan
// was made.
type PlannedWrite struct {
	Op     Op
	Before Znode
	ACL    string // of a create: what the new znode gets
}

// PlanCheck is one precondition and what was found.
type PlanCheck struct {
	What string
	OK   bool
	Saw  string
}

// Refused is the first precondition that does not hold, with what was seen;
// empty when all hold.
func (p *Plan) Refused() string {
	for i := range p.Checks {
		if c := &p.Checks[i]; !c.OK {
			return "required is that " + c.What + ", but " + c.Saw
		}
	}
	return ""
}

// PlanProgress is what has come of a plan since it was consented to.
type PlanProgress struct {
	Number uint64
	Lines  []PlanLine // oldest first
	State  string     // in a word: writing, queued, running, waiting, done, ...
	Done   bool       // nothing more is awaited
}

// PlanLine is one thing that was done or seen.
type PlanLine struct {
	At    int64 // ms since 1970
	Level Level
	Text  string
}

type (
	// Consent has a plan carried out: Typed must be its Confirm.
	Consent struct {
		Number uint64
		Typed  string
	}
	// Withdraw drops a plan that was not consented to, or stops following one
	// that was.
	Withdraw struct{ Number uint64 }
)

func (Consent) command()  {}
func (Withdraw) command() {}

// IsPlanned tells whether a command changes a cluster, so that admin mode answers
// it by a plan first.
func IsPlanned(c Command) bool {
	switch c.(type) {
	case CreateTopic, AddPartitions, DeleteTopic, Reassign, RunElection, MoveController:
		return true
	}
	return false
}
