package main

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"kstate/internal/admin"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// followMillis is how long the outcome of a change is awaited by default.
const followMillis = 60_000

// The flags of all that writes to a live cluster.
var (
	auditLogFlag   = flag{name: "audit-log", kind: isFile, value: "FILE", usage: "where to record what is written, as JSON lines (default: kstate/audit.log in $XDG_STATE_HOME or ~/.local/state); without a record nothing is written"}
	propertiesFlag = flag{name: "properties", kind: isFile, value: "FILE", usage: "a broker's server.properties, for what ZooKeeper does not show: delete.topic.enable, inter.broker.protocol.version, zookeeper.set.acl"}
	overrideFlag   = flag{name: "override", kind: isText, value: "KEY=VALUE", repeat: true, usage: "one setting, above those of --properties"}
)

// changeFlags are those of every command that writes to a live cluster.
func changeFlags() []flag {
	return append(sourceFlags(),
		flag{name: "dry-run", usage: "print the exact write and write nothing; the only way with --tree"},
		flag{name: "yes", usage: "write without asking, for scripts"},
		flag{name: "timeout", kind: isNumber, value: "MS", usage: "how long to follow what comes of it (default 60000; 0: not at all)"},
		auditLogFlag, propertiesFlag, overrideFlag,
		flag{name: "json", usage: "write JSON"})
}

// changeDetail is what the help of each of these commands ends with.
const changeDetail = `The exact write is printed first: each path, the version that it must have, old and new bytes. Then the name has to be typed (--yes for scripts).
All of it is one transaction, which fails if anything has changed since. It is followed until --timeout.
Exit codes: 1: refused, or it came to nothing; 2: only in part, or it waits for something at the end of --timeout; 3: no permission, or its end was not seen.`

// change is a command that changes a cluster, at work.
type change struct {
	inv    *invocation
	conn   *zkwatch.Conn // nil with --tree
	audit  *admin.Audit
	report changeReport
}

// changeReport is its --json.
type changeReport struct {
	Plan      *planJSON                `json:"plan"`
	DryRun    bool                     `json:"dry_run"`
	Written   bool                     `json:"written"`
	Outcome   *outcomeJSON             `json:"outcome"`
	Elections map[string]*electionJSON `json:"elections,omitempty"`
	Error     string                   `json:"error,omitempty"`
}

type planJSON struct {
	What      string        `json:"what"`
	Source    string        `json:"source"`
	ClusterID string        `json:"cluster_id"`
	Writes    []plannedJSON `json:"writes"`
	Request   []string      `json:"request,omitempty"`
	Checks    []checkJSON   `json:"checks"`
	Nothing   string        `json:"nothing,omitempty"`
	Expect    []string      `json:"expect"`
	Notes     []string      `json:"notes"`
	Warnings  []string      `json:"warnings"`
}

type plannedJSON struct {
	Op      string  `json:"op"`
	Path    string  `json:"path"`
	Version *int32  `json:"version"` // that the znode must have; null: it must not exist
	Old     *string `json:"old"`
	New     *string `json:"new"`
	ACL     string  `json:"acl,omitempty"`
}

type checkJSON struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Saw  string `json:"saw"`
}

type outcomeJSON struct {
	State string `json:"state"`
	Text  string `json:"text"`
}

type electionJSON struct {
	Leader *int32  `json:"leader"`
	ISR    []int32 `json:"isr"`
	Error  *string `json:"error"`
	Why    string  `json:"why,omitempty"`
}

func planAsJSON(p *model.Plan) *planJSON {
	list := func(l []string) []string { return append([]string{}, l...) }
	j := &planJSON{What: p.What, Source: p.Source, ClusterID: p.ClusterID, Writes: []plannedJSON{}, Request: p.Request, Checks: []checkJSON{},
		Nothing: p.Nothing, Expect: list(p.Expect), Notes: list(p.Notes), Warnings: list(p.Warnings)}
	for i := range p.Writes {
		w := &p.Writes[i]
		out := plannedJSON{Op: w.Op.Kind.String(), Path: w.Op.Path, ACL: w.ACL}
		if w.Op.Kind != model.OpCreate {
			out.Version = &w.Op.Version
			out.Old = model.MaskedPayload(w.Op.Path, w.Before.Data)
		}
		if w.Op.Kind == model.OpCreate || w.Op.Kind == model.OpSet {
			out.New = model.MaskedPayload(w.Op.Path, w.Op.Data)
		}
		j.Writes = append(j.Writes, out)
	}
	for _, c := range p.Checks {
		j.Checks = append(j.Checks, checkJSON(c))
	}
	return j
}

