package model

import (
	"fmt"
	"unicode/utf8"
)

// PlanTextKind is what a line of a plan's text is, for those who colour it.
type PlanTextKind uint8

const (
	PlanTitle PlanTextKind = iota
	PlanHeading
	PlanHolds   // a precondition that holds
	PlanFails   // one that does not
	PlanOp      // an operation
	PlanOld     // what a znode holds now
	PlanNew     // what it will hold
	PlanFact    // an expectation, a note
	PlanWarning // what to think of first
)

// PlanText is one line of a plan's text, indented by spaces in it.
type PlanText struct {
	Kind PlanTextKind
	Text string
}

// Text is the plan for an operator to read before consent: all of it, but for
// payloads beyond limit bytes each (0: no limit), whose rest is counted. Secrets
// are masked.
func (p *Plan) Text(limit int) []PlanText {
	var out []PlanText
	add := func(k PlanTextKind, format string, args ...any) {
		out = append(out, PlanText{k, fmt.Sprintf(format, args...)})
	}
	id := p.ClusterID
	if id == "" {
		id = "of unknown id"
	}
	add(PlanTitle, "%s", p.What)
	add(PlanFact, "on cluster %s at %s", id, p.Source)
	switch {
	case p.Nothing != "":
		add(PlanHeading, "nothing to do: %s", p.Nothing)
	case len(p.Request) > 0:
		add(PlanHeading, "asks the controller:")
		for _, l := range p.Request {
			add(PlanOp, "  %s", l)
		}
	case len(p.Writes) == 1:
		add(PlanHeading, "writes:")
	case len(p.Writes) > 1:
		add(PlanHeading, "writes, in one transaction:")
	}
	for i := range p.Writes {
		w := &p.Writes[i]
		add(PlanOp, "  %s", w.opText())
		if w.Op.Kind == OpSet || w.Op.Kind == OpDelete {
			add(PlanOld, "    old %s", payloadText(w.Op.Path, w.Before.Data, limit))
		}
		if w.Op.Kind == OpSet || w.Op.Kind == OpCreate {
			add(PlanNew, "    new %s", payloadText(w.Op.Path, w.Op.Data, limit))
		}
		if w.ACL != "" {
			add(PlanFact, "    acl %s", w.ACL)
		}
	}
	for _, l := range p.Warnings {
		add(PlanWarning, "WARNING: %s", l)
	}
	if len(p.Expect) > 0 {
		add(PlanHeading, "expected:")
	}
	for _, l := range p.Expect {
		add(PlanFact, "  %s", l)
	}
	add(PlanHeading, "checked:")
	for i := range p.Checks {
		if c := &p.Checks[i]; c.OK {
			add(PlanHolds, "  yes %s: %s", c.What, c.Saw)
		} else {
			add(PlanFails, "  NO  %s: %s", c.What, c.Saw)
		}
	}
	for _, l := range p.Notes {
		add(PlanFact, "  %s", l)
	}
	if p.Follow != "" {
		add(PlanFact, "then watched: %s", p.Follow)
	}
	return out
}

func (w *PlannedWrite) opText() string {
	switch w.Op.Kind {
	case OpCreate:
		return "create " + w.Op.Path + ", which must not exist"
	case OpCheck:
		return fmt.Sprintf("only if %s has version %d", w.Op.Path, w.Op.Version)
	}
	return fmt.Sprintf("%s %s, which must have version %d", w.Op.Kind, w.Op.Path, w.Op.Version)
}

func payloadText(path string, data []byte, limit int) string {
	text := MaskedPayload(path, data)
	switch {
	case text == nil:
		return "null"
	case *text == "":
		return "empty"
	case limit > 0 && len(*text) > limit:
		end := limit
		for !utf8.RuneStart((*text)[end]) {
			end--
		}
		return fmt.Sprintf("%s … and %d bytes more", (*text)[:end], len(*text)-end)
	}
	return *text
}

// MaskedPayload is a payload for people to read: nil for null data, MaskedData as
// text, or in hexadecimal what is no text.
func MaskedPayload(path string, data []byte) *string {
	if data == nil {
		return nil
	}
	text := string(MaskedData(path, data))
	if !utf8.ValidString(text) {
		text = fmt.Sprintf("%x", data)
	}
	return &text
}

// MaskedData is a payload as a screen may show it, to the byte where nothing is
// hidden: settings that may be secrets have *** in the place of their values, and
// settings that cannot be read and speak of a secret are left out as a whole.
func MaskedData(path string, data []byte) []byte {
	if ParsePath(path).Kind != ConfigEntityZnode || !IsSecret(string(data)) {
		return data
	}
	config, err := DecodeConfig(path, data)
	switch {
	case err != nil || len(config) == 0:
		return fmt.Appendf(nil, "***, %d bytes that cannot be read as settings and may hold a secret", len(data))
	case maskConfig(config):
		return EncodeConfig(config)
	}
	return data
}

// maskConfig hides the values of settings that may be secrets, or speak of one.
func maskConfig(config map[string]string) (found bool) {
	for key, value := range config {
		if IsSecret(key) || IsSecret(value) {
			config[key], found = "***", true
		}
	}
	return found
}
