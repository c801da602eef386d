package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"

	"kstate/model"
)

// This file is the notation of testdata/scenarios: how states, records and
// requests are written there, and how what is wanted is compared with what came.
// Its exported names serve the external test package.

// Object is a JSON object as encoding/json reads it.
type Object = map[string]any

// Plain is v as encoding/json reads what it writes of v.
func Plain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// Text is v as JSON, keys in order.
func Text(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Matcher compares JSON values. Names such as <uuid-1> stand for one id each,
// <ms> for any time.
type Matcher struct{ ids map[string]string }

// Diff lists where got differs from want. With part, got may have further keys
// in objects that are not empty in want.
func (m *Matcher) Diff(path string, want, got any, part bool) []string {
	if w, ok := want.(string); ok && strings.HasPrefix(w, "<") {
		return m.diffName(path, w, got)
	}
	switch w := want.(type) {
	case Object:
		g, ok := got.(Object)
		if !ok {
			break
		}
		return m.diffObject(path, w, g, part && len(w) > 0)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		var out []string
		for i := range w {
			out = append(out, m.Diff(fmt.Sprintf("%s[%d]", path, i), w[i], g[i], part)...)
		}
		return out
	default:
		if reflect.DeepEqual(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: want %s, have %s", path, Text(want), Text(got))}
}

func (m *Matcher) diffObject(path string, want, got Object, part bool) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		if !ok {
			out = append(out, fmt.Sprintf("%s.%s: want %s, have none", path, k, Text(want[k])))
			continue
		}
		out = append(out, m.Diff(path+"."+k, want[k], g, part)...)
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok && !part {
			out = append(out, fmt.Sprintf("%s.%s: want none, have %s", path, k, Text(got[k])))
		}
	}
	return out
}

// diffName binds a name at its first appearance.
func (m *Matcher) diffName(path, name string, got any) []string {
	text, ok := got.(string)
	if !ok {
		return []string{fmt.Sprintf("%s: want %s, have %s", path, name, Text(got))}
	}
	if !strings.HasPrefix(name, "<uuid") {
		return nil
	}
	if m.ids == nil {
		m.ids = map[string]string{}
	}
	if bound, ok := m.ids[name]; ok && bound != text {
		return []string{fmt.Sprintf("%s: want %s (%s), have %s", path, name, bound, text)}
	}
	for other, id := range m.ids {
		if id == text && other != name {
			return []string{fmt.Sprintf("%s: want %s, have the id of %s", path, name, other)}
		}
	}
	m.ids[name] = text
	return nil
}

// ShortState is a state without its kind: Online, ReplicaDeletionStarted.
func ShortState[S fmt.Stringer](s S) string {
	text := s.String()
	if strings.HasPrefix(text, "ReplicaDeletion") {
		return text
	}
	return strings.TrimSuffix(strings.TrimSuffix(text, "Partition"), "Replica")
}

func parsePartitionState(name string) (model.PartitionState, error) {
	for _, s := range model.PartitionStates {
		if ShortState(s) == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is not a partition state", name)
}

func parseReplicaState(name string) (model.ReplicaState, error) {
	for _, s := range model.ReplicaStates {
		if ShortState(s) == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is not a replica state", name)
}

// parseReplica reads topic-number@broker.
func parseReplica(name string) (model.Replica, error) {
	head, tail, ok := cutLast(name, "@")
	var r model.Replica
	if !ok {
		return r, fmt.Errorf("%q is not a replica", name)
	}
	tp, err := model.ParseTopicPartition(head)
	if err != nil {
		return r, err
	}
	id, ok := model.ParseID(tail)
	if !ok {
		return r, fmt.Errorf("%q is not a replica", name)
	}
	return model.Replica{TopicPartition: tp, Broker: id}, nil
}

func cutLast(s, sep string) (string, string, bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Names are the texts of things, sorted.
func Names[T fmt.Stringer](list []T) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, x.String())
	}
	sort.Strings(out)
	return out
}

// ReplicaName is topic-number@broker.
func ReplicaName(tp model.TopicPartition, broker int32) string {
	return fmt.Sprintf("%s@%d", tp, broker)
}

// List is never nil, so that JSON shows [].
func List(ids []int32) []int32 { return append([]int32{}, ids...) }

// AssignmentObject is {replicas, adding, removing}.
func AssignmentObject(a model.ReplicaAssignment) Object {
	return Object{"replicas": List(a.Replicas), "adding": List(a.Adding), "removing": List(a.Removing)}
}

// LeadershipObject is what the engine view says of cached leadership.
func LeadershipObject(l *model.LeaderIsrAndControllerEpoch) Object {
	out := recordObject(l.LeaderAndIsr)
	out["controller_epoch"] = l.ControllerEpoch
	return out
}

func recordObject(l model.LeaderAndIsr) Object {
	return Object{"leader": l.Leader, "isr": List(l.ISR), "leader_epoch": l.LeaderEpoch,
		"partition_epoch": l.PartitionEpoch, "recovery": l.Recovery.String()}
}

// RequestObject is a control request. epoch is the receiver's registration:
// another one in the request shows as newer or older. version adds the request version. What the version of the
// request cannot carry is as the receiver reads it.
func RequestObject(r model.ControlRequest, epoch int64, version bool) Object {
	out := Object{}
	var h model.RequestHeader
	ps := []Object{}
	switch r := r.(type) {
	case *model.LeaderAndIsrRequest:
		h, out["api"] = r.RequestHeader, "LEADER_AND_ISR"
		leaders := []int32{}
		for _, l := range r.LiveLeaders {
			leaders = append(leaders, l.ID)
		}
		out["live_leaders"] = leaders
		for _, e := range r.Entries {
			p := LeadershipObject(e.Leadership)
			p["tp"], p["is_new"], p["recovery"] = e.TopicPartition.String(), e.IsNew, e.Recovery.String()
			maps.Copy(p, AssignmentObject(*e.Assignment))
			ps = append(ps, p)
		}
	case *model.UpdateMetadataRequest:
		h, out["api"] = r.RequestHeader, "UPDATE_METADATA"
		live := []int32{}
		for _, b := range r.LiveBrokers {
			live = append(live, b.ID)
		}
		out["live_brokers"] = live
		for _, e := range r.Entries {
			p := LeadershipObject(e.Leadership)
			delete(p, "recovery")
			p["tp"], p["replicas"], p["offline_replicas"] = e.TopicPartition.String(), List(e.Replicas), List(e.Offline)
			ps = append(ps, p)
		}
	case *model.StopReplicaRequest:
		h, out["api"] = r.RequestHeader, "STOP_REPLICA"
		for _, e := range r.Entries {
			leaderEpoch := e.LeaderEpoch
			if h.Version < 3 {
				leaderEpoch = model.NoEpoch
			}
			ps = append(ps, Object{"tp": e.TopicPartition.String(), "leader_epoch": leaderEpoch, "delete": e.Delete})
		}
	}
	sort.Slice(ps, func(i, j int) bool { return ps[i]["tp"].(string) < ps[j]["tp"].(string) })
	out["controller_epoch"], out["partitions"] = h.ControllerEpoch, ps
	switch {
	case h.BrokerEpoch > epoch:
		out["broker_epoch"] = "newer"
	case h.BrokerEpoch < epoch:
		out["broker_epoch"] = "older"
	}
	if version {
		out["version"] = h.Version
	}
	return out
}
