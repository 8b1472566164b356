//! What Slurm tells its jobs about themselves, for the record: which job, which nodes, and which switch each node is on.

use comm::{Comm, Reduce, Vector, collectives};
use std::collections::{BTreeMap, BTreeSet};

/// The environment, or a made-up one.
type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Names of facts in the record, and the variables they come from.
const FACTS: [(&str, &str); 4] = [
    ("slurm job", "SLURM_JOB_ID"),
    ("slurm nodes", "SLURM_JOB_NODELIST"),
    ("slurm partition", "SLURM_JOB_PARTITION"),
    ("slurm cluster", "SLURM_CLUSTER_NAME"),
];

/// What every process of the job knows.
pub fn facts(get: Environment<'_>) -> Vec<(&'static str, String)> {
    let known = |(name, variable): &(&'static str, &str)| {
        get(variable).filter(|value| !value.is_empty()).map(|value| (*name, value))
    };
    FACTS.iter().filter_map(known).collect()
}

/// The switches with their nodes, gathered to rank 0: `spine.leaf0: n[1-2]; spine.leaf1: n[3-4]`, from what each rank knows of its own
/// place. Nothing where nobody knows any. Collective: every rank calls it, whatever it knows.
pub fn topology(world: &dyn Comm, mine: &str) -> Option<String> {
    let mut told = [f64::from(u8::from(!mine.is_empty()))];
    world.allreduce(Vector::Values(&mut told), Reduce::Max);
    if told[0] == 0.0 {
        return None;
    }
    // Ranks of one node say the same, so what travels is bounded by the number of nodes.
    let mut merge = |a: Vec<u8>, b: Vec<u8>| {
        let both: BTreeSet<&[u8]> = a.split(|c| *c == b'\n').chain(b.split(|c| *c == b'\n')).collect();
        let lines: Vec<&[u8]> = both.into_iter().filter(|line| !line.is_empty()).collect();
        lines.join(&b'\n')
    };
    let all = collectives::fold(world, mine.as_bytes().to_vec(), &mut merge)?;
    Some(describe(&String::from_utf8_lossy(&all)))
}

/// The switches above this node and the node, divided by a tab; empty where Slurm knows none.
pub fn place(get: Environment<'_>) -> String {
    address(get).map(|(switches, node)| format!("{switches}\t{node}")).unwrap_or_default()
}

/// The switches above this node, topmost first, and the node: `SLURM_TOPOLOGY_ADDR` is `spine.leaf0.n1` where
/// `SLURM_TOPOLOGY_ADDR_PATTERN` is `switch.switch.node`. Without switches Slurm names the node alone.
fn address(get: Environment<'_>) -> Option<(String, String)> {
    let pattern = get("SLURM_TOPOLOGY_ADDR_PATTERN")?;
    let levels = pattern.split('.').filter(|level| *level == "switch").count();
    let text = get("SLURM_TOPOLOGY_ADDR")?;
    // A host name may have dots of its own, so it is what is left after the switches.
    let parts: Vec<&str> = text.splitn(levels + 1, '.').collect();
    let (node, switches) = parts.split_last()?;
    // A node below several switches of one level has them in one part, like `s[0-1]`; a level it lacks is empty.
    let switches: Vec<&str> = switches.iter().copied().filter(|switch| !switch.is_empty()).collect();
    (!switches.is_empty()).then(|| (switches.join("."), node.to_string()))
}

/// Switches with their nodes, from lines of `switches TAB node`.
pub fn describe(lines: &str) -> String {
    let mut switches: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (switch, node) in lines.lines().filter_map(|line| line.split_once('\t')) {
        switches.entry(switch).or_default().push(node);
    }
    switches.iter().map(|(switch, nodes)| format!("{switch}: {}", host_list(nodes))).collect::<Vec<_>>().join("; ")
}

