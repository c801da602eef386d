package zkserver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kstate/internal/realkafka"
)

const (
	diffSequences = 120
	diffSteps     = 60
	// diffLimit ends the drawing of further sequences: a server looks for empty
	// containers once a minute, at a moment of its own.
	diffLimit = 45 * time.Second
	// diffLeast is how many steps a machine must have managed by then.
	diffLeast = 2000
	// diffSeed, in the environment, is the one seed to play.
	diffSeed = "KSTATE_DIFF_SEED"
)

// twins are our server and a real one, in the same state.
type twins struct {
	t          *testing.T
	ours, real *diffPeer
	roots      int
	steps      int
	excused    map[string]int // by deviation
}

// super is the user who may do everything on both servers.
const super = "super:secret"

// startBoth starts a ZooKeeper 3.8.4 and a server of ours that are set up alike,
// their zxids too, and gives their addresses.
func startBoth(t *testing.T, jars *realkafka.Jars) (ours, real string) {
	t.Helper()
	z := realkafka.StartZooKeeper(t, jars, map[string]string{
		"minSessionTimeout": "2000", "maxSessionTimeout": "20000", "extendedTypesEnabled": "true",
		"DigestAuthenticationProvider.superDigest": Digest(super)})
	s := serveStore(t, NewStore(Options{FirstZxid: 1, SuperDigest: Digest(super)}), func(o *ServerOptions) { o.TickTime = time.Second })
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return addr.String(), z.Addr
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	ours, real := startBoth(t, realkafka.Require(t, "3.9.2"))
	w := &twins{t: t, ours: &diffPeer{name: "ours", addr: ours}, real: &diffPeer{name: "ZooKeeper", addr: real}, excused: map[string]int{}}
	for _, p := range []*diffPeer{w.ours, w.real} {
		var err error
		p.sessions = map[int64]string{}
		if p.control, err = p.dial(0, nil, 20_000, false); err != nil {
			t.Fatalf("connect to %s: %v", p.name, err)
		}
		if err := errors.Join(p.order(OpAuth, authBody("digest", super)), p.order(OpCreate, createBody("/burnt", nil, 0))); err != nil {
			t.Fatalf("prepare %s: %v", p.name, err)
		}
	}
	return w
}

// both has each of the two do something at the same time.
func (w *twins) both(what func(*diffPeer) error) error {
	result := make(chan error, 1)
	do := func(p *diffPeer) error {
		if err := what(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	}
	go func() { result <- do(w.real) }()
	return errors.Join(do(w.ours), <-result)
}

// play sends a sequence to both and returns how they differed, or nothing.
func (w *twins) play(sequence []step) (difference string) {
	w.t.Helper()
	w.roots++
	root := fmt.Sprintf("/s%d", w.roots)
	if err := w.both(func(p *diffPeer) error { return p.begin(root) }); err != nil {
		w.t.Fatal(err)
	}
	for i, s := range sequence {
		if difference = w.take(s, root); difference != "" {
			difference = fmt.Sprintf("step %d, %v\n%s", i, s, difference)
			break
		}
		w.steps++
	}
	if err := w.both(func(p *diffPeer) error { return p.finish(root) }); err != nil {
		w.t.Fatalf("%s\n%v", difference, err)
	}
	if difference == "" && w.ours.zxid != w.real.zxid {
		difference = fmt.Sprintf("at the end the last zxid is %d here, %d there", w.ours.zxid, w.real.zxid)
	}
	last := max(w.ours.zxid, w.real.zxid)
	if err := w.both(func(p *diffPeer) error { return p.burn(last) }); err != nil {
		w.t.Fatal(err)
	}
	return difference
}

// take plays one step on both.
func (w *twins) take(s step, root string) string {
	var lines [2][]string
	err := w.both(func(p *diffPeer) error {
		got, err := p.do(s, root)
		if p == w.ours {
			lines[0] = got
		} else {
			lines[1] = got
		}
		return err
	})
	if err != nil {
		return err.Error() + "\n" + sideBySide(lines[0], lines[1])
	}
	if w.real.dropped {
		w.excused[droppedByImpostor]++
	}
	ours, real := lines[0], lines[1]
	if name := excuse(s, &ours, &real); name != "" {
		w.excused[name]++
	}
	if w.ours.dropped {
		return "the impostor cost us the connection"
	}
	if !slices.Equal(ours, real) {
		return sideBySide(ours, real)
	}
	return ""
}

func sideBySide(ours, real []string) string {
	return "ours\n\t" + strings.Join(ours, "\n\t") + "\nZooKeeper\n\t" + strings.Join(real, "\n\t")
}

// shrink leaves out steps as long as the servers still differ.
func (w *twins) shrink(sequence []step) []step {
	for size := len(sequence) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(sequence); {
			less := slices.Concat(sequence[:at], sequence[at+size:])
			if w.play(less) == "" {
				at += size
			} else {
				sequence = less
			}
		}
	}
	return sequence
}

// Random requests of three clients are answered as a real ZooKeeper 3.8.4
// answers them, and their watches get the same events in the same order.
func TestRealDifferential(t *testing.T) {
	w := newTwins(t)
	w.deviations()
	began := time.Now()
	first, last := uint64(1), uint64(diffSequences)
	if text := os.Getenv(diffSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%s: %v", diffSeed, text, err)
		}
		first, last = seed, seed
	}
	failures := 0
	for seed := first; seed <= last && failures < 5 && time.Since(began) < diffLimit; seed++ {
		sequence := draw(seed, diffSteps)
		difference := w.play(sequence)
		if difference == "" {
			continue
		}
		failures++
		if again := w.play(sequence); again == "" {
			t.Errorf("seed %d (not when played again): %s", seed, difference)
			continue
		}
		least := w.shrink(sequence)
		t.Errorf("seed %d (%s=%d plays it again): %s", seed, diffSeed, seed, w.play(least))
		for i, s := range least {
			t.Logf("step %d: %v", i, s)
		}
	}
	t.Logf("%d steps in %v; excepted: %v", w.steps, time.Since(began).Round(time.Millisecond), w.excused)
	if first != last && w.steps < diffLeast {
		t.Errorf("%d steps within %v, want %d at least", w.steps, diffLimit, diffLeast)
	}
}
