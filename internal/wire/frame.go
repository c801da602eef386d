package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxFrameSize is the longest frame that is read unless told otherwise, in
// bytes. Kafka: socket.request.max.bytes.
const MaxFrameSize = 100 << 20

// frameGrowth is how much memory a frame gets before its bytes have come.
const frameGrowth = 64 << 10

// errFrameSize: the peer does not speak Kafka's protocol, or wants too much.
var errFrameSize = errors.New("frame size out of range")

// readFrame reads one frame and returns it without its length prefix. The length
// is checked against least and most before anything is allocated, and memory
// grows with what has come, not with what was announced. The error is io.EOF
// only when the stream ends between two frames.
func readFrame(r io.Reader, least, most int) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(prefix[:])))
	if n < least || n > most {
		return nil, fmt.Errorf("%w: %d bytes announced, %d to %d are taken", errFrameSize, n, least, most)
	}
	b := make([]byte, 0, min(n, frameGrowth))
	for len(b) < n {
		if len(b) == cap(b) {
			grown := make([]byte, len(b), min(n, 2*cap(b)))
			copy(grown, b)
			b = grown
		}
		k, err := io.ReadFull(r, b[len(b):min(n, cap(b))])
		b = b[:len(b)+k]
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return b, nil
}
