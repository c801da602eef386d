package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"kstate/model"
)

// FuzzReadFrame: no frame is longer than allowed or than what came, and memory
// follows what came.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 8, 0, 18, 0, 0, 0, 0, 0, 1}, 1)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, 4)
	f.Add([]byte{0x06, 0x3f, 0xff, 0xff, 1, 2, 3}, 2)
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		r := &chunks{b: in, n: max(1, chunk)}
		for {
			frame, err := readFrame(r, 8, 1<<24)
			if err != nil {
				if frame != nil {
					t.Fatalf("a frame of %d bytes beside the error %v", len(frame), err)
				}
				return
			}
			if len(frame) < 8 || len(frame) > len(in)-4 || cap(frame) > max(frameGrowth, 2*len(in)) {
				t.Fatalf("frame of %d bytes, room for %d, from %d", len(frame), cap(frame), len(in))
			}
			if !bytes.Contains(in, frame) {
				t.Fatalf("the frame %x was not in the input", frame)
			}
		}
	})
}

// chunks hands its bytes out in pieces of n.
type chunks struct {
	b []byte
	n int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.n, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}

// FuzzServer: whatever comes on a connection, the server answers or closes it.
func FuzzServer(f *testing.F) {
	kafka := kafkaFrames(f)
	for _, name := range []string{"ApiVersions/4", "Metadata/12", "ElectLeaders/2", "AlterPartition/3", "ControlledShutdown/0", "UpdateFeatures/1",
		"DescribeCluster/1", "AlterPartitionReassignments/0", "ListPartitionReassignments/0", "AllocateProducerIds/0", "CreateTopics/7", "DeleteTopics/6", "CreatePartitions/3"} {
		frame := kafka("request/" + name)
		f.Add(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := NewServer(ServerOptions{OnInput: func(model.Stimulus) {}, Cluster: mixedCluster, MaxFrame: 1 << 16})
		near, far := net.Pipe()
		s.start(far, "PLAINTEXT", nil)
		go io.Copy(io.Discard, near)
		near.SetWriteDeadline(time.Now().Add(deadline))
		near.Write(in) // fails when the server closes the connection first
		near.Close()
		s.Close()
		if n := s.Unanswered(); n != 0 {
			t.Errorf("%d questions are left of a closed connection", n)
		}
	})
}

// FuzzDecodeResponse: whatever a broker answers, decoding ends.
func FuzzDecodeResponse(f *testing.F) {
	kafka := kafkaFrames(f)
	for i, r := range controlRequests() {
		f.Add(i, kafka(frameName("response", r)))
	}
	f.Fuzz(func(t *testing.T, i int, frame []byte) {
		all := controlRequests()
		r := all[uint(i)%uint(len(all))]
		a, err := DecodeResponse(r, 77, frame)
		if err != nil && (a.Error != 0 || a.Partitions != nil) {
			t.Fatalf("%+v beside the error %v", a, err)
		}
	})
}
