// Package security turns Kafka's own security settings (security.protocol, ssl.*,
// sasl.*) into a TLS configuration and a credential.
//
// It is for both ends of a connection, but opens none, and it speaks no SASL
// itself. Stores in PEM are read; those of Java (JKS, PKCS12) are refused with
// the way to convert them.
//
// It may import model (which settings are secrets) and the standard library.
//
// Duties of the caller:
//   - A Credential is handed to whoever authenticates, and printed by nobody: its
//     String leaves the password out.
//   - Settings that this package does not know are passed over, as Kafka does.
package security
