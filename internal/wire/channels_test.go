package wire

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kstate/model"
)

// channels makes Channels to one fake broker and the stream of what they report.
func channels(t *testing.T, b *fakeBroker, change func(*Options)) (*Channels, chan *model.Responded, chan error) {
	t.Helper()
	inputs, failures := make(chan *model.Responded, 100), make(chan error, 1000)
	opt := Options{
		ControllerID: 1001, Listener: "INTERNAL", Dialer: b.dial, RetryPause: time.Millisecond,
		OnInput: func(s model.Stimulus) { inputs <- s.(*model.Responded) },
		OnFailure: func(id int32, err error) {
			if id == 1 {
				failures <- err
			}
		},
		Now: func() int64 { return 1000 },
	}
	if change != nil {
		change(&opt)
	}
	c := NewChannels(opt)
	t.Cleanup(func() {
		c.Close()
		noGoroutinesLeft(t)
	})
	return c, inputs, failures
}

func linkUp(t *testing.T, c *Channels, id int32) {
	t.Helper()
	if err := c.Link(brokerWith(id), true); err != nil {
		t.Fatal(err)
	}
}

func send(t *testing.T, c *Channels, id int32, r model.ControlRequest) {
	t.Helper()
	if err := c.Send(id, r); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsGoOneByOneInOrder(t *testing.T) {
	b := newFakeBroker(t)
	c, inputs, _ := channels(t, b, nil)
	linkUp(t, c, 1)
	const n = 20
	for i := range int32(n) {
		send(t, c, 1, numbered(i))
	}
	conn := take(t, b.conns, "connection")
	for i := range int32(n) {
		f := conn.frame()
		if got := f.number(t); got != i || f.key != 5 || f.version != 3 || f.correlationID != i+1 {
			t.Fatalf("request %d: number %d, %+v", i, got, f)
		}
		if len(conn.frames) > 0 {
			t.Fatalf("a second request is in flight beside request %d", i)
		}
		s := c.Snapshot()
		if len(s) != 1 || s[0].Depth != int(n-i) || s[0].Head != numbered(i).String() || s[0].HeadSince != 1000 || !s[0].Connected || s[0].Sent != n || s[0].Broker != 1 {
			t.Fatalf("at request %d: %+v", i, s)
		}
		conn.answer(f, model.KafkaError(i))
		in := take(t, inputs, "answer")
		if in.Broker != 1 || in.Response.Error != model.KafkaError(i) || in.Request.(*model.StopReplicaRequest).Entries[0].Partition != i {
			t.Fatalf("answer %d is %+v", i, in)
		}
	}
	if s := c.Snapshot(); s[0].Depth != 0 || s[0].Head != "" {
		t.Errorf("at the end: %+v", s)
	}
	if len(b.conns) != 0 {
		t.Error("more than one connection was opened")
	}
}

// 12.08: what Kafka's gauges and its timer of a channel say. The request in flight
// is no longer in the queue; it has waited from when it was queued until the one
// before it was answered.
func TestWhatWaitsInAQueue(t *testing.T) {
	var now atomic.Int64
	b := newFakeBroker(t)
	c, inputs, _ := channels(t, b, func(o *Options) { o.Now = now.Load })
	linkUp(t, c, 1)
	if s := c.Snapshot(); s[0].QueueSize() != 0 || s[0].Waited != 0 {
		t.Errorf("of an empty channel: %+v", s)
	}
	for i, at := range []int64{1000, 1200, 1700} {
		now.Store(at)
		send(t, c, 1, numbered(int32(i)))
	}
	conn := take(t, b.conns, "connection")
	now.Store(2000)
	for i, want := range []struct {
		size          int
		waited, since int64
	}{{2, 0, 1000}, {1, 800, 2000}, {0, 800, 2500}} {
		f := conn.frame()
		if s := c.Snapshot(); s[0].QueueSize() != want.size || s[0].Waited != want.waited || s[0].HeadSince != want.since {
			t.Errorf("at request %d: %d wait, it waited %d, head since %d; want %+v", i, s[0].QueueSize(), s[0].Waited, s[0].HeadSince, want)
		}
		conn.answer(f, model.ErrNone)
		take(t, inputs, "answer")
		now.Add(500)
	}
	if s := c.Snapshot(); s[0].QueueSize() != 0 || s[0].Waited != 0 {
		t.Errorf("at the end: %+v", s)
	}
}

func TestARequestIsTriedUntilItIsAnswered(t *testing.T) {
	b := newFakeBroker(t)
	c, inputs, failures := channels(t, b, nil)
	refused := errors.New("connection refused")
	b.refuse <- refused
	b.refuse <- refused
	linkUp(t, c, 1)
	send(t, c, 1, numbered(1))
	send(t, c, 1, numbered(2))
	for range 2 {
		if err := take(t, failures, "failure"); !errors.Is(err, refused) || !strings.Contains(err.Error(), "broker 1 at INTERNAL://b:9092") {
			t.Errorf("failure %v", err)
		}
	}
	spoil := []struct {
		how  func(*fakeConn, fakeFrame)
		want string
	}{
		{func(fc *fakeConn, _ fakeFrame) { fc.c.Close() }, "closed the connection"},
		{func(fc *fakeConn, f fakeFrame) { fc.raw([]byte{1, 2, 3, 4, 0, 0, 0, 1, 0}) }, "correlation id"},
		{func(fc *fakeConn, f fakeFrame) { fc.raw([]byte{0, 0, 0, byte(f.correlationID), 0, 1}) }, "cannot be decoded"},
		{func(fc *fakeConn, f fakeFrame) { fc.c.Write([]byte{0xff, 0, 0, 0}) }, "frame size"},
		{func(fc *fakeConn, f fakeFrame) { fc.c.Write([]byte{0, 0, 0, 9, 0}); fc.c.Close() }, "unexpected EOF"},
	}
	for i, s := range spoil {
		conn := take(t, b.conns, "connection")
		f := conn.frame()
		if n := f.number(t); n != 1 {
			t.Fatalf("attempt %d sends request %d", i, n)
		}
		s.how(conn, f)
		if err := take(t, failures, "failure"); !strings.Contains(err.Error(), s.want) {
			t.Errorf("attempt %d: %v, want %q", i, err, s.want)
		}
		conn.ended()
	}
	conn := take(t, b.conns, "connection")
	f := conn.frame()
	conn.answer(f, model.ErrStaleControllerEpoch)
	if in := take(t, inputs, "answer"); in.Response.Error != model.ErrStaleControllerEpoch || in.Request.(*model.StopReplicaRequest).Entries[0].Partition != 1 {
		t.Errorf("answer %+v", in)
	}
	if n := conn.frame().number(t); n != 2 {
		t.Errorf("then comes request %d", n)
	}
	if len(inputs) != 0 {
		t.Error("a request was answered twice")
	}
}

func TestNoAnswerInTime(t *testing.T) {
	b := newFakeBroker(t)
	c, inputs, failures := channels(t, b, func(o *Options) { o.RequestTimeout = 50 * time.Millisecond })
	linkUp(t, c, 1)
	send(t, c, 1, numbered(1))
	silent := take(t, b.conns, "connection")
	if err := take(t, failures, "failure"); !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("failure %v", err)
	}
	for f := range silent.frames {
		if n := f.number(t); n != 1 {
			t.Errorf("request %d", n)
		}
	}
	for { // on a busy machine this answer may be late too
		conn := take(t, b.conns, "connection")
		if f, ok := <-conn.frames; ok && conn.answer(f, model.ErrNone) {
			break
		}
	}
	take(t, inputs, "answer")
}

