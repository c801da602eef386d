package handshake

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"kstate/internal/security"
)

// Credential is what a server keeps of a SCRAM user's password. It is a secret.
type Credential struct {
	Salt, StoredKey, ServerKey []byte
	Iterations                 int32
}

// Kafka: ScramMechanism, ScramCredentialUtils.
const (
	MinIterations = 4096
	MaxIterations = 16384
)

var hashes = map[security.Mechanism]func() hash.Hash{security.ScramSHA256: sha256.New, security.ScramSHA512: sha512.New}

// NewCredential derives the credential of a password that was salted and hashed
// already. RFC 5802 section 3.
func NewCredential(mechanism security.Mechanism, salt, saltedPassword []byte, iterations int32) Credential {
	h := hashes[mechanism]
	stored := h()
	stored.Write(mac(h, saltedPassword, "Client Key"))
	return Credential{Salt: salt, StoredKey: stored.Sum(nil), ServerKey: mac(h, saltedPassword, "Server Key"), Iterations: iterations}
}

// Derive makes the credential of a password.
func Derive(mechanism security.Mechanism, password string, salt []byte, iterations int32) (Credential, error) {
	h := hashes[mechanism]
	if h == nil {
		return Credential{}, fmt.Errorf("%s is not one of the SCRAM kind", mechanism)
	}
	salted, err := pbkdf2.Key(h, password, salt, int(iterations), h().Size())
	if err != nil {
		return Credential{}, err
	}
	return NewCredential(mechanism, salt, salted, iterations), nil
}

// Encode writes a credential as it stands in ZooKeeper.
// Kafka: ScramCredentialUtils.credentialToString.
func (c Credential) Encode() string {
	b64 := base64.StdEncoding.EncodeToString
	return "salt=" + b64(c.Salt) + ",stored_key=" + b64(c.StoredKey) + ",server_key=" + b64(c.ServerKey) + ",iterations=" + strconv.Itoa(int(c.Iterations))
}

// DecodeCredential reads Encode's form. Kafka: ScramCredentialUtils.credentialFromString.
func DecodeCredential(text string) (Credential, error) {
	bad := errors.New("not a SCRAM credential: want salt=,stored_key=,server_key=,iterations=")
	fields := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return Credential{}, bad
		}
		fields[name] = value
	}
	if len(fields) != 4 {
		return Credential{}, bad
	}
	var c Credential
	for name, at := range map[string]*[]byte{"salt": &c.Salt, "stored_key": &c.StoredKey, "server_key": &c.ServerKey} {
		b, err := base64.StdEncoding.DecodeString(fields[name])
		if err != nil || len(b) == 0 {
			return Credential{}, bad
		}
		*at = b
	}
	n, err := strconv.ParseInt(fields["iterations"], 10, 32)
	if err != nil || n < 1 {
		return Credential{}, bad
	}
	c.Iterations = int32(n)
	return c, nil
}

// String hides the credential.
func (Credential) String() string { return "[hidden]" }

