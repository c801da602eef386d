package broker

import (
	"context"
	"slices"
	"testing"
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// set replaces the behaviour of broker 1.
func (l *lab) set(x Behaviour) {
	l.t.Helper()
	if err := l.broker(1).SetBehaviour(x); err != nil {
		l.t.Fatal(err)
	}
}

// reply is a call that is under way.
type reply struct {
	resp kmsg.Response
	err  error
}

func (p *peer) start(req kmsg.Request) <-chan reply {
	out := make(chan reply, 1)
	go func() {
		resp, err := p.call(req)
		out <- reply{resp, err}
	}()
	return out
}

func (l *lab) peer(id int32) *peer {
	l.t.Helper()
	p, err := l.dial(id)
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

func TestRuleDelay(t *testing.T) {
	clock := newHandClock()
	l := newLab(t, labOptions{clock: clock, brokers: []int32{1}})
	l.set(Behaviour{Rules: []Rule{{Action: Delay, API: keyMetadata, Delay: time.Hour}, {Action: Delay, API: AnyAPI, Delay: time.Minute}}})
	late := l.peer(1).start(kmsg.NewPtrMetadataRequest())
	l.await("the request", func() bool { return l.broker(1).Count(Received, keyMetadata) == 1 })
	for clock.waiting() == 0 { // it is set after the request was counted
		select {
		case <-clock.news:
		case <-l.ctx.Done():
			t.Fatal("nobody waits")
		}
	}
	clock.move(time.Hour + time.Minute - 1)
	select {
	case <-late:
		t.Fatal("answered early")
	default:
	}
	clock.move(1)
	if r := <-late; r.err != nil {
		t.Fatal(r.err)
	}
	l.await("the count", func() bool { return l.broker(1).Count(Answered, keyMetadata) == 1 })
}

// waiting is the number of alarms that are set.
func (c *handClock) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.alarms)
}

func TestRuleHold(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	l.set(Behaviour{Rules: []Rule{{Action: Hold, API: keyLeaderAndISR}}})
	lead := func(p int32) kmsg.Request {
		return request{7, 5, -1}.leaderAndISR(state{tp: model.TP("t", p), leader: 1, replicas: []int32{1}, isr: []int32{1}})
	}
	first := l.peer(1).start(lead(0))
	l.await("the first to be held", func() bool { return l.broker(1).Held(AnyAPI) == 1 })
	second := l.peer(1).start(lead(1))
	l.await("the second to be held", func() bool { return l.broker(1).Held(keyLeaderAndISR) == 2 })
	if l.hosted(1, model.TP("t", 1)).Leader != 1 {
		t.Error("a held request is not carried out")
	}
	if n := l.broker(1).Release(keyStopReplica, -1); n != 0 {
		t.Errorf("%d StopReplica answers were held", n)
	}
	if n := l.broker(1).Release(keyLeaderAndISR, 1); n != 1 {
		t.Errorf("released %d", n)
	}
	if r := <-first; r.err != nil {
		t.Error(r.err)
	}
	select {
	case <-second:
		t.Error("the second went along")
	default:
	}
	l.broker(1).Release(AnyAPI, -1)
	if r := <-second; r.err != nil {
		t.Error(r.err)
	}
}

func TestHeldAnswerOfAClosedConnection(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	l.set(Behaviour{Rules: []Rule{{Action: Hold, API: AnyAPI}}})
	p := l.peer(1)
	if err := p.send(kmsg.NewPtrMetadataRequest()); err != nil {
		t.Fatal(err)
	}
	l.await("the answer to be held", func() bool { return l.broker(1).Held(AnyAPI) == 1 })
	p.conn.Close()
	l.await("it to be forgotten", func() bool { return l.broker(1).Held(AnyAPI) == 0 && l.broker(1).Count(Unanswered, keyMetadata) == 1 })
}

func TestRuleSilent(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	l.set(Behaviour{Rules: []Rule{{Action: Silent, API: keyStopReplica}}})
	l.lead(state{tp: t0, leader: 1, replicas: []int32{1}, isr: []int32{1}}, 1)
	p := l.peer(1)
	mute := p.start(request{4, 5, -1}.stopReplica(stop{t0, -2, true}))
	l.await("the request", func() bool { return l.broker(1).Count(Received, keyStopReplica) == 1 })
	if _, ok := l.broker(1).Snapshot().Find(t0); ok {
		t.Error("a silent broker does nothing either")
	}
	l.call(1, kmsg.NewPtrMetadataRequest()) // other connections live
	select {
	case r := <-mute:
		t.Errorf("answered %+v", r)
	default:
	}
	p.conn.Close()
	l.await("the end of it", func() bool { return l.broker(1).Count(Unanswered, keyStopReplica) == 1 })
}

