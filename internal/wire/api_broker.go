package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// What clients ask a broker about its own data. The controller is listed among
// the brokers but leads nothing, coordinates no group and has no log.

// listGroupsAPI: no group is coordinated here.
func listGroupsAPI() api {
	return local(0, 5, func(_ *call, q *kmsg.ListGroupsRequest) kmsg.Response { return q.ResponseKind() })
}

// describeLogDirsAPI: there is none.
func describeLogDirsAPI() api {
	return local(0, 4, func(c *call, q *kmsg.DescribeLogDirsRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.DescribeLogDirsResponse)
		if !c.mayCluster(acl.Describe) {
			out.ErrorCode = clusterDenied
		}
		return out
	})
}

// produceAPI: nothing is led here. Where the client wants no answer there is none
// that could say so, and the connection ends, as in Kafka.
func produceAPI() api {
	return local(0, 11, func(c *call, q *kmsg.ProduceRequest) kmsg.Response {
		if q.Acks == 0 {
			return nil
		}
		out := q.ResponseKind().(*kmsg.ProduceResponse)
		for i := range q.Topics {
			t := kmsg.NewProduceResponseTopic()
			t.Topic = q.Topics[i].Topic
			for j := range q.Topics[i].Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = q.Topics[i].Partitions[j].Partition, c.notHere(acl.Write, q.Topics[i].Topic)
				p.BaseOffset = -1
				t.Partitions = append(t.Partitions, p)
			}
			out.Topics = append(out.Topics, t)
		}
		return out
	})
}

// fetchAPI: nothing is led or followed here, and no session is kept.
func fetchAPI() api {
	return local(0, 17, func(c *call, q *kmsg.FetchRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.FetchResponse)
		for i := range q.Topics {
			t := kmsg.NewFetchResponseTopic()
			t.Topic, t.TopicID = q.Topics[i].Topic, q.Topics[i].TopicID
			for j := range q.Topics[i].Partitions {
				p := kmsg.NewFetchResponseTopicPartition()
				p.Partition, p.ErrorCode = q.Topics[i].Partitions[j].Partition, c.notHere(acl.Read, q.Topics[i].Topic)
				p.HighWatermark = -1
				t.Partitions = append(t.Partitions, p)
			}
			out.Topics = append(out.Topics, t)
		}
		return out
	})
}

// notHere is why a partition is not written or read here: to who may not do that
// to its topic, that comes first.
func (c *call) notHere(op acl.Operation, topic string) int16 {
	if topic != "" && !c.mayTopic(op, topic) {
		return int16(model.ErrTopicAuthorizationFailed)
	}
	return int16(model.ErrNotLeaderOrFollower)
}
