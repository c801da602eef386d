package main

import (
	"fmt"
	"io"
	"time"

	"kstate/internal/lab/zkserver"
	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

// forkReadRate is how many znodes a second a copy reads unless --read-rate says
// otherwise: the cluster has better things to do.
const forkReadRate = 10000

// forkFlags say how to reach the cluster that --fork copies; they are those of
// every live cluster.
func forkFlags() []flag {
	var out []flag
	for _, f := range zookeeperFlags() {
		switch f.name {
		case "zookeeper":
			continue
		case "read-rate":
			f.usage = fmt.Sprintf("read at most N znodes a second (default %d; 0: no bound)", forkReadRate)
		}
		f.usage = "of --fork: " + f.usage
		out = append(out, f)
	}
	return out
}

// forkMisuse refuses flags that have no meaning together.
func forkMisuse(inv *invocation) error {
	if inv.has("fork") {
		if inv.has("tree") {
			return inv.misuse("--fork and --tree: give one of them")
		}
		if inv.has("brokers") {
			return inv.misuse("--fork and --brokers: the brokers are those of the cluster that is copied")
		}
		return nil
	}
	for _, f := range forkFlags() {
		if inv.has(f.name) {
			return inv.misuse("--%s says how to reach the cluster that --fork copies: there is no --fork", f.name)
		}
	}
	return nil
}

// fork reads a live cluster's tree, and says of what and when it is a copy. The
// connection refuses every write, and is closed before the lab starts. Secrets do
// not come along.
func fork(inv *invocation) (znodes []zkserver.Znode, source string, err error) {
	opt, err := optionsOf(inv, "fork")
	if err != nil {
		return nil, "", err
	}
	opt.ReadRate = inv.number("read-rate", forkReadRate)
	conn, err := dialFor(inv, opt)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	if err := requireCluster(inv.ctx, conn); err != nil {
		return nil, "", err
	}
	began := time.Now()
	f, err := readLive(inv, conn, progressTo(inv.console.err, conn.Address().String()))
	if err != nil {
		return nil, "", err
	}
	secrets := f.DropSecrets()
	znodes = labZnodes(f)
	// The screen keeps the mark and the time where there is no room for the address (ui/status.go).
	source = fmt.Sprintf("FORK of %s at %s", conn.Address(), began.UTC().Format("2006-01-02 15:04:05Z"))
	fmt.Fprintf(inv.console.err, "kstate: %s: %d znodes read in %s%s\n", source, len(f.Znodes), time.Since(began).Round(time.Millisecond), withoutSecrets(secrets))
	return znodes, source, unreadable(inv.console.err, f)
}

// progressTo writes how far a read has come, once a second.
func progressTo(w io.Writer, source string) func(zkwatch.Progress) {
	next := time.Now().Add(time.Second)
	return func(p zkwatch.Progress) {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(time.Second)
			fmt.Fprintf(w, "kstate: reading %s: %d of %d znodes found so far, %d kB\n", source, p.Read, p.Found, p.Bytes/1000)
		}
	}
}

// mostUnreadable is how many znodes that may not be read are named one by one.
const mostUnreadable = 10

// unreadable names what the copy lacks, and is an error when that is what a
// controller cannot do without.
func unreadable(w io.Writer, f *tree.File) error {
	n := 0
	for i := range f.Znodes {
		z := &f.Znodes[i]
		if z.Error == "" {
			continue
		}
		if n++; n <= mostUnreadable {
			fmt.Fprintf(w, "kstate: %s is not in the copy: %s\n", tree.Printable(z.Path), z.Error)
		}
		path, _ := model.StripChroot(f.Chroot, z.Path)
		kind := model.ParsePath(path).Kind
		switch {
		case path == "/", path == model.BrokersPath, // what is below is not known then
			kind == model.BrokerIDsZnode, kind == model.TopicsZnode:
			return unknown(fmt.Errorf("%s cannot be read: without it the copy would not be the cluster", z.Path))
		}
	}
	if n > mostUnreadable {
		fmt.Fprintf(w, "kstate: and %d znodes more\n", n-mostUnreadable)
	}
	return nil
}
