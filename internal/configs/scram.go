package configs

import (
	"maps"
	"slices"

	"kstate/internal/handshake"
	"kstate/internal/security"
	"kstate/model"
)

// ScramChange makes or replaces a user's credential of a mechanism, or with Remove
// takes it away. Mechanism is as in Kafka's protocol.
type ScramChange struct {
	User                 string
	Mechanism            int8
	Remove               bool
	Iterations           int32
	Salt, SaltedPassword []byte
}

// ScramOutcome is what came of all changes of one user: all or none.
type ScramOutcome struct {
	User string
	Outcome
}

// scramMechanisms. Kafka: ScramMechanism.
var scramMechanisms = map[int8]security.Mechanism{1: security.ScramSHA256, 2: security.ScramSHA512}

// AlterScram changes credentials; the outcomes are by user.
// Kafka: ZkAdminManager.alterUserScramCredentials.
func (a *Admin) AlterScram(changes []ScramChange) []ScramOutcome {
	of := map[string][]ScramChange{}
	for _, c := range changes {
		of[c.User] = append(of[c.User], c)
	}
	var out []ScramOutcome
	for _, user := range slices.Sorted(maps.Keys(of)) {
		out = append(out, ScramOutcome{user, done(a.alterUser(user, of[user]))})
	}
	return out
}

func (a *Admin) alterUser(user string, changes []ScramChange) *Outcome {
	if bad := checkScram(user, changes); bad != nil {
		return bad
	}
	config, bad := a.fetch(model.ConfigTypeUsers, Sanitize(user))
	if bad != nil {
		return bad
	}
	for _, c := range changes {
		if _, has := config[string(scramMechanisms[c.Mechanism])]; c.Remove && !has {
			return refuse(ErrResourceNotFound, "Attempt to delete a user credential that does not exist")
		}
	}
	for _, c := range changes {
		name := scramMechanisms[c.Mechanism]
		if c.Remove {
			delete(config, string(name))
			continue
		}
		config[string(name)] = handshake.NewCredential(name, c.Salt, c.SaltedPassword, c.Iterations).Encode()
	}
	return a.change(model.ConfigTypeUsers, Sanitize(user), config)
}

func checkScram(user string, changes []ScramChange) *Outcome {
	seen := map[int8]bool{}
	twice := false
	for _, c := range changes {
		switch {
		case user == "":
			return refuse(ErrUnacceptableCredential, "Username must not be empty")
		case scramMechanisms[c.Mechanism] == "":
			return refuse(ErrUnsupportedSaslMechanism, "Unknown SCRAM mechanism")
		case !c.Remove && c.Iterations < handshake.MinIterations:
			return refuse(ErrUnacceptableCredential, "Too few iterations")
		case !c.Remove && c.Iterations > handshake.MaxIterations:
			return refuse(ErrUnacceptableCredential, "Too many iterations")
		}
		twice = twice || seen[c.Mechanism]
		seen[c.Mechanism] = true
	}
	if twice {
		return refuse(ErrDuplicateResource, "A user credential cannot be altered twice in the same request")
	}
	return nil
}
