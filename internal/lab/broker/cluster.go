package broker

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"kstate/model"
)

// Config of a cluster.
type Config struct {
	ZooKeeper []string // addresses, HOST:PORT
	Chroot    string   // "" or /path; created if missing
	// Dial opens connections to ZooKeeper; nil means net.DialTimeout.
	Dial func(network, address string, timeout time.Duration) (net.Conn, error)
	// ClusterID is written to /cluster/id if there is none; default: one for labs.
	ClusterID string
	Clock     Clock       // nil: the real one
	Rand      *rand.Rand  // source of jitter; nil: no jitter
	Observe   func(Event) // nil: nobody looks
}

// Cluster is a set of brokers that replicate to each other. One lock guards the
// state of all of them, so that what one does is seen by the others at once; it
// is never held during I/O.
type Cluster struct {
	cfg   Config
	clock Clock

	mu       sync.Mutex
	brokers  map[int32]*Broker
	order    []int32 // ids, sorted
	touched  []model.TopicPartition
	agenda   agenda
	alarm    func() bool // takes back the clock's next call
	alarmAt  time.Time
	events   []Event
	draining bool
	wake     chan struct{} // closed at the next change, for Await
	closed   bool
	id       string // of the cluster in ZooKeeper; "" until a broker has read it
	wg       sync.WaitGroup
}

// New makes a cluster without brokers.
func New(cfg Config) *Cluster {
	if cfg.Clock == nil {
		cfg.Clock = realClock{}
	}
	if cfg.Dial == nil {
		cfg.Dial = net.DialTimeout
	}
	if cfg.ClusterID == "" {
		cfg.ClusterID = base64.RawURLEncoding.EncodeToString([]byte("kstate-lab-clust"))
	}
	return &Cluster{cfg: cfg, clock: cfg.Clock, brokers: map[int32]*Broker{}}
}

