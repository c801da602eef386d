package inquiry

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// Step is one step of a file: something that happens to a controller that has
// just taken over. Which fields belong to Do, the format of tree files says.
type Step struct {
	Do             string          `json:"do"`
	Broker         int32           `json:"broker"`
	Path           string          `json:"path"`
	Data           *string         `json:"data"`
	Partition      string          `json:"partition"`
	ISR            []int32         `json:"isr"`
	PartitionEpoch *int32          `json:"partition_epoch"`
	Partitions     json.RawMessage `json:"partitions"`
}

// After is what holds after a step.
type After struct {
	Active bool `json:"active"` // false: the controller has resigned
	*Memory
	AlterPartitionError string            `json:"alter_partition_error,omitempty"`
	ReassignResult      map[string]string `json:"reassign_result,omitempty"`
	RemainingLeaders    *[]string         `json:"remaining_leaders,omitempty"`
	Error               string            `json:"error,omitempty"` // of a controlled shutdown
	Requests            []Request         `json:"requests,omitempty"`
}

// ReadSteps reads the field steps of a file; other fields are passed over.
func ReadSteps(r io.Reader) ([]Step, error) {
	var file struct {
		Steps []Step `json:"steps"`
	}
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	return file.Steps, nil
}

// Do does one step after TakeOver.
func (c *Copy) Do(s Step) (*After, error) {
	a := &After{}
	if err := c.do(&s, a); err != nil {
		return nil, fmt.Errorf("step %s: %w", s.Do, err)
	}
	if err := c.run(); err != nil {
		return nil, err
	}
	a.Active, a.Requests = c.engine.IsActive(), c.requests()
	if a.Active {
		a.Memory = c.memory()
	}
	return a, nil
}

func (c *Copy) do(s *Step, a *After) error {
	switch s.Do {
	case "stop_replica_response", "leader_and_isr_response":
		return c.respond(s)
	case "broker_down":
		return c.apply(zkserver.Delete(c.path(model.BrokerIDPath(s.Broker)), zkserver.AnyVersion))
	case "broker_up":
		return c.startBroker(s.Broker)
	case "create":
		return c.create(s)
	case "set":
		return c.apply(zkserver.Set(c.path(s.Path), s.data(), zkserver.AnyVersion))
	case "delete":
		return c.deleteTree(c.path(s.Path))
	case "alter_partition":
		return c.alterPartition(s, a)
	case "reassign":
		return c.reassign(s, a)
	case "controlled_shutdown":
		return c.shutDown(s, a)
	case "auto_rebalance":
		c.world.Push(&model.AlarmRang{Name: "auto-leader-rebalance"})
		return nil
	}
	return fmt.Errorf("no such step")
}

// create makes a znode with its missing parents.
func (c *Copy) create(s *Step) error {
	path := c.path(s.Path)
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			c.store.Apply(0, zkserver.Create(path[:i], nil, zkserver.Persistent))
		}
	}
	return c.apply(zkserver.Create(path, s.data(), zkserver.Persistent))
}

// deleteTree deletes a znode and what is below it.
func (c *Copy) deleteTree(path string) error {
	names, _, _ := c.store.Children(path)
	for _, n := range names {
		if err := c.deleteTree(path + "/" + n); err != nil {
			return err
		}
	}
	return c.apply(zkserver.Delete(path, zkserver.AnyVersion))
}

func (s *Step) data() []byte {
	if s.Data == nil {
		return nil
	}
	return []byte(*s.Data)
}

// respond is a broker's answer to a request that it got.
func (c *Copy) respond(s *Step) error {
	var errors map[string]string
	if err := json.Unmarshal(s.Partitions, &errors); err != nil {
		return err
	}
	answer := &model.Responded{Broker: s.Broker, Request: &model.LeaderAndIsrRequest{}}
	stop := &model.StopReplicaRequest{Callback: true}
	for _, name := range slices.Sorted(maps.Keys(errors)) {
		tp, err := model.ParseTopicPartition(name)
		if err != nil {
			return err
		}
		code, err := model.ParseKafkaError(errors[name])
		if err != nil {
			return err
		}
		answer.Response.Partitions = append(answer.Response.Partitions, model.PartitionError{TopicPartition: tp, Error: code})
		stop.Entries = append(stop.Entries, model.StopReplicaEntry{TopicPartition: tp, LeaderEpoch: model.EpochDuringDelete, Delete: true})
	}
	if s.Do == "stop_replica_response" {
		slices.SortFunc(stop.Entries, func(a, b model.StopReplicaEntry) int { return a.Compare(b.TopicPartition) })
		answer.Request = stop
	}
	c.world.Push(answer)
	return nil
}

