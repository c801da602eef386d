package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"kstate/model"
)

// ErrHangup is what Run returns when the terminal has gone.
var ErrHangup = errors.New("the terminal hung up")

// Options are what Run needs. Frames and Do are required; see the duties in the
// package documentation.
type Options struct {
	Frames <-chan model.Frame
	Do     func(model.Command)

	NoColor bool           // as the flag; NO_COLOR in the environment does the same
	Zone    *time.Location // of the times on the screen; nil is the local one

	// In and Out are the terminal, nil for the process's own. Width and Height
	// are the size of an Out that is no terminal; zero asks the terminal.
	In            io.Reader
	Out           io.Writer
	Width, Height int
}

// Run shows the dashboard until the operator quits or Frames is closed (nil),
// the terminal hangs up (ErrHangup), the context is done (its cause), or the
// terminal fails. While it runs, what anything else writes to the standard
// output, the standard error or the standard logger is held back from the
// terminal and shown as a notice; it is written to the standard error at the end.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	out := o.Out
	captured := make(chan string, capturedLines)
	if out == nil {
		guard, err := guardOutput(captured)
		if err != nil {
			return fmt.Errorf("keep other output off the screen: %w", err)
		}
		defer guard.release()
		out = guard.terminal
	}
	hangup := make(chan os.Signal, 1)
	notifyHangup(hangup)
	defer signal.Stop(hangup)
	go func() {
		select {
		case <-hangup:
			cancel(ErrHangup)
		case <-ctx.Done():
		}
	}()

	p := tea.NewProgram(newProgram(ctx, o, captured), o.teaOptions(ctx, out)...)
	_, err = p.Run()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil && !errors.Is(err, tea.ErrInterrupted) {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// capturedLines bounds the lines that wait to be shown; see guardOutput.
const capturedLines = 64

func (o *Options) teaOptions(ctx context.Context, out io.Writer) []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithOutput(out), tea.WithFPS(30)}
	if o.In != nil {
		options = append(options, tea.WithInput(o.In))
	}
	if o.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	if o.Width > 0 && o.Height > 0 {
		options = append(options, tea.WithWindowSize(o.Width, o.Height))
	}
	return options
}

// program is the dashboard as Bubble Tea sees it.
type program struct {
	*dashboard
	done     <-chan struct{} // nobody waits beyond it
	frames   <-chan model.Frame
	captured <-chan string
}

func newProgram(ctx context.Context, o Options, captured <-chan string) *program {
	return &program{dashboard: newDashboard(o.Do, o.Zone), done: ctx.Done(), frames: o.Frames, captured: captured}
}

// The messages beside Bubble Tea's own.
type (
	frameMsg     model.Frame
	framesEndMsg struct{}
	strayLineMsg string
)

// Init waits for the first frame and for stray output.
func (p *program) Init() tea.Cmd { return tea.Batch(p.nextFrame, p.nextStray) }

func (p *program) nextFrame() tea.Msg {
	select {
	case f, ok := <-p.frames:
		if ok {
			return frameMsg(f)
		}
		return framesEndMsg{}
	case <-p.done:
		return nil
	}
}

func (p *program) nextStray() tea.Msg {
	select {
	case s := <-p.captured:
		return strayLineMsg(s)
	case <-p.done:
		return nil
	}
}

// Update takes a message.
func (p *program) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case frameMsg:
		f := model.Frame(m)
		p.setFrame(&f)
		return p, p.nextFrame
	case framesEndMsg:
		return p, tea.Quit
	case strayLineMsg:
		p.say(model.Warn, "output: "+string(m))
		return p, p.nextStray
	case tea.WindowSizeMsg:
		p.resize(m.Width, m.Height)
	case tea.KeyPressMsg:
		return p, p.press(m)
	case tea.PasteMsg:
		p.paste(m.Content)
	}
	return p, nil
}

// View draws the screen, if anything has changed.
func (p *program) View() tea.View {
	v := tea.NewView(p.draw())
	v.AltScreen = true
	v.WindowTitle = p.windowTitle()
	return v
}

// draw is the screen as text with escape sequences.
func (d *dashboard) draw() string {
	if d.dirty {
		d.render()
		d.content, d.dirty = d.canvas.encode(), false
	}
	return d.content
}

func (d *dashboard) windowTitle() string {
	if d.frame == nil {
		return "kstate"
	}
	return "kstate " + string(d.frame.Mode) + " " + clean(d.frame.Source)
}
