package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/lab"
	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// text is a writer that may be read meanwhile.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// controlled is kstate control without a terminal, in this process.
type controlled struct {
	t         testing.TB
	cancel    context.CancelFunc
	done      chan int
	out, errs text
}

func startControl(t testing.TB, args ...string) *controlled {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &controlled{t: t, cancel: cancel, done: make(chan int, 1)}
	go func() {
		c.done <- run(ctx, append([]string{"control", "--headless", "--override", "auto.leader.rebalance.enable=false"}, args...), console{strings.NewReader(""), &c.out, &c.errs})
	}()
	t.Cleanup(func() {
		cancel()
		<-c.done
		if t.Failed() {
			t.Logf("control said:\n%s", c.errs.String())
		}
	})
	return c
}

// says waits until a line is there, and returns what its groups matched.
func (c *controlled) says(pattern string) []string {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := re.FindStringSubmatch(c.errs.String()); m != nil {
			return m
		}
	}
	c.t.Fatalf("within %v it did not say %q:\n%s", patience, pattern, c.errs.String())
	return nil
}

// end waits for the exit code.
func (c *controlled) end() int {
	c.t.Helper()
	select {
	case code := <-c.done:
		c.done <- code
		return code
	case <-time.After(patience):
		c.t.Fatalf("it does not end:\n%s", c.errs.String())
		return -1
	}
}

// keeper is an embedded ZooKeeper without content.
func keeper(t testing.TB) *lab.Lab {
	t.Helper()
	l, err := lab.Start(context.Background(), lab.Options{TickTime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// From an empty ZooKeeper to a cluster of simulated brokers, of the age that looks
// its controller up in ZooKeeper and of the newest: topics by a client that knows
// only the controller, controlled shutdown, resignation.
func TestControl(t *testing.T) {
	for _, release := range []model.InterBrokerProtocol{model.IBP_2_4_IV1, model.IBP_3_9_IV0} {
		t.Run(release.Release(), func(t *testing.T) {
			l := keeper(t)
			log := filepath.Join(t.TempDir(), "state-change.log")
			c := startControl(t, "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:0", "--state-change-log", log)
			address := c.says(`controller 1000, listening on PLAINTEXT://(\S+)`)[1]
			c.says(`is the controller, epoch 1`)
			for _, path := range model.PersistentPaths() {
				if _, code := l.Store().Exists("/kafka" + path); code != zkserver.OK {
					t.Errorf("%s: %v", path, code)
				}
			}
			if _, code := l.Store().Exists("/kafka" + model.ClusterIDPath); code != zkserver.NoNode {
				t.Errorf("a cluster id was made up: %v", code)
			}
			brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}, Chroot: "/kafka"})
			t.Cleanup(brokers.Close)
			for id := int32(1); id <= 3; id++ {
				if _, err := brokers.Add(id, broker.Settings{Release: release, InterBrokerProtocol: release, ControlledShutdownBackoff: 100 * time.Millisecond}); err != nil {
					t.Fatal(err)
				}
			}
			if err := brokers.Start(soon(t)); err != nil {
				t.Fatal(err)
			}
			useAsClient(t, address, release)
			if how, err := brokers.Broker(3).Stop(soon(t)); err != nil || !how.Controlled {
				t.Errorf("broker 3 stopped %+v, %v", how, err)
			}
			_, code := l.Store().Exists("/kafka" + model.BrokerIDPath(1000))
			if registered := code == zkserver.OK; registered != (release < model.IBP_3_0_IV0) {
				t.Errorf("the controller is registered: %v", registered)
			}
			c.cancel()
			if code := c.end(); code != exitOK {
				t.Errorf("exit code %d", code)
			}
			c.says("kstate: resigned")
			if _, code := l.Store().Exists("/kafka" + model.ControllerPath); code != zkserver.NoNode {
				t.Errorf("/controller after the end: %v", code)
			}
			written, err := os.ReadFile(log)
			if err != nil || !strings.Contains(string(written), "[Controller id=1000 epoch=1] Changed partition t-0 state from NewPartition to OnlinePartition") {
				t.Errorf("state-change log: %v\n%s", err, written)
			}
		})
	}
}

