//! A small change of a machine makes a small change of what it does: every number of a machine file is moved by 1 % up and
//! down, and latency, bandwidth and all-reduce of the idle machine may move by no more than [`BOUND`].
//!
//! Sizes at which messages change their kind (`eager`, `small`) need no exception, because no message here is that near; nor
//! does `mtu`, which cuts a long message into one packet more, but a short one. Counts of fewer than [`FEW`] things have no
//! 1 %, and are left out; sizes of few bytes are moved by one, and results may move by as much. Where packets take detours at
//! random, results have errors, which count.
//!
//! A machine at a tipping point tells nothing of the machine that it stands for, because nobody knows its numbers to 1 %.

mod common;
#[path = "common/isolated.rs"]
mod isolated;

use isolated::{Host, measure};
use spec::{Card, Kind, Param, parse_bytes, parse_rate, parse_time};
use tailback_sim::control::CONTROLS;
use tailback_sim::file::CARDS;
use tailback_sim::routing::ROUTINGS;
use tailback_sim::topology::TOPOLOGIES;
use tailback_sim::{Config, builtin};

/// By how much a number is moved.
const STEP: f64 = 0.01;
/// By how much a result may move: no result is a steeper function of a number than proportional to it, and a rate that is
/// 1 % less takes 1.01 % longer.
const BOUND: f64 = 0.011;
/// Standard errors by which it may move beside that: a result of random detours is known so well only.
const ERRORS: f64 = 4.0;
/// One more of so few is more than 1 %: such a count cannot be moved a little.
const FEW: f64 = 100.0;

/// Machines of 32 ranks: a built-in one, and what is changed to make it small.
const MACHINES: [(&str, &str); 10] = [
    ("default", "nodes = 16\nranks_per_node = 2"),
    ("osprey", "nodes = 16\nranks_per_node = 2\n[topology]\nradix = 8"),
    ("summit", "nodes = 32\nranks_per_node = 1\n[topology]\nradix = 8"),
    ("crystal", "nodes = 16\nranks_per_node = 2\n[topology]\nchassis = 2\nslots = 2\nendpoints = 2\nblue_links = 8"),
    ("small-dragonfly", "nodes = 32\nranks_per_node = 1"),
    ("bluewaters", "nodes = 16\nranks_per_node = 2\n[topology]\ndims = \"2x2x4\""),
    ("default", "nodes = 16\nranks_per_node = 2\n[control]\nkind = \"infiniband\""),
    ("default", "nodes = 16\nranks_per_node = 2\n[control]\nkind = \"aimd\""),
    ("default", "nodes = 16\nranks_per_node = 2\n[control]\nkind = \"dcqcn\""),
    ("default", "nodes = 16\nranks_per_node = 2\n[control]\nkind = \"slingshot\""),
];

/// A machine file of the table, with the changes.
fn file(name: &str, small: &str) -> toml::Table {
    let mut file: toml::Table = builtin(name).expect(name).parse().unwrap();
    for (key, value) in small.parse::<toml::Table>().unwrap() {
        match (file.get_mut(&key), value) {
            (Some(toml::Value::Table(section)), toml::Value::Table(new)) => section.extend(new),
            (_, value) => drop(file.insert(key, value)),
        }
    }
    file
}

/// The sections of a machine file with their cards; the first is the top level.
fn sections(file: &toml::Table) -> Vec<(&'static str, &'static Card)> {
    let kind = |section: &str| file[section]["kind"].as_str().expect("a word").to_string();
    let (topology, routing, control) = (kind("topology"), kind("routing"), kind("control"));
    let mut all: Vec<(&str, &Card)> = CARDS.iter().map(|card| (card.name, *card)).collect();
    all.extend(TOPOLOGIES.iter().map(|t| ("topology", &t.card)).filter(|(_, card)| card.name == topology));
    all.extend(ROUTINGS.iter().map(|r| ("routing", &r.card)).filter(|(_, card)| card.name == routing));
    all.extend(CONTROLS.iter().map(|c| ("control", &c.card)).filter(|(_, card)| card.name == control));
    all
}

