package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"kstate/engine"
	"kstate/internal/acl"
	"kstate/internal/debugger"
	"kstate/internal/handshake"
	"kstate/internal/journal"
	"kstate/internal/live"
	"kstate/internal/security"
	"kstate/internal/wire"
	"kstate/model"
	"kstate/ui"
	"kstate/zkwatch"
)

const (
	// deadManSeconds is how long a held controller waits for a command.
	deadManSeconds = 20
	// resignLimit bounds giving the role up in order; after it the end of the
	// session does it.
	resignLimit = 5 * time.Second
)

func controlCommand() command {
	flags := append(zookeeperFlags(), flag{name: "listener", kind: isText, value: "NAME://HOST:PORT", repeat: true,
		usage: "listen there for brokers and clients, who are told that address (HOST:PORT alone is PLAINTEXT)"},
		flag{name: "id", kind: isNumber, value: "N", usage: "run under this id, which no broker may have (default: the lowest from 1000 that no broker and no controller has)"},
		flag{name: "take-over", usage: "take the role from whoever holds it, in one transaction, instead of waiting"},
		flag{name: "inter-broker-protocol", kind: isText, value: "V", usage: "inter.broker.protocol.version (default: what all brokers speak)"},
		flag{name: "properties", kind: isFile, value: "FILE", usage: "the controller's settings from a server.properties"},
		overrideFlag,
		flag{name: "authorization", kind: isFile, value: "FILE", usage: "who may do what, in the words of kafka-acls (default: everybody everything, or the rules of authorizer.class.name)"},
		flag{name: "paused", usage: "hold at the controller's first step"},
		flag{name: "allow-faults", usage: "let faults be injected: errors from ZooKeeper, an ended session, brokers' answers held, dropped or falsified; never on a cluster that matters"},
		flag{name: "dead-man", kind: isNumber, value: "SECONDS", usage: "a held controller goes on by itself after this time without a command (default 20)"},
		mendFlag, journalFlag, journalSizeFlag, stateChangeLogFlag)
	return command{
		name:    "control",
		summary: "be the controller of real brokers, stepping included",
		detail: "It runs for the role as a broker does: while somebody holds it, it waits, and says who. On an empty ZooKeeper it makes the paths that a first broker makes, and waits for brokers. " +
			"It is listed to brokers and clients under its id and holds no replica.\n" +
			"It always records what it learns and does, to a file that it names at its start, and does not start where it cannot.\n" +
			"While the controller is held, the cluster has no failover. Quitting gives the role up, and so does the loss of the terminal.\n" +
			"Settings: " + strings.Join(sortedKeys(settings), ", ") + "; and those of TLS and SASL, ssl.*, sasl.*, listener.name.* (docs/security.md). Others are passed over.",
		flags: append(flags, dashboardFlags()...),
		run:   runControl,
	}
}

// control is a controller of real brokers at work.
type control struct {
	inv      *invocation
	settings *controlSettings
	id       int32
	outside  *live.Outside
	recorded *journal.Writer

	mu       sync.Mutex
	session  *debugger.Session
	failures map[string]bool // kinds of failures that were said
}

