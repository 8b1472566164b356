//! How the updates of RandomAccess reach the ranks that have the words: at most 1024 are stored on a rank before they are sent.
//!
//! *Bucket*: one message to every rank each round, half of the allowance under way while the other half is made. *Hypercube*:
//! one message for each bit of the rank's number; an update passes through up to log2 P ranks, and there are few messages
//! however many ranks there are. (For P that is no power of two the bits are those of the distance to go.)
//!
//! Messages have a fixed length that is a little more than the mean; what does not fit waits for the next round and counts
//! against the allowance.

use super::{incoming, outgoing, pay};
use comm::{Comm, Op, Reduce, Tag, agree, overlap};
use local::random_access::{Generator, MAX_PENDING, apply};
use spec::Work;
use std::ops::Range;

const TAG: Tag = 340;

/// Which words of a table of 2^bits are where.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// Logarithm of the table's words.
    pub bits: u32,
    /// Words of the ranks with fewer.
    least: usize,
    /// Ranks with one word more; they come first.
    extra: usize,
    /// Bits within a part if all parts are one power of two.
    shift: Option<u32>,
}

impl Split {
    /// As equal as possible.
    pub fn new(bits: u32, ranks: usize) -> Split {
        let words = 1usize << bits;
        let least = words / ranks;
        // Every update asks for its owner; equal parts of a power of two spare it the division.
        let shift = (ranks.is_power_of_two() && least > 0).then(|| least.ilog2());
        Split { bits, least, extra: words % ranks, shift }
    }
    /// The words of a rank.
    pub fn range(&self, rank: usize) -> Range<usize> {
        let start = |r: usize| r * self.least + r.min(self.extra);
        start(rank)..start(rank + 1)
    }
    /// Who has a word.
    #[inline(always)]
    pub fn owner(&self, index: usize) -> usize {
        match self.shift {
            Some(shift) => index >> shift,
            None => {
                let top = (self.least + 1) * self.extra;
                if index < top { index / (self.least + 1) } else { (index - self.extra) / self.least }
            }
        }
    }
}

/// A stretch of the random stream.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    generator: Generator,
    next: u64,
    left: u64,
}

impl Stream {
    /// `count` numbers after the `from`-th.
    pub fn new(generator: Generator, from: u64, count: u64) -> Stream {
        Stream { generator, next: generator.next(generator.start(from)), left: count }
    }
    /// How many numbers are left.
    pub fn left(&self) -> u64 {
        self.left
    }
    /// Fills as much of `out` as there is; how much that was.
    pub fn fill(&mut self, out: &mut [u64]) -> usize {
        let count = (out.len() as u64).min(self.left) as usize;
        self.next = self.generator.fill(self.next, &mut out[..count]);
        self.left -= count as u64;
        count
    }
}

/// One rank's part of a run of updates.
pub struct Run<'a> {
    /// All ranks.
    pub comm: &'a dyn Comm,
    /// Whether nothing is stored.
    pub model: bool,
    /// Which stream.
    pub generator: Generator,
    /// Who has what.
    pub split: Split,
    /// This rank's words.
    pub table: &'a mut [u64],
}

/// A message's length for this mean, header included: four standard deviations above it.
fn room(mean: f64, most: usize) -> usize {
    // Counts of random destinations are about Poisson, whose standard deviation is the root of the mean.
    1 + ((mean + 4.0 * mean.sqrt()) as usize + 8).min(most)
}

/// Updates of one round by destination, and what is received meanwhile.
struct Buckets {
    /// For each rank a count and `chunk` places.
    out: Vec<u64>,
    len: Vec<usize>,
    into: Vec<u64>,
}

