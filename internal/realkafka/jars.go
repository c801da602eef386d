package realkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Versions are the Kafka releases that have a recording of the tour, newest
// first. Each runs in ZooKeeper mode on Java 17.
var Versions = []string{"3.9.2", "3.4.1", "2.8.2", "2.4.1"}

const (
	// realEnv must be 1 for a test that needs real processes to run at all.
	realEnv = "KSTATE_REAL"
	// requireEnv = 1 makes a missing Java or Maven a failure instead of a skip.
	requireEnv = "KSTATE_REQUIRE_KAFKA"

	fetchLimit = 10 * time.Minute
	// marker is written into a folder of jars last: a folder without it is not whole.
	marker = "complete"
)

// Jars is one Kafka release on disk, ZooKeeper's own jars included.
type Jars struct {
	Version string // 3.9.2
	Dir     string // the folder that holds the jars
	java    string // path of the java command
}

// Require returns the jars of a Kafka release (see Versions), fetching them on
// first use. The test is skipped unless KSTATE_REAL=1, and under -short. Where
// Java or Maven is missing or the fetch fails it is skipped too, with the
// reason, but fails if KSTATE_REQUIRE_KAFKA=1.
func Require(t testing.TB, version string) *Jars {
	t.Helper()
	if os.Getenv(realEnv) != "1" {
		t.Skipf("set %s=1 to run against real Kafka", realEnv)
	}
	if testing.Short() {
		t.Skip("-short: real Kafka takes minutes")
	}
	j, err := open(version)
	switch {
	case err == nil:
		return j
	case os.Getenv(requireEnv) == "1":
		t.Fatalf("%s=1, but real Kafka %s can't be had: %v", requireEnv, version, err)
	default:
		t.Skipf("no real Kafka %s: %v", version, err)
	}
	return nil
}

func open(version string) (*Jars, error) {
	if !slices.Contains(Versions, version) {
		return nil, fmt.Errorf("version %s is not one of %s", version, strings.Join(Versions, ", "))
	}
	if !processGroups {
		return nil, errors.New("this operating system has no Unix process groups")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("no java command (Debian: openjdk-17-jdk-headless): %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find a cache directory for the jars: %w", err)
	}
	dir := filepath.Join(cache, "kstate-test", "kafka-"+version)
	if err := fetchOnce(dir, func(into string) error { return fetchJars(version, into) }); err != nil {
		return nil, err
	}
	return &Jars{Version: version, Dir: dir, java: java}, nil
}

// fetchOnce makes sure that dir is there and whole. fetch fills a fresh folder
// beside it, which then takes dir's name, so that dir is never seen half full;
// a lock file lets one process fetch while others wait for it.
func fetchOnce(dir string, fetch func(into string) error) error {
	whole := func() bool {
		_, err := os.Stat(filepath.Join(dir, marker))
		return err == nil
	}
	if whole() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make the folder for the jars: %w", err)
	}
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return fmt.Errorf("lock %s.lock: %w", dir, err)
	}
	defer unlock()
	if whole() { // fetched by who held the lock before
		return nil
	}
	stale, _ := filepath.Glob(dir + ".part-*") // of a fetch that was killed
	for _, d := range stale {
		os.RemoveAll(d)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".part-")
	if err != nil {
		return fmt.Errorf("make a folder to fetch into: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := fetch(tmp); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, marker), nil, 0o644); err != nil {
		return fmt.Errorf("mark %s as complete: %w", tmp, err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("open %s to readers: %w", tmp, err)
	}
	if err := os.RemoveAll(dir); err != nil { // left by an interrupted clean-up
		return fmt.Errorf("remove the incomplete %s: %w", dir, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("put %s in place: %w", dir, err)
	}
	return nil
}

// pom names what a broker, Kafka's command line tools and ZooKeeper need. The
// jars log through slf4j: reload4j gives it the log4j 1 that log4j.properties
// is written for.
func pom(version string) string {
	artifacts := [][3]string{
		{"org.apache.kafka", "kafka_2.13", version},
		{"org.slf4j", "slf4j-reload4j", "1.7.36"},
	}
	if strings.HasPrefix(version, "3.9.") { // the tools have their own jar by then
		artifacts = append(artifacts, [3]string{"org.apache.kafka", "kafka-tools", version})
	}
	var b strings.Builder
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` + "\n" +
		"<groupId>kstate</groupId><artifactId>jars</artifactId><version>1</version><dependencies>\n")
	for _, a := range artifacts {
		fmt.Fprintf(&b, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", a[0], a[1], a[2])
	}
	b.WriteString("</dependencies></project>\n")
	return b.String()
}

func fetchJars(version, into string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("no mvn command to fetch Kafka %s with (Debian: maven): %w", version, err)
	}
	file := filepath.Join(into, "pom.xml")
	if err := os.WriteFile(file, []byte(pom(version)), 0o644); err != nil {
		return fmt.Errorf("write the Maven project: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+into)
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, sigKill) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = spawn(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("fetch Kafka %s: %s: %w\n%s", version, strings.Join(cmd.Args, " "), err, lastLines(out.Bytes(), 20))
	}
	for _, want := range []string{"kafka_2.13-" + version + ".jar", "zookeeper-*.jar", "slf4j-reload4j-*.jar"} {
		if found, _ := filepath.Glob(filepath.Join(into, want)); len(found) == 0 {
			return fmt.Errorf("fetch Kafka %s: Maven ended well but left no %s in %s", version, want, into)
		}
	}
	return nil
}
