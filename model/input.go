package model

import "fmt"

// Input is something that happened outside the controller. At is in ms since 1970.
type Input struct {
	At int64
	Of Stimulus
}

// Stimulus is the content of an input.
type Stimulus interface{ String() string }

type (
	// Started: the controller process starts and may run for the role. Session is
	// its ZooKeeper session, 0 when not told.
	Started struct{ Session int64 }
	// Stopping: the process shuts down; the role is given up.
	Stopping struct{}
	// WatchFired: a one-shot watch fired.
	WatchFired struct {
		Path string
		Kind WatchKind
	}
	// SessionExpired: the ZooKeeper session is gone. The environment opens the
	// next session only after the Expire event has ended.
	SessionExpired struct{}
	// SessionRenewed: a new ZooKeeper session is there; its id, 0 when not told.
	SessionRenewed struct{ Session int64 }
	// Responded: a broker answered a request.
	Responded struct {
		Broker   int32
		Request  ControlRequest
		Response ControlResponse
	}
	// AlarmRang: an alarm that the controller set.
	AlarmRang struct{ Name string }
	// Asked: a broker or client asks; ID is unique and comes back in the Reply.
	Asked struct {
		ID   uint64
		From string
		Ask  Ask
	}
	// ZnodeSeen: in observe mode, a znode was created, changed or deleted by
	// somebody. No engine gets it.
	ZnodeSeen struct {
		Path    string
		Version int32
		Gone    bool
		Zxid    int64
	}
	// UncleanEnabled: unclean leader election was switched on for a topic, or
	// (Topic empty) as the broker default.
	UncleanEnabled struct{ Topic string }
	// UncleanDisabled: the broker default of it was switched off again.
	UncleanDisabled struct{}
	// ProtocolLearned: the brokers that a Probe named have all said what they speak;
	// IBP is the newest inter-broker protocol that fits all.
	ProtocolLearned struct{ IBP InterBrokerProtocol }
	// Remarked: something was done to what surrounds the controller: a fault came
	// over a step, an operator did something, a request was sent again. No engine
	// gets it.
	Remarked struct{ Text string }
	// OperatorMoves: kstate's operator asks for a transition that is not legal, of a
	// partition or, with a broker, of its replica there.
	OperatorMoves struct{ Transition }
	// OperatorElects: kstate's operator runs a strategy on partitions.
	OperatorElects struct {
		Strategy   Strategy
		Partitions []TopicPartition
	}
)

func (*Started) String() string  { return "started" }
func (*Stopping) String() string { return "stopping" }
func (s *WatchFired) String() string {
	return fmt.Sprintf("watch fired: %s %s", s.Kind, s.Path)
}
func (s *ZnodeSeen) String() string {
	if s.Gone {
		return "znode deleted: " + s.Path
	}
	return fmt.Sprintf("znode %s v%d", s.Path, s.Version)
}
func (*SessionExpired) String() string { return "ZooKeeper session expired" }
func (*SessionRenewed) String() string { return "new ZooKeeper session" }
func (s *Responded) String() string {
	return fmt.Sprintf("broker %d answered %s", s.Broker, s.Request.Kind())
}
func (s *AlarmRang) String() string { return "alarm " + s.Name }
func (s *Asked) String() string {
	return fmt.Sprintf("%s asked %s (#%d)", s.From, s.Ask.AskName(), s.ID)
}
func (s *UncleanEnabled) String() string {
	if s.Topic == "" {
		return "unclean election enabled by default"
	}
	return "unclean election enabled for " + s.Topic
}
func (*UncleanDisabled) String() string { return "unclean election no longer enabled by default" }
func (s *ProtocolLearned) String() string {
	return "brokers speak inter-broker protocol " + s.IBP.String()
}
func (s *Remarked) String() string      { return s.Text }
func (s *OperatorMoves) String() string { return "the operator asks for " + s.Transition.String() }
func (s *OperatorElects) String() string {
	return fmt.Sprintf("operator elects by %s (%d partitions)", s.Strategy, len(s.Partitions))
}
