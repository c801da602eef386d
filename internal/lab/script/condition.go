package script

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kstate/model"
)

// Condition is what a scenario expects. Holds looks at a picture and at what lies
// around it; found says what is there, whether it holds or not.
type Condition interface {
	String() string
	Holds(f *model.Frame, see Surroundings) (holds bool, found string)
}

// Surroundings is what a picture does not hold.
type Surroundings interface {
	// Znode reads a znode without the controller.
	Znode(path string) model.Znode
	// Disk is what the log directories of a broker hold.
	Disk(broker int32) []model.LogDir
	// Seen tells whether a record matched since the start; see Witness.
	Seen(q Question) bool
}

// Question is what a Witness is asked: one of happened, event, log, and a pattern.
type Question struct {
	Kind    string
	Pattern model.Pattern
}

type (
	partitionIs struct {
		tp    model.TopicPartition
		state model.PartitionState
	}
	replicaIs struct {
		replica model.Replica
		state   model.ReplicaState
	}
	leaderIs struct {
		tp     model.TopicPartition
		leader int32
	}
	isrIs struct {
		tp  model.TopicPartition
		isr []int32 // nil: none
	}
	replicasAre struct {
		tp       model.TopicPartition
		replicas []int32
	}
	reassigning struct{ tp model.TopicPartition }
	topicIs     struct {
		topic  string
		exists bool
	}
	deletionIs struct {
		topic, state string
		because      model.IneligibleReason
	}
	brokerIs struct {
		broker int32
		state  string
	}
	controllerIs struct{ who string }
	epochIs      struct{ epoch int32 }
	at           struct{ step model.Pattern }
	znodeIs      struct {
		path, how, text string
		version         int32
	}
	diskIs struct {
		broker int32
		how    string
		tp     model.TopicPartition
	}
	held      struct{ broker int32 }
	faultsHit struct{}
)

// expectation reads what stands behind expect.
func expectation(t *tokens) Statement {
	e := &Expect{Eventually: t.take("eventually")}
	e.Not = t.take("not")
	of := conditions[t.one(sorted(conditions)...)]
	if of != nil {
		e.Condition = of(t)
	}
	return e
}

var conditions = map[string]func(*tokens) Condition{
	"partition": func(t *tokens) Condition {
		c := partitionIs{tp: t.partition()}
		c.state = stateOf(t, model.PartitionStates, shortPartition)
		return c
	},
	"replica": func(t *tokens) Condition {
		c := replicaIs{}
		s := read(t, "a replica as orders-0@1", func(s string) (model.Subject, error) {
			sub, err := model.ParseSubject(model.ReplicaSubject, s)
			if err == nil && sub.Name() != s {
				err = fmt.Errorf("it is written %s", sub.Name())
			}
			return sub, err
		})
		c.replica = model.Replica{TopicPartition: model.TP(s.Topic, s.Partition), Broker: s.Broker}
		c.state = stateOf(t, model.ReplicaStates, shortReplica)
		return c
	},
	"leader": func(t *tokens) Condition {
		c := leaderIs{tp: t.partition(), leader: model.NoLeader}
		if !t.take("none") {
			c.leader = t.broker()
		}
		return c
	},
	"isr": func(t *tokens) Condition {
		c := isrIs{tp: t.partition()}
		if !t.take("none") {
			c.isr = t.ids()
		}
		return c
	},
	"replicas":    func(t *tokens) Condition { return replicasAre{t.partition(), t.ids()} },
	"reassigning": func(t *tokens) Condition { return reassigning{t.partition()} },
	"topic": func(t *tokens) Condition {
		return topicIs{t.topic(), t.one("exists", "absent") == "exists"}
	},
	"deletion": deletion,
	"broker": func(t *tokens) Condition {
		return brokerIs{t.broker(), t.one("live", "shutting-down", "killed", "down")}
	},
	"controller": func(t *tokens) Condition { return controllerIs{t.one("active", "other", "none")} },
	"epoch":      func(t *tokens) Condition { return epochIs{int32(t.number("an epoch", 0, math.MaxInt32))} },
	"at":         func(t *tokens) Condition { return at{model.Pattern(t.text("text of a step's line"))} },
	"happened":   question("happened"),
	"event":      question("event"),
	"log":        question("log"),
	"znode":      znode,
	"disk": func(t *tokens) Condition {
		c := diskIs{broker: t.broker(), how: t.one("holds", "deleting", "failed")}
		if c.how != "failed" {
			c.tp = t.partition()
		}
		return c
	},
	"held":   func(t *tokens) Condition { return held{t.broker()} },
	"faults": func(t *tokens) Condition { t.must("hit"); return faultsHit{} },
}

