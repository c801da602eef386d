package model

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pathOf is the inverse of ParsePath for the kinds that have fields, or a fixed
// path.
func pathOf(r ZnodeRef) (string, bool) {
	fixed := map[ZnodeKind]string{RootZnode: "/", ControllerZnode: ControllerPath, ControllerEpochZnode: ControllerEpochPath, BrokersZnode: BrokersPath,
		BrokerIDsZnode: BrokerIDsPath, BrokerSequenceIDZnode: BrokerSequenceIDPath, TopicsZnode: TopicsPath, AdminZnode: AdminPath, DeleteTopicsZnode: DeleteTopicsPath,
		ReassignPartitionsZnode: ReassignPartitionsPath, PreferredReplicaElectionZnode: PreferredReplicaElectionPath, IsrChangesZnode: IsrChangeNotificationPath,
		LogDirEventsZnode: LogDirEventNotificationPath, ConfigZnode: ConfigPath, ConfigChangesZnode: ConfigChangesPath, ClusterZnode: ClusterPath,
		ClusterIDZnode: ClusterIDPath, FeatureZnode: FeaturePath, ProducerIDBlockZnode: ProducerIDBlockPath, MigrationZnode: MigrationPath}
	if path, ok := fixed[r.Kind]; ok {
		return path, true
	}
	switch r.Kind {
	case BrokerZnode:
		return BrokerIDPath(r.Broker), true
	case TopicZnode:
		return TopicPath(r.Topic), true
	case TopicPartitionsZnode:
		return TopicPartitionsPath(r.Topic), true
	case TopicPartitionZnode:
		return TopicPartitionPath(r.TopicPartition()), true
	case PartitionStateZnode:
		return TopicPartitionStatePath(r.TopicPartition()), true
	case DeleteTopicZnode:
		return DeleteTopicPath(r.Topic), true
	case IsrChangeZnode:
		return IsrChangePath(r.Name), true
	case LogDirEventZnode:
		return LogDirEventPath(r.Name), true
	case ConfigChangeZnode:
		return ConfigChangePath(r.Name), true
	case ConfigTypeZnode:
		return ConfigTypePath(r.Entity), true
	case ConfigEntityZnode:
		return ConfigEntityPath(r.Entity, r.Name), true
	}
	return "", false
}

func TestParsePath(t *testing.T) {
	cases := []struct {
		path string
		want ZnodeRef
	}{
		{"/", ZnodeRef{Kind: RootZnode}},
		{"/brokers/ids/7", ZnodeRef{Kind: BrokerZnode, Broker: 7}},
		{"/brokers/ids/-1", ZnodeRef{Kind: BrokerZnode, Broker: -1}},
		{"/brokers/ids/2147483647", ZnodeRef{Kind: BrokerZnode, Broker: 2147483647}},
		{"/brokers/ids/-2147483648", ZnodeRef{Kind: BrokerZnode, Broker: -2147483648}},
		{"/brokers/topics/a%2Fb", ZnodeRef{Kind: TopicZnode, Topic: "a%2Fb"}},
		{"/brokers/topics/bad name/partitions/12/state", ZnodeRef{Kind: PartitionStateZnode, Topic: "bad name", Partition: 12}},
		{"/brokers/topics/partitions/partitions/0", ZnodeRef{Kind: TopicPartitionZnode, Topic: "partitions"}},
		{"/admin/delete_topics/orders", ZnodeRef{Kind: DeleteTopicZnode, Topic: "orders"}},
		{"/isr_change_notification/isr_change_0000000102", ZnodeRef{Kind: IsrChangeZnode, Name: "0000000102"}},
		{"/log_dir_event_notification/log_dir_event_0000000001", ZnodeRef{Kind: LogDirEventZnode, Name: "0000000001"}},
		{"/config/changes/config_change_0000000003", ZnodeRef{Kind: ConfigChangeZnode, Name: "0000000003"}},
		{"/config/topics/orders", ZnodeRef{Kind: ConfigEntityZnode, Entity: "topics", Name: "orders", Topic: "orders"}},
		{"/config/brokers/<default>", ZnodeRef{Kind: ConfigEntityZnode, Entity: "brokers", Name: "<default>"}},
		{"/config/users/u/clients/c", ZnodeRef{Kind: ConfigEntityZnode, Entity: "users", Name: "u/clients/c"}},
		{"/consumers/g/offsets/t/0", ZnodeRef{Kind: ConsumersZnode, Name: "g/offsets/t/0"}},
		{"/kafka-acl-changes/acl_changes_0000000000", ZnodeRef{Kind: ACLZnode, Name: "kafka-acl-changes/acl_changes_0000000000"}},
		{"/delegation_token/tokens/x", ZnodeRef{Kind: DelegationTokenZnode, Name: "tokens/x"}},
	}
	for _, c := range cases {
		if got := ParsePath(c.path); got != c.want {
			t.Errorf("ParsePath(%q) is %+v, want %+v", c.path, got, c.want)
		}
	}
	for _, path := range []string{"", "x", "brokers/ids/1", "//", "/brokers/", "/brokers//ids", "/brokers/ids/", "/brokers/ids/07", "/brokers/ids/+7", "/brokers/ids/-0",
		"/brokers/ids/x", "/brokers/ids/2147483648", "/brokers/ids/99999999999999999999", "/brokers/ids/1/x", "/brokers/topics/t/partition", "/brokers/topics/t/partitionsx",
		"/brokers/topics/t/partitions/0/states", "/brokers/topics/t/partitions/0/state/x", "/brokers/topics/t/partitions/x", "/controller/x", "/zookeeper", "/kafka/controller",
		"/admin/x", "/admin/delete_topics/a/b", "/config/x", "/config/topics/a/b", "/isr_change_notification/x", "/isr_change_notification/isr_change_", "/cluster/x", "/"} {
		if got := ParsePath(path); path != "/" && got != (ZnodeRef{}) {
			t.Errorf("ParsePath(%q) is %+v", path, got)
		}
	}
}

