package model

import (
	"fmt"
	"strconv"
	"strings"
)

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
	case ControllerSubject:
		return []string{ControllerPath, ControllerEpochPath}
	}
	return nil
}

var subjectKindNames = [...]string{"", "topic", "partition", "replica", "broker", "leadership", "controller"}

// String is the word on the command line.
func (k SubjectKind) String() string { return subjectKindNames[k] }

// Name is the subject's own name: T, T-P, T-P@B, B, or nothing.
func (s Subject) Name() string {
	tp := TP(s.Topic, s.Partition)
	switch s.Kind {
	case TopicSubject:
		return s.Topic
	case PartitionSubject:
		return tp.String()
	case ReplicaSubject:
		return Replica{TopicPartition: tp, Broker: s.Broker}.String()
	case BrokerSubject:
		return itoa(s.Broker)
	}
	return ""
}

// ParseSubject reads a name of that kind; the last two kinds take none.
func ParseSubject(kind SubjectKind, name string) (Subject, error) {
	s := Subject{Kind: kind}
	var err error
	switch kind {
	case TopicSubject:
		if s.Topic = name; name == "" {
			err = fmt.Errorf("a topic has a name")
		}
	case PartitionSubject:
		var tp TopicPartition
		tp, err = ParseTopicPartition(name)
		s.Topic, s.Partition = tp.Topic, tp.Partition
	case ReplicaSubject:
		i := strings.LastIndexByte(name, '@')
		if i < 0 {
			return s, fmt.Errorf("%q is not topic-partition@broker", name)
		}
		if s, err = ParseSubject(PartitionSubject, name[:i]); err != nil {
			return s, err
		}
		s.Kind = ReplicaSubject
		s.Broker, err = parseBroker(name[i+1:])
	case BrokerSubject:
		s.Broker, err = parseBroker(name)
	}
	return s, err
}

func parseBroker(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a broker id", text)
	}
	return int32(n), nil
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