func TestRuleDropUndone(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	l.set(Behaviour{Rules: []Rule{{Action: Drop, API: keyLeaderAndISR, Skip: 1, Count: 1, Undone: true}}})
	one := state{tp: t0, leader: 1, replicas: []int32{1}, isr: []int32{1}}
	l.lead(one, 1)
	one.epoch = 1
	if _, err := l.tryCall(1, request{7, 5, -1}.leaderAndISR(one)); err == nil {
		t.Error("the second is answered")
	}
	if h := l.hosted(1, t0); h.LeaderEpoch != 0 {
		t.Errorf("carried out: leader epoch %d", h.LeaderEpoch)
	}
	l.lead(one, 1)
}

func TestRuleError(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	part := int32(1)
	l.set(Behaviour{Rules: []Rule{
		{Action: Error, API: keyUpdateMetadata, Code: codeStaleBrokerEpoch, Count: 1},
		{Action: Error, API: keyLeaderAndISR, Topic: "t", Partition: &part, Code: codeKafkaStorageError},
		{Action: Error, API: keyStopReplica, Topic: "*", Code: codeUnknownServerError, Count: 1},
	}})
	if code := l.call(1, request{8, 5, -1}.updateMetadata(3, nil)).(*kmsg.UpdateMetadataResponse).ErrorCode; code != codeStaleBrokerEpoch {
		t.Errorf("UpdateMetadata: %d", code)
	}
	if l.broker(1).Snapshot().Controller != -1 {
		t.Error("the refused request was carried out")
	}
	if code := l.call(1, request{8, 5, -1}.updateMetadata(3, nil)).(*kmsg.UpdateMetadataResponse).ErrorCode; code != 0 {
		t.Errorf("second UpdateMetadata: %d", code)
	}
	one := state{leader: 1, replicas: []int32{1}, isr: []int32{1}}
	a, b := one, one
	a.tp, b.tp = t0, model.TP("t", 1)
	if top, codes := leaderCodes(l.call(1, request{7, 5, -1}.leaderAndISR(a, b))); top != 0 || !slices.Equal(codes, []int16{0, codeKafkaStorageError}) {
		t.Errorf("LeaderAndIsr: %d %v", top, codes)
	}
	if top, codes := stopCodes(l.call(1, request{4, 5, -1}.stopReplica(stop{t0, -2, true}))); top != 0 || !slices.Equal(codes, []int16{codeUnknownServerError}) {
		t.Errorf("StopReplica: %d %v", top, codes)
	}
	if top, codes := stopCodes(l.call(1, request{4, 5, -1}.stopReplica(stop{t0, -2, true}))); top != 0 || !slices.Equal(codes, []int16{0}) {
		t.Errorf("second StopReplica: %d %v", top, codes)
	}
	if got := l.broker(1).Behaviour().Rules; len(got) != 3 {
		t.Errorf("rules %+v", got)
	}
}

func TestRuleErrorOfAnyRequest(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	l.set(Behaviour{Rules: []Rule{{Action: Error, API: AnyAPI, Code: codeUnknownServerError}}})
	name := "t"
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	if got := l.call(1, meta).(*kmsg.MetadataResponse); got.Topics[0].ErrorCode != codeUnknownServerError {
		t.Errorf("Metadata: %+v", got)
	}
	if got := l.call(1, kmsg.NewPtrApiVersionsRequest()).(*kmsg.ApiVersionsResponse); got.ErrorCode != codeUnknownServerError {
		t.Errorf("ApiVersions: %+v", got)
	}
	if got := l.call(1, kmsg.NewPtrDescribeClusterRequest()).(*kmsg.DescribeClusterResponse); got.ErrorCode != codeUnknownServerError {
		t.Errorf("DescribeCluster: %+v", got)
	}
	lead := state{tp: t0, leader: 1, replicas: []int32{1}}
	if top, codes := leaderCodes(l.call(1, request{4, 5, -1}.leaderAndISR(lead))); top != codeUnknownServerError || !slices.Equal(codes, []int16{codeUnknownServerError}) {
		t.Errorf("LeaderAndIsr: %d %v", top, codes)
	}
	if top, codes := stopCodes(l.call(1, request{4, 5, -1}.stopReplica(stop{t0, -2, true}))); top != codeUnknownServerError || codes != nil {
		t.Errorf("StopReplica: %d %v", top, codes)
	}
	if _, err := l.tryCall(1, kmsg.NewPtrCreateTopicsRequest()); err == nil {
		t.Error("CreateTopics has no place for the error, but is answered")
	}
}

