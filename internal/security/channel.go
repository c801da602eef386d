package security

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// Protocol is a security.protocol of Kafka.
type Protocol string

const (
	Plaintext     Protocol = "PLAINTEXT"
	SSL           Protocol = "SSL"
	SASLPlaintext Protocol = "SASL_PLAINTEXT"
	SASLSSL       Protocol = "SASL_SSL"
)

// ParseProtocol reads a security.protocol; letters of either case.
func ParseProtocol(s string) (Protocol, error) {
	switch p := Protocol(strings.ToUpper(strings.TrimSpace(s))); p {
	case Plaintext, SSL, SASLPlaintext, SASLSSL:
		return p, nil
	}
	return "", fmt.Errorf("%q is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", s)
}

// TLS tells whether the protocol encrypts.
func (p Protocol) TLS() bool { return p == SSL || p == SASLSSL }

// SASL tells whether the protocol authenticates by SASL.
func (p Protocol) SASL() bool { return p == SASLPlaintext || p == SASLSSL }

// Mechanism is a sasl.mechanism of Kafka.
type Mechanism string

const (
	Plain       Mechanism = "PLAIN"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	ScramSHA512 Mechanism = "SCRAM-SHA-512"
)

// ParseMechanism reads a sasl.mechanism. GSSAPI and OAUTHBEARER are refused.
func ParseMechanism(s string) (Mechanism, error) {
	switch m := Mechanism(strings.ToUpper(strings.TrimSpace(s))); m {
	case Plain, ScramSHA256, ScramSHA512:
		return m, nil
	}
	return "", fmt.Errorf("%q is not supported: kstate speaks PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512", s)
}

// Credential is how a client proves who it is.
type Credential struct {
	Mechanism Mechanism
	User      string
	Password  string
}

// String leaves the password out.
func (c Credential) String() string { return fmt.Sprintf("%s as %s", c.Mechanism, c.User) }

// GoString is String, for %#v.
func (c Credential) GoString() string { return c.String() }

// Channel is how a connection to a broker is secured.
type Channel struct {
	Protocol   Protocol
	TLS        *tls.Config // nil without TLS; ServerName is left to whoever dials
	Credential *Credential // nil without SASL
}

// SettingError is what is wrong with one setting. Why holds no secret.
type SettingError struct{ Setting, Why string }

// Error names the setting and what is wrong.
func (e *SettingError) Error() string { return e.Setting + ": " + e.Why }

func bad(setting, format string, args ...any) error {
	return &SettingError{setting, fmt.Sprintf(format, args...)}
}

// Client reads what a client needs out of Kafka's client settings; without
// security.protocol it is PLAINTEXT. Errors are *SettingError.
// Kafka: CommonClientConfigs, SslConfigs, SaslConfigs.
func Client(settings map[string]string) (Channel, error) {
	c := Channel{Protocol: Plaintext}
	var err error
	if s, ok := settings["security.protocol"]; ok {
		if c.Protocol, err = ParseProtocol(s); err != nil {
			return c, bad("security.protocol", "%v", err)
		}
	}
	if c.Protocol.TLS() {
		if c.TLS, err = ClientTLS(settings); err != nil {
			return c, err
		}
	}
	if c.Protocol.SASL() {
		c.Credential, err = ClientCredential(settings)
	}
	return c, err
}

// ClientCredential reads sasl.mechanism and sasl.jaas.config.
func ClientCredential(settings map[string]string) (*Credential, error) {
	given, ok := settings["sasl.mechanism"]
	if !ok {
		return nil, bad("sasl.mechanism", "it is missing, and Kafka's default, GSSAPI, is not supported: give PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	}
	m, err := ParseMechanism(given)
	if err != nil {
		return nil, bad("sasl.mechanism", "%v", err)
	}
	text, ok := settings["sasl.jaas.config"]
	if !ok {
		return nil, bad("sasl.jaas.config", "it is missing")
	}
	j, err := ParseJAAS(text)
	if err != nil {
		return nil, bad("sasl.jaas.config", "%v", err)
	}
	if want := loginModules[m]; j.Module != want {
		return nil, bad("sasl.jaas.config", "the login module is %s, but %s wants %s", j.Module, m, want)
	}
	c := &Credential{Mechanism: m, User: j.Options["username"], Password: j.Options["password"]}
	switch {
	case j.Options["tokenauth"] == "true":
		return nil, bad("sasl.jaas.config", "delegation tokens (tokenauth) are not supported")
	case c.User == "":
		return nil, bad("sasl.jaas.config", "it has no username")
	case c.Password == "":
		return nil, bad("sasl.jaas.config", "it has no password")
	}
	return c, nil
}

var loginModules = map[Mechanism]string{
	Plain:       "org.apache.kafka.common.security.plain.PlainLoginModule",
	ScramSHA256: "org.apache.kafka.common.security.scram.ScramLoginModule",
	ScramSHA512: "org.apache.kafka.common.security.scram.ScramLoginModule",
}
