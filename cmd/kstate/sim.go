package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"kstate/internal/debugger"
	"kstate/internal/journal"
	"kstate/internal/lab/sim"
	"kstate/model"
)

// mostTraces is how many failing seeds leave a trace.
const mostTraces = 5

// stepsBefore is how many steps before the one that failed the dashboard holds.
const stepsBefore = 12

func simCommand() command {
	var plants []string
	for _, p := range sim.Plants {
		plants = append(plants, string(p))
	}
	return command{
		name:    "sim",
		summary: "seeded simulation on virtual time: controllers that race, brokers, faults; then all has to come to rest",
		detail: `Each seed draws a cluster and the faults that happen to it, plays them for up to two minutes of virtual time, heals
it and checks that it comes to rest in order; on the way it checks what always has to hold. The same seed gives the
same bytes on every machine. docs/sim.md lists faults, checks, and the dead ends of Kafka's own that are left out.
A failing seed leaves a trace, a recording of the controller, and the command that opens it in the dashboard, held
shortly before the step that failed.
Exit code 2: a seed failed.`,
		flags: append([]flag{
			{name: "seeds", kind: isNumber, least: 1, most: 10_000_000, value: "N", usage: "play N seeds (default 100)"},
			{name: "from", kind: isNumber, value: "S", usage: "the first of them (default 1)"},
			{name: "seed", kind: isNumber, value: "S", usage: "play this seed alone, and leave its trace"},
			{name: "max-steps", kind: isNumber, least: 1, value: "MAX", usage: fmt.Sprintf("a seed fails that is not at rest after so many steps of its controllers (default %d)", sim.DefaultSteps)},
			{name: "plant", kind: isWord, words: plants, value: "BUG", usage: "play with a bug between engine and cluster, to see that it is found: " + strings.Join(plants, ", ")},
			{name: "traces", kind: isDir, value: "DIR", usage: "where traces and recordings go (default: here)"},
			{name: "workers", kind: isNumber, least: 1, most: 1024, value: "N", usage: "seeds at a time (default: as many as there are processors)"},
			{name: "json", usage: "write JSON: one object with the figures and the failures"},
			{name: "dashboard", usage: "with --seed: open the controller in the dashboard, held shortly before the step that failed, else at its first"},
			{name: "at", kind: isNumber, value: "STEP", usage: "with --dashboard: hold at that step of the controller instead"},
			{name: "controller", kind: isNumber, value: "ID", usage: "with --dashboard: hold that controller (1000, 1001, ...)"},
		}, dashboardFlags()...),
		run: runSim,
	}
}

func runSim(inv *invocation) error {
	opt := sim.Options{Seed: uint64(inv.number("from", 1)), Steps: inv.number("max-steps", 0), Plant: sim.Plant(inv.text("plant"))}
	switch {
	case inv.has("seed") && (inv.has("seeds") || inv.has("from")):
		return inv.misuse("--seed names the one seed that is played: without --seeds and --from")
	case inv.has("dashboard") && !inv.has("seed"):
		return inv.misuse("--dashboard wants --seed S")
	case !inv.has("dashboard") && (inv.has("at") || inv.has("controller")):
		return inv.misuse("--at and --controller belong to --dashboard")
	case !inv.has("dashboard") && inv.has("headless"):
		return inv.misuse("--headless belongs to --dashboard")
	case inv.has("seed"):
		opt.Seed = uint64(inv.number("seed", 0))
	}
	if inv.has("dashboard") {
		return simDashboard(inv, opt)
	}
	n := inv.number("seeds", 100)
	if inv.has("seed") {
		n = 1
	}
	r := &simRun{inv: inv, opt: opt, total: sim.NewStats(), began: time.Now(), n: n}
	sim.Sweep(inv.ctx, opt, n, inv.number("workers", runtime.GOMAXPROCS(0)), r.took)
	if r.err == nil && inv.has("seed") && inv.ctx.Err() == nil && len(r.failures) == 0 {
		r.trace(opt.Seed, 0)
	}
	return errors.Join(r.err, r.finish())
}

