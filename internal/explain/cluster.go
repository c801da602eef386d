package explain

import (
	"fmt"
	"slices"
	"strings"

	"kstate/engine"
	"kstate/internal/tree"
	"kstate/model"
)

// Words for what the closed lists have no word for.
const (
	ReplicaDeletionUnanswered = "replica-deletion-unanswered" // a deletion was sent, and no answer moved the replica
	TopicMarkedIneligible     = "leftover-ineligible-mark"    // halted by a mark for which no reason is left
	BrokerNotRegistered       = "broker-not-registered"
	BrokerShuttingDown        = "broker-shutting-down"
	OfflineLogDir             = "offline-log-dir"
	NotInISR                  = "not-in-isr"
	NotAssigned               = "not-assigned"
	LeaderImbalance           = "leader-imbalance" // over the limit of the automatic balancer
	WaitsForBroker            = "waits-for-broker"
	BrokerNotAnswering        = "broker-not-answering" // a request has been with it for model.SilentAfter or longer
)

// Memory is what the process of a controller knows.
type Memory struct {
	View       *model.View
	Controller model.ControllerStatus
	Config     engine.Config
	Channels   []model.Channel
	Now        int64                         // ms since 1970
	Queued     int                           // events not finished, the one at work included
	Peek       func(path string) model.Znode // reads a znode; nil: none can be read
}

// Cluster is what explanations are made from.
type Cluster struct {
	view   *model.View
	survey *tree.Survey // nil: memory is there
	memory *Memory
	peeked map[string]model.Znode
}

// OfTree explains from a tree as it lies.
func OfTree(s *tree.Survey) *Cluster { return &Cluster{view: s.View(), survey: s} }

// OfMemory explains from a controller's memory.
func OfMemory(m Memory) *Cluster {
	return &Cluster{view: m.View, memory: &m, peeked: map[string]model.Znode{}}
}

// UnknownError: there is no such subject. Near lists names like it.
type UnknownError struct {
	Subject model.Subject
	Near    []string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("no such %s: %s", e.Subject.Kind, tree.Printable(e.Subject.Name()))
	if len(e.Near) > 0 {
		text += " (near: " + tree.Printable(strings.Join(e.Near, ", ")) + ")"
	}
	return text
}

// Explain answers why of a subject. The error is an UnknownError when there is
// no such subject.
func (c *Cluster) Explain(s model.Subject) (*model.Explanation, error) {
	e := &model.Explanation{Subject: s, Kind: s.Kind.String(), Name: s.Name(), Memory: c.memory != nil}
	known := true
	if c.memory != nil && !c.memory.Controller.Self && s.Kind != model.ControllerSubject && s.Kind != model.NoSubject {
		e.Undecided, e.State, e.Answer = true, notKnown, "not known: this process is not the controller and remembers nothing"
		e.Causes = c.otherController()
		complete(e)
		return e, nil
	}
	switch s.Kind {
	case model.TopicSubject:
		known = c.topic(e, s.Topic)
	case model.PartitionSubject:
		known = c.partition(e, model.TP(s.Topic, s.Partition))
	case model.ReplicaSubject:
		known = c.replica(e, model.Replica{TopicPartition: model.TP(s.Topic, s.Partition), Broker: s.Broker})
	case model.BrokerSubject:
		known = c.broker(e, s.Broker)
	case model.LeadershipSubject:
		c.leadership(e)
	case model.ControllerSubject:
		c.controller(e)
	default:
		return nil, fmt.Errorf("nothing to explain: no subject was named")
	}
	if !known {
		return nil, &UnknownError{s, c.near(s)}
	}
	c.blind(e)
	complete(e)
	return e, nil
}

// blind: where the parent of all brokers or of all topics may not be read,
// nothing that was found out holds.
func (c *Cluster) blind(e *model.Explanation) {
	if c.survey == nil {
		return
	}
	paths := c.survey.Blind()
	if len(paths) == 0 {
		return
	}
	e.Found, e.Undecided = false, true
	e.Answer = "not known, for " + strings.Join(paths, ", ") + " may not be read; taken as empty: " + e.Answer
	if e.Availability != "" {
		e.Availability, e.Leadership = notKnown, notKnown
	}
	for _, path := range paths {
		see := c.survey.Look(path)
		e.NotKnown = append(e.NotKnown, "what is below "+path+": "+see.Err)
	}
}

// complete makes lists of what is nil, puts causes that hold first, and gathers
// what blocks.
func complete(e *model.Explanation) {
	slices.SortStableFunc(e.Causes, func(a, b model.Cause) int { return order(a.Holds) - order(b.Holds) })
	for i := range e.Causes {
		x := &e.Causes[i]
		x.BlockedBy, x.Evidence, x.Resumes = listed(x.BlockedBy), listed(x.Evidence), listed(x.Resumes)
		if !x.Holds {
			continue
		}
		for _, b := range x.BlockedBy {
			if !slices.Contains(e.BlockedBy, b) {
				e.BlockedBy = append(e.BlockedBy, b)
			}
		}
	}
	e.Why, e.IneligibleReasons, e.BlockedBy = listed(e.Why), listed(e.IneligibleReasons), listed(e.BlockedBy)
	e.Causes, e.Facts, e.Replicas, e.Balance, e.NotKnown = listed(e.Causes), listed(e.Facts), listed(e.Replicas), listed(e.Balance), listed(e.NotKnown)
}

