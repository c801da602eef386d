//go:build unix

package realkafka

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// failedTest stands for a test that has failed: it collects what would be
// printed, and runs the clean-ups when told.
type failedTest struct {
	testing.TB
	logged   strings.Builder
	cleanups []func()
}

func (f *failedTest) Failed() bool      { return true }
func (f *failedTest) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }
func (f *failedTest) Log(args ...any)   { fmt.Fprintln(&f.logged, args...) }

func TestFailureShowsTheEndOfTheLog(t *testing.T) {
	f := &failedTest{TB: t}
	p := launch(f, "counter", filepath.Join(t.TempDir(), "counter.log"), exec.Command("sh", "-c", "seq 100; sleep 600 & wait"))
	await(t, 20*time.Second, "its output", []*process{p}, func() error {
		if !strings.HasSuffix(p.tail(), "\n100") {
			return errors.New("not all yet")
		}
		return nil
	})
	p.pause(t) // a stopped process is killed all the same
	for _, clean := range f.cleanups {
		clean()
	}
	if p.running() {
		t.Error("it still runs")
	}
	lines := strings.Split(strings.TrimSpace(f.logged.String()), "\n")
	if len(lines) != 1+tailLines || lines[1] != "61" || lines[tailLines] != "100" {
		t.Errorf("logged:\n%s\nwant a title and the lines 61 to 100", f.logged.String())
	}
	if title := lines[0]; !strings.Contains(title, "counter.log") || !strings.Contains(title, "killed") {
		t.Errorf("the title %q names neither the log nor how the process ended", title)
	}
}

func TestStoppingTakesTheWholeGroup(t *testing.T) {
	log := filepath.Join(t.TempDir(), "parent.log")
	p := launch(t, "parent", log, exec.Command("sh", "-c", "sleep 600 & echo $!; wait"))
	child := awaitPID(t, p)
	p.stop(t, sigKill)
	awaitGone(t, child)
}

func TestPauseHasTakenEffect(t *testing.T) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("no /proc to see threads in")
	}
	p := launch(t, "loop", filepath.Join(t.TempDir(), "loop.log"), exec.Command("sh", "-c", "while :; do :; done"))
	if err := stopped(p.cmd.Process.Pid); err == nil {
		t.Error("a busy process is taken for stopped")
	}
	p.pause(t)
	if err := stopped(p.cmd.Process.Pid); err != nil {
		t.Errorf("paused, but %v", err)
	}
	p.signal(t, sigCont)
	await(t, 20*time.Second, "it to go on", []*process{p}, func() error {
		if stopped(p.cmd.Process.Pid) == nil {
			return errors.New("it stands still")
		}
		return nil
	})
}

// A test binary that is killed takes what it started with it.
func TestProcessesDieWithTheTestBinary(t *testing.T) {
	const role = "KSTATE_TEST_STARTS_A_SLEEPER"
	if dir := os.Getenv(role); dir != "" {
		p := launch(t, "sleeper", filepath.Join(dir, "sleeper.log"), exec.Command("sleep", "600"))
		fmt.Printf("sleeper %d\n", p.cmd.Process.Pid)
		<-p.exited // until this process is killed
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), role+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		fmt.Sscanf(lines.Text(), "sleeper %d", &pid)
	}
	if pid == 0 {
		t.Fatal("the inner test started no sleeper")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	awaitGone(t, pid)
}

func awaitPID(t *testing.T, p *process) int {
	t.Helper()
	pid := 0
	await(t, 20*time.Second, "the child's number", []*process{p}, func() error {
		var err error
		pid, err = strconv.Atoi(fileTail(p.log))
		return err
	})
	return pid
}

// awaitGone waits until a process is gone or a zombie that waits for init.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	await(t, 20*time.Second, "the end of the child", nil, func() error {
		if syscall.Kill(pid, 0) != nil {
			return nil
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && strings.Contains(string(stat), ") Z ") {
			return nil
		}
		return fmt.Errorf("%d is alive", pid)
	})
}

func TestJarsAreFetchedOnceAndWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jars", "kafka-0")
	if err := os.MkdirAll(dir, 0o755); err != nil { // left half full, without the marker
		t.Fatal(err)
	}
	if err := fetchOnce(dir, func(string) error { return errors.New("no network") }); err == nil {
		t.Error("a failed fetch is taken for success")
	}

	var fetches atomic.Int32
	fetch := func(into string) error {
		fetches.Add(1)
		return os.WriteFile(filepath.Join(into, "a.jar"), []byte("jar"), 0o644)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := fetchOnce(dir, fetch); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "a.jar")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := fetches.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if left, _ := filepath.Glob(dir + ".part-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPortsAreDistinct(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		p := freePort(t)
		if seen[p] {
			t.Errorf("port %d given twice", p)
		}
		seen[p] = true
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""}, {"a", 3, "a"}, {"a\nb\n", 1, "b"}, {"a\nb\nc\n\n", 2, "b\nc"}, {"a\nb", 2, "a\nb"}, {"a\nb", 9, "a\nb"},
	} {
		if got := lastLines([]byte(c.in), c.n); got != c.want {
			t.Errorf("last %d lines of %q: %q, want %q", c.n, c.in, got, c.want)
		}
	}
}
