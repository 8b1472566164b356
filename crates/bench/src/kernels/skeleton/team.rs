//! The ranks of a skeleton: as many as make a box that is nearly a cube, or a rectangle that is nearly a square.

use comm::Comm;

/// The longest side is at most so many times the shortest: two or three ranks in a row are still a box.
const LONGEST: usize = 3;

/// A box of ranks; a rectangle is flat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Ranks along each side, the longest first.
    pub sides: [usize; 3],
}

impl Grid {
    /// The largest box of at most so many ranks whose sides are alike.
    pub fn cubic(ranks: usize) -> Grid {
        let sides = |members: usize| {
            let shortest = (1..=members).take_while(|c| c * c * c <= members).filter(|c| members.is_multiple_of(*c));
            let boxes = shortest.flat_map(|c| {
                let rest = members / c;
                let middle = (c..=rest).take_while(move |b| b * b <= rest).filter(move |b| rest.is_multiple_of(*b));
                middle.map(move |b| [rest / b, b, c])
            });
            boxes.filter(|[a, _, c]| *a <= LONGEST * c).min_by_key(|[a, _, c]| a - c)
        };
        let sides = (1..=ranks.max(1)).rev().find_map(sides);
        Grid { sides: sides.expect("one rank is a box") }
    }

    /// The largest rectangle of at most so many ranks whose sides are alike.
    pub fn square(ranks: usize) -> Grid {
        let sides = |members: usize| {
            let shorter = (1..=members).take_while(|b| b * b <= members).filter(|b| members.is_multiple_of(*b)).last();
            shorter.map(|b| [members / b, b, 1]).filter(|[a, b, _]| *a <= LONGEST * b)
        };
        let sides = (1..=ranks.max(1)).rev().find_map(sides);
        Grid { sides: sides.expect("one rank is a rectangle") }
    }

    /// How many ranks are in it.
    pub fn members(&self) -> usize {
        self.sides.iter().product()
    }

    /// Where a rank is.
    pub fn place(&self, rank: usize) -> [usize; 3] {
        let [_, b, c] = self.sides;
        [rank / (b * c), rank / c % b, rank % c]
    }

    /// Who is at a place.
    pub fn rank(&self, [x, y, z]: [usize; 3]) -> usize {
        let [_, b, c] = self.sides;
        (x * b + y) * c + z
    }

    /// The rank beside another in a direction, if the box does not end there.
    pub fn beside(&self, rank: usize, direction: [i8; 3]) -> Option<usize> {
        let mut place = self.place(rank);
        for ((at, step), side) in place.iter_mut().zip(direction).zip(self.sides) {
            *at = at.checked_add_signed(isize::from(step)).filter(|at| *at < side)?;
        }
        Some(self.rank(place))
    }
}

/// The ranks that take part, and what is left over.
pub struct Team<'c> {
    /// Those that take part among themselves, or those that do not.
    pub comm: Box<dyn Comm + 'c>,
    /// Whether this rank takes part.
    pub plays: bool,
    grid: Grid,
    all: usize,
}

impl<'c> Team<'c> {
    /// The first ranks play. Collective.
    pub fn new(comm: &'c dyn Comm, grid: Grid) -> Team<'c> {
        let plays = comm.rank() < grid.members();
        let part = comm.split(Some(u32::from(!plays)), 0);
        Team { comm: part.expect("every rank has a color"), plays, grid, all: comm.size() }
    }

    /// What a reader must know of the ranks that idle.
    pub fn notes(&self) -> Vec<String> {
        Team::idle(self.grid, self.all)
    }

    /// The same of so many ranks.
    pub fn idle(grid: Grid, all: usize) -> Vec<String> {
        let [a, b, c] = grid.sides;
        match all - grid.members() {
            0 => Vec::new(),
            idle => vec![format!("{idle} of {all} ranks idle: the others are {a} x {b} x {c}")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_near_cubes_and_use_nearly_all() {
        let sides = |ranks| Grid::cubic(ranks).sides;
        assert_eq!([sides(1), sides(2), sides(3), sides(5)], [[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1]]);
        assert_eq!([sides(8), sides(27), sides(1000), sides(96)], [[2, 2, 2], [3, 3, 3], [10, 10, 10], [6, 4, 4]]);
        // A prime number of ranks leaves one out.
        assert_eq!(sides(997), Grid::cubic(996).sides);
        assert_eq!([Grid::square(12).sides, Grid::square(7).sides], [[4, 3, 1], [3, 2, 1]]);
        for ranks in 1..300 {
            let grid = Grid::cubic(ranks);
            assert!(grid.members() <= ranks && 2 * grid.members() > ranks, "{ranks}: {grid:?}");
        }
    }

    #[test]
    fn places_and_neighbours_agree() {
        let grid = Grid { sides: [4, 3, 2] };
        for rank in 0..24 {
            assert_eq!(grid.rank(grid.place(rank)), rank);
            if let Some(other) = grid.beside(rank, [1, -1, 0]) {
                assert_eq!(grid.beside(other, [-1, 1, 0]), Some(rank));
            }
        }
        assert_eq!(grid.beside(0, [0, 0, -1]), None);
        assert_eq!(grid.beside(23, [0, 1, 0]), None);
    }
}
