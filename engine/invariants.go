package engine

import (
	"fmt"
	"maps"
	"slices"

	"kstate/model"
)

// Invariants checks what holds for Kafka's controller whatever happens to it:
// on the stream of its steps, on its memory and on the znodes. It is for tests
// and simulations; the controller does not use it. Each is named by its number
// in docs/fidelity.md, INV1 to INV33.
//
// Some hold only until the first fault, which Fault announces: a ZooKeeper error
// that is not retried, or a state znode deleted from outside.
type Invariants struct {
	e      *Engine
	read   Znodes
	fault  string
	broken []string

	before  *model.View // as the last event left it
	event   model.Event
	batch   *model.OpenBatch
	phase   model.RequestKind // of the flush at work
	started map[model.Replica]bool
	deleted map[string]bool               // topics whose znode the controller deleted in this event
	told    map[string]bool               // paths of which this event was told that they do not exist
	markers []string                      // seen in this event
	ran     bool                          // for the role, in this event
	moving  map[model.TopicPartition]bool // whose leader a reassignment looked at in this event

	last       map[model.TopicPartition]seen
	records    map[model.TopicPartition][]model.LeaderAndIsr // all that were ever read or written
	unclean    map[string]bool                               // topic -> effective setting as last read
	partitions map[model.TopicPartition]model.PartitionState
	replicas   map[model.Replica]model.ReplicaState
	haunted    map[string]bool // topics deleted from outside: their states stay until the next failover
	floors     map[model.TopicPartition]seen
}

// Znodes reads a znode in the controller's ZooKeeper, without its chroot.
type Znodes func(path string) (data []byte, stat model.Stat, present bool)

// seen is a state znode as it was read or written.
type seen struct {
	record model.LeaderIsrAndControllerEpoch
	czxid  int64
}

// NewInvariants watches over an engine that has not taken a step yet.
func NewInvariants(e *Engine, read Znodes) *Invariants {
	return &Invariants{e: e, read: read, before: e.View(), started: map[model.Replica]bool{}, moving: map[model.TopicPartition]bool{}, deleted: map[string]bool{}, told: map[string]bool{},
		last: map[model.TopicPartition]seen{}, records: map[model.TopicPartition][]model.LeaderAndIsr{},
		unclean: map[string]bool{}, partitions: map[model.TopicPartition]model.PartitionState{}, replicas: map[model.Replica]model.ReplicaState{},
		haunted: map[string]bool{}, floors: map[model.TopicPartition]seen{}}
}

// Fault announces a fault: what holds without faults only is no longer checked.
func (i *Invariants) Fault(what string) {
	if i.fault == "" {
		i.fault = what
	}
}

// Mended announces that the memory was reset, by a resignation: what an earlier
// fault left in it is gone. With Mends.ClearBatches off, leftovers of
// the batches are not.
func (i *Invariants) Mended() {
	if i.e.cfg.Mend.ClearBatches {
		i.fault = ""
	}
}

// Overwritten announces that a state znode was written by somebody who takes it
// for another: its past binds nobody (INV5).
func (i *Invariants) Overwritten(tp model.TopicPartition) { delete(i.floors, tp) }

// Broken lists what did not hold so far.
func (i *Invariants) Broken() []string { return i.broken }

func (i *Invariants) breaks(inv int, format string, args ...any) {
	i.broken = append(i.broken, fmt.Sprintf("INV%d: ", inv)+fmt.Sprintf(format, args...))
}

// Took is told of each step of the event thread right after it was settled with
// that result. Steps of admin requests (Asides) are none of its business.
func (i *Invariants) Took(s model.Step, r model.Result) {
	switch s := s.(type) {
	case *model.Begin:
		i.event = s.Event.Event
		i.markers, i.batch, i.ran = nil, nil, false
		clear(i.deleted)
		clear(i.told)
		clear(i.moving)
	case *model.End:
		i.ended()
	case *model.OpenBatch:
		i.batch, i.phase = s, 0
		clear(i.started)
	case *model.CloseBatch:
		i.phase = model.LeaderAndIsrKind
	case *model.MovePartition:
		i.movedPartition(s)
	case *model.MoveReplica:
		i.movedReplica(s)
	case *model.Elect:
		i.elected(s)
	case *model.Send:
		i.sent(s)
	case *model.Call:
		i.called(s, r)
	}
}

