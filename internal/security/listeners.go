package security

import (
	"crypto/tls"
	"maps"
	"slices"
	"strings"

	"kstate/model"
)

// ListenerPrefix is what the settings of one listener begin with.
func ListenerPrefix(listener string) string {
	return "listener.name." + strings.ToLower(listener) + "."
}

// ForListener are a broker's settings as they hold for one of its listeners: those
// that begin with its prefix outrank those without.
// Kafka: AbstractConfig.valuesWithPrefixOverride.
func ForListener(settings map[string]string, listener string) map[string]string {
	out, prefix := map[string]string{}, ListenerPrefix(listener)
	maps.Copy(out, settings)
	for name, value := range settings {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			out[rest] = value
		}
	}
	return out
}

// ToListener are the settings, those of a client, with which a broker calls that
// listener of the others: it authenticates by the mechanism that is used between
// brokers, or, where only another one has a username there, by that.
// Kafka: ChannelBuilders.clientChannelBuilder.
func ToListener(settings map[string]string, listener string, p Protocol) map[string]string {
	out := ForListener(settings, listener)
	out["security.protocol"] = string(p)
	delete(out, "sasl.mechanism")
	mechanisms := Words(out["sasl.enabled.mechanisms"])
	if m := strings.TrimSpace(out["sasl.mechanism.inter.broker.protocol"]); m != "" {
		out["sasl.mechanism"] = m
		mechanisms = append([]string{m}, mechanisms...)
	}
	for _, m := range mechanisms {
		text, ok := out[strings.ToLower(m)+".sasl.jaas.config"]
		if !ok {
			continue
		}
		if j, err := ParseJAAS(text); err == nil && j.Options["username"] != "" {
			out["sasl.mechanism"], out["sasl.jaas.config"] = m, text
			break
		}
	}
	return out
}

// Words are the words of a setting with commas between them.
func Words(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// ServerTLS is the TLS configuration of a listener: its certificate
// (ssl.keystore.*), and whether clients show one too (ssl.client.auth) and whom
// it trusts then (ssl.truststore.*). Kafka: DefaultSslEngineFactory.
func ServerTLS(settings map[string]string) (*tls.Config, error) {
	config, err := versions(settings)
	if err != nil {
		return nil, err
	}
	pair, err := KeyStore(settings)
	switch {
	case err != nil:
		return nil, err
	case pair == nil:
		return nil, bad("ssl.keystore.location", "a listener with TLS needs a certificate: give it (with ssl.keystore.type=PEM), or ssl.keystore.certificate.chain and ssl.keystore.key")
	}
	config.Certificates = []tls.Certificate{*pair}
	if config.ClientCAs, err = TrustStore(settings); err != nil {
		return nil, err
	}
	switch how := strings.ToLower(strings.TrimSpace(settings["ssl.client.auth"])); how {
	case "none", "":
	case "requested":
		config.ClientAuth = tls.VerifyClientCertIfGiven
	case "required":
		config.ClientAuth = tls.RequireAndVerifyClientCert
	default:
		return nil, bad("ssl.client.auth", "%q is not none, requested or required", how)
	}
	if rules := strings.TrimSpace(settings["ssl.principal.mapping.rules"]); config.ClientAuth != tls.NoClientCert && rules != "" && !strings.EqualFold(rules, "DEFAULT") {
		return nil, bad("ssl.principal.mapping.rules", "only DEFAULT is followed, the whole distinguished name")
	}
	return config, nil
}

// ciphers reads ssl.cipher.suites, which matter up to TLS 1.2.
func ciphers(config *tls.Config, settings map[string]string) error {
	for _, name := range Words(settings["ssl.cipher.suites"]) {
		i := slices.IndexFunc(tls.CipherSuites(), func(c *tls.CipherSuite) bool { return c.Name == name })
		if i < 0 {
			return bad("ssl.cipher.suites", "%q is unknown here, or not safe", name)
		}
		config.CipherSuites = append(config.CipherSuites, tls.CipherSuites()[i].ID)
	}
	return nil
}

// Redacted is a setting's value as it may be shown.
func Redacted(name, value string) string {
	if model.IsSecret(name) {
		return "[hidden]"
	}
	return value
}
