package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kstate/engine"
	"kstate/model"
	"kstate/zkwatch"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// firstOwnID is where the search for an id begins that no broker has: that of
// brokers with automatic ids too, which are taken one after the other.
const firstOwnID = 1000

// prepare looks whether there may be a controller here, chooses its id and makes
// the chroot if there is none. It reads on a connection that cannot write.
func prepare(inv *invocation, opt zkwatch.Options, s *controlSettings) (int32, error) {
	opt.Gate, opt.OnInput = zkwatch.ReadOnly(), nil
	ctx, cancel := context.WithTimeout(inv.ctx, opt.SessionTimeout)
	defer cancel()
	conn, err := zkwatch.Dial(ctx, opt)
	if err != nil {
		return 0, unknown(err)
	}
	defer conn.Close()
	if err := makeChroot(ctx, inv, opt, conn); err != nil {
		return 0, err
	}
	r := &looker{conn: conn}
	if err := r.refuseKRaft(); err != nil {
		return 0, err
	}
	if err := r.dynamicDefaults(s); err != nil {
		return 0, err
	}
	if s.clusterID, err = r.clusterID(); err != nil {
		return 0, err
	}
	taken, err := r.takenIDs(s.engine.InterBrokerListener)
	if err != nil {
		return 0, err
	}
	if !inv.has("id") {
		holder, err := r.holder()
		if err != nil {
			return 0, err
		}
		id := int32(firstOwnID)
		for taken[id] != "" || id == holder {
			id++
		}
		return id, nil
	}
	id := int32(inv.number("id", 0))
	if why := taken[id]; why != "" {
		return 0, inv.misuse("--id %d: %s", id, why)
	}
	return id, nil
}

// looker reads what a controller depends on, with its own readers.
type looker struct{ conn *zkwatch.Conn }

// get reads znodes; a missing one has no entry.
func (l *looker) get(paths []string) (map[string]model.OpResult, error) {
	call := &model.Call{Purpose: "look"}
	for _, p := range paths {
		call.Ops = append(call.Ops, model.Op{Kind: model.OpGet, Path: p})
	}
	out := map[string]model.OpResult{}
	if len(paths) == 0 {
		return out, nil
	}
	r := l.conn.Do(call)
	for i := range r.Ops {
		switch r.Ops[i].Code {
		case model.CodeOK:
			out[paths[i]] = r.Ops[i]
		case model.CodeNoNode:
		default:
			return nil, unknown(fmt.Errorf("get %s: ZooKeeper answered %s", paths[i], r.Ops[i].Code))
		}
	}
	return out, nil
}

// clusterID is empty where there is none yet.
func (l *looker) clusterID() (string, error) {
	z, err := l.get([]string{model.ClusterIDPath})
	if err != nil || z[model.ClusterIDPath].Data == nil {
		return "", err
	}
	return model.DecodeClusterID(model.ClusterIDPath, z[model.ClusterIDPath].Data)
}

func (l *looker) children(path string) ([]string, error) {
	r := l.conn.Do(&model.Call{Purpose: "look", Ops: []model.Op{{Kind: model.OpChildren, Path: path}}})
	switch {
	case len(r.Ops) == 1 && (r.Ops[0].Code == model.CodeOK || r.Ops[0].Code == model.CodeNoNode):
		return r.Ops[0].Children, nil
	case len(r.Ops) == 1:
		return nil, unknown(fmt.Errorf("children of %s: ZooKeeper answered %s", path, r.Ops[0].Code))
	}
	return nil, unknown(fmt.Errorf("children of %s: ZooKeeper answered %s", path, r.Code))
}