func (c *Copy) startBroker(id int32) error {
	listener := c.file.Config.InterBrokerListener
	b := &model.Broker{ID: id, Endpoints: []model.Endpoint{{Listener: listener, Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092}}}
	path := c.path(model.BrokerIDPath(id))
	if err := c.apply(zkserver.Create(path, nil, zkserver.Persistent)); err != nil {
		return err
	}
	return c.apply(zkserver.Set(path, model.EncodeBroker(b, 5, -1, 1), zkserver.AnyVersion))
}

// brokerEpoch is that of the broker's registration as the controller knows it.
func (c *Copy) brokerEpoch(id int32) int64 {
	if b := c.engine.View().Broker(id); b != nil {
		return b.Epoch
	}
	return -1
}

// alterPartition is a leader proposing an ISR, at the current epochs unless the
// step says otherwise.
func (c *Copy) alterPartition(s *Step, a *After) error {
	tp, err := model.ParseTopicPartition(s.Partition)
	if err != nil {
		return err
	}
	v := c.engine.View()
	entry := model.AlterPartitionEntry{TopicPartition: tp, ISR: s.ISR}
	if l := v.Leadership(tp); l != nil {
		entry.LeaderEpoch, entry.PartitionEpoch = l.LeaderEpoch, l.PartitionEpoch
	}
	if s.PartitionEpoch != nil {
		entry.PartitionEpoch = *s.PartitionEpoch
	}
	ask := &model.AlterPartition{Version: 3, BrokerID: s.Broker, BrokerEpoch: c.brokerEpoch(s.Broker)}
	if t := v.Topic(tp.Topic); t != nil {
		entry.TopicID = t.ID // zero where there is none: version 3 names no topic otherwise
	}
	ask.Partitions = []model.AlterPartitionEntry{entry}
	answer, err := c.ask(ask)
	if answer, ok := answer.(*model.AlterPartitionAnswer); ok {
		a.AlterPartitionError = answer.Error.String()
		if answer.Error == model.ErrNone && len(answer.Partitions) > 0 {
			a.AlterPartitionError = answer.Partitions[0].Error.String()
		}
	}
	return err
}

func (c *Copy) reassign(s *Step, a *After) error {
	var targets map[string][]int32
	if err := json.Unmarshal(s.Partitions, &targets); err != nil {
		return err
	}
	ask := &model.AlterPartitionReassignments{}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		tp, err := model.ParseTopicPartition(name)
		if err != nil {
			return err
		}
		ask.Partitions = append(ask.Partitions, model.ReassignmentTarget{TopicPartition: tp, Target: targets[name], Cancel: targets[name] == nil})
	}
	answer, err := c.ask(ask)
	if answer, ok := answer.(*model.AlterPartitionReassignmentsAnswer); ok {
		a.ReassignResult = map[string]string{}
		for _, p := range answer.Partitions {
			a.ReassignResult[p.TopicPartition.String()] = p.Error.String()
		}
		if answer.Error != model.ErrNone {
			a.Error = answer.Error.String()
		}
	}
	return err
}

func (c *Copy) shutDown(s *Step, a *After) error {
	answer, err := c.ask(&model.ControlledShutdown{BrokerID: s.Broker, BrokerEpoch: c.brokerEpoch(s.Broker)})
	if answer, ok := answer.(*model.ControlledShutdownAnswer); ok {
		if answer.Error != model.ErrNone {
			a.Error = answer.Error.String()
			return err
		}
		left := []string{}
		for _, tp := range answer.Remaining {
			left = append(left, tp.String())
		}
		slices.Sort(left)
		a.RemainingLeaders = &left
	}
	return err
}
