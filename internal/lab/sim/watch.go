package sim

import (
	"slices"
	"strings"

	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// watch checks what holds for the whole cluster at every moment, beside the
// invariants that engine.Invariants checks of each controller. They are named
// SIM1 to SIM9, as in docs/sim.md.
type watch struct {
	s    *Sim
	by   *controller // whose call is at work in ZooKeeper
	call *model.Call

	zxid    int64
	epoch   int32 // data version of /controller_epoch
	highest int32 // controller epoch
	writer  map[int32]int64
	gone    map[string]int64 // when a controller deleted a path, or was told that it is not there
	topics  map[string]int64 // that have a znode, with the zxid that created it
	maimed  map[string]bool  // topics of which znodes were deleted from outside
	unclean map[string]bool  // topics for which unclean elections were ever allowed
	replies map[uint64]bool
	heard   map[int32]heard // by broker
	stale   map[staleKey]bool
	stray   map[string]bool // topics of which a broker holds an earlier one
	holder  int32           // who /controller names
	role    int64           // zxid of the last deletion of /controller
	told    int64           // zxid of the last one that some session was told of
}

// staleKey is a topic that a broker's process may know for ever.
type staleKey struct {
	broker int32
	life   int
	topic  string
}

// heard is the highest controller epoch that a broker's process has accepted.
type heard struct {
	life  int
	epoch int32
}

func newWatch(s *Sim) *watch {
	return &watch{s: s, epoch: -1, writer: map[int32]int64{}, gone: map[string]int64{}, maimed: map[string]bool{}, unclean: map[string]bool{},
		replies: map[uint64]bool{}, heard: map[int32]heard{}, topics: map[string]int64{}, stale: map[staleKey]bool{}, stray: map[string]bool{}}
}

func (w *watch) nobody() { w.by, w.call = nil, nil }

// txn is told of each transaction of ZooKeeper. It must not call the store.
func (w *watch) txn(t zkserver.Txn) {
	w.zxid = t.Zxid
	if len(t.Changes) > 0 {
		w.s.moved()
	}
	for _, c := range t.Changes {
		w.traceChange(&t, &c)
		w.change(&c)
	}
	if t.Code == zkserver.OK && len(t.Changes) > 0 && w.by != nil && w.call.Fenced && t.Kind == zkserver.TxnRequest {
		if w.call.Epoch != w.epoch {
			w.s.fail("SIM1: %s wrote under fence %d, the controller epoch's version is %d: %s", w.by, w.call.Epoch, w.epoch, w.call)
		}
		if who, known := w.writer[w.call.Epoch]; known && who != t.Session {
			w.s.fail("SIM2: sessions 0x%x and 0x%x both wrote under fence %d", who, t.Session, w.call.Epoch)
		}
		w.writer[w.call.Epoch] = t.Session
	}
	if t.Code == zkserver.OK { // only now: a fence is that before the transaction
		for _, c := range t.Changes {
			if c.Path == model.ControllerEpochPath && c.After != nil {
				w.epoch = c.After.Stat.Version
				if epoch, err := model.DecodeControllerEpoch(c.Path, c.After.Data); err == nil {
					w.highest = epoch
				}
			}
		}
	}
}

// change checks one change of one znode.
func (w *watch) change(c *zkserver.Change) {
	ref := model.ParsePath(c.Path)
	switch {
	case ref.Kind == model.ControllerZnode && c.After == nil:
		w.role, w.holder = w.zxid, model.NoLeader
	case ref.Kind == model.ControllerZnode:
		w.holder, _, _ = model.DecodeController(c.Path, c.After.Data)
	case ref.Kind == model.TopicZnode && c.Before == nil:
		w.topics[ref.Topic] = c.After.Stat.Czxid
	case ref.Kind == model.TopicZnode && c.After == nil:
		delete(w.topics, ref.Topic)
	case ref.Kind == model.DeleteTopicZnode && c.After == nil && w.by != nil:
		w.unmarked(ref.Topic)
	case ref.Kind == model.PartitionStateZnode && c.Before != nil && c.After != nil:
		w.stateChanged(c.Path, ref.TopicPartition(), c.Before.Data, c.After.Data)
	case ref.Kind == model.ConfigEntityZnode && ref.Entity == "topics" && c.After != nil:
		if overrides, err := model.DecodeConfig(c.Path, c.After.Data); err == nil && overrides["unclean.leader.election.enable"] == "true" {
			w.unclean[ref.Name] = true
		}
	}
}

// unmarked: a controller deletes the marker of a topic. The topic has to be gone,
// if its deletion was begun. Not so the one that was created since.
func (w *watch) unmarked(topic string) {
	born, there := w.topics[topic]
	if !there || !w.s.plan.deletion || w.maimed[topic] {
		return
	}
	gone, known := w.gone[model.TopicPath(topic)]
	if w.by.eng.View().IsQueued(topic) && !(known && born > gone) {
		w.s.fail("SIM9: %s deletes the marker of %s, whose znode is there", w.by, topic)
	}
	delete(w.s.operator.deleted, topic) // taken for that of an earlier topic, or of none
}

func (w *watch) stateChanged(path string, tp model.TopicPartition, before, after []byte) {
	old, ok, err := model.DecodePartitionState(path, before)
	now, there, fault := model.DecodePartitionState(path, after)
	if !ok || !there || err != nil || fault != nil {
		w.s.fail("SIM3: %s holds %q after %q", path, after, before)
		return
	}
	if now.LeaderEpoch < old.LeaderEpoch || now.ControllerEpoch < old.ControllerEpoch || w.by == nil && now.Leader != old.Leader {
		if w.by == nil && !w.s.plan.ibp.AlterPartition() {
			w.stray[tp.Topic] = true // a leader of an earlier topic of that name; versions begin anew
			w.s.leaveOut(earlierLeader)
			for _, c := range w.s.controllers {
				if c.eng != nil {
					c.inv.Overwritten(tp)
				}
			}
			return
		}
		w.s.fail("SIM3: %s: %s after %s", path, now, old)
	}
	if w.by == nil || now.Leader < 0 || now.Leader == old.Leader || slices.Contains(old.ISR, now.Leader) {
		return
	}
	if !w.s.plan.unclean && !w.unclean[tp.Topic] {
		w.s.fail("SIM4: %s: %d was elected out of the ISR, which nothing allowed: %s after %s", path, now.Leader, now, old)
	}
}

// took is told of each step of a controller.
func (w *watch) took(c *controller, step model.Step) {
	switch x := step.(type) {
	case *model.Log:
		w.logged(c, x)
	case *model.Elect:
		if x.Verdict.Leader != model.NoLeader {
			w.s.stats.Elections[x.Verdict.Strategy.String()]++
			if x.Verdict.Unclean {
				w.s.stats.UncleanElections++
			}
		}
	case *model.Mark:
		if x.Set == model.IneligibleForDeletion && x.On {
			if _, already := c.marked[x.Topic]; !already {
				c.marked[x.Topic] = w.zxid
			}
		} else if x.Set == model.IneligibleForDeletion {
			delete(c.marked, x.Topic)
		}
	case *model.MoveReplica:
		if x.To == model.ReplicaDeletionSuccessful {
			w.s.stats.ReplicasDeleted++
		}
	}
}

// logged looks for what Kafka's dead ends begin with.
func (w *watch) logged(c *controller, l *model.Log) {
	if l.Level < model.Warn {
		return
	}
	switch {
	case strings.Contains(l.Text, "keeps unsent requests"):
		c.leftovers = true
		c.inv.Fault(l.Text)
	case strings.Contains(l.Text, "ignoring request to delete non-existing topics"):
		for _, t := range w.s.operator.names { // made a moment ago, and not yet known
			if strings.Contains(l.Text, t) {
				delete(w.s.operator.deleted, t)
			}
		}
	case strings.Contains(l.Text, "no controller can start"):
		w.s.barred(c, l.Text)
	case neverLedError(l.Text):
		for t := range c.eng.View().Topics() {
			if strings.Contains(l.Text, t.Name+"-") {
				c.excuses[t.Name] = neverLed
			}
		}
	}
}

// neverLedError: what failed wanted the leader of a partition that never had one.
func neverLedError(text string) bool {
	return strings.Contains(text, "the leadership of") || strings.Contains(text, "leaderAndIsr path is empty") ||
		strings.Contains(text, "the state of replica") && strings.Contains(text, "is not known")
}

// missed notes the topics whose end a broker's process may never be told of.
func (w *watch) missed(n *node, r model.ControlRequest) {
	x, ok := r.(*model.UpdateMetadataRequest)
	if !ok || !n.running {
		return
	}
	for i := range x.Entries {
		if x.Entries[i].Leadership.Leader == model.LeaderDuringDelete {
			w.stale[staleKey{n.id, n.life, x.Entries[i].Topic}] = true
		}
	}
}

// between compares a controller's memory with the state znodes after each event:
// the same version of a znode has the same content.
func (w *watch) between(c *controller) {
	if !c.eng.IsActive() || c.eng.Epoch() < w.highest || w.s.failure != nil { // one that was superseded holds what it held
		return
	}
	v := c.eng.View()
	for t := range v.Topics() {
		for n, p := range t.Partitions() {
			tp := model.TP(t.Name, n)
			if p.Leadership == nil {
				continue
			}
			l, stat, ok := w.s.state(tp)
			if !ok || stat.Czxid != c.czxids[tp] {
				continue
			}
			m := p.Leadership
			switch {
			case m.PartitionEpoch > stat.Version:
				w.s.fail("SIM5: %s takes %s for version %d, it is %d", c, tp, m.PartitionEpoch, stat.Version)
			case m.PartitionEpoch == stat.Version && !m.LeaderAndIsr.Equal(l.LeaderAndIsr):
				w.s.fail("SIM5: %s holds %s for %s, the znode has %s", c, m, tp, l)
			}
		}
	}
}

// noted remembers what a controller was told of a znode.
func (c *controller) noted(op *model.Op, r *model.OpResult) {
	w := c.s.watch
	if r.Code == model.CodeNoNode || op.Kind == model.OpDelete && r.Code == model.CodeOK {
		w.gone[op.Path] = w.zxid
	}
	if r.Code != model.CodeOK {
		return
	}
	if ref := model.ParsePath(op.Path); ref.Kind == model.PartitionStateZnode && op.Kind != model.OpDelete && op.Kind != model.OpExists {
		c.czxids[ref.TopicPartition()] = r.Stat.Czxid
	}
}

// seen is what the invariants ask of ZooKeeper about a call, as it was when the
// call's ops were done there: answers arrive later.
type seen map[string]bool

// look is called before ops are done.
func (x seen) look(s *Sim, call *model.Call, lo, hi int) {
	w := s.watch
	for i := lo; i < hi; i++ {
		op := &call.Ops[i]
		if op.Kind != model.OpDelete {
			continue
		}
		ref := model.ParsePath(op.Path)
		if ref.Kind != model.DeleteTopicZnode {
			continue
		}
		for _, path := range []string{model.TopicPath(ref.Topic), model.TopicConfigPath(ref.Topic)} {
			stat, code := s.store.Exists(path)
			gone, known := w.gone[path]
			x[path] = code == zkserver.OK && !(known && stat.Czxid > gone) && !w.maimed[ref.Topic]
		}
	}
}

// znode reads for the invariants.
func (c *controller) znode(path string) ([]byte, model.Stat, bool) {
	data, stat, code := c.s.store.Get(path)
	out, there := standin.Stat(stat), code == zkserver.OK
	if c.current == nil {
		return data, out, there
	}
	if path == model.ControllerEpochPath { // as it was when the write was done: SIM1 looks at that
		out.Version = c.current.call.Epoch
		return data, out, there
	}
	switch model.ParsePath(path).Kind {
	case model.TopicZnode, model.ConfigEntityZnode:
		there = c.current.seen[path] // false: the op was not done
	}
	return data, out, there
}

// sent checks what goes into a channel.
func (w *watch) sent(ch *channel, r model.ControlRequest) {
	for _, n := range w.s.nodes {
		if ch.c.channels[n.id] == nil {
			w.missed(n, r)
		}
	}
	x, ok := r.(*model.StopReplicaRequest)
	if !ok {
		return
	}
	if ch.stopped == nil {
		ch.stopped = map[model.TopicPartition]bool{}
	}
	for _, e := range x.Entries {
		if e.Delete && !ch.stopped[e.TopicPartition] {
			w.s.fail("SIM6: %s tells broker %d to delete %s, which it has not told to stop", ch.c, ch.broker, e.TopicPartition)
		}
		ch.stopped[e.TopicPartition] = !e.Delete
	}
}

// handled checks what a broker answered.
func (w *watch) handled(ch *channel, n *node, r model.ControlRequest, a *model.ControlResponse) {
	w.s.stats.Requests++
	epoch := controllerEpoch(r)
	h := w.heard[n.id]
	if h.life != n.life {
		h = heard{life: n.life}
	}
	if a.Error == model.ErrNone {
		if epoch < h.epoch {
			w.s.fail("SIM7: broker %d takes %s of epoch %d after one of epoch %d", n.id, r.Kind(), epoch, h.epoch)
		}
		h.epoch = max(h.epoch, epoch)
	} else {
		w.s.stats.Refused++
		w.missed(n, r)
	}
	w.heard[n.id] = h
	if x, ok := r.(*model.LeaderAndIsrRequest); ok {
		w.strays(n, x, a)
	}
}

// strays notes topics of which a broker holds an earlier one of that name: its id
// is another, or its leader epoch is higher than any that the znode has had.
func (w *watch) strays(n *node, r *model.LeaderAndIsrRequest, a *model.ControlResponse) {
	for _, p := range a.Partitions {
		switch {
		case p.Error == model.ErrInconsistentTopicID:
			w.stray[p.Topic] = true
		case p.Error == model.ErrStaleControllerEpoch && a.Error == model.ErrNone:
			h, hosted := n.host(p.TopicPartition)
			if l, _, ok := w.s.state(p.TopicPartition); hosted && ok && h.LeaderEpoch > l.LeaderEpoch {
				w.stray[p.Topic] = true
			}
		}
	}
}

func controllerEpoch(r model.ControlRequest) int32 {
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		return r.ControllerEpoch
	case *model.UpdateMetadataRequest:
		return r.ControllerEpoch
	case *model.StopReplicaRequest:
		return r.ControllerEpoch
	}
	return -1
}

// replied checks that nobody is answered twice.
func (w *watch) replied(c *controller, r *model.Reply) {
	if w.replies[r.Ask] {
		w.s.fail("SIM8: %s answers request #%d a second time", c, r.Ask)
	}
	w.replies[r.Ask] = true
}

func (w *watch) traceChange(t *zkserver.Txn, c *zkserver.Change) {
	if w.s.opt.Trace == nil {
		return
	}
	switch {
	case c.After == nil:
		w.s.tracef("zxid %d (0x%x) deletes %s", t.Zxid, t.Session, c.Path)
	default:
		w.s.tracef("zxid %d (0x%x) %s v%d %q", t.Zxid, t.Session, c.Path, c.After.Stat.Version, c.After.Data)
	}
}
