//! The search for a pivot over the ranks of a process column: one exchange finds the largest element and brings both rows, the
//! pivot's and the one it replaces, to everybody.

use super::super::{incoming, outgoing};
use comm::{Comm, Op, Tag};

const TAG: Tag = 300;
/// Numbers before the rows: size, global row, whether the pivot row is there, whether the top row is.
const HEAD: usize = 4;

/// The best row that some ranks have found so far, and the top row once its owner is among them.
pub(super) struct Candidate {
    width: usize,
    data: Vec<f64>,
}

impl Candidate {
    /// Nothing yet.
    pub fn none(model: bool, width: usize) -> Candidate {
        Candidate { width, data: vec![0.0; if model { 0 } else { HEAD + 2 * width }] }
    }
    fn len(&self) -> usize {
        HEAD + 2 * self.width
    }
    /// This rank's best.
    pub fn set_pivot(&mut self, value: f64, row: usize, values: impl Iterator<Item = f64>) {
        (self.data[0], self.data[1], self.data[2]) = (value.abs(), row as f64, 1.0);
        self.data[HEAD..].iter_mut().zip(values).for_each(|(d, x)| *d = x);
    }
    /// The row that makes room.
    pub fn set_top(&mut self, values: impl Iterator<Item = f64>) {
        self.data[3] = 1.0;
        self.data[HEAD + self.width..].iter_mut().zip(values).for_each(|(d, x)| *d = x);
    }
    /// Global row of the pivot.
    pub fn row(&self) -> usize {
        self.data[1] as usize
    }
    /// The pivot's row.
    pub fn pivot_row(&self) -> &[f64] {
        &self.data[HEAD..HEAD + self.width]
    }
    /// The row it replaces.
    pub fn top_row(&self) -> &[f64] {
        &self.data[HEAD + self.width..]
    }

    /// Takes what is better; the smaller row of equals, so that the order of merging does not matter.
    fn merge(&mut self, other: &Candidate) {
        let (mine, theirs) = (&self.data, &other.data);
        let none = mine[2] == 0.0;
        // An element that is no number beats all others: the residual will show it.
        let larger = theirs[0] > mine[0] || (theirs[0].is_nan() && !mine[0].is_nan());
        let equal = theirs[0] == mine[0] && theirs[1] < mine[1];
        if theirs[2] == 1.0 && (none || larger || equal) {
            self.data[..3].copy_from_slice(&other.data[..3]);
            self.data[HEAD..HEAD + self.width].copy_from_slice(other.pivot_row());
        }
        if other.data[3] == 1.0 {
            self.data[3] = 1.0;
            self.data[HEAD + self.width..].copy_from_slice(other.top_row());
        }
    }
}

/// Every rank gets the best of all: recursive doubling over the largest power of two of ranks, the others before and after it.
pub(super) fn search(column: &dyn Comm, model: bool, mut mine: Candidate) -> Candidate {
    let (me, size) = (column.rank(), column.size());
    if size == 1 {
        return mine;
    }
    let whole = 1 << size.ilog2();
    let len = mine.len();
    let mut theirs = Candidate::none(model, mine.width);
    if me >= whole {
        column.exchange(&mut [Op::Send { to: me - whole, tag: TAG, data: outgoing(model, &mine.data, len) }]);
        column.exchange(&mut [Op::Recv { from: me - whole, tag: TAG, into: incoming(model, &mut mine.data, len) }]);
        return mine;
    }
    let extra = (me + whole < size).then_some(me + whole);
    if let Some(from) = extra {
        column.exchange(&mut [Op::Recv { from, tag: TAG, into: incoming(model, &mut theirs.data, len) }]);
        if !model {
            mine.merge(&theirs);
        }
    }
    let mut bit = 1;
    while bit < whole {
        let partner = me ^ bit;
        column.exchange(&mut [
            Op::Recv { from: partner, tag: TAG, into: incoming(model, &mut theirs.data, len) },
            Op::Send { to: partner, tag: TAG, data: outgoing(model, &mine.data, len) },
        ]);
        if !model {
            mine.merge(&theirs);
        }
        bit *= 2;
    }
    if let Some(to) = extra {
        column.exchange(&mut [Op::Send { to, tag: TAG, data: outgoing(model, &mine.data, len) }]);
    }
    mine
}
