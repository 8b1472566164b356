//! How a factored panel travels along a process row: the six broadcasts of HPL.
//!
//! Ranks count from the root here. A ring passes the panel on from neighbour to neighbour; the modified rings serve the root's
//! right neighbour first and let it start its work at once; two rings halve the way; the long ones cut the panel into pieces,
//! spread them over the row and roll them round.

use super::super::{incoming, outgoing};
use comm::{Comm, Op, Rank, Tag};
use std::ops::Range;

const TAG: Tag = 310;

/// Which way a panel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// One ring.
    Ring,
    /// One ring, the first neighbour apart.
    RingModified,
    /// Two rings.
    TwoRings,
    /// Two rings, the first neighbour apart.
    TwoRingsModified,
    /// Spread and roll.
    Long,
    /// Spread and roll, the first neighbour apart.
    LongModified,
}

/// In the order of `HPL.dat`'s numbers.
pub const ROUTES: [(&str, Route); 6] = [
    ("1ring", Route::Ring),
    ("1ringM", Route::RingModified),
    ("2ring", Route::TwoRings),
    ("2ringM", Route::TwoRingsModified),
    ("long", Route::Long),
    ("longM", Route::LongModified),
];

impl Route {
    /// Where rank `at` (counted from the root) of `size` gets the panel and whom it sends it to, for the rings.
    pub fn links(self, at: usize, size: usize) -> (Option<usize>, Vec<usize>) {
        // The ranks of each chain that starts at the root.
        let chains: Vec<Range<usize>> = match self {
            Route::Ring => std::iter::once(1..size).collect(),
            Route::RingModified => vec![1..2.min(size), 2..size],
            Route::TwoRings => vec![1..1 + size / 2, 1 + size / 2..size],
            Route::TwoRingsModified => {
                let half = 2 + size.saturating_sub(2).div_ceil(2);
                vec![1..2.min(size), 2..half.min(size), half..size]
            }
            Route::Long | Route::LongModified => unreachable!("long panels are cut, not passed on whole"),
        };
        let chains: Vec<Range<usize>> = chains.into_iter().filter(|c| !c.is_empty()).collect();
        if at == 0 {
            return (None, chains.iter().map(|c| c.start).collect());
        }
        let chain = chains.iter().find(|c| c.contains(&at)).expect("every rank is on a chain");
        let from = if at == chain.start { 0 } else { at - 1 };
        (Some(from), if at + 1 < chain.end { vec![at + 1] } else { Vec::new() })
    }

    /// Whether the panel is passed on whole, so that receiving can overlap with an update.
    pub fn is_ring(self) -> bool {
        !matches!(self, Route::Long | Route::LongModified)
    }
}

/// One panel's journey.
#[derive(Clone, Copy)]
pub(super) struct Journey<'a> {
    /// Ranks of the process row.
    pub row: &'a dyn Comm,
    /// Who has the panel.
    pub root: Rank,
    /// Its way.
    pub route: Route,
    /// Whether nothing is stored.
    pub model: bool,
    /// Numbers in it.
    pub len: usize,
}

