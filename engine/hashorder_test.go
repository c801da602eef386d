package engine

import (
	"slices"
	"testing"
)

// TestInHashOrder holds the order against that of scala.collection.immutable.HashMap 2.13.15.
func TestInHashOrder(t *testing.T) {
	for _, want := range [][]int32{
		{5, 10, 1, 6, 9, 2, 12, 7, 3, 11, 8, 4},
		{},
		{0},
		{0, 1, 2, 3},
		{101, 102, 105, 103, 104, 100},
		{1005, 1001, 1006, 1002, 1007, 1003, 1008, 1004, 1009},
		{1, 0, -2147483648, 2147483647, -1},
		{5, 65, 77, 66, 69, 0, 10, 56, 42, 24, 37, 25, 52, 14, 20, 46, 57, 78, 29, 61, 1, 74, 6, 60, 70, 21, 33, 28, 38, 9, 53, 13, 41, 73, 2, 45, 64, 17, 32, 34, 22, 44, 59, 27, 71, 12, 54, 49, 76, 7, 39, 3, 35, 48, 63, 18, 50, 67, 16, 31, 11, 72, 43, 40, 26, 55, 23, 8, 75, 58, 36, 30, 51, 19, 4, 79, 47, 15, 68, 62},
	} {
		if got := inHashOrder(slices.Sorted(slices.Values(want))); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
