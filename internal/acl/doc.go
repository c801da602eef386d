// Package acl is who may do what, in the terms of Kafka's access control lists:
// rules, how they are read (a file, or what lies in ZooKeeper under /kafka-acl),
// and the verdict of a set of them.
//
// It knows no request and no connection: which operation on which resource a
// request needs is internal/wire's to say.
//
// It may import the standard library only. A Set is never changed once it is made.
package acl