// partitionMoves and replicaMoves are the legal transitions: what may follow what.
var partitionMoves = map[model.PartitionState][]model.PartitionState{
	model.NonExistentPartition: {model.NewPartition},
	model.NewPartition:         {model.OnlinePartition, model.OfflinePartition},
	model.OnlinePartition:      {model.OnlinePartition, model.OfflinePartition},
	model.OfflinePartition:     {model.OnlinePartition, model.OfflinePartition, model.NonExistentPartition},
}

var replicaMoves = map[model.ReplicaState][]model.ReplicaState{
	model.NonExistentReplica:        {model.NewReplica},
	model.NewReplica:                {model.OnlineReplica, model.OfflineReplica},
	model.OnlineReplica:             {model.OnlineReplica, model.OfflineReplica},
	model.OfflineReplica:            {model.OnlineReplica, model.OfflineReplica, model.ReplicaDeletionStarted, model.ReplicaDeletionIneligible},
	model.ReplicaDeletionStarted:    {model.ReplicaDeletionSuccessful, model.ReplicaDeletionIneligible},
	model.ReplicaDeletionSuccessful: {model.NonExistentReplica},
	model.ReplicaDeletionIneligible: {model.OnlineReplica, model.OfflineReplica},
}

func (i *Invariants) movedPartition(s *model.MovePartition) {
	if !slices.Contains(partitionMoves[s.From], s.To) {
		i.breaks(1, "%s", s)
	}
	forgotten := i.e.cfg.Mend.GhostStates && s.From == model.NonExistentPartition // with a topic that was deleted from outside
	if was, known := i.partitions[s.TopicPartition]; known && was != s.From && !forgotten {
		i.breaks(1, "%s, but it was in %s", s, was)
	}
	i.partitions[s.TopicPartition] = s.To
}

func (i *Invariants) movedReplica(s *model.MoveReplica) {
	if !slices.Contains(replicaMoves[s.From], s.To) {
		i.breaks(1, "%s", s)
	}
	if s.From == model.ReplicaDeletionSuccessful && s.To != model.NonExistentReplica {
		i.breaks(22, "%s", s)
	}
	forgotten := i.e.cfg.Mend.GhostStates && s.From == model.NonExistentReplica
	if was, known := i.replicas[s.Replica]; known && was != s.From && !forgotten {
		i.breaks(1, "%s, but it was in %s", s, was)
	}
	i.replicas[s.Replica] = s.To
	if s.To == model.ReplicaDeletionStarted {
		i.started[s.Replica] = true
	}
}

// elected checks an election against the memory that it was made from and the
// record that was read for it.
func (i *Invariants) elected(s *model.Elect) {
	v, tp, verdict := &i.e.ctx.View, s.TopicPartition, &s.Verdict
	list := v.Assignment(tp).Replicas
	switch verdict.Strategy {
	case model.ReassignStrategy:
		i.moving[tp] = true
		list = v.Assignment(tp).Target()
	case model.PreferredStrategy:
		list = list[:min(1, len(list))]
	}
	record := i.last[tp].record
	online := func(b int32) bool { return v.IsReplicaOnline(b, tp, false) }
	lives := online
	if verdict.Strategy == model.ControlledShutdownStrategy {
		lives = func(b int32) bool {
			return v.IsReplicaOnline(b, tp, true) && !slices.Contains(v.ShuttingDown(), b)
		}
	}
	clean, any := model.NoLeader, model.NoLeader
	for _, b := range slices.Backward(list) {
		if lives(b) {
			any = b
			if slices.Contains(record.ISR, b) {
				clean = b
			}
		}
	}
	switch {
	case !verdict.Unclean && verdict.Leader == model.NoLeader: // also when the config could not be read
		if clean != model.NoLeader {
			i.breaks(8, "%s: %d is live and in the ISR %v", s, clean, record.ISR)
		}
	case !verdict.Unclean && verdict.Leader != clean, verdict.Unclean && verdict.Leader != any:
		i.breaks(8, "%s: the first in order are %d (in the ISR) and %d of %v", s, clean, any, list)
	case verdict.Leader != model.NoLeader && verdict.New.LeaderEpoch != record.LeaderEpoch+1:
		i.breaks(4, "%s: the epoch was %d", s, record.LeaderEpoch)
	}
	if verdict.Leader == model.NoLeader || slices.Contains(record.ISR, verdict.Leader) {
		return
	}
	allowed := verdict.Strategy == model.OfflineUncleanStrategy || verdict.Strategy == model.OfflineStrategy && i.unclean[tp.Topic]
	switch n := verdict.New; {
	case slices.ContainsFunc(record.ISR, online):
		i.breaks(9, "%s: a member of the ISR %v is online", s, record.ISR)
	case !allowed:
		i.breaks(9, "%s: nothing allowed it", s)
	case !slices.Equal(n.ISR, []int32{verdict.Leader}):
		i.breaks(9, "%s: ISR %v", s, n.ISR)
	case i.e.cfg.IBP.LeaderRecovery() && n.Recovery != model.Recovering:
		i.breaks(9, "%s: %s", s, n.Recovery)
	}
}

