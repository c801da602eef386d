package zkwatch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"kstate/model"
)

// The limits and defaults of this package.
const (
	// DefaultSessionTimeout is Kafka's zookeeper.session.timeout.ms.
	DefaultSessionTimeout = 18 * time.Second
	// minSessionTimeout keeps go-zookeeper's ping interval (a third) sensible.
	minSessionTimeout = 100 * time.Millisecond
	// defaultWindow is how many requests of calls are unanswered at a time.
	defaultWindow = 64
	// maxFrame bounds one frame of the server: 43,000 children of one znode
	// are 1 MiB.
	maxFrame = 64 << 20
	// defaultPort is ZooKeeper's client port.
	defaultPort = 2181
)

// Options says where ZooKeeper is and how to talk to it.
type Options struct {
	// Servers is host:port[,host:port...][/chroot], as Kafka's zookeeper.connect.
	Servers string
	// SessionTimeout is asked for; the server may grant another. 0 means
	// DefaultSessionTimeout.
	SessionTimeout time.Duration
	// TLS, if set, encrypts the connection; it may hold a client certificate.
	// An empty ServerName means the name of the server that is dialled.
	TLS *tls.Config
	// Digest is user:password for ZooKeeper's digest scheme; empty for none.
	Digest string
	// SASL names a SASL mechanism. It is not supported: Dial refuses it.
	SASL string
	// SetACL restricts what is created as zookeeper.set.acl does: the creator may
	// do everything, the world may read what is not sensitive.
	SetACL bool
	// Gate decides on every write; nil means ReadOnly.
	Gate *Gate
	// Dialer replaces TCP, as for a server in the same process; TLS, if set, runs
	// on top of it.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
	// Window is how many requests of calls may be unanswered; 0 means 64.
	Window int
	// ReadRate bounds bulk reads (ReadTree, Mirror, batched reads of calls), in
	// znodes a second; 0 means no bound.
	ReadRate int

	// OnInput, if set, makes the Conn a controller's: reads with Watch arm
	// one-shot watches, and WatchFired, SessionExpired and SessionRenewed come
	// here, each before any result that could show what caused it. Without it
	// Watch is ignored and a lost session is replaced at once.
	OnInput func(model.Stimulus)
	// OnState is told of each change of State.
	OnState func(State)
	// OnResend is told of each request that is sent again, because the connection
	// broke before its answer came.
	OnResend func(Resend)
	// Log gets one line for each thing that an operator may want to know, those of
	// go-zookeeper included.
	Log func(string)
}

// Resend is one repeated request. Kafka: KafkaZkClient.retryRequestsUntilConnected.
type Resend struct {
	Purpose string     // of the call
	Ops     []model.Op // one, or the ops of a transaction or of a batched read
	Attempt int        // 2 for the first repetition
}

// Address is a parsed Options.Servers.
type Address struct {
	Servers []string // host:port
	Chroot  string   // "" for none, else begins with a slash and does not end in one
}

// String is the connect string again.
func (a Address) String() string { return strings.Join(a.Servers, ",") + a.Chroot }

// ParseServers reads host:port[,host:port...][/chroot]. A missing port is 2181;
// an IPv6 address stands in brackets. The error says which part is wrong.
func ParseServers(s string) (Address, error) {
	fail := func(format string, args ...any) (Address, error) {
		return Address{}, fmt.Errorf("ZooKeeper address %q: %s; want HOST:PORT[,HOST:PORT...][/CHROOT]", s, fmt.Sprintf(format, args...))
	}
	hosts, chroot, _ := strings.Cut(s, "/")
	if scheme, _, found := strings.Cut(s, "://"); found {
		return fail("it begins with %s://, which is not part of it", scheme)
	}
	if strings.TrimSpace(hosts) == "" {
		return fail("it names no server")
	}
	var a Address
	for part := range strings.SplitSeq(hosts, ",") {
		server, err := parseServer(strings.TrimSpace(part))
		if err != nil {
			return fail("%v", err)
		}
		a.Servers = append(a.Servers, server)
	}
	if chroot = strings.TrimRight(chroot, "/"); chroot == "" {
		return a, nil
	}
	a.Chroot = "/" + chroot
	if err := checkPath(a.Chroot); err != nil {
		if strings.Contains(chroot, ",") {
			err = errors.New("the chroot stands once, after the last server")
		}
		return fail("the chroot %q is no path: %v", a.Chroot, err)
	}
	if _, after, found := strings.Cut(chroot, ","); found && strings.Contains(after, ":") {
		return fail("the chroot stands once, after the last server")
	}
	return a, nil
}

