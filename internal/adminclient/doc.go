// Package adminclient asks a cluster's controller over Kafka's own protocol for
// what no znode can ask for: unclean elections, elections with an answer for each
// partition, reassignments that replace or cancel others.
//
// It decides nothing and asks nobody for consent. What it connects with
// (TLS, SASL) is internal/handshake's.
//
// It may import kstate/model, kstate/internal/security,
// kstate/internal/handshake, franz-go's kgo, kmsg and kversion.
//
// Duties of the caller: a Client is closed; contexts bound each call.
package adminclient
