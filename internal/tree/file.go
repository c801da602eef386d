package tree

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"kstate/model"
)

// Format is the number of the tree file format that Load reads and Write writes.
const Format = 1

// File is a ZooKeeper tree as a file holds it.
type File struct {
	Chroot     string // "" for none, else /a/b
	Config     Config
	DefaultACL []ACL   // of every znode that names none
	Znodes     []Znode // by path, each path once, parents included

	// Outside is how many of Znodes lie neither on nor above nor below Chroot:
	// a survey does not see them, a ZooKeeper server loaded from the file does.
	Outside int
}

// Znode is one znode of a file.
type Znode struct {
	Path      string // absolute in the ensemble, the chroot included
	Data      []byte // nil: null data
	Ephemeral bool   // belongs to some live session
	Version   int32  // data version
	Czxid     int64  // zxid of its creation: a broker's epoch
	ACL       []ACL
	Error     string // reading this znode fails with that, as NoAuth
	Implied   bool   // not in the file: a parent that was missing
}

// ACL is one entry of an access control list; Perms holds some of the letters
// cdrwa.
type ACL struct {
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
	Perms  string `json:"perms"`
}

// Config is what ZooKeeper does not show of a cluster.
type Config struct {
	ControllerID                int32 // of the broker that takes over; -1 when not said
	DeleteTopicEnable           bool
	UncleanLeaderElectionEnable bool
	InterBrokerProtocol         string
	InterBrokerListener         string
}

// DefaultConfig is what a file that says nothing means, and what is taken for a
// live cluster unless the operator says otherwise.
func DefaultConfig() Config {
	return Config{ControllerID: -1, DeleteTopicEnable: true, InterBrokerProtocol: "3.9", InterBrokerListener: "PLAINTEXT"}
}

// configJSON is the config object: all fields are optional.
type configJSON struct {
	ControllerID                *int32  `json:"controller_id,omitempty"`
	DeleteTopicEnable           *bool   `json:"delete_topic_enable,omitempty"`
	UncleanLeaderElectionEnable *bool   `json:"unclean_leader_election_enable,omitempty"`
	InterBrokerProtocol         *string `json:"ibp,omitempty"`
	InterBrokerListener         *string `json:"inter_broker_listener,omitempty"`
}

func (j configJSON) config() Config {
	c := DefaultConfig()
	orDefault(&c.ControllerID, j.ControllerID)
	orDefault(&c.DeleteTopicEnable, j.DeleteTopicEnable)
	orDefault(&c.UncleanLeaderElectionEnable, j.UncleanLeaderElectionEnable)
	orDefault(&c.InterBrokerProtocol, j.InterBrokerProtocol)
	orDefault(&c.InterBrokerListener, j.InterBrokerListener)
	return c
}

func orDefault[T any](field *T, given *T) {
	if given != nil {
		*field = *given
	}
}

// znodeJSON is an entry of znodes.
type znodeJSON struct {
	Path      string  `json:"path"`
	Data      *string `json:"data,omitempty"`
	DataB64   *string `json:"data_b64,omitempty"`
	Ephemeral bool    `json:"ephemeral,omitempty"`
	Version   int32   `json:"version,omitempty"`
	Czxid     int64   `json:"czxid,omitempty"`
	ACL       []ACL   `json:"acl,omitempty"`
	Error     string  `json:"error,omitempty"`
}

func (j *znodeJSON) znode() (Znode, error) {
	z := Znode{Path: j.Path, Ephemeral: j.Ephemeral, Version: j.Version, Czxid: j.Czxid, ACL: j.ACL, Error: j.Error}
	if j.Path == "" {
		return z, errors.New(`field path is missing or empty`)
	}
	if err := checkPath(z.Path); err != nil {
		return z, fmt.Errorf("field path: %w", err)
	}
	switch {
	case j.Data != nil && j.DataB64 != nil:
		return z, errors.New(`it has both data and data_b64: keep one`)
	case j.Data != nil:
		z.Data = []byte(*j.Data)
	case j.DataB64 != nil:
		data, err := base64.StdEncoding.DecodeString(*j.DataB64)
		if err != nil {
			return z, fmt.Errorf("field data_b64: %w", err)
		}
		z.Data = data
	}
	return z, nil
}

