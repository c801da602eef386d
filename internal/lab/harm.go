package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/model"
)

// harm does to the cluster what no operator would, but what happens to one.
func (l *Lab) harm(c model.Command) (string, error) {
	switch c := c.(type) {
	case model.WriteZnode:
		return l.writeZnode(c)
	case model.FailLogDir:
		return l.failLogDir(c)
	case model.RepairLogDirs:
		return l.repairLogDirs(c.Broker)
	case model.CutBroker:
		return l.cut(c)
	case model.HealBroker:
		return l.behave(c.Broker, broker.Behaviour{}, fmt.Sprintf("broker %d is well again", c.Broker))
	case model.SetConduct:
		return l.conduct(c)
	case model.ExpireSession:
		return l.expireSession(c.Broker)
	case model.MoveController:
		return l.moveController()
	case model.RivalTakesOver:
		return l.rivalTakesOver()
	case model.RivalLeaves:
		return l.rivalLeaves()
	case model.ChangeSetting:
		return l.changeSetting(c)
	}
	return "", fmt.Errorf("the lab cannot do %T", c)
}

// writeZnode writes as a client from outside would, whatever it breaks.
func (l *Lab) writeZnode(c model.WriteZnode) (string, error) {
	if c.Delete {
		if r, _ := l.store.Apply(0, zkserver.Delete(c.Path, zkserver.AnyVersion)); r.Code != zkserver.OK {
			return "", fmt.Errorf("delete %s: %s", c.Path, r.Code)
		}
		return "deleted " + c.Path, nil
	}
	r, _ := l.store.Apply(0, zkserver.Set(c.Path, c.Data, zkserver.AnyVersion))
	switch r.Code {
	case zkserver.OK:
		return "set " + c.Path, nil
	case zkserver.NoNode:
		if err := l.create(c.Path, c.Data); err != nil {
			return "", err
		}
		return "created " + c.Path, nil
	}
	return "", fmt.Errorf("set %s: %s", c.Path, r.Code)
}

func (l *Lab) broker(id int32) (*broker.Broker, error) {
	b := l.brokers.Broker(id)
	if b == nil {
		return nil, fmt.Errorf("there is no broker %d", id)
	}
	return b, nil
}

func (l *Lab) failLogDir(c model.FailLogDir) (string, error) {
	b, err := l.broker(c.Broker)
	if err != nil {
		return "", err
	}
	dir := c.Dir
	for _, d := range b.Snapshot().Dirs {
		if dir == "" && !d.Failed {
			dir = d.Path
		}
	}
	if dir == "" {
		return "", fmt.Errorf("broker %d has no good log directory", c.Broker)
	}
	if err := b.FailLogDir(dir); err != nil {
		return "", err
	}
	return fmt.Sprintf("log directory %s of broker %d has failed", dir, c.Broker), nil
}

func (l *Lab) repairLogDirs(id int32) (string, error) {
	b, err := l.broker(id)
	if err != nil {
		return "", err
	}
	n := 0
	for _, d := range b.Snapshot().Dirs {
		if !d.Failed {
			continue
		}
		if err := b.RepairLogDir(d.Path); err != nil {
			return "", err
		}
		n++
	}
	if n == 0 {
		return "", fmt.Errorf("no log directory of broker %d has failed", id)
	}
	return fmt.Sprintf("log directories of broker %d repaired: %d; it finds them good at its next start", id, n), nil
}

func (l *Lab) cut(c model.CutBroker) (string, error) {
	b, err := l.broker(c.Broker)
	if err != nil {
		return "", err
	}
	x := b.Behaviour()
	switch c.From {
	case model.ZooKeeperSide:
		x.ZooKeeperCut = true
	case model.ControllerSide:
		x.ControllerCut = true
	default:
		return "", fmt.Errorf("a broker is cut off from zookeeper or controller, not from %q", c.From)
	}
	return l.behave(c.Broker, x, fmt.Sprintf("broker %d is cut off from %s", c.Broker, c.From))
}

func (l *Lab) conduct(c model.SetConduct) (string, error) {
	b, err := l.broker(c.Broker)
	if err != nil {
		return "", err
	}
	x := b.Behaviour()
	x.Refusing, x.FetchSilent, x.Rules = false, false, nil
	switch c.Conduct {
	case model.Well:
	case model.Silent:
		for _, api := range controlAPIs { // held, so that the answers can go when it is well again
			x.Rules = append(x.Rules, broker.Rule{Action: broker.Hold, API: api})
		}
	case model.Refusing:
		x.Refusing = true
	case model.Lagging:
		x.FetchSilent = true
	default:
		return "", fmt.Errorf("a broker is %v, not %q", model.Conducts, c.Conduct)
	}
	return l.behave(c.Broker, x, fmt.Sprintf("broker %d is %s now", c.Broker, c.Conduct))
}

// controlAPIs are the keys of LeaderAndIsr, StopReplica and UpdateMetadata.
var controlAPIs = []int16{4, 5, 6}

func (l *Lab) behave(id int32, x broker.Behaviour, text string) (string, error) {
	b, err := l.broker(id)
	if err != nil {
		return "", err
	}
	if err := b.SetBehaviour(x); err != nil {
		return "", err
	}
	if len(x.Rules) == 0 {
		b.Release(broker.AnyAPI, -1)
	}
	return text, nil
}

