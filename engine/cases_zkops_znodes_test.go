package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// This file has the operations on registrations, single znodes, watches and
// topics.

func opRegisterController(b *bench, g *operationGiven) (Object, error) {
	b.e.cfg.ID = g.ID
	if g.Epoch == nil {
		b.store.Apply(0, zkserver.Delete(model.ControllerEpochPath, zkserver.AnyVersion))
	} else {
		b.plant(model.ControllerEpochPath, model.EncodeControllerEpoch(*g.Epoch), g.EpochVersion)
	}
	if g.ControllerExists {
		b.create(model.ControllerPath, model.EncodeController(2, g.ID+1, 1, -1))
	}
	epoch, version, err := b.e.registerController()
	if err != nil {
		return nil, err
	}
	id, err := b.e.getControllerID()
	return Object{"epoch": epoch, "epoch_version": version, "controller": id}, err
}

func opRegisterBroker(b *bench, g *operationGiven) (Object, error) {
	path := model.BrokerIDPath(1)
	b.e.cfg.Registration = model.EncodeBroker(&model.Broker{ID: 1}, 5, -1, 1)
	b.e.session = b.world.Session
	if g.Exists {
		owner, _ := b.store.CreateSession(time.Hour)
		switch g.Owner {
		case "same session":
			owner = b.world.Session
		case "own expired session":
			b.e.registeredIn = owner
		case "other session":
		default:
			return nil, fmt.Errorf("no owner %q", g.Owner)
		}
		if err := b.store.Load([]zkserver.Znode{{Path: path, Data: []byte("before"), Owner: owner}}); err != nil {
			return nil, err
		}
	}
	before, _ := b.store.Exists(path)
	err := b.e.registerBroker()
	after, _ := b.store.Exists(path)
	out := Object{"changed": before.Mzxid != after.Mzxid, "broker_epoch": "none"}
	switch {
	case !g.Exists && after.Czxid != 0:
		out["broker_epoch"] = "creation zxid"
		brokers, err := b.e.getBrokers()
		if err != nil || len(brokers) != 1 || brokers[0].Epoch != after.Czxid {
			return nil, fmt.Errorf("brokers %v, want epoch %d: %v", brokers, after.Czxid, err)
		}
	case before.Czxid != after.Czxid:
		out["broker_epoch"] = "new"
	}
	return out, err
}

// opUpdateBroker: a broker rewrites its znode, whoever owns it.
func opUpdateBroker(b *bench, g *operationGiven) (Object, error) {
	path := model.BrokerIDPath(1)
	if g.Exists {
		owner, _ := b.store.CreateSession(time.Hour)
		if err := b.store.Load([]zkserver.Znode{{Path: path, Data: []byte("before"), Owner: owner}}); err != nil {
			return nil, err
		}
	}
	before, _ := b.store.Exists(path)
	err := b.e.writePlain("update_broker", model.Op{Kind: model.OpSet, Path: path, Version: model.AnyVersion, Data: []byte("after")})
	after, _ := b.store.Exists(path)
	return Object{"changed": before.Mzxid != after.Mzxid && before.Czxid == after.Czxid}, err
}

// opGenerateBrokerID: the data version of the sequence znode numbers brokers.
func opGenerateBrokerID(b *bench, g *operationGiven) (Object, error) {
	var ids []int32
	for range g.Calls {
		r, err := b.e.call("broker_id", []model.Op{{Kind: model.OpSet, Path: model.BrokerSequenceIDPath, Version: model.AnyVersion}})
		if err != nil || r[0].Code != model.CodeOK {
			return nil, fmt.Errorf("%v %v", r, err)
		}
		ids = append(ids, r[0].Stat.Version)
	}
	return Object{"difference": ids[len(ids)-1] - ids[0]}, nil
}

func opClusterID(b *bench, g *operationGiven) (Object, error) {
	b.create(model.ClusterPath, nil)
	for _, proposed := range []string{g.Proposed, "later"} {
		r, err := b.e.call("cluster_id", []model.Op{{Kind: model.OpCreate, Path: model.ClusterIDPath, Data: model.EncodeClusterID(proposed)}})
		if err != nil {
			return nil, err
		}
		if c := r[0].Code; c != model.CodeOK && c != model.CodeNodeExists {
			return nil, &keeperError{c, "create"}
		}
	}
	data, _, _, err := b.e.get("cluster_id", model.ClusterIDPath)
	if err != nil {
		return nil, err
	}
	id, err := model.DecodeClusterID(model.ClusterIDPath, data)
	return Object{"id": id}, err
}

func opCreateRecursive(b *bench, g *operationGiven) (Object, error) {
	code, err := b.e.createRecursive("create", g.Path, nil)
	if err == nil && code != model.CodeOK {
		err = &keeperError{code, "create " + g.Path}
	}
	out := Object{"present": []string{}}
	if b.has(g.Path) {
		out["present"] = []string{g.Path}
	}
	return out, err
}

