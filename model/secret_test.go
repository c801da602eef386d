package model

import (
	"strings"
	"testing"
)

func TestSecretsAreKnownByName(t *testing.T) {
	for name, secret := range map[string]bool{
		"ssl.keystore.password": true, "ssl.keystore.key": true, "ssl.keystore.certificate.chain": true, "ssl.truststore.certificates": true,
		"listener.name.a.plain.sasl.jaas.config": true, "SCRAM-SHA-256": true, "sasl.oauthbearer.client.secret": true,
		"delegation.token.master.key": true, "storedKey": true, "StoredKey": true,
		"ssl.keystore.location": false, "ssl.truststore.location": false, "sasl.mechanism": false, "retention.ms": false, "log.retention.ms": false,
	} {
		if IsSecret(name) != secret {
			t.Errorf("%s: secret is %v", name, !secret)
		}
	}
}

func TestPayloadsAreMasked(t *testing.T) {
	for _, c := range []struct{ path, in, want string }{
		{"/config/brokers/1", `{"version":1,"config":{"ssl.keystore.password":"hunter2","log.cleaner.threads":"2"}}`,
			`{"version":1,"config":{"log.cleaner.threads":"2","ssl.keystore.password":"***"}}`},
		{"/config/users/u", `{"version":1,"config":{"SCRAM-SHA-256":"salt=hunter2"}}`, `{"version":1,"config":{"SCRAM-SHA-256":"***"}}`},
		{"/config/users/u/clients/c", `{"version":1,"config":{"SCRAM-SHA-512":"hunter2"}}`, `{"version":1,"config":{"SCRAM-SHA-512":"***"}}`},
		{"/config/topics/t", `{"config":{"retention.ms":"1"},"version":1}`, `{"config":{"retention.ms":"1"},"version":1}`}, // to the byte
		{"/config/topics/t", `{"version":1,"config":{"a.password":"hunter2"`, "***, 45 bytes that cannot be read as settings and may hold a secret"},
		{"/config/topics/t", `{"version":1,"config":{"a":"b"`, `{"version":1,"config":{"a":"b"`},
		{"/brokers/topics/password", `{"partitions":{}}`, `{"partitions":{}}`},
	} {
		if got := MaskedPayload(c.path, []byte(c.in)); *got != c.want || strings.Contains(*got, "hunter2") {
			t.Errorf("%s %s\n got %s\nwant %s", c.path, c.in, *got, c.want)
		}
	}
	if MaskedPayload("/config/topics/t", nil) != nil {
		t.Error("null data has a text")
	}
}
