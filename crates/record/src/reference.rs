//! Published GPCNeT results, as data: Table 2 of the paper and what others have printed since, each with its source.
//!
//! They are read from `data/gpcnet_results.csv`, one number a line, exactly as published: rounded, and without intervals. A
//! report shows them in grey beside a run; they are never a result of ours.

use crate::metric::Metric;
use spec::near::unknown;
use std::sync::OnceLock;

const FILE: &str = include_str!("../data/gpcnet_results.csv");
const HEADER: &str = "source,system,nodes,ppn,program,phase,test,stat,value,unit";

/// One published number.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// `isolated`, `loaded` or `impact`.
    pub phase: String,
    /// GPCNeT's title of the row with its size, e.g. `RR Two-sided Lat (8 B)`.
    pub test: String,
    /// GPCNeT's name of the column: `avg`, `99%`, ...
    pub stat: String,
    /// In base units: seconds, bytes per second, or a factor.
    pub value: f64,
}

/// One system in one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Where it is printed.
    pub source: String,
    /// Its name there.
    pub name: String,
    /// Nodes of the run.
    pub nodes: u32,
    /// Ranks per node of the run.
    pub ranks_per_node: u32,
    /// The original program that made the numbers: `network_load_test` or `network_test`.
    pub program: String,
    /// The numbers.
    pub values: Vec<Published>,
}

/// Published congestion impacts of one canary; those that the published numbers give.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PublishedImpact {
    /// Loaded average over isolated average.
    pub average: Option<f64>,
    /// Loaded 99 % over isolated 99 %.
    pub tail: Option<f64>,
    /// Loaded 99 % over isolated average, as Figure 11 shows.
    pub tail_over_average: Option<f64>,
}

impl System {
    /// What a user types for it.
    pub fn key(&self) -> String {
        key(&self.name)
    }

    /// Name and size: `Summit 4500 x 21`.
    pub fn label(&self) -> String {
        label(&self.name, self.nodes, self.ranks_per_node)
    }

    /// The published value of a test, in base units.
    pub fn value(&self, test: &str, phase: &str, stat: &str) -> Option<f64> {
        let found = self.values.iter().find(|v| v.test == test && v.phase == phase && v.stat == stat);
        found.map(|v| v.value)
    }

    /// The impacts of a test: from the values where both are published, else as printed.
    pub fn impact(&self, metric: Metric, test: &str) -> PublishedImpact {
        let ratio = |isolated, loaded| {
            let (isolated, loaded) = (self.value(test, "isolated", isolated)?, self.value(test, "loaded", loaded)?);
            Some(metric.impact(isolated, loaded))
        };
        PublishedImpact {
            average: ratio("avg", "avg").or(self.value(test, "impact", "avg")),
            tail: ratio("99%", "99%").or(self.value(test, "impact", "99%")),
            tail_over_average: ratio("avg", "99%"),
        }
    }
}

/// Every system and configuration, in the order of the file.
pub fn systems() -> &'static [System] {
    static SYSTEMS: OnceLock<Vec<System>> = OnceLock::new();
    SYSTEMS.get_or_init(|| parse(FILE).expect("the committed file is tested"))
}

/// All configurations of the system of this name, or what to say when there is none.
pub fn named(name: &str) -> Result<Vec<&'static System>, String> {
    let found: Vec<&System> = systems().iter().filter(|s| s.key() == name.to_lowercase()).collect();
    if found.is_empty() { Err(unknown("published system", name, keys().iter().map(String::as_str))) } else { Ok(found) }
}

