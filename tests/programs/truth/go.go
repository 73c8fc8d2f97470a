// SPDX-License-Identifier: GPL-3.0-or-later
// Go, which brings its own threads, stacks and runtime: in a goroutine, nothing calls main().
//
// truth: compiler go
// truth: builds go go-w go-stripped
// truth: chain (runtime.goexit.abi0|runtime.goexit) runtime.main main.main main.outer main.middle main.spin
// truth: chain (runtime.goexit.abi0|runtime.goexit) (main.main.func1|main.main.gowrap1) main.worker main.outer main.middle main.spin
// truth: aside (runtime.goexit.abi0|runtime.goexit) runtime.main? (main.main|main.main.func1|main.main.gowrap1) main.worker?
// truth: then main.outer? main.middle? main.spin? (runtime.…|runtime/…|internal/…|…body)+ # is interrupted by its scheduler
// truth: aside (runtime.goexit.abi0|runtime.goexit) runtime.main? (runtime.…|runtime/…|sync.…|internal/…|VDSO|sync/…|os.…|strconv.…|syscall.…|time.…|….init…|gogo|gosave_systemstack_switch|callRet|…body|main.main|main.worker|main.main.func1|main.main.gowrap1)*
// truth: aside ([go]|[go-w]|[go-stripped]|runtime.…|_rt0_amd64…) (runtime.…|runtime/…|internal/…|gogo|gosave_systemstack_switch|callRet|…body|VDSO)*
// truth: ends bad-unwind-info at (runtime.mcall|runtime.morestack|runtime.morestack.abi0|runtime.systemstack) # change stacks, as do:
// truth: ends bad-unwind-info at (runtime.systemstack.abi0|runtime.clone|runtime.clone.abi0|runtime.rt0_go|runtime.rt0_go.abi0)
// truth: ends stack-truncated at (main.…|runtime.…) # a signal is handled on a stack of its own
// truth: ends no-mapping at _rt0_amd64_linux    # argc is where a return address would be
// truth: ends bad-unwind-info at (runtime.nanotime1|runtime.nanotime1.abi0|time.now|time.now.abi0|gogo|runtime.asmcgocall|runtime.asmcgocall.abi0)
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