/// A number moved by `factor`, and by how much it has really moved; `None` if it is no number that can be moved a little.
fn moved(param: &Param, text: &str, factor: f64) -> Option<(String, f64)> {
    // Whole numbers move by one at least.
    let whole = |x: f64| if factor > 1.0 { (x * factor).ceil() } else { (x * factor).floor() };
    // A header of 8 bytes has no 1 %: a byte is what it can be moved by.
    let really = match param.kind {
        Kind::Size => parse_bytes(text).map_or(factor, |bytes| whole(bytes as f64) / bytes as f64),
        _ => factor,
    };
    let text = match param.kind {
        Kind::Time => format!("{}ps", whole(parse_time(text).unwrap().ps() as f64)),
        Kind::Rate => format!("{}B/s", parse_rate(text).unwrap().bytes_per_s() * factor),
        Kind::Size => whole(parse_bytes(text).unwrap() as f64).to_string(),
        Kind::Real | Kind::Share => (text.parse::<f64>().unwrap() * factor).to_string(),
        Kind::Count => Some(whole(text.parse::<f64>().unwrap())).filter(|&n| n > FEW)?.to_string(),
        // Rates of grids are texts, because they may be lists.
        Kind::Text if param.name == "rate" => {
            let rates = text.split(',').map(|t| parse_rate(t).unwrap().bytes_per_s() * factor);
            rates.map(|r| format!("{r}B/s")).collect::<Vec<_>>().join(",")
        }
        Kind::Text | Kind::Command | Kind::File | Kind::Choice(_) => return None,
    };
    Some((text, (really - 1.0).abs().max(STEP)))
}

/// The file with one number moved, and by how much.
fn with(file: &toml::Table, section: &str, param: &Param, factor: f64) -> Option<(toml::Table, f64)> {
    let mut file = file.clone();
    let top = section == CARDS[0].name;
    let table = if top {
        &mut file
    } else {
        file.entry(section).or_insert_with(|| toml::Table::new().into()).as_table_mut().expect("a section")
    };
    let text = match table.get(param.name) {
        Some(toml::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => param.default.to_string(),
    };
    let (text, by) = moved(param, &text, factor)?;
    table.insert(param.name.into(), text.into());
    Some((file, by))
}

/// What moves by more than the bound when a number of a machine does.
fn jumps((name, small): (&str, &str), host: Host) -> Vec<String> {
    let file = file(name, small);
    let config = |file: &toml::Table| Config::from_toml(&file.to_string());
    let still = measure(config(&file).unwrap(), host);
    let mut jumps = Vec::new();
    for (section, card) in sections(&file) {
        for param in card.params {
            for factor in [1.0 + STEP, 1.0 - STEP] {
                let Some((moved, by)) = with(&file, section, param, factor) else { continue };
                let config = match config(&moved) {
                    Ok(config) => config,
                    // A number at its limit cannot be moved beyond it.
                    Err(e) if e.to_string().contains("out of range") => continue,
                    Err(e) => panic!("{name}: {section}.{}: {e}", param.name),
                };
                for ((what, before, error), (_, after, other)) in still.iter().zip(measure(config, host)) {
                    let change = after / before - 1.0;
                    if change.abs() > BOUND * by / STEP + ERRORS * error.hypot(other) / before {
                        let knob = format!("{name}: {section}.{} x {factor}", param.name);
                        jumps.push(format!("{knob}: {what} {:+.1} %", change * 100.0));
                    }
                }
            }
        }
    }
    jumps
}

#[test]
fn every_number_may_be_a_little_off() {
    let mut all = Vec::new();
    for machine in MACHINES {
        all.append(&mut jumps(machine, Host::Asked));
    }
    assert!(all.is_empty(), "a little more or less makes much of a difference:\n{}", all.join("\n"));
}

/// The host that takes what is there first stands at a tipping point in every machine whose send and receive cost the same.
#[test]
fn a_tipping_point_is_caught() {
    let change = "nodes = 16\nranks_per_node = 2\n[host]\ntest_cost = \"1ps\"";
    let jumps = jumps(("default", change), Host::First);
    assert!(jumps.iter().any(|j| j.contains("host.send_overhead") && j.contains("all-reduce")), "{jumps:?}");
}
