package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// testServer is a Server on a free port with what it passed on.
type testServer struct {
	*Server
	t        *testing.T
	addr     string
	asked    chan *model.Asked
	failures chan error
}

func newTestServer(t *testing.T, change func(*ServerOptions)) *testServer {
	t.Helper()
	ts := &testServer{t: t, asked: make(chan *model.Asked, 100), failures: make(chan error, 100)}
	opt := ServerOptions{
		OnInput:   func(s model.Stimulus) { ts.asked <- s.(*model.Asked) },
		Cluster:   goldenCluster,
		OnFailure: func(_ string, err error) { ts.failures <- err },
		Patience:  1, // the view of most tests never changes
	}
	if change != nil {
		change(&opt)
	}
	ts.Server = NewServer(opt)
	addr, err := ts.Listen("127.0.0.1:0", "PLAINTEXT", nil)
	if err != nil {
		t.Fatal(err)
	}
	ts.addr = addr.String()
	t.Cleanup(func() {
		ts.Close()
		noGoroutinesLeft(t)
	})
	return ts
}

// goldenCluster is the cluster of testdata/KafkaFrames.java.
func goldenCluster() Cluster {
	c := model.NewCluster()
	plain := func(host string) []model.Endpoint {
		return []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: host, Port: 9092}}
	}
	c.PutBroker(model.Broker{ID: 1, Epoch: 71, Rack: "r1", Endpoints: plain("one")})
	c.PutBroker(model.Broker{ID: 2, Epoch: 72, Endpoints: plain("two")})
	c.AddTopic("a")
	c.PutTopicID("a", idA)
	c.UpdateAssignment(model.TP("a", 0), model.ReplicaAssignment{Replicas: []int32{1, 2, 3}})
	c.PutLeadership(model.TP("a", 0), leadership(1, 3, []int32{1, 2}, 0))
	c.UpdateAssignment(model.TP("a", 1), model.ReplicaAssignment{Replicas: []int32{3}})
	c.PutLeadership(model.TP("a", 1), leadership(3, 4, []int32{3}, 0))
	return Cluster{View: c.Freeze(), ControllerID: 2, ClusterID: "cluster-1"}
}

// client is one connection to the server.
type client struct {
	t *testing.T
	c net.Conn
}

func (ts *testServer) connect() *client {
	ts.t.Helper()
	c, err := net.Dial("tcp", ts.addr)
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() { c.Close() })
	return &client{t: ts.t, c: c}
}

func (c *client) write(frame []byte) {
	c.t.Helper()
	if _, err := c.c.Write(slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame)); err != nil {
		c.t.Fatal(err)
	}
}

// read waits for a frame, or the end of the connection: then it is nil.
func (c *client) read() []byte {
	c.t.Helper()
	c.c.SetReadDeadline(time.Now().Add(deadline))
	f, err := readFrame(c.c, 4, MaxFrameSize)
	switch {
	case errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "connection reset"):
		return nil
	case err != nil:
		c.t.Fatal(err)
	}
	return f
}

// send writes a request.
func (c *client) send(r kmsg.Request, version int16, correlationID int32) {
	c.t.Helper()
	r.SetVersion(version)
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, r, correlationID)
	if _, err := c.c.Write(f); err != nil {
		c.t.Fatal(err)
	}
}

// receive reads the answer to a request.
func (c *client) receive(r kmsg.Request, correlationID int32) kmsg.Response {
	c.t.Helper()
	f := c.read()
	if f == nil {
		c.t.Fatalf("no answer to %s: the connection was closed", kmsg.NameForKey(r.Key()))
	}
	if got := int32(binary.BigEndian.Uint32(f)); got != correlationID {
		c.t.Fatalf("correlation id %d, want %d", got, correlationID)
	}
	response := r.ResponseKind()
	body := f[4:]
	if response.IsFlexible() && response.Key() != 18 {
		body = body[1:]
	}
	if err := response.ReadFrom(body); err != nil {
		c.t.Fatalf("answer to %s: %v", kmsg.NameForKey(r.Key()), err)
	}
	return response
}

func ask[R kmsg.Response](c *client, r kmsg.Request, version int16) R {
	c.t.Helper()
	c.send(r, version, 5)
	return c.receive(r, 5).(R)
}

// kafkaQuestion is an api in the versions min to max: what its frames of
// testdata/KafkaFrames.java ask, and what their responses say.
type kafkaQuestion struct {
	name   string
	min    int16
	max    int16
	ask    func(v int16) model.Ask
	answer func(v int16) model.Answer
}

