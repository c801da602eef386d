package tidy

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	fileLimit     = 600 // lines of a file that is no test and not generated
	functionLimit = 120 // lines of a function in such a file
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestImportDirections(t *testing.T) {
	for _, s := range files(t) {
		r, listed := packages[s.pkg()]
		if !listed {
			t.Errorf("%s: package %s is not listed in internal/tidy/packages_test.go: say there what it may import", s.path, s.pkg())
			continue
		}
		if s.test() {
			continue
		}
		for _, path := range imports(s) {
			if !r.allows(path) {
				t.Errorf("%s imports %s, which %s must not", s.path, path, s.pkg())
			}
		}
	}
}

func imports(s source) []string {
	var out []string
	for _, spec := range s.ast.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has seen that it is a string
		out = append(out, path)
	}
	return out
}

func (r rule) allows(path string) bool {
	if r.anything {
		return true
	}
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.Contains(r.own, own)
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(r.modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		pkg, path string
		want      bool
	}{
		{"engine", "iter", true}, {"engine", "kstate/model", true}, {"engine", "kstate/ui", false}, {"engine", zookeeper, false},
		{"ui", "kstate/engine", false}, {"ui", "kstate/internal/debugger", false}, {"ui", "charm.land/lipgloss/v2/table", true},
		{"internal/lab/broker", "kstate/internal/wire", false}, {"internal/lab/zkserver", "kstate/engine", false}, {"internal/lab/zkserver", zookeeper, false},
		{"internal/wire", "github.com/twmb/franz-go/pkg/kmsg", true}, {"internal/wire", "github.com/twmb/franz-go/pkg/kgo", false},
		{"cmd/kstate", "kstate/engine", true}, {"model", "kstate/engine", false},
	} {
		if got := packages[c.pkg].allows(c.path); got != c.want {
			t.Errorf("%s may import %s: %v, want %v", c.pkg, c.path, got, c.want)
		}
	}
}

// The engine is a function of what it is given: it has no goroutine, channel,
// clock or random source, and its only recover is the one that catches the
// unwinding of an abandoned coroutine, in the file that makes coroutines.
func TestEngineIsPure(t *testing.T) {
	for _, s := range files(t) {
		if s.test() || s.pkg() != "engine" {
			continue
		}
		for _, complaint := range impurities(s) {
			t.Error(complaint)
		}
	}
}

func impurities(s source) []string {
	var out []string
	ban := func(p token.Pos, what string) { out = append(out, at(p)+": "+what+" in the engine") }
	for i, path := range imports(s) {
		for _, b := range engineBans {
			if path == b || strings.HasPrefix(path, b+"/") {
				ban(s.ast.Imports[i].Pos(), "import of "+path)
			}
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			ban(n.Pos(), "go statement")
		case *ast.ChanType:
			ban(n.Pos(), "channel")
		case *ast.SelectStmt:
			ban(n.Pos(), "select")
		case *ast.SendStmt:
			ban(n.Pos(), "send")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				ban(n.Pos(), "receive")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && clock[n.Sel.Name] {
				ban(n.Pos(), "time."+n.Sel.Name)
			}
		}
		return true
	})
	return out
}

// A recover hides bugs: the root of the engine's coroutines has one, and the
// files listed with a reason.
func TestRecoverOnlyWhereListed(t *testing.T) {
	for _, s := range files(t) {
		if s.test() || recovers[s.path] != "" || s.pkg() == "engine" && calls(s.ast, "iter", "Pull") != token.NoPos {
			continue
		}
		if p := calls(s.ast, "", "recover"); p != token.NoPos {
			t.Errorf("%s: recover, neither in the engine's file that calls iter.Pull nor listed in internal/tidy/packages_test.go", at(p))
		}
	}
}

// calls is where a file or function first calls pkg.name, or name for no pkg.
func calls(in ast.Node, pkg, name string) token.Pos {
	found := token.NoPos
	ast.Inspect(in, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found != token.NoPos {
			return found == token.NoPos
		}
		fun := call.Fun
		if ix, ok := fun.(*ast.IndexExpr); ok { // type arguments
			fun = ix.X
		}
		switch f := fun.(type) {
		case *ast.Ident:
			if pkg == "" && f.Name == name {
				found = f.Pos()
			}
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && x.Name == pkg && f.Sel.Name == name {
				found = f.Pos()
			}
		}
		return true
	})
	return found
}

func TestImpuritiesAreFound(t *testing.T) {
	for code, want := range map[string]int{
		"var a = 1": 0,
		"func f(d time.Duration) time.Duration { return d }": 0,
		"func f(a, b int) bool { return a < -b }":            0,
		"func f() { go f() }":                                1,
		"var c chan int":                                     1,
		"func f(c <-chan int) { <-c }":                       2,
		"func f(c chan<- int) { c <- 1 }":                    2,
		"func f() { select {} }":                             1,
		"var t = time.Now()":                                 1,
		"func f() { time.Sleep(1) }":                         1,
		"import \"os/exec\"":                                 1,
		"import \"math/rand/v2\"":                            1,
		"import \"iter\"":                                    0,
	} {
		f, err := parser.ParseFile(fset, "engine/x.go", "package engine\n"+code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := impurities(source{path: "engine/x.go", ast: f}); len(got) != want {
			t.Errorf("%s: %q, want %d complaints", code, got, want)
		}
	}
}

// .ci/run finds the tests that need real Kafka by their name, and makes sure
// there that none is skipped.
func TestNamesOfRealKafkaTests(t *testing.T) {
	for _, s := range files(t) {
		if !s.test() {
			continue
		}
		pkg := "realkafka"
		if s.pkg() == "internal/realkafka" {
			pkg = ""
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "TestReal") && calls(f, pkg, "Require") != token.NoPos {
				t.Errorf("%s: %s needs real Kafka: name it TestReal..., or .ci/run never runs it", at(f.Pos()), f.Name.Name)
			}
		}
	}
}

