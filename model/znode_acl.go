package model

import "strings"

// The resource types of access control lists, by their names in paths.
// Kafka: SecurityUtils.resourceTypeName.
var aclTypeNames = map[string]string{"TOPIC": "Topic", "GROUP": "Group", "CLUSTER": "Cluster",
	"TRANSACTIONAL_ID": "TransactionalId", "DELEGATION_TOKEN": "DelegationToken", "USER": "User"}

// Patterns of access control lists.
const (
	LiteralPattern  = "LITERAL"
	PrefixedPattern = "PREFIXED"
)

// ACLTypePath is the parent of the lists for a resource type (TOPIC, GROUP,
// CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER); an unknown type keeps its
// name. Kafka: ZkAclStore.path.
func ACLTypePath(pattern, resourceType string) string {
	root := ACLPath
	if pattern != LiteralPattern {
		root = ExtendedACLPath + "/" + strings.ToLower(pattern)
	}
	if name, ok := aclTypeNames[resourceType]; ok {
		resourceType = name
	}
	return root + "/" + resourceType
}

// ACLResourcePath is the list of one resource.
func ACLResourcePath(pattern, resourceType, name string) string {
	return ACLTypePath(pattern, resourceType) + "/" + name
}

// ACLChangePath is the notification of a change to a list; see IsrChangePath.
func ACLChangePath(pattern, sequence string) string {
	root := ACLChangesPath
	if pattern != LiteralPattern {
		root = ExtendedACLChangesPath
	}
	return root + "/" + aclChangePrefix + sequence
}

// DelegationTokenChangePath is the notification of a change to a token; see
// IsrChangePath.
func DelegationTokenChangePath(sequence string) string {
	return DelegationTokenChangesPath + "/" + tokenChangePrefix + sequence
}

// EncodeACLChange writes the notification of a change to a list: plain text for
// literal patterns, else JSON.
// Kafka: LiteralAclChangeStore.encode, ExtendedAclChangeStore.encode.
func EncodeACLChange(pattern, resourceType, name string) []byte {
	if pattern == LiteralPattern {
		return []byte(resourceType + ":" + name)
	}
	var w jsonWriter
	return w.open('{').int("version", 1).str("resourceType", resourceType).str("name", name).str("patternType", pattern).close('}').b
}
