package acl

import (
	"fmt"
	"slices"
	"strings"
)

// Operation is what is done to a resource. Kafka: AclOperation.
type Operation string

const (
	All             Operation = "ALL"
	Read            Operation = "READ"
	Write           Operation = "WRITE"
	Create          Operation = "CREATE"
	Delete          Operation = "DELETE"
	Alter           Operation = "ALTER"
	Describe        Operation = "DESCRIBE"
	ClusterAction   Operation = "CLUSTER_ACTION"
	DescribeConfigs Operation = "DESCRIBE_CONFIGS"
	AlterConfigs    Operation = "ALTER_CONFIGS"
	IdempotentWrite Operation = "IDEMPOTENT_WRITE"
	CreateTokens    Operation = "CREATE_TOKENS"
	DescribeTokens  Operation = "DESCRIBE_TOKENS"
)

var operations = []Operation{All, Read, Write, Create, Delete, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, CreateTokens, DescribeTokens}

// codes are those of Kafka's protocol, for sets of operations as bits.
var codes = map[Operation]int{Read: 3, Write: 4, Create: 5, Delete: 6, Alter: 7, Describe: 8, ClusterAction: 9, DescribeConfigs: 10, AlterConfigs: 11,
	IdempotentWrite: 12, CreateTokens: 13, DescribeTokens: 14}

// ResourceType is a kind of what is done something to. Kafka: ResourceType.
type ResourceType string

const (
	Topic           ResourceType = "TOPIC"
	Group           ResourceType = "GROUP"
	Cluster         ResourceType = "CLUSTER"
	TransactionalID ResourceType = "TRANSACTIONAL_ID"
	DelegationToken ResourceType = "DELEGATION_TOKEN"
	User            ResourceType = "USER"
)

// ResourceTypes are all of them.
var ResourceTypes = []ResourceType{Topic, Group, Cluster, TransactionalID, DelegationToken, User}

// supported are the operations on a resource besides All. Kafka: AclEntry.supportedOperations.
var supported = map[ResourceType][]Operation{
	Topic:           {Read, Write, Create, Describe, Delete, Alter, DescribeConfigs, AlterConfigs},
	Group:           {Read, Describe, Delete},
	Cluster:         {Create, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, Alter, Describe},
	TransactionalID: {Describe, Write},
	DelegationToken: {Describe},
	User:            {CreateTokens, DescribeTokens},
}

// ClusterName is the one resource of type CLUSTER.
const ClusterName = "kafka-cluster"

const (
	everybody = "User:*"
	anywhere  = "*" // any host; also any name, with the pattern LITERAL
)

// Rule is one entry of an access control list. Kafka: AclBinding.
type Rule struct {
	Principal string // User:NAME, or User:* for everybody
	Host      string // an address, or * for all
	Operation Operation
	Deny      bool
	Resource  ResourceType
	Prefixed  bool   // Name is how names begin; else it is the name, or * for all
	Name      string // kafka-cluster for CLUSTER
}

// Request is who wants to do what.
type Request struct {
	Principal string // User:NAME
	Host      string // the address that it comes from, without port
	Operation Operation
	Resource  ResourceType
	Name      string
}

// Set is a number of rules with what else decides.
type Set struct {
	exact    map[key][]Rule
	prefixed map[ResourceType][]Rule
	super    map[string]bool
	open     bool
}

type key struct {
	resource ResourceType
	name     string
}

// NewSet makes a set. superUsers (User:NAME) may do everything; with
// everyoneIfNone a resource that no rule is about is free to all.
// Kafka: super.users, allow.everyone.if.no.acl.found.
func NewSet(rules []Rule, superUsers []string, everyoneIfNone bool) *Set {
	s := &Set{exact: map[key][]Rule{}, prefixed: map[ResourceType][]Rule{}, super: map[string]bool{}, open: everyoneIfNone}
	for _, r := range rules {
		if r.Prefixed {
			s.prefixed[r.Resource] = append(s.prefixed[r.Resource], r)
		} else {
			s.exact[key{r.Resource, r.Name}] = append(s.exact[key{r.Resource, r.Name}], r)
		}
	}
	for _, u := range superUsers {
		s.super[u] = true
	}
	return s
}

// about are the rules about a resource.
func (s *Set) about(resource ResourceType, name string) []Rule {
	out := slices.Concat(s.exact[key{resource, name}], s.exact[key{resource, anywhere}])
	if name == anywhere {
		out = slices.Clone(s.exact[key{resource, name}])
	}
	for _, r := range s.prefixed[resource] {
		if strings.HasPrefix(name, r.Name) {
			out = append(out, r)
		}
	}
	return out
}

