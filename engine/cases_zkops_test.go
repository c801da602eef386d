package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// operationCase is a case of zk_operations.json.
type operationCase struct {
	Operation string         `json:"operation"`
	Given     operationGiven `json:"given"`
	Expect    Object         `json:"expect"`
}

// operationGiven has the keys of all operations.
type operationGiven struct {
	ControllerEpochVersion int32                      `json:"controller_epoch_version"`
	ExpectedVersion        int32                      `json:"expected_version"`
	Path                   string                     `json:"path"`
	Exists                 bool                       `json:"exists"`
	TopicExists            *bool                      `json:"topic_exists"`
	ParentExists           *bool                      `json:"parent_exists"`
	ControllerExists       bool                       `json:"controller_exists"`
	Owner                  string                     `json:"owner"`
	Present                []string                   `json:"present"`
	Names                  []string                   `json:"names"`
	Notifications          map[string]json.RawMessage `json:"notifications"`
	Steps                  []string                   `json:"steps"`
	States                 json.RawMessage            `json:"states"`
	Update                 json.RawMessage            `json:"update"`
	Create                 []string                   `json:"create"`
	Read                   []string                   `json:"read"`
	Topics                 map[string][]int32         `json:"topics"`
	Version                int32                      `json:"version"`
	Value                  int32                      `json:"value"`
	Epoch                  *int32                     `json:"epoch"`
	EpochVersion           int32                      `json:"epoch_version"`
	ID                     int32                      `json:"id"`
	Calls                  int                        `json:"calls"`
	Proposed               string                     `json:"proposed"`
	Watch                  bool                       `json:"watch"`
	Results                []string                   `json:"results"`
	TopicConfig            map[string]string          `json:"topic_config"`
	StoredEqualsWanted     bool                       `json:"stored_equals_wanted"`
	Brokers                []int32                    `json:"brokers"`
	Assignment             json.RawMessage            `json:"assignment"`
	Existing               json.RawMessage            `json:"existing"`
	Topic                  string                     `json:"topic"`
	ExistsAtFirstCheck     bool                       `json:"exists_at_first_check"`
	ListedAtSecondCheck    bool                       `json:"listed_at_second_check"`
	MarkedForDeletion      bool                       `json:"marked_for_deletion"`
	To                     int32                      `json:"to"`
	Data                   *string                    `json:"data"`
	Children               []string                   `json:"children"`
}

// operations do what the cases call by name, and show the result in their words.
var operations = map[string]func(*bench, *operationGiven) (Object, error){
	"delete_subtree":             opDeleteSubtree,
	"delete_notifications":       opDeleteNotifications,
	"list_notifications":         opListNotifications,
	"read_notifications":         opReadNotifications,
	"set_or_create_reassignment": opReassignment,
	"delete_requests":            opDeleteRequests,
	"delete_preferred":           opDeletePreferred,
	"update_states":              opUpdateStates,
	"create_states":              opCreateStates,
	"set_states":                 opSetStates,
	"get_states":                 opGetStates,
	"list_partitions":            opListPartitions,
	"set_controller_epoch":       opSetControllerEpoch,
	"register_controller":        opRegisterController,
	"register_broker":            opRegisterBroker,
	"update_broker":              opUpdateBroker,
	"generate_broker_id":         opGenerateBrokerID,
	"create_or_get_cluster_id":   opClusterID,
	"create_recursive":           opCreateRecursive,
	"get_data_and_version":       opGetDataAndVersion,
	"conditional_update":         opConditionalUpdate,
	"get_children":               opGetChildren,
	"list_topics":                opListTopics,
	"watch_exists":               opWatchExists,
	"batch":                      opBatch,
	"get_log_configs":            opLogConfigs,
	"set_config":                 opSetConfig,
	"leader_update_state":        opLeaderUpdate,
	"create_topic":               opCreateTopic,
	"request_delete":             opRequestDelete,
	"add_partitions":             opAddPartitions,
}

