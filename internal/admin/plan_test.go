package admin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

const absent = "\x00"

// world is a cluster of three brokers and two topics, with changes to it: pairs
// of path and data; absent takes a znode away.
func world(changes ...string) *tree.File {
	znodes := map[string]string{
		"/controller": `{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}`, "/controller_epoch": "7",
		"/cluster/id":  `{"version":"1","id":"cluster-of-tests-000000"}`,
		"/brokers/ids": "", "/brokers/topics": "", "/admin/delete_topics": "", "/config/topics": "", "/config/brokers": "",
		"/brokers/topics/t": `{"partitions":{"0":[1,2],"1":[2,3]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAg","adding_replicas":{},"removing_replicas":{},"version":3}`,
		"/brokers/topics/u": `{"partitions":{"0":[3]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAw","adding_replicas":{},"removing_replicas":{},"version":3}`,
		"/config/topics/t":  `{"version":1,"config":{}}`, "/config/topics/u": `{"version":1,"config":{}}`,
		"/brokers/topics/t/partitions/0/state": `{"controller_epoch":7,"leader":2,"version":1,"leader_epoch":3,"isr":[1,2]}`,
		"/brokers/topics/t/partitions/1/state": `{"controller_epoch":7,"leader":2,"version":1,"leader_epoch":3,"isr":[2,3]}`,
		"/brokers/topics/u/partitions/0/state": `{"controller_epoch":7,"leader":3,"version":1,"leader_epoch":0,"isr":[3]}`,
	}
	for id := 1; id <= 3; id++ {
		znodes[fmt.Sprintf("/brokers/ids/%d", id)] = fmt.Sprintf(`{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://h:%d"],"jmx_port":-1,"port":%d,"host":"h","version":5,"timestamp":"1"}`, 9090+id, 9090+id)
	}
	for i := 0; i < len(changes); i += 2 {
		if znodes[changes[i]] = changes[i+1]; changes[i+1] == absent {
			delete(znodes, changes[i])
		}
	}
	f := &tree.File{Config: tree.DefaultConfig()}
	paths := map[string]bool{}
	for path := range znodes {
		for ; path != "/"; path = model.ParentPath(path) {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		z := tree.Znode{Path: path, Version: 4, Czxid: 9, Ephemeral: path == "/controller" || strings.HasPrefix(path, "/brokers/ids/")}
		if data, ok := znodes[path]; ok && data != "" {
			z.Data = []byte(data)
		}
		if string(z.Data) == "NOAUTH" {
			z.Error = "NoAuth"
		}
		f.Znodes = append(f.Znodes, z)
	}
	return f
}

func planner(f *tree.File, s Settings) *Planner {
	return &Planner{Source: OfFile(f), Name: "a tree", Settings: s, Draw: func() model.Uuid { return model.Uuid{15: 9} }}
}

// written is what a plan writes, an operation a line.
func written(p *Plan) string {
	var b strings.Builder
	for i := range p.Writes {
		op := &p.Writes[i].Op
		fmt.Fprintf(&b, "%s v%d %s\n", op, op.Version, op.Data)
	}
	return b.String()
}

type planning func(*Planner) (*Plan, error)

func creates(c model.CreateTopic) planning {
	return func(p *Planner) (*Plan, error) { return p.CreateTopic(c) }
}
func grows(c model.AddPartitions) planning {
	return func(p *Planner) (*Plan, error) { return p.AddPartitions(c) }
}
func deletes(topic string) planning {
	return func(p *Planner) (*Plan, error) { return p.DeleteTopic(topic) }
}
func elects(topic string, partitions ...int32) planning {
	return func(p *Planner) (*Plan, error) { return p.Elect(topic, partitions) }
}
func moves(list ...model.PartitionReassignment) planning {
	return func(p *Planner) (*Plan, error) { return p.Reassign(list) }
}
func to(topic string, n int32, replicas ...int32) model.PartitionReassignment {
	return model.PartitionReassignment{TopicPartition: model.TP(topic, n), Replicas: replicas}
}

func TestWhatIsWritten(t *testing.T) {
	off := Settings{Protocol: model.IBP_2_3_IV1, From: "--properties x"}
	for name, c := range map[string]struct {
		tree     *tree.File
		settings Settings
		plan     planning
		want     string
	}{
		"a topic": {world(), Settings{}, creates(model.CreateTopic{Topic: "new", Partitions: 2, ReplicationFactor: 2, Config: map[string]string{"retention.ms": "5"}}),
			"create /config/topics/new v0 {\"version\":1,\"config\":{\"retention.ms\":\"5\"}}\n" +
				"create /brokers/topics/new v0 {\"partitions\":{\"0\":[1,2],\"1\":[2,3]},\"topic_id\":\"AAAAAAAAAAAAAAAAAAAACQ\",\"adding_replicas\":{},\"removing_replicas\":{},\"version\":3}\n"},
		"a topic by assignment, config left over": {world("/config/topics/new", `{"version":1,"config":{"a":"b"}}`), Settings{}, creates(model.CreateTopic{Topic: "new", Assignment: [][]int32{{3}}}),
			"set /config/topics/new v4 v4 {\"version\":1,\"config\":{}}\n" +
				"create /brokers/topics/new v0 {\"partitions\":{\"0\":[3]},\"topic_id\":\"AAAAAAAAAAAAAAAAAAAACQ\",\"adding_replicas\":{},\"removing_replicas\":{},\"version\":3}\n"},
		"a topic of an old cluster": {world("/brokers/topics/t", `{"version":2,"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}}`, "/brokers/topics/u", absent, "/brokers/topics/u/partitions/0/state", absent),
			Settings{}, creates(model.CreateTopic{Topic: "new", Assignment: [][]int32{{3}}}),
			"create /config/topics/new v0 {\"version\":1,\"config\":{}}\n" +
				"create /brokers/topics/new v0 {\"version\":2,\"partitions\":{\"0\":[3]},\"adding_replicas\":{},\"removing_replicas\":{}}\n"},
		"a topic by protocol 2.3": {world(), off, creates(model.CreateTopic{Topic: "new", Assignment: [][]int32{{3}}}),
			"create /config/topics/new v0 {\"version\":1,\"config\":{}}\ncreate /brokers/topics/new v0 {\"version\":1,\"partitions\":{\"0\":[3]}}\n"},
		"more partitions": {world(), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 3}),
			"set /brokers/topics/t v4 v4 {\"partitions\":{\"0\":[1,2],\"1\":[2,3],\"2\":[3,1]},\"topic_id\":\"AAAAAAAAAAAAAAAAAAAAAg\",\"adding_replicas\":{},\"removing_replicas\":{},\"version\":3}\n"},
		"more partitions by assignment": {world(), Settings{}, grows(model.AddPartitions{Topic: "u", Total: 3, Assignment: [][]int32{{1}, {2}}}),
			"set /brokers/topics/u v4 v4 {\"partitions\":{\"0\":[3],\"1\":[1],\"2\":[2]},\"topic_id\":\"AAAAAAAAAAAAAAAAAAAAAw\",\"adding_replicas\":{},\"removing_replicas\":{},\"version\":3}\n"},
		"a deletion":                  {world(), Settings{}, deletes("t"), "check /brokers/topics/t v4 v4 \ncreate /admin/delete_topics/t v0 \n"},
		"a deletion, no parent there": {world("/admin/delete_topics", absent), Settings{}, deletes("t"), "check /brokers/topics/t v4 v4 \ncreate /admin v0 \ncreate /admin/delete_topics v0 \ncreate /admin/delete_topics/t v0 \n"},
		"an election":                 {world(), Settings{}, elects("t"), "create /admin/preferred_replica_election v0 {\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0}]}\n"},
		"an election of all":          {world(), Settings{}, elects(""), "create /admin/preferred_replica_election v0 {\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0}]}\n"},
		"an election of none":         {world(), Settings{}, elects("t", 1), ""},
		"a reassignment": {world(), Settings{}, moves(to("t", 0, 2, 3), to("u", 0, 1)),
			"create /admin/reassign_partitions v0 {\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"replicas\":[2,3]},{\"topic\":\"u\",\"partition\":0,\"replicas\":[1]}]}\n"},
		"a reassignment to what is": {world(), Settings{}, moves(to("t", 0, 1, 2)), ""},
		"a move of the controller":  {world(), Settings{}, (*Planner).MoveController, "check /controller_epoch v4 v4 \ndelete /controller v4 v4 \n"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.plan(planner(c.tree, c.settings))
			if err != nil {
				t.Fatal(err)
			}
			if why := p.Refused(); why != "" {
				t.Fatalf("refused: %s", why)
			}
			if got := written(p); got != c.want {
				t.Errorf("it writes\n%swant\n%s", got, c.want)
			}
			if c.want == "" != (p.Nothing != "") {
				t.Errorf("nothing to do: %q", p.Nothing)
			}
			if c.want != "" && (p.ClusterID != "cluster-of-tests-000000" || p.Confirm == "" || p.Follow == "" || p.Follower() == nil || len(p.Watch) == 0) {
				t.Errorf("the plan lacks something: %+v", p)
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	no, yes := false, true
	moving := `{"partitions":{"0":[1,2,3],"1":[2,3]},"adding_replicas":{"0":[3]},"removing_replicas":{},"version":3}`
	valid := model.CreateTopic{Topic: "new", Partitions: 1, ReplicationFactor: 1}
	for name, c := range map[string]struct {
		tree     *tree.File
		settings Settings
		plan     planning
		want     string
	}{
		"an illegal name":           {world(), Settings{}, creates(model.CreateTopic{Topic: "a b", Partitions: 1, ReplicationFactor: 1}), "the name is legal, but topic name"},
		"a topic that exists":       {world(), Settings{}, creates(model.CreateTopic{Topic: "t", Partitions: 1, ReplicationFactor: 1}), "/brokers/topics/t is there"},
		"a name that collides":      {world("/brokers/topics/a.b", `{"version":1,"partitions":{"0":[1]}}`), Settings{}, creates(model.CreateTopic{Topic: "a_b", Partitions: 1, ReplicationFactor: 1}), "topic a.b does"},
		"a topic being deleted":     {world("/admin/delete_topics/new", ""), Settings{}, creates(valid), "/admin/delete_topics/new is there"},
		"too few brokers":           {world(), Settings{}, creates(model.CreateTopic{Topic: "new", Partitions: 1, ReplicationFactor: 4}), "larger than the number of available brokers (registered: 1,2,3)"},
		"no partitions":             {world(), Settings{}, creates(model.CreateTopic{Topic: "new", ReplicationFactor: 1}), "partitions must be larger than 0"},
		"too many partitions":       {world(), Settings{}, creates(model.CreateTopic{Topic: "new", Partitions: 1 << 30, ReplicationFactor: 1}), "more than ZooKeeper takes"},
		"growth by too many":        {world(), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 1 << 30}), "more than ZooKeeper takes"},
		"an unknown setting":        {world(), Settings{}, creates(model.CreateTopic{Topic: "new", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention": "5"}}), "unknown topic config name: retention"},
		"a setting of wrong type":   {world(), Settings{}, creates(model.CreateTopic{Topic: "new", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "x"}}), "retention.ms"},
		"a broker twice":            {world(), Settings{}, creates(model.CreateTopic{Topic: "new", Assignment: [][]int32{{1, 1}}}), "names a broker twice"},
		"unequal lists":             {world(), Settings{}, creates(model.CreateTopic{Topic: "new", Assignment: [][]int32{{1, 2}, {1}}}), "they must be equal"},
		"a broker that is dead":     {world("/brokers/ids/3", absent), Settings{}, creates(model.CreateTopic{Topic: "new", Assignment: [][]int32{{3}}}), "3 is not; registered: 1,2"},
		"a KRaft cluster":           {world("/controller", `{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":4}`), Settings{}, creates(valid), "KRaft controller 3000 (epoch 4)"},
		"growth of no topic":        {world(), Settings{}, grows(model.AddPartitions{Topic: "tt", Total: 3}), "/brokers/topics/tt is not there"},
		"growth over a gap":         {world("/brokers/topics/t", `{"version":1,"partitions":{"0":[1],"2":[1]}}`), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 4}), "has 2 partitions, and one of them is 2"},
		"growth to fewer":           {world(), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 1}), "cannot be lowered to 1"},
		"growth to as many":         {world(), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 2}), "has 2 partitions already"},
		"growth while moving":       {world("/brokers/topics/t", moving), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 3}), "partition 0 is: replicas 1,2,3, adding 3"},
		"growth while deleted":      {world("/admin/delete_topics/t", ""), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 3}), "queued for deletion"},
		"growth by another factor":  {world(), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 3, Assignment: [][]int32{{1}}}), "they must be equal"},
		"growth by too few lists":   {world(), Settings{}, grows(model.AddPartitions{Topic: "t", Total: 4, Assignment: [][]int32{{1, 2}}}), "1 for 2 new partitions"},
		"growth of the offsets":     {world("/brokers/topics/__consumer_offsets", `{"version":1,"partitions":{"0":[1]}}`), Settings{}, grows(model.AddPartitions{Topic: "__consumer_offsets", Total: 3}), "may not"},
		"deletion of no topic":      {world(), Settings{}, deletes("T"), "near: t"},
		"deletion twice":            {world("/admin/delete_topics/t", ""), Settings{}, deletes("t"), "queued for deletion"},
		"deletion of Kafka's own":   {world("/brokers/topics/__consumer_offsets", `{"version":1,"partitions":{"0":[1]}}`), Settings{}, deletes("__consumer_offsets"), "not Kafka's own"},
		"deletion off, said so":     {world(), Settings{DeleteTopicEnable: &no, From: "--properties x"}, deletes("t"), "false in --properties x"},
		"deletion off, dynamic":     {world("/config/brokers/<default>", `{"version":1,"config":{"delete.topic.enable":"false"}}`), Settings{}, deletes("t"), "/config/brokers/<default> has it at false"},
		"an election of no topic":   {world(), Settings{}, elects("x"), "/brokers/topics/x is not there"},
		"an election of no part":    {world(), Settings{}, elects("t", 7), "t-7 is not in"},
		"an election while deleted": {world("/admin/delete_topics/t", ""), Settings{}, elects("t"), "queued for deletion"},
		"an election beside one":    {world("/admin/preferred_replica_election", "{}"), Settings{}, elects("t"), "/admin/preferred_replica_election is there (version 4)"},
		"a move beside one":         {world("/admin/reassign_partitions", "{}"), Settings{}, moves(to("t", 0, 2, 3)), "/admin/reassign_partitions is there (version 4)"},
		"a move of no partition":    {world(), Settings{}, moves(to("t", 9, 2, 3)), "t-9 is not in"},
		"a move of no topic":        {world(), Settings{}, moves(to("x", 0, 2, 3)), "/brokers/topics/x is not there"},
		"a move to a dead broker":   {world(), Settings{}, moves(to("t", 0, 2, 9)), "9 is not; registered: 1,2,3"},
		"a move to nowhere":         {world(), Settings{}, moves(to("t", 0)), "no target replica"},
		"a move to one twice":       {world(), Settings{}, moves(to("t", 0, 2, 2)), "names a broker twice"},
		"a move twice":              {world(), Settings{}, moves(to("t", 0, 2, 3), to("t", 0, 3, 2)), "named twice"},
		"a move while moving":       {world("/brokers/topics/t", moving), Settings{}, moves(to("t", 0, 2, 3)), "is being reassigned already"},
		"a move of nothing":         {world(), Settings{}, moves(), "the list is empty"},
		"no controller to move":     {world("/controller", absent), Settings{}, (*Planner).MoveController, "/controller is not there"},
		"deletion on, but twice":    {world("/admin/delete_topics/t", ""), Settings{DeleteTopicEnable: &yes}, deletes("t"), "queued for deletion"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.plan(planner(c.tree, c.settings))
			if err != nil {
				t.Fatal(err)
			}
			if why := p.Refused(); !strings.Contains(why, c.want) {
				t.Errorf("refused: %q, want %q", why, c.want)
			}
			if len(p.Writes) > 0 || p.Follower() != nil {
				t.Errorf("it would write\n%s", written(p))
			}
		})
	}
}

