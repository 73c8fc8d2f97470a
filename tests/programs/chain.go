// SPDX-License-Identifier: GPL-3.0-or-later

// A known chain of calls: main, outer, middle (inlined into outer), spin, step (inlined into spin).
package main

func step(x uint32) uint32 {
	return (x/7+1013904223)/5 ^ x<<13 // step's line
}

//go:noinline
func spin(n int) (x uint32) {
	for i := 0; i < n; i++ {
		x = step(x)
	}
	return x
}

func middle(n int) uint32 {
	return spin(n) + 1 // middle's line
}

//go:noinline
func outer(n int) uint32 {
	return middle(n) + 2 // outer's line
}

func main() {
	sum := uint32(0)
	for i := 0; i < 300; i++ {
		sum += outer(1000000) // main's line
	}
	if sum == 1 {
		println(sum)
	}
}
