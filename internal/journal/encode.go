package journal

import (
	"reflect"
	"strconv"
	"strings"

	"kstate/model"
)

// entry is what waits to be made a line.
type entry struct {
	n        uint64
	at       int64
	kind     Kind
	local    bool // Taken: nobody performs it; at is that of its result
	inferred bool // Taken: not seen
	event    uint64
	aside    uint64
	of       uint64 // Result: the number of the step
	step     model.Step
	input    model.Stimulus
	result   *model.Result // nil: only its time counts
	text     string
	lost     *Lost
}

// encoder makes lines of entries. What it holds back is written by flush.
type encoder struct {
	line
	run     run
	pending *entry                          // a step whose result may come next
	sent    map[model.ControlRequest]uint64 // requests that were not answered yet, by the number of their Send
	queues  map[int32][]model.ControlRequest
	full    func() // called between lines when they make a block
}

func newEncoder(full func()) *encoder {
	return &encoder{full: full, sent: map[model.ControlRequest]uint64{}, queues: map[int32][]model.ControlRequest{}}
}

// add makes the lines of an entry, or holds it back for the next.
func (e *encoder) add(x *entry) {
	if p := e.pending; p != nil {
		e.pending = nil
		if x.kind == Result && x.of == p.n && x.n == p.n+1 {
			e.stepLine(p, x)
			return
		}
		e.stepLine(p, nil)
	}
	if x.kind == Taken && e.run.takes(x) {
		return
	}
	e.flushRun()
	switch x.kind {
	case Input:
		e.inputLine(x)
	case Taken:
		switch {
		case e.run.begin(x):
		case x.local:
			e.stepLine(x, nil)
		default:
			held := *x
			e.pending = &held
		}
	case Result:
		e.resultLine(x)
	case Command, Notice:
		e.begin(x)
		e.str(map[Kind]string{Command: "command", Notice: "notice"}[x.kind], x.text)
		e.end()
	case Gap:
		e.begin(x)
		e.raw("gap", encodeMasked(x.lost))
		e.end()
	case Engine:
		clear(e.sent)
		clear(e.queues)
		e.begin(x)
		e.raw("engine", []byte(x.text))
		e.end()
	}
}

// flush makes the lines of what was held back.
func (e *encoder) flush() {
	if p := e.pending; p != nil {
		e.pending = nil
		e.stepLine(p, nil)
	}
	e.flushRun()
}

func (e *encoder) begin(x *entry) {
	e.open()
	e.count("n", x.n)
	e.num("at", x.at)
}

func (e *encoder) end() {
	e.close()
	e.b = append(e.b, '\n')
	if len(e.b) >= blockBytes {
		e.full()
	}
}

