package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// sourceFlags name the cluster that a command reads: exactly one source.
func sourceFlags() []flag {
	return append(zookeeperFlags(), flag{name: "tree", kind: isFile, value: "FILE", usage: "read a tree file, as kstate export writes it (- is standard input)"})
}

// zookeeperFlags say how to reach a live cluster.
func zookeeperFlags() []flag {
	return []flag{
		{name: "zookeeper", kind: isText, value: "HOST:PORT[,...]/CHROOT", usage: "read a live cluster; a missing port is 2181, the chroot stands once at the end"},
		{name: "zookeeper-timeout", kind: isNumber, least: 100, most: 3600000, value: "MS", usage: "session timeout, and how long to try to connect (default 18000)"},
		{name: "zookeeper-tls", usage: "connect with TLS; implied by the three flags below"},
		{name: "zookeeper-tls-ca", kind: isFile, value: "PEM", usage: "certificates that the server's must be signed by, instead of the system's"},
		{name: "zookeeper-tls-cert", kind: isFile, value: "PEM", usage: "client certificate"},
		{name: "zookeeper-tls-key", kind: isFile, value: "PEM", usage: "its key"},
		{name: "zookeeper-digest", kind: isText, value: "USER:PASSWORD", usage: "identity of ZooKeeper's digest scheme; @FILE reads it from a file, for others see a command line"},
		{name: "read-rate", kind: isNumber, value: "N", usage: "read at most N znodes a second (0: no bound)"},
	}
}

// source is a cluster that was read.
type source struct {
	survey *tree.Survey
	mode   string // observe, or tree
	name   string // address, or file
	stderr io.Writer
}

// openSource reads the cluster that the flags name.
func openSource(inv *invocation) (*source, error) {
	live, file := inv.has("zookeeper"), inv.has("tree")
	switch {
	case live && file:
		return nil, inv.misuse("--zookeeper and --tree: give one of them")
	case live:
		return openLive(inv)
	case file:
		return openTree(inv)
	}
	return nil, inv.misuse("which cluster? Give --zookeeper or --tree")
}

func openTree(inv *invocation) (*source, error) {
	f, err := loadTree(inv)
	if err != nil {
		return nil, err
	}
	if f.Outside > 0 {
		fmt.Fprintf(inv.console.err, "kstate: tree file %s: %d znodes lie outside the chroot %s and are passed over\n", inv.text("tree"), f.Outside, f.Chroot)
	}
	return &source{tree.SurveyFile(f), "tree", inv.text("tree"), inv.console.err}, nil
}

// open opens a file to read; - is standard input.
func (inv *invocation) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(inv.console.in), nil
	}
	return os.Open(name)
}

func loadTree(inv *invocation) (*tree.File, error) {
	name := inv.text("tree")
	in, err := inv.open(name)
	if err != nil {
		return nil, fmt.Errorf("tree file: %w", err)
	}
	defer in.Close()
	f, err := tree.Load(in)
	if err != nil {
		return nil, fmt.Errorf("tree file %s: %w", name, err)
	}
	return f, nil
}

// surveyPaths is what a survey looks at; /consumers, tokens and ACLs are not.
func surveyPaths() []string { return append(zkwatch.DefaultPaths(), model.MigrationPath) }

func openLive(inv *invocation) (*source, error) {
	conn, err := dial(inv)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.RequireKafka(inv.ctx); err != nil {
		return nil, liveError(err)
	}
	znodes, err := conn.ReadTree(inv.ctx, surveyPaths(), nil)
	if err != nil {
		return nil, liveError(err)
	}
	survey := tree.NewSurvey(tree.DefaultConfig())
	for i := range znodes {
		survey.Apply(znodes[i].Model())
	}
	if err := notElsewhere(inv.ctx, conn, survey); err != nil {
		return nil, err
	}
	return &source{survey, string(model.ObserveMode), conn.Address().String(), inv.console.err}, nil
}

// notElsewhere: where nothing is registered and no topic exists, the chroot is
// suspect; it is wrong when Kafka trees lie below other paths.
func notElsewhere(ctx context.Context, conn *zkwatch.Conn, s *tree.Survey) error {
	if v := s.View(); len(v.Brokers()) > 0 || v.TopicCount > 0 || len(s.Blind()) > 0 {
		return nil
	}
	return elsewhere(ctx, conn)
}

