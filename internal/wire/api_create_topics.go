package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// From these versions on a request beyond the mutation quota is refused, below
// them it is only throttled. Kafka: ControllerMutationQuotaManager.newQuotaFor.
const (
	strictCreateTopics     = 6
	strictDeleteTopics     = 5
	strictCreatePartitions = 3
)

// createTopicsAPI: version 5 tells what was created, 7 the topic's id.
// Kafka: KafkaApis.handleCreateTopicsRequest.
func createTopicsAPI() api {
	return asked(0, 7,
		func(c *call, q *kmsg.CreateTopicsRequest) (model.Ask, kmsg.Response) {
			ask := &model.CreateTopics{Mutation: model.Mutation{Strict: q.Version >= strictCreateTopics, TimeoutMillis: q.TimeoutMillis}, ValidateOnly: q.ValidateOnly}
			all := c.mayCluster(acl.Create)
			for i := range q.Topics {
				t := newTopic(&q.Topics[i])
				t.Denied = !all && !c.mayTopic(acl.Create, t.Topic)
				ask.Topics = append(ask.Topics, t)
			}
			return ask, nil
		},
		func(c *call, q *kmsg.CreateTopicsRequest, a *model.CreateTopicsAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.CreateTopicsResponse)
			out.ThrottleMillis = a.ThrottleMillis
			for i := range a.Topics {
				r := &a.Topics[i]
				t := kmsg.NewCreateTopicsResponseTopic()
				t.Topic, t.ErrorCode, t.ErrorMessage = r.Topic, int16(r.Error), message(r.Error, r.Message)
				t.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null would break Kafka's own client
				if r.Error == model.ErrNone {
					t.TopicID, t.NumPartitions, t.ReplicationFactor = r.ID, r.Partitions, r.ReplicationFactor
					createdConfigs(c, r.Topic, configsOf(q, r.Topic), &t)
				}
				out.Topics = append(out.Topics, t)
			}
			return out
		})
}

func newTopic(q *kmsg.CreateTopicsRequestTopic) model.NewTopic {
	t := model.NewTopic{Topic: q.Topic, Partitions: q.NumPartitions, ReplicationFactor: q.ReplicationFactor}
	for _, p := range q.ReplicaAssignment {
		if t.Assignment == nil {
			t.Assignment = map[int32][]int32{}
		}
		t.Assignment[p.Partition] = p.Replicas
	}
	for _, c := range q.Configs {
		if c.Value == nil {
			t.NullConfig = true
			continue
		}
		if t.Config == nil {
			t.Config = map[string]string{}
		}
		t.Config[c.Name] = *c.Value
	}
	return t
}

// configsOf are the settings that a topic was asked for with.
func configsOf(q *kmsg.CreateTopicsRequest, topic string) map[string]string {
	for i := range q.Topics {
		if q.Topics[i].Topic == topic {
			return newTopic(&q.Topics[i]).Config
		}
	}
	return nil
}
