package configs

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"kstate/internal/handshake"
	"kstate/internal/lab/zkserver"
	"kstate/internal/security"
	"kstate/internal/standin"
	"kstate/model"
)

// cluster is a tree with a controller, and an Admin on it that knows topic t.
type cluster struct {
	*Admin
	t     *testing.T
	store *zkserver.Store
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, store: zkserver.NewStore(zkserver.Options{FirstZxid: 1})}
	for _, path := range append([]string{"/brokers", "/admin", "/config"}, model.PersistentPaths()...) {
		c.put(path, nil)
	}
	c.put(model.ControllerPath, model.EncodeController(2, 1000, 1, -1))
	world := standin.New(standin.Options{Store: c.store})
	c.Admin = &Admin{Do: func(call *model.Call) model.Result { return world.Perform(call) }, Topic: func(name string) bool { return name == "t" }, Self: 1000}
	return c
}

func (c *cluster) put(path string, data []byte) {
	for i := 1; i <= len(path); i++ {
		if i == len(path) {
			c.store.Apply(0, zkserver.Create(path, data, 0))
		} else if path[i] == '/' {
			c.store.Apply(0, zkserver.Create(path[:i], nil, 0))
		}
	}
}

// config is what stands at an entity; nil: there is no such znode.
func (c *cluster) config(kind, name string) map[string]string {
	c.t.Helper()
	data, _, code := c.store.Get(model.ConfigEntityPath(kind, name))
	if code != zkserver.OK {
		return nil
	}
	config, err := model.DecodeConfig("", data)
	if err != nil {
		c.t.Fatal(err)
	}
	return config
}

// announced are the entities that changes were announced of, in order.
func (c *cluster) announced() []string {
	c.t.Helper()
	names, _, _ := c.store.Children(model.ConfigChangesPath)
	slices.Sort(names)
	var out []string
	for _, n := range names {
		data, _, _ := c.store.Get(model.ConfigChangesPath + "/" + n)
		change, present, err := model.DecodeConfigChange(n, data)
		if err != nil || !present || !strings.HasPrefix(n, "config_change_0000") {
			c.t.Errorf("%s: %q, %v", n, data, err)
		}
		out = append(out, change.EntityPath)
	}
	return out
}

func text(s string) *string { return &s }

func TestTopicSettings(t *testing.T) {
	c := newCluster(t)
	alter := func(whole bool, changes ...Change) Outcome {
		return c.Alter(Resource{Type: TopicResource, Name: "t", Whole: whole, Changes: changes}, false)
	}
	steps := []struct {
		whole   bool
		changes []Change
		want    map[string]string
	}{
		{false, []Change{{Set, "retention.ms", text("1000")}, {Append, "cleanup.policy", text("compact")}}, map[string]string{"retention.ms": "1000", "cleanup.policy": "delete,compact"}},
		{false, []Change{{Subtract, "cleanup.policy", text("delete,none")}, {Delete, "retention.ms", nil}}, map[string]string{"cleanup.policy": "compact"}},
		{true, []Change{{Set, "segment.ms", text("5")}}, map[string]string{"segment.ms": "5"}},
		{true, nil, map[string]string{}},
	}
	for i, s := range steps {
		if o := alter(s.whole, s.changes...); o.Error != model.ErrNone {
			t.Errorf("step %d: %+v", i, o)
		}
		if got := c.config(model.ConfigTypeTopics, "t"); !maps.Equal(got, s.want) {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
	}
	if got := c.announced(); !slices.Equal(got, []string{"topics/t", "topics/t", "topics/t", "topics/t"}) {
		t.Errorf("announced %v", got)
	}
	for _, x := range []struct {
		r    Resource
		code model.KafkaError
		says string
	}{
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Set, "no.such", text("1")}}}, model.ErrInvalidConfig, "no.such"},
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Set, "retention.ms", text("-2")}}}, model.ErrInvalidConfig, "retention.ms"},
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Set, "min.compaction.lag.ms", text("9")}, {Set, "max.compaction.lag.ms", text("8")}}}, model.ErrInvalidConfig, "conflict"},
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Set, "remote.storage.enable", text("true")}}}, model.ErrInvalidConfig, "Tiered"},
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Append, "retention.ms", text("1")}}}, model.ErrInvalidConfig, "append is not allowed"},
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Set, "retention.ms", nil}}}, model.ErrInvalidRequest, "Null value"},
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Set, "retention.ms", text("1")}, {Delete, "retention.ms", nil}}}, model.ErrInvalidRequest, "duplicate"},
		{Resource{Type: TopicResource, Name: "t", Changes: []Change{{Op: 9, Name: "retention.ms"}}}, model.ErrInvalidRequest, "unknown operation"},
		{Resource{Type: TopicResource}, model.ErrInvalidRequest, "Default topic"},
		{Resource{Type: TopicResource, Name: "none"}, model.ErrUnknownTopicOrPartition, "none"},
		{Resource{Type: BrokerResource, Name: "1"}, model.ErrInvalidRequest, "expected 1000, but received 1"},
		{Resource{Type: BrokerResource, Name: "one"}, model.ErrInvalidRequest, "integer"},
		{Resource{Type: 16, Name: "m"}, model.ErrInvalidRequest, "16"},
	} {
		if o := c.Alter(x.r, false); o.Error != x.code || !strings.Contains(o.Text, x.says) {
			t.Errorf("%+v: %+v, want %v and %q", x.r, o, x.code, x.says)
		}
	}
	if o := c.Alter(Resource{Type: TopicResource, Name: "t", Changes: []Change{{Set, "retention.ms", text("1")}}}, true); o.Error != model.ErrNone {
		t.Errorf("only validated: %+v", o)
	}
	if got := c.config(model.ConfigTypeTopics, "t"); len(got) != 0 || len(c.announced()) != 4 {
		t.Errorf("refusals and validation left %v", got)
	}
	c.store.Apply(0, zkserver.Delete(model.ControllerPath, -1))
	if o := alter(false, Change{Set, "retention.ms", text("1")}); o.Error != model.ErrNotController {
		t.Errorf("without a controller: %+v", o)
	}
}