// elsewhere is an error if there are Kafka trees under other chroots.
func elsewhere(ctx context.Context, conn *zkwatch.Conn) error {
	candidates, err := conn.FindChroots(ctx)
	if err != nil {
		return liveError(err)
	}
	own := max(conn.Address().Chroot, "/") // as FindChroots names the root
	var others []string
	for _, c := range candidates {
		if c != own {
			others = append(others, c)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("ZooKeeper %s: no broker is registered here and there is no topic, but Kafka trees exist under %s: wrong chroot?",
		conn.Address(), strings.Join(others, ", "))
}

// liveError sorts failures of a live read: a wrong chroot is an error, anything
// else means that the answer could not be known.
func liveError(err error) error {
	if _, ok := errors.AsType[*zkwatch.NoKafkaError](err); ok {
		return err
	}
	return unknown(err)
}

func dial(inv *invocation) (*zkwatch.Conn, error) {
	return dialWith(inv, func(*zkwatch.Options) {})
}

// dialWith connects with options beyond those that the flags give.
func dialWith(inv *invocation, change func(*zkwatch.Options)) (*zkwatch.Conn, error) {
	opt, err := zookeeperOptions(inv)
	if err != nil {
		return nil, err
	}
	change(&opt)
	return dialFor(inv, opt)
}

// dialFor connects within the session timeout.
func dialFor(inv *invocation, opt zkwatch.Options) (*zkwatch.Conn, error) {
	ctx, cancel := context.WithTimeout(inv.ctx, opt.SessionTimeout)
	defer cancel()
	conn, err := zkwatch.Dial(ctx, opt)
	if err != nil {
		return nil, unknown(err)
	}
	return conn, nil
}

func zookeeperOptions(inv *invocation) (zkwatch.Options, error) { return optionsOf(inv, "zookeeper") }

// optionsOf are those of a read-only connection to the address that a flag gives.
func optionsOf(inv *invocation, flag string) (zkwatch.Options, error) {
	timeout := time.Duration(inv.number("zookeeper-timeout", int(zkwatch.DefaultSessionTimeout/time.Millisecond))) * time.Millisecond
	opt := zkwatch.Options{Servers: inv.text(flag), SessionTimeout: timeout,
		ReadRate: inv.number("read-rate", 0), Gate: zkwatch.ReadOnly()}
	if _, err := zkwatch.ParseServers(opt.Servers); err != nil {
		return opt, inv.misuse("--%s: %v", flag, err)
	}
	var err error
	if opt.TLS, err = tlsConfig(inv); err != nil {
		return opt, err
	}
	opt.Digest, err = digest(inv)
	return opt, err
}

// digest keeps a password off the command line if asked to: @FILE.
func digest(inv *invocation) (string, error) {
	name, fromFile := strings.CutPrefix(inv.text("zookeeper-digest"), "@")
	if !fromFile {
		if inv.has("zookeeper-digest") && strings.Index(name, ":") < 1 {
			return "", inv.misuse("--zookeeper-digest: want USER:PASSWORD, or @FILE")
		}
		return name, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("--zookeeper-digest: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func tlsConfig(inv *invocation) (*tls.Config, error) {
	ca, cert, key := inv.text("zookeeper-tls-ca"), inv.text("zookeeper-tls-cert"), inv.text("zookeeper-tls-key")
	if (cert == "") != (key == "") {
		return nil, inv.misuse("--zookeeper-tls-cert and --zookeeper-tls-key: give both or none")
	}
	if ca == "" && cert == "" && !inv.has("zookeeper-tls") {
		return nil, nil
	}
	config := &tls.Config{}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("--zookeeper-tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--zookeeper-tls-ca: %s holds no certificate in PEM form", ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("--zookeeper-tls-cert %s, --zookeeper-tls-key %s: %w", cert, key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// close ends a command that read the source: it names what could not be read and
// decides on the exit code.
func (src *source) close(err error) error {
	if err != nil {
		return err
	}
	for _, t := range src.survey.Troubles() {
		fmt.Fprintf(src.stderr, "kstate: %s\n", tree.Printable(t.Err))
	}
	if src.survey.Refused() {
		return unknown(fmt.Errorf("%s: no permission to read anything (the tree may be open to the brokers' identity alone)", src.name))
	}
	if blind := src.survey.Blind(); len(blind) > 0 {
		return unknown(fmt.Errorf("%s: no permission to read %s: what was printed is not the cluster", src.name, strings.Join(blind, ", ")))
	}
	return nil
}
