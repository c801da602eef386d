//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kstate/engine"
	"kstate/internal/debugger"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/model"
	"kstate/ui"
)

// What the screen costs is measured in processes of their own, in CPU time, so
// that neither other tests nor a busy machine are counted: one that takes 1,000
// steps a second through the engine and drops the frames, one that draws them,
// one that draws an equally large screen by Bubble Tea alone.

const (
	costRole   = "KSTATE_TEST_COST_OF" // in the environment of such a process
	costWindow = 2 * time.Second
	costWarmUp = 700 * time.Millisecond
	stepRate   = 1000 // a second
	frameRate  = 30   // a second, at most
)

func init() {
	if role := os.Getenv(costRole); role != "" {
		os.Exit(costMain(role))
	}
}

// cost is what a process reports.
type cost struct {
	CPU    float64 // of a core
	Steps  float64 // a second
	Frames float64 // a second: writes to the terminal
	Bytes  float64 // a second
}

func (c cost) String() string {
	return fmt.Sprintf("%5.1f%% of a core, %4.0f steps/s, %4.1f frames/s, %6.0f bytes/s", 100*c.CPU, c.Steps, c.Frames, c.Bytes)
}

func TestCostOfTheScreen(t *testing.T) {
	if os.Getenv("KSTATE_COST") != "1" {
		t.Skip("set KSTATE_COST=1 to measure what the screen costs; .ci/run does")
	}
	without := measure(t, "steps", 80, 24)
	t.Logf("engine alone         %v", without)
	for _, c := range []struct {
		w, h  int
		limit float64 // of a core
	}{{80, 24, 0.10}, {160, 50, 0.20}} {
		bare, with := measure(t, "bare", c.w, c.h), measure(t, "screen", c.w, c.h)
		with.CPU -= without.CPU
		size := fmt.Sprintf("%dx%d", c.w, c.h)
		t.Logf("Bubble Tea alone %6s  %v", size, bare)
		t.Logf("the dashboard    %6s  %v; aim %.0f%%, limit %.0f%%", size, with, 100*c.limit, 200*c.limit)
		if with.CPU > 2*c.limit {
			t.Errorf("the dashboard at %s costs %.1f%% of a core, more than twice the %.0f%% that it should", size, 100*with.CPU, 100*c.limit)
		}
		if with.Frames > frameRate+1 {
			t.Errorf("the dashboard at %s draws %.1f frames a second, more than %d", size, with.Frames, frameRate)
		}
		if with.Frames < 5 {
			t.Errorf("the dashboard at %s draws only %.1f frames a second: nothing was measured", size, with.Frames)
		}
		if with.Steps < stepRate*3/4 || without.Steps < stepRate*3/4 {
			t.Errorf("%.0f steps a second with the dashboard and %.0f without, want %d", with.Steps, without.Steps, stepRate)
		}
	}
}

// measure runs a process of that role.
func measure(t *testing.T, role string, w, h int) cost {
	t.Helper()
	var c cost
	runRole(t, fmt.Sprintf("%s %d %d", role, w, h), &c)
	return c
}

// roleCommand is this test binary in a role, its terminal with colours and all
// else, though it is none.
func roleCommand(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), costRole+"="+role, "TTY_FORCE=1", "TERM=xterm-256color", "COLORTERM=truecolor")
	return cmd
}

// runRole runs a process in a role and reads its report.
func runRole(t *testing.T, role string, into any) {
	t.Helper()
	cmd := roleCommand(t, role)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s %s", role, err, out, errs.String())
	}
}