func (i *Invariants) sent(s *model.Send) {
	v := &i.e.ctx.View
	kind := s.Request.Kind()
	if kind < i.phase {
		i.breaks(14, "%s after a %s", s, i.phase)
	}
	i.phase = kind
	var header model.RequestHeader
	switch r := s.Request.(type) {
	case *model.LeaderAndIsrRequest:
		header = r.RequestHeader
		for _, x := range r.Entries {
			same := func(l model.LeaderAndIsr) bool { return l.Equal(x.Leadership.LeaderAndIsr) }
			if !slices.ContainsFunc(i.records[x.TopicPartition], same) {
				i.breaks(15, "%s: %s is in no znode that was read or written", s, x.Leadership)
			}
		}
	case *model.UpdateMetadataRequest:
		header = r.RequestHeader
		for _, x := range r.Entries {
			if v.IsQueued(x.Topic) != (x.Leadership.Leader == model.LeaderDuringDelete) {
				i.breaks(17, "%s: %s has leader %d", s, x.TopicPartition, x.Leadership.Leader)
			}
		}
	case *model.StopReplicaRequest:
		header = r.RequestHeader
		for _, x := range r.Entries {
			if v.IsQueued(x.Topic) != (x.LeaderEpoch == model.EpochDuringDelete) {
				i.breaks(17, "%s: %s has leader epoch %d", s, x.TopicPartition, x.LeaderEpoch)
			}
			if x.Delete && !i.started[model.Replica{TopicPartition: x.TopicPartition, Broker: s.Broker}] {
				i.breaks(18, "%s: %s to be deleted", s, x.TopicPartition)
			}
		}
	}
	if b := v.Broker(s.Broker); b == nil || b.Epoch != header.BrokerEpoch {
		i.breaks(16, "%s with broker epoch %d", s, header.BrokerEpoch)
	}
	if header.ControllerEpoch != v.Epoch {
		i.breaks(16, "%s with controller epoch %d", s, header.ControllerEpoch)
	}
}

// unfencedPurposes are the writes that Kafka does not fence.
var unfencedPurposes = map[string]bool{"controller_epoch": true, "create_controller_epoch": true, "register_broker": true,
	"delete_broker": true, "write_feature": true, "set_producer_id_block": true}

func (i *Invariants) called(c *model.Call, r model.Result) {
	if c.Writes() && !c.Fenced && !unfencedPurposes[c.Purpose] {
		i.breaks(12, "%s (%s) has no fence", c, c.Purpose)
	}
	if c.Fenced && c.Purpose != "delete_controller" && c.Epoch != i.e.ctx.EpochZkVersion {
		i.breaks(12, "%s under fence %d, the epoch's is %d", c, c.Epoch, i.e.ctx.EpochZkVersion)
	}
	if c.Purpose == "controller_epoch" { // states are set directly when a controller starts
		i.ran = true
		clear(i.partitions)
		clear(i.replicas)
	}
	for n := range c.Ops {
		i.doomed(c, &c.Ops[n])
		if n < len(r.Ops) {
			i.answered(c, &c.Ops[n], &r.Ops[n])
		}
	}
}

