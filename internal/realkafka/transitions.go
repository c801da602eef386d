package realkafka

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
)

// Releases word the first with or without " state".
var (
	partitionLine = regexp.MustCompile(`Changed partition (\S+)-(\d+)(?: state)? from (\w+) to (\w+)`)
	replicaLine   = regexp.MustCompile(`Changed state of replica (\d+) for partition (\S+)-(\d+) from (\w+) to (\w+)`)
)

// ParseTransition reads one line of a state-change log. ok is false for any
// other line, and for a transition of an internal topic.
func ParseTransition(line string) (t Transition, ok bool) {
	if m := partitionLine.FindStringSubmatch(line); m != nil {
		t = Transition{"partition", m[1] + "-" + m[2], m[3], m[4]}
	} else if m := replicaLine.FindStringSubmatch(line); m != nil {
		t = Transition{"replica", m[2] + "-" + m[3] + "@" + m[1], m[4], m[5]}
	}
	return t, t.Kind != "" && !internal(t.Subject)
}

// TransitionLog follows state-change logs that other processes write: those of
// brokers, or what a controller or observer prints.
type TransitionLog struct {
	files []*followed
}

type followed struct {
	name   string
	offset int64
}

// FollowLogs follows these files from their beginning; they need not exist
// yet.
func FollowLogs(files ...string) *TransitionLog {
	l := &TransitionLog{}
	for _, name := range files {
		l.files = append(l.files, &followed{name: name})
	}
	return l
}

// Next returns the transitions that were written since the call before, file by
// file, each in its order. A line whose end is not written yet is left for the
// next call.
func (l *TransitionLog) Next() ([]Transition, error) {
	var out []Transition
	for _, f := range l.files {
		data, err := f.read()
		if err != nil {
			return out, fmt.Errorf("follow the state changes in %s: %w", f.name, err)
		}
		for line := range bytes.Lines(data) {
			if t, ok := ParseTransition(string(line)); ok {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// read returns the whole lines after the offset and moves it behind them.
func (f *followed) read() ([]byte, error) {
	file, err := os.Open(f.name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	f.offset += int64(len(data))
	return data, nil
}
