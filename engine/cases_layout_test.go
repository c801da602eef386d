package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kstate/model"
)

// layoutCase is one case of testdata/zk_layout.json.
type layoutCase struct {
	ID      string          `json:"id"`
	What    string          `json:"what"`
	Kind    string          `json:"kind"`
	Znode   string          `json:"znode"`
	Path    string          `json:"path"`
	Mode    string          `json:"mode"`
	Paths   []string        `json:"paths"`
	Value   json.RawMessage `json:"value"`
	Payload *string         `json:"payload"`
	Reader  string          `json:"reader"`
	IBP     string          `json:"ibp"`
	Version int32           `json:"version"`
	Expect  struct {
		Value  json.RawMessage      `json:"value"`
		Absent bool                 `json:"absent"`
		Error  model.DecodeCategory `json:"error"`
	} `json:"expect"`
	ControllerReadsAs json.RawMessage `json:"controller_reads_as"`
}

// runLayoutCase holds the codecs of package model against a case of zk_layout.json.
func runLayoutCase(t *testing.T, s *scenario) {
	var c layoutCase
	if err := json.Unmarshal(s.text, &c); err != nil {
		t.Fatalf("the case cannot be read: %v", err)
	}
	switch c.Kind {
	case "path":
		checkLayoutPath(t, c)
	case "path_list":
		checkLayoutPathList(t, c)
	case "encode":
		checkLayoutEncode(t, c)
	case "decode":
		checkLayoutDecode(t, c)
	case "version":
		checkLayoutVersion(t, c)
	default:
		t.Fatalf("no kind %q", c.Kind)
	}
}

func checkLayoutPath(t *testing.T, c layoutCase) {
	tp := model.TP("<topic>", 7)
	paths := map[string]string{ // by the template, with 7 for each number
		"/controller":                            model.ControllerPath,
		"/controller_epoch":                      model.ControllerEpochPath,
		"/brokers/ids/<id>":                      model.BrokerIDPath(7),
		"/brokers/topics/<topic>":                model.TopicPath("<topic>"),
		"/brokers/seqid":                         model.BrokerSequenceIDPath,
		"/admin/reassign_partitions":             model.ReassignPartitionsPath,
		"/feature":                               model.FeaturePath,
		"/admin/preferred_replica_election":      model.PreferredReplicaElectionPath,
		"/cluster/id":                            model.ClusterIDPath,
		"/latest_producer_id_block":              model.ProducerIDBlockPath,
		"/migration":                             model.MigrationPath,
		"/brokers/topics/<topic>/partitions/<n>": model.TopicPartitionPath(tp),
		"/log_dir_event_notification/log_dir_event_<seq>": model.LogDirEventPath("0000000007"),
		"/config/changes/config_change_<seq>":             model.ConfigChangePath("0000000007"),
		"/config/brokers/<id>":                            model.BrokerConfigPath(7),
		"/config/brokers/<default>":                       model.BrokerDefaultConfigPath(),
		"/config/<type>/<name>":                           model.ConfigEntityPath("<type>", "<name>"),
		"/delegation_token/tokens/<id>":                   model.DelegationTokenInfoPath("7"),
		"/brokers/topics/<topic>/partitions":              model.TopicPartitionsPath("<topic>"),
		"/brokers/topics/<topic>/partitions/<n>/state":    model.TopicPartitionStatePath(tp),
		"/admin/delete_topics/<topic>":                    model.DeleteTopicPath("<topic>"),
		"/isr_change_notification/isr_change_<seq>":       model.IsrChangePath("0000000007"),
		"/config/topics/<topic>":                          model.TopicConfigPath("<topic>"),
		"/consumers/<group>/offsets/<topic>/<n>":          model.ConsumerOffsetPath("<group>", tp),
		"/kafka-acl/<Type>/<name>":                        model.ACLResourcePath(model.LiteralPattern, "<Type>", "<name>"),
	}
	if c.Value != nil { // an example instead of a template
		var v struct {
			Group, Topic string
			Partition    int32
		}
		unmarshal(t, c.Value, &v)
		paths[c.Path] = model.ConsumerOffsetPath(v.Group, model.TP(v.Topic, v.Partition))
	}
	want := strings.NewReplacer("<id>", "7", "<n>", "7", "<seq>", "0000000007").Replace(c.Path)
	if path, ok := paths[c.Path]; ok && path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	ref := model.ParsePath(want)
	if ref.Kind == model.UnknownZnode {
		t.Errorf("ParsePath(%s) does not know it", want)
	}
	if ref.Kind == model.ACLZnode || ref.Kind == model.DelegationTokenZnode {
		return // their change notifications have no kind of their own, and no mode
	}
	if mode := ref.Kind.Mode().String(); mode != c.Mode {
		t.Errorf("%v is created %s, want %s", ref.Kind, mode, c.Mode)
	}
}

