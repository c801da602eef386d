package main

import (
	"context"
	"encoding/json"
	"os/signal"
	"syscall"

	"kstate/internal/observe"
	"kstate/internal/tree"
)

func watchCommand() command {
	return command{
		name:    "watch",
		summary: "what happens on a live cluster, one JSON object a line",
		detail: `Every object has type, at (ms since 1970), zxid (the newest transaction seen by then) and what. By type:
znode: what is created, changed, deleted or unreadable; path, version, and topic, partition, broker, leader, isr, leader_epoch where they apply.
transition: what is partition or replica; topic, partition, broker, from, to, reason, evidence (observed, inferred, diverged).
diverged: the controller did something else than was expected; subject, topic, evidence diverged.
deletion: state is queued, running, waiting, retrying, done, refused or withdrawn; topic, reason, blocked_by, evidence.
controller: who holds the role; status, controller, controller_epoch.
not_answering: what is on or off; reason is what the controller has not taken up.
connection: what is lost or synced.
following: what is on or off; only while the controller is followed are there transitions. notice: anything else.
It ends by Ctrl-C, or when nobody reads any more. It writes nothing to the cluster.`,
		flags: zookeeperFlags(),
		run:   runWatch,
	}
}

func runWatch(inv *invocation) error {
	signal.Ignore(syscall.SIGPIPE) // the write says it, and the session is closed in order
	defer signal.Reset(syscall.SIGPIPE)
	conn, err := openObserved(inv)
	if err != nil {
		return err
	}
	defer conn.Close()
	spareMemory()
	ctx, cancel := context.WithCancelCause(inv.ctx)
	defer cancel(nil)
	lines := json.NewEncoder(inv.console.out)
	lines.SetEscapeHTML(false)
	o := observe.New(observe.Options{Conn: conn, Source: inv.text("zookeeper"), Config: tree.DefaultConfig(), Told: func(e observe.Event) {
		if ctx.Err() != nil {
			return
		}
		if err := lines.Encode(e); err != nil {
			cancel(err)
		}
	}})
	return ended(ctx, o.Run(ctx))
}
