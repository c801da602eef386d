package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// createPartitionsAPI: a null assignment lets the controller choose. A topic that
// is named twice has one result. Kafka: KafkaApis.handleCreatePartitionsRequest.
func createPartitionsAPI() api {
	return asked(0, 3,
		func(c *call, q *kmsg.CreatePartitionsRequest) (model.Ask, kmsg.Response) {
			ask := &model.CreatePartitions{Mutation: model.Mutation{Strict: q.Version >= strictCreatePartitions, TimeoutMillis: q.TimeoutMillis}, ValidateOnly: q.ValidateOnly}
			for _, t := range q.Topics {
				g := model.GrownTopic{Topic: t.Topic, Count: t.Count, Denied: !c.mayTopic(acl.Alter, t.Topic)}
				if t.Assignment != nil {
					g.Assignment = [][]int32{}
				}
				for _, a := range t.Assignment {
					g.Assignment = append(g.Assignment, a.Replicas)
				}
				ask.Topics = append(ask.Topics, g)
			}
			return ask, nil
		},
		func(c *call, q *kmsg.CreatePartitionsRequest, a *model.CreatePartitionsAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.CreatePartitionsResponse)
			out.ThrottleMillis = a.ThrottleMillis
			told := map[string]bool{}
			for _, r := range a.Topics {
				if told[r.Topic] {
					continue
				}
				told[r.Topic] = true
				t := kmsg.NewCreatePartitionsResponseTopic()
				t.Topic, t.ErrorCode, t.ErrorMessage = r.Topic, int16(r.Error), message(r.Error, r.Message)
				out.Topics = append(out.Topics, t)
			}
			return out
		})
}
