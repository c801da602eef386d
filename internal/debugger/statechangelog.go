package debugger

import (
	"fmt"
	"io"
	"time"

	"kstate/model"
)

// StateChangeLog writes the transitions in the line format of Kafka's own
// state-change.log, one edge a line, each flushed with its line.
type StateChangeLog struct {
	W            io.Writer
	ControllerID int32
	Epoch        func() int32 // of the controller, asked for each line
	Zone         *time.Location
	err          error
}

// Record writes the line of a record that is a transition; others have none.
// The first write error stops the log and stays in Err.
func (l *StateChangeLog) Record(r model.Record) {
	var level model.Level
	var text string
	switch m := r.Step.(type) {
	case *model.MovePartition:
		level = model.Trace
		if m.To == model.NewPartition || m.To == model.OnlinePartition {
			level = model.Info
		}
		text = fmt.Sprintf("Changed partition %s state from %s to %s", m.TopicPartition, m.From, m.To)
	case *model.MoveReplica:
		level = model.Trace
		text = fmt.Sprintf("Changed state of replica %d for partition %s from %s to %s", m.Broker, m.TopicPartition, m.From, m.To)
	default:
		return
	}
	if r.Inferred {
		text += " (inferred)"
	}
	if l.err != nil {
		return
	}
	at := time.UnixMilli(r.At)
	if l.Zone != nil {
		at = at.In(l.Zone)
	}
	_, l.err = fmt.Fprintf(l.W, "[%s] %s [Controller id=%d epoch=%d] %s (state.change.logger)\n",
		at.Format("2006-01-02 15:04:05,000"), level, l.ControllerID, l.Epoch(), text)
}

// Err is why the log stopped; nil while it does not.
func (l *StateChangeLog) Err() error { return l.err }