// doomed checks deletions, whether they succeed or not.
func (i *Invariants) doomed(c *model.Call, op *model.Op) {
	if op.Kind != model.OpDelete {
		return
	}
	switch ref := model.ParsePath(op.Path); {
	case ref.Kind == model.DeleteTopicZnode && i.e.ctx.IsQueued(ref.Topic):
		path := model.TopicPath(ref.Topic)
		if _, _, present := i.read(path); present && !i.told[path] {
			i.breaks(24, "%s while the topic's znode is there", c)
		}
		if _, _, present := i.read(model.TopicConfigPath(ref.Topic)); present && i.fault == "" {
			i.breaks(24, "%s while the topic's config is there", c)
		}
	case c.Purpose == "delete" && ref.Topic != "":
		i.deleted[ref.Topic] = true
		for n, p := range i.e.ctx.Topic(ref.Topic).Partitions() {
			for _, b := range p.Assignment.Replicas {
				if x, _ := p.Replica(b); x.State != model.ReplicaDeletionSuccessful {
					i.breaks(23, "%s while replica %d of %s is %s", c, b, model.TP(ref.Topic, n), x.State)
				}
			}
		}
	}
}

// answered notes what a read told, and checks what a write did.
func (i *Invariants) answered(c *model.Call, op *model.Op, r *model.OpResult) {
	if r.Code != model.CodeOK {
		if r.Code == model.CodeNoNode {
			i.told[op.Path] = true
		}
		if op.Kind == model.OpGet && c.Purpose == "get_config" && r.Code == model.CodeNoNode {
			i.unclean[model.ParsePath(op.Path).Name], _ = EffectiveUnclean(i.e.cfg.BrokerConfig, nil)
		}
		return
	}
	if op.Kind == model.OpDelete {
		i.told[op.Path] = true // what is there later was made by somebody else
	}
	if op.Kind.Writes() && c.Fenced {
		if _, stat, present := i.read(model.ControllerEpochPath); present && stat.Version != c.Epoch {
			i.breaks(12, "%s took effect under fence %d, the epoch's version is %d", c, c.Epoch, stat.Version)
		}
	}
	switch ref := model.ParsePath(op.Path); {
	case ref.Kind == model.PartitionStateZnode && op.Kind == model.OpGet:
		if l, present, err := model.DecodePartitionState(op.Path, r.Data); err == nil && present {
			l.PartitionEpoch = r.Stat.Version
			i.note(ref.TopicPartition(), seen{l, r.Stat.Czxid})
		}
	case ref.Kind == model.PartitionStateZnode && op.Kind.Writes():
		i.wrote(c, op, r, ref.TopicPartition())
	case c.Purpose == "get_config":
		if overrides, err := model.DecodeConfig(op.Path, r.Data); err == nil {
			i.unclean[ref.Name], _ = EffectiveUnclean(i.e.cfg.BrokerConfig, overrides)
		}
	case op.Path == model.DeleteTopicsPath && op.Kind == model.OpChildren:
		i.markers = r.Children
	}
}

func (i *Invariants) note(tp model.TopicPartition, s seen) {
	i.last[tp] = s
	same := func(l model.LeaderAndIsr) bool { return l.Equal(s.record.LeaderAndIsr) }
	if !slices.ContainsFunc(i.records[tp], same) {
		i.records[tp] = append(i.records[tp], s.record.LeaderAndIsr)
	}
}

// wrote checks a write of a state znode against what had been read.
func (i *Invariants) wrote(c *model.Call, op *model.Op, r *model.OpResult, tp model.TopicPartition) {
	l, present, err := model.DecodePartitionState(op.Path, op.Data)
	if op.Kind == model.OpDelete {
		return
	}
	if err != nil || !present {
		i.breaks(4, "%s writes what cannot be read: %s", c, op.Data)
		return
	}
	prev, known := i.last[tp]
	l.PartitionEpoch = r.Stat.Version
	i.note(tp, seen{l, r.Stat.Czxid})
	_, proposed := i.event.(*model.AlterPartitionReceived) // which may store what no machine does
	if len(l.ISR) == 0 && !proposed {
		i.breaks(6, "%s %s", c, l)
	}
	leads := func(l *model.LeaderIsrAndControllerEpoch) bool {
		return l.Leader == model.NoLeader || slices.Contains(l.ISR, l.Leader)
	}
	if op.Kind == model.OpCreate {
		if l.LeaderEpoch != 0 || r.Stat.Version != 0 || l.Recovery != model.Recovered {
			i.breaks(4, "%s creates %s", c, l)
		}
		if !leads(&l) {
			i.breaks(7, "%s %s", c, l)
		}
		return
	}
	if r.Stat.Version != op.Version+1 {
		i.breaks(4, "%s: version %d after %d", c, r.Stat.Version, op.Version)
	}
	if !known || prev.record.PartitionEpoch != op.Version {
		i.breaks(4, "%s: version %d was not read", c, op.Version)
		return
	}
	i.changed(c, prev.record, l)
	if leads(&prev.record) && !leads(&l) && !proposed {
		i.breaks(7, "%s: %s after %s", c, l, prev.record)
	}
}

