//! Row interchanges of a panel applied to other columns, which at the same time brings the panel's top rows (U) to every rank
//! of the process column.
//!
//! The interchanges of a panel are one permutation: top row i receives an old row, and each old top row that leaves goes to
//! one row below. Its owner sends those (spread); what the ranks have of the new top rows is gathered by all, by binary
//! exchange (few messages) or by rolling (few bytes at a time), as HPL's two variants.

use super::super::grid::Cyclic;
use super::super::{incoming, outgoing, pay};
use super::broadcast::apart;
use comm::{Comm, Op, Tag};
use spec::Work;
use std::collections::BTreeMap;
use std::ops::Range;

const SPREAD: Tag = 320;
const GATHER: Tag = 321;

/// Which variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// Logarithmically many messages.
    Binary,
    /// Spread and roll.
    Long,
    /// Binary up to so many columns, long above.
    Mix(usize),
}

/// A panel's interchanges as one permutation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moves {
    /// For each top row the global row that comes there.
    pub sources: Vec<usize>,
    /// Global rows below that receive an old top row: (row, which top row).
    pub leaving: Vec<(usize, usize)>,
}

impl Moves {
    /// From the pivots of the panel that starts at row `j0`.
    pub fn new(j0: usize, pivots: &[usize]) -> Moves {
        let mut content: BTreeMap<usize, usize> = BTreeMap::new();
        for (i, &pivot) in pivots.iter().enumerate() {
            let row = j0 + i;
            let (a, b) = (*content.get(&row).unwrap_or(&row), *content.get(&pivot).unwrap_or(&pivot));
            content.insert(row, b);
            content.insert(pivot, a);
        }
        let end = j0 + pivots.len();
        let sources = (j0..end).map(|row| *content.get(&row).unwrap_or(&row)).collect();
        let leaving = content.range(end..).map(|(row, from)| (*row, from - j0)).collect();
        Moves { sources, leaving }
    }
}

/// One application to a range of local columns.
pub(super) struct Exchange<'a> {
    /// Ranks of the process column.
    pub column: &'a dyn Comm,
    /// Whether nothing is stored.
    pub model: bool,
    /// How rows are dealt.
    pub rows: Cyclic,
    /// First global row of the panel.
    pub j0: usize,
    /// What moves.
    pub moves: &'a Moves,
    /// Local columns.
    pub cols: Range<usize>,
    /// Leading dimension of the local matrix.
    pub ld: usize,
    /// Variant.
    pub swap: Swap,
}

