package tidy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "kstate"

// source is one Go file of the tree.
type source struct {
	path string // from the root, with slashes
	text []byte
	ast  *ast.File
}

func (s source) pkg() string   { return path.Dir(s.path) }
func (s source) test() bool    { return strings.HasSuffix(s.path, "_test.go") }
func (s source) lines() int    { return bytes.Count(s.text, []byte("\n")) }
func (s source) isDoc() bool   { return path.Base(s.path) == "doc.go" }
func (s source) machine() bool { return ast.IsGenerated(s.ast) }

var fset = token.NewFileSet()

// at is path:line of a position.
func at(p token.Pos) string {
	pos := fset.Position(p)
	return pos.Filename + ":" + itoa(pos.Line)
}

// root is the folder of go.mod: tests run in the folder of their package.
var root = filepath.Join("..", "..")

// goFiles are the Go files that the go command would take for packages,
// parsed, in order of path.
var goFiles = sync.OnceValues(func() ([]source, error) {
	var out []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f, err := parser.ParseFile(fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, source{rel, text, f})
		return nil
	})
	return out, err
})

func files(t *testing.T) []source {
	t.Helper()
	fs, err := goFiles()
	if err != nil {
		t.Fatalf("read the Go files of the tree: %v", err)
	}
	return fs
}

// tracked are the paths that git has, or, in a tree without git, all files.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	}
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, relErr := filepath.Rel(root, p)
			if relErr != nil {
				return relErr
			}
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatalf("list the files of the tree: %v", err)
	}
	slices.Sort(out)
	return out
}
