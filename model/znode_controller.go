package model

import "strconv"

// ControllerRegistration is the content of /controller.
type ControllerRegistration struct {
	Version       int32  // 1, or 2 from Kafka 3.4 on; 0 when it is not there. Kafka does not read it
	Broker        int32  // id of the active controller
	Timestamp     string // milliseconds since 1970 as text; "" when it is not there. Kafka does not read it
	KRaftEpoch    int32  // epoch of a KRaft controller that leads a migration; -1 otherwise
	HasKRaftEpoch bool   // the field is there
}

// EncodeController writes /controller: version 2 as Kafka 3.4 and newer do, or
// version 1, which has no KRaft epoch. The timestamp is in milliseconds.
// Kafka: ControllerZNode.encode.
func EncodeController(version, broker int32, timestampMs int64, kraftEpoch int32) []byte {
	var w jsonWriter
	w.open('{').int("version", int64(version)).int("brokerid", int64(broker)).str("timestamp", strconv.FormatInt(timestampMs, 10))
	if version >= 2 {
		w.int("kraftControllerEpoch", int64(kraftEpoch))
	}
	return w.close('}').b
}

// DecodeController reads who the controller is. Bad JSON reads as nobody:
// present is false. Kafka: ControllerZNode.decode.
func DecodeController(path string, data []byte) (broker int32, present bool, err error) {
	return decodeBrokerID(path, data, "brokerid")
}

// decodeBrokerID reads one field of a znode whose bad JSON reads as no content.
func decodeBrokerID(path string, data []byte, field string) (broker int32, present bool, err error) {
	root, ok, bad := readLenientJSON(path, data)
	if bad != nil {
		return 0, false, bad
	}
	if !ok {
		return 0, false, nil
	}
	r := newFieldReader(path, &root)
	broker = r.int32(field)
	if r.err != nil {
		return 0, false, r.err
	}
	return broker, true, nil
}

// DecodeControllerRegistration reads all of /controller, as a candidate does
// before it takes over. Here bad JSON is an error.
// Kafka: ControllerZNode.decodeController.
func DecodeControllerRegistration(path string, data []byte) (ControllerRegistration, error) {
	root, bad := readJSON(path, data)
	if bad != nil {
		return ControllerRegistration{}, bad
	}
	r := newFieldReader(path, &root)
	reg := ControllerRegistration{Broker: r.int32("brokerid"), KRaftEpoch: -1}
	if n := r.obj.get("kraftControllerEpoch"); n != nil {
		reg.KRaftEpoch, reg.HasKRaftEpoch = r.asInt32("kraftControllerEpoch", n), true
	}
	if r.err != nil {
		return ControllerRegistration{}, r.err
	}
	reg.Version = unreadInt32(&root, "version")
	if n := root.get("timestamp"); n != nil && n.kind == jsonString {
		reg.Timestamp = n.text
	}
	return reg, nil
}

// unreadInt32 is a field that Kafka writes but does not read: no error when it
// is not an int, then 0.
func unreadInt32(obj *jsonNode, field string) int32 {
	if n := obj.get(field); n != nil && n.kind == jsonInt {
		return int32(n.num)
	}
	return 0
}

// EncodeControllerEpoch writes /controller_epoch: plain decimal text.
// Kafka: ControllerEpochZNode.encode.
func EncodeControllerEpoch(epoch int32) []byte { return strconv.AppendInt(nil, int64(epoch), 10) }

// DecodeControllerEpoch reads /controller_epoch.
// Kafka: ControllerEpochZNode.decode.
func DecodeControllerEpoch(path string, data []byte) (int32, error) {
	if data == nil {
		return 0, &DecodeError{Path: path, Category: NullPayload}
	}
	n, bad := parseJavaInt(string(data), 32)
	if bad != "" {
		return 0, &DecodeError{Path: path, Value: shorten(string(data)), Category: bad, Reason: "the epoch is not a decimal number of 32 bits"}
	}
	return int32(n), nil
}
