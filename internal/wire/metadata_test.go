package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// mixedCluster has topics in all the shapes that Metadata tells apart.
func mixedCluster() Cluster {
	c := model.NewCluster()
	put := func(id int32, listeners ...string) {
		b := model.Broker{ID: id}
		for _, l := range listeners {
			b.Endpoints = append(b.Endpoints, model.Endpoint{Listener: l, Protocol: "PLAINTEXT", Host: fmt.Sprintf("b%d", id), Port: 9092})
		}
		c.PutBroker(b)
	}
	put(1, "PLAINTEXT", "INTERNAL")
	put(2, "PLAINTEXT", "INTERNAL")
	put(3, "INTERNAL")
	topic := func(name string, id byte, leaders ...int32) {
		c.AddTopic(name)
		c.PutTopicID(name, model.Uuid{id})
		for n, leader := range leaders {
			tp := model.TP(name, int32(n))
			c.UpdateAssignment(tp, model.ReplicaAssignment{Replicas: []int32{1, 2, 3}})
			if leader != -9 {
				c.PutLeadership(tp, leadership(leader, 1, []int32{1, 2}, 0))
			}
		}
	}
	topic("fine", 1, 1)
	topic("leaderless", 2, -1)
	topic("elsewhere", 3, 3)
	topic("new", 4, -9, -9)
	topic("half", 5, -9, 2)
	topic("queued", 6, 1)
	c.QueueTopicDeletion("queued")
	topic("__consumer_offsets", 7, 1)
	c.PutReplicaState(model.Replica{TopicPartition: model.TP("fine", 0), Broker: 2}, model.OnlineReplica)
	c.SetOfflineDir(model.Replica{TopicPartition: model.TP("fine", 0), Broker: 2}, true)
	c.SetShuttingDown(1, true)
	self := model.Broker{ID: 1001, Rack: "r", Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "kstate", Port: 1}}}
	return Cluster{View: c.Freeze(), ControllerID: 1001, Self: &self}
}

// describe writes a Metadata answer down, one line for each thing in it.
func describe(r *kmsg.MetadataResponse) string {
	var b strings.Builder
	for _, n := range r.Brokers {
		fmt.Fprintf(&b, "%d=%s:%d ", n.NodeID, n.Host, n.Port)
	}
	fmt.Fprintf(&b, "controller %d", r.ControllerID)
	for _, t := range r.Topics {
		name := "-"
		if t.Topic != nil {
			name = *t.Topic
		}
		fmt.Fprintf(&b, "\n%s id=%d error=%d", name, t.TopicID[0], t.ErrorCode)
		if t.IsInternal {
			b.WriteString(" internal")
		}
		for _, p := range t.Partitions {
			fmt.Fprintf(&b, "; %d leader=%d error=%d offline=%v", p.Partition, p.Leader, p.ErrorCode, p.OfflineReplicas)
		}
	}
	return b.String()
}

func byName(names ...string) *kmsg.MetadataRequest {
	q := kmsg.NewPtrMetadataRequest()
	q.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &n
		q.Topics = append(q.Topics, t)
	}
	return q
}

const mixedBrokers = "1=b1:9092 2=b2:9092 1001=kstate:1 controller 1001"

func TestMetadataOfTopics(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.Cluster = mixedCluster })
	c := ts.connect()
	all := kmsg.NewPtrMetadataRequest()
	byID := kmsg.NewPtrMetadataRequest()
	for _, id := range []byte{1, 6, 99, 1} {
		q := kmsg.NewMetadataRequestTopic()
		q.TopicID = [16]byte{id}
		byID.Topics = append(byID.Topics, q)
	}
	everything := "\n__consumer_offsets id=7 error=0 internal; 0 leader=1 error=0 offline=[1]" +
		"\nelsewhere id=3 error=0; 0 leader=-1 error=72 offline=[1]" +
		"\nfine id=1 error=0; 0 leader=1 error=0 offline=[1 2]" +
		"\nhalf id=5 error=0; 1 leader=2 error=0 offline=[1]" +
		"\nleaderless id=2 error=0; 0 leader=-1 error=5 offline=[1]"
	for name, x := range map[string]struct {
		q       *kmsg.MetadataRequest
		version int16
		want    string
	}{
		"all":                 {all, 12, everything},
		"none":                {byName(), 12, ""},
		"version 0: all":      {byName(), 0, ""}, // checked below
		"listener not found":  {byName("elsewhere"), 5, "\nelsewhere id=0 error=0; 0 leader=-1 error=5 offline=[1]"},
		"unknown and invalid": {byName("nope", "no/pe", "new", "queued", "nope", "__transaction_state"), 12, "\nnope id=0 error=3\nno/pe id=0 error=17\nnew id=0 error=3\nqueued id=0 error=3\n__transaction_state id=0 error=3 internal"},
		"by id":               {byID, 12, "\nfine id=1 error=0; 0 leader=1 error=0 offline=[1 2]\n- id=6 error=100\n- id=99 error=100"},
		"by id, too early":    {byID, 11, ""}, // checked below
	} {
		got := describe(ask[*kmsg.MetadataResponse](c, x.q, x.version))
		switch name {
		case "version 0: all":
			if n := strings.Count(got, "\n"); n != 5 {
				t.Errorf("%s: %s", name, got)
			}
		case "by id, too early":
			if !strings.HasPrefix(got, "controller -1\n id=1 error=42") || strings.Count(got, "error=42") != 4 {
				t.Errorf("%s: %s", name, got)
			}
		default:
			if got != mixedBrokers+x.want {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, mixedBrokers+x.want)
			}
		}
	}
}

