package tree

import (
	"cmp"
	"maps"
	"slices"

	"kstate/model"
)

// share is what concerns one broker: of each topic the partitions that it hosts
// or is named leader of.
type share struct {
	topics map[*topic][]int32 // ascending, never empty
}

// members are the brokers that a partition concerns: those it is assigned to,
// and the leader that its state znode names.
type members struct {
	replicas []int32
	leader   int32 // model.NoLeader: none
}

// membersOf is empty for a partition that is not assigned.
func membersOf(p *model.Partition) members {
	if p == nil || p.Assignment == nil {
		return members{leader: model.NoLeader}
	}
	return members{p.Assignment.Replicas, p.Leader()}
}

func (m members) leads(id int32) bool { return m.leader == id && id != model.NoLeader }

func (m members) hosts(id int32) bool { return slices.Contains(m.replicas, id) }

func (m members) concern(id int32) bool { return m.leads(id) || m.hosts(id) }

// each calls yield once for each broker; a replica list may name one twice.
func (m members) each(yield func(id int32)) {
	for i, id := range m.replicas {
		if !slices.Contains(m.replicas[:i], id) {
			yield(id)
		}
	}
	if m.leader != model.NoLeader && !m.hosts(m.leader) {
		yield(m.leader)
	}
}

// reindex brings the shares of brokers up to date with a partition; before is
// what the partition was when they last were.
func (s *Survey) reindex(te *topic, n int32, before members) {
	after := membersOf(s.cluster.Partition(model.TP(te.name, n)))
	before.each(func(id int32) {
		if after.concern(id) {
			return
		}
		sh := s.share(id)
		if sh.set(te, n, false); len(sh.topics) == 0 {
			delete(s.brokers, id)
		}
	})
	after.each(func(id int32) {
		if !before.concern(id) {
			s.share(id).set(te, n, true)
		}
	})
}

func (s *Survey) share(id int32) *share {
	sh := s.brokers[id]
	if sh == nil {
		sh = &share{topics: map[*topic][]int32{}}
		s.brokers[id] = sh
	}
	return sh
}

func (sh *share) set(te *topic, n int32, in bool) {
	list := setMember(sh.topics[te], n, in)
	if len(list) == 0 {
		delete(sh.topics, te)
		return
	}
	sh.topics[te] = list
}

// applyBroker takes in a broker znode. One that cannot be decoded registers
// nobody; one that may not be read does, since that it exists is what registers
// a broker: only its endpoints are unknown.
func (s *Survey) applyBroker(id int32, z *model.Znode) {
	was := s.cluster.IsLive(id)
	broker := model.Broker{ID: id, Epoch: z.Stat.Czxid}
	present := !z.Missing
	if present && z.Err == "" {
		reg, err := model.DecodeBroker(z.Path, z.Data)
		if err != nil {
			s.trouble(z.Path, err)
			present = false
		}
		reg.ID, reg.Epoch = id, z.Stat.Czxid
		broker = reg.Broker
	}
	if present {
		s.cluster.PutBroker(broker)
	} else {
		s.cluster.RemoveBroker(id)
	}
	if was != present {
		s.resettle(id)
	}
}

// resettle goes over the share of a broker that registered or went.
func (s *Survey) resettle(id int32) {
	sh := s.brokers[id]
	if sh == nil {
		return
	}
	topics := slices.SortedFunc(maps.Keys(sh.topics), func(a, b *topic) int { return cmp.Compare(a.name, b.name) })
	for _, te := range topics {
		for _, n := range sh.topics[te] {
			s.settle(model.TP(te.name, n))
		}
		s.judge(te)
	}
}

// Broker states, as the state command names them.
const (
	BrokerLive         = "live"
	BrokerShuttingDown = "shutting-down"
	BrokerDead         = "dead" // assigned or named as leader, not registered
)

// Brokers lists the registered brokers and those that are only assigned, by id.
func (s *Survey) Brokers() []model.BrokerStatus {
	var out []model.BrokerStatus
	for _, b := range s.cluster.Brokers() {
		status := model.BrokerStatus{ID: b.ID, Epoch: b.Epoch, State: BrokerLive}
		for _, e := range b.Endpoints {
			status.Endpoints = append(status.Endpoints, e.String())
		}
		out = append(out, status)
	}
	for id := range s.brokers {
		if id >= 0 && s.cluster.Broker(id) == nil { // no broker has a negative id, whatever a state znode says
			out = append(out, model.BrokerStatus{ID: id, State: BrokerDead})
		}
	}
	slices.SortFunc(out, func(a, b model.BrokerStatus) int { return cmp.Compare(a.ID, b.ID) })
	for i := range out {
		out[i].Leads, out[i].Replicas = s.cluster.Leads(out[i].ID), s.cluster.Hosts(out[i].ID)
	}
	return out
}

// applyController keeps /controller: who that is depends on who is registered.
func (s *Survey) applyController(z *model.Znode) {
	s.controller = nil
	if z.Missing {
		return
	}
	kept := *z
	s.controller = &kept
	if z.Err == "" {
		if _, err := model.DecodeControllerRegistration(z.Path, z.Data); err != nil {
			s.trouble(z.Path, err)
		}
	}
}

// Controller statuses, a closed list.
const (
	ControllerActive        = "active"         // ephemeral, names a registered broker
	ControllerAbsent        = "absent"         // no /controller
	ControllerNotRegistered = "not-registered" // ephemeral, the broker is not registered
	ControllerPersistent    = "persistent"     // not ephemeral and not KRaft's: nobody holds it
	ControllerKRaft         = "kraft"          // a KRaft controller owns the cluster
	ControllerUnparsable    = "unparsable"     // not a JSON object with brokerid
)

// Controller says who holds the role, as far as the tree shows it. ID is -1 when
// none is named, Epoch -1 when /controller_epoch is missing or unreadable.
func (s *Survey) Controller() model.ControllerStatus {
	st := model.ControllerStatus{ID: model.NoLeader, Epoch: -1}
	if s.epochKnown {
		st.Epoch = s.cluster.Epoch
	}
	z := s.controller
	if z == nil {
		st.Status = ControllerAbsent
		return st
	}
	id, kraft, ok := decodeController(z)
	if !ok {
		st.Status = ControllerUnparsable
		return st
	}
	st.ID = id
	switch {
	case kraft:
		st.Status = ControllerKRaft
	case z.Stat.EphemeralOwner == 0:
		st.Status = ControllerPersistent
	case !s.cluster.IsLive(id):
		st.Status = ControllerNotRegistered
	default:
		st.Status = ControllerActive
	}
	return st
}

// decodeController reads /controller as a candidate does; when only the KRaft
// epoch is broken, the id still counts.
func decodeController(z *model.Znode) (id int32, kraft, ok bool) {
	if z.Err != "" {
		return 0, false, false
	}
	if reg, err := model.DecodeControllerRegistration(z.Path, z.Data); err == nil {
		return reg.Broker, reg.KRaftEpoch >= 0, true
	}
	id, present, err := model.DecodeController(z.Path, z.Data)
	return id, false, present && err == nil
}

func (s *Survey) applyEpoch(z *model.Znode) {
	s.epochKnown, s.cluster.Epoch, s.cluster.EpochZkVersion = false, 0, 0
	if z.Missing || z.Err != "" {
		return
	}
	epoch, err := model.DecodeControllerEpoch(z.Path, z.Data)
	if err != nil {
		s.trouble(z.Path, err)
		return
	}
	s.epochKnown, s.cluster.Epoch, s.cluster.EpochZkVersion = true, epoch, z.Stat.Version
}
