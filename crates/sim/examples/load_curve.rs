//! Offered load, accepted load and latency of a network under open-loop traffic, as a table.
//!
//! `cargo run --release -p tailback-sim --example load_curve -- NETWORK ROUTING PATTERN LOADS [MICROSECONDS] [KEY=VALUE...]`
//!
//! NETWORK: `dragonfly-1056` (p=4 a=8 h=4 g=33, Kim et al. 2008), `dragonfly-5256` (p=6 a=12 h=6 g=73), `tree-324` (18 leaves
//! of 18), or a machine file. PATTERN: `uniform`, `adversarial` (each group to the next), `shift-K`, `permutation`. LOADS:
//! shares of the injection rate, e.g. `0.1,0.5,0.9`. KEY=VALUE are parameters of the routing.

#[path = "../tests/common/traffic.rs"]
mod traffic;

use spec::Params;
use tailback_sim::Config;
use traffic::{Pattern, Traffic};

const KIM: &str =
    "nodes = 1056\nthreads = 1\n[topology]\nkind = \"dragonfly\"\nswitches = 8\nendpoints = 4\nglobal = 4\n";
const LARGE: &str =
    "nodes = 5256\nthreads = 1\n[topology]\nkind = \"dragonfly\"\nswitches = 12\nendpoints = 6\nglobal = 6\n";
const TREE: &str = "nodes = 324\nthreads = 1\n[topology]\nkind = \"fat-tree\"\nradix = 36\n";

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The network and how many nodes a group of it has, for adversarial traffic.
fn network(name: &str) -> Result<(String, usize), String> {
    match name {
        "dragonfly-1056" => Ok((KIM.into(), 32)),
        "dragonfly-5256" => Ok((LARGE.into(), 72)),
        "tree-324" => Ok((TREE.into(), 18)),
        file => Ok((std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?, 32)),
    }
}

fn pattern(name: &str, group: usize) -> Result<Pattern, String> {
    match name {
        "uniform" => Ok(Pattern::Uniform),
        "adversarial" => Ok(Pattern::NextGroup(group)),
        "permutation" => Ok(Pattern::Permutation),
        _ => match name.strip_prefix("shift-").and_then(|n| n.parse().ok()) {
            Some(by) => Ok(Pattern::Shift(by)),
            None => Err(format!("unknown pattern `{name}`: uniform, adversarial, permutation or shift-K")),
        },
    }
}

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, default: &'static str| args.get(i).map_or(default, |a| a.as_str());
    let (text, group) = network(word(0, "dragonfly-1056"))?;
    let pattern = pattern(word(2, "uniform"), group)?;
    let us: u64 = word(4, "100").parse().map_err(|_| format!("`{}` is not a number of microseconds", word(4, "")))?;
    let given: Params =
        args.iter().skip(5).filter_map(|a| a.split_once('=')).map(|(k, v)| (k.to_string(), v.to_string())).collect();
    println!("{} {} {}", word(0, "dragonfly-1056"), word(1, "minimal"), word(2, "uniform"));
    println!("offered accepted   least  mean us   p99 us  hops/packet  M hops/CPU-s");
    for load in word(3, "0.1,0.5,0.9").split(',') {
        let load: f64 = load.parse().map_err(|_| format!("`{load}` is not a load"))?;
        let mut config = Config::from_toml(&text).map_err(|e| e.to_string())?;
        config.routing = (word(1, "minimal").to_string(), given.clone());
        let before = cpu_seconds();
        let t = Traffic { pattern, load, bytes: 4096, warm_us: us, measure_us: us };
        let o = traffic::run(config, &t);
        println!(
            "{:7.3} {:8.3} {:7.3} {:8.2} {:8.2} {:12.2} {:13.2}",
            o.offered,
            o.accepted,
            o.least,
            o.mean_us,
            o.p99_us,
            o.stats.packet_hops as f64 / (o.stats.injected_bytes as f64 / 4096.0),
            o.stats.packet_hops as f64 / (cpu_seconds() - before) * 1e-6
        );
    }
    Ok(())
}
