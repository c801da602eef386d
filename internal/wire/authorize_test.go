package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// ruled is a server with rules about who is not authenticated, on the golden cluster.
func ruled(t *testing.T, rules string) *testServer {
	t.Helper()
	list, err := acl.ReadRules([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	set := acl.NewSet(list, nil, false)
	return newTestServer(t, func(o *ServerOptions) { o.Rules = func() *acl.Set { return set } })
}

const denied, deniedTopic = int16(31), int16(29)

// Without leave for the cluster each of its requests is refused in its own form,
// and none becomes a question.
func TestNothingIsAllowed(t *testing.T) {
	ts := ruled(t, "")
	c := ts.connect()
	for what, code := range map[string]int16{
		"AlterPartition":             ask[*kmsg.AlterPartitionResponse](c, kmsg.NewPtrAlterPartitionRequest(), 3).ErrorCode,
		"ControlledShutdown":         ask[*kmsg.ControlledShutdownResponse](c, kmsg.NewPtrControlledShutdownRequest(), 3).ErrorCode,
		"AllocateProducerIds":        ask[*kmsg.AllocateProducerIDsResponse](c, kmsg.NewPtrAllocateProducerIDsRequest(), 0).ErrorCode,
		"UpdateFeatures":             ask[*kmsg.UpdateFeaturesResponse](c, kmsg.NewPtrUpdateFeaturesRequest(), 1).ErrorCode,
		"ListPartitionReassignments": ask[*kmsg.ListPartitionReassignmentsResponse](c, kmsg.NewPtrListPartitionReassignmentsRequest(), 0).ErrorCode,
		"DescribeLogDirs":            ask[*kmsg.DescribeLogDirsResponse](c, kmsg.NewPtrDescribeLogDirsRequest(), 4).ErrorCode,
	} {
		if code != denied {
			t.Errorf("%s: error %d", what, code)
		}
	}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "a", Partitions: []int32{0}}}
	if a := ask[*kmsg.ElectLeadersResponse](c, elect, 2); a.ErrorCode != denied || a.Topics[0].Partitions[0].ErrorCode != denied {
		t.Errorf("ElectLeaders: %+v", a)
	}
	move := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	move.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "a", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 0}}}}
	if a := ask[*kmsg.AlterPartitionAssignmentsResponse](c, move, 0); a.ErrorCode != denied || a.Topics[0].Partitions[0].ErrorCode != denied {
		t.Errorf("AlterPartitionReassignments: %+v", a)
	}
	cluster := kmsg.NewPtrDescribeClusterRequest()
	cluster.IncludeClusterAuthorizedOperations = true
	if a := ask[*kmsg.DescribeClusterResponse](c, cluster, 1); a.ErrorCode != 0 || a.ClusterAuthorizedOperations != 0 || len(a.Brokers) != 2 {
		t.Errorf("DescribeCluster: %+v", a)
	}
	if a := ask[*kmsg.MetadataResponse](c, kmsg.NewPtrMetadataRequest(), 12); len(a.Topics) != 0 || len(a.Brokers) != 2 {
		t.Errorf("Metadata: %+v", a)
	}
	q := kmsg.NewPtrMetadataRequest()
	for _, name := range []string{"a", "none"} {
		q.Topics = append(q.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	for _, topic := range ask[*kmsg.MetadataResponse](c, q, 12).Topics {
		if topic.ErrorCode != deniedTopic || topic.TopicID != [16]byte{} || len(topic.Partitions) != 0 {
			t.Errorf("Metadata of a topic: %+v", topic)
		}
	}
	q.Topics = []kmsg.MetadataRequestTopic{{TopicID: idA}, {TopicID: [16]byte{9}}}
	a := ask[*kmsg.MetadataResponse](c, q, 12)
	if len(a.Topics) != 2 || a.Topics[0].ErrorCode != deniedTopic || a.Topics[0].Topic != nil || a.Topics[0].TopicID != idA || a.Topics[1].ErrorCode != int16(model.ErrUnknownTopicID) {
		t.Errorf("Metadata by id: %+v", a.Topics)
	}
	produce := kmsg.NewPtrProduceRequest()
	produce.Acks = 1
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "a", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 0}}}}
	if a := ask[*kmsg.ProduceResponse](c, produce, 9); a.Topics[0].Partitions[0].ErrorCode != deniedTopic {
		t.Errorf("Produce: %+v", a)
	}
	if n := len(ts.asked); n != 0 {
		t.Errorf("%d questions came through", n)
	}
}

