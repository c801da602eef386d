package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// step is one step of a trace. Which fields an op has, testdata's README says.
type step struct {
	Op          string          `json:"op"`
	DoNotWait   bool            `json:"do_not_wait"`
	AnswerLater bool            `json:"answer_later"`
	Via         *int32          `json:"via"`
	Broker      int32           `json:"broker"`
	BrokerEpoch string          `json:"broker_epoch"`
	Port        *int32          `json:"port"`
	Rack        *string         `json:"rack"`
	Topic       string          `json:"topic"`
	TopicID     bool            `json:"topic_id"`
	DropTopicID bool            `json:"drop_topic_id"`
	Assignment  json.RawMessage `json:"assignment"`
	Config      json.RawMessage `json:"config"`
	Path        string          `json:"path"`
	Data        json.RawMessage `json:"data"`
	Recursive   bool            `json:"recursive"`
	Partitions  json.RawMessage `json:"partitions"`
	Type        string          `json:"type"`
	Version     *int16          `json:"version"`
	Notify      *bool           `json:"notify"`
	APIs        []string        `json:"apis"`
	API         string          `json:"api"`
	Partition   string          `json:"partition"`
	Error       string          `json:"error"`
	ISR         []int32         `json:"isr"`
	Times       *int            `json:"times"`
	ZkOp        string          `json:"zk_op"`
	Note        string          `json:"note"`
	Assert      engine.Object   `json:"assert"`
	Trace       engine.Object   `json:"trace"`
}

func (s *step) times() int {
	if s.Times == nil {
		return 1
	}
	return *s.Times
}

// clusterOps are the ops that change the cluster; they have no answer.
var clusterOps = map[string]func(*lab, *step) error{
	"start_broker":       func(l *lab, s *step) error { l.startBroker(s.Broker); return nil },
	"stop_broker":        func(l *lab, s *step) error { l.stopBroker(s.Broker); return nil },
	"start_candidate":    func(l *lab, s *step) error { return l.startCandidate(s.Broker) },
	"stop_candidate":     onCandidate((*lab).stopCandidate),
	"re_register":        reRegister,
	"update_broker_info": updateBrokerInfo,
	"pause_controller":   onActive(func(c *candidate, _ *step) error { c.paused = true; return nil }),
	"resume_controller":  resumeControllers,
	"create_topic":       createTopic,
	"set_topic_znode":    setTopicZnode,
	"write_znode":        writeZnode,
	"delete_znode":       deleteZnode,
	"delete_topic":       func(l *lab, s *step) error { l.create(model.DeleteTopicPath(s.Topic), nil); return nil },
	"zk_preferred":       zkPreferred,
	"zk_reassign":        zkReassign,
	"auto_rebalance": onActive(func(c *candidate, _ *step) error {
		c.world.Push(&model.AlarmRang{Name: "auto-leader-rebalance"})
		return nil
	}),
	"isr_change":                 isrChange,
	"log_dir_event":              logDirEvent,
	"set_topic_config":           setTopicConfig,
	"unclean_topic_enabled":      onActive(func(c *candidate, s *step) error { c.world.Push(&model.UncleanEnabled{Topic: s.Topic}); return nil }),
	"unclean_default_enabled":    onActive(func(c *candidate, s *step) error { c.world.Push(&model.UncleanEnabled{}); return nil }),
	"hold_responses":             holdResponses,
	"release_responses":          func(l *lab, s *step) error { l.release(s.Broker); return nil },
	"set_response_error":         setResponseError,
	"controller_moves_elsewhere": controllerMovesElsewhere,
	"delete_controller_znode":    func(l *lab, s *step) error { l.deleteTree(model.ControllerPath); return nil },
	"expire_session":             expireSession,
	"illegal_state":              onActive(illegalState),
	"concurrent_state_write":     onActive(concurrentStateWrite),
	"zk_fault":                   onActive(zkFault),
	"set_config":                 setConfig,
	"check":                      func(*lab, *step) error { return nil },
}

func onActive(do func(*candidate, *step) error) func(*lab, *step) error {
	return func(l *lab, s *step) error {
		c := l.active()
		if c == nil {
			return fmt.Errorf("op %s: there is no active controller", s.Op)
		}
		return do(c, s)
	}
}

func onCandidate(do func(*lab, *candidate)) func(*lab, *step) error {
	return func(l *lab, s *step) error {
		c := l.candidate(s.Broker)
		if c == nil {
			return fmt.Errorf("op %s: broker %d runs no controller", s.Op, s.Broker)
		}
		do(l, c)
		return nil
	}
}

func resumeControllers(l *lab, _ *step) error {
	for _, c := range l.candidates {
		c.paused = false
	}
	return nil
}