// refuseKRaft: a cluster that a KRaft controller has, or is taking over, is not
// for a ZooKeeper controller any more.
func (l *looker) refuseKRaft() error {
	z, err := l.get([]string{model.ControllerPath, model.MigrationPath, model.ControllerEpochPath, model.FeaturePath})
	if err != nil {
		return err
	}
	if r, ok := z[model.ControllerPath]; ok {
		reg, err := model.DecodeControllerRegistration(model.ControllerPath, r.Data)
		if err == nil && reg.KRaftEpoch > 0 {
			return fmt.Errorf("the KRaft controller %d leads this cluster (%s, epoch %d): it has no ZooKeeper controller any more", reg.Broker, model.ControllerPath, reg.KRaftEpoch)
		}
	}
	if r, ok := z[model.MigrationPath]; ok && r.Data != nil {
		m, err := model.DecodeMigration(model.MigrationPath, r.Data)
		if err != nil {
			return unstartable(err)
		}
		if m.KRaftControllerID >= 0 {
			return fmt.Errorf("the KRaft controller %d is migrating this cluster (%s): kstate takes no part in it", m.KRaftControllerID, model.MigrationPath)
		}
	}
	if r, ok := z[model.ControllerEpochPath]; ok {
		if _, err := model.DecodeControllerEpoch(model.ControllerEpochPath, r.Data); err != nil {
			return unstartable(err)
		}
	}
	if r, ok := z[model.FeaturePath]; ok {
		if _, err := model.DecodeFeatures(model.FeaturePath, r.Data); err != nil {
			return unstartable(err)
		}
	}
	return nil
}

// holder is who has the role: another kstate is registered nowhere else.
func (l *looker) holder() (int32, error) {
	z, err := l.get([]string{model.ControllerPath})
	if err != nil {
		return engine.NoController, err
	}
	r, ok := z[model.ControllerPath]
	if !ok {
		return engine.NoController, nil
	}
	reg, err := model.DecodeControllerRegistration(model.ControllerPath, r.Data)
	if err != nil {
		return engine.NoController, nil // what it holds says nothing of ids
	}
	return reg.Broker, nil
}

// dynamicDefaults takes in what is set for all brokers in ZooKeeper: it outranks a
// broker's own file. Kafka: DynamicBrokerConfig.initialize.
func (l *looker) dynamicDefaults(s *controlSettings) error {
	path := model.BrokerDefaultConfigPath()
	z, err := l.get([]string{path})
	if err != nil {
		return err
	}
	r, ok := z[path]
	if !ok {
		return nil
	}
	config, err := model.DecodeConfig(path, r.Data)
	if err != nil {
		return unstartable(err)
	}
	if v, ok := config[uncleanSettingName]; ok {
		if err := uncleanSetting(s, v); err != nil {
			return fmt.Errorf("%s: %s=%s: %w", path, uncleanSettingName, v, err)
		}
	}
	return nil
}

func unstartable(err error) error {
	return fmt.Errorf("no controller can start on this tree: %w", err)
}

// takenIDs are the ids of brokers, registered or holding replicas, each with how
// it is taken. What no controller can read is an error.
func (l *looker) takenIDs(interBrokerListener string) (map[int32]string, error) {
	out := map[int32]string{}
	topics, err := l.children(model.TopicsPath)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(topics))
	for i, t := range topics {
		paths[i] = model.TopicPath(t)
	}
	z, err := l.get(paths)
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		r, ok := z[path]
		if !ok {
			continue
		}
		a, _, err := model.DecodeTopic(path, r.Data)
		if err != nil {
			return nil, unstartable(err)
		}
		for _, p := range a.Partitions {
			for _, b := range p.Replicas {
				out[b] = fmt.Sprintf("a broker of that id holds replicas, of %s-%d for one", topics[i], p.Partition)
			}
		}
	}
	return out, l.registeredIDs(out, interBrokerListener)
}

func (l *looker) registeredIDs(out map[int32]string, interBrokerListener string) error {
	names, err := l.children(model.BrokerIDsPath)
	if err != nil {
		return err
	}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = model.BrokerIDsPath + "/" + n
	}
	z, err := l.get(paths)
	if err != nil {
		return err
	}
	for i, path := range paths {
		r, ok := z[path]
		if !ok {
			continue
		}
		id, ok := model.ParseID(names[i])
		if !ok {
			return unstartable(fmt.Errorf("%s: %q is not a broker id", path, names[i]))
		}
		reg, err := model.DecodeBroker(path, r.Data)
		if err != nil {
			return unstartable(err)
		}
		if _, ok := reg.Endpoint(interBrokerListener); !ok {
			return unstartable(fmt.Errorf("broker %d has no endpoint of listener %s (inter.broker.listener.name); it has %s", id, interBrokerListener, endpoints(reg.Broker)))
		}
		out[id] = "a broker of that id is registered"
	}
	return nil
}

