package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// header is what precedes the body of a request.
type header struct {
	key, version int16
	correlation  int32
	clientID     string
}

// errVersion: the request is one that this broker does not serve in that version.
var errVersion = errors.New("request is not served in that version")

// readFrame reads one length-prefixed frame. What the length claims is checked
// against limit, and memory is taken only as the bytes arrive.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(size[:]))
	if n < 0 || int(n) > limit {
		return nil, fmt.Errorf("frame claims %d bytes, the limit is %d", n, limit)
	}
	const atOnce = 64 << 10
	if n <= atOnce {
		frame := make([]byte, n)
		if _, err := io.ReadFull(r, frame); err != nil {
			return nil, torn(err)
		}
		return frame, nil
	}
	var buf bytes.Buffer
	buf.Grow(atOnce)
	if _, err := io.CopyN(&buf, r, int64(n)); err != nil {
		return nil, torn(err)
	}
	return buf.Bytes(), nil
}

func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseHeader takes the header off a request frame. A ControlledShutdown of
// version 0 has no client id; flexible versions end with tagged fields.
func parseHeader(frame []byte) (h header, body []byte, err error) {
	if len(frame) < 8 {
		return h, nil, fmt.Errorf("request of %d bytes has no complete header", len(frame))
	}
	h.key = int16(binary.BigEndian.Uint16(frame))
	h.version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	body = frame[8:]
	if h.key == keyControlledShutdown && h.version == 0 {
		return h, body, nil
	}
	if len(body) < 2 {
		return h, nil, errors.New("request header ends before the client id")
	}
	n := int(int16(binary.BigEndian.Uint16(body)))
	body = body[2:]
	if n > len(body) || n < -1 {
		return h, nil, fmt.Errorf("request header claims a client id of %d bytes, %d are left", n, len(body))
	}
	if n > 0 {
		h.clientID, body = string(body[:n]), body[n:]
	}
	if flexible(h.key, h.version) {
		if body, err = skipTags(body); err != nil {
			return h, nil, err
		}
	}
	return h, body, nil
}

func flexible(key, version int16) bool {
	req := kmsg.RequestForKey(key)
	if req == nil {
		return false
	}
	req.SetVersion(version)
	return req.IsFlexible()
}

// skipTags steps over a block of tagged fields.
func skipTags(b []byte) ([]byte, error) {
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	count, ok := next()
	for ; ok && count > 0; count-- {
		var size uint64
		if _, ok = next(); !ok {
			break
		}
		if size, ok = next(); !ok || size > uint64(len(b)) {
			ok = false
			break
		}
		b = b[size:]
	}
	if !ok {
		return nil, errors.New("tagged fields of the request header are malformed")
	}
	return b, nil
}

// parseBody decodes the body of a request.
func parseBody(h header, body []byte) (req kmsg.Request, err error) {
	req = kmsg.RequestForKey(h.key)
	if req == nil {
		return nil, fmt.Errorf("request key %d: %w", h.key, errVersion)
	}
	req.SetVersion(h.version)
	if h.key == keyStopReplica && h.version >= 4 {
		body = epochFirst(body)
	}
	if err := req.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s version %d: %w", kmsg.NameForKey(h.key), h.version, err)
	}
	return req, nil
}

// appendRequest encodes a request with its frame and header.
func appendRequest(dst []byte, req kmsg.Request, correlation int32, clientID string) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.Key()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.GetVersion()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if req.Key() != keyControlledShutdown || req.GetVersion() != 0 {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
		dst = append(dst, clientID...)
	}
	if req.IsFlexible() {
		dst = append(dst, 0)
	}
	body := req.AppendTo(nil)
	if req.Key() == keyStopReplica && req.GetVersion() >= 4 {
		body = flagFirst(body)
	}
	dst = append(dst, body...)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// epochFirst and flagFirst exchange the two fields that follow the controller id
// in a StopReplica of version 4: Kafka has the KRaft flag before the controller
// epoch, kmsg 1.15 the epoch before the flag.
// Kafka: StopReplicaRequest.json.
func epochFirst(b []byte) []byte {
	if len(b) < 9 {
		return b
	}
	return slices.Concat(b[:4], b[5:9], b[4:5], b[9:])
}

func flagFirst(b []byte) []byte {
	if len(b) < 9 {
		return b
	}
	return slices.Concat(b[:4], b[8:9], b[4:8], b[9:])
}

// appendResponse encodes a response with its frame and header. The header of an
// ApiVersions response is never flexible.
func appendResponse(dst []byte, resp kmsg.Response, correlation int32) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if resp.IsFlexible() && resp.Key() != keyApiVersions {
		dst = append(dst, 0)
	}
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// parseResponse decodes a response frame to a request.
func parseResponse(frame []byte, req kmsg.Request, correlation int32) (kmsg.Response, error) {
	name := kmsg.NameForKey(req.Key())
	if len(frame) < 4 {
		return nil, fmt.Errorf("%s response of %d bytes has no header", name, len(frame))
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlation {
		return nil, fmt.Errorf("%s response has correlation id %d, sent was %d", name, got, correlation)
	}
	body := frame[4:]
	if req.IsFlexible() && req.Key() != keyApiVersions {
		var err error
		if body, err = skipTags(body); err != nil {
			return nil, fmt.Errorf("%s response: %w", name, err)
		}
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s response version %d: %w", name, req.GetVersion(), err)
	}
	return resp, nil
}
