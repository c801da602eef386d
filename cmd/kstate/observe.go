package main

import (
	"context"
	"net"
	"strconv"

	"kstate/internal/observe"
	"kstate/internal/tree"
)

func observeCommand() command {
	return command{
		name:    "observe",
		summary: "dashboard on a live cluster, read only, beside its own controller",
		detail: "Counts, leaders, ISRs, brokers and deletion queues are what follows from the znodes; the controller's own memory cannot be seen from outside. " +
			"The connection refuses every write.",
		flags: append(zookeeperFlags(), dashboardFlags()...),
		run:   runObserve,
	}
}

func runObserve(inv *invocation) error {
	if !inv.has("zookeeper") {
		return inv.misuse("which cluster? Give --zookeeper")
	}
	conn, err := dial(inv)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(inv.ctx)
	defer cancel()
	o := observe.New(observe.Options{Conn: conn, Source: inv.text("zookeeper"), Config: tree.DefaultConfig()})
	failed := make(chan error, 1)
	go func() { failed <- o.Run(ctx) }()
	if err := show(inv, o); err != nil {
		return err
	}
	cancel()
	return <-failed
}

func splitPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}
