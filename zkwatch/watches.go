package zkwatch

import (
	"maps"
	"slices"
	"strings"

	"kstate/model"
)

// watchTable holds the armed watches of a session, by path in the ensemble, as
// ZooKeeper's own clients group them: data (the znode was there), exist (it was
// not), child. Each entry fires once. Recursive roots stay.
type watchTable struct {
	data, exist, child map[string]bool
	roots              []string
}

func newWatchTable() watchTable {
	return watchTable{data: map[string]bool{}, exist: map[string]bool{}, child: map[string]bool{}}
}

// oneShots is how many watches are armed that fire once.
func (t *watchTable) oneShots() int { return len(t.data) + len(t.exist) + len(t.child) }

// fire takes what an event uses up; false when nobody waits for it.
func (t *watchTable) fire(ev event) bool {
	armed := t.below(ev.path)
	drop := func(m map[string]bool) {
		armed = armed || m[ev.path]
		delete(m, ev.path)
	}
	switch ev.kind {
	case model.NodeChildrenChanged:
		drop(t.child)
	case model.NodeDeleted:
		drop(t.child)
		fallthrough
	default:
		drop(t.data)
		drop(t.exist)
	}
	return armed
}

func (t *watchTable) below(path string) bool {
	for _, root := range t.roots {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/' || root == "/") {
			return true
		}
	}
	return false
}

// watchSet is what one setWatches arms.
type watchSet struct{ data, exist, child []string }

// chunks cuts the one-shot watches into sets of about limit bytes, in order.
func (t *watchTable) chunks(limit int) []watchSet {
	var out []watchSet
	size := limit
	add := func(m map[string]bool, list func(*watchSet) *[]string) {
		for _, path := range slices.Sorted(maps.Keys(m)) {
			if size+len(path)+4 > limit {
				out = append(out, watchSet{})
				size = 28
			}
			size += len(path) + 4
			l := list(&out[len(out)-1])
			*l = append(*l, path)
		}
	}
	add(t.data, func(w *watchSet) *[]string { return &w.data })
	add(t.exist, func(w *watchSet) *[]string { return &w.exist })
	add(t.child, func(w *watchSet) *[]string { return &w.child })
	return out
}
