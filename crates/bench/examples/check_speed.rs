//! How fast messages are filled and compared on one core: `cargo run --release -p tailback-bench --example check_speed`.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement of this host for people")]

use std::hint::black_box;
use std::time::Instant;
use tailback_bench::payload::{Stamp, Tally};

/// Bytes that are gone through for each number.
const BYTES: usize = 2 << 30;

fn main() {
    let stamp = Stamp { sender: 1, round: 2, step: 3, lane: 0 };
    println!("{:>10}  {:>10}  {:>10}", "bytes", "fill GB/s", "check GB/s");
    for size in [8, 64, 1 << 10, 4 << 10, 128 << 10, 2_000_000] {
        // As many messages as a window has: more than the caches nearest to the core hold, from 128 KiB on.
        let mut messages = vec![0; 16 * size];
        let passes = (BYTES / messages.len()).clamp(1, 1 << 20);
        let speed = |begin: Instant| (passes * 16 * size) as f64 / begin.elapsed().as_secs_f64() / 1e9;
        let begin = Instant::now();
        for _ in 0..passes {
            messages.chunks_exact_mut(size).for_each(|message| black_box(stamp).fill(message));
        }
        let fill = speed(begin);
        let begin = Instant::now();
        let mut tally = Tally::default();
        for _ in 0..passes {
            messages.chunks_exact(size).for_each(|message| tally.whole(black_box(stamp), message));
        }
        let check = speed(begin);
        assert!(!tally.verdict().is_wrong(), "it was filled with this pattern");
        println!("{size:>10}  {fill:>10.1}  {check:>10.1}");
    }
}
