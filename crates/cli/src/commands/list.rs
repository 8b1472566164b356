//! `tailback list`: what there is, in the order of the tables; with `--markdown`, the page docs/KERNELS.md.

use super::entry::CommandEntry;
use crate::exit::Exit;
use crate::options::flag;
use crate::output;
use bench::{KERNELS, SUITES};
use clap::{Arg, ArgMatches, Command};
use model::contention::RULES;
use model::maxrate::MODELS;
use report::FORMATS;
use report::grid::Grid;
use report::plain::wrap;
use sim::control::CONTROLS;
use sim::routing::ROUTINGS;
use sim::topology::TOPOLOGIES;
use spec::Card;
use std::fmt::Write;

/// Its line in the table of commands.
pub const LIST: CommandEntry = CommandEntry {
    line: command,
    run: list,
    welcome: Some(("tailback list", "suites, kernels, machines and formats")),
};

fn command() -> Command {
    let what = Arg::new("what").help("Show one list only").value_parser(crate::commands::list::NAMES);
    Command::new("list")
        .about("List suites, kernels, machines and formats; by name also topologies, routings, controls, rules, models, counters")
        .arg(what)
        .arg(flag("markdown", "All lists with all parameters, as the page docs/KERNELS.md"))
}

/// One list: its name, what it holds, its entries.
struct List {
    name: &'static str,
    about: &'static str,
    entries: Vec<Listed>,
}

/// Something with a name; most have a card.
struct Listed {
    name: String,
    about: String,
    card: Option<Card>,
}

/// Names of the lists, for the command line.
pub const NAMES: [&str; 10] =
    ["suites", "kernels", "machines", "formats", "topologies", "routings", "controls", "rules", "models", "counters"];
/// What `tailback list` alone shows: what is needed to run something.
const FIRST: usize = 4;

/// Prints the lists.
fn list(args: &ArgMatches) -> anyhow::Result<Exit> {
    let wanted = args.get_one::<String>("what").map(String::as_str);
    let markdown = args.get_flag("markdown");
    let shown = |i: usize, list: &List| wanted.map_or(markdown || i < FIRST, |w| w == list.name);
    let lists: Vec<List> =
        lists().into_iter().enumerate().filter(|(i, list)| shown(*i, list)).map(|(_, list)| list).collect();
    output::print(&if markdown { page(&lists) } else { text(&lists) })?;
    Ok(Exit::Good)
}

fn text(lists: &[List]) -> String {
    let mut out = String::new();
    for list in lists {
        let _ = writeln!(out, "{}: {}", list.name, sentence(list.about));
        let width = list.entries.iter().map(|e| e.name.chars().count()).max().unwrap_or(0);
        for entry in &list.entries {
            let params = entry.card.iter().flat_map(|card| card.params);
            let params: Vec<String> = params.map(|p| format!("{}={}", p.name, p.default)).collect();
            // A suite's parameters are its help; here they would hide the names.
            let params = if params.is_empty() || list.name == "suites" {
                String::new()
            } else {
                format!(" [{}]", params.join(", "))
            };
            let (first, others) = (format!("  {:<width$}  ", entry.name), " ".repeat(width + 4));
            out += &wrap(&format!("{}{params}", entry.about), &first, &others);
        }
        out.push('\n');
    }
    out
}

/// The first sentence of a text.
fn sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

