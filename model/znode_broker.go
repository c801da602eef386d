package model

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// BrokerRegistration is the content of a broker znode. The Epoch of the broker
// is not part of it: it is the znode's czxid.
type BrokerRegistration struct {
	Broker
	Version   int32  // 1 to 5; readers accept later ones by their known fields
	JMXPort   int32  // -1 for none
	Timestamp string // milliseconds since 1970 as text; "" when it is not there. Kafka does not read it
}

// securityProtocols are the listener names that need no protocol map.
// Kafka: SecurityProtocol, SocketServerConfigs.DEFAULT_NAME_TO_SECURITY_PROTO.
var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// EncodeBroker writes a broker znode in a version (see BrokerZnodeVersion).
// Host and port at the top, for old readers, are those of the first endpoint
// with protocol PLAINTEXT, or null and -1. Timestamp is in milliseconds.
// Kafka: BrokerIdZNode.encode.
func EncodeBroker(b *Broker, version, jmxPort int32, timestampMs int64) []byte {
	var w jsonWriter
	w.open('{')
	if version >= 5 {
		writeSupportedFeatures(&w, b.Features)
	}
	if version >= 4 {
		writeProtocolMap(&w, b.Endpoints)
	}
	w.array("endpoints")
	for _, e := range b.Endpoints {
		w.sep()
		w.b = appendJSONString(w.b, e.String())
	}
	w.close(']')
	if version >= 3 && b.Rack != "" {
		w.str("rack", b.Rack)
	}
	plain := Endpoint{Port: -1}
	if i := slices.IndexFunc(b.Endpoints, func(e Endpoint) bool { return e.Protocol == "PLAINTEXT" }); i >= 0 {
		plain = b.Endpoints[i]
	}
	w.int("jmx_port", int64(jmxPort)).int("port", int64(plain.Port))
	if plain.Host == "" {
		w.null("host")
	} else {
		w.str("host", plain.Host)
	}
	return w.int("version", int64(version)).str("timestamp", strconv.FormatInt(timestampMs, 10)).close('}').b
}

func writeSupportedFeatures(w *jsonWriter, features map[string]VersionRange) {
	w.object("features")
	for _, name := range sortedKeys(features) {
		r := features[name]
		w.object(name).int("min_version", int64(r.Min)).int("max_version", int64(r.Max)).close('}')
	}
	w.close('}')
}

// writeProtocolMap has one entry for each listener name; of equal names the
// last endpoint decides.
func writeProtocolMap(w *jsonWriter, endpoints []Endpoint) {
	w.object("listener_security_protocol_map")
	for i, e := range endpoints {
		same := func(o Endpoint) bool { return o.Listener == e.Listener }
		if slices.ContainsFunc(endpoints[:i], same) {
			continue
		}
		for _, o := range endpoints[i:] {
			if same(o) {
				e = o
			}
		}
		w.str(e.Listener, e.Protocol)
	}
	w.close('}')
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// DecodeBroker reads a broker znode of any version. The broker's id is the
// number at the end of the path, -1 when there is none.
// Kafka: BrokerIdZNode.decode.
func DecodeBroker(path string, data []byte) (BrokerRegistration, error) {
	root, bad := readJSON(path, data)
	if bad != nil {
		return BrokerRegistration{}, bad
	}
	r := newFieldReader(path, &root)
	reg := BrokerRegistration{Version: r.int32("version"), JMXPort: r.int32("jmx_port")}
	reg.ID = -1
	if id, ok := ParseID(ChildName(path)); ok {
		reg.ID = id
	}
	switch {
	case r.err != nil:
	case reg.Version < 1:
		r.fail("version", root.get("version").raw, UnsupportedVersion, "versions begin at 1")
	case reg.Version == 1:
		reg.Endpoints = []Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: r.str("host"), Port: r.int32("port")}}
	default:
		reg.Endpoints = r.endpoints(r.protocols())
	}
	if n := r.optional("rack"); n != nil {
		reg.Rack = r.asString("rack", n)
	}
	reg.Features = r.supportedFeatures()
	if r.err != nil {
		return BrokerRegistration{}, r.err
	}
	if n := root.get("timestamp"); n != nil && n.kind == jsonString {
		reg.Timestamp = n.text
	}
	return reg, nil
}

