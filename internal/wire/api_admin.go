package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/model"
)

// What admin clients ask of the controller.

// electLeadersAPI: version 0 is the preferred election only, and has no error
// for the request as a whole. When all partitions are asked for, those that need
// no election are left out of the answer. Kafka: KafkaApis.handleElectLeaders.
func electLeadersAPI() api {
	return asked(0, 2,
		func(q *kmsg.ElectLeadersRequest) (model.Ask, kmsg.Response) {
			ask := &model.ElectLeaders{}
			for _, t := range q.Topics {
				for _, p := range t.Partitions {
					ask.Partitions = append(ask.Partitions, model.TP(t.Topic, p))
				}
			}
			ask.Partitions = distinct(ask.Partitions, q.Topics != nil)
			switch {
			case q.Version == 0 || q.ElectionType == int8(model.PreferredElection):
			case q.ElectionType == int8(model.UncleanElection):
				ask.Type = model.UncleanElection
			default:
				return nil, unknownElectionType(q, ask.Partitions)
			}
			return ask, nil
		},
		func(q *kmsg.ElectLeadersRequest, a *model.ElectLeadersAnswer) kmsg.Response {
			results := a.Results
			if q.Topics == nil {
				results = slices.DeleteFunc(slices.Clone(results), func(r model.ElectionResult) bool { return r.Error == model.ErrElectionNotNeeded })
			}
			out := q.ResponseKind().(*kmsg.ElectLeadersResponse)
			out.Topics = electionResults(results)
			return out
		})
}

// distinct sorts partitions and drops repetitions. asked: the list was there, so
// that an empty one does not come to mean all.
func distinct(list []model.TopicPartition, asked bool) []model.TopicPartition {
	slices.SortFunc(list, model.TopicPartition.Compare)
	list = slices.Compact(list)
	if list == nil && asked {
		list = []model.TopicPartition{}
	}
	return list
}

// unknownElectionType is what Kafka's handler makes of the exception that it
// gets: the same error for the whole and for each partition.
func unknownElectionType(q *kmsg.ElectLeadersRequest, partitions []model.TopicPartition) kmsg.Response {
	out := q.ResponseKind().(*kmsg.ElectLeadersResponse)
	out.ErrorCode = int16(model.ErrUnknownServerError)
	results := make([]model.ElectionResult, len(partitions))
	for i, tp := range partitions {
		results[i] = model.ElectionResult{TopicPartition: tp, Error: model.ErrUnknownServerError, Why: "the election type is neither 0 (preferred) nor 1 (unclean)"}
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

// alterPartitionReassignmentsAPI: null replicas cancel.
func alterPartitionReassignmentsAPI() api {
	return asked(0, 0,
		func(q *kmsg.AlterPartitionAssignmentsRequest) (model.Ask, kmsg.Response) {
			ask := &model.AlterPartitionReassignments{}
			at := map[model.TopicPartition]int{} // the last one given counts
			for _, t := range q.Topics {
				for _, p := range t.Partitions {
					target := model.ReassignmentTarget{TopicPartition: model.TP(t.Topic, p.Partition), Target: p.Replicas, Cancel: p.Replicas == nil}
					if i, ok := at[target.TopicPartition]; ok {
						ask.Partitions[i] = target
						continue
					}
					at[target.TopicPartition] = len(ask.Partitions)
					ask.Partitions = append(ask.Partitions, target)
				}
			}
			slices.SortFunc(ask.Partitions, func(a, b model.ReassignmentTarget) int { return a.Compare(b.TopicPartition) })
			return ask, nil
		},
		func(q *kmsg.AlterPartitionAssignmentsRequest, a *model.AlterPartitionReassignmentsAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
			out.ErrorCode, out.ErrorMessage = int16(a.Error), message(a.Error, "")
			for _, of := range byTopic(a.Partitions, func(r *model.PartitionError) string { return r.Topic }) {
				t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
				t.Topic = of[0].Topic
				for _, r := range of {
					p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
					p.Partition, p.ErrorCode, p.ErrorMessage = r.Partition, int16(r.Error), message(r.Error, "")
					t.Partitions = append(t.Partitions, p)
				}
				out.Topics = append(out.Topics, t)
			}
			return out
		})
}

// listPartitionReassignmentsAPI: a null list asks for all.
func listPartitionReassignmentsAPI() api {
	return asked(0, 0,
		func(q *kmsg.ListPartitionReassignmentsRequest) (model.Ask, kmsg.Response) {
			ask := &model.ListPartitionReassignments{All: q.Topics == nil}
			for _, t := range q.Topics {
				for _, p := range t.Partitions {
					ask.Partitions = append(ask.Partitions, model.TP(t.Topic, p))
				}
			}
			ask.Partitions = distinct(ask.Partitions, !ask.All)
			return ask, nil
		},
		func(q *kmsg.ListPartitionReassignmentsRequest, a *model.ListPartitionReassignmentsAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
			out.ErrorCode, out.ErrorMessage = int16(a.Error), message(a.Error, "")
			for _, of := range byTopic(a.Partitions, func(r *model.Reassignment) string { return r.Topic }) {
				t := kmsg.NewListPartitionReassignmentsResponseTopic()
				t.Topic = of[0].Topic
				for _, r := range of {
					p := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
					p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas = r.Partition, r.Replicas, r.Adding, r.Removing
					t.Partitions = append(t.Partitions, p)
				}
				out.Topics = append(out.Topics, t)
			}
			return out
		})
}

// updateFeaturesAPI: version 0 only says whether a downgrade is allowed, version
// 2 only has an error for the whole, which then is that of the first feature
// that failed. Kafka: UpdateFeaturesRequest.getFeature.
func updateFeaturesAPI() api {
	return asked(0, 2,
		func(q *kmsg.UpdateFeaturesRequest) (model.Ask, kmsg.Response) {
			ask := &model.UpdateFeatures{}
			for _, u := range q.FeatureUpdates {
				f := model.FeatureUpdate{Feature: u.Feature, MaxLevel: u.MaxVersionLevel, Type: upgradeType(q.Version, &u)}
				ask.Updates = append(ask.Updates, f)
			}
			return ask, nil
		},
		func(q *kmsg.UpdateFeaturesRequest, a *model.UpdateFeaturesAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.UpdateFeaturesResponse)
			out.ErrorCode, out.ErrorMessage = int16(a.Error), message(a.Error, a.Message)
			for _, f := range a.Features {
				r := kmsg.NewUpdateFeaturesResponseResult()
				r.Feature, r.ErrorCode, r.ErrorMessage = f.Feature, int16(f.Error), message(f.Error, f.Message)
				out.Results = append(out.Results, r)
				if q.Version >= 2 && out.ErrorCode == int16(model.ErrNone) {
					out.ErrorCode, out.ErrorMessage = r.ErrorCode, r.ErrorMessage
				}
			}
			return out
		})
}

func upgradeType(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate) model.FeatureUpgradeType {
	switch {
	case version == 0 && u.AllowDowngrade:
		return model.SafeDowngrade
	case version == 0:
		return model.Upgrade
	case u.UpgradeType < int8(model.Upgrade) || u.UpgradeType > int8(model.UnsafeDowngrade):
		return model.UpgradeUnknown
	}
	return model.FeatureUpgradeType(u.UpgradeType)
}
