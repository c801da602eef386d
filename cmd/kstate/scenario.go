package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab"
	"kstate/internal/lab/broker"
	"kstate/internal/lab/script"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// loadScenario reads a script: a shipped one by its name, else a file.
func loadScenario(inv *invocation, what string) (*script.Scenario, error) {
	name, text := what, ""
	if shipped, ok := script.Text(what); ok {
		text = shipped
	} else {
		data, err := os.ReadFile(what)
		if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(what, "./\\") {
			return nil, inv.misuse("%q is neither a scenario that kstate ships (%s) nor a file", what, strings.Join(script.Names(), ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("scenario: %w", err)
		}
		name, text = strings.TrimSuffix(filepath.Base(what), script.Ending), string(data)
	}
	s, err := script.Parse(name, text)
	if err == nil {
		err = applySettings(s, &engine.Config{})
	}
	if err != nil {
		return nil, &exitCode{exitUsage, err}
	}
	return s, nil
}

// applySettings takes the settings of a scenario's head in.
func applySettings(s *script.Scenario, cfg *engine.Config) error {
	for i, c := range s.Settings {
		if _, err := restarts(c); err != nil {
			return fmt.Errorf("%s:%d: set: %w", s.Name, s.SettingLine(i), err)
		}
		if err := takeIn(cfg, c); err != nil {
			return fmt.Errorf("%s:%d: set: %w", s.Name, s.SettingLine(i), err)
		}
	}
	if s.Protocol == "" {
		return nil
	}
	ibp, err := model.ParseInterBrokerProtocol(s.Protocol)
	cfg.IBP = ibp
	return err
}

// about is what a picture says of a scenario at any time.
func about(s *script.Scenario) model.Scenario {
	out := model.Scenario{Name: s.Name, Title: s.Title, Goal: s.Goal, Teaches: s.Teaches, Hints: s.Hints}
	for _, l := range s.Solution {
		out.Solution = append(out.Solution, l.Do.String())
	}
	return out
}

// setLab makes the lab and its controller those of the scenario.
func (b *bench) setLab(s *script.Scenario) error {
	b.config.AutoRebalance = false // unless the scenario is about it: it would come between
	if err := applySettings(s, &b.config); err != nil {
		return err
	}
	b.opt.Brokers, b.opt.Topics = s.Brokers, s.Topics
	if b.opt.Topics == nil {
		b.opt.NoTopics = true
	}
	b.opt.SessionTimeout, b.opt.BuryAfter = s.Time(script.SessionTime), s.Time(script.BuryTime)
	b.opt.Setup = func(id int32, set *broker.Settings) { setBroker(s, id, set) }
	b.play = &play{scenario: s, about: about(s), witness: script.NewWitness(s), bench: b}
	return nil
}

func setBroker(s *script.Scenario, id int32, set *broker.Settings) {
	set.CatchUp, set.ReplicaLagTime, set.FileDeleteDelay = s.Time(script.CatchUpTime), s.Time(script.LagTime), s.Time(script.FileDeleteTime)
	set.CatchUpJitter = set.CatchUp / 4
	protocol := s.Protocol
	for _, x := range s.Special {
		if x.Broker != id {
			continue
		}
		set.Rack, set.LogDirs = x.Rack, x.LogDirs
		if x.Protocol != "" {
			protocol = x.Protocol
		}
	}
	if protocol != "" {
		set.InterBrokerProtocol, _ = model.ParseInterBrokerProtocol(protocol) // Parse has read it
	}
}

// play is a scenario at work in a lab.
type play struct {
	scenario *script.Scenario
	about    model.Scenario // what stays the same of each picture
	bench    *bench

	mu      sync.Mutex
	witness *script.Witness
	doing   string
	failed  string
	began   bool // the situation is there: the goal counts
	reached bool
	cancel  context.CancelFunc // of what brings the situation about; nil: nothing does
	ended   chan struct{}      // closed at its end
}

// stage takes the scenario of a command line into the bench, if there is one.
func (b *bench) stage(inv *invocation) error {
	if len(inv.args) == 0 {
		return nil
	}
	if len(inv.args) > 1 {
		return inv.misuse("one scenario at a time, not %q too", inv.args[1])
	}
	for _, name := range []string{"brokers", "tree", "fork", "zookeeper-data"} {
		if inv.has(name) {
			return inv.misuse("--%s: a scenario says itself what the cluster is", name)
		}
	}
	s, err := loadScenario(inv, inv.args[0])
	if err != nil {
		return err
	}
	if err := b.setLab(s); err != nil {
		return err
	}
	b.recorded = b.play.record
	return nil
}

// listScenarios names the scenarios that kstate ships.
func listScenarios(inv *invocation) error {
	w := 0
	for _, name := range script.Names() {
		w = max(w, len(name))
	}
	for _, name := range script.Names() {
		s, err := script.Shipped(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(inv.console.out, "%-*s  %s\n", w, name, s.Goal)
	}
	return nil
}

// record is told of every record of the session.
func (p *play) record(r model.Record) {
	p.mu.Lock()
	w := p.witness
	p.mu.Unlock()
	w.Record(r)
}

// Seen is script.Surroundings.
func (p *play) Seen(q script.Question) bool {
	p.mu.Lock()
	w := p.witness
	p.mu.Unlock()
	return w.Seen(q)
}

func (p *play) lab() *lab.Lab {
	p.bench.mu.Lock()
	defer p.bench.mu.Unlock()
	return p.bench.lab
}

// Znode is script.Surroundings.
func (p *play) Znode(path string) model.Znode {
	z := model.Znode{Path: path}
	l := p.lab()
	if l == nil {
		z.Err = "there is no lab just now"
		return z
	}
	data, st, code := l.Store().Get(path)
	switch code {
	case zkserver.OK:
		z.Data, z.Stat.Version = data, st.Version
	case zkserver.NoNode:
		z.Missing = true
	default:
		z.Err = fmt.Sprintf("get %s: %s", path, code)
	}
	return z
}

// Disk is script.Surroundings.
func (p *play) Disk(id int32) []model.LogDir {
	if l := p.lab(); l != nil {
		return l.Disk(id)
	}
	return nil
}

// runner plays lines on a session.
func (p *play) runner(s *debugger.Session) *script.Runner {
	return &script.Runner{Stage: s, See: p, Patience: p.scenario.Time(script.PatienceTime)}
}

// begin brings the situation about, beside the dashboard.
func (p *play) begin(ctx context.Context, s *debugger.Session) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	p.mu.Lock()
	p.cancel, p.ended = cancel, ended
	p.mu.Unlock()
	go func() {
		defer close(ended)
		p.bringAbout(ctx, s)
	}()
}

// stop ends that, and waits for its end.
func (p *play) stop() {
	p.mu.Lock()
	cancel, ended := p.cancel, p.ended
	p.cancel = nil
	p.mu.Unlock()
	if cancel != nil {
		cancel()
		<-ended
	}
}

func (p *play) bringAbout(ctx context.Context, s *debugger.Session) {
	if _, err := s.Carry(ctx, model.ClearFault{}); err != nil { // waits for a reset to be over
		return
	}
	r := p.runner(s)
	note := func(change func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		change()
	}
	r.Begin = func(l script.Line) { note(func() { p.doing = l.Do.String() }) }
	r.Tell = func(o script.Outcome) {
		if o.Failed {
			note(func() { p.failed = fmt.Sprintf("line %d: %s: %s", o.Line.Number, o.Line.Do, o.Text) })
		}
	}
	_, _ = r.Run(ctx, p.scenario.Start) // what failed is in p.failed
	note(func() { p.doing, p.began = "", ctx.Err() == nil })
}

// status is how far the scenario is, of a picture.
func (p *play) status(f *model.Frame) *model.Scenario {
	out, all := p.about, false
	out.Goals, all = script.Goals(p.scenario.Reached, f, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reached = p.reached || p.began && all
	out.Reached, out.Failed, out.Doing = p.reached, p.failed, p.doing
	return &out
}

// anew forgets what was seen: the lab starts anew.
func (p *play) anew() {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.witness, p.doing, p.failed, p.began, p.reached = script.NewWitness(p.scenario), "", "", false, false
}

// scenario is debugger's.
func (b *bench) scenario(f *model.Frame) *model.Scenario {
	if b.play == nil {
		return nil
	}
	return b.play.status(f)
}
