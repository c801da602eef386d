package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// Options of a Lab. The zero value is three brokers with the default content.
type Options struct {
	Brokers  int  // how many brokers, ids 1 to n; 0: none, the ZooKeeper server alone
	NoTopics bool // start without the default topics
	// Znodes, if given, is the first content instead: its registered brokers are
	// replaced by simulated ones under the same ids.
	Znodes        []zkserver.Znode
	Port          int           // of the ZooKeeper server; 0: any
	TickTime      time.Duration // 0: 2 s
	DataDir       string        // append log of the ZooKeeper server; empty: in memory
	OnBrokerEvent func(broker.Event)
}

// brokerSession is the session timeout of simulated brokers, in ticks: the
// shortest that the server grants, so that a killed broker is seen soon.
const brokerSession = 2

// ClusterID is the lab's /cluster/id.
const ClusterID = "a3N0YXRlLWxhYi1jbHVzdA"

// Lab is a running ZooKeeper server with brokers.
type Lab struct {
	opt     Options
	store   *zkserver.Store
	server  *zkserver.Server
	brokers *broker.Cluster
	addr    string

	mu   sync.Mutex
	last int32 // highest broker id so far
}

// Start starts the server, writes the first content and starts the brokers.
func Start(ctx context.Context, opt Options) (*Lab, error) {
	if opt.TickTime == 0 {
		opt.TickTime = 2 * time.Second
	}
	l := &Lab{opt: opt}
	if err := l.openStore(); err != nil {
		return nil, err
	}
	l.server = zkserver.NewServer(l.store, zkserver.ServerOptions{TickTime: opt.TickTime})
	addr, err := l.server.Listen("127.0.0.1:" + strconv.Itoa(opt.Port))
	if err != nil {
		l.server.Close()
		return nil, fmt.Errorf("the lab's ZooKeeper cannot listen on port %d: %w", opt.Port, err)
	}
	l.addr = addr.String()
	l.brokers = broker.New(broker.Config{ZooKeeper: []string{l.addr}, ClusterID: ClusterID, Observe: opt.OnBrokerEvent})
	if err := l.populate(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Lab) openStore() (err error) {
	if l.opt.DataDir == "" {
		l.store = zkserver.NewStore(zkserver.Options{})
		return nil
	}
	if l.store, err = zkserver.Open(l.opt.DataDir, zkserver.Options{}); err != nil {
		return fmt.Errorf("the lab's ZooKeeper data in %s: %w", l.opt.DataDir, err)
	}
	return nil
}

// populate writes the first content, unless a data directory already holds one.
func (l *Lab) populate(ctx context.Context) error {
	ids := make([]int32, 0, l.opt.Brokers)
	for i := range l.opt.Brokers {
		ids = append(ids, int32(i+1))
	}
	if l.opt.Znodes != nil {
		var err error
		if ids, err = l.plant(l.opt.Znodes); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	for _, path := range model.PersistentPaths() {
		if err := l.create(path, nil); err != nil {
			return err
		}
	}
	if !l.opt.NoTopics && l.opt.Znodes == nil && len(l.topics()) == 0 {
		if err := l.defaultTopics(len(ids)); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if _, err := l.brokers.Add(id, l.settings()); err != nil {
			return err
		}
		l.last = max(l.last, id)
	}
	return l.brokers.Start(ctx)
}

// plant loads a tree; it returns the ids of the brokers registered in it, whose
// znodes are left out.
func (l *Lab) plant(znodes []zkserver.Znode) ([]int32, error) {
	var ids []int32
	kept := make([]zkserver.Znode, 0, len(znodes))
	for _, z := range znodes {
		switch ref := model.ParsePath(z.Path); ref.Kind {
		case model.BrokerZnode:
			ids = append(ids, ref.Broker)
		case model.ControllerZnode: // its session is not here
		default:
			kept = append(kept, z)
		}
	}
	slices.Sort(ids)
	return ids, l.store.Load(kept)
}

func (l *Lab) settings() broker.Settings {
	return broker.Settings{SessionTimeout: brokerSession * l.opt.TickTime, AwaitOldRegistration: true,
		CatchUp: 500 * time.Millisecond, ReplicaLagTime: 2 * time.Second, ControlledShutdownBackoff: time.Second}
}

// defaultTopics are orders (3 partitions x 3 replicas), clicks (2 x 2) and
// unclean (1 x 2, unclean election allowed), on as many brokers as there are.
func (l *Lab) defaultTopics(brokers int) error {
	fit := func(replicas ...int32) []int32 {
		return slices.DeleteFunc(replicas, func(id int32) bool { return int(id) > brokers })
	}
	topics := []model.CreateTopic{
		{Topic: "orders", Assignment: [][]int32{fit(1, 2, 3), fit(2, 3, 1), fit(3, 1, 2)}},
		{Topic: "clicks", Assignment: [][]int32{fit(1, 2), fit(2, 1)}},
		{Topic: "unclean", Assignment: [][]int32{fit(2, 3)}, Config: map[string]string{"unclean.leader.election.enable": "true"}},
	}
	for _, t := range topics {
		for i, replicas := range t.Assignment {
			if len(replicas) == 0 {
				t.Assignment[i] = []int32{1}
			}
		}
		if _, err := l.createTopic(t); err != nil {
			return err
		}
	}
	return nil
}

// Addr is host:port of the ZooKeeper server.
func (l *Lab) Addr() string { return l.addr }

// Store is the server's content, for tests and tools.
func (l *Lab) Store() *zkserver.Store { return l.store }

// Server is the ZooKeeper server, for faults.
func (l *Lab) Server() *zkserver.Server { return l.server }

// Cluster is the set of simulated brokers.
func (l *Lab) Cluster() *broker.Cluster { return l.brokers }

// Close ends everything.
func (l *Lab) Close() error {
	l.brokers.Close()
	return errors.Join(l.server.Close(), l.store.Close())
}

// Brokers describes each broker, those whose process is down included.
func (l *Lab) Brokers(v *model.View) []model.BrokerStatus {
	var out []model.BrokerStatus
	ids := l.brokers.IDs()
	for _, b := range v.Brokers() {
		if !slices.Contains(ids, b.ID) {
			ids = append(ids, b.ID)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s := model.BrokerStatus{ID: id, State: "dead", Leads: v.Leads(id), Replicas: v.Hosts(id)}
		if b := v.Broker(id); b != nil {
			s.State, s.Epoch = "live", b.Epoch
			if slices.Contains(v.ShuttingDown(), id) {
				s.State = "shutting-down"
			}
			for _, e := range b.Endpoints {
				s.Endpoints = append(s.Endpoints, e.String())
			}
		}
		if b := l.brokers.Broker(id); b != nil && !running(b) {
			if s.State == "live" {
				s.State = "killed" // still registered: its session has not ended yet
			} else {
				s.State = "down"
			}
		}
		out = append(out, s)
	}
	return out
}

func running(b *broker.Broker) bool {
	_, up := b.Address()
	return up
}