// unknownVersion is Kafka's version of a znode that is not there.
const unknownVersion = -2

func opGetDataAndVersion(b *bench, g *operationGiven) (Object, error) {
	const path = "/data"
	if g.Exists {
		content := "x"
		if g.Data != nil {
			content = *g.Data
		}
		b.plant(path, []byte(content), g.Version)
	}
	data, stat, present, err := b.e.get("get", path)
	out := Object{"data": nil, "version": unknownVersion}
	if present {
		out = Object{"data": string(data), "version": stat.Version}
	}
	return out, err
}

func opConditionalUpdate(b *bench, g *operationGiven) (Object, error) {
	const path = "/data"
	if g.Exists {
		b.plant(path, nil, g.Version)
	}
	r, err := b.e.call("set", []model.Op{{Kind: model.OpSet, Path: path, Version: g.ExpectedVersion, Data: []byte("x")}})
	if err != nil {
		return nil, err
	}
	if r[0].Code != model.CodeOK {
		return Object{"ok": false, "version": unknownVersion}, nil
	}
	return Object{"ok": true, "version": r[0].Stat.Version}, nil
}

func opGetChildren(b *bench, g *operationGiven) (Object, error) {
	if g.Exists {
		b.create("/parent", nil)
	}
	for _, c := range g.Children {
		b.create("/parent/"+c, nil)
	}
	names, err := b.e.children("/parent", false)
	return Object{"children": append([]string{}, names...)}, err
}

// notified is the kind of the watch event that came.
func (b *bench) notified() any {
	in, ok := b.world.Next()
	if !ok {
		return false
	}
	switch in.Of.(*model.WatchFired).Kind {
	case model.NodeCreated:
		return "created"
	case model.NodeDeleted:
		return "deleted"
	case model.NodeDataChanged:
		return "changed"
	}
	return true
}

func opListTopics(b *bench, g *operationGiven) (Object, error) {
	b.e.listenChild(model.TopicsPath)
	if _, err := b.e.children(model.TopicsPath, g.Watch); err != nil {
		return nil, err
	}
	b.store.Apply(0, zkserver.Create(model.TopicPath("new"), nil, 0))
	return Object{"notified": b.notified()}, nil
}

func opWatchExists(b *bench, g *operationGiven) (Object, error) {
	const path = "/watched"
	if g.Exists {
		b.create(path, nil)
	}
	b.e.listenNode(path)
	if _, err := b.e.exists(path); err != nil {
		return nil, err
	}
	if g.Exists {
		b.store.Apply(0, zkserver.Set(path, nil, zkserver.AnyVersion))
	} else {
		b.store.Apply(0, zkserver.Create(path, nil, 0))
	}
	return Object{"notified": b.notified()}, nil
}

// opBatch loses some answers: exactly those requests are sent again.
func opBatch(b *bench, g *operationGiven) (Object, error) {
	ops := make([]model.Op, len(g.Results))
	for i := range ops {
		ops[i] = model.Op{Kind: model.OpGet, Path: "/brokers"}
	}
	b.call = func(c *model.Call) *model.Result {
		r := &model.Result{Ops: make([]model.OpResult, len(c.Ops))}
		for i, name := range g.Results {
			r.Ops[i].Code, _ = model.ParseCode(name)
		}
		return r
	}
	results, err := b.e.call("batch", ops)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Code == model.CodeConnectionLoss {
			return nil, &keeperError{r.Code, "a repeated op"}
		}
	}
	return Object{"repeated": append([]int{}, b.world.Repeated...)}, nil
}

func opLogConfigs(b *bench, g *operationGiven) (Object, error) {
	if g.TopicConfig != nil {
		b.create(model.TopicConfigPath("t"), model.EncodeConfig(g.TopicConfig))
	}
	configs, err := b.e.topicConfigs([]string{"t"})
	if err != nil || configs["t"].err != nil {
		return nil, fmt.Errorf("%v %v", err, configs["t"].err)
	}
	defaults, err := EffectiveUnclean(b.e.cfg.BrokerConfig, nil)
	out := Object{"config": "other"}
	if configs["t"].unclean == defaults {
		out["config"] = "defaults"
	}
	return out, err
}

func opSetConfig(b *bench, g *operationGiven) (Object, error) {
	if g.ControllerExists {
		b.create(model.ControllerPath, model.EncodeController(2, 1, 1, -1))
	}
	return nil, b.e.writeTopicConfig("t", map[string]string{"cleanup.policy": "compact"})
}

