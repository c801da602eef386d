package live

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"kstate/internal/acl"
	"kstate/model"
)

// Authorizer are the settings of Kafka's AclAuthorizer, whose rules lie in ZooKeeper.
type Authorizer struct {
	SuperUsers     []string // User:NAME
	EveryoneIfNone bool     // allow.everyone.if.no.acl.found
}

// acls follows the access control lists in ZooKeeper. Until they have been read,
// only super users may do anything. Kafka: AclAuthorizer, ZkAclChangeStore.
type acls struct {
	how  Authorizer
	do   func(*model.Call) model.Result
	fail func(error)
	bell
	set atomic.Pointer[acl.Set]
}

func newACLs(how Authorizer, do func(*model.Call) model.Result, fail func(error)) *acls {
	a := &acls{how: how, do: do, fail: fail, bell: newBell()}
	a.set.Store(acl.NewSet(nil, how.SuperUsers, false))
	a.ring()
	return a
}

// run has it read again when it is rung: a watch fired, or a new session has none.
func (a *acls) run(ctx context.Context) { a.each(ctx, a.look) }

// watches tells whether a path is one that it watches.
func (a *acls) watches(path string) bool {
	return path == model.ACLChangesPath || path == model.ExtendedACLChangesPath
}

// look arms the watches and then reads all lists, so that no change is missed.
// When that fails, what was read before holds on.
func (a *acls) look() {
	for _, path := range []string{model.ACLChangesPath, model.ExtendedACLChangesPath} {
		r := a.do(&model.Call{Purpose: "get_acl_changes", Ops: []model.Op{{Kind: model.OpChildren, Path: path, Watch: true}}})
		if codeOf(r) == model.CodeNoNode {
			r = a.do(&model.Call{Purpose: "await_acl_changes", Ops: []model.Op{{Kind: model.OpExists, Path: path, Watch: true}}})
			if codeOf(r) == model.CodeOK {
				a.ring() // made in between
			}
		}
	}
	rules, err := a.read()
	if err != nil {
		a.fail(fmt.Errorf("reading the access control lists: %w", err))
		return
	}
	a.set.Store(acl.NewSet(rules, a.how.SuperUsers, a.how.EveryoneIfNone))
}

func (a *acls) read() ([]acl.Rule, error) {
	var out []acl.Rule
	var failed []error
	for _, pattern := range []string{model.LiteralPattern, model.PrefixedPattern} {
		for _, kind := range acl.ResourceTypes {
			parent := model.ACLTypePath(pattern, string(kind))
			r := a.do(&model.Call{Purpose: "get_acl_resources", Ops: []model.Op{{Kind: model.OpChildren, Path: parent}}})
			switch code := codeOf(r); {
			case code == model.CodeNoNode:
				continue
			case code != model.CodeOK || len(r.Ops) != 1:
				return nil, fmt.Errorf("children of %s: ZooKeeper answered %s", parent, code)
			}
			call := &model.Call{Purpose: "get_acls"}
			for _, name := range r.Ops[0].Children {
				call.Ops = append(call.Ops, model.Op{Kind: model.OpGet, Path: parent + "/" + name})
			}
			lists := a.do(call)
			for i := range lists.Ops {
				path := call.Ops[i].Path
				switch code := lists.Ops[i].Code; code {
				case model.CodeOK:
				case model.CodeNoNode:
					continue // it went in between, and there is a notification of that
				default:
					return nil, fmt.Errorf("get %s: ZooKeeper answered %s", path, code)
				}
				rules, err := acl.DecodeList(lists.Ops[i].Data, kind, pattern == model.PrefixedPattern, r.Ops[0].Children[i])
				if err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", path, err))
				}
				out = append(out, rules...)
			}
		}
	}
	return out, errors.Join(failed...)
}
