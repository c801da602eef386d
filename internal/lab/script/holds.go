package script

import (
	"fmt"
	"slices"
	"strings"

	"kstate/model"
)

// Each Holds is Condition's.

func (c partitionIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	s := f.View.PartitionState(c.tp)
	if s == model.NoPartitionState { // never heard of
		return c.state == model.NonExistentPartition, "no such partition"
	}
	return s == c.state, shortPartition(s)
}

func (c replicaIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	s := f.View.ReplicaState(c.replica)
	if s == model.NoReplicaState {
		return c.state == model.NonExistentReplica, "no such replica"
	}
	return s == c.state, shortReplica(s)
}

func (c leaderIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	l := f.View.Leadership(c.tp)
	if l == nil {
		return false, "no leadership known"
	}
	return l.Leader == c.leader, orNone(l.Leader)
}

func (c isrIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	l := f.View.Leadership(c.tp)
	if l == nil {
		return false, "no leadership known"
	}
	return slices.Equal(slices.Sorted(slices.Values(l.ISR)), slices.Sorted(slices.Values(c.isr))), model.IDsOrNone(l.ISR)
}

func (c replicasAre) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	a := f.View.Assignment(c.tp)
	return slices.Equal(a.Replicas, c.replicas), model.IDsOrNone(a.Replicas)
}

func (c reassigning) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	a := f.View.Assignment(c.tp)
	if !a.IsBeingReassigned() && !f.View.IsBeingReassigned(c.tp) {
		return false, "not reassigned"
	}
	return true, fmt.Sprintf("adding %s, removing %s", model.IDsOrNone(a.Adding), model.IDsOrNone(a.Removing))
}

func (c topicIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	known := f.View.KnowsTopic(c.topic)
	return known == c.exists, map[bool]string{true: "exists", false: "absent"}[known]
}

func (c deletionIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	v := f.View
	state, why := "not being deleted", model.IneligibleReason("")
	switch {
	case !v.IsQueued(c.topic) && !v.KnowsTopic(c.topic):
		state = "done"
	case !v.IsQueued(c.topic):
	case v.TopicsIneligibleForDeletion.Has(c.topic):
		state, why = "waiting", v.IneligibleReason(c.topic)
	case v.TopicsWithDeletionStarted.Has(c.topic):
		state = "running"
	default:
		state = "queued"
	}
	found := state
	if why != "" {
		found += " because " + string(why)
	}
	return state == c.state && (c.because == "" || c.because == why), found
}

func (c brokerIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	state := "down"
	for i := range f.Brokers {
		if f.Brokers[i].ID == c.broker {
			state = f.Brokers[i].State
		}
	}
	if state == "dead" || state == "running" { // to the controller
		state = "down"
	}
	return state == c.state, state
}

func (c controllerIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	who := "other"
	switch {
	case f.Controller.Self:
		who = "active"
	case f.Controller.ID < 0:
		who = "none"
	}
	return who == c.who, who
}

func (c epochIs) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	if !f.Controller.Self {
		return false, "this is not the controller"
	}
	return f.Controller.Epoch == c.epoch, fmt.Sprint(f.Controller.Epoch)
}

func (c at) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	if f.At == nil {
		return false, "no step is at hand"
	}
	return c.step.In(f.At.String()), f.At.String()
}

// Holds is Condition's.
func (q Question) Holds(_ *model.Frame, see Surroundings) (bool, string) {
	if see.Seen(q) {
		return true, "it did"
	}
	return false, "it did not"
}

func (c znodeIs) Holds(_ *model.Frame, see Surroundings) (bool, string) {
	z := see.Znode(c.path)
	found := ""
	switch {
	case z.Err != "":
		return false, z.Err
	case z.Missing:
		return c.how == "absent", "absent"
	default:
		found = fmt.Sprintf("version %d", z.Stat.Version)
		if len(z.Data) > 0 {
			found += ": " + short(string(z.Data))
		}
	}
	switch c.how {
	case "contains":
		return strings.Contains(string(z.Data), c.text), found
	case "version":
		return z.Stat.Version == c.version, found
	}
	return c.how == "exists", found
}

func short(s string) string {
	if r := []rune(s); len(r) > 120 {
		return string(r[:119]) + "…"
	}
	return s
}

func (c diskIs) Holds(_ *model.Frame, see Surroundings) (bool, string) {
	var found []string
	holds := false
	for _, d := range see.Disk(c.broker) {
		state := d.Path
		if d.Failed {
			state += " failed"
			holds = holds || c.how == "failed"
		}
		if !d.Failed && c.how == "holds" && slices.Contains(d.Logs, c.tp) {
			holds = true
		}
		if c.how == "deleting" && slices.ContainsFunc(d.Deleting, func(name string) bool { return strings.HasPrefix(name, c.tp.String()+".") }) {
			holds = true
		}
		found = append(found, fmt.Sprintf("%s: %d logs, %d being deleted", state, len(d.Logs), len(d.Deleting)))
	}
	if found == nil {
		return false, fmt.Sprintf("there is no broker %d", c.broker)
	}
	return holds, strings.Join(found, "; ")
}

func (c held) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	n := 0
	for _, h := range f.Held {
		if h.Broker == c.broker {
			n++
		}
	}
	return n > 0, fmt.Sprintf("%d answers held", n)
}

func (faultsHit) Holds(f *model.Frame, _ Surroundings) (bool, string) {
	for i := range f.Faults {
		if f.Faults[i].Hit == 0 {
			return false, fmt.Sprintf("%s: seen %d, hit 0", &f.Faults[i].Fault, f.Faults[i].Seen)
		}
	}
	return true, fmt.Sprintf("%d faults", len(f.Faults))
}

// Check looks whether what is expected holds.
func (e *Expect) Check(f *model.Frame, see Surroundings) (holds bool, found string) {
	holds, found = e.Condition.Holds(f, see)
	return holds != e.Not, found
}
