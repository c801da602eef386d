package engine

import (
	"slices"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
)

// bench drives single functions of an engine over a ZooKeeper in memory, as an
// event would. Its engine is the controller that memory says it is.
type bench struct {
	t     *testing.T
	e     *Engine
	store *zkserver.Store
	world *standin.World
	steps []model.Step
	// call, if set, may answer a call in ZooKeeper's place.
	call func(*model.Call) *model.Result
}

func newBench(t *testing.T, cfg Config) *bench {
	b := &bench{t: t, e: New(cfg)}
	b.store = zkserver.NewStore(zkserver.Options{FirstZxid: 1, Now: func() time.Time { return time.UnixMilli(1) }})
	for _, p := range model.PersistentPaths() {
		b.create(p, nil)
	}
	b.world = standin.New(standin.Options{Store: b.store, Fault: func(c *model.Call) *model.Result {
		if b.call == nil {
			return nil
		}
		return b.call(c)
	}})
	b.e.active = cfg.ID
	t.Cleanup(b.e.Close)
	return b
}

// run runs f as an event, to its end.
func (b *bench) run(f func() error) error {
	b.t.Helper()
	var err error
	b.e.at = b.e.start(model.QueuedEvent{Event: &model.ControllerChange{}}, func() error {
		err = f()
		return err
	})
	for n := 0; b.e.at != nil; n++ {
		if n > 100_000 {
			b.t.Fatalf("no end; at %v", b.e.at)
		}
		b.steps = append(b.steps, b.e.at)
		b.e.Settle(b.world.Perform(b.e.at))
	}
	return err
}

// plant makes a znode with a data version, and its parents.
func (b *bench) plant(path string, data []byte, version int32) {
	b.t.Helper()
	if err := b.store.Load([]zkserver.Znode{{Path: path, Data: data, Version: version}}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) create(path string, data []byte) { b.plant(path, data, 0) }

// fence makes the controller one of that epoch, whose fence holds.
func (b *bench) fence(epoch int32) {
	b.plant(model.ControllerEpochPath, model.EncodeControllerEpoch(epoch), 1)
	b.e.ctx.Epoch, b.e.ctx.EpochZkVersion = epoch, 1
}

// brokers registers brokers, in memory and with a channel.
func (b *bench) brokers(registered, shuttingDown []int32) {
	for _, id := range registered {
		b.e.ctx.PutBroker(model.Broker{ID: id, Epoch: int64(100 + id), Endpoints: []model.Endpoint{
			{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092 + id}}})
		b.e.channels[id] = true
	}
	for _, id := range shuttingDown {
		b.e.ctx.SetShuttingDown(id, true)
	}
}

// sent are the requests in the steps so far, by broker.
func (b *bench) sent(version bool) Object {
	out := Object{}
	for _, s := range b.steps {
		if s, ok := s.(*model.Send); ok {
			key := itoa(s.Broker)
			list, _ := out[key].([]any)
			out[key] = append(list, RequestObject(s.Request, int64(100+s.Broker), version))
		}
	}
	return out
}

// partition reads a name, and makes its topic known.
func (b *bench) partition(name string) model.TopicPartition {
	b.t.Helper()
	tp, err := model.ParseTopicPartition(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return tp
}

func (b *bench) partitions(names []string) []model.TopicPartition {
	var out []model.TopicPartition
	for _, n := range names {
		out = append(out, b.partition(n))
	}
	return out
}

func (b *bench) replicas(names []string) []model.Replica {
	b.t.Helper()
	var out []model.Replica
	for _, n := range names {
		r, err := parseReplica(n)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, model.Replica.Compare)
	return out
}

// record is a leadership record as the cases write it.
type record struct {
	Leader          int32   `json:"leader"`
	ISR             []int32 `json:"isr"`
	LeaderEpoch     int32   `json:"leader_epoch"`
	ControllerEpoch int32   `json:"controller_epoch"`
	Version         int32   `json:"version"`
	PartitionEpoch  int32   `json:"partition_epoch"`
	Recovery        string  `json:"recovery"`
	Raw             *string `json:"raw"`
}

func (r *record) state() *model.LeaderIsrAndControllerEpoch {
	l := &model.LeaderIsrAndControllerEpoch{ControllerEpoch: r.ControllerEpoch}
	l.Leader, l.ISR, l.LeaderEpoch, l.PartitionEpoch = r.Leader, r.ISR, r.LeaderEpoch, r.PartitionEpoch
	if r.Recovery == "RECOVERING" {
		l.Recovery = model.Recovering
	}
	return l
}

// errorName is an error in the words of the cases; nil when there is none.
func errorName(err error) any {
	var k *keeperError
	switch e := err.(type) {
	case nil:
		return nil
	case *stateChangeFailed:
		return "STATE_CHANGE_FAILED"
	case *illegalArgument:
		return "INVALID_ARGUMENT"
	case *illegalState:
		return "ILLEGAL_STATE"
	case *keeperError:
		k = e
	}
	switch {
	case moved(err):
		return "CONTROLLER_MOVED"
	case k != nil && k.code == model.CodeRuntimeInconsistency:
		return "ZK_CLIENT_EXCEPTION"
	case k != nil:
		return "ZK_" + k.code.String()
	}
	return "UNEXPECTED"
}
