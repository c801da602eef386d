package engine

import (
	"fmt"
	"slices"

	"kstate/model"
)

// candidacy is everything an election of one partition depends on.
type candidacy struct {
	tp         model.TopicPartition
	record     *model.LeaderAndIsr // from the state znode; nil: not available to the strategy
	assignment model.ReplicaAssignment
	unclean    bool // an unclean election is allowed
	recovery   bool // the inter-broker protocol knows the recovery state
}

// electorate tells which brokers can be elected. *model.View is one.
type electorate interface {
	IsReplicaOnline(broker int32, tp model.TopicPartition, includeShuttingDown bool) bool
	IsLiveOrShuttingDown(broker int32) bool
	OnOfflineDir(broker int32, tp model.TopicPartition) bool
	ShuttingDown() []int32
}

// elect runs a strategy. It is pure. Kafka: kafka.controller.Election.
func elect(v electorate, s model.Strategy, c candidacy) model.Verdict {
	switch s {
	case model.ReassignStrategy:
		return electReassign(v, c)
	case model.PreferredStrategy:
		return electPreferred(v, c)
	case model.ControlledShutdownStrategy:
		return electControlledShutdown(v, c)
	}
	return electOffline(v, s, c)
}

// electOffline picks the first assigned replica that is online and in the ISR,
// and, if an unclean election is allowed, the first that is merely online.
// Kafka: Election.leaderForOffline, PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection.
func electOffline(v electorate, s model.Strategy, c candidacy) model.Verdict {
	out := judge(v, s, c, c.assignment.Replicas, false)
	for _, x := range out.Candidates {
		if x.Online {
			out.Recipients = append(out.Recipients, x.Broker)
		}
	}
	if c.record == nil {
		out.Why = "the leadership record is not available"
		return out
	}
	out.Leader = first(out.Candidates, func(x model.Candidate) bool { return x.Online && x.InISR })
	if out.Leader == model.NoLeader && c.unclean {
		out.Leader = first(out.Candidates, func(x model.Candidate) bool { return x.Online })
		out.Unclean = out.Leader != model.NoLeader
	}
	switch {
	case out.Leader == model.NoLeader && len(out.Recipients) == 0:
		out.Why = "no assigned replica is online"
	case out.Leader == model.NoLeader:
		out.Why = "no online replica is in the ISR and unclean election is not allowed"
	case slices.Contains(c.record.ISR, out.Leader):
		isr := keep(c.record.ISR, func(b int32) bool { return v.IsReplicaOnline(b, c.tp, false) })
		out.New = ptr(c.record.NewLeaderAndIsr(out.Leader, isr))
	case c.recovery:
		out.New = ptr(c.record.NewRecoveringLeaderAndIsr(out.Leader, []int32{out.Leader}))
	default:
		out.New = ptr(c.record.NewLeaderAndIsr(out.Leader, []int32{out.Leader}))
	}
	return out
}

// electReassign picks the first target replica that is online and in the ISR.
// Kafka: Election.leaderForReassign.
func electReassign(v electorate, c candidacy) model.Verdict {
	target := c.assignment.Target()
	out := judge(v, model.ReassignStrategy, c, target, false)
	out.Recipients = target
	return keepISR(out, c, "no target replica is online and in the ISR")
}

// electPreferred picks the first assigned replica if it is online and in the ISR.
// Kafka: Election.leaderForPreferredReplica.
func electPreferred(v electorate, c candidacy) model.Verdict {
	out := judge(v, model.PreferredStrategy, c, c.assignment.Replicas[:min(1, len(c.assignment.Replicas))], false)
	out.Recipients = c.assignment.Replicas
	return keepISR(out, c, "the preferred replica is not online and in the ISR")
}

func keepISR(out model.Verdict, c candidacy, why string) model.Verdict {
	out.Leader = first(out.Candidates, func(x model.Candidate) bool { return x.Online && x.InISR })
	if out.Leader == model.NoLeader || c.record == nil {
		out.Leader, out.Why = model.NoLeader, why
		return out
	}
	out.New = ptr(c.record.NewLeader(out.Leader))
	return out
}

