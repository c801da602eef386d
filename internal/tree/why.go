package tree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kstate/model"
)

// The words of why a partition is not OnlinePartition, a closed list.
const (
	NoStateZnode            = "no-state-znode"            // it does not exist
	StateZnodeUnparsable    = "state-znode-unparsable"    // it exists but cannot be read
	AssignmentEmpty         = "assignment-empty"          // the replica list is []
	NoLiveReplica           = "no-live-replica"           // none of a list that is not empty is on a live broker
	LeaderNone              = "leader-none"               // the state znode says leader -1
	LeaderNotLive           = "leader-not-live"           // the leader named there is not live
	IsrEmpty                = "isr-empty"                 // isr is []
	NoLiveIsrMember         = "no-live-isr-member"        // isr is not empty, none of it is live
	LiveIsrNotAssigned      = "live-isr-not-assigned"     // live members of the ISR exist, none is assigned
	NewerControllerEpoch    = "newer-controller-epoch"    // written under an epoch above /controller_epoch
	ElectableNow            = "electable-now"             // a controller could elect cleanly at once
	UncleanElectionDisabled = "unclean-election-disabled" // live replicas, none in sync, and unclean election is off
	TopicDeleting           = "topic-deleting"            // the topic has a deletion marker
)

// uncleanConfig is the setting that lets a replica lead that was not in sync.
const uncleanConfig = "unclean.leader.election.enable"

// Why says what keeps a partition from OnlinePartition, as far as the tree shows
// it; nil for a partition that is online or not assigned.
func (s *Survey) Why(tp model.TopicPartition) []string {
	return Why(s.View(), tp, s.UncleanElectionEnabled)
}

// Why is the same of any view, a controller's memory included: there a replica
// that is shutting down or on a failed log directory is not live. unclean tells
// whether unclean.leader.election.enable is on for a topic.
func Why(v *model.View, tp model.TopicPartition, unclean func(topic string) bool) []string {
	p := v.Partition(tp)
	if p == nil || p.Assignment == nil || p.State == model.OnlinePartition {
		return nil
	}
	var why []string
	say := func(on bool, word string) {
		if on {
			why = append(why, word)
		}
	}
	replicas := p.Assignment.Replicas
	live := func(id int32) bool { return v.IsReplicaOnline(id, tp, false) }
	say(p.Leadership == nil && p.Unreadable == "", NoStateZnode)
	say(p.Leadership == nil && p.Unreadable != "", StateZnodeUnparsable)
	if l := p.Leadership; l != nil {
		say(l.Leader == model.NoLeader, LeaderNone)
		say(l.Leader != model.NoLeader && !live(l.Leader), LeaderNotLive)
	}
	say(len(replicas) == 0, AssignmentEmpty)
	say(len(replicas) > 0 && !slices.ContainsFunc(replicas, live), NoLiveReplica)
	if p.Leadership != nil {
		whyNotElected(v, tp, p, unclean, say)
	}
	say(v.IsQueued(tp.Topic), TopicDeleting)
	return why
}

// whyNotElected looks at a known leadership as an offline election would.
func whyNotElected(v *model.View, tp model.TopicPartition, p *model.Partition, unclean func(string) bool, say func(bool, string)) {
	live := func(id int32) bool { return v.IsReplicaOnline(id, tp, false) }
	isr, replicas := p.Leadership.ISR, p.Assignment.Replicas
	liveISR := slices.ContainsFunc(isr, live)
	electable := slices.ContainsFunc(replicas, func(id int32) bool { return live(id) && slices.Contains(isr, id) })
	newer := p.Leadership.ControllerEpoch > v.Epoch
	say(len(isr) == 0, IsrEmpty)
	say(len(isr) > 0 && !liveISR, NoLiveIsrMember)
	say(liveISR && !electable, LiveIsrNotAssigned)
	say(newer, NewerControllerEpoch)
	say(electable && !newer && !v.IsQueued(tp.Topic), ElectableNow)
	say(!liveISR && slices.ContainsFunc(replicas, live) && !unclean(tp.Topic), UncleanElectionDisabled)
}

