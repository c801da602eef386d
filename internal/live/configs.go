package live

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"kstate/model"
)

const uncleanKey = "unclean.leader.election.enable"

// settings follows the changes of settings that brokers announce at
// /config/changes: a controller is told when a topic, or the default of all
// brokers, comes to allow unclean elections.
// Kafka: ZkConfigManager, TopicConfigHandler, DynamicLogConfig.
type settings struct {
	do   func(*model.Call) model.Result
	tell func(model.Stimulus)
	bell

	// of the goroutine
	last    int64 // the newest announcement that was looked at; -1: none
	started bool
	unclean bool // the default of all brokers, as last seen
	static  bool // what holds where the default of all brokers says nothing
}

func newSettings(do func(*model.Call) model.Result, tell func(model.Stimulus), unclean, static bool) *settings {
	c := &settings{do: do, tell: tell, bell: newBell(), last: -1, unclean: unclean, static: static}
	c.ring()
	return c
}

// run has it look again when it is rung: the watch fired, or a new session has none.
func (c *settings) run(ctx context.Context) { c.each(ctx, c.look) }

func (c *settings) watches(path string) bool { return path == model.ConfigChangesPath }

// look reads the announcements since the last one, and arms the watch again.
func (c *settings) look() {
	r := c.do(&model.Call{Purpose: "get_config_changes", Ops: []model.Op{{Kind: model.OpChildren, Path: model.ConfigChangesPath, Watch: true}}})
	if len(r.Ops) == 1 && r.Ops[0].Code == model.CodeNoNode {
		c.started = true // nothing was announced before
		r = c.do(&model.Call{Purpose: "await_config_changes", Ops: []model.Op{{Kind: model.OpExists, Path: model.ConfigChangesPath, Watch: true}}})
		if len(r.Ops) == 1 && r.Ops[0].Code == model.CodeOK {
			c.ring() // made in between
		}
		return
	}
	if len(r.Ops) != 1 || r.Ops[0].Code != model.CodeOK {
		return // the next session looks again
	}
	newest := c.last
	var changed []string
	for _, name := range r.Ops[0].Children {
		seq, err := strconv.ParseInt(name[strings.LastIndexByte(name, '_')+1:], 10, 64)
		if err != nil || seq <= c.last {
			continue
		}
		newest = max(newest, seq)
		changed = append(changed, model.ConfigChangesPath+"/"+name)
	}
	c.last = newest
	if !c.started { // what was announced before stands in the settings that are read anyway
		c.started = true
		return
	}
	slices.Sort(changed)
	for _, path := range changed {
		c.changed(path)
	}
}

func (c *settings) get(path string) ([]byte, bool) {
	r := c.do(&model.Call{Purpose: "get_config", Ops: []model.Op{{Kind: model.OpGet, Path: path}}})
	if len(r.Ops) != 1 || r.Ops[0].Code != model.CodeOK {
		return nil, false
	}
	return r.Ops[0].Data, true
}

func (c *settings) changed(path string) {
	data, ok := c.get(path)
	if !ok {
		return // it is purged after a while
	}
	change, present, err := model.DecodeConfigChange(path, data)
	if err != nil || !present {
		return
	}
	kind, name, _ := strings.Cut(change.EntityPath, "/")
	isDefault := kind == model.ConfigTypeBrokers && name == model.DefaultEntity
	if kind != model.ConfigTypeTopics && !isDefault {
		return
	}
	var settings map[string]string
	if data, ok = c.get(model.ConfigEntityPath(kind, name)); ok {
		if settings, err = model.DecodeConfig(path, data); err != nil {
			return
		}
	}
	on := strings.EqualFold(strings.TrimSpace(settings[uncleanKey]), "true")
	if _, said := settings[uncleanKey]; isDefault && !said {
		on = c.static
	}
	switch {
	case isDefault:
		if on && !c.unclean {
			c.tell(&model.UncleanEnabled{})
		}
		if !on && c.unclean {
			c.tell(&model.UncleanDisabled{})
		}
		c.unclean = on
	case on:
		c.tell(&model.UncleanEnabled{Topic: name})
	}
}
