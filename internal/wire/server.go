package wire

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"kstate/internal/acl"
	"kstate/internal/configs"
	"kstate/internal/handshake"
	"kstate/model"
)

// Defaults of ServerOptions. Kafka: connections.max.idle.ms.
const (
	DefaultMaxUnanswered = 64
	DefaultIdle          = 10 * time.Minute
	frameTimeout         = time.Minute // for the rest of a frame that has begun, and to take an answer
	acceptPause          = 100 * time.Millisecond
)

// ServerOptions of a Server. OnInput and Cluster are needed.
type ServerOptions struct {
	OnInput func(model.Stimulus) // takes each *model.Asked
	Cluster func() Cluster       // the latest; called on connections' goroutines
	Relay   *Relay               // nil: nothing is handed on to brokers
	// Quota says by whom a client's topic requests are counted, and its
	// controller_mutation_rate, 0 for none. Nil: there is none. It may take its time.
	Quota func(user, clientID string) (from string, rate float64)
	// Rules say who may do what, as of now. Nil, or what it returns: everybody may
	// do everything. It returns at once.
	Rules func() *acl.Set
	// Configs changes settings, quotas and SCRAM users; nil: they are not changed here.
	Configs *configs.Admin
	// BrokerConfig are a broker's settings by which topics are told what holds for them.
	BrokerConfig  map[string]string
	NextID        func() uint64 // numbers for Asked, unique in the process; default 1, 2, ...
	OnFailure     func(from string, _ error)
	MaxFrame      int           // bytes; default MaxFrameSize
	MaxUnanswered int           // of one connection; beyond it no more is read; default 64
	Idle          time.Duration // a connection that neither asks nor waits is closed; default 10 min
	// Patience is how long an answer about topics waits until the view shows what it
	// says: a controller that is held shows nothing new, and must not hold clients
	// for long. Default 1 s.
	Patience  time.Duration
	Handshake time.Duration // for TLS and SASL together; default 1 min
}

// Server takes the requests of brokers and clients. What they ask of the
// controller is passed to OnInput, each with a number of its own, and answered
// by Reply; the requests of one connection are answered in their order. It holds
// a question for as long as its asker stays connected. A frame that is not
// Kafka's protocol closes the connection on which it came and no other.
// Kafka: SocketServer, KafkaApis.
type Server struct {
	opt  ServerOptions
	apis map[int16]api

	mu        sync.Mutex
	nextID    uint64
	pending   map[uint64]*question
	held      map[uint64]*heldReply // replies that wait for the view
	listeners map[net.Listener]bool
	opened    []func() // serve a listener; not started yet
	conns     map[*serverConn]bool
	closed    bool
	stopping  chan struct{}
	done      sync.WaitGroup
}

// question is one Asked that has not been replied to.
type question struct {
	call  *call
	api   api
	ready chan<- reply
}

// NewServer listens nowhere yet.
func NewServer(opt ServerOptions) *Server {
	if opt.MaxFrame <= 0 {
		opt.MaxFrame = MaxFrameSize
	}
	if opt.MaxUnanswered <= 0 {
		opt.MaxUnanswered = DefaultMaxUnanswered
	}
	if opt.Idle <= 0 {
		opt.Idle = DefaultIdle
	}
	if opt.Patience <= 0 {
		opt.Patience = time.Second
	}
	if opt.Handshake <= 0 {
		opt.Handshake = frameTimeout
	}
	s := &Server{opt: opt, apis: map[int16]api{}, pending: map[uint64]*question{}, held: map[uint64]*heldReply{},
		listeners: map[net.Listener]bool{}, conns: map[*serverConn]bool{}, stopping: make(chan struct{})}
	apis := served()
	if opt.Configs != nil {
		apis = append(apis, configAPIs()...)
	}
	for _, a := range apis {
		s.apis[a.key] = a
	}
	return s
}

