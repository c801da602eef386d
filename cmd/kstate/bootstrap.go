package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kstate/internal/admin"
	"kstate/internal/adminclient"
	"kstate/internal/security"
	"kstate/model"
)

// bootstrapFlags say how to reach the brokers, for what no znode can ask for.
func bootstrapFlags() []flag {
	return []flag{
		{name: "bootstrap-server", kind: isText, value: "HOST:PORT[,...]", usage: "ask the controller over Kafka's protocol instead of by a znode"},
		{name: "command-config", kind: isFile, value: "FILE", usage: "client settings for it, as for Kafka's tools: security.protocol, sasl.mechanism, sasl.jaas.config, ssl.* with stores in PEM"},
	}
}

// wireWay is the way to the controller over Kafka's protocol.
type wireWay struct {
	client *adminclient.Client
	via    string // for the operator
	limit  time.Duration
}

// openWire reads the settings; nothing is dialled yet.
func openWire(inv *invocation) (*wireWay, error) {
	var servers []string
	for s := range strings.SplitSeq(inv.text("bootstrap-server"), ",") {
		host, port, err := splitPort(strings.TrimSpace(s))
		if err != nil || host == "" || port < 1 || port > 65535 {
			return nil, inv.misuse("--bootstrap-server %s: want HOST:PORT[,...]", s)
		}
		servers = append(servers, strings.TrimSpace(s))
	}
	settings, err := propertiesOf(inv, "command-config")
	if err != nil {
		return nil, err
	}
	how, err := security.Client(settings)
	if err != nil {
		return nil, fmt.Errorf("--command-config %s: %w", inv.text("command-config"), err)
	}
	client, err := adminclient.New(servers, how)
	if err != nil {
		return nil, err
	}
	via := inv.text("bootstrap-server") + ", " + string(how.Protocol)
	if how.Credential != nil {
		via += ", " + how.Credential.String()
	}
	limit := time.Duration(inv.number("timeout", followMillis)) * time.Millisecond
	return &wireWay{client, via, max(limit, time.Second)}, nil
}

// checkCluster adds to a plan that the brokers belong to the tree's cluster.
func (w *wireWay) checkCluster(ctx context.Context, p *admin.Plan) error {
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	id, err := w.client.ClusterID(ctx)
	if err != nil {
		return unknown(err)
	}
	p.SameCluster(id, w.via)
	return nil
}

// consentedBy is consented for what goes over the wire: on a live cluster to
// brokers of that cluster only.
func (c *change) consentedBy(w *wireWay, p *admin.Plan) (stop bool, err error) {
	if c.conn != nil {
		if err := w.checkCluster(c.inv.ctx, p); err != nil {
			return false, err
		}
	}
	return c.consented(&p.Plan)
}

// send has a consented plan's request recorded and sent.
func (c *change) send(p *model.Plan, ask func(context.Context) (string, error)) error {
	session := c.conn.State().SessionID
	if err := c.audit.Intent(p, session); err != nil {
		return fmt.Errorf("nothing was sent, for it could not be recorded: %w", err)
	}
	outcome, err := ask(c.inv.ctx)
	if err != nil {
		outcome = err.Error()
	}
	if failed := c.audit.Outcome(p, session, outcome); failed != nil {
		return errors.Join(err, fmt.Errorf("it is sent, but its outcome could not be recorded: %w", failed))
	}
	if err == nil {
		c.report.Written = true
	} else if _, refused := errors.AsType[*adminclient.Refusal](err); !refused {
		err = unknown(err)
	}
	return err
}
