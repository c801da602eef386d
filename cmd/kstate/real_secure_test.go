package main

import (
	"crypto/x509/pkix"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kstate/internal/handshake"
	"kstate/internal/handshake/testcert"
	"kstate/internal/realkafka"
	"kstate/internal/security"
	"kstate/model"
)

// A broker that speaks SASL_SSL between brokers, with SCRAM, takes its leaders from
// kstate and finds it as its controller; a client does all of its work over
// SASL_SSL, with kstate as the only bootstrap server.
func TestRealControlOverSaslSsl(t *testing.T) {
	jars := realkafka.Require(t, realkafka.Versions[0])
	ca := testcert.NewAuthority(t)
	cert, key := ca.Issue(t, pkix.Name{CommonName: "broker"}, "localhost")
	conf := map[string]string{
		"listener.security.protocol.map":                      "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL",
		"inter.broker.listener.name":                          "SECURE",
		"sasl.enabled.mechanisms":                             "SCRAM-SHA-512",
		"sasl.mechanism.inter.broker.protocol":                "SCRAM-SHA-512",
		"listener.name.secure.scram-sha-512.sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="hush";`,
		"ssl.keystore.type":                                   "PEM",
		"ssl.keystore.location":                               pemFile(t, key+cert),
		"ssl.truststore.type":                                 "PEM",
		"ssl.truststore.location":                             pemFile(t, ca.PEM),
	}
	var properties strings.Builder
	for _, k := range sortedKeys(conf) {
		fmt.Fprintf(&properties, "%s=%s\n", k, conf[k])
	}
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte(properties.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := realkafka.StartCluster(t, jars, realkafka.Options{Hold: true, Brokers: 1, BrokerConf: conf, Listener: "SECURE://localhost:" + freePort(t)})
	r := takeControl(t, c, "--listener", "SECURE://localhost:0", "--properties", file)
	r.says(time.Minute, "is the controller")
	credential, err := handshake.Derive(security.ScramSHA512, "hush", []byte("salt"), handshake.MinIterations)
	if err != nil {
		t.Fatal(err)
	}
	data := model.EncodeConfig(map[string]string{string(security.ScramSHA512): credential.Encode()})
	if _, err := c.Conn.Create(c.Chroot+model.ConfigEntityPath(model.ConfigTypeUsers, "admin"), data, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	c.StartAll()
	trust, err := security.ClientTLS(map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": ca.PEM})
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`SECURE://(\S+)`).FindStringSubmatch(r.errs.String())[1]
	cl := dialKafka(t, address, kgo.DialTLSConfig(trust), kgo.SASL(scram.Auth{User: "admin", Pass: "hush"}.AsSha512Mechanism()),
		kgo.ConsumeTopics("secure"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx := minutes(t, 2)
	if made, err := kadm.NewClient(cl).CreateTopic(ctx, 2, 1, nil, "secure"); err != nil || made.Err != nil {
		t.Fatalf("created %+v, %v", made, err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "secure", Value: []byte("one")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if seen := consume(ctx, t, cl, func(seen map[string]int) bool { return seen["one"] > 0 }); seen["one"] != 1 {
		t.Errorf("read %v", seen)
	}
	noneOnController(t, c)
	c.TermBroker(1) // a controlled shutdown goes over SASL_SSL too
	if strings.Contains(r.errs.String(), "hush") {
		t.Errorf("a password was said:\n%s", r.errs.String())
	}
}

// heldInDeletion: a deletion on real brokers is held in the middle, and then no key:
// the time that is left is on the screen, the deletion comes to its end.
func heldInDeletion(t *testing.T, c *realkafka.Cluster) {
	c.CreateTopic("held", [][]int32{{1, 2}, {2, 3}}, nil)
	p := openPane(t, 120, 40, "control", "--zookeeper", c.Connect(), "--listener", "127.0.0.1:"+freePort(t), "--take-over", "--id", "1001", "--journal", filepath.Join(t.TempDir(), "held.journal"),
		"--override", "auto.leader.rebalance.enable=false", "--override", "zookeeper.session.timeout.ms=6000")
	p.await(time.Minute, "that it is the controller", holding("CONTROL", "(self)", "RUNNING", "idle"))
	p.keys("Space")
	p.await(patience, "that it is paused", holding("PAUSED"))
	c.Put(model.DeleteTopicPath("held"), "")
	seen := "" // behind what the takeover has still to do
	p.await(time.Minute, "the event, held", func(text string) bool {
		if strings.Contains(text, "next: begin TopicDeletion") {
			return true
		}
		if strings.Contains(text, "next: ") && text != seen {
			seen = text
			p.keys("e")
		}
		return false
	})
	p.keys("b")
	p.await(patience, "the time that is left", func(text string) bool { return regexp.MustCompile(`goes on in (20|1?[0-9]) s`).MatchString(text) })
	stopped := time.Now()
	if there, _, err := c.Conn.Exists(c.Chroot + model.TopicPath("held")); err != nil || !there {
		t.Errorf("it did not hold: %v, %v", there, err)
	}
	goneFrom(t, c, "held")
	if waited := time.Since(stopped); waited < (deadManSeconds-5)*time.Second {
		t.Errorf("it went on after %v", waited)
	}
	p.await(patience, "that it went on by itself", holding("RUNNING", "without a command"))
}
