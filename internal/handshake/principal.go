package handshake

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
)

// dnNames are the attributes that Java writes by name.
// Java: X500Principal.getName (RFC 2253).
var dnNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.9": "STREET",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

type (
	nameSequence []nameSET
	nameSET      []namePart // asn1 takes it for a set by its name's end
	namePart     struct {
		Type  asn1.ObjectIdentifier
		Value asn1.RawValue
	}
)

// SubjectName is the distinguished name of a certificate's subject as Kafka takes
// it for the name of a user: the most specific part first, as in CN=ann,O=example.
// Kafka: SslPrincipalMapper with the rule DEFAULT.
func SubjectName(c *x509.Certificate) string {
	var name nameSequence
	if rest, err := asn1.Unmarshal(c.RawSubject, &name); err != nil || len(rest) > 0 {
		return c.Subject.String()
	}
	var parts []string
	for _, set := range slices.Backward(name) {
		var pairs []string
		for _, p := range set {
			pairs = append(pairs, p.String())
		}
		parts = append(parts, strings.Join(pairs, "+"))
	}
	return strings.Join(parts, ",")
}

// String has a name where Java has one, else numbers and the value's own bytes.
func (p namePart) String() string {
	var text string
	if name := dnNames[p.Type.String()]; name != "" {
		if _, err := asn1.Unmarshal(p.Value.FullBytes, &text); err == nil {
			return name + "=" + escapeName(text)
		}
	}
	return p.Type.String() + "=#" + hex.EncodeToString(p.Value.FullBytes)
}

// escapeName writes a value as Java does, which escapes more than it must.
// Java: AVA.toRFC2253String.
func escapeName(s string) string {
	var b strings.Builder
	for i, r := range s {
		edge := i == 0 || i+len(string(r)) == len(s)
		if strings.ContainsRune(`,=+<>#;"\\`, r) || r == ' ' && edge {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
