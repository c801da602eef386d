package admin

import (
	"fmt"
	"slices"

	"kstate/model"
)

// Elect plans an election of preferred leaders for a topic's partitions, those
// given or all of it; without a topic, for all partitions that another broker
// leads. Kafka: PreferredReplicaLeaderElectionCommand.
func (p *Planner) Elect(topic string, partitions []int32) (*Plan, error) {
	return p.elect(topic, partitions, byZnode(topic))
}

// ElectOnBroker plans an election of preferred leaders for all partitions that
// have a replica on a broker.
func (p *Planner) ElectOnBroker(id int32) (*Plan, error) {
	return p.electOf(fmt.Sprintf("elect preferred leaders of all partitions on broker %d", id), "", nil,
		func(replicas []int32) bool { return slices.Contains(replicas, id) }, byZnode(""))
}

// byZnode asks for an election by its znode.
func byZnode(topic string) func(*draft, []model.TopicPartition) {
	return func(d *draft, list []model.TopicPartition) {
		if !d.noneRequested(model.PreferredReplicaElectionPath, "election") {
			return
		}
		d.parents(model.PreferredReplicaElectionPath)
		d.create(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection(list))
		d.checkSize()
		d.plan.Follow = "the request, until the controller has removed it, and who leads then"
		d.plan.Watch = []string{model.PreferredReplicaElectionPath, model.BrokerIDsPath, model.ControllerPath}
		if topic != "" {
			d.plan.Watch = append(d.plan.Watch, model.TopicPath(topic))
		} else {
			d.plan.Watch = append(d.plan.Watch, model.TopicsPath)
		}
		d.plan.follower = func() Follower { return &election{list: list} }
	}
}

// elect plans an election of preferred leaders; request says how it is asked for.
func (p *Planner) elect(topic string, partitions []int32, request func(*draft, []model.TopicPartition)) (*Plan, error) {
	what := "elect preferred leaders of all partitions"
	if topic != "" {
		what = "elect preferred leaders of topic " + topic
		if len(partitions) == 1 {
			what = "elect the preferred leader of " + model.TP(topic, partitions[0]).String()
		}
	}
	return p.electOf(what, topic, partitions, nil, request)
}

// electOf is elect for those partitions whose replicas are wanted; nil: all are.
func (p *Planner) electOf(what, topic string, partitions []int32, wanted func([]int32) bool, request func(*draft, []model.TopicPartition)) (*Plan, error) {
	d := p.start(what, topic, topic)
	if topic == "" {
		d.confirmCluster()
	}
	list, total := d.toElectWith(topic, partitions, func(state *model.LeaderIsrAndControllerEpoch, replicas, live []int32) string {
		if wanted != nil && !wanted(replicas) {
			return ""
		}
		return preferredOutcome(state, replicas, live)
	})
	if d.refused() {
		return d.done()
	}
	if len(list) == 0 {
		d.plan.Nothing = fmt.Sprintf("of %d partitions each is led by its preferred replica already", total)
		return d.done()
	}
	request(d, list)
	return d.done()
}

// confirmCluster: what concerns no one topic is confirmed by the cluster's id.
func (d *draft) confirmCluster() {
	if d.plan.Confirm = d.plan.ClusterID; d.plan.Confirm == "" {
		d.plan.Confirm = "cluster"
	}
}

// noneRequested: a request of that kind is not there. Only one can be.
func (d *draft) noneRequested(path, kind string) bool {
	z := d.get(path)
	if z.Missing {
		return d.check("no "+kind+" is requested", true, "%s is not there", path)
	}
	return d.check("no "+kind+" is requested", false, "%s is there (version %d): the controller has not finished the last one; wait, or see what it holds (kstate why controller)", path, z.Stat.Version)
}

// outcome is what an election of a partition gives; empty when it needs none.
type outcome func(state *model.LeaderIsrAndControllerEpoch, replicas, live []int32) string

// candidate is a partition that may be elected.
type candidate struct {
	tp       model.TopicPartition
	replicas []int32
}

// toElectWith lists the partitions that need the election, and says of each what
// is to be expected. What is read of all topics is read at once.
func (d *draft) toElectWith(topic string, partitions []int32, of outcome) (list []model.TopicPartition, total int) {
	var all []candidate
	if topic == "" {
		all = d.ofAllTopics(partitions)
	} else {
		_, a, ok := d.existing(topic)
		if !ok || !d.notDeleted(topic) {
			return nil, 0
		}
		d.allThere(topic, &a, partitions)
		all = candidates(topic, &a, partitions)
	}
	live := brokerIDs(d.brokers())
	paths := make([]string, len(all))
	for i := range all {
		paths[i] = model.TopicPartitionStatePath(all[i].tp)
	}
	for i, z := range d.getAll(paths...) {
		tp, replicas := all[i].tp, all[i].replicas
		state, present, err := model.DecodePartitionState(z.Path, z.Data)
		switch {
		case len(replicas) == 0:
			continue
		case z.Missing || !present || err != nil:
			d.expect("%s: it has no usable state znode, so nobody is elected", tp)
		default:
			text := of(&state, replicas, live)
			if text == "" {
				continue
			}
			d.expect("%s: %s", tp, text)
		}
		list = append(list, tp)
	}
	return list, len(all)
}