func runControl(inv *invocation) error {
	c := &control{inv: inv}
	var err error
	if c.settings, err = readSettings(inv); err != nil {
		return err
	}
	listeners, err := c.listeners()
	if err != nil {
		return err
	}
	zk, err := c.zookeeper()
	if err != nil {
		return err
	}
	rules, authorizer, err := c.authorization()
	if err != nil {
		return err
	}
	log, closeLog, err := openLog(inv, "state-change-log")
	if err != nil {
		return err
	}
	defer closeLog()
	if c.id, err = prepare(inv, zk, c.settings); err != nil {
		return err
	}
	spareMemory()
	if c.recorded, err = c.journal(); err != nil {
		return err
	}
	defer closeJournal(inv, c.recorded)
	ctx, cancel, stop := c.untilToldToEnd()
	defer stop()
	zk.Gate = zkwatch.Outsider(c.id)
	zk.OnResend = func(r zkwatch.Resend) { resent(c.now(), r) }
	c.outside, err = live.Dial(ctx, live.Options{ZooKeeper: zk, ControllerID: c.id, Listener: c.settings.engine.InterBrokerListener, Listeners: listeners,
		BrokerConfig: c.settings.all, Rules: rules, Authorizer: authorizer, Rack: c.settings.rack, Relay: true, Configs: true, Unclean: c.settings.engine.BrokerConfig[uncleanSettingName] == "true", RequestTimeout: c.settings.requestTimeout, Intercept: c.intercept(), OnInput: c.input, OnFailure: c.failed})
	if err != nil {
		return unknown(err)
	}
	defer c.outside.Close()
	if err := makePersistentPaths(c.outside.Conn); err != nil {
		return err
	}
	self := c.outside.Self()
	status, _ := c.recorded.Status()
	fmt.Fprintf(inv.console.err, "kstate: controller %d, listening on %s\nkstate: recording to %s\n", c.id, endpoints(self), status.Path)
	session := c.start(self, log, cancel)
	running, end := context.WithCancel(context.Background())
	var loop sync.WaitGroup
	loop.Go(func() { session.Run(running) })
	err = c.show(ctx, session)
	c.resign(session)
	end()
	loop.Wait()
	if why := context.Cause(ctx); err == nil && why != nil && !errors.Is(why, context.Canceled) {
		err = why
	}
	return err
}

// untilToldToEnd ends by a signal, the loss of the terminal among them, or by
// cancel, with the reason. Ctrl-C is a key of the dashboard; without one it ends.
func (c *control) untilToldToEnd() (ctx context.Context, cancel context.CancelCauseFunc, stop func()) {
	base := c.inv.ctx
	if !c.inv.has("headless") {
		base = context.WithoutCancel(base)
	}
	signalled, stopSignals := signal.NotifyContext(base, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel = context.WithCancelCause(signalled)
	return ctx, cancel, func() { cancel(nil); stopSignals() }
}

// listeners reads --listener.
func (c *control) listeners() ([]live.Listener, error) {
	var out []live.Listener
	names := []string{}
	for _, text := range c.inv.given["listener"] {
		name, address, named := strings.Cut(text, "://")
		if !named {
			name, address = "PLAINTEXT", text
		}
		name = strings.ToUpper(name)
		host, port, err := net.SplitHostPort(address)
		if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
			return nil, c.inv.misuse("--listener %s: want NAME://HOST:PORT or HOST:PORT", text)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return nil, c.inv.misuse("--listener %s: brokers and clients are told this address, so it needs a host that they reach", text)
		}
		protocol, err := c.protocol(name)
		if err != nil {
			return nil, c.inv.misuse("--listener %s: %v", text, err)
		}
		if slices.Contains(names, name) {
			return nil, c.inv.misuse("--listener %s: the name %s is given twice", text, name)
		}
		names = append(names, name)
		out = append(out, live.Listener{Name: name, Address: address, Protocol: protocol})
	}
	if len(out) == 0 {
		return nil, c.inv.misuse("where do brokers and clients reach it? Give --listener")
	}
	if want := c.settings.engine.InterBrokerListener; !slices.Contains(names, want) {
		return nil, c.inv.misuse("brokers call each other on the listener %s (inter.broker.listener.name), and there is no --listener of that name, only %s", want, strings.Join(names, ", "))
	}
	return out, c.checkSecurity(out)
}

// protocol is the security protocol of a listener name.
// Kafka: listener.security.protocol.map.
func (c *control) protocol(name string) (security.Protocol, error) {
	if c.settings.protocols == nil {
		if p, err := security.ParseProtocol(name); err == nil {
			return p, nil
		}
	}
	mapped, ok := c.settings.protocols[name]
	if !ok {
		return "", fmt.Errorf("which security protocol? Give listener.security.protocol.map=%s:PLAINTEXT (or another) by --properties or --override", name)
	}
	p, err := security.ParseProtocol(mapped)
	if err != nil {
		err = fmt.Errorf("listener.security.protocol.map: %w", err)
	}
	return p, err
}

