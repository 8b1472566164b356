//! Ranks on a P x Q grid, and indices dealt to them in blocks.

use comm::{Comm, Refusal};
use spec::Params;
use spec::ReadParams;

/// Indices `0..n` in blocks of `nb`, dealt in turn to `procs` processes; seen by process `me`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cyclic {
    /// Indices in all.
    pub n: usize,
    /// Block length.
    pub nb: usize,
    /// Processes.
    pub procs: usize,
    /// This one.
    pub me: usize,
}

impl Cyclic {
    /// How many indices below `g` are here.
    pub fn below(&self, g: usize) -> usize {
        let blocks = g / self.nb;
        let rest = match self.me.cmp(&(blocks % self.procs)) {
            std::cmp::Ordering::Less => self.nb,
            std::cmp::Ordering::Equal => g % self.nb,
            std::cmp::Ordering::Greater => 0,
        };
        blocks / self.procs * self.nb + rest
    }
    /// How many indices are here.
    pub fn count(&self) -> usize {
        self.below(self.n)
    }
    /// Who has index `g`.
    pub fn owner(&self, g: usize) -> usize {
        g / self.nb % self.procs
    }
    /// Where index `g` is on the process that has it.
    pub fn local(&self, g: usize) -> usize {
        g / self.nb / self.procs * self.nb + g % self.nb
    }
    /// Which index is here at position `l`.
    pub fn global(&self, l: usize) -> usize {
        (l / self.nb * self.procs + self.me) * self.nb + l % self.nb
    }
    /// The same seen by another process.
    pub fn seen_by(&self, me: usize) -> Cyclic {
        Cyclic { me, ..*self }
    }
}

/// How ranks are put on a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Consecutive ranks along a row.
    Row,
    /// Consecutive ranks along a column.
    Column,
}

/// The shape of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Process rows.
    pub p: usize,
    /// Process columns.
    pub q: usize,
    /// Which ranks are where.
    pub mapping: Mapping,
}

/// The largest P up to the square root of `ranks` that divides it, as the original chooses.
pub fn squarest(ranks: usize) -> (usize, usize) {
    let p = (1..=ranks.isqrt()).rev().find(|p| ranks.is_multiple_of(*p)).unwrap_or(1);
    (p, ranks / p)
}

impl Shape {
    /// From the parameters `p`, `q` and `mapping`; zero is chosen from the number of ranks.
    pub fn read(params: &Params, ranks: usize) -> Result<Shape, Refusal> {
        let mapping = if params.word("mapping") == "column" { Mapping::Column } else { Mapping::Row };
        let (p, q) = match (params.count("p") as usize, params.count("q") as usize) {
            (0, 0) => squarest(ranks),
            (0, q) => (ranks / q.max(1), q),
            (p, 0) => (p, ranks / p),
            given => given,
        };
        if p == 0 || q == 0 || p.checked_mul(q).is_none_or(|pq| pq > ranks) {
            return Err(Refusal(format!(
                "a grid of {p} x {q} does not fit {ranks} ranks; choose p and q with p q <= {ranks}"
            )));
        }
        Ok(Shape { p, q, mapping })
    }

    /// Row and column of a rank on the grid; none for ranks beyond it.
    pub fn place(&self, rank: usize) -> Option<(usize, usize)> {
        let inside = rank < self.p * self.q;
        inside.then(|| match self.mapping {
            Mapping::Row => (rank / self.q, rank % self.q),
            Mapping::Column => (rank % self.p, rank / self.p),
        })
    }

    /// The rank at a place.
    pub fn rank(&self, row: usize, col: usize) -> usize {
        match self.mapping {
            Mapping::Row => row * self.q + col,
            Mapping::Column => col * self.p + row,
        }
    }
}

/// One rank's place on a grid, with the ranks of its row and of its column.
pub struct Grid<'c> {
    /// The grid.
    pub shape: Shape,
    /// Process row of this rank.
    pub row: usize,
    /// Process column of this rank.
    pub col: usize,
    /// Ranks of this process row, numbered by process column.
    pub along_row: Box<dyn Comm + 'c>,
    /// Ranks of this process column, numbered by process row.
    pub along_col: Box<dyn Comm + 'c>,
    /// All ranks of the grid.
    pub all: Box<dyn Comm + 'c>,
}

impl<'c> Grid<'c> {
    /// Takes the places; none for ranks beyond the grid. Collective.
    pub fn join(comm: &'c dyn Comm, shape: Shape) -> Option<Grid<'c>> {
        let place = shape.place(comm.rank());
        let key = |k: usize| k as u32;
        let along_row = comm.split(place.map(|(row, _)| key(row)), key(place.map_or(0, |(_, col)| col)));
        let along_col = comm.split(place.map(|(_, col)| key(col)), key(place.map_or(0, |(row, _)| row)));
        let all = comm.split(place.map(|_| 0), key(comm.rank()));
        // Only now: splitting is collective, and ranks beyond the grid take part in it.
        let (row, col) = place?;
        Some(Grid { shape, row, col, along_row: along_row?, along_col: along_col?, all: all? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_somewhere_once() {
        for (n, nb, procs) in [(0, 3, 2), (1, 4, 3), (17, 4, 3), (100, 7, 5), (64, 64, 2), (13, 1, 4)] {
            let mut seen = vec![0; n];
            for me in 0..procs {
                let c = Cyclic { n, nb, procs, me };
                for l in 0..c.count() {
                    let g = c.global(l);
                    seen[g] += 1;
                    assert_eq!((c.owner(g), c.local(g), c.below(g)), (me, l, l));
                }
            }
            assert!(seen.iter().all(|s| *s == 1), "{n} {nb} {procs}");
        }
    }

    #[test]
    fn grids() {
        assert_eq!([1, 2, 6, 7, 12, 64].map(squarest), [(1, 1), (1, 2), (2, 3), (1, 7), (3, 4), (8, 8)]);
        for mapping in [Mapping::Row, Mapping::Column] {
            let shape = Shape { p: 2, q: 3, mapping };
            for rank in 0..6 {
                let (row, col) = shape.place(rank).unwrap();
                assert_eq!(shape.rank(row, col), rank);
            }
            assert_eq!(shape.place(6), None);
        }
    }
}
