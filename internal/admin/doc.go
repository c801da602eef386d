// Package admin changes a cluster from outside, by the znodes that Kafka's own
// tools write: topics are created, grown and deleted, preferred leaders elected,
// partitions reassigned, the controller moved. Each change is first a Plan, which
// is data: the exact write with the version it expects, the preconditions with
// what was found, what is to come of it. Carried out, it is written in one
// transaction and then followed to its end by what the tree shows.
//
// It is no controller: what a write sets off is the cluster's own doing. It asks
// nobody for consent: that is the caller's duty. It does not speak Kafka's
// protocol.
//
// It may import kstate/model, kstate/engine (placement, checks of settings),
// kstate/zkwatch, kstate/internal/tree and kstate/internal/observe (how a
// deletion goes on).
//
// Duties of the caller:
//   - Execute is called only for a plan that its operator has seen and
//     consented to, with a connection whose gate is zkwatch.Admin.
//   - A Follower is shown the surveys in the order in which they came to be.
package admin
