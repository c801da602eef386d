package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// deleteTopicsAPI: up to version 5 topics are named, from 6 on named or given by
// id. Kafka: KafkaApis.handleDeleteTopicsRequest.
func deleteTopicsAPI() api {
	return asked(0, 6,
		func(c *call, q *kmsg.DeleteTopicsRequest) (model.Ask, kmsg.Response) {
			ask := &model.DeleteTopics{Mutation: model.Mutation{Strict: q.Version >= strictDeleteTopics, TimeoutMillis: q.TimeoutMillis}, Version: q.Version}
			for _, name := range q.TopicNames {
				ask.Topics = append(ask.Topics, model.TopicOrID{Topic: name})
			}
			for i := range q.Topics {
				t := model.TopicOrID{ID: q.Topics[i].TopicID}
				if name := q.Topics[i].Topic; name != nil {
					t.Topic = *name
				}
				ask.Topics = append(ask.Topics, t)
			}
			if c.rules != nil {
				ask.Access = topicAccess(c, ask.Topics)
			}
			return ask, nil
		},
		func(c *call, q *kmsg.DeleteTopicsRequest, a *model.DeleteTopicsAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.DeleteTopicsResponse)
			out.ThrottleMillis = a.ThrottleMillis
			for i := range a.Topics {
				r := &a.Topics[i]
				t := kmsg.NewDeleteTopicsResponseTopic()
				if t.TopicID = r.ID; r.Topic != "" || q.Version < 6 {
					t.Topic = &r.Topic
				}
				t.ErrorCode, t.ErrorMessage = int16(r.Error), message(r.Error, r.Message)
				out.Topics = append(out.Topics, t)
			}
			return out
		})
}

// topicAccess is what who asks may do to each topic that is to be deleted. Names
// of ids are those that brokers know.
func topicAccess(c *call, topics []model.TopicOrID) []model.TopicAccess {
	out := make([]model.TopicAccess, len(topics))
	names := map[model.Uuid]string{}
	if view := c.conn.server.opt.Cluster().View; view != nil && slices.ContainsFunc(topics, func(t model.TopicOrID) bool { return !t.ID.IsZero() }) {
		for t := range view.Topics() {
			names[t.ID] = t.Name
		}
	}
	for i, t := range topics {
		name := t.Topic
		if !t.ID.IsZero() {
			name = names[t.ID]
		}
		out[i] = model.TopicAccess{Topic: name, Describe: c.mayTopic(acl.Describe, name), Delete: c.mayTopic(acl.Delete, name)}
	}
	return out
}