// When the broker closes an idle connection the next request does not wait for
// the retry pause.
func TestAnIdleConnectionIsReopenedAtOnce(t *testing.T) {
	b := newFakeBroker(t)
	c, inputs, failures := channels(t, b, func(o *Options) { o.RetryPause = time.Hour })
	linkUp(t, c, 1)
	send(t, c, 1, numbered(1))
	conn := take(t, b.conns, "connection")
	conn.answer(conn.frame(), model.ErrNone)
	take(t, inputs, "answer")
	conn.c.Close()
	until(t, "the end of the connection is noticed", func() bool { return !c.Snapshot()[0].Connected })
	send(t, c, 1, numbered(2))
	conn = take(t, b.conns, "new connection")
	conn.answer(conn.frame(), model.ErrNone)
	take(t, inputs, "answer")
	if len(failures) != 0 {
		t.Errorf("failure: %v", <-failures)
	}
}

func TestLinkDownDropsWhatIsQueued(t *testing.T) {
	b := newFakeBroker(t)
	c, inputs, _ := channels(t, b, nil)
	linkUp(t, c, 1)
	linkUp(t, c, 1) // changes nothing
	for i := range int32(3) {
		send(t, c, 1, numbered(i))
	}
	old := take(t, b.conns, "connection")
	f := old.frame()
	if err := c.Link(brokerWith(1), false); err != nil {
		t.Fatal(err)
	}
	if old.answer(f, model.ErrNone) {
		t.Log("the answer was still written; it must not be passed on")
	}
	if err := c.Send(1, numbered(7)); err == nil || !strings.Contains(err.Error(), "StopReplica to broker 1 was not sent") {
		t.Errorf("sending without a channel: %v", err)
	}
	if s := c.Snapshot(); len(s) != 0 {
		t.Errorf("channels: %+v", s)
	}
	linkUp(t, c, 1) // the broker bounced
	send(t, c, 1, numbered(8))
	conn := take(t, b.conns, "connection")
	f = conn.frame()
	if n := f.number(t); n != 8 {
		t.Errorf("the new channel sends request %d", n)
	}
	conn.answer(f, model.ErrStaleBrokerEpoch)
	if in := take(t, inputs, "answer"); in.Response.Error != model.ErrStaleBrokerEpoch {
		t.Errorf("answer %+v", in)
	}
	old.ended()
	if len(inputs) != 0 {
		t.Errorf("an answer of the dropped channel came: %+v", <-inputs)
	}
}