// costMain is such a process.
func costMain(role string) int {
	var what, addr string
	var w, h int
	_, err := fmt.Sscan(role+" .", &what, &w, &h, &addr)
	switch {
	case err != nil:
	case what == "serve":
		err = serveRole()
	case what == "observe":
		err = observeRole(addr, w, h)
	case what == "lab":
		err = labRole(w, h, addr)
	default:
		err = screenRole(what, w, h)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// screenRole measures for a while and reports.
func screenRole(what string, w, h int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	terminal := &meteredTerminal{}
	never, _ := io.Pipe() // no key comes
	var steps atomic.Int64
	switch what {
	case "bare":
		p := tea.NewProgram(&bareScreen{w: w, h: h}, tea.WithContext(ctx), tea.WithOutput(terminal), tea.WithInput(never), tea.WithFPS(frameRate), tea.WithWindowSize(w, h))
		go p.Run()
	case "steps", "screen":
		session := stepping(ctx, &steps)
		if what == "screen" {
			go ui.Run(ctx, ui.Options{Frames: session.Frames(), Do: session.Do, In: never, Out: terminal, Width: w, Height: h, Zone: time.UTC})
		} else {
			go func() {
				for range session.Frames() { // nobody looks
				}
			}()
		}
	}
	time.Sleep(costWarmUp)
	from, begin := steps.Load(), time.Now()
	terminal.reset()
	cpu := cpuTime()
	time.Sleep(costWindow) // the window of the measurement
	cpu = cpuTime() - cpu
	span := time.Since(begin).Seconds()
	writes, bytes := terminal.reset()
	return json.NewEncoder(os.Stdout).Encode(cost{CPU: cpu.Seconds() / span, Steps: float64(steps.Load()-from) / span,
		Frames: float64(writes) / span, Bytes: float64(bytes) / span})
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		fmt.Fprintln(os.Stderr, "getrusage:", err)
		os.Exit(1)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// meteredTerminal counts what is drawn.
type meteredTerminal struct {
	mu            sync.Mutex
	writes, bytes int
}

func (m *meteredTerminal) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	m.bytes += len(b)
	return len(b), nil
}

func (m *meteredTerminal) reset() (writes, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	writes, bytes = m.writes, m.bytes
	m.writes, m.bytes = 0, 0
	return writes, bytes
}

// bareScreen is what Bubble Tea alone costs: a full screen of lines and colours
// in which some numbers change with each frame.
type bareScreen struct{ w, h, n int }

type beat struct{}

func (b *bareScreen) Init() tea.Cmd { return b.next() }

func (b *bareScreen) next() tea.Cmd {
	return tea.Tick(time.Second/frameRate, func(time.Time) tea.Msg { return beat{} })
}

func (b *bareScreen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := m.(beat); ok {
		b.n++
		return b, b.next()
	}
	return b, nil
}

func (b *bareScreen) View() tea.View {
	var s strings.Builder
	for y := range b.h {
		fmt.Fprintf(&s, "\x1b[1m│\x1b[m\x1b[36m%6d\x1b[m%s\x1b[1m│\x1b[m", b.n*(y%4), strings.Repeat("─ ab", b.w/4)[:b.w/4*6-18])
		if y < b.h-1 {
			s.WriteByte('\n')
		}
	}
	v := tea.NewView(s.String())
	v.AltScreen = true
	return v
}

// stepping is a session of a controller that takes 1,000 steps a second: a
// broker comes and goes, and its replicas and leaders with it.
func stepping(ctx context.Context, steps *atomic.Int64) *debugger.Session {
	world := newBusyWorld()
	session := debugger.NewSession(debugger.Options{Engine: engine.New(engine.DefaultConfig(labControllerID)), Env: world, Mode: model.LabMode, Source: "127.0.0.1:2181",
		Peek:       func(_ context.Context, path string) model.Znode { return world.peek(path) },
		Brokers:    world.status,
		Connection: func() model.Connection { return model.Connection{Connected: true} },
		Recorded: func(r model.Record) {
			if r.Step != nil {
				steps.Add(1)
			}
		}})
	go session.Run(ctx)
	go func() {
		begin := time.Now()
		for tick := time.NewTicker(2 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			if float64(steps.Load()) > stepRate*time.Since(begin).Seconds() {
				continue
			}
			for _, s := range world.toggle() {
				session.Input(s)
			}
		}
	}()
	return session
}

// busyWorld is a stand-in that two goroutines may use: the session's loop and
// the one that performs its calls.
type busyWorld struct {
	mu    sync.Mutex
	world *standin.World
	owner int64 // the session of the brokers
	here  bool  // broker 3 is registered
}

func newBusyWorld() *busyWorld {
	store := zkserver.NewStore(zkserver.Options{})
	b := &busyWorld{world: standin.New(standin.Options{Store: store}), here: true}
	b.owner, _ = store.CreateSession(time.Hour)
	znodes := []zkserver.Znode{{Path: model.DeleteTopicsPath}, {Path: model.IsrChangeNotificationPath}, {Path: model.LogDirEventNotificationPath}}
	for id := int32(1); id <= 3; id++ {
		znodes = append(znodes, zkserver.Znode{Path: model.BrokerIDPath(id), Owner: b.owner, Data: registration(id)})
	}
	for i := range 4 {
		topic := fmt.Sprintf("orders-%d", i)
		var a model.TopicAssignment
		for n := range int32(3) {
			a.Partitions = append(a.Partitions, model.PartitionAssignment{Partition: n,
				ReplicaAssignment: model.ReplicaAssignment{Replicas: []int32{n%3 + 1, (n+1)%3 + 1}}})
		}
		znodes = append(znodes, zkserver.Znode{Path: model.TopicPath(topic), Data: model.EncodeTopic(a)})
	}
	if err := store.Load(znodes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return b
}

func registration(id int32) []byte {
	return model.EncodeBroker(&model.Broker{Endpoints: []model.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9090 + id}}}, 5, -1, 0)
}

// Perform implements debugger.Environment.
func (b *busyWorld) Perform(s model.Step) model.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.world.Perform(s)
	r.At = time.Now().UnixMilli()
	b.world.Sent, b.world.Replies = nil, nil
	return r
}

func (b *busyWorld) peek(path string) model.Znode {
	return model.PeekedZnode(path, b.Perform(&model.Call{Ops: []model.Op{{Kind: model.OpGet, Path: path}}}))
}

func (b *busyWorld) status(v *model.View) []model.BrokerStatus {
	var out []model.BrokerStatus
	for id := int32(1); id <= 3; id++ {
		st := model.BrokerStatus{ID: id, State: "down", Leads: v.Leads(id), Replicas: v.Hosts(id)}
		if v.IsLive(id) {
			st.State = "live"
		}
		out = append(out, st)
	}
	return out
}

// toggle takes broker 3 away or brings it back, and returns the events of that.
func (b *busyWorld) toggle() []model.Stimulus {
	b.mu.Lock()
	defer b.mu.Unlock()
	op := zkserver.Delete(model.BrokerIDPath(3), -1)
	if !b.here {
		op = zkserver.Create(model.BrokerIDPath(3), registration(3), zkserver.Ephemeral)
	}
	b.here = !b.here
	b.world.Store.Apply(b.owner, op)
	var out []model.Stimulus
	for in, ok := b.world.Next(); ok; in, ok = b.world.Next() {
		out = append(out, in.Of)
	}
	return out
}
