package inquiry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"kstate/engine"
	"kstate/model"
)

// Takeover is what happens when a controller takes over the tree. Without Starts
// there is no Memory.
type Takeover struct {
	Starts bool `json:"starts"`
	// CrashLoop, when it does not start: true if the role goes round among the
	// brokers, each failing alike; false if nobody even tries.
	CrashLoop  *bool  `json:"crash_loop,omitempty"`
	ErrorClass string `json:"error_class,omitempty"` // Kafka's exception
	Error      string `json:"error,omitempty"`
	*Memory
	Requests []Request `json:"requests,omitempty"` // sent to the brokers, in order
	Steps    []*After  `json:"steps,omitempty"`
}

// Memory is what a controller remembers, and what it wrote.
type Memory struct {
	Epoch                 int32                              `json:"epoch"`
	LiveBrokers           []int32                            `json:"live_brokers"`
	ShuttingDown          []int32                            `json:"shutting_down"`
	OfflineDirs           map[string][]string                `json:"offline_dirs"` // by broker
	TopicsToBeDeleted     []string                           `json:"topics_to_be_deleted"`
	TopicsDeletionStarted []string                           `json:"topics_deletion_started"`
	TopicsIneligible      []string                           `json:"topics_ineligible"`
	Reassigning           []string                           `json:"reassigning"`
	OfflinePartitionCount int                                `json:"offline_partition_count"`
	PreferredImbalance    int                                `json:"preferred_imbalance_count"`
	Partitions            map[string]Partition               `json:"partitions"`
	Replicas              map[string]map[string]ReplicaState `json:"replicas"` // by partition, then by broker
	Znodes                Znodes                             `json:"znodes"`
}

// ReplicaState is Kafka's name of a state.
type ReplicaState = string

// Partition is one partition in memory. Leader and ISR are null without
// leadership information.
type Partition struct {
	State         string  `json:"state"`
	Leader        *int32  `json:"leader"`
	ISR           []int32 `json:"isr"`
	LeaderEpoch   *int32  `json:"leader_epoch,omitempty"`
	RecoveryState int8    `json:"leader_recovery_state,omitempty"`
	Replicas      []int32 `json:"replicas"`
	Adding        []int32 `json:"adding,omitempty"`
	Removing      []int32 `json:"removing,omitempty"`
}

// Znodes are the differences to the loaded tree, paths without the chroot, but
// for the znodes of the role and of brokers. Changed state znodes are in the
// partitions. A topic id of "*" was drawn.
type Znodes struct {
	Created []string                   `json:"created,omitempty"`
	Deleted []string                   `json:"deleted,omitempty"`
	Changed map[string]json.RawMessage `json:"changed,omitempty"`
}

// Request is one control request.
type Request struct {
	Broker     int32    `json:"broker"`
	Request    string   `json:"request"`
	Partitions []string `json:"partitions"`
}

// controllerMoved is the exception of a controller that finds the role taken.
const controllerMoved = "ControllerMovedException"

// TakeOver lets the controller run for the role and take over.
func (c *Copy) TakeOver() (*Takeover, error) {
	c.world.Push(&model.Started{Session: c.world.Session})
	if err := c.run(); err != nil {
		return nil, err
	}
	out := &Takeover{Starts: c.engine.IsActive() && c.engine.TakeoverError() == nil, Requests: c.requests()}
	if out.Starts {
		out.Memory = c.memory()
		return out, nil
	}
	err := c.engine.TakeoverError()
	class := engine.ExceptionClass(err)
	loop := err != nil && class != controllerMoved
	out.CrashLoop = &loop
	if !loop { // it did not get the role, and waits
		err = c.failed
		class = engine.ExceptionClass(err)
	}
	if err != nil {
		out.ErrorClass, out.Error = class, err.Error()
	}
	return out, nil
}

// Needed is a path that the controller had to read and that may not be read
// here; empty when it did without. Then what it did is not known.
func (c *Copy) Needed() string { return c.needed }

