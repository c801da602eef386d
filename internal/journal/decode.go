package journal

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"kstate/model"
)

// rawLine is a line of any kind.
type rawLine struct {
	N     uint64 `json:"n"`
	To    uint64 `json:"to"`
	At    int64  `json:"at"`
	Event uint64 `json:"event"`
	Aside uint64 `json:"aside"`
	Text  string `json:"text"`

	Input   string          `json:"input"`
	Of      json.RawMessage `json:"of"`
	ID      json.RawMessage `json:"id"`
	From    json.RawMessage `json:"from"`
	Ask     json.RawMessage `json:"ask"`
	Broker  int32           `json:"broker"`
	Send    uint64          `json:"send"`
	Error   int16           `json:"error"`
	Answers [][]any         `json:"partitions"`

	Step     string     `json:"step"`
	Moves    int        `json:"moves"`
	Into     string     `json:"into"`
	Reason   string     `json:"reason"`
	Subjects []string   `json:"subjects"`
	Purpose  string     `json:"purpose"`
	Settled  bool       `json:"settled"`
	Inferred bool       `json:"inferred"`
	Total    int        `json:"total"`
	Ops      []rawOp    `json:"ops"`
	Result   *rawResult `json:"result"`

	ResultOf uint64 `json:"result_of"`
	rawAnswer

	More  string `json:"more"`
	First int    `json:"first"`

	Command string          `json:"command"`
	Notice  string          `json:"notice"`
	Gap     *Lost           `json:"gap"`
	Engine  json.RawMessage `json:"engine"`
}

type rawResult struct {
	At int64  `json:"at"`
	ID string `json:"id"`
	rawAnswer
}

type rawAnswer struct {
	Code    string        `json:"code"`
	Results []rawOpResult `json:"results"`
}

type rawOp struct {
	Op         string  `json:"op"`
	Path       string  `json:"path"`
	Watch      bool    `json:"watch"`
	Ephemeral  bool    `json:"ephemeral"`
	Sequential bool    `json:"sequential"`
	Version    int32   `json:"version"`
	Data       *string `json:"data"`
	Base64     []byte  `json:"data_b64"`
}

type rawOpResult struct {
	Code     string   `json:"code"`
	Check    string   `json:"check"`
	Data     *string  `json:"data"`
	Base64   []byte   `json:"data_b64"`
	Stat     []int64  `json:"stat"`
	Children []string `json:"children"`
}

// take makes a record of a line, or adds the line to the record that is open.
// Nil: more lines of it follow.
func (r *Reader) take(x *rawLine) (*Record, error) {
	if x.More != "" {
		return r.goOn(x)
	}
	if r.open != nil {
		return nil, fmt.Errorf("%s: record %d has %d of its %d parts", r.paths[r.at], r.open.N, max(len(r.open.Ops), len(r.open.Result.Ops)), r.want)
	}
	if r.next > 0 && x.N != r.next {
		return nil, fmt.Errorf("%s: record %d stands where %d should: records are missing without a word", r.paths[r.at], x.N, r.next)
	}
	rec := &Record{N: x.N, To: max(x.N, x.To), At: x.At, Event: x.Event, Aside: x.Aside, Text: x.Text}
	if x.Gap != nil {
		rec.To = x.Gap.To
	}
	r.next = rec.To + 1
	if err := rec.fill(x); err != nil {
		return nil, fmt.Errorf("%s: record %d: %w", r.paths[r.at], x.N, err)
	}
	if r.want = x.Total; len(rec.Ops) < x.Total && rec.Kind == Taken && rec.Ops != nil || len(rec.Result.Ops) < x.Total && rec.Kind == Result {
		r.open = rec
		return nil, nil
	}
	return rec, nil
}

// goOn adds a line to the record that is open. One whose beginning is in a file
// that is gone concerns nobody.
func (r *Reader) goOn(x *rawLine) (*Record, error) {
	rec := r.open
	if rec == nil && r.next == 0 {
		return nil, nil
	}
	if rec == nil || x.N != rec.N {
		return nil, fmt.Errorf("%s: a part of record %d stands behind record %d", r.paths[r.at], x.N, r.last())
	}
	err := rec.addOps(x.Ops)
	if err == nil {
		err = rec.addResults(x.Results)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: record %d: %w", r.paths[r.at], x.N, err)
	}
	if len(rec.Ops) < r.want && rec.Kind == Taken || len(rec.Result.Ops) < r.want && rec.Kind == Result {
		return nil, nil
	}
	r.open = nil
	return rec, nil
}

