package main

import (
	"context"
	"net"
	"strconv"

	"kstate/internal/observe"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
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
	if err := requireCluster(inv.ctx, conn); err != nil {
		return err
	}
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
