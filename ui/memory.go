package ui

import (
	"fmt"
	"slices"
	"strings"

	"kstate/model"
)

// facts builds the lines of the controller's memory.
type facts struct {
	w       int // the width of the lines
	lines   []line
	differs int
}

const factWidth = 17

// plainFact is a remembered value with nothing to compare it to.
func (fs *facts) plainFact(name, value string) {
	fs.lines = append(fs.lines, line{{faint, pad(name, factWidth)}, {plain, value}})
}

// countIndent leaves room for the longest name of a state in a narrow pane.
const countIndent = 10

// count says how many of something are in a state.
func (fs *facts) count(state string, n int) {
	fs.note(plain, strings.Repeat(" ", countIndent)+state+" "+itoa(n))
}

// fact is a remembered value beside what the znode says, when that is known.
func (fs *facts) fact(name, value, znode string, known bool) {
	l := line{{faint, pad(name, factWidth)}, {plain, value}}
	switch {
	case !known:
	case value == znode && width(l.text())+2 > fs.w:
		l[0].text = pad(name, factWidth-2) + "= " // no room behind the value
	case value == znode:
		l = append(l, span{faint, " ="})
	default:
		fs.differ(l, "≠ znode "+znode)
		return
	}
	fs.lines = append(fs.lines, l)
}

// differ adds a line with its difference; where that does not fit, below it.
func (fs *facts) differ(l line, difference string) {
	fs.differs++
	if width(l.text())+1+width(difference) > fs.w {
		if strings.TrimSpace(l.text()) != "" {
			fs.lines = append(fs.lines, l)
		}
		fs.lines = append(fs.lines, line{{bad, "  " + difference}})
		return
	}
	fs.lines = append(fs.lines, append(l, span{bad, " " + difference}))
}

// derived is a remembered state beside what follows from the znodes.
func (fs *facts) derived(name, value, tree string) {
	l := line{{faint, pad(name, factWidth)}, {strong, value}}
	if tree != "" && value != tree {
		fs.differ(l, "≠ tree "+tree)
		return
	}
	fs.lines = append(fs.lines, l)
}

// member says whether something is in a set.
func (fs *facts) member(in bool, set, why string) {
	if !in {
		fs.lines = append(fs.lines, line{{faint, "  not in " + set}})
		return
	}
	text := "✓ in " + set
	switch {
	case why == "":
		fs.note(warn, text)
	case width(text)+2+width(why) > fs.w:
		fs.note(warn, text+":")
		fs.note(warn, "  "+why)
	default:
		fs.note(warn, text+": "+why)
	}
}

func (fs *facts) note(st style, text string) { fs.lines = append(fs.lines, line{{st, text}}) }

func pad(s string, w int) string {
	if n := width(s); n < w {
		return s + strings.Repeat(" ", w-n)
	}
	return s + " "
}

// memory is what the controller remembers of the subject.
func (in *inspector) memory(f *model.Frame) []line {
	if r := in.inspection(f); in.decoded.of != r {
		in.decoded = decode(r)
	}
	d, s := &in.decoded, in.subject
	fs := &facts{w: in.lineWidth}
	whose := "in memory"
	if f.Mode.Beside() {
		whose = "followed"
	}
	fs.note(faint, whose+": = as znode, ≠ different")
	switch s.Kind {
	case model.TopicSubject:
		topicFacts(fs, f, d, s.Topic)
	case model.PartitionSubject:
		partitionFacts(fs, f, d, model.TP(s.Topic, s.Partition))
	case model.ReplicaSubject:
		replicaFacts(fs, f, d, model.Replica{TopicPartition: model.TP(s.Topic, s.Partition), Broker: s.Broker})
	case model.BrokerSubject:
		brokerFacts(fs, f, d, s.Broker)
	}
	for _, e := range d.errors {
		fs.lines = append(fs.lines, wrap(line{{bad, ""}, {bad, e}}, fs.w, 2)...)
	}
	if fs.differs > 0 {
		fs.note(bad, "differences: "+itoa(fs.differs))
	}
	return fs.lines
}

