package admin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// WriteError is a write that did not happen, or of which that is not known.
type WriteError struct {
	Op      model.Op
	Code    model.Code
	Unknown bool // it may have been applied
	Why     string
}

// Error says what was tried, what came back and what to do.
func (e *WriteError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Op.String(), e.Code, e.Why)
}

// verifyLimit is how long the fate of a write is looked for after its connection broke.
const verifyLimit = 30 * time.Second

// Execute writes a plan: recorded first, then sent once, in one transaction. A
// nil error means that it is written. Otherwise nothing was, unless the error is
// a *WriteError with Unknown set. The Conn's gate is zkwatch.Admin.
func Execute(conn *zkwatch.Conn, p *Plan, log *Audit) error {
	if why := p.Refused(); why != "" || len(p.Writes) == 0 {
		return fmt.Errorf("%s: there is nothing to write: %s", p.What, why)
	}
	session := conn.State().SessionID
	if err := log.Intent(&p.Plan, session); err != nil {
		return fmt.Errorf("nothing was written, for it could not be recorded: %w", err)
	}
	err := write(conn, p)
	outcome := "written"
	if err != nil {
		outcome = err.Error()
	}
	if failed := log.Outcome(&p.Plan, session, outcome); failed != nil && err == nil {
		err = fmt.Errorf("it is written, but its outcome could not be recorded: %w", failed)
	}
	return err
}

func write(conn *zkwatch.Conn, p *Plan) error {
	var ops, writes []model.Op
	for i := range p.Writes {
		ops = append(ops, p.Writes[i].Op)
		if p.Writes[i].Op.Kind.Writes() {
			writes = append(writes, p.Writes[i].Op)
		}
	}
	if err := conn.Gate().Permit(writes...); err != nil {
		return err
	}
	r := conn.Do(&model.Call{Purpose: p.What, Ops: ops, Atomic: len(ops) > 1})
	if len(r.Ops) != len(ops) {
		return &WriteError{ops[0], r.Code, true, "no result came back; look before you try again"}
	}
	at := slices.IndexFunc(r.Ops, func(o model.OpResult) bool {
		return o.Code != model.CodeOK && o.Code != model.CodeRuntimeInconsistency
	})
	if at < 0 {
		if at = slices.IndexFunc(r.Ops, func(o model.OpResult) bool { return o.Code != model.CodeOK }); at < 0 {
			return nil
		}
	}
	e := &WriteError{Op: ops[at], Code: r.Ops[at].Code, Why: whyNot(ops[at].Kind, r.Ops[at].Code)}
	switch e.Code {
	case model.CodeConnectionLoss, model.CodeSessionExpired:
		return verify(conn, p, e)
	}
	return e
}

// whyNot is what a code means to the operator.
func whyNot(kind model.OpKind, code model.Code) string {
	const nothing = "; nothing was written"
	switch code {
	case model.CodeNodeExists:
		return "it has appeared since the plan was made: somebody else was faster" + nothing
	case model.CodeBadVersion:
		return "it has changed since the plan was made" + nothing + "; plan again and look at the difference"
	case model.CodeNoNode:
		if kind == model.OpCreate {
			return "its parent is gone" + nothing
		}
		return "it is gone since the plan was made" + nothing
	case model.CodeNoAuth:
		return "the identity of this session may not do that" + nothing + "; where zookeeper.set.acl is on, it must be the brokers' own (--zookeeper-digest, --zookeeper-tls-cert)"
	case model.CodeReadOnlyMode:
		return "the write gate did not let it pass" + nothing
	case model.CodeQuotaExceeded:
		return "a ZooKeeper quota is reached" + nothing
	case model.CodeMarshallingError:
		return "it is too large for one transaction" + nothing
	}
	return "look before you try again"
}

// verify finds out whether a write of which no answer came was applied.
func verify(conn *zkwatch.Conn, p *Plan, e *WriteError) error {
	found := make(chan int, 1)
	go func() { found <- applied(conn, p) }()
	e.Unknown, e.Why = true, "the connection broke before the answer came, and ZooKeeper cannot be asked: it may have been written"
	select {
	case <-time.After(verifyLimit):
		return e
	case n := <-found:
		switch n {
		case yes:
			return nil
		case no:
			e.Unknown, e.Why = false, "the connection broke before the answer came; the tree shows that nothing was written"
		default:
			e.Why = "the connection broke before the answer came, and the tree does not show whether it was written: look before you try again"
		}
	}
	return e
}

const (
	unclear = iota
	yes
	no
)

// applied compares the znodes with before and after.
func applied(conn *zkwatch.Conn, p *Plan) int {
	all, none := true, true
	for i := range p.Writes {
		w := &p.Writes[i]
		if !w.Op.Kind.Writes() {
			continue
		}
		r := conn.Do(&model.Call{Purpose: "verify", Ops: []model.Op{{Kind: model.OpGet, Path: w.Op.Path}}})
		if len(r.Ops) != 1 || r.Ops[0].Code != model.CodeOK && r.Ops[0].Code != model.CodeNoNode {
			return unclear
		}
		now, there := &r.Ops[0], r.Ops[0].Code == model.CodeOK
		after, before := false, there != w.Before.Missing
		switch w.Op.Kind {
		case model.OpCreate:
			after = there && string(now.Data) == string(w.Op.Data)
		case model.OpSet:
			after = there && now.Stat.Version == w.Op.Version+1 && string(now.Data) == string(w.Op.Data)
			before = there && now.Stat.Version == w.Op.Version
		case model.OpDelete:
			after = !there || now.Stat.Czxid != w.Before.Stat.Czxid
			before = !after
		}
		all, none = all && after, none && before
	}
	switch {
	case all:
		return yes
	case none:
		return no
	}
	return unclear
}

// Witness keeps a survey of the part of the tree that a plan changes.
type Witness struct {
	mirror *zkwatch.Mirror
	survey *tree.Survey
}

// Attend begins to watch; call it before Execute, so that nothing is missed. The
// Conn has no other mirror.
func Attend(conn *zkwatch.Conn, p *Plan) (*Witness, error) {
	m, err := conn.Mirror(zkwatch.MirrorOptions{Paths: p.Watch})
	if err != nil {
		return nil, err
	}
	return &Witness{mirror: m, survey: tree.NewSurvey(tree.DefaultConfig())}, nil
}

// Close stops watching.
func (w *Witness) Close() { w.mirror.Close() }

// lookPeriod is how often a follower looks although nothing has changed.
const lookPeriod = 100 * time.Millisecond

// Follow tells each new outlook until one has a result or stop is closed; the
// last outlook is returned.
func (w *Witness) Follow(f Follower, stop <-chan struct{}, tell func(Outlook)) (Outlook, error) {
	tick := time.NewTicker(lookPeriod)
	defer tick.Stop()
	last := Outlook{State: "written", Text: "nothing was seen of it yet"}
	synced := false
	for {
		select {
		case <-stop:
			return last, nil
		case changes, open := <-w.mirror.Changes():
			if !open {
				return last, errors.New("the connection to ZooKeeper was closed")
			}
			for i := range changes {
				if changes[i].Mark != zkwatch.NoMark {
					synced = changes[i].Mark == zkwatch.Synced
					continue
				}
				w.survey.Apply(changes[i].Znode())
			}
		case <-tick.C:
		}
		if !synced {
			continue
		}
		now := f.Look(w.survey, time.Now())
		if now.State != last.State || now.Text != last.Text {
			tell(now)
		}
		if last = now; last.Result != Open {
			return last, nil
		}
	}
}
