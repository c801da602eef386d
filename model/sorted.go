package model

import (
	"iter"
	"slices"
	"strings"
)

// sorted is a map from string to V, walked in key order, made for many writes
// and cheap freezing: keys lie in chunks, a chunk is copied at most once per
// generation, and a frozen copy of the outer slice shares all chunks.
type sorted[V any] struct {
	chunks []*chunk[V]
	gen    uint64 // generation in which the outer slice was copied
	n      int
}

type chunk[V any] struct {
	gen  uint64
	keys []string
	vals []V
}

const chunkMax = 128

// find returns the chunk that holds or would hold key, and the place in it.
func (s *sorted[V]) find(key string) (c, i int, ok bool) {
	lo, hi := 0, len(s.chunks)
	for lo < hi {
		m := (lo + hi) / 2
		keys := s.chunks[m].keys
		if keys[len(keys)-1] < key {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == len(s.chunks) {
		return lo, 0, false
	}
	i, ok = slices.BinarySearch(s.chunks[lo].keys, key)
	return lo, i, ok
}

func (s *sorted[V]) get(key string) (v V, ok bool) {
	c, i, ok := s.find(key)
	if !ok {
		return v, false
	}
	return s.chunks[c].vals[i], true
}

func (s *sorted[V]) has(key string) bool {
	_, _, ok := s.find(key)
	return ok
}

// own makes chunk c writable in generation gen.
func (s *sorted[V]) own(c int, gen uint64) *chunk[V] {
	s.ownOuter(gen)
	ch := s.chunks[c]
	if ch.gen != gen {
		ch = &chunk[V]{gen: gen, keys: slices.Clone(ch.keys), vals: slices.Clone(ch.vals)}
		s.chunks[c] = ch
	}
	return ch
}

func (s *sorted[V]) ownOuter(gen uint64) {
	if s.gen != gen {
		s.chunks, s.gen = slices.Clone(s.chunks), gen
	}
}

// put inserts or replaces.
func (s *sorted[V]) put(gen uint64, key string, v V) {
	key = strings.Clone(key) // a key must not keep a large payload alive
	c, i, ok := s.find(key)
	if ok {
		s.own(c, gen).vals[i] = v
		return
	}
	s.n++
	if len(s.chunks) == 0 {
		s.ownOuter(gen)
		s.chunks = append(s.chunks, &chunk[V]{gen: gen, keys: []string{key}, vals: []V{v}})
		return
	}
	if c == len(s.chunks) {
		c, i = c-1, len(s.chunks[c-1].keys)
	}
	ch := s.own(c, gen)
	ch.keys, ch.vals = slices.Insert(ch.keys, i, key), slices.Insert(ch.vals, i, v)
	if len(ch.keys) > chunkMax {
		m := len(ch.keys) / 2
		if i == len(ch.keys)-1 {
			m = len(ch.keys) - 1 // keys that come in order leave full chunks behind
		}
		right := &chunk[V]{gen: gen, keys: slices.Clone(ch.keys[m:]), vals: slices.Clone(ch.vals[m:])}
		clear(ch.vals[m:])
		ch.keys, ch.vals = ch.keys[:m], ch.vals[:m]
		s.chunks = slices.Insert(s.chunks, c+1, right)
	}
}

func (s *sorted[V]) remove(gen uint64, key string) {
	c, i, ok := s.find(key)
	if !ok {
		return
	}
	s.n--
	ch := s.own(c, gen)
	ch.keys, ch.vals = slices.Delete(ch.keys, i, i+1), slices.Delete(ch.vals, i, i+1)
	if len(ch.keys) == 0 {
		s.chunks = slices.Delete(s.chunks, c, c+1)
	}
}

// all walks the entries in key order.
func (s *sorted[V]) all() iter.Seq2[string, V] {
	chunks := s.chunks
	return func(yield func(string, V) bool) {
		for _, ch := range chunks {
			for i, k := range ch.keys {
				if !yield(k, ch.vals[i]) {
					return
				}
			}
		}
	}
}

// TopicSet is a frozen or live set of topic names in order.
type TopicSet struct{ s sorted[struct{}] }

// Has tells whether the topic is in the set.
func (t *TopicSet) Has(topic string) bool { return t.s.has(topic) }

// Len is the number of topics.
func (t *TopicSet) Len() int { return t.s.n }

// All walks the topics in order.
func (t *TopicSet) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range t.s.all() {
			if !yield(k) {
				return
			}
		}
	}
}

// Slice lists the topics in order.
func (t *TopicSet) Slice() []string {
	out := make([]string, 0, t.s.n)
	for k := range t.s.all() {
		out = append(out, k)
	}
	return out
}
