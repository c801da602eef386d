package main

import (
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kstate/internal/handshake"
	"kstate/internal/handshake/testcert"
	"kstate/internal/lab"
	"kstate/internal/lab/broker"
	"kstate/internal/lab/zkserver"
	"kstate/internal/security"
	"kstate/model"
)

// pemFile writes one into a file of its own.
func pemFile(t testing.TB, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "store.pem")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// putUser gives a user a SCRAM password in ZooKeeper.
func putUser(t testing.TB, l *lab.Lab, user, password string) {
	t.Helper()
	c, err := handshake.Derive(security.ScramSHA512, password, []byte("salt of "+user), handshake.MinIterations)
	if err != nil {
		t.Fatal(err)
	}
	data := model.EncodeConfig(map[string]string{string(security.ScramSHA512): c.Encode()})
	if r, _ := l.Store().Apply(0, zkserver.Create(model.ConfigEntityPath(model.ConfigTypeUsers, user), data, 0)); r.Code != zkserver.OK {
		t.Fatal(r.Code)
	}
}

// A listener with TLS and SASL beside one in plaintext: a client of another make
// authenticates with what lies in ZooKeeper and creates a topic. No password is
// ever said.
func TestControlOverSaslSsl(t *testing.T) {
	l := keeper(t)
	ca := testcert.NewAuthority(t)
	cert, key := ca.Issue(t, pkix.Name{CommonName: "controller"}, "localhost")
	properties := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(properties, fmt.Appendf(nil, `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OUT:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location=%s
ssl.keystore.password=hush
listener.name.out.sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN
listener.name.out.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="hush";
`, pemFile(t, cert+key)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startControl(t, "--zookeeper", l.Addr(), "--listener", "127.0.0.1:0", "--listener", "OUT://localhost:0", "--properties", properties)
	address := c.says(`OUT://(\S+)`)[1]
	c.says(`is the controller`)
	putUser(t, l, "ann", "hush")
	brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}})
	t.Cleanup(brokers.Close)
	if _, err := brokers.Add(1, broker.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := brokers.Start(soon(t)); err != nil {
		t.Fatal(err)
	}
	trust, err := security.ClientTLS(map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": pemFile(t, ca.PEM)})
	if err != nil {
		t.Fatal(err)
	}
	dial := func(password string) *kadm.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DialTLSConfig(trust), kgo.SASL(scram.Auth{User: "ann", Pass: password}.AsSha512Mechanism()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return kadm.NewClient(cl)
	}
	awaitState(t, l.Addr(), "the broker", func(st *clusterState) bool { return len(st.Brokers) == 1 })
	ann := dial("hush")
	await(t, "a topic", func() bool {
		made, err := ann.CreateTopic(soon(t), 2, 1, nil, "over-tls")
		if err != nil && made.Err == nil {
			t.Fatal(err)
		}
		return made.Err == nil || errors.Is(made.Err, kerr.TopicAlreadyExists)
	})
	awaitState(t, l.Addr(), "the topic", func(st *clusterState) bool { return onlineIn(st, 2, 2) })
	if a, err := ann.AlterTopicConfigs(soon(t), []kadm.AlterConfig{{Name: "retention.ms", Value: kadm.StringPtr("1234")}}, "over-tls"); err != nil || a[0].Err != nil {
		t.Errorf("a setting: %+v, %v", a, err)
	}
	if data, _, code := l.Store().Get(model.TopicConfigPath("over-tls")); code != zkserver.OK || !strings.Contains(string(data), `"retention.ms":"1234"`) {
		t.Errorf("the setting is %s, %v", data, code)
	}
	if a, err := ann.AlterUserSCRAMs(soon(t), nil, []kadm.UpsertSCRAM{{User: "ann", Mechanism: kadm.ScramSha512, Iterations: 8192, Password: "hush hush"}}); err != nil || a["ann"].Err != nil {
		t.Errorf("a password: %+v, %v", a, err)
	}
	if _, err := dial("hush hush").Metadata(soon(t)); err != nil {
		t.Errorf("with the new password: %v", err)
	}
	if _, err := dial("wrong").Metadata(soon(t)); !errors.Is(err, kerr.SaslAuthenticationFailed) {
		t.Errorf("with a wrong password: %v", err)
	}
	c.says(`connection of \S+: authentication by SCRAM-SHA-512 failed`)
	if said := c.errs.String() + c.out.String() + changedOverSaslSsl(t, l.Addr(), address, pemFile(t, ca.PEM)); strings.Contains(said, "hush") {
		t.Errorf("a password was said:\n%s", said)
	}
}

// A rule file: what it does not allow is refused with Kafka's code, and no marker
// is made. The rules of AclAuthorizer are read from ZooKeeper, and followed.
func TestControlAuthorizes(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("--allow-principal User:ANONYMOUS --operation Create --cluster\n--allow-principal User:ANONYMOUS --operation Describe --topic *\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"a file":    {"--authorization", rules},
		"ZooKeeper": {"--override", "authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "--override", "super.users=User:root;User:admin"},
	} {
		t.Run(name, func(t *testing.T) {
			l := keeper(t)
			put := func(path, data string) {
				t.Helper()
				if r, _ := l.Store().Apply(0, zkserver.Create(path, []byte(data), 0)); r.Code != zkserver.OK {
					t.Fatal(path, r.Code)
				}
			}
			brokers := broker.New(broker.Config{ZooKeeper: []string{l.Addr()}})
			t.Cleanup(brokers.Close)
			if _, err := brokers.Add(1, broker.Settings{}); err != nil {
				t.Fatal(err)
			}
			c := startControl(t, append([]string{"--zookeeper", l.Addr(), "--listener", "127.0.0.1:0"}, args...)...)
			address := c.says(`listening on PLAINTEXT://(\S+)`)[1]
			c.says(`is the controller`)
			if name == "ZooKeeper" {
				for _, path := range []string{"/kafka-acl", "/kafka-acl/Topic", "/kafka-acl/Cluster", "/kafka-acl-changes"} {
					put(path, "")
				}
				put("/kafka-acl/Cluster/kafka-cluster", `{"version":1,"acls":[{"principal":"User:ANONYMOUS","permissionType":"Allow","operation":"Create","host":"*"},{"principal":"User:ANONYMOUS","permissionType":"Allow","operation":"ClusterAction","host":"*"}]}`)
				put("/kafka-acl/Topic/*", `{"version":1,"acls":[{"principal":"User:*","permissionType":"Allow","operation":"Describe","host":"127.0.0.1"}]}`)
				put("/kafka-acl-changes/acl_changes_0000000000", "Topic:*")
			}
			if err := brokers.Start(soon(t)); err != nil {
				t.Fatal(err)
			}
			awaitState(t, l.Addr(), "the broker", func(st *clusterState) bool { return len(st.Brokers) == 1 })
			cl, err := kgo.NewClient(kgo.SeedBrokers(address))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cl.Close)
			adm := kadm.NewClient(cl)
			await(t, "a topic", func() bool {
				made, err := adm.CreateTopic(soon(t), 1, 1, nil, "kept")
				return err == nil && made.Err == nil || errors.Is(made.Err, kerr.TopicAlreadyExists)
			})
			if a, err := adm.DeleteTopic(soon(t), "kept"); !errors.Is(a.Err, kerr.TopicAuthorizationFailed) {
				t.Errorf("deletion: %+v, %v", a, err)
			}
			if a, err := adm.CreatePartitions(soon(t), 1, "kept"); err != nil || !errors.Is(a["kept"].Err, kerr.TopicAuthorizationFailed) {
				t.Errorf("growth: %+v, %v", a, err)
			}
			if a, err := adm.ElectLeaders(soon(t), kadm.ElectPreferredReplica, nil); !errors.Is(err, kerr.ClusterAuthorizationFailed) {
				t.Errorf("election: %+v, %v", a, err)
			}
			if _, code := l.Store().Exists(model.DeleteTopicPath("kept")); code != zkserver.NoNode {
				t.Errorf("a marker: %v", code)
			}
			if name == "ZooKeeper" {
				put("/kafka-acl/Topic/kept", `{"version":1,"acls":[{"principal":"User:ANONYMOUS","permissionType":"Allow","operation":"Delete","host":"*"}]}`)
				put("/kafka-acl-changes/acl_changes_0000000001", "Topic:kept")
				await(t, "the deletion, which is allowed now", func() bool {
					a, err := adm.DeleteTopic(soon(t), "kept")
					return err == nil && a.Err == nil
				})
			}
		})
	}
}