// checkSecurity says before anything is begun what is wrong with the settings of
// TLS and SASL: of each listener, and of the way to brokers.
func (c *control) checkSecurity(listeners []live.Listener) error {
	unasked := func(string, security.Mechanism) (handshake.Credential, bool, error) {
		return handshake.Credential{}, false, nil
	}
	for _, l := range listeners {
		if _, err := handshake.NewListener(l.Name, l.Protocol, c.settings.all, unasked); err != nil {
			return c.inv.misuse("--listener %s://%s (%s): %v", l.Name, l.Address, l.Protocol, err)
		}
		if l.Name == c.settings.engine.InterBrokerListener {
			if _, err := security.Client(security.ToListener(c.settings.all, l.Name, l.Protocol)); err != nil {
				return c.inv.misuse("how to call brokers on listener %s (%s): %v", l.Name, l.Protocol, err)
			}
		}
	}
	return nil
}

// authorization reads who may do what: --authorization, else what the settings say.
func (c *control) authorization() (*acl.Set, *live.Authorizer, error) {
	s := c.settings
	name := c.inv.text("authorization")
	switch {
	case name == "" && s.authorizer == "":
		return nil, nil, nil
	case name == "":
		return nil, &live.Authorizer{SuperUsers: s.superUsers, EveryoneIfNone: s.everyoneIfNone}, nil
	case s.authorizer != "":
		return nil, nil, c.inv.misuse("--authorization %s: authorizer.class.name is set too, and only one of them can say who may do what", name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("--authorization: %w", err)
	}
	list, err := acl.ReadRules(data)
	if err != nil {
		return nil, nil, c.inv.misuse("--authorization %s: %v", name, err)
	}
	return acl.NewSet(list, s.superUsers, s.everyoneIfNone), nil, nil
}

func (c *control) zookeeper() (zkwatch.Options, error) {
	if !c.inv.has("zookeeper") {
		if c.settings.connect == "" {
			return zkwatch.Options{}, c.inv.misuse("which cluster? Give --zookeeper, or zookeeper.connect by --properties or --override")
		}
		c.inv.given["zookeeper"] = []string{c.settings.connect}
	}
	zk, err := zookeeperOptions(c.inv)
	if err != nil {
		return zk, err
	}
	if t := c.settings.zookeeper.SessionTimeout; t > 0 && !c.inv.has("zookeeper-timeout") {
		zk.SessionTimeout = t
	}
	zk.Window, zk.SetACL = c.settings.zookeeper.Window, c.settings.zookeeper.SetACL
	return zk, nil
}

// input passes on what ZooKeeper and the brokers say. Nothing comes before the
// session is there: the engine has armed no watch yet.
func (c *control) input(s model.Stimulus) {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session != nil {
		session.Input(s)
	}
}

// noFaults is why none may be injected without the flag.
const noFaults = "on a live cluster faults are injected only when kstate control was started with --allow-faults"

// intercept lets faults come over brokers' answers, if they may; else nothing
// comes between.
func (c *control) intercept() wire.Interceptor {
	if !c.inv.has("allow-faults") {
		return nil
	}
	return answerFaults{c.now}
}

// now is the session at work; nil before the first.
func (c *control) now() *debugger.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// mostFailures is how many kinds of failures are said.
const mostFailures = 50

var digits = regexp.MustCompile(`[0-9]+`)

// failed says what went wrong on the way to a broker or on a connection of a broker
// or client, in the history and on standard error, once for each kind: attempts are
// repeated many times a second.
func (c *control) failed(err error) {
	text := err.Error()
	kind := digits.ReplaceAllString(text, "#")
	c.mu.Lock()
	said := c.failures[kind] || len(c.failures) >= mostFailures
	if !said {
		if c.failures == nil {
			c.failures = map[string]bool{}
		}
		c.failures[kind] = true
	}
	session := c.session
	c.mu.Unlock()
	if said {
		return
	}
	if session != nil {
		session.Remark(text)
	}
	if c.inv.has("headless") {
		fmt.Fprintf(c.inv.console.err, "kstate: %s\n", text)
	}
}

func (c *control) start(self model.Broker, log io.Writer, cancel context.CancelCauseFunc) *debugger.Session {
	cfg := c.settings.engine
	cfg.ID, cfg.Self, cfg.RegisterForOldBrokers, cfg.TakeOver = c.id, &self, true, c.inv.has("take-over")
	eng := engine.New(cfg)
	out := c.outside
	options := debugger.Options{Engine: eng, Env: out, Mode: model.ControlMode, Source: c.inv.text("zookeeper"), Peek: out.Peek, Channels: out.Channels.Snapshot,
		Brokers: brokerStatus, Connection: out.Connection, SessionID: out.SessionID, Expired: out.Conn.Proceed, Paused: c.inv.has("paused"),
		Journal: c.recorded, DeadMan: time.Duration(c.inv.number("dead-man", deadManSeconds)) * time.Second,
		Viewed: func(v *model.View, active bool) {
			out.Viewed(v, active)
			if why := hopeless(eng); why != nil {
				cancel(why)
			}
		}}
	if log != nil {
		options.Recorded = (&debugger.StateChangeLog{W: log, ControllerID: c.id, Epoch: eng.Epoch}).Record
	}
	if options.NoFaults = noFaults; c.inv.has("allow-faults") {
		options.NoFaults, options.ExpireSession = "", out.Conn.EndSession
	}
	s := debugger.NewSession(options)
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
	return s
}

// hopeless is why it makes no sense to go on; nil while it does.
func hopeless(e *engine.Engine) error {
	if err := e.Barred(); err != nil {
		return fmt.Errorf("gave the role up: %w", err)
	}
	err := e.TakeoverError()
	switch engine.ExceptionClass(err) {
	case "", "ControllerMovedException", "SessionExpiredException", "ConnectionLossException":
		return nil
	}
	return fmt.Errorf("no controller can start on this tree, and the role was given up: %w", err)
}

// show runs the dashboard, or says on standard error what changes, until it ends.
func (c *control) show(ctx context.Context, s *debugger.Session) error {
	if c.inv.has("headless") {
		newTeller(c.inv.console.err, c.outside.Self()).tell(ctx, s.Frames())
		return nil
	}
	err := ui.Run(ctx, ui.Options{Frames: s.Frames(), Do: s.Do, NoColor: c.inv.has("no-color")})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// resign gives the role up in order. If that takes too long, the end of the
// session does it.
func (c *control) resign(s *debugger.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), resignLimit)
	defer cancel()
	if err := s.Resign(ctx); err != nil {
		fmt.Fprintf(c.inv.console.err, "kstate: the controller did not come to its end within %s: its session is closed all the same\n", resignLimit)
		return
	}
	left := make(chan error, 1)
	go func() { left <- c.leave() }() // a call waits for a lost connection to come back; closing the connection ends it
	var err error
	select {
	case err = <-left:
	case <-ctx.Done():
		err = fmt.Errorf("%s was not deleted: ZooKeeper did not answer within %s", model.ControllerPath, resignLimit)
	}
	if err != nil {
		fmt.Fprintf(c.inv.console.err, "kstate: %v; it goes with the session\n", err)
		return
	}
	fmt.Fprintln(c.inv.console.err, "kstate: resigned")
}