// While an answer is passed on, dropping waits for it; afterwards none comes.
func TestLinkDownWaitsForAnAnswerBeingPassedOn(t *testing.T) {
	b := newFakeBroker(t)
	entered, release := make(chan struct{}), make(chan struct{})
	var passed atomic.Int32
	c, _, _ := channels(t, b, func(o *Options) {
		o.OnInput = func(model.Stimulus) {
			entered <- struct{}{}
			<-release
			passed.Add(1)
		}
	})
	linkUp(t, c, 1)
	send(t, c, 1, numbered(1))
	conn := take(t, b.conns, "connection")
	conn.answer(conn.frame(), model.ErrNone)
	take(t, entered, "call of OnInput")
	down := make(chan int32)
	go func() {
		c.Link(brokerWith(1), false)
		down <- passed.Load()
	}()
	until(t, "the channel is gone", func() bool { return len(c.Snapshot()) == 0 })
	select {
	case <-down:
		t.Fatal("Link down returned while OnInput was at work")
	default:
	}
	close(release)
	if n := take(t, down, "return of Link"); n != 1 {
		t.Errorf("%d answers were passed on when Link down returned", n)
	}
}

// A broker that takes nothing keeps nobody from dropping its channel, and holds
// no other broker up.
func TestADeadBrokerHoldsNobodyUp(t *testing.T) {
	b := newFakeBroker(t)
	c, inputs, _ := channels(t, b, nil)
	linkUp(t, c, 1)
	send(t, c, 1, numbered(1))
	stuck := take(t, b.conns, "connection")
	stuck.frame()
	linkUp(t, c, 2)
	send(t, c, 2, numbered(2))
	conn := take(t, b.conns, "connection")
	conn.answer(conn.frame(), model.ErrNone)
	if in := take(t, inputs, "answer"); in.Broker != 2 {
		t.Errorf("answer %+v", in)
	}
	if s := c.Snapshot(); len(s) != 2 || s[0].Broker != 1 || s[0].Depth != 1 || s[1].Depth != 0 {
		t.Errorf("channels: %+v", s)
	}
	c.Link(brokerWith(1), false)
	stuck.ended()
}

