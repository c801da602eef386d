package explain

import (
	"fmt"
	"testing"

	"kstate/internal/tree"
	"kstate/model"
)

// wide is a tree of topics with 100 partitions of 3 replicas on 6 brokers, of
// which the last is gone.
func wide(topics int) *tree.Survey {
	s := tree.NewSurvey(tree.DefaultConfig())
	for id := range int32(5) {
		s.Apply(model.Znode{Path: model.BrokerIDPath(id), Data: []byte(`{"version":1,"host":"h","port":1}`), Stat: model.Stat{EphemeralOwner: 1}})
	}
	for i := range topics {
		name := fmt.Sprintf("topic-%04d", i)
		var a model.TopicAssignment
		for n := range int32(100) {
			replicas := []int32{n % 6, (n + 1) % 6, (n + 2) % 6}
			a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: n, ReplicaAssignment: model.ReplicaAssignment{Replicas: replicas}})
			l := model.LeaderIsrAndControllerEpoch{LeaderAndIsr: model.LeaderAndIsr{Leader: replicas[0], ISR: replicas}}
			s.Apply(model.Znode{Path: model.TopicPartitionStatePath(model.TP(name, n)), Data: model.EncodePartitionState(l)})
		}
		a.Version = 3
		s.Apply(model.Znode{Path: model.TopicPath(name), Data: model.EncodeTopic(a)})
		s.Apply(model.Znode{Path: model.DeleteTopicPath(name)})
	}
	return s
}

// BenchmarkExplain is what an explanation costs in a cluster of 100,000 partitions.
func BenchmarkExplain(b *testing.B) {
	c := OfTree(wide(1000))
	for _, s := range []model.Subject{{Kind: model.TopicSubject, Topic: "topic-0007"}, {Kind: model.PartitionSubject, Topic: "topic-0007", Partition: 5},
		{Kind: model.BrokerSubject, Broker: 5}, {Kind: model.BrokerSubject, Broker: 1}, {Kind: model.LeadershipSubject}, {Kind: model.ControllerSubject}} {
		b.Run(s.Kind.String()+s.Name(), func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Explain(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