// leave deletes /controller if it is of this session, so that the others run for
// the role at once: the end of a session is seen later where its last request is
// lost. The epoch keeps it from deleting a successor's.
func (c *control) leave() error {
	conn := c.outside.Conn
	if st := conn.State(); st.Phase != zkwatch.Connected {
		return fmt.Errorf("%s was not deleted: ZooKeeper is %s", model.ControllerPath, st.Phase)
	}
	r := conn.Do(&model.Call{Purpose: "leave", Ops: []model.Op{{Kind: model.OpGet, Path: model.ControllerEpochPath}, {Kind: model.OpExists, Path: model.ControllerPath}}})
	if len(r.Ops) != 2 || r.Ops[1].Code != model.CodeOK || r.Ops[1].Stat.EphemeralOwner != conn.State().SessionID {
		return nil // somebody else's, or nobody's
	}
	r = conn.Do(&model.Call{Purpose: "leave", Atomic: true, Ops: []model.Op{
		{Kind: model.OpCheck, Path: model.ControllerEpochPath, Version: r.Ops[0].Stat.Version},
		{Kind: model.OpDelete, Path: model.ControllerPath, Version: r.Ops[1].Stat.Version}}})
	if len(r.Ops) != 2 {
		return fmt.Errorf("delete %s: ZooKeeper answered %s", model.ControllerPath, r.Code)
	}
	if code := r.Ops[1].Code; code != model.CodeOK {
		return fmt.Errorf("delete %s: ZooKeeper answered %s", model.ControllerPath, code)
	}
	return nil
}