// UncleanElectionEnabled tells whether unclean.leader.election.enable is on for
// a topic: its own setting, else that of the controller's broker, else the
// cluster-wide one, else what the config of the survey says.
func (s *Survey) UncleanElectionEnabled(topic string) bool {
	if te := s.topics[topic]; te != nil && te.unclean != nil {
		return *te.unclean
	}
	for _, entity := range []string{strconv.Itoa(int(s.Controller().ID)), model.DefaultEntity} {
		if on, ok := s.uncleanDefaults[entity]; ok {
			return on
		}
	}
	return s.config.UncleanLeaderElectionEnable
}

// applyConfig remembers the one setting that decides why a partition is offline;
// the znode itself is kept as it is.
func (s *Survey) applyConfig(ref model.ZnodeRef, z *model.Znode) {
	if ref.Entity != model.ConfigTypeTopics && ref.Entity != model.ConfigTypeBrokers {
		return
	}
	var unclean *bool
	if !z.Missing && z.Err == "" {
		config, err := model.DecodeConfig(z.Path, z.Data)
		if err != nil {
			s.trouble(z.Path, err)
		}
		if text, ok := config[uncleanConfig]; ok {
			on := strings.EqualFold(strings.TrimSpace(text), "true")
			unclean = &on
		}
	}
	if ref.Entity == model.ConfigTypeTopics {
		te := s.topic(ref.Topic)
		te.unclean = unclean
		s.release(te)
		return
	}
	if unclean == nil {
		delete(s.uncleanDefaults, ref.Name)
		return
	}
	s.uncleanDefaults[ref.Name] = *unclean
}

// IneligibleReasons says why the deletion of a marked topic would be halted;
// empty when nothing in the tree halts it. Whether a broker has a replica on a
// failed disk does not show in the tree.
func (s *Survey) IneligibleReasons(topic string) []model.IneligibleReason {
	if te := s.topics[topic]; te != nil {
		return s.ineligible(te)
	}
	return nil
}

func (s *Survey) ineligible(te *topic) []model.IneligibleReason {
	if !te.marked || !te.exists {
		return nil
	}
	if !s.config.DeleteTopicEnable {
		return []model.IneligibleReason{model.DeleteTopicDisabled} // the marker is dropped, nothing else is looked at
	}
	var reasons []model.IneligibleReason
	t := s.cluster.Topic(te.name)
	if t.ReplicaCounts[model.OfflineReplica] > 0 {
		reasons = append(reasons, model.OfflineReplicas)
	}
	if t.Reassigning > 0 {
		reasons = append(reasons, model.ReassignmentInProgress)
	}
	return reasons
}

// BlockedBy says what must happen before the deletion of a marked topic goes on:
// broker:N, reassignment:T-P, config:delete.topic.enable. Brokers come first,
// each by number.
func (s *Survey) BlockedBy(topic string) []string {
	te := s.topics[topic]
	if te == nil || len(s.ineligible(te)) == 0 {
		return nil
	}
	if !s.config.DeleteTopicEnable {
		return []string{"config:delete.topic.enable"}
	}
	var missing []int32
	var moves []string
	for n, p := range s.cluster.Topic(topic).Partitions() {
		for _, id := range p.Assignment.Replicas {
			if !s.cluster.IsLive(id) {
				missing = append(missing, id)
			}
		}
		if p.Reassigning {
			moves = append(moves, "reassignment:"+model.TP(topic, n).String())
		}
	}
	slices.SortFunc(missing, cmp.Compare[int32])
	var out []string
	for _, id := range slices.Compact(missing) {
		out = append(out, "broker:"+strconv.Itoa(int(id)))
	}
	return append(out, moves...)
}
