package zkwatch

import (
	"slices"

	"kstate/model"
)

// This file is how a Mirror follows a server without recursive watches.

// holds says what is watched of a znode: that it has data, children, or both.
func holds(path string) (data, children bool) {
	switch model.ParsePath(path).Kind {
	case model.UnknownZnode, model.TopicZnode:
		return true, true
	case model.BrokersZnode, model.BrokerIDsZnode, model.TopicsZnode, model.TopicPartitionsZnode, model.TopicPartitionZnode,
		model.AdminZnode, model.DeleteTopicsZnode, model.IsrChangesZnode, model.LogDirEventsZnode, model.ConfigZnode,
		model.ConfigTypeZnode, model.ConfigChangesZnode, model.ClusterZnode, model.RootZnode, model.ConsumersZnode:
		return false, true
	case model.ConfigEntityZnode, model.DelegationTokenZnode, model.ACLZnode:
		return true, true
	}
	return true, false
}

// visitOneShot reads a znode and arms its watches. A subtree's root may come
// into being later: only exists can wait for that.
func (m *Mirror) visitOneShot(path string) {
	if slices.Contains(m.roots, path) {
		m.visited(path)
		m.add(path, read{kind: readExists, watch: true})
		return
	}
	m.readBoth(path)
}

func (m *Mirror) readBoth(path string) {
	data, children := holds(path)
	m.progress.Found++
	m.visited(path)
	if data {
		m.add(path, read{kind: readData, watch: true})
	}
	if children {
		m.add(path, read{kind: readChildren, watch: true})
	}
}

// oneShotEvent re-arms what an event has used up.
func (m *Mirror) oneShotEvent(n mirrorNews) {
	data, _ := holds(n.path)
	switch {
	case n.kind == model.NodeDeleted:
		if e := m.known[n.path]; n.seq > e.seq {
			m.deleted(n.path, e, n.seq, n.zxid)
		}
		if slices.Contains(m.roots, n.path) {
			m.visitOneShot(n.path)
		}
	case n.kind == model.NodeChildrenChanged:
		m.add(n.path, read{kind: readChildren, watch: true})
	case n.kind == model.NodeCreated:
		m.readBoth(n.path)
	case data:
		m.add(n.path, read{kind: readData, watch: true})
	default:
		m.add(n.path, read{kind: readExists, watch: true})
	}
}

func (m *Mirror) landedOneShot(r read, v *value) {
	path := m.path(r)
	e := m.known[path]
	e.reads-- // gen stays: after a deletion only a visit arms all watches
	data, _ := holds(path)
	switch {
	case r.kind == readExists && v.code == model.CodeOK:
		// It only waited for the root to be there.
	case r.kind == readChildren && data && v.code == model.CodeOK:
		// The znode itself comes by its other read.
	case r.kind == readChildren && v.dataLength > 0 && v.code == model.CodeOK:
		e.reads++
		m.bulk.add(read{path: r.path}) // unusual: once, without a watch
	case v.seq > e.seq:
		e = m.apply(path, e, v)
	}
	if r.kind != readExists {
		m.progress.Read++
		m.progress.Bytes += int64(len(v.data))
	}
	m.keep(path, e)
	switch {
	case r.kind == readExists && v.code == model.CodeOK:
		m.readBoth(path)
	case r.kind != readExists && v.code == model.CodeNoNode && slices.Contains(m.roots, path):
		m.add(path, read{kind: readExists, watch: true})
	case !e.present && e.reads == 0 && e.want > v.seq:
		m.readBoth(path)
	case r.kind == readChildren && v.code == model.CodeOK:
		m.visitAll(path, v)
	}
}
