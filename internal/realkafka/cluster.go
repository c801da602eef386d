package realkafka

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	brokerStartLimit = 120 * time.Second
	// askLimit bounds one request to one broker while waiting for it.
	askLimit = 5 * time.Second
)

// Options say what cluster to start. The zero value is three brokers under
// /kafka on a ZooKeeper of their own.
type Options struct {
	Brokers    int                         // ids 1 to Brokers; 0 means 3
	Chroot     string                      // "" means /kafka
	BrokerConf map[string]string           // broker settings beside and above the usual ones
	OfBroker   map[int32]map[string]string // settings of single brokers, above those
	Heap       string                      // of each broker, as Java's -Xmx; "" means 400m
	ZooKeeper  string                      // host:port of one that runs; "" starts one
	Hold       bool                        // start no broker: StartBroker does
	Listener   string                      // NAME://HOST:PORT beside the plaintext one, of a cluster of one broker
	// AsInProduction starts brokers with the options of Kafka's own start script and
	// its log levels: for measurements. Otherwise they start fast and log all.
	AsInProduction bool
}

// Cluster is a number of real brokers on loopback and their ZooKeeper.
type Cluster struct {
	ZooKeeper *ZooKeeper // nil if Options named one that ran already
	ZKAddr    string     // host:port of ZooKeeper
	Chroot    string     // /kafka
	Conn      *zk.Conn   // the test's own session with ZooKeeper

	t       testing.TB
	jars    *Jars
	opts    Options
	work    string
	ports   map[int32]int
	procs   map[int32]*process // the last process of each broker
	clients []*kgo.Client      // see Client; at most one
}

// StartCluster starts ZooKeeper and the brokers and waits until each broker
// knows all. Broker 1 starts first, so that it is the controller, unless
// something else holds /controller already.
func StartCluster(t testing.TB, jars *Jars, opts Options) *Cluster {
	t.Helper()
	if opts.Brokers == 0 {
		opts.Brokers = 3
	}
	if opts.Chroot == "" {
		opts.Chroot = "/kafka"
	}
	if opts.Heap == "" {
		opts.Heap = "400m"
	}
	c := &Cluster{ZKAddr: opts.ZooKeeper, Chroot: opts.Chroot, t: t, jars: jars, opts: opts,
		work: t.TempDir(), ports: map[int32]int{}, procs: map[int32]*process{}}
	for i := range opts.Brokers {
		c.ports[int32(i+1)] = freePort(t)
	}
	if c.ZKAddr == "" {
		c.ZooKeeper = StartZooKeeper(t, jars)
		c.ZKAddr = c.ZooKeeper.Addr
	}
	c.Conn = Dial(t, c.ZKAddr)
	if !opts.Hold {
		c.StartAll()
	}
	return c
}

// StartAll starts every broker and waits until each knows all. Where nobody is
// the controller yet, the first starts alone until it is there, so that it is.
func (c *Cluster) StartAll() {
	c.t.Helper()
	ids := c.IDs()
	rest := ids
	if _, err := c.controller(); err != nil {
		c.StartBroker(ids[0])
		c.WaitBrokers(ids[0])
		rest = ids[1:]
	}
	for _, id := range rest {
		c.StartBroker(id)
	}
	c.WaitBrokers(ids...)
}

// IDs are the broker ids of the cluster, dead ones included, ascending.
func (c *Cluster) IDs() []int32 { return slices.Sorted(maps.Keys(c.ports)) }

// Connect is ZooKeeper's address with the chroot, as zookeeper.connect has it.
func (c *Cluster) Connect() string { return c.ZKAddr + c.Chroot }

// Bootstrap is host:port of each broker, with commas, in order of id.
func (c *Cluster) Bootstrap() string { return strings.Join(c.addrs(), ",") }

func (c *Cluster) addrs() []string {
	var out []string
	for _, id := range c.IDs() {
		out = append(out, loopback(c.ports[id]))
	}
	return out
}

// LogPath is the file with a broker's output: everything it logs, the
// controller's log and the state changes down to TRACE.
func (c *Cluster) LogPath(id int32) string {
	return fmt.Sprintf("%s/%s.log", c.work, brokerName(id))
}

func brokerName(id int32) string { return fmt.Sprintf("broker-%d", id) }

