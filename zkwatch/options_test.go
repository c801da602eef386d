package zkwatch

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"
)

func TestParseServers(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"zk1:2181", "zk1:2181"},
		{"zk1", "zk1:2181"},
		{"zk1:2181,zk2:2182/kafka", "zk1:2181,zk2:2182/kafka"},
		{" zk1:2181, zk2 /a/b/", "zk1:2181,zk2:2181/a/b"},
		{"zk1:2181/", "zk1:2181"},
		{"[::1]:2181/k", "[::1]:2181/k"},
		{"[::1]", "[::1]:2181"},
	} {
		a, err := ParseServers(tc.in)
		if err != nil || a.String() != tc.want {
			t.Errorf("%q: %q, %v; want %q", tc.in, a, err, tc.want)
		}
	}
	for in, part := range map[string]string{
		"": "names no server", "/kafka": "names no server", "a,,b": "a server is empty", "a:": `port "" is not a number`,
		"a:0": `port "0"`, "a:65536": `port "65536"`, "a:x": `port "x"`, ":2181": "has no host", "::1:2181": "brackets",
		"a:1:2": "brackets", "zk://a:2181": "begins with zk://", "a:1/k,b:2/k": "after the last server", "a:1/k,b:2": "after the last server",
		"a/..": `the name ".."`, "a//b": "empty name", "a:1/k\x01": "U+0001", "user@host:1": "no host name", "[::1": "server \"[::1\"",
	} {
		_, err := ParseServers(in)
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "HOST:PORT") {
			t.Errorf("%q: %v; want ... %s", in, err, part)
		}
	}
}

func TestDialRefusesWhatCannotWork(t *testing.T) {
	for part, opt := range map[string]Options{
		"SASL (DIGEST-MD5) is not supported": {Servers: "a:1", SASL: "DIGEST-MD5"},
		"USER:PASSWORD":                      {Servers: "a:1", Digest: "nobody"},
		"session timeout":                    {Servers: "a:1", SessionTimeout: time.Millisecond},
		"names no server":                    {},
		"read rate":                          {Servers: "a:1", ReadRate: -1},
	} {
		if _, err := Dial(context.Background(), opt); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: %v; want %s", opt, err, part)
		}
	}
}

func TestDialSaysWhatItTried(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err = Dial(ctx, Options{Servers: address})
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v", err)
	}
}

func TestOwnDialerAndTLSNameTheServer(t *testing.T) {
	seen := make(chan string, 1)
	c := &Conn{opt: Options{TLS: &tls.Config{}, Dialer: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			srv := tls.Server(far, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				seen <- h.ServerName
				return nil, net.ErrClosed
			}})
			_ = srv.Handshake()
			far.Close()
		}()
		return near, nil
	}}}
	if _, err := c.dialSocket(context.Background(), "tcp", "zk.example:2281"); err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("error %v", err)
	}
	if name := <-seen; name != "zk.example" {
		t.Errorf("server name %q", name)
	}
}