// checkPath: ZooKeeper takes absolute paths without empty or dot components.
func checkPath(path string) error {
	switch {
	case path == "/":
		return nil
	case path == "" || path[0] != '/':
		return fmt.Errorf("%q is not an absolute path", path)
	case strings.HasSuffix(path, "/"):
		return fmt.Errorf("%q ends in a slash", path)
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%q has the component %q, which ZooKeeper refuses", path, part)
		}
	}
	return nil
}

// Load reads a tree file. Errors name the znode and the field. Read leniently:
// unknown fields are passed over, znodes come in any order, missing parents are
// created with null data (Implied), znodes outside the chroot stay in the file
// (Outside). An error: a torn file, text behind its end, another format number,
// a path twice, a path that ZooKeeper would refuse, data and data_b64 in one
// znode, a field of the wrong type.
func Load(r io.Reader) (*File, error) {
	l := loader{dec: json.NewDecoder(r), file: &File{Config: DefaultConfig()}}
	if err := l.root(); err != nil {
		return nil, err
	}
	if err := l.finish(); err != nil {
		return nil, err
	}
	return l.file, nil
}

// loader reads the top level token by token, so that no more than one znode of
// text is in memory.
type loader struct {
	dec       *json.Decoder
	file      *File
	hasFormat bool
	hasZnodes bool
}

func (l *loader) root() error {
	if tok, err := l.dec.Token(); err != nil {
		return l.broken("", err)
	} else if tok != json.Delim('{') {
		return errors.New("it is no tree file: the text is not a JSON object")
	}
	for l.dec.More() {
		tok, err := l.dec.Token()
		if err != nil {
			return l.broken("", err)
		}
		if err := l.field(tok.(string)); err != nil {
			return err
		}
	}
	if _, err := l.dec.Token(); err != nil {
		return l.broken("", err)
	}
	if _, err := l.dec.Token(); err != io.EOF {
		return fmt.Errorf("there is more text after the end of the tree, at byte %d", l.dec.InputOffset())
	}
	return nil
}

// field reads the value of one field of the top level.
func (l *loader) field(name string) error {
	switch name {
	case "format":
		var format json.Number
		if err := l.dec.Decode(&format); err != nil {
			return l.broken("field format: ", err)
		}
		if format != "1" {
			return fmt.Errorf("it has format %s: this kstate reads format %d", format, Format)
		}
		l.hasFormat = true
	case "chroot":
		return l.broken("field chroot: ", l.dec.Decode(&l.file.Chroot))
	case "config":
		var c configJSON
		if err := l.dec.Decode(&c); err != nil {
			return l.broken("field config: ", err)
		}
		l.file.Config = c.config()
	case "default_acl":
		return l.broken("field default_acl: ", l.dec.Decode(&l.file.DefaultACL))
	case "znodes":
		l.hasZnodes = true
		return l.znodes()
	default:
		var skipped json.RawMessage
		return l.broken("field "+name+": ", l.dec.Decode(&skipped))
	}
	return nil
}

func (l *loader) znodes() error {
	tok, err := l.dec.Token()
	if err != nil {
		return l.broken("field znodes: ", err)
	}
	if tok != json.Delim('[') {
		return errors.New("field znodes is not an array")
	}
	for l.dec.More() {
		var j znodeJSON
		err := l.dec.Decode(&j)
		if isTorn(err) {
			return l.broken("", err)
		}
		var z Znode
		if err == nil {
			z, err = j.znode()
		} else {
			err = typeError(err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.entry(j.Path), err)
		}
		l.file.Znodes = append(l.file.Znodes, z)
	}
	_, err = l.dec.Token()
	return l.broken("field znodes: ", err)
}

// entry names the znode at hand, also when it has no path yet.
func (l *loader) entry(path string) string {
	if path != "" {
		return fmt.Sprintf("znode %q (entry %d)", path, len(l.file.Znodes)+1)
	}
	return fmt.Sprintf("znode entry %d", len(l.file.Znodes)+1)
}

