package admin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// stage is an embedded server with a tree, and an administrator's connection.
type stage struct {
	t       *testing.T
	store   *zkserver.Store
	conn    *zkwatch.Conn
	planner *Planner
	audit   *Audit
	log     string
	cut     atomic.Int32 // of the next multi or write: a zkserver.Cut
}

func newStage(t *testing.T, f *tree.File) *stage {
	t.Helper()
	s := &stage{t: t, log: filepath.Join(t.TempDir(), "state", "audit.log")}
	s.store = zkserver.NewStore(zkserver.Options{Intercept: func(r zkserver.Request) zkserver.Verdict {
		if len(r.Ops) > 0 && r.Peer != "" {
			return zkserver.Verdict{Cut: zkserver.Cut(s.cut.Swap(0))}
		}
		return zkserver.Verdict{}
	}})
	owner, _ := s.store.CreateSession(time.Hour)
	var znodes []zkserver.Znode
	for _, z := range f.Znodes {
		n := zkserver.Znode{Path: z.Path, Data: z.Data, Version: z.Version}
		if z.Ephemeral {
			n.Owner = owner
		}
		znodes = append(znodes, n)
	}
	if err := s.store.Load(znodes); err != nil {
		t.Fatal(err)
	}
	server := zkserver.NewServer(s.store, zkserver.ServerOptions{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	if s.conn, err = zkwatch.Dial(context.Background(), zkwatch.Options{Servers: addr.String(), Gate: zkwatch.Admin()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.conn.Close)
	if s.audit, err = OpenAudit(s.log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.audit.Close() })
	s.planner = &Planner{Source: s.conn, Name: "a server", Draw: func() model.Uuid { return model.Uuid{15: 9} }}
	return s
}

// plan makes a plan that must not be refused.
func (s *stage) plan(make planning) *Plan {
	s.t.Helper()
	p, err := make(s.planner)
	if err != nil || p.Refused() != "" {
		s.t.Fatalf("plan: %v %s", err, p.Refused())
	}
	return p
}

func (s *stage) apply(op zkserver.Op) {
	s.t.Helper()
	if r, _ := s.store.Apply(0, op); r.Code != zkserver.OK {
		s.t.Fatalf("%v: %s", op, r.Code)
	}
}

func (s *stage) there(path string) bool {
	_, code := s.store.Exists(path)
	return code == zkserver.OK
}

// records are the lines of the audit log.
func (s *stage) records() (out []auditRecord) {
	s.t.Helper()
	data, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var r auditRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.t.Fatalf("%v in %s", err, line)
		}
		out = append(out, r)
	}
	return out
}

func TestAPlanIsWrittenAndRecorded(t *testing.T) {
	s := newStage(t, world())
	p := s.plan(grows(model.AddPartitions{Topic: "t", Total: 3}))
	if err := Execute(s.conn, p, s.audit); err != nil {
		t.Fatal(err)
	}
	if data, st, _ := s.store.Get("/brokers/topics/t"); string(data) != string(p.Writes[0].Op.Data) || st.Version != 5 {
		t.Errorf("written: %s, version %d", data, st.Version)
	}
	st, err := os.Stat(s.log)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the log: %v %v", st, err)
	}
	r := s.records()
	if len(r) != 2 || r[0].Stage != "intent" || r[1].Stage != "outcome" || r[1].Outcome != "written" || !strings.Contains(r[0].By, "@") || r[0].Session == "" || r[0].Plan != r[1].Plan {
		t.Fatalf("records: %+v", r)
	}
	if w := r[0].Writes; len(w) != 1 || w[0].Op != "set" || *w[0].Version != 4 || *w[0].Old != string(p.Writes[0].Before.Data) || *w[0].New != string(p.Writes[0].Op.Data) {
		t.Errorf("recorded: %+v", w)
	}
	if err := Execute(s.conn, p, s.audit); err == nil || !strings.Contains(err.Error(), "BADVERSION: it has changed since the plan was made; nothing was written") {
		t.Errorf("written twice: %v", err)
	}
}