fn page(lists: &[List]) -> String {
    let mut out = String::from(
        "# What there is\n\nMade by `tailback list --markdown` from the tables in the code, in their order; a test keeps this file current.\n\n",
    );
    for list in lists {
        let _ = writeln!(out, "## {}\n\n{}\n", capital(list.name), list.about);
        let sources = list.entries.iter().any(|e| e.card.is_some());
        let header: &[&str] = if sources { &["Name", "what it is", "described in"] } else { &["Name", "what it is"] };
        let mut grid = Grid::new("", header);
        for entry in &list.entries {
            let source = sources.then(|| entry.card.map_or_else(String::new, |card| card.source.to_string()));
            grid.row([format!("`{}`", entry.name), entry.about.clone()].into_iter().chain(source));
        }
        out.push_str(&left(&grid));
        out.push('\n');
        parameters(&mut out, list);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// A table of the parameters of a list's entries. One that many entries share in all it says is listed once, with their names.
fn parameters(out: &mut String, list: &List) {
    let mut rows: Vec<(Vec<&str>, [String; 3])> = Vec::new();
    for entry in &list.entries {
        for param in entry.card.iter().flat_map(|card| card.params) {
            let default = match (param.default, param.simulated) {
                ("", None) => "-".to_string(),
                (default, None) => format!("`{default}`"),
                (default, Some(simulated)) => format!("`{default}`; simulated: `{simulated}`"),
            };
            let cells = [format!("`{}`", param.name), param.about.to_string(), default];
            match rows.iter_mut().find(|(_, known)| *known == cells) {
                Some((owners, _)) => owners.push(&entry.name),
                None => rows.push((vec![&entry.name], cells)),
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    let mut grid = Grid::new("", &["Parameter", "what it sets", "default", "of"]);
    for (owners, cells) in rows {
        grid.row(cells.into_iter().chain([owners.join(", ")]));
    }
    out.push_str(&left(&grid));
    out.push('\n');
}

/// Texts are read from the left.
fn left(grid: &Grid) -> String {
    grid.of_markdown().replacen("---:", "---", grid.header.len())
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn cards<'a>(cards: impl Iterator<Item = &'a Card>) -> Vec<Listed> {
    cards.map(|c| Listed { name: c.name.into(), about: c.about.into(), card: Some(*c) }).collect()
}

fn plain(pairs: impl Iterator<Item = (String, String)>) -> Vec<Listed> {
    pairs.map(|(name, about)| Listed { name, about, card: None }).collect()
}

fn lists() -> Vec<List> {
    let own = |pairs: &[(&str, &str)]| plain(pairs.iter().map(|(n, a)| (n.to_string(), a.to_string())));
    let formats: Vec<(&str, &str)> = FORMATS.iter().map(|f| (f.name, f.about)).collect();
    let counters: Vec<(&str, &str)> = bench::counters::SOURCES.iter().map(|s| (s.name, s.about)).collect();
    let entries: [(&str, Vec<Listed>); 10] = [
        ("What `tailback run` takes: each turns its parameters into a plan.", cards(SUITES.iter().map(|s| &s.card))),
        (
            "What ranks do. An experiment gives a kernel its role: measured (a canary) or in the background (a congestor).",
            kernels(),
        ),
        ("What `--on` takes, beside a machine file.", machines()),
        ("What `--format` takes.", own(&formats)),
        ("`kind` in the section `[topology]` of a machine file.", cards(TOPOLOGIES.iter().map(|t| &t.card))),
        ("`kind` in the section `[routing]` of a machine file.", cards(ROUTINGS.iter().map(|r| &r.card))),
        (
            "`kind` in the section `[control]` of a machine file: congestion control.",
            cards(CONTROLS.iter().map(|c| &c.card)),
        ),
        (
            "What `tailback contention --rules` takes: penalties of flows that share nodes.",
            cards(RULES.iter().map(|r| &r.card)),
        ),
        ("What `tailback fit maxrate` fits.", cards(MODELS.iter().map(|m| &m.card))),
        ("Where the counters around phases are read on a real machine.", own(&counters)),
    ];
    NAMES.into_iter().zip(entries).map(|(name, (about, entries))| List { name, about, entries }).collect()
}

/// Each kernel, and its other names after it.
fn kernels() -> Vec<Listed> {
    let mut all = Vec::new();
    for kernel in KERNELS {
        all.extend(cards(std::iter::once(&kernel.card)));
        all.extend(plain(kernel.traits.aliases.iter().map(|a| (a.name.into(), a.about.into()))));
    }
    all
}

fn machines() -> Vec<Listed> {
    let about = |text: &str| {
        let comment: Vec<&str> = text.lines().map_while(|l| l.strip_prefix("# ")).collect();
        sentence(&comment.join(" ")).to_string()
    };
    let simulated = sim::BUILTIN.iter().map(|(name, text)| (name.to_string(), format!("simulated: {}", about(text))));
    let real = [
        ("mpi", "real ranks under the launcher's MPI library"),
        ("local", "this process alone, on all its cores; for hpcc's single and star tests"),
    ];
    plain(real.into_iter().map(|(name, about)| (name.to_string(), about.to_string())).chain(simulated))
}
