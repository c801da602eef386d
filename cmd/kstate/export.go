package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kstate/internal/tree"
	"kstate/model"
	"kstate/zkwatch"
)

func exportCommand() command {
	return command{
		name:    "export",
		summary: "write the tree to a file, for --tree",
		detail: `Every znode under the chroot is written but delegation tokens; settings that are secrets (passwords, SCRAM credentials, JAAS, keys) are left out of theirs.
Znodes that may not be read are listed as such. From a tree file it writes the same tree again, sorted and with its parents.`,
		flags: append(sourceFlags(), flag{name: "out", kind: isFile, value: "FILE", usage: "the file to write (- is standard output); an existing one is replaced when all is written"}),
		run: func(inv *invocation) error {
			if !inv.has("out") {
				return inv.misuse("where to? Give --out FILE")
			}
			f, err := readAll(inv)
			if err != nil {
				return err
			}
			secrets := f.DropSecrets()
			if inv.text("out") == "-" {
				return tree.Write(inv.console.out, f)
			}
			if err := writeFile(inv.text("out"), func(w io.Writer) error { return tree.Write(w, f) }); err != nil {
				return err
			}
			fmt.Fprintf(inv.console.err, "kstate: %d znodes written to %s%s\n", len(f.Znodes), inv.text("out"), withoutSecrets(secrets))
			return nil
		},
	}
}

// withoutSecrets is what a message adds about the znodes that held secrets.
func withoutSecrets(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; secrets of %d znodes left out", n)
}

func readAll(inv *invocation) (*tree.File, error) {
	live, file := inv.has("zookeeper"), inv.has("tree")
	switch {
	case live == file:
		return nil, inv.misuse("which cluster? Give one of --zookeeper and --tree")
	case file:
		return loadTree(inv)
	}
	conn, err := dial(inv)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return readLive(inv, conn, nil)
}

// readLive reads everything under the chroot.
func readLive(inv *invocation, conn *zkwatch.Conn, progress func(zkwatch.Progress)) (*tree.File, error) {
	if err := conn.RequireKafka(inv.ctx); err != nil {
		return nil, liveError(err)
	}
	znodes, err := conn.ReadTree(inv.ctx, nil, progress)
	if err != nil {
		return nil, liveError(err)
	}
	return fileOf(conn.Address().Chroot, znodes), nil
}

// fileOf is a tree file of znodes whose paths are without the chroot.
func fileOf(chroot string, znodes []zkwatch.Znode) *tree.File {
	f := &tree.File{Chroot: chroot, Config: tree.DefaultConfig(), Znodes: make([]tree.Znode, len(znodes))}
	for i := range znodes {
		z := znodes[i].Model()
		f.Znodes[i] = tree.Znode{Path: model.JoinChroot(chroot, z.Path), Data: z.Data, Ephemeral: z.Stat.EphemeralOwner != 0,
			Version: z.Stat.Version, Czxid: z.Stat.Czxid, Error: z.Err}
		if z.Err == model.CodeNoAuth.String() {
			f.Znodes[i].Error = "NoAuth" // as tree files say it
		}
	}
	return f
}

// writeFile replaces a file only when all of it could be written.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer os.Remove(file.Name()) // when it was renamed, there is nothing to remove
	err = write(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w", name, err)
	}
	return nil
}
