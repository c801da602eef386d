package observe

import (
	"time"

	"kstate/internal/explain"
	"kstate/model"
)

// explainPeriod is how old an explanation may get while the tree changes: some
// look at each partition.
const explainPeriod = time.Second

// explaining is what the operator wants explained, and the answer.
type explaining struct {
	subject     model.Subject
	explanation *model.Explanation
	stale       bool // the tree has changed since
	at          time.Time
}

// explainAnew explains the chosen subject if the tree has changed. Everything
// that it looks at is in the survey: it does not wait for ZooKeeper.
func (o *Observer) explainAnew() {
	w := &o.why
	if !o.synced || !w.stale || w.subject.Kind == model.NoSubject || w.explanation != nil && time.Since(w.at) < explainPeriod {
		return
	}
	e, err := explain.OfTree(o.survey).Explain(w.subject)
	if err != nil {
		e = &model.Explanation{Subject: w.subject, Kind: w.subject.Kind.String(), Name: w.subject.Name(), Answer: err.Error()}
	}
	w.explanation, w.stale, w.at, o.dirty = e, false, time.Now(), true
}
