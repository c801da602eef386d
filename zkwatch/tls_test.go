package zkwatch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{pool: x509.NewCertPool()}
	a.cert, a.key = a.make(t, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) make(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	cert, key := a.make(t, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// A server that demands a client certificate, over a real socket.
func TestTLSWithClientCertificate(t *testing.T) {
	l := newLab(t)
	l.seed("/k/a=1")
	ca := newAuthority(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "zk")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			back, err := l.server.Dial("tls")
			if err != nil {
				conn.Close()
				continue
			}
			go func() { _, _ = io.Copy(back, conn); back.Close() }()
			go func() { _, _ = io.Copy(conn, back); conn.Close() }()
		}
	}()
	address := listener.Addr().String()
	c := dialTest(t, Options{Servers: address + "/k", TLS: &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.issue(t, "client")}}})
	for range 2 {
		if r := c.Do(call(get("/a"))); string(r.Ops[0].Data) != "1" {
			t.Errorf("%+v", r)
		}
		l.server.Cut(c.State().SessionID)
	}
	for what, cfg := range map[string]*tls.Config{
		"certificate": {RootCAs: ca.pool},            // the server wants one
		"authority":   {RootCAs: x509.NewCertPool()}, // the server's is not known
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		_, err := Dial(ctx, Options{Servers: address, TLS: cfg})
		cancel()
		if err == nil || !strings.Contains(err.Error(), what) && !strings.Contains(err.Error(), "tls") {
			t.Errorf("without a proper %s: %v", what, err)
		}
	}
}
