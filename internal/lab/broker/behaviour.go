package broker

import (
	"fmt"
	"slices"
	"time"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Behaviour is what a broker does wrong. The zero value behaves.
type Behaviour struct {
	// Refusing: connections are closed as soon as they are accepted, and those
	// that exist now.
	Refusing bool
	// ControllerCut: nothing passes between broker and controller. A connection
	// on which a controller's request comes is dropped, nothing is sent to the
	// controller; clients are served.
	ControllerCut bool
	// ZooKeeperCut: the connection to ZooKeeper is dropped and no new one can be
	// made; the session lives until ZooKeeper ends it.
	ZooKeeperCut bool
	// FetchSilent: as a follower it fetches from no leader.
	FetchSilent bool
	// Rules for single requests, tried in their order. All that match count:
	// delays add up, the last Error wins.
	Rules []Rule
}

// Action is what a rule makes of a request.
type Action string

const (
	Delay  Action = "delay"  // answer Delay (and up to Jitter) later
	Hold   Action = "hold"   // answer when Release says so
	Silent Action = "silent" // never answer; the connection stays open, and stuck
	Drop   Action = "drop"   // close the connection instead of answering
	Error  Action = "error"  // answer with Code
	Crash  Action = "crash"  // the broker dies instead of answering
)

// AnyAPI in a rule stands for every request.
const AnyAPI int16 = -1

// Rule applies to requests of one kind. The first Skip that match pass, the
// following Count are hit; Count 0 means all of them.
type Rule struct {
	Action Action
	API    int16 // request key, or AnyAPI
	Skip   int
	Count  int

	// Undone: the request is not carried out; if it is answered at all, then with
	// UNKNOWN_SERVER_ERROR. Error rules never carry out what they hit, the others
	// do unless this is set.
	Undone bool

	Delay, Jitter time.Duration // Delay

	// Error: without a topic the whole request fails; with one ("*" is every
	// topic) each of its partitions, or one of them. Only LeaderAndIsr and
	// StopReplica know partitions.
	Code      int16
	Topic     string
	Partition *int32
}

func (r Rule) check() error {
	switch r.Action {
	case Delay, Hold, Silent, Drop, Error, Crash:
	default:
		return fmt.Errorf("rule has the unknown action %q", r.Action)
	}
	switch {
	case r.Skip < 0 || r.Count < 0:
		return fmt.Errorf("rule %s: skip %d and count %d must not be negative", r.Action, r.Skip, r.Count)
	case r.Delay < 0 || r.Jitter < 0:
		return fmt.Errorf("rule %s: delay %s and jitter %s must not be negative", r.Action, r.Delay, r.Jitter)
	case r.Action == Error && r.Code == codeNone:
		return fmt.Errorf("rule error has no code")
	case r.Topic != "" && (r.Action != Error || r.API != keyLeaderAndISR && r.API != keyStopReplica):
		return fmt.Errorf("rule %s for API %d can't be for one topic: only errors of LeaderAndIsr and StopReplica can", r.Action, r.API)
	}
	return nil
}

// armed is a rule with the number of requests that it has matched.
type armed struct {
	Rule
	seen int
}

func (r *armed) hits(key int16) bool {
	if r.API != AnyAPI && r.API != key {
		return false
	}
	r.seen++
	return r.seen > r.Skip && (r.Count == 0 || r.seen <= r.Skip+r.Count)
}

func (r *armed) covers(tp model.TopicPartition) bool {
	return (r.Topic == "*" || r.Topic == tp.Topic) && (r.Partition == nil || *r.Partition == tp.Partition)
}

// treatment is what the rules together make of one request.
type treatment struct {
	undone             bool
	delay              time.Duration
	hold, silent, drop bool
	crash              bool
	code               int16 // of the whole request
	wrong              Wrong
}

// treat applies the rules to a request that has arrived.
func (b *Broker) treat(req kmsg.Request) treatment {
	var t treatment
	var parts []*armed
	for _, r := range b.rules {
		if !r.hits(req.Key()) {
			continue
		}
		t.undone = t.undone || r.Undone
		switch r.Action {
		case Delay:
			t.delay += r.Delay + b.c.jitter(r.Jitter)
		case Hold:
			t.hold = true
		case Silent:
			t.silent = true
		case Drop:
			t.drop = true
		case Crash:
			t.crash = true
		case Error:
			if r.Topic == "" {
				t.code = r.Code
			} else {
				parts = append(parts, r)
			}
		}
	}
	if len(parts) > 0 {
		t.wrong = func(tp model.TopicPartition) (code int16) {
			for _, r := range parts {
				if r.covers(tp) {
					code = r.Code
				}
			}
			return code
		}
	}
	return t
}

// Behaviour returns what was last set.
func (b *Broker) Behaviour() Behaviour {
	var out Behaviour
	b.c.do(func() {
		out = b.behaviour
		out.Rules = slices.Clone(out.Rules)
	})
	return out
}

// SetBehaviour replaces the behaviour; the counts of its rules start anew. It
// holds across restarts. Answers that are held or late stay so.
func (b *Broker) SetBehaviour(x Behaviour) error {
	for _, r := range x.Rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("broker %d: %w", b.id, err)
		}
	}
	b.c.do(func() {
		b.behaviour = x
		b.behaviour.Rules = slices.Clone(x.Rules)
		b.rules = nil
		for _, r := range x.Rules {
			b.rules = append(b.rules, &armed{Rule: r})
		}
		b.behaviourChanged()
	})
	return nil
}

// AddRule puts a rule behind those that exist, whose counts go on.
func (b *Broker) AddRule(r Rule) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("broker %d: %w", b.id, err)
	}
	b.c.do(func() {
		b.behaviour.Rules = append(slices.Clone(b.behaviour.Rules), r)
		b.rules = append(b.rules, &armed{Rule: r})
	})
	return nil
}
