package admin

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"kstate/engine"
	"kstate/internal/tree"
	"kstate/model"
)

// Source answers reads (get, exists, children) as of now. A *zkwatch.Conn is one.
type Source interface {
	Do(*model.Call) model.Result
}

// Settings are what ZooKeeper does not show of a cluster, as far as the operator
// says it.
type Settings struct {
	DeleteTopicEnable *bool                     // nil: not said
	Protocol          model.InterBrokerProtocol // NoIBP: not said
	SetACL            bool                      // zookeeper.set.acl
	Identity          bool                      // the session has authenticated to ZooKeeper
	From              string                    // who says so, as --properties FILE
}

// Planner makes plans out of what a Source answers.
type Planner struct {
	Source   Source
	Name     string            // of the cluster, as the operator named it
	Settings Settings          // what is not in the tree
	Draw     func() model.Uuid // random bits for topic ids and the first broker of a placement

	made atomic.Uint64
}

// Plan is a plan with the one who follows it; model.Plan is what is shown of it.
type Plan struct {
	model.Plan
	Subject  string   // the topic, or the like, for the audit log
	Watch    []string // subtrees that its Follower needs
	follower func() Follower
}

// Follower is a new follower of the plan's outcome; nil when there is nothing to
// follow.
func (p *Plan) Follower() Follower {
	if p.follower == nil {
		return nil
	}
	return p.follower()
}

// ReadError is a znode that could not be read for a plan.
type ReadError struct {
	Path string
	Code model.Code
}

// Error names the znode and the code.
func (e *ReadError) Error() string {
	return fmt.Sprintf("read %s: %s: without it there is no plan", e.Path, e.Code)
}

// draft is a plan in the making. After a read has failed, it reads nothing more.
type draft struct {
	p    *Planner
	plan *Plan
	err  error
	live []model.Broker // what brokers read; nil until then
}

// start begins a plan with what every change needs: that the cluster is one with
// a ZooKeeper controller.
func (p *Planner) start(what, subject, confirm string) *draft {
	d := &draft{p: p, plan: &Plan{Subject: subject}}
	d.plan.Number, d.plan.What, d.plan.Source, d.plan.Confirm = p.made.Add(1), what, p.Name, confirm
	if z := d.get(model.ClusterIDPath); !z.Missing {
		if id, err := model.DecodeClusterID(z.Path, z.Data); err == nil {
			d.plan.ClusterID = id
		} else {
			d.warn("the cluster's id is not known: %v", err)
		}
	}
	d.checkController()
	return d
}

// checkController refuses clusters that a KRaft controller owns.
func (d *draft) checkController() {
	const what = "the cluster has a ZooKeeper controller"
	z := d.get(model.ControllerPath)
	if d.err != nil {
		return
	}
	if z.Missing {
		d.check(what, true, "%s is not there: nobody acts on the change until a controller is elected", model.ControllerPath)
		d.warn("there is no controller just now: nothing happens until one is elected")
	} else if reg, err := model.DecodeControllerRegistration(z.Path, z.Data); err != nil {
		d.check(what, false, "%v", err)
	} else if reg.KRaftEpoch >= 0 {
		d.check(what, false, "%s says that KRaft controller %d (epoch %d) owns it: what is written to ZooKeeper would be ignored or break the migration", z.Path, reg.Broker, reg.KRaftEpoch)
	} else {
		d.check(what, true, "broker %d", reg.Broker)
	}
	if m := d.get(model.MigrationPath); !m.Missing && d.err == nil {
		d.warn("%s is there: a migration to KRaft was begun", model.MigrationPath)
	}
}

// done is the finished plan.
func (d *draft) done() (*Plan, error) {
	if d.err != nil {
		return nil, d.err
	}
	p := d.plan
	if p.Refused() != "" || p.Nothing != "" {
		p.Writes, p.Follow, p.Watch, p.follower = nil, "", nil, nil
	}
	return p, nil
}

func (d *draft) refused() bool { return d.err != nil || d.plan.Refused() != "" }

func (d *draft) check(what string, ok bool, saw string, args ...any) bool {
	if d.err == nil {
		d.plan.Checks = append(d.plan.Checks, model.PlanCheck{What: what, OK: ok, Saw: fmt.Sprintf(saw, args...)})
	}
	return ok && d.err == nil
}

func (d *draft) warn(format string, args ...any) {
	d.plan.Warnings = append(d.plan.Warnings, fmt.Sprintf(format, args...))
}

