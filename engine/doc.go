// Package engine is Kafka's ZooKeeper-mode controller as a function that
// proposes steps and waits for their results: the event queue, the election of
// the controller and its failover, the partition and the replica state machine,
// the topic deletion manager, the leader election strategies, reassignment, and
// the batches of requests to brokers.
//
// It is not a loop and performs no I/O: it has no goroutine, channel, clock,
// random source, network or file. Everything it learns comes as an input or as
// the result of a step, so that the same inputs and results give the same steps.
//
// It may import kstate/model and the standard library's pure packages.
//
// Read it with one rule: a line that calls step, or one of the methods of
// effects.go that end in it (call, fenced, move..., mark, log, send), may rest
// there for an hour; no other line can. What Kafka catches as an exception is an
// error value here. There is no defer around a step: an abandoned event unwinds
// by the one private panic of turn.go.
//
// Duties of the caller (package internal/debugger):
//   - Use an Engine from one goroutine at a time.
//   - Settle exactly the step that At returns, with a Result whose At never goes back.
//   - A Call's Result has a result for each op in order, or none and a Code.
//     CONNECTIONLOSS never reaches the engine: the environment sends again.
//   - After an input SessionExpired, open the next session only when the Expire
//     event has ended, then give SessionRenewed.
//   - With Config.Registration, say the ids of sessions in Started and
//     SessionRenewed: a registration of the session before is made anew.
//   - Close an engine that is not needed any more: it may rest inside an event.
package engine
