package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/journal"
	"kstate/internal/lab"
	"kstate/internal/lab/zkserver"
	"kstate/internal/live"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// labControllerID is the id under which the lab's controller runs, or the next
// one that no broker has.
const labControllerID = 1000

// leastTick is the shortest tickTime with which two ticks of silence say
// something about a client, not about the machine.
const leastTick = 50 * time.Millisecond

// mostTick is, in milliseconds, the longest with which two ticks are a session
// timeout that the lab's controller may ask for.
const mostTick = 1800000

// mostBrokers is how many simulated brokers the files that a process may hold
// open leave room for: each has a listener, and connections to and from it.
const mostBrokers = 200

func labCommand() command {
	return command{
		name:    "lab",
		args:    "[SCENARIO]",
		summary: "dashboard over an embedded cluster: a ZooKeeper, simulated brokers, kstate as their controller",
		detail: "The embedded ZooKeeper speaks its own protocol on the printed port, so that any client can join. " +
			"The first content is three brokers and the topics orders (3 partitions x 3 replicas), clicks (2 x 2) and unclean (1 x 2).\n" +
			"With a scenario, a file or the name of one that --list lists, it starts with what that one brings about, shows its goal (H), and says when it is reached.",
		flags: append([]flag{
			{name: "brokers", kind: isNumber, most: mostBrokers, value: "N", usage: "start N brokers (default 3); 0 starts the ZooKeeper server alone"},
			{name: "list", usage: "list the scenarios that kstate ships"},
			{name: "seed", kind: isNumber, value: "N", usage: "draw topic ids and the pace of replication from this seed (default 0: anew each time)"},
			{name: "paused", usage: "hold at the controller's first step"},
			{name: "tree", kind: isFile, value: "FILE", usage: "start from a tree file, with simulated brokers in the place of those registered in it"},
			{name: "fork", kind: isText, value: "HOST:PORT[,...]/CHROOT", usage: "start from a copy of a live cluster's tree, which is only read, with simulated brokers in the place of those registered there"},
			{name: "zookeeper-port", kind: isNumber, most: 65535, value: "N", usage: "port of the embedded ZooKeeper (default 0: any; it is printed)"},
			{name: "zookeeper-tick", kind: isNumber, most: mostTick, value: "MS", usage: "tickTime of the embedded ZooKeeper (default 2000)"},
			{name: "zookeeper-data", kind: isDir, value: "DIR", usage: "keep the embedded ZooKeeper's content there, and read it back at the start"},
			mendFlag, journalFlag, journalSizeFlag, stateChangeLogFlag,
		}, append(dashboardFlags(), forkFlags()...)...),
		run: runLab,
	}
}