func TestABrokerWithoutTheListenerHasNoChannel(t *testing.T) {
	c, _, _ := channels(t, newFakeBroker(t), func(o *Options) { o.Listener = "CONTROL" })
	if err := c.Link(brokerWith(1), true); err == nil || !strings.Contains(err.Error(), "no endpoint for the listener CONTROL; it has [INTERNAL://b:9092]") {
		t.Errorf("error %v", err)
	}
	c.Close()
	if err := c.Link(brokerWith(1), true); err == nil {
		t.Error("a channel was opened after Close")
	}
}

func TestARequestThatCannotBeSaidBlocksItsChannelOnly(t *testing.T) {
	b := newFakeBroker(t)
	c, _, failures := channels(t, b, nil)
	linkUp(t, c, 1)
	bad := updateMetadataRequest(3)
	bad.Version = 2
	send(t, c, 1, bad)
	if err := take(t, failures, "failure"); !strings.Contains(err.Error(), "CLIENT") {
		t.Errorf("failure %v", err)
	}
	if s := c.Snapshot(); s[0].Depth != 1 {
		t.Errorf("channel %+v", s)
	}
}

// faults interferes with the attempts as listed, then with none.
type faults struct {
	mu                  sync.Mutex
	requests, responses []Fault
	log                 []string
}

func (f *faults) next(list *[]Fault, what string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, what)
	if len(*list) == 0 {
		return Fault{}
	}
	head := (*list)[0]
	*list = (*list)[1:]
	return head
}

func (f *faults) Request(id int32, r model.ControlRequest) Fault {
	return f.next(&f.requests, fmt.Sprintf("request %d %s", id, r))
}

func (f *faults) Response(id int32, r model.ControlRequest, a *model.ControlResponse) Fault {
	return f.next(&f.responses, fmt.Sprintf("response %d %s", id, a.Error))
}

