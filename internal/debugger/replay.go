package debugger

import (
	"errors"
	"fmt"

	"kstate/engine"
	"kstate/internal/journal"
	"kstate/model"
)

// Replay feeds a fresh engine what a journal recorded, and holds the engine's
// steps against those that the journal tells of.
type Replay struct {
	Engine *engine.Engine // nil until its record has come
	// Each, if set, sees every step when its record comes, before it is settled.
	Each func(s model.Step)

	in    *journal.Reader
	sends map[uint64]model.ControlRequest // by the number of the Send
	open  map[uint64]openStep             // steps whose result has not come
}

type openStep struct {
	aside uint64
	name  string
}

// NewReplay refuses a recording whose beginning is gone.
func NewReplay(in *journal.Reader) (*Replay, error) {
	if in.Header.Mode.Beside() {
		return nil, fmt.Errorf("%s tells what was seen of a controller, not what it was told: no engine can be fed from it", in.Paths()[0])
	}
	if !in.Complete() {
		return nil, fmt.Errorf("%s begins with record %d: the files before are gone, and without them no engine can be fed from it", in.Paths()[0], in.Header.From)
	}
	return &Replay{in: in, sends: map[uint64]model.ControlRequest{}, open: map[uint64]openStep{}}, nil
}

// Next feeds one record and returns it. io.EOF and *journal.Tear as of
// journal.Reader; other errors say that engine and journal do not agree: another
// version of kstate wrote it, or records are missing.
func (p *Replay) Next() (*journal.Record, error) {
	rec, err := p.in.Read()
	if err != nil {
		return nil, err
	}
	if err := p.feed(rec); err != nil {
		return rec, fmt.Errorf("record %d: %w", rec.N, err)
	}
	return rec, nil
}

func (p *Replay) feed(rec *journal.Record) error {
	if p.Engine == nil && (rec.Kind == journal.Input || rec.Kind == journal.Taken || rec.Kind == journal.Result) {
		return errors.New("no engine has begun yet")
	}
	switch rec.Kind {
	case journal.Input:
		return p.input(rec)
	case journal.Taken:
		for i := range rec.Moves {
			if err := p.take(rec, i); err != nil {
				return err
			}
		}
	case journal.Result:
		open, ok := p.open[rec.Of]
		if !ok {
			return fmt.Errorf("a result of step %d, which waits for none", rec.Of)
		}
		delete(p.open, rec.Of)
		p.settle(open.aside, rec.Result)
	case journal.Gap:
		return errors.New(rec.Text + ": what follows cannot be replayed")
	case journal.Engine:
		e, err := engineOf(rec.Settings)
		if err != nil {
			return err
		}
		p.Close()
		p.Engine = e
		clear(p.sends)
		clear(p.open)
	}
	return nil
}

func (p *Replay) input(rec *journal.Record) error {
	switch r := rec.Input.(type) {
	case *model.Remarked, *model.ZnodeSeen: // no engine gets them
		return nil
	case *model.Responded:
		if r.Request = p.sends[rec.Of]; r.Request == nil {
			return fmt.Errorf("an answer of broker %d to request %d, which was not sent", r.Broker, rec.Of)
		}
		delete(p.sends, rec.Of)
	}
	p.Engine.Accept(model.Input{At: rec.At, Of: rec.Input})
	return nil
}

// at is the step that the event thread, or an admin request, is about to take.
func (p *Replay) at(aside uint64) model.Step {
	if aside == 0 {
		return p.Engine.At()
	}
	for _, a := range p.Engine.Asides() {
		if a.ID == aside {
			return a.Step
		}
	}
	return nil
}

// take takes the i-th step that a record tells of.
func (p *Replay) take(rec *journal.Record, i int) error {
	at := p.at(rec.Aside)
	if err := rec.Matches(at, i); err != nil {
		return fmt.Errorf("the engine goes another way than the journal: %w", err)
	}
	if p.Each != nil {
		p.Each(at)
	}
	if s, ok := at.(*model.Send); ok {
		p.sends[rec.N] = s.Request
	}
	if rec.Settled {
		p.settle(rec.Aside, rec.Result)
	} else {
		p.open[rec.N] = openStep{rec.Aside, rec.Step}
	}
	return nil
}

func (p *Replay) settle(aside uint64, r model.Result) {
	if aside == 0 {
		p.Engine.Settle(r)
	} else {
		p.Engine.SettleAside(aside, r)
	}
}

// Close closes the engine; the Reader is the caller's.
func (p *Replay) Close() {
	if p.Engine != nil {
		p.Engine.Close()
	}
}
