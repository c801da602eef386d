package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// This file holds the worked traces S1 to S12: topic T, partition 0 on brokers
// 1, 2, 3, and what each event writes, moves and sends, in order.

// traced writes down what happened since mark, one word a step:
// P:Online a partition's new state, R2:Offline that of the replica on broker 2,
// Z(leader;isr;leader epoch) a state znode as written, and requests by broker:
// L2(leader;epoch) LeaderAndIsr, L2*(...) with isNew, S2 StopReplica, D2 StopReplica
// that deletes, both with (epoch), M UpdateMetadata with (leader) to all.
func (s *stage) traced(mark int) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, x := range s.taken[mark:] {
		switch x := x.(type) {
		case *model.MovePartition:
			add("P:%s", strings.TrimSuffix(x.To.String(), "Partition"))
		case *model.MoveReplica:
			add("R%d:%s", x.Broker, strings.TrimPrefix(strings.TrimSuffix(x.To.String(), "Replica"), "Replica"))
		case *model.Call:
			for i := range x.Ops {
				if x.Purpose == "create_state" || x.Purpose == "update_state" {
					l, _, _ := model.DecodePartitionState(x.Ops[i].Path, x.Ops[i].Data)
					add("Z(%d;%s;%d)%s", l.Leader, model.JoinIDs(l.ISR), l.LeaderEpoch, map[model.RecoveryState]string{model.Recovering: "RECOVERING"}[l.Recovery])
				}
			}
		case *model.Send:
			add("%s", requestWord(x))
		}
	}
	return strings.Join(out, " ")
}

func requestWord(x *model.Send) string {
	word := ""
	switch r := x.Request.(type) {
	case *model.LeaderAndIsrRequest:
		for _, e := range r.Entries {
			isNew := map[bool]string{true: "*"}[e.IsNew]
			word += fmt.Sprintf("L%d%s(%d;%d)", x.Broker, isNew, e.Leadership.Leader, e.Leadership.LeaderEpoch)
		}
	case *model.StopReplicaRequest:
		for _, e := range r.Entries {
			word += fmt.Sprintf("%s%d(%d)", map[bool]string{false: "S", true: "D"}[e.Delete], x.Broker, e.LeaderEpoch)
		}
	case *model.UpdateMetadataRequest:
		word = fmt.Sprintf("M%d", x.Broker)
		for _, e := range r.Entries {
			word += fmt.Sprintf("(%d)", e.Leadership.Leader)
		}
	}
	return word
}

// traceStage has T on brokers 1, 2, 3, created with these up.
func traceStage(t *testing.T, up ...int32) *stage {
	s := newStage(t, nil, up...)
	s.create("T", []int32{1, 2, 3})
	s.run()
	return s
}

// wants runs what is to happen and compares its trace.
func (s *stage) wants(t *testing.T, name, want string, happen func()) {
	t.Helper()
	mark := len(s.taken)
	happen()
	s.run()
	s.check(name)
	if got := s.traced(mark); got != strings.Join(strings.Fields(want), " ") {
		t.Errorf("%s:\nhave %s\nwant %s", name, got, strings.Join(strings.Fields(want), " "))
	}
}

func TestWorkedTraces(t *testing.T) {
	s := newStage(t, nil, 1, 2, 3)
	s.wants(t, "S1, create with all up", `P:New R1:New R2:New R3:New Z(1;1,2,3;0) P:Online L1*(1;0) L2*(1;0) L3*(1;0) M1(1) M2(1) M3(1)
		R1:Online R2:Online R3:Online`, func() { s.create("T", []int32{1, 2, 3}) })
	s.wants(t, "S3, the leader dies", `P:Offline Z(2;2,3;1) P:Online L2(2;1) L3(2;1) M2(2) M3(2) R1:Offline L2(2;1) L3(2;1) M2(2) M3(2)`, func() { s.kill(1) })

	s = newStage(t, nil, 2, 3)
	s.wants(t, "S2, create with 1 down", `P:New R1:New R2:New R3:New Z(2;2,3;0) P:Online L2*(2;0) L3*(2;0) M2(2) M3(2) R1:Online R2:Online R3:Online`,
		func() { s.create("T", []int32{1, 2, 3}) })
	s.wants(t, "S2, 1 starts", `M2 M3 M1(2) R1:Online L1(2;0) M1(2) M2(2) M3(2)`, func() { s.start(1) })
}

