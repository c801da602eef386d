package sim

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// sweep plays seeds and fails the test for those that fail.
func sweep(t *testing.T, from uint64, n int) Stats {
	t.Helper()
	total := NewStats()
	Sweep(t.Context(), Options{Seed: from}, n, runtime.GOMAXPROCS(0), func(o Outcome) bool {
		total.Add(o.Stats)
		if f := o.Failure; f != nil {
			t.Errorf("seed %d, %s, at %d ms: %s\nagain: kstate sim --seed %d", f.Seed, f.Phase, f.Time, strings.Join(f.What, "\n"), f.Seed)
		}
		return true
	})
	return total
}

func TestSeedsHold(t *testing.T) {
	n := 30
	if testing.Short() {
		n = 8
	}
	total := sweep(t, 1, n)
	if total.Seeds != n || total.Steps == 0 || total.Failovers < n || total.Deletions == 0 || total.Elections["offline"] == 0 || total.Transactions == 0 {
		t.Errorf("too little happened: %+v", total)
	}
}

// A thousand seeds; .ci/run has them played.
func TestSweepOfAThousandSeeds(t *testing.T) {
	if os.Getenv("KSTATE_SWEEP") == "" {
		t.Skip("set KSTATE_SWEEP=1 to play a thousand seeds")
	}
	total := sweep(t, 1, 1000)
	for _, f := range Faults {
		if total.Faults[string(f)] == 0 {
			t.Errorf("no %s in a thousand seeds", f)
		}
	}
	t.Logf("%+v", total)
}

// traceHash is a hash of everything that happens in some seeds.
func traceHash(from uint64, n int) string {
	h := sha256.New()
	for seed := from; seed < from+uint64(n); seed++ {
		Play(Options{Seed: seed, Trace: h})
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// hashedSeeds is how many; fewer if the tests are to be short.
func hashedSeeds() int {
	if testing.Short() {
		return 5
	}
	return 20
}

// The same seeds give the same bytes: again in this process, and in another one
// with one processor.
func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	if os.Getenv("KSTATE_SIM_HASH") != "" {
		fmt.Printf("hash %s\n", traceHash(1, hashedSeeds()))
		return
	}
	want := traceHash(1, hashedSeeds())
	if got := traceHash(1, hashedSeeds()); got != want {
		t.Errorf("the second time %d seeds gave other bytes", hashedSeeds())
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestTheSameSeedGivesTheSameBytes$", "-test.count=1", fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Env = append(os.Environ(), "KSTATE_SIM_HASH=1", "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("another process: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "hash "+want+"\n") {
		t.Errorf("another process gave other bytes: %s, not %s", out, want)
	}
}

// Another seed is another history.
func TestSeedsDiffer(t *testing.T) {
	if traceHash(1, 1) == traceHash(2, 1) {
		t.Error("seeds 1 and 2 give the same bytes")
	}
}

// Each planted bug is found, by what is meant to find it.
func TestPlantedBugsAreFound(t *testing.T) {
	by := map[Plant][]string{FenceSkipped: {"SIM1", "SIM2"}, DeadMemberKept: {"SIM5"}, MarkerFirst: {"SIM9"},
		StartedWithoutOffline: {"SIM6"}, BadVersionIgnored: {"SIM5", "INV28"}}
	for _, p := range Plants {
		t.Run(string(p), func(t *testing.T) {
			seeds, found := 0, false
			Sweep(t.Context(), Options{Seed: 1, Plant: p}, 1000, runtime.GOMAXPROCS(0), func(o Outcome) bool {
				seeds++
				if o.Failure == nil {
					return true
				}
				found = true
				t.Logf("seed %d, the %d. one: %s", o.Seed, seeds, o.Failure.What[0])
				what := o.Failure.What[0]
				for _, name := range by[p] {
					if strings.Contains(what, name+":") {
						return false
					}
				}
				t.Errorf("it was found by %s, meant were %v", what, by[p])
				return false
			})
			if !found {
				t.Errorf("not found within %d seeds", seeds)
			}
		})
	}
}
