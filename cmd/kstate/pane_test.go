package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// asCommand makes this test binary be kstate: its arguments are a command line.
const asCommand = "KSTATE_TEST_AS_COMMAND"

func init() {
	if os.Getenv(asCommand) == "1" {
		main() // exits
	}
}

// pane is kstate in a terminal of tmux.
type pane struct {
	t      testing.TB
	socket string
}

// needTmux skips a test where tmux is not there, and fails it if CI=true or
// KSTATE_REQUIRE_KAFKA=1, as in .ci/run. It is skipped under -short, too, with
// which the race detector runs: that makes kstate slow, and tells of Bubble Tea's
// reader of keys, which may outlive the program for a moment.
func needTmux(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no terminals")
	}
	_, err := exec.LookPath("tmux")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true" || os.Getenv("KSTATE_REQUIRE_KAFKA") == "1":
		t.Fatal("tmux is not there: ", err)
	default:
		t.Skip("tmux is not there: ", err)
	}
}

// openPane starts kstate in a terminal of that size.
func openPane(t testing.TB, width, height int, args ...string) *pane {
	t.Helper()
	needTmux(t)
	p := &pane{t: t, socket: fmt.Sprintf("kstate-test-%d-%d", os.Getpid(), time.Now().UnixNano())}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := []string{"-f", os.DevNull, "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height),
		"env", asCommand + "=1", "TERM=xterm-256color", self}
	p.tmux(append(command, args...)...)
	p.tmux("set-option", "-g", "remain-on-exit", "on")
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := p.capture()
			t.Logf("the pane at the end:\n%s", text)
		}
		_ = exec.Command("tmux", "-L", p.socket, "kill-server").Run() // gone: as wanted
	})
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// capture is what the terminal shows. It may be called from any goroutine.
func (p *pane) capture() (string, error) {
	out, err := exec.Command("tmux", "-L", p.socket, "capture-pane", "-p").Output()
	return string(out), err
}

// keys presses keys, by tmux's names.
func (p *pane) keys(keys ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys", "--"}, keys...)...)
}

// await waits until the terminal shows what it should.
func (p *pane) await(limit time.Duration, what string, shows func(text string) bool) {
	p.t.Helper()
	text := ""
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if text, err = p.capture(); err == nil && shows(text) {
			return
		}
	}
	p.t.Fatalf("the pane did not show %s within %v:\n%s", what, limit, text)
}

// quiet waits until the terminal shows these words and has not changed for a
// number of looks.
func (p *pane) quiet(words ...string) {
	p.t.Helper()
	looks, last := 0, ""
	p.await(patience, fmt.Sprintf("%q at rest", words), func(text string) bool {
		if looks++; text != last || !holding(words...)(text) {
			looks, last = 0, text
		}
		return looks > 15
	})
}

// leaveDialogs presses Escape until no dialog is open. A key right behind an
// Escape would be another key, so it waits until nothing has moved for a while.
func (p *pane) leaveDialogs() {
	p.t.Helper()
	quiet, last := 0, ""
	p.await(20*time.Second, "a screen without a dialog", func(text string) bool {
		if text != last {
			quiet, last = 0, text
		}
		if quiet++; quiet > 3 && !strings.Contains(text, "? help") && !strings.Contains(text, "nothing to close") {
			quiet = 0
			p.keys("Escape")
		}
		return quiet > 3
	})
}

// holding is a condition for await.
func holding(words ...string) func(string) bool {
	return func(text string) bool {
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	}
}

var number = regexp.MustCompile(`\d+`)

// nodeCount reads the count in a node of a graph: the number below its name. It
// is -1 when the graph is not shown.
func nodeCount(text, state string) int {
	lines := strings.Split(text, "\n")
	node := regexp.MustCompile(`[│├┤►◄┃┝┥] ?` + state + ` ?[│├┤►◄┃┝┥]`)
	for y := range len(lines) - 1 {
		at := node.FindStringIndex(lines[y])
		if at == nil {
			continue
		}
		from := len([]rune(lines[y][:at[0]])) + 1
		below := []rune(lines[y+1])
		if from >= len(below) {
			return -1
		}
		n, err := strconv.Atoi(number.FindString(string(below[from:min(len(below), from+len(state))])))
		if err != nil {
			return -1
		}
		return n
	}
	return -1
}
