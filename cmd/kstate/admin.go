package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"kstate/internal/admin"
	"kstate/internal/observe"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

func adminCommand() command {
	return command{
		name:    "admin",
		summary: "observe, and change the cluster by its standard znodes after consent",
		detail: `The keys of the lab create, grow and delete topics, elect preferred leaders, reassign partitions; M moves the controller. Each shows the exact
write first (path, version, old and new bytes, cluster id) and has the name typed; what comes of it is watched. Nothing else is ever written.
Without a terminal (--headless) nobody can consent, and nothing is written.
With --bootstrap-server unclean elections and the taking back of reassignments are asked for over Kafka's protocol.`,
		flags: append(append(append(zookeeperFlags(),
			auditLogFlag, propertiesFlag, overrideFlag, journalFlag, journalSizeFlag, stateChangeLogFlag),
			bootstrapFlags()...), dashboardFlags()...),
		run: runAdmin,
	}
}

func runAdmin(inv *invocation) error {
	if !inv.has("zookeeper") {
		return inv.misuse("which cluster? Give --zookeeper")
	}
	s, err := adminSettings(inv)
	if err != nil {
		return err
	}
	log, closeLog, err := openLog(inv, "state-change-log")
	if err != nil {
		return err
	}
	defer closeLog()
	a := &administrator{ctx: inv.ctx}
	if inv.has("bootstrap-server") {
		if a.wire, err = openWire(inv); err != nil {
			return err
		}
		defer a.wire.client.Close()
	}
	if a.audit, err = openAuditOf(inv); err != nil {
		return err
	}
	defer a.audit.Close()
	if a.conn, err = dialWith(inv, func(o *zkwatch.Options) { o.Gate, o.SetACL = zkwatch.Admin(), s.SetACL }); err != nil {
		return err
	}
	defer a.conn.Close()
	if err := requireCluster(inv.ctx, a.conn); err != nil {
		return err
	}
	a.planner = &admin.Planner{Source: a.conn, Name: a.conn.Address().String(), Settings: s, Draw: drawUuid}
	return runObserver(inv, observe.Options{Conn: a.conn, Admin: a}, log)
}

func openAuditOf(inv *invocation) (*admin.Audit, error) {
	path := inv.text("audit-log")
	if path == "" {
		dir, err := stateDir()
		if err != nil {
			return nil, fmt.Errorf("audit log: no home directory to keep it in: %w", err)
		}
		path = filepath.Join(dir, "audit.log")
	}
	return admin.OpenAudit(path)
}

// administrator plans and writes what the dashboard asks for.
type administrator struct {
	ctx     context.Context
	conn    *zkwatch.Conn
	planner *admin.Planner
	audit   *admin.Audit
	wire    *wireWay // nil: znodes only
}

// Plan makes the plan of a command.
func (a *administrator) Plan(c model.Command) (observe.Change, error) {
	ch := &plannedChange{a: a}
	var err error
	switch c := c.(type) {
	case model.CreateTopic:
		ch.plan, err = a.planner.CreateTopic(c)
	case model.AddPartitions:
		ch.plan, err = a.planner.AddPartitions(c)
	case model.DeleteTopic:
		ch.plan, err = a.planner.DeleteTopic(c.Topic)
	case model.MoveController:
		ch.plan, err = a.planner.MoveController()
	case model.Reassign:
		err = a.planReassignment(ch, c)
	case model.RunElection:
		err = a.planElection(ch, c)
	default:
		err = fmt.Errorf("there is no way to do that from outside (%T)", c)
	}
	if err == nil && ch.ask != nil {
		err = a.wire.checkCluster(a.ctx, ch.plan)
	}
	if err != nil {
		return nil, err
	}
	return ch, nil
}

