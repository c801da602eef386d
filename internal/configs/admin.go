package configs

import (
	"fmt"
	"strings"

	"kstate/model"
)

// Admin changes settings. All fields are needed.
type Admin struct {
	Do    func(*model.Call) model.Result // performs a call on ZooKeeper, and waits
	Topic func(name string) bool         // tells whether brokers know the topic
	Self  int32                          // the id of this process
}

// Outcome is a refusal, or success with ErrNone.
type Outcome struct {
	Error model.KafkaError
	Text  string
}

// Errors of these requests that the model does not name.
const (
	ErrUnsupportedSaslMechanism model.KafkaError = 33
	ErrDuplicateResource        model.KafkaError = 92
	ErrUnacceptableCredential   model.KafkaError = 93
	ErrResourceNotFound         model.KafkaError = 91
)

func refuse(code model.KafkaError, format string, args ...any) *Outcome {
	return &Outcome{code, fmt.Sprintf(format, args...)}
}

// refused is what a call came to that ZooKeeper did not do.
func refused(what string, code model.Code) *Outcome {
	return refuse(model.ErrUnknownServerError, "%s: ZooKeeper answered %s", what, code)
}

// done is the outcome of what had no refusal.
func done(r *Outcome) Outcome {
	if r == nil {
		return Outcome{}
	}
	return *r
}

func (a *Admin) one(purpose string, op model.Op) (model.OpResult, model.Code) {
	r := a.Do(&model.Call{Purpose: purpose, Ops: []model.Op{op}})
	if len(r.Ops) != 1 {
		return model.OpResult{}, r.Code
	}
	return r.Ops[0], r.Ops[0].Code
}

// fetch reads the settings of an entity; there need not be any.
// Kafka: AdminZkClient.fetchEntityConfig.
func (a *Admin) fetch(kind, name string) (map[string]string, *Outcome) {
	path := model.ConfigEntityPath(kind, name)
	z, code := a.one("get_config", model.Op{Kind: model.OpGet, Path: path})
	switch code {
	case model.CodeNoNode:
		return map[string]string{}, nil
	case model.CodeOK:
	default:
		return nil, refused("get "+path, code)
	}
	config, err := model.DecodeConfig(path, z.Data)
	if err != nil {
		return nil, refuse(model.ErrUnknownServerError, "%s cannot be read", path) // the error could hold a secret
	}
	return config, nil
}

// change writes the settings of an entity and announces that. An entity with a
// quota or a password is removed with its last setting.
// Kafka: AdminZkClient.changeEntityConfig.
func (a *Admin) change(kind, name string, config map[string]string) *Outcome {
	cleaned := false
	if len(config) == 0 && (kind == model.ConfigTypeClients || kind == model.ConfigTypeUsers || kind == model.ConfigTypeIPs) {
		var bad *Outcome
		if cleaned, bad = a.clean(kind, name); bad != nil {
			return bad
		}
	}
	if !cleaned {
		if bad := a.write(kind, name, config); bad != nil {
			return bad
		}
	}
	return a.announce(kind + "/" + name)
}

// write sets or creates a config znode; a controller must be there, and the set is
// bound to its znode's version. Kafka: KafkaZkClient.setOrCreateEntityConfigs.
func (a *Admin) write(kind, name string, config map[string]string) *Outcome {
	path, data := model.ConfigEntityPath(kind, name), model.EncodeConfig(config)
	controller, code := a.one("get_controller", model.Op{Kind: model.OpExists, Path: model.ControllerPath})
	if code != model.CodeOK {
		return refuse(model.ErrNotController, "%s: ZooKeeper answered %s", model.ControllerPath, code)
	}
	r := a.Do(&model.Call{Purpose: "set_config", Atomic: true, Ops: []model.Op{
		{Kind: model.OpCheck, Path: model.ControllerPath, Version: controller.Stat.Version},
		{Kind: model.OpSet, Path: path, Version: model.AnyVersion, Data: data}}})
	if code = firstCode(r); code == model.CodeNoNode {
		code = a.create(path, data)
	}
	if code != model.CodeOK {
		return refused("set "+path, code)
	}
	return nil
}

