package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"kstate/engine"
	"kstate/model"
)

// traceCase is a case of level controller.
type traceCase struct {
	Cluster struct {
		Brokers     []int32           `json:"brokers"`
		Controllers []int32           `json:"controllers"`
		Config      map[string]string `json:"config"`
	} `json:"cluster"`
	Steps       []step `json:"steps"`
	TraceVaries bool   `json:"trace_varies"`
}

// runTrace runs the steps of a case and holds what each shows against what is
// claimed (assert) and what a real controller showed (trace).
func runTrace(t *testing.T, c *traceCase) {
	l := newLab(t)
	l.startCluster(c)
	var match engine.Matcher
	before := l.look()
	waited := true // no step before has left effects for later
	for i := range c.Steps {
		s := &c.Steps[i]
		clear(l.received)
		response, err := l.do(s)
		if err != nil {
			t.Fatalf("step %d (%s): %v", i, s.Op, err)
		}
		for id := range l.epochs {
			l.noteEpoch(id)
		}
		after := l.look()
		where := fmt.Sprintf("step %d (%s)", i, s.Op)
		failures := l.checkAssert(&match, s.Assert, before, after, response)
		if !c.TraceVaries && s.Trace != nil {
			failures = append(failures, compareTrace(&match, s.Trace, l.seen(before, after, response, i == 0), waited)...)
		}
		for _, f := range failures {
			t.Errorf("%s: %s", where, f)
		}
		waited = !s.DoNotWait
		before = after
	}
}

func (l *lab) startCluster(c *traceCase) {
	maps.Copy(l.config, c.Cluster.Config)
	for _, id := range c.Cluster.Controllers {
		if err := l.startCandidate(id); err != nil {
			l.t.Fatalf("%v", err)
		}
		l.settle()
	}
	for _, id := range c.Cluster.Brokers {
		if !slices.Contains(c.Cluster.Controllers, id) {
			l.startBroker(id)
			l.settle()
		}
	}
}

// do does one op and lets the cluster come to rest; it returns the answer of a call.
func (l *lab) do(s *step) (any, error) {
	var asked call
	switch {
	case clusterOps[s.Op] != nil:
		if err := clusterOps[s.Op](l, s); err != nil {
			return nil, err
		}
	case callOps[s.Op] != nil:
		var err error
		if asked, err = l.call(s); err != nil {
			return nil, err
		}
	case s.Op == "shutdown_with_pending":
		response, err := l.shutdownWithPending(s)
		l.settle()
		return response, err
	case s.Op == "await_response":
		l.settle()
		if len(l.pending) == 0 {
			return nil, fmt.Errorf("nothing to await")
		}
		asked, l.pending = l.pending[0], l.pending[1:]
		return asked.response(), nil
	default:
		return nil, fmt.Errorf("no such op")
	}
	if !s.DoNotWait {
		l.settle()
	}
	if s.AnswerLater {
		if r := asked.response(); r != nil {
			return nil, fmt.Errorf("the answer came at once: %s", engine.Text(r))
		}
		l.pending = append(l.pending, asked)
		return nil, nil
	}
	return asked.response(), nil
}

// compareTrace compares what was seen with a recorded trace. The order in which
// one event treats several things is not specified: where the requests of a
// broker concern more than one partition, only their set counts.
func compareTrace(m *engine.Matcher, want, got engine.Object, waited bool) []string {
	want, got = maps.Clone(want), maps.Clone(got)
	for _, side := range []engine.Object{want, got} {
		if requests, ok := side["requests"].(engine.Object); ok {
			side["requests"] = tidyRequests(requests, waited)
		}
		if znodes, ok := side["znodes"].([]any); ok {
			sort.SliceStable(znodes, func(i, j int) bool {
				return znodes[i].(engine.Object)["path"].(string) < znodes[j].(engine.Object)["path"].(string)
			})
		}
	}
	return m.Diff("trace", want, got, false)
}

func tidyRequests(requests engine.Object, waited bool) engine.Object {
	out := engine.Object{}
	for broker, list := range requests {
		rs := slices.Clone(list.([]any))
		partitions := map[string]bool{}
		for _, r := range rs {
			ps := r.(engine.Object)["partitions"].([]any)
			sort.SliceStable(ps, func(i, j int) bool {
				return ps[i].(engine.Object)["tp"].(string) < ps[j].(engine.Object)["tp"].(string)
			})
			for _, p := range ps {
				partitions[p.(engine.Object)["tp"].(string)] = true
			}
		}
		if len(partitions) > 1 || !waited {
			sort.SliceStable(rs, func(i, j int) bool { return engine.Text(rs[i]) < engine.Text(rs[j]) })
		}
		out[broker] = rs
	}
	return out
}

