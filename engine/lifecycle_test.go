package engine_test

import (
	"strings"
	"testing"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// cluster is a controller over an in-memory ZooKeeper whose brokers answer every
// request with success.
type cluster struct {
	t       *testing.T
	store   *zkserver.Store
	world   *standin.World
	engine  *engine.Engine
	driver  *debugger.Driver
	steps   []model.Step
	session map[int32]int64
}

func newCluster(t *testing.T, brokers ...int32) *cluster {
	c := &cluster{t: t, store: zkserver.NewStore(zkserver.Options{FirstZxid: 1}), session: map[int32]int64{}}
	for _, p := range model.PersistentPaths() {
		c.put(p, nil)
	}
	c.world = standin.New(standin.Options{Store: c.store, Respond: success})
	for _, b := range brokers {
		c.start(b)
	}
	cfg := engine.DefaultConfig(1000)
	cfg.AutoRebalance = false
	c.engine = engine.New(cfg)
	t.Cleanup(c.engine.Close)
	c.driver = &debugger.Driver{Engine: c.engine, Env: c.world, Next: c.world.Next,
		Each: func(s model.Step, _ model.Result) { c.steps = append(c.steps, s) }}
	c.world.Push(&model.Started{})
	c.run()
	return c
}

func success(_ int32, r model.ControlRequest) (model.ControlResponse, bool) {
	var out model.ControlResponse
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		for _, e := range r.Entries {
			out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: e.TopicPartition})
		}
	case *model.StopReplicaRequest:
		for _, e := range r.Entries {
			out.Partitions = append(out.Partitions, model.PartitionError{TopicPartition: e.TopicPartition})
		}
	}
	return out, true
}

func (c *cluster) run() {
	c.t.Helper()
	if !c.driver.Run(1_000_000) {
		c.t.Fatalf("the controller does not come to rest; at %v", c.engine.At())
	}
}

func (c *cluster) put(path string, data []byte) {
	c.t.Helper()
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		var d []byte
		if i == len(path) {
			d = data
		}
		if r, _ := c.store.Apply(0, zkserver.Create(path[:i], d, 0)); r.Code != zkserver.OK && i == len(path) && r.Code != zkserver.NodeExists {
			c.t.Fatalf("create %s: %v", path, r.Code)
		}
	}
}

func (c *cluster) start(b int32) {
	s, _ := c.store.CreateSession(1 << 40)
	c.session[b] = s
	data := model.EncodeBroker(&model.Broker{ID: b, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092 + b}}}, 5, -1, 1)
	c.store.Multi(s, []zkserver.Op{zkserver.Create(model.BrokerIDPath(b), nil, zkserver.Ephemeral), zkserver.Set(model.BrokerIDPath(b), data, 0)})
}

func (c *cluster) kill(b int32) { c.store.Expire(c.session[b]) }

func (c *cluster) create(topic string, replicas ...[]int32) {
	a := model.TopicAssignment{Version: 3, ID: model.Uuid{1, byte(len(topic))}}
	for i, r := range replicas {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(i), ReplicaAssignment: model.ReplicaAssignment{Replicas: r}})
	}
	c.put(model.TopicPath(topic), model.EncodeTopic(a))
}

func (c *cluster) lines(prefix string) string {
	var b strings.Builder
	for _, s := range c.steps {
		if strings.HasPrefix(s.String(), prefix) {
			b.WriteString(s.String() + "\n")
		}
	}
	return b.String()
}

func TestTopicIsCreatedAndDeleted(t *testing.T) {
	c := newCluster(t, 1, 2, 3)
	if !c.engine.IsActive() {
		t.Fatalf("not the controller; steps:\n%s", c.lines(""))
	}
	c.create("orders", []int32{1, 2, 3}, []int32{2, 3, 1})
	c.run()
	v := c.engine.View()
	if v.PartitionCounts[model.OnlinePartition] != 2 || v.ReplicaCounts[model.OnlineReplica] != 6 {
		t.Fatalf("counts %v %v\n%s", v.PartitionCounts, v.ReplicaCounts, c.lines(""))
	}
	c.steps = nil
	c.put(model.DeleteTopicPath("orders"), nil)
	c.run()
	if _, code := c.store.Exists(model.TopicPath("orders")); code != zkserver.NoNode {
		t.Fatalf("the topic is still there: %v\n%s", code, c.lines(""))
	}
	if _, code := c.store.Exists(model.DeleteTopicPath("orders")); code != zkserver.NoNode {
		t.Fatal("the marker is still there")
	}
	if c.engine.View().KnowsTopic("orders") {
		t.Fatal("the controller still knows the topic")
	}
}

// A /controller of an earlier life of this process is not this controller's: it
// waits for it to go, as for anybody else's.
func TestAnEarlierSessionsRoleIsNotOurs(t *testing.T) {
	store := zkserver.NewStore(zkserver.Options{FirstZxid: 1})
	c := &cluster{t: t, store: store, session: map[int32]int64{}}
	for _, p := range model.PersistentPaths() {
		c.put(p, nil)
	}
	old, _ := store.CreateSession(1 << 40)
	store.Apply(old, zkserver.Create(model.ControllerPath, model.EncodeController(2, 1000, 1, -1), zkserver.Ephemeral))
	c.put(model.ControllerEpochPath, model.EncodeControllerEpoch(7))
	c.world = standin.New(standin.Options{Store: store, Respond: success})
	c.engine = engine.New(engine.DefaultConfig(1000))
	t.Cleanup(c.engine.Close)
	c.driver = &debugger.Driver{Engine: c.engine, Env: c.world, Next: c.world.Next}
	c.world.Push(&model.Started{Session: c.world.Session})
	c.run()
	if c.engine.IsActive() {
		t.Fatal("it takes itself for the controller without a failover")
	}
	store.Expire(old)
	c.run()
	if !c.engine.IsActive() || c.engine.Epoch() != 8 {
		t.Fatalf("active %v, epoch %d after the old session's end", c.engine.IsActive(), c.engine.Epoch())
	}
}