// Add makes a broker, which is down until Start.
func (c *Cluster) Add(id int32, s Settings) (*Broker, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("broker %d: %w", id, err)
	}
	if id < 0 {
		return nil, fmt.Errorf("broker id %d is negative", id)
	}
	b := &Broker{c: c, id: id, set: s, port: s.Port, counts: map[countKey]int{},
		disk: NewDisk(fmt.Sprintf("/lab/broker-%d", id), s.LogDirs)}
	c.do(func() {
		switch {
		case c.closed:
			err = errors.New("cluster is closed")
		case c.brokers[id] != nil:
			err = fmt.Errorf("broker %d exists already", id)
		default:
			c.brokers[id] = b
			c.order = append(c.order, id)
			slices.Sort(c.order)
		}
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Broker finds a broker; nil if there is none with that id.
func (c *Cluster) Broker(id int32) (b *Broker) {
	c.look(func() { b = c.brokers[id] })
	return b
}

// IDs lists the brokers, running or not.
func (c *Cluster) IDs() (ids []int32) {
	c.look(func() { ids = slices.Clone(c.order) })
	return ids
}

// Start starts brokers side by side, all that are down when none is named, and
// returns when they are registered and serve.
func (c *Cluster) Start(ctx context.Context, ids ...int32) error {
	if len(ids) == 0 {
		c.look(func() {
			for _, id := range c.order {
				if c.brokers[id].run == nil {
					ids = append(ids, id)
				}
			}
		})
	}
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		b := c.Broker(id)
		if b == nil {
			errs[i] = fmt.Errorf("no broker %d", id)
			continue
		}
		wg.Go(func() { errs[i] = b.Start(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close kills all brokers and waits until nothing of them is left running.
func (c *Cluster) Close() {
	c.do(func() {
		c.closed = true
		for _, id := range c.order {
			c.brokers[id].die(Killed, nil)
		}
	})
	c.wg.Wait()
}

// Await waits until cond holds. It looks again after each change, and calls cond
// with no lock held.
func (c *Cluster) Await(ctx context.Context, cond func() bool) error {
	for {
		c.mu.Lock()
		if c.wake == nil {
			c.wake = make(chan struct{})
		}
		wake := c.wake
		c.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// do changes the state under the lock and then lets everything follow from it:
// replication, ISR proposals, alarms, events.
func (c *Cluster) do(f func()) {
	c.mu.Lock()
	f()
	c.settle()
	c.wakeUp()
	c.mu.Unlock()
	c.drain()
}

// wakeUp has each Await look at its condition again. The lock is held.
func (c *Cluster) wakeUp() {
	if c.wake != nil {
		close(c.wake)
		c.wake = nil
	}
}

// look reads the state under the lock.
func (c *Cluster) look(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// settle runs under the lock until nothing follows from anything.
func (c *Cluster) settle() {
	for {
		tps := c.touched
		c.touched = nil
		for b := range c.running() {
			tps = append(tps, b.run.replicas.touched...)
			b.run.replicas.touched = nil
		}
		if len(tps) == 0 {
			break
		}
		slices.SortFunc(tps, model.TopicPartition.Compare)
		for _, tp := range slices.Compact(tps) {
			c.review(tp)
		}
	}
	for b := range c.running() {
		b.run.settle()
	}
	c.setAlarm()
}

// running goes over the brokers that are up, in order.
func (c *Cluster) running() func(func(*Broker) bool) {
	return func(yield func(*Broker) bool) {
		for _, id := range c.order {
			if b := c.brokers[id]; b.run != nil && b.run.up {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// review tells the leader of a partition which of its followers fetch.
func (c *Cluster) review(tp model.TopicPartition) {
	x := Replication{Now: c.clock.Now, CatchUp: c.catchUp, Fetches: c.fetches}
	for l := range c.running() {
		x.Review(l.run.replicas, l.run.lagCheck, l.set.ReplicaLagTime, tp, l.run.later)
	}
}

// fetches: that broker is up and fetches the partition from that leader.
func (c *Cluster) fetches(id int32, tp model.TopicPartition, leader, epoch int32) bool {
	b := c.brokers[id]
	return b != nil && b.run != nil && b.run.up && !b.behaviour.FetchSilent && b.run.replicas.follows(tp, leader, epoch)
}

// catchUp draws how long that broker takes to catch up with a leader.
func (c *Cluster) catchUp(id int32) time.Duration {
	b := c.brokers[id]
	return b.set.CatchUp + c.jitter(b.set.CatchUpJitter)
}

func (c *Cluster) jitter(upTo time.Duration) time.Duration {
	if c.cfg.Rand == nil || upTo <= 0 {
		return 0
	}
	return time.Duration(c.cfg.Rand.Int64N(int64(upTo) + 1))
}

// setAlarm has the clock call for the first entry of the agenda.
func (c *Cluster) setAlarm() {
	at, ok := c.agenda.next()
	if c.closed {
		ok = false
	}
	if c.alarm != nil {
		if ok && at.Equal(c.alarmAt) {
			return
		}
		c.alarm()
		c.alarm = nil
	}
	if ok {
		c.alarmAt = at
		c.alarm = c.clock.After(at.Sub(c.clock.Now()), c.ring)
	}
}

func (c *Cluster) ring() {
	c.do(func() {
		c.alarm = nil
		if c.closed {
			return
		}
		for now := c.clock.Now(); ; {
			f, ok := c.agenda.due(now)
			if !ok {
				return
			}
			f()
		}
	})
}

// drain hands events to the observer. Whoever comes while another one is at it
// leaves its events to that one, so they stay in order and an observer may call
// the cluster.
func (c *Cluster) drain() {
	for {
		c.mu.Lock()
		if c.draining || len(c.events) == 0 {
			c.mu.Unlock()
			return
		}
		batch := c.events
		c.events, c.draining = nil, true
		c.mu.Unlock()
		for _, e := range batch {
			c.cfg.Observe(e)
		}
		c.mu.Lock()
		c.draining = false
		c.wakeUp() // for those who wait for what was observed
		c.mu.Unlock()
	}
}

// spawn runs f on a goroutine that Close waits for. The lock is held, or a
// goroutine of the cluster calls.
func (c *Cluster) spawn(f func()) { c.wg.Go(f) }

// clusterID is the id in ZooKeeper.
func (c *Cluster) clusterID() string { return c.id }

// Snapshots of all brokers, in order.
func (c *Cluster) Snapshots() []Snapshot {
	var out []Snapshot
	c.look(func() {
		for _, id := range c.order {
			out = append(out, c.brokers[id].snapshot())
		}
	})
	return out
}

// sortedKeys is for maps whose order would show.
func sortedKeys[K ~int32 | ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
