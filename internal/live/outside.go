package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kstate/internal/acl"
	"kstate/internal/configs"
	"kstate/internal/handshake"
	"kstate/internal/security"
	"kstate/internal/wire"
	"kstate/model"
	"kstate/zkwatch"
)

// Options of an Outside. ZooKeeper, ControllerID, Listener and OnInput are needed.
type Options struct {
	ZooKeeper      zkwatch.Options // OnInput in it is set by Dial
	ControllerID   int32
	Listener       string     // listener name on which brokers are called
	Listeners      []Listener // where to listen for brokers and clients; none: Listener on 127.0.0.1:0
	ClusterID      string     // empty: what /cluster/id says
	Rack           string     // of this process, as brokers and clients are told
	Relay          bool       // hand on to brokers what any broker may be asked, and heed clients' quotas
	RequestTimeout time.Duration
	Configs        bool // tell when unclean elections come to be allowed
	Unclean        bool // with Configs: they are, by the default of all brokers
	// BrokerConfig are the settings of a broker by which listeners and brokers are
	// spoken to where that is not in plaintext, and what holds for topics; they hold
	// secrets.
	BrokerConfig map[string]string
	// Rules say who may do what; nil: everybody may do everything, unless there is
	// an Authorizer, whose rules lie in ZooKeeper.
	Rules      *acl.Set
	Authorizer *Authorizer
	OnInput    func(model.Stimulus)
	Intercept  wire.Interceptor // comes between with brokers' answers; may be nil
	Random     io.Reader        // of topic ids; nil: the machine's
	OnFailure  func(error)      // takes each failed attempt to reach a broker and each broken connection; may be nil
}

// Listener is a place where brokers and clients reach this process. A port of 0
// is any free one.
type Listener struct {
	Name, Address string
	Protocol      security.Protocol // "": PLAINTEXT
}

// Outside performs a controller's steps.
type Outside struct {
	opt      Options
	Conn     *zkwatch.Conn
	Channels *wire.Channels
	Server   *wire.Server
	self     model.Broker

	view      atomic.Pointer[seen]
	clusterID atomic.Pointer[string]
	brokers   *brokers
	followers []follower // of settings and of access control lists, where they matter

	mu     sync.Mutex
	alarms map[string]*time.Timer
	closed bool
}

// follower reads anew what lies in ZooKeeper, each time that it is rung.
type follower interface {
	watches(path string) bool // its own watch: nobody else hears of it
	ring()
	run(context.Context)
}

type seen struct {
	view       *model.View
	controller int32
}

