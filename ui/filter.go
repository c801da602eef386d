package ui

import (
	"slices"
	"strconv"
	"strings"

	"kstate/model"
)

const (
	filterOnKey   = 20_000 // topics looked at when the text changes
	filterOnFrame = 2_000  // topics looked at for each frame
)

// match is a topic that passes a filter. Only is the number of the only
// partition that does, or allPartitions.
type match struct {
	topic string
	only  int32
}

const allPartitions int32 = -1

// filter keeps the topics whose name contains a text, in order. A text such as
// "rders-12" also finds that one partition of orders. It never looks at more
// than a bounded number of topics at a time: it goes on with each frame, and
// starts anew when the cluster has changed.
type filter struct {
	text  string
	hits  []match
	fresh []match     // of the pass under way
	seen  *model.View // in which the pass began
	from  string      // where it goes on
	busy  bool
	first bool // no pass has been completed for this text
}

func (f *filter) on() bool { return f.text != "" }

// setText begins to look for another text.
func (f *filter) setText(text string, v *model.View) {
	if text == f.text {
		return
	}
	*f = filter{text: text, first: true}
	f.advance(v, filterOnKey)
}

// advance looks at up to budget more topics.
func (f *filter) advance(v *model.View, budget int) {
	if !f.on() {
		return
	}
	if !f.busy {
		if v == f.seen {
			return
		}
		f.busy, f.seen, f.from, f.fresh = true, v, "", nil
	}
	for range budget {
		t := v.TopicAfter(f.from)
		if t == nil {
			f.hits, f.busy, f.first = f.fresh, false, false
			return
		}
		if only, ok := f.matches(t.Name); ok && (only == allPartitions || t.Partition(only) != nil) {
			f.fresh = append(f.fresh, match{t.Name, only})
		}
		f.from = t.Name
	}
	if f.first {
		f.hits = f.fresh
	}
}

func (f *filter) matches(topic string) (int32, bool) {
	if strings.Contains(topic, f.text) {
		return allPartitions, true
	}
	i := strings.LastIndexByte(f.text, '-')
	if i < 0 || !strings.HasSuffix(topic, f.text[:i]) {
		return 0, false
	}
	if i == len(f.text)-1 {
		return allPartitions, true
	}
	n, err := strconv.ParseInt(f.text[i+1:], 10, 32)
	if err != nil || n < 0 {
		return 0, false
	}
	return int32(n), true
}

// find is the place of a topic among the hits, or where it would be.
func (f *filter) find(topic string) (int, bool) {
	return slices.BinarySearchFunc(f.hits, topic, func(m match, t string) int { return strings.Compare(m.topic, t) })
}

// topicSource walks the known topics that pass a filter.
type topicSource struct {
	v *model.View
	f *filter
}

func (s topicSource) compare(a, b string) int { return strings.Compare(a, b) }

func (s topicSource) has(k string) bool {
	if s.f.on() {
		if _, ok := s.f.find(k); !ok {
			return false
		}
	}
	return s.v.KnowsTopic(k)
}

func (s topicSource) first() (string, bool) { return s.after("") }

func (s topicSource) after(k string) (string, bool) {
	if !s.f.on() {
		return nameOf(s.v.TopicAfter(k))
	}
	i, ok := s.f.find(k)
	if ok {
		i++
	}
	for ; i < len(s.f.hits); i++ {
		if s.v.KnowsTopic(s.f.hits[i].topic) {
			return s.f.hits[i].topic, true
		}
	}
	return "", false
}

func (s topicSource) last() (string, bool) {
	if !s.f.on() {
		return nameOf(s.v.LastTopic())
	}
	return s.backFrom(len(s.f.hits))
}

func (s topicSource) before(k string) (string, bool) {
	if !s.f.on() {
		return nameOf(s.v.TopicBefore(k))
	}
	i, _ := s.f.find(k)
	return s.backFrom(i)
}

func (s topicSource) backFrom(i int) (string, bool) {
	for i--; i >= 0; i-- {
		if s.v.KnowsTopic(s.f.hits[i].topic) {
			return s.f.hits[i].topic, true
		}
	}
	return "", false
}

func nameOf(t *model.Topic) (string, bool) {
	if t == nil {
		return "", false
	}
	return t.Name, true
}

// partitionSource walks the assigned partitions that pass a filter.
type partitionSource struct {
	v *model.View
	f *filter
}

func (s partitionSource) topics() topicSource { return topicSource(s) }

func (s partitionSource) compare(a, b model.TopicPartition) int { return a.Compare(b) }

func (s partitionSource) has(k model.TopicPartition) bool {
	if !s.topics().has(k.Topic) {
		return false
	}
	if only := s.only(k.Topic); only != allPartitions && only != k.Partition {
		return false
	}
	p := s.v.Partition(k)
	return p != nil && p.Assignment != nil
}

func (s partitionSource) only(topic string) int32 {
	if s.f.on() {
		if i, ok := s.f.find(topic); ok {
			return s.f.hits[i].only
		}
	}
	return allPartitions
}

// within is the neighbour of number n in a topic, forth or back.
func (s partitionSource) within(topic string, n int32, forth bool) (model.TopicPartition, bool) {
	t := s.v.Topic(topic)
	var p *model.Partition
	if only := s.only(topic); only != allPartitions {
		if p = t.Partition(only); forth == (n >= only) || n == only || p != nil && p.Assignment == nil {
			p = nil
		}
		n = only
	} else if forth {
		n, p = t.PartitionAfter(n)
	} else {
		n, p = t.PartitionBefore(n)
	}
	return model.TP(topic, n), p != nil
}

const maxPartition = 1<<31 - 1

func (s partitionSource) first() (model.TopicPartition, bool) {
	return s.after(model.TP("", maxPartition))
}

func (s partitionSource) after(k model.TopicPartition) (model.TopicPartition, bool) {
	if k.Topic != "" && k.Partition < maxPartition && s.topics().has(k.Topic) {
		if tp, ok := s.within(k.Topic, k.Partition, true); ok {
			return tp, true
		}
	}
	for t, ok := s.topics().after(k.Topic); ok; t, ok = s.topics().after(t) {
		if tp, ok := s.within(t, -1, true); ok {
			return tp, true
		}
	}
	return model.TopicPartition{}, false
}

func (s partitionSource) last() (model.TopicPartition, bool) {
	for t, ok := s.topics().last(); ok; t, ok = s.topics().before(t) {
		if tp, ok := s.within(t, maxPartition, false); ok {
			return tp, true
		}
	}
	return model.TopicPartition{}, false
}

func (s partitionSource) before(k model.TopicPartition) (model.TopicPartition, bool) {
	if s.topics().has(k.Topic) {
		if tp, ok := s.within(k.Topic, k.Partition, false); ok {
			return tp, true
		}
	}
	for t, ok := s.topics().before(k.Topic); ok; t, ok = s.topics().before(t) {
		if tp, ok := s.within(t, maxPartition, false); ok {
			return tp, true
		}
	}
	return model.TopicPartition{}, false
}
