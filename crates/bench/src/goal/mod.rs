//! Schedules of communication in GOAL, the text format of LogGOPSim and ATLAHS: what each rank sends, receives and computes, and what
//! waits for what.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 1500
//! l2: send 4096b to 1 tag 7 cpu 0 nic 0
//! l2 requires l1
//! }
//! rank 1 { l1: recv 4096b from 0 tag 7 }
//! ```

mod graph;
mod parse;

use comm::FIRST_RESERVED_TAG;
pub use graph::{Graph, Moment};
pub use parse::parse;
use std::sync::OnceLock;

static GOAL: OnceLock<Ready> = OnceLock::new();

/// The schedule that this process replays; the first one stays. It is too large for a plan, which only tells which one it was.
pub fn install(goal: Ready) {
    let _ = GOAL.set(goal);
}

/// The schedule that was installed.
pub fn installed() -> Option<&'static Ready> {
    GOAL.get()
}

/// A schedule that was checked, with what every rank needs to walk it: found once, not once by each rank.
#[derive(Debug)]
pub struct Ready {
    /// The schedule.
    pub goal: Goal,
    /// What waits for what, by rank.
    pub graphs: Vec<Graph>,
}

impl Ready {
    /// Checks a schedule: what is sent is received, nothing waits for itself, and a machine has as many tags. Tags are numbered anew,
    /// because a machine's are smaller than those that a schedule may name.
    pub fn new(mut goal: Goal) -> Result<Ready, String> {
        goal.check()?;
        let tags = goal.tags()?;
        for operation in goal.ranks.iter_mut().flat_map(|rank| &mut rank.operations) {
            if let Does::Send { tag, .. } | Does::Recv { tag, .. } = &mut operation.does {
                *tag = tags.binary_search(tag).expect("it is one of them") as u32;
            }
        }
        let graph = |(rank, schedule)| Graph::new(schedule).map_err(|why| format!("rank {rank}: {why}"));
        let graphs = goal.ranks.iter().enumerate().map(graph).collect::<Result<_, String>>()?;
        Ok(Ready { goal, graphs })
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Send so many bytes to a rank.
    Send {
        /// How many.
        bytes: u64,
        /// To whom.
        to: u32,
        /// With which tag.
        tag: u32,
    },
    /// Receive so many bytes from a rank.
    Recv {
        /// How many.
        bytes: u64,
        /// From whom.
        from: u32,
        /// With which tag.
        tag: u32,
    },
    /// Compute for so long.
    Calc {
        /// Nanoseconds.
        ns: u64,
    },
}

/// One operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub does: Does,
    /// Which of the rank's processors does it: those of one processor take turns.
    pub cpu: u16,
}

/// That one operation of a rank waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Which waits.
    pub who: u32,
    /// For which.
    pub for_whom: u32,
    /// Until the other has begun, not until it has ended.
    pub for_begin: bool,
}

/// The operations of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// In the order of the file.
    pub operations: Vec<Operation>,
    /// What waits for what.
    pub waits: Vec<Waits>,
}

/// The operations of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// By rank.
    pub ranks: Vec<Schedule>,
}

impl Schedule {
    /// Bytes that a rank sends.
    pub fn sends(&self) -> u64 {
        self.operations.iter().map(|o| if let Does::Send { bytes, .. } = o.does { bytes } else { 0 }).sum()
    }

    /// A rank's part of a broadcast over a binomial tree: once it has the message it sends it to those below it, the largest part of the
    /// tree first.
    pub fn binomial(rank: usize, ranks: usize, bytes: u64) -> Schedule {
        let operation = |does: Does| Operation { does, cpu: 0 };
        let mut operations = Vec::new();
        // The highest bit of a rank is what it has more than the one above it.
        let own = if rank == 0 { 0 } else { 1 << rank.ilog2() };
        if rank > 0 {
            operations.push(operation(Does::Recv { bytes, from: (rank - own) as u32, tag: 0 }));
        }
        let below = (0..usize::BITS).map(|bit| 1usize << bit).skip_while(|bit| *bit <= own && rank > 0);
        // The nearest has most ranks below it.
        let below = below.map(|bit| rank + bit).take_while(|to| *to < ranks);
        operations.extend(below.map(|to| operation(Does::Send { bytes, to: to as u32, tag: 0 })));
        let sends = (1..operations.len() as u32).filter(|_| rank > 0);
        Schedule { operations, waits: sends.map(|who| Waits { who, for_whom: 0, for_begin: false }).collect() }
    }
}

