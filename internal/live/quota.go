package live

import (
	"strconv"

	"kstate/model"
)

const mutationRateKey = "controller_mutation_rate"

// quotaLevel is a place where a quota may stand, and by what its requests are
// counted.
type quotaLevel struct{ path, from string }

// quotaLevels are the places for a client, the one that outranks all others first.
// Kafka: ClientQuotaManager, DefaultQuotaCallback.quotaLimit.
func quotaLevels(user, client string) []quotaLevel {
	path := func(kind, name string) string { return model.ConfigEntityPath(kind, name) }
	both, all, byClient := "user "+user+", client "+client, "user "+user, "client "+client
	const users, clients, byDefault = model.ConfigTypeUsers, model.ConfigTypeClients, model.DefaultEntity
	return []quotaLevel{
		{path(users, user+"/clients/"+client), both},
		{path(users, user+"/clients/"+byDefault), both},
		{path(users, user), all},
		{path(users, byDefault+"/clients/"+client), both},
		{path(users, byDefault+"/clients/"+byDefault), both},
		{path(users, byDefault), all},
		{path(clients, client), byClient},
		{path(clients, byDefault), byClient},
	}
}

// quota reads a client's controller_mutation_rate. What cannot be read limits
// nothing.
func (o *Outside) quota(user, clientID string) (from string, rate float64) {
	levels := quotaLevels(sanitize(user), sanitize(clientID))
	call := &model.Call{Purpose: "get_quotas"}
	for _, l := range levels {
		call.Ops = append(call.Ops, model.Op{Kind: model.OpGet, Path: l.path})
	}
	r := o.Conn.Do(call)
	for i := range r.Ops {
		if r.Ops[i].Code != model.CodeOK {
			continue
		}
		config, err := model.DecodeConfig(levels[i].path, r.Ops[i].Data)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseFloat(config[mutationRateKey], 64); err == nil && n > 0 {
			return levels[i].from, n
		}
	}
	return "", 0
}

// sanitize writes a name as it stands in a path: everything but letters, digits,
// dot, dash and underscore as percent signs and hexadecimal digits, an empty name
// as itself. Kafka: Sanitizer.sanitize.
func sanitize(name string) string {
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
