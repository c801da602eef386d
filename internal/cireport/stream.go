package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output
	Test       string
	Elapsed    float64
	Output     string
}

type name struct{ pkg, test string }

// stream turns the events of one run into printed lines and results.
type stream struct {
	out     io.Writer
	stage   string
	show    *regexp.Regexp
	mustRun *regexp.Regexp

	results []result
	output  map[name]*strings.Builder // of tests that run, and of packages (test "")
	ran     map[string]int            // results by package
	failed  map[string]bool           // packages with a failed test
}

// read handles each event until the end. A line that is no event, such as what
// the go command itself says, is printed as it is.
func (s *stream) read(r io.Reader) error {
	s.output, s.ran, s.failed = map[name]*strings.Builder{}, map[string]int{}, map[string]bool{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				s.event(e)
			} else {
				fmt.Fprintf(s.out, "%s\n", strings.TrimRight(string(line), "\n"))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *stream) event(e event) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "run", "start":
		s.output[n] = &strings.Builder{}
	case "output":
		b := s.output[n]
		if b == nil { // of a test that has ended: what brings a package down between two tests is put there
			b = s.output[name{e.Package, ""}]
		}
		if b != nil {
			b.WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.packageDone(e)
		} else {
			s.testDone(n, e.Action)
		}
		delete(s.output, n)
	}
}

func (s *stream) testDone(n name, action string) {
	r := result{Stage: s.stage, Package: n.pkg, Test: n.test, Result: action}
	text := ""
	if b := s.output[n]; b != nil {
		text = b.String()
	}
	switch {
	case action == "fail":
		s.failed[n.pkg] = true
		fmt.Fprintf(s.out, "FAIL %s %s\n%s", n.pkg, n.test, indent(text))
	case action == "skip":
		r.Reason = reason(text)
	case s.show != nil && s.show.MatchString(n.test):
		fmt.Fprintf(s.out, "pass %s %s\n%s", n.pkg, n.test, indent(text))
	}
	s.results = append(s.results, r)
	s.ran[n.pkg]++
}

func (s *stream) packageDone(e event) {
	if e.Action == "fail" {
		if b := s.output[name{e.Package, ""}]; b != nil {
			fmt.Fprint(s.out, closing.ReplaceAllString(b.String(), ""))
		}
		s.unfinished(e.Package)
		if !s.failed[e.Package] { // it did not build, or died outside its tests
			s.results = append(s.results, result{Stage: s.stage, Package: e.Package, Result: "fail"})
		}
		fmt.Fprintf(s.out, "FAIL %s %.1f s\n", e.Package, e.Elapsed)
		return
	}
	if n := s.ran[e.Package]; n > 0 {
		fmt.Fprintf(s.out, "ok   %s %.1f s, %d tests\n", e.Package, e.Elapsed, n)
	}
}

// unfinished makes failures of the tests of a package that never ended; with ""
// of any package.
func (s *stream) unfinished(pkg string) {
	var left []name
	for n := range s.output {
		if n.test != "" && (pkg == "" || n.pkg == pkg) {
			left = append(left, n)
		}
	}
	slices.SortFunc(left, func(a, b name) int { return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test) })
	for _, n := range left {
		s.output[n].WriteString("it did not end\n")
		s.testDone(n, "fail")
		delete(s.output, n)
	}
}

// close is called when there are no more events.
func (s *stream) close() { s.unfinished("") }

// verdict says why the run is no success, apart from the command's own exit.
func (s *stream) verdict() error {
	failed, matched := 0, 0
	var skipped []string
	for _, r := range s.results {
		if r.Result == "fail" {
			failed++
		}
		if s.mustRun != nil && r.Test != "" && s.mustRun.MatchString(r.Test) {
			matched++
			if r.Result == "skip" {
				skipped = append(skipped, fmt.Sprintf("%s %s: %s", r.Package, r.Test, r.Reason))
			}
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d failed", failed)
	case len(skipped) > 0:
		return fmt.Errorf("skipped, but must run here:\n%s", strings.Join(skipped, "\n"))
	case s.mustRun != nil && matched == 0:
		return fmt.Errorf("no test matches %s, so nothing was checked", s.mustRun)
	}
	return nil
}

var (
	// frame is a line around a test's own output.
	frame    = regexp.MustCompile(`^\s*(=== |--- )`)
	closing  = regexp.MustCompile(`(?m)^(PASS|FAIL|ok|exit status \d+)\b.*\n`) // go test's own last lines of a package
	location = regexp.MustCompile(`^\s*[^\s:]+\.go:\d+: `)
)

// body is what a test printed, without the lines that frame it.
func body(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); !frame.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// reason is what a test said when it was skipped.
func reason(text string) string {
	var parts []string
	for _, line := range body(text) {
		parts = append(parts, strings.TrimSpace(location.ReplaceAllString(line, "")))
	}
	if len(parts) == 0 {
		return "no reason given"
	}
	return strings.Join(parts, " ")
}

func indent(text string) string {
	var b strings.Builder
	for _, line := range body(text) {
		b.WriteString("    " + strings.TrimPrefix(line, "    ") + "\n")
	}
	return b.String()
}
