package tree

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func load(text string) (*File, error) { return Load(strings.NewReader(text)) }

func TestLoadReadsWhatTheFormatSays(t *testing.T) {
	f, err := load(`{"what": "ignored", "format": 1, "chroot": "/a/b/", "later": {"x": [1, 2]},
		"config": {"controller_id": 2, "delete_topic_enable": false},
		"znodes": [
			{"path": "/a/b/z", "data": "ü", "version": 3, "czxid": 71, "ephemeral": true, "unknown": 1},
			{"path": "/a/b/c/d", "data_b64": "AP8="},
			{"path": "/a/b/empty", "data": ""},
			{"path": "/other/x", "error": "NoAuth", "acl": [{"scheme": "world", "id": "anyone", "perms": "r"}]}],
		"expect": {"anything": null}}`)
	if err != nil {
		t.Fatal(err)
	}
	config := DefaultConfig()
	config.ControllerID, config.DeleteTopicEnable = 2, false
	equal(t, "chroot", f.Chroot, "/a/b")
	equal(t, "config", f.Config, config)
	equal(t, "outside the chroot", f.Outside, 2)
	var have []string
	for _, z := range f.Znodes {
		have = append(have, fmt.Sprintf("%s %q null=%t eph=%t v%d c%d %s implied=%t", z.Path, z.Data, z.Data == nil, z.Ephemeral, z.Version, z.Czxid, z.Error, z.Implied))
	}
	equal(t, "znodes", have, []string{
		`/ "" null=true eph=false v0 c0  implied=true`,
		`/a "" null=true eph=false v0 c0  implied=true`,
		`/a/b "" null=true eph=false v0 c0  implied=true`,
		`/a/b/c "" null=true eph=false v0 c0  implied=true`,
		`/a/b/c/d "\x00\xff" null=false eph=false v0 c0  implied=false`,
		`/a/b/empty "" null=false eph=false v0 c0  implied=false`,
		`/a/b/z "ü" null=false eph=true v3 c71  implied=false`,
		`/other "" null=true eph=false v0 c0  implied=true`,
		`/other/x "" null=true eph=false v0 c0 NoAuth implied=false`,
	})
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	znodes := func(entries string) string { return `{"format": 1, "chroot": "", "znodes": [` + entries + `]}` }
	for _, c := range []struct{ text, want string }{
		{``, "the file is torn: it ends before its first znode"},
		{`[1]`, "not a JSON object"},
		{`hello`, "no JSON at byte 1"},
		{`{"format": 2, "znodes": []}`, "it has format 2: this kstate reads format 1"},
		{`{"format": "x"}`, "field format: "},
		{`{"znodes": []}`, "it has no field format"},
		{`{"format": 1}`, "it has no field znodes"},
		{`{"format": 1, "znodes": {}}`, "field znodes is not an array"},
		{`{"format": 1, "znodes": []} {}`, "more text after the end"},
		{`{"format": 1, "chroot": 7, "znodes": []}`, "field chroot: "},
		{`{"format": 1, "chroot": "a", "znodes": []}`, `field chroot: "a" is not an absolute path`},
		{`{"format": 1, "config": {"delete_topic_enable": "yes"}, "znodes": []}`, "field config: field delete_topic_enable is a JSON string, wanted true or false"},
		{`{"format": 1, "znodes": [{"path": "/a"}, {"path": "/b", "da`, "the file is torn: it ends after znode 1, /a"},
		{`{"format": 1, "znodes": [{"path": "/a"}`, "the file is torn: it ends after znode 1, /a"},
		{znodes(`{"path": "/a"}, 7`), "znode entry 2: it is a JSON number, not an object"},
		{znodes(`{"data": "x"}`), "znode entry 1: field path is missing or empty"},
		{znodes(`{"path": "a"}`), `znode "a" (entry 1): field path: "a" is not an absolute path`},
		{znodes(`{"path": "/a/"}`), "ends in a slash"},
		{znodes(`{"path": "/a//b"}`), `the component ""`},
		{znodes(`{"path": "/a/../b"}`), `the component ".."`},
		{znodes(`{"path": "/a", "data": "x", "data_b64": "eA=="}`), `znode "/a" (entry 1): it has both data and data_b64`},
		{znodes(`{"path": "/a", "data_b64": "*"}`), `znode "/a" (entry 1): field data_b64: illegal base64`},
		{znodes(`{"path": "/a", "version": "x"}`), `znode "/a" (entry 1): field version is a JSON string, wanted an integer of 32 bits`},
		{znodes(`{"path": "/a"}, {"path": "/b"}, {"path": "/a"}`), `znode "/a" is there twice`},
	} {
		_, err := load(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n  said %v\n  want %s", c.text, err, c.want)
		}
	}
}

func TestWriteIsReadBackTheSame(t *testing.T) {
	for _, path := range reportFiles(t) {
		f := loadFile(t, path)
		for i := range f.Znodes {
			f.Znodes[i].Implied = false // what was implied is written
		}
		var b strings.Builder
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
		back, err := load(b.String())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if !reflect.DeepEqual(back, f) {
			t.Errorf("%s does not come back as it was written", path)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"format": 1, "chroot": "/a", "znodes": [{"path": "/a/brokers/ids/1", "data": "{}", "ephemeral": true}]}`)
	f.Add(`{"format": 1, "znodes": [{"path": "/brokers/topics/t", "data": "{\"partitions\":{\"0\":[1]}}"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := load(text)
		if err != nil {
			return
		}
		var b strings.Builder
		s := SurveyFile(file)
		if err := BuildState(s, "tree", "fuzz").WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		if err := Write(&b, file); err != nil {
			t.Fatal(err)
		}
	})
}
