package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/configs"
	"kstate/model"
)

// relayTo serves with a relay whose far ends come on the channel.
func relayTo(t *testing.T, refusals int) (*testServer, <-chan net.Conn) {
	far := make(chan net.Conn, 10)
	return newTestServer(t, func(o *ServerOptions) {
		o.Relay = &Relay{
			Versions: func() map[int16]model.VersionRange {
				return map[int16]model.VersionRange{10: {Min: 1, Max: 4}, 32: {Min: 1, Max: 2}, 50: {Max: 0}, 99: {Max: 3}}
			},
			Dial: func(_ context.Context, listener string) (net.Conn, error) {
				if refusals > 0 {
					refusals--
					return nil, errors.New("refused")
				}
				if listener != "PLAINTEXT" {
					return nil, errors.New("dialled for listener " + listener)
				}
				near, distant := net.Pipe()
				far <- distant
				return near, nil
			},
		}
	}), far
}

// What any broker may be asked goes there and back byte for byte, and keeps its
// place among what is answered here.
func TestRelay(t *testing.T) {
	ts, far := relayTo(t, 2)
	c := ts.connect()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{"group"}
	c.send(find, 4, 7)
	c.send(kmsg.NewPtrListGroupsRequest(), 3, 8)
	broker := take(t, far, "connection to a broker")
	got, err := readFrame(bufio.NewReader(broker), 8, MaxFrameSize)
	want := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, find, 7)[4:]
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("handed on %x, %v, want %x", got, err, want)
	}
	body := slices.Concat([]byte{0, 0, 0, 7}, []byte("whatever the broker says"))
	if _, err := broker.Write(slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body)); err != nil {
		t.Fatal(err)
	}
	if f := c.read(); !slices.Equal(f, body) {
		t.Errorf("answered %x, want %x", f, body)
	}
	if a := c.receive(&kmsg.ListGroupsRequest{Version: 3}, 8).(*kmsg.ListGroupsResponse); a.ErrorCode != 0 || len(a.Groups) > 0 {
		t.Errorf("groups %+v", a)
	}

	q := kmsg.NewPtrApiVersionsRequest()
	var ranges []int16
	for _, k := range ask[*kmsg.ApiVersionsResponse](c, q, 0).ApiKeys {
		if slices.Contains(relayed, k.ApiKey) || k.ApiKey == 99 {
			ranges = append(ranges, k.ApiKey, k.MinVersion, k.MaxVersion)
		}
	}
	if want := []int16{10, 1, 4, 32, 1, 2, 50, 0, 0}; !slices.Equal(ranges, want) {
		t.Errorf("ApiVersions lists %v, want %v", ranges, want)
	}
	if a := ask[*kmsg.FindCoordinatorResponse](c, kmsg.NewPtrFindCoordinatorRequest(), 0); a.ErrorCode != int16(model.ErrUnsupportedVersion) {
		t.Errorf("a version that brokers do not take: %+v", a)
	}

	// The broker goes away in between: the next one is asked.
	broker.Close()
	c.send(find, 4, 9)
	second := take(t, far, "second connection to a broker")
	if _, err := readFrame(bufio.NewReader(second), 8, MaxFrameSize); err != nil {
		t.Fatal(err)
	}
	// And this one in the middle of a request: whether it took it is not known.
	second.Close()
	if f := c.read(); f != nil {
		t.Errorf("answered %x", f)
	}
	if err := take(t, ts.failures, "failure"); !strings.Contains(err.Error(), "key 10 on to a broker") {
		t.Errorf("failure %v", err)
	}
}

