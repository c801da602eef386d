package wire

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/handshake"
	"kstate/model"
)

const (
	saslHandshakeKey    int16 = 17
	saslAuthenticateKey int16 = 36

	// refusalPause holds back the answer to who fails to authenticate.
	// Kafka: connection.failed.authentication.delay.ms.
	refusalPause = 100 * time.Millisecond
)

// Anonymous is who has not authenticated. Kafka: KafkaPrincipal.ANONYMOUS.
const Anonymous = "ANONYMOUS"

// identity is who is at the other end of a connection, and how far it has come
// in saying so. It belongs to the reading goroutine.
// Kafka: SaslServerAuthenticator, DefaultKafkaPrincipalBuilder.
type identity struct {
	how  *handshake.Listener // nil: a plaintext listener
	user string

	until    time.Time // by when it must have authenticated; zero: it need not, or has
	asked    bool      // its ApiVersions was answered
	exchange handshake.Exchange
	bare     bool // messages come without a header: SaslHandshake version 0
	by       string
	again    bool      // it authenticates again
	expires  time.Time // when it must have authenticated again; zero: never
}

// pending tells whether requests have to wait for the authentication.
func (i *identity) pending() bool { return !i.until.IsZero() }

// meet does TLS, and says who is there as far as that tells.
func (sc *serverConn) meet() error {
	i := &sc.identity
	i.user = Anonymous
	if i.how == nil {
		return nil
	}
	i.until = time.Now().Add(sc.server.opt.Handshake)
	if encrypted, ok := sc.c.(*tls.Conn); ok {
		ctx, cancel := context.WithDeadline(context.Background(), i.until)
		defer cancel()
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("TLS: %w", err)
		}
		if shown := encrypted.ConnectionState().PeerCertificates; len(shown) > 0 {
			i.user = handshake.SubjectName(shown[0])
		}
	}
	if i.how.SASL() {
		i.user = Anonymous // until it says who it is, whatever its certificate says
		return nil
	}
	i.until = time.Time{}
	return nil
}

// bounds are those of the next frame in bytes: who has not authenticated may not
// make this process hold much.
func (sc *serverConn) bounds() (least, most int) {
	i := &sc.identity
	switch {
	case !i.pending():
		return minRequestFrame, sc.server.opt.MaxFrame
	case i.exchange != nil && i.bare:
		return 0, i.how.MaxReceive
	}
	return minRequestFrame, i.how.MaxReceive
}

// authenticates tells whether a frame belongs to the authentication, also one of
// who may authenticate again.
func (sc *serverConn) authenticates(frame []byte) bool {
	i := &sc.identity
	if i.pending() {
		return true
	}
	return i.how.SASL() && i.how.Reauthenticate > 0 && int16(binary.BigEndian.Uint16(frame)) == saslHandshakeKey
}

// expired is why a connection whose session is over has to go; nil while it is not.
func (i *identity) expired() error {
	if i.expires.IsZero() || time.Now().Before(i.expires) {
		return nil
	}
	return fmt.Errorf("%s has not authenticated again within connections.max.reauth.ms", i.user)
}

// authenticate takes one frame of the authentication. An error closes the
// connection at once, a reply that is the last one closes it when it is written.
func (sc *serverConn) authenticate(frame []byte, slot chan reply) error {
	i := &sc.identity
	if i.exchange != nil && i.bare {
		return sc.advance(nil, frame, slot)
	}
	switch key := int16(binary.BigEndian.Uint16(frame)); key { // nothing else is even decoded
	case apiVersionsKey, saslHandshakeKey, saslAuthenticateKey:
	default:
		return fmt.Errorf("a request with key %d before authentication", key)
	}
	c, a, err := sc.parse(frame)
	if err != nil {
		return err
	}
	if a.key < 0 && c.request.Key() != apiVersionsKey {
		return fmt.Errorf("%s version %d before authentication", kmsg.NameForKey(c.request.Key()), c.request.GetVersion())
	}
	switch q := c.request.(type) {
	case *kmsg.ApiVersionsRequest:
		if i.asked || i.exchange != nil {
			break
		}
		if a.key < 0 {
			slot <- reply{call: c, response: unsupportedApiVersions()}
			return nil
		}
		out := a.local(c)
		i.asked = out.(*kmsg.ApiVersionsResponse).ErrorCode == int16(model.ErrNone)
		slot <- reply{call: c, response: out}
		return nil
	case *kmsg.SASLHandshakeRequest:
		if i.exchange == nil {
			return sc.choose(c, q, slot)
		}
	case *kmsg.SASLAuthenticateRequest:
		if i.exchange != nil {
			return sc.advance(c, q.SASLAuthBytes, slot)
		}
	}
	return fmt.Errorf("%s out of turn in the authentication", kmsg.NameForKey(c.request.Key()))
}

