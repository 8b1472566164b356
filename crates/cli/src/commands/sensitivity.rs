//! `tailback machine sensitivity`: what each assumed number of a machine does to the answer.
//!
//! Every number whose comment says "assumed" is halved and doubled, and GPCNeT runs on each of these machines as on the one of the file:
//! by this program itself, so that every run has its record, and can be looked at or repeated.

use crate::exit::{Exit, Fail};
use crate::options::{MOST_NODES, number, value};
use crate::{machine, output, show};
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use report::View;
use sim::{Assumed, assumed, moved};
use std::path::{Path, PathBuf};

/// Larger machines are cut down to so many nodes and ranks of a node unless told otherwise.
const NODES: u32 = 64;
const RANKS: u32 = 2;

/// The subcommand.
pub fn command() -> Command {
    Command::new("sensitivity")
        .about("Halve and double every assumed number, and show what that does to GPCNeT's impacts")
        .arg(
            Arg::new("machine")
                .required(true)
                .value_name("MACHINE")
                .value_hint(ValueHint::FilePath)
                .help("A built-in name or a file whose comments say which numbers are assumed"),
        )
        .arg(number("nodes", MOST_NODES, "Nodes; 64 or the file's, if those are fewer"))
        .arg(number("ranks-per-node", 4096, "Ranks of a node; 2 or the file's, if those are fewer"))
        .arg(value("by", "FACTOR", "Divide and multiply by this [default: 2]").value_parser(value_parser!(f64)))
        .arg(value("seed", "N", "Of all runs [default: 1]").value_parser(value_parser!(u64)))
        .arg(
            value("out", "DIR", "Where the machines and records go; must not exist")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::DirPath),
        )
}

/// How all runs are made.
struct Runs<'a> {
    out: &'a Path,
    nodes: u32,
    ranks: u32,
    seed: u64,
}

/// Average impacts of the canaries, in the order of the plan.
type Impacts = Vec<(String, f64)>;

impl Runs<'_> {
    /// Runs GPCNeT on a machine file.
    fn run(&self, name: &str, file: &str) -> anyhow::Result<Impacts> {
        let failed = |e: std::io::Error| Fail::with(Exit::Failure, format!("{}: {e}", self.out.display()));
        let (path, out) = (self.out.join(format!("{name}.toml")), self.out.join(name));
        std::fs::write(&path, file).map_err(failed)?;
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = std::process::Command::new(program);
        command.args(["run", "gpcnet", "--quiet", "--on"]).arg(&path).arg("--out").arg(&out);
        command.args(["--nodes", &self.nodes.to_string(), "--ranks-per-node", &self.ranks.to_string()]);
        command.args(["--seed", &self.seed.to_string()]);
        let done = command.output().map_err(failed)?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let last = said.lines().last().unwrap_or("it said nothing").to_string();
            return Err(Fail::with(Exit::Failure, format!("{}: {last}", path.display())));
        }
        let record = show::open(&out)?;
        let view = View::new(&record);
        let impact = |c: &report::view::Canary<'_>| Some((c.name.to_string(), c.impact()?.average.value));
        Ok(view.canaries.iter().filter_map(impact).collect())
    }
}

/// What a number does: its name and value, and for each canary the impact with less, as it is and with more of it.
struct Row {
    what: String,
    value: String,
    less: Option<Impacts>,
    more: Option<Impacts>,
}