func mac(h func() hash.Hash, key []byte, text string) []byte {
	m := hmac.New(h, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// scramExchange is the server's side of one SCRAM authentication.
// Kafka: ScramSaslServer.
type scramExchange struct {
	mechanism  security.Mechanism
	credential func(user string) (Credential, bool, error)
	nonce      func() string // the server's part

	user             string
	known            Credential
	header           string // gs2 header of the client
	bare, first, all string // first message of the client without header, answer to it, nonce
	step             int
}

func newScram(mechanism security.Mechanism, credential func(string) (Credential, bool, error)) *scramExchange {
	return &scramExchange{mechanism: mechanism, credential: credential, nonce: func() string {
		var b [24]byte
		_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
		return base64.RawStdEncoding.EncodeToString(b[:])
	}}
}

func (x *scramExchange) Next(message []byte) (answer []byte, done bool, err error) {
	x.step++
	switch x.step {
	case 1:
		answer, err = x.begin(string(message))
		return answer, false, err
	case 2:
		answer, err = x.finish(string(message))
		return answer, err == nil, err
	}
	return nil, false, errors.New("the exchange is over")
}

func (x *scramExchange) User() string { return x.user }

// errCredentials is all that a client learns of why it was refused.
func (x *scramExchange) errCredentials() error {
	return &Refusal{"Authentication failed during authentication due to invalid credentials with SASL mechanism " + string(x.mechanism)}
}

// begin reads client-first-message: n,[a=authzid],n=user,r=nonce[,extensions].
func (x *scramExchange) begin(message string) ([]byte, error) {
	parts := strings.SplitN(message, ",", 3)
	if len(parts) < 3 || parts[0] != "n" && parts[0] != "y" || parts[1] != "" && !strings.HasPrefix(parts[1], "a=") {
		return nil, errors.New("the first message of SCRAM is malformed")
	}
	x.header, x.bare = parts[0]+","+parts[1]+",", parts[2]
	fields := strings.Split(x.bare, ",")
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "n=") || !strings.HasPrefix(fields[1], "r=") || len(fields[1]) == 2 {
		return nil, errors.New("the first message of SCRAM is malformed")
	}
	name, err := unescapeUser(fields[0][2:])
	if err != nil {
		return nil, err
	}
	for _, extension := range fields[2:] {
		if extension == "tokenauth=true" {
			return nil, &Refusal{"delegation tokens are not taken here"}
		}
	}
	if as := strings.TrimPrefix(parts[1], "a="); as != "" && as != fields[0][2:] {
		return nil, &Refusal{"Authentication failed: Client requested an authorization id that is different from username"}
	}
	known, ok, err := x.credential(name)
	switch {
	case err != nil:
		return nil, err
	case !ok, known.Iterations < MinIterations:
		return nil, x.errCredentials()
	}
	x.user, x.known = name, known
	x.all = fields[1][2:] + x.nonce()
	x.first = "r=" + x.all + ",s=" + base64.StdEncoding.EncodeToString(known.Salt) + ",i=" + strconv.Itoa(int(known.Iterations))
	return []byte(x.first), nil
}

// finish reads client-final-message: c=header,r=nonce,p=proof.
func (x *scramExchange) finish(message string) ([]byte, error) {
	at := strings.LastIndex(message, ",p=")
	if at < 0 {
		return nil, errors.New("the last message of SCRAM is malformed")
	}
	without := message[:at]
	proof, err := base64.StdEncoding.DecodeString(message[at+3:])
	fields := strings.Split(without, ",")
	if err != nil || len(fields) < 2 || fields[0] != "c="+base64.StdEncoding.EncodeToString([]byte(x.header)) {
		return nil, errors.New("the last message of SCRAM is malformed")
	}
	if fields[1] != "r="+x.all {
		return nil, x.errCredentials()
	}
	h := hashes[x.mechanism]
	signed := x.bare + "," + x.first + "," + without
	signature := mac(h, x.known.StoredKey, signed)
	if len(proof) != len(signature) {
		return nil, x.errCredentials()
	}
	key := make([]byte, len(proof))
	subtle.XORBytes(key, proof, signature)
	stored := h()
	stored.Write(key)
	if !hmac.Equal(stored.Sum(nil), x.known.StoredKey) {
		return nil, x.errCredentials()
	}
	return []byte("v=" + base64.StdEncoding.EncodeToString(mac(h, x.known.ServerKey, signed))), nil
}

// unescapeUser reads a user name of SCRAM, in which =2C is a comma and =3D an
// equals sign.
func unescapeUser(s string) (string, error) {
	var b strings.Builder
	for s != "" {
		before, after, found := strings.Cut(s, "=")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), nil
		case strings.HasPrefix(after, "2C"):
			b.WriteByte(',')
		case strings.HasPrefix(after, "3D"):
			b.WriteByte('=')
		default:
			return "", errors.New("the user name of SCRAM is malformed")
		}
		s = after[2:]
	}
	return b.String(), nil
}

// plainExchange is the server's side of PLAIN: one message, authorization id,
// name and password with NUL between them. RFC 4616. Kafka: PlainSaslServer.
type plainExchange struct {
	users map[string]string
	user  string
}

func (x *plainExchange) Next(message []byte) (answer []byte, done bool, err error) {
	parts := bytes.Split(message, []byte{0})
	if len(parts) != 3 {
		return nil, false, fmt.Errorf("the message of PLAIN has %d parts, not 3", len(parts))
	}
	as, name, password := string(parts[0]), string(parts[1]), parts[2]
	want, known := x.users[name]
	same := subtle.ConstantTimeCompare([]byte(want), password) == 1
	switch {
	case name == "" || len(password) == 0:
		return nil, false, &Refusal{"Authentication failed: username or password not specified"}
	case !known || !same:
		return nil, false, &Refusal{"Authentication failed: Invalid username or password"}
	case as != "" && as != name:
		return nil, false, &Refusal{"Authentication failed: Client requested an authorization id that is different from username"}
	}
	x.user = name
	return nil, true, nil
}

func (x *plainExchange) User() string { return x.user }