func checkLayoutPathList(t *testing.T, c layoutCase) {
	lists := [][]string{model.PersistentPaths(), model.SecureRootPaths(), model.SensitiveRootPaths()}
	for _, pattern := range []string{model.LiteralPattern, model.PrefixedPattern} {
		root := model.ParentPath(model.ACLTypePath(pattern, "TOPIC"))
		lists = append(lists, []string{root, model.ACLTypePath(pattern, "TOPIC"), model.ParentPath(model.ACLChangePath(pattern, ""))})
	}
	if !slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, c.Paths) }) {
		t.Errorf("paths %q: there is no such list; the lists are %q", c.Paths, lists)
	}
}

func checkLayoutVersion(t *testing.T, c layoutCase) {
	v, err := model.ParseInterBrokerProtocol(c.IBP)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := map[string]int32{"broker": v.BrokerZnodeVersion(), "feature": v.FeatureZnodeVersion(), "controller": 2, "topic": 3, "state": 1}[c.Znode]
	if !ok {
		t.Fatalf("no versions of %q", c.Znode)
	}
	if got != c.Version {
		t.Errorf("version %d, want %d", got, c.Version)
	}
}

// layoutValue is the union of the value notations of the table.
type layoutValue struct {
	BrokerID    int32                      `json:"brokerid"`
	KRaftEpoch  *int32                     `json:"kraft_controller_epoch"`
	Epoch       int32                      `json:"epoch"`
	Version     int32                      `json:"version"`
	Endpoints   []json.RawMessage          `json:"endpoints"`
	JMXPort     *int32                     `json:"jmx_port"`
	Rack        *string                    `json:"rack"`
	Features    map[string]json.RawMessage `json:"features"`
	TopicID     *string                    `json:"topic_id"`
	Partitions  map[string]layoutReplicas  `json:"partitions"`
	Leader      int32                      `json:"leader"`
	LeaderEpoch int32                      `json:"leader_epoch"`
	ISR         []int32                    `json:"isr"`
	ControlEp   int32                      `json:"controller_epoch"`
	Recovery    string                     `json:"recovery"`
	Broker      int32                      `json:"broker"`
	EntityPath  string                     `json:"entity_path"`
	ID          string                     `json:"id"`
	First       int64                      `json:"first"`
	Last        int64                      `json:"last"`
	Size        int32                      `json:"size"`
	Status      string                     `json:"status"`
	Type        string                     `json:"type"`
	Name        string                     `json:"name"`
	Pattern     string                     `json:"pattern"`
}

type layoutReplicas struct {
	Replicas []int32 `json:"replicas"`
	Adding   []int32 `json:"adding"`
	Removing []int32 `json:"removing"`
}

func (v *layoutValue) state() model.LeaderIsrAndControllerEpoch {
	l := model.LeaderIsrAndControllerEpoch{ControllerEpoch: v.ControlEp}
	l.Leader, l.LeaderEpoch, l.ISR = v.Leader, v.LeaderEpoch, v.ISR
	if v.Recovery == "RECOVERING" {
		l.Recovery = model.Recovering
	}
	return l
}

func (v *layoutValue) topic(t *testing.T) model.TopicAssignment {
	var out model.TopicAssignment
	if v.TopicID != nil {
		id, err := model.ParseUuid(*v.TopicID)
		if err != nil {
			t.Fatal(err)
		}
		out.ID = id
	}
	for key, p := range v.Partitions {
		n, err := strconv.Atoi(key)
		if err != nil {
			t.Fatal(err)
		}
		out.Partitions = append(out.Partitions, model.PartitionAssignment{Partition: int32(n), ReplicaAssignment: model.ReplicaAssignment(p)})
	}
	slices.SortFunc(out.Partitions, func(a, b model.PartitionAssignment) int { return int(a.Partition - b.Partition) })
	return out
}

func (v *layoutValue) broker(t *testing.T) *model.Broker {
	b := &model.Broker{ID: 1}
	for _, raw := range v.Endpoints {
		var text string
		if json.Unmarshal(raw, &text) == nil { // LISTENER://host:port, protocol named like the listener
			listener, address, _ := strings.Cut(text, "://")
			host, port, _ := strings.Cut(address, ":")
			n, err := strconv.Atoi(port)
			if err != nil {
				t.Fatal(err)
			}
			b.Endpoints = append(b.Endpoints, model.Endpoint{Listener: listener, Protocol: listener, Host: host, Port: int32(n)})
			continue
		}
		var e model.Endpoint
		unmarshal(t, raw, &e)
		b.Endpoints = append(b.Endpoints, e)
	}
	if v.Rack != nil {
		b.Rack = *v.Rack
	}
	for name, raw := range v.Features {
		var r [2]int16
		unmarshal(t, raw, &r)
		if b.Features == nil {
			b.Features = map[string]model.VersionRange{}
		}
		b.Features[name] = model.VersionRange{Min: r[0], Max: r[1]}
	}
	return b
}

