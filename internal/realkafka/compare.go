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
// Times, czxids, data versions and internal topics are not compared.
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
			diffMaps("(leader, isr, change of leader epoch)", leadership(a, prevRef), leadership(b, prevOther)),
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

// leadership is what counts of each partition's state znode.
func leadership(s Step, prev map[string]Partition) map[string]string {
	out := map[string]string{}
	for tp, p := range s.Partitions {
		if internal(tp) {
			continue
		}
		if p.Error != "" {
			out[tp] = "unreadable"
			continue
		}
		before := int32(-1)
		if old, ok := prev[tp]; ok {
			before = old.LeaderEpoch
		}
		out[tp] = fmt.Sprint(p.Leader, slices.Sorted(slices.Values(p.ISR)), p.LeaderEpoch-before)
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
