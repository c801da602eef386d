package main

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"kstate/model"
)

// nodeNames are the names in the nodes of the graphs; the small drawings leave
// the word Replica out of some.
var nodeNames = func() map[string]string {
	names := map[string]string{}
	for _, s := range model.PartitionStates {
		names[s.String()] = s.String()
	}
	for _, s := range model.ReplicaStates {
		names[s.String()] = s.String()
		if short, ok := strings.CutPrefix(s.String(), "Replica"); ok {
			names[short] = s.String()
		}
	}
	return names
}()

var (
	border = `[─-╿►◄▲▼]`
	nodeAt = regexp.MustCompile(border + ` ?([A-Z][A-Za-z]+) *` + border)
	counts = regexp.MustCompile(`^ ?(\d+)`)
)

// graphCounts reads the counts of all states from the nodes of both graphs. It
// is nil when a node or its count is not there.
func graphCounts(text string) map[string]int {
	out := map[string]int{}
	lines := strings.Split(text, "\n")
	for y := range len(lines) - 1 {
		// A border may belong to two nodes, so each match is looked for on its own.
		for from := 0; ; {
			m := nodeAt.FindStringSubmatchIndex(lines[y][from:])
			if m == nil {
				break
			}
			name := lines[y][from+m[2] : from+m[3]]
			x := len([]rune(lines[y][:from+m[0]])) + 1
			from += m[3]
			state, ok := nodeNames[name]
			below := []rune(lines[y+1])
			if !ok || x >= len(below) {
				continue
			}
			c := counts.FindStringSubmatch(string(below[x:]))
			if c == nil {
				return nil
			}
			out[state], _ = strconv.Atoi(c[1])
		}
	}
	if len(out) != len(model.PartitionStates)+len(model.ReplicaStates) {
		return nil
	}
	return out
}

// stateCounts are the counts that kstate state tells, in one map.
func stateCounts(st *clusterState) map[string]int {
	out := map[string]int{}
	maps.Copy(out, st.Counts.Partitions)
	maps.Copy(out, st.Counts.Replicas)
	delete(out, "unreadable")
	return out
}

// openLab starts the lab in a terminal and waits until all is online.
func openLab(t *testing.T, width, height int, args ...string) (*pane, string) {
	t.Helper()
	p := openPane(t, width, height, append([]string{"lab", "--zookeeper-tick", "1000"}, args...)...)
	p.await(patience, "the cluster", func(text string) bool {
		n := graphCounts(text)
		return n["OnlinePartition"] == 6 && n["OnlineReplica"] == 15
	})
	text, _ := p.capture()
	addr := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(text)
	if addr == "" {
		t.Fatalf("no address on the screen:\n%s", text)
	}
	return p, addr
}

// clear is the key that empties a field.
const clear = "C-u"

// asked presses keys of a dialog, after the dialog is there.
func (p *pane) asked(key, title string, keys ...string) {
	p.t.Helper()
	p.keys(key)
	p.await(patience, "the dialog "+title, holding(title))
	p.keys(keys...)
}

// sound waits for a picture that stands still and checks it: it has as many
// lines as the terminal, none is wider, the first and the last are whole.
func (p *pane) sound(width, height int) {
	p.t.Helper()
	last := ""
	p.await(patience, "a picture that stands still", func(text string) bool {
		same := text == last
		last = text
		return same
	})
	lines := strings.Split(strings.TrimSuffix(last, "\n"), "\n")
	if len(lines) != height {
		p.t.Errorf("%d lines in a terminal of %d:\n%s", len(lines), height, last)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > width {
			p.t.Errorf("line %d is %d wide: %s", i+1, w, l)
		}
	}
	if !strings.HasPrefix(lines[0], " LAB ") || !strings.HasPrefix(lines[1], "1Graphs 2Topics") || graphCounts(last) == nil {
		p.t.Errorf("the picture is torn:\n%s", last)
	}
}