// makeChroot creates the chroot as a first broker does, on a connection that lets
// exactly that pass.
func makeChroot(ctx context.Context, inv *invocation, opt zkwatch.Options, conn *zkwatch.Conn) error {
	address := conn.Address()
	if address.Chroot == "" {
		return nil
	}
	r := conn.Do(&model.Call{Purpose: "look", Ops: []model.Op{{Kind: model.OpExists, Path: "/"}}})
	if len(r.Ops) == 1 && r.Ops[0].Code == model.CodeOK {
		return nil
	}
	if len(r.Ops) != 1 || r.Ops[0].Code != model.CodeNoNode {
		return unknown(fmt.Errorf("exists %s: ZooKeeper answered %s", address.Chroot, r.Ops[0].Code))
	}
	if others, err := conn.FindChroots(ctx); err == nil && len(others) > 0 {
		fmt.Fprintf(inv.console.err, "kstate: %s is not there and is made; there are Kafka trees under %s\n", address.Chroot, strings.Join(others, ", "))
	}
	opt.Servers, opt.Gate = strings.Join(address.Servers, ","), zkwatch.Admin()
	above, err := zkwatch.Dial(ctx, opt)
	if err != nil {
		return unknown(err)
	}
	defer above.Close()
	for i := 1; i <= len(address.Chroot); i++ {
		if i < len(address.Chroot) && address.Chroot[i] != '/' {
			continue
		}
		if err := createOnce(ctx, above, address.Chroot[:i]); err != nil {
			return err
		}
	}
	return nil
}

// createOnce makes a znode without data; one that is there is fine.
func createOnce(ctx context.Context, conn *zkwatch.Conn, path string) error {
	op := model.Op{Kind: model.OpCreate, Path: path}
	for {
		if err := conn.Gate().Permit(op); err != nil {
			return err
		}
		r := conn.Do(&model.Call{Purpose: "create_chroot", Ops: []model.Op{op}})
		if len(r.Ops) != 1 {
			return unknown(fmt.Errorf("create %s: ZooKeeper answered %s", path, r.Code))
		}
		switch code := r.Ops[0].Code; code {
		case model.CodeOK, model.CodeNodeExists:
			return nil
		case model.CodeConnectionLoss: // sent again: what was created stays
			if ctx.Err() == nil {
				continue
			}
			fallthrough
		default:
			return unknown(fmt.Errorf("create %s: ZooKeeper answered %s", path, code))
		}
	}
}

// makePersistentPaths makes the paths that each broker makes sure of at its start:
// parents first, since what is sent again after a broken connection comes later.
func makePersistentPaths(conn *zkwatch.Conn) error {
	var levels [2][]model.Op
	for _, path := range model.PersistentPaths() {
		parent := model.ParentPath(path)
		if parent == "/" {
			levels[0] = append(levels[0], model.Op{Kind: model.OpCreate, Path: path})
			continue
		}
		levels[0] = append(levels[0], model.Op{Kind: model.OpCreate, Path: parent})
		levels[1] = append(levels[1], model.Op{Kind: model.OpCreate, Path: path})
	}
	var failed []error
	for _, ops := range levels {
		r := conn.Do(&model.Call{Purpose: "create_persistent_paths", Ops: ops})
		if len(r.Ops) != len(ops) {
			return unknown(fmt.Errorf("creating the paths of a cluster: ZooKeeper answered %s", r.Code))
		}
		for i := range r.Ops {
			if code := r.Ops[i].Code; code != model.CodeOK && code != model.CodeNodeExists {
				failed = append(failed, fmt.Errorf("create %s: ZooKeeper answered %s", ops[i].Path, code))
			}
		}
	}
	return errors.Join(failed...)
}