func order(holds bool) int {
	if holds {
		return 0
	}
	return 1
}

func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// peek reads a znode, once for an explanation's cluster.
func (c *Cluster) peek(path string) (model.Znode, bool) {
	if c.memory == nil || c.memory.Peek == nil {
		return model.Znode{}, false
	}
	z, ok := c.peeked[path]
	if !ok {
		z = c.memory.Peek(path)
		c.peeked[path] = z
	}
	return z, true
}

// look says whether a znode exists and of which version it is.
func (c *Cluster) look(path string) tree.Sight {
	if c.survey != nil {
		return c.survey.Look(path)
	}
	z, ok := c.peek(path)
	switch {
	case !ok:
		return tree.Sight{Err: "it was not read"}
	case z.Err != "":
		return tree.Sight{Err: z.Err}
	case z.Missing:
		return tree.Sight{}
	}
	return tree.Sight{Exists: true, Version: &z.Stat.Version}
}

// at is a piece of evidence: what the znode at path says, and missing what its
// absence says.
func (c *Cluster) at(path, says, missing string) model.Evidence {
	see := c.look(path)
	e := model.Evidence{Path: path, Version: see.Version, Says: says}
	switch {
	case see.Exists && see.Err != "" && see.Version == nil, !see.Exists && see.Err != "":
		e.Says = "not known: " + see.Err
	case !see.Exists:
		e.Missing, e.Says = true, missing
	}
	return e
}

// remembers is evidence from the controller's memory.
func remembers(format string, args ...any) model.Evidence {
	return model.Evidence{Says: fmt.Sprintf(format, args...)}
}

// data is a znode that is kept whole or can be read; false: there is none.
func (c *Cluster) data(path string) (model.Znode, bool) {
	if c.survey != nil {
		z, ok := c.survey.Znode(path)
		return z, ok && z.Err == ""
	}
	z, ok := c.peek(path)
	return z, ok && !z.Missing && z.Err == ""
}

// config are the overrides in a config znode; none where it is missing or broken.
func (c *Cluster) config(path string) map[string]string {
	z, ok := c.data(path)
	if !ok {
		return nil
	}
	config, err := model.DecodeConfig(path, z.Data)
	if err != nil {
		return nil
	}
	return config
}

// children counts the znodes right below a path; -1 when that is not known.
func (c *Cluster) children(path string) int {
	if see := c.look(path); see.Err != "" {
		return -1
	}
	if c.survey != nil {
		return len(c.survey.Children(path))
	}
	z, _ := c.peek(path)
	return int(z.Stat.NumChildren)
}

func (c *Cluster) deleteEnabled() bool {
	if c.memory != nil {
		return c.memory.Config.DeleteTopicEnable
	}
	return c.survey.Config().DeleteTopicEnable
}

func (c *Cluster) status() model.ControllerStatus {
	if c.memory != nil {
		return c.memory.Controller
	}
	return c.survey.Controller()
}

func (c *Cluster) protocol() model.InterBrokerProtocol {
	if c.memory != nil {
		return c.memory.Config.IBP
	}
	if ibp, err := model.ParseInterBrokerProtocol(c.survey.Config().InterBrokerProtocol); err == nil {
		return ibp
	}
	return model.IBP_3_9_IV0
}

const (
	uncleanConfig = "unclean.leader.election.enable"
	minISRConfig  = "min.insync.replicas"
)

// unclean tells whether an unclean election is allowed for a topic.
func (c *Cluster) unclean(topic string) bool {
	if c.survey != nil {
		return c.survey.UncleanElectionEnabled(topic)
	}
	on, err := engine.EffectiveUnclean(c.memory.Config.BrokerConfig, c.config(model.TopicConfigPath(topic)))
	return err == nil && on
}

// setting says where a setting of a topic is made: its own znode, the broker's,
// that of all brokers, or out of sight.
func (c *Cluster) setting(topic string, broker int32, key, byDefault string) (value string, evidence model.Evidence) {
	path := model.TopicConfigPath(topic)
	if v, ok := c.config(path)[key]; ok {
		return v, c.at(path, key+"="+v, "")
	}
	for _, from := range []string{model.BrokerConfigPath(broker), model.BrokerDefaultConfigPath()} {
		if v, ok := c.config(from)[key]; ok {
			return v, c.at(from, key+"="+v, "")
		}
	}
	if c.memory != nil {
		if v, ok := c.memory.Config.BrokerConfig[key]; ok {
			return v, remembers("%s=%s in the controller's own settings", key, v)
		}
	}
	says := key + " is not set here; what the brokers' server.properties say cannot be seen, taken as " + byDefault
	return byDefault, c.at(path, says, says)
}

func boolp(b bool) *bool { return &b }

func ids(list []int32) string {
	if len(list) == 0 {
		return "nobody"
	}
	return model.JoinIDs(list)
}

const numbersShown = 12

// numbers lists partition numbers, the first few of many.
func numbers(list []int32) string {
	if len(list) > numbersShown {
		return fmt.Sprintf("%s and %d more", model.JoinIDs(list[:numbersShown]), len(list)-numbersShown)
	}
	return model.JoinIDs(list)
}