// Open opens a listener under that listener name and returns its address; Start
// begins to serve it, and whoever connects before waits. Port 0 takes a free one.
// The name decides which endpoints of the brokers a client is told. how is nil
// for plaintext.
func (s *Server) Open(address, listener string, how *handshake.Listener) (net.Addr, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for brokers and clients on %s: %w", address, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		ln.Close()
		return nil, fmt.Errorf("listening on %s: %w", ln.Addr(), net.ErrClosed)
	}
	s.listeners[ln] = true
	s.opened = append(s.opened, func() { s.accept(ln, listener, how) })
	return ln.Addr(), nil
}

// Start serves what was opened, until Close; it returns at once.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, serve := range s.opened {
		s.done.Go(serve)
	}
	s.opened = nil
}

// Listen is Open and Start.
func (s *Server) Listen(address, listener string, how *handshake.Listener) (net.Addr, error) {
	addr, err := s.Open(address, listener, how)
	if err == nil {
		s.Start()
	}
	return addr, err
}

func (s *Server) accept(ln net.Listener, listener string, how *handshake.Listener) {
	for {
		c, err := ln.Accept()
		switch {
		case err == nil:
			s.start(c, listener, how)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		s.failed(ln.Addr().String(), fmt.Errorf("accepting a connection: %w", err))
		select { // out of file descriptors, for example
		case <-time.After(acceptPause):
		case <-s.stopping:
			return
		}
	}
}

func (s *Server) start(c net.Conn, listener string, how *handshake.Listener) {
	sc := newServerConn(s, c, listener, how)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return
	}
	s.conns[sc] = true
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		sc.run()
		s.forget(sc)
	}()
}

// forget drops a connection and what it asked.
func (s *Server) forget(sc *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, sc)
	for id, q := range s.pending {
		if q.call.conn == sc {
			delete(s.pending, id)
		}
	}
	for id, h := range s.held {
		if h.question.call.conn == sc {
			h.timer.Stop()
			delete(s.held, id)
		}
	}
}

// mutation is what requests have in common that mutations are counted of; nil for
// others.
func mutation(ask model.Ask) *model.Mutation {
	switch a := ask.(type) {
	case *model.CreateTopics:
		return &a.Mutation
	case *model.DeleteTopics:
		return &a.Mutation
	case *model.CreatePartitions:
		return &a.Mutation
	}
	return nil
}

// ask passes a question on.
func (s *Server) ask(c *call, a api, ask model.Ask, ready chan<- reply) {
	s.mu.Lock()
	var id uint64
	if s.opt.NextID != nil {
		id = s.opt.NextID()
	} else {
		s.nextID++
		id = s.nextID
	}
	s.pending[id] = &question{call: c, api: a, ready: ready}
	s.mu.Unlock()
	if m := mutation(ask); m != nil && s.opt.Quota != nil {
		m.From, m.Rate = s.opt.Quota(c.conn.identity.user, c.clientID)
	}
	s.opt.OnInput(&model.Asked{ID: id, From: c.from(), Ask: ask})
}

// Reply answers a question. When its asker has gone away, or the question was
// answered already, nothing happens. It does not wait for the network. What was
// done to topics is answered when the view shows it.
func (s *Server) Reply(r *model.Reply) {
	s.mu.Lock()
	q := s.pending[r.Ask]
	delete(s.pending, r.Ask)
	s.mu.Unlock()
	if q != nil {
		s.answer(r.Ask, q, r.Answer)
	}
}

// Unanswered is the number of questions without a reply.
func (s *Server) Unanswered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// Close stops listening, closes all connections and waits until their
// goroutines have ended.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stopping)
		for ln := range s.listeners {
			ln.Close()
		}
		for sc := range s.conns {
			sc.close()
		}
	}
	s.mu.Unlock()
	s.done.Wait()
}

func (s *Server) failed(from string, err error) {
	if s.opt.OnFailure != nil {
		s.opt.OnFailure(from, err)
	}
}