// runChange plans, asks, writes and follows one change by znodes.
func runChange(inv *invocation, plan func(*admin.Planner) (*admin.Plan, error)) error {
	return changing(inv, func(c *change, planner *admin.Planner) error {
		p, err := plan(planner)
		if err != nil {
			return readError(err)
		}
		return c.carryOut(p)
	})
}

// changing opens what a change needs, and ends its report.
func changing(inv *invocation, do func(*change, *admin.Planner) error) error {
	c := &change{inv: inv}
	planner, err := c.open()
	if err != nil {
		return err
	}
	defer c.close()
	err = do(c, planner)
	if !inv.has("json") || c.report.Plan == nil {
		return err
	}
	if err != nil {
		c.report.Error = err.Error()
	}
	return errors.Join(err, writeJSON(inv.console.out, c.report))
}

// readError: without permission the answer could not be known.
func readError(err error) error {
	if _, ok := errors.AsType[*admin.ReadError](err); ok {
		return unknown(err)
	}
	return err
}

func (c *change) open() (*admin.Planner, error) {
	inv := c.inv
	live, file := inv.has("zookeeper"), inv.has("tree")
	switch {
	case live == file:
		return nil, inv.misuse("which cluster? Give one of --zookeeper and --tree")
	case file && !inv.has("dry-run"):
		return nil, inv.misuse("a tree file is not written to: give --dry-run")
	}
	s, err := adminSettings(inv)
	if err != nil {
		return nil, err
	}
	planner := &admin.Planner{Settings: s, Draw: drawUuid}
	if file {
		f, err := loadTree(inv)
		if err != nil {
			return nil, err
		}
		planner.Source, planner.Name = admin.OfFile(f), inv.text("tree")
		return planner, nil
	}
	if c.conn, err = dialWith(inv, func(o *zkwatch.Options) {
		if o.SetACL = s.SetACL; !inv.has("dry-run") {
			o.Gate = zkwatch.Admin()
		}
	}); err != nil {
		return nil, err
	}
	planner.Source, planner.Name = c.conn, c.conn.Address().String()
	if err := requireCluster(inv.ctx, c.conn); err != nil {
		c.close()
		return nil, err
	}
	return planner, nil
}

func (c *change) close() {
	if c.conn != nil {
		c.conn.Close()
	}
	if c.audit != nil {
		c.audit.Close()
	}
}

// adminSettings are those that the operator gives with --properties.
func adminSettings(inv *invocation) (admin.Settings, error) {
	s, err := readSettings(inv)
	if err != nil {
		return admin.Settings{}, err
	}
	out := admin.Settings{Protocol: s.engine.IBP, SetACL: s.zookeeper.SetACL, Identity: inv.has("zookeeper-digest") || inv.has("zookeeper-tls-cert")}
	for _, key := range []string{"inter.broker.protocol.version", "delete.topic.enable"} {
		if from, given := s.given[key]; given {
			out.From = from
		}
	}
	if _, given := s.given["delete.topic.enable"]; given {
		out.DeleteTopicEnable = &s.engine.DeleteTopicEnable
	}
	return out, nil
}

func drawUuid() (id model.Uuid) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// carryOut shows a plan, asks for consent, writes it and follows it.
func (c *change) carryOut(p *admin.Plan) error {
	if stop, err := c.consented(&p.Plan); stop || err != nil {
		return err
	}
	w, err := admin.Attend(c.conn, p)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := admin.Execute(c.conn, p, c.audit); err != nil {
		if e, ok := errors.AsType[*admin.WriteError](err); ok && (e.Unknown || e.Code == model.CodeNoAuth) {
			return unknown(err)
		}
		return err
	}
	c.report.Written = true
	c.say("written")
	return c.follow(w, p)
}

// consented shows the plan and asks; stop means that there is nothing more to do.
func (c *change) consented(p *model.Plan) (stop bool, err error) {
	c.report.Plan, c.report.DryRun = planAsJSON(p), c.inv.has("dry-run")
	if out := c.human(); out != nil {
		for _, l := range p.Text(0) {
			if _, err := fmt.Fprintln(out, tree.Printable(l.Text)); err != nil {
				return true, err
			}
		}
	}
	switch {
	case p.Refused() != "":
		return true, fmt.Errorf("%s: refused: %s", p.What, p.Refused())
	case p.Nothing != "":
		return true, nil
	case c.inv.has("dry-run"):
		c.say("--dry-run: nothing was written")
		return true, nil
	}
	if err := c.openAudit(); err != nil {
		return true, err
	}
	if c.inv.has("yes") {
		return false, nil
	}
	return false, c.ask(p.Confirm)
}