// ofAllTopics are the candidates of the topics that stay.
func (d *draft) ofAllTopics(partitions []int32) (all []candidate) {
	marked := d.children(model.DeleteTopicsPath)
	var names, paths []string
	for _, name := range d.children(model.TopicsPath) {
		if slices.Contains(marked, name) {
			d.note("%s is left out: it is queued for deletion", name)
			continue
		}
		names, paths = append(names, name), append(paths, model.TopicPath(name))
	}
	for i, z := range d.getAll(paths...) {
		if !z.Missing { // it went in between
			a, _, _ := model.DecodeTopic(z.Path, z.Data)
			all = append(all, candidates(names[i], &a, partitions)...)
		}
	}
	return all
}

// candidates are those partitions of a topic that are given, or all of it.
func candidates(topic string, a *model.TopicAssignment, partitions []int32) (out []candidate) {
	for i := range a.Partitions {
		if p := &a.Partitions[i]; len(partitions) == 0 || slices.Contains(partitions, p.Partition) {
			out = append(out, candidate{model.TP(topic, p.Partition), p.Replicas})
		}
	}
	return out
}

func (d *draft) allThere(topic string, a *model.TopicAssignment, partitions []int32) {
	for _, n := range partitions {
		if _, ok := a.Assignment(n); !ok {
			d.check("the partitions exist", false, "%s is not in %s", model.TP(topic, n), model.TopicPath(topic))
		}
	}
}

// expected bounds the lines of what is to come; the rest is counted.
const expected = 1000

func (d *draft) expect(format string, args ...any) {
	if len(d.plan.Expect) < expected {
		d.plan.Expect = append(d.plan.Expect, fmt.Sprintf(format, args...))
	} else if len(d.plan.Expect) == expected {
		d.plan.Expect = append(d.plan.Expect, "and more")
	}
}

func preferredOutcome(state *model.LeaderIsrAndControllerEpoch, replicas, live []int32) string {
	preferred := replicas[0]
	if state.Leader == preferred {
		return ""
	}
	from := fmt.Sprintf("leader %s", model.LeaderName(state.Leader))
	if why := notElectable(state, preferred, live); why != "" {
		return from + " stays: " + why
	}
	return fmt.Sprintf("%s -> %d", from, preferred)
}

// notElectable is why the preferred replica cannot be elected; empty when it
// can. Kafka: PartitionLeaderElectionAlgorithms.preferredReplicaPartitionLeaderElection.
func notElectable(state *model.LeaderIsrAndControllerEpoch, preferred int32, live []int32) string {
	switch {
	case !slices.Contains(live, preferred):
		return fmt.Sprintf("broker %d is not registered", preferred)
	case !slices.Contains(state.ISR, preferred):
		return fmt.Sprintf("broker %d is not in the ISR (%s)", preferred, model.IDsOrNone(state.ISR))
	}
	return ""
}

// MoveController plans that another controller is elected: /controller is deleted
// at its version, unless somebody has taken over since.
func (p *Planner) MoveController() (*Plan, error) {
	d := p.start("move the controller", "controller", "controller")
	z, epoch := d.get(model.ControllerPath), d.get(model.ControllerEpochPath)
	if z.Missing {
		d.check("there is a controller to move", false, "%s is not there", z.Path)
		return d.done()
	}
	d.check("there is a controller to move", true, "%s at version %d, %s", z.Path, z.Stat.Version, z.Data)
	if z.Stat.EphemeralOwner == 0 {
		d.check("it belongs to a session", false, "%s is persistent: no broker holds it, and none elects another while it is there; it was made by hand or by a migration", z.Path)
	}
	if epoch.Missing {
		d.check("the epoch is known", false, "%s is not there", epoch.Path)
	}
	brokers := d.brokers()
	if d.refused() {
		return d.done()
	}
	was, _, _ := model.DecodeController(z.Path, z.Data)
	if len(brokers) < 2 {
		d.warn("only %d brokers are registered: the same one may take over again", len(brokers))
	}
	d.hold(epoch)
	d.plan.Writes = append(d.plan.Writes, model.PlannedWrite{Op: model.Op{Kind: model.OpDelete, Path: z.Path, Version: z.Stat.Version}, Before: z})
	d.warn("the controller resigns and another broker (or the same) takes over: it reads the whole tree, and sends LeaderAndIsr and UpdateMetadata to all brokers")
	d.warn("until it has, no leader is elected and no topic is created or deleted; with 200,000 partitions that takes many seconds")
	d.plan.Follow = "who is the controller then, and its epoch"
	d.plan.Watch = []string{model.ControllerPath, model.ControllerEpochPath, model.BrokerIDsPath}
	from := int32(-1)
	if n, err := model.DecodeControllerEpoch(epoch.Path, epoch.Data); err == nil {
		from = n
	}
	d.plan.follower = func() Follower { return &controllerMove{from: was, epoch: from} }
	return d.done()
}