// opLeaderUpdate is how a leader before AlterPartition writes its state: a
// conflict is no failure when the znode says already what was to be written.
func opLeaderUpdate(b *bench, g *operationGiven) (Object, error) {
	path := model.TopicPartitionStatePath(model.TP("topic1", 0))
	wanted := model.EncodePartitionState(someState)
	stored := wanted
	if !g.StoredEqualsWanted {
		other := someState
		other.ISR = []int32{1}
		stored = model.EncodePartitionState(other)
	}
	b.plant(path, stored, g.Version)
	r, err := b.e.call("leader_update", []model.Op{{Kind: model.OpSet, Path: path, Version: g.ExpectedVersion, Data: wanted}})
	if err != nil {
		return nil, err
	}
	out := Object{"ok": r[0].Code == model.CodeOK, "version": r[0].Stat.Version}
	if r[0].Code == model.CodeBadVersion {
		data, stat, _, err := b.e.get("get_state", path)
		same := string(data) == string(wanted)
		out["ok"], out["version"] = same, unknownVersion
		if same {
			out["version"] = stat.Version
		}
		return out, err
	}
	return out, nil
}

// replicaLists reads partition numbers to replica lists.
func replicaLists(raw json.RawMessage) ([]model.PartitionAssignment, map[int32][]int32, error) {
	lists := map[int32][]int32{}
	if raw == nil {
		return nil, nil, nil
	}
	if err := json.Unmarshal(raw, &lists); err != nil {
		return nil, nil, err
	}
	var out []model.PartitionAssignment
	for _, n := range ids(lists) {
		out = append(out, model.PartitionAssignment{Partition: n, ReplicaAssignment: model.ReplicaAssignment{Replicas: lists[n]}})
	}
	return out, lists, nil
}

func opCreateTopic(b *bench, g *operationGiven) (Object, error) {
	topic := g.Topic
	if topic == "" {
		topic = "t"
	}
	var existing []string
	if g.Existing != nil {
		if err := json.Unmarshal(g.Existing, &existing); err != nil {
			return nil, err
		}
	}
	if g.ExistsAtFirstCheck {
		existing = append(existing, topic)
	}
	for _, t := range existing {
		b.create(model.TopicPath(t), nil)
	}
	if g.ListedAtSecondCheck { // somebody creates it between the two
		b.call = func(c *model.Call) *model.Result {
			if c.Ops[0].Kind == model.OpChildren {
				b.create(model.TopicPath(topic), nil)
			}
			return nil
		}
	}
	if g.MarkedForDeletion {
		b.create(model.DeleteTopicPath(topic), nil)
	}
	assignment, lists, err := replicaLists(g.Assignment)
	if err != nil {
		return nil, err
	}
	return nil, b.e.validateTopicCreate(&model.NewTopic{Topic: topic, Assignment: lists}, assignment)
}

func opRequestDelete(b *bench, g *operationGiven) (Object, error) {
	if g.TopicExists == nil || *g.TopicExists {
		b.create(model.TopicPath("t"), nil)
	}
	if g.MarkedForDeletion {
		b.create(model.DeleteTopicPath("t"), nil)
	}
	if present, err := b.e.existsUnwatched(model.TopicPath("t")); err != nil || !present {
		return nil, failKafka(model.ErrUnknownTopicOrPartition, "%v", err)
	}
	code, err := b.e.createRecursive("create_delete_marker", model.DeleteTopicPath("t"), nil)
	if err == nil && code == model.CodeNodeExists {
		err = &adminFailure{"ALREADY_MARKED or UNKNOWN_TOPIC_OR_PARTITION"}
	}
	return nil, err
}

func opAddPartitions(b *bench, g *operationGiven) (Object, error) {
	existing, _, err := replicaLists(g.Existing)
	if err != nil {
		return nil, err
	}
	var asked [][]int32
	if g.Assignment != nil {
		if err := json.Unmarshal(g.Assignment, &asked); err != nil {
			return nil, err
		}
	}
	ids := g.Brokers
	if ids == nil {
		ids = []int32{0, 1, 2, 3, 4}
	}
	var brokers []model.Broker
	for _, id := range ids {
		brokers = append(brokers, model.Broker{ID: id})
	}
	path := model.TopicPath("t")
	b.create(path, model.EncodeTopic(model.TopicAssignment{Version: 3, Partitions: existing}))
	var throttle int32
	if err := b.e.growTopic(&model.GrownTopic{Topic: "t", Count: g.To, Assignment: asked}, brokers, &model.CreatePartitions{}, &throttle); err != nil {
		if _, known := err.(*kafkaFailure); !known {
			err = &adminFailure{"ADMIN_OPERATION"}
		}
		return nil, err
	}
	data, _, _ := b.store.Get(path)
	grown, _, err := model.DecodeTopic(path, data)
	if err != nil {
		return nil, err
	}
	leaders, sets := []int32{}, [][]int32{}
	for _, p := range grown.Partitions {
		leaders = append(leaders, p.Replicas[0])
		sets = append(sets, slices.Sorted(slices.Values(p.Replicas)))
	}
	return Object{"leaders": leaders, "replica_sets": sets}, nil
}
