// Package live is the environment of a controller in earnest: ZooKeeper by
// kstate/zkwatch, brokers by kstate/internal/wire, a clock for alarms and a
// random source for topic ids. The lab and control mode use the same one; what
// differs is who is at the other end.
//
// It decides nothing, and holds no engine.
//
// It may import kstate/model, kstate/zkwatch, kstate/internal/wire, and what
// stands before a request and beside it: kstate/internal/security,
// kstate/internal/handshake, kstate/internal/acl, kstate/internal/configs.
//
// Duties of the caller:
//   - Perform is called by one goroutine for calls and one for all other steps.
//   - OnInput must not block.
//   - Call Viewed after each event, so that clients' metadata requests see it.
package live