// .ci/run runs what README.md tells its reader to.
func TestReadmeHasTheTestCommand(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^marker='(.+)'$`).FindSubmatch(script)
	if m == nil {
		t.Fatal(".ci/run names no marker")
	}
	_, after, found := strings.Cut(string(readme), "\n"+string(m[1])+"\n")
	if !found {
		t.Fatalf("README.md lacks the line %s that .ci/run finds the test command by", m[1])
	}
	if !regexp.MustCompile("^\\s*```[a-z]*\n(go test .+\n)+```\n").MatchString(after) {
		t.Errorf("README.md: after %s there is no block of go test commands only", m[1])
	}
}

func TestEveryPackageHasADocFile(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range files(t) {
		documented[s.pkg()] = documented[s.pkg()] || s.isDoc() && s.ast.Doc != nil
		if s.isDoc() {
			continue
		}
		if s.ast.Doc != nil && !s.test() {
			t.Errorf("%s: the package's comment belongs in doc.go", at(s.ast.Doc.Pos()))
		}
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no doc.go that says what it is", pkg)
		}
	}
}

func TestLengths(t *testing.T) {
	for _, s := range files(t) {
		if s.test() || s.machine() {
			continue
		}
		if n := s.lines(); n > fileLimit {
			t.Errorf("%s has %d lines, more than %d: cut it by subject", s.path, n, fileLimit)
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > functionLimit {
				t.Errorf("%s: %s has %d lines, more than %d", at(f.Pos()), f.Name.Name, n, functionLimit)
			}
		}
	}
}

func TestFormatted(t *testing.T) {
	for _, s := range files(t) {
		want, err := format.Source(s.text)
		if err != nil {
			t.Errorf("%s: %v", s.path, err)
		} else if !bytes.Equal(s.text, want) {
			t.Errorf("%s is not formatted as gofmt does", s.path)
		}
	}
}

// strangers are words of where and how the project is made, which say nothing
// to its readers, and addresses that work in one place only. They are written
// in pieces, so that this file is not found.
var strangers = []*regexp.Regexp{
	regexp.MustCompile(`(^|[^\w./-])/wo` + `rk/`),
	regexp.MustCompile(`(^|[^\w./-])/ro` + `ot/(go|\.[a-z]\w*)/`),
	regexp.MustCompile(`(?i)\b(help` + `er|sub-?) ?(ag` + `ents?|sess` + `ions?)\b`),
	regexp.MustCompile(`(?i)\b(sess` + `ion|to` + `ken|con` + `text) (lim` + `it|bud` + `get)\b`),
	regexp.MustCompile(`(?i)\b(work` + `place|common br` + `ief|AI ass` + `istant|language mo` + `dels?|chat` + `bot)\b`),
	regexp.MustCompile(`(?i)\b(anth` + `ropic|open` + `ai|chat` + `gpt|cla` + `ude)\b`),
	regexp.MustCompile(`(?i)\b(proxy\.go` + `lang\.org|repo\d?\.mav` + `en\.apache\.org|deb\.deb` + `ian\.org|registry\.np` + `mjs\.org)\b`),
}

func TestNoStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it reads every file, which takes the race detector minutes")
	}
	for _, name := range tracked(t) {
		if strings.HasPrefix(name, ".git/") || name == "go.sum" { // hashes spell anything
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			continue // gone from the work tree, or no text
		}
		for _, c := range strange(text) {
			t.Errorf("%s:%s", name, c)
		}
	}
}

// strange is line: word for each stranger in a text.
func strange(text []byte) []string {
	var out []string
	for _, re := range strangers {
		for _, m := range re.FindAllIndex(text, -1) {
			line := 1 + bytes.Count(text[:m[0]], []byte("\n"))
			out = append(out, itoa(line)+": "+strconv.Quote(string(text[m[0]:m[1]])))
		}
	}
	return out
}

func TestStrangersAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"read /wo" + "rk/x and (/wo" + "rk/y)": 2, "by a help" + "er agent": 1, "the sub" + "agent": 1, "sess" + "ion limit": 1,
		"the session expires; a session timeout of 6 s": 0, "docs/network/work/x ./work/y": 0, "the tail of a helper's log": 0,
		"context deadline, token bucket": 0, "GET https://proxy.go" + "lang.org/x": 1, "ls /ro" + "ot/.cache/x": 1, "the znode /root/x": 0,
	} {
		if got := strange([]byte(text)); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}
