package sim

import (
	"fmt"
	"slices"
	"strings"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

const (
	settleTime = 75 * second      // of healing at least, and then without any change
	askLimit   = 300 * second     // for a cluster in which znodes were deleted from outside
	restLimit  = 60 * 60 * second // of healing at most
)

// atRest tells whether the healed cluster has come to rest, and then checks how
// it was left.
func (s *Sim) atRest() bool {
	quiet := int64(settleTime)
	if s.plan.balancer {
		quiet = max(quiet, 2*s.plan.balancerEvery*1000+10*second)
	}
	if !s.healed || s.now-s.healedAt < quiet {
		return false
	}
	if s.now-s.active < quiet || !s.still() {
		if len(s.watch.maimed) > 0 && s.now-s.healedAt > askLimit {
			s.leaveOut(deletedOutside) // leaders ask for ever
			return true
		}
		if why := s.restlessFor(); why != "" && s.now-s.healedAt > askLimit && !s.mended {
			s.leaveOut(why)
			s.mend()
		}
		if s.now-s.healedAt > restLimit {
			s.fail("does not come to rest within %d s after healing: %s", restLimit/second, s.restless())
		}
		return false
	}
	s.tracef("at rest")
	return !s.check()
}

// restlessFor is the dead end of Kafka's in which leaders ask for ever.
func (s *Sim) restlessFor() string {
	switch {
	case len(s.watch.stray) > 0:
		return strayReplica
	case s.registeredController() == model.NoLeader && s.watch.role != s.watch.told:
		return goneUnnoticed
	}
	return ""
}

func (s *Sim) still() bool { return s.restless() == "" }

// restless is what is still at work; empty: nothing.
func (s *Sim) restless() string {
	if len(s.waiting) > 0 {
		return fmt.Sprintf("request #%d to %s has no answer", s.waiting[0].id, s.waiting[0].to)
	}
	for _, c := range s.controllers {
		if !c.idle() {
			return c.String() + " is at work"
		}
		for _, id := range sortedKeys(c.channels) {
			if len(c.channels[id].queue) > 0 {
				return fmt.Sprintf("%s waits for broker %d", c, id)
			}
		}
	}
	for _, n := range s.nodes {
		if !n.up || n.sending || n.checking {
			return fmt.Sprintf("broker %d is at work", n.id)
		}
	}
	return ""
}

// barred: no controller can start for a topic znode. Somebody has to mend it: the
// reassignment in it is given up.
func (s *Sim) barred(c *controller, text string) {
	if s.mending {
		return
	}
	s.mending = true
	s.after(2*second, func() {
		s.mending = false
		for _, topic := range s.topics() {
			a, ok := s.assignment(topic)
			if !ok || !strings.Contains(text, model.TopicPath(topic)+" ") {
				continue
			}
			for i := range a.Partitions {
				p := &a.Partitions[i]
				if _, _, led := s.state(model.TP(topic, p.Partition)); !led {
					p.Adding, p.Removing = nil, nil
				}
			}
			s.tracef("somebody mends the znode of %s", topic)
			s.leaveOut(cannotStart)
			s.apply(zkserver.Set(model.TopicPath(topic), model.EncodeTopic(a), -1))
		}
	})
}

// leaveOut counts a problem that is explained where it is found.
func (s *Sim) leaveOut(why string) {
	s.tracef("left out: %s", why)
	s.stats.Excluded[why]++
}

// problem is something that is not as it should be at rest; topic "" concerns
// the cluster.
type problem struct{ what, topic string }

// check checks liveness. What Kafka leaves undone too is left out by name; then
// what an operator would do about it is done, once, and check returns true: the
// cluster has to come to rest again, this time with nothing left out.
func (s *Sim) check() (again bool) {
	var found []problem
	clear(s.lost)
	add := func(topic, format string, args ...any) {
		found = append(found, problem{fmt.Sprintf(format, args...), topic})
	}
	if active := s.checkActive(add); active != nil {
		v := active.eng.View()
		s.checkPartitions(v, add)
		s.checkDeletions(v, add)
		s.checkReassignments(v, add)
		s.checkBrokers(v, add)
		s.checkMemory(active, v, add)
	}
	left := map[string]bool{}
	for _, p := range found {
		why := s.excused(p)
		if why == "" {
			s.fail("%s", p.what)
			continue
		}
		s.tracef("left out (%s): %s", why, p.what)
		left[why] = true
	}
	for _, why := range sortedKeys(left) {
		s.stats.Excluded[why]++
	}
	if s.failure != nil || len(left) == 0 && !s.dropped || s.mended {
		return false
	}
	s.mend()
	return true
}

// mend does what gets a cluster out of Kafka's dead ends: the controller moves,
// by a restart of its process, and every broker is restarted.
func (s *Sim) mend() {
	s.tracef("an operator restarts everything")
	s.mended, s.healedAt = true, s.now
	s.moved()
	for i, c := range s.controllers {
		s.after(int64(i)*second, c.crash)
		s.after(int64(i+1)*second+s.plan.sessionTimeout, c.start)
	}
	for i, n := range s.nodes {
		at := 60*second + int64(i)*20*second
		s.after(at, func() { n.die(0) })
		s.after(at+2*second, n.start)
	}
}

// checkActive finds the one active controller.
func (s *Sim) checkActive(add func(topic, format string, args ...any)) *controller {
	var found []*controller
	for _, c := range s.controllers {
		if c.eng.IsActive() {
			found = append(found, c)
		}
	}
	registered := s.registeredController()
	if len(found) == 1 && found[0].id == registered {
		return found[0]
	}
	add("", "LIVE1: %v are active, /controller names %d", found, registered)
	return nil
}

// checkPartitions: where a member of the ISR lives, the partition is led.
func (s *Sim) checkPartitions(v *model.View, add func(topic, format string, args ...any)) {
	for _, topic := range s.topics() {
		a, ok := s.assignment(topic)
		if !ok || v.IsQueued(topic) {
			continue
		}
		for _, p := range a.Partitions {
			tp := model.TP(topic, p.Partition)
			if len(p.Replicas) == 0 {
				s.leaveOut(haunted)
				s.lost[topic] = haunted
				continue
			}
			l, _, ok := s.state(tp)
			if !ok {
				add(topic, "LIVE2: %s has no state, its replicas are %v", tp, p.Replicas)
				continue
			}
			online := v.PartitionState(tp) == model.OnlinePartition
			switch {
			case !slices.ContainsFunc(l.ISR, func(b int32) bool { return slices.Contains(p.Replicas, b) }):
				s.leaveOut(isrDropped)
				s.lost[topic] = isrDropped
				continue
			case l.Leader != model.NoLeader:
			case online && v.Leadership(tp) != nil && v.Leadership(tp).Leader == model.NoLeader && !s.mended:
				s.leaveOut(leaderDropped)
				s.lost[topic], s.dropped = leaderDropped, true
				continue
			}
			if !slices.Contains(l.ISR, l.Leader) { // all brokers are up
				add(topic, "LIVE2: %s is not led though %v live: %s", tp, l.ISR, l)
				continue
			}
			if state := v.PartitionState(tp); state != model.OnlinePartition {
				add(topic, "LIVE2: %s is in %s: %s", tp, state, l)
			}
			h, hosted := s.node(l.Leader).host(tp)
			if !hosted || h.Leader != l.Leader || h.LeaderEpoch != l.LeaderEpoch {
				add(topic, "LIVE3: broker %d does not lead %s in epoch %d, but follows %d in epoch %d (offline: %t)", l.Leader, tp, l.LeaderEpoch, h.Leader, h.LeaderEpoch, h.Offline)
			}
		}
	}
}

// checkDeletions: queued topics are gone, with all their znodes.
func (s *Sim) checkDeletions(v *model.View, add func(topic, format string, args ...any)) {
	for t := range v.TopicsToBeDeleted.All() {
		add(t, "LIVE4: %s is still queued for deletion (ineligible: %q): %s", t, v.IneligibleReason(t), describeTopic(v.Topic(t)))
	}
	markers, _, _ := s.store.Children(model.DeleteTopicsPath)
	for _, t := range markers {
		add(t, "LIVE4: the marker of %s is left", t)
	}
	for _, t := range sortedKeys(s.operator.deleted) {
		if born := s.operator.born(t); born != 0 && born == s.operator.deleted[t] {
			add(t, "LIVE4: the deletion of %s was acknowledged, its znode is there", t)
		}
	}
}

func describeTopic(t *model.Topic) string {
	var b strings.Builder
	if t != nil {
		for n, p := range t.Entries() {
			fmt.Fprintf(&b, "[%d %s %v %v]", n, p.State, p.Assignment, p.Replicas)
		}
	}
	return b.String()
}

// checkReassignments: none runs any more.
func (s *Sim) checkReassignments(v *model.View, add func(topic, format string, args ...any)) {
	for _, topic := range s.topics() {
		a, _ := s.assignment(topic)
		for _, p := range a.Partitions {
			if len(p.Adding)+len(p.Removing) > 0 {
				l, _, _ := s.state(model.TP(topic, p.Partition))
				add(topic, "LIVE5: the reassignment of %s is not done: %+v, %s", model.TP(topic, p.Partition), p.ReplicaAssignment, l)
			}
		}
	}
	for _, path := range []string{model.ReassignPartitionsPath, model.PreferredReplicaElectionPath} {
		if s.has(path) {
			data, _, _ := s.store.Get(path)
			add("", "LIVE5: %s is there: %s", path, data)
		}
	}
}

// checkBrokers: each broker's metadata is what the znodes say.
func (s *Sim) checkBrokers(v *model.View, add func(topic, format string, args ...any)) {
	want := map[model.TopicPartition]model.LeaderIsrAndControllerEpoch{}
	for _, topic := range s.topics() {
		a, _ := s.assignment(topic)
		for _, p := range a.Partitions {
			if l, _, ok := s.state(model.TP(topic, p.Partition)); ok && !v.IsQueued(topic) {
				want[model.TP(topic, p.Partition)] = l
			}
		}
	}
	for _, n := range s.nodes {
		known := map[model.TopicPartition]bool{}
		for _, x := range n.replicas.Cached() {
			known[x.TopicPartition] = true
			l, ok := want[x.TopicPartition]
			switch {
			case !ok:
				if !s.watch.stale[staleKey{n.id, n.life, x.Topic}] {
					add(x.Topic, "LIVE6: broker %d knows %s, which is not there", n.id, x.TopicPartition)
				} else {
					s.leaveOut(staleMetadata)
				}
			case l.Leader != x.Leader || l.LeaderEpoch != x.LeaderEpoch || !slices.Equal(l.ISR, x.ISR):
				add(x.Topic, "LIVE6: broker %d knows %s as %+v, it is %s", n.id, x.TopicPartition, x, l)
			}
		}
		for _, topic := range s.topics() {
			a, _ := s.assignment(topic)
			for _, p := range a.Partitions {
				tp := model.TP(topic, p.Partition)
				if _, ok := want[tp]; ok && !known[tp] {
					add(topic, "LIVE6: broker %d does not know %s", n.id, tp)
				}
			}
		}
	}
}

// checkMemory: the memory is what a new controller would make of the znodes.
func (s *Sim) checkMemory(c *controller, v *model.View, add func(topic, format string, args ...any)) {
	fresh, err := s.failover(c)
	if err != nil && neverLedError(err.Error()) {
		s.leaveOut(cannotStart)
		return
	}
	if err != nil {
		add("", "LIVE7: %v", err)
		return
	}
	for t := range v.Topics() {
		for n, p := range t.Partitions() {
			tp := model.TP(t.Name, n)
			q := fresh.Partition(tp)
			if q == nil || q.Assignment == nil {
				add(t.Name, "LIVE7: a failover does not know %s", tp)
				continue
			}
			if one, two := describe(p), describe(q); one != two {
				add(t.Name, "LIVE7: %s: memory has %s, a failover makes %s", tp, one, two)
			}
		}
	}
	for t := range fresh.Topics() {
		if !v.KnowsTopic(t.Name) {
			add(t.Name, "LIVE7: memory does not know %s", t.Name)
		}
	}
}

// failover has a new controller start on a copy of the tree, with silent brokers.
func (s *Sim) failover(c *controller) (*model.View, error) {
	store := zkserver.NewStore(zkserver.Options{FirstZxid: 1, Now: s.clock, Random: &words{1}})
	var tree []zkserver.Znode
	s.store.Walk("/", func(path string, data []byte, stat zkserver.Stat) bool {
		if path != "/" && path != model.ControllerPath && !strings.HasPrefix(path, "/zookeeper") {
			tree = append(tree, zkserver.Znode{Path: path, Data: data, Owner: stat.EphemeralOwner, Version: stat.Version, Czxid: stat.Czxid})
		}
		return true
	})
	if err := store.Load(tree); err != nil {
		return nil, fmt.Errorf("copying the tree: %w", err)
	}
	world := standin.New(standin.Options{Store: store})
	cfg := c.config()
	cfg.ID = 2000
	e := engine.New(cfg)
	defer e.Close()
	world.Push(&model.Started{Session: world.Session})
	d := debugger.Driver{Engine: e, Env: world, Next: world.Next}
	if !d.Run(50_000) || !e.IsActive() {
		return nil, fmt.Errorf("a new controller cannot start: %v", e.TakeoverError())
	}
	return e.View(), nil
}

// describe says what a failover has to reproduce. An incomplete reassignment
// gets another leader epoch with each controller.
func describe(p *model.Partition) string {
	text := fmt.Sprint(p.State, *p.Assignment)
	if l := p.Leadership; l != nil {
		text += fmt.Sprint(" leader ", l.Leader, " isr ", l.ISR, " ", l.Recovery)
		if len(p.Assignment.Adding)+len(p.Assignment.Removing) == 0 {
			text += fmt.Sprint(" epoch ", l.LeaderEpoch)
		}
	}
	for _, r := range p.Replicas {
		if slices.Contains(p.Assignment.Replicas, r.Broker) { // states of others may be left over
			text += fmt.Sprint(" ", r.Broker, ":", r.State)
		}
	}
	return text
}

// Kafka's own dead ends, by which problems are explained; docs/sim.md tells
// each at length.
const (
	deletedOutside = "znodes of the topic were deleted from outside"
	goneUnnoticed  = "the role was given up before anybody watched it"
	neverLed       = "a reassignment of a partition that was never led (8.73)"
	staleMetadata  = "a broker missed that the topic's metadata went"
	leaderStuck    = "a leader waits for the next LeaderAndIsr (11.x)"
	leftovers      = "leftovers of a batch outlive the term (KAFKA-12315)"
	movedWhileGone = "a deletion meets a reassignment (INV30)"
	cannotStart    = "no controller can start: a reassignment of a partition that was never led (2.14)"
	strayReplica   = "a broker holds on to an earlier topic of that name"
	isrDropped     = "a reassignment dropped the last member of the ISR"
	leaderDropped  = "a reassignment dropped the leader, which is not replaced"
	leftoverMark   = "an ineligible mark outlived the topic that it was for (Q3)"
	earlierLeader  = "a leader of an earlier topic wrote its ISR into the new topic's state"
	changeLost     = "the answer to an ISR change was lost, which a reassignment waited for"
	haunted        = "a reassignment of an earlier topic haunts this one (7.47)"
	creationLost   = "the answer to a creation was lost (Q5)"
)

// anyTopic is the excuse for all topics.
const anyTopic = "*"

// excused is the name of the dead end of Kafka's that explains a problem; empty:
// none does. After everything was restarted only what restarts do not mend counts.
func (s *Sim) excused(p problem) string {
	if s.watch.maimed[p.topic] {
		return deletedOutside
	}
	if s.watch.stray[p.topic] {
		return strayReplica
	}
	if why := s.lost[p.topic]; why != "" {
		return why
	}
	if s.mended {
		return ""
	}
	if strings.HasPrefix(p.what, "LIVE1") && s.registeredController() == model.NoLeader && s.watch.role != s.watch.told {
		return goneUnnoticed
	}
	for _, c := range s.controllers {
		if c.leftovers {
			return leftovers
		}
		if !c.eng.IsActive() {
			continue
		}
		if why := c.excuses[p.topic]; why != "" && p.topic != "" {
			return why
		}
		if why := c.excuses[anyTopic]; why != "" {
			return why
		}
		if at, marked := c.marked[p.topic]; marked && at < s.operator.born(p.topic) {
			return leftoverMark
		}
		if s.leaderWaits(p.topic) {
			return leaderStuck
		}
		v := c.eng.View()
		for n, part := range v.Topic(p.topic).Partitions() {
			if v.IsQueued(p.topic) && (v.IsBeingReassigned(model.TP(p.topic, n)) || stateless(part)) {
				return movedWhileGone
			}
		}
	}
	return ""
}

// stateless tells whether an assigned replica does not exist: a reassignment that
// went on during a deletion has brought it in, which can end in neither then.
func stateless(p *model.Partition) bool {
	for _, b := range p.Assignment.Replicas {
		if r, _ := p.Replica(b); r.State == model.NonExistentReplica {
			return true
		}
	}
	return false
}

// leaderWaits tells whether a leader of the topic has had a proposal refused and
// waits for the controller's next word.
func (s *Sim) leaderWaits(topic string) bool {
	for _, n := range s.nodes {
		if !n.up {
			continue
		}
		for _, h := range n.replicas.Hosted() {
			if h.Topic == topic && h.Leader == n.id && h.Pending != nil {
				return true
			}
		}
	}
	return false
}
