package engine_test

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// This file shows a lab in the words of the traces: the tree and what changed in
// it, the memory of the active controller, the requests that brokers got.

// picture is a lab after a step.
type picture struct {
	tree       map[string]zkserver.Value
	engine     engine.Object // nil: no active controller
	controller engine.Object
	unclean    int
}

func (l *lab) look() *picture {
	p := &picture{tree: map[string]zkserver.Value{}, controller: engine.Object{"id": nil, "epoch": nil}, unclean: l.uncleanElections()}
	l.store.Walk("/", func(path string, data []byte, stat zkserver.Stat) bool {
		if !strings.HasPrefix(path, "/zookeeper") && path != "/" {
			p.tree[path] = zkserver.Value{Data: slices.Clone(data), Stat: stat}
		}
		return true
	})
	if id, ok := l.holder(); ok {
		p.controller["id"] = id
	}
	if v, ok := p.tree[model.ControllerEpochPath]; ok {
		p.controller["epoch"], _ = strconv.Atoi(string(v.Data))
	}
	p.controller = engine.Plain(p.controller).(engine.Object)
	if c := l.active(); c != nil {
		p.engine = engineView(c.id, c.engine.View())
	}
	return p
}

// engineView is the memory of a controller.
func engineView(id int32, v *model.View) engine.Object {
	partitions, replicas, assignments, leadership := engine.Object{}, engine.Object{}, engine.Object{}, engine.Object{}
	var reassigning, withID []string
	offline := map[string][]string{}
	for t := range v.Entries() {
		if t.Known && !t.ID.IsZero() {
			withID = append(withID, t.Name)
		}
		for n, p := range t.Entries() {
			tp := model.TP(t.Name, n)
			if p.State != model.NoPartitionState {
				partitions[tp.String()] = engine.ShortState(p.State)
			}
			if p.Assignment != nil {
				assignments[tp.String()] = engine.AssignmentObject(*p.Assignment)
			}
			if p.Leadership != nil {
				leadership[tp.String()] = engine.LeadershipObject(p.Leadership)
			}
			if p.Reassigning {
				reassigning = append(reassigning, tp.String())
			}
			for _, r := range p.Replicas {
				if r.State != model.NoReplicaState {
					replicas[engine.ReplicaName(tp, r.Broker)] = engine.ShortState(r.State)
				}
				if r.OfflineDir {
					key := strconv.Itoa(int(r.Broker))
					offline[key] = append(offline[key], tp.String())
				}
			}
		}
	}
	sort.Strings(reassigning)
	for _, list := range offline {
		sort.Strings(list)
	}
	return engine.Plain(engine.Object{
		"controller": id, "controller_epoch": v.Epoch, "live_brokers": engine.List(v.Live()), "shutting_down": engine.List(v.ShuttingDown()),
		"partitions": partitions, "replicas": replicas, "assignments": assignments, "leadership": leadership,
		"reassigning": append([]string{}, reassigning...), "topics_with_id": append([]string{}, withID...), "offline_dirs": offline,
		"deletion": engine.Object{"queued": v.TopicsToBeDeleted.Slice(), "started": v.TopicsWithDeletionStarted.Slice(),
			"ineligible": v.TopicsIneligibleForDeletion.Slice()},
		"offline_partition_count": v.OfflinePartitionCount, "preferred_replica_imbalance_count": v.PreferredReplicaImbalanceCount,
	}).(engine.Object)
}

// blank: a part of the engine view that is empty or 0.
func blank(part any) bool {
	switch x := part.(type) {
	case nil:
		return true
	case float64:
		return x == 0
	case []any:
		return len(x) == 0
	case engine.Object:
		for _, v := range x {
			if !blank(v) {
				return false
			}
		}
		return true
	}
	return false
}