func parseServer(s string) (string, error) {
	if s == "" {
		return "", errors.New("a server is empty")
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		if strings.Count(s, ":") > 1 && !strings.HasPrefix(s, "[") {
			return "", fmt.Errorf("server %q: an IPv6 address stands in brackets", s)
		}
		if strings.Contains(strings.TrimSuffix(s, "]"), "]:") || strings.Count(s, ":") == 1 {
			return "", fmt.Errorf("server %q: %v", s, err)
		}
		host, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), strconv.Itoa(defaultPort)
		if strings.HasPrefix(s, "[") != strings.HasSuffix(s, "]") {
			return "", fmt.Errorf("server %q: a bracket is missing", s)
		}
	}
	if host == "" {
		return "", fmt.Errorf("server %q has no host", s)
	}
	if strings.ContainsAny(host, " \t@?#") {
		return "", fmt.Errorf("server %q: %q is no host name", s, host)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("server %q: port %q is not a number from 1 to 65535", s, port)
	}
	return net.JoinHostPort(host, port), nil
}

// checkPath finds what ZooKeeper would refuse in a path.
func checkPath(path string) error {
	switch {
	case path == "" || path[0] != '/':
		return errors.New("it does not begin with a slash")
	case path == "/":
		return nil
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		switch name {
		case "":
			return errors.New("it has an empty name")
		case ".", "..":
			return fmt.Errorf("it has the name %q", name)
		}
		for _, r := range name {
			if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff {
				return fmt.Errorf("it holds the character %U", r)
			}
		}
	}
	return nil
}

// check completes the options and finds what cannot work.
func (o *Options) check() (Address, error) {
	a, err := ParseServers(o.Servers)
	if err != nil {
		return a, err
	}
	if o.SASL != "" {
		return a, fmt.Errorf("ZooKeeper %s: SASL (%s) is not supported; authenticate with a TLS client certificate or with digest", a, o.SASL)
	}
	if o.Digest != "" && (strings.HasPrefix(o.Digest, ":") || !strings.Contains(o.Digest, ":")) {
		return a, errors.New("ZooKeeper digest: want USER:PASSWORD")
	}
	if o.SessionTimeout == 0 {
		o.SessionTimeout = DefaultSessionTimeout
	}
	if o.SessionTimeout < minSessionTimeout || o.SessionTimeout > time.Hour {
		return a, fmt.Errorf("ZooKeeper session timeout %v: want %v to 1h", o.SessionTimeout, minSessionTimeout)
	}
	if o.Window == 0 {
		o.Window = defaultWindow
	}
	if o.Window < 1 || o.ReadRate < 0 {
		return a, fmt.Errorf("ZooKeeper window %d and read rate %d: must be positive", o.Window, o.ReadRate)
	}
	if o.Gate == nil {
		o.Gate = ReadOnly()
	}
	return a, nil
}

// transport is what is spoken on the port.
func (o *Options) transport() string {
	if o.TLS != nil {
		return "TLS"
	}
	return "plain text"
}

func (o *Options) logf(format string, args ...any) {
	if o.Log != nil {
		o.Log(fmt.Sprintf(format, args...))
	}
}