// useAsClient creates, grows and deletes topics as an admin client.
func useAsClient(t *testing.T, address string, release model.InterBrokerProtocol) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx := soon(t)
	await(t, "the brokers are known", func() bool {
		m := askMetadata(t, client)
		var ids []int32
		for _, b := range m.Brokers {
			ids = append(ids, b.NodeID)
		}
		return slices.Equal(ids, []int32{1, 2, 3, 1000}) && m.ControllerID == 1000 && m.ClusterID != nil
	})
	created, err := admin.CreateTopic(ctx, 6, 3, nil, "t")
	if err != nil || created.ID == (kadm.TopicID{}) == release.TopicIDs() {
		t.Fatalf("created %+v, %v", created, err)
	}
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "t"); err == nil || !strings.Contains(err.Error(), "TOPIC_ALREADY_EXISTS") {
		t.Errorf("created again: %v", err)
	}
	grown, err := admin.UpdatePartitions(ctx, 8, "t")
	if err != nil || grown.Error() != nil {
		t.Fatalf("grown %+v, %v", grown, err)
	}
	var m *kmsg.MetadataResponse
	await(t, "the new partitions are known", func() bool { // the answer may come before what metadata is answered from
		m = askMetadata(t, client)
		return len(m.Topics) == 1 && len(m.Topics[0].Partitions) == 8
	})
	for _, p := range m.Topics[0].Partitions {
		if p.Leader < 1 || p.Leader > 3 || slices.Contains(p.Replicas, 1000) {
			t.Errorf("t-%d is led by %d, on %v", p.Partition, p.Leader, p.Replicas)
		}
	}
	q := kmsg.NewPtrElectLeadersRequest()
	q.TimeoutMillis = 5000
	elected, err := q.RequestWith(ctx, client)
	if err != nil || elected.ErrorCode != 0 {
		t.Errorf("elected %+v, %v", elected, err)
	}
	deleted, err := admin.DeleteTopics(ctx, "t")
	if err != nil || deleted.Error() != nil {
		t.Fatalf("deleted %+v, %v", deleted, err)
	}
	await(t, "the topic is gone", func() bool { return len(askMetadata(t, client).Topics) == 0 })
}

