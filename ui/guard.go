package ui

import (
	"bufio"
	"bytes"
	"io"
	"log"
	"os"
	"strings"
	"sync"
)

// keptOutput bounds how much stray output is kept to be written at the end.
const keptOutput = 64 << 10

// guard keeps the output of everything else off the terminal.
type guard struct {
	terminal *os.File // what draws the screen writes here
	stderr   *os.File // the real standard error, where the kept output goes at the end
	restore  func() error
	done     chan struct{}

	mu      sync.Mutex
	kept    bytes.Buffer
	dropped int // lines that did not fit into kept
}

// take reads stray lines until the writers are gone. A line that the screen has
// no time for is still kept.
func (g *guard) take(r io.Reader, show chan<- string) {
	defer close(g.done)
	lines := bufio.NewReader(r)
	for {
		s, err := lines.ReadString('\n')
		if s = strings.TrimRight(s, "\r\n"); s != "" {
			g.keep(s)
			select {
			case show <- s:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

func (g *guard) keep(s string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept.Len()+len(s) > keptOutput {
		g.dropped++
		return
	}
	g.kept.WriteString(s + "\n")
}

// release gives the output back and writes what was held up.
func (g *guard) release() {
	if err := g.restore(); err != nil {
		log.Printf("restore the standard output: %v", err)
	}
	<-g.done
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stderr.Write(g.kept.Bytes())
	if g.dropped > 0 {
		log.Printf("%d more lines of output were dropped while the screen was shown", g.dropped)
	}
}
