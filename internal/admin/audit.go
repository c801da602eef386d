package admin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"kstate/model"
)

// Audit is a file that says what was written to clusters, when and by whom: one
// JSON object a line, one before and one after each write, and one of its end. It is appended to,
// and on the disk before the write is sent.
type Audit struct {
	mu   sync.Mutex
	file *os.File
	by   string
}

// OpenAudit opens the file, and makes it and its directory for their owner only.
func OpenAudit(path string) (*Audit, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("audit log %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", path, err)
	}
	return &Audit{file: f, by: whoami()}, nil
}

func whoami() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// Close closes the file.
func (a *Audit) Close() error { return a.file.Close() }

// auditRecord is a line of the file.
type auditRecord struct {
	At        string       `json:"at"`
	Stage     string       `json:"stage"` // intent, outcome, end
	By        string       `json:"by"`
	Process   int          `json:"process"`
	Plan      uint64       `json:"plan"` // joins intent and outcome of a process
	What      string       `json:"what"`
	Source    string       `json:"source"`
	ClusterID string       `json:"cluster_id"`
	Session   string       `json:"session,omitempty"` // of ZooKeeper
	Writes    []auditWrite `json:"writes,omitempty"`
	Request   []string     `json:"request,omitempty"`
	Outcome   string       `json:"outcome,omitempty"`
}

type auditWrite struct {
	Op      string  `json:"op"`
	Path    string  `json:"path"`
	Version *int32  `json:"version"` // expected; null: the znode must not exist
	Old     *string `json:"old"`
	New     *string `json:"new"`
}

// Intent writes down what is about to be sent.
func (a *Audit) Intent(p *model.Plan, session int64) error {
	r := a.record(p, "intent", session)
	for i := range p.Writes {
		w := &p.Writes[i]
		out := auditWrite{Op: w.Op.Kind.String(), Path: w.Op.Path}
		if w.Op.Kind != model.OpCreate {
			out.Version = &w.Op.Version
		}
		if !w.Before.Missing && w.Op.Kind != model.OpCheck {
			out.Old = model.MaskedPayload(w.Op.Path, w.Before.Data)
		}
		if w.Op.Kind == model.OpCreate || w.Op.Kind == model.OpSet {
			out.New = model.MaskedPayload(w.Op.Path, w.Op.Data)
		}
		r.Writes = append(r.Writes, out)
	}
	r.Request = p.Request
	return a.write(r)
}

// Outcome writes down whether it was written.
func (a *Audit) Outcome(p *model.Plan, session int64, text string) error {
	r := a.record(p, "outcome", session)
	r.Outcome = text
	return a.write(r)
}

// End writes down what was seen of it last.
func (a *Audit) End(p *model.Plan, session int64, text string) error {
	r := a.record(p, "end", session)
	r.Outcome = text
	return a.write(r)
}

func (a *Audit) record(p *model.Plan, stage string, session int64) *auditRecord {
	r := &auditRecord{At: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Stage: stage, By: a.by, Process: os.Getpid(), Plan: p.Number,
		What: p.What, Source: p.Source, ClusterID: p.ClusterID}
	if session != 0 {
		r.Session = fmt.Sprintf("0x%x", uint64(session))
	}
	return r
}

func (a *Audit) write(r *auditRecord) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("audit log %s: %w", a.file.Name(), err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if err := a.file.Sync(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}
