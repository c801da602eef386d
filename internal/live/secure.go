package live

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"kstate/internal/configs"
	"kstate/internal/handshake"
	"kstate/internal/security"
	"kstate/internal/wire"
	"kstate/model"
)

// callers are how brokers are called, by the listener that is called.
type callers struct {
	settings map[string]string // those of a broker

	mu    sync.Mutex
	known map[string]*handshake.Client
}

// dial connects to an endpoint as its protocol asks for.
func (c *callers) dial(ctx context.Context, e model.Endpoint) (net.Conn, error) {
	if security.Protocol(e.Protocol) == security.Plaintext {
		return wire.DialPlain(ctx, e)
	}
	client, err := c.client(e)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", e, err)
	}
	return client.Dial(ctx, net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
}

func (c *callers) client(e model.Endpoint) (*handshake.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := e.Protocol + " " + e.Listener
	if known := c.known[key]; known != nil {
		return known, nil
	}
	p, err := security.ParseProtocol(e.Protocol)
	if err != nil {
		return nil, err
	}
	channel, err := security.Client(security.ToListener(c.settings, e.Listener, p))
	if err != nil {
		return nil, err
	}
	if c.known == nil {
		c.known = map[string]*handshake.Client{}
	}
	c.known[key] = &handshake.Client{Channel: channel}
	return c.known[key], nil
}

// credential looks a user's SCRAM credential up, as a broker does.
// Kafka: ScramCredentialUtils, CredentialProvider.
func (o *Outside) credential(user string, m security.Mechanism) (handshake.Credential, bool, error) {
	path := model.ConfigEntityPath(model.ConfigTypeUsers, configs.Sanitize(user))
	r := o.Conn.Do(&model.Call{Purpose: "get_credential", Ops: []model.Op{{Kind: model.OpGet, Path: path}}})
	switch {
	case len(r.Ops) == 1 && r.Ops[0].Code == model.CodeNoNode:
		return handshake.Credential{}, false, nil
	case len(r.Ops) != 1 || r.Ops[0].Code != model.CodeOK:
		return handshake.Credential{}, false, fmt.Errorf("get %s: ZooKeeper answered %s", path, codeOf(r))
	}
	config, err := model.DecodeConfig(path, r.Ops[0].Data)
	if err != nil {
		return handshake.Credential{}, false, fmt.Errorf("%s cannot be read", path) // the error could hold a secret
	}
	text, ok := config[string(m)]
	if !ok {
		return handshake.Credential{}, false, nil
	}
	c, err := handshake.DecodeCredential(text)
	if err != nil {
		return c, false, fmt.Errorf("%s, %s: %w", path, m, err)
	}
	return c, true, nil
}

// codeOf is the first code of a result that is not OK.
func codeOf(r model.Result) model.Code {
	for i := range r.Ops {
		if r.Ops[i].Code != model.CodeOK {
			return r.Ops[i].Code
		}
	}
	return r.Code
}
