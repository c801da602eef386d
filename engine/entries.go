package engine

import (
	"maps"
	"slices"

	"kstate/model"
)

// entry is one of the three kinds of a request's entries.
type entry interface {
	model.LeaderAndIsrEntry | model.UpdateMetadataEntry | model.StopReplicaEntry
	Compare(model.TopicPartition) int
}

// entries is a collection with one entry per partition. A batch adds each
// partition once for every replica, broker after broker, so that looking one up
// must cost no hash and no comparison: places are found by topic, the last one
// first, and then by number.
type entries[T entry] struct {
	list     []T
	topics   map[string]*places
	topic    string  // the last one
	last     *places // its places
	disorder bool    // the list is not in the order of names
}

// places are where the partitions of a topic stand in the list, plus one.
// Numbers beyond dense, or below zero, which only a damaged topic znode has, are
// in sparse.
type places struct {
	at     []int32
	sparse map[int32]int32
}

func (p *places) get(n int32) int32 {
	switch {
	case n < 0 || n >= dense:
		return p.sparse[n]
	case int(n) < len(p.at):
		return p.at[n]
	}
	return 0
}

func (p *places) put(n, at int32) {
	if n < 0 || n >= dense {
		if p.sparse == nil {
			p.sparse = map[int32]int32{}
		}
		p.sparse[n] = at
		return
	}
	for int(n) >= len(p.at) {
		p.at = append(p.at, 0)
	}
	p.at[n] = at
}

// all are the places by partition number.
func (p *places) all(yield func(int32) bool) {
	rest := slices.Sorted(maps.Keys(p.sparse))
	for ; len(rest) > 0 && rest[0] < 0; rest = rest[1:] {
		if !yield(p.sparse[rest[0]]) {
			return
		}
	}
	for _, at := range p.at {
		if at > 0 && !yield(at) {
			return
		}
	}
	for _, n := range rest {
		if !yield(p.sparse[n]) {
			return
		}
	}
}

func (s *entries[T]) of(topic string) *places {
	if s.last != nil && s.topic == topic {
		return s.last
	}
	p := s.topics[topic]
	if p == nil {
		if s.topics == nil {
			s.topics = map[string]*places{}
		}
		p = &places{}
		s.topics[topic] = p
	}
	s.topic, s.last = topic, p
	return p
}

// at is the partition's entry, a new one (whose name the caller sets) if there
// is none. expect is how many entries may come.
func (s *entries[T]) at(tp model.TopicPartition, expect int) *T {
	p := s.of(tp.Topic)
	if at := p.get(tp.Partition); at > 0 {
		return &s.list[at-1]
	}
	n := len(s.list)
	if n == 0 {
		s.list = make([]T, 0, expect)
	} else if !s.disorder {
		s.disorder = s.list[n-1].Compare(tp) > 0
	}
	var zero T
	s.list = append(s.list, zero)
	p.put(tp.Partition, int32(n+1))
	return &s.list[n]
}

// sorted is the collection by name. Nothing more can be added to it.
func (s *entries[T]) sorted() []T {
	if s.disorder {
		out := make([]T, 0, len(s.list))
		for _, topic := range slices.Sorted(maps.Keys(s.topics)) {
			for at := range s.topics[topic].all {
				out = append(out, s.list[at-1])
			}
		}
		s.list, s.disorder = out, false
	}
	s.topics, s.last = nil, nil
	return s.list
}

// take is sorted, and leaves the collection empty.
func (s *entries[T]) take() []T {
	list := s.sorted()
	*s = entries[T]{}
	return list
}