func (rec *Record) fill(x *rawLine) error {
	switch {
	case x.Input != "":
		rec.Kind = Input
		return rec.fillInput(x)
	case x.Step != "":
		rec.Kind, rec.Step, rec.Moves, rec.Settled = Taken, x.Step, max(1, x.Moves), x.Settled || x.Result != nil
		rec.Result.At, rec.Purpose, rec.Inferred = x.At, x.Purpose, x.Inferred
		if err := rec.fillMoves(x); err != nil {
			return err
		}
		if err := rec.addOps(x.Ops); err != nil || x.Result == nil {
			return err
		}
		rec.Result.At = x.Result.At
		return rec.fillResult(&x.Result.rawAnswer, x.Result.ID)
	case x.ResultOf > 0:
		rec.Kind, rec.Of, rec.Result.At = Result, x.ResultOf, x.At
		var id string
		if x.ID != nil {
			if err := json.Unmarshal(x.ID, &id); err != nil {
				return err
			}
		}
		return rec.fillResult(&x.rawAnswer, id)
	case x.Command != "":
		rec.Kind, rec.Text = Command, x.Command
	case x.Notice != "":
		rec.Kind, rec.Text = Notice, x.Notice
	case x.Gap != nil:
		rec.Kind, rec.Gap, rec.Text = Gap, x.Gap, fmt.Sprintf("records %d to %d are missing: %s", x.Gap.From, x.Gap.To, x.Gap.Why)
	case x.Engine != nil:
		rec.Kind, rec.Settings = Engine, x.Engine
	default:
		return fmt.Errorf("of no kind that this kstate knows")
	}
	return nil
}

// fillMoves are the subjects of a run, each by name.
func (rec *Record) fillMoves(x *rawLine) error {
	if x.Subjects == nil {
		return nil
	}
	rec.Into, rec.Text = x.Into, x.Reason
	if err := json.Unmarshal(x.From, &rec.From); err != nil {
		return err
	}
	for i := 1; i < len(x.Subjects); i += 2 {
		for s := range strings.FieldsSeq(x.Subjects[i]) {
			rec.Subjects = append(rec.Subjects, x.Subjects[i-1]+"-"+s)
		}
	}
	if len(rec.Subjects) != rec.Moves {
		return fmt.Errorf("%d subjects of %d moves", len(rec.Subjects), rec.Moves)
	}
	return nil
}

func (rec *Record) fillResult(x *rawAnswer, id string) error {
	var err error
	if rec.Result.Code, err = parseCode(x.Code); err != nil {
		return err
	}
	if id != "" {
		if rec.Result.ID, err = model.ParseUuid(id); err != nil {
			return err
		}
	}
	if x.Results != nil {
		rec.Result.Ops = make([]model.OpResult, 0, len(x.Results))
	}
	return rec.addResults(x.Results)
}

func parseCode(name string) (model.Code, error) {
	if name == "" {
		return model.CodeOK, nil
	}
	if n, err := strconv.ParseInt(name, 10, 32); err == nil {
		return model.Code(n), nil
	}
	return model.ParseCode(name)
}

func payload(text *string, b64 []byte) []byte {
	if text != nil {
		return []byte(*text)
	}
	return b64
}

func (rec *Record) addOps(list []rawOp) error {
	for i := range list {
		x := &list[i]
		op := model.Op{Path: x.Path, Watch: x.Watch, Ephemeral: x.Ephemeral, Sequential: x.Sequential, Version: x.Version, Data: payload(x.Data, x.Base64)}
		for op.Kind = model.OpGet; op.Kind.String() != x.Op; op.Kind++ {
			if op.Kind == model.OpCheck {
				return fmt.Errorf("%q is no operation", x.Op)
			}
		}
		rec.Ops = append(rec.Ops, op)
	}
	return nil
}

