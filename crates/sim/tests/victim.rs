//! The test that flow-level simulators fail: 61 senders to one endpoint must hurt two others that only share its leaf
//! switch, by more than 10x without congestion control and by less than 3x with back-pressure at the edge.

mod common;
#[path = "common/incast.rs"]
mod incast;

use common::machine;
use incast::{Roles, run};
use spec::Time;

/// Mean latency of the victims in microseconds: ranks 1 and 9, beside the root, rank 0.
fn latency(text: &str, control: &str, incast: bool) -> f64 {
    let m = machine(&format!("nodes = 64\nranks_per_node = 1\n{text}[control]\n{control}\n"));
    let bytes = if incast { 64 << 10 } else { 0 };
    let roles = Roles { root: 0, victims: Some([9, 1]), bytes, duration: Time::from_us(10_000) };
    run(&m, roles).summary(Time::ZERO)[0]
}

/// Eight leaves of eight nodes and eight spines.
const TREE: &str = "[topology]\nkind = \"fat-tree\"\nradix = 16\n";

#[test]
fn an_incast_hurts_its_leaf_and_edge_control_prevents_it() {
    for routing in ["random", "adaptive"] {
        let text = format!("{TREE}[routing]\nkind = \"{routing}\"\n");
        let alone = latency(&text, "", false);
        let ratio = |control: &str| latency(&text, &format!("kind = \"{control}\""), true) / alone;
        let (none, edge) = (ratio("none"), ratio("slingshot"));
        assert!(none > 10.0, "{routing}: {none}");
        assert!(edge < 3.0, "{routing}: {edge}");
        for control in ["infiniband", "dcqcn\"\npreset = \"ns3-rdma"] {
            let ratio = ratio(control);
            assert!(ratio < 3.0, "{routing}, {control}: {ratio}");
        }
    }
}

#[test]
fn fixed_routes_of_their_own_keep_the_victim_out_of_it() {
    // With d-mod-k every destination has its own spine here, and with queues per output its packets overtake.
    let alone = latency(TREE, "", false);
    assert!(latency(TREE, "", true) < 1.5 * alone);
    // With one spine all destinations of a leaf share its cable.
    let one = "[topology]\nkind = \"fat-tree\"\nradix = 16\ndown = 8\nup = 1\n";
    let (alone, loaded) = (latency(one, "", false), latency(one, "", true));
    assert!(loaded > 10.0 * alone, "{loaded} beside {alone}");
}

#[test]
fn edge_control_acts_where_the_incast_waits_before_the_last_hop() {
    // Nobody else is on the root's leaf: all of the incast comes by the cable of the only spine and waits there, not at the last hop.
    let tree = "[topology]\nkind = \"fat-tree\"\nradix = 16\ndown = 2\nup = 1\n";
    let latency = |control: &str, incast: bool| {
        let m = machine(&format!("nodes = 32\nranks_per_node = 1\n{tree}[control]\nkind = \"{control}\"\n"));
        let bytes = if incast { 64 << 10 } else { 0 };
        let roles = Roles { root: 0, victims: Some([9, 1]), bytes, duration: Time::from_us(10_000) };
        run(&m, roles).summary(Time::ZERO)[0]
    };
    let (alone, none, edge) = (latency("none", false), latency("none", true), latency("slingshot", true));
    assert!(none > 10.0 * alone, "{none} beside {alone}");
    assert!(edge < 3.0 * alone, "{edge} beside {alone}");
}

#[test]
fn a_class_of_their_own_keeps_small_messages_out_of_it() {
    let text = format!("{TREE}[routing]\nkind = \"adaptive\"\n");
    let classes = format!("{text}[protocol]\nsmall = 1024\n");
    let (alone, loaded) = (latency(&classes, "", false), latency(&classes, "", true));
    assert_eq!(alone, latency(&text, "", false), "an idle network is the same");
    assert!(loaded < 3.0 * alone, "{loaded} beside {alone}");
}
