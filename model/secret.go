package model

import (
	"slices"
	"strings"
)

// secretWords are what the names of secret settings and fields have in them,
// lower case. Kafka: ConfigDef.Type.PASSWORD, ScramCredentialUtils, DelegationTokenManager.
var secretWords = []string{"password", "secret", "jaas", "scram", "hmac", "salt", "storedkey", "stored_key", "serverkey", "server_key",
	"credential", "token", "keystore.key", "keystore.certificate", "truststore.certificates", "private"}

// IsSecret tells whether the value of a setting or field of that name may be a
// secret, by parts of the name in any case; it errs on the side of yes. It is the
// one rule for what screens, journals, exports and logs leave out.
func IsSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}
