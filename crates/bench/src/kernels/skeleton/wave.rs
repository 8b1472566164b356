//! A wavefront over a rectangle of ranks, from each of its corners in turn: a rank waits for those upstream, computes, and tells those
//! downstream.

use super::stencil::{TRAITS, step_of};
use super::team::{Grid, Team};
use crate::kernel::{Declares, Kernel, Pattern, Room, Setup, Traits};
use crate::payload::Mail;
use comm::{Op, Refusal, Tag};
use record::Metric;
use spec::{Card, Kind, Param, Params, ReadParams, Time, Work};

/// Of each number at most.
const MOST: f64 = 4096.0;

/// The kernel.
pub const SWEEP3D: Kernel = Kernel {
    card: Card {
        name: "sweep3d",
        about: "Wavefronts over a rectangle of ranks from its four corners: receive from two sides, compute, send to the other two",
        source: "Sweep3D (LANL), SST/Ember's motif; sizes recalled",
        params: &[
            Param::new("n", Kind::Count, "50", "cells along a side of a rank's planes").at_least(1.0).up_to(MOST),
            Param::new("planes", Kind::Count, "10", "planes that go together").at_least(1.0).up_to(MOST),
            Param::new("blocks", Kind::Count, "5", "such blocks of planes").at_least(1.0).up_to(MOST),
            Param::new("angles", Kind::Count, "6", "doubles of a cell").at_least(1.0).up_to(MOST),
            Param::new("compute", Kind::Time, "100us", "computing of a block"),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        declares: Declares::Exact,
        room,
        tiny: &[("n", "2"), ("planes", "2"), ("blocks", "2"), ("compute", "1us")],
        ..TRAITS
    },
    start,
};

fn message(params: &Params) -> u64 {
    let numbers = ["n", "planes", "angles"].map(|name| params.count(name));
    numbers.into_iter().fold(8, u64::saturating_mul)
}

fn room(params: &Params, _: u64) -> Room {
    // Two sides out of and two into a block, from four corners.
    Room::each(message(params).saturating_mul(params.count("blocks")).saturating_mul(16))
}

/// The directions in which waves go.
const CORNERS: [[i8; 2]; 4] = [[1, 1], [1, -1], [-1, 1], [-1, -1]];
const TAG: Tag = 1300;

/// A message of a wave: from which corner, which block, along which side.
type Part = (usize, usize, usize);

/// Along a side in the direction of a wave.
fn along(corner: usize, side: usize) -> [i8; 3] {
    let mut direction = [0; 3];
    direction[side] = CORNERS[corner][side];
    direction
}

/// What a rank sends in a step, in order; the place of a part is its lane.
fn sends(grid: Grid, rank: usize, blocks: usize) -> Vec<(Part, usize)> {
    parts(blocks).filter_map(|part| Some((part, grid.beside(rank, along(part.0, part.2))?))).collect()
}

fn parts(blocks: usize) -> impl Iterator<Item = Part> {
    let all = (0..CORNERS.len()).flat_map(move |corner| (0..blocks).map(move |block| (corner, block)));
    all.flat_map(|(corner, block)| [0, 1].map(|side| (corner, block, side)))
}

struct Wave<'c> {
    team: Team<'c>,
    size: usize,
    blocks: usize,
    compute: Time,
    sends: Vec<(Part, usize)>,
    /// Who sends what this rank receives, in order, and in which lane.
    receives: Vec<(Part, (usize, u32))>,
    round: u64,
    mail: Mail,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let params = setup.params;
    let (grid, blocks) = (Grid::square(setup.comm.size()), params.count("blocks") as usize);
    let team = Team::new(setup.comm, grid);
    let me = team.comm.rank();
    let upstream = |part: Part| {
        let from = grid.beside(me, along(part.0, part.2).map(|step| -step))?;
        let lane = sends(grid, from, blocks).iter().position(|(other, _)| *other == part);
        Some((part, (from, lane.expect("it sends downstream") as u32)))
    };
    let (sends, receives) = match team.plays {
        true => (sends(grid, me, blocks), parts(blocks).filter_map(upstream).collect()),
        false => (Vec::new(), Vec::new()),
    };
    let size = message(params) as usize;
    let mail = Mail::new(setup.payload, size, (sends.len(), receives.len()), 2 * CORNERS.len() * blocks);
    let compute = params.time("compute");
    Ok(Box::new(Wave { team, size, blocks, compute, sends, receives, round: 0, mail }))
}

impl Wave<'_> {
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let from: Vec<(usize, u32)> = self.receives.iter().map(|(_, from)| *from).collect();
        move |_, lane| from[lane]
    }
}

impl Pattern for Wave<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.team.comm.rank(), self.round, steps);
    }

    fn step(&mut self) -> Option<Work> {
        if !self.team.plays {
            return None;
        }
        let comm = &*self.team.comm;
        let (out, into) = self.mail.step();
        let mut into = into.lanes();
        let mut receives = self.receives.iter().peekable();
        let mut sends = self.sends.iter().enumerate().peekable();
        for (corner, block) in (0..CORNERS.len()).flat_map(|corner| (0..self.blocks).map(move |block| (corner, block)))
        {
            let now = |part: &Part| (part.0, part.1) == (corner, block);
            let mut ops = Vec::with_capacity(2);
            while let Some((_, (from, _))) = receives.next_if(|(part, _)| now(part)) {
                ops.push(Op::Recv { from: *from, tag: TAG, into: into.next().expect("a place for each") });
            }
            comm.exchange(&mut ops);
            if self.compute > Time::ZERO {
                comm.pause(self.compute);
            }
            let mut ops = Vec::with_capacity(2);
            while let Some((lane, (_, to))) = sends.next_if(|(_, (part, _))| now(part)) {
                ops.push(Op::Send { to: *to, tag: TAG, data: out.lane(lane) });
            }
            comm.exchange(&mut ops);
        }
        Some(step_of((self.sends.len() * self.size) as u64))
    }

    fn notes(&mut self) -> Vec<String> {
        self.team.notes()
    }

    crate::payload::looks_at_mail!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let grid = Grid { sides: [3, 2, 1] };
        // Every inner cable carries each block of two corners each way: 4 along one side and 3 along the other.
        let all: usize = (0..6).map(|rank| sends(grid, rank, 5).len()).sum();
        assert_eq!(all, (4 + 3) * 4 * 5);
        // The corner of a wave waits for nobody, the opposite one tells nobody.
        assert_eq!(sends(grid, 5, 5).iter().filter(|((corner, ..), _)| *corner == 0).count(), 0);
    }
}