// What may not be read is no ground for a plan.
func TestNoPlanWithoutPermission(t *testing.T) {
	for path, plan := range map[string]planning{"/brokers/topics/t": deletes("t"), "/controller": deletes("t"), "/config/topics/new": creates(model.CreateTopic{Topic: "new", Partitions: 1, ReplicationFactor: 1})} {
		p, err := plan(planner(world(path, "NOAUTH"), Settings{}))
		if err == nil || !strings.Contains(err.Error(), "read "+path+": NOAUTH") {
			t.Errorf("%s: plan %+v, error %v", path, p, err)
		}
	}
}

func TestWhatIsSaidWithAPlan(t *testing.T) {
	text := func(p *Plan) string {
		return strings.Join(slices.Concat(p.Expect, p.Notes, p.Warnings), "\n")
	}
	dead := world("/brokers/ids/1", absent, "/brokers/topics/t/partitions/1/state", absent)
	for name, c := range map[string]struct {
		tree *tree.File
		plan planning
		want []string
	}{
		"deletion":  {dead, deletes("t"), []string{"will wait for broker 1", "delete.topic.enable of the brokers is not visible"}},
		"election":  {world(), elects("t"), []string{"t-0: leader 2 -> 1"}},
		"dead":      {dead, elects("t"), []string{"t-0: leader 2 stays: broker 1 is not registered", "t-1: it has no usable state znode"}},
		"out of it": {world("/brokers/topics/t/partitions/0/state", `{"controller_epoch":7,"leader":2,"version":1,"leader_epoch":3,"isr":[2]}`), elects("t"), []string{"broker 1 is not in the ISR (2)"}},
		"creation":  {world("/controller", absent), creates(model.CreateTopic{Topic: "n.w", Assignment: [][]int32{{3}}}), []string{"n.w-0: replicas 3", "topic id: yes, as 2 of the 2 topics", "can collide", "no controller just now"}},
		"moves":     {world(), moves(to("t", 0, 2, 3)), []string{"t-0: 1,2 -> 2,3, adding 3, removing 1"}},
		"order":     {world(), moves(to("t", 0, 2, 1)), []string{"another order only"}},
		"migrating": {world("/migration", "{}"), deletes("t"), []string{"/migration is there"}},
	} {
		p, err := c.plan(planner(c.tree, Settings{}))
		if err != nil || p.Refused() != "" {
			t.Fatalf("%s: %v %s", name, err, p.Refused())
		}
		for _, want := range c.want {
			if !strings.Contains(text(p), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, text(p))
			}
		}
	}
}

