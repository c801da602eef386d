package sim

import (
	"fmt"
	"slices"
	"time"

	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

const (
	fileDelete  = time.Minute
	lagTime     = 30 * time.Second
	fetchPause  = 500_000     // µs between fetches of an idle follower
	resendPause = 50_000      // µs
	lookPause   = 100_000     // µs between looks for the controller
	isrCheck    = 2_500_000   // µs
	isrLinger   = 5 * second  // since the last change
	isrMaxDelay = 60 * second // since the last announcement
	askTimeout  = 30 * second // for the controller's answer
	shutdownTry = 3           // attempts
	shutdownGap = 5 * second  // between them
	registerTry = second      // between attempts to register
)

// node is one broker: its disk, and one life of its process after the other.
type node struct {
	s    *Sim
	id   int32
	disk *broker.Disk

	life     int
	running  bool // the process is there
	up       bool // registered and serving
	stopping bool
	session  int64
	dead     bool // the server has ended the session, the process lives
	replicas *broker.Replicas
	lags     broker.Lags
	sending  bool // proposals are on their way
	changed  []model.TopicPartition
	checking bool // announcements are being looked at
	lastISR  int64
	lastSent int64

	cutFrom  map[int32]bool // controllers that cannot be reached
	cutOff   bool           // from ZooKeeper
	silent   int64          // until when it answers nothing
	slowness int64          // µs over each request, at most
	flaky    int            // percent of requests that are lost
}

func newNode(s *Sim, id int32) *node {
	return &node{s: s, id: id, disk: broker.NewDisk(fmt.Sprintf("/sim/broker-%d", id), s.plan.logDirs), cutFrom: map[int32]bool{}}
}

func (s *Sim) node(id int32) *node {
	if id < 1 || int(id) > len(s.nodes) {
		return nil
	}
	return s.nodes[id-1]
}

// start begins a life.
func (n *node) start() {
	if n.running {
		return
	}
	n.life++
	n.running, n.stopping, n.dead, n.sending, n.checking, n.changed = true, false, false, false, false, nil
	n.disk.Mount(n.s.clock())
	n.replicas = broker.NewReplicas(n.id, n.disk, fileDelete)
	n.lags = broker.Lags{}
	n.lastSent = n.s.now
	n.session, _ = n.s.store.CreateSession(0)
	n.s.tracef("broker %d starts, session 0x%x", n.id, n.session)
	n.later(n.s.latency(), n.register)
}

// later does something after a time, if the process then still lives.
func (n *node) later(d int64, do func()) {
	life := n.life
	n.s.after(d, func() {
		if n.life == life && n.running {
			do()
		}
	})
}

// register makes the broker's znode. A registration of an earlier session has to
// go first.
func (n *node) register() {
	if n.cutOff || n.dead {
		n.later(registerTry, n.register)
		return
	}
	b := model.Broker{ID: n.id, Endpoints: []model.Endpoint{{Listener: listener, Protocol: listener, Host: "127.0.0.1", Port: 9_000 + n.id}}}
	path := model.BrokerIDPath(n.id)
	data := model.EncodeBroker(&b, n.s.plan.ibp.BrokerZnodeVersion(), -1, n.s.ms())
	rs, _ := n.s.store.Multi(n.session, []zkserver.Op{zkserver.Create(path, nil, zkserver.Ephemeral), zkserver.Set(path, data, 0)})
	if rs[0].Code != zkserver.OK {
		n.later(registerTry, n.register)
		return
	}
	epoch := rs[1].Stat.Czxid
	n.later(n.s.latency(), func() {
		n.s.tracef("broker %d is registered with epoch %d", n.id, epoch)
		n.replicas.Registered(epoch)
		n.up = true
		n.touchAll()
	})
}

// die ends the process; its session ends after a time, 0: at once.
func (n *node) die(session int64) {
	if !n.running {
		return
	}
	n.touchAll()
	n.life++
	n.running, n.up = false, false
	id := n.session
	n.s.tracef("broker %d is gone", n.id)
	n.s.after(session, func() { n.s.store.Expire(id) })
}

// expire is the server's end of the session of a broker that lives. It registers
// anew when it can.
func (n *node) expire() {
	if !n.running || n.dead {
		return
	}
	n.dead = true
	n.s.tracef("broker %d: session 0x%x expires", n.id, n.session)
	n.s.store.Expire(n.session)
	n.renew()
}

func (n *node) renew() {
	if n.cutOff {
		n.later(registerTry, n.renew)
		return
	}
	n.later(n.s.latency(), func() {
		n.session, _ = n.s.store.CreateSession(0)
		n.dead = false
		n.register()
	})
}

// touchAll has replication looked at for all that it hosts.
func (n *node) touchAll() {
	for _, h := range n.replicas.Hosted() {
		n.replicas.Touch(h.TopicPartition)
	}
	n.s.settleTouched(n)
}

func (n *node) slow() int64 { return n.s.upTo(1_000) + n.s.upTo(n.slowness) }

// resets tells whether the connection breaks now.
func (n *node) resets(s *Sim) bool {
	if n.flaky == 0 || !s.percent(n.flaky) {
		return false
	}
	s.stats.fault(BrokerReset)
	return true
}

// host describes a replica.
func (n *node) host(tp model.TopicPartition) (broker.Hosted, bool) {
	if !n.running {
		return broker.Hosted{}, false
	}
	all := n.replicas.Hosted()
	i, ok := slices.BinarySearchFunc(all, tp, func(h broker.Hosted, tp model.TopicPartition) int { return h.TopicPartition.Compare(tp) })
	if !ok {
		return broker.Hosted{}, false
	}
	return all[i], true
}

// fetches tells whether a broker follows that leader.
func (s *Sim) fetches(id int32, tp model.TopicPartition, leader, epoch int32) bool {
	n := s.node(id)
	return n != nil && n.up && n.replicas.Follows(tp, leader, epoch)
}

func (s *Sim) catchUp(int32) time.Duration {
	return time.Duration(s.upTo(s.plan.catchUp)) * time.Microsecond
}

// settle sees to what the brokers' replicas ask for.
func (s *Sim) settle() {
	for again := true; again; {
		again = false
		for _, n := range s.nodes {
			if n.running && s.settleTouched(n) {
				again = true
			}
		}
	}
	for _, n := range s.nodes {
		if n.up && !n.sending && len(n.replicas.Proposals()) > 0 {
			n.sending = true
			if s.plan.ibp.AlterPartition() {
				n.propose()
			} else {
				n.writeISR()
			}
		}
	}
}

// settleTouched has all leaders look at what a broker's replicas touched.
func (s *Sim) settleTouched(n *node) bool {
	tps := n.replicas.Touched()
	for _, tp := range tps {
		for _, l := range s.nodes {
			if l.up {
				s.replication.Review(l.replicas, l.lags, lagTime, tp, func(d time.Duration, do func()) { l.later(d.Microseconds(), do) })
			}
		}
	}
	return len(tps) > 0
}

// propose asks the controller for changes of ISRs, all that wait in one request.
// Kafka: DefaultAlterPartitionManager.
func (n *node) propose() {
	batch := n.replicas.Proposals()
	if len(batch) == 0 || !n.up {
		n.sending = false
		return
	}
	version := int16(1)
	if n.s.plan.ibp.TopicIDs() {
		version = 2
	}
	for _, x := range batch {
		if x.TopicID.IsZero() {
			version = 1
		}
	}
	epoch, _ := n.replicas.Epochs()
	ask := &model.AlterPartition{Version: version, BrokerID: n.id, BrokerEpoch: epoch}
	for _, x := range batch {
		ask.Partitions = append(ask.Partitions, model.AlterPartitionEntry{TopicPartition: x.TopicPartition, TopicID: x.TopicID, ISR: x.To.ISR,
			LeaderEpoch: x.To.LeaderEpoch, PartitionEpoch: x.To.PartitionEpoch, Recovery: x.To.Recovery})
	}
	n.ask(ask, func(a model.Answer) {
		pause := int64(0)
		if a == nil || n.takeProposals(batch, a.(*model.AlterPartitionAnswer)) {
			pause = resendPause
		}
		if a == nil {
			pause = lookPause
		}
		n.later(pause, n.propose)
	})
}

// takeProposals applies the answer; true: pause before the next request.
func (n *node) takeProposals(batch []broker.Proposal, a *model.AlterPartitionAnswer) (pause bool) {
	if a.Error != model.ErrNone {
		return true
	}
	for _, x := range batch {
		i := slices.IndexFunc(a.Partitions, func(r model.AlterPartitionResult) bool {
			return r.Topic == x.Topic && r.TopicPartition == x.TopicPartition || r.Topic == "" && r.TopicID == x.TopicID && r.Partition == x.Partition
		})
		switch {
		case i < 0:
			pause = true
		case a.Partitions[i].Error == model.ErrNone:
			n.replicas.Settled(x, a.Partitions[i].Leadership.LeaderAndIsr)
		default:
			again, rolled := n.replicas.Refused(x, a.Partitions[i].Error)
			pause = pause || again
			if rolled {
				n.later(fetchPause, func() { n.replicas.Touch(x.TopicPartition) })
			}
		}
	}
	return pause
}

// writeISR writes an ISR as leaders did before AlterPartition.
// Kafka: ReplicationUtils.updateLeaderAndIsr.
func (n *node) writeISR() {
	batch := n.replicas.Proposals()
	if len(batch) == 0 || !n.up {
		n.sending = false
		return
	}
	if n.cutOff || n.dead {
		n.later(lookPause, n.writeISR)
		return
	}
	x := batch[0]
	n.later(n.s.latency(), func() {
		if n.cutOff || n.dead {
			n.writeISR()
			return
		}
		record := model.LeaderIsrAndControllerEpoch{LeaderAndIsr: x.To, ControllerEpoch: x.ControllerEpoch}
		r, _ := n.s.store.Apply(n.session, zkserver.Set(model.TopicPartitionStatePath(x.TopicPartition), model.EncodePartitionState(record), x.To.PartitionEpoch))
		n.s.moved()
		n.later(n.s.latency(), func() {
			if r.Code != zkserver.OK {
				n.replicas.Refused(x, model.ErrInvalidUpdateVersion)
			} else {
				state := x.To
				state.PartitionEpoch = r.Stat.Version
				n.replicas.Settled(x, state)
				n.changed = append(n.changed, x.TopicPartition)
				n.lastISR = n.s.now
				n.check()
			}
			n.writeISR()
		})
	})
}

// check announces ISR changes when they have settled, but not for ever.
// Kafka: ZkAlterPartitionManager.maybePropagateIsrChanges.
func (n *node) check() {
	if n.checking {
		return
	}
	n.checking = true
	n.later(isrCheck, func() {
		n.checking = false
		if n.s.now-n.lastISR <= isrLinger && n.s.now-n.lastSent <= isrMaxDelay || n.cutOff || n.dead {
			n.check()
			return
		}
		slices.SortFunc(n.changed, model.TopicPartition.Compare)
		n.announce(model.IsrChangePath(""), model.EncodeIsrChange(slices.Compact(n.changed)))
		n.changed, n.lastSent = nil, n.s.now
	})
}

// announce makes a sequential znode.
func (n *node) announce(path string, data []byte) {
	if n.cutOff || n.dead {
		n.later(lookPause, func() { n.announce(path, data) })
		return
	}
	n.s.store.Apply(n.session, zkserver.Create(path, data, zkserver.Sequential))
	n.s.moved()
}

// failDir makes a log directory fail; a broker without a good one dies.
func (n *node) failDir() bool {
	var good []string
	for _, d := range n.disk.Dirs() {
		if !d.Failed {
			good = append(good, d.Path)
		}
	}
	if !n.up || len(good) == 0 {
		return false
	}
	path := good[n.s.rng.IntN(len(good))]
	n.s.tracef("broker %d: log directory %s fails", n.id, path)
	if _, fatal := n.replicas.FailDir(path); fatal {
		n.die(n.s.upTo(n.s.plan.sessionTimeout))
		return true
	}
	n.later(n.s.latency(), func() { n.announce(model.LogDirEventPath(""), model.EncodeLogDirEvent(n.id)) })
	return true
}

// repair makes all directories good from the next start on.
func (n *node) repair() (needed bool) {
	for _, d := range n.disk.Dirs() {
		if d.Failed {
			needed = true
			n.disk.Repair(d.Path)
		}
	}
	return needed
}

// shutDown is a controlled shutdown; then is called when the process has ended.
// Kafka: KafkaServer.controlledShutdown.
func (n *node) shutDown(then func()) {
	if !n.up || n.stopping {
		return
	}
	n.stopping = true
	n.replicas.ShutDown()
	n.tryShutDown(shutdownTry, then)
}

func (n *node) tryShutDown(left int, then func()) {
	if left == 0 {
		n.s.stats.Uncontrolled++
		n.die(0)
		then()
		return
	}
	epoch, _ := n.replicas.Epochs()
	if !n.s.plan.ibp.AtLeast(model.IBP_2_2_IV0) {
		epoch = -1
	}
	n.ask(&model.ControlledShutdown{BrokerID: n.id, BrokerEpoch: epoch}, func(a model.Answer) {
		if x, ok := a.(*model.ControlledShutdownAnswer); ok && x.Error == model.ErrNone && len(x.Remaining) == 0 {
			n.die(0)
			then()
			return
		}
		n.later(shutdownGap, func() { n.tryShutDown(left-1, then) })
	})
}
