//! All-reduce: recursive doubling for short vectors, a ring for long ones.
//!
//! Every rank ends with the same bits. Doubling computes the same tree of sums on every rank, up to the order of the two
//! operands, and [`combine`] does not depend on that order; the ring computes each element on one rank and copies it.

use super::ALLREDUCE;
use crate::{Buffer, Comm, Data, Op, Rank, Reduce, Vector};
use std::ops::Range;

/// The ring is taken when each rank's share of the vector has at least this many bytes.
///
/// With a start-up time a per message and a time b per byte, doubling n bytes on p ranks takes log2(p) (a + n b) and the ring
/// 2 (p - 1) (a + n b / p). For the sizes of machine that matter the ring wins when n / p exceeds roughly a / b, which is
/// 1 to 2 microseconds times 10 GB/s on the networks of today.
pub const RING_BLOCK: usize = 16 << 10;

/// Bytes of one element on the way.
const ELEMENT: usize = size_of::<f64>();

/// Combines vectors element by element; every rank gets the same bits.
pub fn allreduce<C: Comm + ?Sized>(comm: &C, values: Vector<'_>, how: Reduce) {
    if is_long(comm.size(), values.len()) {
        ring_allreduce(comm, values, how)
    } else {
        doubling_allreduce(comm, values, how)
    }
}

/// Whether the ring is taken.
fn is_long(size: usize, len: usize) -> bool {
    // On two ranks both move the whole vector once, and doubling needs one message less.
    size > 2 && len * ELEMENT / size >= RING_BLOCK
}

/// All-reduce by recursive doubling: log2(size) rounds of the whole vector.
///
/// With size = 2^k + extra, each of the first `extra` even ranks folds its vector into its odd neighbour, sits out, and gets
/// the result back.
pub fn doubling_allreduce<C: Comm + ?Sized>(comm: &C, values: Vector<'_>, how: Reduce) {
    let len = values.len();
    if len == 0 {
        return;
    }
    let mut values = InFlight::new(values, len);
    for round in (0..).map_while(|round| doubling_round(comm.rank(), comm.size(), round)) {
        let (give, take) = (round.to.map_or(0..0, |_| 0..len), round.from.map_or(0..0, |_| 0..len));
        let how = Some(how).filter(|_| round.combines);
        values.swap(comm, (round.to.unwrap_or(0), give), (round.from.unwrap_or(0), take), how);
    }
}

/// What a rank does in a round of recursive doubling, always with the whole vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    to: Option<Rank>,
    from: Option<Rank>,
    /// What comes is combined with what is there; otherwise it is the result.
    combines: bool,
}

/// The rounds of a rank, from 0 on, until there are no more.
fn doubling_round(rank: Rank, size: usize, round: u32) -> Option<Round> {
    let rounds = size.ilog2();
    let extra = size - (1 << rounds);
    let (paired, mut round) = (rank < 2 * extra, round);
    if paired && rank.is_multiple_of(2) {
        let other = Some(rank + 1);
        return [(other, None), (None, other)].get(round as usize).map(|&(to, from)| Round {
            to,
            from,
            combines: false,
        });
    }
    if paired && round == 0 {
        return Some(Round { to: None, from: Some(rank - 1), combines: true });
    }
    round -= u32::from(paired);
    if round >= rounds {
        let result = Round { to: Some(rank.wrapping_sub(1)), from: None, combines: false };
        return (paired && round == rounds).then_some(result);
    }
    // The ranks that take part, numbered without gaps, and back.
    let number = if paired { rank / 2 } else { rank - extra };
    let partner = number ^ (1 << round);
    let partner = Some(if partner < extra { 2 * partner + 1 } else { partner + extra });
    Some(Round { to: partner, from: partner, combines: true })
}

/// Whether an all-reduce of so many values can be made in turns, round by round: see [`allreduce_round`].
pub fn has_rounds(size: usize, len: usize) -> bool {
    len > 0 && !is_long(size, len)
}

/// One round of an all-reduce of `len` values that do not matter, from 0 on, for ranks that make it in turns. Whether there was one: if not,
/// it is over.
pub fn allreduce_round<C: Comm + ?Sized>(comm: &C, len: usize, round: u32) -> bool {
    let Some(Round { to, from, .. }) = doubling_round(comm.rank(), comm.size(), round) else { return false };
    let mut values = InFlight::new(Vector::Len(len), len);
    let (give, take) = (to.map_or(0..0, |_| 0..len), from.map_or(0..0, |_| 0..len));
    values.swap(comm, (to.unwrap_or(0), give), (from.unwrap_or(0), take), None);
    true
}

