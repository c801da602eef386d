package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// deleteTopicsAPI: up to version 5 topics are named, from 6 on named or given by
// id. Kafka: KafkaApis.handleDeleteTopicsRequest.
func deleteTopicsAPI() api {
	return asked(0, 6,
		func(q *kmsg.DeleteTopicsRequest) (model.Ask, kmsg.Response) {
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
			return ask, nil
		},
		func(q *kmsg.DeleteTopicsRequest, a *model.DeleteTopicsAnswer) kmsg.Response {
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
