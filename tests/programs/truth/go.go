// SPDX-License-Identifier: GPL-3.0-or-later
// Go, which brings its own threads, stacks and runtime: in a goroutine, nothing calls main().
//
// truth: compiler go
// truth: chain runtime.goexit.abi0 runtime.main main.main main.outer main.middle main.spin
// truth: chain runtime.goexit.abi0 (main.main.func1|main.main.gowrap1) main.worker main.outer main.middle main.spin
// truth: aside runtime.goexit.abi0 runtime.main? (main.main|main.main.func1|main.main.gowrap1) main.worker?
// truth: then main.outer? main.middle? main.spin? runtime.…+       # is interrupted by its scheduler
// truth: aside runtime.goexit.abi0 runtime.main? (runtime.…|runtime/…|sync.…|internal/…|VDSO|os.…|syscall.…|time.…|….init…|gogo|gosave_systemstack_switch|callRet|…body|main.main|main.worker|main.main.func1|main.main.gowrap1)*
// truth: aside ([go]|runtime.…|_rt0_amd64…) (runtime.…|runtime/…|internal/…|gogo|gosave_systemstack_switch|callRet|…body|VDSO)*
// truth: ends bad-unwind-info at runtime.goexit.abi0 # "called" by 0: the end, but Go 1.19 does not say so
// truth: ends bad-unwind-info at (runtime.clone.abi0|runtime.rt0_go.abi0)
// truth: ends bad-unwind-info at (runtime.mcall|runtime.morestack.abi0|runtime.systemstack.abi0) # changes stacks
// truth: ends no-mapping at (runtime.…|_rt0_amd64…)                # "called" by what is not code
// truth: ends no-unwind-info at ([go]|runtime.…)     # signals return by way of unknown code
package main

import (
	"os"
	"strconv"
)

//go:noinline
func spin(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum ^= i
	}
	return sum
}

//go:noinline
func middle(n int) int {
	return spin(n) + 1
}

//go:noinline
func outer(n int) int {
	return middle(n) + 1
}

func worker(rounds int, done chan int) {
	sum := 0
	for i := 0; i < rounds; i++ {
		sum += outer(20000)
	}
	done <- sum
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	done := make(chan int)
	go worker(rounds/2, done)
	sum := 0
	for i := 0; i < rounds/2; i++ {
		sum += outer(20000)
	}
	<-done
	os.Exit(sum & 0)
}