func idList(ids []int32) string {
	if len(ids) == 0 {
		return "none"
	}
	return model.JoinIDs(ids)
}

func deletionFacts(fs *facts, v *model.View, d *decoded, topic string) {
	queued := v.IsQueued(topic)
	fs.member(queued, model.ToBeDeleted.String(), "")
	if d.marker == yes && !queued {
		fs.note(bad, "≠ tree: the delete marker exists")
		fs.differs++
	}
	if d.marker == no && queued {
		fs.note(bad, "≠ tree: there is no delete marker")
		fs.differs++
	}
	fs.member(v.TopicsWithDeletionStarted.Has(topic), model.DeletionStarted.String(), "")
	fs.member(v.TopicsIneligibleForDeletion.Has(topic), model.IneligibleForDeletion.String(), string(v.IneligibleReason(topic)))
}

// comparedPartitions bounds how many assignments are compared for one picture.
const comparedPartitions = 1000

func topicFacts(fs *facts, f *model.Frame, d *decoded, topic string) {
	v := viewOf(f)
	t := v.Topic(topic)
	if t == nil {
		fs.note(warn, "nothing is remembered of this topic")
		deletionFacts(fs, v, d, topic)
		return
	}
	if !t.Known {
		fs.note(warn, "no longer in allTopics; states that Kafka leaves behind:")
	}
	if t.Unreadable != "" {
		fs.note(bad, "unreadable: "+t.Unreadable)
	}
	var id model.Uuid
	parts := 0
	if d.topic != nil {
		id, parts = d.topic.ID, len(d.topic.Partitions)
	}
	fs.fact("topic id", idText(t.ID), idText(id), d.topicRead)
	fs.fact("partitions", itoa(t.PartitionCount()), itoa(parts), d.topicRead)
	for _, s := range model.PartitionStates {
		if n := t.PartitionCounts[s]; n > 0 {
			fs.count(s.String(), n)
		}
	}
	fs.plainFact("replicas", itoa(replicaCount(t)))
	for _, s := range model.ReplicaStates {
		if n := t.ReplicaCounts[s]; n > 0 {
			fs.count(s.String(), n)
		}
	}
	compareReplicaStates(fs, f, t)
	fs.plainFact("reassigning", itoa(t.Reassigning))
	deletionFacts(fs, v, d, topic)
	compareAssignments(fs, t, d)
}

// compareReplicaStates says which states the znodes give to the replicas of a
// topic, where those are not the remembered ones.
func compareReplicaStates(fs *facts, f *model.Frame, t *model.Topic) {
	if len(f.Brokers) == 0 || t.PartitionCount() > comparedPartitions {
		return
	}
	online, offline := 0, 0
	for _, p := range t.Partitions() {
		for _, id := range p.Assignment.Replicas {
			if registered(f, id) {
				online++
			} else {
				offline++
			}
		}
	}
	if online == t.ReplicaCounts[model.OnlineReplica] && offline == t.ReplicaCounts[model.OfflineReplica] {
		return
	}
	for _, x := range []struct {
		s model.ReplicaState
		n int
	}{{model.OnlineReplica, online}, {model.OfflineReplica, offline}} {
		if x.n > 0 {
			fs.differ(line{{faint, strings.Repeat(" ", factWidth-1)}}, fmt.Sprintf("≠ tree %s %d", x.s, x.n))
		}
	}
}

func compareAssignments(fs *facts, t *model.Topic, d *decoded) {
	if !d.topicRead {
		return
	}
	i := 0
	for n, p := range t.Partitions() {
		if i++; i > comparedPartitions {
			fs.note(faint, fmt.Sprintf("the first %d assignments were compared", comparedPartitions))
			return
		}
		var z model.ReplicaAssignment
		if d.topic != nil {
			z, _ = d.topic.Assignment(n)
		}
		if !p.Assignment.Equal(z) {
			fs.fact(fmt.Sprintf("partition %d", n), assignmentText(*p.Assignment), assignmentText(z), true)
		}
	}
}