func questions() []kafkaQuestion {
	name := func(v int16) (string, model.Uuid) {
		if v < 2 {
			return "a", model.Uuid{}
		}
		return "", idA
	}
	return append(topicQuestions(), []kafkaQuestion{
		{"AlterPartition", 0, 3, func(v int16) model.Ask {
			topic, id := name(v)
			e := model.AlterPartitionEntry{TopicPartition: model.TP(topic, 1), TopicID: id, ISR: []int32{2, 1}, LeaderEpoch: 3, PartitionEpoch: 5}
			if v >= 1 {
				e.Recovery = model.Recovering
			}
			return &model.AlterPartition{Version: v, BrokerID: 2, BrokerEpoch: 72, Partitions: []model.AlterPartitionEntry{e}}
		}, func(v int16) model.Answer {
			return &model.AlterPartitionAnswer{Partitions: []model.AlterPartitionResult{
				{TopicPartition: model.TP("a", 1), TopicID: idA, Leadership: leadership(2, 3, []int32{2, 1}, 6)},
				{TopicPartition: model.TP("a", 4), TopicID: idA, Error: model.ErrFencedLeaderEpoch},
			}}
		}},
		{"ControlledShutdown", 0, 3, func(v int16) model.Ask {
			if v < 2 {
				return &model.ControlledShutdown{BrokerID: 2, BrokerEpoch: -1}
			}
			return &model.ControlledShutdown{BrokerID: 2, BrokerEpoch: 72}
		}, func(int16) model.Answer {
			return &model.ControlledShutdownAnswer{Remaining: []model.TopicPartition{model.TP("a", 1)}}
		}},
		{"AllocateProducerIds", 0, 0, func(int16) model.Ask { return &model.AllocateProducerIDs{BrokerID: 2, BrokerEpoch: 72} },
			func(int16) model.Answer { return &model.AllocateProducerIDsAnswer{Start: 4000, Len: 1000} }},
		{"ElectLeaders", 0, 2, func(v int16) model.Ask {
			e := &model.ElectLeaders{Partitions: []model.TopicPartition{model.TP("a", 0), model.TP("a", 1), model.TP("b", 7)}}
			if v >= 1 {
				e.Type = model.UncleanElection
			}
			return e
		}, func(int16) model.Answer {
			return &model.ElectLeadersAnswer{Results: []model.ElectionResult{
				{TopicPartition: model.TP("a", 0), Leader: 1},
				{TopicPartition: model.TP("a", 1), Error: model.ErrElectionNotNeeded, Why: "not needed"},
				{TopicPartition: model.TP("b", 7), Error: model.ErrEligibleLeadersNotAvailable, Why: "nobody"},
			}}
		}},
		{"AlterPartitionReassignments", 0, 0, func(int16) model.Ask {
			return &model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{
				{TopicPartition: model.TP("a", 0), Target: []int32{3, 1}}, {TopicPartition: model.TP("a", 1), Cancel: true}}}
		}, func(int16) model.Answer {
			return &model.AlterPartitionReassignmentsAnswer{Partitions: []model.PartitionError{
				{TopicPartition: model.TP("a", 0)}, {TopicPartition: model.TP("a", 1), Error: model.ErrNoReassignmentInProgress}}}
		}},
		{"ListPartitionReassignments", 0, 0, func(int16) model.Ask {
			return &model.ListPartitionReassignments{Partitions: []model.TopicPartition{model.TP("a", 0), model.TP("a", 1)}}
		}, func(int16) model.Answer {
			return &model.ListPartitionReassignmentsAnswer{Partitions: []model.Reassignment{
				{TopicPartition: model.TP("a", 0), ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{3, 1, 2}, Adding: []int32{3}, Removing: []int32{2}}}}}
		}},
		{"UpdateFeatures", 0, 1, func(v int16) model.Ask {
			down := model.SafeDowngrade
			if v >= 1 {
				down = model.UnsafeDowngrade
			}
			return &model.UpdateFeatures{Updates: []model.FeatureUpdate{{Feature: "f", MaxLevel: 2, Type: model.Upgrade}, {Feature: "g", Type: down}}}
		}, func(int16) model.Answer {
			return &model.UpdateFeaturesAnswer{Features: []model.FeatureResult{{Feature: "f"}, {Feature: "g", Error: model.ErrInvalidRequest, Message: "not finalized"}}}
		}},
	}...)
}

