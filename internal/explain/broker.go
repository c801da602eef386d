package explain

import (
	"fmt"
	"slices"
	"strings"

	"kstate/internal/tree"
	"kstate/model"
)

// work is what concerns one broker in the whole cluster.
type work struct {
	hosts, leads, inSync, alone int                    // partitions
	waiting                     []string               // topics whose deletion waits for it
	moves                       []model.TopicPartition // reassignments that add it and wait
	offline                     []model.TopicPartition // partitions that are not available and that it could lead
	lagging                     []model.TopicPartition // replicas out of the ISR of an available partition
}

func (c *Cluster) work(id int32) work {
	var w work
	for t := range c.view.Topics() {
		hosts := false
		for n, p := range t.Partitions() {
			tp := model.TP(t.Name, n)
			if p.Leader() == id {
				w.leads++
			}
			if !slices.Contains(p.Assignment.Replicas, id) {
				continue
			}
			hosts = true
			w.add(tp, p, id, c.view.IsQueued(t.Name))
		}
		if hosts && c.view.IsQueued(t.Name) && c.deleteEnabled() && c.holdsDeletion(t.Name, id) {
			w.waiting = append(w.waiting, t.Name)
		}
	}
	return w
}

func (w *work) add(tp model.TopicPartition, p *model.Partition, id int32, queued bool) {
	w.hosts++
	in := p.Leadership != nil && slices.Contains(p.Leadership.ISR, id)
	switch {
	case in && len(p.Leadership.ISR) == 1:
		w.alone++
	case in:
		w.inSync++
	}
	if p.Reassigning && !in && slices.Contains(p.Assignment.Target(), id) {
		w.moves = append(w.moves, tp)
	}
	switch {
	case queued:
	case p.State != model.OnlinePartition && (in || p.Leadership == nil && p.Unreadable == ""):
		w.offline = append(w.offline, tp)
	case p.State == model.OnlinePartition && !in:
		w.lagging = append(w.lagging, tp)
	}
}

// holdsDeletion tells whether the deletion of a queued topic waits for a broker.
func (c *Cluster) holdsDeletion(topic string, id int32) bool {
	for n, p := range c.view.Topic(topic).Partitions() {
		r, _ := p.Replica(id)
		if slices.Contains(p.Assignment.Replicas, id) && (!c.view.IsReplicaOnline(id, model.TP(topic, n), false) || r.DeletionError != model.ErrNone) {
			return true
		}
	}
	return false
}

// deletingOn are the topics with replicas on a broker that it was told to delete
// and has not said to have deleted.
func (c *Cluster) deletingOn(id int32) []string {
	var out []string
	for t := range c.view.Topics() {
		for _, p := range t.Partitions() {
			if r, ok := p.Replica(id); ok && r.State == model.ReplicaDeletionStarted {
				out = append(out, t.Name)
				break
			}
		}
	}
	return out
}

// broker explains what is wrong with a broker, and what waits for it; false: it
// is neither registered nor assigned anything.
func (c *Cluster) broker(e *model.Explanation, id int32) bool {
	b := c.view.Broker(id)
	w := c.work(id)
	see := c.look(model.BrokerIDPath(id))
	if b == nil && w.hosts+w.leads == 0 && !see.Exists {
		if see.Err == "" || c.survey == nil {
			return false
		}
		e.Undecided, e.State, e.Answer = true, notKnown, "whether it is registered is not known: "+see.Err
		return true
	}
	e.State = tree.BrokerDead
	switch {
	case b != nil && !c.view.IsLive(id):
		e.State = tree.BrokerShuttingDown
	case b != nil:
		e.State = tree.BrokerLive
	case see.Err != "" && !see.Exists && c.survey != nil:
		e.State, e.Undecided = notKnown, true
		e.NotKnown = append(e.NotKnown, "whether it is registered: "+see.Err)
	}
	e.Facts = append(e.Facts, c.registration(id, b))
	if st := c.status(); st.ID == id {
		e.Facts = append(e.Facts, c.controllerEvidence())
	}
	c.brokerCauses(e, id, b, &w)
	e.Found = !e.Undecided && slices.ContainsFunc(e.Causes, func(x model.Cause) bool { return x.Holds })
	e.Answer = fmt.Sprintf("%s; it hosts %s, leads %d and is in the ISR of %d", e.State, model.Plural(w.hosts, "replica"), w.leads, w.inSync+w.alone)
	if words := causeWords(e.Causes); words != "" {
		e.Answer += "; " + words
	}
	if c.memory == nil {
		e.NotKnown = append(e.NotKnown, "whether it is shutting down, and which of its log directories have failed: no znode keeps that")
	}
	return true
}

func (c *Cluster) registration(id int32, b *model.Broker) model.Evidence {
	says := "registered"
	if b != nil {
		var endpoints []string
		for i := range b.Endpoints {
			endpoints = append(endpoints, b.Endpoints[i].String())
		}
		says = fmt.Sprintf("registered, broker epoch %d", b.Epoch)
		if endpoints != nil {
			says += ", endpoints " + tree.Printable(strings.Join(endpoints, ", "))
		}
	}
	ev := c.at(model.BrokerIDPath(id), says, "it is not registered")
	if b == nil && c.survey != nil {
		if t, ok := c.survey.Trouble(model.BrokerIDPath(id)); ok {
			ev.Says = unreadable(t.Path, t.Err)
		}
	}
	return ev
}

