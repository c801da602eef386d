package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
)

const usage = "usage: cireport test -stage NAME -results FILE [-show REGEXP] [-must-run REGEXP] -- go test ARGS..., or cireport summary -results FILE"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cireport:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	fs := flag.NewFlagSet("cireport "+args[0], flag.ContinueOnError)
	results := fs.String("results", "", "`file` that the results are appended to and read from")
	stage := fs.String("stage", "", "`name` of this run in the summary")
	show := fs.String("show", "", "print the log of passing tests whose name this matches")
	mustRun := fs.String("must-run", "", "fail if a test whose name this matches is skipped, or if there is none")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "summary" && *results != "":
		return summarize(*results, out)
	case args[0] == "test" && *results != "" && *stage != "":
		s := &stream{out: out, stage: *stage}
		var err error
		if s.show, err = pattern(*show); err != nil {
			return err
		}
		if s.mustRun, err = pattern(*mustRun); err != nil {
			return err
		}
		return test(s, *results, fs.Args())
	}
	return errors.New(usage)
}

// pattern is nil for the empty expression.
func pattern(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	return regexp.Compile(expr)
}

// test runs the command and feeds its events to s.
func test(s *stream, results string, command []string) error {
	if len(command) < 2 || command[0] != "go" || command[1] != "test" {
		return fmt.Errorf("run %q: only a `go test` command can be reported on", command)
	}
	command = slices.Insert(slices.Clone(command), 2, "-json")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run %q: %w", command, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %q: %w", command, err)
	}
	readErr := s.read(events)
	waitErr := cmd.Wait()
	s.close()
	if err := appendResults(results, s.results); err != nil {
		return err
	}
	if readErr != nil {
		return fmt.Errorf("read the output of %q: %w", command, readErr)
	}
	if err := s.verdict(); err != nil {
		return err
	}
	if waitErr != nil {
		return fmt.Errorf("%q: %w", command, waitErr)
	}
	return nil
}