// reRegister: the session of a broker ends, and the next one begins at once.
func reRegister(l *lab, s *step) error {
	if c := l.candidate(s.Broker); c != nil {
		return expireSession(l, s)
	}
	l.stopBroker(s.Broker)
	l.startBroker(s.Broker)
	return nil
}

func updateBrokerInfo(l *lab, s *step) error {
	b := l.stub(s.Broker)
	if s.Port != nil {
		b.port = *s.Port
	}
	if s.Rack != nil {
		b.rack = *s.Rack
	}
	l.store.Apply(b.session, zkserver.Set(model.BrokerIDPath(s.Broker), b.registration(), zkserver.AnyVersion))
	return nil
}

// expireSession: a candidate opens another session, a mere broker is gone.
func expireSession(l *lab, s *step) error {
	c := l.candidate(s.Broker)
	if c == nil {
		l.store.Expire(l.stub(s.Broker).session)
		l.stub(s.Broker).up = false
		return nil
	}
	c.world.Expire()
	c.expired = true
	return nil
}

// assignment reads partition numbers to replica lists, or to objects with
// replicas, adding and removing.
func assignment(raw json.RawMessage) ([]model.PartitionAssignment, error) {
	var byNumber map[int32]json.RawMessage
	if err := json.Unmarshal(raw, &byNumber); err != nil {
		return nil, err
	}
	var out []model.PartitionAssignment
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		p := model.PartitionAssignment{Partition: n}
		if json.Unmarshal(byNumber[n], &p.Replicas) != nil {
			if err := json.Unmarshal(byNumber[n], &p.ReplicaAssignment); err != nil {
				return nil, err
			}
		}
		out = append(out, p)
	}
	return out, nil
}

func config(raw json.RawMessage) (map[string]string, error) {
	if raw == nil {
		return nil, nil
	}
	out := map[string]string{}
	return out, json.Unmarshal(raw, &out)
}

func createTopic(l *lab, s *step) error {
	ps, err := assignment(s.Assignment)
	if err != nil {
		return err
	}
	settings, err := config(s.Config)
	if err != nil {
		return err
	}
	if settings != nil {
		l.create(model.TopicConfigPath(s.Topic), model.EncodeConfig(settings))
	}
	a := model.TopicAssignment{Version: 3, Partitions: ps}
	if s.TopicID {
		a.ID = l.draw()
	}
	l.create(model.TopicPath(s.Topic), model.EncodeTopic(a))
	return nil
}

func setTopicZnode(l *lab, s *step) error {
	ps, err := assignment(s.Assignment)
	if err != nil {
		return err
	}
	path := model.TopicPath(s.Topic)
	data, _, _ := l.store.Get(path)
	old, _, err := model.DecodeTopic(path, data)
	if err != nil {
		return err
	}
	if s.DropTopicID {
		old.ID = model.Uuid{}
	}
	l.create(path, model.EncodeTopic(model.TopicAssignment{Version: 3, ID: old.ID, Partitions: ps}))
	return nil
}

func writeZnode(l *lab, s *step) error {
	var text string
	switch {
	case s.Data == nil:
		l.create(s.Path, nil)
	case json.Unmarshal(s.Data, &text) == nil:
		l.create(s.Path, []byte(text))
	default:
		l.create(s.Path, s.Data)
	}
	return nil
}

func deleteZnode(l *lab, s *step) error {
	if s.Recursive {
		l.deleteTree(s.Path)
		return nil
	}
	if r, _ := l.store.Apply(0, zkserver.Delete(s.Path, zkserver.AnyVersion)); r.Code != zkserver.OK {
		return fmt.Errorf("delete %s: %v", s.Path, r.Code)
	}
	return nil
}

func (l *lab) deleteTree(path string) {
	names, _, _ := l.store.Children(path)
	for _, n := range names {
		l.deleteTree(path + "/" + n)
	}
	l.store.Apply(0, zkserver.Delete(path, zkserver.AnyVersion))
}

func zkPreferred(l *lab, s *step) error {
	tps, err := partitionList(s.Partitions)
	if err != nil {
		return err
	}
	l.create(model.PreferredReplicaElectionPath, model.EncodePreferredReplicaElection(tps))
	return nil
}

func zkReassign(l *lab, s *step) error {
	targets, err := reassignTargets(s.Partitions)
	if err != nil {
		return err
	}
	var list []model.PartitionReassignment
	for _, t := range targets {
		list = append(list, model.PartitionReassignment{TopicPartition: t.TopicPartition, Replicas: t.Target})
	}
	l.create(model.ReassignPartitionsPath, model.EncodeReassignPartitions(list))
	return nil
}

