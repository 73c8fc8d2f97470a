// SPDX-License-Identifier: GPL-3.0-or-later

//! Spins in closures, in a comparator of the library's sort, behind a trait, and in a thread.

use std::hint::black_box;

trait Spinner {
    fn turn(&mut self, n: u64) -> u64;
}
struct Square(u64);

#[inline(never)]
fn spin(n: u64) -> u64 {
    (0..n).fold(0, |sum, i| black_box(sum + i * i % 7))
}

impl Spinner for Square {
    #[inline(never)]
    fn turn(&mut self, n: u64) -> u64 {
        self.0 += spin(n);
        self.0
    }
}

#[inline(never)]
fn each<F: FnMut(u64) -> u64>(n: u64, call: F) -> u64 {
    (0..n).map(call).sum()
}

fn main() {
    let mut spinner: Box<dyn Spinner> = Box::new(Square(0));
    let thread = std::thread::spawn(|| each(10, |i| spin(800000 + i)));
    black_box(each(10, |_| spinner.turn(800000)));
    for _ in 0..5 {
        let mut numbers = [3, 1, 2];
        numbers.sort_by(|a, b| if spin(800000) > 0 { a.cmp(b) } else { b.cmp(a) });
        black_box(numbers);
    }
    black_box(thread.join().unwrap());
}
