package wire

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// What was done to topics is answered when metadata shows it: a client that asks
// next finds it.
func TestAnswersWaitForTheView(t *testing.T) {
	var now atomic.Pointer[model.View]
	show := func(topic string, partitions int32) {
		c := model.NewCluster()
		c.AddTopic(topic)
		for p := range partitions {
			c.UpdateAssignment(model.TP(topic, p), model.ReplicaAssignment{Replicas: []int32{1}})
			c.PutLeadership(model.TP(topic, p), leadership(1, 0, []int32{1}, 0))
		}
		now.Store(c.Freeze())
	}
	show("other", 1)
	ts := newTestServer(t, func(o *ServerOptions) {
		o.Cluster = func() Cluster { return Cluster{View: now.Load()} }
		o.Patience = time.Hour
	})
	create, grow, remove := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrCreatePartitionsRequest(), kmsg.NewPtrDeleteTopicsRequest()
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "a"}}
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "a", Count: 3}}
	for _, x := range []struct {
		q      kmsg.Request
		answer model.Answer
		show   func()
	}{
		{create, &model.CreateTopicsAnswer{Topics: []model.CreatedTopic{{Topic: "a", Partitions: 2}}}, func() { show("a", 2) }},
		{grow, &model.CreatePartitionsAnswer{Topics: []model.TopicResult{{Topic: "a"}}}, func() { show("a", 3) }},
		{remove, &model.DeleteTopicsAnswer{Topics: []model.DeletedTopic{{TopicOrID: model.TopicOrID{Topic: "a"}}}}, func() { show("other", 1) }},
	} {
		c := ts.connect()
		c.send(x.q, 3, 1)
		ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: x.answer})
		ts.Viewed()
		ts.mu.Lock()
		held := len(ts.held)
		ts.mu.Unlock()
		if held != 1 {
			t.Errorf("%T is not held", x.answer)
		}
		x.show()
		ts.Viewed()
		c.receive(x.q, 1)
	}
	// What was only validated, or refused, is not waited for.
	create.ValidateOnly = true
	c := ts.connect()
	c.send(create, 3, 1)
	ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: &model.CreateTopicsAnswer{Topics: []model.CreatedTopic{{Topic: "a", Partitions: 2}}}})
	c.receive(create, 1)
	create.ValidateOnly = false
	c.send(create, 3, 2)
	ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: &model.CreateTopicsAnswer{Topics: []model.CreatedTopic{{Topic: "a", Error: model.ErrInvalidConfig}}}})
	c.receive(create, 2)
	// A view that never comes holds nobody for ever.
	ts.opt.Patience = 1
	c.send(create, 3, 3)
	ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: &model.CreateTopicsAnswer{Topics: []model.CreatedTopic{{Topic: "a", Partitions: 2}}}})
	c.receive(create, 3)
}
