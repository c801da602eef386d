package admin

import (
	"maps"
	"slices"
	"strings"

	"kstate/engine"
	"kstate/model"
)

// CreateTopic plans a new topic: its config, then its assignment, in one
// transaction. Kafka: AdminZkClient.createTopicWithAssignment.
func (p *Planner) CreateTopic(c model.CreateTopic) (*Plan, error) {
	d := p.start("create topic "+c.Topic, c.Topic, c.Topic)
	d.checkNewName(c.Topic)
	d.checkConfig(c.Config)
	d.checkCount(c.Partitions)
	brokers := d.brokers()
	assignment := c.Assignment
	if assignment == nil && !d.refused() {
		start, shift := p.drawPlaces(len(brokers))
		assignment = d.spread(brokers, c.Partitions, c.ReplicationFactor, 0, start, shift)
	} else if !d.refused() {
		d.checkAssignment(assignment, 0, nil)
		d.checkLive(assignment, brokers)
	}
	a := model.TopicAssignment{Partitions: numbered(assignment, 0)}
	encode := d.format(&a)
	config := d.get(model.TopicConfigPath(c.Topic))
	if d.refused() {
		return d.done()
	}
	for i := range a.Partitions {
		d.expect("%s: replicas %s", model.TP(c.Topic, a.Partitions[i].Partition), model.JoinIDs(a.Partitions[i].Replicas))
	}
	d.parents(config.Path)
	if config.Missing {
		d.create(config.Path, model.EncodeConfig(c.Config))
	} else {
		d.note("%s is left over from an earlier topic of that name: it is overwritten", config.Path)
		d.set(config, model.EncodeConfig(c.Config))
	}
	d.parents(model.TopicPath(c.Topic))
	d.create(model.TopicPath(c.Topic), encode(a))
	d.checkSize()
	d.plan.Follow = "each partition, until it has a leader"
	d.plan.Watch = []string{model.TopicPath(c.Topic), model.DeleteTopicPath(c.Topic)}
	d.plan.follower = func() Follower { return &leaderWait{topic: c.Topic, from: 0, to: int32(len(a.Partitions))} }
	return d.done()
}

// mostPartitions is more than a topic znode of a ZooKeeper server's default limit
// can hold.
const mostPartitions = 100_000

func (d *draft) checkCount(partitions int) {
	if partitions > mostPartitions {
		d.check("the topic znode can hold its partitions", false, "%d are more than ZooKeeper takes in one znode (jute.maxbuffer)", partitions)
	}
}

// checkNewName: Kafka would create a topic of that name, and may do it now.
func (d *draft) checkNewName(topic string) {
	if err := model.ValidateTopicName(topic); err != nil {
		d.check("the name is legal", false, "%v", err)
		return
	}
	d.check("the name is legal", true, "%s", topic)
	if z := d.get(model.TopicPath(topic)); !z.Missing {
		d.check("the topic does not exist", false, "%s is there, version %d", z.Path, z.Stat.Version)
		return
	}
	d.check("the topic does not exist", true, "%s is not there", model.TopicPath(topic))
	d.notDeleted(topic)
	for _, other := range d.children(model.TopicsPath) {
		if model.TopicNamesCollide(other, topic) {
			d.check("no other topic differs in '.' and '_' only", false, "topic %s does: their metrics would have one name", other)
			return
		}
	}
	if model.TopicNameMayCollide(topic) {
		d.warn("names with '.' or '_' can collide in the names of metrics: it is best to use either, but not both")
	}
}

func (d *draft) checkConfig(config map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if err := engine.CheckTopicConfig(key, config[key]); err != nil {
			d.check("the settings are Kafka's", false, "%v", err)
			return
		}
	}
	if len(config) > 0 {
		d.check("the settings are Kafka's", true, "%s", strings.Join(slices.Sorted(maps.Keys(config)), ", "))
	}
}

// checkAssignment judges replica lists of new partitions; first is the number of
// the first. Of an existing topic, like is the list of its partition 0.
// Kafka: AdminZkClient.validateTopicCreate, validateReplicaAssignment.
func (d *draft) checkAssignment(lists [][]int32, first int, like []int32) {
	const what = "the assignment is legal"
	if len(lists) == 0 {
		d.check(what, false, "it has no partition")
		return
	}
	if like == nil {
		like = lists[0]
	}
	for i, l := range lists {
		switch {
		case len(l) == 0:
			d.check(what, false, "partition %d has no replica", first+i)
			return
		case twice(l):
			d.check(what, false, "partition %d names a broker twice: %s", first+i, model.JoinIDs(l))
			return
		case len(l) != len(like):
			d.check(what, false, "partition %d has %d replicas, others have %d: they must be equal", first+i, len(l), len(like))
			return
		case slices.Min(l) < 0:
			d.check(what, false, "partition %d names a negative broker id: %s", first+i, model.JoinIDs(l))
			return
		}
	}
	d.check(what, true, "%d partitions with %d replicas each", len(lists), len(like))
}

func twice(ids []int32) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids)
}

