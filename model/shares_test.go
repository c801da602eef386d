package model

import (
	"testing"

	"pgregory.net/rapid"
)

// Leads and Hosts, kept as the cluster changes, equal a recount.
func TestSharesEqualARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCluster()
		broker := rapid.Int32Range(0, 3)
		for range rapid.IntRange(1, 60).Draw(t, "writes") {
			tp := TP(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "topic"), rapid.Int32Range(0, 2).Draw(t, "partition"))
			switch rapid.IntRange(0, 5).Draw(t, "op") {
			case 0:
				c.AddTopic(tp.Topic)
				c.UpdateAssignment(tp, ReplicaAssignment{Replicas: rapid.SliceOfN(broker, 0, 3).Draw(t, "replicas")})
			case 1:
				c.PutLeadership(tp, &LeaderIsrAndControllerEpoch{LeaderAndIsr: LeaderAndIsr{Leader: rapid.Int32Range(-1, 3).Draw(t, "leader")}})
			case 2:
				c.RemoveTopic(tp.Topic)
			case 3:
				c.DropPartition(tp)
			case 4:
				c.DropTopic(tp.Topic)
			case 5:
				before := c.Freeze()
				leads, hosts := before.Leads(0), before.Hosts(0)
				c.PutLeadership(tp, &LeaderIsrAndControllerEpoch{})
				if before.Leads(0) != leads || before.Hosts(0) != hosts {
					t.Fatal("a frozen view changed")
				}
			}
		}
		leads, hosts := map[int32]int{}, map[int32]int{}
		for topic := range c.Entries() {
			for _, p := range topic.Entries() {
				if p.Assignment != nil {
					for _, b := range p.Assignment.Replicas {
						hosts[b]++
					}
				}
				if p.Leadership != nil {
					leads[p.Leadership.Leader]++
				}
			}
		}
		for b := int32(0); b < 4; b++ {
			if c.Leads(b) != leads[b] || c.Hosts(b) != hosts[b] {
				t.Fatalf("broker %d: leads %d, want %d; hosts %d, want %d", b, c.Leads(b), leads[b], c.Hosts(b), hosts[b])
			}
		}
	})
}
