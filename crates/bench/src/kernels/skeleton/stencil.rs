//! Skeletons made of exchanges with neighbours, computing and small reductions.

use super::halo::{Halo, Order};
use super::team::{Grid, Team};
use crate::kernel::{Asked, Congesting, Declares, Kernel, Loops, Pattern, Room, Setup, Steps, Traits};
use crate::payload::{Tally, together, unchecked};
use comm::{Reduce, Refusal, Vector};
use record::{Coverage, Metric, Payload, Verdict};
use spec::{Card, Kind, Param, Params, ReadParams, Time, Work};

/// Cells along a side of a rank's block at most.
const CELLS: f64 = 4096.0;
const DOUBLE: usize = 8;

const REDUCED: Declares = Declares::AsCalled("how often a reduced value travels is the machine's to choose");

/// A step of an application is long: few of them make a block, and a congestor looks after each.
pub(super) const TRAITS: Traits = Traits {
    measured: Loops { warmup: 1, steps: Steps::always(4), arrangements: 1, measurements: 10_000 },
    congestor: |_: &Asked<'_>| Congesting { steps: 1, set: &[] },
    declares: REDUCED,
    room,
    ..Traits::PLAIN
};

/// The GPCNeT paper's application.
pub const LULESH: Kernel = Kernel {
    card: Card {
        name: "lulesh",
        about: "A time step like LULESH's: three exchanges with up to 26 neighbours in a box, computing between them, one 8-byte minimum",
        source: "GPCNeT §5.2, Table 3; LULESH 2.0 (LLNL); messages and computing time recalled, not read again",
        params: &[
            Param::new("n", Kind::Count, "30", "elements along a side of a rank's block").at_least(1.0).up_to(CELLS),
            Param::new("compute", Kind::Time, "40ms", "computing in a step, in three equal parts"),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits { tiny: &[("n", "3"), ("compute", "1us")], ..TRAITS },
    start: lulesh,
};

/// An exchange alone.
pub const HALO3D: Kernel = Kernel {
    card: Card {
        name: "halo3d",
        about: "An exchange with 6 or 26 neighbours in a box, and computing",
        source: "SST/Ember's Halo3D, recalled",
        params: &[
            Param::new("n", Kind::Count, "64", "cells along a side of a rank's block").at_least(1.0).up_to(CELLS),
            Param::new("fields", Kind::Count, "1", "doubles of a cell").at_least(1.0).up_to(CELLS),
            Param::new(
                "neighbours",
                Kind::Choice(&["6", "26"]),
                "6",
                "over faces alone, or over edges and corners, too",
            ),
            Param::new(
                "order",
                Kind::Choice(&["posted", "in-turn"]),
                "posted",
                "all at once, or one direction after the other",
            ),
            Param::new("compute", Kind::Time, "0s", "computing in a step"),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits { declares: Declares::Exact, tiny: &[("n", "2"), ("fields", "3"), ("neighbours", "26")], ..TRAITS },
    start: halo3d,
};

/// An iteration of a conjugate-gradient solver.
pub const CG: Kernel = Kernel {
    card: Card {
        name: "cg",
        about: "An iteration of conjugate gradients on a 27-point stencil: one exchange with 26 neighbours, two 8-byte sums, computing",
        source: "HPCG (Dongarra, Heroux, Luszczek 2016): its shape, recalled",
        params: &[
            Param::new("n", Kind::Count, "64", "cells along a side of a rank's block").at_least(1.0).up_to(CELLS),
            Param::new("compute", Kind::Time, "1ms", "computing in a step"),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits { tiny: &[("n", "3"), ("compute", "1us")], ..TRAITS },
    start: cg,
};

/// A step in which this rank sent so many bytes: what counts is the time of all of it, not of a message.
pub(super) fn step_of(bytes: u64) -> Work {
    Work::messages(1, bytes)
}

/// Faces of all fields both ways are most of what a rank holds.
fn room(params: &Params, _: u64) -> Room {
    let n = params.count("n").saturating_add(1);
    let fields = if params.contains_key("fields") { params.count("fields") } else { 12 };
    Room::each(n.saturating_mul(n).saturating_mul(12 * DOUBLE as u64).saturating_mul(fields))
}

/// Bytes of so many fields of doubles over a face, an edge and a corner with so many points along a side.
fn sizes(points: usize, fields: usize) -> [usize; 3] {
    [points * points, points, 1].map(|count| count * fields * DOUBLE)
}

struct Stencil<'c> {
    team: Team<'c>,
    halos: Vec<Halo>,
    /// Computing before each exchange.
    compute: Time,
    sums: usize,
    how: Reduce,
    carried: bool,
    round: u64,
    steps: u64,
    /// What came of reductions since the last look, and what must have.
    reduced: Vec<[f64; 2]>,
    /// Bytes that this rank sends in a step.
    bytes: u64,
    tally: Tally,
}

/// What differs between the kernels.
struct Shape {
    /// Bytes over faces, edges and corners of each exchange.
    exchanges: Vec<[usize; 3]>,
    order: Order,
    /// Computing in a step.
    compute: Time,
    sums: usize,
    how: Reduce,
}

fn start(setup: Setup<'_>, shape: Shape) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let grid = Grid::cubic(setup.comm.size());
    let team = Team::new(setup.comm, grid);
    let me = team.plays.then(|| team.comm.rank());
    let Shape { exchanges, order, compute, sums, how } = shape;
    let parts = exchanges.len() as u64;
    let halo = |(i, sizes): (usize, [usize; 3])| Halo::new(grid, me, sizes, setup.payload, TAG + 3 * i as u16, order);
    let halos: Vec<Halo> = exchanges.into_iter().enumerate().map(halo).collect();
    Ok(Box::new(Stencil {
        team,
        bytes: halos.iter().map(|halo| halo.sends().1).sum(),
        halos,
        reduced: Vec::new(),
        compute: Time::from_ps(compute.ps() / parts),
        sums,
        how,
        carried: setup.payload == Payload::Checked,
        round: 0,
        steps: 0,
        tally: Tally::default(),
    }))
}

const TAG: u16 = 1200;

fn lulesh(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (n, compute) = (setup.params.count("n") as usize, setup.params.time("compute"));
    // Fields at nodes, of which a side has one more than elements: forces are added up, then positions and velocities go out. Gradients
    // are at elements and go over faces alone.
    let exchanges = vec![sizes(n + 1, 3), sizes(n + 1, 6), [sizes(n, 3)[0], 0, 0]];
    start(setup, Shape { exchanges, order: Order::Posted, compute, sums: 1, how: Reduce::Min })
}

fn halo3d(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let params = setup.params;
    let all = sizes(params.count("n") as usize, params.count("fields") as usize);
    let sizes = if params.word("neighbours") == "6" { [all[0], 0, 0] } else { all };
    let order = if params.word("order") == "posted" { Order::Posted } else { Order::InTurn };
    let compute = params.time("compute");
    start(setup, Shape { exchanges: vec![sizes], order, compute, sums: 0, how: Reduce::Sum })
}

fn cg(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (n, compute) = (setup.params.count("n") as usize, setup.params.time("compute"));
    start(setup, Shape { exchanges: vec![sizes(n, 1)], order: Order::Posted, compute, sums: 2, how: Reduce::Sum })
}

impl Stencil<'_> {
    /// What a rank brings to a reduction of a step, and what comes of it: small whole numbers, whose sums are exact in any order.
    fn reduce(&mut self, which: usize) {
        let (comm, how) = (&*self.team.comm, self.how);
        if !self.carried {
            return comm.allreduce(Vector::Len(1), how);
        }
        let base = 1 + (self.round.wrapping_mul(31) + self.steps.wrapping_mul(7) + which as u64) % 1009;
        let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
        let mut value = [(base + rank) as f64];
        comm.allreduce(Vector::Values(&mut value), how);
        let right = match how {
            Reduce::Min => base,
            Reduce::Max => base + ranks - 1,
            Reduce::Sum => ranks * base + ranks * (ranks - 1) / 2,
        };
        self.reduced.push([value[0], right as f64]);
    }

    fn look(&mut self, random: Option<u64>) -> Verdict {
        if !self.carried {
            return unchecked();
        }
        let round = self.round;
        for [value, right] in self.reduced.drain(..) {
            let say = || format!("a reduction of block {round}: {value} instead of {right}");
            self.tally.values(1, u64::from(value != right), say);
        }
        let halos = self.halos.iter_mut().filter_map(|halo| halo.look(random));
        halos.fold(self.tally.verdict(), Verdict::and)
    }
}

impl Pattern for Stencil<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn renew(&mut self, steps: u32) {
        let rank = self.team.comm.rank();
        // Room before the timed steps, not in them.
        self.reduced.reserve(self.sums * steps as usize);
        self.halos.iter_mut().for_each(|halo| halo.renew(rank, self.round, steps));
    }

    fn spare(&mut self, spare: bool) {
        self.halos.iter_mut().for_each(|halo| halo.spare(spare));
    }

    fn step(&mut self) -> Option<Work> {
        if !self.team.plays {
            return None;
        }
        for halo in &mut self.halos {
            if self.compute > Time::ZERO {
                self.team.comm.pause(self.compute);
            }
            halo.exchange(&*self.team.comm);
        }
        (0..self.sums).for_each(|which| self.reduce(which));
        self.steps += 1;
        Some(step_of(self.bytes))
    }

    fn holds(&self) -> u32 {
        self.halos.iter().map(Halo::holds).min().unwrap_or(u32::MAX)
    }

    fn verify(&mut self) -> Verdict {
        self.look(None)
    }

    fn glance(&mut self, random: u64) -> Verdict {
        self.look(Some(random))
    }

    fn coverage(&self) -> Option<Coverage> {
        together(self.halos.iter().filter_map(Halo::coverage))
    }

    fn notes(&mut self) -> Vec<String> {
        self.team.notes()
    }
}
