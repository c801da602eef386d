package model

import "maps"

// What brokers said of their replicas, beside the states that the controller
// gives them.

// SetDeletionError notes what a broker answered to the deletion of its replica.
// It changes no state: it is for explanations.
func (c *Cluster) SetDeletionError(r Replica, code KafkaError) {
	if p := c.Partition(r.TopicPartition); p != nil {
		if known, ok := p.Replica(r.Broker); ok && known.State != NoReplicaState {
			_, p = c.edit(r.TopicPartition)
			p.slot(r.Broker).DeletionError = code
		}
	}
}

// SetOfflineDir records whether a replica is on a failed log directory.
func (c *Cluster) SetOfflineDir(r Replica, on bool) {
	if c.OnOfflineDir(r.Broker, r.TopicPartition) == on {
		return
	}
	_, p := c.edit(r.TopicPartition)
	p.slot(r.Broker).OfflineDir = on
	m := maps.Clone(c.offlineDirs)
	if m == nil {
		m = map[int32]int{}
	}
	if on {
		m[r.Broker]++
	} else {
		m[r.Broker]--
	}
	c.offlineDirs = m
}

// ClearOfflineDirs forgets all failed log directories of a broker.
func (c *Cluster) ClearOfflineDirs(broker int32) {
	if c.offlineDirs[broker] == 0 {
		return
	}
	for t := range c.Entries() {
		for n, p := range t.Entries() {
			if r, ok := p.Replica(broker); ok && r.OfflineDir {
				c.SetOfflineDir(Replica{TP(t.Name, n), broker}, false)
			}
		}
	}
}
