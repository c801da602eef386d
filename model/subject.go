package model

import "fmt"

// Paths are the znodes that concern a subject.
func (s Subject) Paths() []string {
	tp := TP(s.Topic, s.Partition)
	switch s.Kind {
	case TopicSubject:
		return []string{TopicPath(s.Topic), TopicConfigPath(s.Topic), DeleteTopicPath(s.Topic)}
	case PartitionSubject:
		return []string{TopicPartitionStatePath(tp), TopicPath(s.Topic)}
	case ReplicaSubject:
		return []string{TopicPartitionStatePath(tp), BrokerIDPath(s.Broker)}
	case BrokerSubject:
		return []string{BrokerIDPath(s.Broker)}
	}
	return nil
}

// PeekedZnode is the znode that a call with one read found at path.
func PeekedZnode(path string, r Result) Znode {
	z := Znode{Path: path}
	switch {
	case len(r.Ops) == 0:
		z.Err = fmt.Sprintf("get %s: %s", path, r.Code)
	case r.Ops[0].Code == CodeOK:
		z.Data, z.Stat = r.Ops[0].Data, r.Ops[0].Stat
	case r.Ops[0].Code == CodeNoNode:
		z.Missing = true
	default:
		z.Err = fmt.Sprintf("get %s: %s", path, r.Ops[0].Code)
	}
	return z
}