// Allows is the verdict: a rule that denies wins over any that allows.
// Kafka: AclAuthorizer.authorizeAction.
func (s *Set) Allows(q Request) bool {
	if s.super[q.Principal] {
		return true
	}
	rules := s.about(q.Resource, q.Name)
	if len(rules) == 0 {
		return s.open
	}
	allowed := false
	for i := range rules {
		r := &rules[i]
		switch {
		case !r.concerns(q.Principal, q.Host):
		case r.Deny && (r.Operation == q.Operation || r.Operation == All):
			return false
		case !r.Deny && implies(r.Operation, q.Operation):
			allowed = true
		}
	}
	return allowed
}

func (r *Rule) concerns(principal, host string) bool {
	return (r.Principal == principal || r.Principal == everybody) && (r.Host == host || r.Host == anywhere)
}

// implies tells whether leave to do one thing is leave to do another.
// Kafka: AclAuthorizer.matchingAclExists.
func implies(given, wanted Operation) bool {
	switch {
	case given == wanted || given == All:
		return true
	case wanted == Describe:
		return given == Read || given == Write || given == Delete || given == Alter
	case wanted == DescribeConfigs:
		return given == AlterConfigs
	}
	return false
}

// AllowsSome tells whether there is any resource of the type on which the
// operation is allowed. Kafka: Authorizer.authorizeByResourceType.
func (s *Set) AllowsSome(principal, host string, op Operation, resource ResourceType) bool {
	if s.super[principal] {
		return true
	}
	var mine []Rule
	collect := func(rules []Rule) {
		for _, r := range rules {
			if r.concerns(principal, host) {
				mine = append(mine, r)
			}
		}
	}
	for k, rules := range s.exact {
		if k.resource == resource {
			collect(rules)
		}
	}
	collect(s.prefixed[resource])
	denied := func(r *Rule) bool {
		return slices.ContainsFunc(mine, func(d Rule) bool {
			switch {
			case !d.Deny || d.Operation != op && d.Operation != All:
				return false
			case d.Prefixed:
				return r.Name != anywhere && strings.HasPrefix(r.Name, d.Name)
			}
			return d.Name == anywhere || !r.Prefixed && d.Name == r.Name
		})
	}
	if slices.ContainsFunc(mine, func(r Rule) bool { return !r.Deny && (r.Operation == op || r.Operation == All) && !denied(&r) }) {
		return true
	}
	return s.open && !denied(&Rule{Name: anywhere})
}

// Operations is the set of operations that are allowed on a resource, as bits.
// Kafka: AuthHelper.authorizedOperations.
func (s *Set) Operations(principal, host string, resource ResourceType, name string) int32 {
	var bits int32
	for _, op := range supported[resource] {
		if s == nil || s.Allows(Request{principal, host, op, resource, name}) {
			bits |= 1 << codes[op]
		}
	}
	return bits
}

// Principal is the name of a user as rules have it.
func Principal(user string) string { return "User:" + user }

// String is one rule in words.
func (r Rule) String() string {
	verb, pattern := "allow", "LITERAL"
	if r.Deny {
		verb = "deny"
	}
	if r.Prefixed {
		pattern = "PREFIXED"
	}
	return fmt.Sprintf("%s %s from %s %s on %s %s:%s", verb, r.Principal, r.Host, r.Operation, r.Resource, pattern, r.Name)
}

// spelled is a word without underscores and dashes, in capitals: Kafka's tools
// write TransactionalId, its protocol TRANSACTIONAL_ID.
func spelled(word string) string {
	return strings.ToUpper(strings.NewReplacer("_", "", "-", "").Replace(strings.TrimSpace(word)))
}

// named finds a word among those that there are.
func named[T ~string](kind, word string, all []T) (T, error) {
	var names []string
	for _, x := range all {
		if spelled(string(x)) == spelled(word) {
			return x, nil
		}
		names = append(names, string(x))
	}
	return "", fmt.Errorf("%q is no %s: they are %s", word, kind, strings.Join(names, ", "))
}

// check completes a rule and says what is wrong with it.
func (r *Rule) check() error {
	if kind, name, ok := strings.Cut(r.Principal, ":"); !ok || kind == "" || name == "" {
		return fmt.Errorf("the principal %q is not TYPE:NAME, as User:ann or User:*", r.Principal)
	}
	if r.Host == "" {
		r.Host = anywhere
	}
	if r.Resource == Cluster && r.Name == "" {
		r.Name = ClusterName
	}
	switch {
	case r.Name == "":
		return fmt.Errorf("the resource of type %s has no name", r.Resource)
	case r.Resource == Cluster && r.Name != ClusterName && r.Name != anywhere:
		return fmt.Errorf("the one resource of type CLUSTER is %s, not %q", ClusterName, r.Name)
	case r.Operation != All && !slices.Contains(supported[r.Resource], r.Operation):
		return fmt.Errorf("%s is not done to resources of type %s", r.Operation, r.Resource)
	}
	return nil
}
