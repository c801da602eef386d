package lab

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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
	// replaced by simulated ones under the same ids. With Brokers 0 it is served
	// as it lies.
	Znodes        []zkserver.Znode
	Port          int           // of the ZooKeeper server; 0: any
	TickTime      time.Duration // 0: 2 s
	DataDir       string        // append log of the ZooKeeper server; empty: in memory
	Wipe          bool          // forget what the data directory holds
	OnBrokerEvent func(broker.Event)
	// Topics is the first content instead of the default topics; nil: those.
	Topics []model.CreateTopic
	// Setup changes the settings of a broker before it is made.
	Setup func(id int32, s *broker.Settings)
	// SessionTimeout of the brokers; 0: two ticks. BuryAfter is how long a killed
	// broker's session lives on; 0: as long as ZooKeeper lets it.
	SessionTimeout, BuryAfter time.Duration
	// Seed, unless 0, makes what the lab draws the same each time: topic ids and
	// how long followers take to catch up.
	Seed uint64
}

// brokerSession is the session timeout of simulated brokers, in ticks: the
// shortest that the server grants, so that a killed broker is seen soon.
const brokerSession = 2

// ClusterID is the /cluster/id of a lab whose first content has none.
const ClusterID = "a3N0YXRlLWxhYi1jbHVzdA"

// Lab is a running ZooKeeper server with brokers.
type Lab struct {
	opt     Options
	store   *zkserver.Store
	server  *zkserver.Server
	brokers *broker.Cluster
	addr    string
	losses  losses

	standIns map[int32]standIn // by id: what the registrations of the first content said
	listener string            // the name by which brokers and controller find each other

	mu       sync.Mutex
	rival    int64 // ZooKeeper session of another controller; 0: there is none
	draw     *rand.ChaCha8
	last     int32 // highest broker id so far
	reserved int32 // of a controller that is no broker; -1: none
}

