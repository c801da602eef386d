package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// startTimeout is how long a broker may take to start. A shutdown takes as long
// as its broker's retries do.
const startTimeout = 30 * time.Second

// Operate does what an operator asks of the cluster; the text says what was done.
func (l *Lab) Operate(ctx context.Context, c model.Command) (string, error) {
	switch c := c.(type) {
	case model.KillBroker:
		b, err := l.broker(c.Broker)
		if err != nil {
			return "", err
		}
		b.Kill()
		return fmt.Sprintf("broker %d killed; its registration goes when its session ends, in %s", c.Broker, l.untilBuried()), nil
	case model.StartBroker:
		return l.startBroker(ctx, c.Broker)
	case model.ShutDownBroker:
		return l.shutDown(ctx, c.Broker)
	case model.CreateTopic:
		return l.createTopic(c)
	case model.AddPartitions:
		return l.addPartitions(c)
	case model.DeleteTopic:
		return l.deleteTopic(c.Topic)
	}
	return l.harm(c)
}

func (l *Lab) startBroker(ctx context.Context, id int32) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if id < 0 {
		l.mu.Lock()
		next := int64(l.last) + 1
		if next == int64(l.reserved) {
			next++
		}
		l.mu.Unlock()
		if next > math.MaxInt32 {
			return "", fmt.Errorf("there is no broker id beyond %d", math.MaxInt32)
		}
		id = int32(next)
	}
	if err := l.add(id); err != nil {
		return "", err
	}
	if err := l.brokers.Start(ctx, id); err != nil {
		return "", err
	}
	return fmt.Sprintf("broker %d started", id), nil
}

func (l *Lab) shutDown(ctx context.Context, id int32) (string, error) {
	b, err := l.broker(id)
	if err != nil {
		return "", err
	}
	how, err := b.Stop(ctx)
	switch {
	case err != nil:
		return "", err
	case !how.Controlled:
		return "", fmt.Errorf("broker %d shut down without the controller's consent after %d attempts: %w", id, how.Attempts, how.Err)
	}
	return fmt.Sprintf("broker %d shut down", id), nil
}

func (l *Lab) topics() []string {
	names, _, _ := l.store.Children(model.TopicsPath)
	return names
}

