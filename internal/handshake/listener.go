package handshake

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kstate/internal/security"
)

// Credentials finds a user's SCRAM credential of a mechanism; false: there is none.
type Credentials func(user string, m security.Mechanism) (Credential, bool, error)

// Listener is how connections on one listener are taken. The zero value takes
// them as they come: plaintext, and nobody authenticates.
type Listener struct {
	Protocol       security.Protocol
	TLS            *tls.Config          // nil: connections are not encrypted
	Mechanisms     []security.Mechanism // by which clients authenticate; none: they do not
	MaxReceive     int                  // bytes of a frame before its sender has authenticated
	Reauthenticate time.Duration        // after which a client must authenticate again; 0: never

	users       map[string]string // PLAIN
	credentials Credentials
}

// Exchange is the server's side of one authentication. Next takes a message of the
// client and gives the answer; done: the client is User. A *Refusal says to the
// client why it is refused; it learns nothing of other errors.
type Exchange interface {
	Next(message []byte) (answer []byte, done bool, err error)
	User() string
}

// Refusal is an authentication that failed, in words that the client may read.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// NewListener reads a broker's settings as they hold for its listener of that name
// and protocol.
func NewListener(name string, p security.Protocol, all map[string]string, credentials Credentials) (*Listener, error) {
	s := security.ForListener(all, name)
	l := &Listener{Protocol: p, credentials: credentials}
	var err error
	if p.TLS() {
		if l.TLS, err = security.ServerTLS(s); err != nil {
			return nil, err
		}
	}
	if !p.SASL() {
		return l, nil
	}
	if l.MaxReceive, err = number(s, "sasl.server.max.receive.size", maxHandshake, 1); err != nil {
		return nil, err
	}
	millis, err := number(s, "connections.max.reauth.ms", 0, 0)
	if err != nil {
		return nil, err
	}
	l.Reauthenticate = time.Duration(millis) * time.Millisecond
	names := security.Words(s["sasl.enabled.mechanisms"])
	if len(names) == 0 {
		return nil, &security.SettingError{Setting: "sasl.enabled.mechanisms", Why: "it is missing, and Kafka's default, GSSAPI, is not supported: give some of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"}
	}
	for _, n := range names {
		m, err := security.ParseMechanism(n)
		if err != nil {
			return nil, &security.SettingError{Setting: "sasl.enabled.mechanisms", Why: err.Error()}
		}
		l.Mechanisms = append(l.Mechanisms, m)
		switch {
		case m == security.Plain:
			if l.users, err = plainUsers(name, s); err != nil {
				return nil, err
			}
		case credentials == nil:
			return nil, &security.SettingError{Setting: "sasl.enabled.mechanisms", Why: string(m) + " has nowhere to look its users up"}
		}
	}
	return l, nil
}

func number(s map[string]string, name string, otherwise, least int) (int, error) {
	text, ok := s[name]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil || int(n) < least {
		return 0, &security.SettingError{Setting: name, Why: fmt.Sprintf("%q is not a number from %d", text, least)}
	}
	return int(n), nil
}

// plainUsers are the passwords by name: the options user_NAME of the login module.
func plainUsers(listener string, s map[string]string) (map[string]string, error) {
	const key = "plain.sasl.jaas.config"
	setting := security.ListenerPrefix(listener) + key
	text, ok := s[key]
	if !ok {
		return nil, &security.SettingError{Setting: setting, Why: `it is missing: PLAIN needs users, user_NAME="PASSWORD" (a JAAS file is not read)`}
	}
	j, err := security.ParseJAAS(text)
	if err != nil {
		return nil, &security.SettingError{Setting: setting, Why: err.Error()}
	}
	if !strings.HasSuffix(j.Module, ".PlainLoginModule") {
		return nil, &security.SettingError{Setting: setting, Why: "the login module is not PlainLoginModule: " + j.Module}
	}
	out := map[string]string{}
	for name, password := range j.Options {
		if user, ok := strings.CutPrefix(name, "user_"); ok {
			out[user] = password
		}
	}
	return out, nil
}

// SASL tells whether clients must authenticate.
func (l *Listener) SASL() bool { return l != nil && len(l.Mechanisms) > 0 }

// Begin starts an authentication by one of the listener's mechanisms; false: it
// is not one of them.
func (l *Listener) Begin(mechanism string) (Exchange, bool) {
	m := security.Mechanism(mechanism)
	switch {
	case !slices.Contains(l.Mechanisms, m):
		return nil, false
	case m == security.Plain:
		return &plainExchange{users: l.users}, true
	}
	return newScram(m, func(user string) (Credential, bool, error) { return l.credentials(user, m) }), true
}
