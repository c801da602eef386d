// Package testcert makes certificates for tests: an authority, and what it issues.
//
// It may import the standard library. Only tests import it.
package testcert
