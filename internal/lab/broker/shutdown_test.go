package broker

import (
	"net"
	"slices"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/model"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// stopping starts a Stop of broker 1.
func (l *lab) stopping() <-chan Shutdown {
	out := make(chan Shutdown, 1)
	go func() {
		s, err := l.broker(1).Stop(l.ctx)
		if err != nil {
			l.t.Error(err)
		}
		out <- s
	}()
	return out
}

// nextShutdown waits for a ControlledShutdown.
func (l *lab) nextShutdown() (*kmsg.ControlledShutdownRequest, func(code int16, left ...int32)) {
	l.t.Helper()
	a := l.next()
	req, ok := a.req.(*kmsg.ControlledShutdownRequest)
	if !ok {
		l.t.Fatalf("the controller was asked %T", a.req)
	}
	return req, func(code int16, left ...int32) {
		resp := req.ResponseKind().(*kmsg.ControlledShutdownResponse)
		resp.ErrorCode = code
		for _, p := range left {
			resp.PartitionsRemaining = append(resp.PartitionsRemaining, kmsg.ControlledShutdownResponsePartitionsRemaining{Topic: "t", Partition: p})
		}
		a.answer <- resp
	}
}

func TestControlledShutdown(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1, 2}})
	l.metadata(1, 2)
	b := l.broker(1)
	epoch, session := b.Snapshot().Epoch, b.SessionID()
	done := l.stopping()
	req, answer := l.nextShutdown()
	if req.Version != 3 || req.BrokerID != 1 || req.BrokerEpoch != epoch {
		t.Errorf("asked %+v", req)
	}
	// While it asks, it serves; what it comes to follow it does not fetch.
	l.lead(state{tp: t0, id: idA, leader: 2, replicas: []int32{1, 2}, isr: []int32{2}}, 1, 2)
	if s := b.Snapshot(); !s.Up || !s.Stopping || l.hosted(1, t0).Leader != 2 || l.hosted(1, t0).Fetching {
		t.Errorf("while it stops: %+v", s)
	}
	if !l.has("/brokers/ids/1") {
		t.Error("unregistered before the controller has agreed")
	}
	answer(0)
	s := <-done
	if !s.Controlled || s.Attempts != 1 || s.Err != nil {
		t.Errorf("it went %+v", s)
	}
	if l.has("/brokers/ids/1") || slices.Contains(l.store.Sessions(), session) {
		t.Error("the session is still there")
	}
	if _, err := l.dial(1); !refused(err) {
		t.Errorf("dialled with %v", err)
	}
	if _, err := b.Stop(l.ctx); err == nil {
		t.Error("it stopped twice")
	}
	if err := b.Start(l.ctx); err != nil {
		t.Errorf("it does not start again: %v", err)
	}
}

func TestControlledShutdownRetries(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}, set: Settings{ControlledShutdownBackoff: time.Millisecond}})
	l.metadata(1)
	done := l.stopping()
	_, answer := l.nextShutdown()
	answer(codeStaleControllerEpoch)
	a := l.next()
	a.answer <- nil // hangs up
	_, answer = l.nextShutdown()
	answer(0, 4, 5)
	s := <-done
	if s.Controlled || s.Attempts != 3 || s.Err == nil || !slices.Equal(s.Remaining, []model.TopicPartition{model.TP("t", 4), model.TP("t", 5)}) {
		t.Errorf("it went %+v", s)
	}
	if l.has("/brokers/ids/1") {
		t.Error("still registered")
	}
	l.await("the observer", func() bool { return len(l.saw(1, Stopped)) == 1 && l.saw(1, Stopped)[0].Err != nil })
}

func TestControlledShutdownWithoutController(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}, set: Settings{ControlledShutdownBackoff: time.Millisecond, ControlledShutdownRetries: 2}})
	if s := <-l.stopping(); s.Controlled || s.Attempts != 2 || s.Err == nil {
		t.Errorf("it went %+v", s)
	}
}

func TestControlledShutdownSwitchedOff(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}, set: Settings{NoControlledShutdown: true}})
	l.metadata(1)
	if s := <-l.stopping(); s.Controlled || s.Attempts != 0 || l.has("/brokers/ids/1") {
		t.Errorf("it went %+v", s)
	}
}

// TestOldReleasesFindTheControllerInZooKeeper: fact 18.31.
func TestOldReleasesFindTheControllerInZooKeeper(t *testing.T) {
	for _, c := range []struct {
		ibp  model.InterBrokerProtocol
		want int16
	}{{model.IBP_2_8_IV1, 3}, {model.IBP_2_2_IV0, 2}, {model.IBP_1_0_IV0, 1}} {
		l := newLab(t, labOptions{brokers: []int32{1}, set: Settings{Release: model.IBP_2_8_IV1, InterBrokerProtocol: c.ibp,
			ControlledShutdownBackoff: time.Millisecond, ControlledShutdownRetries: 1}})
		_, port, err := net.SplitHostPort(l.ctl.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for path, data := range map[string]string{
			"/controller":    `{"version":1,"brokerid":9,"timestamp":"1"}`,
			"/brokers/ids/9": `{"version":4,"host":"127.0.0.1","port":` + port + `,"jmx_port":-1,"endpoints":[],"timestamp":"1"}`,
		} {
			if res, _ := l.store.Apply(0, zkserver.Create(path, []byte(data), 0)); res.Code != 0 {
				t.Fatalf("create %s: %v", path, res.Code)
			}
		}
		done := l.stopping()
		req, answer := l.nextShutdown()
		if req.Version != c.want {
			t.Errorf("%s: version %d", c.ibp, req.Version)
		}
		answer(0)
		if s := <-done; !s.Controlled {
			t.Errorf("%s: it went %+v", c.ibp, s)
		}
	}
}

// TestOldReleaseMissesAnUnregisteredController: the metadata cache does not count.
func TestOldReleaseMissesAnUnregisteredController(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}, set: Settings{Release: model.IBP_2_8_IV1, InterBrokerProtocol: model.IBP_2_8_IV1, ControlledShutdownRetries: 1}})
	l.call(1, request{7, 5, -1}.updateMetadata(9, []int32{9}))
	if res, _ := l.store.Apply(0, zkserver.Create("/controller", []byte(`{"version":1,"brokerid":9,"timestamp":"1"}`), 0)); res.Code != 0 {
		t.Fatal(res.Code)
	}
	if s := <-l.stopping(); s.Controlled || s.Err == nil {
		t.Errorf("it went %+v", s)
	}
}

func TestKillWhileStopping(t *testing.T) {
	l := newLab(t, labOptions{brokers: []int32{1}})
	l.metadata(1)
	done := make(chan error, 1)
	go func() {
		_, err := l.broker(1).Stop(l.ctx)
		done <- err
	}()
	l.next()
	l.broker(1).Kill()
	if err := <-done; err == nil {
		t.Error("a killed broker has stopped in a controlled way")
	}
	if !l.has("/brokers/ids/1") {
		t.Error("the session was closed")
	}
}