/// The names that [`named`] knows.
pub fn keys() -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for key in systems().iter().map(System::key) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn parse(text: &str) -> Result<Vec<System>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("the first line is not `{HEADER}`"));
    }
    let mut systems: Vec<System> = Vec::new();
    for line in lines {
        let bad = || format!("not a published value: {line}");
        let cells = cells(line);
        let [source, name, nodes, ppn, program, phase, test, stat, value, unit] = cells.as_slice() else {
            return Err(bad());
        };
        let (nodes, ranks_per_node) = (nodes.parse().map_err(|_| bad())?, ppn.parse().map_err(|_| bad())?);
        let scale = scale(unit).ok_or_else(bad)?;
        let value = value.parse::<f64>().map_err(|_| bad())? / scale;
        let system = System {
            source: source.clone(),
            name: name.clone(),
            nodes,
            ranks_per_node,
            program: program.clone(),
            values: Vec::new(),
        };
        let same = |s: &System| {
            (&s.source, &s.name, s.nodes, s.ranks_per_node, &s.program)
                == (source, name, nodes, ranks_per_node, program)
        };
        // One system may have several sources, sizes and programs; each is a system of its own here.
        let at = systems.iter().position(same).unwrap_or_else(|| {
            systems.push(system);
            systems.len() - 1
        });
        let (phase, test, stat) = (phase.clone(), test.clone(), stat.clone());
        systems[at].values.push(Published { phase, test, stat, value });
    }
    Ok(systems)
}

/// What a base unit is multiplied by to be printed in this unit.
fn scale(unit: &str) -> Option<f64> {
    let known = [Metric::Latency, Metric::Bandwidth].into_iter().map(Metric::shown).find(|(_, name)| *name == unit);
    known.map(|(scale, _)| scale).or((unit == "X").then_some(1.0))
}

/// The name up to a comma in lower case, words joined by hyphens.
pub(crate) fn key(name: &str) -> String {
    let name = name.split(',').next().unwrap_or_default().to_lowercase();
    name.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect::<Vec<_>>().join("-")
}

/// Name and size.
pub(crate) fn label(name: &str, nodes: u32, ranks_per_node: u32) -> String {
    format!("{} {nodes} x {ranks_per_node}", name.split(',').next().unwrap_or_default())
}

/// The cells of a line; a cell in quotes may hold commas.
pub(crate) fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            // A doubled quote inside a cell is not kept; the committed files have none.
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("there is always one").push(c),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: &str = "RR Two-sided Lat (8 B)";

    #[test]
    fn the_committed_file_is_all_of_table_2_and_more() {
        let table2: Vec<&System> = systems().iter().filter(|s| s.source == "SC19 paper Table 2").collect();
        assert_eq!(table2.len(), 20);
        assert!(table2.iter().all(|s| s.values.len() == 12));
        assert_eq!(systems().iter().map(|s| s.values.len()).sum::<usize>(), FILE.lines().count() - 1);
    }

    /// §5.2 of the paper: Edison "approaches four orders of magnitude", Malbec stays "under 10".
    #[test]
    fn impacts_are_those_of_the_paper() {
        let most = |name: &str| named(name).unwrap().into_iter().max_by_key(|s| s.ranks_per_node).unwrap();
        let edison = most("edison").impact(Metric::Latency, LATENCY);
        assert!((edison.tail_over_average.unwrap() - 9039.3).abs() < 1.0, "{edison:?}");
        assert!((edison.tail.unwrap() / 3766.0 - 1.0).abs() < 0.01, "{edison:?}");
        let malbec = most("malbec").impact(Metric::Bandwidth, "RR Two-sided BW+Sync (131072 B)");
        assert!((malbec.average.unwrap() - 565.0 / 523.2).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_published_is_none_and_unknown_names_list_the_near_ones() {
        let frontier = named("Frontier").unwrap()[0].impact(Metric::Latency, LATENCY);
        assert!(frontier.average.is_some() && frontier.tail.is_none());
        assert_eq!(named("hpe-slingshot").unwrap().len(), 2);
        assert!(named("sumit").unwrap_err().contains("`summit`"));
        assert!(systems()[0].value("RR Two-sided Lat (64 B)", "isolated", "avg").is_none());
    }

    #[test]
    fn broken_files_are_refused() {
        for text in ["", "a,b\n", &format!("{HEADER}\nx,y,1\n"), &format!("{HEADER}\ns,n,1,1,p,i,t,avg,1.0,furlong\n")]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