// isrChange is a leader before AlterPartition: it writes the state and posts a notice.
func isrChange(l *lab, s *step) error {
	targets, err := reassignTargets(s.Partitions)
	if err != nil {
		return err
	}
	var tps []model.TopicPartition
	for _, t := range targets {
		l.writeState(t.TopicPartition, t.Target)
		tps = append(tps, t.TopicPartition)
	}
	if s.Notify == nil || *s.Notify {
		l.store.Apply(0, zkserver.Create(model.IsrChangePath(""), model.EncodeIsrChange(tps), zkserver.Sequential))
	}
	return nil
}

func logDirEvent(l *lab, s *step) error {
	l.store.Apply(0, zkserver.Create(model.LogDirEventPath(""), model.EncodeLogDirEvent(s.Broker), zkserver.Sequential))
	return nil
}

func setTopicConfig(l *lab, s *step) error {
	settings, err := config(s.Config)
	if err != nil {
		return err
	}
	l.create(model.TopicConfigPath(s.Topic), model.EncodeConfig(settings))
	return nil
}

func holdResponses(l *lab, s *step) error {
	for _, api := range s.APIs {
		l.stub(s.Broker).hold[api] = true
	}
	return nil
}

func setResponseError(l *lab, s *step) error {
	code, err := model.ParseKafkaError(s.Error)
	if err != nil {
		return err
	}
	l.stub(s.Broker).errors[strings.TrimSpace(s.API+" "+s.Partition)] = code
	return nil
}

// controllerMovesElsewhere: an outsider takes the role.
func controllerMovesElsewhere(l *lab, s *step) error {
	session, _ := l.store.CreateSession(time.Hour)
	data, _, _ := l.store.Get(model.ControllerEpochPath)
	epoch, err := model.DecodeControllerEpoch(model.ControllerEpochPath, data)
	if err != nil {
		return err
	}
	rs, _ := l.store.Multi(session, []zkserver.Op{
		zkserver.Delete(model.ControllerPath, zkserver.AnyVersion),
		zkserver.Create(model.ControllerPath, model.EncodeController(2, s.Broker, 1, -1), zkserver.Ephemeral),
		zkserver.Set(model.ControllerEpochPath, model.EncodeControllerEpoch(epoch+1), zkserver.AnyVersion)})
	for _, r := range rs {
		if r.Code != zkserver.OK {
			return fmt.Errorf("move the controller to %d: %v", s.Broker, r.Code)
		}
	}
	return nil
}

func concurrentStateWrite(c *candidate, s *step) error {
	tp, err := model.ParseTopicPartition(s.Partition)
	if err != nil {
		return err
	}
	c.writes = append(c.writes, &concurrentWrite{tp, s.ISR, s.times()})
	return nil
}

func zkFault(c *candidate, s *step) error {
	if err := engine.CheckFault(s.ZkOp, s.Error); err != nil {
		return err
	}
	c.faults = append(c.faults, &fault{s.ZkOp, s.Error, s.times()})
	return nil
}

// illegalState: something lies in the controller's own batch when an event that
// changes nothing begins a new one.
func illegalState(c *candidate, _ *step) error {
	engine.LeaveInOwnBatch(c.engine)
	ask := &model.AlterPartition{Version: 3, BrokerID: c.id, BrokerEpoch: c.lab.noteEpoch(c.id)}
	c.world.Push(&model.Asked{ID: c.lab.nextAsk(), From: "the case", Ask: ask})
	return nil
}

func setConfig(l *lab, s *step) error {
	settings, err := config(s.Config)
	maps.Copy(l.config, settings)
	return err
}

// partitionList reads a list of partitions.
func partitionList(raw json.RawMessage) ([]model.TopicPartition, error) {
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, err
	}
	out := make([]model.TopicPartition, 0, len(names))
	for _, n := range names {
		tp, err := model.ParseTopicPartition(n)
		if err != nil {
			return nil, err
		}
		out = append(out, tp)
	}
	return out, nil
}

// orderedKeys are the keys of a JSON object as they stand.
func orderedKeys(raw json.RawMessage) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var out []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		out = append(out, key.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reassignTargets reads partitions to broker lists, in order; null means cancel.
func reassignTargets(raw json.RawMessage) ([]model.ReassignmentTarget, error) {
	var byName map[string][]int32
	if err := json.Unmarshal(raw, &byName); err != nil {
		return nil, err
	}
	names, err := orderedKeys(raw)
	if err != nil {
		return nil, err
	}
	var out []model.ReassignmentTarget
	for _, n := range names {
		tp, err := model.ParseTopicPartition(n)
		if err != nil {
			return nil, err
		}
		out = append(out, model.ReassignmentTarget{TopicPartition: tp, Target: byName[n], Cancel: byName[n] == nil})
	}
	return out, nil
}
