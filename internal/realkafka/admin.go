package realkafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	adminLimit = 60 * time.Second
	// createMillis is how long the controller may wait for a new topic's
	// leaders before it answers.
	createMillis = 20000
	// deleteMillis is short: a topic with a dead replica does not go.
	deleteMillis = 2000
)

// Client is a Kafka client of the cluster for any request, closed at the end
// of the test. It finds the controller by itself, and again when it moves.
func (c *Cluster) Client() *kgo.Client {
	c.t.Helper()
	if len(c.clients) == 0 {
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.addrs()...), kgo.ClientID("kstate-test"))
		if err != nil {
			c.t.Fatalf("make a Kafka client for %s: %v", c.Bootstrap(), err)
		}
		c.t.Cleanup(cl.Close)
		c.clients = append(c.clients, cl)
	}
	return c.clients[0]
}

// CreateTopic creates a topic, its partitions 0, 1, ... on the brokers that
// assignment lists, with topic settings.
func (c *Cluster) CreateTopic(topic string, assignment [][]int32, config map[string]string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminLimit)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = createMillis
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, -1, -1
	for p, replicas := range assignment {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(p), replicas
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, a)
	}
	for _, k := range slices.Sorted(maps.Keys(config)) {
		kv := kmsg.NewCreateTopicsRequestTopicConfig()
		kv.Name, kv.Value = k, kmsg.StringPtr(config[k])
		rt.Configs = append(rt.Configs, kv)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, c.Client())
	if err == nil {
		err = oneTopic(len(resp.Topics), func() error { return answered(resp.Topics[0].ErrorCode, resp.Topics[0].ErrorMessage) })
	}
	if err != nil {
		c.t.Fatalf("create topic %s: %v", topic, err)
	}
}

// DeleteTopic queues a topic for deletion and waits two seconds for it to go.
// It returns kerr.RequestTimedOut if it is queued but not gone by then, as
// with a dead replica, and any other refusal of the controller.
func (c *Cluster) DeleteTopic(topic string) error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminLimit)
	defer cancel()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = deleteMillis
	req.TopicNames = []string{topic} // up to version 5
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt) // from version 6 on
	resp, err := req.RequestWith(ctx, c.Client())
	if err == nil {
		err = oneTopic(len(resp.Topics), func() error { return answered(resp.Topics[0].ErrorCode, resp.Topics[0].ErrorMessage) })
	}
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	return nil
}

// AddPartitions adds one partition for each entry of assignment; before is how
// many the topic has. It returns the controller's refusal.
func (c *Cluster) AddPartitions(topic string, before int, assignment [][]int32) error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminLimit)
	defer cancel()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = createMillis
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, int32(before+len(assignment))
	for _, replicas := range assignment {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = replicas
		rt.Assignment = append(rt.Assignment, a)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, c.Client())
	if err == nil {
		err = oneTopic(len(resp.Topics), func() error { return answered(resp.Topics[0].ErrorCode, resp.Topics[0].ErrorMessage) })
	}
	if err != nil {
		return fmt.Errorf("add partitions to topic %s: %w", topic, err)
	}
	return nil
}

// oneTopic guards the reading of an answer that must be about one topic.
func oneTopic(n int, read func() error) error {
	if n != 1 {
		return fmt.Errorf("the answer is about %d topics", n)
	}
	return read()
}

func answered(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err != nil && message != nil {
		return fmt.Errorf("%w: %s", err, *message)
	}
	return err
}

// Put creates a znode under the chroot, as an operator's tool does: path is
// /admin/..., the chroot left out.
func (c *Cluster) Put(path, data string) {
	c.t.Helper()
	if _, err := c.Conn.Create(c.Chroot+path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
		c.t.Fatalf("create %s%s: %v", c.Chroot, path, err)
	}
}

// queued is err, or nil when err only says that the topic is not gone yet.
func queued(err error) error {
	if errors.Is(err, kerr.RequestTimedOut) {
		return nil
	}
	return err
}
