//go:build !race

package wire

const slowdown = 1