// electControlledShutdown picks the first assigned replica that is registered,
// in the ISR and not itself shutting down; all brokers that shut down leave the ISR.
// Kafka: Election.leaderForControlledShutdown.
func electControlledShutdown(v electorate, c candidacy) model.Verdict {
	out := judge(v, model.ControlledShutdownStrategy, c, c.assignment.Replicas, true)
	for _, x := range out.Candidates {
		if x.Online {
			out.Recipients = append(out.Recipients, x.Broker)
		}
	}
	out.Leader = first(out.Candidates, func(x model.Candidate) bool { return x.Online && x.InISR && !x.ShuttingDown })
	if out.Leader == model.NoLeader || c.record == nil {
		out.Leader, out.Why = model.NoLeader, "no registered replica in the ISR stays up"
		return out
	}
	out.New = ptr(c.record.NewLeaderAndIsr(out.Leader, model.Without(c.record.ISR, v.ShuttingDown())))
	return out
}

// judge writes down, for each candidate in order, which conditions it meets.
func judge(v electorate, s model.Strategy, c candidacy, candidates []int32, includeShuttingDown bool) model.Verdict {
	out := model.Verdict{Strategy: s, Leader: model.NoLeader, Candidates: make([]model.Candidate, 0, len(candidates))}
	for _, b := range candidates {
		out.Candidates = append(out.Candidates, model.Candidate{
			Broker:       b,
			Registered:   v.IsLiveOrShuttingDown(b),
			ShuttingDown: slices.Contains(v.ShuttingDown(), b),
			OfflineDir:   v.OnOfflineDir(b, c.tp),
			Online:       v.IsReplicaOnline(b, c.tp, includeShuttingDown),
			InISR:        c.record != nil && slices.Contains(c.record.ISR, b),
		})
	}
	return out
}

func first(cs []model.Candidate, ok func(model.Candidate) bool) int32 {
	for _, c := range cs {
		if ok(c) {
			return c.Broker
		}
	}
	return model.NoLeader
}

func keep(ids []int32, ok func(int32) bool) []int32 {
	out := make([]int32, 0, len(ids))
	for _, id := range ids {
		if ok(id) {
			out = append(out, id)
		}
	}
	return out
}

func ptr[T any](v T) *T { return &v }

// electable says why the operator's election by a strategy passes a partition
// over; ErrNone: it does not. Kafka's callers ask the same before they elect,
// since the strategies themselves would elect anew what is well.
func electable(v *model.View, s model.Strategy, tp model.TopicPartition) (code model.KafkaError, why string) {
	p := v.Partition(tp)
	switch {
	case p == nil || p.Assignment == nil:
		return model.ErrUnknownTopicOrPartition, "the controller knows no such partition"
	case v.IsQueued(tp.Topic):
		return model.ErrInvalidTopicException, "the topic is queued for deletion"
	case !model.PartitionGraph.Allows(p.State, model.OnlinePartition):
		return model.ErrUnknownTopicOrPartition, "no election leads from its state " + p.State.String()
	case p.Leadership == nil && (s != model.OfflineStrategy || p.State != model.NewPartition):
		return model.ErrUnknownServerError, "there is no leadership information"
	case s == model.PreferredStrategy && !preferredNeeded(p):
		return model.ErrElectionNotNeeded, "the preferred replica leads already"
	case s == model.OfflineUncleanStrategy && !uncleanNeeded(v, p):
		return model.ErrElectionNotNeeded, "the leader's broker is live"
	}
	return model.ErrNone, ""
}

// preferredNeeded: another than the first assigned replica leads. There is a
// leadership record.
func preferredNeeded(p *model.Partition) bool {
	return len(p.Assignment.Replicas) == 0 || p.Leadership.Leader != p.Assignment.Replicas[0]
}