// simRun is what a sweep has come to.
type simRun struct {
	inv      *invocation
	opt      sim.Options
	n        int
	total    sim.Stats
	failures []sim.Failure
	began    time.Time
	told     time.Time
	err      error
}

// took takes the outcome of one seed.
func (r *simRun) took(o sim.Outcome) bool {
	r.total.Add(o.Stats)
	if o.Failure != nil {
		r.failures = append(r.failures, *o.Failure)
		r.failed(o.Failure)
	}
	if now := time.Now(); now.Sub(r.told) > 2*time.Second && r.n > 1 {
		r.told = now
		fmt.Fprintf(r.inv.console.err, "kstate: %d of %d seeds, %d failed\n", r.total.Seeds, r.n, len(r.failures))
	}
	return r.err == nil
}

// failed tells of a seed that failed, and leaves what helps to understand it.
func (r *simRun) failed(f *sim.Failure) {
	var files []string
	if len(r.failures) <= mostTraces {
		files = r.trace(f.Seed, f.Controller)
	}
	if r.inv.has("json") {
		return
	}
	out := r.inv.console.out
	fmt.Fprintf(out, "seed %d failed %s, at %.3f s of virtual time, step %d (%d of controller %d):\n", f.Seed, f.Phase, float64(f.Time)/1000, f.Step, f.Own, f.Controller)
	for i, what := range f.What {
		if i == 10 {
			fmt.Fprintf(out, "  ... %d more\n", len(f.What)-i)
			break
		}
		fmt.Fprintf(out, "  %s\n", what)
	}
	fmt.Fprintf(out, "  %s\n", f.Plan)
	fmt.Fprintf(out, "  again:     %s\n", r.again(f.Seed, ""))
	fmt.Fprintf(out, "  dashboard: %s\n", r.again(f.Seed, " --dashboard"))
	for _, path := range files {
		fmt.Fprintf(out, "  left:      %s\n", path)
	}
}

// again is the command that plays a seed.
func (r *simRun) again(seed uint64, more string) string {
	c := fmt.Sprintf("kstate sim --seed %d%s", seed, more)
	if r.opt.Plant != sim.NoPlant {
		c += " --plant " + string(r.opt.Plant)
	}
	if r.inv.has("max-steps") {
		c += " --max-steps " + r.inv.text("max-steps")
	}
	return c
}

// trace plays a seed once more, and writes down everything that happens and what
// one controller learns and does; it returns the files.
func (r *simRun) trace(seed uint64, controller int32) []string {
	name := filepath.Join(r.inv.text("traces"), fmt.Sprintf("kstate-sim-%d", seed))
	file, err := os.Create(name + ".txt")
	if err != nil {
		r.err = fmt.Errorf("the trace of seed %d: %w", seed, err)
		return nil
	}
	files := []string{file.Name()}
	opt := r.opt
	opt.Seed = seed
	lines := bufio.NewWriterSize(file, 1<<16)
	opt.Trace = lines
	if controller != 0 {
		opt.Of = controller
		opt.Journal, err = journal.Create(journal.Options{Path: name + ".journal", Header: journal.Header{Kstate: version(), Mode: model.LabMode,
			Source: fmt.Sprintf("seed %d", seed)}})
		if err == nil {
			files = append(files, name+".journal")
		}
	}
	if err == nil {
		sim.Play(opt)
		err = errors.Join(lines.Flush(), opt.Journal.Close())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		r.err = fmt.Errorf("the trace of seed %d: %w", seed, err)
	}
	return files
}

// simReport is what --json writes.
type simReport struct {
	From     uint64        `json:"from"`
	Plant    string        `json:"plant,omitempty"`
	Seconds  float64       `json:"seconds"`
	Figures  sim.Stats     `json:"figures"`
	Failures []sim.Failure `json:"failures"`
}

