package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// alterPartitionReassignmentsAPI: null replicas cancel.
func alterPartitionReassignmentsAPI() api {
	return asked(0, 0,
		func(c *call, q *kmsg.AlterPartitionAssignmentsRequest) (model.Ask, kmsg.Response) {
			if !c.mayCluster(acl.Alter) {
				return nil, deniedReassignments(q)
			}
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
		func(c *call, q *kmsg.AlterPartitionAssignmentsRequest, a *model.AlterPartitionReassignmentsAnswer) kmsg.Response {
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

// deniedReassignments has the error for the whole and for each partition.
// Kafka: AlterPartitionReassignmentsRequest.getErrorResponse.
func deniedReassignments(q *kmsg.AlterPartitionAssignmentsRequest) kmsg.Response {
	out := q.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	out.ErrorCode, out.ErrorMessage = clusterDenied, clusterDeniedText
	for i := range q.Topics {
		t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		t.Topic = q.Topics[i].Topic
		for j := range q.Topics[i].Partitions {
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = q.Topics[i].Partitions[j].Partition, clusterDenied, clusterDeniedText
			t.Partitions = append(t.Partitions, p)
		}
		out.Topics = append(out.Topics, t)
	}
	return out
}
