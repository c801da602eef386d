package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kstate/internal/lab"
	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/internal/tree"
	"kstate/model"
)

// changer runs commands that write, with an audit log of the test's own.
type changer struct {
	t    *testing.T
	addr string
	log  string
}

func newChanger(t *testing.T, addr string) *changer {
	return &changer{t, addr, filepath.Join(t.TempDir(), "audit.log")}
}

// with is a command line on the cluster, with what is typed.
func (c *changer) with(typed, line string) output {
	c.t.Helper()
	return kstateWith(c.t, typed, append(strings.Fields(line), "--zookeeper", c.addr, "--audit-log", c.log)...)
}

// json runs with --json --yes and reads the answer.
func (c *changer) json(code int, line string) (r changeReport) {
	c.t.Helper()
	o := c.with("", line+" --json --yes")
	if o.code != code {
		c.t.Fatalf("%s: exit code %d, want %d\n%s%s", line, o.code, code, o.out, o.err)
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		c.t.Fatalf("%s: %v in\n%s", line, err, o.out)
	}
	return r
}

func (c *changer) records() int {
	data, err := os.ReadFile(c.log)
	if err != nil {
		return 0
	}
	return strings.Count(string(data), "\n")
}

// Each change on a cluster with a controller, to its end.
func TestChangesOfALab(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	c := newChanger(t, d.bench.lab.Addr())
	done := func(line string) changeReport {
		t.Helper()
		r := c.json(exitOK, line)
		if !r.Written || r.Outcome == nil || r.Outcome.State != "done" {
			t.Fatalf("%s: %+v %+v", line, r, r.Outcome)
		}
		return r
	}
	done("topics create --topic new --replica-assignment 1:2,2:3 --config retention.ms=5000")
	d.online(8, 19)
	done("topics alter --topic new --partitions 3")
	d.online(9, 21)
	done("reassign --topic new --partition 0 --replicas 3,2")
	if a := d.settled().View.Assignment(model.TP("new", 0)); !slices.Equal(a.Replicas, []int32{3, 2}) || a.IsBeingReassigned() {
		t.Errorf("new-0 is on %+v", a)
	}
	d.await("new-0 is in sync", func(f *model.Frame) bool {
		l := f.View.Leadership(model.TP("new", 0))
		return l != nil && len(l.ISR) == 2
	})
	leader := d.settled().View.Leadership(model.TP("new", 0)).Leader
	done(fmt.Sprintf("reassign --topic new --partition 0 --replicas %d,%d", 5-leader, leader)) // another order: the leader stays
	r := done("elect run --strategy preferred --topic new --partition 0")
	if e := r.Elections["new-0"]; e == nil || e.Leader == nil || *e.Leader != 5-leader || e.Error != nil || len(e.ISR) != 2 {
		t.Errorf("elections %+v", r.Elections)
	}
	if r := c.json(exitOK, "elect run --strategy preferred --all"); r.Written || !strings.Contains(r.Plan.Nothing, "each is led by its preferred replica") {
		t.Errorf("an election that nobody needs: %+v", r.Plan)
	}
	epoch := d.frame().Controller.Epoch
	done("controller move")
	d.await("another epoch", func(f *model.Frame) bool { return f.Controller.Epoch == epoch+1 && idle(f) })
	done("topics delete --topic new")
	d.await("the topic is gone", func(f *model.Frame) bool { return !f.View.KnowsTopic("new") })
	for _, refused := range []struct{ line, want string }{
		{"topics delete --topic new", "/brokers/topics/new is not there"},
		{"topics create --topic orders --partitions 1 --replication-factor 1", "/brokers/topics/orders is there"},
		{"topics alter --topic orders --partitions 3", "has 3 partitions already"},
		{"reassign --topic orders --partition 0 --replicas 1,9", "9 is not; registered: 1,2,3"},
		{"elect run --strategy preferred --topic nosuch", "/brokers/topics/nosuch is not there"},
	} {
		if r := c.json(exitError, refused.line); r.Written || !strings.Contains(r.Error, refused.want) {
			t.Errorf("%s: %+v", refused.line, r)
		}
	}
	if n := c.records(); n%3 != 0 || n < 15 {
		t.Errorf("%d records: want intent, outcome and end of each", n)
	}
}