// Between plan and write somebody else is faster.
func TestRaces(t *testing.T) {
	create := creates(model.CreateTopic{Topic: "new", Partitions: 1, ReplicationFactor: 1})
	for name, c := range map[string]struct {
		plan    planning
		change  zkserver.Op
		want    string
		nothing string // what must not be there
	}{
		"a topic appears":       {create, zkserver.Create("/brokers/topics/new", []byte("{}"), 0), "create /brokers/topics/new: NODEEXISTS: it has appeared since", "/config/topics/new"},
		"its config appears":    {create, zkserver.Create("/config/topics/new", []byte("{}"), 0), "create /config/topics/new: NODEEXISTS", "/brokers/topics/new"},
		"a topic changes":       {deletes("t"), zkserver.Set("/brokers/topics/t", []byte("{}"), -1), "check /brokers/topics/t v4: BADVERSION", "/admin/delete_topics/t"},
		"somebody deletes, too": {deletes("t"), zkserver.Create("/admin/delete_topics/t", nil, 0), "create /admin/delete_topics/t: NODEEXISTS", ""},
		"an election is asked":  {elects("t"), zkserver.Create("/admin/preferred_replica_election", nil, 0), "NODEEXISTS", ""},
		"a controller comes":    {(*Planner).MoveController, zkserver.Set("/controller_epoch", []byte("8"), -1), "check /controller_epoch v4: BADVERSION", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, world())
			p := s.plan(c.plan)
			s.apply(c.change)
			err := Execute(s.conn, p, s.audit)
			if e, ok := errors.AsType[*WriteError](err); !ok || e.Unknown || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if c.nothing != "" && s.there(c.nothing) {
				t.Errorf("%s is there", c.nothing)
			}
			if r := s.records(); len(r) != 2 || r[1].Outcome != err.Error() {
				t.Errorf("records: %+v", r)
			}
			if !s.there("/controller") {
				t.Error("/controller is gone")
			}
		})
	}
}

// The connection breaks between write and answer: the tree says what happened.
func TestALostAnswerIsLookedUp(t *testing.T) {
	for cut, written := range map[zkserver.Cut]bool{zkserver.CutBefore: false, zkserver.CutAfter: true} {
		for name, plan := range map[string]planning{"create": creates(model.CreateTopic{Topic: "new", Partitions: 1, ReplicationFactor: 1}),
			"set": grows(model.AddPartitions{Topic: "t", Total: 3}), "delete": (*Planner).MoveController} {
			s := newStage(t, world())
			p := s.plan(plan)
			s.cut.Store(int32(cut))
			err := Execute(s.conn, p, s.audit)
			if written && err != nil || !written && (err == nil || !strings.Contains(err.Error(), "the tree shows that nothing was written")) {
				t.Errorf("%s, written %v: error %v", name, written, err)
			}
		}
	}
}

func TestWithoutARecordNothingIsWritten(t *testing.T) {
	s := newStage(t, world())
	p := s.plan(deletes("t"))
	s.audit.Close()
	if err := Execute(s.conn, p, s.audit); err == nil || !strings.Contains(err.Error(), "nothing was written, for it could not be recorded") || s.there("/admin/delete_topics/t") {
		t.Errorf("error %v", err)
	}
	if _, err := OpenAudit(filepath.Join(s.log, "below-a-file")); err == nil {
		t.Error("a log below a file was opened")
	}
}

func TestSecretsAreMasked(t *testing.T) {
	const path, text = "/config/topics/t", `{"version":1,"config":{"a.password":"hush","b":"c"}}`
	p := &model.Plan{Writes: []model.PlannedWrite{{Op: model.Op{Kind: model.OpSet, Path: path, Data: []byte(text)}, Before: model.Znode{Path: path, Data: []byte(text)}}}}
	s := newStage(t, world())
	if err := s.audit.Intent(p, 0); err != nil {
		t.Fatal(err)
	}
	for _, l := range p.Text(0) {
		if strings.Contains(l.Text, "hush") {
			t.Errorf("shown: %s", l.Text)
		}
	}
	if w := s.records()[0].Writes[0]; strings.Contains(*w.Old+*w.New, "hush") || !strings.Contains(*w.New, `"b":"c"`) {
		t.Errorf("recorded: %s %s", *w.Old, *w.New)
	}
}

func TestAWitnessSeesTheEnd(t *testing.T) {
	s := newStage(t, world())
	p := s.plan(deletes("t"))
	w, err := Attend(s.conn, p)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := Execute(s.conn, p, s.audit); err != nil {
		t.Fatal(err)
	}
	var states []string
	last, err := w.Follow(p.Follower(), soon(t), func(o Outlook) {
		states = append(states, o.State)
		if o.Text == "the marker is there; nothing of the topic has gone yet" { // what a controller does
			for _, path := range []string{"/brokers/topics/t/partitions/0/state", "/brokers/topics/t/partitions/0", "/brokers/topics/t/partitions/1/state", "/brokers/topics/t/partitions/1",
				"/brokers/topics/t/partitions", "/brokers/topics/t", "/config/topics/t", "/admin/delete_topics/t"} {
				s.apply(zkserver.Delete(path, -1))
			}
		}
	})
	if err != nil || last.Result != Done || states[len(states)-1] != "done" {
		t.Errorf("states %v, last %+v, error %v", states, last, err)
	}
}

// soon is closed when a test has waited long enough.
func soon(t *testing.T) <-chan struct{} {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx.Done()
}
