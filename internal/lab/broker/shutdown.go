package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Shutdown is how a Stop went.
type Shutdown struct {
	Controlled bool                   // the controller agreed
	Attempts   int                    // requests that were made or could not be made
	Remaining  []model.TopicPartition // still led, by the last answer
	Err        error                  // why the last attempt failed
}

// Stop shuts the broker down in a controlled way: it asks the controller to move
// its leaderships, a few times, and then stops whatever the answer was, closing
// its session so that its registration goes at once. The context bounds the
// asking only.
// Kafka: KafkaServer.shutdown, controlledShutdown.
func (b *Broker) Stop(ctx context.Context) (Shutdown, error) {
	var out Shutdown
	var r *run
	b.c.do(func() {
		if b.run != nil && b.run.up && !b.run.stopping {
			r = b.run
			r.stopping = true
			r.replicas.ShutDown()
		}
	})
	if r == nil {
		return out, fmt.Errorf("broker %d does not stop: it is not up", b.id)
	}
	if b.set.NoControlledShutdown {
		out.Err = errors.New("controlled shutdown is switched off")
	} else {
		out = r.controlledShutdown(ctx)
	}
	var s *session
	b.c.do(func() {
		if r.alive() {
			r.up = false // handlers stop; sockets close last
			s = r.session
			b.c.touched = append(b.c.touched, r.replicas.hosted()...)
		}
	})
	if s == nil {
		return out, fmt.Errorf("broker %d was killed while it stopped", b.id)
	}
	s.close()
	b.c.do(func() {
		if r.alive() {
			b.die(Stopped, out.Err)
		}
	})
	return out, nil
}

// controlledShutdown asks until the controller agrees or the attempts are used up.
func (r *run) controlledShutdown(ctx context.Context) (out Shutdown) {
	for out.Attempts < r.b.set.ControlledShutdownRetries {
		if out.Attempts > 0 && !r.pause(ctx) {
			return out
		}
		out.Attempts++
		if out.Remaining, out.Err = r.askToStop(ctx); out.Err == nil && len(out.Remaining) == 0 {
			out.Controlled = true
			return out
		}
		if out.Err == nil {
			out.Err = fmt.Errorf("the controller left %d partitions with broker %d", len(out.Remaining), r.b.id)
		}
	}
	return out
}

// pause waits for the retry backoff; false when the context or the process ends.
func (r *run) pause(ctx context.Context) bool {
	rung := make(chan struct{})
	stop := r.b.c.clock.After(r.b.set.ControlledShutdownBackoff, func() { close(rung) })
	defer stop()
	select {
	case <-rung:
		return true
	case <-r.ctx.Done():
	case <-ctx.Done():
	}
	return false
}

// askToStop is one attempt, over a connection of its own.
func (r *run) askToStop(ctx context.Context) ([]model.TopicPartition, error) {
	to, err := r.findController()
	if err != nil {
		return nil, err
	}
	l, err := r.connect(to)
	if err != nil {
		return nil, err
	}
	defer r.disconnect(l)
	stop := context.AfterFunc(ctx, func() { l.conn.Close() })
	defer stop()
	req := kmsg.NewPtrControlledShutdownRequest()
	req.Version = shutdownVersion(r.b.set.InterBrokerProtocol)
	req.BrokerID = r.b.id
	r.b.c.look(func() { req.BrokerEpoch = r.replicas.brokerEpoch })
	r.note(Event{Kind: Sent, Request: req})
	resp, err := l.call(req, r.b.set.ControllerSocketTimeout)
	r.note(Event{Kind: Returned, Request: req, Response: resp, Err: err})
	if err != nil {
		return nil, fmt.Errorf("ControlledShutdown to %s: %w", to, err)
	}
	x := resp.(*kmsg.ControlledShutdownResponse)
	if x.ErrorCode != codeNone {
		return nil, fmt.Errorf("ControlledShutdown to %s is answered with error %d", to, x.ErrorCode)
	}
	var remaining []model.TopicPartition
	for _, p := range x.PartitionsRemaining {
		remaining = append(remaining, model.TP(p.Topic, p.Partition))
	}
	return remaining, nil
}

// shutdownVersion is fixed by the protocol, not negotiated.
func shutdownVersion(v model.InterBrokerProtocol) int16 {
	switch {
	case v.AtLeast(model.IBP_2_4_IV1):
		return 3
	case v.AtLeast(model.IBP_2_2_IV0):
		return 2
	case v.AtLeast(model.IBP_0_9_0):
		return 1
	}
	return 0
}

// findController looks into the metadata cache; releases before 3.0 look into
// ZooKeeper, where a controller that is no broker is not found.
func (r *run) findController() (model.Endpoint, error) {
	if r.b.set.Release.AtLeast(model.IBP_3_0_IV0) {
		if e, ok := r.controller(); ok {
			return e, nil
		}
		return model.Endpoint{}, errors.New("the metadata cache knows no controller with an address")
	}
	path := r.path(model.ControllerPath)
	data, _, err := r.session.conn.Get(path)
	if err != nil {
		return model.Endpoint{}, fmt.Errorf("read %s: %w", path, err)
	}
	id, ok, err := model.DecodeController(path, data)
	if err != nil || !ok {
		return model.Endpoint{}, fmt.Errorf("%s names no controller: %q", path, data)
	}
	path = r.path(model.BrokerIDPath(id))
	if data, _, err = r.session.conn.Get(path); err != nil {
		return model.Endpoint{}, fmt.Errorf("read the controller's registration %s: %w", path, err)
	}
	var reg struct {
		Host string `json:"host"`
		Port int32  `json:"port"`
	}
	if err := json.Unmarshal(data, &reg); err != nil || reg.Host == "" {
		return model.Endpoint{}, fmt.Errorf("%s has no plaintext address: %q", path, data)
	}
	return model.Endpoint{Listener: r.b.set.Listener, Protocol: "PLAINTEXT", Host: reg.Host, Port: reg.Port}, nil
}