func TestParsePathInverts(t *testing.T) {
	name := rapid.StringMatching(`[^/]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		tp := TP(name.Draw(t, "topic"), rapid.Int32().Draw(t, "partition"))
		entity := rapid.SampledFrom([]string{"topics", "clients", "users", "brokers", "ips"}).Draw(t, "entity")
		for _, path := range append(PersistentPaths(), TopicPath(tp.Topic), TopicPartitionsPath(tp.Topic), TopicPartitionPath(tp), TopicPartitionStatePath(tp),
			DeleteTopicPath(tp.Topic), BrokerIDPath(tp.Partition), ConfigEntityPath(entity, tp.Topic), BrokerConfigPath(tp.Partition), BrokerDefaultConfigPath(),
			TopicConfigPath(tp.Topic), IsrChangePath(tp.Topic), LogDirEventPath(tp.Topic), ConfigChangePath(tp.Topic), ConfigTypePath(entity)) {
			ref := ParsePath(path)
			back, known := pathOf(ref)
			if path != ConsumersPath && (!known || back != path) {
				t.Fatalf("%q is %+v, which lies at %q", path, ref, back)
			}
		}
	})
}

func TestZnodeKinds(t *testing.T) {
	names := map[string]bool{}
	for k := UnknownZnode; k <= ACLZnode; k++ {
		if k.String() == "" || names[k.String()] {
			t.Errorf("kind %d is named %q", k, k)
		}
		names[k.String()] = true
	}
	if got := ZnodeKind(200).String(); got != "unknown" {
		t.Errorf("kind 200 is named %q", got)
	}
}

func TestParsePathAllocatesNothing(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		for _, path := range []string{"/brokers/topics/orders/partitions/17/state", "/brokers/ids/3", "/config/topics/orders", "/isr_change_notification/isr_change_1", "/x"} {
			ParsePath(path)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestChroot(t *testing.T) {
	cases := []struct{ chroot, path, joined string }{
		{"", "/controller", "/controller"}, {"/", "/controller", "/controller"}, {"", "/", "/"},
		{"/kafka", "/controller", "/kafka/controller"}, {"/kafka/", "/brokers/ids", "/kafka/brokers/ids"}, {"/a/b", "/", "/a/b"},
	}
	for _, c := range cases {
		if got := JoinChroot(c.chroot, c.path); got != c.joined {
			t.Errorf("JoinChroot(%q, %q) is %q, want %q", c.chroot, c.path, got, c.joined)
		}
		if got, ok := StripChroot(c.chroot, c.joined); !ok || got != c.path {
			t.Errorf("StripChroot(%q, %q) is %q, %v, want %q", c.chroot, c.joined, got, ok, c.path)
		}
	}
	for _, c := range [][2]string{{"/kafka", "/kafka2/controller"}, {"/kafka", "/controller"}, {"/kafka", "/"}, {"/kafka", ""}, {"", ""}, {"", "x"}} {
		if got, ok := StripChroot(c[0], c[1]); ok {
			t.Errorf("StripChroot(%q, %q) is %q", c[0], c[1], got)
		}
	}
}

func TestPathParts(t *testing.T) {
	for path, want := range map[string][2]string{"/a/b/c": {"/a/b", "c"}, "/a": {"/", "a"}, "/": {"", ""}, "": {"", ""}, "a": {"", "a"}} {
		if p, c := ParentPath(path), ChildName(path); p != want[0] || c != want[1] {
			t.Errorf("%q: parent %q, child %q, want %q", path, p, c, want)
		}
	}
}

func TestFixedPaths(t *testing.T) {
	want := "/consumers /brokers/ids /brokers/topics /config/changes /admin/delete_topics /brokers/seqid /isr_change_notification " +
		"/latest_producer_id_block /log_dir_event_notification /config/topics /config/clients /config/users /config/brokers /config/ips"
	if got := strings.Join(PersistentPaths(), " "); got != want {
		t.Errorf("persistent paths %s, want %s", got, want)
	}
	for path, want := range map[string]bool{"/config/users/alice": true, "/config/brokers": true, "/config/topics/t": false, "/delegation_token/tokens/x": true, "/delegation_token": false} {
		if got := IsSensitivePath(path); got != want {
			t.Errorf("IsSensitivePath(%q) is %v", path, got)
		}
	}
	paths := []string{ACLResourcePath(PrefixedPattern, "TRANSACTIONAL_ID", "x"), ACLChangePath(LiteralPattern, "1"), DelegationTokenInfoPath("id"), DelegationTokenChangePath("2")}
	if want := []string{"/kafka-acl-extended/prefixed/TransactionalId/x", "/kafka-acl-changes/acl_changes_1", "/delegation_token/tokens/id", "/delegation_token/token_changes/token_change_2"}; !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
}