func TestFaultsAreInjected(t *testing.T) {
	b := newFakeBroker(t)
	refusal := &model.ControlResponse{Error: model.ErrStaleBrokerEpoch}
	// The first request is lost before it is sent, then its answer is, then it
	// passes late; the second is answered without being sent; of the third the
	// answer is replaced.
	f := &faults{
		requests:  []Fault{{Drop: true}, {}, {Delay: time.Millisecond}, {Answer: refusal}},
		responses: []Fault{{Drop: true}, {}, {Answer: refusal}},
	}
	c, inputs, failures := channels(t, b, func(o *Options) { o.Intercept = f })
	linkUp(t, c, 1)
	for i := range int32(3) {
		send(t, c, 1, numbered(i))
	}
	for range 2 {
		conn := take(t, b.conns, "connection")
		fr := conn.frame()
		if n := fr.number(t); n != 0 {
			t.Errorf("request %d", n)
		}
		conn.answer(fr, model.ErrNone)
		if fr, ok := <-conn.frames; ok { // the second connection stays
			if n := fr.number(t); n != 2 {
				t.Errorf("request %d was sent", n)
			}
			conn.answer(fr, model.ErrNone)
			break
		}
	}
	var got []string
	for range 3 {
		in := take(t, inputs, "answer")
		got = append(got, fmt.Sprint(in.Request.(*model.StopReplicaRequest).Entries[0].Partition, " ", in.Response.Error))
	}
	if want := []string{"0 NONE", "1 STALE_BROKER_EPOCH", "2 STALE_BROKER_EPOCH"}; !slices.Equal(got, want) {
		t.Errorf("answers %q, want %q", got, want)
	}
	for range 2 {
		if err := take(t, failures, "failure"); !errors.Is(err, errDropped) {
			t.Errorf("failure %v", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.log) != 8 { // five attempts, three of which came back
		t.Errorf("asked: %q", f.log)
	}
}

func TestADelayEndsWithTheLink(t *testing.T) {
	b := newFakeBroker(t)
	c, _, _ := channels(t, b, func(o *Options) { o.Intercept = &faults{requests: []Fault{{Delay: time.Hour}}} })
	linkUp(t, c, 1)
	send(t, c, 1, numbered(1))
	c.Close()
}

// The same over a socket, with a request of some megabytes.
func TestChannelOverTCP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	b := newFakeBroker(t)
	c, inputs, _ := channels(t, b, func(o *Options) { o.Dialer = nil })
	at := ln.Addr().(*net.TCPAddr)
	to := model.Broker{ID: 1, Endpoints: []model.Endpoint{{Listener: "INTERNAL", Protocol: "PLAINTEXT", Host: at.IP.String(), Port: int32(at.Port)}}}
	if err := c.Link(to, true); err != nil {
		t.Fatal(err)
	}
	big := bigRequest(20_000)
	send(t, c, 1, big)
	send(t, c, 1, updateMetadataRequest(8))
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	conn := &fakeConn{t: t, c: accepted, frames: make(chan fakeFrame, 100)}
	go conn.read()
	f := conn.frame()
	if want, err := encodePayload(big, nil); err != nil || f.key != 4 || f.version != 7 || !slices.Equal(f.payload[1:], want.bytes()) {
		t.Errorf("a request with key %d version %d of %d bytes came, want %d bytes, %v", f.key, f.version, len(f.payload)-1, want.size(), err)
	}
	conn.raw([]byte{0, 0, 0, 1, 0, 0, 0, 1, 0}) // no error, no topics
	if in := take(t, inputs, "answer"); in.Request != big || in.Response.Error != model.ErrNone {
		t.Errorf("answer %+v", in.Response)
	}
	f = conn.frame()
	if want, err := encodePayload(updateMetadataRequest(8), nil); err != nil || f.key != 6 || !slices.Equal(f.payload[1:], want.bytes()) {
		t.Errorf("a request with key %d came:\n%x\nwant\n%x", f.key, f.payload[1:], want.bytes())
	}
	conn.raw([]byte{0, 0, 0, 2, 0, 0, 11, 0})
	if in := take(t, inputs, "answer"); in.Response.Error != model.ErrStaleControllerEpoch {
		t.Errorf("answer %+v", in.Response)
	}
}

// However a broker bounces, the answers that come are those of the newest channel.
func TestBouncesNeverMixAnswers(t *testing.T) {
	b := newFakeBroker(t)
	var newest atomic.Int32
	var stale, answers atomic.Int32
	c, _, _ := channels(t, b, func(o *Options) {
		o.OnInput = func(s model.Stimulus) {
			answers.Add(1)
			if s.(*model.Responded).Request.(*model.StopReplicaRequest).Entries[0].Partition != newest.Load() {
				stale.Add(1)
			}
		}
	})
	go func() {
		for conn := range b.conns {
			go func() {
				for f := range conn.frames {
					conn.answer(f, model.ErrNone)
				}
			}()
		}
	}()
	t.Cleanup(func() {
		c.Close()
		close(b.conns)
	})
	for i := range int32(300) {
		linkUp(t, c, 1)
		for range 5 {
			send(t, c, 1, numbered(i))
		}
		if before := answers.Load(); i%3 == 0 {
			until(t, "an answer comes", func() bool { return answers.Load() > before || c.Snapshot()[0].Depth == 0 })
		}
		if err := c.Link(brokerWith(1), false); err != nil {
			t.Fatal(err)
		}
		newest.Store(i + 1)
	}
	if n := stale.Load(); n != 0 || answers.Load() == 0 {
		t.Errorf("%d of %d answers came after their channel was dropped", n, answers.Load())
	}
}

func TestPlaintextIsDialedOnly(t *testing.T) {
	e := model.Endpoint{Listener: "X", Protocol: "SASL_SSL", Host: "localhost", Port: 1}
	if _, err := DialPlain(t.Context(), e); err == nil || !strings.Contains(err.Error(), "SASL_SSL") {
		t.Errorf("error %v", err)
	}
}
