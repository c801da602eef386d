package debugger

import (
	"strings"
	"testing"

	"kstate/engine"
	"kstate/model"
)

// A broker that does not answer is said once, and its end once; while it lasts the
// frame has it.
func TestASilentBrokerIsSaid(t *testing.T) {
	now := int64(100_000)
	ch := []model.Channel{{Broker: 1, Connected: true}, {Broker: 2, Connected: true, Depth: 3, Head: "StopReplica t-0 epoch=3", HeadSince: now}}
	s := NewSession(Options{Engine: engine.New(engine.DefaultConfig(1000)), Channels: func() []model.Channel { return ch }, Clock: func() int64 { return now }})
	defer s.opt.Engine.Close()
	texts := func() string {
		var out []string
		for _, n := range s.notices {
			out = append(out, n.Text)
		}
		return strings.Join(out, "\n")
	}
	now += model.SilentAfter - 1
	if f := s.frame(); f.Alert != "" || texts() != "" {
		t.Fatalf("too early: %q, %q", f.Alert, texts())
	}
	now++
	const silence = "broker 2 has not answered for 10 s: StopReplica t-0 epoch=3"
	const said = silence + "; 2 more wait behind it; the controller waits until it answers or its registration ends"
	if f := s.frame(); f.Alert != silence || texts() != said {
		t.Fatalf("silent: %q, %q", f.Alert, texts())
	}
	now += 5000
	if f := s.frame(); f.Alert != strings.Replace(silence, "10", "15", 1) || texts() != said {
		t.Errorf("still silent: %q, %q", f.Alert, texts())
	}
	ch[1].HeadSince = now // answered; the next is the head
	if f := s.frame(); f.Alert != "" || texts() != said+"\nbroker 2 answers again" {
		t.Errorf("it answers: %q, %q", f.Alert, texts())
	}
	now += model.SilentAfter
	s.frame()
	ch = ch[:1] // its registration ended
	if f := s.frame(); f.Alert != "" || strings.Count(texts(), silence) != 2 || strings.Count(texts(), "answers again") != 1 {
		t.Errorf("it is gone: %q, %q", f.Alert, texts())
	}
}
