// SPDX-License-Identifier: GPL-3.0-or-later

// Spins in closures, in a comparator of package sort, behind an interface, and in a goroutine.
package main

import "sort"

type spinner interface{ turn(n int) int }
type square struct{ sum int }

//go:noinline
func spin(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i * i
	}
	return sum
}

//go:noinline
func (s *square) turn(n int) int {
	s.sum += spin(n)
	return s.sum
}

//go:noinline
func each(n int, call func(int) int) (sum int) {
	for i := 0; i < n; i++ {
		sum += call(i)
	}
	return
}

func main() {
	var s spinner = &square{}
	numbers := []int{3, 1, 2}
	done := make(chan int)
	go func() { done <- each(20, func(i int) int { return spin(800000 + i) }) }()
	each(10, func(i int) int { return s.turn(800000) })
	for i := 0; i < 5; i++ {
		sort.Slice(numbers, func(a, b int) bool { return spin(800000) > 0 && numbers[a] < numbers[b] })
	}
	<-done
}