// TypeName is the name under which inputs, asks and steps stand in a journal.
func TypeName(v any) string {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

func (e *encoder) inputLine(x *entry) {
	e.begin(x)
	e.str("input", TypeName(x.input))
	switch s := x.input.(type) {
	case *model.Responded:
		e.responded(s)
	case *model.Asked:
		e.count("id", s.ID)
		e.str("from", s.From)
		e.str("ask", s.Ask.AskName())
		e.raw("of", encodeMasked(s.Ask))
	default:
		e.raw("of", encodeMasked(s))
	}
	e.str("text", x.input.String())
	e.end()
}

// responded is a broker's answer. Its request stands at the Send; partitions are
// grouped, in their order, by topic and error.
func (e *encoder) responded(s *model.Responded) {
	e.num("broker", int64(s.Broker))
	if n := e.sent[s.Request]; n > 0 {
		e.count("send", n)
	}
	e.answered(s.Broker, s.Request)
	e.str("request", s.Request.Kind().String())
	e.num("error", int64(s.Response.Error))
	if s.Response.Partitions == nil {
		return
	}
	e.key("partitions")
	e.b = append(e.b, '[')
	list := s.Response.Partitions
	for i := 0; i < len(list); {
		e.comma()
		e.b = append(e.b, '[')
		e.b = appendString(e.b, list[i].Topic)
		e.b = append(e.b, ',')
		e.b = strconv.AppendInt(e.b, int64(list[i].Error), 10)
		from := i
		for ; i < len(list) && list[i].Topic == list[from].Topic && list[i].Error == list[from].Error; i++ {
			e.b = append(e.b, ',')
			e.b = strconv.AppendInt(e.b, int64(list[i].Partition), 10)
		}
		e.b = append(e.b, ']')
	}
	e.b = append(e.b, ']')
}

// answered forgets a request, and those before it in the same channel.
func (e *encoder) answered(broker int32, r model.ControlRequest) {
	q := e.queues[broker]
	for i := range q {
		if q[i] == r {
			for _, x := range q[:i+1] {
				delete(e.sent, x)
			}
			e.queues[broker] = q[i+1:]
			return
		}
	}
}

// stepLine is a step, with its result if that is known: on the same line unless
// it takes several.
func (e *encoder) stepLine(x, result *entry) {
	c, _ := x.step.(*model.Call)
	inline := result != nil && (c == nil || len(c.Ops) <= chunk)
	e.open()
	e.count("n", x.n)
	if inline {
		e.count("to", result.n)
	}
	e.num("at", x.at)
	if x.event > 0 {
		e.count("event", x.event)
	}
	if x.aside > 0 {
		e.count("aside", x.aside)
	}
	e.str("step", TypeName(x.step))
	if c != nil {
		e.call(c)
	} else {
		e.fields(x)
	}
	e.local(x)
	if inline {
		e.key("result")
		e.open()
		e.num("at", result.at)
		e.result(result)
		e.close()
	}
	e.end()
	for from := chunk; c != nil && from < len(c.Ops); from += chunk {
		e.more(x.n, "ops", from)
		e.ops(c.Ops[from:min(len(c.Ops), from+chunk)])
		e.end()
	}
	if result != nil && !inline {
		e.resultLine(result)
	}
}

func (e *encoder) local(x *entry) {
	if x.local {
		e.yes("settled")
	}
	if x.inferred {
		e.yes("inferred")
	}
}

func (e *encoder) resultLine(x *entry) {
	e.begin(x)
	e.count("result_of", x.of)
	e.result(x)
	e.end()
}

// more begins a line that goes on with the list of the line before.
func (e *encoder) more(n uint64, list string, from int) {
	e.open()
	e.count("n", n)
	e.str("more", list)
	e.num("first", int64(from))
}

// call is a call with the first of its ops.
func (e *encoder) call(c *model.Call) {
	e.str("purpose", c.Purpose)
	if c.Fenced {
		e.num("fence", int64(c.Epoch))
	}
	if c.Atomic {
		e.yes("atomic")
	}
	if len(c.Ops) > chunk {
		e.num("total", int64(len(c.Ops)))
	}
	e.ops(c.Ops[:min(chunk, len(c.Ops))])
}

func (e *encoder) ops(ops []model.Op) {
	e.key("ops")
	e.b = append(e.b, '[')
	for i := range ops {
		op := &ops[i]
		e.comma()
		e.open()
		e.str("op", op.Kind.String())
		e.str("path", op.Path)
		if op.Watch {
			e.yes("watch")
		}
		if op.Ephemeral {
			e.yes("ephemeral")
		}
		if op.Sequential {
			e.yes("sequential")
		}
		if op.Kind > model.OpCreate {
			e.num("version", int64(op.Version))
		}
		e.data(maskData(op.Path, op.Data))
		e.close()
	}
	e.b = append(e.b, ']')
}

// result is the environment's answer; its lines after the first stand behind it
// when it has more than chunk ops.
func (e *encoder) result(x *entry) {
	r := x.result
	if r == nil {
		return
	}
	if r.Code != model.CodeOK {
		e.str("code", codeText(r.Code))
	}
	if !r.ID.IsZero() {
		e.str("id", r.ID.String())
	}
	if r.Ops == nil {
		return
	}
	var ops []model.Op
	if c, ok := x.step.(*model.Call); ok && len(c.Ops) == len(r.Ops) {
		ops = c.Ops
	}
	if len(r.Ops) > chunk {
		e.num("total", int64(len(r.Ops)))
	}
	e.results(ops, r.Ops, 0)
	for from := chunk; from < len(r.Ops); from += chunk {
		e.end()
		e.more(x.n, "results", from)
		e.results(ops, r.Ops, from)
	}
}

// codeText is a code by name, or as a number where it has none.
func codeText(c model.Code) string {
	if s := c.String(); !strings.HasPrefix(s, "CODE(") {
		return s
	}
	return strconv.Itoa(int(c))
}

// results are those from one on. What is not known to belong to a harmless path
// is masked.
func (e *encoder) results(ops []model.Op, list []model.OpResult, from int) {
	e.key("results")
	e.b = append(e.b, '[')
	for i := from; i < min(len(list), from+chunk); i++ {
		r, path := &list[i], ""
		if ops != nil {
			path = ops[i].Path
		}
		e.comma()
		e.open()
		if r.Code != model.CodeOK {
			e.str("code", codeText(r.Code))
		}
		if r.Check != model.CodeOK {
			e.str("check", codeText(r.Check))
		}
		e.data(maskData(path, r.Data))
		if r.Stat != (model.Stat{}) {
			e.stat(&r.Stat)
		}
		if r.Children != nil {
			e.key("children")
			e.b = append(e.b, '[')
			for _, c := range r.Children {
				e.comma()
				e.b = appendString(e.b, c)
			}
			e.b = append(e.b, ']')
		}
		e.close()
	}
	e.b = append(e.b, ']')
}

// stat is a Stat in the order of ZooKeeper's own.
func (e *encoder) stat(s *model.Stat) {
	e.key("stat")
	sep := byte('[')
	for _, v := range [...]int64{s.Czxid, s.Mzxid, s.Ctime, s.Mtime, int64(s.Version), int64(s.CVersion), int64(s.AVersion), s.EphemeralOwner, int64(s.NumChildren), s.Pzxid} {
		e.b = append(e.b, sep)
		e.b = strconv.AppendInt(e.b, v, 10)
		sep = ','
	}
	e.b = append(e.b, ']')
}

// idle tells whether nothing is held back.
func (e *encoder) idle() bool { return e.pending == nil && e.run.n == 0 }
