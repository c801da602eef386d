package wire

import (
	"context"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kstate/internal/handshake"
	"kstate/internal/handshake/testcert"
	"kstate/internal/security"
	"kstate/model"
)

// secured are settings of a listener X for which ann has a password in every
// mechanism, and of clients of it.
type secured struct{ server, client map[string]string }

func newSecured(t *testing.T) secured {
	ca := testcert.NewAuthority(t)
	cert, key := ca.Issue(t, pkix.Name{CommonName: "controller"}, "localhost")
	own, ownKey := ca.Issue(t, pkix.Name{CommonName: "ann's machine"}, "")
	trust := map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": ca.PEM, "ssl.keystore.type": "PEM"}
	s := secured{map[string]string{}, map[string]string{}}
	for k, v := range trust {
		s.server[k], s.client[k] = v, v
	}
	s.server["ssl.keystore.certificate.chain"], s.server["ssl.keystore.key"] = cert, key
	s.client["ssl.keystore.certificate.chain"], s.client["ssl.keystore.key"] = own, ownKey
	s.server["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
	s.server["listener.name.x.plain.sasl.jaas.config"] = `org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="secret";`
	return s
}

// listen opens listener X on a free port of the server.
func (s secured) listen(t *testing.T, ts *testServer, p security.Protocol, more ...string) string {
	t.Helper()
	for i := 0; i < len(more); i += 2 {
		s.server[more[i]] = more[i+1]
	}
	l, err := handshake.NewListener("X", p, s.server, func(user string, m security.Mechanism) (handshake.Credential, bool, error) {
		c, err := handshake.Derive(m, "secret", []byte("salt"), handshake.MinIterations)
		return c, user == "ann", err
	})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := ts.Listen("127.0.0.1:0", "X", l)
	if err != nil {
		t.Fatal(err)
	}
	return addr.String()
}

// dialer is a client's own, as kstate's channels use it.
func (s secured) dialer(t *testing.T, p security.Protocol, more ...string) *handshake.Client {
	t.Helper()
	settings := map[string]string{"security.protocol": string(p)}
	for k, v := range s.client {
		settings[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	c, err := security.Client(settings)
	if err != nil {
		t.Fatal(err)
	}
	return &handshake.Client{Channel: c}
}

func jaas(m security.Mechanism, user, password string) string {
	class := "scram.Scram"
	if m == security.Plain {
		class = "plain.Plain"
	}
	return fmt.Sprintf("org.apache.kafka.common.security.%sLoginModule required username=%q password=%q;", class, user, password)
}

// Each protocol and mechanism, with kstate's own client: the controller is told
// who asks, and a wrong password is refused.
func TestEveryProtocolAndMechanism(t *testing.T) {
	users := make(chan string, 100)
	ts := newTestServer(t, func(o *ServerOptions) {
		o.Quota = func(user, _ string) (string, float64) { users <- user; return "", 0 }
	})
	s := newSecured(t)
	mechanisms := []security.Mechanism{security.Plain, security.ScramSHA256, security.ScramSHA512}
	for _, x := range []struct {
		p          security.Protocol
		mechanisms []security.Mechanism
		auth       string
		as         string
	}{
		{security.Plaintext, []security.Mechanism{""}, "", Anonymous},
		{security.SSL, []security.Mechanism{""}, "none", Anonymous},
		{security.SSL, []security.Mechanism{""}, "required", "CN=ann's machine"},
		{security.SASLPlaintext, mechanisms, "", "ann"},
		{security.SASLSSL, mechanisms, "requested", "ann"},
	} {
		addr := s.listen(t, ts, x.p, "ssl.client.auth", x.auth)
		for _, m := range x.mechanisms {
			more := func(password string) []string {
				return []string{"sasl.mechanism", string(m), "sasl.jaas.config", jaas(m, "ann", password)}
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			conn, err := s.dialer(t, x.p, more("secret")...).Dial(ctx, addr)
			if err != nil {
				t.Errorf("%s %s: %v", x.p, m, err)
				cancel()
				continue
			}
			c := &client{t: t, c: conn}
			q := kmsg.NewPtrCreateTopicsRequest()
			c.send(q, 7, 9)
			if got := take(t, users, "question for a quota"); got != x.as {
				t.Errorf("%s %s: the client is %s, want %s", x.p, m, got, x.as)
			}
			ts.Reply(&model.Reply{Ask: take(t, ts.asked, "question").ID, Answer: &model.CreateTopicsAnswer{}})
			c.receive(q, 9)
			conn.Close()
			if m != "" {
				_, err := s.dialer(t, x.p, more("wrong")...).Dial(ctx, addr)
				if err == nil || !strings.Contains(err.Error(), "uthentication failed") || strings.Contains(err.Error(), "wrong") {
					t.Errorf("%s %s with a wrong password: %v", x.p, m, err)
				}
				take(t, ts.failures, "failure of an authentication")
			}
			cancel()
		}
	}
}

// A client of another make, over SASL_SSL.
func TestForeignClientAuthenticates(t *testing.T) {
	ts := newTestServer(t, nil)
	s := newSecured(t)
	addr := s.listen(t, ts, security.SASLSSL)
	tls := s.dialer(t, security.SSL).TLS
	ask := func(m sasl.Mechanism) error {
		c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DialTLSConfig(tls), kgo.SASL(m), kgo.RetryTimeout(0), kgo.RequestRetries(0))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		_, err = kmsg.NewPtrDescribeClusterRequest().RequestWith(ctx, c)
		return err
	}
	for _, m := range []func(user, password string) sasl.Mechanism{
		func(u, p string) sasl.Mechanism { return plain.Auth{User: u, Pass: p}.AsMechanism() },
		func(u, p string) sasl.Mechanism { return scram.Auth{User: u, Pass: p}.AsSha256Mechanism() },
		func(u, p string) sasl.Mechanism { return scram.Auth{User: u, Pass: p}.AsSha512Mechanism() },
	} {
		if err := ask(m("ann", "secret")); err != nil {
			t.Errorf("%s: %v", m("", "").Name(), err)
		}
		for _, who := range [][2]string{{"ann", "wrong"}, {"bob", "secret"}} {
			if err := ask(m(who[0], who[1])); !errors.Is(err, kerr.SaslAuthenticationFailed) {
				t.Errorf("%s as %v: %v", m("", "").Name(), who, err)
			}
		}
	}
}

// Requests before the authentication, and what is out of turn in it, end the
// connection.
func TestNothingIsServedBeforeAuthentication(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.MaxFrame = 2 << 20 })
	s := newSecured(t)
	addr := s.listen(t, ts, security.SASLPlaintext, "sasl.server.max.receive.size", "1000")
	connect := func() *client {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return &client{t: t, c: c}
	}
	hello := func(c *client, mechanism string, version int16) model.KafkaError {
		q := kmsg.NewPtrSASLHandshakeRequest()
		q.Mechanism = mechanism
		return model.KafkaError(ask[*kmsg.SASLHandshakeResponse](c, q, version).ErrorCode)
	}
	prove := func(c *client, message string, version int16) *kmsg.SASLAuthenticateResponse {
		q := kmsg.NewPtrSASLAuthenticateRequest()
		q.SASLAuthBytes = []byte(message)
		return ask[*kmsg.SASLAuthenticateResponse](c, q, version)
	}
	ends := func(what string, c *client) {
		t.Helper()
		if f := c.read(); f != nil {
			t.Errorf("%s: answered with %x", what, f)
		}
		take(t, ts.failures, "failure: "+what)
	}
	c := connect()
	c.send(kmsg.NewPtrMetadataRequest(), 1, 1)
	ends("Metadata first", c)
	c = connect()
	c.send(kmsg.NewPtrSASLAuthenticateRequest(), 1, 1)
	ends("SaslAuthenticate without SaslHandshake", c)
	c = connect()
	c.write(make([]byte, 1001))
	ends("a frame that is too long", c)
	c = connect()
	if a := ask[*kmsg.ApiVersionsResponse](c, kmsg.NewPtrApiVersionsRequest(), 0); a.ErrorCode != 0 || !slices.ContainsFunc(a.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == 36 }) {
		t.Errorf("ApiVersions first: %+v", a)
	}
	c.send(kmsg.NewPtrApiVersionsRequest(), 0, 2)
	ends("ApiVersions twice", c)
	c = connect()
	if e := hello(c, "GSSAPI", 1); e != errUnsupportedSaslMechanism {
		t.Errorf("GSSAPI: %v", e)
	}
	if f := c.read(); f != nil {
		t.Errorf("after an unknown mechanism: %x", f)
	}
	c = connect()
	hello(c, "PLAIN", 1)
	c.send(kmsg.NewPtrMetadataRequest(), 1, 1)
	ends("Metadata in the authentication", c)
	c = connect()
	hello(c, "PLAIN", 1)
	if a := prove(c, "\x00ann\x00wrong", 2); model.KafkaError(a.ErrorCode) != errSaslAuthenticationFailed || a.ErrorMessage == nil {
		t.Errorf("a wrong password: %+v", a)
	}
	ends("a wrong password", c)
	for v := range int16(3) {
		c = connect()
		hello(c, "PLAIN", 1)
		if a := prove(c, "\x00ann\x00secret", v); a.ErrorCode != 0 || a.SessionLifetimeMillis != 0 {
			t.Errorf("version %d: %+v", v, a)
		}
		if a := ask[*kmsg.MetadataResponse](c, kmsg.NewPtrMetadataRequest(), 1); a.ControllerID != 2 {
			t.Errorf("no metadata after version %d", v)
		}
		if a := prove(c, "\x00ann\x00secret", v); model.KafkaError(a.ErrorCode) != errIllegalSaslState {
			t.Errorf("authenticating twice: %+v", a)
		}
	}
	c = connect() // as in 0.10: no header around the messages
	hello(c, "PLAIN", 0)
	c.write([]byte("\x00ann\x00secret"))
	var empty [4]byte
	c.c.SetReadDeadline(time.Now().Add(deadline))
	if _, err := c.c.Read(empty[:]); err != nil || binary.BigEndian.Uint32(empty[:]) != 0 {
		t.Errorf("the answer to a bare message: %x, %v", empty, err)
	}
	if a := ask[*kmsg.MetadataResponse](c, kmsg.NewPtrMetadataRequest(), 1); a.ControllerID != 2 {
		t.Error("no metadata after a bare message")
	}
	c = connect()
	hello(c, "PLAIN", 0)
	c.write([]byte("\x00ann\x00wrong"))
	ends("a wrong password, bare", c)
	if n := len(ts.asked); n != 0 {
		t.Errorf("%d questions came through", n)
	}
}