/// Names as Slurm writes them: `n[1-2,5]`. Numbers keep their leading zeros.
fn host_list(nodes: &[&str]) -> String {
    let mut families: BTreeMap<(&str, usize), Vec<u64>> = BTreeMap::new();
    let mut plain: Vec<String> = Vec::new();
    for node in nodes {
        let stem = node.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &node[stem.len()..];
        // Names of one width sort as numbers; `n1` and `n10` have no leading zeros to keep.
        let width = if digits.starts_with('0') { digits.len() } else { 0 };
        match digits.parse() {
            Ok(number) => families.entry((stem, width)).or_default().push(number),
            Err(_) => plain.push(node.to_string()),
        }
    }
    plain.extend(families.into_iter().map(|((stem, width), numbers)| family(stem, width, numbers)));
    plain.join(",")
}

fn family(stem: &str, width: usize, mut numbers: Vec<u64>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    if let [only] = numbers[..] {
        return format!("{stem}{only:0width$}");
    }
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let span = |(a, b): &(u64, u64)| match a == b {
        true => format!("{a:0width$}"),
        false => format!("{a:0width$}-{b:0width$}"),
    };
    format!("{stem}[{}]", spans.iter().map(span).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use comm::Machine;
    use std::sync::Mutex;

    fn of(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> + use<> {
        let pairs: BTreeMap<String, String> = pairs.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        move |name| pairs.get(name).cloned()
    }

    #[test]
    fn a_job_knows_itself_and_a_shell_knows_nothing() {
        assert!(facts(&of(&[("SLURM_JOB_ID", "")])).is_empty());
        let job = facts(&of(&[("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "n[1-4]")]));
        assert_eq!(job, [("slurm job", "7".to_string()), ("slurm nodes", "n[1-4]".to_string())]);
    }

    #[test]
    fn addresses_are_switches_and_a_node() {
        let at = |addr: &str, pattern: &str| {
            address(&of(&[("SLURM_TOPOLOGY_ADDR", addr), ("SLURM_TOPOLOGY_ADDR_PATTERN", pattern)]))
        };
        let found = |switch: &str, node: &str| Some((switch.to_string(), node.to_string()));
        assert_eq!(at("spine.leaf0.n1", "switch.switch.node"), found("spine.leaf0", "n1"));
        assert_eq!(at("leaf0.n1.site.org", "switch.node"), found("leaf0", "n1.site.org"));
        assert_eq!(at("n1", "node"), None);
        assert_eq!(at(".n1", "switch.node"), None);
    }

    #[test]
    fn host_lists_are_slurms() {
        for (nodes, text) in [
            (vec!["n1"], "n1"),
            (vec!["n10", "n2", "n1", "n3"], "n[1-3,10]"),
            (vec!["c001", "c002", "login"], "login,c[001-002]"),
        ] {
            assert_eq!(host_list(&nodes), text);
        }
    }

    /// Twelve ranks on four nodes, and one rank whose environment is empty.
    #[test]
    fn rank_0_learns_the_switches_of_all_nodes() {
        let config = sim::Config::from_toml("nodes = 4\nranks_per_node = 3\n").unwrap();
        let machine = sim::Simulator::new(config).unwrap();
        let told = Mutex::new(None);
        let body = |world: &dyn Comm| {
            let node = world.node();
            let address = format!("spine.leaf{}.n{}", node / 2, node + 1);
            let full = of(&[("SLURM_TOPOLOGY_ADDR", &address), ("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node")]);
            let full = place(&full);
            let found = topology(world, if world.rank() == 5 { "" } else { &full });
            assert_eq!(found.is_some(), world.rank() == 0);
            if let Some(text) = found {
                *told.lock().unwrap() = Some(text);
            }
            assert_eq!(topology(world, ""), None);
        };
        machine.run(&body).unwrap();
        assert_eq!(told.into_inner().unwrap().unwrap(), "spine.leaf0: n[1-2]; spine.leaf1: n[3-4]");
    }
}
