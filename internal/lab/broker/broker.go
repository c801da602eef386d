package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"kstate/model"
)

// Broker is one simulated broker: its settings and disk, which stay, and one run
// of its process, when it is up.
type Broker struct {
	c   *Cluster
	id  int32
	set Settings

	// Under the cluster's lock.
	port      int32
	disk      *Disk
	behaviour Behaviour
	rules     []*armed
	counts    map[countKey]int
	run       *run // nil: down
}

// run is one life of a broker's process. What belongs to it checks alive before
// it touches anything: a killed process has no say any more.
type run struct {
	b        *Broker
	ctx      context.Context
	cancel   context.CancelFunc
	up       bool // registered and serving
	stopping bool
	replicas *Replicas
	session  *session
	listener net.Listener
	conns    map[*serverConn]struct{}
	outgoing map[net.Conn]struct{}
	held     []*heldAnswer
	sending  bool // proposals are on their way
	link     *link
	isr      announcements
	lagCheck Lags
}

func (r *run) alive() bool { return r.b.run == r }

// Start listens, registers in ZooKeeper and serves. It returns when the broker
// is up; the context bounds the start only.
// Kafka: KafkaServer.startup.
func (b *Broker) Start(ctx context.Context) error {
	r := &run{b: b, isr: announcements{lastSent: b.c.clock.Now()}, conns: map[*serverConn]struct{}{}, outgoing: map[net.Conn]struct{}{}, lagCheck: Lags{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	first := make(chan error, 1)
	var err error
	b.c.do(func() {
		switch {
		case b.c.closed:
			err = errors.New("cluster is closed")
		case b.run != nil:
			err = errors.New("it is up already")
		default:
			b.run = r
			b.disk.mount(b.c.clock.Now())
			r.replicas = NewReplicas(b.id, b.disk, b.set.FileDeleteDelay)
			err = r.listen()
		}
		if err == nil {
			err = r.openSession()
		}
		switch {
		case err == nil:
			b.c.spawn(func() { r.keepRegistered(first) })
		case r.alive():
			r.end()
		default:
			r.cancel()
		}
	})
	if err != nil {
		return fmt.Errorf("broker %d does not start: %w", b.id, err)
	}
	select {
	case err = <-first:
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.ctx.Done():
		err = errors.New("it was killed before it was up")
	}
	b.c.do(func() {
		if err == nil && !r.alive() {
			err = errors.New("it was killed before it was up")
		}
		if err != nil {
			if r.alive() {
				r.end()
			}
			return
		}
		r.up = true
		b.note(Event{Kind: Started})
		b.c.spawn(r.accept)
	})
	if err != nil {
		return fmt.Errorf("broker %d does not start: %w", b.id, err)
	}
	return nil
}

// listen binds the port that the broker had before, else any.
func (r *run) listen() error {
	b := r.b
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", b.set.Host, b.port))
	if err != nil && b.set.Port == 0 && b.port != 0 {
		l, err = net.Listen("tcp", b.set.Host+":0")
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	r.listener = l
	b.port = int32(l.Addr().(*net.TCPAddr).Port)
	return nil
}

// Kill ends the process like kill -9: sockets close, the ZooKeeper connection
// drops and its session goes when ZooKeeper ends it, memory is lost, the disk
// stays. Nothing happens if the broker is down.
func (b *Broker) Kill() { b.c.do(func() { b.die(Killed, nil) }) }

// die ends the current run. The lock is held.
func (b *Broker) die(kind Kind, why error) {
	if b.run == nil {
		return
	}
	b.run.end()
	b.note(Event{Kind: kind, Err: why})
}

// end takes the run down: everything of it that blocks is let go. The lock is
// held; what takes time goes on elsewhere.
func (r *run) end() {
	b := r.b
	b.run = nil
	r.up = false
	r.cancel()
	if r.listener != nil {
		r.listener.Close()
	}
	for c := range r.conns {
		c.conn.Close()
	}
	for c := range r.outgoing {
		c.Close()
	}
	if s := r.session; s != nil {
		b.c.spawn(s.drop)
	}
	b.c.touched = append(b.c.touched, r.replicas.hosted()...)
}

// Address is where the broker listens; false when it is down.
func (b *Broker) Address() (model.Endpoint, bool) {
	var port int32
	up := false
	b.c.look(func() { port, up = b.port, b.run != nil && b.run.up })
	return b.endpoint(port), up
}

func (b *Broker) endpoint(port int32) model.Endpoint {
	return model.Endpoint{Listener: b.set.Listener, Protocol: "PLAINTEXT", Host: b.set.Host, Port: port}
}

// SessionID is that of the broker's ZooKeeper session; 0 when there is none.
func (b *Broker) SessionID() (id int64) {
	b.c.look(func() {
		if b.run != nil && b.run.session != nil {
			id = b.run.session.conn.SessionID()
		}
	})
	return id
}

// later does f after a time, if the process then still lives. The lock is held
// now, and when f runs.
func (r *run) later(d time.Duration, f func()) {
	c := r.b.c
	c.agenda.add(c.clock.Now().Add(d), func() {
		if r.alive() {
			f()
		}
	})
}

// sleep waits on the cluster's clock; false when the process has ended.
func (r *run) sleep(d time.Duration) bool {
	rung := make(chan struct{})
	stop := r.b.c.clock.After(d, func() { close(rung) })
	select {
	case <-rung:
		return true
	case <-r.ctx.Done():
		stop()
		return false
	}
}

// behaviourChanged applies those parts that are states, not rules.
func (b *Broker) behaviourChanged() {
	r := b.run
	if r == nil {
		return
	}
	if r.session != nil {
		r.session.wire.setCut(b.behaviour.ZooKeeperCut)
	}
	for c := range r.conns {
		if b.behaviour.Refusing || b.behaviour.ControllerCut && c.controller {
			c.conn.Close()
		}
	}
	if b.behaviour.ControllerCut {
		for c := range r.outgoing {
			c.Close()
		}
	}
	b.c.touched = append(b.c.touched, r.replicas.hosted()...)
}

// settle sees to what the replicas ask for: sending proposals, checking lag,
// purging deleted logs. The lock is held.
func (r *run) settle() {
	for _, due := range r.replicas.purgeDue {
		r.b.c.agenda.add(due, func() { r.b.disk.purge(r.b.c.clock.Now()) })
	}
	r.replicas.purgeDue = nil
	if len(r.replicas.unsent) > 0 && !r.sending {
		r.sending = true
		if r.b.set.InterBrokerProtocol.AlterPartition() {
			r.b.c.spawn(r.sendProposals)
		} else {
			r.b.c.spawn(r.writeProposals)
		}
	}
}

// FailLogDir makes a log directory (a path from Snapshot) fail: its replicas are
// offline, and the controller is told through ZooKeeper. A broker that loses its
// last directory dies.
// Kafka: ReplicaManager.handleLogDirFailure.
func (b *Broker) FailLogDir(path string) error {
	var err error
	b.c.do(func() {
		r := b.run
		if r == nil || !r.up {
			err = fmt.Errorf("broker %d is down", b.id)
			return
		}
		failed, fatal := r.replicas.FailDir(path)
		if !failed {
			err = fmt.Errorf("broker %d has no good log directory %s; there are %v", b.id, path, b.disk.paths())
			return
		}
		b.note(Event{Kind: DirFailed, Dir: path})
		if fatal {
			b.die(Killed, fmt.Errorf("all log directories of broker %d have failed", b.id))
			return
		}
		b.c.spawn(r.announceDir)
	})
	return err
}

// RepairLogDir makes a failed directory good, from the next start on.
func (b *Broker) RepairLogDir(path string) error {
	var err error
	b.c.do(func() { err = b.disk.repair(path) })
	return err
}