// sizes are those of the terminals that are looked at.
func sizes() [][2]int {
	if testing.Short() {
		return [][2]int{{80, 24}}
	}
	return [][2]int{{80, 24}, {160, 50}}
}

// within is how soon the screen must show what the tree says.
const within = time.Second

// agrees waits until the tree says that an action is done, and then sees to it
// that the nodes of the graphs say the same within a second.
func (p *pane) agrees(addr, action string, done func(*clusterState) bool) {
	p.t.Helper()
	awaitState(p.t, addr, "the end of: "+action, done)
	began := time.Now()
	var want, have map[string]int
	for {
		text, err := p.capture()
		if err != nil {
			p.t.Fatal(err)
		}
		have = graphCounts(text)
		st, err := liveState(p.t, addr)
		if err != nil {
			p.t.Fatal(err)
		}
		if want = stateCounts(&st); maps.Equal(want, have) {
			break
		}
		if time.Since(began) > within {
			p.t.Errorf("after %s: %v after the tree says %v, the screen says %v:\n%s", action, time.Since(began), want, have, text)
			return
		}
	}
	p.t.Logf("%s: the screen agreed after %v", action, time.Since(began).Round(time.Millisecond))
}

func TestTheScreenAgreesWithTheTree(t *testing.T) {
	for _, size := range sizes() {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			p, addr := openLab(t, size[0], size[1])
			check := func(action string, done func(*clusterState) bool) {
				t.Helper()
				p.agrees(addr, action, done)
				p.sound(size[0], size[1])
			}
			online := func(partitions, replicas int) func(*clusterState) bool {
				return func(st *clusterState) bool { return onlineIn(st, partitions, replicas) }
			}
			check("start", online(6, 15))
			p.asked("K", "Kill a broker", clear, "3", "Enter")
			check("kill broker 3", online(6, 11))
			p.asked("S", "Start a broker", clear, "3", "Enter")
			check("start broker 3", online(6, 15))
			p.asked("C", "Create a topic", "fresh", "Tab", clear, "4", "Tab", clear, "2", "Enter")
			check("create a topic", online(10, 23))
			p.asked("A", "Add partitions", clear, "fresh", "Tab", clear, "6", "Enter")
			check("add partitions", online(12, 27))
			p.asked("E", "Elect leaders", "4", "Enter")
			p.await(patience, "the preview", holding("Preview: preferred", "of 12 would get a leader written"))
			p.keys("Enter")
			p.await(patience, "the election", holding("preferred election of 12 partitions queued"))
			check("elect", online(12, 27))
			p.asked("R", "Reassign a partition", clear, "unclean-0", "Tab", clear, "1,2,3", "Enter")
			check("reassign", func(st *clusterState) bool { return onlineIn(st, 12, 28) && len(isrOf(st, "unclean", 0)) == 3 })
			p.asked("T", "Shut a broker down", clear, "2", "Enter")
			check("shut broker 2 down", func(st *clusterState) bool {
				return len(isrOf(st, "unclean", 0)) == 2 && st.Counts.Partitions["OnlinePartition"] == 12 && st.Counts.Replicas["OfflineReplica"] > 0
			})
			p.asked("X", "Reset the lab", "Enter")
			check("reset the lab", func(st *clusterState) bool { return onlineIn(st, 6, 15) && len(st.Brokers) == 3 })
		})
	}
}

func isrOf(st *clusterState, topic string, partition int32) []int32 {
	for i := range st.Partitions {
		if p := &st.Partitions[i]; p.Topic == topic && p.Partition == partition {
			return p.ISR
		}
	}
	return nil
}