func TestACLsOfNewZnodes(t *testing.T) {
	for set, want := range map[bool]string{false: "world:anyone:cdrwa", true: "auth::cdrwa, world:anyone:r"} {
		p, err := planner(world(), Settings{SetACL: set}).DeleteTopic("t")
		if err != nil || p.Writes[len(p.Writes)-1].ACL != want {
			t.Errorf("zookeeper.set.acl=%v: %+v, %v", set, p, err)
		}
		p, err = planner(world(), Settings{SetACL: set, Identity: true}).DeleteTopic("t")
		if err != nil || strings.Contains(strings.Join(p.Warnings, "\n"), "open to all") == set {
			t.Errorf("zookeeper.set.acl=%v with an identity: %q, %v", set, p.Warnings, err)
		}
	}
}

func TestAnElectionThatIsTooLarge(t *testing.T) {
	var lists, states []string
	for n := range 40_000 {
		lists = append(lists, fmt.Sprintf(`"%d":[1,2]`, n))
		states = append(states, fmt.Sprintf("/brokers/topics/big/partitions/%d/state", n), `{"controller_epoch":7,"leader":2,"version":1,"leader_epoch":3,"isr":[1,2]}`)
	}
	p, err := planner(world(append(states, "/brokers/topics/big", `{"version":1,"partitions":{`+strings.Join(lists, ",")+`}}`)...), Settings{}).Elect("big", nil)
	if err != nil || !strings.Contains(p.Refused(), "do it in parts") || len(p.Expect) > expected+1 {
		t.Errorf("refused: %q, %d lines, error %v", p.Refused(), len(p.Expect), err)
	}
}

// counted counts the calls to a source.
type counted struct {
	Source
	calls int
}

func (c *counted) Do(k *model.Call) model.Result { c.calls++; return c.Source.Do(k) }

// A call is a round trip: an election of all partitions makes no more of them for
// more topics.
func TestAnElectionOfAllReadsAtOnce(t *testing.T) {
	calls := func(changes ...string) int {
		p := planner(world(changes...), Settings{})
		source := &counted{Source: p.Source}
		p.Source = source
		if plan, err := p.Elect("", nil); err != nil || plan.Refused() != "" {
			t.Fatal(err, plan)
		}
		return source.calls
	}
	var more []string
	for i := range 20 {
		more = append(more, model.TopicPath(fmt.Sprint("more", i)), `{"partitions":{"0":[1]},"version":1}`)
	}
	if few, many := calls(), calls(more...); few != many {
		t.Errorf("%d calls for 2 topics, %d for 22", few, many)
	}
}
