// Package wire is Kafka's protocol at the controller's edge. It has two halves:
//
//   - Channels: one ordered, lossless channel per broker, over which the
//     controller's LeaderAndIsr, UpdateMetadata and StopReplica requests go, and
//     from which the answers come back as inputs.
//   - Server: the listener that brokers and clients call. What they ask of the
//     controller becomes an input; what the controller replies is written back.
//     What any broker may be asked (ApiVersions, Metadata, DescribeCluster) is
//     answered from a frozen view of the cluster, or handed on to a broker
//     byte for byte (Relay).
//
// It is not the controller: it decides nothing, it only carries. It is not a
// simulated broker either; those live elsewhere and share no code with it, so
// that the two do not share mistakes.
//
// It may import kstate/model, kstate/internal/handshake, kstate/internal/acl,
// kstate/internal/configs, kmsg and the standard library.
//
// Duties of the caller:
//   - OnInput must return soon and must not wait for the goroutine that calls
//     Channels.Link, Channels.Close or Server.Close: these wait for an OnInput
//     call that is under way.
//   - Requests, steps and views handed in are never changed afterwards.
//   - Each Reply is passed on once; a reply to a question whose asker has gone
//     away is dropped.
package wire
