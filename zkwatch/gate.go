package zkwatch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"kstate/model"
)

// Gate decides which writes may leave this process. Conn.Do asks it, and the
// connection itself asks it again for every frame, so that no fault above the
// socket can write what it does not allow. The zero Gate is closed.
type Gate struct {
	mode    gateMode
	own     string // the broker znode that Outsider may write
	mu      sync.Mutex
	tickets [][]model.Op // Admin: transactions that may be sent once
}

type gateMode uint8

const (
	gateClosed gateMode = iota
	gateController
	gateAdmin
)

var gateNames = [...]string{"read-only", "controller", "admin"}

// ReadOnly is the closed gate: every create, set, delete and multi is refused,
// and every operation that is not known to be a read.
func ReadOnly() *Gate { return &Gate{} }

// Controller lets pass what a Kafka controller writes: its own znodes, topics
// and their configs, requests it consumes, the persistent paths. Nothing else.
func Controller() *Gate { return &Gate{mode: gateController} }

// Outsider is Controller for a process that is no broker: it may also register
// under its id, for brokers that look the controller up there.
func Outsider(id int32) *Gate { return &Gate{mode: gateController, own: model.BrokerIDPath(id)} }

// Admin lets pass exactly what Permit was given, each once.
func Admin() *Gate { return &Gate{mode: gateAdmin} }

// String is read-only, controller or admin.
func (g *Gate) String() string { return gateNames[g.mode] }

// GateError says what the gate refused and why.
type GateError struct {
	Gate   string
	What   string // operation and path
	Reason string
}

// Error names gate, operation, path and reason.
func (e *GateError) Error() string {
	return fmt.Sprintf("write gate (%s): %s refused: %s", e.Gate, e.What, e.Reason)
}

func (g *Gate) refuse(what, format string, args ...any) error {
	return &GateError{Gate: g.String(), What: what, Reason: fmt.Sprintf(format, args...)}
}

// Permit lets the ops pass once, together in one transaction if there are
// several: the same kinds, paths, versions and bytes. Only an Admin gate takes
// them. A permitted write is sent at most once: if the connection breaks before
// its answer comes, its result is CONNECTIONLOSS and it may have been applied.
func (g *Gate) Permit(ops ...model.Op) error {
	if g.mode != gateAdmin {
		return g.refuse(describe(ops), "this gate takes no permits")
	}
	if len(ops) == 0 {
		return g.refuse("nothing", "there is nothing to permit")
	}
	for i := range ops {
		if !ops[i].Kind.Writes() {
			return g.refuse(describe(ops), "a read needs no permit")
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tickets = append(g.tickets, slices.Clone(ops))
	return nil
}

// Allow tells whether the writes, as one transaction, would pass now. The error
// is a *GateError. It uses up nothing.
func (g *Gate) Allow(ops ...model.Op) error {
	_, err := g.find(ops)
	return err
}

// pass is Allow for writes that are sent: an Admin's permit is used up.
func (g *Gate) pass(ops []model.Op) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, err := g.findLocked(ops)
	if err == nil && at >= 0 {
		g.tickets = slices.Delete(g.tickets, at, at+1)
	}
	return err
}

func (g *Gate) find(ops []model.Op) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.findLocked(ops)
}

// findLocked is the index of the permit that the ops need, -1 for none.
func (g *Gate) findLocked(ops []model.Op) (int, error) {
	switch g.mode {
	case gateController:
		for i := range ops {
			if g.own != "" && ops[i].Path == g.own && (ops[i].Kind != model.OpCreate || ops[i].Ephemeral) {
				continue
			}
			if reason := controllerMay(&ops[i]); reason != "" {
				return -1, g.refuse(ops[i].String(), "%s", reason)
			}
		}
		if len(ops) == 0 {
			return -1, g.refuse("an empty transaction", "a controller sends none")
		}
		return -1, nil
	case gateAdmin:
		for i, t := range g.tickets {
			if slices.EqualFunc(t, ops, sameWrite) {
				return i, nil
			}
		}
		return -1, g.refuse(describe(ops), "nobody has confirmed this write")
	}
	return -1, g.refuse(describe(ops), "this connection only reads")
}