func (d *draft) note(format string, args ...any) {
	d.plan.Notes = append(d.plan.Notes, fmt.Sprintf(format, args...))
}

func (d *draft) call(ops ...model.Op) []model.OpResult {
	if d.err != nil || len(ops) == 0 {
		return make([]model.OpResult, len(ops))
	}
	r := d.p.Source.Do(&model.Call{Purpose: "plan", Ops: ops})
	if len(r.Ops) != len(ops) {
		d.err = &ReadError{ops[0].Path, r.Code}
		return make([]model.OpResult, len(ops))
	}
	for i := range r.Ops {
		if c := r.Ops[i].Code; c != model.CodeOK && c != model.CodeNoNode && d.err == nil {
			d.err = &ReadError{ops[i].Path, c}
		}
	}
	return r.Ops
}

// get reads one znode; Missing when it is not there.
func (d *draft) get(path string) model.Znode { return d.getAll(path)[0] }

func (d *draft) getAll(paths ...string) []model.Znode {
	ops := make([]model.Op, len(paths))
	for i, path := range paths {
		ops[i] = model.Op{Kind: model.OpGet, Path: path}
	}
	results := d.call(ops...)
	out := make([]model.Znode, len(paths))
	for i, path := range paths {
		out[i] = model.Znode{Path: path, Data: results[i].Data, Stat: results[i].Stat, Missing: results[i].Code == model.CodeNoNode || d.err != nil}
	}
	return out
}

func (d *draft) children(path string) []string {
	names := slices.Clone(d.call(model.Op{Kind: model.OpChildren, Path: path})[0].Children)
	slices.Sort(names)
	return names
}

// create plans a new znode; its parents are there.
func (d *draft) create(path string, data []byte) {
	d.plan.Writes = append(d.plan.Writes, model.PlannedWrite{Op: model.Op{Kind: model.OpCreate, Path: path, Data: data},
		Before: model.Znode{Path: path, Missing: true}, ACL: d.acl(path)})
	const open = "the session has an identity, and what it creates is open to all: where zookeeper.set.acl is on, give --override zookeeper.set.acl=true"
	if s := &d.p.Settings; s.Identity && !s.SetACL && !slices.Contains(d.plan.Warnings, open) {
		d.warn(open)
	}
}

// set plans new data at the version that was read.
func (d *draft) set(before model.Znode, data []byte) {
	d.plan.Writes = append(d.plan.Writes, model.PlannedWrite{Op: model.Op{Kind: model.OpSet, Path: before.Path, Version: before.Stat.Version, Data: data}, Before: before})
}

// hold binds the transaction to a znode's version.
func (d *draft) hold(z model.Znode) {
	d.plan.Writes = append(d.plan.Writes, model.PlannedWrite{Op: model.Op{Kind: model.OpCheck, Path: z.Path, Version: z.Stat.Version}, Before: z})
}

// acl is what the connection gives a new znode, see zkwatch.Options.SetACL.
func (d *draft) acl(path string) string {
	switch {
	case !d.p.Settings.SetACL:
		return "world:anyone:cdrwa"
	case model.IsSensitivePath(path):
		return "auth::cdrwa"
	}
	return "auth::cdrwa, world:anyone:r"
}

// parents plans those parents of a path that a broker makes at its start and
// that are not there.
func (d *draft) parents(path string) {
	parent := model.ParentPath(path)
	if parent == "/" || parent == "" || !d.get(parent).Missing || d.err != nil {
		return
	}
	d.parents(parent)
	d.create(parent, nil)
}

// maxRequest is what a ZooKeeper server with default settings takes of one
// transaction, with room for the rest of the frame.
const maxRequest = 1_000_000

func (d *draft) checkSize() {
	size := 0
	for i := range d.plan.Writes {
		size += len(d.plan.Writes[i].Op.Data) + len(d.plan.Writes[i].Op.Path) + 128
	}
	if size > maxRequest {
		d.check("ZooKeeper takes it in one transaction", false, "it has %d bytes, and a server takes 1048575 (jute.maxbuffer): do it in parts", size)
	}
}

// brokers are the registered brokers, by id; those whose znode cannot be
// decoded have no rack.
func (d *draft) brokers() []model.Broker {
	if d.live != nil {
		return d.live
	}
	var paths []string
	var out []model.Broker
	for _, name := range d.children(model.BrokerIDsPath) {
		if id, ok := model.ParseID(name); ok {
			paths = append(paths, model.BrokerIDPath(id))
			out = append(out, model.Broker{ID: id})
		}
	}
	for i, z := range d.getAll(paths...) {
		if reg, err := model.DecodeBroker(z.Path, z.Data); err == nil && !z.Missing {
			out[i].Rack = reg.Rack
		}
	}
	slices.SortFunc(out, func(a, b model.Broker) int { return int(a.ID) - int(b.ID) })
	d.live = out
	return out
}

