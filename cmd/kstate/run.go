package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"kstate/engine"
	"kstate/internal/lab"
	"kstate/internal/lab/script"
	"kstate/model"
)

func runCommand() command {
	return command{
		name:    "run",
		args:    "SCENARIO",
		summary: "play a scenario of the lab, from a file or one that kstate ships; its steps on standard output",
		detail: "One line each: what is done (>), each step of the controller, what faults did (!), and whether what is expected holds (ok, FAIL). " +
			"Exit code 0: all that is expected holds; 1: something does not; 64: the script is not understood.\n" +
			"Without --solution only what stands under start: is played, and the goal (reached:) is not looked at. docs/scenarios.md has the language, kstate lab --list the scenarios.",
		flags: []flag{
			{name: "solution", usage: "play the solution as well, and expect the goal to be reached"},
			{name: "json", usage: "one JSON object a line"},
			{name: "quiet", usage: "without the controller's steps"},
			{name: "seed", kind: isNumber, value: "N", usage: "draw topic ids and the pace of replication from this seed (default 1; 0: anew each time)"},
		},
		run: runScript,
	}
}

// scriptTick is the tickTime of a scenario's ZooKeeper.
const scriptTick = 2 * time.Second

func runScript(inv *invocation) error {
	if len(inv.args) != 1 {
		return inv.misuse("which scenario? Give one file, or the name of one that kstate ships")
	}
	s, err := loadScenario(inv, inv.args[0])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(inv.console.out)
	p := &printer{out: out, json: inv.has("json"), quiet: inv.has("quiet")}
	failed, err := playScript(inv.ctx, s, uint64(inv.number("seed", 1)), inv.has("solution"), p)
	p.end(failed, err)
	if flushErr := out.Flush(); err == nil && flushErr != nil {
		err = flushErr
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", s.Name, err)
	case failed > 0:
		return &exitCode{exitError, nil}
	}
	return nil
}

// playScript plays a scenario in a lab of its own; how many expectations failed.
func playScript(ctx context.Context, s *script.Scenario, seed uint64, solution bool, p *printer) (failed int, err error) {
	b := &bench{opt: lab.Options{TickTime: scriptTick, Seed: seed}, config: engine.DefaultConfig(labControllerID)}
	if err := b.setLab(s); err != nil {
		return 0, err
	}
	defer b.end()
	b.recorded = func(r model.Record) {
		b.play.record(r)
		p.record(r)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options, err := b.start(ctx)
	if err != nil {
		return 0, err
	}
	session := b.session(options)
	var loop sync.WaitGroup
	loop.Go(func() { session.Run(ctx) })
	defer loop.Wait()
	defer cancel()
	r := b.play.runner(session)
	r.Begin, r.Tell = p.begin, p.tell
	parts := [][]script.Line{s.Start}
	if solution {
		parts = append(parts, s.Solution, eventually(s.Reached))
	}
	for _, lines := range parts {
		n, err := r.Run(ctx, lines)
		failed += n
		if err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// eventually makes a goal's expectations wait.
func eventually(lines []script.Line) []script.Line {
	var out []script.Line
	for _, l := range lines {
		if e, ok := l.Do.(*script.Expect); ok {
			x := *e
			x.Eventually = true
			l.Do = &x
		}
		out = append(out, l)
	}
	return out
}

// printer writes a run down. Its methods are called from several goroutines.
type printer struct {
	mu    sync.Mutex
	out   io.Writer
	json  bool
	quiet bool
	err   error // of writing; the rest is not written then
	steps int
	good  int
}

// printed is a line of --json.
type printed struct {
	Kind  string `json:"kind"` // step, remark, do, expect, say, end
	Grain string `json:"grain,omitempty"`
	Line  int    `json:"line,omitempty"` // of the script
	Text  string `json:"text"`
	Holds *bool  `json:"holds,omitempty"`
	Found string `json:"found,omitempty"`
	Steps int    `json:"steps,omitempty"`
}

func (p *printer) put(x printed, text string) {
	if p.err != nil {
		return
	}
	if p.json {
		data, err := json.Marshal(x)
		if p.err = err; err == nil {
			_, p.err = p.out.Write(append(data, '\n'))
		}
		return
	}
	_, p.err = fmt.Fprintln(p.out, visible(text))
}

// indents set the grains off.
var indents = map[model.Grain]string{model.EventGrain: "  ", model.BatchGrain: "    ", model.TransitionGrain: "      ", model.IOGrain: "      "}

func (p *printer) record(r model.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := r.Step; s != nil {
		p.steps++
		if !p.quiet {
			text := s.String()
			p.put(printed{Kind: "step", Grain: s.Grain().String(), Text: text}, indents[s.Grain()]+text)
		}
		return
	}
	if m, ok := r.Input.(*model.Remarked); ok {
		p.put(printed{Kind: "remark", Text: m.Text}, "! "+m.Text)
	}
}

// begin announces a line that is no expectation.
func (p *printer) begin(l script.Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := l.Do.String()
	switch x := l.Do.(type) {
	case *script.Expect:
	case *script.Say:
		p.put(printed{Kind: "say", Line: l.Number, Text: x.Text}, "# "+x.Text)
	default:
		p.put(printed{Kind: "do", Line: l.Number, Text: text}, "> "+text)
	}
}

func (p *printer) tell(o script.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := o.Line.Do.String()
	if _, expect := o.Line.Do.(*script.Expect); !expect {
		if o.Failed {
			p.put(printed{Kind: "error", Line: o.Line.Number, Text: text, Found: o.Text}, fmt.Sprintf("FAIL line %d: %s: %s", o.Line.Number, text, o.Text))
		}
		return
	}
	holds := !o.Failed
	x := printed{Kind: "expect", Line: o.Line.Number, Text: text, Holds: &holds, Found: o.Text}
	if holds {
		p.good++
		p.put(x, "ok   "+text)
		return
	}
	p.put(x, fmt.Sprintf("FAIL line %d: %s: found: %s", o.Line.Number, text, o.Text))
}

// end sums a run up.
func (p *printer) end(failed int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%d expectations held, %d did not; %d steps", p.good, failed, p.steps)
	if err != nil {
		text += "; not played to its end"
	}
	holds := failed == 0 && err == nil
	p.put(printed{Kind: "end", Text: text, Holds: &holds, Steps: p.steps}, text)
}
