package model

import (
	"fmt"
	"strings"
)

// MaxTopicNameLength is the longest name that Kafka gives a topic.
const MaxTopicNameLength = 249

// The topics that Kafka keeps for itself in ZooKeeper mode.
const (
	GroupMetadataTopic    = "__consumer_offsets"
	TransactionStateTopic = "__transaction_state"
)

// IsInternalTopic tells that Kafka keeps the topic for itself.
// Kafka: Topic.isInternal.
func IsInternalTopic(topic string) bool {
	return topic == GroupMetadataTopic || topic == TransactionStateTopic
}

// ValidateTopicName tells why Kafka would not create a topic of that name; nil
// when it would. ZooKeeper may hold others, put there by hand.
// Kafka: Topic.validate.
func ValidateTopicName(topic string) error {
	switch {
	case topic == "":
		return fmt.Errorf("topic name is empty")
	case topic == "." || topic == "..":
		return fmt.Errorf("topic name cannot be %q", topic)
	case len(topic) > MaxTopicNameLength:
		return fmt.Errorf("topic name %q has %d characters; at most %d are allowed", shorten(topic), len(topic), MaxTopicNameLength)
	}
	for _, r := range topic {
		if !legalTopicRune(r) {
			return fmt.Errorf("topic name %q has the character %q; allowed are ASCII letters and digits, '.', '_' and '-'", shorten(topic), r)
		}
	}
	return nil
}

func legalTopicRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// TopicNamesCollide tells that two names differ only in '.' against '_': their
// metrics would have the same name, so Kafka refuses the second of them.
// Equal names collide too. Kafka: Topic.hasCollision.
func TopicNamesCollide(a, b string) bool {
	return strings.ReplaceAll(a, ".", "_") == strings.ReplaceAll(b, ".", "_")
}

// TopicNameMayCollide tells that the name has a '.' or a '_'. Kafka warns then.
// Kafka: Topic.hasCollisionChars.
func TopicNameMayCollide(topic string) bool { return strings.ContainsAny(topic, "._") }
