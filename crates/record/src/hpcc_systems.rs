//! Published HPC Challenge results, as data: the numbers of a summary section, each line with its source, exactly as printed.
//!
//! The columns are keys of the original's summary in its units; an empty cell is a number that is not printed or says nothing.
//! Left empty on purpose: HPL, PTRANS, STREAM and RandomAccess of the systems whose runs had HPL solve a tiny system on four ranks
//! and kept STREAM in the cache, and two numbers of Leibniz on 24 nodes that repeat those on 8 to the last digit. Of Table 1 of the
//! suite's paper: HPL of row 8, which is that of row 7, and a ping-pong latency that stands in row 2 or in row 3.
//! A file of the same form is read, too, so that whoever has a table can put it beside a run.

use crate::hpccoutf::{self, Origin};
use crate::reference::{cells, key, label};
use crate::run::{Layout, RunRecord, Status};
use spec::near::unknown;
use std::collections::BTreeMap;
use std::sync::OnceLock;

const FILE: &str = include_str!("../data/hpcc_systems.csv");
const FIRST: [&str; 4] = ["source", "system", "nodes", "ppn"];

/// One system in one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Where it is printed.
    pub source: String,
    /// Its name.
    pub name: String,
    /// Nodes of the run.
    pub nodes: u32,
    /// Ranks per node of the run.
    pub ranks_per_node: u32,
    /// Keys of the summary with their numbers.
    values: BTreeMap<String, String>,
}

impl System {
    /// What a user types for it.
    pub fn key(&self) -> String {
        key(&self.name)
    }

    /// Name and size: `Leibniz 8 x 28`.
    pub fn label(&self) -> String {
        label(&self.name, self.nodes, self.ranks_per_node)
    }

    /// A record with these numbers, so that it goes wherever a run goes.
    pub fn record(&self) -> RunRecord {
        let values = self.values.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let per_node = self.ranks_per_node;
        let origin = Origin {
            name: self.label(),
            library: format!("published in {}", self.source),
            status: Status::Complete,
            layout: Layout {
                nodes: self.nodes,
                ranks: self.nodes * per_node,
                min_ranks_per_node: per_node,
                max_ranks_per_node: per_node,
                parts_per_node: 1,
            },
            warnings: vec![format!("published numbers, no run of ours: {}", self.source)],
            checked: "published; nothing is said of its checks",
        };
        hpccoutf::record(&values, origin)
    }
}

/// All that are shipped, in the order of the file.
pub fn published() -> &'static [System] {
    static ALL: OnceLock<Vec<System>> = OnceLock::new();
    ALL.get_or_init(|| parse(FILE).expect("the committed file is tested"))
}

/// The names of the shipped ones.
pub fn keys() -> Vec<String> {
    let mut keys: Vec<String> = published().iter().map(System::key).collect();
    keys.dedup();
    keys
}

/// Reads a table; an error names the line.
pub fn parse(text: &str) -> Result<Vec<System>, String> {
    // Spreadsheets mark the beginning of a file.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let header = lines.next().map(|(_, l)| cells(l)).unwrap_or_default();
    if !header.starts_with(&FIRST.map(String::from)) {
        return Err(format!("the first line does not begin with `{}`", FIRST.join(",")));
    }
    let known = hpccoutf::keys();
    let columns = &header[FIRST.len()..];
    if let Some(wrong) = columns.iter().find(|c| !known.contains(*c)) {
        return Err(unknown("column", wrong, known.iter().map(String::as_str)));
    }
    let systems = lines.map(|(i, line)| system(line, columns).map_err(|why| format!("line {}: {why}", i + 1)));
    systems.collect()
}

