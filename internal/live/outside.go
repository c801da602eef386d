package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kstate/internal/wire"
	"kstate/model"
	"kstate/zkwatch"
)

// Options of an Outside. ZooKeeper, ControllerID, Listener and OnInput are needed.
type Options struct {
	ZooKeeper    zkwatch.Options // OnInput in it is set by Dial
	ControllerID int32
	Listener     string // listener name on which brokers are called
	Address      string // where to listen for brokers and clients; empty: 127.0.0.1:0
	ClusterID    string
	OnInput      func(model.Stimulus)
}

// Outside performs a controller's steps.
type Outside struct {
	opt      Options
	Conn     *zkwatch.Conn
	Channels *wire.Channels
	Server   *wire.Server
	self     model.Broker

	view atomic.Pointer[seen]

	mu     sync.Mutex
	alarms map[string]*time.Timer
	closed bool
}

type seen struct {
	view       *model.View
	controller int32
}

// Dial connects to ZooKeeper and opens the listener.
func Dial(ctx context.Context, opt Options) (*Outside, error) {
	o := &Outside{opt: opt, alarms: map[string]*time.Timer{}}
	o.view.Store(&seen{controller: -1})
	o.Channels = wire.NewChannels(wire.Options{ControllerID: opt.ControllerID, Listener: opt.Listener, OnInput: opt.OnInput})
	o.Server = wire.NewServer(wire.ServerOptions{OnInput: opt.OnInput, Cluster: o.cluster})
	if opt.Address == "" {
		opt.Address = "127.0.0.1:0"
	}
	addr, err := o.Server.Listen(opt.Address, opt.Listener)
	if err != nil {
		return nil, fmt.Errorf("listening for brokers on %s: %w", opt.Address, err)
	}
	host, port, _ := net.SplitHostPort(addr.String())
	n, _ := strconv.ParseInt(port, 10, 32)
	o.self = model.Broker{ID: opt.ControllerID, Endpoints: []model.Endpoint{{Listener: opt.Listener, Protocol: "PLAINTEXT", Host: host, Port: int32(n)}}}
	zk := opt.ZooKeeper
	zk.OnInput = opt.OnInput
	if o.Conn, err = zkwatch.Dial(ctx, zk); err != nil {
		o.Server.Close()
		return nil, err
	}
	return o, nil
}

// Self is how brokers and clients reach this process.
func (o *Outside) Self() model.Broker { return o.self }

func (o *Outside) cluster() wire.Cluster {
	s := o.view.Load()
	return wire.Cluster{View: s.view, ControllerID: s.controller, ClusterID: o.opt.ClusterID, Self: &o.self}
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
	case *model.Reply:
		o.Server.Reply(s)
	case *model.Alarm:
		o.alarm(s)
	case *model.Draw:
		r.ID = drawID()
	}
	r.At = time.Now().UnixMilli()
	return r
}

// drawID is a random topic id that Kafka does not reserve and whose text does
// not begin with a dash. Kafka: Uuid.randomUuid.
func drawID() model.Uuid {
	for {
		var id model.Uuid
		_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
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
	o.Server.Close()
	o.Channels.Close()
	o.Conn.Close()
}