// Another listener name shows other brokers.
func TestMetadataIsOfTheListener(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.Cluster = mixedCluster })
	addr, err := ts.Listen("127.0.0.1:0", "INTERNAL", nil)
	if err != nil {
		t.Fatal(err)
	}
	ts.addr = addr.String()
	c := ts.connect()
	got := describe(ask[*kmsg.MetadataResponse](c, byName("elsewhere"), 12))
	if want := "1=b1:9092 2=b2:9092 3=b3:9092 controller 1001\nelsewhere id=3 error=0; 0 leader=3 error=0 offline=[1]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	d := ask[*kmsg.DescribeClusterResponse](c, kmsg.NewPtrDescribeClusterRequest(), 1)
	if len(d.Brokers) != 3 || d.ControllerID != -1 { // the controller has no such listener
		t.Errorf("cluster %+v", d)
	}
}

func TestClusterIsDescribed(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.Cluster = mixedCluster })
	c := ts.connect()
	d := ask[*kmsg.DescribeClusterResponse](c, kmsg.NewPtrDescribeClusterRequest(), 1)
	if d.ControllerID != 1001 || len(d.Brokers) != 3 || d.Brokers[2].Host != "kstate" || d.Brokers[2].Rack == nil || *d.Brokers[2].Rack != "r" || d.EndpointType != 1 {
		t.Errorf("cluster %+v", d)
	}
	for endpointType, want := range map[int8]model.KafkaError{2: 114, 3: 115} {
		q := kmsg.NewPtrDescribeClusterRequest()
		q.EndpointType = endpointType
		if d := ask[*kmsg.DescribeClusterResponse](c, q, 1); model.KafkaError(d.ErrorCode) != want || d.ErrorMessage == nil {
			t.Errorf("endpoint type %d: %+v", endpointType, d)
		}
	}
}

func TestNothingIsKnownYet(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.Cluster = func() Cluster { return Cluster{ControllerID: -1} } })
	c := ts.connect()
	for _, q := range []*kmsg.MetadataRequest{kmsg.NewPtrMetadataRequest(), byName("a")} {
		r := ask[*kmsg.MetadataResponse](c, q, 12)
		if want := map[bool]string{true: "controller -1", false: "controller -1\na id=0 error=3"}[q.Topics == nil]; describe(r) != want {
			t.Errorf("%s, want %s", describe(r), want)
		}
	}
	if d := ask[*kmsg.DescribeClusterResponse](c, kmsg.NewPtrDescribeClusterRequest(), 0); d.ControllerID != -1 || len(d.Brokers) != 0 {
		t.Errorf("cluster %+v", d)
	}
}