fn system(line: &str, columns: &[String]) -> Result<System, String> {
    let cells = cells(line);
    let [source, name, nodes, ppn, values @ ..] = cells.as_slice() else {
        return Err("it has less than four cells".into());
    };
    if values.len() != columns.len() {
        return Err(format!("{} cells, the header has {}", cells.len(), FIRST.len() + columns.len()));
    }
    let count = |what: &str, text: &str| {
        let bad = || format!("{what} `{text}` is not a number from 1 to 10000000");
        text.trim().parse().ok().filter(|n| (1..=10_000_000).contains(n)).ok_or_else(bad)
    };
    let (nodes, ranks_per_node) = (count("nodes", nodes)?, count("ppn", ppn)?);
    // Each may be in range while their product does not fit `Layout::ranks`.
    if u32::checked_mul(nodes, ranks_per_node).is_none() {
        return Err(format!("{nodes} x {ranks_per_node} ranks are too many"));
    }
    let given = columns.iter().zip(values).filter(|(_, value)| !value.trim().is_empty());
    let given = given.map(|(column, value)| match value.trim().parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok((column.clone(), value.trim().to_string())),
        _ => Err(format!("{column} `{value}` is not a number above 0; leave the cell empty if it is not known")),
    });
    Ok(System {
        source: source.clone(),
        name: name.clone(),
        nodes,
        ranks_per_node,
        values: given.collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(system: &System, key: &str) -> Option<f64> {
        system.values.get(key).map(|x| x.parse().unwrap())
    }

    #[test]
    fn every_line_is_read_and_has_a_source() {
        let all = published();
        assert_eq!(all.len(), FILE.lines().count() - 1);
        let named = |s: &System| s.source.starts_with("https://") || s.source.contains(" Table 1 row ");
        assert!(all.iter().all(|s| named(s) && s.nodes > 0 && s.ranks_per_node > 0));
        assert_eq!(keys()[..2], ["leibniz", "vaughan"]);
        for s in all {
            let [least, ping, natural, random] =
                ["MinPingPong", "AvgPingPong", "NaturallyOrderedRing", "RandomlyOrderedRing"]
                    .map(|which| number(s, &format!("{which}Bandwidth_GBytes")));
            // Rings load the network everywhere at once, so they cannot beat a ping-pong by much.
            assert!(ping.is_none_or(|p| natural.unwrap() < p && random <= natural), "{s:?}");
            assert!(least.is_none_or(|p| random.unwrap() < p), "{s:?}");
            assert!(number(s, "RandomlyOrderedRingLatency_usec").is_some_and(|us| (0.1..400.0).contains(&us)), "{s:?}");
            // HPL runs near the rate of DGEMM, or one of the two is not of this run.
            let dgemm = number(s, "StarDGEMM_Gflops").map(|x| x * f64::from(s.nodes * s.ranks_per_node) / 1e3);
            let share = number(s, "HPL_Tflops").zip(dgemm).map(|(hpl, dgemm)| hpl / dgemm);
            assert!(share.is_none_or(|x| (0.7..1.0).contains(&x)), "{s:?}");
        }
    }

    /// The paper prints the balance beside what it is made of, so a slip of a digit in the file shows.
    #[test]
    fn balances_of_table_1_are_those_it_prints() {
        let printed = [1.8, 17.8, 8.1, 94.5, 48.2, 42.2, 80.3, 43.1, 45.0, 45.3, 72.9, 93.9, 115.4, 107.3];
        let of_paper = published().iter().filter(|s| s.source.contains(" Table 1 row "));
        let made: Vec<f64> = of_paper
            .filter_map(|s| {
                let ring = number(s, "RandomlyOrderedRingBandwidth_GBytes")? * f64::from(s.nodes);
                Some(ring / number(s, "HPL_Tflops")?)
            })
            .collect();
        assert_eq!(made.len(), printed.len());
        for (made, printed) in made.into_iter().zip(printed) {
            assert!((made / printed - 1.0).abs() < 0.03, "{made:.1}, printed {printed}");
        }
    }

    #[test]
    fn a_ping_pong_without_an_average_keeps_what_is_printed() {
        let record = published().iter().find(|s| s.label() == "Cray X1 60 x 1").unwrap().record();
        let results = |phase: &str| record.phase(phase).unwrap().jobs[0].results.clone();
        assert_eq!(results("mpi/ping-pong-latency"), [("latency_max_s".to_string(), 9.0 * 1e-6)].into());
        assert_eq!(results("mpi/ping-pong-bandwidth"), [("bandwidth_min_bytes_per_s".to_string(), 3.9 * 1e9)].into());
    }

    #[test]
    fn a_system_is_a_record_of_its_size() {
        let record = published().iter().find(|s| s.label() == "Vaughan 8 x 64").unwrap().record();
        assert_eq!((record.layout.nodes, record.layout.ranks), (8, 512));
        assert!(record.is_imported() && record.warnings[0].contains("hpcuantwerpen"));
        let names: Vec<&str> = record.phases.iter().map(|p| p.name.as_str()).collect();
        assert!(names.contains(&"mpi/hpl") && names.contains(&"star/stream") && !names.contains(&"single/stream"));
        assert_eq!(record.phase("mpi/hpl").unwrap().jobs[0].results["flops_per_s"], 14.5471e12);
    }

    #[test]
    fn a_table_of_a_user_is_read_and_mistakes_name_their_line() {
        let head = "source,system,nodes,ppn,HPL_Tflops,PTRANS_GBs";
        let good = parse(&format!("\u{feff}# from a paper\r\n{head}\n\n\"Table 1, page 9\",X1,10,4,0.5,\n")).unwrap();
        assert_eq!((good[0].source.as_str(), number(&good[0], "HPL_Tflops")), ("Table 1, page 9", Some(0.5)));
        assert_eq!(number(&good[0], "PTRANS_GBs"), None);
        for (text, says) in [
            ("", "begin with"),
            ("source,system,nodes,ppn,HPL_Tflop\n", "did you mean `HPL_Tflops`"),
            (&format!("{head}\na,b,1,1,2\n"), "line 2: 5 cells, the header has 6"),
            (&format!("{head}\na,b,0,1,2,\n"), "line 2: nodes `0`"),
            (&format!("{head}\na,b,1,1,2,\na,b,1,1,-3,\n"), "line 3: HPL_Tflops `-3`"),
            (&format!("{head}\na,b,1000000,9999,2,\n"), "too many"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