// askMetadata asks the controller itself, past the client's cache.
func askMetadata(t *testing.T, client *kgo.Client) *kmsg.MetadataResponse {
	t.Helper()
	m, err := kmsg.NewPtrMetadataRequest().RequestWith(soon(t), client.SeedBrokers()[0])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Unclean elections that come to be allowed, for a topic or by default, are told to
// the controller: it elects where there was no leader.
func TestControlFollowsSettings(t *testing.T) {
	l := keeper(t)
	c := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0")
	c.says(`is the controller`)
	brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}})
	t.Cleanup(brokers.Close)
	for id := int32(1); id <= 2; id++ {
		if _, err := brokers.Add(id, broker.Settings{AwaitOldRegistration: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := brokers.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
	put := func(path string, data []byte) {
		t.Helper()
		if r, _ := l.Store().Apply(0, zkserver.Create(path, data, 0)); r.Code != zkserver.OK {
			t.Fatal(path, r.Code)
		}
	}
	for i, topic := range []string{"one", "two"} {
		put(model.TopicPath(topic), model.EncodeTopic(model.TopicAssignment{Version: 3, ID: model.Uuid{byte(i + 1)},
			Partitions: []model.PartitionAssignment{{ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{1, 2}}}}}))
	}
	leads := func(topic string, want int32) func(*clusterState) bool {
		return func(st *clusterState) bool {
			return slices.ContainsFunc(st.Partitions, func(p struct {
				Topic     string
				Partition int32
				State     string
				Leader    *int32
				ISR       []int32
				Epoch     *int32 `json:"leader_epoch"`
			}) bool {
				return p.Topic == topic && p.Leader != nil && *p.Leader == want
			})
		}
	}
	awaitState(t, l.Addr(), "that all is online", func(st *clusterState) bool { return onlineIn(st, 2, 4) })
	gone := func(id int32) {
		t.Helper()
		session := brokers.Broker(id).SessionID()
		brokers.Broker(id).Kill()
		l.Store().Expire(session)
	}
	gone(2)
	awaitState(t, l.Addr(), "that broker 1 is alone", func(st *clusterState) bool {
		return leads("one", 1)(st) && leads("two", 1)(st) && len(st.Partitions[0].ISR)+len(st.Partitions[1].ISR) == 2
	})
	gone(1)
	awaitState(t, l.Addr(), "that nobody leads", func(st *clusterState) bool { return leads("one", -1)(st) && leads("two", -1)(st) })
	if err := brokers.Start(soon(t), 2); err != nil {
		t.Fatal(err)
	}
	put(model.TopicConfigPath("one"), model.EncodeConfig(map[string]string{"unclean.leader.election.enable": "true"}))
	put(model.ConfigChangePath("0000000000"), model.EncodeConfigChange("topics/one"))
	awaitState(t, l.Addr(), "an unclean election for the topic", leads("one", 2))
	if st, err := liveState(t, l.Addr()); err != nil || !leads("two", -1)(&st) {
		t.Errorf("the other topic: %+v, %v", st.Partitions, err)
	}
	put(model.BrokerDefaultConfigPath(), model.EncodeConfig(map[string]string{"unclean.leader.election.enable": "true"}))
	put(model.ConfigChangePath("0000000001"), model.EncodeConfigChange("brokers/<default>"))
	awaitState(t, l.Addr(), "an unclean election by default", leads("two", 2))
}

// While somebody holds the role it waits and says who; with --take-over it takes
// it. One that lost it waits again.
func TestControlWaitsAndTakesOver(t *testing.T) {
	l := keeper(t)
	first := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0")
	first.says(`is the controller, epoch 1`)
	second := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0", "--id", "1001")
	second.says(`waits: 1000 holds the role`)
	third := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0", "--id", "1002", "--take-over")
	third.says(`is the controller, epoch 2`)
	first.says(`lost the role: 1002 holds the role`)
	second.says(`waits: 1002 holds the role`)
	third.cancel()
	third.end()
	await(t, "one of the others has it", func() bool {
		return strings.Contains(first.errs.String()+second.errs.String(), "is the controller, epoch 3")
	})
}

// Two that are started alike get ids, and so journals, of their own. Where one is
// given the other's id, it says so.
func TestControlBesideItsLike(t *testing.T) {
	l := keeper(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	first := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0")
	first.says(`recording to \S+-1000\.journal`)
	first.says(`is the controller, epoch 1`)
	second := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0")
	second.says(`recording to \S+-1001\.journal`)
	second.says(`waits: 1000 holds the role\n`)
	third := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0", "--id", "1000", "--journal", filepath.Join(t.TempDir(), "third.journal"))
	third.says(`waits: 1000 holds the role: another kstate of this id`)
}

// A broker that registers under its id makes it resign, with that reason.
func TestControlMakesWayForABroker(t *testing.T) {
	l := keeper(t)
	c := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0", "--id", "7")
	c.says(`is the controller`)
	session, _ := l.Store().CreateSession(time.Minute)
	data := model.EncodeBroker(&model.Broker{ID: 7, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: 1}}}, 5, -1, 1)
	if r, _ := l.Store().Apply(session, zkserver.Create(model.BrokerIDPath(7), data, zkserver.Ephemeral)); r.Code != zkserver.OK {
		t.Fatal(r.Code)
	}
	if code := c.end(); code != exitError {
		t.Errorf("exit code %d", code)
	}
	c.says(`a broker with id 7 has registered`)
	if _, code := l.Store().Exists(model.ControllerPath); code != zkserver.NoNode {
		t.Errorf("/controller: %v", code)
	}
}

