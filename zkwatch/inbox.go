package zkwatch

import (
	"sync"
	"time"
)

// inbox is a queue without bound from goroutines that must not wait to one that
// does.
type inbox[T any] struct {
	mu     sync.Mutex
	items  []T
	closed bool
	bell   chan struct{}
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{bell: make(chan struct{}, 1)} }

func (b *inbox[T]) post(item T) {
	b.mu.Lock()
	if !b.closed {
		b.items = append(b.items, item)
	}
	b.mu.Unlock()
	b.ring()
}

func (b *inbox[T]) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.ring()
}

func (b *inbox[T]) ring() {
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// take empties the queue without waiting; open is false when it was closed.
func (b *inbox[T]) take() (items []T, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	items = b.items
	b.items = nil
	return items, !b.closed
}

// wait empties the queue, waiting for an item or the end.
func (b *inbox[T]) wait() (items []T, open bool) {
	for {
		if items, open = b.take(); len(items) > 0 || !open {
			return items, open
		}
		<-b.bell
	}
}

// pace spreads bulk reads over time.
type pace struct {
	perSecond int

	mu   sync.Mutex
	free time.Time // when the next read may go out
}

// take books n reads and returns how long to wait before sending them.
func (p *pace) take(n int) time.Duration {
	if p.perSecond <= 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	wait := p.free.Sub(now)
	p.free = p.free.Add(time.Duration(n) * time.Second / time.Duration(p.perSecond))
	return wait
}