// checkLive: each named broker is registered.
func (d *draft) checkLive(lists [][]int32, brokers []model.Broker) {
	live := brokerIDs(brokers)
	var unknown []int32
	for _, l := range lists {
		unknown = append(unknown, model.Without(l, live)...)
	}
	slices.Sort(unknown)
	unknown = slices.Compact(unknown)
	if len(unknown) > 0 {
		are := "is"
		if len(unknown) > 1 {
			are = "are"
		}
		d.check("the brokers are registered", false, "%s %s not; registered: %s", model.JoinIDs(unknown), are, model.IDsOrNone(live))
		return
	}
	d.check("the brokers are registered", true, "of %s", model.IDsOrNone(live))
}

func numbered(lists [][]int32, first int) []model.PartitionAssignment {
	out := make([]model.PartitionAssignment, len(lists))
	for i, l := range lists {
		out[i] = model.PartitionAssignment{Partition: int32(first + i), ReplicaAssignment: model.ReplicaAssignment{Replicas: l}}
	}
	return out
}

// topicsLookedAt bounds the topics that are read to see how the cluster writes them.
const topicsLookedAt = 20

// format decides in which version the topic znode is written, and whether with
// an id, and says how. A controller that gives topics ids gives one to a topic
// without, so that leaving it out is never wrong.
func (d *draft) format(a *model.TopicAssignment) func(model.TopicAssignment) []byte {
	withID, version := false, int32(0)
	switch found := d.formatOfTopics(); {
	case d.p.Settings.Protocol != model.NoIBP:
		withID, version = d.p.Settings.Protocol.TopicIDs(), 3
		if d.p.Settings.Protocol < model.IBP_2_4_IV0 {
			version = 1
		}
		d.note("topic id: %s, by inter-broker protocol %s of %s", yesNo(withID), d.p.Settings.Protocol, d.p.Settings.From)
	case found.seen > 0:
		withID, version = found.withID > 0, found.version
		d.note("topic id: %s, as %d of the %d topics looked at have one; their newest znode has version %d", yesNo(withID), found.withID, found.seen, version)
	default:
		z := d.get(model.FeaturePath)
		f, err := model.DecodeFeatures(z.Path, z.Data)
		version = 2
		if withID = !z.Missing && err == nil && f.Version >= 2; withID {
			version = 3
			d.note("topic id: yes, for %s has version 2, which inter-broker protocol 3.3 and newer write", model.FeaturePath)
		} else {
			d.note("topic id: no, for there is no topic to go by and %s does not show protocol 3.3 or newer; a controller that uses ids adds one", model.FeaturePath)
		}
	}
	a.Version = version
	if withID {
		a.ID = d.p.Draw()
		for a.ID.Reserved() {
			a.ID = d.p.Draw()
		}
	}
	return encoderOf(version)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// encoderOf writes a topic znode as the version found.
func encoderOf(version int32) func(model.TopicAssignment) []byte {
	switch {
	case version <= 1:
		return model.EncodeTopicV1
	case version == 2:
		return model.EncodeTopicV2
	}
	return model.EncodeTopic
}

type topicFormats struct {
	seen, withID int
	version      int32
}

func (d *draft) formatOfTopics() (f topicFormats) {
	names := d.children(model.TopicsPath)
	var paths []string
	for _, name := range names[:min(len(names), topicsLookedAt)] {
		paths = append(paths, model.TopicPath(name))
	}
	for _, z := range d.getAll(paths...) {
		a, present, err := model.DecodeTopic(z.Path, z.Data)
		if z.Missing || !present || err != nil {
			continue
		}
		f.seen++
		f.version = max(f.version, a.Version, 1)
		if !a.ID.IsZero() {
			f.withID++
		}
	}
	return f
}

// AddPartitions plans a topic's growth: the topic znode at its version.
// Kafka: AdminZkClient.addPartitions.
func (p *Planner) AddPartitions(c model.AddPartitions) (*Plan, error) {
	d := p.start("add partitions to topic "+c.Topic, c.Topic, c.Topic)
	before, a, ok := d.existing(c.Topic)
	if !ok {
		return d.done()
	}
	d.notDeleted(c.Topic)
	d.notReassigned(&a)
	have := len(a.Partitions)
	if c.Topic == model.GroupMetadataTopic {
		d.check("its number of partitions may change", false, "that of %s may not: it decides which group lies where", c.Topic)
	}
	first, hasFirst := a.Assignment(0)
	switch {
	case c.Total < have:
		d.check("there are fewer now", false, "topic %s has %d partitions: their number cannot be lowered to %d", c.Topic, have, c.Total)
	case c.Total == have:
		d.check("there are fewer now", false, "topic %s has %d partitions already", c.Topic, have)
	case !hasFirst || len(first.Replicas) == 0:
		d.check("there are fewer now", false, "partition 0, whose replicas say how many each has, is not in %s", before.Path)
	default:
		d.check("there are fewer now", true, "%d, to become %d", have, c.Total)
	}
	for i := range a.Partitions {
		if n := a.Partitions[i].Partition; int(n) >= have { // a hole: the new numbers would meet old ones
			d.check("its partitions are numbered without a gap", false, "%s has %d partitions, and one of them is %d", before.Path, have, n)
			break
		}
	}
	d.checkCount(c.Total)
	brokers := d.brokers()
	if d.refused() {
		return d.done()
	}
	lists := c.Assignment
	if lists == nil {
		start := max(0, slices.IndexFunc(brokerIDs(brokers), func(id int32) bool { return id >= first.Replicas[0] }))
		lists = d.spread(brokers, c.Total-have, len(first.Replicas), have, start, start)
	} else {
		if d.check("each new partition has an assignment", len(lists) == c.Total-have, "%d for %d new partitions", len(lists), c.Total-have) {
			d.checkAssignment(lists, have, first.Replicas)
		}
		d.checkLive(lists, brokers)
	}
	if d.refused() {
		return d.done()
	}
	grown := a
	grown.Partitions = append(slices.Clone(a.Partitions), numbered(lists, have)...)
	for i := have; i < len(grown.Partitions); i++ {
		d.expect("%s: replicas %s", model.TP(c.Topic, int32(i)), model.JoinIDs(grown.Partitions[i].Replicas))
	}
	d.set(before, encoderOf(a.Version)(grown))
	d.checkSize()
	d.warn("records with keys go to other partitions from then on; a topic cannot be shrunk again")
	d.plan.Follow = "each new partition, until it has a leader"
	d.plan.Watch = []string{model.TopicPath(c.Topic), model.DeleteTopicPath(c.Topic)}
	d.plan.follower = func() Follower { return &leaderWait{topic: c.Topic, from: int32(have), to: int32(c.Total)} }
	return d.done()
}

func (d *draft) notReassigned(a *model.TopicAssignment) bool {
	const what = "no partition of it is being reassigned"
	for i := range a.Partitions {
		if q := &a.Partitions[i]; q.IsBeingReassigned() {
			return d.check(what, false, "partition %d is: replicas %s, adding %s, removing %s", q.Partition, model.JoinIDs(q.Replicas), model.IDsOrNone(q.Adding), model.IDsOrNone(q.Removing))
		}
	}
	return d.check(what, true, "none is")
}

// DeleteTopic plans a topic's deletion: its marker, bound to the topic znode.
// Kafka: AdminZkClient.deleteTopic.
func (p *Planner) DeleteTopic(topic string) (*Plan, error) {
	d := p.start("delete topic "+topic, topic, topic)
	z, a, ok := d.existing(topic)
	if !ok {
		return d.done()
	}
	if model.IsInternalTopic(topic) {
		d.check("the topic is not Kafka's own", false, "%s is", topic)
	}
	d.notDeleted(topic)
	d.checkDeletion()
	d.deletionWaits(topic, &a)
	if d.refused() {
		return d.done()
	}
	d.hold(z)
	d.parents(model.DeleteTopicPath(topic))
	d.create(model.DeleteTopicPath(topic), nil)
	d.warn("the topic's records are lost, on all brokers; it cannot be taken back once the controller has begun")
	d.plan.Follow = "the marker, the topic and its partitions, until all are gone or the deletion is refused"
	d.plan.Watch = []string{model.ControllerPath, model.ControllerEpochPath, model.BrokerIDsPath, model.TopicPath(topic), model.DeleteTopicsPath, model.ReassignPartitionsPath}
	d.plan.follower = func() Follower { return &deletion{topic: topic} }
	return d.done()
}

const deleteEnable = "delete.topic.enable"

// checkDeletion looks for delete.topic.enable where it can be seen. Brokers read
// it from their files, and ZooKeeper does not show those.
func (d *draft) checkDeletion() {
	const what = "topics may be deleted (" + deleteEnable + ")"
	if s := d.p.Settings.DeleteTopicEnable; s != nil {
		d.check(what, *s, "%v in %s", *s, d.p.Settings.From)
		return
	}
	var paths []string
	for _, name := range d.children(model.ConfigBrokersPath) {
		paths = append(paths, model.ConfigEntityPath(model.ConfigTypeBrokers, name))
	}
	for _, z := range d.getAll(paths...) {
		config, err := model.DecodeConfig(z.Path, z.Data)
		if v, there := config[deleteEnable]; err == nil && there && strings.EqualFold(strings.TrimSpace(v), "false") {
			d.check(what, false, "%s has it at false: the controller would remove the marker and keep the topic", z.Path)
			return
		}
	}
	d.warn("%s of the brokers is not visible in ZooKeeper: where it is false, the controller removes the marker and keeps the topic (--properties lets kstate look)", deleteEnable)
}

// deletionWaits says what the deletion will wait for.
func (d *draft) deletionWaits(topic string, a *model.TopicAssignment) {
	live := brokerIDs(d.brokers())
	var dead []int32
	for i := range a.Partitions {
		dead = append(dead, model.Without(a.Partitions[i].Replicas, live)...)
		if a.Partitions[i].IsBeingReassigned() {
			d.warn("the deletion will wait for the reassignment of %s", model.TP(topic, a.Partitions[i].Partition))
		}
	}
	slices.Sort(dead)
	for _, id := range slices.Compact(dead) {
		d.warn("the deletion will wait for broker %d, which has a replica and is not registered", id)
	}
}