// state is what a state znode says; nil when it does not exist.
func state(v zkserver.Value) engine.Object {
	l, ok, err := model.DecodePartitionState("", v.Data)
	if !ok || err != nil {
		return engine.Object{"raw": string(v.Data), "version": v.Stat.Version}
	}
	out := engine.Object{"leader": l.Leader, "isr": engine.List(l.ISR), "leader_epoch": l.LeaderEpoch, "controller_epoch": l.ControllerEpoch, "version": v.Stat.Version}
	if l.Recovery == model.Recovering {
		out["recovery"] = l.Recovery.String()
	}
	return out
}

func isState(path string) (model.TopicPartition, bool) {
	ref := model.ParsePath(path)
	return ref.TopicPartition(), ref.Kind == model.PartitionStateZnode
}

// seen is everything that a step showed, as a trace writes it down. first is
// true for the first step of a case.
func (l *lab) seen(before, after *picture, response any, first bool) engine.Object {
	out := engine.Object{}
	if response != nil {
		out["response"] = response
	}
	if states := changedStates(before, after); len(states) > 0 {
		out["states"] = states
	}
	if znodes := changedZnodes(before, after); len(znodes) > 0 {
		out["znodes"] = znodes
	}
	if requests := l.requests(); len(requests) > 0 {
		out["requests"] = requests
	}
	parts := engine.Object{}
	for key, part := range after.engine {
		known := before.engine != nil && !first
		if known && engine.Text(part) != engine.Text(before.engine[key]) || !known && !blank(part) || !known && key == "controller" {
			parts[key] = part
		}
	}
	switch {
	case after.engine == nil && (before.engine != nil || first):
		out["engine"] = nil
	case len(parts) > 0:
		out["engine"] = parts
	}
	if first && after.controller["id"] != nil || !first && engine.Text(before.controller) != engine.Text(after.controller) {
		out["controller"] = after.controller
	}
	return engine.Plain(out).(engine.Object)
}

func changedStates(before, after *picture) engine.Object {
	out := engine.Object{}
	for path, v := range after.tree {
		if tp, ok := isState(path); ok {
			if old, had := before.tree[path]; !had || old.Stat.Mzxid != v.Stat.Mzxid {
				out[tp.String()] = state(v)
			}
		}
	}
	for path := range before.tree {
		if tp, ok := isState(path); ok {
			if _, has := after.tree[path]; !has {
				out[tp.String()] = nil
			}
		}
	}
	return out
}

// changedZnodes lists changes by path; updates of states are left out.
func changedZnodes(before, after *picture) []any {
	changes := map[string]engine.Object{}
	for path, v := range after.tree {
		old, had := before.tree[path]
		_, isState := isState(path)
		change := ""
		switch {
		case !had:
			change = "created"
		case old.Stat.Czxid != v.Stat.Czxid:
			change = "recreated"
		case old.Stat.Mzxid != v.Stat.Mzxid && !isState:
			change = "updated"
		default:
			continue
		}
		c := engine.Object{"path": path, "change": change}
		if !isState {
			c["version"] = v.Stat.Version
			if data := jsonOf(v.Data); data != nil && model.ParsePath(path).Kind != model.BrokerZnode {
				c["data"] = data
			}
		}
		changes[path] = c
	}
	for path := range before.tree {
		if _, has := after.tree[path]; !has {
			changes[path] = engine.Object{"path": path, "change": "deleted"}
		}
	}
	var out []any
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		out = append(out, changes[path])
	}
	return out
}

// jsonOf is a znode's data as JSON, as text if it is none, nil if there is none.
func jsonOf(data []byte) any {
	var out any
	switch {
	case len(data) == 0:
		return nil
	case json.Unmarshal(data, &out) != nil:
		return string(data)
	}
	return out
}

// requests are those that brokers got in the step at hand.
func (l *lab) requests() engine.Object {
	out := engine.Object{}
	for id, list := range l.received {
		var rs []any
		for _, r := range list {
			rs = append(rs, engine.RequestObject(r.request, r.epoch, false))
		}
		out[strconv.Itoa(int(id))] = rs
	}
	return out
}
