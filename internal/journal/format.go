package journal

import (
	"encoding/json"
	"fmt"

	"kstate/model"
)

// FormatVersion is the newest version of the format that this program writes and
// reads. It rises when a reader of the old one would misread the new one; fields
// may be added without.
const FormatVersion = 1

// Header is the first line of every file of a recording.
type Header struct {
	Format    int        `json:"kstate_journal"`
	Kstate    string     `json:"kstate"`               // version of the program
	Recording string     `json:"recording"`            // the same in all files of a recording
	Part      int        `json:"part"`                 // number of the file in it, from 1
	From      uint64     `json:"from"`                 // number of its first record
	Oldest    uint64     `json:"oldest"`               // number of the oldest record that was kept when the file was begun
	Mode      model.Mode `json:"mode"`                 // who answered the controller
	Source    string     `json:"source"`               // the ZooKeeper address with chroot
	ClusterID string     `json:"cluster_id,omitempty"` // /cluster/id, where it is known
	Began     int64      `json:"began"`                // of the recording, ms since 1970
}

// check says why records behind this header cannot be read.
func (h *Header) check(path string) error {
	switch {
	case h.Format == 0:
		return fmt.Errorf("%s is not a recording of kstate: its first line has no kstate_journal", path)
	case h.Format > FormatVersion:
		return fmt.Errorf("%s has format %d, written by kstate %s; this program reads up to format %d: use that kstate or a newer one", path, h.Format, h.Kstate, FormatVersion)
	}
	return nil
}

// Kind is what a Record tells of.
type Kind uint8

const (
	Input   Kind = iota + 1 // something came from outside
	Taken                   // a step was taken, or is about to be
	Result                  // the environment's answer to a step that was written before
	Command                 // the operator asked for something
	Notice                  // the operator was told something
	Gap                     // records are missing
	Engine                  // a fresh engine begins, in the place of the one before
)

// Record is one record as read. What is set depends on Kind.
type Record struct {
	Kind  Kind
	N, To uint64 // its number; a run of moves and a step with its result have several
	At    int64  // ms since 1970
	Event uint64 // the event at work, 0 between events
	Aside uint64 // the number of the admin request whose step it is, 0 for the event thread's
	Text  string // one line

	Input model.Stimulus // Responded: without Request, see Of
	Of    uint64         // Result: the number of its step; a Responded input: of the Send

	Step     string     // the name of the step
	Moves    int        // how many steps the record stands for: 1, more for a run of moves
	From     string     // of moves
	Into     string     // of moves
	Subjects []string   // of moves: topic-partition or topic-partition@broker, by turn; Text is their reason
	Purpose  string     // of a call
	Ops      []model.Op // of a call
	Settled  bool       // the result is here, too; otherwise a Result record follows
	Inferred bool       // the step was not seen: it follows from what was
	Result   model.Result

	Gap      *Lost
	Settings json.RawMessage // Engine: what it was made with, without secrets
}

// Lost says which records are missing and why.
type Lost struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	Why  string `json:"why"`
}

// chunk is how many ops or results stand on one line.
const chunk = 1000