func TestRuleCrash(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	if err := l.broker(1).AddRule(Rule{Action: Crash, API: keyLeaderAndISR, Skip: 2}); err != nil {
		t.Fatal(err)
	}
	one := state{tp: t0, leader: 1, replicas: []int32{1}, isr: []int32{1}}
	l.lead(one, 1)
	one.tp = model.TP("t", 1)
	l.lead(one, 1)
	one.tp = model.TP("t", 2)
	if _, err := l.tryCall(1, request{7, 5, -1}.leaderAndISR(one)); err == nil {
		t.Error("the third is answered")
	}
	s := l.broker(1).Snapshot()
	if s.Up || len(s.Dirs[0].Logs) != 3 {
		t.Errorf("%+v", s)
	}
	if _, err := l.dial(1); !refused(err) {
		t.Errorf("dialled with %v", err)
	}
	l.await("the observer", func() bool { return len(l.saw(1, Killed)) == 1 && l.saw(1, Killed)[0].Err != nil })
}

func TestRefusing(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	old := l.peer(1)
	if _, err := old.call(kmsg.NewPtrMetadataRequest()); err != nil {
		t.Fatal(err)
	}
	l.set(Behaviour{Refusing: true})
	if _, err := old.call(kmsg.NewPtrMetadataRequest()); err == nil {
		t.Error("an old connection is served")
	}
	if _, err := l.tryCall(1, kmsg.NewPtrMetadataRequest()); err == nil {
		t.Error("a new connection is served")
	}
	l.set(Behaviour{})
	l.call(1, kmsg.NewPtrMetadataRequest())
}

func TestControllerCut(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1, 2}})
	l.metadata(1, 2)
	client, controller := l.peer(1), l.peer(1)
	if _, err := controller.call(request{8, 5, -1}.updateMetadata(9, nil)); err != nil {
		t.Fatal(err)
	}
	l.metadata(1, 2)
	if _, err := client.call(kmsg.NewPtrMetadataRequest()); err != nil {
		t.Fatal(err)
	}
	l.lead(state{tp: t0, id: idA, leader: 1, isr: []int32{1}, replicas: []int32{1, 2}}, 1, 2)
	a := l.next() // on its way when the cut comes
	l.set(Behaviour{ControllerCut: true})
	if _, err := controller.call(request{8, 5, -1}.updateMetadata(9, nil)); err == nil {
		t.Error("the controller's old connection is served")
	}
	if _, err := l.tryCall(1, request{8, 5, -1}.updateMetadata(9, nil)); err == nil {
		t.Error("the controller's new connection is served")
	}
	if _, err := client.call(kmsg.NewPtrMetadataRequest()); err != nil {
		t.Errorf("a client is not served: %v", err)
	}
	l.await("the broken request", func() bool { return l.broker(1).Count(Returned, keyAlterPartition) == 1 })
	a.answer <- nil
	l.set(Behaviour{})
	_, answer := l.nextAlter()
	answer(0)
	l.await("the ISR", func() bool { return len(l.hosted(1, t0).ISR) == 2 })
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	p := l.peer(1)
	var all []byte
	for i := int32(1); i <= 50; i++ {
		all = appendRequest(all, kmsg.NewPtrMetadataRequest(), i, "c")
	}
	if _, err := p.conn.Write(all); err != nil {
		t.Fatal(err)
	}
	for i := int32(1); i <= 50; i++ {
		frame, err := readFrame(p.in, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseResponse(frame, kmsg.NewPtrMetadataRequest(), i); err != nil {
			t.Fatal(err)
		}
	}
}

func TestObserverMayCallTheCluster(t *testing.T) {
	c := New(Config{})
	defer c.Close()
	seen := make(chan Event, 10)
	var b *Broker
	c.cfg.Observe = func(e Event) {
		b.Snapshot()
		if err := b.AddRule(Rule{Action: Drop, API: keyMetadata}); err != nil {
			t.Error(err)
		}
		seen <- e
	}
	b, err := c.Add(1, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	c.do(func() { b.note(Event{Kind: Started}); b.note(Event{Kind: Stopped}) })
	if a, b := <-seen, <-seen; a.Kind != Started || b.Kind != Stopped {
		t.Errorf("saw %s, %s", a.Kind, b.Kind)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	c := New(Config{})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Await(ctx, func() bool { return false }); err == nil {
		t.Error("no error")
	}
}
