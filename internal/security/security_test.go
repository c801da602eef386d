package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const scram = "org.apache.kafka.common.security.scram.ScramLoginModule"

func TestJAAS(t *testing.T) {
	j, err := ParseJAAS(scram + " required\n username=alice password=\"a;b\\\"=c \\\\\" tokenauth='false';")
	if err != nil || j.Module != scram || j.Options["username"] != "alice" || j.Options["password"] != `a;b"=c \` || j.Options["tokenauth"] != "false" {
		t.Errorf("read: %v %q, error %v", j, j.Options, err)
	}
	if s := fmt.Sprintf("%v %+v %#v", j, j, j); strings.Contains(s, "a;b") {
		t.Errorf("a password is printed: %s", s)
	}
	for text, want := range map[string]string{
		"":                                          "CLASS required",
		scram + " needed a=b;":                      "no flag",
		scram + ` required password="hush;`:         "not closed",
		scram + ` required password="hush"`:         "semicolon",
		scram + ` required password hush;`:          "not KEY",
		scram + ` required a=hush; b required x=y;`: "more",
	} {
		if _, err := ParseJAAS(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestClientSettings(t *testing.T) {
	dir := t.TempDir()
	both, _ := certificate(t)
	store := filepath.Join(dir, "both.pem")
	if err := os.WriteFile(store, both, 0o600); err != nil {
		t.Fatal(err)
	}
	jaas := scram + ` required username="alice" password="hush";`
	c, err := Client(map[string]string{"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas,
		"ssl.truststore.location": store, "ssl.truststore.type": "PEM", "ssl.keystore.location": store, "ssl.keystore.type": "pem"})
	if err != nil || c.Protocol != SASLSSL || c.TLS == nil || c.TLS.RootCAs == nil || len(c.TLS.Certificates) != 1 || c.TLS.MinVersion != tls.VersionTLS12 ||
		c.Credential == nil || *c.Credential != (Credential{ScramSHA512, "alice", "hush"}) {
		t.Fatalf("%+v, error %v", c, err)
	}
	if s := fmt.Sprintf("%v %+v %#v", c.Credential, *c.Credential, *c.Credential); strings.Contains(s, "hush") {
		t.Errorf("a password is printed: %s", s)
	}
	if c, err := Client(nil); err != nil || c.Protocol != Plaintext || c.TLS != nil || c.Credential != nil {
		t.Errorf("without settings: %+v, error %v", c, err)
	}
	sasl := func(more ...string) map[string]string {
		m := map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
		for i := 0; i < len(more); i += 2 {
			if m[more[i]] = more[i+1]; more[i+1] == "" {
				delete(m, more[i])
			}
		}
		return m
	}
	ssl := func(more ...string) map[string]string {
		return sasl(append([]string{"security.protocol", "SSL"}, more...)...)
	}
	for _, bad := range []struct {
		settings map[string]string
		want     string
	}{
		{map[string]string{"security.protocol": "TLS"}, "security.protocol: "},
		{sasl("sasl.mechanism", ""), "GSSAPI"},
		{sasl("sasl.mechanism", "OAUTHBEARER"), "not supported"},
		{sasl("sasl.jaas.config", ""), "sasl.jaas.config: it is missing"},
		{sasl(), "PLAIN wants"},
		{sasl("sasl.mechanism", "SCRAM-SHA-256", "sasl.jaas.config", scram+" required username=a;"), "no password"},
		{sasl("sasl.mechanism", "SCRAM-SHA-256", "sasl.jaas.config", scram+" required password=hush;"), "no username"},
		{ssl("ssl.truststore.location", store), "JKS (Kafka's default) is not supported"},
		{ssl("ssl.truststore.location", store, "ssl.truststore.type", "PKCS12"), "PKCS12 is not supported"},
		{ssl("ssl.truststore.location", store+"x", "ssl.truststore.type", "PEM"), "no such file"},
		{ssl("ssl.truststore.certificates", "hush", "ssl.truststore.type", "PEM"), "no certificate"},
		{ssl("ssl.keystore.certificate.chain", string(both), "ssl.keystore.type", "PEM"), "ssl.keystore.key: it is missing"},
		{ssl("ssl.keystore.certificate.chain", string(both), "ssl.keystore.type", "PEM", "ssl.keystore.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), "encrypted"},
		{ssl("ssl.endpoint.identification.algorithm", "ldap"), "neither https nor empty"},
		{ssl("ssl.enabled.protocols", "TLSv1.3,SSLv3"), `"SSLv3"`},
	} {
		if _, err := Client(bad.settings); err == nil || !strings.Contains(err.Error(), bad.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: error %v", bad.want, err)
		}
	}
}

// Without endpoint identification the name does not matter; the chain does.
func TestNamesAndChains(t *testing.T) {
	own, pair := certificate(t) // for example.org
	other, _ := certificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = c.(*tls.Conn).Handshake(); c.Close() }()
		}
	}()
	for _, c := range []struct {
		name  string
		trust []byte
		check string
		good  bool
	}{{"name checked", own, "https", false}, {"name not checked", own, "", true}, {"chain not trusted", other, "", false}} {
		config, err := ClientTLS(map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": string(c.trust), "ssl.endpoint.identification.algorithm": c.check})
		if err != nil {
			t.Fatal(err)
		}
		config.ServerName, _, _ = net.SplitHostPort(l.Addr().String())
		conn, err := tls.Dial("tcp", l.Addr().String(), config)
		if (err == nil) != c.good {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// certificate is a certificate of its own, with its key, in one PEM text.
func certificate(t *testing.T) ([]byte, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "kstate test " + serial.String()}, DNSNames: []string{"example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})...)
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		t.Fatal(err)
	}
	return text, pair
}
