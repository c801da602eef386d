package live

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"kstate/internal/wire"
	"kstate/model"
)

// brokers are those that the controller has linked, with what they speak: any of
// them may be asked in the controller's place.
type brokers struct {
	dial     wire.Dialer
	listener string // on which they are asked what they speak
	ctx      context.Context
	cancel   context.CancelFunc
	done     sync.WaitGroup

	mu      sync.Mutex
	known   map[int32]*known
	next    int                // index of who is asked next, so that all are in turn
	probing context.CancelFunc // ends the Probe under way
}

type known struct {
	broker   model.Broker
	versions map[int16]model.VersionRange // nil until it has answered
	cancel   context.CancelFunc
}

func newBrokers(dial wire.Dialer, listener string) *brokers {
	b := &brokers{dial: dial, listener: listener, known: map[int32]*known{}, probing: func() {}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// beside runs work that close waits for.
func (b *brokers) beside(work func(context.Context)) { b.done.Go(func() { work(b.ctx) }) }

func (b *brokers) close() {
	b.cancel()
	b.done.Wait()
}

// linked asks a new broker what it takes, and forgets one that went.
func (b *brokers) linked(s *model.Link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.known[s.Broker.ID]; k != nil {
		k.cancel()
		delete(b.known, s.Broker.ID)
	}
	e, ok := s.Broker.Endpoint(b.listener)
	if !s.Up || !ok {
		return
	}
	ctx, cancel := context.WithCancel(b.ctx)
	k := &known{broker: s.Broker, cancel: cancel}
	b.known[s.Broker.ID] = k
	b.done.Go(func() {
		defer cancel()
		versions, err := wire.AskUntilAnswered(ctx, b.dial, e)
		if err != nil {
			return // it went, or all ends
		}
		b.mu.Lock()
		k.versions = versions
		b.mu.Unlock()
	})
}

// versions are those that all brokers take that have said so.
func (b *brokers) versions() map[int16]model.VersionRange {
	b.mu.Lock()
	defer b.mu.Unlock()
	var of []map[int16]model.VersionRange
	for _, k := range b.known {
		if k.versions != nil {
			of = append(of, k.versions)
		}
	}
	return wire.AllTake(of)
}

// dialAny connects to one of the brokers' endpoints of a listener, the next one
// with each call.
func (b *brokers) dialAny(ctx context.Context, listener string) (net.Conn, error) {
	b.mu.Lock()
	var choices []model.Endpoint
	for _, id := range slices.Sorted(maps.Keys(b.known)) {
		if e, ok := b.known[id].broker.Endpoint(listener); ok && b.known[id].versions != nil {
			choices = append(choices, e)
		}
	}
	b.next++
	at := b.next
	b.mu.Unlock()
	if len(choices) == 0 {
		return nil, fmt.Errorf("no broker with an endpoint of listener %s is there", listener)
	}
	return b.dial(ctx, choices[at%len(choices)])
}

// ask tells the newest protocol that fits all; it takes the place of the call before.
func (b *brokers) ask(endpoints []model.Endpoint, tell func(model.InterBrokerProtocol)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing()
	ctx, cancel := context.WithCancel(b.ctx)
	b.probing = cancel
	if len(endpoints) == 0 {
		cancel()
		return
	}
	b.done.Go(func() {
		defer cancel()
		if v, err := wire.AskProtocol(ctx, b.dial, endpoints); err == nil {
			tell(v)
		}
	})
}