func assignmentText(a model.ReplicaAssignment) string {
	s := idList(a.Replicas)
	if len(a.Adding) > 0 {
		s += " +" + model.JoinIDs(a.Adding)
	}
	if len(a.Removing) > 0 {
		s += " -" + model.JoinIDs(a.Removing)
	}
	return s
}

func partitionFacts(fs *facts, f *model.Frame, d *decoded, tp model.TopicPartition) {
	v := viewOf(f)
	p := v.Partition(tp)
	if p == nil {
		fs.note(warn, "nothing is remembered of this partition")
		deletionFacts(fs, v, d, tp.Topic)
		return
	}
	if p.Unreadable != "" {
		fs.note(bad, "unreadable: "+p.Unreadable)
	}
	fs.derived("state", stateName(p.State.String()), treePartitionState(f, d))
	leadershipFacts(fs, p, d)
	assignmentFacts(fs, p, d, tp.Partition)
	fs.plainFact("reassigning", yesNo(p.Reassigning))
	for _, r := range p.Replicas {
		fs.derived("replica "+itoa(r.Broker), replicaText(r), withDir(treeReplicaState(f, r.Broker), r.OfflineDir))
	}
	deletionFacts(fs, v, d, tp.Topic)
}

func leadershipFacts(fs *facts, p *model.Partition, d *decoded) {
	l, z := p.Leadership, d.leadership
	if l == nil && z == nil {
		fs.fact("leadership", "none", "none", d.stateRead)
		return
	}
	of := func(l *model.LeaderIsrAndControllerEpoch, get func(*model.LeaderIsrAndControllerEpoch) string) string {
		if l == nil {
			return "none"
		}
		return get(l)
	}
	for _, x := range []struct {
		name string
		get  func(*model.LeaderIsrAndControllerEpoch) string
	}{
		{"leader", func(l *model.LeaderIsrAndControllerEpoch) string { return itoa(l.Leader) }},
		{"ISR", func(l *model.LeaderIsrAndControllerEpoch) string { return idList(l.ISR) }},
		{"leader epoch", func(l *model.LeaderIsrAndControllerEpoch) string { return itoa(l.LeaderEpoch) }},
		{"partition epoch", func(l *model.LeaderIsrAndControllerEpoch) string { return itoa(l.PartitionEpoch) }},
		{"controller epoch", func(l *model.LeaderIsrAndControllerEpoch) string { return itoa(l.ControllerEpoch) }},
		{"recovery", func(l *model.LeaderIsrAndControllerEpoch) string { return l.Recovery.String() }},
	} {
		fs.fact(x.name, of(l, x.get), of(z, x.get), d.stateRead)
	}
}

func assignmentFacts(fs *facts, p *model.Partition, d *decoded, n int32) {
	var mem, z model.ReplicaAssignment
	if p.Assignment != nil {
		mem = *p.Assignment
	}
	if d.topic != nil {
		z, _ = d.topic.Assignment(n)
	}
	fs.fact("assignment", idList(mem.Replicas), idList(z.Replicas), d.topicRead)
	if mem.IsBeingReassigned() || z.IsBeingReassigned() {
		fs.fact("adding", idList(mem.Adding), idList(z.Adding), d.topicRead)
		fs.fact("removing", idList(mem.Removing), idList(z.Removing), d.topicRead)
	}
}

