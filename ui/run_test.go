package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"kstate/model"
)

// These tests run the whole program over pipes. They wait for what it does,
// with a deadline, and never for time to pass.

const deadline = 30 * time.Second

// output is a terminal that remembers.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return ansi.Strip(o.b.String())
}

// running is a program under test.
type running struct {
	t        *testing.T
	keys     *io.PipeWriter
	out      *output
	frames   chan model.Frame
	commands chan model.Command
	ended    chan error
}

func start(t *testing.T, ctx context.Context) *running {
	t.Helper()
	// No file: the end of Bubble Tea closes one while its reader may be at it.
	in, keys := io.Pipe()
	t.Cleanup(func() { keys.Close() })
	r := &running{t: t, keys: keys, out: &output{}, frames: make(chan model.Frame), commands: make(chan model.Command, 10), ended: make(chan error, 1)}
	o := Options{Frames: r.frames, Do: func(c model.Command) { r.commands <- c }, Zone: time.UTC, In: in, Out: r.out, Width: 80, Height: 24, NoColor: true}
	go func() { r.ended <- Run(ctx, o) }()
	return r
}

// send gives the program a frame. When it returns, the frame sent before has
// been taken to the screen.
func (r *running) send(f *model.Frame) {
	r.t.Helper()
	select {
	case r.frames <- *f:
	case err := <-r.ended:
		r.t.Fatalf("the program ended: %v", err)
	case <-time.After(deadline):
		r.t.Fatal("the program takes no frame")
	}
}

func (r *running) press(keys string) {
	r.t.Helper()
	if _, err := io.WriteString(r.keys, keys); err != nil {
		r.t.Fatal(err)
	}
}

func (r *running) command() model.Command {
	r.t.Helper()
	select {
	case c := <-r.commands:
		return c
	case err := <-r.ended:
		r.t.Fatalf("the program ended: %v", err)
	case <-time.After(deadline):
		r.t.Fatal("no command came")
	}
	return nil
}

func (r *running) end() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(deadline):
		r.t.Fatal("the program does not end")
	}
	return nil
}

func TestRunDrawsAndGivesCommands(t *testing.T) {
	r := start(t, context.Background())
	r.send(paused())
	r.send(paused())
	r.press("t")
	if c := r.command(); c != (model.StepBy{Grain: model.TransitionGrain, Position: 4711}) {
		t.Errorf("t gives %#v", c)
	}
	r.press("Dclicks\r")
	if c := r.command(); c != (model.DeleteTopic{Topic: "clicks"}) {
		t.Errorf("D gives %#v", c)
	}
	r.press("q")
	if err := r.end(); err != nil {
		t.Errorf("q ends with %v", err)
	}
	if text := r.out.text(); !strings.Contains(text, "│DeletionSuccessful│") || !strings.Contains(text, "│NonExistentPartition├──►NewPartition") {
		t.Errorf("the graphs were not drawn:\n%s", text)
	}
}

func TestRunEndsWithTheFrames(t *testing.T) {
	r := start(t, context.Background())
	r.send(labFrame())
	close(r.frames)
	if err := r.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := start(t, ctx)
	r.send(labFrame())
	because := errors.New("the lab is gone")
	cancel(because)
	if err := r.end(); !errors.Is(err, because) {
		t.Errorf("ended with %v, want %v", err, because)
	}
}