func TestWorkedTracesWithoutCleanLeader(t *testing.T) {
	s := traceStage(t, 1, 2, 3)
	s.propose(tp0("T"), []int32{1})
	s.run()
	s.wants(t, "S4, the only member of the ISR dies", `P:Offline Z(-1;1;1) R1:Offline L2(-1;1) L3(-1;1) M2(-1) M3(-1)`, func() { s.kill(1) })
	s.wants(t, "S4, it returns", `M2 M3 M1(-1) R1:Online L1(-1;1) M1(-1) M2(-1) M3(-1) Z(1;1;2) P:Online L1(1;2) L2(1;2) L3(1;2) M1(1) M2(1) M3(1)`, func() { s.start(1) })
	s.kill(1)
	s.run()
	s.wants(t, "S5, unclean is turned on", `Z(2;2;4)RECOVERING P:Online L2(2;4) L3(2;4) M2(2) M3(2)`, func() {
		s.config("T", "unclean.leader.election.enable", "true")
		s.world.Push(&model.UncleanEnabled{Topic: "T"})
	})
	if s.engine.UncleanElections() != 1 {
		t.Errorf("%d unclean elections", s.engine.UncleanElections())
	}
}

func TestWorkedTraceOfAFailover(t *testing.T) {
	s := traceStage(t, 1, 2, 3)
	s.world.Expire()
	s.run()
	s.kill(1)
	s.wants(t, "S6, failover with a dead leader", `M2 M3 R2:Online R3:Online L2(1;0) L3(1;0) M2(1) M3(1)
		Z(-1;2,3;1) R1:Offline L2(-1;1) L3(-1;1) M2(-1) M3(-1) Z(2;2,3;2) P:Online L2(2;2) L3(2;2) M2(2) M3(2)`, func() { s.world.Renew() })
}

func TestWorkedTracesOfShutdown(t *testing.T) {
	s := traceStage(t, 1, 2, 3)
	s.wants(t, "S7, the leader shuts down", `Z(2;2,3;1) P:Online L1(2;1) L2(2;1) L3(2;1) M1(2) M2(2) M3(2)`,
		func() { s.ask(&model.ControlledShutdown{BrokerID: 1, BrokerEpoch: s.brokerEpoch(1)}) })
	s = traceStage(t, 1, 2, 3)
	s.wants(t, "S7, a follower shuts down", `S3(0) Z(1;1,2;1) R3:Offline L1(1;1) L2(1;1) M1(1) M2(1) M3(1) S3(0)`,
		func() { s.ask(&model.ControlledShutdown{BrokerID: 3, BrokerEpoch: s.brokerEpoch(3)}) })
}

// deletionStarts is the beginning of a deletion whose replicas are all alive.
const deletionStarts = `P:Offline P:NonExistent M1(-2) M2(-2) M3(-2)
	Z(-1;2,3;1) R1:Offline Z(-1;3;2) R2:Offline Z(-1;3;3) R3:Offline S1(-2) S2(-2) S3(-2)
	R1:DeletionStarted R2:DeletionStarted R3:DeletionStarted D1(-2) D2(-2) D3(-2)`

