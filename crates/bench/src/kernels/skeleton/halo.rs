//! One exchange with the neighbours in a box of ranks. The box has ends: what lies there has fewer neighbours.

use super::team::Grid;
use crate::payload::{Mail, together};
use comm::{Buffer, Comm, Op, Tag};
use record::{Coverage, Payload, Verdict};

/// Neighbours by what they share with a rank: a face, an edge or a corner.
const CLASSES: usize = 3;
/// How many there are of each at most.
const MOST: [usize; CLASSES] = [6, 12, 8];

/// Every direction, those of one class after the other.
fn directions(class: usize) -> impl Iterator<Item = [i8; 3]> {
    let all = (0..27i8).map(|i| [i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1]);
    all.filter(move |d| d.iter().filter(|step| **step != 0).count() == class + 1)
}

/// A neighbour: who it is, where, and in which of its lanes it sends to this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Neighbour {
    rank: usize,
    direction: [i8; 3],
    lane: u32,
}

/// Neighbours of a class, and what is exchanged with them.
struct Group {
    tag: Tag,
    size: usize,
    neighbours: Vec<Neighbour>,
    /// Of each direction in turn, the lane that it is received in and the one that it is sent in.
    turns: Vec<[Option<usize>; 2]>,
    mail: Mail,
}

/// In which order messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All are posted, then waited for.
    Posted,
    /// One direction after the other.
    InTurn,
}

/// One exchange.
pub struct Halo {
    groups: Vec<Group>,
    order: Order,
}

fn neighbours(grid: Grid, rank: usize, class: usize) -> Vec<(usize, [i8; 3])> {
    directions(class).filter_map(|d| Some((grid.beside(rank, d)?, d))).collect()
}

fn opposite(direction: [i8; 3]) -> [i8; 3] {
    direction.map(|step| -step)
}

impl Halo {
    /// With messages of these sizes over faces, edges and corners; 0 for none. A rank that does not play has no neighbours, and as many
    /// places for data as the others.
    pub fn new(
        grid: Grid,
        rank: Option<usize>,
        sizes: [usize; CLASSES],
        payload: Payload,
        first_tag: Tag,
        order: Order,
    ) -> Halo {
        let known = |rank: usize, class: usize| {
            let with_lane = |(other, direction): (usize, [i8; 3])| {
                let back = neighbours(grid, other, class).into_iter().position(|(_, d)| d == opposite(direction));
                Neighbour { rank: other, direction, lane: back.expect("neighbours know each other") as u32 }
            };
            neighbours(grid, rank, class).into_iter().map(with_lane).collect::<Vec<Neighbour>>()
        };
        let used = (0..CLASSES).filter(|class| sizes[*class] > 0);
        let groups = used.map(|class| {
            let neighbours = rank.map_or_else(Vec::new, |rank| known(rank, class));
            let count = neighbours.len();
            let mail = Mail::new(payload, sizes[class], (count, count), MOST[class]);
            let at = |wanted: [i8; 3]| neighbours.iter().position(|n| n.direction == wanted);
            let turns = directions(class).map(|direction| [opposite(direction), direction].map(at)).collect();
            Group { tag: first_tag + class as Tag, size: sizes[class], neighbours, turns, mail }
        });
        Halo { groups: groups.collect(), order }
    }

    /// Messages and bytes that this rank sends.
    pub fn sends(&self) -> (u64, u64) {
        let each = self.groups.iter().map(|g| (g.neighbours.len() as u64, (g.neighbours.len() * g.size) as u64));
        each.fold((0, 0), |(n, bytes), (more, size)| (n + more, bytes + size))
    }

    /// Does it.
    pub fn exchange(&mut self, comm: &dyn Comm) {
        match self.order {
            Order::Posted => self.posted(comm),
            Order::InTurn => self.groups.iter_mut().for_each(|group| group.in_turn(comm)),
        }
    }