impl Exchange<'_> {
    fn top(&self) -> usize {
        self.rows.owner(self.j0)
    }

    /// Which new top rows process row `r` has.
    fn held(&self, r: usize) -> Vec<usize> {
        let here = |i: &usize| self.rows.owner(self.moves.sources[*i]) == r;
        (0..self.moves.sources.len()).filter(here).collect()
    }

    /// Which rows of process row `r` receive an old top row, and which.
    fn received(&self, r: usize) -> Vec<(usize, usize)> {
        self.moves.leaving.iter().copied().filter(|(row, _)| self.rows.owner(*row) == r).collect()
    }

    /// Packs these local rows of all columns, column by column.
    fn pack(&self, a: &[f64], rows: &[usize]) -> Vec<f64> {
        let mut out = Vec::with_capacity(rows.len() * self.cols.len());
        for c in self.cols.clone() {
            let column = &a[c * self.ld..];
            out.extend(rows.iter().map(|r| column[*r]));
        }
        out
    }

    fn unpack(&self, a: &mut [f64], rows: &[usize], values: &[f64]) {
        for (c, values) in self.cols.clone().zip(values.chunks_exact(rows.len().max(1))) {
            let column = &mut a[c * self.ld..];
            rows.iter().zip(values).for_each(|(r, x)| column[*r] = *x);
        }
    }

    /// Moves the rows and returns U, its rows in order, column by column with leading dimension `jb`.
    pub fn run(&self, a: &mut [f64]) -> Vec<f64> {
        let (me, procs, width) = (self.rows.me, self.rows.procs, self.cols.len());
        let held: Vec<Vec<usize>> = (0..procs).map(|r| self.held(r)).collect();
        let mut starts = vec![0];
        held.iter().for_each(|h| starts.push(starts[starts.len() - 1] + h.len() * width));
        let total = starts[procs];
        let mut gathered = vec![0.0; if self.model { 0 } else { total }];
        // Packed before the spread, which writes old top rows over these. 16 bytes: a number is read and written.
        let moved = Work { bytes: 16 * (held[me].len() * width) as u64, ..Work::NONE };
        pay(self.column, self.model, moved, &mut || {
            let rows: Vec<usize> = held[me].iter().map(|i| self.rows.local(self.moves.sources[*i])).collect();
            let mine = self.pack(a, &rows);
            gathered[starts[me]..starts[me] + mine.len()].copy_from_slice(&mine);
        });
        self.spread(a);
        self.gather(&mut gathered, &starts);
        let jb = self.moves.sources.len();
        let mut u = vec![0.0; if self.model { 0 } else { jb * width }];
        let moved = Work { bytes: 16 * (jb * width) as u64, ..Work::NONE };
        pay(self.column, self.model, moved, &mut || {
            for (held, start) in held.iter().zip(&starts).filter(|(h, _)| !h.is_empty()) {
                let rows = gathered[*start..].chunks_exact(held.len());
                for (column, values) in u.chunks_exact_mut(jb).zip(rows).take(width) {
                    held.iter().zip(values).for_each(|(i, x)| column[*i] = *x);
                }
            }
        });
        u
    }

    /// Old top rows go to where the new ones came from.
    fn spread(&self, a: &mut [f64]) {
        let (me, top, procs) = (self.rows.me, self.top(), self.rows.procs);
        let width = self.cols.len();
        let bytes = |rows: usize| Work { bytes: 16 * (rows * width) as u64, ..Work::NONE };
        let target = |list: &[(usize, usize)]| list.iter().map(|(row, _)| self.rows.local(*row)).collect::<Vec<_>>();
        if me != top {
            let list = self.received(me);
            if list.is_empty() || width == 0 {
                return;
            }
            let count = list.len() * width;
            let mut values = vec![0.0; if self.model { 0 } else { count }];
            let into = incoming(self.model, &mut values, count);
            self.column.exchange(&mut [Op::Recv { from: top, tag: SPREAD, into }]);
            return pay(self.column, self.model, bytes(list.len()), &mut || self.unpack(a, &target(&list), &values));
        }
        let first = self.rows.local(self.j0);
        let lists: Vec<Vec<(usize, usize)>> = (0..procs).map(|r| self.received(r)).collect();
        let mut packed: Vec<Vec<f64>> = Vec::new();
        pay(self.column, self.model, bytes(self.moves.leaving.len()), &mut || {
            let sources = |list: &[(usize, usize)]| list.iter().map(|(_, k)| first + k).collect::<Vec<_>>();
            packed = lists.iter().map(|list| self.pack(a, &sources(list))).collect();
        });
        let mut ops = Vec::new();
        for (to, list) in lists.iter().enumerate().filter(|(to, list)| *to != me && !list.is_empty() && width > 0) {
            let values = packed.get(to).map_or(&[][..], |v| v.as_slice());
            ops.push(Op::Send { to, tag: SPREAD, data: outgoing(self.model, values, list.len() * width) });
        }
        self.column.exchange(&mut ops);
        drop(ops);
        pay(self.column, self.model, bytes(lists[me].len()), &mut || self.unpack(a, &target(&lists[me]), &packed[me]));
    }

    /// All pieces to all ranks; piece `r` lies at `starts[r]..starts[r + 1]`.
    fn gather(&self, data: &mut [f64], starts: &[usize]) {
        let binary = match self.swap {
            Swap::Binary => true,
            Swap::Long => false,
            Swap::Mix(threshold) => self.cols.len() <= threshold,
        };
        if binary { self.double(data, starts) } else { self.roll(data, starts) }
    }

    fn roll(&self, data: &mut [f64], starts: &[usize]) {
        let (me, procs) = (self.rows.me, self.rows.procs);
        let piece = |r: usize| starts[r % procs]..starts[r % procs + 1];
        for step in 0..procs.saturating_sub(1) {
            self.trade(
                data,
                (me + 1) % procs,
                &[piece(me + procs - step)],
                (me + procs - 1) % procs,
                &[piece(me + 2 * procs - step - 1)],
            );
        }
    }

    /// After each step a rank has twice as many pieces, its own and those of the ranks after it, round the end.
    fn double(&self, data: &mut [f64], starts: &[usize]) {
        let (me, procs) = (self.rows.me, self.rows.procs);
        let pieces = |first: usize, count: usize| -> Vec<Range<usize>> {
            let first = first % procs;
            let end = first + count;
            let mut all = Vec::with_capacity(2);
            all.push(starts[first]..starts[end.min(procs)]);
            if end > procs {
                all.push(0..starts[end - procs]);
            }
            all
        };
        let mut have = 1;
        while have < procs {
            // The last step is shorter where the number of process rows is no power of two.
            let count = have.min(procs - have);
            self.trade(
                data,
                (me + procs - have) % procs,
                &pieces(me, count),
                (me + have) % procs,
                &pieces(me + have, count),
            );
            have += count;
        }
    }

    /// Sends some parts of `data` and receives others; parts without elements are no messages.
    fn trade(&self, data: &mut [f64], to: usize, out: &[Range<usize>], from: usize, into: &[Range<usize>]) {
        let filled = |parts: &[Range<usize>]| parts.iter().filter(|p| !p.is_empty()).cloned().collect::<Vec<_>>();
        let (out, into) = (filled(out), filled(into));
        if self.model {
            let sends = out.iter().map(|p| Op::Send { to, tag: GATHER, data: outgoing::<f64>(true, &[], p.len()) });
            let recvs =
                into.iter().map(|p| Op::Recv { from, tag: GATHER, into: incoming::<f64>(true, &mut [], p.len()) });
            return self.column.exchange(&mut recvs.chain(sends).collect::<Vec<_>>());
        }
        // Parts to send and to receive lie beside each other in one array; the received ones come by way of a copy if there
        // are several.
        if let ([out], [into]) = (out.as_slice(), into.as_slice()) {
            let (old, new) = apart(data, out.clone(), into.clone());
            let (a, b) = (old.len(), new.len());
            return self.column.exchange(&mut [
                Op::Recv { from, tag: GATHER, into: incoming(false, new, b) },
                Op::Send { to, tag: GATHER, data: outgoing(false, old, a) },
            ]);
        }
        let mut rooms: Vec<Vec<f64>> = into.iter().map(|p| vec![0.0; p.len()]).collect();
        let recvs = rooms.iter_mut().map(|room| {
            let len = room.len();
            Op::Recv { from, tag: GATHER, into: incoming(false, room, len) }
        });
        let shared: &[f64] = data;
        let sends =
            out.iter().map(|p| Op::Send { to, tag: GATHER, data: outgoing(false, &shared[p.clone()], p.len()) });
        self.column.exchange(&mut recvs.chain(sends).collect::<Vec<_>>());
        rooms.iter().zip(into).for_each(|(room, p)| data[p].copy_from_slice(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Rng;

    #[test]
    fn moves_equal_one_interchange_after_the_other() {
        let mut rng = Rng::new(3, "moves", 0);
        for _ in 0..200 {
            let (n, j0, jb) = (30, 8, 1 + rng.below(8) as usize);
            let pivots: Vec<usize> = (0..jb).map(|i| j0 + i + rng.below((n - j0 - i) as u64) as usize).collect();
            let mut rows: Vec<usize> = (0..n).collect();
            pivots.iter().enumerate().for_each(|(i, p)| rows.swap(j0 + i, *p));
            let moves = Moves::new(j0, &pivots);
            assert_eq!(moves.sources, rows[j0..j0 + jb]);
            let mut below: Vec<usize> = (0..n).collect();
            moves.leaving.iter().for_each(|(row, k)| below[*row] = j0 + k);
            assert_eq!(below[j0 + jb..], rows[j0 + jb..]);
        }
    }
}
