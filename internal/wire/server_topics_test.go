package wire

import (
	"kstate/model"
)

// topicQuestions are those of questions that are about topics as a whole.
func topicQuestions() []kafkaQuestion {
	mutation := func(v, strict int16) model.Mutation {
		return model.Mutation{TimeoutMillis: 1500, Strict: v >= strict}
	}
	return []kafkaQuestion{
		{"CreateTopics", 0, 7, func(v int16) model.Ask {
			return &model.CreateTopics{Mutation: mutation(v, 6), ValidateOnly: v >= 1, Topics: []model.NewTopic{
				{Topic: "a", Partitions: 2, ReplicationFactor: 3, Config: map[string]string{"retention.ms": "5"}},
				{Topic: "b", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {2, 1}}, NullConfig: true},
			}}
		}, func(int16) model.Answer {
			return &model.CreateTopicsAnswer{ThrottleMillis: 9, Topics: []model.CreatedTopic{
				{Topic: "a", ID: idA, Partitions: 2, ReplicationFactor: 3},
				{Topic: "b", Error: model.ErrTopicAlreadyExists, Message: "it exists", Partitions: 1, ReplicationFactor: 2}}}
		}},
		{"DeleteTopics", 0, 6, func(v int16) model.Ask {
			second := model.TopicOrID{Topic: "b"}
			if v >= 6 {
				second = model.TopicOrID{ID: idB}
			}
			return &model.DeleteTopics{Mutation: mutation(v, 5), Version: v, Topics: []model.TopicOrID{{Topic: "a"}, second}}
		}, func(v int16) model.Answer {
			failed := model.DeletedTopic{TopicOrID: model.TopicOrID{Topic: "b"}, Error: model.ErrUnknownTopicOrPartition, Message: "there is none"}
			if v >= 6 {
				failed.TopicOrID, failed.Error = model.TopicOrID{ID: idB}, model.ErrUnknownTopicID
			}
			return &model.DeleteTopicsAnswer{ThrottleMillis: 9, Topics: []model.DeletedTopic{{TopicOrID: model.TopicOrID{Topic: "a"}}, failed}}
		}},
		{"CreatePartitions", 0, 3, func(v int16) model.Ask {
			return &model.CreatePartitions{Mutation: mutation(v, 3), ValidateOnly: true, Topics: []model.GrownTopic{
				{Topic: "a", Count: 4}, {Topic: "b", Count: 2, Assignment: [][]int32{{2, 1}}}}}
		}, func(int16) model.Answer {
			failed := model.TopicResult{Topic: "b", Error: model.ErrInvalidPartitions, Message: "too few"}
			return &model.CreatePartitionsAnswer{ThrottleMillis: 9, Topics: []model.TopicResult{{Topic: "a"}, failed, failed}}
		}},
	}
}