// checkAssert holds a step against the claims of the case.
func (l *lab) checkAssert(m *engine.Matcher, want engine.Object, before, after *picture, response any) []string {
	var out []string
	fail := func(format string, args ...any) { out = append(out, fmt.Sprintf("assert "+format, args...)) }
	for _, key := range slices.Sorted(maps.Keys(want)) {
		w := want[key]
		switch key {
		case "states":
			out = append(out, m.Diff("assert states", w, after.states(w.(engine.Object)), true)...)
		case "state_versions":
			for name, version := range w.(engine.Object) {
				if v := after.tree[statePath(name)].Stat.Version; float64(v) != version {
					fail("state_versions %s: want %v, have %d", name, version, v)
				}
			}
		case "recovery":
			for name, recovery := range w.(engine.Object) {
				l, _, _ := model.DecodePartitionState("", after.tree[statePath(name)].Data)
				if l.Recovery.String() != recovery {
					fail("recovery %s: want %v, have %s", name, recovery, l.Recovery)
				}
			}
		case "response":
			out = append(out, m.Diff("assert response", w, response, true)...)
		case "present", "absent", "unchanged":
			out = append(out, checkPaths(key, w.([]any), before, after)...)
		case "data":
			out = append(out, checkData(m, w.(engine.Object), before, after)...)
		case "engine":
			out = append(out, m.Diff("assert engine", w, any(after.engine), true)...)
		case "engine_absent":
			for _, entry := range w.([]any) {
				part, name, _ := strings.Cut(entry.(string), "/")
				if in, ok := after.engine[part].(engine.Object); ok && in[name] != nil {
					fail("engine_absent %s: have %s", entry, engine.Text(in[name]))
				}
			}
		case "controller":
			out = append(out, m.Diff("assert controller", w, after.controller["id"], false)...)
		case "controller_epoch":
			out = append(out, m.Diff("assert controller_epoch", w, after.controller["epoch"], false)...)
		case "unclean_elections":
			if n := after.unclean - before.unclean; float64(n) != w {
				fail("unclean_elections: want %v, have %d", w, n)
			}
		default:
			out = append(out, l.checkRequests(m, key, w)...)
		}
	}
	return out
}

func statePath(name string) string {
	tp, err := model.ParseTopicPartition(name)
	if err != nil {
		return ""
	}
	return model.TopicPartitionStatePath(tp)
}

func (p *picture) states(wanted engine.Object) any {
	out := engine.Object{}
	for name := range wanted {
		if v, ok := p.tree[statePath(name)]; ok {
			out[name] = state(v)
		} else {
			out[name] = nil
		}
	}
	return engine.Plain(out)
}

func checkPaths(key string, paths []any, before, after *picture) []string {
	var out []string
	for _, p := range paths {
		path := p.(string)
		old, had := before.tree[path]
		now, has := after.tree[path]
		ok := has == (key == "present")
		if key == "unchanged" {
			ok = had == has && old.Stat.Mzxid == now.Stat.Mzxid && old.Stat.Czxid == now.Stat.Czxid
		}
		if !ok {
			out = append(out, fmt.Sprintf("assert %s: %s", key, path))
		}
	}
	return out
}

func checkData(m *engine.Matcher, want engine.Object, before, after *picture) []string {
	var out []string
	for path, data := range want {
		now, has := after.tree[path]
		switch {
		case !has || now.Stat.Mzxid == before.tree[path].Stat.Mzxid:
			out = append(out, fmt.Sprintf("assert data: %s was not written", path))
		default:
			out = append(out, m.Diff("assert data "+path, data, jsonOf(now.Data), true)...)
		}
	}
	return out
}

// checkRequests holds claims about requests.
func (l *lab) checkRequests(m *engine.Matcher, key string, want any) []string {
	got := engine.Plain(l.requests()).(engine.Object)
	switch key {
	case "no_requests":
		if len(got) > 0 == want.(bool) {
			return []string{"assert no_requests: have " + engine.Text(got)}
		}
		return nil
	case "leader_and_isr_to":
		return m.Diff("assert "+key, want, receivers(got, "LEADER_AND_ISR"), false)
	case "update_metadata_to":
		return m.Diff("assert "+key, want, receivers(got, "UPDATE_METADATA"), false)
	case "stop_replica":
		return diffStopReplica(m, want.(engine.Object), got)
	case "metadata_includes":
		var out []string
		for broker, ps := range want.(engine.Object) {
			for tp, fields := range ps.(engine.Object) {
				if !includesMetadata(m, got[broker], tp, fields) {
					out = append(out, fmt.Sprintf("assert metadata_includes: broker %s did not get %s with %s", broker, tp, engine.Text(fields)))
				}
			}
		}
		return out
	}
	return []string{"assert " + key + ": no such claim"}
}

func receivers(got engine.Object, api string) any {
	ids := []int{}
	for broker, list := range got {
		if slices.ContainsFunc(list.([]any), func(r any) bool { return r.(engine.Object)["api"] == api }) {
			id, _ := strconv.Atoi(broker)
			ids = append(ids, id)
		}
	}
	sort.Ints(ids)
	return engine.Plain(ids)
}

func diffStopReplica(m *engine.Matcher, want, got engine.Object) []string {
	entries := engine.Object{}
	for broker, list := range got {
		var all []any
		for _, r := range list.([]any) {
			if r.(engine.Object)["api"] == "STOP_REPLICA" {
				all = append(all, r.(engine.Object)["partitions"].([]any)...)
			}
		}
		if len(all) > 0 {
			entries[broker] = all
		}
	}
	var out []string
	for broker := range entries {
		if want[broker] == nil {
			out = append(out, fmt.Sprintf("assert stop_replica: broker %s got %s", broker, engine.Text(entries[broker])))
		}
	}
	for broker, list := range want {
		sorted := func(v any) []any {
			all, _ := v.([]any)
			all = slices.Clone(all)
			sort.SliceStable(all, func(i, j int) bool {
				return all[i].(engine.Object)["tp"].(string) < all[j].(engine.Object)["tp"].(string)
			})
			return all
		}
		out = append(out, m.Diff("assert stop_replica "+broker, sorted(list), any(sorted(entries[broker])), true)...)
	}
	return out
}

func includesMetadata(m *engine.Matcher, requests any, tp string, fields any) bool {
	list, _ := requests.([]any)
	for _, r := range list {
		if r.(engine.Object)["api"] != "UPDATE_METADATA" {
			continue
		}
		for _, p := range r.(engine.Object)["partitions"].([]any) {
			if p.(engine.Object)["tp"] == tp && len(m.Diff("", fields, p, true)) == 0 {
				return true
			}
		}
	}
	return false
}