// changed checks what one write changed.
func (i *Invariants) changed(c *model.Call, from, to model.LeaderIsrAndControllerEpoch) {
	_, proposed := i.event.(*model.AlterPartitionReceived)
	raised := to.LeaderEpoch - from.LeaderEpoch
	if raised != 1 && !(proposed && raised == 0) {
		i.breaks(4, "%s: leader epoch %d after %d", c, to.LeaderEpoch, from.LeaderEpoch)
	}
	switch {
	case from.Recovery == model.Recovered && to.Recovery == model.Recovering && slices.Contains(from.ISR, to.Leader),
		from.Recovery == model.Recovering && to.Recovery == model.Recovered && raised != 0:
		i.breaks(10, "%s: %s after %s", c, to, from)
	}
	if i.batch == nil || i.batch.Machine != model.ReplicaStateMachine || raised == 0 {
		return
	}
	var gone []int32
	for _, b := range from.ISR {
		if !slices.Contains(to.ISR, b) {
			gone = append(gone, b)
		}
	}
	switch {
	case len(gone) > 1 || len(from.ISR) == 1 && len(gone) == 1 || len(to.ISR) > len(from.ISR),
		to.Leader != from.Leader && to.Leader != model.NoLeader,
		to.Recovery != from.Recovery:
		i.breaks(11, "%s: %s after %s", c, to, from)
	}
}

// states copies all states out of a memory.
func states(v *model.View) (map[model.TopicPartition]model.PartitionState, map[model.Replica]model.ReplicaState) {
	ps, rs := map[model.TopicPartition]model.PartitionState{}, map[model.Replica]model.ReplicaState{}
	for t := range v.Entries() {
		for n, p := range t.Entries() {
			tp := model.TP(t.Name, n)
			if p.State != model.NoPartitionState {
				ps[tp] = p.State
			}
			for _, r := range p.Replicas {
				if r.State != model.NoReplicaState {
					rs[model.Replica{TopicPartition: tp, Broker: r.Broker}] = r.State
				}
			}
		}
	}
	return ps, rs
}

// ended checks what holds between two events.
func (i *Invariants) ended() {
	after := i.e.View()
	ps, rs := states(after)
	if after.Epoch == i.before.Epoch && !i.ran { // a term that was not undone leaves its states to an attempt that is lost
		for tp, s := range ps {
			if was, known := i.partitions[tp]; was != s && (known || s != model.NonExistentPartition) {
				i.breaks(1, "%s is in %s, but was moved to %q", tp, s, was)
			}
		}
		for r, s := range rs {
			if was, known := i.replicas[r]; was != s && (known || s != model.NonExistentReplica) {
				i.breaks(1, "replica %s is in %s, but was moved to %q", r, s, was)
			}
		}
	} else {
		clear(i.haunted)
	}
	i.partitions, i.replicas = ps, rs
	i.forgotten(after)
	if i.e.IsActive() {
		i.between(after)
	}
	i.before = after
}

// forgotten finds topics that went away without having been deleted by this
// controller.
func (i *Invariants) forgotten(after *model.View) {
	for t := range i.before.Topics() {
		if !after.KnowsTopic(t.Name) && !i.deleted[t.Name] && after.Epoch == i.before.Epoch {
			i.haunted[t.Name] = true
		}
	}
	maps.DeleteFunc(i.haunted, func(topic string, _ bool) bool { return after.Topic(topic) == nil })
}
