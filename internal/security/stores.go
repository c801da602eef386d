package security

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
)

// ClientTLS is the TLS configuration of a client: whom it trusts
// (ssl.truststore.*, else the system's certificates), who it is (ssl.keystore.*,
// optional), which versions (ssl.enabled.protocols), and whether the server's
// name is checked (ssl.endpoint.identification.algorithm, by default https).
// Kafka: DefaultSslEngineFactory.
func ClientTLS(settings map[string]string) (*tls.Config, error) {
	config, err := versions(settings)
	if err != nil {
		return nil, err
	}
	if config.RootCAs, err = TrustStore(settings); err != nil {
		return nil, err
	}
	pair, err := KeyStore(settings)
	if err != nil {
		return nil, err
	}
	if pair != nil {
		config.Certificates = []tls.Certificate{*pair}
	}
	switch algorithm, given := settings["ssl.endpoint.identification.algorithm"]; strings.ToLower(strings.TrimSpace(algorithm)) {
	case "https":
	case "":
		if given {
			withoutNames(config)
		}
	default:
		return nil, bad("ssl.endpoint.identification.algorithm", "%q is neither https nor empty", algorithm)
	}
	return config, nil
}

// withoutNames checks the server's chain, but not whether it is issued to the
// host that was dialled.
func withoutNames(config *tls.Config) {
	roots := config.RootCAs
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(s tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
		return err
	}
}

var tlsVersions = map[string]uint16{"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// versions reads ssl.enabled.protocols: the lowest and the highest count, by
// default TLS 1.2 and 1.3, as in Kafka; and ssl.cipher.suites.
func versions(settings map[string]string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13}
	if err := ciphers(config, settings); err != nil {
		return nil, err
	}
	text := strings.TrimSpace(settings["ssl.enabled.protocols"])
	if text == "" {
		return config, nil
	}
	config.MinVersion, config.MaxVersion = 0, 0
	for name := range strings.SplitSeq(text, ",") {
		v, known := tlsVersions[strings.TrimSpace(name)]
		if !known {
			return nil, bad("ssl.enabled.protocols", "%q is not one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3", strings.TrimSpace(name))
		}
		if config.MinVersion == 0 || v < config.MinVersion {
			config.MinVersion = v
		}
		config.MaxVersion = max(config.MaxVersion, v)
	}
	return config, nil
}

// TrustStore reads ssl.truststore.certificates or ssl.truststore.location; nil
// when neither is given, which means the system's certificates.
func TrustStore(settings map[string]string) (*x509.CertPool, error) {
	const inline, location = "ssl.truststore.certificates", "ssl.truststore.location"
	text, from, err := store(settings, inline, location, "ssl.truststore.type")
	if err != nil || from == "" {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, bad(from, "it holds no certificate in PEM form")
	}
	return pool, nil
}

// KeyStore reads the own certificate and its key: ssl.keystore.certificate.chain
// with ssl.keystore.key, or both out of the file ssl.keystore.location; nil when
// neither is given.
func KeyStore(settings map[string]string) (*tls.Certificate, error) {
	const inline, location = "ssl.keystore.certificate.chain", "ssl.keystore.location"
	chain, from, err := store(settings, inline, location, "ssl.keystore.type")
	if err != nil || from == "" {
		return nil, err
	}
	key, keyFrom := chain, from
	if from == inline {
		if key, keyFrom = []byte(settings["ssl.keystore.key"]), "ssl.keystore.key"; len(key) == 0 {
			return nil, bad(keyFrom, "it is missing, and %s is given", inline)
		}
	}
	if encrypted(key) {
		return nil, bad(keyFrom, "its key is encrypted, which is not supported: decrypt it (openssl pkcs8 -in KEY -out NEW) and keep it readable for its owner only")
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, bad(keyFrom, "%v", err)
	}
	return &pair, nil
}

func encrypted(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return true
		}
	}
	return false
}

// store is the text of a store in PEM, and the setting that it came from; empty
// when there is none.
func store(settings map[string]string, inline, location, kind string) (text []byte, from string, err error) {
	is := strings.ToUpper(strings.TrimSpace(settings[kind]))
	path := settings[location]
	switch {
	case settings[inline] != "" && path != "":
		return nil, "", bad(inline, "it and %s are given: keep one", location)
	case settings[inline] != "":
		if is != "PEM" {
			return nil, "", bad(kind, "%s wants the type PEM", inline)
		}
		return []byte(settings[inline]), inline, nil
	case path == "":
		return nil, "", nil
	case is != "PEM":
		if is == "" {
			is = "JKS (Kafka's default)"
		}
		return nil, "", bad(kind, "%s is not supported: convert the store (keytool -importkeystore -deststoretype pkcs12, then openssl pkcs12 -nodes) and set %s=PEM", is, kind)
	}
	text, err = os.ReadFile(path)
	if err != nil {
		return nil, "", bad(location, "%v", err)
	}
	return text, location, nil
}