func endpoints(b model.Broker) string {
	var out []string
	for _, e := range b.Endpoints {
		out = append(out, e.String())
	}
	return strings.Join(out, ",")
}

// brokerStatus describes the registered brokers and those that replicas are
// assigned to.
func brokerStatus(v *model.View) []model.BrokerStatus {
	ids := v.LiveOrShuttingDown()
	for _, id := range v.Assigned() {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	out := make([]model.BrokerStatus, 0, len(ids))
	for _, id := range ids {
		out = append(out, v.BrokerStatus(id))
	}
	return out
}

// teller says on one line each what an operator without a screen must know.
type teller struct {
	to      io.Writer
	self    model.Broker
	status  model.ControllerStatus
	linked  bool
	notice  uint64
	missing []string
}

func newTeller(to io.Writer, self model.Broker) *teller {
	return &teller{to: to, self: self, linked: true, status: model.ControllerStatus{ID: engine.NoController}}
}

// tell reads frames until ctx ends.
func (t *teller) tell(ctx context.Context, frames <-chan model.Frame) {
	for {
		select {
		case <-ctx.Done():
			return
		case f, open := <-frames:
			if !open {
				return
			}
			t.see(&f)
		}
	}
}

func (t *teller) see(f *model.Frame) {
	say := func(format string, args ...any) {
		fmt.Fprintf(t.to, "kstate: "+format+"\n", args...)
	}
	if c := f.Controller; c.ID != t.status.ID || c.Self != t.status.Self || c.Self && c.Epoch != t.status.Epoch {
		switch {
		case c.Self:
			say("is the controller, epoch %d", c.Epoch)
		case t.status.Self:
			say("lost the role: %s", t.holder(c))
		default:
			say("waits: %s", t.holder(c))
		}
		t.status = c
	}
	if f.Connection.Connected != t.linked {
		t.linked = f.Connection.Connected
		say("ZooKeeper: %s", f.Connection.Text)
	}
	for _, n := range f.Notices {
		if n.Seq > t.notice {
			t.notice = n.Seq
			say("%s", n.Text)
		}
	}
	if f.View != nil {
		missing := wire.Missing(f.View.Brokers(), t.self)
		if !slices.Equal(missing, t.missing) && len(missing) > 0 {
			say("brokers have listeners that it has not: %s; clients there do not find the controller: give each a --listener", strings.Join(missing, ", "))
		}
		t.missing = missing
	}
}

func (t *teller) holder(c model.ControllerStatus) string {
	switch c.ID {
	case engine.NoController:
		return "nobody holds the role"
	case t.self.ID:
		return fmt.Sprintf("%d holds the role: another kstate of this id, or an earlier one whose session is not over; --id N gives this one another", c.ID)
	}
	return fmt.Sprintf("%d holds the role", c.ID)
}