// A topic whose deletion is halted: the screen shows the controller's memory,
// state the tree; the other topics agree, and the inspector marks the difference.
func TestTheScreenShowsTheMemoryOfAQueuedTopic(t *testing.T) {
	for _, size := range sizes() {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			p, addr := openLab(t, size[0], size[1])
			p.asked("K", "Kill a broker", clear, "3", "Enter")
			p.agrees(addr, "kill broker 3", func(st *clusterState) bool { return onlineIn(st, 6, 11) })
			p.asked("D", "Delete a topic", "orders", "Enter")
			awaitState(t, addr, "orders is queued", func(st *clusterState) bool { return slices.Equal(st.Deletion.Queued, []string{"orders"}) })
			st, err := liveState(t, addr)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			for name := range stateCounts(&st) {
				want[name] = 0
			}
			for _, x := range st.Partitions {
				if x.Topic != "orders" {
					want[x.State]++
				}
			}
			for _, r := range st.Replicas {
				if r.Topic != "orders" {
					want[r.State]++
				}
			}
			// In memory the queued topic has lost its partitions; two brokers have
			// deleted their replicas, the third's are waited for.
			want["NonExistentPartition"] += 3
			want["ReplicaDeletionSuccessful"] += 6
			want["OfflineReplica"] += 3
			p.await(patience, fmt.Sprintf("%v", want), func(text string) bool { return maps.Equal(graphCounts(text), want) })
			p.sound(size[0], size[1])
			p.keys("5")
			p.await(patience, "the reason", holding("topicsIneligibleForDeletion 1", "offline-replica"))
			p.keys("2")
			p.await(patience, "the topics", holding("TOPIC"))
			p.keys("Home", "Down", "Right") // orders, its partitions
			p.await(patience, "the partitions", holding("orders-0"))
			p.keys("Enter")
			p.await(patience, "the difference", func(text string) bool {
				return strings.Contains(text, "NonExistentPartition") && strings.Contains(text, "≠")
			})
			p.keys("1")
			p.asked("S", "Start a broker", clear, "3", "Enter")
			p.agrees(addr, "the end of the deletion", func(st *clusterState) bool { return onlineIn(st, 3, 6) && len(st.Deletion.Queued) == 0 })
		})
	}
}

var nextStep = regexp.MustCompile(`next: .*\S`)

// stepKey presses a key that steps, once a step is at hand, and waits until the
// screen has moved on. Where the next step reads like the last one it does not
// wait for long: a key that comes too soon is refused.
func (p *pane) stepKey(key string) string {
	p.t.Helper()
	before := ""
	p.await(patience, "a step at hand", func(text string) bool {
		before = nextStep.FindString(text)
		return before != "" && strings.Contains(text, "PAUSED")
	})
	p.keys(key)
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		text, err := p.capture()
		if err == nil && (nextStep.FindString(text) != before && strings.Contains(text, "PAUSED") || time.Now().After(end)) {
			return text
		}
	}
}

// The operator's way through a deletion: paused, the topic's name typed, t for
// each transition.
func TestADeletionByKeys(t *testing.T) {
	p, addr := openLab(t, 80, 24)
	p.keys("Space")
	p.await(patience, "that it is paused", holding("PAUSED"))
	p.asked("D", "Delete a topic", "orders", "Enter")
	most := map[string]int{}
	fewest := 15
	for n := 0; ; n++ {
		if n > 1000 {
			t.Fatal("the deletion does not end")
		}
		text := p.stepKey("t")
		now := graphCounts(text)
		for state, n := range now {
			most[state] = max(most[state], n)
		}
		if now != nil {
			fewest = min(fewest, now["OnlineReplica"])
		}
		if now["OnlinePartition"] == 3 && now["NonExistentPartition"] == 0 && now["OnlineReplica"] == 6 && most["ReplicaDeletionSuccessful"] == 9 {
			break
		}
	}
	for state, n := range map[string]int{"OfflinePartition": 3, "NonExistentPartition": 3, "OfflineReplica": 9, "ReplicaDeletionStarted": 9, "ReplicaDeletionSuccessful": 9, "ReplicaDeletionIneligible": 0} {
		if most[state] != n {
			t.Errorf("at most %d in %s, want %d", most[state], state, n)
		}
	}
	if fewest != 6 {
		t.Errorf("at least %d replicas were online, want the 6 of other topics", fewest)
	}
	p.keys("c")
	p.agrees(addr, "the deletion", func(st *clusterState) bool { return onlineIn(st, 3, 6) && len(st.Deletion.Queued) == 0 })
}