// conductOf says in words what is wrong with a broker; empty: nothing.
func conductOf(x broker.Behaviour) string {
	var out []string
	if x.ZooKeeperCut {
		out = append(out, "cut off from zookeeper")
	}
	if x.ControllerCut {
		out = append(out, "cut off from controller")
	}
	if x.Refusing {
		out = append(out, string(model.Refusing))
	}
	if x.FetchSilent {
		out = append(out, string(model.Lagging))
	}
	if slices.ContainsFunc(x.Rules, func(r broker.Rule) bool { return r.Action == broker.Hold }) {
		out = append(out, string(model.Silent))
	}
	return strings.Join(out, ", ")
}

// expireSession ends a session as if it had been silent for too long.
func (l *Lab) expireSession(id int32) (string, error) {
	path, who := model.ControllerPath, "the controller"
	if id >= 0 {
		path, who = model.BrokerIDPath(id), fmt.Sprintf("broker %d", id)
	}
	session, code, ended := l.expireOwner(path)
	if !ended {
		return "", fmt.Errorf("%s has no session: exists %s: %s", who, path, code)
	}
	return fmt.Sprintf("session 0x%x of %s has expired", session, who), nil
}

// Expire ends a session; the error says that there is none.
func (l *Lab) Expire(session int64) error {
	if !l.store.Expire(session) {
		return fmt.Errorf("session 0x%x has ended before", session)
	}
	return nil
}

func (l *Lab) moveController() (string, error) {
	if r, _ := l.store.Apply(0, zkserver.Delete(model.ControllerPath, zkserver.AnyVersion)); r.Code != zkserver.OK {
		return "", fmt.Errorf("delete %s: %s", model.ControllerPath, r.Code)
	}
	return "deleted " + model.ControllerPath + ": whoever is first becomes the controller", nil
}

// rivalTakesOver has another process take the role, as a broker does after the
// session of the controller before has expired: under the lowest registered id.
func (l *Lab) rivalTakesOver() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rival != 0 {
		return "", errors.New("the rival is there already")
	}
	id := int32(0)
	if live := l.live(); len(live) > 0 {
		id = live[0]
	}
	session, _ := l.store.CreateSession(0)
	data, st, code := l.store.Get(model.ControllerEpochPath)
	if code != zkserver.OK {
		l.store.CloseSession(session)
		return "", fmt.Errorf("get %s: %s: no controller was there yet to take over from", model.ControllerEpochPath, code)
	}
	epoch, err := model.DecodeControllerEpoch(model.ControllerEpochPath, data)
	if err != nil {
		l.store.CloseSession(session)
		return "", err
	}
	var ops []zkserver.Op
	if _, code := l.store.Exists(model.ControllerPath); code == zkserver.OK {
		ops = append(ops, zkserver.Delete(model.ControllerPath, zkserver.AnyVersion))
	}
	ops = append(ops, zkserver.Create(model.ControllerPath, model.EncodeController(1, id, time.Now().UnixMilli(), model.NoEpoch), zkserver.Ephemeral),
		zkserver.Set(model.ControllerEpochPath, model.EncodeControllerEpoch(epoch+1), st.Version))
	results, _ := l.store.Multi(session, ops)
	for i, r := range results {
		if r.Code != zkserver.OK {
			l.store.CloseSession(session)
			return "", fmt.Errorf("rival: %s: %s", ops[i].Path, r.Code)
		}
	}
	l.rival = session
	return fmt.Sprintf("another process, under id %d, is the controller now, epoch %d; it does nothing", id, epoch+1), nil
}

func (l *Lab) rivalLeaves() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rival == 0 {
		return "", errors.New("there is no rival")
	}
	l.store.CloseSession(l.rival)
	l.rival = 0
	return "the rival is gone, and its " + model.ControllerPath, nil
}

// changeSetting writes a setting and announces it, as a broker does for a
// client. Kafka: ZkConfigRepository, AdminZkClient.changeEntityConfig.
func (l *Lab) changeSetting(c model.ChangeSetting) (string, error) {
	kind, name := model.ConfigTypeBrokers, model.DefaultEntity
	if c.Topic != "" {
		if _, code := l.store.Exists(model.TopicPath(c.Topic)); code != zkserver.OK {
			return "", fmt.Errorf("topic %s does not exist", c.Topic)
		}
		kind, name = model.ConfigTypeTopics, c.Topic
	}
	path := model.ConfigEntityPath(kind, name)
	settings := map[string]string{}
	if data, _, code := l.store.Get(path); code == zkserver.OK {
		var err error
		if settings, err = model.DecodeConfig(path, data); err != nil {
			return "", err
		}
		if settings == nil {
			settings = map[string]string{}
		}
	}
	if _, had := settings[c.Name]; c.Unset && !had {
		return "", fmt.Errorf("%s does not set %s", path, c.Name)
	}
	settings[c.Name] = c.Value
	if c.Unset {
		delete(settings, c.Name)
	}
	if _, err := l.writeZnode(model.WriteZnode{Path: path, Data: model.EncodeConfig(settings)}); err != nil {
		return "", err
	}
	change := model.EncodeConfigChange(kind + "/" + name)
	if r, _ := l.store.Apply(0, zkserver.Create(model.ConfigChangePath(""), change, zkserver.Sequential)); r.Code != zkserver.OK {
		return "", fmt.Errorf("announce the change of %s: %s", path, r.Code)
	}
	return model.CommandText(c) + ": written to " + path + " and announced", nil
}

// Disk is what the log directories of a broker hold; nil: there is no such broker.
func (l *Lab) Disk(id int32) []model.LogDir {
	b := l.brokers.Broker(id)
	if b == nil {
		return nil
	}
	var out []model.LogDir
	for _, d := range b.Snapshot().Dirs {
		out = append(out, model.LogDir{Path: d.Path, Failed: d.Failed, Logs: d.Logs, Deleting: d.Deleting})
	}
	return out
}
