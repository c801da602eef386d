package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// result is one line of the results file: a test in one stage. Test is empty
// for a package that failed outside its tests.
type result struct {
	Stage   string `json:"stage"`
	Package string `json:"package"`
	Test    string `json:"test"`
	Result  string `json:"result"` // pass, fail, skip
	Reason  string `json:"reason,omitempty"`
}

func appendResults(file string, rs []result) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("append results: %w", err)
	}
	enc := json.NewEncoder(f)
	for _, r := range rs {
		if err := enc.Encode(r); err != nil {
			f.Close()
			return fmt.Errorf("append results to %s: %w", file, err)
		}
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("append results to %s: %w", file, err)
	}
	return nil
}

// readResults takes a file that is not there for one without results.
func readResults(file string) ([]result, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	var rs []result
	for dec := json.NewDecoder(f); ; {
		var r result
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			return rs, nil
		} else if err != nil {
			return nil, fmt.Errorf("read results in %s: %w", file, err)
		}
		rs = append(rs, r)
	}
}

func summarize(file string, out io.Writer) error {
	rs, err := readResults(file)
	if err != nil {
		return err
	}
	tests := map[string][]result{}
	for _, r := range rs {
		key := strings.TrimSpace(r.Package + " " + r.Test)
		tests[key] = append(tests[key], r)
	}
	passed, failed, skipped := 0, 0, 0
	var skips strings.Builder
	for _, key := range slices.Sorted(maps.Keys(tests)) {
		stages := map[string][]string{} // by result
		reasons := map[string][]string{}
		for _, r := range tests[key] {
			stages[r.Result] = append(stages[r.Result], r.Stage)
			if r.Result == "skip" {
				reasons[r.Reason] = append(reasons[r.Reason], r.Stage)
			}
		}
		ran := slices.Concat(stages["pass"], stages["fail"])
		switch {
		case len(stages["fail"]) > 0:
			failed++
		case len(ran) > 0:
			passed++
		default:
			skipped++
		}
		for _, why := range slices.Sorted(maps.Keys(reasons)) {
			fmt.Fprintf(&skips, "  %s, in %s: %s", key, strings.Join(reasons[why], ", "), why)
			if len(ran) > 0 {
				fmt.Fprintf(&skips, " (it ran in %s)", strings.Join(ran, ", "))
			}
			skips.WriteByte('\n')
		}
	}
	if skips.Len() > 0 {
		fmt.Fprintf(out, "Skipped:\n%s", skips.String())
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return nil
}