func replicaFacts(fs *facts, f *model.Frame, d *decoded, r model.Replica) {
	v := viewOf(f)
	p := v.Partition(r.TopicPartition)
	if p == nil {
		fs.note(warn, "nothing is remembered of this partition")
		return
	}
	status, _ := p.Replica(r.Broker)
	fs.derived("state", stateName(status.State.String()), treeReplicaState(f, r.Broker))
	fs.plainFact("log directory", map[bool]string{false: "not reported as failed", true: "failed"}[status.OfflineDir])
	in := func(l *model.LeaderIsrAndControllerEpoch) string {
		return yesNo(l != nil && slices.Contains(l.ISR, r.Broker))
	}
	leads := func(l *model.LeaderIsrAndControllerEpoch) string { return yesNo(l != nil && l.Leader == r.Broker) }
	fs.fact("in the ISR", in(p.Leadership), in(d.leadership), d.stateRead)
	fs.fact("leads", leads(p.Leadership), leads(d.leadership), d.stateRead)
	assignmentFacts(fs, p, d, r.Partition)
	fs.plainFact("broker", brokerInMemory(v, r.Broker))
	deletionFacts(fs, v, d, r.Topic)
}

func brokerFacts(fs *facts, f *model.Frame, d *decoded, id int32) {
	v := viewOf(f)
	b := v.Broker(id)
	fs.fact("registered", yesNo(b != nil), yesNo(d.broker != nil), d.brokerRead)
	fs.plainFact("state", brokerInMemory(v, id))
	if b != nil {
		var epoch int64
		var endpoints []model.Endpoint
		rack := ""
		if d.broker != nil {
			epoch, endpoints, rack = d.broker.Epoch, d.broker.Endpoints, d.broker.Rack
		}
		fs.fact("broker epoch", itoa(b.Epoch), itoa(epoch), d.broker != nil)
		fs.fact("endpoints", endpointText(b.Endpoints), endpointText(endpoints), d.broker != nil)
		fs.fact("rack", orNone(b.Rack), orNone(rack), d.broker != nil)
	}
	for i := range f.Brokers {
		if s := &f.Brokers[i]; s.ID == id {
			fs.plainFact("process", s.State)
			if s.Conduct != "" {
				fs.plainFact("conduct", s.Conduct)
			}
			fs.plainFact("leads", itoa(s.Leads))
			fs.plainFact("replicas", itoa(s.Replicas))
		}
	}
	for i := range f.Channels {
		if c := &f.Channels[i]; c.Broker == id {
			fs.plainFact("requests queued", itoa(c.Depth))
			fs.plainFact("in flight", orNone(c.Head))
			if c.Depth > 0 {
				fs.plainFact("waited before", duration(c.Waited))
			}
		}
	}
}

func brokerInMemory(v *model.View, id int32) string {
	switch {
	case v.IsLive(id):
		return "live"
	case v.IsLiveOrShuttingDown(id):
		return "shutting down"
	}
	return "not registered"
}

func endpointText(list []model.Endpoint) string {
	var parts []string
	for _, e := range list {
		parts = append(parts, e.String())
	}
	return orNone(strings.Join(parts, " "))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func idText(id model.Uuid) string {
	if id.IsZero() {
		return "none"
	}
	return id.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func stateName(s string) string {
	if s == "" {
		return "no state"
	}
	return s
}

func replicaText(r model.ReplicaStatus) string {
	return withDir(stateName(r.State.String()), r.OfflineDir)
}

func withDir(s string, failed bool) string {
	if failed && s != "" {
		return s + ", dir failed"
	}
	return s
}

// registered tells whether a broker has its znode.
func registered(f *model.Frame, id int32) bool {
	for i := range f.Brokers {
		if f.Brokers[i].ID == id {
			return f.Brokers[i].Epoch != 0
		}
	}
	return false
}

// treeReplicaState is the state that follows from the znodes: a replica is
// online if its broker is registered. Empty where no brokers are known.
func treeReplicaState(f *model.Frame, broker int32) string {
	if len(f.Brokers) == 0 {
		return ""
	}
	if registered(f, broker) {
		return model.OnlineReplica.String()
	}
	return model.OfflineReplica.String()
}

// treePartitionState is the state that follows from the znodes, empty where the
// state znode is missing or was not read.
func treePartitionState(f *model.Frame, d *decoded) string {
	switch {
	case d.leadership == nil:
		return ""
	case registered(f, d.leadership.Leader):
		return model.OnlinePartition.String()
	}
	return model.OfflinePartition.String()
}
