//go:build unix

package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The guard redirects the file descriptors of a whole process, so its tests run
// this test binary again as the process to be guarded.
const guardedEnv = "KSTATE_UI_TEST_GUARDED"

func TestMain(m *testing.M) {
	switch os.Getenv(guardedEnv) {
	case "write":
		guardedWrites()
		return
	case "crash":
		guardedCrash()
		return
	}
	os.Exit(m.Run())
}

func guardedWrites() {
	lines := make(chan string, capturedLines)
	g, err := guardOutput(lines)
	if err != nil {
		panic(err)
	}
	fmt.Println("stray line")
	log.Print("logged line")
	g.terminal.WriteString("screen:" + <-lines + "," + <-lines)
	g.release()
	fmt.Println(";restored")
}

func guardedCrash() {
	if _, err := guardOutput(make(chan string, capturedLines)); err != nil {
		panic(err)
	}
	go func() { panic("boom") }()
	time.Sleep(deadline)
}

func guarded(t *testing.T, what string) (stdout, stderr string, err error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	c := exec.CommandContext(ctx, exe)
	c.Env = append(os.Environ(), guardedEnv+"="+what)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	return out.String(), errs.String(), err
}

func TestStrayOutputStaysOffTheScreen(t *testing.T) {
	stdout, stderr, err := guarded(t, "write")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if !strings.HasPrefix(stdout, "screen:stray line,") || !strings.HasSuffix(stdout, "logged line;restored\n") || strings.Count(stdout, "\n") != 1 {
		t.Errorf("the standard output is %q", stdout)
	}
	if !strings.HasPrefix(stderr, "stray line\n") || !strings.HasSuffix(stderr, "logged line\n") {
		t.Errorf("the standard error at the end is %q", stderr)
	}
}

// A crash while the screen is shown must not vanish with the captured output.
func TestCrashIsStillReported(t *testing.T) {
	_, stderr, err := guarded(t, "crash")
	if err == nil || !strings.Contains(stderr, "panic: boom") {
		t.Errorf("err %v, the standard error is %q", err, stderr)
	}
}

func TestRunEndsWithTheTerminal(t *testing.T) {
	r := start(t, context.Background())
	r.send(labFrame())
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := r.end(); !errors.Is(err, ErrHangup) {
		t.Errorf("ended with %v", err)
	}
}
