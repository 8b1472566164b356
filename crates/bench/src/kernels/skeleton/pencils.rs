//! A three-dimensional FFT by pencils: an all-to-all among the ranks of a row, one among those of a column, and back.

use super::stencil::{TRAITS, step_of};
use super::team::{Grid, Team};
use crate::kernel::{Declares, Kernel, Pattern, Room, Setup, Traits};
use crate::payload::{Mail, together, unchecked};
use comm::{Comm, Refusal};
use record::{Coverage, Metric, Verdict};
use spec::{Card, Kind, Param, Params, ReadParams, Time, Work};

/// Bytes of a complex number.
const COMPLEX: u64 = 16;

/// The kernel.
pub const FFT3D: Kernel = Kernel {
    card: Card {
        name: "fft3d",
        about: "A three-dimensional FFT by pencils, forward and back: all-to-alls in the rows, then in the columns of a rectangle of ranks",
        source: "pencil decomposition as in P3DFFT (Pekurovsky 2012), recalled",
        params: &[
            Param::new("n", Kind::Count, "64", "a rank has n x n x n complex numbers").at_least(1.0).up_to(2048.0),
            Param::new("compute", Kind::Time, "0s", "computing in a step"),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits { declares: Declares::Exact, room, tiny: &[("n", "8")], ..TRAITS },
    start,
};

fn points(params: &Params) -> u64 {
    let n = params.count("n");
    n.saturating_mul(n).saturating_mul(n)
}

fn room(params: &Params, _: u64) -> Room {
    // All of it out of and into each of four all-to-alls.
    Room::each(points(params).saturating_mul(8 * COMPLEX))
}

/// One all-to-all of a step.
struct Turn {
    row: bool,
    mail: Mail,
    size: usize,
}

struct Pencils<'c> {
    /// The team's numbers of those in the row, and this rank's place among them; the same of the column.
    lines: [(Vec<usize>, usize); 2],
    compute: Time,
    turns: Vec<Turn>,
    round: u64,
    carried: bool,
    row: Option<Box<dyn Comm + 'c>>,
    column: Option<Box<dyn Comm + 'c>>,
    rank: usize,
    notes: Vec<String>,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let grid = Grid::square(setup.comm.size());
    let (rank, [a, b, _]) = (setup.comm.rank(), grid.sides);
    let plays = rank < grid.members();
    let [x, y, _] = grid.place(if plays { rank } else { 0 });
    // Parts of the whole, not of a team: a part of a part would borrow from this function.
    let row = setup.comm.split(plays.then_some(x as u32), 0);
    let column = setup.comm.split(plays.then_some(y as u32), 0);
    let lines =
        [((0..b).map(|y| grid.rank([x, y, 0])).collect(), y), ((0..a).map(|x| grid.rank([x, y, 0])).collect(), x)];
    let turn = |row: bool| {
        let width = if row { b } else { a };
        let size = (points(setup.params) * COMPLEX / width as u64).max(1) as usize;
        let lanes = if plays { width } else { 0 };
        Turn { row, size, mail: Mail::new(setup.payload, size, (lanes, lanes), width) }
    };
    // Forward and back.
    let turns: Vec<Turn> = [true, false, false, true].map(turn).into();
    let carried = setup.payload == record::Payload::Checked;
    let compute = Time::from_ps(setup.params.time("compute").ps() / turns.len() as u64);
    let notes = Team::idle(grid, setup.comm.size());
    Ok(Box::new(Pencils { lines, compute, turns, round: 0, carried, row, column, rank, notes }))
}

impl Pencils<'_> {
    fn look(&mut self, random: Option<u64>) -> Verdict {
        if !self.carried {
            return unchecked();
        }
        let lines = &self.lines;
        let each = self.turns.iter_mut().map(|turn| {
            let (members, me) = &lines[usize::from(!turn.row)];
            turn.mail.look(random, |_, lane| (members[lane], *me as u32))
        });
        each.reduce(Verdict::and).unwrap_or_else(unchecked)
    }
}

impl Pattern for Pencils<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn renew(&mut self, steps: u32) {
        self.turns.iter_mut().for_each(|turn| turn.mail.renew(self.rank, self.round, steps));
    }

    fn spare(&mut self, spare: bool) {
        self.turns.iter_mut().for_each(|turn| turn.mail.spare(spare));
    }

    fn step(&mut self) -> Option<Work> {
        let (row, column) = (self.row.as_deref()?, self.column.as_deref()?);
        let mut bytes = 0;
        for turn in &mut self.turns {
            let line = if turn.row { row } else { column };
            if self.compute > Time::ZERO {
                line.pause(self.compute);
            }
            let (out, into) = turn.mail.step();
            line.alltoall(out.all(), into.all());
            bytes += ((line.size() - 1) * turn.size) as u64;
        }
        Some(step_of(bytes))
    }

    fn holds(&self) -> u32 {
        self.turns.iter().map(|turn| turn.mail.holds()).min().unwrap_or(u32::MAX)
    }

    fn verify(&mut self) -> Verdict {
        self.look(None)
    }

    fn glance(&mut self, random: u64) -> Verdict {
        self.look(Some(random))
    }

    fn coverage(&self) -> Option<Coverage> {
        together(self.turns.iter().filter_map(|turn| turn.mail.coverage()))
    }

    fn notes(&mut self) -> Vec<String> {
        self.notes.clone()
    }
}