func sameWrite(a, b model.Op) bool {
	if a.Kind != b.Kind || a.Path != b.Path {
		return false
	}
	switch a.Kind {
	case model.OpCreate:
		return a.Ephemeral == b.Ephemeral && a.Sequential == b.Sequential && sameData(a.Data, b.Data)
	case model.OpSet:
		return a.Version == b.Version && sameData(a.Data, b.Data)
	}
	return a.Version == b.Version
}

// sameData keeps null data and empty data apart.
func sameData(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func describe(ops []model.Op) string {
	var parts []string
	for i := range ops {
		parts = append(parts, ops[i].String())
	}
	if len(parts) == 0 {
		return "an empty transaction"
	}
	return strings.Join(parts, "; ")
}

// verbs is a set of kinds of writes.
type verbs uint8

const (
	mayCreate verbs = 1 << iota
	maySet
	mayDelete
)

// controllerWrites says which kinds of znodes a controller may write, and how.
// Kafka: the callers of KafkaZkClient in KafkaController, its state machines,
// TopicDeletionManager, and ZkAdminManager for the topic requests it serves.
var controllerWrites = map[model.ZnodeKind]verbs{
	model.ControllerZnode:               mayCreate | mayDelete,
	model.ControllerEpochZnode:          mayCreate | maySet,
	model.TopicZnode:                    mayCreate | maySet | mayDelete,
	model.TopicPartitionsZnode:          mayCreate | mayDelete,
	model.TopicPartitionZnode:           mayCreate | mayDelete,
	model.PartitionStateZnode:           mayCreate | maySet | mayDelete,
	model.DeleteTopicZnode:              mayCreate | mayDelete,
	model.ReassignPartitionsZnode:       maySet | mayDelete,
	model.PreferredReplicaElectionZnode: mayDelete,
	model.IsrChangeZnode:                mayDelete,
	model.LogDirEventZnode:              mayDelete,
	model.FeatureZnode:                  mayCreate | maySet,
	model.ProducerIDBlockZnode:          mayCreate | maySet,
}

var kindVerb = map[model.OpKind]verbs{model.OpCreate: mayCreate, model.OpSet: maySet, model.OpDelete: mayDelete}

// controllerMay is empty for a write that a controller may do, else the reason.
func controllerMay(op *model.Op) string {
	verb := kindVerb[op.Kind]
	if verb == 0 {
		return "it is no write"
	}
	ref := model.ParsePath(op.Path)
	if op.Kind == model.OpCreate && op.Ephemeral != (ref.Kind.Mode() == model.Ephemeral) {
		return "a controller creates only " + model.ControllerPath + " as an ephemeral znode, and never otherwise"
	}
	if op.Sequential { // config_change_ and what the server appends
		if op.Kind == model.OpCreate && op.Path == model.ConfigChangePath("") {
			return ""
		}
		return "a controller creates only notifications of config changes as sequential znodes"
	}
	switch {
	case ref.Kind == model.ConfigEntityZnode && ref.Entity != model.ConfigTypeTopics && (ref.Entity != model.ConfigTypeBrokers || ref.Name == model.DefaultEntity && verb != mayDelete):
		return "" // quotas, SCRAM users, the default of all brokers
	case controllerWrites[ref.Kind]&verb != 0:
		return ""
	case ref.Kind == model.ConfigEntityZnode && ref.Entity == model.ConfigTypeTopics:
		return ""
	case op.Kind == model.OpDelete && belowTopic(op.Path):
		return "" // a topic is deleted with whatever lies below it
	case op.Kind == model.OpCreate && op.Data == nil && isPersistentPath(op.Path):
		return ""
	}
	return "a controller does not do that there"
}

// belowTopic tells whether a path lies below a topic's znode.
func belowTopic(path string) bool {
	rest, ok := strings.CutPrefix(path, model.TopicsPath+"/")
	topic, below, found := strings.Cut(rest, "/")
	return ok && found && topic != "" && checkPath("/"+below) == nil
}

// isPersistentPath tells whether a path is one that each broker makes sure of,
// or leads to one.
func isPersistentPath(path string) bool {
	return slices.ContainsFunc(model.PersistentPaths(), func(p string) bool {
		return p == path || strings.HasPrefix(p, path+"/")
	})
}
