//! RandomAccess: `T[index(a)] ^= a` for a stream of random numbers a (HPC Challenge 1.5.0).
//!
//! Two generators. The polynomial one is multiplication by x modulo x^64 + x^2 + x + 1 over the field of two elements: a shift, and 7 if
//! a one fell out at the top. The other is HPL's 64-bit linear congruential one. Both can start anywhere in their stream.
//!
//! An update is a cache miss and, with small pages, a walk of the page table; so the table is in huge pages and the lines are
//! asked for some hundred updates ahead. The rules allow 1024 updates to be stored.

use crate::lcg::HPL_STEP;
use crate::memory::{Buffer, MemoryError};
use crate::simd::multiversion;
use crate::threads::Pool;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sub-streams of the local test, as in the original.
pub const STREAMS: usize = 128;
/// Updates that a process may look ahead and store.
pub const MAX_PENDING: usize = 1024;
/// Updates for each word of the table.
pub const UPDATES_PER_WORD: u64 = 4;
/// Updates that one thread has under way when lines are fetched ahead: more find the second-level cache's queue full.
const UNDER_WAY: usize = 3 * STREAMS;

/// What falls out at the top comes in as this: x^2 + x + 1.
const POLY: u64 = 7;

/// The stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// `a <- a x` in the polynomial ring; the index is in the low bits.
    Poly,
    /// `a <- 6364136223846793005 a + 1`; the index is in the high bits.
    Lcg,
}

impl Generator {
    /// The number after `a`.
    #[inline(always)]
    pub fn next(self, a: u64) -> u64 {
        match self {
            // The arithmetic shift makes a mask of the top bit, where a branch would be mispredicted half the time.
            Generator::Poly => (a << 1) ^ (((a as i64) >> 63) as u64 & POLY),
            Generator::Lcg => HPL_STEP.apply(a),
        }
    }

    /// The number `k` steps after the first, which is 1.
    pub fn start(self, k: u64) -> u64 {
        match self {
            Generator::Poly => power_of_x(k),
            Generator::Lcg => HPL_STEP.power(k).apply(1),
        }
    }

    /// The word that `a` changes in a table of 2^bits words.
    #[inline(always)]
    pub fn index(self, a: u64, bits: u32) -> usize {
        match self {
            Generator::Poly => (a & ((1 << bits) - 1)) as usize,
            // Of no bits there is one index; the shift by 64 is done in two.
            Generator::Lcg => ((a >> 1) >> (63 - bits)) as usize,
        }
    }

    /// The numbers from `a` on, `a` included, and the one after them. Eight are made side by side.
    pub fn fill(self, a: u64, out: &mut [u64]) -> u64 {
        match self {
            Generator::Poly => fill_poly(a, out),
            Generator::Lcg => fill_lcg(a, out),
        }
    }
}

/// Product modulo x^64 + x^2 + x + 1.
fn product(a: u64, b: u64) -> u64 {
    (0..64).rev().fold(0, |sum, bit| Generator::Poly.next(sum) ^ if b >> bit & 1 == 1 { a } else { 0 })
}

/// x^k by squaring.
fn power_of_x(mut k: u64) -> u64 {
    let (mut result, mut square) = (1, 2);
    while k > 0 {
        if k & 1 == 1 {
            result = product(result, square);
        }
        square = product(square, square);
        k >>= 1;
    }
    result
}

const LANES: usize = 8;

#[inline(always)]
fn fill_lanes(generator: Generator, a: u64, out: &mut [u64], leap: impl Fn(u64) -> u64) -> u64 {
    let mut lanes = [a; LANES];
    for l in 1..LANES {
        lanes[l] = generator.next(lanes[l - 1]);
    }
    let mut chunks = out.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        chunk.copy_from_slice(&lanes);
        for lane in &mut lanes {
            *lane = leap(*lane);
        }
    }
    let rest = chunks.into_remainder();
    rest.copy_from_slice(&lanes[..rest.len()]);
    lanes[rest.len()]
}

multiversion! {
    fn fill_poly(a: u64, out: &mut [u64]) -> u64 {
        // Eight shifts at once: the eight bits that fall out, times 7, come in below.
        fill_lanes(Generator::Poly, a, out, |a| {
            let top = a >> 56;
            (a << 8) ^ top ^ (top << 1) ^ (top << 2)
        })
    }
}

