package realkafka

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// tailLines of each log go into the output of a failed test.
	tailLines = 40
	// tailBytes bounds how much of a log's end is read for them.
	tailBytes = 64 << 10
	// poll is how often a condition that nothing announces is looked at again.
	poll = 50 * time.Millisecond
	// exitLimit bounds the wait for a process that was told to end.
	exitLimit = 60 * time.Second
)

// log4j sends everything to stdout, the controller's and the state changes'
// loggers down to TRACE: the transitions of the tour are read from there.
const log4j = `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.controller=TRACE
log4j.logger.state.change.logger=TRACE
log4j.logger.org.apache.zookeeper=WARN
`

// spawn starts a command from one thread that lives as long as the test
// binary. Pdeathsig fires when the starting thread ends, and a thread of
// another goroutine may end early.
func spawn(cmd *exec.Cmd) error {
	done := make(chan error)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}

var spawner = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// process is one running program with its log.
type process struct {
	name   string
	cmd    *exec.Cmd
	log    string
	exited chan struct{} // closed when it has been waited for; cmd.ProcessState is set then
}

// launch starts a program in its own process group, its output appended to
// log. It is killed at the end of the test.
func launch(t testing.TB, name, log string, cmd *exec.Cmd) *process {
	t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("start %s: open its log: %v", name, err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = ownGroup()
	if err := spawn(cmd); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	p := &process{name: name, cmd: cmd, log: log, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() { p.end(t) })
	return p
}

// launchJava starts a main class of the jars with one properties file.
func launchJava(t testing.TB, jars *Jars, name, work, heap, main string, conf map[string]string, production bool) *process {
	t.Helper()
	logging := filepath.Join(work, "log4j.properties")
	levels, options := log4j, []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	if production { // Kafka: kafka-run-class.sh, log4j.properties
		levels = strings.ReplaceAll(log4j, "TRACE", "INFO")
		options = []string{"-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"}
	}
	if err := os.WriteFile(logging, []byte(levels), 0o644); err != nil {
		t.Fatalf("start %s: write its log4j settings: %v", name, err)
	}
	file := filepath.Join(work, name+".properties")
	if err := os.WriteFile(file, []byte(properties(conf)), 0o644); err != nil {
		t.Fatalf("start %s: write its settings: %v", name, err)
	}
	options = append(options, "-Xmx"+heap, "-Dlog4j.configuration=file:"+logging, "-cp", filepath.Join(jars.Dir, "*"), main, file)
	cmd := exec.Command(jars.java, options...)
	cmd.Dir = work
	return launch(t, name, filepath.Join(work, name+".log"), cmd)
}

// end kills the process at the end of the test and, if that failed, says how
// the log ends.
func (p *process) end(t testing.TB) {
	if p.running() {
		_ = signalGroup(p.cmd.Process.Pid, sigKill) // gone in between: as wanted
		<-p.exited
	}
	if t.Failed() {
		t.Log(p.tail())
	}
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// signal signals the process group; the process must be running.
func (p *process) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if !p.running() {
		t.Fatalf("send %v to a process that does not run", sig)
	}
	if err := signalGroup(p.cmd.Process.Pid, sig); err != nil {
		t.Fatalf("send %v to %s: %v", sig, p.name, err)
	}
}

// pause stops the process (SIGSTOP) and waits until each of its threads has
// stopped: a signal takes effect some time after it was sent.
func (p *process) pause(t testing.TB) {
	t.Helper()
	p.signal(t, sigStop)
	await(t, exitLimit, p.name+" to stop", []*process{p}, func() error { return stopped(p.cmd.Process.Pid) })
}

// stopped is an error while a thread of the process still runs. Where there is
// no /proc it is nil.
func stopped(pid int) error {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		// After the command's name, which is in parentheses, comes the state.
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && !bytes.HasPrefix(stat[i:], []byte(") T")) {
			return fmt.Errorf("thread %s", stat[:min(len(stat), i+3)])
		}
	}
	return nil
}

// stop signals the process and waits until it has ended.
func (p *process) stop(t testing.TB, sig syscall.Signal) {
	t.Helper()
	p.signal(t, sig)
	select {
	case <-p.exited:
	case <-time.After(exitLimit):
		t.Fatalf("%s still runs %v after %v", p.name, exitLimit, sig)
	}
}

// tail is the end of the log, with a title.
func (p *process) tail() string {
	title := fmt.Sprintf("--- last %d lines of %s", tailLines, filepath.Base(p.log))
	if !p.running() {
		title += " (" + p.cmd.ProcessState.String() + ")"
	}
	return title + "\n" + fileTail(p.log)
}

func fileTail(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return lastLines(data, tailLines)
}

// lastLines is the last n lines of data, without the closing newline.
func lastLines(data []byte, n int) string {
	data = bytes.TrimRight(data, "\n")
	from := len(data)
	for ; n > 0 && from >= 0; n-- {
		from = bytes.LastIndexByte(data[:from], '\n')
	}
	return string(data[from+1:])
}

// await waits until a condition holds. It fails the test at the deadline, with
// the last reason why not, and at once when one of the processes has ended.
func await(t testing.TB, limit time.Duration, what string, ps []*process, met func() error) {
	t.Helper()
	for end := time.Now().Add(limit); ; {
		err := met()
		if err == nil {
			return
		}
		for _, p := range ps {
			if !p.running() {
				t.Fatalf("wait for %s: %s has ended (%v): %v", what, p.name, p.cmd.ProcessState, err)
			}
		}
		if time.Now().After(end) {
			t.Fatalf("wait for %s: not after %v: %v", what, limit, err)
		}
		time.Sleep(poll)
	}
}
