package live

import (
	"strconv"

	"kstate/internal/configs"
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
	levels := quotaLevels(configs.Sanitize(user), configs.Sanitize(clientID))
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
