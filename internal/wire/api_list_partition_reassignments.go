package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// listPartitionReassignmentsAPI: a null list asks for all.
func listPartitionReassignmentsAPI() api {
	return asked(0, 0,
		func(c *call, q *kmsg.ListPartitionReassignmentsRequest) (model.Ask, kmsg.Response) {
			if !c.mayCluster(acl.Describe) {
				out := q.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
				out.ErrorCode, out.ErrorMessage = clusterDenied, clusterDeniedText
				return nil, out
			}
			ask := &model.ListPartitionReassignments{All: q.Topics == nil}
			for _, t := range q.Topics {
				for _, p := range t.Partitions {
					ask.Partitions = append(ask.Partitions, model.TP(t.Topic, p))
				}
			}
			ask.Partitions = distinct(ask.Partitions, !ask.All)
			return ask, nil
		},
		func(c *call, q *kmsg.ListPartitionReassignmentsRequest, a *model.ListPartitionReassignmentsAnswer) kmsg.Response {
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