func (r *simRun) finish() error {
	spent := time.Since(r.began).Seconds()
	var err error
	if r.inv.has("json") {
		report := simReport{From: r.opt.Seed, Plant: string(r.opt.Plant), Seconds: math.Round(spent*1000) / 1000, Figures: r.total, Failures: r.failures}
		if report.Failures == nil {
			report.Failures = []sim.Failure{}
		}
		err = writeJSON(r.inv.console.out, report)
	} else {
		writeFigures(r.inv.console.out, &r.total, len(r.failures), spent)
	}
	switch {
	case err != nil:
		return err
	case r.inv.ctx.Err() != nil && r.total.Seeds < r.n:
		return fmt.Errorf("interrupted after %d of %d seeds", r.total.Seeds, r.n)
	case len(r.failures) > 0:
		return &exitCode{code: exitFound}
	}
	return nil
}

func writeFigures(w io.Writer, s *sim.Stats, failed int, seconds float64) {
	fmt.Fprintf(w, "%d seeds, %d failed, in %.1f s: %d steps in %s of virtual time\n", s.Seeds, failed, seconds, s.Steps, (time.Duration(s.VirtualMillis) * time.Millisecond).Round(time.Second))
	fmt.Fprintf(w, "%d transactions; %d requests to brokers, %d refused, %d sent again, %d unanswered\n", s.Transactions, s.Requests, s.Refused, s.Resent, s.Unanswered)
	fmt.Fprintf(w, "%d failovers; %d actions of operators, among them %d deletions, %d reassignments; %d replicas deleted\n", s.Failovers, s.Actions, s.Deletions, s.Reassignments, s.ReplicasDeleted)
	counts := func(title string, of map[string]int) {
		if len(of) == 0 {
			return
		}
		fmt.Fprintf(w, "%s:\n", title)
		names := make([]string, 0, len(of))
		for name := range of {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(w, "  %7d  %s\n", of[name], name)
		}
	}
	counts("elections with a leader, by strategy", s.Elections)
	if s.UncleanElections > 0 {
		fmt.Fprintf(w, "  %7d  of them unclean\n", s.UncleanElections)
	}
	counts("faults", s.Faults)
	counts("left out, being Kafka's own dead ends", s.Excluded)
}

// simDashboard opens one controller of a seed in the dashboard.
func simDashboard(inv *invocation, opt sim.Options) error {
	id, at := int32(inv.number("controller", 1000)), inv.number("at", 1)
	if !inv.has("at") || !inv.has("controller") {
		if f := sim.Play(opt).Failure; f != nil {
			fmt.Fprintf(inv.console.err, "kstate: seed %d fails at step %d of controller %d: %s\n", f.Seed, f.Own, f.Controller, f.What[0])
			if !inv.has("controller") {
				id = f.Controller
			}
			if !inv.has("at") && id == f.Controller {
				at = max(1, f.Own-stepsBefore)
			}
		} else {
			fmt.Fprintf(inv.console.err, "kstate: seed %d does not fail\n", opt.Seed)
		}
	}
	held, err := sim.Hold(opt, id, at)
	if err != nil {
		return err
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(inv.ctx)
	defer cancel()
	options := held.Options()
	options.Explain = explainMemory
	session := debugger.NewSession(options)
	held.Attach(session.Input)
	var loop sync.WaitGroup
	loop.Go(func() { session.Run(ctx) })
	idle := newIdler(session, held.Pass)
	loop.Go(func() { idle.run(ctx) })
	err = show(inv, idle)
	cancel()
	loop.Wait()
	return err
}

// idler stands between a session and its screen: while the controller is idle, it
// lets virtual time pass.
type idler struct {
	session *debugger.Session
	pass    func() bool
	frames  chan model.Frame
}

func newIdler(s *debugger.Session, pass func() bool) *idler {
	return &idler{session: s, pass: pass, frames: make(chan model.Frame, 1)}
}

func (i *idler) Frames() <-chan model.Frame { return i.frames }
func (i *idler) Do(c model.Command)         { i.session.Do(c) }

func (i *idler) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-i.session.Frames():
			select { // latest wins
			case <-i.frames:
			default:
			}
			i.frames <- f
			if f.At == nil && f.QueueLen == 0 && f.Run != model.Waiting {
				i.pass()
			}
		}
	}
}