// A deletion that waits for a broker says so at the end of its time; a second one
// is refused.
func TestADeletionThatWaitsByCommand(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	d.cut(3)
	c := newChanger(t, d.bench.lab.Addr())
	r := c.json(exitFound, "topics delete --topic orders --timeout 4000")
	if !r.Written || r.Outcome.State != "waiting" || !strings.Contains(r.Outcome.Text, "broker 3") || !strings.Contains(strings.Join(r.Plan.Warnings, "\n"), "wait for broker 3") {
		t.Errorf("%+v %+v", r, r.Outcome)
	}
	if r := c.json(exitError, "topics delete --topic orders"); r.Written || !strings.Contains(r.Error, "/admin/delete_topics/orders is there") {
		t.Errorf("deleted twice: %+v", r)
	}
}

// plainCluster is a server with a report's tree and nobody else on it.
func plainCluster(t *testing.T, protect bool) (*zkserver.Store, *changer) {
	t.Helper()
	f := loadReport(t, "35-auto-rebalance-imbalance.json")
	store := zkserver.NewStore(zkserver.Options{})
	owner, _ := store.CreateSession(time.Hour)
	var znodes []zkserver.Znode
	for _, z := range f.Znodes {
		n := zkserver.Znode{Path: z.Path, Data: z.Data, Version: z.Version}
		if z.Ephemeral {
			n.Owner = owner
		}
		if protect {
			n.ACL = []zkserver.ACL{{Perms: zkserver.PermRead, Scheme: "world", ID: "anyone"}, {Perms: zkserver.PermAll, Scheme: "digest", ID: zkserver.Digest("kafka:secret")}}
		}
		znodes = append(znodes, n)
	}
	if err := store.Load(znodes); err != nil {
		t.Fatal(err)
	}
	server := zkserver.NewServer(store, zkserver.ServerOptions{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return store, newChanger(t, addr.String()+f.Chroot)
}

// topicOf is some topic of a tree.
func topicOf(t *testing.T) (name, path string) {
	t.Helper()
	f := loadReport(t, "35-auto-rebalance-imbalance.json")
	for st := range tree.SurveyFile(f).Topics() {
		return st.Name, model.JoinChroot(f.Chroot, model.DeleteTopicPath(st.Name))
	}
	t.Fatal("no topic")
	return "", ""
}

func TestConsent(t *testing.T) {
	store, c := plainCluster(t, false)
	topic, marker := topicOf(t)
	there := func() bool { _, code := store.Exists(marker); return code == zkserver.OK }
	before := store.Zxid()
	c.with("", "topics delete --topic "+topic+" --dry-run").check(t, exitOK, "--dry-run: nothing was written", "")
	if n := store.Zxid() - before; n != 2 || c.records() != 0 {
		t.Errorf("%d transactions, want a session's begin and end; %d records", n, c.records())
	}
	for _, typed := range []string{"", "\n", topic + "x\n", "y\n", strings.ToUpper(topic) + "\n"} {
		c.with(typed, "topics delete --topic "+topic).check(t, exitError, "Type "+topic, "nothing was written")
	}
	if there() || c.records() != 0 {
		t.Fatal("it was written without consent")
	}
	kstate(t, "topics", "delete", "--topic", topic, "--yes", "--zookeeper", c.addr, "--audit-log", "/dev/null/x").check(t, exitError, "", "audit log /dev/null/x")
	if there() {
		t.Fatal("it was written without a record")
	}
	c.with(topic+"\n", "topics delete --topic "+topic+" --timeout 0").check(t, exitOK, "written", "")
	if !there() || c.records() != 2 {
		t.Errorf("the marker is there: %v; %d records", there(), c.records())
	}
	c.with("", "controller move --yes --timeout 300").check(t, exitUnknown, "nobody has taken over yet", "its end was not seen within 300ms")
}

func TestWithoutPermission(t *testing.T) {
	store, c := plainCluster(t, true)
	topic, marker := topicOf(t)
	c.with("", "topics delete --topic "+topic+" --yes").check(t, exitUnknown, "", "NOAUTH: the identity of this session may not do that; nothing was written")
	if _, code := store.Exists(marker); code != zkserver.NoNode || c.records() != 2 {
		t.Errorf("the marker: %v; %d records", code, c.records())
	}
	c.with("", "topics delete --topic "+topic+" --yes --timeout 0 --zookeeper-digest kafka:secret").check(t, exitOK, "written", "")
}

func TestPlansOnATreeFile(t *testing.T) {
	topic, _ := topicOf(t)
	file := reports + "35-auto-rebalance-imbalance.json"
	kstate(t, "topics", "delete", "--topic", topic, "--tree", file, "--dry-run").check(t, exitOK, "create /admin/delete_topics/"+topic, "")
	kstate(t, "topics", "delete", "--topic", topic, "--tree", file, "--dry-run", "--override", "delete.topic.enable=false").check(t, exitError, "NO ", "false in --override")
	kstate(t, "topics", "delete", "--topic", topic, "--tree", file).check(t, exitUsage, "", "a tree file is not written to")
	kstate(t, "elect", "run", "--strategy", "preferred", "--all", "--tree", file, "--dry-run", "--json").check(t, exitOK, `"path": "/admin/preferred_replica_election"`, "")
	kstate(t, "topics", "delete", "--topic", topic, "--tree", reports+"40-kraft-controller-left-behind.json", "--dry-run").check(t, exitError, "", "KRaft controller")
	list := filepath.Join(t.TempDir(), "moves.json")
	if err := os.WriteFile(list, []byte(`{"version":1,"partitions":[{"topic":"`+topic+`","partition":0,"replicas":[1],"log_dirs":["any"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	kstate(t, "reassign", "--reassignment-json-file", list, "--tree", file, "--dry-run").check(t, exitOK, "create /admin/reassign_partitions", "")
	kstate(t, "reassign", "--reassignment-json-file", list, "--tree", file, "--verify").check(t, exitFound, "not as asked for", "")
	kstate(t, "reassign", "--list", "--tree", file).check(t, exitOK, "no partition is being reassigned", "")
	kstate(t, "reassign", "--list", "--json", "--tree", reports+"69-reassignment-target-dead.json").check(t, exitOK, `"adding": [`, "")
}

func TestChangesThatMeanNothing(t *testing.T) {
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"topics create --zookeeper h:1", "which topic?", exitUsage},
		{"topics create --zookeeper h:1 --topic t", "defaults are not visible", exitUsage},
		{"topics create --zookeeper h:1 --topic t --partitions 1 --replica-assignment 1", "leave --partitions", exitUsage},
		{"topics create --zookeeper h:1 --topic t --replica-assignment 1:x", `"x" is no broker id`, exitUsage},
		{"topics create --zookeeper h:1 --topic t --partitions 1 --replication-factor 1 --config a", "want KEY=VALUE", exitUsage},
		{"topics alter --zookeeper h:1 --topic t", "how many partitions", exitUsage},
		{"topics delete --topic t", "which cluster?", exitUsage},
		{"reassign --zookeeper h:1", "which partitions?", exitUsage},
		{"reassign --zookeeper h:1 --topic t --partition 0", "to which brokers?", exitUsage},
		{"reassign --zookeeper h:1 --list --verify", "give one of them", exitUsage},
		{"reassign --zookeeper h:1 --reassignment-json-file -", "give --yes or --dry-run", exitUsage},
		{"reassign --zookeeper h:1 --topic t --partition 0 --cancel", "give --bootstrap-server", exitError},
		{"elect run --zookeeper h:1 --all", "which strategy?", exitUsage},
		{"elect run --zookeeper h:1 --strategy preferred", "which partitions?", exitUsage},
		{"elect run --zookeeper h:1 --all --strategy offline", "the controller runs it by itself", exitError},
		{"elect run --zookeeper h:1 --all --strategy reassign", "kstate reassign", exitError},
		{"elect run --zookeeper h:1 --all --strategy controlled-shutdown", "stop the broker", exitError},
		{"elect run --zookeeper h:1 --all --strategy unclean", "--bootstrap-server", exitError},
		{"elect run --zookeeper h:1 --all --strategy offline --bootstrap-server h:1", "the controller runs it by itself", exitError},
	} {
		kstate(t, strings.Fields(c.line)...).check(t, c.code, "", c.want)
	}
}

// What no znode can ask for goes over the wire, here to a controller of our own.
func TestChangesOverTheWire(t *testing.T) {
	l := keeper(t)
	control := startControl(t, "--zookeeper", l.Addr()+"/kafka", "--listener", "127.0.0.1:0")
	address := control.says(`controller 1000, listening on PLAINTEXT://(\S+)`)[1]
	control.says(`is the controller, epoch 1`)
	brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}, Chroot: "/kafka"})
	t.Cleanup(brokers.Close)
	for id := int32(1); id <= 3; id++ {
		if _, err := brokers.Add(id, broker.Settings{CatchUp: 50 * time.Millisecond, SessionTimeout: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if err := brokers.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
	c := newChanger(t, l.Addr()+"/kafka")
	c.json(exitOK, "topics create --topic t --replica-assignment 1:2,2:3")
	wire := " --bootstrap-server " + address
	if r := c.json(exitOK, "reassign --topic t --partition 0 --replicas 3,2"+wire); r.Outcome == nil || r.Outcome.State != "done" || len(r.Plan.Writes) > 0 || len(r.Plan.Request) == 0 {
		t.Errorf("reassigned: %+v %+v", r, r.Outcome)
	}
	if r := c.json(exitError, "reassign --topic t --partition 0 --cancel"+wire); r.Written || !strings.Contains(r.Error, "t-0 is at rest on 3,2") {
		t.Errorf("cancelled what does not run: %+v", r)
	}
	if r := c.json(exitOK, "elect run --strategy unclean --all"+wire); !strings.Contains(r.Plan.Nothing, "not needed") {
		t.Errorf("an unclean election that nobody needs: %+v", r.Plan)
	}
	brokers.Broker(2).Kill()
	await(t, "broker 2 is gone", func() bool { _, code := l.Store().Exists("/kafka/brokers/ids/2"); return code == zkserver.NoNode })
	var led model.LeaderIsrAndControllerEpoch
	await(t, "t-1 is led by broker 3", func() bool {
		path := "/kafka" + model.TopicPartitionStatePath(model.TP("t", 1))
		data, _, _ := l.Store().Get(path)
		var err error
		led, _, err = model.DecodePartitionState(path, data)
		return err == nil && led.Leader == 3
	})
	r := c.json(exitFound, "elect run --strategy preferred --topic t --partition 1"+wire)
	if e := r.Elections["t-1"]; e == nil || e.Error == nil || *e.Error != "PREFERRED_LEADER_NOT_AVAILABLE" || e.Leader == nil || *e.Leader != 3 {
		t.Errorf("elections %+v", r.Elections)
	}
	// A move to a broker that has gone can be taken back.
	if _, err := brokers.Add(4, broker.Settings{CatchUp: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := brokers.Start(soon(t), 4); err != nil {
		t.Fatal(err)
	}
	c.json(exitUnknown, "reassign --topic t --partition 0 --replicas 4,3 --timeout 3000"+wire)
	if r := c.json(exitOK, "reassign --topic t --partition 0 --cancel"+wire); r.Outcome == nil || r.Outcome.State != "done" {
		t.Errorf("cancelled: %+v %+v", r, r.Outcome)
	}
	kstate(t, "reassign", "--topic", "t", "--partition", "0", "--replicas", "3,2", "--verify", "--zookeeper", c.addr).check(t, exitOK, "done", "")
	store, other := plainCluster(t, false)
	topic, _ := topicOf(t)
	before := store.Zxid()
	other.with("", "elect run --strategy preferred --topic "+topic+" --yes --bootstrap-server "+address).check(t, exitError, "", "cluster id")
	if n := store.Zxid() - before; n != 2 {
		t.Errorf("%d transactions in the other cluster", n)
	}
	c.with("", "elect run --strategy preferred --topic t --yes --timeout 1000 --bootstrap-server 127.0.0.1:1").check(t, exitUnknown, "", "127.0.0.1:1")
}

// changedOverSaslSsl asks with the settings of a file, as user ann, and tells all
// that was said.
func changedOverSaslSsl(t *testing.T, zookeeper, address, authority string) string {
	t.Helper()
	c := newChanger(t, zookeeper)
	said := ""
	ask := func(code int, inOut, inErr string, settings ...string) {
		t.Helper()
		o := c.with("", "reassign --topic over-tls --partition 0 --replicas 1 --yes --timeout 20000 --bootstrap-server "+address+" --command-config "+pemFile(t, strings.Join(settings, "\n")))
		o.check(t, code, inOut, inErr)
		said += o.out + o.err
	}
	jaas := func(password string) string {
		return `sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="` + password + `";`
	}
	secured := []string{"security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", "ssl.truststore.type=PEM", "ssl.truststore.location=" + authority}
	ask(exitOK, "1 of 1 partitions moved", "", append(secured, jaas("hush hush"))...)
	ask(exitUnknown, "", "SASL", append(secured, jaas("hush"))...)
	ask(exitError, "", "sasl.jaas.config: it is missing", secured...)
	ask(exitError, "", "convert the store", "security.protocol=SSL", "ssl.truststore.location="+authority, "ssl.truststore.type=JKS")
	return said
}

// Ctrl-C at the question ends the command: what is typed after it is no consent.
func TestConsentIsInterrupted(t *testing.T) {
	store, c := plainCluster(t, false)
	topic, marker := topicOf(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, typing := io.Pipe()
	var out, errs text
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"topics", "delete", "--topic", topic, "--zookeeper", c.addr, "--audit-log", c.log}, console{in, &out, &errs})
	}()
	await(t, "it asks", func() bool { return strings.Contains(out.String(), "Type "+topic) })
	cancel()
	if code := <-done; code != exitError || !strings.Contains(errs.String(), "interrupted: nothing was written") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	fmt.Fprintln(typing, topic)
	if _, code := store.Exists(marker); code != zkserver.NoNode || c.records() != 0 {
		t.Errorf("the marker: %v; %d records", code, c.records())
	}
}

// A file of moves that is not one says why in its own terms, and nothing of it is taken.
func TestMovesThatAreNone(t *testing.T) {
	file := reports + "35-auto-rebalance-imbalance.json"
	const one = `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}`
	for in, want := range map[string]string{
		"":        "-: it is empty; want {",
		"{":       "it ends in the middle of the JSON",
		"[]":      "it holds a JSON array; want {",
		"x":       "invalid character 'x'",
		`{}`:      "it has not the version 1",
		one + one: "something follows the JSON object, which ends at byte",
		`{"version":1,"partitions":[{"topic":"t","partition":99999999999}]}`: "partitions.partition does not take a JSON number 99999999999",
		`{"version":1,"partitions":[{"partition":0}]}`:                       "entry 1 has no topic",
	} {
		kstateWith(t, in, "reassign", "--reassignment-json-file", "-", "--tree", file, "--dry-run").check(t, exitError, "", want)
	}
	kstateWith(t, one+"\n\n", "reassign", "--reassignment-json-file", "-", "--tree", file, "--dry-run").check(t, exitOK, "topic t exists", "")
}

// A stop by Ctrl-C while a change is followed says how far it is.
func TestFollowingIsInterrupted(t *testing.T) {
	_, c := plainCluster(t, false)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out, errs text
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"controller", "move", "--yes", "--zookeeper", c.addr, "--audit-log", c.log}, console{strings.NewReader(""), &out, &errs})
	}()
	await(t, "it follows", func() bool { return strings.Contains(out.String(), "nobody has taken over yet") })
	cancel()
	if code := <-done; code != exitUnknown || !strings.Contains(errs.String(), "it was followed no longer") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
