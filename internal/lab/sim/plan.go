package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"kstate/model"
)

// Fault is a kind of mishap that a seed may have.
type Fault string

const (
	SessionExpiry      Fault = "session expiry"              // a controller's session ends though it is well
	MidCallExpiry      Fault = "expiry between two writes"   // the same, after the first write of a call
	ConnectionLost     Fault = "connection loss"             // a controller's requests and answers under way are lost, and sent again
	LostBefore         Fault = "lost before"                 // a write never arrives
	LostAfter          Fault = "lost after"                  // a write is done, its answer lost
	ControllerPause    Fault = "controller pause"            // stopped for a while, longer than its session or shorter
	ControllerCrash    Fault = "controller crash"            // and a restart
	MidCallCrash       Fault = "crash between two writes"    // after the first write of a call
	RoleTaken          Fault = "role taken"                  // /controller is deleted from outside
	BrokerCrash        Fault = "broker crash"                // its session ends later; started again
	BrokerBounce       Fault = "broker bounce"               // stopped and started at once
	BrokerShutdown     Fault = "controlled shutdown"         // and a restart
	LogDirFailure      Fault = "log dir failure"             // repaired at a restart
	SilentBroker       Fault = "silent broker"               // takes requests and does not answer for a while
	SlowBroker         Fault = "slow broker"                 // takes long over each request
	BrokerReset        Fault = "broker connection reset"     // a request to a broker, or its answer, is lost and sent again
	BrokerZooKeeperCut Fault = "partition broker-ZooKeeper"  // its session ends if that takes long
	BrokerControlCut   Fault = "partition broker-controller" // one broker from one controller
	OutsideWrite       Fault = "BADVERSION race"             // somebody writes a state znode over with what it holds
	HalfDeletion       Fault = "half deletion"               // somebody deletes a part of a topic's znodes
)

// Faults are all kinds, in the order of the report.
var Faults = []Fault{SessionExpiry, MidCallExpiry, ConnectionLost, LostBefore, LostAfter, ControllerPause, ControllerCrash, MidCallCrash, RoleTaken,
	BrokerCrash, BrokerBounce, BrokerShutdown, LogDirFailure, SilentBroker, SlowBroker, BrokerReset, BrokerZooKeeperCut, BrokerControlCut, OutsideWrite, HalfDeletion}

// plan is what a seed draws before it begins.
type plan struct {
	controllers, brokers int
	topics, partitions   int // names that operators use; partitions of a new topic at most
	replication          int // at most
	logDirs              int
	ibp                  model.InterBrokerProtocol
	deletion, balancer   bool
	unclean              bool
	balancerEvery        int64 // ms
	clearBatches         bool  // and the other mends of Kafka's known faults
	mendGhosts           bool
	mendHalves           bool
	faults               []Fault // those that may happen
	faultEvery           int64   // µs between two faults, on average
	actEvery             int64   // µs between two actions of operators, on average
	busy                 int64   // µs until all is healed
	latency              int64   // µs one way, typically
	sessionTimeout       int64   // µs
	catchUp              int64   // µs a follower takes at most
}

var protocols = []model.InterBrokerProtocol{model.IBP_3_9_IV0, model.IBP_3_9_IV0, model.IBP_3_0_IV0, model.IBP_2_8_IV0, model.IBP_2_6_IV0, model.IBP_2_4_IV1, model.IBP_1_0_IV0}

const second = 1_000_000 // µs

func draw(r *rand.Rand) plan {
	one := func(of ...int64) int64 { return of[r.IntN(len(of))] }
	p := plan{controllers: 2, brokers: 1 + r.IntN(6), topics: 1 + r.IntN(5), partitions: 1 + r.IntN(4), logDirs: 1 + r.IntN(3),
		ibp: protocols[r.IntN(len(protocols))], deletion: r.IntN(12) > 0, balancer: r.IntN(3) == 0, unclean: r.IntN(4) == 0,
		balancerEvery: one(5_000, 20_000, 60_000), clearBatches: r.IntN(8) > 0, mendGhosts: r.IntN(4) == 0, mendHalves: r.IntN(4) == 0,
		faultEvery: one(500_000, 2*second, 8*second), actEvery: one(500_000, 2*second, 5*second),
		busy: one(30, 60, 120) * second, latency: one(200, 1_000, 10_000, 40_000), sessionTimeout: one(4, 6, 18) * second, catchUp: one(0, 1, 8) * second}
	p.replication = 1 + r.IntN(min(4, p.brokers))
	if r.IntN(4) == 0 {
		p.controllers = 3
	}
	for _, f := range Faults {
		chance := 40
		switch f {
		case HalfDeletion:
			chance = 5
		case OutsideWrite:
			chance = 20
		case SilentBroker, LogDirFailure:
			chance = 25
		}
		if r.IntN(100) < chance {
			p.faults = append(p.faults, f)
		}
	}
	return p
}

// String is one line for the trace and for people.
func (p *plan) String() string {
	on := func(name string, on bool) string {
		if on {
			return " " + name
		}
		return ""
	}
	var names []string
	for _, f := range p.faults {
		names = append(names, string(f))
	}
	return fmt.Sprintf("%d controllers, %d brokers of %d log dirs, %d topics of up to %d partitions x %d, inter-broker protocol %s,%s%s%s%s%s%s latency %d µs, session %d s, %d s of faults: %s",
		p.controllers, p.brokers, p.logDirs, p.topics, p.partitions, p.replication, p.ibp,
		on("deletion", p.deletion), on("balancer", p.balancer), on("unclean", p.unclean), on("clear-batches", p.clearBatches), on("ghost-states", p.mendGhosts), on("half-deleted-topics", p.mendHalves),
		p.latency, p.sessionTimeout/second, p.busy/second, strings.Join(names, ", "))
}