// RunOperationCase runs one ZooKeeper operation of a controller.
func RunOperationCase(t *testing.T, text []byte) {
	var c operationCase
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	if c.Expect == nil {
		t.Fatal("the case expects nothing")
	}
	do := operations[c.Operation]
	if do == nil {
		t.Fatalf("no operation %q", c.Operation)
	}
	b := newBench(t, DefaultConfig(1))
	b.plant(model.ControllerEpochPath, model.EncodeControllerEpoch(0), c.Given.ControllerEpochVersion)
	b.e.ctx.EpochZkVersion = c.Given.ExpectedVersion
	var got Object
	err := b.run(func() error {
		var err error
		got, err = do(b, &c.Given)
		return err
	})
	if got == nil {
		got = Object{}
	}
	if err != nil || c.Expect["error"] != nil {
		got["error"] = operationError(err)
	} else if _, asked := c.Expect["error"]; asked {
		got["error"] = nil
	}
	if sets, ok := c.Expect["replica_sets"].([]any); ok { // each is a set
		for _, s := range sets {
			slices.SortFunc(s.([]any), func(a, b any) int { return int(a.(float64) - b.(float64)) })
		}
	}
	var m Matcher
	for _, d := range m.Diff("expect", c.Expect, Plain(got), true) {
		t.Error(d)
	}
}

// operationError is the name of an error: Kafka's, or ZooKeeper's without prefix.
func operationError(err error) any {
	switch e := err.(type) {
	case *kafkaFailure:
		return e.code.String()
	case *keeperError:
		if e.code == model.CodeBadArguments {
			return "INVALID_ARGUMENT"
		}
		return e.code.String()
	case *adminFailure:
		return e.name
	}
	return errorName(err)
}

// adminFailure is an error of Kafka's admin client that has no code of its own.
type adminFailure struct{ name string }

func (e *adminFailure) Error() string { return e.name }

func (b *bench) has(path string) bool {
	_, code := b.store.Exists(path)
	return code == zkserver.OK
}

func (b *bench) names(parent string) []string {
	names, _, _ := b.store.Children(parent)
	return append([]string{}, names...)
}

func opDeleteSubtree(b *bench, g *operationGiven) (Object, error) {
	if g.Exists {
		b.create(g.Path+"/below/it", nil)
	}
	err := b.e.deleteRecursive(g.Path)
	out := Object{"deleted": g.Exists && !b.has(g.Path), "absent": []string{}}
	if !b.has(g.Path) {
		out["absent"] = []string{g.Path}
	}
	return out, err
}

func opDeleteNotifications(b *bench, g *operationGiven) (Object, error) {
	const parent = model.IsrChangeNotificationPath
	for _, n := range g.Present {
		b.create(parent+"/"+n, nil)
	}
	err := b.e.deleteNotifications(parent, g.Names)
	return Object{"present": len(b.names(parent)), "left": b.names(parent)}, err
}

func opListNotifications(b *bench, g *operationGiven) (Object, error) {
	const parent = model.IsrChangeNotificationPath
	if g.ParentExists != nil && !*g.ParentExists {
		b.store.Apply(0, zkserver.Delete(parent, zkserver.AnyVersion))
	}
	names, err := b.e.notifications(parent)
	if err != nil {
		return nil, err
	}
	tps, err := b.e.readIsrChanges(names)
	return Object{"names": append([]string{}, names...), "partitions": Names(tps)}, err
}

func opReadNotifications(b *bench, g *operationGiven) (Object, error) {
	var isr, dirs []string
	for _, seq := range sortedKeys(g.Notifications) {
		var names []string
		var broker int32
		if json.Unmarshal(g.Notifications[seq], &names) == nil {
			isr = append(isr, model.ChildName(model.IsrChangePath(seq)))
			b.create(model.IsrChangePath(seq), model.EncodeIsrChange(b.partitions(names)))
		} else if err := json.Unmarshal(g.Notifications[seq], &broker); err == nil {
			dirs = append(dirs, model.ChildName(model.LogDirEventPath(seq)))
			b.create(model.LogDirEventPath(seq), model.EncodeLogDirEvent(broker))
		} else {
			return nil, err
		}
	}
	out := Object{}
	if isr != nil {
		tps, err := b.e.readIsrChanges(isr)
		if err != nil {
			return nil, err
		}
		list := []string{}
		for _, tp := range tps {
			list = append(list, tp.String())
		}
		out["partitions"] = list
	}
	if dirs != nil {
		brokers, err := b.e.readLogDirEvents(dirs)
		if err != nil {
			return nil, err
		}
		out["brokers"] = brokers
	}
	return out, nil
}

