package broker

// Tests against a ZooKeeper server (lab/zkserver) and over sockets. The
// controller is played by the test: ctl sends control requests to brokers, and
// listens where brokers look for it. Tests wait with Await, never for a time.

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const patience = 20 * time.Second

type lab struct {
	t     *testing.T
	ctx   context.Context
	store *zkserver.Store
	zk    string
	c     *Cluster
	ctl   *ctl

	mu     sync.Mutex
	events []Event
}

type labOptions struct {
	clock     Clock
	chroot    string
	intercept func(zkserver.Request) zkserver.Verdict
	set       Settings
	brokers   []int32
	unseen    bool // no observer, which keeps all requests
}

// newLab starts a server, and brokers 1 to 3 unless told otherwise.
func newLab(t *testing.T, o labOptions) *lab {
	t.Helper()
	before := goroutines()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	l := &lab{t: t, ctx: ctx, store: zkserver.NewStore(zkserver.Options{Intercept: o.intercept})}
	server := zkserver.NewServer(l.store, zkserver.ServerOptions{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.zk = addr.String()
	cfg := Config{ZooKeeper: []string{l.zk}, Chroot: o.chroot, Clock: o.clock}
	if !o.unseen {
		cfg.Observe = l.observe
	}
	l.c = New(cfg)
	l.ctl = newCtl(t, 9)
	t.Cleanup(func() {
		l.ctl.close()
		l.c.Close()
		server.Close()
		noneLeft(t, before)
	})
	if o.brokers == nil {
		o.brokers = []int32{1, 2, 3}
	}
	for _, id := range o.brokers {
		if _, err := l.c.Add(id, o.set); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) observe(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// saw returns the observed events of a broker and kind.
func (l *lab) saw(id int32, kind Kind) (out []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Broker == id && e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func (l *lab) await(what string, cond func() bool) {
	l.t.Helper()
	if err := l.c.Await(l.ctx, cond); err != nil {
		l.t.Fatalf("waiting for %s: %v\n%+v", what, err, l.c.Snapshots())
	}
}

func (l *lab) broker(id int32) *Broker { return l.c.Broker(id) }

// get reads a znode from the server's own store.
func (l *lab) get(path string) (string, zkserver.Stat, bool) {
	data, stat, code := l.store.Get(path)
	return string(data), stat, code == 0
}

func (l *lab) has(path string) bool { _, _, ok := l.get(path); return ok }

// hosted is a replica of a broker.
func (l *lab) hosted(id int32, tp model.TopicPartition) Hosted {
	h, _ := l.broker(id).Snapshot().Find(tp)
	return h
}

// goroutines counts those that belong to the code under test.
func goroutines() int {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	n := 0
	for _, g := range strings.Split(string(buf), "\n\n") {
		mine := strings.Contains(g, "lab/broker.(") || strings.Contains(g, "go-zookeeper")
		if mine && !strings.Contains(g, "testing.tRunner") {
			n++
		}
	}
	return n
}

// noneLeft allows those that are just returning to do so.
func noneLeft(t *testing.T, before int) {
	deadline := time.Now().Add(patience)
	for goroutines() > before {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

// ctl is the test as the controller: an id, a socket that brokers find through
// UpdateMetadata, and what it answers there.
type ctl struct {
	t        *testing.T
	id       int32
	listener net.Listener
	wg       sync.WaitGroup
	asked    chan asked
	done     chan struct{}

	mu    sync.Mutex
	conns []net.Conn
}

// asked is a request of a broker; the test answers it, with nil to hang up.
type asked struct {
	req    kmsg.Request
	client string
	answer chan kmsg.Response
}

// peer is a connection to a broker.
type peer struct {
	conn        net.Conn
	in          *bufio.Reader
	correlation int32
}

func newCtl(t *testing.T, id int32) *ctl {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &ctl{t: t, id: id, listener: l, asked: make(chan asked, 100), done: make(chan struct{})}
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
			c.wg.Go(func() { c.serve(conn) })
		}
	})
	return c
}

func (c *ctl) serve(conn net.Conn) {
	defer conn.Close()
	for {
		frame, err := readFrame(conn, maxRequestBytes)
		if err != nil {
			return
		}
		h, body, err := parseHeader(frame)
		if err != nil {
			c.t.Error(err)
			return
		}
		req, err := parseBody(h, body)
		if err != nil {
			c.t.Error(err)
			return
		}
		var resp kmsg.Response
		if v, ok := req.(*kmsg.ApiVersionsRequest); ok {
			x := v.ResponseKind().(*kmsg.ApiVersionsResponse)
			x.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: keyAlterPartition, MaxVersion: 3}}
			resp = x
		} else {
			a := asked{req: req, client: h.clientID, answer: make(chan kmsg.Response, 1)}
			c.asked <- a
			select {
			case resp = <-a.answer:
			case <-c.done:
			}
		}
		if resp == nil {
			return
		}
		if _, err := conn.Write(appendResponse(nil, resp, h.correlation)); err != nil {
			return
		}
	}
}

func (c *ctl) close() {
	c.listener.Close()
	close(c.done)
	c.mu.Lock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

// next waits for a broker's request.
func (l *lab) next() asked {
	l.t.Helper()
	select {
	case a := <-l.ctl.asked:
		return a
	case <-l.ctx.Done():
		l.t.Fatalf("no request came to the controller\n%+v", l.c.Snapshots())
		panic("unreachable")
	}
}

// nextAlter waits for an AlterPartition.
func (l *lab) nextAlter() (*kmsg.AlterPartitionRequest, func(code int16)) {
	l.t.Helper()
	a := l.next()
	req, ok := a.req.(*kmsg.AlterPartitionRequest)
	if !ok {
		l.t.Fatalf("the controller was asked %T", a.req)
	}
	return req, func(code int16) { a.answer <- alterAnswer(req, 0, code) }
}

// alterAnswer answers each partition with a code; 0 confirms what was proposed.
func alterAnswer(req *kmsg.AlterPartitionRequest, top, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	resp.ErrorCode = top
	for _, t := range req.Topics {
		x := kmsg.NewAlterPartitionResponseTopic()
		x.Topic, x.TopidID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			y := kmsg.NewAlterPartitionResponseTopicPartition()
			y.Partition, y.ErrorCode = p.Partition, code
			if code == 0 {
				y.LeaderID, y.LeaderEpoch, y.ISR, y.PartitionEpoch = req.BrokerID, p.LeaderEpoch, proposedISR(p), p.PartitionEpoch+1
			}
			x.Partitions = append(x.Partitions, y)
		}
		resp.Topics = append(resp.Topics, x)
	}
	return resp
}

func proposedISR(p kmsg.AlterPartitionRequestTopicPartition) []int32 {
	isr := slices.Clone(p.NewISR)
	for _, m := range p.NewEpochISR {
		isr = append(isr, m.BrokerID)
	}
	return isr
}

// dial opens a connection to a broker.
func (l *lab) dial(id int32) (*peer, error) {
	e, _ := l.broker(id).Address()
	conn, err := net.Dial("tcp", net.JoinHostPort(e.Host, fmt.Sprint(e.Port)))
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	p := &peer{conn: conn, in: bufio.NewReader(conn)}
	l.t.Cleanup(func() { conn.Close() })
	return p, nil
}

func (p *peer) send(req kmsg.Request) error {
	p.correlation++
	_, err := p.conn.Write(appendRequest(nil, req, p.correlation, "9"))
	return err
}

func (p *peer) call(req kmsg.Request) (kmsg.Response, error) {
	if err := p.send(req); err != nil {
		return nil, err
	}
	frame, err := readFrame(p.in, maxRequestBytes)
	if err != nil {
		return nil, err
	}
	return parseResponse(frame, req, p.correlation)
}

// call sends a request to a broker over the controller's connection to it.
func (l *lab) call(id int32, req kmsg.Request) kmsg.Response {
	l.t.Helper()
	resp, err := l.tryCall(id, req)
	if err != nil {
		l.t.Fatalf("%T to broker %d: %v", req, id, err)
	}
	return resp
}

func (l *lab) tryCall(id int32, req kmsg.Request) (kmsg.Response, error) {
	p, err := l.dial(id)
	if err != nil {
		return nil, err
	}
	defer p.conn.Close()
	return p.call(req)
}

// metadata tells brokers of all that are up and of the controller.
func (l *lab) metadata(ids ...int32) {
	l.t.Helper()
	req := kmsg.NewPtrUpdateMetadataRequest()
	req.Version, req.ControllerID, req.ControllerEpoch = 8, l.ctl.id, 5
	add := func(id int32, addr string) {
		host, port, _ := net.SplitHostPort(addr)
		var n int32
		fmt.Sscan(port, &n)
		b := kmsg.NewUpdateMetadataRequestLiveBroker()
		b.ID = id
		e := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
		e.Host, e.Port, e.ListenerName = host, n, "PLAINTEXT"
		b.Endpoints = append(b.Endpoints, e)
		req.LiveBrokers = append(req.LiveBrokers, b)
	}
	for _, s := range l.c.Snapshots() {
		if s.Up {
			add(s.ID, fmt.Sprintf("127.0.0.1:%d", s.Port))
		}
	}
	add(l.ctl.id, l.ctl.listener.Addr().String())
	for _, id := range ids {
		req.BrokerEpoch = l.broker(id).Snapshot().Epoch
		if code := l.call(id, req).(*kmsg.UpdateMetadataResponse).ErrorCode; code != 0 {
			l.t.Fatalf("UpdateMetadata to broker %d is answered with %d", id, code)
		}
	}
}

// lead sends a LeaderAndIsr to brokers, and expects them to take it.
func (l *lab) lead(s state, ids ...int32) {
	l.t.Helper()
	for _, id := range ids {
		req := request{7, 5, l.broker(id).Snapshot().Epoch}.leaderAndISR(s)
		if top, codes := leaderCodes(l.call(id, req)); top != 0 || codes[0] != 0 {
			l.t.Fatalf("LeaderAndIsr to broker %d is answered with %d %v", id, top, codes)
		}
	}
}

// handClock stands still until it is moved.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms map[int]handAlarm
	n      int
	news   chan struct{} // an alarm was set
}

type handAlarm struct {
	at   time.Time
	ring func()
}

func newHandClock() *handClock {
	return &handClock{now: epoch0, alarms: map[int]handAlarm{}, news: make(chan struct{}, 1)}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) After(d time.Duration, ring func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	id := c.n
	c.alarms[id] = handAlarm{c.now.Add(d), ring}
	select {
	case c.news <- struct{}{}:
	default:
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.alarms[id]
		delete(c.alarms, id)
		return ok
	}
}

// move goes forward, ringing on the way.
func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	for {
		first := -1
		for id, a := range c.alarms {
			if !a.at.After(end) && (first < 0 || a.at.Before(c.alarms[first].at) || a.at.Equal(c.alarms[first].at) && id < first) {
				first = id
			}
		}
		if first < 0 {
			break
		}
		a := c.alarms[first]
		delete(c.alarms, first)
		if a.at.After(c.now) {
			c.now = a.at
		}
		c.mu.Unlock()
		a.ring()
		c.mu.Lock()
	}
	c.now = end
	c.mu.Unlock()
}
