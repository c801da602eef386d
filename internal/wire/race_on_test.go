//go:build race

package wire

// slowdown is how much slower the race detector makes tight loops.
const slowdown = 10
