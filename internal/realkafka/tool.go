package realkafka

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// toolLimit bounds a run of one of Kafka's own tools.
const toolLimit = 2 * time.Minute

// quietLog4j keeps a tool's own logging out of what it prints.
const quietLog4j = `log4j.rootLogger=WARN, err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=[%d] %p %m (%c)%n
`

// Tool runs a main class of the jars, as org.apache.kafka.tools.TopicCommand, and
// returns what it printed to standard output. The error is about how it ended,
// and holds the end of what it printed.
func (j *Jars) Tool(t testing.TB, in, main string, args ...string) (string, error) {
	t.Helper()
	out, _, err := j.Run(t, in, main, args...)
	return out, err
}

// Run is Tool with what was printed to standard error.
func (j *Jars) Run(t testing.TB, in, main string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	logging := filepath.Join(t.TempDir(), "log4j.properties")
	if err := os.WriteFile(logging, []byte(quietLog4j), 0o644); err != nil {
		t.Fatalf("run %s: write its log4j settings: %v", main, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, j.java, append([]string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j.configuration=file:" + logging, "-cp", filepath.Join(j.Dir, "*"), main}, args...)...)
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, sigKill) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(in), &out, &errs
	err = spawn(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("%s %q: %w: %s", main, args, err, lastLines(append(out.Bytes(), errs.Bytes()...), tailLines))
	}
	return out.String(), errs.String(), err
}
