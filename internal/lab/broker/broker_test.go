package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRegistration(t *testing.T) {
	for _, c := range []struct {
		ibp  model.InterBrokerProtocol
		want string
	}{
		{model.IBP_3_9_IV0, `{"version":5,"host":"127.0.0.1","port":%d,"jmx_port":-1,"timestamp":"1700000000000","endpoints":["PLAINTEXT://127.0.0.1:%d"],"rack":"r","listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"features":{}}`},
		{model.IBP_2_6_IV0, `{"version":4,"host":"127.0.0.1","port":%d,"jmx_port":-1,"timestamp":"1700000000000","endpoints":["PLAINTEXT://127.0.0.1:%d"],"rack":"r","listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}}`},
		{model.IBP_0_9_0, `{"version":2,"host":"127.0.0.1","port":%d,"jmx_port":-1,"timestamp":"1700000000000","endpoints":["PLAINTEXT://127.0.0.1:%d"]}`},
	} {
		t.Run(c.ibp.String(), func(t *testing.T) {
			l := newLab(t, labOptions{clock: newHandClock(), chroot: "/kafka", brokers: []int32{7}, set: Settings{InterBrokerProtocol: c.ibp, Rack: "r"}})
			data, stat, _ := l.get("/kafka/brokers/ids/7")
			e, up := l.broker(7).Address()
			var got, want any
			if err := json.Unmarshal([]byte(data), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(fmt.Appendf(nil, c.want, e.Port, e.Port), &want); err != nil {
				t.Fatal(err)
			}
			if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w || !up {
				t.Errorf("registered %s, want %s", g, w)
			}
			if s := l.broker(7).Snapshot(); s.Epoch != stat.Czxid || stat.Version != 1 || stat.EphemeralOwner != l.broker(7).SessionID() {
				t.Errorf("epoch %d, stat %+v", s.Epoch, stat)
			}
			for _, path := range model.PersistentPaths() {
				if data, _, ok := l.get("/kafka" + path); !ok || data != "" {
					t.Errorf("%s: %q, exists %t", path, data, ok)
				}
			}
			if data, _, _ := l.get("/kafka/cluster/id"); data != `{"version":"1","id":"a3N0YXRlLWxhYi1jbHVzdA"}` {
				t.Errorf("cluster id %s", data)
			}
		})
	}
}

func TestTwentyBrokers(t *testing.T) {
	ids := make([]int32, 20)
	for i := range ids {
		ids[i] = int32(i)
	}
	start := time.Now()
	l := newLab(t, labOptions{brokers: ids})
	t.Logf("20 brokers are up after %s", time.Since(start))
	for _, s := range l.c.Snapshots() {
		if !s.Up || s.Epoch <= 0 {
			t.Errorf("broker %d: %+v", s.ID, s)
		}
	}
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

func TestKillLeavesTheSession(t *testing.T) {
	l := newLab(t, labOptions{})
	session := l.broker(2).SessionID()
	p, err := l.dial(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.call(kmsg.NewPtrMetadataRequest()); err != nil {
		t.Fatal(err)
	}
	l.broker(2).Kill()
	if _, err := p.call(kmsg.NewPtrMetadataRequest()); err == nil {
		t.Error("a killed broker answers")
	}
	if _, err := l.dial(2); !refused(err) {
		t.Errorf("a killed broker is dialled with %v", err)
	}
	if !l.has("/brokers/ids/2") || !slices.Contains(l.store.Sessions(), session) {
		t.Error("the session was closed")
	}
	l.store.Expire(session)
	if l.has("/brokers/ids/2") {
		t.Error("still registered")
	}
	if got := l.broker(2).Count(Killed, AnyAPI); got != 1 {
		t.Errorf("killed %d times", got)
	}
}

// TestRestart: the disk stays, memory does not, and the session that a kill left
// behind is in the way until it ends.
func TestRestart(t *testing.T) {
	l := newLab(t, labOptions{})
	l.metadata(1, 2, 3)
	l.lead(state{tp: t0, id: idA, leader: 1, epoch: 4}, 1, 2, 3)
	before := l.broker(2).Snapshot()
	session := l.broker(2).SessionID()
	l.broker(2).Kill()
	if err := l.broker(2).Start(l.ctx); !errors.Is(err, errRegistered) {
		t.Fatalf("start beside the old session: %v", err)
	}
	if l.broker(2).Snapshot().Up {
		t.Error("it is up all the same")
	}
	l.store.Expire(session)
	if err := l.broker(2).Start(l.ctx); err != nil {
		t.Fatal(err)
	}
	s := l.broker(2).Snapshot()
	if len(s.Hosted) != 0 || s.Controller != -1 || s.ControllerEpoch != 0 || s.Epoch <= before.Epoch || s.Port != before.Port {
		t.Errorf("after a restart %+v", s)
	}
	if !slices.Equal(s.Dirs[0].Logs, []model.TopicPartition{t0}) {
		t.Errorf("logs %v", s.Dirs[0].Logs)
	}
	l.metadata(2)
	req := request{7, 5, s.Epoch}.leaderAndISR(state{tp: t0, id: idB, leader: 1, epoch: 0})
	if _, codes := leaderCodes(l.call(2, req)); codes[0] != codeInconsistentTopicID {
		t.Errorf("another topic id is answered with %d", codes[0])
	}
	l.lead(state{tp: t0, id: idA, leader: 1, epoch: 4}, 2)
	if err := l.broker(2).Start(l.ctx); err == nil {
		t.Error("it started twice")
	}
}

func TestStartAwaitsTheOldRegistration(t *testing.T) {
	l := newLab(t, labOptions{set: Settings{AwaitOldRegistration: true}})
	session := l.broker(3).SessionID()
	l.broker(3).Kill()
	done := make(chan error, 1)
	go func() { done <- l.broker(3).Start(l.ctx) }()
	l.await("the first attempt", func() bool { return l.broker(3).Count(RegistrationFailed, AnyAPI) == 1 })
	l.store.Expire(session)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, stat, _ := l.get("/brokers/ids/3"); stat.EphemeralOwner != l.broker(3).SessionID() {
		t.Errorf("owner 0x%x", stat.EphemeralOwner)
	}
}

func TestExpiryRegistersAnew(t *testing.T) {
	l := newLab(t, labOptions{})
	b := l.broker(1)
	first := b.Snapshot().Epoch
	l.store.Expire(b.SessionID())
	l.await("a new epoch", func() bool { return b.Snapshot().Epoch > first })
	_, stat, _ := l.get("/brokers/ids/1")
	if stat.Czxid != b.Snapshot().Epoch || stat.EphemeralOwner != b.SessionID() {
		t.Errorf("stat %+v, epoch %d", stat, b.Snapshot().Epoch)
	}
	l.await("the observer", func() bool { return len(l.saw(1, Registered)) == 2 && len(l.saw(1, SessionExpired)) == 1 })
	req := request{8, 5, first}.updateMetadata(2, nil)
	if code := l.call(1, req).(*kmsg.UpdateMetadataResponse).ErrorCode; code != codeStaleBrokerEpoch {
		t.Errorf("the earlier epoch is answered with %d", code)
	}
}

// TestStrangerTakesTheRegistration: after an expiry a broker does not push a
// stranger aside (fact 2.39).
func TestStrangerTakesTheRegistration(t *testing.T) {
	l := newLab(t, labOptions{})
	b := l.broker(1)
	if err := b.SetBehaviour(Behaviour{ZooKeeperCut: true}); err != nil {
		t.Fatal(err)
	}
	l.store.Expire(b.SessionID())
	stranger, _ := l.store.CreateSession(time.Hour)
	if res, _ := l.store.Apply(stranger, zkserver.Create("/brokers/ids/1", nil, 1)); res.Code != 0 {
		t.Fatalf("create: %v", res.Code)
	}
	if err := b.SetBehaviour(Behaviour{}); err != nil {
		t.Fatal(err)
	}
	l.await("the failure", func() bool { return len(l.saw(1, RegistrationFailed)) == 1 })
	if err := l.saw(1, RegistrationFailed)[0].Err; !errors.Is(err, errRegistered) {
		t.Errorf("it failed with %v", err)
	}
	if _, stat, _ := l.get("/brokers/ids/1"); stat.EphemeralOwner != stranger {
		t.Errorf("owner 0x%x", stat.EphemeralOwner)
	}
}

func TestZooKeeperCutKeepsTheSession(t *testing.T) {
	l := newLab(t, labOptions{set: Settings{LogDirs: 2}})
	b := l.broker(1)
	session, epoch := b.SessionID(), b.Snapshot().Epoch
	if err := b.SetBehaviour(Behaviour{ZooKeeperCut: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.tryCall(1, kmsg.NewPtrMetadataRequest()); err != nil {
		t.Errorf("clients are not served: %v", err)
	}
	if err := b.FailLogDir("/lab/broker-1/0"); err != nil {
		t.Fatal(err)
	}
	if names, _, _ := l.store.Children(model.LogDirEventNotificationPath); len(names) > 0 {
		t.Errorf("it reached ZooKeeper: %v", names)
	}
	if err := b.SetBehaviour(Behaviour{}); err != nil {
		t.Fatal(err)
	}
	l.await("the announcement after the cut", func() bool { return b.Count(DirAnnounced, AnyAPI) == 1 })
	if _, stat, ok := l.get("/brokers/ids/1"); !ok || stat.EphemeralOwner != session || stat.Czxid != epoch || b.SessionID() != session {
		t.Errorf("registration %+v, exists %t, session 0x%x was 0x%x", stat, ok, b.SessionID(), session)
	}
}

func TestHostileFrameClosesItsConnectionOnly(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	good, err := l.dial(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range [][]byte{
		{0x7f, 0xff, 0xff, 0xff},
		{0xff, 0xff, 0xff, 0xff},
		{0, 0, 0, 2, 0, 18},
		{0, 0, 0, 14, 0, 4, 0, 7, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0}, // LeaderAndIsr without a body
		{0, 0, 0, 10, 0, 1, 0, 11, 0, 0, 0, 1, 0xff, 0xff},            // Fetch
		{0, 0, 0, 10, 3, 231, 0, 0, 0, 0, 0, 1, 0xff, 0xff},           // no such request
		{0, 0, 0, 10, 0, 3, 0, 99, 0, 0, 0, 1, 0xff, 0xff},            // Metadata of version 99
	} {
		bad, err := l.dial(1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bad.conn.Write(frame); err != nil {
			t.Fatal(err)
		}
		if n, err := bad.conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%x is answered with %d bytes", frame, n)
		}
	}
	if _, err := good.call(kmsg.NewPtrMetadataRequest()); err != nil {
		t.Errorf("the other connection: %v", err)
	}
	l.await("the observer", func() bool { return len(l.saw(1, BadFrame)) == 7 })
}

func TestApiVersions(t *testing.T) {
	for _, c := range []struct {
		release model.InterBrokerProtocol
		want    [3]int16 // LeaderAndIsr, StopReplica, UpdateMetadata
	}{
		{model.IBP_0_11_0_IV2, [3]int16{0, 0, 3}},
		{model.IBP_1_0_IV0, [3]int16{1, 0, 4}},
		{model.IBP_2_2_IV0, [3]int16{2, 1, 5}},
		{model.IBP_2_4_IV0, [3]int16{4, 2, 6}},
		{model.IBP_2_6_IV0, [3]int16{4, 3, 6}},
		{model.IBP_2_8_IV0, [3]int16{5, 3, 7}},
		{model.IBP_3_2_IV0, [3]int16{6, 3, 7}},
		{model.IBP_3_9_IV0, [3]int16{7, 4, 8}},
	} {
		l := newLab(t, labOptions{brokers: []int32{1}, set: Settings{Release: c.release, InterBrokerProtocol: model.IBP_0_11_0_IV0}})
		req := kmsg.NewPtrApiVersionsRequest()
		got := map[int16]int16{}
		for _, k := range l.call(1, req).(*kmsg.ApiVersionsResponse).ApiKeys {
			got[k.ApiKey] = k.MaxVersion
		}
		if have := [3]int16{got[keyLeaderAndISR], got[keyStopReplica], got[keyUpdateMetadata]}; have != c.want {
			t.Errorf("%s: %v, want %v", c.release, have, c.want)
		}
		peer, err := l.dial(1)
		if err != nil {
			t.Fatal(err)
		}
		req.Version = 5 // kmsg's highest; no broker of the ZooKeeper era knows it
		if err := peer.send(req); err != nil {
			t.Fatal(err)
		}
		frame, err := readFrame(peer.in, 1000)
		if err != nil {
			t.Fatal(err)
		}
		req.Version = 0
		resp, err := parseResponse(frame, req, 1)
		if err != nil {
			t.Fatal(err)
		}
		if x := resp.(*kmsg.ApiVersionsResponse); x.ErrorCode != codeUnsupportedVersion || len(x.ApiKeys) != 1 {
			t.Errorf("%s: version 5 is answered with %+v", c.release, x)
		}
	}
}

func TestNotTheController(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	l.metadata(1)
	name := "t"
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: 1, ReplicationFactor: 1}}
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.Version, remove.Topics = 6, []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	removeOld := kmsg.NewPtrDeleteTopicsRequest()
	removeOld.TopicNames = []string{name}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: name, Count: 2}}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version, elect.Topics = 2, []kmsg.ElectLeadersRequestTopic{{Topic: name, Partitions: []int32{0}}}
	scram := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	scram.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "u"}}
	for _, c := range []struct {
		req  kmsg.Request
		code func(kmsg.Response) int16
	}{
		{create, func(r kmsg.Response) int16 { return r.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode }},
		{remove, func(r kmsg.Response) int16 { return r.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode }},
		{removeOld, func(r kmsg.Response) int16 { return r.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode }},
		{grow, func(r kmsg.Response) int16 { return r.(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode }},
		{elect, func(r kmsg.Response) int16 { return r.(*kmsg.ElectLeadersResponse).Topics[0].Partitions[0].ErrorCode }},
		{scram, func(r kmsg.Response) int16 { return r.(*kmsg.AlterUserSCRAMCredentialsResponse).Results[0].ErrorCode }},
		{kmsg.NewPtrAlterPartitionRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.AlterPartitionResponse).ErrorCode }},
		{kmsg.NewPtrAllocateProducerIDsRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.AllocateProducerIDsResponse).ErrorCode }},
		{kmsg.NewPtrUpdateFeaturesRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.UpdateFeaturesResponse).ErrorCode }},
		{kmsg.NewPtrAlterPartitionAssignmentsRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.AlterPartitionAssignmentsResponse).ErrorCode }},
		{kmsg.NewPtrListPartitionReassignmentsRequest(), func(r kmsg.Response) int16 { return r.(*kmsg.ListPartitionReassignmentsResponse).ErrorCode }},
	} {
		if code := c.code(l.call(1, c.req)); code != codeNotController {
			t.Errorf("%T: code %d", c.req, code)
		}
	}
	shutdown := kmsg.NewPtrControlledShutdownRequest()
	shutdown.Version = 3
	if code := l.call(1, shutdown).(*kmsg.ControlledShutdownResponse).ErrorCode; code != codeStaleControllerEpoch {
		t.Errorf("ControlledShutdown: code %d", code)
	}
	all := kmsg.NewPtrElectLeadersRequest()
	all.Version = 2
	l.call(1, request{8, 5, -1}.updateMetadata(9, []int32{1}, cached{t0, idA, 1}))
	if got := l.call(1, all).(*kmsg.ElectLeadersResponse).Topics; len(got) != 1 || got[0].Topic != "t" || got[0].Partitions[0].ErrorCode != codeNotController {
		t.Errorf("ElectLeaders of all: %+v", got)
	}
	describe := kmsg.NewPtrDescribeClusterRequest()
	if got := l.call(1, describe).(*kmsg.DescribeClusterResponse); got.ControllerID != 9 || len(got.Brokers) != 1 || got.ClusterID != "a3N0YXRlLWxhYi1jbHVzdA" {
		t.Errorf("DescribeCluster: %+v", got)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	c := New(Config{ZooKeeper: []string{"127.0.0.1:1"}})
	defer c.Close()
	for _, s := range []Settings{{LogDirs: -1}, {CatchUp: -1}, {Release: model.IBP_2_8_IV0, InterBrokerProtocol: model.LatestIBP}} {
		if _, err := c.Add(1, s); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	if _, err := c.Add(-1, Settings{}); err == nil {
		t.Error("a negative id is taken")
	}
	b, err := c.Add(1, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Add(1, Settings{}); err == nil {
		t.Error("an id is taken twice")
	}
	for _, r := range []Rule{{Action: "dance"}, {Action: Error}, {Action: Delay, Delay: -1}, {Action: Drop, Skip: -1}, {Action: Error, Code: 1, API: keyMetadata, Topic: "t"}} {
		if err := b.AddRule(r); err == nil {
			t.Errorf("rule %+v is taken", r)
		}
		if err := b.SetBehaviour(Behaviour{Rules: []Rule{r}}); err == nil {
			t.Errorf("rule %+v is taken", r)
		}
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := dead.Addr().String()
	dead.Close()
	c := New(Config{ZooKeeper: []string{addr}})
	if _, err := c.Add(1, Settings{}); err != nil {
		t.Fatal(err)
	}
	before := goroutines()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Start(ctx); err == nil {
		t.Error("it started without ZooKeeper")
	}
	c.Close()
	noneLeft(t, before)
	if err := c.Start(ctx); err == nil {
		t.Error("a closed cluster starts")
	}
}
