package ui

import (
	"fmt"
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kstate/model"
)

// election is the dialog that picks a strategy and a scope. Its answer is a
// preview, never an election.
type election struct {
	scopes   []model.Scope
	scope    int
	strategy int
	plans    bool // admin mode: a plan takes the place of the preview
}

var strategyMeanings = map[model.Strategy]string{
	model.OfflineStrategy:            "the first replica live and in the ISR, as when a leader is lost",
	model.OfflineUncleanStrategy:     "the same, or else the first that is live, which loses records",
	model.ReassignStrategy:           "the first replica of the move's target that is live and in the ISR",
	model.PreferredStrategy:          "the first assigned replica, if it is live and in the ISR",
	model.ControlledShutdownStrategy: "the first replica in the ISR whose broker is not shutting down",
}

// newElection offers what is chosen, what it belongs to, and all partitions.
func newElection(d *dashboard) dialog {
	e := &election{plans: d.frame.Mode == model.AdminMode}
	if e.plans { // the only one that a znode asks for
		e.strategy = slices.Index(model.Strategies, model.PreferredStrategy)
	}
	add := func(s model.Subject) { e.scopes = append(e.scopes, model.Scope{Subject: s}) }
	s := d.chosen()
	switch s.Kind {
	case model.ReplicaSubject, model.PartitionSubject:
		add(model.Subject{Kind: model.PartitionSubject, Topic: s.Topic, Partition: s.Partition})
		add(model.Subject{Kind: model.TopicSubject, Topic: s.Topic})
		if s.Kind == model.ReplicaSubject {
			add(model.Subject{Kind: model.BrokerSubject, Broker: s.Broker})
		}
	case model.TopicSubject, model.BrokerSubject:
		add(s)
	}
	add(model.Subject{})
	return e
}

func scopeName(s model.Scope) string {
	switch s.Subject.Kind {
	case model.NoSubject:
		return "all partitions"
	case model.BrokerSubject:
		return "partitions with a replica on broker " + itoa(s.Subject.Broker)
	}
	return subjectName(s.Subject)
}

func (e *election) title() string { return "Elect leaders" }

func (e *election) size(*dashboard) (w, h int) { return 72, 2 + 2*len(model.Strategies) }

func (e *election) draw(a area, _ *dashboard) {
	x := a.put(0, 0, plain, "on ")
	x = a.put(x, 0, strong, scopeName(e.scopes[e.scope]))
	if len(e.scopes) > 1 {
		a.put(x+1, 0, faint, fmt.Sprintf("(%d of %d)", e.scope+1, len(e.scopes)))
	}
	for i, s := range model.Strategies {
		y := 2 + 2*i
		a.put(0, y, keyName, itoa(i+1))
		a.put(2, y, strong, s.String())
		a.put(2, y+1, faint, strategyMeanings[s])
		if i == e.strategy {
			a.mark(y)
		}
	}
}

func (e *election) press(d *dashboard, k tea.KeyPressMsg) outcome {
	n := len(model.Strategies)
	switch s := k.String(); s {
	case "esc", "q":
		return outcome{close: 1}
	case "up", "k":
		e.strategy = (e.strategy + n - 1) % n
	case "down", "j", "tab":
		e.strategy = (e.strategy + 1) % n
	case "left", "h":
		e.scope = (e.scope + len(e.scopes) - 1) % len(e.scopes)
	case "right", "l":
		e.scope = (e.scope + 1) % len(e.scopes)
	case "1", "2", "3", "4", "5":
		e.strategy = int(s[0] - '1')
	case "enter":
		if e.plans {
			return outcome{close: 1, command: model.RunElection{Strategy: model.Strategies[e.strategy], Scope: e.scopes[e.scope]}}
		}
		p := &preview{strategy: model.Strategies[e.strategy], scope: e.scopes[e.scope], before: d.frame.Preview, seen: d.seen}
		return outcome{open: p, command: model.PreviewElection{Strategy: p.strategy, Scope: p.scope}}
	}
	return outcome{}
}

func (e *election) paste(string) {}

func (e *election) keys() []key.Help {
	enter := "previews"
	if e.plans {
		enter = "plans it"
	}
	keys := []key.Help{{Key: "enter", Desc: enter}, {Key: "↑ ↓", Desc: "strategy"}}
	if len(e.scopes) > 1 {
		keys = append(keys, key.Help{Key: "← →", Desc: "on what"})
	}
	return append(keys, leaveKey)
}

// preview shows what an election would do and why, and runs it when asked.
type preview struct {
	strategy model.Strategy
	scope    model.Scope
	before   *model.ElectionPreview // what the frame held when this one was asked for
	seen     uint64                 // the newest notice then
	at       int                    // the row whose reasons are shown
	scroll   scroll
}

// answer is the preview that was asked for; nil until it has come.
func (p *preview) answer(d *dashboard) *model.ElectionPreview {
	a := d.frame.Preview
	if a == nil || a == p.before || a.Strategy != p.strategy || a.Scope != p.scope {
		return nil
	}
	return a
}

func (p *preview) title() string { return "Preview: " + p.strategy.String() }

const (
	previewHead = 3 // scope, summary, headings
	previewFoot = 9 // a rule, the reasons of one row, why it cannot be run
)