func TestWorkedTracesOfDeletion(t *testing.T) {
	s := traceStage(t, 1, 2, 3)
	s.wants(t, "S8, delete with all up", deletionStarts+` R1:DeletionSuccessful R2:DeletionSuccessful R3:DeletionSuccessful
		R1:NonExistent R2:NonExistent R3:NonExistent`, func() { s.mark("T") })
	if s.has(model.TopicPath("T")) || s.has(model.DeleteTopicPath("T")) {
		t.Error("S8: znodes are left")
	}

	s = traceStage(t, 1, 2, 3)
	s.kill(3)
	s.run()
	s.wants(t, "S9, delete with 3 down", `P:Offline P:NonExistent M1(-2) M2(-2) R3:DeletionIneligible
		Z(-1;2;2) R1:Offline Z(-1;2;3) R2:Offline S1(-2) S2(-2) R1:DeletionStarted R2:DeletionStarted D1(-2) D2(-2)
		R1:DeletionSuccessful R2:DeletionSuccessful R3:Offline`, func() { s.mark("T") })
	s.wants(t, "S9, 3 starts", `M1 M2 M3 R3:Online L3(-1;3) M1(-2) M2(-2) M3(-2) M1(-2) M2(-2) M3(-2) R3:Offline S3(-2) R3:DeletionStarted D3(-2)
		R3:DeletionSuccessful R1:NonExistent R2:NonExistent R3:NonExistent`, func() { s.start(3) })

	s = traceStage(t, 1, 2, 3)
	s.broken[2] = model.ErrKafkaStorageError
	s.wants(t, "S10, 2 answers with an error", deletionStarts+` R1:DeletionSuccessful R2:DeletionIneligible R3:DeletionSuccessful
		R2:Offline S2(-2)`, func() { s.mark("T") })
	if why := s.engine.View().IneligibleReason("T"); why != model.ReplicaDeletionFailed {
		t.Errorf("S10: ineligible for %q", why)
	}
}

func TestWorkedTraceOfADeletionAcrossControllers(t *testing.T) {
	s := traceStage(t, 1, 2, 3)
	s.hold = true
	s.mark("T")
	s.run()
	s.world.Expire()
	s.run()
	s.hold = false
	s.wants(t, "S11, a new controller in the middle of a deletion", `M1 M2 M3 R1:Online R2:Online R3:Online L1(-1;3) L2(-1;3) L3(-1;3) M1(-2) M2(-2) M3(-2)
		P:Offline P:NonExistent M1(-2) M2(-2) M3(-2) R1:Offline R2:Offline Z(-1;3;4) R3:Offline S1(-2) S2(-2) S3(-2)
		R1:DeletionStarted R2:DeletionStarted R3:DeletionStarted D1(-2) D2(-2) D3(-2)
		R1:DeletionSuccessful R2:DeletionSuccessful R3:DeletionSuccessful R1:NonExistent R2:NonExistent R3:NonExistent`, func() { s.world.Renew() })
}

func TestWorkedTraceOfADeletionAmidAReassignment(t *testing.T) {
	s := newStage(t, func(c *engine.Config) {}, 1, 2, 3, 4)
	s.create("T", []int32{1, 2, 3})
	s.run()
	s.ask(&model.AlterPartitionReassignments{Partitions: []model.ReassignmentTarget{{TopicPartition: tp0("T"), Target: []int32{4, 1, 2}}}})
	s.run()
	s.wants(t, "S12, delete amid a reassignment", `P:Offline P:NonExistent M1(-2) M2(-2) M3(-2) M4(-2)
		Z(-1;2,3;2) R1:Offline Z(-1;3;3) R2:Offline Z(-1;3;4) R3:Offline R4:Offline S1(-2) S2(-2) S3(-2) S4(-2)
		R1:DeletionStarted R2:DeletionStarted R3:DeletionStarted R4:DeletionStarted D1(-2) D2(-2) D3(-2) D4(-2)
		R1:DeletionSuccessful R2:DeletionSuccessful R3:DeletionSuccessful R4:DeletionSuccessful
		R1:NonExistent R2:NonExistent R3:NonExistent R4:NonExistent`, func() { s.mark("T") })
	if _, code := s.store.Exists(model.TopicPath("T")); code != zkserver.NoNode || !s.engine.View().IsBeingReassigned(tp0("T")) {
		t.Error("S12: the topic is left, or its mark is not")
	}
}
