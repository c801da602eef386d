package main

import (
	"bytes"
	"context"
	"testing"

	"kstate/internal/lab"
	"kstate/internal/realkafka"
	"kstate/model"
)

// rehearse copies a real cluster after the tour, broker 3 being shut down, into
// a lab and deletes a topic there, to the end. The real one has seen a session
// that wrote nothing.
func rehearse(t *testing.T, c *realkafka.Cluster) {
	t.Helper()
	txns := c.ZooKeeper.Transactions()
	last := txns[len(txns)-1].Zxid
	var said bytes.Buffer
	inv := &invocation{ctx: context.Background(), command: named(commands(), "lab"), given: map[string][]string{"fork": {c.Connect()}}, console: console{err: &said}}
	znodes, source, err := fork(inv)
	if err != nil {
		t.Fatal(err)
	}
	d := openDesk(t, lab.Options{Brokers: 3, Znodes: znodes}, func(b *bench) { b.source = source })
	d.await("every partition is online, broker 3 is down", func(f *model.Frame) bool {
		return idle(f) && f.Controller.Self && f.View.PartitionCounts[model.OnlinePartition] == 3 && !f.View.IsLive(3)
	})
	d.do(model.DeleteTopic{Topic: "clicks"})
	d.await("broker 3 holds the deletion", func(f *model.Frame) bool {
		return idle(f) && f.View.IneligibleReason("clicks") == model.OfflineReplicas
	})
	d.do(model.StartBroker{Broker: 3})
	d.await("the topic is gone from the copy", func(f *model.Frame) bool {
		return idle(f) && f.View.TopicsToBeDeleted.Len() == 0 && !f.View.KnowsTopic("clicks")
	})
	if there, _, err := c.Conn.Exists(c.Chroot + model.TopicPath("clicks")); err != nil || !there {
		t.Errorf("the real topic: %v, %v", there, err)
	}
	sessions := 0
	for _, x := range c.ZooKeeper.Transactions() {
		switch {
		case x.Zxid <= last:
		case x.Type == "createSession":
			sessions++
		case x.Type != "closeSession":
			t.Errorf("written to the real cluster meanwhile: %v", x)
		}
	}
	if sessions != 1 {
		t.Errorf("%d sessions were opened on the real cluster, want 1", sessions)
	}
}
