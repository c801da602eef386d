package tree

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// Write writes a tree file, one znode a line, in the order of f.Znodes. Load
// reads it back as the same File, but for Implied: parents are written too.
func Write(w io.Writer, f *File) error {
	out := &fileWriter{w: bufio.NewWriterSize(w, 1<<16)}
	out.json = json.NewEncoder(&out.buf)
	out.json.SetEscapeHTML(false)
	out.line(`{"format": %d,`, Format)
	out.field("chroot", f.Chroot)
	if c := f.Config.json(); c != (configJSON{}) {
		out.field("config", c)
	}
	if len(f.DefaultACL) > 0 {
		out.field("default_acl", f.DefaultACL)
	}
	out.line(`"znodes": [`)
	for i := range f.Znodes {
		out.value(f.Znodes[i].json())
		if i+1 < len(f.Znodes) {
			out.text(",")
		}
		out.text("\n")
	}
	out.line("]}")
	if out.err == nil {
		out.err = out.w.Flush()
	}
	return out.err
}

// fileWriter keeps the first error, so that Write reads as the form it writes.
type fileWriter struct {
	w    *bufio.Writer
	buf  bytes.Buffer
	json *json.Encoder
	err  error
}

func (o *fileWriter) text(s string) {
	if o.err == nil {
		_, o.err = o.w.WriteString(s)
	}
}

func (o *fileWriter) line(format string, args ...any) { o.text(fmt.Sprintf(format+"\n", args...)) }

func (o *fileWriter) value(v any) {
	if o.err != nil {
		return
	}
	o.buf.Reset()
	if o.err = o.json.Encode(v); o.err == nil {
		_, o.err = o.w.Write(bytes.TrimSuffix(o.buf.Bytes(), []byte("\n")))
	}
}

func (o *fileWriter) field(name string, v any) {
	o.text(`"` + name + `": `)
	o.value(v)
	o.text(",\n")
}

func (z *Znode) json() znodeJSON {
	j := znodeJSON{Path: z.Path, Ephemeral: z.Ephemeral, Version: z.Version, Czxid: z.Czxid, ACL: z.ACL, Error: z.Error}
	switch {
	case z.Data == nil:
	case utf8.Valid(z.Data):
		text := string(z.Data)
		j.Data = &text
	default:
		text := base64.StdEncoding.EncodeToString(z.Data)
		j.DataB64 = &text
	}
	return j
}

// json leaves out what is as by default.
func (c Config) json() configJSON {
	d := DefaultConfig()
	return configJSON{
		ControllerID:                unlessDefault(c.ControllerID, d.ControllerID),
		DeleteTopicEnable:           unlessDefault(c.DeleteTopicEnable, d.DeleteTopicEnable),
		UncleanLeaderElectionEnable: unlessDefault(c.UncleanLeaderElectionEnable, d.UncleanLeaderElectionEnable),
		InterBrokerProtocol:         unlessDefault(c.InterBrokerProtocol, d.InterBrokerProtocol),
		InterBrokerListener:         unlessDefault(c.InterBrokerListener, d.InterBrokerListener),
	}
}

func unlessDefault[T comparable](v, byDefault T) *T {
	if v == byDefault {
		return nil
	}
	return &v
}
