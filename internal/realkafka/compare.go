package realkafka

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Difference is what sets one step of a recording apart from the same step of
// another.
type Difference struct {
	Step  int // index
	Name  string
	Lines []string // each what differs, the reference's first
}

// String is the step and one line for each thing that differs.
func (d Difference) String() string {
	return fmt.Sprintf("step %d (%s):\n\t%s", d.Step, d.Name, strings.Join(d.Lines, "\n\t"))
}

// Compare returns the steps that differ; none means that the two are equal.
//
// Equal steps have the same transitions as a set (how often a retry repeats
// one depends on timing), the same leaders, ISRs as sets and changes of leader
// epoch since the step before, the same brokers, admin znodes and assignments.
// Times, czxids, data versions and internal topics are not compared. A leader
// epoch may have changed more often by as many times as the leader has changed
// the ISR more often: see tookBack.
func Compare(ref, other Recording) []Difference {
	var out []Difference
	var prevRef, prevOther map[string]Partition
	for i, a := range ref {
		if i >= len(other) {
			out = append(out, Difference{i, a.Name, []string{"missing"}})
			continue
		}
		b := other[i]
		lines := slices.Concat(
			diffTransitions(a, b),
			diffLeadership(a, b, prevRef, prevOther),
			diffZnodes(a, b),
			diffMaps("assignment", assignments(a), assignments(b)))
		if len(lines) > 0 {
			out = append(out, Difference{i, a.Name, lines})
		}
		prevRef, prevOther = a.Partitions, b.Partitions
	}
	for i := len(ref); i < len(other); i++ {
		out = append(out, Difference{i, other[i].Name, []string{"not in the reference"}})
	}
	return out
}

// internal topics are Kafka's own.
func internal(topic string) bool { return strings.HasPrefix(topic, "__") }

func diffTransitions(a, b Step) []string {
	set := func(s Step) map[Transition]bool {
		m := map[Transition]bool{}
		for _, t := range s.Transitions {
			if !internal(t.Subject) {
				m[t] = true
			}
		}
		return m
	}
	ta, tb := set(a), set(b)
	only := func(who string, in, out map[Transition]bool) []string {
		var lines []string
		for t := range in {
			if !out[t] {
				lines = append(lines, fmt.Sprintf("only in %s: %v", who, t))
			}
		}
		slices.Sort(lines)
		return lines
	}
	return append(only("the reference", ta, tb), only("the other", tb, ta)...)
}

// leadership is what counts of a partition's state znode.
type leadership struct {
	leader           int32
	isr              string // as a set
	epochs, versions int32  // changes since the step before
}

const unreadable = "unreadable" // in the place of the ISR

// String shows what is compared.
func (l leadership) String() string {
	if l.isr == unreadable {
		return unreadable
	}
	return fmt.Sprintf("%d %s %d", l.leader, l.isr, l.epochs)
}

// tookBack tells whether two partitions differ by this alone: in one of them the
// leader has taken a follower back into the ISR that the controller had just
// removed, for a fetch of it was still under way, and the controller removed it
// again. A broker that shuts down under a release before AlterPartition can come
// to that under any controller. Only a controller changes the leader epoch, so
// the changes of the znode tell who made how many.
func tookBack(a, b leadership) bool {
	more := b.epochs - a.epochs
	if more < 0 {
		return tookBack(b, a)
	}
	byLeader := func(l leadership) int32 { return l.versions - l.epochs }
	return a.leader == b.leader && a.isr == b.isr && byLeader(b)-byLeader(a) >= more
}

func diffLeadership(a, b Step, prevA, prevB map[string]Partition) []string {
	la, lb := leaderships(a, prevA), leaderships(b, prevB)
	ta, tb := map[string]string{}, map[string]string{}
	for tp, l := range la {
		ta[tp] = l.String()
	}
	for tp, l := range lb {
		tb[tp] = l.String()
		if ref, ok := la[tp]; ok && tookBack(ref, l) {
			tb[tp] = ta[tp]
		}
	}
	return diffMaps("(leader, isr, change of leader epoch)", ta, tb)
}

func leaderships(s Step, prev map[string]Partition) map[string]leadership {
	out := map[string]leadership{}
	for tp, p := range s.Partitions {
		if internal(tp) {
			continue
		}
		if p.Error != "" {
			out[tp] = leadership{isr: unreadable}
			continue
		}
		before := Partition{LeaderEpoch: -1, ZKVersion: -1}
		if old, ok := prev[tp]; ok {
			before = old
		}
		out[tp] = leadership{p.Leader, fmt.Sprint(slices.Sorted(slices.Values(p.ISR))), p.LeaderEpoch - before.LeaderEpoch, p.ZKVersion - before.ZKVersion}
	}
	return out
}

func assignments(s Step) map[string]string {
	out := map[string]string{}
	for topic, t := range s.Topics {
		if !internal(topic) {
			out[topic] = fmt.Sprint(t.Partitions)
		}
	}
	return out
}

func diffZnodes(a, b Step) []string {
	var lines []string
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"brokers", a.Brokers, b.Brokers},
		{"/admin/delete_topics", a.DeleteTopics, b.DeleteTopics},
		{"/admin/reassign_partitions", a.Reassign, b.Reassign},
		{"/admin/preferred_replica_election", a.Preferred, b.Preferred},
	} {
		if !reflect.DeepEqual(f.a, f.b) {
			lines = append(lines, fmt.Sprintf("%s: %v / %v", f.name, f.a, f.b))
		}
	}
	return lines
}

func diffMaps(what string, a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		va, inA := a[k]
		vb, inB := b[k]
		if inA != inB || va != vb {
			lines = append(lines, fmt.Sprintf("%s of %s: %s / %s", what, k, orNone(va), orNone(vb)))
		}
	}
	return lines
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
