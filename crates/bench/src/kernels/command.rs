//! Any program as a kernel: how long it takes, and whether it ended well.
//!
//! This crate cannot start processes and does not want to: the program that uses it installs a [`Runner`] once. Rank 0 of
//! the communicator runs the command; the others only lend it their nodes.

use crate::kernel::{Evidence, Kernel, Pattern, Setup, Traits};
use comm::{Comm, Refusal};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};
use std::sync::OnceLock;

/// The kernel.
pub const COMMAND: Kernel = Kernel {
    card: Card {
        name: "command",
        about: "Runs a program on one node and takes its time; others of its nodes are lent to it",
        source: "Tailback, for GPCNeT §5.3",
        params: &[Param::new("run", Kind::Text, "true", "what to run, by the shell")],
    },
    metric: Metric::Duration,
    min_ranks: 1,
    traits: Traits { evidence: Evidence::Other("how the program ends"), ..Traits::PLAIN },
    start,
};

/// How a command is run, and what this node is called.
pub struct Runner {
    /// Runs it on these nodes; the error says how it ended.
    pub run: fn(command: &str, nodes: &[String]) -> Result<(), String>,
    /// This node's name.
    pub node_name: fn() -> String,
}

static RUNNER: OnceLock<Runner> = OnceLock::new();

/// Installs the runner; the first one stays.
pub fn install(runner: Runner) {
    let _ = RUNNER.set(runner);
}

/// Node names are told in fields of this size; longer ones are cut.
const NAME: usize = 64;

struct Command<'c> {
    comm: &'c dyn Comm,
    runner: &'static Runner,
    run: String,
    nodes: Vec<String>,
    outcome: Verdict,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let Some(runner) = RUNNER.get() else {
        return Err(Refusal("commands run on real machines only; a simulated one has no processes".into()));
    };
    let comm = setup.comm;
    let mut mine = [0; NAME];
    let name = (runner.node_name)();
    let length = name.len().min(NAME);
    mine[..length].copy_from_slice(&name.as_bytes()[..length]);
    let mut all = vec![0; if comm.rank() == 0 { NAME * comm.size() } else { 0 }];
    comm.gather(0, &mine, &mut all);
    let text = |field: &[u8]| String::from_utf8_lossy(field).trim_end_matches('\0').to_string();
    let nodes = all.chunks(NAME).map(text).collect();
    let run = setup.params.word("run").to_string();
    Ok(Box::new(Command { comm, runner, run, nodes, outcome: Verdict::Right { checked: 0 } }))
}

impl Pattern for Command<'_> {
    fn arrange(&mut self, _: u64) {
        self.outcome = Verdict::Right { checked: 0 };
    }

    fn step(&mut self) -> Option<Work> {
        if self.comm.rank() != 0 {
            return None;
        }
        self.outcome = match (self.runner.run)(&self.run, &self.nodes) {
            Ok(()) => Verdict::Right { checked: 1 },
            Err(how) => Verdict::Wrong { checked: 1, wrong: 1, first: format!("`{}` {how}", self.run) },
        };
        Some(Work::NONE)
    }

    fn verify(&mut self) -> Verdict {
        self.outcome.clone()
    }
}
