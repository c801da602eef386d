package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// electLeadersAPI: version 0 is the preferred election only, and has no error
// for the request as a whole. When all partitions are asked for, those that need
// no election are left out of the answer. Kafka: KafkaApis.handleElectLeaders.
func electLeadersAPI() api {
	return asked(0, 2,
		func(c *call, q *kmsg.ElectLeadersRequest) (model.Ask, kmsg.Response) {
			ask := &model.ElectLeaders{}
			for _, t := range q.Topics {
				for _, p := range t.Partitions {
					ask.Partitions = append(ask.Partitions, model.TP(t.Topic, p))
				}
			}
			ask.Partitions = distinct(ask.Partitions, q.Topics != nil)
			if !c.mayCluster(acl.Alter) {
				return nil, refusedElections(q, ask.Partitions, model.ErrClusterAuthorizationFailed, "")
			}
			switch {
			case q.Version == 0 || q.ElectionType == int8(model.PreferredElection):
			case q.ElectionType == int8(model.UncleanElection):
				ask.Type = model.UncleanElection
			default:
				return nil, refusedElections(q, ask.Partitions, model.ErrUnknownServerError, "the election type is neither 0 (preferred) nor 1 (unclean)")
			}
			return ask, nil
		},
		func(c *call, q *kmsg.ElectLeadersRequest, a *model.ElectLeadersAnswer) kmsg.Response {
			results := a.Results
			if q.Topics == nil {
				results = slices.DeleteFunc(slices.Clone(results), func(r model.ElectionResult) bool { return r.Error == model.ErrElectionNotNeeded })
			}
			out := q.ResponseKind().(*kmsg.ElectLeadersResponse)
			out.Topics = electionResults(results)
			return out
		})
}

// refusedElections has the same error for the whole and for each partition.
func refusedElections(q *kmsg.ElectLeadersRequest, partitions []model.TopicPartition, code model.KafkaError, why string) kmsg.Response {
	out := q.ResponseKind().(*kmsg.ElectLeadersResponse)
	out.ErrorCode = int16(code)
	results := make([]model.ElectionResult, len(partitions))
	for i, tp := range partitions {
		results[i] = model.ElectionResult{TopicPartition: tp, Error: code, Why: why}
	}
	out.Topics = electionResults(results)
	return out
}

func electionResults(results []model.ElectionResult) []kmsg.ElectLeadersResponseTopic {
	var out []kmsg.ElectLeadersResponseTopic
	for _, of := range byTopic(results, func(r *model.ElectionResult) string { return r.Topic }) {
		t := kmsg.NewElectLeadersResponseTopic()
		t.Topic = of[0].Topic
		for _, r := range of {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = r.Partition, int16(r.Error), message(r.Error, r.Why)
			t.Partitions = append(t.Partitions, p)
		}
		out = append(out, t)
	}
	return out
}
