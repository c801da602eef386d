package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// keptFiles is how many files a recording has at most: FILE, which is written,
// and FILE.1 (the one before) to FILE.3. When FILE has a quarter of the bytes
// that all may have, each moves one on and the oldest goes.
const keptFiles = 4

// file is a Sink: the file at a path and the older ones beside it.
type file struct {
	path  string
	max   int64 // of all files together
	f     *os.File
	size  int64 // up to which it is whole
	torn  bool  // more than that is in it, and has to go first
	part  int
	froms []uint64 // of the files of this recording that are kept, oldest first
}

// openFile begins a recording at a path. One that is there is moved aside.
func openFile(path string, max int64, h Header) (*file, error) {
	s := &file{path: path, max: max}
	if err := s.makeRoom(); err != nil {
		return nil, fmt.Errorf("the journal %s cannot be written: %w", path, err)
	}
	if err := s.begin(h); err != nil {
		return nil, fmt.Errorf("the journal %s cannot be written: %w", path, err)
	}
	return s, nil
}

// makeRoom moves what is at the path aside, if it is a recording that nobody writes.
func (s *file) makeRoom() error {
	st, err := os.Stat(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return errors.New("it is no regular file")
	case st.Size() > 0:
		f, err := os.Open(s.path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := lock(f); err != nil {
			return err
		}
		h, err := readHeader(f)
		if err != nil || h.Format == 0 {
			return errors.New("another file is there, which is no recording of kstate; move it away, or name another one")
		}
	}
	return s.shift()
}

// shift moves each file one on; the oldest goes.
func (s *file) shift() error {
	name := func(i int) string {
		if i == 0 {
			return s.path
		}
		return fmt.Sprintf("%s.%d", s.path, i)
	}
	if err := os.Remove(name(keptFiles - 1)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for i := keptFiles - 2; i >= 0; i-- {
		if err := os.Rename(name(i), name(i+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// begin makes the file with its header.
func (s *file) begin(h Header) error {
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.part++
	s.froms = append(s.froms, h.From)
	h.Part, h.Oldest = s.part, s.froms[max(0, len(s.froms)-keptFiles)]
	s.f, s.size, s.torn = f, 0, false
	err = lock(f)
	if err == nil {
		err = s.Append(headerBlock(h))
	}
	if err == nil {
		err = s.Sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(s.path))
	}
	if err != nil { // another attempt makes it anew
		f.Close()
		os.Remove(s.path)
		s.f, s.size = nil, 0
		s.part--
		s.froms = s.froms[:len(s.froms)-1]
	}
	return err
}

func headerBlock(h Header) []byte {
	text, _ := json.Marshal(h) // the settings of the engine were JSON before
	return newCompressor().block(append(text, '\n'))
}

// Append writes a block, or nothing of it.
func (s *file) Append(block []byte) error {
	if s.f == nil {
		return errors.New("no file is open")
	}
	if s.torn {
		if err := s.f.Truncate(s.size); err != nil {
			return err
		}
		s.torn = false
	}
	n, err := s.f.WriteAt(block, s.size)
	if err != nil {
		s.torn = n > 0
		if s.torn && s.f.Truncate(s.size) == nil {
			s.torn = false
		}
		return err
	}
	s.size += int64(n)
	return nil
}

// Sync has the disk itself hold what was written.
func (s *file) Sync() error { return s.f.Sync() }

// Size is the length of the file at work.
func (s *file) Size() int64 { return s.size }

// Rotate begins the next file when this one is a quarter of all.
func (s *file) Rotate(h Header) error {
	if s.f != nil {
		if s.size < s.max/keptFiles {
			return nil
		}
		if err := s.f.Sync(); err != nil {
			return err
		}
		if err := s.shift(); err != nil {
			return err
		}
		if err := s.f.Close(); err != nil {
			return err
		}
		s.f = nil
	}
	return s.begin(h)
}

// Close closes the file.
func (s *file) Close() error {
	if s.f == nil {
		return nil
	}
	return s.f.Close()
}

// readHeader reads the first line of a recording; Format 0: it is none.
func readHeader(r io.Reader) (Header, error) {
	var h Header
	z, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return h, err
	}
	defer z.Close()
	first, err := bufio.NewReader(io.LimitReader(z, 16<<20)).ReadBytes('\n')
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(bytes.TrimSpace(first), &h)
}
