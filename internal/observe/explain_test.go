package observe

import (
	"slices"
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

func TestExplanationsFollowTheTree(t *testing.T) {
	s := newStage(t)
	s.o.Do(model.Explain{Subject: model.Subject{Kind: model.TopicSubject, Topic: "t"}})
	s.await("t is explained", func(f *model.Frame) bool { return f.Explanation != nil && f.Explanation.State == "not-deleting" })
	s.write(zkserver.Delete("/brokers/ids/2", -1))
	s.write(zkserver.Create("/admin/delete_topics/t", nil, 0))
	s.await("its deletion waits for broker 2", func(f *model.Frame) bool { return slices.Equal(f.Explanation.BlockedBy, []string{"broker:2"}) })
	if e := s.frame.Explanation; e.Memory || !e.Found {
		t.Errorf("explained: %+v", e)
	}
	s.o.Do(model.Explain{Subject: model.Subject{Kind: model.BrokerSubject, Broker: 9}})
	s.await("there is no broker 9", func(f *model.Frame) bool {
		return f.Explanation != nil && f.Explanation.Answer == "no such broker: 9 (near: 1)"
	})
	s.o.Do(model.Explain{})
	s.await("nothing is explained", func(f *model.Frame) bool { return f.Explanation == nil })
}