multiversion! {
    fn fill_lcg(a: u64, out: &mut [u64]) -> u64 {
        let leap = HPL_STEP.power(LANES as u64);
        fill_lanes(Generator::Lcg, a, out, |a| leap.apply(a))
    }
}

/// How updates are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each at once, as in the original's loop.
    Direct,
    /// The lines are fetched some hundred updates ahead.
    Ahead,
}

/// A table of 2^bits words that starts as `T[i] = i`.
pub struct Table {
    words: Buffer<u64>,
    bits: u32,
    updates: u64,
}

impl Table {
    /// The table before the first update, each part touched first by one of the threads.
    pub fn new(bits: u32, pool: &Pool) -> Result<Self, MemoryError> {
        // Below 58 bits the bytes of the table and the number of updates fit into 64 bits.
        let len = 1usize.checked_shl(bits).filter(|_| bits < 58).ok_or(MemoryError::TooLarge(usize::MAX))?;
        let mut table = Self { words: Buffer::zeroed(len)?, bits, updates: UPDATES_PER_WORD << bits };
        table.reset(pool);
        Ok(table)
    }

    /// `T[i] = i` again.
    pub fn reset(&mut self, pool: &Pool) {
        let len = self.words.len();
        let words = crate::memory::Shared::new(&mut self.words);
        pool.run(|t| {
            // 512 words are a page of 4 KiB.
            let own = pool.part(len, 512, t);
            // SAFETY: the parts of the threads are disjoint, and the table outlives the run.
            let part = unsafe { words.part(own.clone()) };
            part.iter_mut().zip(own.start as u64..).for_each(|(w, i)| *w = i);
        });
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The same table for fewer updates: at most so many, and as many in each sub-stream.
    pub fn at_most(mut self, updates: u64) -> Self {
        if updates < self.updates {
            self.updates = (updates - updates % STREAMS as u64).max(1);
        }
        self
    }

    /// How many updates a run makes: four for each word, unless fewer were asked for.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Makes all updates. With several threads an update may be lost when two meet at one word, as the rules allow.
    pub fn update(&mut self, generator: Generator, method: Method, pool: &Pool) {
        let (streams, rounds) = self.shape();
        let (bits, updates) = (self.bits, self.updates());
        // SAFETY: an atomic word has the layout of a word, and the table is borrowed exclusively for as long as this view lives.
        let words: &[AtomicU64] = unsafe { &*(&raw mut *self.words as *const [AtomicU64]) };
        assert_eq!(words.len(), 1 << bits, "the length of the table is what indices are made for");
        // The rules limit the whole process.
        let pending = UNDER_WAY.min(MAX_PENDING / pool.threads());
        pool.run(|t| {
            let own = pool.part(streams, 1, t);
            let mut state = [0; STREAMS];
            for (s, j) in state.iter_mut().zip(own.clone()) {
                *s = generator.start(j as u64 * (updates / streams as u64));
            }
            let state = &mut state[..own.len()];
            match (generator, method) {
                (Generator::Poly, Method::Direct) => direct_poly(words, bits, state, rounds),
                (Generator::Lcg, Method::Direct) => direct_lcg(words, bits, state, rounds),
                (Generator::Poly, Method::Ahead) => ahead_poly(words, bits, state, rounds, pending),
                (Generator::Lcg, Method::Ahead) => ahead_lcg(words, bits, state, rounds, pending),
            }
        });
    }

    /// Streams and rounds: a table too small for all streams has as many as it has updates.
    fn shape(&self) -> (usize, u64) {
        let streams = self.updates().min(STREAMS as u64);
        (streams as usize, self.updates() / streams)
    }

    /// Undoes the updates one by one and counts the words that are wrong. The table is as new afterwards if none is.
    pub fn verify(&mut self, generator: Generator) -> u64 {
        let mut batch = [0; MAX_PENDING];
        let (mut a, mut left) = (generator.start(0), self.updates());
        // The sub-streams follow one another, so together they are one stream; each starts by stepping, so the first number is skipped.
        a = generator.next(a);
        while left > 0 {
            let now = left.min(MAX_PENDING as u64) as usize;
            a = generator.fill(a, &mut batch[..now]);
            apply(generator, self.bits, 0, &mut self.words, &batch[..now]);
            left -= now as u64;
        }
        self.words.iter().zip(0..).filter(|&(&w, i)| w != i).count() as u64
    }
}

/// Makes the updates `values` on that part of a table of 2^bits words that begins with word `first`, the lines fetched ahead.
///
/// # Panics
/// If a value belongs to another part.
pub fn apply(generator: Generator, bits: u32, first: usize, part: &mut [u64], values: &[u64]) {
    const AHEAD: usize = 128;
    for &a in &values[..AHEAD.min(values.len())] {
        prefetch(part, generator.index(a, bits).wrapping_sub(first));
    }
    for (n, &a) in values.iter().enumerate() {
        // An index below `first` wraps far beyond the part, where asking for a line does nothing and the update panics.
        if let Some(&b) = values.get(n + AHEAD) {
            prefetch(part, generator.index(b, bits).wrapping_sub(first));
        }
        part[generator.index(a, bits).wrapping_sub(first)] ^= a;
    }
}

/// Asks for the line of a word, into the second-level cache, which takes more requests at once than the first; nothing happens
/// for a word outside.
#[inline(always)]
fn prefetch<T>(words: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(words.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, at);
}

#[inline(always)]
fn exclusive_or(words: &[AtomicU64], at: usize, a: u64) {
    // A plain load and store: an update lost to another thread is allowed, a locked instruction would cost half the rate.
    debug_assert!(at < words.len());
    // SAFETY: an index of a table of 2^bits words is below 2^bits, which is its length.
    let word = unsafe { words.get_unchecked(at) };
    word.store(word.load(Ordering::Relaxed) ^ a, Ordering::Relaxed);
}

#[inline(always)]
fn direct(generator: Generator, words: &[AtomicU64], bits: u32, state: &mut [u64], rounds: u64) {
    for _ in 0..rounds {
        for s in state.iter_mut() {
            *s = generator.next(*s);
            exclusive_or(words, generator.index(*s, bits), *s);
        }
    }
}

/// A round of the streams is asked for while one of some rounds ago is made, so at most `pending` updates are stored.
#[inline(always)]
fn ahead(generator: Generator, words: &[AtomicU64], bits: u32, state: &mut [u64], rounds: u64, pending: usize) {
    let width = state.len();
    // One round less than allowed, because the fresh one is stored too.
    let depth = (pending / width.max(1)).saturating_sub(1).clamp(1, UNDER_WAY / width.max(1)) as u64;
    let mut ring = [0u64; UNDER_WAY];
    let mut fresh = [0u64; STREAMS];
    for round in 0..rounds {
        for (s, a) in state.iter_mut().zip(&mut fresh) {
            *s = generator.next(*s);
            *a = *s;
        }
        let slot = &mut ring[(round % depth) as usize * width..][..width];
        for (a, old) in fresh.iter().zip(slot) {
            prefetch(words, generator.index(*a, bits));
            let due = std::mem::replace(old, *a);
            if round >= depth {
                exclusive_or(words, generator.index(due, bits), due);
            }
        }
    }
    // The ring may have wrapped, but the order does not matter: exclusive-ors commute.
    for &due in &ring[..rounds.min(depth) as usize * width] {
        exclusive_or(words, generator.index(due, bits), due);
    }
}

multiversion! {
    fn direct_poly(words: &[AtomicU64], bits: u32, state: &mut [u64], rounds: u64) {
        direct(Generator::Poly, words, bits, state, rounds);
    }
}
multiversion! {
    fn direct_lcg(words: &[AtomicU64], bits: u32, state: &mut [u64], rounds: u64) {
        direct(Generator::Lcg, words, bits, state, rounds);
    }
}
multiversion! {
    fn ahead_poly(words: &[AtomicU64], bits: u32, state: &mut [u64], rounds: u64, pending: usize) {
        ahead(Generator::Poly, words, bits, state, rounds, pending);
    }
}
multiversion! {
    fn ahead_lcg(words: &[AtomicU64], bits: u32, state: &mut [u64], rounds: u64, pending: usize) {
        ahead(Generator::Lcg, words, bits, state, rounds, pending);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Generator; 2] = [Generator::Poly, Generator::Lcg];

    #[test]
    fn starts_equal_single_steps() {
        for generator in BOTH {
            let mut a = 1;
            for k in 0..20_000u64 {
                assert_eq!(generator.start(k), a, "{generator:?} {k}");
                a = generator.next(a);
            }
            for far in [1u64 << 30, 123_456_789_012_345, (1 << 50) - 1] {
                let mut a = generator.start(far);
                (0..100_000).for_each(|_| a = generator.next(a));
                assert_eq!(a, generator.start(far + 100_000));
            }
        }
    }

    #[test]
    fn the_polynomial_stream_equals_long_division() {
        // x^k divided by x^64 + x^2 + x + 1, one power at a time, with 128-bit words.
        let modulus = (1u128 << 64) | 7;
        let mut power = 1u128;
        for k in 0..500 {
            assert_eq!(u128::from(Generator::Poly.start(k)), power);
            power <<= 1;
            if power >> 64 == 1 {
                power ^= modulus;
            }
        }
        // The period the original wraps at.
        assert_eq!(Generator::Poly.start(1_317_624_576_693_539_401), 1);
    }

    #[test]
    fn numbers_made_side_by_side_are_the_stream() {
        for generator in BOTH {
            for n in [0, 1, 7, 8, 9, 100] {
                let mut out = vec![0; n];
                let after = generator.fill(generator.start(999), &mut out);
                assert!(out.iter().zip(999..).all(|(&a, k)| a == generator.start(k)));
                assert_eq!(after, generator.start(999 + n as u64));
            }
        }
    }

    #[test]
    fn updates_equal_the_definition_and_verify() {
        for generator in BOTH {
            for bits in [0, 3, 5, 10, 13] {
                let mut want: Vec<u64> = (0..1 << bits).collect();
                let mut a = 1;
                for _ in 0..4u64 << bits {
                    a = generator.next(a);
                    let index = if generator == Generator::Poly {
                        a as u128 % (1 << bits)
                    } else {
                        (u128::from(a) << bits) >> 64
                    };
                    want[index as usize] ^= a;
                }
                for method in [Method::Direct, Method::Ahead] {
                    let pool = Pool::floating(1);
                    let mut table = Table::new(bits, &pool).unwrap();
                    table.update(generator, method, &pool);
                    assert_eq!(table.words(), want, "{generator:?} {bits} {method:?}");
                    assert_eq!(table.verify(generator), 0);
                    table.update(generator, method, &pool);
                    table.words[(1 << bits) - 1] ^= 1;
                    assert_eq!(table.verify(generator), 1);
                }
            }
        }
    }

    #[test]
    fn fewer_updates_are_the_first_of_each_stream() {
        let pool = Pool::floating(1);
        for (asked, made) in [(1, 1), (127, 1), (1000, 896), (1 << 20, 4 << 10)] {
            let mut table = Table::new(10, &pool).unwrap().at_most(asked);
            assert_eq!(table.updates(), made, "{asked}");
            table.update(Generator::Poly, Method::Ahead, &pool);
            let changed = table.words().iter().zip(0..).filter(|&(&w, i)| w != i).count() as u64;
            assert!((1..=made).contains(&changed), "{changed} of {made}");
            assert_eq!(table.verify(Generator::Poly), 0);
        }
    }

    #[test]
    fn threads_lose_few_updates() {
        let pool = Pool::floating(4);
        for generator in BOTH {
            let mut table = Table::new(16, &pool).unwrap();
            table.update(generator, Method::Ahead, &pool);
            assert!(table.verify(generator) * 100 <= 1 << 16);
        }
    }

    #[test]
    fn parts_of_a_table_take_their_own_updates() {
        for generator in BOTH {
            let mut values = vec![0; 3000];
            generator.fill(generator.start(5), &mut values);
            let mut whole: Vec<u64> = vec![0; 1 << 12];
            apply(generator, 12, 0, &mut whole, &values);
            let own: Vec<u64> = values.iter().copied().filter(|&a| generator.index(a, 12) >= 3000).collect();
            let mut part = vec![0; (1 << 12) - 3000];
            apply(generator, 12, 3000, &mut part, &own);
            assert_eq!(part, whole[3000..]);
        }
    }

    #[test]
    fn an_absurd_table_is_refused() {
        assert!(Table::new(63, &Pool::floating(1)).is_err());
        assert!(Table::new(64, &Pool::floating(1)).is_err());
    }
}