// What is denied for a topic is said to the controller with its request, so that
// the rest of it goes on.
func TestTopicsAreJudgedOneByOne(t *testing.T) {
	ts := ruled(t, `--allow-principal User:ANONYMOUS --operation Create --operation Alter --operation Delete --topic mine- --resource-pattern-type prefixed
--allow-principal User:* --allow-host 127.0.0.1 --operation Describe --topic a
--deny-principal User:ANONYMOUS --operation Delete --topic mine-but-kept`)
	c := ts.connect()
	create := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range []string{"mine-1", "yours"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic = name
		create.Topics = append(create.Topics, topic)
	}
	c.send(create, 7, 1)
	if a := take(t, ts.asked, "question").Ask.(*model.CreateTopics); a.Topics[0].Denied || !a.Topics[1].Denied {
		t.Errorf("%+v", a.Topics)
	}
	c = ts.connect()
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "mine-1", Count: 2}, {Topic: "a", Count: 2}}
	c.send(grow, 3, 1)
	if a := take(t, ts.asked, "question").Ask.(*model.CreatePartitions); a.Topics[0].Denied || !a.Topics[1].Denied {
		t.Errorf("%+v", a.Topics)
	}
	c = ts.connect()
	remove := kmsg.NewPtrDeleteTopicsRequest()
	names := []string{"mine-1", "mine-but-kept", "a"}
	for i := range names {
		remove.Topics = append(remove.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &names[i]})
	}
	remove.Topics = append(remove.Topics, kmsg.DeleteTopicsRequestTopic{TopicID: idA}, kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{9}})
	c.send(remove, 6, 1)
	got := take(t, ts.asked, "question").Ask.(*model.DeleteTopics).Access
	want := []model.TopicAccess{{Topic: "mine-1", Describe: true, Delete: true}, {Topic: "mine-but-kept", Describe: true, Delete: false}, {Topic: "a", Describe: true, Delete: false}, {Topic: "a", Describe: true, Delete: false}, {Topic: "", Describe: false, Delete: false}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("access %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	q := kmsg.NewPtrMetadataRequest()
	q.IncludeTopicAuthorizedOperations = true
	if a := ask[*kmsg.MetadataResponse](ts.connect(), q, 12); len(a.Topics) != 1 || a.Topics[0].AuthorizedOperations != 1<<8 {
		t.Errorf("operations: %+v", a.Topics)
	}
}

// Requests that any broker may be asked are judged here, since the broker would
// judge this process: refused whole, or without what is denied.
func TestWhatIsHandedOnIsJudgedHere(t *testing.T) {
	var asked atomic.Int32
	list, err := acl.ReadRules([]byte("--allow-principal User:ANONYMOUS --operation DescribeConfigs --topic open\n--allow-principal User:ANONYMOUS --operation Read --group g"))
	if err != nil {
		t.Fatal(err)
	}
	set := acl.NewSet(list, nil, false)
	ts := newTestServer(t, func(o *ServerOptions) {
		o.Rules = func() *acl.Set { return set }
		o.Relay = &Relay{
			Versions: func() map[int16]model.VersionRange {
				all := map[int16]model.VersionRange{}
				for _, key := range relayed {
					all[key] = model.VersionRange{Max: 20}
				}
				return all
			},
			Dial: func(context.Context, string) (net.Conn, error) {
				near, far := net.Pipe()
				go describes(far, &asked)
				return near, nil
			},
		}
	})
	c := ts.connect()
	creations := kmsg.NewPtrCreateACLsRequest()
	creations.Creations = make([]kmsg.CreateACLsRequestCreation, 2)
	if a := ask[*kmsg.CreateACLsResponse](c, creations, 2); len(a.Results) != 2 || a.Results[1].ErrorCode != denied {
		t.Errorf("CreateAcls: %+v", a)
	}
	if a := ask[*kmsg.DescribeACLsResponse](c, kmsg.NewPtrDescribeACLsRequest(), 2); a.ErrorCode != denied {
		t.Errorf("DescribeAcls: %+v", a)
	}
	if a := ask[*kmsg.InitProducerIDResponse](c, kmsg.NewPtrInitProducerIDRequest(), 4); a.ErrorCode != denied || a.ProducerID != -1 {
		t.Errorf("InitProducerId: %+v", a)
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "other"
	if a := ask[*kmsg.FindCoordinatorResponse](c, find, 2); a.ErrorCode != 30 {
		t.Errorf("FindCoordinator: %+v", a)
	}
	if n := asked.Load(); n != 0 {
		t.Fatalf("%d requests reached the broker", n)
	}
	configs := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range []string{"closed", "open"} {
		configs.Resources = append(configs.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name})
	}
	a := ask[*kmsg.DescribeConfigsResponse](c, configs, 4)
	if len(a.Resources) != 2 || a.Resources[0].ResourceName != "open" || a.Resources[0].ErrorCode != 0 || a.Resources[1].ResourceName != "closed" || a.Resources[1].ErrorCode != deniedTopic {
		t.Errorf("DescribeConfigs: %+v", a.Resources)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("%d requests reached the broker, want 1", n)
	}
}

// describes answers DescribeConfigs version 4 for each resource that it is asked
// about, and counts requests.
func describes(c net.Conn, asked *atomic.Int32) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		frame, err := readFrame(r, minRequestFrame, MaxFrameSize)
		if err != nil {
			return
		}
		asked.Add(1)
		q := &kmsg.DescribeConfigsRequest{Version: 4}
		in := &call{}
		body, err := in.readClientID(frame[minRequestFrame:])
		if err == nil {
			body, err = skipTags(body)
		}
		if err != nil || q.ReadFrom(body) != nil {
			return
		}
		out := q.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, resource := range q.Resources {
			x := kmsg.NewDescribeConfigsResponseResource()
			x.ResourceType, x.ResourceName = resource.ResourceType, resource.ResourceName
			out.Resources = append(out.Resources, x)
		}
		if _, err := c.Write(encodeResponse(out, int32(binary.BigEndian.Uint32(frame[4:])))); err != nil {
			return
		}
	}
}