// choose begins the mechanism that was asked for.
func (sc *serverConn) choose(c *call, q *kmsg.SASLHandshakeRequest, slot chan reply) error {
	i := &sc.identity
	out := q.ResponseKind().(*kmsg.SASLHandshakeResponse)
	for _, m := range i.how.Mechanisms {
		out.SupportedMechanisms = append(out.SupportedMechanisms, string(m))
	}
	x, ok := i.how.Begin(q.Mechanism)
	again := !i.pending()
	if !ok || again && q.Mechanism != i.by {
		out.ErrorCode = int16(errUnsupportedSaslMechanism)
		slot <- reply{call: c, response: out, last: true}
		return nil
	}
	i.exchange, i.bare, i.by, i.again = x, q.Version == 0, q.Mechanism, again
	if again {
		i.until = time.Now().Add(sc.server.opt.Handshake)
	}
	slot <- reply{call: c, response: out}
	return nil
}

// advance takes one message of the exchange; c is nil where it came bare.
func (sc *serverConn) advance(c *call, message []byte, slot chan reply) error {
	i := &sc.identity
	answer, done, err := i.exchange.Next(message)
	if err == nil && done && i.again && i.exchange.User() != i.user {
		err = &handshake.Refusal{Text: "Cannot change principals during re-authentication"}
	}
	if err != nil {
		return sc.refuseIdentity(c, err, slot)
	}
	var lifetime time.Duration
	if done {
		i.user, i.exchange, i.until = i.exchange.User(), nil, time.Time{}
		if lifetime = i.how.Reauthenticate; lifetime > 0 {
			i.expires = time.Now().Add(lifetime)
		}
	}
	if c == nil {
		slot <- reply{raw: append([]byte{}, answer...)} // an empty one too
		return nil
	}
	out := c.request.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	out.SASLAuthBytes = append([]byte{}, answer...)
	out.SessionLifetimeMillis = lifetime.Milliseconds()
	slot <- reply{call: c, response: out}
	return nil
}

// refuseIdentity says to a client, after a pause, that it failed, and closes.
// What it may not know stands in the log only.
func (sc *serverConn) refuseIdentity(c *call, err error, slot chan reply) error {
	text := "Authentication failed during authentication due to invalid credentials with SASL mechanism " + sc.identity.by
	if r, ok := errors.AsType[*handshake.Refusal](err); ok {
		text = r.Text
	}
	sc.server.failed(sc.peer(), fmt.Errorf("authentication by %s failed: %w", sc.identity.by, err))
	pause := time.NewTimer(refusalPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-sc.closing:
		return err
	}
	if c == nil {
		return err
	}
	out := c.request.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	out.ErrorCode, out.ErrorMessage = int16(errSaslAuthenticationFailed), &text
	out.SASLAuthBytes = []byte{}
	slot <- reply{call: c, response: out, last: true}
	return nil
}

// saslHandshakeAPI and saslAuthenticateAPI are served before the others; after
// that, and where nobody authenticates, they are out of place.
// Kafka: KafkaApis.handleSaslHandshakeRequest, handleSaslAuthenticateRequest.
func saslHandshakeAPI() api {
	return local(0, 1, func(_ *call, q *kmsg.SASLHandshakeRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.SASLHandshakeResponse)
		out.ErrorCode = int16(errIllegalSaslState)
		return out
	})
}

func saslAuthenticateAPI() api {
	return local(0, 2, func(_ *call, q *kmsg.SASLAuthenticateRequest) kmsg.Response {
		out := q.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		text := "SaslAuthenticate request received after successful authentication"
		out.ErrorCode, out.ErrorMessage, out.SASLAuthBytes = int16(errIllegalSaslState), &text, []byte{}
		return out
	})
}

// late tells whether an error is that a time was over.
func late(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
