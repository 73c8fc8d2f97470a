// SPDX-License-Identifier: GPL-3.0-or-later
// Rust, from its own start of a program.
//
// truth: compiler rustc
// truth: chain START main RUST+ rust::main rust::outer rust::middle rust::spin
// truth: aside _start LIBC RUST                   # keeps the arguments
// truth: aside START main (RUST|LIBC|LD|PLT)*
// truth: aside START main RUST+ rust::main (RUST|LIBC|LD|PLT)+
use std::hint::black_box;

#[inline(never)]
fn spin(n: u64) -> u64 {
    let mut sum = 0;
    for i in 0..n {
        sum = black_box(sum ^ i);
    }
    sum
}

#[inline(never)]
fn middle(n: u64) -> u64 {
    black_box(spin(n)) + 1
}

#[inline(never)]
fn outer(n: u64) -> u64 {
    black_box(middle(n)) + 1
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    for _ in 0..rounds {
        black_box(outer(black_box(20000)));
    }
}