impl Goal {
    /// The tags of all messages in rising order: more than a machine has are refused.
    fn tags(&self) -> Result<Vec<u32>, String> {
        let tag = |operation: &Operation| match operation.does {
            Does::Send { tag, .. } | Does::Recv { tag, .. } => Some(tag),
            Does::Calc { .. } => None,
        };
        let operations = self.ranks.iter().flat_map(|rank| &rank.operations);
        let tags: std::collections::BTreeSet<u32> = operations.filter_map(tag).collect();
        match tags.len() {
            n if n > usize::from(FIRST_RESERVED_TAG) => {
                Err(format!("the schedule has {n} different tags, and a machine has {FIRST_RESERVED_TAG}"))
            }
            _ => Ok(tags.into_iter().collect()),
        }
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> usize {
        self.ranks.iter().map(|rank| rank.operations.len()).sum()
    }

    /// Whether what is sent is received: counts of messages and bytes from each rank to each other, with each tag. In linear time and
    /// the order of the alphabet.
    pub fn check(&self) -> Result<(), String> {
        use std::collections::BTreeMap;
        // Sizes in the order of the messages, of both sides.
        let mut pairs: BTreeMap<(u32, u32, u32), [Vec<u64>; 2]> = BTreeMap::new();
        for (rank, schedule) in self.ranks.iter().enumerate() {
            let me = rank as u32;
            for operation in &schedule.operations {
                match operation.does {
                    Does::Send { bytes, to, tag } => pairs.entry((me, to, tag)).or_default()[0].push(bytes),
                    Does::Recv { bytes, from, tag } => pairs.entry((from, me, tag)).or_default()[1].push(bytes),
                    Does::Calc { .. } => {}
                }
            }
        }
        for ((from, to, tag), [mut sent, mut received]) in pairs {
            // Which of several messages with one tag comes first is a matter of what waits for what.
            sent.sort_unstable();
            received.sort_unstable();
            if sent != received {
                return Err(format!(
                    "rank {from} sends {} to rank {to} with tag {tag}, which receives {}; both must be alike in number and sizes",
                    counted(&sent),
                    counted(&received)
                ));
            }
        }
        Ok(())
    }
}

fn counted(sizes: &[u64]) -> String {
    let bytes: u128 = sizes.iter().map(|b| u128::from(*b)).sum();
    let word = if sizes.len() == 1 { "message" } else { "messages" };
    format!("{} {word} of {bytes} bytes in all", sizes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_reaches_everybody_once() {
        for ranks in 1..70 {
            let goal = Goal { ranks: (0..ranks).map(|rank| Schedule::binomial(rank, ranks, 8)).collect() };
            assert_eq!(goal.operations(), 2 * (ranks - 1), "{ranks}");
            Ready::new(goal).unwrap_or_else(|why| panic!("{ranks}: {why}"));
        }
        let first: Vec<Does> = Schedule::binomial(0, 8, 8).operations.iter().map(|o| o.does).collect();
        let to = |to| Does::Send { bytes: 8, to, tag: 0 };
        assert_eq!(first, [to(1), to(2), to(4)]);
    }

    #[test]
    fn what_is_sent_must_be_received() {
        let goal = |second: &str| {
            parse(&format!("num_ranks 2\nrank 0 {{ send 8b to 1 tag 7 }}\nrank 1 {{ {second} }}")).unwrap()
        };
        assert_eq!(goal("recv 8b from 0 tag 7").check(), Ok(()));
        for wrong in ["", "recv 8b from 0", "recv 9b from 0 tag 7", "recv 8b from 0 tag 7 recv 8b from 0 tag 7"] {
            assert!(goal(wrong).check().unwrap_err().contains("rank 0 sends"), "{wrong}");
        }
    }
}
