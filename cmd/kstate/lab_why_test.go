package main

import (
	"slices"
	"strings"
	"testing"

	"kstate/internal/lab"
	"kstate/model"
)

// A deletion with a dead broker, explained from the memory of the lab's own
// controller until the broker is back.
func TestADeletionThatWaitsIsExplained(t *testing.T) {
	d := openDesk(t, lab.Options{Brokers: 3})
	d.up()
	topic := model.Subject{Kind: model.TopicSubject, Topic: "orders"}
	d.session.Do(model.Explain{Subject: topic})
	d.await("orders is explained", func(f *model.Frame) bool {
		return f.Explanation != nil && f.Explanation.Subject == topic && f.Explanation.State == "not-deleting"
	})
	d.cut(3)
	d.do(model.DeleteTopic{Topic: "orders"})
	f := d.await("its deletion waits for broker 3", func(f *model.Frame) bool {
		return f.Explanation != nil && f.Explanation.State == "waiting" && slices.Equal(f.Explanation.BlockedBy, []string{"broker:3"})
	})
	e := f.Explanation
	if !e.Memory || !e.Found || !slices.Equal(e.IneligibleReasons, []model.IneligibleReason{model.OfflineReplicas}) {
		t.Errorf("explained: %+v", e)
	}
	for i := range e.Causes {
		for _, ev := range e.Causes[i].Evidence {
			if ev.Path != "" && ev.Missing != (ev.Path == model.BrokerIDPath(3)) {
				t.Errorf("%s: missing %t", ev.Path, ev.Missing)
			}
		}
	}
	d.back(3)
	d.await("the topic is gone", func(f *model.Frame) bool {
		return f.Explanation != nil && strings.HasPrefix(f.Explanation.Answer, "no such topic: orders")
	})
}