func TestQuestionsAndAnswersAreThoseOfKafka(t *testing.T) {
	kafka := kafkaFrames(t)
	ts := newTestServer(t, nil)
	c := ts.connect()
	var last uint64
	for _, q := range questions() {
		for v := q.min; v <= q.max; v++ {
			name := fmt.Sprintf("%s/%d", q.name, v)
			c.write(kafka("request/" + name))
			asked := take(t, ts.asked, "question "+name)
			if want := q.ask(v); !reflect.DeepEqual(asked.Ask, want) || asked.Ask.AskName() != q.name {
				t.Errorf("%s asks %+v, want %+v", name, asked.Ask, want)
			}
			from := "admin-1@" + c.c.LocalAddr().String()
			if name == "ControlledShutdown/0" { // has no client id
				from = c.c.LocalAddr().String()
			}
			if asked.From != from || asked.ID <= last {
				t.Errorf("%s comes from %s as #%d after #%d", name, asked.From, asked.ID, last)
			}
			last = asked.ID
			ts.Reply(&model.Reply{Ask: asked.ID, Name: q.name, Answer: q.answer(v)})
			if got, want := c.read(), kafka("response/"+name); !slices.Equal(got, want) {
				t.Errorf("%s is answered\n  %x, want\n  %x", name, got, want)
			}
		}
	}
}

func TestDescriptionsAreThoseOfKafka(t *testing.T) {
	kafka := kafkaFrames(t)
	ts := newTestServer(t, nil)
	c := ts.connect()
	for api, max := range map[string]int{"Metadata": 12, "DescribeCluster": 1} {
		for v := range max + 1 {
			name := fmt.Sprintf("%s/%d", api, v)
			c.write(kafka("request/" + name))
			if got, want := c.read(), kafka("response/"+name); !slices.Equal(got, want) {
				t.Errorf("%s is answered\n  %x, want\n  %x", name, got, want)
			}
		}
	}
}

// What ApiVersions lists is served, each version of it, and nothing else is.
func TestApiVersionsListsWhatIsServed(t *testing.T) {
	kafka := kafkaFrames(t)
	ts := newTestServer(t, nil)
	c := ts.connect()
	for v := range int16(5) {
		c.write(kafka(fmt.Sprintf("request/ApiVersions/%d", v)))
		q := kmsg.NewPtrApiVersionsRequest()
		q.Version = v
		a := c.receive(q, 77).(*kmsg.ApiVersionsResponse)
		var got []string
		for _, k := range a.ApiKeys {
			got = append(got, fmt.Sprintf("%s %d-%d", kmsg.NameForKey(k.ApiKey), k.MinVersion, k.MaxVersion))
		}
		want := []string{"Produce 0-11", "Fetch 0-17", "Metadata 0-12", "ControlledShutdown 0-3", "ListGroups 0-5", "SASLHandshake 0-1", "ApiVersions 0-4",
			"CreateTopics 0-7", "DeleteTopics 0-6", "DescribeLogDirs 0-4", "SASLAuthenticate 0-2", "CreatePartitions 0-3", "ElectLeaders 0-2", "AlterPartitionAssignments 0-0",
			"ListPartitionReassignments 0-0", "AlterPartition 0-3", "UpdateFeatures 0-2", "DescribeCluster 0-1", "AllocateProducerIDs 0-0"}
		if a.ErrorCode != 0 || !slices.Equal(got, want) || a.FinalizedFeaturesEpoch != -1 {
			t.Errorf("version %d: error %d, %q, features of epoch %d", v, a.ErrorCode, got, a.FinalizedFeaturesEpoch)
		}
	}
	bad := kmsg.NewPtrApiVersionsRequest()
	bad.ClientSoftwareName, bad.ClientSoftwareVersion = "no spaces, please", "1"
	if a := ask[*kmsg.ApiVersionsResponse](c, bad, 3); a.ErrorCode != int16(model.ErrInvalidRequest) {
		t.Errorf("a bad client name: error %d", a.ErrorCode)
	}
	future := kmsg.NewPtrApiVersionsRequest()
	c.send(future, 99, 8)
	future.Version = 0
	if a := c.receive(future, 8).(*kmsg.ApiVersionsResponse); a.ErrorCode != int16(model.ErrUnsupportedVersion) || len(a.ApiKeys) != 1 || a.ApiKeys[0].ApiKey != 18 || a.ApiKeys[0].MaxVersion != 4 {
		t.Errorf("version 99: %+v", a)
	}
}

