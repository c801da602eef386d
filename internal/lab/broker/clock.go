package broker

import (
	"container/heap"
	"time"
)

// Clock gives the time and rings once later. A simulation hands in its own; the
// lab runs on the real one.
type Clock interface {
	Now() time.Time
	// After calls ring once, d from now, on any goroutine but never inside
	// After itself. The function it returns takes the call back; it is false if
	// it came too late.
	After(d time.Duration, ring func()) (stop func() bool)
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) After(d time.Duration, ring func()) func() bool {
	return time.AfterFunc(d, ring).Stop
}

// agenda holds what the brokers of a cluster mean to do later, in the order of
// time, then of entry. One clock alarm serves it, however long it is.
type agenda struct {
	items []entry
	seq   uint64
}

type entry struct {
	at  time.Time
	seq uint64
	do  func()
}

func (a *agenda) Len() int { return len(a.items) }
func (a *agenda) Less(i, j int) bool {
	if c := a.items[i].at.Compare(a.items[j].at); c != 0 {
		return c < 0
	}
	return a.items[i].seq < a.items[j].seq
}
func (a *agenda) Swap(i, j int) { a.items[i], a.items[j] = a.items[j], a.items[i] }
func (a *agenda) Push(x any)    { a.items = append(a.items, x.(entry)) }
func (a *agenda) Pop() any {
	last := a.items[len(a.items)-1]
	a.items[len(a.items)-1] = entry{}
	a.items = a.items[:len(a.items)-1]
	return last
}

// add enters do at a time.
func (a *agenda) add(at time.Time, do func()) {
	a.seq++
	heap.Push(a, entry{at: at, seq: a.seq, do: do})
}

// next is the time of the first entry; false when there is none.
func (a *agenda) next() (time.Time, bool) {
	if len(a.items) == 0 {
		return time.Time{}, false
	}
	return a.items[0].at, true
}

// due takes out the first entry if its time has come.
func (a *agenda) due(now time.Time) (func(), bool) {
	if at, ok := a.next(); !ok || at.After(now) {
		return nil, false
	}
	return heap.Pop(a).(entry).do, true
}