// uncleanNeeded: nobody leads, or a broker that is not live. Only the broker
// counts, not its log directory. There is a leadership record.
func uncleanNeeded(v *model.View, p *model.Partition) bool {
	leader := p.Leadership.Leader
	return leader == model.NoLeader || !v.IsLive(leader)
}

// Preview says what an election by strategy would give for each partition, as
// this memory stands. unclean is the topic's effective setting of
// unclean.leader.election.enable. Nothing is changed.
func Preview(v *model.View, ibp model.InterBrokerProtocol, s model.Strategy, tps []model.TopicPartition, unclean func(topic string) (bool, error)) []model.PreviewResult {
	out := make([]model.PreviewResult, 0, len(tps))
	for _, tp := range tps {
		out = append(out, preview(v, ibp, s, tp, unclean))
	}
	return out
}

func preview(v *model.View, ibp model.InterBrokerProtocol, s model.Strategy, tp model.TopicPartition, unclean func(string) (bool, error)) model.PreviewResult {
	r := model.PreviewResult{TopicPartition: tp, OldLeader: model.NoLeader}
	r.Verdict.Strategy, r.Verdict.Leader = s, model.NoLeader
	refuse := func(e model.KafkaError, why string) model.PreviewResult {
		r.Error, r.Why = e, why
		return r
	}
	p := v.Partition(tp)
	if p != nil {
		r.OldLeader = p.Leader()
	}
	c := candidacy{tp: tp, recovery: ibp.LeaderRecovery()}
	if p != nil && p.Assignment != nil {
		c.assignment = *p.Assignment
	}
	if p != nil && p.Leadership != nil {
		c.record = &p.Leadership.LeaderAndIsr
	}
	if code, why := electable(v, s, tp); code != model.ErrNone {
		r.Verdict.Candidates = elect(v, s, c).Candidates // to be seen, not elected
		return refuse(code, why)
	}
	if c.record == nil {
		return previewNew(v, r, p.Assignment)
	}
	switch s {
	case model.OfflineUncleanStrategy:
		c.unclean = !anyOnline(v, tp, c.record.ISR)
	case model.OfflineStrategy:
		if !anyOnline(v, tp, c.record.ISR) {
			allowed, err := unclean(tp.Topic)
			if err != nil {
				return refuse(model.ErrUnknownServerError, fmt.Sprintf("the topic's config cannot be read: %v", err))
			}
			c.unclean = allowed
		}
	}
	r.Verdict = elect(v, s, c)
	if r.Verdict.New == nil {
		r.Error, r.Why = notElected(s), r.Verdict.Why
	}
	return r
}

// previewNew: a partition without a leadership record gets its first one from
// the online replicas.
func previewNew(v *model.View, r model.PreviewResult, a *model.ReplicaAssignment) model.PreviewResult {
	online := keep(a.Replicas, func(b int32) bool { return v.IsReplicaOnline(b, r.TopicPartition, false) })
	r.Verdict = judge(v, r.Verdict.Strategy, candidacy{tp: r.TopicPartition}, a.Replicas, false)
	if len(online) == 0 {
		r.Error, r.Why = model.ErrEligibleLeadersNotAvailable, "no assigned replica is online"
		return r
	}
	r.Verdict.Leader, r.Verdict.Recipients = online[0], online
	r.Verdict.New = &model.LeaderAndIsr{Leader: online[0], ISR: online}
	return r
}

// notElected is what a client is told when a strategy finds no leader.
func notElected(s model.Strategy) model.KafkaError {
	if s == model.PreferredStrategy {
		return model.ErrPreferredLeaderNotAvailable
	}
	return model.ErrEligibleLeadersNotAvailable
}

func anyOnline(v electorate, tp model.TopicPartition, ids []int32) bool {
	return slices.ContainsFunc(ids, func(b int32) bool { return v.IsReplicaOnline(b, tp, false) })
}
