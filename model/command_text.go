package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CommandText is a command as a scenario has it; empty for what no scenario says.
func CommandText(c Command) string {
	switch c := c.(type) {
	case KillBroker:
		return fmt.Sprintf("kill broker %d", c.Broker)
	case StartBroker:
		if c.Broker < 0 {
			return "start new broker"
		}
		return fmt.Sprintf("start broker %d", c.Broker)
	case ShutDownBroker:
		return fmt.Sprintf("shut down broker %d", c.Broker)
	case CreateTopic:
		return "create topic " + topicText(c)
	case AddPartitions:
		return fmt.Sprintf("grow topic %s to %d", QuoteWord(c.Topic), c.Total)
	case DeleteTopic:
		return "delete topic " + QuoteWord(c.Topic)
	case Reassign:
		if c.Cancel {
			return "cancel reassignment of " + QuoteWord(c.TopicPartition.String())
		}
		return "reassign " + QuoteWord(c.TopicPartition.String()) + " to " + JoinIDs(c.Target)
	case ForceMove:
		return "force " + c.Transition.String()
	case RunElection:
		return "elect " + c.Strategy.String() + " " + scopeText(c.Scope.Subject)
	case RunUntil:
		return "until " + QuoteWord(string(c.Step))
	case Pause:
		return "pause"
	case Continue:
		return "continue"
	case StepBy:
		return "step " + strings.ReplaceAll(strings.ToLower(c.Grain.String()), "/", "")
	case InjectFault:
		return "fault " + c.Fault.String()
	case ClearFault:
		return "clear faults"
	case ReleaseAnswers:
		if c.Broker == AnyBroker {
			return "release answers"
		}
		return fmt.Sprintf("release answers of broker %d", c.Broker)
	}
	return labCommandText(c)
}

func labCommandText(c Command) string {
	switch c := c.(type) {
	case WriteZnode:
		if c.Delete {
			return "delete znode " + QuoteWord(c.Path)
		}
		return "write znode " + QuoteWord(c.Path) + " " + QuoteWord(string(c.Data))
	case FailLogDir:
		s := fmt.Sprintf("fail log dir of broker %d", c.Broker)
		if c.Dir != "" {
			s += " " + QuoteWord(c.Dir)
		}
		return s
	case RepairLogDirs:
		return fmt.Sprintf("repair log dirs of broker %d", c.Broker)
	case CutBroker:
		return fmt.Sprintf("cut broker %d from %s", c.Broker, c.From)
	case HealBroker:
		return fmt.Sprintf("heal broker %d", c.Broker)
	case SetConduct:
		return fmt.Sprintf("make broker %d %s", c.Broker, c.Conduct)
	case ExpireSession:
		if c.Broker < 0 {
			return "expire session of controller"
		}
		return fmt.Sprintf("expire session of broker %d", c.Broker)
	case MoveController:
		return "move controller"
	case RestartController:
		return "restart controller"
	case RivalTakesOver:
		return "rival takes over"
	case RivalLeaves:
		return "rival leaves"
	case ChangeSetting:
		return settingText(c)
	}
	return ""
}

func topicText(c CreateTopic) string {
	s := QuoteWord(c.Topic)
	if c.Assignment == nil {
		s += fmt.Sprintf(" %dx%d", c.Partitions, c.ReplicationFactor)
	} else {
		var lists []string
		for _, l := range c.Assignment {
			lists = append(lists, JoinIDs(l))
		}
		s += " assignment " + strings.Join(lists, ";")
	}
	for _, k := range slices.Sorted(maps.Keys(c.Config)) {
		s += " config " + QuoteWord(k+"="+c.Config[k])
	}
	return s
}

func scopeText(s Subject) string {
	if s.Kind == NoSubject {
		return "all"
	}
	return s.Kind.String() + " " + QuoteWord(s.Name())
}

func settingText(c ChangeSetting) string {
	s := "set " + QuoteWord(c.Name) + " " + QuoteWord(c.Value)
	if c.Unset {
		s = "unset " + QuoteWord(c.Name)
	}
	if c.Topic != "" {
		s += " of topic " + QuoteWord(c.Topic)
	}
	return s
}