// Dial connects to ZooKeeper and opens the listener.
func Dial(ctx context.Context, opt Options) (*Outside, error) {
	o := &Outside{opt: opt, alarms: map[string]*time.Timer{}}
	o.view.Store(&seen{controller: -1})
	o.clusterID.Store(&opt.ClusterID)
	calls := &callers{settings: opt.BrokerConfig}
	o.brokers = newBrokers(calls.dial, opt.Listener)
	failed := func(about string, err error) {
		if opt.OnFailure != nil {
			opt.OnFailure(fmt.Errorf("%s: %w", about, err))
		}
	}
	o.Channels = wire.NewChannels(wire.Options{ControllerID: opt.ControllerID, Listener: opt.Listener, Dialer: calls.dial, OnInput: opt.OnInput, RequestTimeout: opt.RequestTimeout, Intercept: opt.Intercept,
		OnFailure: func(broker int32, err error) { failed(fmt.Sprintf("broker %d", broker), err) }})
	do := func(c *model.Call) model.Result { return o.Conn.Do(c) } // Conn is dialled last
	server := wire.ServerOptions{OnInput: opt.OnInput, Cluster: o.cluster, OnFailure: func(from string, err error) { failed("connection of "+from, err) }}
	if opt.Relay {
		server.Relay = &wire.Relay{Versions: o.brokers.versions, Dial: o.brokers.dialAny}
		server.Quota = o.quota
		server.Configs = &configs.Admin{Do: do, Topic: o.knowsTopic, Self: opt.ControllerID}
		server.BrokerConfig = opt.BrokerConfig
	}
	switch {
	case opt.Authorizer != nil:
		acls := newACLs(*opt.Authorizer, do, func(err error) { failed("authorizer", err) })
		server.Rules = acls.set.Load
		o.followers = append(o.followers, acls)
	case opt.Rules != nil:
		server.Rules = func() *acl.Set { return opt.Rules }
	}
	o.Server = wire.NewServer(server)
	if len(opt.Listeners) == 0 {
		opt.Listeners = []Listener{{Name: opt.Listener, Address: "127.0.0.1:0"}}
	}
	o.self = model.Broker{ID: opt.ControllerID, Rack: opt.Rack}
	for _, l := range opt.Listeners {
		if err := o.listen(l); err != nil {
			o.Server.Close()
			return nil, err
		}
	}
	zk := opt.ZooKeeper
	zk.OnInput = o.keeperInput
	if opt.Configs {
		o.followers = append(o.followers, newSettings(do, opt.OnInput, opt.Unclean, strings.EqualFold(strings.TrimSpace(opt.BrokerConfig[uncleanKey]), "true")))
	}
	var err error
	if o.Conn, err = zkwatch.Dial(ctx, zk); err != nil {
		o.Server.Close()
		return nil, err
	}
	for _, f := range o.followers {
		o.brokers.beside(f.run)
	}
	o.Server.Start()
	return o, nil
}

// keeperInput passes on what ZooKeeper says, but for what settings and access
// control lists are followed by.
func (o *Outside) keeperInput(s model.Stimulus) {
	for _, f := range o.followers {
		switch s := s.(type) {
		case *model.WatchFired:
			if f.watches(s.Path) {
				f.ring()
				return
			}
		case *model.SessionRenewed:
			f.ring()
		}
	}
	o.opt.OnInput(s)
}

// listen opens a place to be reached at; it is served once ZooKeeper is there.
// Brokers and clients are told the host as it was given.
func (o *Outside) listen(l Listener) error {
	if l.Protocol == "" {
		l.Protocol = security.Plaintext
	}
	how, err := handshake.NewListener(l.Name, l.Protocol, o.opt.BrokerConfig, o.credential)
	if err != nil {
		return fmt.Errorf("listener %s: %w", l.Name, err)
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return err
	}
	ln, err := o.Server.Open(l.Address, l.Name, how)
	if err != nil {
		return err
	}
	port := ln.(*net.TCPAddr).Port
	o.self.Endpoints = append(o.self.Endpoints, model.Endpoint{Listener: l.Name, Protocol: string(l.Protocol), Host: host, Port: int32(port)})
	return nil
}

// Self is how brokers and clients reach this process.
func (o *Outside) Self() model.Broker { return o.self }

func (o *Outside) cluster() wire.Cluster {
	s := o.view.Load()
	return wire.Cluster{View: s.view, ControllerID: s.controller, ClusterID: *o.clusterID.Load(), Self: &o.self}
}

// knowsTopic tells whether brokers have been told of a topic.
func (o *Outside) knowsTopic(name string) bool {
	view := o.view.Load().view
	if view == nil || !view.KnowsTopic(name) || view.IsQueued(name) {
		return false
	}
	t := view.Topic(name)
	for _, p := range t.Partitions() {
		if p.Leadership != nil {
			return true
		}
	}
	return false
}

// SessionID is the id of the ZooKeeper session.
func (o *Outside) SessionID() int64 { return o.Conn.State().SessionID }

// Viewed hands over the controller's memory, for metadata requests.
func (o *Outside) Viewed(v *model.View, active bool) {
	s := &seen{view: v, controller: -1}
	if active {
		s.controller = o.opt.ControllerID
	}
	o.view.Store(s)
	o.Server.Viewed()
}