// live lists the ids of registered brokers.
func (l *Lab) live() []int32 {
	names, _, _ := l.store.Children(model.BrokerIDsPath)
	var out []int32
	for _, n := range names {
		if id, ok := model.ParseID(n); ok {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// createTopic writes the config znode and then the topic znode, as a broker does.
func (l *Lab) createTopic(c model.CreateTopic) (string, error) {
	if err := model.ValidateTopicName(c.Topic); err != nil {
		return "", err
	}
	for _, other := range l.topics() {
		if other == c.Topic {
			return "", fmt.Errorf("topic %s exists already", c.Topic)
		}
		if model.TopicNamesCollide(other, c.Topic) {
			return "", fmt.Errorf("topic %s collides with topic %s", c.Topic, other)
		}
	}
	if _, code := l.store.Exists(model.DeleteTopicPath(c.Topic)); code == zkserver.OK {
		return "", fmt.Errorf("topic %s is marked for deletion", c.Topic)
	}
	if c.Assignment == nil {
		var err error
		if c.Assignment, err = spread(l.live(), 0, c.Partitions, c.ReplicationFactor); err != nil {
			return "", fmt.Errorf("topic %s: %w", c.Topic, err)
		}
	}
	a := model.TopicAssignment{Version: 3}
	_, _ = l.Draw(a.ID[:])
	for i, replicas := range c.Assignment {
		for _, id := range replicas {
			if err := l.add(id); err != nil {
				return "", fmt.Errorf("topic %s: %w", c.Topic, err)
			}
		}
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(i), ReplicaAssignment: model.ReplicaAssignment{Replicas: replicas}})
	}
	if err := l.create(model.TopicConfigPath(c.Topic), model.EncodeConfig(c.Config)); err != nil {
		return "", err
	}
	if r, _ := l.store.Apply(0, zkserver.Create(model.TopicPath(c.Topic), model.EncodeTopic(a), 0)); r.Code != zkserver.OK {
		return "", fmt.Errorf("create %s: %s", model.TopicPath(c.Topic), r.Code)
	}
	return fmt.Sprintf("topic %s created with %d partitions", c.Topic, len(a.Partitions)), nil
}

// spread deals replicas over brokers in turn, beginning with partition first.
func spread(brokers []int32, first, partitions, factor int) ([][]int32, error) {
	switch {
	case partitions < 1:
		return nil, errors.New("at least one partition is needed")
	case factor < 1:
		return nil, errors.New("at least one replica is needed")
	case factor > len(brokers):
		return nil, fmt.Errorf("%d replicas need as many brokers, but only %d are registered", factor, len(brokers))
	}
	var out [][]int32
	for p := first; p < first+partitions; p++ {
		var replicas []int32
		for r := range factor {
			replicas = append(replicas, brokers[(p+r)%len(brokers)])
		}
		out = append(out, replicas)
	}
	return out, nil
}

func (l *Lab) readTopic(topic string) (model.TopicAssignment, error) {
	path := model.TopicPath(topic)
	data, _, code := l.store.Get(path)
	switch code {
	case zkserver.OK:
	case zkserver.NoNode:
		return model.TopicAssignment{}, fmt.Errorf("topic %s does not exist", topic)
	default:
		return model.TopicAssignment{}, fmt.Errorf("get %s: %s", path, code)
	}
	a, present, err := model.DecodeTopic(path, data)
	if err == nil && !present {
		err = fmt.Errorf("%s holds no JSON", path)
	}
	return a, err
}

// addPartitions rewrites the topic znode with more partitions, as a broker does.
func (l *Lab) addPartitions(c model.AddPartitions) (string, error) {
	a, err := l.readTopic(c.Topic)
	if err != nil {
		return "", err
	}
	have := len(a.Partitions)
	if c.Total <= have {
		return "", fmt.Errorf("topic %s has %d partitions: the new total must be larger", c.Topic, have)
	}
	factor := 1
	if have > 0 {
		factor = len(a.Partitions[0].Replicas)
	}
	more, err := spread(l.live(), have, c.Total-have, factor)
	if err != nil {
		return "", fmt.Errorf("topic %s: %w", c.Topic, err)
	}
	for i, replicas := range more {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(have + i), ReplicaAssignment: model.ReplicaAssignment{Replicas: replicas}})
	}
	if r, _ := l.store.Apply(0, zkserver.Set(model.TopicPath(c.Topic), model.EncodeTopic(a), zkserver.AnyVersion)); r.Code != zkserver.OK {
		return "", fmt.Errorf("set %s: %s", model.TopicPath(c.Topic), r.Code)
	}
	return fmt.Sprintf("topic %s has %d partitions now", c.Topic, c.Total), nil
}

func (l *Lab) deleteTopic(topic string) (string, error) {
	if _, code := l.store.Exists(model.TopicPath(topic)); code != zkserver.OK {
		return "", fmt.Errorf("topic %s does not exist", topic)
	}
	r, _ := l.store.Apply(0, zkserver.Create(model.DeleteTopicPath(topic), nil, 0))
	switch r.Code {
	case zkserver.OK:
		return "delete marker of " + topic + " created", nil
	case zkserver.NodeExists:
		return "", fmt.Errorf("topic %s is already marked for deletion", topic)
	}
	return "", fmt.Errorf("create %s: %s", model.DeleteTopicPath(topic), r.Code)
}

// create makes a znode with its parents; one that is there is kept.
func (l *Lab) create(path string, data []byte) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		var d []byte
		if i == len(path) {
			d = data
		}
		if r, _ := l.store.Apply(0, zkserver.Create(path[:i], d, 0)); r.Code != zkserver.OK && r.Code != zkserver.NodeExists {
			return fmt.Errorf("create %s: %s", strings.Clone(path[:i]), r.Code)
		}
	}
	return nil
}