func question(kind string) func(*tokens) Condition {
	return func(t *tokens) Condition {
		return Question{kind, model.Pattern(t.text("text, in which * is anything"))}
	}
}

// stateOf takes the short name of a state.
func stateOf[S fmt.Stringer](t *tokens, states []S, short func(S) string) (s S) {
	var words []string
	for _, x := range states {
		words = append(words, short(x))
	}
	if i := slices.Index(words, t.one(words...)); i >= 0 {
		return states[i]
	}
	return s
}

func shortPartition(s model.PartitionState) string {
	return strings.TrimSuffix(s.String(), "Partition")
}

func shortReplica(s model.ReplicaState) string {
	if name := s.String(); !strings.HasPrefix(name, "Replica") {
		return strings.TrimSuffix(name, "Replica")
	}
	return s.String()
}

var deletionStates = []string{"queued", "running", "waiting", "done"}

func deletion(t *tokens) Condition {
	c := deletionIs{topic: t.topic(), state: t.one(deletionStates...)}
	if c.state == "waiting" && t.take("because") {
		c.because = model.IneligibleReason(t.one(names([]model.IneligibleReason{model.OfflineReplicas, model.ReassignmentInProgress, model.ReplicaDeletionFailed})...))
	}
	return c
}

func znode(t *tokens) Condition {
	c := znodeIs{path: t.path(), how: t.one("exists", "absent", "contains", "version")}
	switch c.how {
	case "contains":
		c.text = t.text("a text")
	case "version":
		c.version = int32(t.number("a version", 0, math.MaxInt32))
	}
	return c
}

func (c partitionIs) String() string {
	return "partition " + model.QuoteWord(c.tp.String()) + " " + shortPartition(c.state)
}
func (c replicaIs) String() string {
	return "replica " + model.QuoteWord(c.replica.String()) + " " + shortReplica(c.state)
}
func (c leaderIs) String() string {
	return "leader " + model.QuoteWord(c.tp.String()) + " " + orNone(c.leader)
}
func (c isrIs) String() string {
	return "isr " + model.QuoteWord(c.tp.String()) + " " + model.IDsOrNone(c.isr)
}
func (c replicasAre) String() string {
	return "replicas " + model.QuoteWord(c.tp.String()) + " " + model.JoinIDs(c.replicas)
}
func (c reassigning) String() string { return "reassigning " + model.QuoteWord(c.tp.String()) }
func (c topicIs) String() string {
	return "topic " + model.QuoteWord(c.topic) + map[bool]string{true: " exists", false: " absent"}[c.exists]
}
func (c deletionIs) String() string {
	s := "deletion " + model.QuoteWord(c.topic) + " " + c.state
	if c.because != "" {
		s += " because " + string(c.because)
	}
	return s
}
func (c brokerIs) String() string     { return fmt.Sprintf("broker %d %s", c.broker, c.state) }
func (c controllerIs) String() string { return "controller " + c.who }
func (c epochIs) String() string      { return fmt.Sprintf("epoch %d", c.epoch) }
func (c at) String() string           { return "at " + model.QuoteWord(string(c.step)) }

// String is the condition as a script has it.
func (q Question) String() string { return q.Kind + " " + model.QuoteWord(string(q.Pattern)) }
func (c znodeIs) String() string {
	s := "znode " + model.QuoteWord(c.path) + " " + c.how
	switch c.how {
	case "contains":
		s += " " + model.QuoteWord(c.text)
	case "version":
		s += " " + strconv.Itoa(int(c.version))
	}
	return s
}
func (c diskIs) String() string {
	s := fmt.Sprintf("disk %d %s", c.broker, c.how)
	if c.how != "failed" {
		s += " " + model.QuoteWord(c.tp.String())
	}
	return s
}
func (c held) String() string    { return fmt.Sprintf("held %d", c.broker) }
func (faultsHit) String() string { return "faults hit" }

func orNone(id int32) string {
	if id < 0 {
		return "none"
	}
	return strconv.Itoa(int(id))
}
