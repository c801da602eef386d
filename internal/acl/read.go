package acl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ReadRules reads a file of rules. It is either JSON, an array of objects with
// principal, host, operation, permission, resourceType, patternType and name, or
// has on each line what is given to kafka-acls.sh to add rules:
//
//	--allow-principal User:ann --operation Read --operation Write --topic orders
//	--deny-principal User:bob --deny-host 10.0.0.7 --operation All --topic pay- --resource-pattern-type prefixed
//
// # begins a comment. The error names the line, or the rule.
func ReadRules(data []byte) ([]Rule, error) {
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '[' {
		return readJSON(text)
	}
	var out []Rule
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		words := strings.Fields(line)
		if i := slices.IndexFunc(words, func(w string) bool { return w[0] == '#' }); i >= 0 { // a user's name may hold one
			words = words[:i]
		}
		if len(words) == 0 {
			continue
		}
		if i := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w[:1]+w[len(w)-1:], `"'`) }); i >= 0 {
			return nil, fmt.Errorf("line %d: %s: nothing is quoted here, as it is for a shell; names with blanks are written as JSON", n, words[i])
		}
		rules, err := readFlags(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, rules...)
	}
	return out, nil
}

func readJSON(text []byte) ([]Rule, error) {
	var list []struct{ Principal, Host, Operation, Permission, ResourceType, PatternType, Name string }
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("behind the array stands more")
	}
	var out []Rule
	for i, x := range list {
		r, err := newRule(x.Principal, x.Host, x.Operation, x.Permission, x.ResourceType, x.PatternType, x.Name)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func newRule(principal, host, operation, permission, resource, pattern, name string) (Rule, error) {
	r := Rule{Principal: principal, Host: host, Name: name}
	var err error
	if r.Operation, err = named("operation", operation, operations); err != nil {
		return r, err
	}
	if r.Resource, err = named("resource type", resource, ResourceTypes); err != nil {
		return r, err
	}
	switch spelled(permission) {
	case "ALLOW":
	case "DENY":
		r.Deny = true
	default:
		return r, fmt.Errorf("%q is no permission: it is ALLOW or DENY", permission)
	}
	switch spelled(pattern) {
	case "LITERAL", "":
	case "PREFIXED":
		r.Prefixed = true
	default:
		return r, fmt.Errorf("%q is no pattern type: it is LITERAL or PREFIXED", pattern)
	}
	return r, r.check()
}

// flags are those of kafka-acls.sh that say what a rule is; others say where to
// write it, or stand for several rules.
var flags = map[string]bool{"allow-principal": true, "deny-principal": true, "allow-host": true, "deny-host": true, "operation": true,
	"resource-pattern-type": true, "topic": true, "group": true, "transactional-id": true, "delegation-token": true, "user-principal": true}

var resourceFlags = map[string]ResourceType{"topic": Topic, "group": Group, "transactional-id": TransactionalID, "delegation-token": DelegationToken, "user-principal": User}

// readFlags reads one line: each principal, from each host, each operation, on
// each resource. Kafka: AclCommand.
func readFlags(words []string) ([]Rule, error) {
	given := map[string][]string{}
	type resource struct {
		kind ResourceType
		name string
	}
	var resources []resource
	for i := 0; i < len(words); i++ {
		flag, value, joined := strings.Cut(words[i], "=")
		flag, isFlag := strings.CutPrefix(flag, "--")
		switch {
		case !isFlag:
			return nil, fmt.Errorf("%q is no flag of kafka-acls", words[i])
		case flag == "add":
			continue
		case flag == "cluster": // whose name need not be said
			if !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
				i++
				value = words[i]
			}
			resources = append(resources, resource{Cluster, value})
			continue
		case !flags[flag]:
			return nil, fmt.Errorf("--%s is not read here: give --allow-principal or --deny-principal, --operation, and a resource", flag)
		}
		if !joined {
			if i++; i == len(words) {
				return nil, fmt.Errorf("--%s has no value", flag)
			}
			value = words[i]
		}
		if kind, ok := resourceFlags[flag]; ok {
			resources = append(resources, resource{kind, value})
			continue
		}
		given[flag] = append(given[flag], value)
	}
	pattern := "LITERAL"
	if p := given["resource-pattern-type"]; len(p) > 0 {
		pattern = p[len(p)-1]
	}
	operations := given["operation"]
	if len(operations) == 0 {
		operations = []string{string(All)}
	}
	var out []Rule
	for _, permission := range []string{"allow", "deny"} {
		hosts := given[permission+"-host"]
		if len(hosts) == 0 {
			hosts = []string{anywhere}
		}
		for _, principal := range given[permission+"-principal"] {
			for _, host := range hosts {
				for _, operation := range operations {
					for _, r := range resources {
						rule, err := newRule(principal, host, operation, permission, string(r.kind), pattern, r.name)
						if err != nil {
							return nil, err
						}
						out = append(out, rule)
					}
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it names no principal (--allow-principal, --deny-principal) or no resource (--topic, --group, --cluster, ...)")
	}
	return out, nil
}

// DecodeList reads the list of one resource as it lies in ZooKeeper. What this
// package does not know makes it an error: a rule that is not understood may be
// one that denies. Kafka: AclEntry.fromBytes.
func DecodeList(data []byte, resource ResourceType, prefixed bool, name string) ([]Rule, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var list struct {
		Version int
		ACLs    []struct{ Principal, PermissionType, Operation, Host string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	if list.Version != 1 {
		return nil, fmt.Errorf("version %d is unknown; 1 is known", list.Version)
	}
	pattern := "LITERAL"
	if prefixed {
		pattern = "PREFIXED"
	}
	var out []Rule
	for i, x := range list.ACLs {
		r, err := newRule(x.Principal, x.Host, x.Operation, x.PermissionType, string(resource), pattern, name)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// ReadSuperUsers reads super.users: User:NAME with semicolons between them.
func ReadSuperUsers(text string) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if kind, name, ok := strings.Cut(part, ":"); !ok || kind == "" || name == "" {
			return nil, fmt.Errorf("%q is not TYPE:NAME; several have semicolons between them", part)
		}
		out = append(out, part)
	}
	return out, nil
}
