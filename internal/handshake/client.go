package handshake

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kstate/internal/security"
)

// Client is how this process reaches a listener of brokers.
type Client struct{ security.Channel }

// mechanism is the client's side of SASL; nil without.
func (c *Client) mechanism() sasl.Mechanism {
	if c.Credential == nil {
		return nil
	}
	switch user, password := c.Credential.User, c.Credential.Password; c.Credential.Mechanism {
	case security.ScramSHA256:
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case security.ScramSHA512:
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	default:
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	}
}

// Dial connects to host:port, encrypts and authenticates as the protocol says.
// The context bounds all of it.
func (c *Client) Dial(ctx context.Context, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	secured, err := c.secure(ctx, conn, host)
	if err != nil {
		conn.Close()
		if ctx.Err() != nil { // closed beneath it
			return nil, fmt.Errorf("%w (%w)", ctx.Err(), err)
		}
		return nil, err
	}
	return secured, nil
}

func (c *Client) secure(ctx context.Context, conn net.Conn, host string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if c.TLS != nil {
		config := c.TLS.Clone()
		config.ServerName = host
		encrypted := tls.Client(conn, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS with %s: %w", host, err)
		}
		conn = encrypted
	}
	if m := c.mechanism(); m != nil {
		if err := authenticate(ctx, conn, m, host); err != nil {
			return nil, fmt.Errorf("authenticating by %s: %w", c.Credential, err)
		}
	}
	return conn, nil
}

// authenticate speaks SaslHandshake version 1 and SaslAuthenticate version 0,
// which brokers know since 1.0. Kafka: SaslClientAuthenticator.
func authenticate(ctx context.Context, conn net.Conn, m sasl.Mechanism, host string) error {
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, m.Name()
	answer := hello.ResponseKind().(*kmsg.SASLHandshakeResponse)
	if err := exchange(conn, hello, answer, 0); err != nil {
		return err
	}
	if answer.ErrorCode != 0 {
		return fmt.Errorf("the broker refuses the mechanism (error %d); it takes %v", answer.ErrorCode, answer.SupportedMechanisms)
	}
	session, message, err := m.Authenticate(ctx, host)
	if err != nil {
		return err
	}
	for id, done := int32(1), false; ; id++ {
		if message == nil && done {
			return nil
		}
		q := kmsg.NewPtrSASLAuthenticateRequest()
		q.SASLAuthBytes = message
		a := q.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		if err := exchange(conn, q, a, id); err != nil {
			return err
		}
		if a.ErrorCode != 0 {
			why := fmt.Sprintf("error %d", a.ErrorCode)
			if a.ErrorMessage != nil {
				why = *a.ErrorMessage
			}
			return fmt.Errorf("refused: %s", why)
		}
		if done {
			return nil
		}
		if done, message, err = session.Challenge(a.SASLAuthBytes); err != nil {
			return err
		}
	}
}

// maxHandshake is the longest answer that a broker may give before it knows who
// asks, in bytes. Kafka: BrokerSecurityConfigs.SASL_SERVER_MAX_RECEIVE_SIZE.
const maxHandshake = 512 << 10

// exchange writes a request and reads its answer, byte by byte no further than its end.
func exchange(conn net.Conn, q kmsg.Request, a kmsg.Response, id int32) error {
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("kstate")).AppendRequest(nil, q, id)
	if _, err := conn.Write(frame); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the broker closed the connection: is this listener one with SASL?")
		}
		return err
	}
	n := int32(binary.BigEndian.Uint32(head[:]))
	if n < 4 || n > maxHandshake {
		return fmt.Errorf("the answer is said to have %d bytes: this listener does not speak SASL, or speaks TLS", n)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != id {
		return fmt.Errorf("the broker answered request %d instead of %d", got, id)
	}
	body := make([]byte, n-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return err
	}
	a.SetVersion(q.GetVersion())
	return a.ReadFrom(body)
}
