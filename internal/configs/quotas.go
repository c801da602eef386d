package configs

import (
	"math"
	"net"
	"strconv"
	"strings"

	"kstate/model"
)

// Entity is what a quota is about; a name of nil is the default of its kind.
type Entity []EntityPart

// EntityPart is one part of it: user, client-id or ip.
type EntityPart struct {
	Kind string
	Name *string
}

// QuotaChange sets a quota, or removes it.
type QuotaChange struct {
	Key    string
	Value  float64
	Remove bool
}

type quotaKind byte

const (
	longQuota quotaKind = iota
	intQuota
	doubleQuota
)

var clientQuotas = map[string]quotaKind{"producer_byte_rate": longQuota, "consumer_byte_rate": longQuota, "request_percentage": doubleQuota, "controller_mutation_rate": doubleQuota}

var ipQuotas = map[string]quotaKind{"connection_creation_rate": intQuota}

// AlterQuotas changes the quotas of one entity. Kafka: ZkAdminManager.alterClientQuotas.
func (a *Admin) AlterQuotas(of Entity, changes []QuotaChange, validateOnly bool) Outcome {
	kind, name, keys, bad := locate(of)
	if bad != nil {
		return *bad
	}
	config, bad := a.fetch(kind, name)
	if bad != nil {
		return *bad
	}
	for _, c := range changes {
		what, known := keys[c.Key]
		switch {
		case !known:
			return done(refuse(model.ErrInvalidRequest, "Invalid configuration key %s", c.Key))
		case c.Remove:
			delete(config, c.Key)
			continue
		}
		text, bad := quotaText(c, what)
		if bad != nil {
			return *bad
		}
		config[c.Key] = text
	}
	if validateOnly {
		return Outcome{}
	}
	return done(a.change(kind, name, config))
}

// locate finds where the quotas of an entity lie, and which there are.
// Kafka: ZkAdminManager.parseAndSanitizeQuotaEntity.
func locate(of Entity) (kind, name string, keys map[string]quotaKind, bad *Outcome) {
	if len(of) == 0 {
		return "", "", nil, refuse(model.ErrInvalidRequest, "Invalid empty client quota entity")
	}
	at := map[string]string{}
	for _, p := range of {
		if p.Kind != "user" && p.Kind != "client-id" && p.Kind != "ip" {
			return "", "", nil, refuse(model.ErrInvalidRequest, "Unhandled client quota entity type: %s", p.Kind)
		}
		at[p.Kind] = model.DefaultEntity
		if p.Name != nil {
			at[p.Kind] = Sanitize(*p.Name)
			if *p.Name == "" {
				return "", "", nil, refuse(model.ErrInvalidRequest, "Empty %s not supported", p.Kind)
			}
		}
	}
	user, client, ip := at["user"], at["client-id"], at["ip"]
	switch {
	case ip != "" && (user != "" || client != ""):
		return "", "", nil, refuse(model.ErrInvalidRequest, "Invalid quota entity combination, IP entity should not be used with user/client ID entity.")
	case ip != "":
		if !isHost(of) {
			return "", "", nil, refuse(model.ErrInvalidRequest, "%s is not a valid IP or resolvable host.", ip)
		}
		return model.ConfigTypeIPs, ip, ipQuotas, nil
	case user != "" && client != "":
		return model.ConfigTypeUsers, user + "/" + model.ConfigTypeClients + "/" + client, clientQuotas, nil
	case user != "":
		return model.ConfigTypeUsers, user, clientQuotas, nil
	}
	return model.ConfigTypeClients, client, clientQuotas, nil
}

func isHost(of Entity) bool {
	for _, p := range of {
		if p.Name == nil || net.ParseIP(*p.Name) != nil {
			continue
		}
		if _, err := net.LookupHost(*p.Name); err != nil {
			return false
		}
	}
	return true
}

func quotaText(c QuotaChange, kind quotaKind) (string, *Outcome) {
	if kind == doubleQuota {
		return javaDouble(c.Value), nil
	}
	const epsilon = 1e-6
	n := math.Trunc(c.Value + epsilon)
	if kind == intQuota {
		n = max(math.MinInt32, min(math.MaxInt32, n))
	}
	if math.IsNaN(c.Value) || math.Abs(n-c.Value) > epsilon || n >= 1<<63 || n < -1<<63 {
		return "", refuse(model.ErrInvalidRequest, "Configuration %s must be a %s value", c.Key, map[quotaKind]string{longQuota: "LONG", intQuota: "INT"}[kind])
	}
	return strconv.FormatInt(int64(n), 10), nil
}

// javaDouble writes a number as Java's Double.toString does.
func javaDouble(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "+") + "inity"
	case v == 0 || size >= 1e-3 && size < 1e7:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return mantissa
	}
	return mantissa + "E" + strconv.Itoa(n)
}
