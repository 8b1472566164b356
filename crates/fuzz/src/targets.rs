//! The targets. One function each: bytes in, nothing out.

use crate::Target;
use crate::edited::edit;
use bench::Site;
use model::contention::{parse, solver};
use record::{Layout, Payload, Plan, RunRecord};
use report::View;
use serde_json::Value;
use spec::{Params, card};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

// The program's own files: what they read comes from other processes.
#[path = "../../cli/src/sentinel/line.rs"]
#[allow(dead_code, reason = "only its reading is tried")]
mod line;
#[path = "../../cli/src/slurm.rs"]
#[allow(dead_code, reason = "only its reading is tried")]
mod slurm;

/// Everything that reads what the program did not write itself in the same process.
pub const TARGETS: &[Target] = &[
    Target { name: "units", run: units },
    Target { name: "plan", run: plan },
    Target { name: "plan-edited", run: plan_edited },
    Target { name: "machine", run: machine },
    Target { name: "import", run: import },
    Target { name: "record", run: record },
    Target { name: "record-edited", run: record_edited },
    Target { name: "requirement", run: requirement },
    Target { name: "graph", run: graph },
    Target { name: "nodecomm", run: nodecomm },
    Target { name: "hpcc-input", run: hpcc_input },
    Target { name: "hpcc-output", run: hpcc_output },
    Target { name: "systems", run: systems },
    Target { name: "schedule", run: schedule },
    Target { name: "suite", run: suite },
    Target { name: "slurm", run: slurm_variables },
    Target { name: "sentinel", run: sentinel },
];

/// Records of every suite, as 0.1.0 wrote them, to change.
const RECORDS: [&str; 11] = [
    include_str!("../../record/tests/v1/ambient.json"),
    include_str!("../../record/tests/v1/campaign.json"),
    include_str!("../../record/tests/v1/congest.json"),
    include_str!("../../record/tests/v1/contention.json"),
    include_str!("../../record/tests/v1/derive.json"),
    include_str!("../../record/tests/v1/gpcnet.json"),
    include_str!("../../record/tests/v1/harness.json"),
    include_str!("../../record/tests/v1/hpcc.json"),
    include_str!("../../record/tests/v1/maxrate.json"),
    include_str!("../../record/tests/v1/network.json"),
    include_str!("../../record/tests/v1/steady.json"),
];

/// One of them, read once.
fn base(which: u8) -> &'static Value {
    static TREES: OnceLock<Vec<Value>> = OnceLock::new();
    let trees = TREES.get_or_init(|| RECORDS.map(|text| serde_json::from_str(text).expect("a record")).into());
    &trees[usize::from(which) % trees.len()]
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

fn schedule(data: &[u8]) {
    let Some(text) = text(data) else { return };
    // A number alone may ask for millions of ranks, which is allowed and slow to try again and again.
    let large = text.split_whitespace().nth(1).is_some_and(|n| n.len() > 4);
    let Ok(goal) = (if large { Err(String::new()) } else { bench::goal::parse(text) }) else { return };
    let _ = (goal.check(), goal.operations());
    goal.ranks.iter().for_each(|rank| {
        let _ = bench::goal::Graph::new(rank);
    });
}

fn units(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(bytes) = spec::parse_bytes(text) {
        let shown = spec::show_bytes(bytes);
        assert_eq!(spec::parse_bytes(&shown).ok(), Some(bytes), "{text} is {bytes}, shown as {shown}");
        spec::about_bytes(bytes);
    }
    if let Ok(time) = spec::parse_time(text) {
        let _ = time.to_string();
    }
    if let Ok(rate) = spec::parse_rate(text) {
        let _ = (rate.to_string(), rate.time_for(1 << 40));
    }
    card::parse_share(text);
}

/// The kind of site that a plan is checked against.
fn site(simulated: bool) -> Site {
    Site { room: Some(1 << 30), memory: Some(1 << 30), cores: Some(2), ..Site::new(Layout::even(12, 2), simulated) }
}

fn checked(plan: &Plan) {
    let _ = bench::suites::check(plan, &site(true));
    let _ = bench::suites::check(plan, &site(false));
}

fn plan(data: &[u8]) {
    if let Ok(plan) = record::store::parse_plan(data, Path::new("plan.json")) {
        checked(&plan);
    }
}

fn plan_edited(data: &[u8]) {
    let Some((which, script)) = data.split_first() else { return };
    plan(edit(base(*which)["plan"].clone(), script).to_string().as_bytes());
}

fn machine(data: &[u8]) {
    let Some(text) = text(data) else { return };
    // What is accepted must say itself in words, and small ones must be machines that can be built.
    let Ok(config) = sim::Config::from_toml(text) else { return };
    if config.ranks() <= 64 && config.endpoints() <= 64 {
        let _ = sim::Simulator::new(config);
    }
}

