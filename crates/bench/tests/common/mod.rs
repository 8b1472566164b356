#![allow(dead_code, reason = "each test program uses its part of this")]
//! A small simulated machine for tests, plans of suites, and runs of them.

pub mod wrap;

use comm::{Comm, Machine};
use record::{Host, Layout, MachineRecord, Payload, Plan, RunRecord};
use spec::Params;
use std::sync::Mutex;
use tailback_bench::kernels::command;
use tailback_bench::{Counters, Facts, Observer, Site, Suite, suite};
use wrap::{ClockSkew, Wrapped};

/// `nodes` nodes with `ranks` ranks each on one switch.
pub fn machine(nodes: usize, ranks: usize) -> sim::Simulator {
    let text = format!("nodes = {nodes}\nranks_per_node = {ranks}\n[topology]\nkind = \"single-switch\"\n");
    sim::Simulator::new(sim::Config::from_toml(&text).expect("a valid file")).expect("a valid machine")
}

pub fn facts() -> Facts {
    Facts {
        command: vec![],
        created: None,
        machine: MachineRecord::Local { host: Host::default() },
        warnings: vec![],
        nodes: vec![],
        hosts: vec![],
        counters: Counters::Machine,
    }
}

pub fn params(given: &[(&str, &str)]) -> Params {
    given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// What a suite plans on `nodes` nodes of `ranks` ranks.
pub fn plan_of(suite: &Suite, nodes: u32, ranks: u32, given: &[(&str, &str)], seed: u64) -> Result<Plan, String> {
    let site = Site::new(Layout::even(nodes, ranks), false);
    suite.plan_on(&params(given), &site, seed, Payload::Checked).map_err(|e| e.to_string())
}

/// The same of a suite in the table, which can be planned.
pub fn plan(name: &str, nodes: u32, ranks: u32, given: &[(&str, &str)]) -> Plan {
    plan_of(suite(name).unwrap(), nodes, ranks, given, 3).unwrap()
}

/// Keeps every record it is told to save.
#[derive(Default)]
pub struct Kept(pub Mutex<Vec<RunRecord>>);

impl Observer for Kept {
    fn phase(&self, _: &Plan, _: u32, _: usize) {}
    fn save(&self, record: &RunRecord) {
        self.0.lock().unwrap().push(record.clone());
    }
}

/// Runs `plan` on a machine; the last record, or why it did not come to its end.
pub fn try_run(machine: &sim::Simulator, plan: &Plan, skew: bool) -> Result<RunRecord, String> {
    install_shell();
    let kept = Kept::default();
    let body = |world: &dyn Comm| {
        let hook = ClockSkew(if skew { world.rank() as u64 } else { 0 });
        let skewed = Wrapped::new(world, &hook);
        let world: &dyn Comm = if skew { &skewed } else { world };
        let seat = tailback_bench::Seat::find(world);
        tailback_bench::run(world, seat, plan, &facts(), &kept);
    };
    machine.run(&body).map_err(|e| e.to_string())?;
    let mut saved = kept.0.into_inner().unwrap();
    let phases: Vec<usize> = saved.iter().map(|record| record.phases.len()).collect();
    let all = plan.phases.len() * plan.placements as usize;
    let expected: Vec<usize> = (0..=all).chain([all]).map(|done| done.min(plan.phases.len())).collect();
    assert_eq!(phases, expected, "saved before the first phase, after every one, and when nothing more follows");
    Ok(saved.pop().expect("at least one phase"))
}

/// As [`try_run`], of a plan that can run.
pub fn run(machine: &sim::Simulator, plan: &Plan, skew: bool) -> RunRecord {
    try_run(machine, plan, skew).expect("the plan runs to its end")
}

/// Lets the kernel `command` run programs.
pub fn install_shell() {
    command::install(command::Runner { run: shell, node_name: || "node".into() });
}

/// How a command runs here: by the shell, whatever nodes it is given.
fn shell(command: &str, _: &[String]) -> Result<(), String> {
    match std::process::Command::new("sh").args(["-c", command]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("ended with {status}")),
        Err(e) => Err(e.to_string()),
    }
}
