//! `tailback machine sensitivity`: what each uncertain number of a machine does to the answer.
//!
//! Every number whose comment says "assumed" is halved and doubled, a word is replaced by others, every number that is known within an
//! interval (of a twin) is taken to both ends of it, and GPCNeT runs on each of these machines as on the one of the file: by this program
//! itself, so that every run has its record, and can be looked at or repeated.

use crate::children::{Children, words};
use crate::exit::{Exit, Fail};
use crate::options::{MOST_NODES, number, value};
use crate::{machine, output, show};
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use report::View;
use sim::{Uncertain, moved, uncertain};
use std::path::{Path, PathBuf};

/// Larger machines are cut down to so many nodes and ranks of a node unless told otherwise.
const NODES: u32 = 64;
const RANKS: u32 = 2;

/// The subcommand.
pub fn command() -> Command {
    Command::new("sensitivity")
        .about("Halve and double every assumed number, take fitted ones to the ends of their intervals, and show what that does to GPCNeT's impacts")
        .arg(
            Arg::new("machine")
                .required(true)
                .value_name("MACHINE")
                .value_hint(ValueHint::FilePath)
                .help("A built-in name or a file whose comments say which numbers are assumed, as that of a twin does"),
        )
        .arg(number("nodes", MOST_NODES, "Nodes; 64 or the file's, if those are fewer"))
        .arg(number("ranks-per-node", 4096, "Ranks of a node; 2 or the file's, if those are fewer"))
        .arg(value("by", "FACTOR", "Divide and multiply assumed numbers by this [default: 2]").value_parser(value_parser!(f64)))
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
    children: Children,
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
        let mut list = words(["gpcnet", "--quiet", "--on"]);
        list.extend(words([path.as_os_str()]));
        list.extend(words(["--nodes", &self.nodes.to_string(), "--ranks-per-node", &self.ranks.to_string()]));
        list.extend(words(["--seed", &self.seed.to_string()]));
        let wrong = |said: String| Fail::with(Exit::Failure, format!("{}: {said}", path.display()));
        let record = self.children.run(&list, &out)?.map_err(wrong)?;
        if show::exit_of(&record) != Exit::Good {
            return Err(wrong(format!("the run in {} is not whole", out.display())));
        }
        let view = View::new(&record);
        let impact = |c: &report::view::Canary<'_>| Some((c.name.to_string(), c.impact()?.average.value));
        Ok(view.canaries.iter().filter_map(impact).collect())
    }
}

/// What a number does: its name and value, and for each canary the impact with less, as it is and with more of it.
struct Row {
    what: String,
    value: String,
    fitted: bool,
    sides: [Option<Impacts>; 2],
}

/// Runs all machines and shows what came of it.
pub fn sensitivity(args: &ArgMatches) -> anyhow::Result<Exit> {
    let name = args.get_one::<String>("machine").expect("it is required");
    let (name, text, config) = machine::read(name)?;
    let factor = args.get_one::<f64>("by").copied().unwrap_or(2.0);
    if !(1.01..=100.0).contains(&factor) {
        return Err(Fail::usage(format!("--by {factor}: choose 1.01 to 100")));
    }
    let may_move = |u: &Uncertain| [false, true].into_iter().any(|more| moved(&text, u, more, factor).is_some());
    let numbers: Vec<Uncertain> = uncertain(&text).into_iter().filter(may_move).collect();
    if numbers.is_empty() {
        let text = format!("machine {name}: no comment says that a number is assumed; write `# assumed` behind those");
        return Err(Fail::usage(text));
    }
    let out = args.get_one::<PathBuf>("out").expect("it is required");
    let children = Children::new()?;
    let failed = |e| Fail::with(Exit::Failure, format!("cannot make {}: {e}", out.display()));
    std::fs::create_dir(out).map_err(failed)?;
    let of = |option: &str, most: u32, file: usize| {
        args.get_one::<u32>(option).copied().unwrap_or(most.min(u32::try_from(file).unwrap_or(most)))
    };
    let runs = Runs {
        children,
        out,
        nodes: of("nodes", NODES, config.nodes),
        ranks: of("ranks-per-node", RANKS, config.ranks_per_node),
        seed: args.get_one::<u64>("seed").copied().unwrap_or(1),
    };
    let all = 2 * numbers.len() + 1;
    mpi::say(format_args!("tailback: run 1 of {all}: {name} as it is"));
    let still = runs.run("as-it-is", &text)?;
    let mut rows = Vec::new();
    for (i, which) in numbers.iter().enumerate() {
        let (mut sides, mut tried) = ([None, None], Vec::new());
        for (side, name) in ["less", "more"].into_iter().enumerate() {
            let Some((file, value)) = moved(&text, which, side == 1, factor) else { continue };
            mpi::say(format_args!("tailback: run {} of {all}: {which} = {value}", 2 * i + side + 2));
            tried.push(value);
            // A buffer below a packet, or more ports than a switch has: no machine, so no answer.
            if sim::Config::from_toml(&file).is_ok_and(|c| sim::describe(&c).is_ok()) {
                sides[side] = Some(runs.run(&format!("{which}-{name}"), &file)?);
            }
        }
        let (mut value, fitted) = (which.value.clone(), which.interval.is_some());
        // Less and more say nothing of words.
        if value.starts_with(char::is_alphabetic) {
            value += &format!(" ({})", tried.join(", "));
        }
        rows.push(Row { what: which.to_string(), value, fitted, sides });
    }
    output::print(&shown(&name, &runs, factor, &still, rows))?;
    Ok(Exit::Good)
}

