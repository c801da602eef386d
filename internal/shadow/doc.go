// Package shadow follows a cluster's own controller from outside: a second
// controller, the real engine, that reads what the real one read and writes
// nothing. What it proposes to write is answered by what the real one did.
//
// It is fed the changes of a mirrored tree and keeps a tree of its own that lags
// behind: a change by somebody (a broker registers, a marker is created) is let
// in when all that came before it was understood, and tells the engine by its
// watches; a change by the controller (a state znode is written) waits until the
// engine proposes the same. So the engine decides on what the real controller
// decided on, although its result is known already.
//
//   - A write whose znode does not come within 5 s is refused, what its event did
//     is not told, and the engine begins anew from the tree.
//   - A write that came with another content is taken as it is, and its subject
//     is diverged.
//   - A write that nobody proposed is taken as the trace of a request over the
//     wire, is given to the engine as that request, and so followed.
//   - A broker's answer to StopReplica is assumed, and taken back after 15 s if
//     the topic does not go.
//
// What follows from such an assumption is marked as inferred in its record.
//
// It is not a source of what the cluster is: leaders, ISRs and counts come from
// the tree. It may import kstate/model and kstate/engine.
//
// Duties of the caller:
//   - Feed every change of the mirror, its marks included, in order.
//   - Take what it has to tell when Options.Bell rings.
package shadow