func runLab(inv *invocation) error {
	if inv.has("list") {
		return listScenarios(inv)
	}
	opt := lab.Options{Brokers: inv.number("brokers", 3), Seed: uint64(inv.number("seed", 0)), Port: inv.number("zookeeper-port", 0), DataDir: inv.text("zookeeper-data"),
		TickTime: time.Duration(inv.number("zookeeper-tick", 2000)) * time.Millisecond}
	if opt.TickTime < leastTick {
		return inv.misuse("--zookeeper-tick %s: below %d ms sessions end before they can be kept", inv.text("zookeeper-tick"), leastTick.Milliseconds())
	}
	if inv.has("journal") && opt.Brokers == 0 {
		return inv.misuse("--journal: without brokers there is no controller whose steps could be recorded")
	}
	source := ""
	switch err := forkMisuse(inv); {
	case err != nil:
		return err
	case inv.has("tree"):
		if opt.Znodes, err = labTree(inv); err != nil {
			return err
		}
	case inv.has("fork"):
		if opt.Znodes, source, err = fork(inv); err != nil {
			return err
		}
	}
	log, closeLog, err := openLog(inv, "state-change-log")
	if err != nil {
		return err
	}
	defer closeLog()
	b := &bench{opt: opt, source: source, config: engine.DefaultConfig(labControllerID), paused: inv.has("paused"), log: log}
	if b.config.Mend, err = mends(inv); err != nil {
		return err
	}
	defer b.end()
	if err := b.stage(inv); err != nil {
		return err
	}
	if b.opt.Brokers == 0 {
		return b.serveZooKeeper(inv)
	}
	ctx, cancel := context.WithCancel(inv.ctx)
	defer cancel()
	options, err := b.start(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(inv.console.err, "kstate: the lab's ZooKeeper is at %s\n", b.lab.Addr())
	recorded, err := openJournal(inv, "", journal.Header{Mode: model.LabMode, Source: b.sourceOf(b.lab), ClusterID: b.lab.ClusterID()})
	if err != nil {
		return err
	}
	defer closeJournal(inv, recorded)
	options.Journal = recorded
	session := b.session(options)
	var loop sync.WaitGroup
	loop.Go(func() { session.Run(ctx) })
	if b.play != nil {
		b.play.begin(ctx, session)
	}
	err = show(inv, session)
	cancel()
	loop.Wait()
	if b.play != nil {
		b.play.stop()
	}
	return err
}

// labTree is a tree file's content with its chroot taken off.
func labTree(inv *invocation) ([]zkserver.Znode, error) {
	f, err := loadTree(inv)
	if err != nil {
		return nil, err
	}
	return labZnodes(f), nil
}

// labZnodes are those of a tree that a lab can hold: what belonged to sessions,
// but for the registrations that stand-ins take over, went with them.
func labZnodes(f *tree.File) []zkserver.Znode {
	znodes := []zkserver.Znode{}
	for i := range f.Znodes {
		z := &f.Znodes[i]
		path, ok := model.StripChroot(f.Chroot, z.Path)
		if !ok || path == "/" || z.Error != "" || z.Ephemeral && model.ParsePath(path).Kind != model.BrokerZnode {
			continue
		}
		znodes = append(znodes, zkserver.Znode{Path: path, Data: z.Data, Version: z.Version, Czxid: z.Czxid})
	}
	return znodes
}

// bench is a lab with its controller on it.
type bench struct {
	opt    lab.Options
	source string // of a copy, as the screen says it; empty: none
	config engine.Config
	paused bool
	log    io.Writer
	// recorded is told of every record of the session; nil: nobody wants it.
	recorded func(model.Record)
	play     *play // nil: no scenario

	mu      sync.Mutex
	lab     *lab.Lab
	outside *live.Outside
	current *debugger.Session
	ended   bool
}

// serveZooKeeper runs the server without brokers and controller.
func (b *bench) serveZooKeeper(inv *invocation) error {
	l, err := lab.Start(inv.ctx, b.opt)
	if err != nil {
		return err
	}
	if err := b.keep(l); err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(inv.console.out, "ZooKeeper at %s\n", l.Addr())
	<-inv.ctx.Done()
	return nil
}

// start starts the lab and connects a fresh controller to it.
func (b *bench) start(ctx context.Context) (debugger.Options, error) {
	l, err := lab.Start(ctx, b.opt)
	if err != nil {
		return debugger.Options{}, err
	}
	if err := b.keep(l); err != nil {
		return debugger.Options{}, errors.Join(err, l.Close())
	}
	return b.connect(ctx, l)
}

// connect connects a fresh controller to the lab.
func (b *bench) connect(ctx context.Context, l *lab.Lab) (debugger.Options, error) {
	id := l.ReserveID(b.config.ID)
	cfg, err := b.engineConfig(l)
	if err != nil {
		return debugger.Options{}, err
	}
	out, err := live.Dial(ctx, live.Options{ControllerID: id, Listener: l.Listener(), ClusterID: l.ClusterID(), OnInput: b.input,
		Configs: true, Unclean: cfg.BrokerConfig[uncleanSettingName] == "true", Intercept: answerFaults{b.now}, Random: reader(l.Draw),
		ZooKeeper: zkwatch.Options{Servers: l.Addr(), SessionTimeout: b.sessionTimeout(), Gate: zkwatch.Controller(), OnResend: b.resent}})
	if err != nil {
		return debugger.Options{}, err
	}
	b.mu.Lock()
	b.outside = out
	b.mu.Unlock()
	cfg.ID, cfg.InterBrokerListener = id, l.Listener()
	self := out.Self()
	cfg.Self = &self
	eng := engine.New(cfg)
	options := debugger.Options{Engine: eng, Env: out, Mode: model.LabMode, Source: b.sourceOf(l), Operate: l.Operate, Reset: b.reset,
		Restart: b.restart, Restarts: restarts, Disk: l.Disk, Scenario: b.scenario,
		Lose:          func(op model.Op, after bool) error { l.Lose(out.SessionID(), op, after); return nil },
		ExpireSession: func() error { return l.Expire(out.SessionID()) },
		Peek:          out.Peek, Explain: explainMemory, Channels: out.Channels.Snapshot, Brokers: l.Brokers, Connection: out.Connection, SessionID: out.SessionID, Expired: out.Conn.Proceed, Viewed: out.Viewed, Paused: b.paused}
	if b.log != nil {
		options.Recorded = (&debugger.StateChangeLog{W: b.log, ControllerID: id, Epoch: eng.Epoch}).Record
	}
	if tell := options.Recorded; b.recorded != nil {
		options.Recorded = func(r model.Record) {
			if tell != nil {
				tell(r)
			}
			b.recorded(r)
		}
	}
	return options, nil
}

// sourceOf is what the screen says the cluster is.
func (b *bench) sourceOf(l *lab.Lab) string {
	if b.source == "" {
		return l.Addr()
	}
	return b.source + ", here " + l.Addr()
}

func (b *bench) session(options debugger.Options) *debugger.Session {
	s := debugger.NewSession(options)
	b.mu.Lock()
	b.current = s
	b.mu.Unlock()
	return s
}

// input passes on what ZooKeeper and the brokers say. Nothing comes before the
// session is there: the engine has armed no watch yet.
func (b *bench) input(s model.Stimulus) {
	b.mu.Lock()
	session := b.current
	b.mu.Unlock()
	if session != nil {
		session.Input(s)
	}
}

// keep makes a lab the current one. From then on its port is that of the next
// ones too, so that clients find them.
func (b *bench) keep(l *lab.Lab) error {
	_, port, err := splitPort(l.Addr())
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return errors.New("kstate is ending")
	}
	b.lab, b.opt.Port = l, port
	return nil
}

// reset starts everything anew on the same port.
func (b *bench) reset(ctx context.Context) (debugger.Options, error) {
	if err := b.close(); err != nil {
		return debugger.Options{}, err
	}
	b.opt.Wipe = true
	if b.play != nil {
		b.play.anew()
	}
	options, err := b.start(ctx)
	if s := b.now(); err == nil && b.play != nil && s != nil {
		b.play.begin(ctx, s)
	}
	return options, err
}

// end takes everything down for good.
func (b *bench) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.close()
}

// close takes the current lab and its controller down.
func (b *bench) close() error {
	b.mu.Lock()
	out, l := b.outside, b.lab
	b.outside, b.lab = nil, nil
	b.mu.Unlock()
	if out != nil {
		out.Close()
	}
	if l == nil {
		return nil
	}
	return l.Close()
}
