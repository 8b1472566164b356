//! The victim test by hand: 61 senders to one endpoint, and the latency of two others beside it, under every control.
//!
//! `cargo run --release -p tailback-sim --example victim -- [MACHINE.toml]`. The machine must have 64 ranks, one per node; rank
//! 0 is the root, ranks 1 and 9 are the victims. Without a file it is a fat
//! tree of two levels.

#[path = "../tests/common/incast.rs"]
mod incast;

use incast::{Roles, run};
use spec::Time;
use tailback_sim::{Config, Simulator};

/// Eight leaves of eight nodes, eight spines; packets go up by any.
const DEFAULT: &str =
    "nodes = 64\nranks_per_node = 1\n[topology]\nkind = \"fat-tree\"\nradix = 16\n[routing]\nkind = \"adaptive\"\n";

/// No parameter of a control: small messages travel in a class of their own.
const SMALL: &str = "small=1024";

/// Controls with the parameters that are not defaults.
const CASES: &[(&str, &str)] = &[
    ("none", ""),
    ("none", SMALL),
    ("infiniband", ""),
    ("infiniband", "marking_rate=10"),
    ("dcqcn", "preset=ns3-rdma"),
    ("dcqcn", "preset=hpcc"),
    ("dcqcn", "preset=connectx"),
    ("slingshot", ""),
];

fn main() {
    let file = std::env::args().nth(1);
    let text = file.map_or(DEFAULT.to_string(), |f| std::fs::read_to_string(f).expect("a machine file"));
    let config = Config::from_toml(&text).unwrap_or_else(|e| panic!("{e}"));
    let duration = Time::from_us(20_000);
    let roles = Roles { root: 0, victims: Some([9, 1]), bytes: 0, duration: Time::from_us(200) };
    let alone = run(&Simulator::new(config.clone()).unwrap_or_else(|e| panic!("{e}")), roles).summary(Time::ZERO);
    println!("8-byte latency alone: mean {:.3} us, median {:.3}, 99 % {:.3}", alone[0], alone[1], alone[2]);
    println!("control                        after       mean   median      99 %  x mean  x 99 %  goodput  samples");
    for (name, given) in CASES {
        let mut config = config.clone();
        config.protocol.small = if *given == SMALL { 1024 } else { 0 };
        let pairs = given.split_whitespace().filter(|&p| p != SMALL).filter_map(|p| p.split_once('='));
        config.control = (name.to_string(), pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect());
        let machine = Simulator::new(config).unwrap_or_else(|e| panic!("{e}"));
        let outcome = run(&machine, Roles { bytes: 64 << 10, duration, ..roles });
        for after in [Time::ZERO, Time::from_us(10_000)] {
            let s = outcome.summary(after);
            println!(
                "{:<28} {after:>7} {:>10.2} {:>8.2} {:>9.2} {:>7.1} {:>7.1} {:>8.2} {:>8}",
                format!("{name} {given}"),
                s[0],
                s[1],
                s[2],
                s[0] / alone[0],
                s[2] / alone[2],
                outcome.goodput / 1e9,
                outcome.samples.iter().filter(|s| s.0 >= after).count(),
            );
        }
    }
}