func (a *administrator) planReassignment(ch *plannedChange, c model.Reassign) (err error) {
	if !c.Cancel {
		ch.plan, err = a.planner.Reassign([]model.PartitionReassignment{{TopicPartition: c.TopicPartition, Replicas: c.Target}})
		return err
	}
	if a.wire == nil {
		return errors.New("a running reassignment cannot be taken back by a znode: give --bootstrap-server")
	}
	targets := []model.ReassignmentTarget{{TopicPartition: c.TopicPartition, Cancel: true}}
	ch.plan, err = a.planner.AskReassignment(targets, a.wire.via)
	ch.ask = func(ctx context.Context) (string, error) {
		results, err := a.wire.client.Reassign(ctx, targets, a.wire.limit)
		for _, r := range results {
			if r.Error != model.ErrNone {
				return "", fmt.Errorf("%s: %s %s", r.TopicPartition, r.Error, r.Message)
			}
		}
		return "accepted", err
	}
	return err
}

func (a *administrator) planElection(ch *plannedChange, c model.RunElection) (err error) {
	if why := admin.NoWayFromOutside(c.Strategy, a.wire != nil); why != "" {
		return errors.New(why)
	}
	topic, partitions := "", []int32(nil)
	switch s := c.Scope.Subject; s.Kind {
	case model.TopicSubject:
		topic = s.Topic
	case model.PartitionSubject:
		topic, partitions = s.Topic, []int32{s.Partition}
	case model.BrokerSubject:
		if c.Strategy != model.PreferredStrategy {
			return errors.New("unclean leaders are elected for a partition, a topic or all, not for a broker")
		}
		ch.plan, err = a.planner.ElectOnBroker(s.Broker)
		return err
	}
	if c.Strategy == model.PreferredStrategy {
		ch.plan, err = a.planner.Elect(topic, partitions)
		return err
	}
	var list []model.TopicPartition
	ch.plan, list, err = a.planner.AskElection(model.UncleanElection, topic, partitions, a.wire.via)
	ch.ask = func(ctx context.Context) (string, error) {
		results, err := a.wire.client.ElectLeaders(ctx, model.UncleanElection, list, a.wire.limit)
		return electedText(results), err
	}
	return err
}

// plannedChange is one change of the dashboard.
type plannedChange struct {
	a        *administrator
	plan     *admin.Plan
	ask      func(context.Context) (string, error) // over the wire, instead of a write
	follower admin.Follower
}

func (c *plannedChange) Plan() *model.Plan { return &c.plan.Plan }

// Write has the plan recorded and carried out.
func (c *plannedChange) Write() (string, error) {
	c.follower = c.plan.Follower()
	if c.ask == nil {
		if err := admin.Execute(c.a.conn, c.plan, c.a.audit); err != nil {
			return "", err
		}
		return "written", nil
	}
	session := c.a.conn.State().SessionID
	if err := c.a.audit.Intent(&c.plan.Plan, session); err != nil {
		return "", fmt.Errorf("nothing was sent, for it could not be recorded: %w", err)
	}
	text, err := c.ask(c.a.ctx)
	outcome := text
	if err != nil {
		outcome = err.Error()
	}
	return text, errors.Join(err, c.a.audit.Outcome(&c.plan.Plan, session, outcome))
}

// Look says what the tree shows of it.
func (c *plannedChange) Look(s *tree.Survey, now time.Time) (state string, l model.PlanLine, done bool) {
	if c.follower == nil {
		return "done", model.PlanLine{At: now.UnixMilli(), Text: "the controller has answered"}, true
	}
	o := c.follower.Look(s, now)
	l = model.PlanLine{At: now.UnixMilli(), Level: model.Info, Text: o.State + ": " + o.Text}
	switch o.Result {
	case admin.Partly, admin.Refused:
		l.Level = model.Warn
	}
	if o.Result != admin.Open {
		if err := c.a.audit.End(&c.plan.Plan, c.a.conn.State().SessionID, l.Text); err != nil {
			l.Level, l.Text = model.Error, l.Text+"; "+err.Error()
		}
	}
	return o.State, l, o.Result != admin.Open
}
