//! The machines that come with the program: each can be built, described and drawn, and is what its source says it is.

mod common;

use comm::Comm;
use common::{recv, run, send};
use spec::{Rng, permutation};
use std::collections::BTreeMap;
use std::sync::Mutex;
use tailback_sim::{BUILTIN, Config, Description, Reach, Simulator, builtin, describe, draw};

fn of(name: &str) -> Description {
    describe(&Config::from_toml(builtin(name).expect(name)).unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A machine file can be read, described and drawn, as it is and with the 16 nodes of a first look.
fn check(text: &str) -> Result<(), String> {
    let config = Config::from_toml(text).map_err(|e| e.to_string())?;
    for nodes in [config.nodes, 16] {
        let config = Config { nodes, ..config.clone() };
        let d = describe(&config).map_err(|e| e.to_string())?;
        if d.switches == 0 || d.nearest > d.mean || d.mean > d.farthest {
            return Err(format!("what a message takes is out of order\n{d}"));
        }
        if !draw(&config).map_err(|e| e.to_string())?.contains("<rect") {
            return Err("nothing is drawn".into());
        }
    }
    Ok(())
}

#[test]
fn every_machine_is_described_and_drawn() {
    for (name, text) in BUILTIN {
        check(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn wrong_machines_are_caught() {
    for (text, reason) in [
        ("nodes = many", "machine file"),
        ("nodes = 4\n[topology]\nkind = \"chian\"", "did you mean `chain`"),
        ("nodes = 4\n[topology]\nkind = \"torus\"\ndims = \"2x2\"\nendpoints = 1", "the machine has 16"),
    ] {
        let error = check(text).expect_err(reason);
        assert!(error.contains(reason), "{error}, not {reason}");
    }
}

/// A number of an element of a picture.
fn number(element: &str, name: &str) -> f64 {
    let value = element.split(&format!(" {name}=\"")).nth(1).expect(name);
    value.split('"').next().expect(name).parse().expect(name)
}

/// Switches and NICs of each group, and global cables of each pair of them, as a picture shows them.
type Groups = (Vec<(usize, usize)>, BTreeMap<(usize, usize), usize>);

fn groups(config: &Config) -> Groups {
    let svg = draw(config).unwrap();
    let elements: Vec<&str> = svg.split('<').collect();
    let titled =
        |kind: &'static str| elements.windows(2).filter(move |e| e[0].starts_with(kind) && e[1].contains("title>"));
    // Switches of a group that have no nodes are a box of their own.
    let (mut found, mut boxes) = (Vec::new(), Vec::new());
    for e in titled("rect ") {
        let counts: Vec<usize> = e[1].split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        let [group, switches, nics] = counts[..] else { continue };
        found.resize(found.len().max(group + 1), (0, 0));
        found[group] = (found[group].0 + switches, found[group].1 + nics);
        let middle = |from, size| number(e[0], from) + number(e[0], size) / 2.0;
        boxes.push((middle("x", "width"), middle("y", "height"), group));
    }
    let at = |x: f64, y: f64| boxes.iter().find(|b| (b.0 - x).abs() + (b.1 - y).abs() < 1.0).expect("a box").2;
    let mut cables = BTreeMap::new();
    for e in titled("line ").filter(|e| e[1].ends_with(" global")) {
        let (a, b) = (at(number(e[0], "x1"), number(e[0], "y1")), at(number(e[0], "x2"), number(e[0], "y2")));
        let count: usize = e[1].trim_start_matches("title>").split(' ').next().unwrap().parse().unwrap();
        *cables.entry((a.min(b), a.max(b))).or_default() += count;
    }
    (found, cables)
}

#[test]
fn uneven_groups_have_their_nodes_and_cables() {
    let text = "nodes = 73\n[nic]\nper_node = 2\nswitches = 2\n[topology]\nkind = \"dragonfly\"\nendpoints = 2\nglobal = 3\n\
        group_switches = \"30*2, 16*2\"\ngroup_nodes = \"28, 30, 0, 15\"";
    let pairs = |big, small| {
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        pairs.into_iter().map(|pair| (pair, if pair == (0, 1) { big } else { small })).collect()
    };
    let nics = vec![(30, 56), (30, 60), (16, 0), (16, 30)];
    // A third of the global cables of the group that has fewer, or as many as are given.
    assert_eq!(groups(&Config::from_toml(text).unwrap()), (nics.clone(), pairs(30, 16)));
    assert_eq!(groups(&Config::from_toml(&format!("{text}\npair_links = 7")).unwrap()), (nics, pairs(7, 7)));
}

/// The mean latency of GPCNeT's random ring on an idle machine with one rank per node: a step is an exchange of 8 bytes with
/// both neighbours and counts as two.
fn ring_latency_us(name: &str) -> f64 {
    const STEPS: u64 = 5;
    let config = Config { ranks_per_node: 1, ..Config::from_toml(builtin(name).expect(name)).unwrap() };
    let order = permutation(&mut Rng::new(1, "ring", 0), config.nodes);
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &rank)| place[rank as usize] = i);
    let (n, sum) = (order.len(), Mutex::new(0.0));
    let body = |comm: &dyn Comm| {
        let at = place[comm.rank()];
        let (left, right) = (order[(at + n - 1) % n] as usize, order[(at + 1) % n] as usize);
        for _ in 0..STEPS {
            comm.exchange(&mut [recv(left, 1, 8), recv(right, 2, 8), send(left, 2, 8), send(right, 1, 8)]);
        }
        *sum.lock().unwrap() += comm.now().us() / (2 * STEPS) as f64;
    };
    run(&Simulator::new(config).unwrap(), body);
    sum.into_inner().unwrap() / n as f64
}

/// Isolated latency of 8 bytes, GPCNeT Table 2: what the host overheads are set by.
#[test]
fn isolated_latency_is_table_2() {
    let table = [
        ("crystal", 1.8),
        ("osprey", 1.1),
        ("edison", 3.0),
        ("theta", 11.1),
        ("summit", 2.8),
        ("sierra", 3.0),
        ("malbec", 1.8),
    ];
    let found: Vec<_> = table.iter().map(|&(name, us)| (name, us, ring_latency_us(name))).collect();
    assert!(found.iter().all(|(_, us, it)| (it / us - 1.0).abs() < 0.03), "published and simulated: {found:?}");
}

/// GPCNeT Table 1: global cables over injection, or bisection of the trees.
#[test]
fn ratios_are_those_of_table_1() {
    let ratio = |name: &str, nodes: usize| {
        let config = Config { nodes, ..Config::from_toml(builtin(name).expect(name)).unwrap() };
        let d = describe(&config).unwrap();
        d.cables.iter().find(|c| c.reach == Reach::Global).expect("global cables").per_injection
    };
    // Theta's and Crystal's figures are those of full groups.
    for (name, nodes, share) in
        [("edison", 5575, 0.50), ("theta", 4608, 0.55), ("crystal", 768, 1.0), ("malbec", 485, 0.50)]
    {
        assert!((ratio(name, nodes) - share).abs() < 0.01, "{name}: {}", ratio(name, nodes));
    }
    for (name, share) in [("osprey", 1.0), ("summit", 1.0), ("sierra", 0.5)] {
        let d = of(name);
        assert!((d.bisection_share - share).abs() < 0.13, "{name}: {}", d.bisection_share);
    }
}
