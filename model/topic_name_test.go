package model

import (
	"strings"
	"testing"
)

func TestValidateTopicName(t *testing.T) {
	for _, name := range []string{"a", "orders", "A.b_c-9", "...", "__consumer_offsets", "logs-2024-1", "123", strings.Repeat("x", 249)} {
		if err := ValidateTopicName(name); err != nil {
			t.Errorf("%v", err)
		}
	}
	for name, want := range map[string]string{"": "empty", ".": `"."`, "..": `".."`, "bad name": "' '", "a/b": "'/'", "a%2Fb": "'%'", "é": "'é'", "\x00": `'\x00'`,
		"a\xff": "�", strings.Repeat("x", 250): "250 characters"} {
		err := ValidateTopicName(name)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 {
			t.Errorf("%q: %v, want an error with %s", name, err, want)
		}
	}
}

func TestTopicNameCollisions(t *testing.T) {
	cases := []struct {
		a, b string
		want bool
	}{{"orders.eu", "orders_eu", true}, {"a", "a", true}, {"a.b", "a-b", false}, {"a.b_c", "a_b.c", true}, {"a.", "a", false}}
	for _, c := range cases {
		if got := TopicNamesCollide(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
	if !TopicNameMayCollide("a.b") || !TopicNameMayCollide("a_b") || TopicNameMayCollide("a-b") {
		t.Error("TopicNameMayCollide")
	}
	if !IsInternalTopic("__consumer_offsets") || !IsInternalTopic("__transaction_state") || IsInternalTopic("__x") {
		t.Error("IsInternalTopic")
	}
}