func firstCode(r model.Result) model.Code {
	for i := range r.Ops {
		if c := r.Ops[i].Code; c != model.CodeOK && c != model.CodeRuntimeInconsistency {
			return c
		}
	}
	if len(r.Ops) == 0 {
		return r.Code
	}
	return model.CodeOK
}

// create makes a znode and what must be above it.
func (a *Admin) create(path string, data []byte) model.Code {
	op := model.Op{Kind: model.OpCreate, Path: path, Data: data}
	_, code := a.one("create_config", op)
	if code != model.CodeNoNode {
		return code
	}
	if code := a.create(model.ParentPath(path), nil); code != model.CodeOK && code != model.CodeNodeExists {
		return code
	}
	_, code = a.one("create_config", op)
	return code
}

// announce tells the brokers. Kafka: KafkaZkClient.createConfigChangeNotification.
func (a *Admin) announce(entity string) *Outcome {
	op := model.Op{Kind: model.OpCreate, Sequential: true, Path: model.ConfigChangePath(""), Data: model.EncodeConfigChange(entity)}
	_, code := a.one("announce_config_change", op)
	if code == model.CodeNoNode {
		if code = a.create(model.ConfigChangesPath, nil); code == model.CodeOK || code == model.CodeNodeExists {
			_, code = a.one("announce_config_change", op)
		}
	}
	if code != model.CodeOK {
		return refused("create "+op.Path, code)
	}
	return nil
}

// clean removes an entity that has no settings and nothing below it, and with a
// user's last client the user, if nothing is left of that one.
// Kafka: AdminZkClient.tryCleanQuotaNodes.
func (a *Admin) clean(kind, name string) (bool, *Outcome) {
	path := model.ConfigEntityPath(kind, name)
	below, code := a.children(path)
	switch {
	case code != model.CodeOK && code != model.CodeNoNode:
		return false, refused("children of "+path, code)
	case len(below) > 0:
		return false, nil
	}
	remove := path
	user, client, both := strings.Cut(name, "/"+model.ConfigTypeClients+"/")
	if both {
		clients := model.ConfigEntityPath(kind, user+"/"+model.ConfigTypeClients)
		if all, code := a.children(clients); code == model.CodeOK && len(all) == 1 && all[0] == client {
			remove = clients
			config, bad := a.fetch(kind, user)
			if bad != nil {
				return false, bad
			}
			userPath := model.ConfigEntityPath(kind, user)
			if of, code := a.children(userPath); code == model.CodeOK && len(config) == 0 && len(of) == 1 && of[0] == model.ConfigTypeClients {
				remove = userPath
			}
		}
	}
	if code := a.remove(remove); code != model.CodeOK && code != model.CodeNoNode {
		return false, refused("delete "+remove, code)
	}
	return true, nil
}

func (a *Admin) children(path string) ([]string, model.Code) {
	z, code := a.one("get_children", model.Op{Kind: model.OpChildren, Path: path})
	return z.Children, code
}

// remove deletes a znode with what lies below it.
func (a *Admin) remove(path string) model.Code {
	below, code := a.children(path)
	if code != model.CodeOK {
		return code
	}
	for _, name := range below {
		if code := a.remove(path + "/" + name); code != model.CodeOK && code != model.CodeNoNode {
			return code
		}
	}
	_, code = a.one("delete_config", model.Op{Kind: model.OpDelete, Path: path, Version: model.AnyVersion})
	return code
}

// Sanitize writes a name as it stands in a path: everything but letters, digits,
// dot, dash and underscore as percent signs and hexadecimal digits.
// Kafka: Sanitizer.sanitize.
func Sanitize(name string) string {
	const hex = "0123456789ABCDEF"
	var out []byte
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
			out = append(out, c)
		default:
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}
