package engine_test

import (
	"testing"

	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// What who asks may not do is refused topic by topic, and leaves no trace; the
// rest of the request goes on.
func TestDeniedTopicsAreRefused(t *testing.T) {
	c := newCluster(t, 1)
	c.ask(1, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{newTopic("a", 1, 1), newTopic("b", 1, 1), newTopic("c", 1, 1)}})
	denied := newTopic("denied", 1, 1)
	denied.Denied = true
	c.ask(2, &model.CreateTopics{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.NewTopic{denied, newTopic("d", 1, 1)}})
	if a := c.answer(2).(*model.CreateTopicsAnswer).Topics; a[0].Error != model.ErrTopicAuthorizationFailed || a[1].Error != model.ErrNone {
		t.Errorf("creation: %+v", a)
	}
	if _, code := c.store.Exists(model.TopicPath("denied")); code != zkserver.NoNode {
		t.Error("a denied topic was created")
	}
	c.ask(3, &model.CreatePartitions{Mutation: model.Mutation{TimeoutMillis: 1000}, Topics: []model.GrownTopic{{Topic: "a", Count: 2, Denied: true}, {Topic: "b", Count: 2}}})
	if a := c.answer(3).(*model.CreatePartitionsAnswer).Topics; a[0].Error != model.ErrTopicAuthorizationFailed || a[1].Error != model.ErrNone {
		t.Errorf("growth: %+v", a)
	}
	id := func(topic string) model.Uuid { return c.engine.View().Topic(topic).ID }
	c.ask(4, &model.DeleteTopics{Version: 6, Mutation: model.Mutation{TimeoutMillis: 1000},
		Topics: []model.TopicOrID{{Topic: "a"}, {ID: id("b")}, {ID: id("c")}, {ID: id("d")}, {Topic: "none"}},
		Access: []model.TopicAccess{{Topic: "a", Describe: true}, {Topic: "b"}, {Topic: "c", Describe: true}, {}, {Topic: "none"}}})
	want := []struct {
		topic string
		code  model.KafkaError
	}{{"a", model.ErrTopicAuthorizationFailed}, {"", model.ErrTopicAuthorizationFailed}, {"c", model.ErrTopicAuthorizationFailed},
		{"", model.ErrUnknownTopicID}, {"none", model.ErrTopicAuthorizationFailed}}
	for i, r := range c.answer(4).(*model.DeleteTopicsAnswer).Topics {
		if r.Error != want[i].code || r.Topic != want[i].topic {
			t.Errorf("deletion %d: %q %v, want %q %v", i, r.Topic, r.Error, want[i].topic, want[i].code)
		}
	}
	for _, topic := range []string{"a", "b", "c", "d"} {
		if _, code := c.store.Exists(model.DeleteTopicPath(topic)); code != zkserver.NoNode {
			t.Errorf("a marker for %s", topic)
		}
	}
}