// Who does not come to an end with it in time is cut off; who does not
// authenticate again is too.
func TestAuthenticationHasItsTime(t *testing.T) {
	ts := newTestServer(t, func(o *ServerOptions) { o.Handshake = 50 * time.Millisecond })
	s := newSecured(t)
	for _, p := range []security.Protocol{security.SSL, security.SASLPlaintext, security.SASLSSL} {
		c, err := net.Dial("tcp", s.listen(t, ts, p))
		if err != nil {
			t.Fatal(err)
		}
		silent := &client{t: t, c: c}
		if f := silent.read(); f != nil {
			t.Errorf("%s: %x", p, f)
		}
		take(t, ts.failures, "failure of a silent client")
		c.Close()
	}
}

func TestReauthentication(t *testing.T) {
	ts := newTestServer(t, nil)
	s := newSecured(t)
	addr := s.listen(t, ts, security.SASLPlaintext, "connections.max.reauth.ms", "60000")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := &client{t: t, c: conn}
	as := func(user string) *kmsg.SASLAuthenticateResponse {
		q := kmsg.NewPtrSASLHandshakeRequest()
		q.Mechanism = "PLAIN"
		if a := ask[*kmsg.SASLHandshakeResponse](c, q, 1); a.ErrorCode != 0 {
			t.Fatalf("%+v", a)
		}
		p := kmsg.NewPtrSASLAuthenticateRequest()
		p.SASLAuthBytes = []byte("\x00" + user + "\x00secret")
		return ask[*kmsg.SASLAuthenticateResponse](c, p, 1)
	}
	for range 2 {
		if a := as("ann"); a.ErrorCode != 0 || a.SessionLifetimeMillis != 60000 {
			t.Fatalf("%+v", a)
		}
	}
	i := identity{user: "ann", expires: time.Now().Add(-time.Second)}
	if i.expired() == nil {
		t.Error("a session that is over goes on")
	}
	if a := as("bob"); model.KafkaError(a.ErrorCode) != errSaslAuthenticationFailed {
		t.Errorf("as somebody else: %+v", a)
	}
	if f := c.read(); f != nil {
		t.Errorf("after that: %x", f)
	}
}