func TestControlRefuses(t *testing.T) {
	l := keeper(t)
	put := func(path string, data []byte) {
		t.Helper()
		for i := 1; i <= len(path); i++ {
			if i == len(path) {
				if r, _ := l.Store().Apply(0, zkserver.Create(path, data, 0)); r.Code != zkserver.OK {
					t.Fatal(path, r.Code)
				}
			} else if path[i] == '/' {
				l.Store().Apply(0, zkserver.Create(path[:i], nil, 0))
			}
		}
	}
	put("/kraft/controller", model.EncodeController(2, 3000, 1, 4))
	put("/migrating/migration", model.EncodeMigration(model.MigrationState{KRaftControllerID: 3001}))
	put("/held/brokers/topics/t", model.EncodeTopic(model.TopicAssignment{Version: 3, Partitions: []model.PartitionAssignment{{ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{4, 1000}}}}}))
	put("/held/brokers/ids/5", model.EncodeBroker(&model.Broker{Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: 1}}}, 5, -1, 1))
	put("/broken/brokers/topics/t", []byte(`{"version":3,"partitions":7}`))
	put("/oddid/brokers/ids/five", []byte(`{}`))
	put("/noepoch/controller_epoch", []byte(`many`))
	properties := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(properties, []byte("delete.topic.enable=maybe\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		chroot, args string
		code         int
		want         string
	}{
		{"/kraft", "", exitError, "the KRaft controller 3000 leads this cluster"},
		{"/migrating", "", exitError, "the KRaft controller 3001 is migrating this cluster"},
		{"/held", "--id 4", exitUsage, "a broker of that id holds replicas, of t-0 for one"},
		{"/held", "--id 5", exitUsage, "a broker of that id is registered"},
		{"/held", "--listener OTHER://127.0.0.1:0 --override inter.broker.listener.name=other --override listener.security.protocol.map=OTHER:PLAINTEXT", exitError, "broker 5 has no endpoint of listener OTHER"},
		{"/broken", "", exitError, "no controller can start on this tree: /broken"},
		{"/oddid", "", exitError, `"five" is not a broker id`},
		{"/noepoch", "", exitError, "no controller can start on this tree"},
		{"/x", "--inter-broker-protocol 9.9", exitUsage, `"9.9" is not known`},
		{"/x", "--inter-broker-protocol 4.0", exitUsage, "no ZooKeeper controller after 3.9"},
		{"/x", "--override delete.topic.enable=yes", exitUsage, "not true or false"},
		{"/x", "--override num.partitions=0", exitUsage, "not a number from 1"},
		{"/x", "--override nonsense", exitUsage, "--override nonsense...: want KEY=VALUE"},
		{"/x", "--override =hush", exitUsage, "want KEY=VALUE"},
		{"/x", "--override sasl.jaas:hush", exitUsage, "--override sasl.jaas...: want KEY=VALUE"},
		{"/x", "--override process.roles=broker", exitUsage, "KRaft"},
		{"/x", "--override zookeeper.metadata.migration.enable=true", exitUsage, "no part in a migration"},
		{"/x", "--properties " + properties, exitUsage, "delete.topic.enable=maybe: not true or false"},
		{"/x", "--listener 127.0.0.1:0 --listener SSL://127.0.0.1:0", exitUsage, "ssl.keystore.location: a listener with TLS needs a certificate"},
		{"/x", "--listener 127.0.0.1:0 --listener SASL_PLAINTEXT://127.0.0.1:0", exitUsage, "sasl.enabled.mechanisms"},
		{"/x", "--listener INSIDE://127.0.0.1:0", exitUsage, "listener.security.protocol.map=INSIDE:PLAINTEXT"},
		{"/x", "--listener 127.0.0.1:0 --override listener.security.protocol.map=PLAINTEXT:TLS", exitUsage, "is not one of PLAINTEXT, SSL"},
		{"/x", "--listener 127.0.0.1:0 --override listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT --override sasl.enabled.mechanisms=SCRAM-SHA-256", exitUsage, "how to call brokers on listener PLAINTEXT (SASL_PLAINTEXT): sasl.mechanism"},
		{"/x", "--override authorizer.class.name=my.Authorizer", exitUsage, "give them by --authorization"},
		{"/x", "--override super.users=root", exitUsage, "super.users=root: \"root\" is not TYPE:NAME"},
		{"/x", "--authorization " + properties, exitUsage, "line 1: \"delete.topic.enable=maybe\" is no flag"},
		{"/x", "--override plain.sasl.jaas.config=hush --override sasl.enabled.mechanisms=PLAIN --override listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT", exitUsage, "plain.sasl.jaas.config"},
		{"/x", "--listener 0.0.0.0:1", exitUsage, "a host that they reach"},
		{"/x", "--listener PLAINTEXT://h:99999", exitUsage, "want NAME://HOST:PORT"},
		{"/x", "--listener 127.0.0.1:0 --listener 127.0.0.1:0", exitUsage, "given twice"},
		{"/x", "--override inter.broker.listener.name=INSIDE", exitUsage, "no --listener of that name, only PLAINTEXT"},
	} {
		args := append([]string{"control", "--headless", "--zookeeper", l.Addr() + c.chroot}, strings.Fields(c.args)...)
		if !strings.Contains(c.args, "--listener") {
			args = append(args, "--listener", "127.0.0.1:0")
		}
		o := kstate(t, args...)
		if c.chroot == "/broken" {
			c.want = "no controller can start on this tree"
		}
		if o.code != c.code || !strings.Contains(o.err, c.want) {
			t.Errorf("%s %s: exit code %d, want %d; want %q in\n%s", c.chroot, c.args, o.code, c.code, c.want, o.err)
		}
	}
	kstate(t, "control", "--headless", "--zookeeper", l.Addr()).check(t, exitUsage, "", "Give --listener")
	kstate(t, "control", "--headless", "--listener", "127.0.0.1:0").check(t, exitUsage, "", "Give --zookeeper")
	if _, code := l.Store().Exists("/x"); code != zkserver.NoNode {
		t.Error("a command line that means nothing made the chroot")
	}
}