// human is where the plan is printed; nil: nowhere.
func (c *change) human() io.Writer {
	switch {
	case !c.inv.has("json"):
		return c.inv.console.out
	case !c.inv.has("yes") && !c.inv.has("dry-run"):
		return c.inv.console.err
	}
	return nil
}

func (c *change) say(format string, args ...any) {
	if out := c.human(); out != nil {
		fmt.Fprintln(out, tree.Printable(fmt.Sprintf(format, args...)))
	}
}

func (c *change) openAudit() (err error) {
	c.audit, err = openAuditOf(c.inv)
	return err
}

// ask has the name typed at the terminal.
func (c *change) ask(name string) error {
	if f, ok := c.inv.console.in.(*os.File); ok && !isTerminal(f) {
		return c.inv.misuse("standard input is no terminal to type the consent at: --yes writes without asking")
	}
	fmt.Fprintf(c.human(), "Type %s to write this; anything else leaves all as it is: ", tree.Printable(name))
	line, err := c.typed()
	switch {
	case c.inv.ctx.Err() != nil: // whatever was typed: the operator does not want it any more
		fmt.Fprintln(c.human())
		return errors.New("interrupted: nothing was written")
	case err != nil && line == "":
		return errors.New("nothing was typed: nothing was written")
	}
	if strings.TrimSpace(line) != name {
		return fmt.Errorf("that is not %s: nothing was written", name)
	}
	return nil
}

// typed is the line that is typed, or what there is of it at an interrupt: the
// read itself cannot be ended.
func (c *change) typed() (line string, err error) {
	read := make(chan struct{})
	var text string
	var failed error
	go func() {
		defer close(read)
		text, failed = bufio.NewReader(c.inv.console.in).ReadString('\n')
	}()
	select {
	case <-read:
		return text, failed
	case <-c.inv.ctx.Done():
		return "", c.inv.ctx.Err()
	}
}

// follow watches until the end, or until the time is over.
func (c *change) follow(w *admin.Witness, p *admin.Plan) error {
	f := p.Follower()
	limit := time.Duration(c.inv.number("timeout", followMillis)) * time.Millisecond
	if f == nil || limit == 0 {
		return nil
	}
	stop := make(chan struct{})
	timer := time.AfterFunc(limit, func() { close(stop) })
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-c.inv.ctx.Done():
			if timer.Stop() {
				close(stop)
			}
		case <-ended:
			timer.Stop()
		}
	}()
	last, err := w.Follow(f, stop, func(o admin.Outlook) {
		c.say("%s %s: %s", time.Now().Format("15:04:05"), o.State, o.Text)
	})
	if err != nil {
		return unknown(err)
	}
	c.report.Outcome = &outcomeJSON{last.State, last.Text}
	c.noteElections(last.Leads)
	err = c.verdict(&last, limit)
	if failed := c.audit.End(&p.Plan, c.conn.State().SessionID, last.State+": "+last.Text); failed != nil {
		err = errors.Join(err, failed)
	}
	return err
}

func (c *change) noteElections(list []admin.ElectionOutcome) {
	for i := range list {
		o := &list[i]
		if c.report.Elections == nil {
			c.report.Elections = map[string]*electionJSON{}
		}
		j := &electionJSON{ISR: o.ISR, Why: o.Why}
		if o.Leader != model.NoLeader {
			j.Leader = &o.Leader
		}
		if o.Error != "" {
			j.Error = &o.Error
		}
		c.report.Elections[o.TopicPartition.String()] = j
		if text := "elected"; !c.inv.has("json") {
			switch {
			case o.Error != "":
				text = o.Error + ": " + o.Why
			case o.Why != "":
				text += "; " + o.Why
			}
			c.say("%s  leader %s, isr %v: %s", o.TopicPartition, model.LeaderName(o.Leader), o.ISR, text)
		}
	}
}

// verdict is the exit code of what was seen last.
func (c *change) verdict(o *admin.Outlook, limit time.Duration) error {
	switch o.Result {
	case admin.Done:
		return nil
	case admin.Partly:
		return &exitCode{exitFound, fmt.Errorf("%s: %s", o.State, o.Text)}
	case admin.Refused:
		return fmt.Errorf("%s: %s", o.State, o.Text)
	}
	err := fmt.Errorf("it is written, and its end was not seen within %v; the last: %s: %s", limit, o.State, o.Text)
	if c.inv.ctx.Err() != nil {
		err = fmt.Errorf("it is written, and it was followed no longer; the last: %s: %s", o.State, o.Text)
	}
	if o.State == "waiting" {
		return &exitCode{exitFound, err}
	}
	return unknown(err)
}