fn import(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(found) = sim::file::import(text) else { return };
    // What is taken must make a machine file, if not always a machine: lists may name switches that no cable reaches.
    let machine = found.machine("elsewhere");
    let config = sim::Config::from_toml(&machine).unwrap_or_else(|e| panic!("{e}: {machine}"));
    if config.endpoints() <= 64 && found.cables.len() <= 64 {
        let _ = sim::Simulator::new(config);
    }
}

fn record(data: &[u8]) {
    let Ok(found) = record::store::parse(data, Path::new("run.json")) else { return };
    shown(&found, data);
}

/// One of the things that are made of a record, by the input: all of them for each would try a tenth as many inputs.
fn shown(found: &RunRecord, data: &[u8]) {
    let view = View::new(found);
    let sum: usize = data.iter().map(|b| usize::from(*b)).sum();
    match report::FORMATS.get(sum % (report::FORMATS.len() + 1)) {
        Some(format) if format.refuses(&view).is_none() => drop(format.write(&view)),
        Some(_) => {}
        None => {
            report::compare::compare(&view, &view, 0.05);
            let _ = model::contention::recorded::Recorded::read(found);
            let _ = model::maxrate::recorded::Recorded::read(found, true);
        }
    }
}

fn record_edited(data: &[u8]) {
    let Some((which, script)) = data.split_first() else { return };
    record(edit(base(*which).clone(), script).to_string().as_bytes());
}

fn requirement(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(requirement) = report::compare::require::Requirement::parse(text) {
        let _ = requirement.check(&[]);
        assert!(!requirement.is_about("") || requirement.name.chars().all(|c| c == '*'));
    }
    if let Ok(file) = report::compare::acceptance::Acceptance::parse(text) {
        let judged = file.judge(&[], &[]);
        let _ = (judged.grid(), judged.json(), judged.junit());
    }
}

fn graph(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(graph) = parse::read(text) else { return };
    let again = parse::read(&parse::write(&graph)).expect("what is written can be read");
    assert_eq!(graph.flows.len(), again.flows.len());
    if graph.flows.len() <= 32 {
        for rules in model::contention::RULES {
            let defaults = rules.card.resolve(&Params::new()).expect("defaults are right");
            let _ = solver::solve(&graph, &*(rules.start)(&defaults), &solver::Options::rate(1e9));
        }
    }
}

fn nodecomm(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(blocks) = model::maxrate::nodecomm::read(text) {
        model::maxrate::nodecomm::as_trials(&blocks);
    }
}

fn hpcc_input(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let suite = bench::suite("hpcc").expect("it is one");
    // A file of sizes, and one of memory.
    for (simulated, file) in [(true, "hpccinf"), (false, "hpccinf"), (false, "hpccmemf")] {
        let files = BTreeMap::from([(file.to_string(), text.to_string())]);
        let given = Params::from([(file.to_string(), format!("{file}.txt"))]);
        let (site, params) = (site(simulated), suite.card.resolve(&given).expect("a name"));
        let request =
            bench::suites::Request { params: &params, files: &files, site: &site, seed: 1, payload: Payload::Checked };
        if let Ok(plan) = (suite.plan)(&request) {
            let _ = bench::suites::check(&plan, &site);
        }
    }
}

fn hpcc_output(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(found) = record::hpccoutf::read(text) {
        shown(&found, data);
    }
}

fn systems(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for system in record::hpcc_systems::parse(text).unwrap_or_default() {
        let _ = (system.key(), system.label());
        shown(&system.record(), data);
    }
}

/// A suite as the command line asks for it: its name, then a parameter a line.
fn suite(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut lines = text.lines();
    let Ok(suite) = bench::suite(lines.next().unwrap_or_default()) else { return };
    let given: Params = lines.filter_map(|l| l.split_once('=')).map(|(n, v)| (n.to_string(), v.to_string())).collect();
    for simulated in [true, false] {
        let site = site(simulated);
        if let Ok(plan) = suite.plan_on(&given, &site, 1, Payload::Checked) {
            let _ = bench::suites::check(&plan, &site);
        }
    }
}

/// Slurm's variables: a pattern, an address, then what other nodes said, a line each.
fn slurm_variables(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut lines = text.splitn(3, '\n');
    let (pattern, address) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let get = |name: &str| match name {
        "SLURM_TOPOLOGY_ADDR_PATTERN" => Some(pattern.to_string()),
        "SLURM_TOPOLOGY_ADDR" => Some(address.to_string()),
        _ => None,
    };
    slurm::place(&get);
    slurm::describe(lines.next().unwrap_or_default());
}

fn sentinel(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for message in text.lines().filter_map(line::Message::read) {
        assert_eq!(line::Message::read(message.write().trim_end_matches('\n')), Some(message.clone()), "{message:?}");
    }
}
