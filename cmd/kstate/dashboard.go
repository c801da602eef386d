package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"kstate/model"
	"kstate/ui"
)

// screen is what a dashboard shows and whom it asks.
type screen interface {
	Frames() <-chan model.Frame
	Do(model.Command)
}

// dashboardFlags are those of every dashboard.
func dashboardFlags() []flag {
	return []flag{
		{name: "headless", usage: "run without a terminal"},
		{name: "no-color", usage: "no colours; NO_COLOR in the environment does the same"},
	}
}

var stateChangeLogFlag = flag{name: "state-change-log", kind: isFile, value: "FILE",
	usage: "write the transitions as Kafka's state-change.log has them (- is standard output, with --headless only)"}

// show runs the dashboard, or waits, until the operator or a signal ends it.
// Ctrl-C is a key of the dashboard; without one it ends the command.
func show(inv *invocation, s screen) error {
	if inv.has("headless") {
		for {
			select {
			case <-inv.ctx.Done():
				return nil
			case _, open := <-s.Frames(): // nobody looks
				if !open {
					return nil
				}
			}
		}
	}
	if !isTerminal(inv.console.out) {
		return inv.misuse("standard output is no terminal to draw on: --headless runs without one")
	}
	ctx, stop := signal.NotifyContext(context.WithoutCancel(inv.ctx), syscall.SIGTERM)
	defer stop()
	err := ui.Run(ctx, ui.Options{Frames: s.Frames(), Do: s.Do, NoColor: inv.has("no-color")})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// isTerminal: it is a device of characters, as no file and no pipe is.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// openLog opens a file that lines are appended to; - is standard output.
func openLog(inv *invocation, name string) (io.Writer, func() error, error) {
	switch path := inv.text(name); {
	case path == "":
		return nil, func() error { return nil }, nil
	case path == "-" && !inv.has("headless"):
		return nil, nil, inv.misuse("--%s -: standard output is the screen; give a file, or --headless", name)
	case path == "-":
		return inv.console.out, func() error { return nil }, nil
	default:
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, fmt.Errorf("--%s: %w", name, err)
		}
		return f, f.Close, nil
	}
}
