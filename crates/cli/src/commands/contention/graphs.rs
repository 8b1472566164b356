//! Where graphs come from.

use crate::exit::{Exit, Fail};
use clap::ArgMatches;
use model::contention::random::{self, DrawSettings};
use model::contention::{Graph, parse, published};
use std::path::Path;

/// Larger files are refused before they are read: ten million flows are a mistake.
const MOST_BYTES: u64 = 256 << 20;

/// A graph and what it is called.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The graph.
    pub graph: Graph,
}

/// The graphs named on the command line, with `--size` if it is given.
pub fn read(args: &ArgMatches) -> anyhow::Result<Vec<Named>> {
    let mut all: Vec<Named> = Vec::new();
    for text in args.get_many::<String>("graphs").expect("it is required") {
        let mut graph = one(text)?;
        if let Some(bytes) = size(args)? {
            graph.flows.iter_mut().for_each(|f| f.bytes = bytes);
        }
        let stem = Path::new(text).file_stem().map_or_else(|| text.clone(), |s| s.to_string_lossy().into_owned());
        let twice = all.iter().filter(|n| n.name == stem).count();
        let name = if twice > 0 { format!("{stem}-{}", twice + 1) } else { stem };
        all.push(Named { name, graph });
    }
    Ok(all)
}

fn size(args: &ArgMatches) -> anyhow::Result<Option<f64>> {
    let text = args.get_one::<String>("size");
    text.map(|t| spec::parse_bytes(t).map(|b| b as f64).map_err(|e| Fail::usage(format!("--size: {e}")))).transpose()
}

fn one(text: &str) -> anyhow::Result<Graph> {
    if let Some(rest) = text.strip_prefix("random:") {
        let (edges, seed) = rest.split_once(':').unwrap_or((rest, "1"));
        let number = |t: &str| t.parse::<u64>().ok();
        let (edges, seed) = number(edges)
            .zip(number(seed))
            .ok_or_else(|| Fail::usage(format!("{text}: write random:EDGES or random:EDGES:SEED")))?;
        let settings = DrawSettings { edges: edges as usize, graphs: 1, seed, ..DrawSettings::default() };
        let drawn = random::draw(&settings).map_err(|e| Fail::usage(format!("{text}: {e}")))?;
        return drawn.into_iter().next().ok_or_else(|| Fail::usage(format!("{text}: no such graph was found")));
    }
    let path = Path::new(text);
    if !path.exists() {
        return published::find(text).map_err(|e| Fail::usage(format!("{e} It is no file either.")));
    }
    let say = |e: std::io::Error| Fail::with(Exit::Failure, format!("cannot read {text}: {e}"));
    let length = std::fs::metadata(path).map_err(say)?.len();
    if length > MOST_BYTES {
        return Err(Fail::usage(format!("{text}: {length} bytes are no graph of at most a million flows")));
    }
    let content = std::fs::read_to_string(path).map_err(say)?;
    parse::read(&content).map_err(|e| Fail::usage(format!("{text}: {e}")))
}

/// The random graphs of a campaign: numbers of flows in turn, no two alike.
pub fn random(args: &ArgMatches) -> anyhow::Result<Vec<Named>> {
    let number = |name: &str| *args.get_one::<u32>(name).expect("it has a default") as usize;
    let text = args.get_one::<String>("edges").expect("it has a default");
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let range = low.parse::<usize>().ok().zip(high.trim_start_matches('=').parse::<usize>().ok());
    let (low, high) = range
        .filter(|(low, high)| *low >= 1 && low <= high)
        .ok_or_else(|| Fail::usage(format!("--edges {text}: write FROM..TO, e.g. 2..8")))?;
    let wanted = number("graphs");
    let seed = super::super::run::read_seed(args)?.unwrap_or(1);
    let mut named = Vec::new();
    for edges in low..=high {
        // Small graphs have few classes; what they lack is made up for by the larger ones.
        let left = wanted - named.len();
        let graphs = left.div_ceil(high - edges + 1);
        let settings = DrawSettings {
            nodes: number("among"),
            edges,
            graphs,
            degree: number("degree"),
            connected: args.get_flag("connected"),
            bytes: size(args)?.unwrap_or(model::contention::graph::DEFAULT_BYTES),
            seed,
            ..DrawSettings::default()
        };
        let drawn = random::draw(&settings).map_err(|e| Fail::usage(format!("--edges {text}: {e}")))?;
        named.extend(drawn.into_iter().enumerate().map(|(i, graph)| Named { name: format!("e{edges}-{i}"), graph }));
    }
    match named.is_empty() {
        true => Err(Fail::usage(format!("--edges {text}: no such graph was found"))),
        false => Ok(named),
    }
}

/// The same flows with the node numbers that their names have in another graph.
pub fn placed_like(sub: &Graph, whole: &Graph) -> Graph {
    let place = |node: usize| whole.nodes.iter().position(|n| *n == sub.nodes[node]).unwrap_or(node);
    let mut graph = Graph { nodes: whole.nodes.clone(), flows: sub.flows.clone() };
    graph.flows.iter_mut().for_each(|f| (f.from, f.to) = (place(f.from), place(f.to)));
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_files_and_draws() {
        assert_eq!(one("fig3").unwrap().flows.len(), 6);
        assert_eq!(one("random:4:7").unwrap().flows.len(), 4);
        assert!(one("fig33").unwrap_err().to_string().contains("did you mean"));
        assert!(one("random:x").unwrap_err().to_string().contains("random:EDGES"));
    }

    #[test]
    fn sub_graphs_keep_their_nodes() {
        let whole = one("fig3").unwrap();
        let sub = parse::read(&parse::write(&whole.part(&[3, 5]))).unwrap();
        let placed = placed_like(&sub, &whole);
        assert_eq!(placed.edges(), [whole.edges()[3], whole.edges()[5]]);
    }
}
