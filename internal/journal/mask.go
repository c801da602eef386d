package journal

import (
	"bytes"
	"encoding/json"
	"strings"

	"kstate/model"
)

// masked stands where a secret was. It is base64, too, so that a field of bytes
// can still be read.
const masked = "/masked/"

// plainRoots are the parts of Kafka's tree in which no secret lies. What lies
// elsewhere is looked at, or is masked as a whole.
var plainRoots = []string{model.BrokersPath, model.AdminPath, model.ControllerPath, model.IsrChangeNotificationPath, model.LogDirEventNotificationPath,
	model.ClusterPath, model.ProducerIDBlockPath, model.FeaturePath, model.ConsumersPath, model.ConfigChangesPath, model.MigrationPath, model.ACLPath}

// maskData is a znode's payload as the journal may hold it. Settings keep their
// keys: only the values of secret ones go.
func maskData(path string, data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	for _, root := range plainRoots {
		if strings.HasPrefix(path, root) {
			return data
		}
	}
	if strings.HasPrefix(path, model.ConfigPath+"/") {
		if out, ok := maskJSON(data); ok {
			return out
		}
	}
	return []byte(masked)
}

// maskJSON masks the secrets in a JSON document; false when it is none.
func maskJSON(data []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	if !maskValue(v) {
		return data, true // as it was, to the byte
	}
	out, err := json.Marshal(v)
	return out, err == nil
}

// maskValue masks in place what lies under a secret name, and the value beside
// a secret name, and tells whether there was any.
func maskValue(v any) bool {
	found := false
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			found = maskValue(x) || found
		}
	case map[string]any:
		for _, name := range []string{"Name", "name", "Key", "key"} {
			if s, ok := v[name].(string); ok && model.IsSecret(s) {
				for _, value := range []string{"Value", "value"} {
					found = maskText(v, value) || found
				}
			}
		}
		for k, x := range v {
			if model.IsSecret(k) {
				found = maskText(v, k) || found
			}
			found = maskValue(x) || found
		}
	}
	return found
}

// maskText masks a text; numbers and what is made of parts stay.
func maskText(v map[string]any, key string) bool {
	if text, ok := v[key].(string); !ok || text == "" || text == masked {
		return false
	}
	v[key] = masked
	return true
}

// MaskSettings is a copy of settings without the values of secret ones.
func MaskSettings(settings map[string]string) map[string]string {
	out := make(map[string]string, len(settings))
	for k, v := range settings {
		if model.IsSecret(k) && v != "" {
			v = masked
		}
		out[k] = v
	}
	return out
}

// encodeMasked is v as JSON without its secrets.
func encodeMasked(v any) []byte {
	out, err := json.Marshal(v)
	if err == nil {
		if m, ok := maskJSON(out); ok {
			return m
		}
	}
	return []byte("null")
}
