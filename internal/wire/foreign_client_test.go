package wire

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kstate/model"
)

// A client of another make finds the controller through Metadata and is served.
func TestForeignClient(t *testing.T) {
	var self atomic.Pointer[model.Broker]
	ts := newTestServer(t, func(o *ServerOptions) {
		o.Cluster = func() Cluster {
			c := mixedCluster()
			c.Self = self.Load()
			return c
		}
	})
	host, port, err := net.SplitHostPort(ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	self.Store(&model.Broker{ID: 1001, Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: host, Port: int32(n)}}})

	client, err := kgo.NewClient(kgo.SeedBrokers(ts.addr), kgo.ClientID("foreign"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	admin := kadm.NewClient(client)
	answers := func(answer func(model.Ask) model.Answer) {
		go func() {
			asked, ok := <-ts.asked
			if ok {
				ts.Reply(&model.Reply{Ask: asked.ID, Answer: answer(asked.Ask)})
			}
		}()
	}

	m, err := admin.Metadata(ctx)
	if err != nil || m.Controller != 1001 || !slices.Equal(m.Brokers.NodeIDs(), []int32{1, 2, 1001}) {
		t.Fatalf("metadata %+v, %v", m, err)
	}
	if got := m.Topics.Names(); !slices.Equal(got, []string{"__consumer_offsets", "elsewhere", "fine", "half", "leaderless"}) {
		t.Errorf("topics %q", got)
	}

	answers(func(a model.Ask) model.Answer {
		q := a.(*model.ElectLeaders)
		if q.Type != model.UncleanElection || !slices.Equal(q.Partitions, []model.TopicPartition{model.TP("leaderless", 0)}) {
			t.Errorf("asked %+v", q)
		}
		return &model.ElectLeadersAnswer{Results: []model.ElectionResult{{TopicPartition: q.Partitions[0], Error: model.ErrEligibleLeadersNotAvailable, Why: "no replica is online"}}}
	})
	elected, err := admin.ElectLeaders(ctx, kadm.ElectLiveReplica, kadm.TopicsSet{"leaderless": {0: {}}})
	if r := elected["leaderless"][0]; err != nil || r.Err == nil || r.ErrMessage != "no replica is online" {
		t.Errorf("elected %+v, %v", elected, err)
	}

	answers(func(a model.Ask) model.Answer {
		if q := a.(*model.ListPartitionReassignments); q.All || len(q.Partitions) != 1 {
			t.Errorf("asked %+v", q)
		}
		return &model.ListPartitionReassignmentsAnswer{Partitions: []model.Reassignment{
			{TopicPartition: model.TP("fine", 0), ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{3, 1, 2}, Adding: []int32{3}, Removing: []int32{2}}}}}
	})
	moves, err := admin.ListPartitionReassignments(ctx, kadm.TopicsSet{"fine": {0: {}}})
	if r := moves["fine"][0]; err != nil || !slices.Equal(r.Replicas, []int32{3, 1, 2}) || !slices.Equal(r.AddingReplicas, []int32{3}) || !slices.Equal(r.RemovingReplicas, []int32{2}) {
		t.Errorf("reassignments %+v, %v", moves, err)
	}

	answers(func(a model.Ask) model.Answer {
		q := a.(*model.AlterPartitionReassignments)
		if len(q.Partitions) != 1 || !slices.Equal(q.Partitions[0].Target, []int32{2, 3}) {
			t.Errorf("asked %+v", q)
		}
		return &model.AlterPartitionReassignmentsAnswer{Partitions: []model.PartitionError{{TopicPartition: model.TP("fine", 0)}}}
	})
	var want kadm.AlterPartitionAssignmentsReq
	want.Assign("fine", 0, []int32{2, 3})
	altered, err := admin.AlterPartitionAssignments(ctx, want)
	if err != nil || altered.Error() != nil {
		t.Errorf("altered %+v, %v", altered, err)
	}
}
