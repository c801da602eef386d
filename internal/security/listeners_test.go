package security

import (
	"crypto/tls"
	"strings"
	"testing"
)

func TestSettingsOfAListener(t *testing.T) {
	all := map[string]string{
		"ssl.keystore.type": "JKS", "listener.name.inside.ssl.keystore.type": "PEM",
		"sasl.enabled.mechanisms": "SCRAM-SHA-512, PLAIN", "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
		"listener.name.inside.scram-sha-512.sasl.jaas.config": scram + ` required username="kstate" password="s";`,
		"listener.name.outside.plain.sasl.jaas.config":        `org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="s" user_ann="s";`,
	}
	if got := ForListener(all, "INSIDE")["ssl.keystore.type"]; got != "PEM" {
		t.Errorf("the listener's own setting: %s", got)
	}
	if got := ForListener(all, "OUTSIDE")["ssl.keystore.type"]; got != "JKS" {
		t.Errorf("the common setting: %s", got)
	}
	for listener, want := range map[string]string{"INSIDE": "SCRAM-SHA-512 as kstate", "OUTSIDE": "PLAIN as ann"} {
		c, err := Client(ToListener(all, listener, SASLPlaintext))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Credential.String(); got != want {
			t.Errorf("to %s: %s, want %s", listener, got, want)
		}
	}
	if _, err := Client(ToListener(all, "ELSEWHERE", SASLPlaintext)); err == nil || !strings.Contains(err.Error(), "sasl.jaas.config: it is missing") {
		t.Errorf("a listener without a user: %v", err)
	}
}

func TestServerSettings(t *testing.T) {
	both, _ := certificate(t)
	with := func(more ...string) map[string]string {
		m := map[string]string{"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": string(both), "ssl.keystore.key": string(both)}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	for auth, want := range map[string]tls.ClientAuthType{"": tls.NoClientCert, "none": tls.NoClientCert, "requested": tls.VerifyClientCertIfGiven, "Required": tls.RequireAndVerifyClientCert} {
		c, err := ServerTLS(with("ssl.client.auth", auth, "ssl.cipher.suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"))
		if err != nil || c.ClientAuth != want || len(c.Certificates) != 1 || len(c.CipherSuites) != 1 {
			t.Errorf("%q: %+v, %v", auth, c, err)
		}
	}
	for want, settings := range map[string]map[string]string{
		"needs a certificate":         {},
		"ssl.client.auth":             with("ssl.client.auth", "maybe"),
		"ssl.principal.mapping.rules": with("ssl.client.auth", "required", "ssl.principal.mapping.rules", "RULE:x/y/"),
		"ssl.cipher.suites":           with("ssl.cipher.suites", "TLS_NULL"),
	} {
		if _, err := ServerTLS(settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSecretSettingsAreRedacted(t *testing.T) {
	for name, secret := range map[string]bool{"ssl.keystore.password": true, "listener.name.a.plain.sasl.jaas.config": true, "ssl.keystore.location": false} {
		if (Redacted(name, "value") != "value") != secret {
			t.Errorf("%s: %s", name, Redacted(name, "value"))
		}
	}
}