// Null and empty lists mean different things.
func TestAllOrNone(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	question := func(q kmsg.Request, version int16) model.Ask {
		c.send(q, version, 9)
		a := take(t, ts.asked, "question")
		return a.Ask
	}
	elect := kmsg.NewPtrElectLeadersRequest()
	if a := question(elect, 2).(*model.ElectLeaders); a.Partitions != nil {
		t.Errorf("null: %+v", a)
	}
	elect.Topics = []kmsg.ElectLeadersRequestTopic{}
	if a := question(elect, 2).(*model.ElectLeaders); a.Partitions == nil || len(a.Partitions) != 0 {
		t.Errorf("empty: %+v", a)
	}
	twice := kmsg.ElectLeadersRequestTopic{Topic: "a", Partitions: []int32{1, 0, 1}}
	elect.Topics = append(elect.Topics, twice, twice)
	if a := question(elect, 2).(*model.ElectLeaders); !slices.Equal(a.Partitions, []model.TopicPartition{model.TP("a", 0), model.TP("a", 1)}) {
		t.Errorf("repeated: %+v", a)
	}
	list := kmsg.NewPtrListPartitionReassignmentsRequest()
	if a := question(list, 0).(*model.ListPartitionReassignments); !a.All {
		t.Errorf("null: %+v", a)
	}
	list.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{}
	if a := question(list, 0).(*model.ListPartitionReassignments); a.All || len(a.Partitions) != 0 {
		t.Errorf("empty: %+v", a)
	}
	alter := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	alter.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "a", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
		{Partition: 1, Replicas: []int32{1}}, {Partition: 0, Replicas: []int32{}}, {Partition: 1, Replicas: nil}}}}
	a := question(alter, 0).(*model.AlterPartitionReassignments)
	if len(a.Partitions) != 2 || a.Partitions[0].Cancel || len(a.Partitions[0].Target) != 0 || !a.Partitions[1].Cancel {
		t.Errorf("targets: %+v", a)
	}
}

func TestElectionOfAllLeavesOutWhatNeedsNone(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	q := kmsg.NewPtrElectLeadersRequest()
	c.send(q, 2, 1)
	ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: &model.ElectLeadersAnswer{Results: []model.ElectionResult{
		{TopicPartition: model.TP("a", 0), Error: model.ErrElectionNotNeeded},
		{TopicPartition: model.TP("a", 1), Error: model.ErrNotController},
	}}})
	r := c.receive(q, 1).(*kmsg.ElectLeadersResponse)
	if r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].ErrorCode != 41 || *r.Topics[0].Partitions[0].ErrorMessage != "NOT_CONTROLLER" {
		t.Errorf("answer %+v", r)
	}
	q.ElectionType = 7
	q.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "a", Partitions: []int32{3}}}
	if r := ask[*kmsg.ElectLeadersResponse](c, q, 2); r.ErrorCode != -1 || r.Topics[0].Partitions[0].ErrorCode != -1 {
		t.Errorf("election type 7: %+v", r)
	}
}

func TestRefusalsOfTheWhole(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	refused := func(q kmsg.Request, version int16, a model.Answer) kmsg.Response {
		c.send(q, version, 1)
		ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: a})
		return c.receive(q, 1)
	}
	if r := refused(kmsg.NewPtrAlterPartitionRequest(), 3, &model.AlterPartitionAnswer{Error: model.ErrStaleBrokerEpoch}).(*kmsg.AlterPartitionResponse); r.ErrorCode != 77 || len(r.Topics) != 0 {
		t.Errorf("%+v", r)
	}
	if r := refused(kmsg.NewPtrAllocateProducerIDsRequest(), 0, &model.AllocateProducerIDsAnswer{Error: model.ErrBrokerIDNotRegistered, Start: 1, Len: 1}).(*kmsg.AllocateProducerIDsResponse); r.ErrorCode != 102 || r.ProducerIDLen != 0 {
		t.Errorf("%+v", r)
	}
	if r := refused(kmsg.NewPtrAlterPartitionAssignmentsRequest(), 0, &model.AlterPartitionReassignmentsAnswer{Error: model.ErrNotController}).(*kmsg.AlterPartitionAssignmentsResponse); r.ErrorCode != 41 || *r.ErrorMessage != "NOT_CONTROLLER" {
		t.Errorf("%+v", r)
	}
	if r := refused(kmsg.NewPtrListPartitionReassignmentsRequest(), 0, &model.ListPartitionReassignmentsAnswer{Error: model.ErrNotController}).(*kmsg.ListPartitionReassignmentsResponse); r.ErrorCode != 41 {
		t.Errorf("%+v", r)
	}
	features := &model.UpdateFeaturesAnswer{Features: []model.FeatureResult{{Feature: "f"}, {Feature: "g", Error: model.ErrInvalidRequest, Message: "no"}}}
	if r := refused(kmsg.NewPtrUpdateFeaturesRequest(), 2, features).(*kmsg.UpdateFeaturesResponse); r.ErrorCode != 42 || *r.ErrorMessage != "no" || r.Results != nil {
		t.Errorf("%+v", r)
	}
	q := kmsg.NewPtrUpdateFeaturesRequest()
	q.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "f", UpgradeType: 9}}
	c.send(q, 1, 1)
	if a := take(t, ts.asked, "question").Ask.(*model.UpdateFeatures); a.Updates[0].Type != model.UpgradeUnknown {
		t.Errorf("upgrade type 9: %+v", a)
	}
}
