package acl

import (
	"slices"
	"strings"
	"testing"
)

const rules = `# who may what
--allow-principal User:ann --operation Read --operation Alter --topic orders
--add --allow-principal=User:ann --allow-host 10.0.0.1 --operation Create --cluster
--allow-principal User:* --operation Describe --topic *
--allow-principal User:bob --operation All --topic pay- --resource-pattern-type prefixed
--deny-principal User:bob --operation Delete --topic pay-roll
--deny-principal User:* --deny-host 10.6.6.6 --topic pay --resource-pattern-type PREFIXED
--allow-principal User:carl --operation IdempotentWrite --cluster kafka-cluster --group g
`

func TestVerdicts(t *testing.T) {
	list, err := ReadRules([]byte(strings.Replace(rules, " --group g", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(list, []string{"User:root"}, false)
	for _, x := range []struct {
		who, host string
		op        Operation
		on        ResourceType
		name      string
		want      bool
	}{
		{"ann", "1.1.1.1", Read, Topic, "orders", true},
		{"ann", "1.1.1.1", Write, Topic, "orders", false},
		{"ann", "1.1.1.1", Describe, Topic, "orders", true},
		{"ann", "1.1.1.1", DescribeConfigs, Topic, "orders", false},
		{"ann", "10.0.0.1", Create, Cluster, ClusterName, true},
		{"ann", "10.0.0.2", Create, Cluster, ClusterName, false},
		{"dora", "1.1.1.1", Describe, Topic, "any", true},
		{"dora", "1.1.1.1", Read, Topic, "any", false},
		{"dora", "1.1.1.1", Read, Group, "any", false},
		{"bob", "1.1.1.1", Delete, Topic, "pay-day", true},
		{"bob", "1.1.1.1", DescribeConfigs, Topic, "pay-day", true},
		{"bob", "1.1.1.1", Delete, Topic, "pay-roll", false},
		{"bob", "1.1.1.1", Write, Topic, "pay-roll", true},
		{"bob", "1.1.1.1", Write, Topic, "pay", false},
		{"bob", "10.6.6.6", Write, Topic, "pay-day", false},
		{"dora", "10.6.6.6", Describe, Topic, "payment", false},
		{"root", "10.6.6.6", Write, Topic, "pay-day", true},
		{"carl", "1.1.1.1", IdempotentWrite, Cluster, ClusterName, true},
	} {
		if got := s.Allows(Request{Principal(x.who), x.host, x.op, x.on, x.name}); got != x.want {
			t.Errorf("%s from %s %s on %s %s: %v", x.who, x.host, x.op, x.on, x.name, got)
		}
	}
	open := NewSet(list, nil, true)
	if !open.Allows(Request{"User:x", "h", Delete, Group, "unheard-of"}) || open.Allows(Request{"User:x", "h", Delete, Topic, "orders"}) {
		t.Error("allow.everyone.if.no.acl.found is about resources without rules, and no others")
	}
	if got, want := s.Operations("User:ann", "1.1.1.1", Topic, "orders"), int32(1<<3|1<<7|1<<8); got != want {
		t.Errorf("operations of ann %b, want %b", got, want)
	}
}

func TestSomeResource(t *testing.T) {
	for text, want := range map[string]bool{
		"--allow-principal User:a --operation Write --topic x":                                                                                     true,
		"--allow-principal User:a --operation Read --topic x":                                                                                      false,
		"--allow-principal User:b --operation Write --topic x":                                                                                     false,
		"--allow-principal User:a --operation Write --group x":                                                                                     false,
		"--allow-principal User:a --topic x\n--deny-principal User:a --operation Write --topic x":                                                  false,
		"--allow-principal User:a --topic x --resource-pattern-type prefixed\n--deny-principal User:* --operation Write --topic x":                 true,
		"--allow-principal User:a --topic xy --resource-pattern-type prefixed\n--deny-principal User:a --topic x --resource-pattern-type prefixed": false,
		"--allow-principal User:a --topic *\n--deny-principal User:a --topic x --resource-pattern-type prefixed":                                   true,
		"--allow-principal User:a --topic x --topic y\n--deny-principal User:a --topic *":                                                          false,
	} {
		list, err := ReadRules([]byte(strings.ReplaceAll(text, "Write --group", "Read --group")))
		if err != nil {
			t.Fatal(err)
		}
		if got := NewSet(list, nil, false).AllowsSome("User:a", "h", Write, Topic); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestRulesInJSON(t *testing.T) {
	list, err := ReadRules([]byte(` [{"principal": "User:ann", "operation": "ClusterAction", "permission": "Allow", "resourceType": "CLUSTER"},
		{"principal": "User:*", "host": "h", "operation": "all", "permission": "DENY", "resourceType": "TransactionalId", "patternType": "Prefixed", "name": "t"}]`))
	want := []Rule{{"User:ann", "*", ClusterAction, false, Cluster, false, ClusterName}, {"User:*", "h", All, true, TransactionalID, true, "t"}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v", list, err)
	}
	if got := list[1].String(); got != "deny User:* from h ALL on TRANSACTIONAL_ID PREFIXED:t" {
		t.Error(got)
	}
}

// What Kafka's AclAuthorizer wrote.
func TestListsInZooKeeper(t *testing.T) {
	list, err := DecodeList([]byte(`{"version":1,"acls":[{"principal":"User:alice","permissionType":"Allow","operation":"DescribeConfigs","host":"*"},{"principal":"User:bob","permissionType":"Deny","operation":"All","host":"10.0.0.1"}]}`), Topic, true, "t")
	want := []Rule{{"User:alice", "*", DescribeConfigs, false, Topic, true, "t"}, {"User:bob", "10.0.0.1", All, true, Topic, true, "t"}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v", list, err)
	}
	for _, text := range []string{`{"version":2,"acls":[]}`, `{"version":1,"acls":[{"principal":"User:a","permissionType":"Allow","operation":"Fly","host":"*"}]}`, `{`} {
		if _, err := DecodeList([]byte(text), Topic, false, "t"); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func TestBadRulesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		rules:                               "line 8: IDEMPOTENT_WRITE is not done to resources of type GROUP",
		"\n--allow-principal ann --topic t": `line 2: the principal "ann" is not TYPE:NAME`,
		"--allow-principal User:a":          "no resource",
		"--topic t":                         "no principal",
		"--allow-principal User:a --topic t --operation Fly":               `"Fly" is no operation`,
		"--allow-principal User:a --topic t --producer":                    "--producer is not read here",
		"--allow-principal User:a --topic":                                 "--topic has no value",
		"--deny-principal \"User:a\" --topic t":                            `line 1: "User:a": nothing is quoted here`,
		"--deny-principal 'User:a --topic t":                               "line 1: 'User:a: nothing is quoted here",
		"allow ann":                                                        "no flag",
		"--allow-principal User:a --topic t --resource-pattern-type match": "no pattern type",
		"--allow-principal User:a --cluster mine":                          "the one resource of type CLUSTER",
		`[{"principal": "User:a", "operation": "Read", "permission": "Maybe", "resourceType": "TOPIC", "name": "t"}]`: "rule 1: \"Maybe\"",
		`[{"who": "User:a"}]`: "who",
		`[] x`:                "behind",
	} {
		if _, err := ReadRules([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	list, err := ReadRules([]byte("--allow-principal User:a#b --topic t # --cluster\n#--cluster"))
	if err != nil || len(list) == 0 || list[0].Principal != "User:a#b" {
		t.Errorf("a name with # in it: %+v, %v", list, err)
	}
	if list, err := ReadSuperUsers(" User:a; User:CN=x,O=y ;"); err != nil || !slices.Equal(list, []string{"User:a", "User:CN=x,O=y"}) {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := ReadSuperUsers("a"); err == nil {
		t.Error("a super user without type was taken")
	}
}
