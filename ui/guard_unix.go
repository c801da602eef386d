//go:build unix

package ui

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainTime is how long the end waits for output that was written just before.
const drainTime = 200 * time.Millisecond

// notifyHangup tells on a channel that the terminal has gone.
func notifyHangup(c chan<- os.Signal) { signal.Notify(c, syscall.SIGHUP) }

// guardOutput redirects the file descriptors of the standard output and error
// into a pipe whose lines go to show, and returns the terminal as a file of its
// own. A crash of the program still reports to the real standard error.
func guardOutput(show chan<- string) (*guard, error) {
	stdout, err := duplicate(1)
	if err != nil {
		return nil, err
	}
	stderr, err := duplicate(2)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	g := &guard{terminal: stdout, stderr: stderr, done: make(chan struct{})}
	if err := redirect(w); err != nil {
		return nil, err
	}
	// Without this a crash report would end in the pipe.
	if err := debug.SetCrashOutput(stderr, debug.CrashOptions{}); err != nil {
		return nil, fmt.Errorf("set the crash output: %w", err)
	}
	g.restore = func() error {
		err := redirectBack(stdout, stderr)
		debug.SetCrashOutput(nil, debug.CrashOptions{})
		w.Close()
		// A child process may still hold the pipe: do not wait for its end.
		r.SetReadDeadline(time.Now().Add(drainTime))
		return err
	}
	go g.take(r, show)
	return g, nil
}

func duplicate(fd int) (*os.File, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicate file descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(n), fmt.Sprintf("/dev/fd/%d", fd)), nil
}

func redirect(to *os.File) error { return redirectBack(to, to) }

func redirectBack(stdout, stderr *os.File) error {
	for fd, to := range []*os.File{1: stdout, 2: stderr} {
		if to == nil {
			continue
		}
		if err := unix.Dup2(int(to.Fd()), fd); err != nil {
			return fmt.Errorf("redirect file descriptor %d: %w", fd, err)
		}
	}
	return nil
}
