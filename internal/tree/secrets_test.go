package tree

import (
	"slices"
	"strings"
	"testing"
)

func TestDropSecrets(t *testing.T) {
	const plain = `{"config":{"retention.ms":"1"},"version":1}` // not as kstate writes it: it must stay byte for byte
	f := &File{Chroot: "/kafka", Znodes: []Znode{
		{Path: "/kafka/config/brokers/1", Data: []byte(`{"version":1,"config":{"listener.name.x.ssl.keystore.password":"hunter2","log.retention.ms":"1"}}`)},
		{Path: "/kafka/config/brokers/2", Data: []byte(`{"version":1,"config":{"sasl.jaas.config":"hunter2`)},
		{Path: "/kafka/config/brokers/3", Data: []byte(`{"version":1,"config":{"ssl.keystore.key":"hunter2","x":"password=hunter2"}}`)},
		{Path: "/kafka/config/topics/a", Data: []byte(plain)},
		{Path: "/kafka/config/topics/token", Data: []byte(`{"version":1,"config":{"cleanup.policy":"delete"}}`)},
		{Path: "/kafka/config/users/u", Data: []byte(`{"version":1,"config":{"SCRAM-SHA-256":"salt=hunter2","consumer_byte_rate":"7"}}`)},
		{Path: "/kafka/config/users/v"},
		{Path: "/kafka/delegation_token/token_changes/token_change_0", Data: []byte("hunter2")},
		{Path: "/kafka/delegation_token/tokens"},
		{Path: "/kafka/delegation_token/tokens/t", Data: []byte("hunter2")},
		{Path: "/kafka/brokers/topics/password-resets", Data: []byte(`{"partitions":{}}`)},
	}}
	if n := f.DropSecrets(); n != 6 {
		t.Errorf("%d znodes left out or changed, want 6", n)
	}
	var got []string
	for _, z := range f.Znodes {
		if strings.Contains(string(z.Data), "hunter2") {
			t.Errorf("%s still holds %q", z.Path, z.Data)
		}
		got = append(got, strings.TrimPrefix(z.Path, "/kafka")+" "+string(z.Data))
	}
	want := []string{
		`/config/brokers/1 {"version":1,"config":{"log.retention.ms":"1"}}`,
		`/config/brokers/2 `,
		`/config/brokers/3 {"version":1,"config":{}}`,
		`/config/topics/a ` + plain,
		`/config/topics/token {"version":1,"config":{"cleanup.policy":"delete"}}`,
		`/config/users/u {"version":1,"config":{"consumer_byte_rate":"7"}}`,
		`/config/users/v `, `/delegation_token/tokens `, `/brokers/topics/password-resets {"partitions":{}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("left is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