// FuzzAuthentication: whatever a stranger sends to a listener with SASL, the
// controller is asked nothing.
func FuzzAuthentication(f *testing.F) {
	settings := map[string]string{"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
		"plain.sasl.jaas.config": `org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="unguessable";`}
	l, err := handshake.NewListener("X", security.SASLPlaintext, settings, func(string, security.Mechanism) (handshake.Credential, bool, error) {
		return handshake.Credential{}, false, nil
	})
	if err != nil {
		f.Fatal(err)
	}
	request := kmsg.NewRequestFormatter(kmsg.FormatterClientID("x"))
	hello, plain := kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLAuthenticateRequest()
	plain.SASLAuthBytes = []byte("\x00ann\x00guess")
	for v := range int16(2) {
		for _, m := range []string{"PLAIN", "SCRAM-SHA-256"} {
			hello.Version, hello.Mechanism = v, m
			f.Add(slices.Concat(request.AppendRequest(nil, hello, 1), request.AppendRequest(nil, plain, 2), request.AppendRequest(nil, kmsg.NewPtrMetadataRequest(), 3)))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := NewServer(ServerOptions{OnInput: func(model.Stimulus) { t.Error("a question came through") }, Cluster: mixedCluster})
		near, far := net.Pipe()
		s.start(far, "X", l)
		go io.Copy(io.Discard, near)
		near.SetWriteDeadline(time.Now().Add(deadline))
		near.Write(in) // fails when the server closes the connection first
		near.Close()
		s.Close()
	})
}