/// By how much each impact of a run differs from that of the machine as it is, as a logarithm; 0 where it cannot be told.
fn changes(still: &Impacts, other: &Impacts) -> Vec<f64> {
    let change = |((_, a), (_, b)): (&(String, f64), &(String, f64))| (b / a).ln();
    still.iter().zip(other).map(change).map(|c| if c.is_finite() { c } else { 0.0 }).collect()
}

/// The largest change of any impact, as a factor.
fn moves(still: &Impacts, row: &Row) -> f64 {
    let all = row.sides.iter().flatten().flat_map(|other| changes(still, other));
    all.map(f64::abs).fold(0.0, f64::max).exp()
}

/// Each impact and where it may be if the numbers of these rows are as uncertain as that, each for itself: changes of all add up in squares,
/// upward and downward.
fn together(still: &Impacts, rows: &[&Row]) -> String {
    let canary = |(i, (name, impact)): (usize, &(String, f64))| {
        let mut squares = [0.0f64; 2];
        for row in rows {
            let each = row.sides.iter().flatten().map(|other| changes(still, other)[i]);
            let (down, up) = each.fold((0.0f64, 0.0f64), |(down, up), c| (down.min(c), up.max(c)));
            squares = [squares[0] + down * down, squares[1] + up * up];
        }
        let [down, up] = squares.map(f64::sqrt);
        format!("{name} {impact:.2} ({:.2} to {:.2})", impact * (-down).exp(), impact * up.exp())
    };
    still.iter().enumerate().map(canary).collect::<Vec<_>>().join(", ")
}

fn shown(name: &str, runs: &Runs<'_>, factor: f64, still: &Impacts, mut rows: Vec<Row>) -> String {
    rows.sort_by(|a, b| moves(still, b).total_cmp(&moves(still, a)));
    let cells = |impacts: Option<&Impacts>| -> Vec<String> {
        let none = || still.iter().map(|_| "-".to_string()).collect();
        impacts.map_or_else(none, |all| all.iter().map(|(_, x)| format!("{x:.2}")).collect())
    };
    let (fitted, assumed): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|r| r.fitted);
    let how = if fitted.is_empty() { "" } else { ", with each fitted one at the ends of its interval" };
    let mut text = format!(
        "{name}, {} nodes x {} ranks, seed {}: average impact with each assumed number divided by {factor}, as it is, times {factor} (words: with those in brackets){how}\n\n",
        runs.nodes, runs.ranks, runs.seed
    );
    let mark = |row: &Row| format!("{}{}", row.what, if row.fitted { " (fitted)" } else { "" });
    let width = rows.iter().map(|r| mark(r).len()).max().unwrap_or(0).max(7);
    let values = rows.iter().map(|r| r.value.len()).max().unwrap_or(0).max(5);
    let canaries: Vec<String> = still.iter().map(|(name, _)| format!("{name:>20}")).collect();
    text += &format!("{:width$}  {:values$} {}   changes by\n", "number", "value", canaries.join(" "));
    for row in &rows {
        let [less, more] = row.sides.each_ref().map(|side| cells(side.as_ref()));
        let each = less
            .iter()
            .zip(&cells(Some(still)))
            .zip(&more)
            .map(|((a, b), c)| format!("{:>20}", format!("{a} {b} {c}")))
            .collect::<Vec<_>>();
        text +=
            &format!("{:width$}  {:values$} {}   x {:.2}\n", mark(row), row.value, each.join(" "), moves(still, row));
    }
    text.push('\n');
    if !fitted.is_empty() {
        text += &format!("Within what was fitted: {}\n", together(still, &fitted));
    }
    if !assumed.is_empty() {
        text += &format!(
            "With what is assumed between 1/{factor} and {factor} times, too: {}\n",
            together(still, &rows.iter().collect::<Vec<_>>())
        );
    }
    text += "Numbers count as independent. One seed: placements are the same in all runs, but what a number does to them by chance is in these changes, too.\n";
    text += &format!("Records and machine files: {}\n", runs.out.display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impacts(a: f64, b: f64) -> Impacts {
        vec![("x".to_string(), a), ("y".to_string(), b)]
    }

    fn row(less: Option<Impacts>, more: Option<Impacts>) -> Row {
        Row { what: "nic.rate".into(), value: "1".into(), fitted: true, sides: [less, more] }
    }

    #[test]
    fn changes_are_factors_either_way() {
        let still = impacts(2.0, 3.0);
        assert!((moves(&still, &row(Some(impacts(2.0, 1.0)), None)) - 3.0).abs() < 1e-12);
        assert!((moves(&still, &row(Some(still.clone()), Some(impacts(8.0, f64::NAN)))) - 4.0).abs() < 1e-12);
        assert_eq!(moves(&still, &row(None, Some(still.clone()))), 1.0);
    }

    #[test]
    fn what_numbers_do_adds_up_in_squares() {
        let still = impacts(2.0, 3.0);
        // 3 and 4 tenths upward are 5; downward there is one alone, and nothing happens to the other canary.
        let up = |t: f64| impacts(2.0 * t.exp(), 3.0);
        let (a, b) = (row(Some(up(-0.1)), Some(up(0.3))), row(Some(up(0.4)), None));
        let expected =
            format!("x 2.00 ({:.2} to {:.2}), y 3.00 (3.00 to 3.00)", 2.0 * (-0.1f64).exp(), 2.0 * 0.5f64.exp());
        assert_eq!(together(&still, &[&a, &b]), expected);
    }
}