// Perform performs one step. Only calls wait for somebody.
func (o *Outside) Perform(s model.Step) model.Result {
	var r model.Result
	switch s := s.(type) {
	case *model.Call:
		r = o.Conn.Do(s)
	case *model.Send:
		if err := o.Channels.Send(s.Broker, s.Request); err != nil { // the link went with Close
			r.Code = model.CodeConnectionLoss
		}
	case *model.Link:
		if err := o.Channels.Link(s.Broker, s.Up); err != nil {
			r.Code = model.CodeConnectionLoss
		}
		o.linked(s)
	case *model.Probe:
		o.probe(s)
	case *model.Reply:
		o.Server.Reply(s)
	case *model.Alarm:
		o.alarm(s)
	case *model.Draw:
		r.ID = drawID(o.opt.Random)
	}
	r.At = time.Now().UnixMilli()
	return r
}

// linked follows which brokers are there.
func (o *Outside) linked(s *model.Link) {
	if o.opt.Relay {
		o.brokers.linked(s)
	}
	if s.Up && *o.clusterID.Load() == "" {
		o.brokers.beside(func(context.Context) {
			r := o.Conn.Do(&model.Call{Purpose: "get_cluster_id", Ops: []model.Op{{Kind: model.OpGet, Path: model.ClusterIDPath}}})
			if len(r.Ops) != 1 || r.Ops[0].Code != model.CodeOK {
				return
			}
			if id, err := model.DecodeClusterID(model.ClusterIDPath, r.Ops[0].Data); err == nil {
				o.clusterID.Store(&id)
			}
		})
	}
}

// probe asks brokers what they speak, in place of those asked before.
func (o *Outside) probe(s *model.Probe) {
	var endpoints []model.Endpoint
	for i := range s.Brokers {
		if e, ok := s.Brokers[i].Endpoint(o.opt.Listener); ok {
			endpoints = append(endpoints, e)
		}
	}
	o.brokers.ask(endpoints, func(v model.InterBrokerProtocol) { o.opt.OnInput(&model.ProtocolLearned{IBP: v}) })
}

// drawID is a random topic id that Kafka does not reserve and whose text does
// not begin with a dash. Kafka: Uuid.randomUuid.
func drawID(random io.Reader) model.Uuid {
	if random == nil {
		random = rand.Reader
	}
	for {
		var id model.Uuid
		_, _ = io.ReadFull(random, id[:]) // never fails: crypto/rand ends the process instead
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !id.Reserved() && id.String()[0] != '-' {
			return id
		}
	}
}

func (o *Outside) alarm(a *model.Alarm) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.alarms[a.Name]; t != nil {
		t.Stop()
	}
	delete(o.alarms, a.Name)
	if a.Cancel || o.closed {
		return
	}
	name := a.Name
	o.alarms[name] = time.AfterFunc(time.Duration(a.AfterMillis)*time.Millisecond, func() { o.opt.OnInput(&model.AlarmRang{Name: name}) })
}

// Peek reads a znode for the screen, without a watch.
func (o *Outside) Peek(ctx context.Context, path string) model.Znode {
	r := o.Conn.Do(&model.Call{Purpose: "peek", Ops: []model.Op{{Kind: model.OpGet, Path: path}}})
	return model.PeekedZnode(path, r)
}

// Connection says how the link to ZooKeeper stands.
func (o *Outside) Connection() model.Connection {
	s := o.Conn.State()
	c := model.Connection{Connected: s.Phase == zkwatch.Connected, Since: s.Since.UnixMilli(), Text: s.Phase.String()}
	if s.Err != nil && !c.Connected {
		c.Text += ": " + s.Err.Error()
	}
	return c
}

// Close ends the session, the channels and the listener.
func (o *Outside) Close() {
	o.mu.Lock()
	o.closed = true
	for _, t := range o.alarms {
		t.Stop()
	}
	o.mu.Unlock()
	var served sync.WaitGroup
	served.Go(o.Server.Close) // which waits for who asks ZooKeeper, which need not be there
	o.Channels.Close()
	o.Conn.Close()
	served.Wait()
	o.brokers.close()
}