// protocols reads the map from listener name to security protocol.
func (r *fieldReader) protocols() map[string]string {
	const field = "listener_security_protocol_map"
	out := make(map[string]string, len(securityProtocols))
	n := r.obj.get(field)
	if n == nil {
		for _, p := range securityProtocols {
			out[p] = p
		}
		return out
	}
	in := r.within(field, n)
	for i, listener := range in.obj.keys {
		name := strings.ToUpper(in.asString(listener, &in.obj.kids[i]))
		if !slices.Contains(securityProtocols, name) {
			in.fail(listener, in.obj.kids[i].raw, InvalidValue, "it is none of "+strings.Join(securityProtocols, ", "))
		}
		out[listener] = name
	}
	if r.err == nil {
		r.err = in.err
	}
	return out
}

// Reasons for which Kafka's reader of endpoints throws other exceptions than for
// the rest of what is wrong with them.
const (
	NoEndpoint    = "it is not of the form LISTENER://host:port"
	BlankListener = "the listener name is blank"
)

// endpointPattern: listener, host with or without brackets, port.
var endpointPattern = regexp.MustCompile(`^([^\n\r\x{85}\x{2028}\x{2029}]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$`)

const regexpSpace = " \t\n\v\f\r"

// endpoints reads the list of endpoints. Kafka joins the entries with commas
// and takes the result apart again, so that an entry may hold several. Addresses
// may repeat, listener names may not.
func (r *fieldReader) endpoints(protocols map[string]string) []Endpoint {
	n := r.need("endpoints")
	if n == nil || r.err != nil {
		return nil
	}
	joined := strings.Join(r.asStrings("endpoints", n), ",")
	joined = strings.TrimFunc(joined, func(c rune) bool { return c <= ' ' })
	var out []Endpoint
	for text := range strings.SplitSeq(joined, ",") {
		if text = strings.Trim(text, regexpSpace); text == "" || r.err != nil {
			continue
		}
		m := endpointPattern.FindStringSubmatch(text)
		if m == nil {
			r.fail("endpoints", text, InvalidValue, NoEndpoint)
			continue
		}
		e := Endpoint{Listener: strings.ToUpper(m[1]), Host: m[2]}
		port, bad := parseJavaInt(m[3], 32)
		if bad != "" {
			r.fail("endpoints", text, bad, "the port is not a number of 32 bits")
		}
		e.Port = int32(port)
		if strings.TrimSpace(e.Listener) == "" {
			r.fail("endpoints", text, InvalidValue, BlankListener)
		}
		if e.Protocol = protocols[e.Listener]; e.Protocol == "" {
			r.fail("endpoints", text, InvalidValue, "listener "+e.Listener+" has no security protocol")
		}
		if slices.ContainsFunc(out, func(o Endpoint) bool { return o.Listener == e.Listener }) {
			r.fail("endpoints", n.raw, InvalidValue, "there is more than one endpoint of listener "+e.Listener)
		}
		out = append(out, e)
	}
	return out
}

// supportedFeatures reads the feature ranges. Numbers are cut to 16 bits, as in
// Kafka, before they are checked.
func (r *fieldReader) supportedFeatures() map[string]VersionRange {
	n := r.optional("features")
	if n == nil || r.err != nil {
		return nil
	}
	in := r.within("features", n)
	out := make(map[string]VersionRange, len(in.obj.keys))
	ranges := make([]*fieldReader, len(in.obj.keys))
	for i, name := range in.obj.keys {
		ranges[i] = in.within(name, &in.obj.kids[i])
		for k, label := range ranges[i].obj.keys {
			ranges[i].asInt32(label, &ranges[i].obj.kids[k])
		}
		r.adopt(*ranges[i])
	}
	r.adopt(*in)
	for i, name := range in.obj.keys {
		if r.err != nil {
			break
		}
		v := VersionRange{Min: int16(ranges[i].int32("min_version")), Max: int16(ranges[i].int32("max_version"))}
		if r.adopt(*ranges[i]); r.err == nil && (v.Min < 0 || v.Max < v.Min) {
			in.fail(name, in.obj.kids[i].raw, InvalidValue, "a range needs 0 <= min_version <= max_version")
			r.adopt(*in)
		}
		out[name] = v
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// adopt takes over the error of a reader for a part.
func (r *fieldReader) adopt(part fieldReader) {
	if r.err == nil {
		r.err = part.err
	}
}