func TestDefaultsOfAllBrokers(t *testing.T) {
	c := newCluster(t)
	set := func(name, value string) Outcome {
		return c.Alter(Resource{Type: BrokerResource, Changes: []Change{{Set, name, text(value)}}}, false)
	}
	for name, value := range map[string]string{"unclean.leader.election.enable": "true", "log.retention.ms": "-1", "num.io.threads": "8", "max.connections": "5", "listener.name.x.max.connections": "5"} {
		if o := set(name, value); o.Error != model.ErrNone {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if got := c.config(model.ConfigTypeBrokers, model.DefaultEntity); got["unclean.leader.election.enable"] != "true" || len(got) != 5 {
		t.Errorf("%v", got)
	}
	for name, why := range map[string]string{"broker.id": "dynamically", "log.retention.hours": "dynamically", "ssl.keystore.location": "broker id must be specified",
		"listener.name.x.ssl.keystore.location": "broker id must be specified", "listeners": "broker id must be specified"} {
		if o := set(name, "1"); o.Error != model.ErrInvalidConfig || !strings.Contains(o.Text, why) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	for name, value := range map[string]string{"unclean.leader.election.enable": "yes", "num.io.threads": "0", "log.retention.ms": "-2"} {
		if o := set(name, value); o.Error != model.ErrInvalidConfig || !strings.Contains(o.Text, name) {
			t.Errorf("%s=%s: %+v", name, value, o)
		}
	}
	if got := c.announced(); len(got) != 5 || got[0] != "brokers/<default>" {
		t.Errorf("announced %v", got)
	}
}

func TestQuotas(t *testing.T) {
	c := newCluster(t)
	user, client := EntityPart{"user", text("a b")}, EntityPart{"client-id", text("c")}
	both := Entity{user, client}
	set := func(e Entity, key string, value float64) Outcome {
		return c.AlterQuotas(e, []QuotaChange{{Key: key, Value: value}}, false)
	}
	drop := func(e Entity, key string) Outcome {
		return c.AlterQuotas(e, []QuotaChange{{Key: key, Remove: true}}, false)
	}
	for _, o := range []Outcome{set(both, "producer_byte_rate", 1000), set(Entity{user}, "controller_mutation_rate", 2), set(Entity{{"ip", nil}}, "connection_creation_rate", 7), set(Entity{{"client-id", nil}}, "request_percentage", 12.5)} {
		if o.Error != model.ErrNone {
			t.Errorf("%+v", o)
		}
	}
	for _, x := range [][4]string{{model.ConfigTypeUsers, "a%20b/clients/c", "producer_byte_rate", "1000"}, {model.ConfigTypeUsers, "a%20b", "controller_mutation_rate", "2.0"},
		{model.ConfigTypeIPs, "<default>", "connection_creation_rate", "7"}, {model.ConfigTypeClients, "<default>", "request_percentage", "12.5"}} {
		if got := c.config(x[0], x[1])[x[2]]; got != x[3] {
			t.Errorf("%s/%s %s=%q, want %q", x[0], x[1], x[2], got, x[3])
		}
	}
	drop(Entity{user}, "controller_mutation_rate")
	if c.config(model.ConfigTypeUsers, "a%20b") == nil {
		t.Error("a user went whose client has quotas")
	}
	drop(both, "producer_byte_rate")
	if _, code := c.store.Exists("/config/users/a%20b"); code != zkserver.NoNode {
		t.Errorf("an empty user stays: %v", code)
	}
	drop(Entity{{"client-id", nil}}, "request_percentage")
	if c.config(model.ConfigTypeClients, "<default>") != nil {
		t.Error("an empty client stays")
	}
	if got := c.announced(); !slices.Equal(got, []string{"users/a%20b/clients/c", "users/a%20b", "ips/<default>", "clients/<default>", "users/a%20b", "users/a%20b/clients/c", "clients/<default>"}) {
		t.Errorf("announced %v", got)
	}
	for _, x := range []struct {
		e     Entity
		key   string
		value float64
		says  string
	}{
		{nil, "producer_byte_rate", 1, "empty client quota entity"}, {Entity{{"group", nil}}, "producer_byte_rate", 1, "Unhandled"},
		{Entity{{"user", text("")}}, "producer_byte_rate", 1, "Empty user"}, {Entity{{"ip", text("1.2.3.4")}, user}, "producer_byte_rate", 1, "combination"},
		{Entity{user}, "connection_creation_rate", 1, "Invalid configuration key"}, {Entity{user}, "SCRAM-SHA-256", 1, "Invalid configuration key"},
		{Entity{user}, "producer_byte_rate", 1.5, "LONG"}, {Entity{user}, "producer_byte_rate", math.NaN(), "LONG"}, {Entity{{"ip", nil}}, "connection_creation_rate", 1e10, "INT"},
	} {
		if o := set(x.e, x.key, x.value); o.Error != model.ErrInvalidRequest || !strings.Contains(o.Text, x.says) {
			t.Errorf("%v %s=%v: %+v", x.e, x.key, x.value, o)
		}
	}
}

func TestNumbersAsJavaWritesThem(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 1: "1.0", 0.001: "0.001", 0.0005: "5.0E-4", 9999999: "9999999.0", 1e7: "1.0E7", 1.25e10: "1.25E10", -2.5: "-2.5", math.Inf(1): "Infinity", math.Inf(-1): "-Infinity"} {
		if got := javaDouble(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestScramUsers(t *testing.T) {
	c := newCluster(t)
	salted := make([]byte, 64)
	put := func(user string, mechanism int8, iterations int32) ScramChange {
		return ScramChange{User: user, Mechanism: mechanism, Iterations: iterations, Salt: []byte("salt"), SaltedPassword: salted}
	}
	got := c.AlterScram([]ScramChange{put("ann", 1, 4096), put("ann", 2, 8192), put("bob", 2, 100), put("", 1, 4096), put("cat", 3, 4096),
		put("dan", 1, 4096), put("dan", 1, 4096), {User: "eve", Mechanism: 1, Remove: true}, put("fay", 1, 16385)})
	want := map[string]model.KafkaError{"": ErrUnacceptableCredential, "ann": model.ErrNone, "bob": ErrUnacceptableCredential, "cat": ErrUnsupportedSaslMechanism,
		"dan": ErrDuplicateResource, "eve": ErrResourceNotFound, "fay": ErrUnacceptableCredential}
	for _, o := range got {
		if o.Error != want[o.User] {
			t.Errorf("%s: %+v", o.User, o)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d outcomes", len(got))
	}
	config := c.config(model.ConfigTypeUsers, "ann")
	cred, err := handshake.DecodeCredential(config["SCRAM-SHA-512"])
	if want := handshake.NewCredential(security.ScramSHA512, []byte("salt"), salted, 8192); err != nil || cred.Encode() != want.Encode() || len(config) != 2 {
		t.Errorf("ann has %d credentials, %v", len(config), err)
	}
	c.AlterScram([]ScramChange{{User: "ann", Mechanism: 1, Remove: true}})
	if config := c.config(model.ConfigTypeUsers, "ann"); len(config) != 1 {
		t.Errorf("ann has %d credentials left", len(config))
	}
	c.AlterScram([]ScramChange{{User: "ann", Mechanism: 2, Remove: true}})
	if c.config(model.ConfigTypeUsers, "ann") != nil {
		t.Error("an empty user stays")
	}
	if got := c.announced(); !slices.Equal(got, []string{"users/ann", "users/ann", "users/ann"}) {
		t.Errorf("announced %v", got)
	}
}

func TestSettingsAsTheyHold(t *testing.T) {
	got := map[string]Effective{}
	for _, e := range OfTopic(map[string]string{"retention.bytes": "5"}, map[string]string{"log.retention.hours": "2", "log.roll.ms": "7", "log.roll.hours": "9", "log.retention.bytes": "6", "min.insync.replicas": "2"}) {
		got[e.Name] = e
	}
	for name, want := range map[string]Effective{"retention.bytes": {Value: "5", Source: FromTopic}, "retention.ms": {Value: "7200000", Source: FromBroker},
		"segment.ms": {Value: "7", Source: FromBroker}, "min.insync.replicas": {Value: "2", Source: FromBroker}, "cleanup.policy": {Value: "delete", Source: FromDefault}} {
		if want.Name = name; got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
	if len(got) != len(topicDefaults) || len(got) < 36 {
		t.Errorf("%d settings", len(got))
	}
}

func TestSanitize(t *testing.T) {
	for name, want := range map[string]string{"": "", "a-B_9.x": "a-B_9.x", "a b/c*": "a%20b%2Fc%2A", "ä~": "%C3%A4%7E"} {
		if got := Sanitize(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