// Start starts the server, writes the first content and starts the brokers.
func Start(ctx context.Context, opt Options) (*Lab, error) {
	if opt.TickTime == 0 {
		opt.TickTime = 2 * time.Second
	}
	l := &Lab{opt: opt, reserved: -1, listener: defaultListener, draw: source(opt.Seed)}
	if err := l.openStore(); err != nil {
		return nil, err
	}
	l.server = zkserver.NewServer(l.store, zkserver.ServerOptions{TickTime: opt.TickTime})
	addr, err := l.server.Listen("127.0.0.1:" + strconv.Itoa(opt.Port))
	if err != nil {
		l.server.Close()
		l.store.Close()
		return nil, fmt.Errorf("the lab's ZooKeeper cannot listen on port %d: %w", opt.Port, err)
	}
	l.addr = addr.String()
	l.brokers = broker.New(broker.Config{ZooKeeper: []string{l.addr}, ClusterID: ClusterID, Observe: l.heard, Rand: rand.New(source(opt.Seed))})
	if err := l.populate(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// source is a source of random numbers: of a seed, or for 0 of the machine.
func source(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	if seed == 0 {
		_, _ = crand.Read(key[:]) // never fails: it ends the process instead
	}
	binary.LittleEndian.PutUint64(key[:], seed^binary.LittleEndian.Uint64(key[:]))
	return rand.NewChaCha8(key)
}

// Draw fills b from the lab's source of random numbers. It is an io.Reader's Read,
// and never fails.
func (l *Lab) Draw(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draw.Read(b)
}

// heard sees to the session of a broker that was killed, and passes the event on.
func (l *Lab) heard(e broker.Event) {
	if l.opt.OnBrokerEvent != nil {
		l.opt.OnBrokerEvent(e)
	}
	if e.Kind != broker.Killed || l.opt.BuryAfter == 0 {
		return
	}
	time.AfterFunc(l.opt.BuryAfter, func() {
		if b := l.brokers.Broker(e.Broker); b != nil && running(b) {
			return
		}
		l.expireOwner(model.BrokerIDPath(e.Broker))
	})
}

// expireOwner ends the session that a znode belongs to, if there is one. The code
// is that of looking for it.
func (l *Lab) expireOwner(path string) (session int64, code zkserver.Code, ended bool) {
	st, code := l.store.Exists(path)
	ended = code == zkserver.OK && st.EphemeralOwner != 0 && l.store.Expire(st.EphemeralOwner)
	return st.EphemeralOwner, code, ended
}

func (l *Lab) openStore() (err error) {
	if l.opt.DataDir == "" {
		l.store = zkserver.NewStore(zkserver.Options{Intercept: l.intercept})
		return nil
	}
	if l.store, err = zkserver.Open(l.opt.DataDir, zkserver.Options{Intercept: l.intercept}); err != nil {
		return fmt.Errorf("the lab's ZooKeeper data in %s: %w", l.opt.DataDir, err)
	}
	l.buryDead()
	if l.opt.Wipe {
		return l.wipe()
	}
	return nil
}

// buryDead ends the sessions of an earlier lab's brokers and controller: their
// process is gone, for the data directory was free.
func (l *Lab) buryDead() {
	paths := []string{model.ControllerPath}
	for _, id := range l.live() {
		paths = append(paths, model.BrokerIDPath(id))
	}
	for _, path := range paths {
		l.expireOwner(path)
	}
}

// wipe deletes everything but ZooKeeper's own.
func (l *Lab) wipe() error {
	var paths []string
	l.store.Walk("/", func(path string, _ []byte, _ zkserver.Stat) bool {
		if path != "/" && path != "/zookeeper" && !strings.HasPrefix(path, "/zookeeper/") {
			paths = append(paths, path)
		}
		return true
	})
	for _, path := range slices.Backward(paths) { // children first
		if r, _ := l.store.Apply(0, zkserver.Delete(path, zkserver.AnyVersion)); r.Code != zkserver.OK {
			return fmt.Errorf("delete %s: %s", path, r.Code)
		}
	}
	return nil
}

// populate writes the first content, unless a data directory already holds one,
// and starts the brokers.
func (l *Lab) populate(ctx context.Context) error {
	_, code := l.store.Exists(model.TopicsPath)
	fresh := code != zkserver.OK
	if l.opt.Brokers == 0 {
		if !fresh {
			return nil
		}
		return l.store.Load(l.opt.Znodes)
	}
	ids := make([]int32, 0, l.opt.Brokers)
	for i := range l.opt.Brokers {
		ids = append(ids, int32(i+1))
	}
	if l.opt.Znodes != nil {
		if !fresh {
			return fmt.Errorf("the data directory %s holds a cluster already: a tree needs an empty one", l.opt.DataDir)
		}
		var znodes []zkserver.Znode
		ids, znodes = l.takeOver(l.opt.Znodes)
		if err := l.store.Load(znodes); err != nil {
			return err
		}
	}
	for _, path := range model.PersistentPaths() {
		if err := l.create(path, nil); err != nil {
			return err
		}
	}
	if fresh && !l.opt.NoTopics && l.opt.Znodes == nil {
		if err := l.firstTopics(ids); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := l.add(id); err != nil {
			return err
		}
	}
	for _, id := range l.assigned() {
		if err := l.add(id); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return l.brokers.Start(ctx, ids...)
}

// ReserveID finds the lowest id from a number on that no broker has, for a
// controller that is none; no broker gets it afterwards.
func (l *Lab) ReserveID(from int32) int32 {
	ids := l.brokers.IDs()
	for slices.Contains(ids, from) {
		from++
	}
	l.mu.Lock()
	l.reserved = from
	l.mu.Unlock()
	return from
}

// add makes a broker that is down, unless it is there.
func (l *Lab) add(id int32) error {
	l.mu.Lock()
	taken := id == l.reserved
	if !taken {
		l.last = max(l.last, id)
	}
	l.mu.Unlock()
	if taken {
		return fmt.Errorf("id %d is the controller's", id)
	}
	if l.brokers.Broker(id) != nil {
		return nil
	}
	set := l.settings(id)
	if l.opt.Setup != nil {
		l.opt.Setup(id, &set)
	}
	_, err := l.brokers.Add(id, set)
	return err
}

// assigned lists the brokers that some partition is assigned to, in order. A
// topic znode that cannot be read names none.
func (l *Lab) assigned() []int32 {
	var ids []int32
	for _, t := range l.topics() {
		a, err := l.readTopic(t)
		if err != nil {
			continue
		}
		for i := range a.Partitions {
			for _, id := range a.Partitions[i].Replicas {
				if id >= 0 {
					ids = append(ids, id)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (l *Lab) settings(id int32) broker.Settings {
	own := l.standIns[id]
	return broker.Settings{Listener: l.listener, Aliases: own.aliases, Rack: own.rack, SessionTimeout: l.sessionTimeout(), AwaitOldRegistration: true,
		CatchUp: 400 * time.Millisecond, CatchUpJitter: 200 * time.Millisecond, ReplicaLagTime: 2 * time.Second, ControlledShutdownBackoff: time.Second}
}

// firstTopics are the topics with which the lab starts.
func (l *Lab) firstTopics(ids []int32) error {
	if l.opt.Topics == nil {
		return l.defaultTopics(len(ids))
	}
	for _, t := range l.opt.Topics {
		if t.Assignment == nil {
			var err error
			if t.Assignment, err = spread(ids, 0, t.Partitions, t.ReplicationFactor); err != nil {
				return fmt.Errorf("topic %s: %w", t.Topic, err)
			}
		}
		if _, err := l.createTopic(t); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) sessionTimeout() time.Duration {
	if l.opt.SessionTimeout > 0 {
		return l.opt.SessionTimeout
	}
	return brokerSession * l.opt.TickTime
}

// untilBuried is how long a killed broker's session lives on.
func (l *Lab) untilBuried() time.Duration {
	if l.opt.BuryAfter > 0 {
		return l.opt.BuryAfter
	}
	return l.sessionTimeout()
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

// Cluster is the set of simulated brokers.
func (l *Lab) Cluster() *broker.Cluster { return l.brokers }

// Close ends everything. The brokers' registrations go with them, so that a
// data directory holds none.
func (l *Lab) Close() error {
	var sessions []int64
	for _, id := range l.brokers.IDs() {
		if s := l.brokers.Broker(id).SessionID(); s != 0 {
			sessions = append(sessions, s)
		}
	}
	l.brokers.Close()
	for _, s := range sessions {
		l.store.Expire(s)
	}
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
		s := v.BrokerStatus(id)
		if b := l.brokers.Broker(id); b != nil {
			switch up := running(b); {
			case up && s.State == "dead":
				s.State = "running" // not live to the controller: it holds no role, or has not seen the registration
			case !up && s.State == "dead":
				s.State = "down"
			case !up && s.State == "live":
				s.State = "killed" // still registered: its session has not ended yet
			case !up:
				s.State = "down"
			}
			s.Conduct = conductOf(b.Behaviour())
		}
		out = append(out, s)
	}
	return out
}

func running(b *broker.Broker) bool {
	_, up := b.Address()
	return up
}
