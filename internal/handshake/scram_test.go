package handshake

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kstate/internal/security"
)

// The exchange of RFC 7677 section 3.
func TestScramOfTheRFC(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	known, err := Derive(security.ScramSHA256, "pencil", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	x := newScram(security.ScramSHA256, func(user string) (Credential, bool, error) { return known, user == "user", nil })
	x.nonce = func() string { return "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0" }
	first, done, err := x.Next([]byte("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"))
	if want := "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"; string(first) != want || done || err != nil {
		t.Fatalf("%s, %v, %v", first, done, err)
	}
	last, done, err := x.Next([]byte("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="))
	if want := "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="; string(last) != want || !done || err != nil || x.User() != "user" {
		t.Fatalf("%s, %v, %v", last, done, err)
	}
}

// talk lets a client authenticate; the error is that of the side that failed first.
func talk(m sasl.Mechanism, x Exchange) error {
	session, message, err := m.Authenticate(context.Background(), "localhost:1")
	for err == nil {
		var answer []byte
		var over, done bool
		if answer, over, err = x.Next(message); err != nil {
			return err
		}
		if done, message, err = session.Challenge(answer); done || over {
			return err
		}
	}
	return err
}

func TestEveryMechanismWithARealClient(t *testing.T) {
	l := &Listener{Mechanisms: []security.Mechanism{security.Plain, security.ScramSHA256, security.ScramSHA512}, users: map[string]string{"a,n=n": "secret"}, credentials: func(user string, mechanism security.Mechanism) (Credential, bool, error) {
		c, err := Derive(mechanism, "secret", []byte("salt"), 4096)
		if err == nil {
			c, err = DecodeCredential(c.Encode())
		}
		return c, user == "a,n=n", err
	}}
	clients := func(user, password string) []sasl.Mechanism {
		return []sasl.Mechanism{plain.Auth{User: user, Pass: password}.AsMechanism(),
			scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), scram.Auth{User: user, Pass: password}.AsSha512Mechanism()}
	}
	for _, who := range []struct {
		user, password string
		fine           bool
	}{{"a,n=n", "secret", true}, {"a,n=n", "wrong", false}, {"bob", "secret", false}} {
		for _, m := range clients(who.user, who.password) {
			x, ok := l.Begin(m.Name())
			if !ok {
				t.Fatalf("%s is not offered", m.Name())
			}
			err := talk(m, x)
			if _, refused := errors.AsType[*Refusal](err); who.fine != (err == nil) || refused == who.fine {
				t.Errorf("%s as %s with %s: %v", m.Name(), who.user, who.password, err)
			}
			if who.fine != (x.User() == who.user) && m.Name() == "PLAIN" {
				t.Errorf("%s: authenticated as %q", m.Name(), x.User())
			}
		}
	}
	if _, ok := l.Begin("GSSAPI"); ok {
		t.Error("GSSAPI was begun")
	}
}

func TestHostileScramMessages(t *testing.T) {
	c, err := Derive(security.ScramSHA256, "secret", []byte("salt"), 4096)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *scramExchange {
		x := newScram(security.ScramSHA256, func(string) (Credential, bool, error) { return c, true, nil })
		x.nonce = func() string { return "S" }
		return x
	}
	for _, m := range []string{"", "n", "n,,", "n,,n=a", "n,,n=a,r=", "p=x,,n=a,r=b", "n,b,n=a,r=b", "n,,m=x,n=a,r=b", "n,,n=a=,r=b", "n,,n=a,r=b,tokenauth=true", "n,a=bob,n=a,r=b", "\x00\xff"} {
		if _, _, err := begin().Next([]byte(m)); err == nil {
			t.Errorf("first message %q was taken", m)
		}
	}
	for _, m := range []string{"", "c=biws,r=bS", "c=biws,r=bS,p=", "c=biws,r=bS,p=AAAA", "c=biws,r=b,p=AAAA", "c=,r=bS,p=AAAA", ",p=", "c=biws,r=bS,p=!"} {
		x := begin()
		if _, _, err := x.Next([]byte("n,,n=a,r=b")); err != nil {
			t.Fatal(err)
		}
		if _, done, err := x.Next([]byte(m)); err == nil || done {
			t.Errorf("last message %q was taken", m)
		}
		if _, done, err := x.Next([]byte("c=biws,r=bS,p=AAAA")); err == nil || done {
			t.Error("a third message was taken")
		}
	}
	for _, text := range []string{"", "salt=,stored_key=,server_key=,iterations=", "salt=YQ==,stored_key=YQ==,server_key=YQ==,iterations=0", "salt=YQ==,stored_key=YQ==,server_key=YQ==", "x"} {
		if _, err := DecodeCredential(text); err == nil {
			t.Errorf("credential %q was taken", text)
		}
	}
}
