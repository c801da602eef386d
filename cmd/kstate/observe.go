package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"

	"kstate/internal/debugger"
	"kstate/internal/journal"
	"kstate/internal/observe"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

func observeCommand() command {
	return command{
		name:    "observe",
		summary: "dashboard on a live cluster, read only, beside its own controller",
		detail: "Counts, leaders, ISRs, brokers and deletion queues are what follows from the znodes. The controller's own memory cannot be seen from outside: a second controller, " +
			"which writes nothing, follows it by what it does to the znodes. What of that is inferred is marked: ~ on the screen, (inferred) in the log.\n" +
			"A controller that takes up nothing for 10 seconds is reported as not answering. The connection refuses every write.",
		flags: append(append(zookeeperFlags(), journalFlag, journalSizeFlag, stateChangeLogFlag), dashboardFlags()...),
		run:   runObserve,
	}
}

func runObserve(inv *invocation) error {
	log, closeLog, err := openLog(inv, "state-change-log")
	if err != nil {
		return err
	}
	defer closeLog()
	conn, err := openObserved(inv)
	if err != nil {
		return err
	}
	defer conn.Close()
	return runObserver(inv, observe.Options{Conn: conn}, log)
}

// runObserver shows a cluster until the operator ends it. log gets the
// transitions; nil: nobody does.
func runObserver(inv *invocation, options observe.Options, log io.Writer) error {
	options.Source, options.Config = inv.text("zookeeper"), tree.DefaultConfig()
	spareMemory()
	ctx, cancel := context.WithCancelCause(inv.ctx)
	defer cancel(nil)
	var o *observe.Observer
	if log != nil {
		lines := &debugger.StateChangeLog{W: log}
		options.Recorded = func(r model.Record) {
			c := o.Holder()
			lines.ControllerID, lines.Epoch = c.ID, func() int32 { return c.Epoch }
			lines.Record(r)
			if err := lines.Err(); err != nil {
				cancel(err)
			}
		}
	}
	mode := model.ObserveMode
	if options.Admin != nil {
		mode = model.AdminMode
	}
	recorded, err := openJournal(inv, "", journal.Header{Mode: mode, Source: options.Source})
	if err != nil {
		return err
	}
	defer closeJournal(inv, recorded)
	if recorded != nil {
		options.Journal = recorded.Shown
		lines := options.Recorded
		options.Recorded = func(r model.Record) {
			recorded.Seen(r)
			if lines != nil {
				lines(r)
			}
		}
	}
	o = observe.New(options)
	failed := make(chan error, 1)
	go func() { failed <- o.Run(ctx) }()
	if inv.has("headless") {
		signal.Ignore(syscall.SIGPIPE) // the write says it, and the session is closed in order
		defer signal.Reset(syscall.SIGPIPE)
		tellNotices(inv.console.err, o.Frames())
	} else if err := show(inv, o); err != nil {
		return err
	}
	cancel(nil)
	return ended(ctx, <-failed)
}

// spareMemory has the collector run more often: an observer lies beside other
// things for days, and its first picture is mostly what is soon dropped.
func spareMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// openObserved connects to the cluster that the flags name.
func openObserved(inv *invocation) (*zkwatch.Conn, error) {
	if !inv.has("zookeeper") {
		return nil, inv.misuse("which cluster? Give --zookeeper")
	}
	conn, err := dial(inv)
	if err != nil {
		return nil, err
	}
	if err := requireCluster(inv.ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ended is the error of a command that prints for as long as somebody reads.
func ended(ctx context.Context, err error) error {
	if why := context.Cause(ctx); err == nil && why != nil && !errors.Is(why, context.Canceled) && !errors.Is(why, context.DeadlineExceeded) && !errors.Is(why, syscall.EPIPE) {
		return why
	}
	return err
}

// tellNotices says what an operator without a screen must know, a line each,
// until the frames end.
func tellNotices(to io.Writer, frames <-chan model.Frame) {
	last := uint64(0)
	for f := range frames {
		for _, n := range f.Notices {
			if n.Seq > last {
				last = n.Seq
				fmt.Fprintf(to, "kstate: %s\n", visible(n.Text))
			}
		}
	}
}

// requireCluster keeps a wrong chroot from looking like an empty cluster that is
// well, without reading a whole tree first.
func requireCluster(ctx context.Context, conn *zkwatch.Conn) error {
	if err := conn.RequireKafka(ctx); err != nil {
		return liveError(err)
	}
	r := conn.Do(&model.Call{Purpose: "look for a cluster", Ops: []model.Op{
		{Kind: model.OpExists, Path: model.BrokerIDsPath}, {Kind: model.OpExists, Path: model.TopicsPath}}})
	for i := range r.Ops {
		if r.Ops[i].Code != model.CodeNoNode && r.Ops[i].Stat.NumChildren > 0 {
			return nil
		}
	}
	return elsewhere(ctx, conn)
}

func splitPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}