impl Journey<'_> {
    /// This rank, counted from the root.
    fn at(&self) -> usize {
        (self.row.rank() + self.row.size() - self.root) % self.row.size()
    }
    fn rank(&self, at: usize) -> Rank {
        (at + self.root) % self.row.size()
    }

    /// The receive of a ring, if this rank is not the root.
    pub fn receive<'b>(&self, data: &'b mut [f64]) -> Vec<Op<'b>> {
        let (from, _) = self.route.links(self.at(), self.row.size());
        let Some(from) = from else { return Vec::new() };
        vec![Op::Recv { from: self.rank(from), tag: TAG, into: incoming(self.model, data, self.len) }]
    }

    /// The sends of a ring.
    pub fn send<'b>(&self, data: &'b [f64]) -> Vec<Op<'b>> {
        let (_, to) = self.route.links(self.at(), self.row.size());
        to.into_iter()
            .map(|to| Op::Send { to: self.rank(to), tag: TAG, data: outgoing(self.model, data, self.len) })
            .collect()
    }

    /// The whole journey at once.
    pub fn run(&self, data: &mut [f64]) {
        if self.row.size() == 1 {
            return;
        }
        if self.route.is_ring() {
            self.row.exchange(&mut self.receive(data));
            self.row.exchange(&mut self.send(data));
            return;
        }
        let size = self.row.size();
        if self.route == Route::LongModified && size > 2 {
            // The first neighbour gets all of it and takes no part in the rest.
            match self.at() {
                0 => self.whole(Some(1), None, data),
                1 => return self.whole(None, Some(0), data),
                _ => {}
            }
            let others: Vec<usize> = (0..size).filter(|at| *at != 1).collect();
            self.spread_and_roll(&others, data);
        } else {
            self.spread_and_roll(&(0..size).collect::<Vec<_>>(), data);
        }
    }

    fn whole(&self, to: Option<usize>, from: Option<usize>, data: &mut [f64]) {
        if let Some(to) = to {
            let data = outgoing(self.model, data, self.len);
            self.row.exchange(&mut [Op::Send { to: self.rank(to), tag: TAG, data }]);
        }
        if let Some(from) = from {
            let into = incoming(self.model, data, self.len);
            self.row.exchange(&mut [Op::Recv { from: self.rank(from), tag: TAG, into }]);
        }
    }

    /// Piece `i` goes to member `i`, then every member passes pieces to its right until all have all.
    fn spread_and_roll(&self, members: &[usize], data: &mut [f64]) {
        let count = members.len();
        let here = members.iter().position(|m| *m == self.at()).expect("a member");
        let piece = |i: usize| self.len * i / count..self.len * (i + 1) / count;
        let part = |range: Range<usize>| if self.model { 0..0 } else { range };
        if here == 0 {
            let mut ops: Vec<Op<'_>> = Vec::new();
            for i in 1..count {
                let data = outgoing(self.model, &data[part(piece(i))], piece(i).len());
                ops.push(Op::Send { to: self.rank(members[i]), tag: TAG, data });
            }
            self.row.exchange(&mut ops);
        } else {
            let into = incoming(self.model, &mut data[part(piece(here))], piece(here).len());
            self.row.exchange(&mut [Op::Recv { from: self.rank(members[0]), tag: TAG, into }]);
        }
        let (right, left) = (members[(here + 1) % count], members[(here + count - 1) % count]);
        for step in 0..count.saturating_sub(1) {
            let (out, into) = (piece((here + count - step) % count), piece((here + 2 * count - step - 1) % count));
            let (lengths, (old, new)) = ((out.len(), into.len()), apart(data, part(out), part(into)));
            self.row.exchange(&mut [
                Op::Recv { from: self.rank(left), tag: TAG, into: incoming(self.model, new, lengths.1) },
                Op::Send { to: self.rank(right), tag: TAG, data: outgoing(self.model, old, lengths.0) },
            ]);
        }
    }
}

/// Two parts of one array that do not overlap, one to read and one to write.
pub(super) fn apart(data: &mut [f64], read: Range<usize>, write: Range<usize>) -> (&[f64], &mut [f64]) {
    if read.end <= write.start {
        let (low, high) = data.split_at_mut(write.start);
        (&low[read], &mut high[..write.len()])
    } else {
        let (low, high) = data.split_at_mut(read.start);
        (&high[..read.len()], &mut low[write])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_reaches_every_rank_once() {
        for (name, route) in ROUTES.into_iter().filter(|(_, r)| r.is_ring()) {
            for size in 1..12 {
                let mut reached = vec![0; size];
                for at in 0..size {
                    for to in route.links(at, size).1 {
                        reached[to] += 1;
                        assert_eq!(route.links(to, size).0, Some(at), "{name} {size}");
                    }
                }
                assert_eq!(reached[0], 0);
                assert!(reached[1..].iter().all(|r| *r == 1), "{name} {size}: {reached:?}");
            }
        }
    }
}
