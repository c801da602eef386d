package inquiry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kstate/engine"
	"kstate/internal/lab/zkserver"
	"kstate/internal/standin"
	"kstate/internal/tree"
	"kstate/model"
)

// Copy is a tree in memory with a controller on it.
type Copy struct {
	file   *tree.File
	store  *zkserver.Store
	world  *standin.World
	engine *engine.Engine

	loaded  map[string][]byte // by path without the chroot
	refused []string          // paths, without the chroot, that may not be read
	asked   uint64
	failed  error // of an event that no controller survives
	needed  string
	drawn   map[model.Uuid]bool
}

// NewCopy loads a tree. An ephemeral /controller is taken as gone: its owner is
// who failed. The error is about the tree's config or paths.
func NewCopy(f *tree.File) (*Copy, error) {
	c := &Copy{file: f, loaded: map[string][]byte{}, drawn: map[model.Uuid]bool{}}
	c.store = zkserver.NewStore(zkserver.Options{FirstZxid: 1, Now: func() time.Time { return time.UnixMilli(1) }})
	owner, _ := c.store.CreateSession(time.Hour)
	znodes := make([]zkserver.Znode, 0, len(f.Znodes))
	controller := model.NoLeader // as /controller names it
	for i := range f.Znodes {
		z := &f.Znodes[i]
		path, inside := model.StripChroot(f.Chroot, z.Path)
		if inside && path == model.ControllerPath {
			if id, ok, err := model.DecodeController(path, z.Data); ok && err == nil {
				controller = id
			}
			if z.Ephemeral {
				continue
			}
		}
		if z.Path == "/" || strings.HasPrefix(z.Path, "/zookeeper") {
			continue
		}
		n := zkserver.Znode{Path: z.Path, Data: z.Data, Version: z.Version, Czxid: z.Czxid}
		if z.Ephemeral {
			n.Owner = owner
		}
		znodes = append(znodes, n)
		if inside && z.Error != "" {
			c.refused = append(c.refused, path)
		}
	}
	if err := c.store.Load(znodes); err != nil {
		return nil, err
	}
	c.walk(func(path string, data []byte) { c.loaded[path] = data })
	cfg, err := c.config(controller)
	if err != nil {
		return nil, err
	}
	c.world = standin.New(standin.Options{Store: c.store, Chroot: f.Chroot, Fault: c.refuse})
	c.engine = engine.New(cfg)
	return c, nil
}

// walk visits the znodes of the cluster, but for those of the role and of brokers.
func (c *Copy) walk(visit func(path string, data []byte)) {
	c.store.Walk(model.JoinChroot(c.file.Chroot, "/"), func(full string, data []byte, _ zkserver.Stat) bool {
		path, inside := model.StripChroot(c.file.Chroot, full)
		if inside && path != "/" && !strings.HasPrefix(path, "/zookeeper") && !passedOver(path) {
			visit(path, data)
		}
		return true
	})
}

// Close ends the controller.
func (c *Copy) Close() { c.engine.Close() }

// config is that of the controller which takes over: the broker that the file
// names, else the one in /controller, else the lowest one registered.
func (c *Copy) config(controller int32) (engine.Config, error) {
	f := c.file.Config
	id := f.ControllerID
	if id == -1 {
		id = controller
	}
	if id == -1 {
		names, _, _ := c.store.Children(model.JoinChroot(c.file.Chroot, model.BrokerIDsPath))
		var ids []int32
		for _, n := range names {
			if id, ok := model.ParseID(n); ok {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			id = slices.Min(ids)
		}
	}
	cfg := engine.DefaultConfig(max(id, 0))
	ibp, err := model.ParseInterBrokerProtocol(f.InterBrokerProtocol)
	if err != nil {
		return cfg, err
	}
	cfg.IBP, cfg.InterBrokerListener, cfg.DeleteTopicEnable, cfg.AutoRebalance = ibp, f.InterBrokerListener, f.DeleteTopicEnable, false
	if f.UncleanLeaderElectionEnable {
		cfg.BrokerConfig = map[string]string{"unclean.leader.election.enable": "true"}
	}
	return cfg, nil
}

// refuse answers calls that need what the tree's reader could not read.
func (c *Copy) refuse(call *model.Call) *model.Result {
	if c.refused == nil {
		return nil
	}
	for i := range call.Ops {
		for _, path := range c.refused {
			if call.Ops[i].Path == path || strings.HasPrefix(call.Ops[i].Path, path+"/") {
				c.needed = path
				r := &model.Result{Ops: make([]model.OpResult, len(call.Ops))}
				for j := range r.Ops {
					r.Ops[j].Code = model.CodeNoAuth
				}
				return r
			}
		}
	}
	return nil
}

// stepLimit is far beyond what any event on a tree takes.
const stepLimit = 1_000_000_000

var errRestless = errors.New("the controller does not come to rest on this tree")

// run takes steps and inputs until there is neither, or until a controller that
// could not take over has given the role up: the next broker would fail alike,
// again and again.
func (c *Copy) run() error {
	for range stepLimit {
		for {
			in, ok := c.world.Next()
			if !ok {
				break
			}
			c.engine.Accept(in)
		}
		s := c.engine.At()
		if s == nil {
			return nil
		}
		r := c.world.Perform(s)
		c.engine.Settle(r)
		switch s := s.(type) {
		case *model.Draw:
			c.drawn[r.ID] = true
		case *model.Call:
			if s.Purpose == "delete_controller" && c.engine.TakeoverError() != nil {
				return nil
			}
		case *model.End:
			if s.Err != nil && c.failed == nil {
				c.failed = s.Err
			}
		}
	}
	return errRestless
}

// apply changes the tree from outside; what fails is the caller's mistake.
func (c *Copy) apply(op zkserver.Op) error {
	r, _ := c.store.Apply(0, op)
	if r.Code != zkserver.OK {
		return fmt.Errorf("%s: ZooKeeper answered %v", op.Path, r.Code)
	}
	return nil
}

// path is a path of a step in the copy: with the chroot already, or without.
func (c *Copy) path(p string) string {
	if c.file.Chroot != "" && strings.HasPrefix(p, strings.TrimRight(c.file.Chroot, "/")+"/") {
		return p
	}
	return model.JoinChroot(c.file.Chroot, p)
}

// ask puts a question to the controller and returns its answer; nil when the
// event failed and nobody was answered.
func (c *Copy) ask(a model.Ask) (model.Answer, error) {
	c.asked++
	c.world.Push(&model.Asked{ID: c.asked, From: "kstate", Ask: a})
	if err := c.run(); err != nil {
		return nil, err
	}
	replies := c.world.Replies
	c.world.Replies = nil
	for _, r := range replies {
		if r.Ask == c.asked {
			return r.Answer, nil
		}
	}
	return nil, nil
}
