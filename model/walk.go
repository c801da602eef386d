package model

import "slices"

// after is the first key behind key.
func (s *sorted[V]) after(key string) (k string, v V, ok bool) {
	c, i, found := s.find(key)
	if found {
		i++
	}
	if c < len(s.chunks) && i == len(s.chunks[c].keys) {
		c, i = c+1, 0
	}
	if c >= len(s.chunks) {
		return k, v, false
	}
	return s.chunks[c].keys[i], s.chunks[c].vals[i], true
}

// before is the last key in front of key.
func (s *sorted[V]) before(key string) (k string, v V, ok bool) {
	c, i, _ := s.find(key)
	return s.back(c, i)
}

// last is the greatest key.
func (s *sorted[V]) last() (k string, v V, ok bool) { return s.back(len(s.chunks), 0) }

// back is the entry one place in front of place i of chunk c.
func (s *sorted[V]) back(c, i int) (k string, v V, ok bool) {
	if i == 0 {
		if c == 0 {
			return k, v, false
		}
		c--
		i = len(s.chunks[c].keys)
	}
	return s.chunks[c].keys[i-1], s.chunks[c].vals[i-1], true
}

// After is the first topic behind topic in order; "" asks for the first one.
func (t *TopicSet) After(topic string) (string, bool) {
	k, _, ok := t.s.after(topic)
	return k, ok
}

// Before is the last topic in front of topic in order.
func (t *TopicSet) Before(topic string) (string, bool) {
	k, _, ok := t.s.before(topic)
	return k, ok
}

// Last is the last topic in order.
func (t *TopicSet) Last() (string, bool) {
	k, _, ok := t.s.last()
	return k, ok
}

// TopicAfter is the first known topic behind name in order ("" asks for the
// first one), nil when there is none. It takes logarithmic time: lists on a
// screen walk with it from any place.
func (v *View) TopicAfter(name string) *Topic {
	for {
		k, t, ok := v.topics.after(name)
		if !ok || t.Known {
			return t
		}
		name = k
	}
}

// TopicBefore is the last known topic in front of name in order, nil when there is none.
func (v *View) TopicBefore(name string) *Topic {
	for {
		k, t, ok := v.topics.before(name)
		if !ok || t.Known {
			return t
		}
		name = k
	}
}

// LastTopic is the last known topic in order, nil when there is none.
func (v *View) LastTopic() *Topic {
	k, t, ok := v.topics.last()
	if !ok || t.Known {
		return t
	}
	return v.TopicBefore(k)
}

// PartitionAfter is the first assigned partition behind number n (-1 asks for
// the first one). It does not walk from the beginning.
func (t *Topic) PartitionAfter(n int32) (int32, *Partition) {
	n++
	i, _ := t.page(n / pageSize)
	for ; i < len(t.pages); i++ {
		pg := t.pages[i]
		for s := max(0, int(n-pg.key*pageSize)); s < len(pg.slots); s++ {
			if p := pg.slots[s]; p != nil && p.Assignment != nil {
				return pg.key*pageSize + int32(s), p
			}
		}
	}
	return -1, nil
}

// PartitionBefore is the last assigned partition in front of number n.
func (t *Topic) PartitionBefore(n int32) (int32, *Partition) {
	n--
	i, ok := t.page(n / pageSize)
	if !ok {
		i--
	}
	for _, pg := range slices.Backward(t.pages[:i+1]) {
		for s := min(len(pg.slots)-1, int(n-pg.key*pageSize)); s >= 0; s-- {
			if p := pg.slots[s]; p != nil && p.Assignment != nil {
				return pg.key*pageSize + int32(s), p
			}
		}
	}
	return -1, nil
}
