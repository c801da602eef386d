// Package handshake is what happens on a connection before the first request:
// TLS and SASL, on both ends. Client is how this process reaches a listener of a
// broker, Listener how it takes connections on one of its own.
//
// Spoken are the mechanisms PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. Others are
// refused by name when the settings are read, never when a connection fails.
//
// It knows no controller, no ZooKeeper and no request but those of SASL. Where
// SCRAM credentials lie is the caller's to say (Credentials).
//
// It may import kstate/internal/security, kmsg, franz-go/pkg/sasl and the standard
// library.
//
// Duties of the caller:
//   - Credentials is called on connections' goroutines, and may take its time.
//   - A Credential is a secret: its String hides it, Encode does not.
package handshake