func opReassignment(b *bench, g *operationGiven) (Object, error) {
	list := []model.PartitionReassignment{}
	for p := range int32(4) {
		list = append(list, model.PartitionReassignment{TopicPartition: model.TP("topic_a", p), Replicas: []int32{0, 1}})
	}
	if len(g.Steps) == 0 {
		return nil, b.e.writeReassignZnode(list)
	}
	out := Object{}
	for _, s := range g.Steps {
		var err error
		switch s {
		case "create with four partitions":
			err = b.e.writeReassignZnode(list)
		case "set with three":
			err = b.e.writeReassignZnode(list[:3])
		case "delete":
			err = b.e.deleteRecursive(model.ReassignPartitionsPath)
		case "read":
			var read []model.PartitionReassignment
			read, err = b.e.getReassignZnode()
			byName := Object{}
			for _, r := range read {
				byName[r.TopicPartition.String()] = r.Replicas
			}
			out["read"] = byName
		default:
			err = fmt.Errorf("no step %q", s)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func opDeleteRequests(b *bench, g *operationGiven) (Object, error) {
	for _, t := range g.Present {
		b.create(model.DeleteTopicPath(t), nil)
	}
	topics, err := b.e.children(model.DeleteTopicsPath, false)
	if err != nil {
		return nil, err
	}
	err = b.e.deleteMarkers(topics)
	return Object{"left": b.names(model.DeleteTopicsPath)}, err
}

func opDeletePreferred(b *bench, _ *operationGiven) (Object, error) {
	b.create(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection(nil))
	err := b.e.deleteFenced("delete_preferred_election", []string{model.PreferredReplicaElectionPath}, false)
	return Object{"exists": b.has(model.PreferredReplicaElectionPath)}, err
}

// epochs reads a list of partitions, or an object by partition with a version or
// partition epoch.
func (b *bench) epochs(raw json.RawMessage, key string) (map[model.TopicPartition]int32, error) {
	out := map[model.TopicPartition]int32{}
	var names []string
	if raw == nil || json.Unmarshal(raw, &names) == nil {
		for _, tp := range b.partitions(names) {
			out[tp] = 0
		}
		return out, nil
	}
	var byName map[string]map[string]int32
	if err := json.Unmarshal(raw, &byName); err != nil {
		return nil, err
	}
	for name, fields := range byName {
		out[b.partition(name)] = fields[key]
	}
	return out, nil
}

var someState = model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.LeaderAndIsr{Leader: 1, LeaderEpoch: 1, ISR: []int32{1, 2}}, ControllerEpoch: 1}

func (b *bench) plantStates(raw json.RawMessage) error {
	states, err := b.epochs(raw, "version")
	for tp, version := range states {
		b.plant(model.TopicPartitionStatePath(tp), model.EncodePartitionState(someState), version)
	}
	return err
}

func opUpdateStates(b *bench, g *operationGiven) (Object, error) {
	if err := b.plantStates(g.States); err != nil {
		return nil, err
	}
	updates, err := b.epochs(g.Update, "partition_epoch")
	if err != nil {
		return nil, err
	}
	var writes []stateWrite
	for tp, epoch := range updates {
		writes = append(writes, stateWrite{tp, someState.WithPartitionEpoch(epoch)})
	}
	slices.SortFunc(writes, func(a, b stateWrite) int { return a.tp.Compare(b.tp) })
	finished, retry, err := b.e.updateLeaderAndIsr(writes)
	ok, failed := Object{}, Object{}
	for tp, r := range finished {
		if r.err == nil {
			ok[tp.String()] = Object{"partition_epoch": r.record.PartitionEpoch}
		} else {
			failed[tp.String()] = operationError(r.err)
		}
	}
	return Object{"ok": ok, "failed": failed, "retry": Names(retry)}, err
}

func opCreateStates(b *bench, g *operationGiven) (Object, error) {
	tps := sortTPs(b.partitions(g.Create))
	var records []*model.LeaderIsrAndControllerEpoch
	for _, tp := range tps {
		b.create(model.TopicPath(tp.Topic), nil)
		records = append(records, &someState)
	}
	results, err := b.e.createStates(tps, records)
	codes := []string{}
	for _, r := range results {
		codes = append(codes, r.Code.String())
	}
	return Object{"codes": codes, "created": b.statesOf(tps)}, err
}

// statesOf are those of the partitions whose state znode exists.
func (b *bench) statesOf(tps []model.TopicPartition) []string {
	out := []string{}
	for _, tp := range tps {
		if b.has(model.TopicPartitionStatePath(tp)) {
			out = append(out, tp.String())
		}
	}
	return out
}

func opSetStates(b *bench, g *operationGiven) (Object, error) {
	tp := model.TP("topic1", 0)
	path := model.TopicPartitionStatePath(tp)
	b.create(model.TopicPath("topic1"), nil)
	codes := []string{}
	for _, s := range g.Steps {
		var version int
		switch {
		case s == "create":
			results, err := b.e.createStates([]model.TopicPartition{tp}, []*model.LeaderIsrAndControllerEpoch{&someState})
			if err != nil {
				return nil, err
			}
			codes = append(codes, results[0].Code.String())
			continue
		case s == "set missing":
		default:
			if _, err := fmt.Sscanf(s, "set expecting version %d", &version); err != nil {
				return nil, err
			}
		}
		if s == fmt.Sprintf("set expecting version %d from another client", version) {
			r, _ := b.store.Apply(0, zkserver.Set(path, model.EncodePartitionState(someState), int32(version)))
			codes = append(codes, codeText(model.Code(r.Code), r.Stat.Version))
			continue
		}
		finished, retry, err := b.e.updateLeaderAndIsr([]stateWrite{{tp, someState.WithPartitionEpoch(int32(version))}})
		switch {
		case err != nil:
			return nil, err
		case len(retry) > 0:
			codes = append(codes, "BADVERSION")
		default:
			codes = append(codes, codeText(keeperCode(finished[tp].err), finished[tp].record.PartitionEpoch))
		}
	}
	return Object{"codes": codes}, nil
}

func codeText(c model.Code, version int32) string {
	if c == model.CodeOK {
		return fmt.Sprintf("OK version %d", version)
	}
	return c.String()
}

func opGetStates(b *bench, g *operationGiven) (Object, error) {
	if err := b.plantStates(g.States); err != nil {
		return nil, err
	}
	states, err := b.e.getStates(b.partitions(g.Read))
	var found []model.TopicPartition
	for tp := range states {
		found = append(found, tp)
	}
	return Object{"found": Names(found)}, err
}

func opListPartitions(b *bench, g *operationGiven) (Object, error) {
	for t, ps := range g.Topics {
		a := model.TopicAssignment{Version: 3}
		for _, n := range ps {
			a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: n, ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{1}}})
		}
		b.create(model.TopicPath(t), model.EncodeTopic(a))
	}
	topics, err := b.e.readNewTopics(sortedKeys(g.Topics))
	var tps []model.TopicPartition
	for _, t := range topics {
		for _, p := range t.Partitions {
			tps = append(tps, model.TP(t.topic, p.Partition))
		}
	}
	return Object{"partitions": Names(tps)}, err
}

func opSetControllerEpoch(b *bench, g *operationGiven) (Object, error) {
	if !g.Exists && g.Value == 0 {
		b.store.Apply(0, zkserver.Delete(model.ControllerEpochPath, zkserver.AnyVersion))
	}
	codes := []string{}
	for range 2 {
		r, err := b.e.call("set_controller_epoch", []model.Op{{Kind: model.OpSet, Path: model.ControllerEpochPath, Version: g.ExpectedVersion, Data: model.EncodeControllerEpoch(g.Value)}})
		if err != nil {
			return nil, err
		}
		codes = append(codes, codeText(r[0].Code, r[0].Stat.Version))
	}
	out := Object{"code": codes[0], "codes": codes}
	if b.has(model.ControllerEpochPath) {
		value, _, err := b.e.controllerEpoch()
		if err != nil {
			return nil, err
		}
		out["value"] = value
	}
	return out, nil
}