func TestWhatIsNotServedIsRefused(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	if a := ask[*kmsg.FindCoordinatorResponse](c, kmsg.NewPtrFindCoordinatorRequest(), 2); a.ErrorCode != int16(model.ErrUnsupportedVersion) {
		t.Errorf("FindCoordinator: %+v", a)
	}
	if a := ask[*kmsg.AlterPartitionAssignmentsResponse](c, kmsg.NewPtrAlterPartitionAssignmentsRequest(), 1); a.ErrorCode != int16(model.ErrUnsupportedVersion) {
		t.Errorf("AlterPartitionReassignments version 1: %+v", a)
	}
	for name, q := range map[string]struct {
		r       kmsg.Request
		version int16
	}{
		"Metadata version 13":     {kmsg.NewPtrMetadataRequest(), 13}, // an error code is in it; covered below
		"OffsetCommit version 3":  {kmsg.NewPtrOffsetCommitRequest(), 3},
		"Metadata version 99":     {kmsg.NewPtrMetadataRequest(), 99},
		"ElectLeaders version -1": {kmsg.NewPtrElectLeadersRequest(), -1},
	} {
		c := ts.connect()
		c.send(q.r, q.version, 1)
		f := c.read()
		if name == "Metadata version 13" {
			if f == nil {
				t.Errorf("%s closed the connection", name)
			}
			continue
		}
		if f != nil {
			t.Errorf("%s was answered with %x", name, f)
		}
		if err := take(t, ts.failures, "failure"); !strings.Contains(err.Error(), name) {
			t.Errorf("%s: failure %v", name, err)
		}
	}
}

func TestAnswersKeepTheOrderOfRequests(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	var asked []*model.Asked
	for i := range int32(5) {
		if i == 2 {
			c.send(kmsg.NewPtrApiVersionsRequest(), 0, i) // is answered at once, in its turn
			continue
		}
		q := kmsg.NewPtrAllocateProducerIDsRequest()
		q.BrokerID = i
		c.send(q, 0, i)
		asked = append(asked, take(t, ts.asked, "question"))
	}
	for _, a := range slices.Backward(asked) {
		ts.Reply(&model.Reply{Ask: a.ID, Answer: &model.AllocateProducerIDsAnswer{Start: int64(a.Ask.(*model.AllocateProducerIDs).BrokerID) * 1000}})
	}
	ts.Reply(&model.Reply{Ask: asked[0].ID, Answer: &model.AllocateProducerIDsAnswer{}}) // a second time: nothing
	for i := range int32(5) {
		if i == 2 {
			c.receive(&kmsg.ApiVersionsRequest{}, i)
			continue
		}
		if a := c.receive(&kmsg.AllocateProducerIDsRequest{}, i).(*kmsg.AllocateProducerIDsResponse); a.ProducerIDStart != int64(i)*1000 {
			t.Errorf("answer %d: %+v", i, a)
		}
	}
	if n := ts.Unanswered(); n != 0 {
		t.Errorf("%d questions are left", n)
	}
}

func TestAConnectionMayNotAskWithoutEnd(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.MaxUnanswered = 2 })
	c := ts.connect()
	for i := range int32(4) {
		c.send(kmsg.NewPtrControlledShutdownRequest(), 3, i)
	}
	for i := range int32(4) {
		first := take(t, ts.asked, "question")
		if n := ts.Unanswered(); n > 2 {
			t.Errorf("%d questions of one connection are unanswered", n)
		}
		ts.Reply(&model.Reply{Ask: first.ID, Answer: &model.ControlledShutdownAnswer{}})
		c.receive(&kmsg.ControlledShutdownRequest{Version: 3}, i)
	}
}

func TestAnAskerThatGoesAwayIsForgotten(t *testing.T) {
	ts := newTestServer(t, nil)
	gone, stays := ts.connect(), ts.connect()
	gone.send(kmsg.NewPtrControlledShutdownRequest(), 3, 1)
	lost := take(t, ts.asked, "question")
	stays.send(kmsg.NewPtrControlledShutdownRequest(), 3, 2)
	kept := take(t, ts.asked, "question")
	gone.c.Close()
	until(t, "the question is forgotten", func() bool { return ts.Unanswered() == 1 })
	for _, a := range []*model.Asked{lost, kept} {
		ts.Reply(&model.Reply{Ask: a.ID, Answer: &model.ControlledShutdownAnswer{Error: model.ErrStaleControllerEpoch}})
	}
	if a := stays.receive(&kmsg.ControlledShutdownRequest{Version: 3}, 2).(*kmsg.ControlledShutdownResponse); a.ErrorCode != int16(model.ErrStaleControllerEpoch) {
		t.Errorf("answer %+v", a)
	}
}

func TestAnAnswerOfTheWrongKindClosesTheConnection(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	c.send(kmsg.NewPtrControlledShutdownRequest(), 3, 1)
	ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: &model.ElectLeadersAnswer{}})
	if f := c.read(); f != nil {
		t.Errorf("answered with %x", f)
	}
	if err := take(t, ts.failures, "failure"); !strings.Contains(err.Error(), "ControlledShutdown was answered with a *model.ElectLeadersAnswer") {
		t.Errorf("failure %v", err)
	}
}

