package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
)

// Reader reads the records of a recording, oldest first.
type Reader struct {
	Header Header // of the oldest file

	paths  []string   // oldest first
	files  []*os.File // all open: the names may move on meanwhile
	at     int
	in     *counted
	size   int64
	lines  *bufio.Reader // of the block at work; nil: none
	next   uint64        // number of the record that must come next; 0: any
	open   *Record       // goes on in further lines
	want   int           // ops or results that it has when it is whole
	ended  error
	blocks int
}

// counted is the file as it is read, with how far.
type counted struct {
	*bufio.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// ReadByte makes gzip read no further than a block goes.
func (c *counted) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// Tear is the end of what can be read: Read gives it, after the last record that
// is whole, where the file was cut off or is damaged.
type Tear struct {
	Path  string
	At    int64 // byte at which the first block begins that cannot be read
	Size  int64
	After uint64 // number of the last record before it, 0 when there is none
	Err   error
}

func (t *Tear) Error() string {
	what := "is torn at its end, as after a crash"
	if !errors.Is(t.Err, io.ErrUnexpectedEOF) {
		what = "is damaged"
	}
	return fmt.Sprintf("%s %s: the block at byte %d of %d cannot be read (%v); everything up to record %d is good", t.Path, what, t.At, t.Size, t.Err, t.After)
}

func (t *Tear) Unwrap() error { return t.Err }

// Open opens a recording by its newest file, FILE; the older ones beside it
// belong to it as far as they are of the same recording. With only, FILE alone.
func Open(path string, only bool) (*Reader, error) {
	f, h, err := openWhole(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{Header: h, paths: []string{path}, files: []*os.File{f}}
	for i := 1; i < keptFiles && r.Header.Part > 1 && !only; i++ {
		older := fmt.Sprintf("%s.%d", path, i)
		f, x, err := openWhole(older)
		if err != nil {
			break // Complete says that the beginning is not here
		}
		if x.Recording == h.Recording && x.Part == r.Header.Part { // it moved on just now
			f.Close()
			continue
		}
		if x.Recording != h.Recording || x.Part != r.Header.Part-1 {
			f.Close()
			break
		}
		r.Header = x
		r.paths = append([]string{older}, r.paths...)
		r.files = append([]*os.File{f}, r.files...)
	}
	return r, r.begin()
}

// openWhole opens a file and reads its header.
func openWhole(path string) (*os.File, Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Header{}, err
	}
	h, err := readHeader(f)
	if err != nil {
		err = fmt.Errorf("%s is not a recording of kstate, or its beginning is lost: %w", path, err)
	} else {
		err = h.check(path)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, h, err
	}
	return f, h, nil
}

// begin begins with the file whose turn it is.
func (r *Reader) begin() error {
	st, err := r.files[r.at].Stat()
	if err != nil {
		return err
	}
	r.size, r.in, r.lines, r.blocks = st.Size(), &counted{Reader: bufio.NewReaderSize(r.files[r.at], 64<<10)}, nil, 0
	return nil
}

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Paths are the files of the recording, oldest first.
func (r *Reader) Paths() []string { return r.paths }

// Complete tells whether the recording has its beginning.
func (r *Reader) Complete() bool { return r.Header.From == 1 }

// Read gives the next record; io.EOF at the end, a *Tear where the rest cannot
// be read.
func (r *Reader) Read() (*Record, error) {
	for r.ended == nil {
		x, err := r.rawLine()
		if err != nil {
			r.ended = err
			break
		}
		rec, err := r.take(x)
		if err != nil {
			r.ended = err
			break
		}
		if rec != nil {
			return rec, nil
		}
	}
	return nil, r.ended
}

// rawLine is the next line that is no header.
func (r *Reader) rawLine() (*rawLine, error) {
	for {
		if r.lines == nil {
			if err := r.block(); err != nil {
				return nil, err
			}
		}
		text, err := r.lines.ReadBytes('\n')
		if err == io.EOF && len(text) == 0 {
			r.lines = nil
			continue
		}
		if r.blocks == 1 && bytes.HasPrefix(text, []byte(`{"kstate_journal"`)) {
			continue
		}
		x := &rawLine{}
		if err := json.Unmarshal(text, x); err != nil {
			return nil, fmt.Errorf("%s: the line behind record %d is not one of a journal: %w", r.paths[r.at], r.last(), err)
		}
		return x, nil
	}
}

func (r *Reader) last() uint64 {
	if r.next == 0 {
		return 0
	}
	return r.next - 1
}

// block takes the next block: all of it, or it does not count.
func (r *Reader) block() error {
	from := r.in.n
	if _, err := r.in.Peek(1); err == io.EOF {
		if r.at++; r.at == len(r.paths) {
			return io.EOF
		}
		if err := r.begin(); err != nil {
			return err
		}
		from = 0
	}
	tear := func(err error) error {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return &Tear{Path: r.paths[r.at], At: from, Size: r.size, After: r.last(), Err: err}
	}
	z, err := gzip.NewReader(r.in)
	if err != nil {
		return tear(err)
	}
	z.Multistream(false)
	var out bytes.Buffer
	if _, err := out.ReadFrom(z); err != nil {
		return tear(err)
	}
	r.blocks++
	r.lines = bufio.NewReader(&out)
	return nil
}