// An unclean election by key: the preview says what it costs, the outcome is
// what it said.
func TestAnElectionByKeys(t *testing.T) {
	p, addr := openLab(t, 80, 24)
	kill := func(id string, replicas int) {
		p.asked("K", "Kill a broker", clear, id, "Enter")
		awaitState(t, addr, "broker "+id+" is gone", func(st *clusterState) bool { return st.Counts.Replicas["OnlineReplica"] == replicas })
		p.await(patience, "the same on the screen", func(text string) bool { return graphCounts(text)["OnlineReplica"] == replicas })
	}
	kill("2", 9) // clicks-0 has the ISR 1
	kill("1", 4) // and now none of it lives
	p.asked("S", "Start a broker", clear, "2", "Enter")
	p.await(patience, "the offline partitions", func(text string) bool {
		n := graphCounts(text)
		return n["OfflinePartition"] == 2 && n["OnlineReplica"] == 10
	})
	p.keys("3")
	p.await(patience, "the partitions", holding("clicks-0"))
	p.keys("Home")
	p.asked("E", "Elect leaders", "2", "Enter")
	p.await(patience, "the preview", holding("Preview: unclean", "clicks-0", "none → 2", "UNCLEAN"))
	p.keys("Enter")
	awaitState(t, addr, "that clicks-0 is led by 2", func(st *clusterState) bool {
		for i := range st.Partitions {
			if x := &st.Partitions[i]; x.Topic == "clicks" && x.Partition == 0 {
				return x.Leader != nil && *x.Leader == 2 && slices.Equal(x.ISR, []int32{2})
			}
		}
		return false
	})
	p.keys("1")
	p.await(patience, "the graphs", func(text string) bool { return graphCounts(text)["OfflinePartition"] == 1 })
}

func TestAForeignClientIsSeenOnTheScreen(t *testing.T) {
	p, addr := openLab(t, 160, 50)
	c := foreign(t, addr)
	createMarker(t, c, "orders")
	p.await(patience, "the deletion", func(text string) bool {
		n := graphCounts(text)
		return n["OnlinePartition"] == 3 && n["OnlineReplica"] == 6 && strings.Contains(text, "last orders-2@3") && strings.Contains(text, "nothing queued")
	})
	if err := c.Delete(model.ControllerPath, -1); err != nil {
		t.Fatal(err)
	}
	p.await(patience, "the failover", func(text string) bool {
		n := graphCounts(text)
		return strings.Contains(text, "epoch 2") && n["OnlinePartition"] == 3 && n["OnlineReplica"] == 6
	})
	p.keys("7") // its steps are in the log
	p.await(patience, "the steps of the failover", func(text string) bool {
		if strings.Contains(text, "begin Reelect") {
			return true
		}
		p.keys("Up", "Up", "Up") // few rows at a time, so that nothing is passed by
		return false
	})
}

// openShell starts a shell in a terminal, with kstate as $KSTATE.
func openShell(t *testing.T, width, height int, env ...string) *pane {
	t.Helper()
	needTmux(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t: t, socket: fmt.Sprintf("kstate-shell-%d-%d", os.Getpid(), time.Now().UnixNano())}
	command := []string{"-f", os.DevNull, "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height),
		"env", asCommand + "=1", "TERM=xterm-256color", "PS1=$ ", "KSTATE=" + self}
	p.tmux(append(append(command, env...), "sh")...)
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := p.capture()
			t.Logf("the pane at the end:\n%s", text)
		}
		_ = exec.Command("tmux", "-L", p.socket, "kill-server").Run()
	})
	p.await(patience, "a prompt", holding("$"))
	return p
}