func (rec *Record) addResults(list []rawOpResult) error {
	for i := range list {
		x := &list[i]
		out := model.OpResult{Data: payload(x.Data, x.Base64), Children: x.Children}
		var err error
		if out.Code, err = parseCode(x.Code); err != nil {
			return err
		}
		if out.Check, err = parseCode(x.Check); err != nil {
			return err
		}
		if s := x.Stat; len(s) == 10 {
			out.Stat = model.Stat{Czxid: s[0], Mzxid: s[1], Ctime: s[2], Mtime: s[3], Version: int32(s[4]), CVersion: int32(s[5]), AVersion: int32(s[6]),
				EphemeralOwner: s[7], NumChildren: int32(s[8]), Pzxid: s[9]}
		} else if s != nil {
			return fmt.Errorf("a Stat of %d numbers", len(s))
		}
		rec.Result.Ops = append(rec.Result.Ops, out)
	}
	return nil
}

// stimuli and asks are what can stand in an input, by name.
var (
	stimuli = byName[model.Stimulus](&model.Started{}, &model.Stopping{}, &model.WatchFired{}, &model.SessionExpired{}, &model.SessionRenewed{},
		&model.Responded{}, &model.AlarmRang{}, &model.Asked{}, &model.ZnodeSeen{}, &model.UncleanEnabled{}, &model.UncleanDisabled{}, &model.ProtocolLearned{}, &model.OperatorElects{}, &model.OperatorMoves{}, &model.Remarked{})
	asks = byName[model.Ask](&model.AlterPartition{}, &model.ControlledShutdown{}, &model.ElectLeaders{}, &model.AlterPartitionReassignments{},
		&model.ListPartitionReassignments{}, &model.AllocateProducerIDs{}, &model.CreateTopics{}, &model.DeleteTopics{}, &model.CreatePartitions{}, &model.UpdateFeatures{})
)

func byName[T any](values ...T) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, v := range values {
		name := TypeName(v)
		if a, ok := any(v).(model.Ask); ok {
			name = a.AskName()
		}
		out[name] = reflect.TypeOf(v).Elem()
	}
	return out
}

func (rec *Record) fillInput(x *rawLine) error {
	t, ok := stimuli[x.Input]
	if !ok {
		return fmt.Errorf("the input %q is not known to this kstate", x.Input)
	}
	v := reflect.New(t)
	switch s := v.Interface().(type) {
	case *model.Responded:
		rec.Of = x.Send
		s.Broker, s.Response.Error = x.Broker, model.KafkaError(x.Error)
		if err := fillPartitions(&s.Response, x.Answers); err != nil {
			return err
		}
	case *model.Asked:
		if err := fillAsk(s, x); err != nil {
			return err
		}
	default:
		if err := json.Unmarshal(x.Of, s); err != nil {
			return err
		}
	}
	rec.Input = v.Interface().(model.Stimulus)
	return nil
}

func fillAsk(s *model.Asked, x *rawLine) error {
	var name string
	for _, f := range []struct {
		text json.RawMessage
		into any
	}{{x.ID, &s.ID}, {x.From, &s.From}, {x.Ask, &name}} {
		if err := json.Unmarshal(f.text, f.into); err != nil {
			return err
		}
	}
	t, ok := asks[name]
	if !ok {
		return fmt.Errorf("the request %q is not known to this kstate", name)
	}
	v := reflect.New(t)
	if err := json.Unmarshal(x.Of, v.Interface()); err != nil {
		return err
	}
	s.Ask = v.Interface().(model.Ask)
	return nil
}

func fillPartitions(r *model.ControlResponse, groups [][]any) error {
	if groups != nil {
		r.Partitions = []model.PartitionError{}
	}
	for _, g := range groups {
		if len(g) < 3 {
			return fmt.Errorf("a group of %d", len(g))
		}
		topic, ok := g[0].(string)
		code, number := g[1].(float64)
		if !ok || !number {
			return fmt.Errorf("a group that begins with %v, %v", g[0], g[1])
		}
		for _, p := range g[2:] {
			n, ok := p.(float64)
			if !ok {
				return fmt.Errorf("the partition %v of %s", p, topic)
			}
			r.Partitions = append(r.Partitions, model.PartitionError{TopicPartition: model.TP(topic, int32(n)), Error: model.KafkaError(code)})
		}
	}
	return nil
}