func (p *preview) size(d *dashboard) (w, h int) {
	h = 1
	if a := p.answer(d); a != nil {
		h = len(a.Results)
	}
	return 100, max(h, 3) + previewHead + previewFoot
}

var previewTable = table{{title: "PARTITION", weight: 1}, {title: "LEADER", width: 11}, {title: "ISR", width: 9},
	{title: "EPOCH", width: 5, right: true}, {title: "OUTCOME", weight: 2}}

func (p *preview) draw(a area, d *dashboard) {
	a.put(0, 0, plain, "on "+scopeName(p.scope))
	r := p.answer(d)
	if r == nil {
		a.put(0, 2, faint, "asking the controller …")
		for y, l := range wrap(line{{plain, ""}, {warn, d.refusedSince(p.seen)}}, a.w, 0) {
			a.putLine(4+y, l, 0)
		}
		return
	}
	a.put(0, 1, strong, previewSummary(r))
	previewTable.header(a, 2)
	foot := min(previewFoot, max(2, a.h-previewHead-2))
	body := a.sub(0, previewHead, a.w, a.h-previewHead-foot)
	p.at = max(0, min(p.at, len(r.Results)-1))
	p.scroll.y = min(max(p.scroll.y, p.at-body.h+1), p.at)
	p.scroll.fit(len(r.Results), body.h)
	for y := 0; y < body.h && p.scroll.y+y < len(r.Results); y++ {
		drawPreviewRow(body, y, &r.Results[p.scroll.y+y])
		if p.scroll.y+y == p.at {
			body.mark(y)
		}
	}
	if len(r.Results) > 0 {
		drawPreviewReasons(a.sub(0, a.h-foot, a.w, foot-1), &r.Results[p.at])
	}
	if why := cannotWrite(d); why != "" {
		a.put(0, a.h-1, warn, "it cannot be run: "+why)
	}
}

func previewSummary(r *model.ElectionPreview) string {
	moves := 0
	for i := range r.Results {
		if r.Results[i].Error == model.ErrNone {
			moves++
		}
	}
	if r.Total > len(r.Results) {
		return fmt.Sprintf("of %d partitions the first %d: %d would get a leader written", r.Total, len(r.Results), moves)
	}
	return fmt.Sprintf("%d of %d would get a leader written", moves, len(r.Results))
}

func drawPreviewRow(a area, y int, r *model.PreviewResult) {
	v := &r.Verdict
	if r.Error != model.ErrNone || v.New == nil {
		previewTable.row(a, y, warn, r.TopicPartition.String(), leaderName(r.OldLeader)+" stays", "", "", r.Error.String())
		return
	}
	st, outcome := plain, "elected"
	if v.Unclean {
		st, outcome = bad, "UNCLEAN: loses records"
	}
	if r.OldLeader == v.New.Leader {
		outcome += ", same leader"
	}
	previewTable.row(a, y, st, r.TopicPartition.String(), leaderName(r.OldLeader)+" → "+leaderName(v.New.Leader),
		model.JoinIDs(v.New.ISR), itoa(v.New.LeaderEpoch), outcome)
}

// drawPreviewReasons says why one partition's election ends as it does.
func drawPreviewReasons(a area, r *model.PreviewResult) {
	a.fill(0, 0, a.w, border, "─")
	a.put(1, 0, faint, " "+r.TopicPartition.String()+" ")
	var lines []line
	switch {
	case r.Error != model.ErrNone:
		lines = append(lines, line{{warn, r.Error.String() + ": " + orNone(r.Why)}})
	case r.Verdict.Why != "":
		lines = append(lines, line{{plain, r.Verdict.Why}})
	}
	lines = append(lines, candidateLines(&r.Verdict)...)
	if r.Verdict.New != nil {
		lines = append(lines, line{{faint, "LeaderAndIsr goes to "}, {plain, model.JoinIDs(r.Verdict.Recipients)}})
	}
	drawLines(a.below(1), lines, scroll{})
}

func leaderName(id int32) string {
	if id == model.NoLeader {
		return "none"
	}
	return itoa(id)
}

func (p *preview) press(d *dashboard, k tea.KeyPressMsg) outcome {
	switch k.String() {
	case "esc", "q":
		return outcome{close: 1}
	case "enter", "y":
		if p.answer(d) == nil {
			d.say(model.Warn, "the preview has not come yet")
			return outcome{}
		}
		if why := cannotWrite(d); why != "" {
			d.say(model.Warn, "it cannot be run: "+why)
			return outcome{}
		}
		return outcome{close: 2, command: model.RunElection{Strategy: p.strategy, Scope: p.scope}}
	}
	s := scroll{y: p.at, page: p.scroll.page}
	s.move(movementOf(k.String()))
	p.at = s.y
	return outcome{}
}

func (p *preview) paste(string) {}

func (p *preview) keys() []key.Help {
	return []key.Help{{Key: "enter", Desc: "runs it"}, {Key: "↑ ↓", Desc: "reasons of others"}, {Key: "esc", Desc: "back"}}
}

// movementOf is the movement of a key inside of a dialog.
func movementOf(key string) movement {
	switch key {
	case "up", "k":
		return moveUp
	case "down", "j":
		return moveDown
	case "pgup":
		return movePageUp
	case "pgdown", "space":
		return movePageDown
	case "home", "g":
		return moveHome
	case "end", "G":
		return moveEnd
	}
	return 0
}
