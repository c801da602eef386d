package handshake

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kstate/internal/handshake/testcert"
	"kstate/internal/security"
)

type settings = map[string]string

// shake lets two ends meet and returns what the server knows of the client.
func shake(t *testing.T, server *tls.Config, client *tls.Config, host string) (*tls.ConnectionState, error) {
	t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	type met struct {
		state tls.ConnectionState
		err   error
	}
	taken := make(chan met, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			taken <- met{err: err}
			return
		}
		defer c.Close()
		err = c.(*tls.Conn).Handshake()
		taken <- met{c.(*tls.Conn).ConnectionState(), err}
	}()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	config := client.Clone()
	config.ServerName = host
	clientErr := tls.Client(conn, config).Handshake()
	m := <-taken
	if m.err != nil {
		return nil, m.err
	}
	return &m.state, clientErr
}

func TestTLSFromPEM(t *testing.T) {
	ca := testcert.NewAuthority(t)
	serverCert, serverKey := ca.Issue(t, pkix.Name{CommonName: "broker"}, "localhost")
	clientCert, clientKey := ca.Issue(t, pkix.Name{CommonName: "ann", Organization: []string{"Ex, ample"}}, "")
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trust := settings{"ssl.truststore.type": "PEM", "ssl.truststore.location": write("ca.pem", ca.PEM)}
	with := func(base settings, more settings) settings {
		out := settings{}
		for _, s := range []settings{base, more} {
			for k, v := range s {
				out[k] = v
			}
		}
		return out
	}
	ownInFile := settings{"ssl.keystore.type": "PEM", "ssl.keystore.location": write("own.pem", serverKey+serverCert)}
	ownInline := settings{"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": clientCert, "ssl.keystore.key": clientKey}
	server := func(auth string) *tls.Config {
		l, err := NewListener("X", security.SSL, with(with(trust, ownInFile), settings{"listener.name.x.ssl.client.auth": auth}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l.TLS
	}
	client := func(s settings) *tls.Config {
		c, err := security.Client(with(s, settings{"security.protocol": "SSL"}))
		if err != nil {
			t.Fatal(err)
		}
		return c.TLS
	}
	known, unknown := client(with(trust, ownInline)), client(trust)
	for _, x := range []struct {
		name   string
		server *tls.Config
		client *tls.Config
		host   string
		fine   bool
		as     string
	}{
		{"no client authentication", server("none"), known, "localhost", true, ""},
		{"another host", server("none"), known, "elsewhere", false, ""},
		{"another host, names not looked at", server("none"), client(with(trust, settings{"ssl.endpoint.identification.algorithm": ""})), "elsewhere", true, ""},
		{"an unknown authority, names not looked at", server("none"), client(with(settings{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": testcert.NewAuthority(t).PEM}, settings{"ssl.endpoint.identification.algorithm": ""})), "localhost", false, ""},
		{"the system's authorities", server("none"), client(settings{}), "localhost", false, ""},
		{"requested and shown", server("requested"), known, "localhost", true, `CN=ann,O=Ex\, ample`},
		{"requested and not shown", server("requested"), unknown, "localhost", true, ""},
		{"required and shown", server("required"), known, "localhost", true, `CN=ann,O=Ex\, ample`},
		{"required and not shown", server("required"), unknown, "localhost", false, ""},
	} {
		state, err := shake(t, x.server, x.client, x.host)
		if (err == nil) != x.fine {
			t.Errorf("%s: %v", x.name, err)
		}
		as := ""
		if err == nil && len(state.PeerCertificates) > 0 {
			as = SubjectName(state.PeerCertificates[0])
		}
		if as != x.as {
			t.Errorf("%s: the client is %q, want %q", x.name, as, x.as)
		}
	}
}

// The names are those that Java gives.
func TestSubjectNames(t *testing.T) {
	rdn := func(pairs ...pkix.AttributeTypeAndValue) pkix.RelativeDistinguishedNameSET { return pairs }
	cn := func(s string) pkix.AttributeTypeAndValue {
		return pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: s}
	}
	o := pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 10}, Value: "Org"}
	dc := pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}, Value: "example"}
	for want, seq := range map[string]pkix.RDNSequence{
		"CN=ann,O=Org":                      {rdn(o), rdn(cn("ann"))},
		`CN=\ a\,b\+c\=d\#e\<f\>\;g\"h\\\ `: {rdn(cn(" a,b+c=d#e<f>;g\"h\\ "))},
		"2.5.4.12=#130178":                  {rdn(pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 12}, Value: "x"})},
		"CN=ann+O=Org,DC=example":           {rdn(dc), rdn(cn("ann"), o)},
		"CN=Müller":                         {rdn(cn("Müller"))},
	} {
		raw, err := asn1.Marshal(seq)
		if err != nil {
			t.Fatal(err)
		}
		if got := SubjectName(&x509.Certificate{RawSubject: raw}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestWhatAListenerCannotDo(t *testing.T) {
	for _, x := range []struct {
		p    security.Protocol
		s    settings
		want string
	}{
		{security.SSL, settings{}, "needs a certificate"},
		{security.SASLPlaintext, settings{}, "sasl.enabled.mechanisms"},
		{security.SASLPlaintext, settings{"sasl.enabled.mechanisms": "OAUTHBEARER"}, "OAUTHBEARER"},
		{security.SASLPlaintext, settings{"sasl.enabled.mechanisms": "PLAIN"}, "listener.name.in.plain.sasl.jaas.config: it is missing"},
		{security.SASLPlaintext, settings{"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": "a.ScramLoginModule required user_a=b;"}, "not PlainLoginModule"},
		{security.SASLPlaintext, settings{"sasl.enabled.mechanisms": "SCRAM-SHA-256"}, "look its users up"},
		{security.SASLPlaintext, settings{"sasl.enabled.mechanisms": "PLAIN", "connections.max.reauth.ms": "soon"}, "connections.max.reauth.ms"},
	} {
		if _, err := NewListener("IN", x.p, x.s, nil); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %v: %v, want %q in it", x.p, x.s, err, x.want)
		}
	}
}
