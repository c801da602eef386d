package sim

// agenda is what is to happen, in the order of virtual time, then of entry.
type agenda struct {
	heap []entry
	seq  uint64
}

type entry struct {
	at  int64 // µs
	seq uint64
	do  func()
}

func (a *agenda) before(i, j int) bool {
	x, y := &a.heap[i], &a.heap[j]
	return x.at < y.at || x.at == y.at && x.seq < y.seq
}

func (a *agenda) add(at int64, do func()) {
	a.seq++
	a.heap = append(a.heap, entry{at, a.seq, do})
	for i := len(a.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.before(i, up) {
			return
		}
		a.heap[i], a.heap[up] = a.heap[up], a.heap[i]
		i = up
	}
}

// next takes the first entry; false when there is none.
func (a *agenda) next() (entry, bool) {
	if len(a.heap) == 0 {
		return entry{}, false
	}
	first, last := a.heap[0], len(a.heap)-1
	a.heap[0] = a.heap[last]
	a.heap[last] = entry{}
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for _, kid := range [2]int{2*i + 1, 2*i + 2} {
			if kid < last && a.before(kid, least) {
				least = kid
			}
		}
		if least == i {
			return first, true
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}
