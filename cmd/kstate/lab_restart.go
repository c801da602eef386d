package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab"
	"kstate/internal/lab/zkserver"
	"kstate/internal/wire"
	"kstate/model"
	"kstate/zkwatch"
)

// startSettings are those of the lab's controller that it reads at its start
// only, as Kafka does, with their defaults.
var startSettings = map[string]string{"delete.topic.enable": "true", "auto.leader.rebalance.enable": "true",
	"leader.imbalance.per.broker.percentage": "10", "leader.imbalance.check.interval.seconds": "300"}

// restarts tells whether a change of a setting takes a restart of the controller;
// the error says that there is no such setting, or no such value.
func restarts(c model.ChangeSetting) (bool, error) {
	if c.Topic != "" {
		return false, nil
	}
	_, atStart := startSettings[c.Name]
	switch {
	case !atStart && c.Name != uncleanSettingName:
		return false, fmt.Errorf("%s is no setting that the lab's controller heeds: one of %s, %s", c.Name, uncleanSettingName, strings.Join(sortedKeys(startSettings), ", "))
	case c.Unset:
		return atStart, nil
	}
	if err := settings[c.Name](&controlSettings{}, c.Value); err != nil {
		return false, fmt.Errorf("%s=%s: %w", c.Name, c.Value, err)
	}
	return atStart, nil
}

// takeIn takes a setting of the controller in, for its next start.
func takeIn(cfg *engine.Config, c model.ChangeSetting) error {
	value := c.Value
	if c.Unset {
		value = startSettings[c.Name]
	}
	s := controlSettings{engine: *cfg}
	if err := settings[c.Name](&s, value); err != nil {
		return fmt.Errorf("%s=%s: %w", c.Name, value, err)
	}
	*cfg = s.engine
	return nil
}

// restart ends the controller's process and starts it again on the same lab.
func (b *bench) restart(ctx context.Context, c model.Command) (debugger.Options, error) {
	b.mu.Lock()
	out, l := b.outside, b.lab
	b.outside = nil
	b.mu.Unlock()
	if l == nil {
		return debugger.Options{}, errors.New("there is no lab")
	}
	if set, ok := c.(model.ChangeSetting); ok {
		if err := takeIn(&b.config, set); err != nil {
			return debugger.Options{}, err
		}
	}
	if out != nil {
		out.Close()
	}
	return b.connect(ctx, l)
}

// engineConfig is the controller's configuration, with what is set for all
// brokers in ZooKeeper: it outranks a broker's own file.
func (b *bench) engineConfig(l *lab.Lab) (engine.Config, error) {
	cfg := b.config
	path := model.BrokerDefaultConfigPath()
	data, _, code := l.Store().Get(path)
	if code != zkserver.OK {
		return cfg, nil
	}
	config, err := model.DecodeConfig(path, data)
	if err != nil {
		return cfg, nil // as a broker, which logs it
	}
	if v, ok := config[uncleanSettingName]; ok {
		cfg.BrokerConfig = map[string]string{uncleanSettingName: v}
	}
	return cfg, nil
}

// sessionTimeout is that of the controller's ZooKeeper session.
func (b *bench) sessionTimeout() time.Duration {
	if b.opt.SessionTimeout > 0 {
		return b.opt.SessionTimeout
	}
	return 2 * b.opt.TickTime
}

// now is the session at work; nil before the first.
func (b *bench) now() *debugger.Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current
}

func (b *bench) resent(r zkwatch.Resend) { resent(b.now(), r) }

// resent has a request that is sent again shown.
func resent(s *debugger.Session, r zkwatch.Resend) {
	if s == nil {
		return
	}
	text := r.Purpose
	if len(r.Ops) > 0 {
		text = r.Ops[len(r.Ops)-1].String()
	}
	s.Remark(fmt.Sprintf("sent again (attempt %d), for the connection broke before its answer: %s", r.Attempt, text))
}

type reader func([]byte) (int, error)

func (f reader) Read(b []byte) (int, error) { return f(b) }

// answerFaults lets the session's faults come over brokers' answers.
type answerFaults struct{ session func() *debugger.Session }

// Request is wire.Interceptor.
func (answerFaults) Request(int32, model.ControlRequest) wire.Fault { return wire.Fault{} }

// Response is wire.Interceptor.
func (f answerFaults) Response(broker int32, r model.ControlRequest, a *model.ControlResponse) wire.Fault {
	s := f.session()
	if s == nil {
		return wire.Fault{}
	}
	i := s.Answered(broker, r, a)
	return wire.Fault{Delay: time.Duration(i.Millis) * time.Millisecond, Hold: i.Hold, Drop: i.Drop, Answer: i.Answer}
}
