package tree

import (
	"maps"
	"strings"

	"kstate/model"
)

// DropSecrets leaves out of a file what must not be copied: delegation tokens
// with the notifications of their changes, and every setting below /config whose
// name or value speaks of a secret (the credentials of SCRAM users, passwords, JAAS
// configurations, keys), which the other settings of that znode outlive. Settings
// that cannot be read and hold such a name are replaced by null data. It tells how
// many znodes it left out or changed.
func (f *File) DropSecrets() int {
	dropped := 0
	kept := f.Znodes[:0]
	for _, z := range f.Znodes {
		path, ok := model.StripChroot(f.Chroot, z.Path)
		if ok && (below(model.DelegationTokensPath, path) || below(model.DelegationTokenChangesPath, path)) {
			dropped++
			continue
		}
		if ok && below(model.ConfigPath, path) && z.Data != nil {
			if clean, changed := withoutSecrets(path, z.Data); changed {
				z.Data = clean
				dropped++
			}
		}
		kept = append(kept, z)
	}
	f.Znodes = kept
	return dropped
}

func below(root, path string) bool { return strings.HasPrefix(path, root+"/") }

// withoutSecrets is a config znode's payload without the settings that are
// secrets. A payload without any is returned as it is, byte for byte.
func withoutSecrets(path string, data []byte) (clean []byte, changed bool) {
	if !model.IsSecret(string(data)) {
		return data, false
	}
	config, err := model.DecodeConfig(path, data)
	if err != nil || len(config) == 0 {
		return nil, true
	}
	before := len(config)
	maps.DeleteFunc(config, func(name, value string) bool { return model.IsSecret(name) || model.IsSecret(value) })
	if len(config) == before {
		return data, false // the word is elsewhere in the text
	}
	return model.EncodeConfig(config), true
}