func (c *Cluster) brokerCauses(e *model.Explanation, id int32, b *model.Broker, w *work) {
	own := c.registration(id, b)
	block := []string{fmt.Sprintf("broker:%d", id)}
	say := func(x model.Cause) { e.Causes = append(e.Causes, x) }
	unparsable := b == nil && c.look(model.BrokerIDPath(id)).Exists
	switch {
	case unparsable:
		say(model.Cause{What: "broker-znode-unparsable", Subject: "its registration cannot be read: no controller can take over while it is there", Holds: true,
			Evidence: []model.Evidence{own}, Resumes: []string{"the broker registers anew with a version that can be read, or its znode goes"}})
	case b == nil:
		say(model.Cause{What: BrokerNotRegistered, Subject: "it is not registered, and partitions are assigned to it", Holds: true, BlockedBy: block,
			Evidence: []model.Evidence{own}, Resumes: []string{fmt.Sprintf("broker %d starts and reaches ZooKeeper", id), "its partitions are reassigned"}})
	case !c.view.IsLive(id):
		say(model.Cause{What: BrokerShuttingDown, Subject: "it is shutting down", Holds: true,
			Evidence: []model.Evidence{own, remembers("broker %d asked for a controlled shutdown", id)}, Resumes: []string{"it is gone and registers again"}})
	}
	if b != nil && w.hosts > w.alone && w.inSync == 0 {
		say(model.Cause{What: "broker-in-no-isr", Subject: fmt.Sprintf("of %s it is in no ISR, those that consist of it alone excepted", model.Plural(w.hosts, "replica")), Holds: true,
			Evidence: append([]model.Evidence{own}, c.someStates(w.lagging)...), Resumes: []string{"it catches up with the leaders, and they and the controller agree on the ISR", "it restarts"}})
	}
	if c.memory != nil {
		for i := range c.memory.Channels {
			if ch := &c.memory.Channels[i]; ch.Broker == id && ch.Silent(c.memory.Now) > 0 {
				x := c.silence(ch)
				if topics := c.deletingOn(id); len(topics) > 0 {
					x.Subject += fmt.Sprintf("; the deletion of %s waits for it: %s", model.Plural(len(topics), "topic"), some(topics))
				}
				say(x)
			}
		}
	}
	if n := len(w.waiting); n > 0 {
		x := model.Cause{What: WaitsForBroker, Subject: fmt.Sprintf("%s to be deleted: %s", model.Plural(n, "topic"), some(w.waiting)), Holds: true, BlockedBy: block, Resumes: []string{fmt.Sprintf("broker %d registers anew", id)}}
		for _, t := range w.waiting[:min(n, numbersShown)] {
			x.Evidence = append(x.Evidence, c.at(model.DeleteTopicPath(t), "its deletion waits for a replica on the broker", "the controller has it queued"))
		}
		say(x)
	}
	if n := len(w.offline); n > 0 {
		say(model.Cause{What: "offline-partition", Subject: fmt.Sprintf("%s not available that it could lead: %s", model.Plural(n, "partition"), some(w.offline)), Holds: true, BlockedBy: block,
			Evidence: c.someStates(w.offline), Resumes: []string{fmt.Sprintf("broker %d is live, and the controller elects", id)}})
	}
	if n := len(w.moves); n > 0 {
		say(model.Cause{What: "reassignment-in-progress", Subject: fmt.Sprintf("%s to it: %s", model.Plural(n, "reassignment"), some(w.moves)), Holds: b == nil,
			Evidence: c.someStates(w.moves), Resumes: []string{fmt.Sprintf("broker %d is in their ISRs", id)}})
	}
	if n := len(w.lagging); n > 0 && b != nil && w.inSync > 0 {
		say(model.Cause{What: "under-replicated", Subject: fmt.Sprintf("it is out of the ISR of %s: %s", model.Plural(n, "partition"), some(w.lagging)),
			Evidence: c.someStates(w.lagging), Resumes: []string{"it catches up with their leaders"}})
	}
	c.sameEndpoints(b, say)
	if c.survey == nil {
		return
	}
	for _, n := range c.dirFailures() {
		if n.broker == id {
			say(model.Cause{What: "log-dir-failure-notification", Subject: "it lost a log directory; which replicas were there is not known",
				Evidence: []model.Evidence{c.at(n.path, "its notice, not read yet", "")}, Resumes: []string{"the controller asks it, and takes what was there for offline until it restarts"}})
		}
	}
}

// sameEndpoints: another broker advertises the same address.
func (c *Cluster) sameEndpoints(b *model.Broker, say func(model.Cause)) {
	if b == nil {
		return
	}
	for _, o := range c.view.Brokers() {
		if o.ID == b.ID {
			continue
		}
		for _, x := range b.Endpoints {
			for _, y := range o.Endpoints {
				if x.Host == y.Host && x.Port == y.Port {
					say(model.Cause{What: "duplicate-endpoint", Subject: fmt.Sprintf("broker %d advertises %s:%d, too: requests for one reach the other", o.ID, x.Host, x.Port), Holds: true,
						Evidence: []model.Evidence{c.registration(b.ID, b), c.registration(o.ID, &o)}, Resumes: []string{"one of the two advertises an address of its own"}})
					return
				}
			}
		}
	}
}

// someStates is the state of the first few of many partitions.
func (c *Cluster) someStates(list []model.TopicPartition) []model.Evidence {
	var out []model.Evidence
	for _, tp := range list[:min(len(list), numbersShown)] {
		out = append(out, c.stateEvidence(tp))
	}
	return out
}

// some lists the first few of many names.
func some[T any](list []T) string {
	var names []string
	for _, x := range list[:min(len(list), numbersShown)] {
		names = append(names, fmt.Sprint(x))
	}
	text := strings.Join(names, ", ")
	if n := len(list) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