func (v *layoutValue) finalized(t *testing.T) model.FinalizedFeatures {
	f := model.FinalizedFeatures{Version: v.Version, Features: map[string]int16{}}
	if v.Status == "enabled" {
		f.Status = model.FeaturesEnabled
	}
	for name, raw := range v.Features {
		var level int16
		unmarshal(t, raw, &level)
		f.Features[name] = level
	}
	return f
}

// reassignments reads the notation {"topic-partition": [ids]}, ascending.
func reassignments(t *testing.T, raw json.RawMessage) []model.PartitionReassignment {
	var m map[string][]int32
	unmarshal(t, raw, &m)
	out := []model.PartitionReassignment{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		tp, err := model.ParseTopicPartition(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, model.PartitionReassignment{TopicPartition: tp, Replicas: m[name]})
	}
	return out
}

func partitionNames(t *testing.T, raw json.RawMessage) []model.TopicPartition {
	var names []string
	unmarshal(t, raw, &names)
	out := []model.TopicPartition{}
	for _, name := range names {
		tp, err := model.ParseTopicPartition(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tp)
	}
	return out
}

func unmarshal(t *testing.T, raw json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

var timestampField = regexp.MustCompile(`"timestamp":"\d+"`)

func checkLayoutEncode(t *testing.T, c layoutCase) {
	var v layoutValue
	if c.Value[0] == '{' && c.Znode != "reassign_partitions" && c.Znode != "config" {
		unmarshal(t, c.Value, &v)
	}
	const now = 1700000000000
	var got []byte
	switch c.Znode {
	case "controller":
		got = model.EncodeController(2, v.BrokerID, now, *v.KRaftEpoch)
	case "controller_epoch":
		got = model.EncodeControllerEpoch(v.Epoch)
	case "broker":
		got = model.EncodeBroker(v.broker(t), v.Version, *v.JMXPort, now)
	case "topic":
		got = model.EncodeTopic(v.topic(t))
	case "state":
		got = model.EncodePartitionState(v.state())
	case "isr_change":
		got = model.EncodeIsrChange(partitionNames(t, c.Value))
	case "log_dir_event":
		got = model.EncodeLogDirEvent(v.Broker)
	case "reassign_partitions":
		got = model.EncodeReassignPartitions(reassignments(t, c.Value))
	case "config_change":
		got = model.EncodeConfigChange(v.EntityPath)
	case "cluster_id":
		got = model.EncodeClusterID(v.ID)
	case "preferred_replica_election":
		got = model.EncodePreferredReplicaElection(partitionNames(t, c.Value))
	case "producer_id_block":
		size := v.Size
		if size == 0 {
			size = int32(v.Last - v.First + 1)
		}
		got = model.EncodeProducerIDBlock(model.ProducerIDBlock{Broker: v.Broker, First: v.First, Size: size})
	case "config":
		settings := map[string]string{}
		unmarshal(t, c.Value, &settings)
		got = model.EncodeConfig(settings)
	case "feature":
		got = model.EncodeFeatures(v.finalized(t))
	case "acl_change":
		pattern := v.Pattern
		if pattern == "" {
			pattern = model.LiteralPattern
		}
		if want := strings.Replace(model.ACLChangePath(pattern, ""), "acl_changes_", "acl_changes_<seq>", 1); c.Path != want {
			t.Errorf("path %s, want %s", want, c.Path)
		}
		got = model.EncodeACLChange(pattern, v.Type, v.Name)
	default:
		t.Fatalf("no encoder for %q", c.Znode)
	}
	if text := timestampField.ReplaceAllString(string(got), `"timestamp":"<ms>"`); text != *c.Payload {
		t.Errorf("payload\n%s, want\n%s", text, *c.Payload)
	}
}

// decoded is what a decoder gave: a value in the notation of the table, or none.
type decoded struct {
	got, want any
	present   bool
	err       error
}

func checkLayoutDecode(t *testing.T, c layoutCase) {
	var data []byte
	if c.Payload != nil {
		data = []byte(*c.Payload)
	}
	d := decodeLayout(t, c, data)
	if c.Expect.Error != "" {
		var bad *model.DecodeError
		if !errors.As(d.err, &bad) {
			t.Fatalf("error %v, want %s", d.err, c.Expect.Error)
		}
		if bad.Category != c.Expect.Error || bad.Path != c.Path || !strings.Contains(bad.Error(), c.Path) {
			t.Errorf("error %q with category %s, want %s", bad, bad.Category, c.Expect.Error)
		}
		if empty := string(c.ControllerReadsAs) == "{}"; bad.Ignored != empty {
			t.Errorf("Ignored %v, want %v", bad.Ignored, empty)
		}
		return
	}
	switch {
	case d.err != nil:
		t.Errorf("error %v", d.err)
	case d.present == c.Expect.Absent:
		t.Errorf("present %v, want %v", d.present, !c.Expect.Absent)
	case !c.Expect.Absent && !reflect.DeepEqual(d.got, d.want):
		t.Errorf("value\n%+v, want\n%+v", d.got, d.want)
	}
}

func decodeLayout(t *testing.T, c layoutCase, data []byte) (d decoded) {
	var v layoutValue
	isObject := len(c.Expect.Value) > 0 && c.Expect.Value[0] == '{'
	if isObject && c.Znode != "config" && c.Znode != "reassign_partitions" {
		unmarshal(t, c.Expect.Value, &v)
	}
	value := func() json.RawMessage {
		if c.Expect.Value == nil {
			return json.RawMessage("null")
		}
		return c.Expect.Value
	}
	d.present = true
	switch c.Znode {
	case "controller":
		if c.Reader == "registration" {
			_, d.err = model.DecodeControllerRegistration(c.Path, data)
			return d
		}
		reg, regErr := model.DecodeControllerRegistration(c.Path, data)
		d.got, d.present, d.err = firstOf(model.DecodeController(c.Path, data))
		d.want = v.BrokerID
		if d.err == nil && (regErr != nil || reg.Broker != d.got) {
			t.Errorf("the reader of the whole registration says %v, %v", reg, regErr)
		}
	case "controller_epoch":
		d.got, d.err = model.DecodeControllerEpoch(c.Path, data)
		d.want = v.Epoch
	case "broker":
		reg, err := model.DecodeBroker(c.Path, data)
		want := v.broker(t)
		if v.JMXPort == nil {
			v.JMXPort = &reg.JMXPort
		}
		d.got, d.want, d.err = fmt.Sprint(reg.Broker, reg.JMXPort), fmt.Sprint(*want, *v.JMXPort), err
	case "topic":
		topic, present, err := model.DecodeTopic(c.Path, data)
		topic.Version = 0
		d.got, d.want, d.present, d.err = fmt.Sprint(topic), fmt.Sprint(v.topic(t)), present, err
	case "state":
		d.got, d.present, d.err = firstOf(model.DecodePartitionState(c.Path, data))
		d.want = v.state()
	case "isr_change":
		list, err := model.DecodeIsrChange(c.Path, data)
		d.got, d.want, d.err = append([]model.TopicPartition{}, list...), partitionNames(t, value()), err
	case "preferred_replica_election":
		list, err := model.DecodePreferredReplicaElection(c.Path, data)
		d.got, d.want, d.err = append([]model.TopicPartition{}, list...), partitionNames(t, value()), err
	case "log_dir_event":
		d.got, d.present, d.err = firstOf(model.DecodeLogDirEvent(c.Path, data))
		d.want = v.Broker
	case "reassign_partitions":
		list, err := model.DecodeReassignPartitions(c.Path, data)
		d.got, d.want, d.err = append([]model.PartitionReassignment{}, list...), reassignments(t, value()), err
	case "config":
		want := map[string]string{}
		unmarshal(t, value(), &want)
		d.got, d.err = model.DecodeConfig(c.Path, data)
		d.want = want
	case "cluster_id":
		d.got, d.err = model.DecodeClusterID(c.Path, data)
		d.want = v.ID
	case "producer_id_block":
		b, err := model.DecodeProducerIDBlock(c.Path, data)
		d.got, d.want, d.err = fmt.Sprint(b, b.Last()), fmt.Sprint(model.ProducerIDBlock{Broker: v.Broker, First: v.First, Size: v.Size}, v.Last), err
	case "config_change":
		change, present, err := model.DecodeConfigChange(c.Path, data)
		d.got, d.want, d.present, d.err = change.EntityPath, v.EntityPath, present, err
	case "feature":
		d.got, d.err = model.DecodeFeatures(c.Path, data)
		d.want = v.finalized(t)
	default:
		t.Fatalf("no decoder for %q", c.Znode)
	}
	return d
}

// firstOf fits the three results of a lenient decoder.
func firstOf[T any](v T, present bool, err error) (any, bool, error) { return v, present, err }
