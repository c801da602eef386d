package journal

import (
	"bytes"
	"fmt"

	"kstate/model"
)

// Matches tells why a step is not the i-th one that the record tells of; nil
// when it is. Secrets are compared as they are masked.
func (rec *Record) Matches(s model.Step, i int) error {
	if s == nil {
		return fmt.Errorf("recorded is %s, and there is no step", rec.Step)
	}
	if m, ok := moveOf(s); ok {
		name := m.tp.String()
		if m.broker >= 0 {
			name = model.Replica{TopicPartition: m.tp, Broker: m.broker}.String()
		}
		if m.step != rec.Step || i >= len(rec.Subjects) || rec.Subjects[i] != name || m.from != rec.From || m.to != rec.Into || m.reason != rec.Text {
			return fmt.Errorf("recorded is %s of %v from %s to %s (%s), the step is %s", rec.Step, rec.Subjects, rec.From, rec.Into, rec.Text, s)
		}
		return nil
	}
	if TypeName(s) != rec.Step {
		return fmt.Errorf("recorded is %s %s, the step is %s", rec.Step, rec.Text, s)
	}
	c, ok := s.(*model.Call)
	if !ok {
		if rec.Text != s.String() {
			return fmt.Errorf("recorded is %q, the step is %q", rec.Text, s)
		}
		return nil
	}
	if c.Purpose != rec.Purpose || len(c.Ops) != len(rec.Ops) {
		return fmt.Errorf("recorded is a call %s of %d ops, the step is %s of %d", rec.Purpose, len(rec.Ops), c.Purpose, len(c.Ops))
	}
	for k := range c.Ops {
		a, b := c.Ops[k], rec.Ops[k]
		a.Data = maskData(a.Path, a.Data)
		if a.Kind == model.OpCreate || !a.Kind.Writes() && a.Kind != model.OpCheck {
			a.Version, b.Version = 0, 0
		}
		if a.Kind != b.Kind || a.Ephemeral != b.Ephemeral || a.Sequential != b.Sequential || a.Watch != b.Watch || a.Version != b.Version || a.Path != b.Path ||
			!bytes.Equal(a.Data, b.Data) || (a.Data == nil) != (b.Data == nil) {
			return fmt.Errorf("recorded is op %s %q, the step's is %s %q", b.String(), b.Data, a.String(), a.Data)
		}
	}
	return nil
}
