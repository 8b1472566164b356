//! What known networks carry under known traffic and routing (shapes small enough for a test; `examples/load_curve.rs` has
//! the networks of the papers).

mod common;
#[path = "common/traffic.rs"]
mod traffic;

use tailback_sim::Config;
use traffic::{Carried, Pattern, Traffic};

/// p=2, a=4, h=2, g=9: 72 nodes, every pair of groups joined by one cable.
const DRAGONFLY: &str = "nodes = 72\n[topology]\nkind = \"dragonfly\"\nswitches = 4\nendpoints = 2\nglobal = 2\n";
/// Eight leaves of eight, no taper.
const TREE: &str = "nodes = 64\n[topology]\nkind = \"fat-tree\"\nradix = 16\n";

fn carried(network: &str, routing: &str, pattern: Pattern, load: f64) -> Carried {
    // Small buffers fill soon: what enters the network is what it carries only after that.
    let text = format!("{network}[routing]\nkind = \"{routing}\"\n[switch]\nbuffer = \"32KiB\"\n");
    let t = Traffic { pattern, load, bytes: 4096, warm_us: 200, measure_us: 100 };
    traffic::run(Config::from_toml(&text).unwrap(), &t)
}

fn between(name: &str, outcome: Carried, low: f64, high: f64) {
    let a = outcome.accepted;
    assert!((low..=high).contains(&a), "{name}: accepted {a:.3}, expected {low} to {high}; {outcome:?}");
}

/// What is offered below saturation is carried, and zero load takes the closed form.
#[test]
fn light_load_is_carried() {
    for routing in ["minimal", "random", "adaptive", "ugal"] {
        between(routing, carried(DRAGONFLY, routing, Pattern::Uniform, 0.2), 0.19, 0.21);
    }
    between("valiant", carried(DRAGONFLY, "valiant", Pattern::Uniform, 0.2), 0.19, 0.21);
}

/// Kim et al. 2008: minimal routing carries uniform traffic, and Valiant's half of it. Here 64 of 71 destinations are in
/// other groups and take two of the h = p global cables of a switch each, so Valiant's limit is 71 / 128 = 0.555.
#[test]
fn dragonfly_uniform() {
    between("minimal", carried(DRAGONFLY, "minimal", Pattern::Uniform, 0.95), 0.80, 0.96);
    between("valiant", carried(DRAGONFLY, "valiant", Pattern::Uniform, 0.95), 0.45, 0.56);
    between("ugal", carried(DRAGONFLY, "ugal", Pattern::Uniform, 0.95), 0.70, 0.96);
}

/// Kim et al. 2008: each group sends to the next. Minimal routing has one cable for a p = 8 nodes; detours share all.
#[test]
fn dragonfly_adversarial() {
    between("minimal", carried(DRAGONFLY, "minimal", Pattern::NextGroup(8), 0.3), 0.120, 0.135);
    between("valiant", carried(DRAGONFLY, "valiant", Pattern::NextGroup(8), 0.7), 0.40, 0.51);
    // The limit: 8 x = 1 + 7 / 2 of a group's 8 cables, one by the minimal way, the others twice. UGAL that looks at the first
    // queue only gets half of that: see the routing.
    between("ugal", carried(DRAGONFLY, "ugal", Pattern::NextGroup(8), 0.7), 0.45, 0.57);
}

/// Where lengths do not count, a detour need not have half the load of the shortest way, so more packets take one.
#[test]
fn detours_are_longer_where_lengths_do_not_count() {
    let hops = |by_length: bool| {
        let routing = format!("ugal\"\nbias = \"0\"\nby_length = \"{by_length}");
        let stats = carried(DRAGONFLY, &routing, Pattern::Uniform, 0.5).stats;
        stats.packet_hops as f64 / stats.messages as f64
    };
    let (counted, not) = (hops(true), hops(false));
    assert!(not > counted * 1.1, "{not} cables a message, and {counted} where lengths count");
}

/// Under d-mod-k a shift has a cable of its own for every flow.
#[test]
fn tree_shifts_run_at_full_rate() {
    for by in [1, 8, 13, 32, 63] {
        between(&format!("shift {by}"), carried(TREE, "minimal", Pattern::Shift(by), 0.95), 0.93, 0.97);
    }
}

/// A random permutation. Under d-mod-k flows of a leaf collide on the way up: 1 - (1 - 1/8)^8 = 0.66 of the cables are used,
/// and flows inside a leaf add some. Hashed routes collide on the way down too: about half (Hoefler et al. 2008). Adaptive
/// routing carries what is offered.
#[test]
fn tree_permutation() {
    between("d-mod-k", carried(TREE, "minimal", Pattern::Permutation, 1.0), 0.60, 0.82);
    between("ecmp", carried(TREE, "random\"\nper = \"flow", Pattern::Permutation, 1.0), 0.40, 0.68);
    between("adaptive", carried(TREE, "adaptive", Pattern::Permutation, 0.9), 0.87, 0.92);
}