/// Runs all machines and shows what came of it.
pub fn sensitivity(args: &ArgMatches) -> anyhow::Result<Exit> {
    let name = args.get_one::<String>("machine").expect("it is required");
    let (name, text, config) = machine::read(name)?;
    let factor = args.get_one::<f64>("by").copied().unwrap_or(2.0);
    if !(1.01..=100.0).contains(&factor) {
        return Err(Fail::usage(format!("--by {factor}: choose 1.01 to 100")));
    }
    let numbers: Vec<Assumed> = assumed(&text).into_iter().filter(|a| moved(&text, a, factor).is_some()).collect();
    if numbers.is_empty() {
        let text = format!("machine {name}: no comment says that a number is assumed; write `# assumed` behind those");
        return Err(Fail::usage(text));
    }
    let out = args.get_one::<PathBuf>("out").expect("it is required");
    let failed = |e| Fail::with(Exit::Failure, format!("cannot make {}: {e}", out.display()));
    std::fs::create_dir(out).map_err(failed)?;
    let of = |option: &str, most: u32, file: usize| {
        args.get_one::<u32>(option).copied().unwrap_or(most.min(u32::try_from(file).unwrap_or(most)))
    };
    let runs = Runs {
        out,
        nodes: of("nodes", NODES, config.nodes),
        ranks: of("ranks-per-node", RANKS, config.ranks_per_node),
        seed: args.get_one::<u64>("seed").copied().unwrap_or(1),
    };
    let all = 2 * numbers.len() + 1;
    eprintln!("tailback: run 1 of {all}: {name} as it is");
    let still = runs.run("as-it-is", &text)?;
    let mut rows = Vec::new();
    for (i, which) in numbers.iter().enumerate() {
        let mut sides = [1.0 / factor, factor].into_iter().enumerate().map(|(side, by)| {
            let (file, value) = moved(&text, which, by)?;
            eprintln!("tailback: run {} of {all}: {which} = {value}", 2 * i + side + 2);
            // A buffer below a packet, or more ports than a switch has: no machine, so no answer.
            let machine = sim::Config::from_toml(&file).ok().filter(|c| sim::describe(c).is_ok());
            machine.map(|_| runs.run(&format!("{which}-{}", ["less", "more"][side]), &file))
        });
        let (less, more) = (sides.next().flatten().transpose()?, sides.next().flatten().transpose()?);
        rows.push(Row { what: which.to_string(), value: which.value.clone(), less, more });
    }
    output::print(&shown(&name, &runs, factor, &still, rows))?;
    Ok(Exit::Good)
}

/// By how much the impacts of a run differ from those of the machine as it is, as the largest factor.
fn change(still: &Impacts, other: &Impacts) -> f64 {
    let factor = |((_, a), (_, b)): (&(String, f64), &(String, f64))| (a / b).max(b / a);
    still.iter().zip(other).map(factor).filter(|f| f.is_finite()).fold(1.0, f64::max)
}

fn shown(name: &str, runs: &Runs<'_>, factor: f64, still: &Impacts, mut rows: Vec<Row>) -> String {
    let moves = |row: &Row| [&row.less, &row.more].into_iter().flatten().map(|i| change(still, i)).fold(1.0, f64::max);
    rows.sort_by(|a, b| moves(b).total_cmp(&moves(a)));
    let cells = |impacts: Option<&Impacts>| -> Vec<String> {
        let none = || still.iter().map(|_| "-".to_string()).collect();
        impacts.map_or_else(none, |all| all.iter().map(|(_, x)| format!("{x:.2}")).collect())
    };
    let mut text = format!(
        "{name}, {} nodes x {} ranks, seed {}: average impact with each assumed number divided by {factor}, as it is, times {factor}\n\n",
        runs.nodes, runs.ranks, runs.seed
    );
    let width = rows.iter().map(|r| r.what.len()).max().unwrap_or(0).max(7);
    let values = rows.iter().map(|r| r.value.len()).max().unwrap_or(0).max(5);
    let canaries: Vec<String> = still.iter().map(|(name, _)| format!("{name:>20}")).collect();
    text += &format!("{:width$}  {:values$} {}   changes by\n", "assumed", "value", canaries.join(" "));
    for row in &rows {
        let (less, here, more) = (cells(row.less.as_ref()), cells(Some(still)), cells(row.more.as_ref()));
        let each = less.iter().zip(&here).zip(&more).map(|((a, b), c)| format!("{:>20}", format!("{a} {b} {c}")));
        let each = each.collect::<Vec<_>>().join(" ");
        text += &format!("{:width$}  {:values$} {each}   x {:.2}\n", row.what, row.value, moves(row));
    }
    text += "\nOne seed: placements are the same in all runs, but what a number does to them by chance is in these changes, too.\n";
    text += &format!("Records and machine files: {}\n", runs.out.display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_factors_either_way() {
        let impacts = |a: f64, b: f64| vec![("x".to_string(), a), ("y".to_string(), b)];
        assert_eq!(change(&impacts(2.0, 3.0), &impacts(2.0, 1.0)), 3.0);
        assert_eq!(change(&impacts(1.0, 3.0), &impacts(4.0, f64::NAN)), 4.0);
        assert_eq!(change(&impacts(1.0, 3.0), &impacts(1.0, 3.0)), 1.0);
    }
}