/// All-reduce by a ring: reduce-scatter, then all-gather, each size - 1 rounds of one share of the vector.
///
/// A vector shorter than the number of ranks leaves some shares empty; nobody sends these.
pub fn ring_allreduce<C: Comm + ?Sized>(comm: &C, values: Vector<'_>, how: Reduce) {
    let (rank, size, len) = (comm.rank(), comm.size(), values.len());
    if len == 0 || size == 1 {
        return;
    }
    // In 128 bits the product cannot overflow.
    let start = |i: usize| (i as u128 * len as u128 / size as u128) as usize;
    let share = |i: usize| start(i % size)..start(i % size + 1);
    let mut values = InFlight::new(values, len.div_ceil(size));
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    // In round i the share that left rank r in round 0 reaches rank r + i + 1; after the last, rank r holds share r + 1.
    for round in 0..size - 1 {
        // The size is added so that nothing falls below zero; `share` counts modulo the size.
        let at = rank + size - round;
        values.swap(comm, (next, share(at)), (previous, share(at - 1)), Some(how));
    }
    for round in 0..size - 1 {
        let at = rank + size + 1 - round;
        values.swap(comm, (next, share(at)), (previous, share(at - 1)), None);
    }
}

/// A vector and the bytes of the elements that are being sent and received.
struct InFlight<'a> {
    values: Vector<'a>,
    /// Outgoing bytes, then incoming ones; empty if the values do not matter.
    bytes: Vec<u8>,
}

impl<'a> InFlight<'a> {
    /// Room for messages of up to `most` elements.
    fn new(values: Vector<'a>, most: usize) -> InFlight<'a> {
        let bytes = match values {
            Vector::Values(_) => vec![0; 2 * most * ELEMENT],
            Vector::Len(_) => Vec::new(),
        };
        InFlight { values, bytes }
    }

    /// Sends the elements of one range and receives those of another, which are combined with what is there or, with no
    /// `how`, replace it. An empty range is no message.
    fn swap<C: Comm + ?Sized>(
        &mut self,
        comm: &C,
        (to, give): (Rank, Range<usize>),
        (from, take): (Rank, Range<usize>),
        how: Option<Reduce>,
    ) {
        let middle = self.bytes.len() / 2;
        let (outgoing, incoming) = self.bytes.split_at_mut(middle);
        let (data, into) = match &self.values {
            Vector::Len(_) => (Data::Len(give.len() * ELEMENT), Buffer::Len(take.len() * ELEMENT)),
            Vector::Values(values) => {
                let outgoing = &mut outgoing[..give.len() * ELEMENT];
                encode(&values[give.clone()], outgoing);
                (Data::Bytes(outgoing), Buffer::Bytes(&mut incoming[..take.len() * ELEMENT]))
            }
        };
        let mut ops = [Op::Recv { from, tag: ALLREDUCE, into }, Op::Send { to, tag: ALLREDUCE, data }];
        match (give.is_empty(), take.is_empty()) {
            (false, false) => comm.exchange(&mut ops),
            (true, false) => comm.exchange(&mut ops[..1]),
            (false, true) => comm.exchange(&mut ops[1..]),
            (true, true) => return,
        }
        if let Vector::Values(values) = &mut self.values {
            decode(&incoming[..take.len() * ELEMENT], &mut values[take], how);
        }
    }
}

fn encode(values: &[f64], bytes: &mut [u8]) {
    for (value, bytes) in values.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = value.to_le_bytes();
    }
}

fn decode(bytes: &[u8], values: &mut [f64], how: Option<Reduce>) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        let theirs = f64::from_le_bytes(*bytes);
        *value = match how {
            Some(how) => combine(how, *value, theirs),
            None => theirs,
        };
    }
}

/// As [`Reduce::apply`], and the same bits if the operands are exchanged. Floating point leaves two things open: which of two
/// NaNs comes out, and which zero is the smaller one.
fn combine(how: Reduce, a: f64, b: f64) -> f64 {
    // Equal values can differ in the sign of zero only: the or of the bits keeps the minus, the and drops it.
    let result = match how {
        Reduce::Min if a == b => f64::from_bits(a.to_bits() | b.to_bits()),
        Reduce::Max if a == b => f64::from_bits(a.to_bits() & b.to_bits()),
        _ => how.apply(a, b),
    };
    if result.is_nan() { f64::NAN } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combine_does_not_depend_on_the_order_of_its_operands() {
        let odd_nan = f64::from_bits(f64::NAN.to_bits() | 0x5a5a);
        let cases = [0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, odd_nan, -odd_nan];
        for how in [Reduce::Sum, Reduce::Min, Reduce::Max] {
            for a in cases {
                for b in cases {
                    let (x, y) = (combine(how, a, b), combine(how, b, a));
                    assert_eq!(x.to_bits(), y.to_bits(), "{how:?} of {a} and {b}");
                }
            }
        }
        assert!(combine(Reduce::Min, 0.0, -0.0).is_sign_negative());
        assert!(combine(Reduce::Max, 0.0, -0.0).is_sign_positive());
        assert_eq!(combine(Reduce::Sum, 2.0, 3.0), 5.0);
    }

    #[test]
    fn values_survive_the_way() {
        let values = [1.0, -0.0, f64::MIN_POSITIVE, 1e300];
        let mut bytes = [0; 32];
        encode(&values, &mut bytes);
        let mut back = [0.0; 4];
        decode(&bytes, &mut back, None);
        assert_eq!(values.map(f64::to_bits), back.map(f64::to_bits));
        decode(&bytes, &mut back, Some(Reduce::Sum));
        assert_eq!(back, [2.0, 0.0, 2.0 * f64::MIN_POSITIVE, 2e300]);
    }
}