func TestHostileFramesCloseTheirConnectionOnly(t *testing.T) {
	kafka := kafkaFrames(t)
	ts := newTestServer(t, func(o *ServerOptions) { o.MaxFrame = 1 << 20 })
	good := ts.connect()
	prefixed := func(b []byte) []byte { return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b) }
	metadata, elect := kafka("request/Metadata/12"), kafka("request/ElectLeaders/2")
	hugeArray := slices.Clone(elect)
	hugeArray = append(hugeArray[:len(hugeArray)-20], 0xff, 0xff, 0xff, 0xff, 0x0f)
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"negative length":      {[]byte{0xff, 0xff, 0xff, 0xff}, "frame size"},
		"too long":             {[]byte{0, 0x10, 0, 1}, "1048577 bytes announced"},
		"too short":            {[]byte{0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7}, "7 bytes announced"},
		"HTTP":                 {[]byte("GET / HTTP/1.1\r\n\r\n"), "frame size"},
		"unknown key":          {prefixed([]byte{0x70, 0, 0, 0, 0, 0, 0, 1, 0, 0}), "key 28672"},
		"cut client id":        {prefixed([]byte{0, 3, 0, 0, 0, 0, 0, 1, 0, 9, 'x'}), "client id is said to have 9 bytes"},
		"no client id":         {prefixed([]byte{0, 3, 0, 0, 0, 0, 0, 1}), "ends before the client id"},
		"header tags cut":      {prefixed([]byte{0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 9}), "tagged fields"},
		"cut body":             {prefixed(metadata[:len(metadata)-3]), "cannot be decoded"},
		"array of 4 GB":        {prefixed(hugeArray), "cannot be decoded"},
		"TLS client hello":     {[]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, "frame size"},
		"end within the frame": {[]byte{0, 0, 0, 20, 0, 18}, "unexpected EOF"},
	} {
		bad := ts.connect()
		if _, err := bad.c.Write(c.bytes); err != nil {
			t.Fatal(err)
		}
		if name == "end within the frame" {
			bad.c.(*net.TCPConn).CloseWrite()
		}
		if f := bad.read(); f != nil {
			t.Errorf("%s: answered with %x", name, f)
		}
		if err := take(t, ts.failures, "failure of "+name); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: failure %v, want %q", name, err, c.want)
		}
	}
	if a := ask[*kmsg.ApiVersionsResponse](good, kmsg.NewPtrApiVersionsRequest(), 0); len(a.ApiKeys) == 0 {
		t.Error("the well-behaved connection is answered no more")
	}
}

func TestAnIdleConnectionIsClosedUnlessItWaits(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.Idle = 20 * time.Millisecond })
	waits := ts.connect()
	waits.send(kmsg.NewPtrControlledShutdownRequest(), 3, 1)
	q := take(t, ts.asked, "question")
	idle := ts.connect()
	if f := idle.read(); f != nil {
		t.Errorf("the idle connection got %x", f)
	}
	if err := take(t, ts.failures, "failure"); !strings.Contains(err.Error(), "nothing asked for 20ms") {
		t.Errorf("failure %v", err)
	}
	ts.Reply(&model.Reply{Ask: q.ID, Answer: &model.ControlledShutdownAnswer{}})
	waits.receive(&kmsg.ControlledShutdownRequest{Version: 3}, 1)
}

func TestClientIDsAreFitForAScreen(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	q := kmsg.NewPtrAllocateProducerIDsRequest()
	id := "\x1b[2J\xff" + strings.Repeat("x", 100)
	if _, err := c.c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(id)).AppendRequest(nil, q, 1)); err != nil {
		t.Fatal(err)
	}
	want := "?[2J?" + strings.Repeat("x", 59) + "...@" + c.c.LocalAddr().String()
	if asked := take(t, ts.asked, "question"); asked.From != want {
		t.Errorf("from %q, want %q", asked.From, want)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	c.send(kmsg.NewPtrControlledShutdownRequest(), 3, 1)
	take(t, ts.asked, "question")
	ts.Close()
	if f := c.read(); f != nil {
		t.Errorf("got %x", f)
	}
	if _, err := ts.Listen("127.0.0.1:0", "PLAINTEXT", nil); err == nil {
		t.Error("listens after Close")
	}
	if _, err := net.Dial("tcp", ts.addr); err == nil {
		t.Error("accepts connections after Close")
	}
	ts.Close()
}