// The id is the lowest from 1000 that no broker has or had replicas under.
func TestControlChoosesAnID(t *testing.T) {
	l := keeper(t)
	a := model.TopicAssignment{Version: 3}
	for i, r := range [][]int32{{1000, 1}, {1001}} {
		a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: int32(i), ReplicaAssignment: model.ReplicaAssignment{Replicas: r}})
	}
	for _, p := range []string{"/brokers", "/brokers/topics"} {
		l.Store().Apply(0, zkserver.Create(p, nil, 0))
	}
	l.Store().Apply(0, zkserver.Create(model.TopicPath("t"), model.EncodeTopic(a), 0))
	c := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0")
	c.says(`controller 1002, listening`)
}

func TestProperties(t *testing.T) {
	got, err := readProperties(strings.NewReader("# comment\n! another\n\n a = b \n" + `c:d\
   e
f g=h
i\=j\ k=l\tm\\
n
o=\u00e4\uD83D\uDE00
p=1
p=2
q=end\`))
	want := map[string]string{"a": "b ", "c": "de", "f": "g=h", "i=j k": "l\tm\\", "n": "", "o": "ä😀", "p": "2", "q": "end"}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for _, bad := range []string{"a=1\nssl.key.password=\\u12x4\n", "a=1\nssl.key.password=\\u12"} {
		if _, err := readProperties(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "12") {
			t.Errorf("%v", err)
		}
	}
}

func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	text := "delete.topic.enable = FALSE\nnum.partitions=4\nleader.imbalance.check.interval.seconds=60\nunclean.leader.election.enable=true\n" +
		"control.plane.listener.name=control\ninter.broker.listener.name=inside\ninter.broker.protocol.version=2.8.1\nzookeeper.session.timeout.ms=6000\nlog.dirs=/x\nbroker.rack=r\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := controlCommand()
	inv := &invocation{command: &c, given: map[string][]string{"properties": {file}, "override": {"num.partitions=8", "anything=else"}}}
	s, err := readSettings(inv)
	if err != nil {
		t.Fatal(err)
	}
	e := s.engine
	if e.DeleteTopicEnable || e.NumPartitions != 8 || e.ImbalanceCheckInterval != 60_000 || e.BrokerConfig["unclean.leader.election.enable"] != "true" ||
		e.InterBrokerListener != "CONTROL" || e.IBP != model.IBP_2_8_IV1 || s.zookeeper.SessionTimeout != 6*time.Second || s.rack != "r" || !e.AutoRebalance {
		t.Errorf("%+v %+v", e, s)
	}
}

// A ZooKeeper that answers no more while the role is given up keeps kstate from
// nothing: its session ends by itself.
func TestControlEndsWithoutZooKeeper(t *testing.T) {
	var silent atomic.Bool
	server := zkserver.NewServer(zkserver.NewStore(zkserver.Options{Intercept: func(r zkserver.Request) zkserver.Verdict {
		return zkserver.Verdict{DropReply: silent.Load() && slices.Equal(r.Paths, []string{"/kafka" + model.ControllerEpochPath})}
	}}), zkserver.ServerOptions{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	c := startControl(t, "--zookeeper", addr.String()+"/kafka", "--listener", "127.0.0.1:0")
	c.says("is the controller, epoch 1")
	silent.Store(true)
	c.cancel()
	if code := c.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	c.says("was not deleted: ZooKeeper did not answer")
}