// labUp waits for the dashboard of a lab.
func (p *pane) labUp() {
	p.t.Helper()
	p.await(patience, "the dashboard", func(text string) bool { return graphCounts(text)["OnlineReplica"] == 15 })
}

// However the operator or a signal ends it, the terminal is as before.
func TestTheTerminalIsSaneAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(p *pane, pid int) error{
		"q":       func(p *pane, _ int) error { p.keys("q"); return nil },
		"ctrl-c":  func(p *pane, _ int) error { p.keys("C-c"); return nil },
		"SIGTERM": func(_ *pane, pid int) error { return syscall.Kill(pid, syscall.SIGTERM) },
		"SIGINT":  func(_ *pane, pid int) error { return syscall.Kill(pid, syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			p := openShell(t, 80, 24, "PIDFILE="+pidFile)
			p.keys("before=$(stty -g); sh -c 'echo $$ >$PIDFILE; exec $KSTATE lab'; code=$?; test \"$before\" = \"$(stty -g)\" && echo sane $code", "Enter")
			p.labUp()
			text, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			if err := end(p, pid); err != nil {
				t.Fatal(err)
			}
			p.await(patience, "the shell", holding("\nsane 0"))
			if got := strings.TrimSpace(p.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}")); got != "0 1 0 0" {
				t.Errorf("alternate screen, cursor, mouse, keypad: %s, want 0 1 0 0", got)
			}
		})
	}
}

// A terminal that goes takes the program and its lab with it.
func TestAHangupEndsTheLab(t *testing.T) {
	p, addr := openLab(t, 80, 24)
	pid, err := strconv.Atoi(strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	p.tmux("kill-server")
	for end := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process lives on")
		}
	}
	if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		c.Close()
		t.Error("its ZooKeeper still listens")
	}
}

func TestTheTerminalIsResized(t *testing.T) {
	p, _ := openLab(t, 80, 24)
	for _, size := range [][2]int{{160, 50}, {100, 30}, {80, 24}, {200, 60}, {80, 24}} {
		p.tmux("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
		p.await(patience, "the graphs at that size", func(text string) bool {
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			return len(lines) == size[1] && graphCounts(text)["OnlineReplica"] == 15 && strings.HasSuffix(lines[0], "connected") && ansi.StringWidth(lines[0]) == size[0]
		})
		p.sound(size[0], size[1])
	}
	p.tmux("resize-window", "-x", "70", "-y", "20")
	p.await(patience, "the counts without graphs", holding("OnlineReplica 15", "q quit"))
	p.tmux("resize-window", "-x", "40", "-y", "10")
	p.await(patience, "that it is too small", holding("Terminal too small.", "this is 40x10"))
	p.tmux("resize-window", "-x", "80", "-y", "24")
	p.await(patience, "the graphs again", func(text string) bool { return graphCounts(text)["OnlineReplica"] == 15 })
	p.sound(80, 24)
}

func TestATerminalWithoutColour(t *testing.T) {
	colour := regexp.MustCompile(`\x1b\[[0-9;]*(3[0-7]|4[0-7]|9[0-7]|[34]8;[25])[0-9;]*m`)
	for _, c := range []struct {
		env  []string
		args string
		want bool
	}{{nil, "", true}, {[]string{"NO_COLOR=1"}, "", false}, {nil, " --no-color", false}} {
		p := openShell(t, 80, 24, c.env...)
		p.keys("$KSTATE lab"+c.args, "Enter")
		p.labUp()
		if got := colour.MatchString(p.tmux("capture-pane", "-e", "-p")); got != c.want {
			t.Errorf("with %v%s there are colours: %v, want %v", c.env, c.args, got, c.want)
		}
		p.keys("q")
		p.await(patience, "the shell", func(text string) bool { return graphCounts(text) == nil })
	}
}