func brokerIDs(brokers []model.Broker) []int32 {
	ids := make([]int32, len(brokers))
	for i := range brokers {
		ids[i] = brokers[i].ID
	}
	return ids
}

// existing reads a topic that must be there. marked is its deletion marker.
func (d *draft) existing(topic string) (z model.Znode, a model.TopicAssignment, ok bool) {
	z = d.get(model.TopicPath(topic))
	if z.Missing {
		return z, a, d.check("topic "+topic+" exists", false, "%s is not there%s", z.Path, d.near(topic))
	}
	a, present, err := model.DecodeTopic(z.Path, z.Data)
	switch {
	case err != nil:
		return z, a, d.check("topic "+topic+" exists", false, "%v", err)
	case !present:
		return z, a, d.check("topic "+topic+" exists", false, "%s holds no JSON: the controller reads no partition from it", z.Path)
	}
	return z, a, d.check("topic "+topic+" exists", true, "%d partitions, %s at version %d", len(a.Partitions), z.Path, z.Stat.Version)
}

// near names topics that may have been meant.
func (d *draft) near(topic string) string {
	var near []string
	for _, name := range d.children(model.TopicsPath) {
		if strings.EqualFold(name, topic) || model.TopicNamesCollide(name, topic) || len(topic) > 2 && strings.HasPrefix(name, topic[:3]) {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	const shown = 5
	return "; near: " + strings.Join(near[:min(len(near), shown)], ", ")
}

// notDeleted: no deletion of the topic is under way.
func (d *draft) notDeleted(topic string) bool {
	const what = "no deletion is under way"
	z := d.get(model.DeleteTopicPath(topic))
	if z.Missing {
		return d.check(what, true, "%s is not there", z.Path)
	}
	return d.check(what, false, "%s is there: topic %s is queued for deletion; kstate why topic %s says what it waits for", z.Path, topic, topic)
}

// drawPlaces are two random numbers below n, as a controller draws them.
func (p *Planner) drawPlaces(n int) (start, shift int) {
	if n == 0 {
		return 0, 0
	}
	id := p.Draw()
	return int(binary.BigEndian.Uint32(id[0:4]) % uint32(n)), int(binary.BigEndian.Uint32(id[12:16]) % uint32(n))
}

// spread places new partitions over the registered brokers.
func (d *draft) spread(brokers []model.Broker, n, factor, first, start, shift int) [][]int32 {
	lists, err := engine.PlaceReplicas(brokers, n, factor, first, start, shift)
	if err != nil {
		d.check("the replicas can be placed", false, "%v (registered: %s)", err, model.IDsOrNone(brokerIDs(brokers)))
		return nil
	}
	d.check("the replicas can be placed", true, "on brokers %s", model.JoinIDs(brokerIDs(brokers)))
	return lists
}

// FileSource answers from a tree file.
type FileSource struct {
	znodes   map[string]*tree.Znode
	children map[string][]string
}

// OfFile makes a Source of a tree file, as seen from its chroot.
func OfFile(f *tree.File) *FileSource {
	s := &FileSource{znodes: map[string]*tree.Znode{}, children: map[string][]string{}}
	for i := range f.Znodes {
		path, ok := model.StripChroot(f.Chroot, f.Znodes[i].Path)
		if !ok {
			continue
		}
		s.znodes[path] = &f.Znodes[i]
		if parent := model.ParentPath(path); parent != "" {
			s.children[parent] = append(s.children[parent], model.ChildName(path))
		}
	}
	return s
}

// Do answers reads; writes are refused.
func (s *FileSource) Do(c *model.Call) model.Result {
	r := model.Result{Ops: make([]model.OpResult, len(c.Ops))}
	for i := range c.Ops {
		z, there := s.znodes[c.Ops[i].Path]
		switch {
		case c.Ops[i].Kind.Writes():
			r.Ops[i].Code = model.CodeReadOnlyMode
		case !there:
			r.Ops[i].Code = model.CodeNoNode
		case z.Error != "":
			r.Ops[i].Code = model.CodeNoAuth
		default:
			r.Ops[i] = model.OpResult{Data: z.Data, Stat: z.Stat(), Children: s.children[c.Ops[i].Path]}
		}
	}
	return r
}
