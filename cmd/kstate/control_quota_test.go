package main

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// A client with a mutation quota of 1 partition a second, 11 at once, is throttled,
// and refused where its version bears that; others are not.
func TestControlHeedsQuotas(t *testing.T) {
	l := keeper(t)
	c := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0")
	address := c.says(`listening on PLAINTEXT://(\S+)`)[1]
	c.says(`is the controller`)
	brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}})
	t.Cleanup(brokers.Close)
	if _, err := brokers.Add(1, broker.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := brokers.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
	data := model.EncodeConfig(map[string]string{"controller_mutation_rate": "1.0"})
	if r, _ := l.Store().Apply(0, zkserver.Create(model.ConfigEntityPath(model.ConfigTypeClients, "slow%20one"), data, 0)); r.Code != zkserver.OK {
		t.Fatal(r.Code)
	}
	awaitState(t, l.Addr(), "the broker", func(st *clusterState) bool { return len(st.Brokers) == 1 })
	n := 0
	create := func(client *kgo.Client, partitions int32) (model.KafkaError, int32) {
		t.Helper()
		n++
		q := kmsg.NewPtrCreateTopicsRequest()
		q.TimeoutMillis = 20_000
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fmt.Sprintf("t%d", n), partitions, 1
		q.Topics = append(q.Topics, topic)
		a, err := q.RequestWith(soon(t), client.SeedBrokers()[0])
		if err != nil || len(a.Topics) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		return model.KafkaError(a.Topics[0].ErrorCode), a.ThrottleMillis
	}
	dial := func(id string, opts ...kgo.Opt) *kgo.Client {
		cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(address), kgo.ClientID(id))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return cl
	}
	await(t, "the controller knows the broker", func() bool { return len(askMetadata(t, dial("look")).Brokers) == 2 })
	// A client keeps to what it is told: the second request needs another one.
	if code, wait := create(dial("slow one"), 60); code != model.ErrNone || wait < 45_000 || wait > 49_000 {
		t.Errorf("the first: %v, to wait %d ms", code, wait)
	}
	if code, wait := create(dial("slow one"), 1); code != model.ErrThrottlingQuotaExceeded || wait < 15_000 || wait > 49_000 {
		t.Errorf("beyond the quota: %v, to wait %d ms", code, wait)
	}
	if code, wait := create(dial("other"), 1); code != model.ErrNone || wait != 0 {
		t.Errorf("another client: %v, to wait %d ms", code, wait)
	}
}