func (c *Copy) requests() []Request {
	var out []Request
	for _, s := range c.world.Sent {
		r := Request{Broker: s.Broker, Request: s.Request.Kind().String(), Partitions: []string{}}
		switch q := s.Request.(type) {
		case *model.LeaderAndIsrRequest:
			for _, e := range q.Entries {
				r.Partitions = append(r.Partitions, e.TopicPartition.String())
			}
		case *model.UpdateMetadataRequest:
			for _, e := range q.Entries {
				r.Partitions = append(r.Partitions, e.TopicPartition.String())
			}
		case *model.StopReplicaRequest:
			for _, e := range q.Entries {
				r.Partitions = append(r.Partitions, e.TopicPartition.String())
			}
		}
		out = append(out, r)
	}
	c.world.Sent = nil
	return out
}

func list(ids []int32) []int32 { return append([]int32{}, ids...) }

func (c *Copy) memory() *Memory {
	v := c.engine.View()
	m := &Memory{Epoch: v.Epoch, LiveBrokers: list(v.Live()), ShuttingDown: list(v.ShuttingDown()), OfflineDirs: map[string][]string{},
		TopicsToBeDeleted: v.TopicsToBeDeleted.Slice(), TopicsDeletionStarted: v.TopicsWithDeletionStarted.Slice(),
		TopicsIneligible: v.TopicsIneligibleForDeletion.Slice(), Reassigning: []string{},
		OfflinePartitionCount: v.OfflinePartitionCount, PreferredImbalance: v.PreferredReplicaImbalanceCount,
		Partitions: map[string]Partition{}, Replicas: map[string]map[string]ReplicaState{}, Znodes: c.differences()}
	for t := range v.Entries() {
		for n, p := range t.Entries() {
			name := model.TP(t.Name, n).String()
			if p.Reassigning {
				m.Reassigning = append(m.Reassigning, name)
			}
			for _, r := range p.Replicas {
				if r.OfflineDir {
					id := strconv.Itoa(int(r.Broker))
					m.OfflineDirs[id] = append(m.OfflineDirs[id], name)
				}
			}
			if p.Assignment != nil {
				m.Partitions[name] = partition(p)
				m.Replicas[name] = replicas(p)
			}
		}
	}
	return m
}

func partition(p *model.Partition) Partition {
	out := Partition{State: p.State.String(), Replicas: list(p.Assignment.Replicas), Adding: p.Assignment.Adding, Removing: p.Assignment.Removing}
	if l := p.Leadership; l != nil {
		out.Leader, out.ISR, out.RecoveryState = &l.Leader, list(l.ISR), int8(l.Recovery)
		if p.State != model.NonExistentPartition || l.Leader != model.NoLeader { // else they depend on an order that Kafka leaves open
			out.LeaderEpoch = &l.LeaderEpoch
		}
	}
	return out
}

func replicas(p *model.Partition) map[string]ReplicaState {
	out := map[string]ReplicaState{}
	for _, r := range p.Replicas {
		if r.State != model.NoReplicaState {
			out[strconv.Itoa(int(r.Broker))] = r.State.String()
		}
	}
	return out
}

// passedOver are the znodes of the role and of brokers.
func passedOver(path string) bool {
	switch path {
	case model.ControllerPath, model.ControllerEpochPath, model.FeaturePath:
		return true
	}
	return path == model.BrokerIDsPath || strings.HasPrefix(path, model.BrokerIDsPath+"/")
}

// differences compares the copy with the loaded tree.
func (c *Copy) differences() Znodes {
	var z Znodes
	now := map[string]bool{}
	c.walk(func(path string, data []byte) {
		now[path] = true
		was, had := c.loaded[path]
		switch {
		case !had:
			z.Created = append(z.Created, path)
		case bytes.Equal(was, data) || model.ParsePath(path).Kind == model.PartitionStateZnode:
		default:
			if z.Changed == nil {
				z.Changed = map[string]json.RawMessage{}
			}
			z.Changed[path] = c.shown(data)
		}
	})
	for path := range c.loaded {
		if !now[path] {
			z.Deleted = append(z.Deleted, path)
		}
	}
	slices.Sort(z.Created)
	slices.Sort(z.Deleted)
	return z
}

// shown is data as JSON, else as a JSON string; a drawn topic id is "*".
func (c *Copy) shown(data []byte) json.RawMessage {
	if topic, ok, err := model.DecodeTopic("", data); ok && err == nil && c.drawn[topic.ID] {
		data = bytes.Replace(data, []byte(`"`+topic.ID.String()+`"`), []byte(`"*"`), 1)
	}
	if json.Valid(data) {
		return slices.Clone(data)
	}
	text, _ := json.Marshal(string(data)) // a string always encodes
	return text
}