// settings are those that the recordings were made with, above them the
// caller's.
func (c *Cluster) settings(id int32) map[string]string {
	conf := map[string]string{
		"broker.id":         strconv.Itoa(int(id)),
		"zookeeper.connect": c.Connect(),
		"listeners":         "PLAINTEXT://" + loopback(c.ports[id]),
		"log.dirs":          fmt.Sprintf("%s/data-%d", c.work, id),

		"auto.create.topics.enable":      "false",
		"auto.leader.rebalance.enable":   "false",
		"replica.lag.time.max.ms":        "4000",
		"zookeeper.session.timeout.ms":   "6000",
		"log.cleaner.dedupe.buffer.size": "2000000",
		"num.io.threads":                 "4",
		"num.network.threads":            "2",

		"offsets.topic.replication.factor": "1",
	}
	if c.opts.Listener != "" {
		conf["listeners"] += "," + c.opts.Listener
	}
	maps.Copy(conf, c.opts.BrokerConf)
	maps.Copy(conf, c.opts.OfBroker[id])
	return conf
}

// StartBroker starts a broker that does not run. It does not wait for it: see
// WaitBrokers.
func (c *Cluster) StartBroker(id int32) {
	c.t.Helper()
	if _, known := c.ports[id]; !known {
		c.t.Fatalf("start broker %d: the cluster has brokers %v", id, c.IDs())
	}
	if c.procs[id].running() {
		c.t.Fatalf("start broker %d: it runs", id)
	}
	c.procs[id] = launchJava(c.t, c.jars, brokerName(id), c.work, c.opts.Heap, "kafka.Kafka", c.settings(id), c.opts.AsInProduction)
}

// PID is the process id of a broker that runs.
func (c *Cluster) PID(id int32) int {
	c.t.Helper()
	if !c.procs[id].running() {
		c.t.Fatalf("the process id of broker %d: it does not run", id)
	}
	return c.procs[id].cmd.Process.Pid
}

// KillBroker ends a broker at once (SIGKILL). Its registration stays in
// ZooKeeper until its session expires.
func (c *Cluster) KillBroker(id int32) { c.t.Helper(); c.procs[id].stop(c.t, sigKill) }

// TermBroker ends a broker by SIGTERM, which begins its controlled shutdown,
// and waits until it has ended.
func (c *Cluster) TermBroker(id int32) { c.t.Helper(); c.procs[id].stop(c.t, sigTerm) }

// PauseBroker stops a broker's process (SIGSTOP): its connections stay open,
// it answers nothing, its session expires.
func (c *Cluster) PauseBroker(id int32) { c.t.Helper(); c.procs[id].pause(c.t) }

// ResumeBroker lets a paused broker go on.
func (c *Cluster) ResumeBroker(id int32) { c.t.Helper(); c.procs[id].signal(c.t, sigCont) }

// WaitBrokers waits until these brokers are registered, a controller is there,
// and each of them has learned of all of them from the controller.
func (c *Cluster) WaitBrokers(ids ...int32) {
	c.t.Helper()
	var ps []*process
	for _, id := range ids {
		if c.procs[id].running() {
			ps = append(ps, c.procs[id])
		}
	}
	await(c.t, brokerStartLimit, fmt.Sprintf("brokers %v", ids), ps, func() error {
		registered, _, err := c.Conn.Children(c.Chroot + "/brokers/ids")
		if err != nil {
			return fmt.Errorf("list %s/brokers/ids: %w", c.Chroot, err)
		}
		for _, id := range ids {
			if !slices.Contains(registered, strconv.Itoa(int(id))) {
				return fmt.Errorf("registered are %v", registered)
			}
		}
		if _, err := c.controller(); err != nil {
			return err
		}
		for _, id := range ids {
			if err := c.knows(id, ids); err != nil {
				return fmt.Errorf("metadata of broker %d: %w", id, err)
			}
		}
		return nil
	})
}

// knows asks a broker for its metadata, which comes from the controller, and
// returns an error unless all of ids are in it.
func (c *Cluster) knows(id int32, ids []int32) error {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	seeds := c.Client().SeedBrokers()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // brokers only
	resp, err := req.RequestWith(ctx, seeds[slices.Index(c.IDs(), id)])
	if err != nil {
		return err
	}
	for _, want := range ids {
		if !slices.ContainsFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool { return b.NodeID == want }) {
			return fmt.Errorf("no broker %d yet", want)
		}
	}
	return nil
}

// ControllerID is the broker id in /controller. It fails the test if there is
// no controller.
func (c *Cluster) ControllerID() int32 {
	c.t.Helper()
	id, err := c.controller()
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

func (c *Cluster) controller() (int32, error) {
	path := c.Chroot + "/controller"
	data, _, err := c.Conn.Get(path)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	var who struct {
		ID *int32 `json:"brokerid"`
	}
	if err := json.Unmarshal(data, &who); err != nil {
		return 0, fmt.Errorf("read %s: %q: %w", path, data, err)
	}
	if who.ID == nil {
		return 0, fmt.Errorf("read %s: %q has no brokerid", path, data)
	}
	return *who.ID, nil
}