// Tools ask each broker that is listed about its settings: the controller has none.
func TestOwnConfigs(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) {
		o.Cluster = func() Cluster { return Cluster{Self: &model.Broker{ID: 1000}} }
		o.Configs = &configs.Admin{}
		o.Relay = &Relay{
			Versions: func() map[int16]model.VersionRange { return map[int16]model.VersionRange{32: {Max: 4}} },
			Dial:     func(context.Context, string) (net.Conn, error) { return nil, errors.New("handed on") },
		}
	})
	c := ts.connect()
	for v := range int16(5) {
		q := kmsg.NewPtrDescribeConfigsRequest()
		q.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1000"}}
		a := ask[*kmsg.DescribeConfigsResponse](c, q, v)
		if len(a.Resources) != 1 || a.Resources[0].ResourceName != "1000" || a.Resources[0].ErrorCode != 0 || len(a.Resources[0].Configs) > 0 {
			t.Errorf("version %d: %+v", v, a)
		}
	}
	for v := range int16(2) {
		q := kmsg.NewPtrIncrementalAlterConfigsRequest()
		q.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1000",
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "leader.replication.throttled.rate", Op: kmsg.IncrementalAlterConfigOpDelete}}}}
		if a := ask[*kmsg.IncrementalAlterConfigsResponse](c, q, v); len(a.Resources) != 1 || a.Resources[0].ErrorCode != 0 {
			t.Errorf("version %d: %+v", v, a)
		}
		value := "1"
		q.Resources[0].Configs[0].Op, q.Resources[0].Configs[0].Value = kmsg.IncrementalAlterConfigOpSet, &value
		if a := ask[*kmsg.IncrementalAlterConfigsResponse](c, q, v); len(a.Resources) != 1 || a.Resources[0].ErrorCode != int16(model.ErrInvalidRequest) {
			t.Errorf("version %d: %+v", v, a)
		}
	}
	q := kmsg.NewPtrDescribeConfigsRequest()
	q.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1"}}
	c.send(q, 4, 1)
	if f := c.read(); f != nil {
		t.Errorf("about another broker it is answered %x", f)
	}
	if err := take(t, ts.failures, "failure"); !strings.Contains(err.Error(), "handed on") {
		t.Error(err)
	}
}

func TestRelayWithoutBrokers(t *testing.T) {
	ts, _ := relayTo(t, relayDials)
	c := ts.connect()
	c.send(kmsg.NewPtrFindCoordinatorRequest(), 2, 1)
	if f := c.read(); f != nil {
		t.Errorf("answered %x", f)
	}
	if err := take(t, ts.failures, "failure"); !strings.Contains(err.Error(), "refused") {
		t.Errorf("failure %v", err)
	}
}

// A broker that does not answer does not hold a connection that has ended.
func TestRelayEndsWithItsClient(t *testing.T) {
	ts, far := relayTo(t, 0)
	c := ts.connect()
	c.send(kmsg.NewPtrFindCoordinatorRequest(), 2, 1)
	broker := take(t, far, "connection to a broker")
	if _, err := readFrame(bufio.NewReader(broker), 8, MaxFrameSize); err != nil {
		t.Fatal(err)
	}
	c.c.Close()
	if _, err := broker.Read(make([]byte, 1)); err == nil {
		t.Error("the connection to the broker stays")
	}
}

// The controller leads nothing.
func TestProduceAndFetch(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.connect()
	produce := kmsg.NewPtrProduceRequest()
	produce.Acks = -1
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "a", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 3}}}}
	for v := int16(3); v <= 9; v++ {
		a := ask[*kmsg.ProduceResponse](c, produce, v)
		if len(a.Topics) != 1 || a.Topics[0].Topic != "a" || a.Topics[0].Partitions[0].Partition != 3 || a.Topics[0].Partitions[0].ErrorCode != int16(model.ErrNotLeaderOrFollower) {
			t.Errorf("Produce version %d: %+v", v, a)
		}
	}
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Topics = []kmsg.FetchRequestTopic{{Topic: "a", TopicID: idA, Partitions: []kmsg.FetchRequestTopicPartition{{Partition: 3}}}}
	for _, v := range []int16{4, 11, 12, 13, 16} {
		a := ask[*kmsg.FetchResponse](c, fetch, v)
		if len(a.Topics) != 1 || v < 13 && a.Topics[0].Topic != "a" || v >= 13 && a.Topics[0].TopicID != idA || a.Topics[0].Partitions[0].ErrorCode != int16(model.ErrNotLeaderOrFollower) {
			t.Errorf("Fetch version %d: %+v", v, a)
		}
	}
	if a := ask[*kmsg.DescribeLogDirsResponse](c, kmsg.NewPtrDescribeLogDirsRequest(), 4); len(a.Dirs) > 0 || a.ErrorCode != 0 {
		t.Errorf("log dirs %+v", a)
	}
	produce.Acks = 0
	c.send(produce, 9, 1)
	if f := c.read(); f != nil {
		t.Errorf("acks=0 is answered %x", f)
	}
}
