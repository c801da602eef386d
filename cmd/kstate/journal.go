package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kstate/internal/journal"
	"kstate/model"
)

var journalFlag = flag{name: "journal", kind: isFile, value: "FILE",
	usage: "record everything that the controller learns and does there; a recording that is there is kept beside it as FILE.1"}

var journalSizeFlag = flag{name: "journal-size", kind: isNumber, least: 1, most: 1 << 20, value: "MB",
	usage: "keep at most so much of the recording (default 1024): the file and the three before it; the oldest goes first"}

// openJournal begins a recording at --journal, else at byDefault; nil where
// neither names a file. Its end is the caller's to tell, see closeJournal.
func openJournal(inv *invocation, byDefault string, h journal.Header) (*journal.Writer, error) {
	path := byDefault
	if inv.has("journal") {
		path = inv.text("journal")
	}
	if path == "" {
		return nil, nil
	}
	h.Kstate = version()
	w, err := journal.Create(journal.Options{Path: path, Header: h, MaxBytes: int64(inv.number("journal-size", 1024)) << 20})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// closeJournal writes the rest; what is missing is said.
func closeJournal(inv *invocation, w *journal.Writer) {
	if err := w.Close(); err != nil {
		fmt.Fprintf(inv.console.err, "kstate: %v\n", err)
	}
}

// stateDir is kstate's in the user's directory for the state of programs:
// $XDG_STATE_HOME, by default ~/.local/state.
func stateDir() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // such a value does not count, says the XDG base directory specification
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "kstate"), nil
}

// stateJournal is where a controller records that was not told: in the user's
// directory for the state of programs, by cluster and id.
func stateJournal(cluster string, id int32) (string, error) {
	dir, err := stateDir()
	if err != nil {
		return "", errors.New("a controller always records what it does, and there is neither XDG_STATE_HOME nor HOME: say where with --journal FILE")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("a controller always records what it does: %w; say where else with --journal FILE", err)
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, cluster)
	return filepath.Join(dir, fmt.Sprintf("control-%s-%d.journal", name[:min(len(name), 150)], id)), nil
}

// journal begins the recording of a controller. There is no control
// without one.
func (c *control) journal() (*journal.Writer, error) {
	byDefault := ""
	if !c.inv.has("journal") {
		path, err := stateJournal(c.inv.text("zookeeper"), c.id)
		if err != nil {
			return nil, err
		}
		byDefault = path
	}
	w, err := openJournal(c.inv, byDefault, journal.Header{Mode: model.ControlMode, Source: c.inv.text("zookeeper"), ClusterID: c.settings.clusterID})
	if err != nil {
		return nil, fmt.Errorf("a controller always records what it does: %w", err)
	}
	return w, nil
}
