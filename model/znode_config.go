package model

import (
	"slices"
	"strings"
)

// EncodeConfig writes the configuration of an entity, names ascending (Kafka's
// order is that of a hash map). Kafka: ConfigEntityZNode.encode.
func EncodeConfig(config map[string]string) []byte {
	var w jsonWriter
	w.open('{').int("version", 1).object("config")
	for _, name := range sortedKeys(config) {
		w.str(name, config[name])
	}
	return w.close('}').close('}').b
}

// DecodeConfig reads the configuration of an entity. It is the most lenient of
// all readers: a null payload, bad JSON and anything but an object read as no
// overrides; only a value that is no string is an error. The map is never nil.
// Kafka: ConfigEntityZNode.decode.
func DecodeConfig(path string, data []byte) (map[string]string, error) {
	out := map[string]string{}
	if data == nil {
		return out, nil
	}
	root, ok, bad := readLenientJSON(path, data)
	if bad != nil {
		return nil, bad
	}
	n := root.get("config")
	if !ok || n == nil || n.kind != jsonObject {
		return out, nil
	}
	r := fieldReader{path: path, prefix: "config.", obj: n}
	for i, name := range n.keys {
		out[name] = r.asString(name, &n.kids[i])
	}
	if r.err != nil {
		return nil, r.err
	}
	return out, nil
}

// ConfigChange is the content of a config change notification.
type ConfigChange struct {
	Version    int32  // 1 (0.8 and 0.9) or 2
	EntityPath string // type/name, as topics/orders
}

// EncodeConfigChange writes a config change notification, version 2.
// Kafka: ConfigEntityChangeNotificationSequenceZNode.encode.
func EncodeConfigChange(entityPath string) []byte {
	var w jsonWriter
	return w.open('{').int("version", 2).str("entity_path", entityPath).close('}').b
}

// DecodeConfigChange reads a config change notification of version 1 or 2. Bad
// JSON reads as nothing: present is false.
// Kafka: ZkConfigManager.ConfigChangedNotificationHandler.
func DecodeConfigChange(path string, data []byte) (c ConfigChange, present bool, err error) {
	root, ok, bad := readLenientJSON(path, data)
	if bad != nil {
		return c, false, bad
	}
	if !ok {
		return c, false, nil
	}
	r := newFieldReader(path, &root)
	c.Version = r.int32("version")
	switch {
	case r.err != nil:
	case c.Version == 1:
		entityType := r.givenString("entity_type")
		if r.err == nil && entityType != ConfigTypeTopics && entityType != ConfigTypeClients {
			r.fail("entity_type", entityType, InvalidValue, "version 1 knows topics and clients")
		}
		c.EntityPath = entityType + "/" + r.givenString("entity_name")
	case c.Version == 2:
		c.EntityPath = r.givenString("entity_path")
		entityType, _, named := strings.Cut(c.EntityPath, "/")
		types := []string{ConfigTypeTopics, ConfigTypeClients, ConfigTypeUsers, ConfigTypeBrokers, ConfigTypeIPs}
		if r.err == nil && (!named || !slices.Contains(types, entityType)) {
			r.fail("entity_path", c.EntityPath, InvalidValue, "it must be type/name with a type of "+strings.Join(types, ", "))
		}
	default:
		r.fail("version", root.get("version").raw, UnsupportedVersion, "versions are 1 and 2")
	}
	if r.err != nil {
		return ConfigChange{}, false, r.err
	}
	return c, true, nil
}

// givenString is a string that must be there and not be null.
func (r *fieldReader) givenString(field string) string {
	n := r.optional(field)
	if n == nil {
		r.fail(field, "", MissingField, "")
		return ""
	}
	return r.asString(field, n)
}
