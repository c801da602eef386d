package ui

import (
	"strconv"

	"kstate/model"
)

func itoa[N int | int32 | int64 | uint64](n N) string { return strconv.FormatInt(int64(n), 10) }

// graphs shows both graphs of states, one above the other, with a row between
// them that names the subjects of the lit edges.
type graphs struct{}

// size picks the drawings for an area: the large ones where they fit. The
// second result is false where not even the small ones do.
func (graphs) size(w, h int) (large, ok bool) {
	if w >= largeReplicas.w && h >= graphsHeight(true) {
		return true, true
	}
	return false, w >= smallReplicas.w && h >= graphsHeight(false)
}

func graphsHeight(large bool) int {
	if large {
		return largePartitions.h + 1 + largeReplicas.h
	}
	return smallPartitions.h + 1 + smallReplicas.h
}

// draw shows the graphs, or the counts alone where there is no room for them.
func (g graphs) draw(a area, f *model.Frame) {
	large, ok := g.size(a.w, a.h)
	if !ok {
		g.drawCounts(a, f)
		return
	}
	partitions, replicas := smallPartitions, smallReplicas
	if large {
		partitions, replicas = largePartitions, largeReplicas
	}
	e := &f.Edges
	partitions.draw(a, func(s model.PartitionState) (string, style) { return partitionCount(f, s) })
	lightBoth(a, partitions, edgeOf(e.LastPartition), edgeOf(e.ProposedPartition))
	a.sub(0, 0, 29, 1).put(0, 0, heading, partitionTitle(viewOf(f)))
	g.drawLegend(a.sub(0, partitions.h, a.w, 1), e)

	a = a.below(partitions.h + 1)
	replicas.draw(a, func(s model.ReplicaState) (string, style) { return replicaStateCount(f, s) })
	lightBoth(a, replicas, replicaEdgeOf(e.LastReplica), replicaEdgeOf(e.ProposedReplica))
	a.sub(0, 0, 29, 1).put(0, 0, heading, "Replicas")
}

var noView = &model.View{}

// viewOf is the frame's view, an empty one where it has none.
func viewOf(f *model.Frame) *model.View {
	if f.View == nil {
		return noView
	}
	return f.View
}

// notKnown stands for a count before anything was read: zero would be a guess.
const notKnown = "-"

func partitionCount(f *model.Frame, s model.PartitionState) (string, style) {
	if f.View == nil {
		return notKnown, faint
	}
	n := f.View.PartitionCounts[s]
	return itoa(n), countStyle(n, s == model.OfflinePartition, false)
}

func replicaStateCount(f *model.Frame, s model.ReplicaState) (string, style) {
	if f.View == nil {
		return notKnown, faint
	}
	n := f.View.ReplicaCounts[s]
	return itoa(n), countStyle(n, s == model.OfflineReplica, s == model.ReplicaDeletionIneligible)
}

func partitionTitle(v *model.View) string {
	if _, n := v.UnreadableCounts(); n > 0 {
		return "Partitions, unreadable " + itoa(n)
	}
	return "Partitions"
}

func countStyle(n int, isBad, isWarn bool) style {
	switch {
	case n == 0:
		return plain
	case isBad:
		return bad
	case isWarn:
		return warn
	}
	return strong
}

func edgeOf(e *model.PartitionEdge) *model.Edge[model.PartitionState] {
	if e == nil {
		return nil
	}
	return &e.Edge
}

func replicaEdgeOf(e *model.ReplicaEdge) *model.Edge[model.ReplicaState] {
	if e == nil {
		return nil
	}
	return &e.Edge
}

// lightBoth lights the last edge, and the proposed one over it.
func lightBoth[S comparable](a area, p *picture[S], last, next *model.Edge[S]) {
	if last != nil {
		p.light(a, *last, lastEdge, heavy)
	}
	if next != nil {
		p.light(a, *next, nextEdge, twin)
	}
}

// drawLegend names the subjects of what is lit: partitions from the left,
// replicas from the middle on.
func (graphs) drawLegend(a area, e *model.Edges) {
	if e.LastPartition == nil && e.ProposedPartition == nil && e.LastReplica == nil && e.ProposedReplica == nil {
		x := a.put(0, 0, lastEdge, "━━ last transition")
		a.put(x+3, 0, nextEdge, "══ proposed transition")
		return
	}
	x := 0
	if p := e.LastPartition; p != nil {
		x = legendLast(a, x, marked(p.Subject.String(), p.Inferred), p.Refused, p.Edge, smallPartitions)
	}
	if p := e.ProposedPartition; p != nil {
		x = legendNext(a, x, p.Subject.String())
	}
	x = max(x, a.w/2)
	if p := e.LastReplica; p != nil {
		x = legendLast(a, x, marked(p.Subject.String(), p.Inferred), p.Refused, p.Edge, smallReplicas)
	}
	if p := e.ProposedReplica; p != nil {
		legendNext(a, x, p.Subject.String())
	}
}

// marked says of what was inferred that it was.
func marked(text string, inferred bool) string {
	if inferred {
		return "~ " + text
	}
	return text
}

const legendGap = 2

// legendLast names the subject of the last transition. One that was refused
// because it is not legal has no stroke to light: its states are named.
func legendLast[S interface {
	comparable
	String() string
}](a area, x int, subject string, refused bool, e model.Edge[S], p *picture[S]) int {
	if !refused {
		return a.put(x, 0, lastEdge, "━ last "+subject) + legendGap
	}
	text := "✗ refused " + subject
	if p.edges[e] == nil {
		text += " " + e.From.String() + " to " + e.To.String()
	}
	return a.put(x, 0, bad, text) + legendGap
}

func legendNext(a area, x int, subject string) int {
	return a.put(x, 0, nextEdge, "═ next "+subject) + legendGap
}

// replicaColumn is where the counts of replicas begin in a small terminal: the
// longest name on either side has room for seven digits.
const replicaColumn = 28

// drawCounts is what remains of the graphs in a small terminal.
func (graphs) drawCounts(a area, f *model.Frame) {
	a.put(0, 0, faint, "The graphs need "+itoa(minGraphsWidth)+"x"+itoa(minGraphsHeight)+"; the counts:")
	y := 2
	for _, s := range model.PartitionStates {
		n, st := partitionCount(f, s)
		a.put(0, y, st, s.String()+" "+n)
		y++
	}
	if _, n := viewOf(f).UnreadableCounts(); n > 0 {
		a.put(0, y, bad, "unreadable "+itoa(n))
	}
	for i, s := range model.ReplicaStates {
		n, st := replicaStateCount(f, s)
		a.put(replicaColumn, 2+i, st, s.String()+" "+n)
	}
}
