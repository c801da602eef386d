package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"kstate/model"

	"github.com/go-zookeeper/zk"
)

// errRegistered: another session owns the broker's znode.
var errRegistered = errors.New("is registered by another session")

// keepRegistered registers the broker in each session that the client gets. The
// outcome of the first one goes to first.
// Kafka: KafkaZkClient.registerBroker, KafkaController (RegisterBrokerAndReelect).
func (r *run) keepRegistered(first chan<- error) {
	s := r.session
	var opened, done, previous int64 // sessions: the last one, the last dealt with, the last registered in
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-s.notify:
		}
		if s.expired.Swap(false) {
			r.note(Event{Kind: SessionExpired})
		}
		id := s.conn.SessionID()
		if s.conn.State() != zk.StateHasSession || id == 0 || id == done {
			continue
		}
		if id != opened {
			opened = id
			r.note(Event{Kind: SessionOpened})
		}
		epoch, err := r.register(id, previous)
		switch {
		case transient(err):
			continue // the client connects again, and says so
		case err == nil:
			previous = id
			r.b.c.do(func() {
				if r.alive() {
					r.replicas.Registered(epoch)
					r.b.note(Event{Kind: Registered, Epoch: epoch})
				}
			})
		case first == nil:
			r.note(Event{Kind: RegistrationFailed, Err: err})
		}
		done = id
		if first != nil {
			first <- err
			first = nil
		}
	}
}

// note reports an event if the process still lives.
func (r *run) note(e Event) {
	r.b.c.do(func() {
		if r.alive() {
			r.b.note(e)
		}
	})
}

// transient tells the errors of a connection that went away.
func transient(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, zk.ErrClosing) || errors.Is(err, zk.ErrSessionMoved)
}

// register creates the broker's znode and returns its czxid. A znode of this
// session is taken for a lost reply, one of this process' previous session is
// replaced, one of anybody else's is an error.
func (r *run) register(session, previous int64) (int64, error) {
	if err := r.prepare(); err != nil {
		return 0, err
	}
	path := r.path(model.BrokerIDPath(r.b.id))
	data, err := r.b.registration(r.b.endpoint(r.port()), r.b.c.clock.Now().UnixMilli())
	if err != nil {
		return 0, err
	}
	for {
		res, err := r.session.conn.Multi(
			&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: path, Data: data, Version: 0})
		if err == nil {
			return res[1].Stat.Czxid, nil
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			return 0, fmt.Errorf("create %s: %w", path, err)
		}
		exists, stat, gone, err := r.session.conn.ExistsW(path)
		switch {
		case err != nil:
			return 0, fmt.Errorf("look at %s: %w", path, err)
		case !exists:
			continue
		case stat.EphemeralOwner == session:
			return stat.Czxid, nil
		case stat.EphemeralOwner == previous && previous != 0:
			if err := r.session.conn.Delete(path, stat.Version); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return 0, fmt.Errorf("delete %s of the previous session: %w", path, err)
			}
		default:
			err := fmt.Errorf("create %s: it %w, 0x%x", path, errRegistered, stat.EphemeralOwner)
			if previous != 0 || !r.b.set.AwaitOldRegistration {
				return 0, err
			}
			r.note(Event{Kind: RegistrationFailed, Err: err})
			select {
			case <-gone:
			case <-r.ctx.Done():
				return 0, r.ctx.Err()
			}
		}
	}
}

func (r *run) port() (port int32) {
	r.b.c.look(func() { port = r.b.port })
	return port
}

// path puts a path below the chroot.
func (r *run) path(p string) string { return model.JoinChroot(r.b.c.cfg.Chroot, p) }

// prepare makes the persistent znodes and the cluster id, if that was not done
// yet; they are gone when ZooKeeper was started anew.
// Kafka: KafkaZkClient.createTopLevelPaths, createOrGetClusterId.
func (r *run) prepare() error {
	known := false
	r.b.c.look(func() { known = r.b.c.id != "" })
	if known {
		ok, _, err := r.session.conn.Exists(r.path(model.BrokerIDsPath))
		if err != nil {
			return fmt.Errorf("look at %s: %w", r.path(model.BrokerIDsPath), err)
		}
		if ok {
			return nil
		}
	}
	for _, p := range model.PersistentPaths() {
		if err := r.makePath(r.path(p), nil); err != nil {
			return err
		}
	}
	id, err := r.clusterID()
	if err != nil {
		return err
	}
	r.b.c.do(func() { r.b.c.id = id })
	return nil
}

// makePath creates a persistent znode and what is missing above it; an existing
// one is left as it is.
func (r *run) makePath(path string, data []byte) error {
	_, err := r.session.conn.Create(path, data, 0, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNoNode) {
		if err := r.makePath(model.ParentPath(path), nil); err != nil {
			return err
		}
		_, err = r.session.conn.Create(path, data, 0, zk.WorldACL(zk.PermAll))
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

func (r *run) clusterID() (string, error) {
	path := r.path(model.ClusterIDPath)
	type clusterID struct {
		Version string `json:"version"`
		ID      string `json:"id"`
	}
	data, err := json.Marshal(clusterID{Version: "1", ID: r.b.c.cfg.ClusterID})
	if err != nil {
		return "", err
	}
	if err := r.makePath(path, data); err != nil {
		return "", err
	}
	data, _, err = r.session.conn.Get(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	var got clusterID
	if err := json.Unmarshal(data, &got); err != nil || got.ID == "" {
		return "", fmt.Errorf("%s holds no cluster id: %q", path, data)
	}
	return got.ID, nil
}

// registration is the content of the broker's znode.
// Kafka: BrokerIdZNode.encode.
func (b *Broker) registration(e model.Endpoint, now int64) ([]byte, error) {
	version := b.set.InterBrokerProtocol.BrokerZnodeVersion()
	endpoints, protocols := []string{e.String()}, map[string]string{e.Listener: e.Protocol}
	for _, name := range b.set.Aliases {
		also := e
		also.Listener = name
		endpoints = append(endpoints, also.String())
		protocols[name] = e.Protocol
	}
	x := map[string]any{"version": version, "host": e.Host, "port": e.Port, "jmx_port": -1,
		"timestamp": strconv.FormatInt(now, 10), "endpoints": endpoints}
	if b.set.Rack != "" && version >= 3 {
		x["rack"] = b.set.Rack
	}
	if version >= 4 {
		x["listener_security_protocol_map"] = protocols
	}
	if version >= 5 {
		x["features"] = map[string]any{}
	}
	return json.Marshal(x)
}