    fn posted(&mut self, comm: &dyn Comm) {
        let (mut ops, mut sends) = (Vec::new(), Vec::new());
        for group in &mut self.groups {
            let tag = group.tag;
            let (out, into) = group.mail.step();
            let receives = group.neighbours.iter().zip(into.lanes());
            ops.extend(receives.map(|(n, into)| Op::Recv { from: n.rank, tag, into }));
            let lanes = group.neighbours.iter().enumerate();
            sends.extend(lanes.map(|(lane, n)| Op::Send { to: n.rank, tag, data: out.lane(lane) }));
        }
        ops.append(&mut sends);
        comm.exchange(&mut ops);
    }

    /// Fresh data for the next steps.
    pub fn renew(&mut self, rank: usize, round: u64, steps: u32) {
        self.groups.iter_mut().for_each(|g| g.mail.renew(rank, round, steps));
    }

    /// Whether the next steps carry lengths alone.
    pub fn spare(&mut self, spare: bool) {
        self.groups.iter_mut().for_each(|g| g.mail.spare(spare));
    }

    /// Steps that can pass before a look.
    pub fn holds(&self) -> u32 {
        self.groups.iter().map(|g| g.mail.holds()).min().unwrap_or(u32::MAX)
    }

    /// Looks at all that arrived, or with `random` at some of it.
    pub fn look(&mut self, random: Option<u64>) -> Option<Verdict> {
        let each = self.groups.iter_mut().map(|group| {
            let neighbours = &group.neighbours;
            group.mail.look(random, |_, lane| (neighbours[lane].rank, neighbours[lane].lane))
        });
        each.reduce(Verdict::and)
    }

    /// What arrived and was looked at.
    pub fn coverage(&self) -> Option<Coverage> {
        together(self.groups.iter().filter_map(|g| g.mail.coverage()))
    }
}

impl Group {
    /// Everybody sends in one direction and receives from the opposite one, then in the next.
    fn in_turn(&mut self, comm: &dyn Comm) {
        let Group { tag, neighbours, turns, mail, .. } = self;
        let tag = *tag;
        let (out, into) = mail.step();
        let mut into: Vec<Option<Buffer<'_>>> = into.lanes().map(Some).collect();
        for [receive, send] in turns {
            let mut ops = Vec::with_capacity(2);
            if let Some(lane) = *receive {
                let into = into[lane].take().expect("each direction comes once");
                ops.push(Op::Recv { from: neighbours[lane].rank, tag, into });
            }
            if let Some(lane) = *send {
                ops.push(Op::Send { to: neighbours[lane].rank, tag, data: out.lane(lane) });
            }
            comm.exchange(&mut ops);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_26_directions_and_neighbours_know_each_other() {
        let counts: Vec<usize> = (0..CLASSES).map(|class| directions(class).count()).collect();
        assert_eq!(counts, MOST);
        let grid = Grid { sides: [3, 3, 3] };
        let middle = Halo::new(grid, Some(13), [100, 10, 1], Payload::Lengths, 0, Order::Posted);
        assert_eq!(middle.sends(), (26, 600 + 120 + 8));
        let corner = Halo::new(grid, Some(0), [100, 10, 1], Payload::Lengths, 0, Order::Posted);
        assert_eq!(corner.sends(), (7, 300 + 30 + 1));
        let faces = Halo::new(grid, Some(0), [100, 0, 0], Payload::Lengths, 0, Order::Posted);
        assert_eq!(faces.sends(), (3, 300));
        for class in 0..CLASSES {
            for rank in 0..27 {
                for (lane, (other, direction)) in neighbours(grid, rank, class).into_iter().enumerate() {
                    let back =
                        neighbours(grid, other, class).into_iter().position(|n| n == (rank, opposite(direction)));
                    let of_other = Halo::new(grid, Some(other), [8, 8, 8], Payload::Lengths, 0, Order::Posted);
                    let known = of_other.groups[class].neighbours[back.unwrap()];
                    assert_eq!((known.rank, known.lane as usize), (rank, lane));
                }
            }
        }
    }
}