impl Run<'_> {
    fn me(&self) -> usize {
        self.comm.rank()
    }
    fn owner(&self, value: u64) -> usize {
        self.split.owner(self.generator.index(value, self.split.bits))
    }
    fn apply(&mut self, values: &[u64]) {
        let first = self.split.range(self.comm.rank()).start;
        apply(self.generator, self.split.bits, first, self.table, values);
    }
    fn cost(values: usize) -> Work {
        Work { updates: values as u64, ..Work::NONE }
    }

    /// Buckets: every rank sends to every other in each round. Rounds until every update of every rank is made. Collective.
    pub fn bucket(&mut self, mut stream: Stream, longest: u64) {
        // The rules of HPCC let a process store 1024 updates: one half travels while the other is made.
        const CHUNK: usize = MAX_PENDING / 2;
        let (ranks, me) = (self.comm.size(), self.me());
        let stride = CHUNK + 1;
        let message = room(CHUNK as f64 / ranks as f64, CHUNK);
        let sized = |n: usize| if self.model { 0 } else { n };
        let buckets = || Buckets {
            out: vec![0; sized(ranks * stride)],
            len: vec![0; ranks],
            into: vec![0; sized(ranks * message)],
        };
        let mut pair = [buckets(), buckets()];
        let mut waiting: Vec<u64> = Vec::with_capacity(CHUNK);
        let mut fresh = vec![0; CHUNK];
        self.sort(&mut stream, &mut pair[0], &mut waiting, &mut fresh, (stride, message));
        // The rank with the most updates cannot be done earlier, so nobody asks before that round.
        let planned = longest.div_ceil(CHUNK as u64);
        let mut round = 0u64;
        loop {
            let [even, odd] = &mut pair;
            let (now, next) = if round.is_multiple_of(2) { (even, odd) } else { (odd, even) };
            let Buckets { out, len, into } = now;
            let model = self.model;
            let mut ops = Vec::with_capacity(2 * ranks);
            let mut rooms = into.chunks_exact_mut(message.max(1));
            for from in 0..ranks {
                let place = rooms.next().unwrap_or_default();
                if from != me {
                    ops.push(Op::Recv { from, tag: TAG, into: incoming(model, place, message) });
                }
            }
            // Each rank starts with its right neighbour, so that not all send to rank 0 first.
            for to in (1..ranks).map(|d| (me + d) % ranks) {
                let data = outgoing(model, if model { &[] } else { &out[to * stride..] }, message);
                ops.push(Op::Send { to, tag: TAG, data });
            }
            let comm = self.comm;
            overlap(comm, |pending| {
                pending.start(ops);
                let own = if model { CHUNK / ranks } else { len[me] };
                pay(comm, model, Self::cost(own), &mut || self.apply(&out[me * stride + 1..me * stride + 1 + len[me]]));
                // Received in the round before, and free again once it is applied.
                self.take(&next.into, message);
                next.into.iter_mut().step_by(message).for_each(|count| *count = 0);
                self.sort(&mut stream, next, &mut waiting, &mut fresh, (stride, message));
            });
            round += 1;
            let quiet = stream.left() == 0 && waiting.is_empty() && next.len.iter().all(|l| *l == 0);
            if round >= planned && agree(comm, if quiet { 0.0 } else { 1.0 }, Reduce::Max) == 0.0 {
                let last = if (round - 1).is_multiple_of(2) { &pair[0] } else { &pair[1] };
                return self.take(&last.into, message);
            }
        }
    }

    /// Applies received messages.
    fn take(&mut self, messages: &[u64], stride: usize) {
        if self.model {
            return;
        }
        let total: usize = messages.chunks_exact(stride).map(|m| m[0] as usize).sum();
        let comm = self.comm;
        comm.compute(Self::cost(total), &mut || {
            messages.chunks_exact(stride).for_each(|m| self.apply(&m[1..1 + m[0] as usize]));
        });
    }

    /// Makes the next updates, those that waited first, and puts each into its owner's bucket.
    fn sort(
        &mut self,
        stream: &mut Stream,
        buckets: &mut Buckets,
        waiting: &mut Vec<u64>,
        fresh: &mut [u64],
        (stride, message): (usize, usize),
    ) {
        buckets.len.fill(0);
        if self.model {
            stream.left -= stream.left.min(fresh.len() as u64);
            return;
        }
        let old = waiting.len();
        fresh[..old].copy_from_slice(waiting);
        waiting.clear();
        let count = old + stream.fill(&mut fresh[old..]);
        let (me, out, len) = (self.me(), &mut buckets.out, &mut buckets.len);
        for &value in &fresh[..count] {
            let owner = self.owner(value);
            len[owner] += 1;
            out[owner * stride + len[owner]] = value;
        }
        for (owner, bucket) in out.chunks_exact_mut(stride).enumerate() {
            // A rank's own bucket is applied where it is and has no message to fit into.
            if owner != me && len[owner] > message - 1 {
                waiting.extend_from_slice(&bucket[message..=len[owner]]);
                len[owner] = message - 1;
            }
            bucket[0] = len[owner] as u64;
        }
    }

    /// Hypercube: what is not for here goes on, bit by bit. Collective.
    pub fn hypercube(&mut self, mut stream: Stream, longest: u64) {
        let ranks = self.comm.size();
        let steps = ranks.next_power_of_two().ilog2();
        // Half of random updates have to cross any one bit.
        let message = room(MAX_PENDING as f64 / 2.0, MAX_PENDING);
        let planned = longest.div_ceil(MAX_PENDING as u64);
        let mut held: Vec<u64> = Vec::with_capacity(2 * MAX_PENDING);
        let mut fresh = vec![0; MAX_PENDING];
        let (mut out, mut into) = (vec![0; message], vec![0; message]);
        let mut round = 0u64;
        loop {
            if self.model {
                stream.left -= stream.left.min(MAX_PENDING as u64);
            } else {
                let count = stream.fill(&mut fresh[..MAX_PENDING.saturating_sub(held.len())]);
                held.extend_from_slice(&fresh[..count]);
            }
            for step in 0..steps {
                self.pass(step, &mut held, &mut out, &mut into);
            }
            let arrived = self.keep(&mut held);
            let own = if self.model { MAX_PENDING } else { arrived.len() };
            let (comm, model) = (self.comm, self.model);
            pay(comm, model, Self::cost(own), &mut || self.apply(&arrived));
            round += 1;
            let quiet = stream.left() == 0 && held.is_empty();
            if round >= planned && agree(comm, if quiet { 0.0 } else { 1.0 }, Reduce::Max) == 0.0 {
                return;
            }
        }
    }

    /// Exchanges with the partner of one bit what has to cross it.
    fn pass(&self, step: u32, held: &mut Vec<u64>, out: &mut [u64], into: &mut [u64]) {
        let (me, ranks) = (self.me(), self.comm.size());
        let bit = 1 << step;
        let pure = ranks.is_power_of_two();
        let (to, from) = if pure { (me ^ bit, me ^ bit) } else { ((me + bit) % ranks, (me + ranks - bit) % ranks) };
        let mut sent = 1;
        if !self.model {
            let most = out.len();
            held.retain(|value| {
                let owner = self.owner(*value);
                let way = if pure { owner ^ me } else { (owner + ranks - me) % ranks };
                let goes = way & bit != 0 && sent < most;
                if goes {
                    out[sent] = *value;
                    sent += 1;
                }
                !goes
            });
            out[0] = sent as u64 - 1;
        }
        let length = out.len();
        self.comm.exchange(&mut [
            Op::Recv { from, tag: TAG, into: incoming(self.model, into, length) },
            Op::Send { to, tag: TAG, data: outgoing(self.model, out, length) },
        ]);
        if !self.model {
            held.extend_from_slice(&into[1..1 + into[0] as usize]);
        }
    }

    /// Takes out what belongs here.
    fn keep(&self, held: &mut Vec<u64>) -> Vec<u64> {
        let me = self.me();
        let mut mine = Vec::with_capacity(held.len());
        held.retain(|value| {
            let here = self.owner(*value) == me;
            if here {
                mine.push(*value);
            }
            !here
        });
        mine
    }

    /// The same updates by plain all-to-all rounds: how the result is checked, apart from the ways above. Collective.
    pub fn plainly(&mut self, mut stream: Stream, longest: u64) {
        let ranks = self.comm.size();
        let chunk = (8192 / ranks).max(64);
        // A bucket takes a whole chunk: nothing has to wait, and all ranks know the number of rounds beforehand.
        let stride = chunk + 1;
        let (mut out, mut into) = (vec![0u64; ranks * stride], vec![0u64; ranks * stride]);
        let mut fresh = vec![0; chunk];
        for _ in 0..longest.div_ceil(chunk as u64) {
            out.iter_mut().step_by(stride).for_each(|count| *count = 0);
            let count = stream.fill(&mut fresh);
            for &value in &fresh[..count] {
                let at = self.owner(value) * stride;
                out[at] += 1;
                let place = at + out[at] as usize;
                out[place] = value;
            }
            let (all, length) = (ranks * stride, ranks * stride);
            self.comm.alltoall(outgoing(false, &out, all), incoming(false, &mut into, length));
            into.chunks_exact(stride).for_each(|m| self.apply(&m[1..1 + m[0] as usize]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_the_owner_whose_range_holds_it() {
        for (bits, ranks) in [(0, 1), (3, 8), (4, 3), (5, 7), (6, 4), (6, 6), (10, 1000)] {
            let split = Split::new(bits, ranks);
            let mut next = 0;
            for rank in 0..ranks {
                let range = split.range(rank);
                assert_eq!(range.start, next);
                next = range.end;
                range.for_each(|i| assert_eq!(split.owner(i), rank, "{bits} {ranks} {i}"));
            }
            assert_eq!(next, 1 << bits);
        }
    }
}