func isTorn(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// typeError says in a reader's words what json says in Go's.
func typeError(err error) error {
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if bad.Field == "" {
			return fmt.Errorf("it is a JSON %s, not an object", bad.Value)
		}
		return fmt.Errorf("field %s is a JSON %s, wanted %s", bad.Field, bad.Value, wanted(bad.Type.Kind()))
	}
	return err
}

func wanted(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return "an integer of 32 bits"
	case reflect.Int64:
		return "an integer of 64 bits"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// broken turns an error of the JSON decoder into one that says where the file is
// broken; nil stays nil.
func (l *loader) broken(where string, err error) error {
	if err == nil {
		return nil
	}
	if !isTorn(err) {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("%sit is no JSON at byte %d: %w", where, syntax.Offset, err)
		}
		return fmt.Errorf("%s%w", where, typeError(err))
	}
	n := len(l.file.Znodes)
	if n == 0 {
		return fmt.Errorf("%sthe file is torn: it ends before its first znode", where)
	}
	return fmt.Errorf("%sthe file is torn: it ends after znode %d, %s; write it again", where, n, l.file.Znodes[n-1].Path)
}

// finish checks what can only be checked at the end, since fields come in any
// order, and puts the znodes in order.
func (l *loader) finish() error {
	f := l.file
	if !l.hasFormat {
		return fmt.Errorf("it is no tree file: it has no field format (this kstate reads format %d)", Format)
	}
	if !l.hasZnodes {
		return errors.New("it has no field znodes")
	}
	chroot, err := cleanChroot(f.Chroot)
	if err != nil {
		return fmt.Errorf("field chroot: %w", err)
	}
	f.Chroot = chroot
	return f.arrange()
}

func cleanChroot(chroot string) (string, error) {
	if chroot == "" || chroot == "/" {
		return "", nil
	}
	chroot = strings.TrimSuffix(chroot, "/")
	return chroot, checkPath(chroot)
}

// arrange sorts the znodes, adds the parents that are missing, and counts those
// outside the chroot.
func (f *File) arrange() error {
	byPath := func(a, b Znode) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(f.Znodes, byPath) {
		slices.SortStableFunc(f.Znodes, byPath)
	}
	for i := 1; i < len(f.Znodes); i++ {
		if f.Znodes[i].Path == f.Znodes[i-1].Path {
			return fmt.Errorf("znode %q is there twice", f.Znodes[i].Path)
		}
	}
	implied := f.impliedParents()
	slices.SortFunc(implied, byPath)
	f.Znodes = merged(f.Znodes, implied)
	for i := range f.Znodes {
		if !onTheWay(f.Chroot, f.Znodes[i].Path) {
			f.Outside++
		}
	}
	return nil
}

// merged joins two lists by path that have no path in common.
func merged(a, b []Znode) []Znode {
	if len(b) == 0 {
		return a
	}
	out := make([]Znode, 0, len(a)+len(b))
	for _, z := range b {
		n, _ := slices.BinarySearchFunc(a, z.Path, func(z Znode, path string) int { return strings.Compare(z.Path, path) })
		out = append(append(out, a[:n]...), z)
		a = a[n:]
	}
	return append(out, a...)
}

// impliedParents finds the parents that the file does not list. Siblings follow
// each other more often than not, so the last parent seen saves most searches.
func (f *File) impliedParents() []Znode {
	var implied []Znode
	seen := map[string]bool{}
	last := ""
	for i := range f.Znodes {
		path := model.ParentPath(f.Znodes[i].Path)
		for ; path != "" && path != last && !seen[path] && !f.has(path); path = model.ParentPath(path) {
			seen[path] = true
			implied = append(implied, Znode{Path: path, Implied: true})
		}
		if parent := model.ParentPath(f.Znodes[i].Path); parent != "" {
			last = parent
		}
	}
	return implied
}

func (f *File) has(path string) bool {
	_, ok := slices.BinarySearchFunc(f.Znodes, path, func(z Znode, path string) int { return strings.Compare(z.Path, path) })
	return ok
}

// onTheWay: the path is the chroot, above it, or below it.
func onTheWay(chroot, path string) bool {
	if _, ok := model.StripChroot(chroot, path); ok {
		return true
	}
	_, above := model.StripChroot(path, chroot)
	return above || path == "/"
}
