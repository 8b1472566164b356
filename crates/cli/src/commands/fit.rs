//! `tailback fit maxrate`: parameters, limits, error tables and advice from measured times.

use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::output;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use model::maxrate::{Location, Pattern, Recorded, StudySettings, Weighting, nodecomm, study};
use report::maxrate::of_study;
use report::section::Block;
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const FIT: CommandEntry = CommandEntry {
    line: command,
    run: fit,
    welcome: Some(("tailback fit maxrate RUN.json", "models of a node's rate from `run maxrate`, and advice")),
};

fn command() -> Command {
    let option = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(unit).help(help)
    };
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    let maxrate = Command::new("maxrate")
        .about("Fit postal and max-rate models to a record of `run maxrate`, or to nodecomm's text output")
        .arg(Arg::new("file").required(true).value_name("FILE").value_parser(value_parser!(PathBuf)))
        .arg(
            option("weights", "HOW", "Weights of residuals: relative errors, or the paper's 1/n")
                .default_value("relative")
                .value_parser(PossibleValuesParser::new(["relative", "paper"])),
        )
        .arg(
            option("location", "HOW", "What stands for several trials")
                .default_value("median")
                .value_parser(PossibleValuesParser::new(["median", "minimum", "worst"])),
        )
        .arg(
            flag("as-paper", "The paper's conventions: T of the slowest process (--location worst), residuals weighted by 1/n (--weights paper)")
                .conflicts_with_all(["weights", "location"]),
        )
        .arg(
            option("phases", "SIZES", "Sizes at which protocols change, e.g. 512,8KiB, `none`, or `auto`")
                .default_value("auto"),
        )
        .arg(
            option("replicates", "N", "Replicates of the bootstrap; 0 for no intervals")
                .default_value("200")
                .value_parser(value_parser!(u16)),
        )
        .arg(
            option("block", "N", "Which table of nodecomm's output, from 1, or `all` as trials of one")
                .default_value("1"),
        )
        .arg(option("split", "BYTES", "Advice for sending this much of a node's data").default_value("1MiB"))
        .arg(option("halo", "BYTES", "Advice for a halo exchange with messages of this size").default_value("64KiB"))
        .arg(
            option("neighbours", "N", "Neighbours of the halo exchange")
                .default_value("6")
                .value_parser(value_parser!(u32).range(1..=1_000_000)),
        )
        .arg(flag("heat", "Also the errors of the paper's models at every size and number of pairs, as its Figure 2"))
        .arg(flag("json", "Everything as JSON"));
    Command::new("fit").about("Fit a model to measurements").subcommand_required(true).subcommand(maxrate)
}

/// Runs it.
fn fit(args: &ArgMatches) -> anyhow::Result<Exit> {
    let (_, args) = args.subcommand().expect("one is required");
    let path = args.get_one::<PathBuf>("file").expect("it is required");
    let data = read(path, args)?;
    let found = study(&data, &settings(args)?).map_err(|e| Fail::usage(format!("{}: {e}", path.display())))?;
    let text = match args.get_flag("json") {
        true => serde_json::to_string_pretty(&found)? + "\n",
        false => {
            let mut sections = of_study(&found);
            if args.get_flag("heat") {
                sections.iter_mut().for_each(|s| open_figures(&mut s.blocks));
            }
            sections.iter().map(|s| s.text() + "\n").collect()
        }
    };
    output::print(&text)?;
    Ok(Exit::Good)
}

/// Puts every table behind a picture into full view.
fn open_figures(blocks: &mut Vec<Block>) {
    let open = |block: Block| match block {
        Block::Figure { numbers, .. } => numbers.into_iter().map(Block::Table).collect(),
        other => vec![other],
    };
    *blocks = std::mem::take(blocks).into_iter().flat_map(open).collect();
}

fn read(path: &Path, args: &ArgMatches) -> anyhow::Result<Recorded> {
    let file = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(&file).map_err(|e| Fail::with(Exit::Failure, format!("cannot read {name}: {e}")))?;
    let worst = location(args) == "worst";
    let data = match text.trim_start().starts_with('{') {
        true => Recorded::read(&record::read(&file)?, worst),
        false => from_nodecomm(&text, args).map_err(|e| Fail::usage(format!("{name}: {e}")))?,
    };
    match data.is_empty() {
        true => {
            Err(Fail::usage(format!("{name}: there are no samples in it; it needs a record of `tailback run maxrate`")))
        }
        false => Ok(data),
    }
}

fn from_nodecomm(text: &str, args: &ArgMatches) -> Result<Recorded, String> {
    let blocks = nodecomm::read(text).map_err(|e| e.to_string())?;
    let wanted = args.get_one::<String>("block").expect("it has a default");
    let mut data = Recorded::default();
    let samples = match wanted.as_str() {
        "all" => nodecomm::as_trials(&blocks),
        number => {
            let index = number.parse::<usize>().ok().filter(|n| (1..=blocks.len()).contains(n));
            let index = index.ok_or_else(|| {
                format!("--block {number}: there are {} tables; a number from 1, or `all`", blocks.len())
            })?;
            blocks[index - 1].samples.clone()
        }
    };
    if blocks.len() > 1 && wanted != "all" {
        data.notes.push(format!("table {wanted} of {}; --block chooses another, or `all` as trials", blocks.len()));
    }
    data.samples.insert(("nodecomm".into(), Pattern::PingPong), samples);
    Ok(data)
}

/// What stands for several trials, and the weights; the paper's if they are asked for as such.
fn location(args: &ArgMatches) -> &str {
    if args.get_flag("as-paper") { "worst" } else { args.get_one::<String>("location").expect("it has a default") }
}

fn weights(args: &ArgMatches) -> &str {
    if args.get_flag("as-paper") { "paper" } else { args.get_one::<String>("weights").expect("it has a default") }
}

fn settings(args: &ArgMatches) -> anyhow::Result<StudySettings> {
    let word = |name: &str| args.get_one::<String>(name).expect("it has a default").as_str();
    let size = |name: &str| spec::parse_bytes(word(name)).map_err(|e| Fail::usage(format!("--{name}: {e}")));
    let phase_starts = match word("phases") {
        "auto" => None,
        "none" => Some(Vec::new()),
        list => Some(
            list.split(',')
                .map(|s| spec::parse_bytes(s).map_err(|e| Fail::usage(format!("--phases: {e}"))))
                .collect::<anyhow::Result<Vec<u64>>>()?,
        ),
    };
    Ok(StudySettings {
        weighting: if weights(args) == "paper" { Weighting::Paper } else { Weighting::Relative },
        location: if location(args) == "minimum" { Location::Minimum } else { Location::Median },
        phase_starts,
        replicates: usize::from(*args.get_one::<u16>("replicates").expect("it has a default")),
        split_bytes: size("split")?,
        halo_bytes: size("halo")?,
        neighbours: *args.get_one::<u32>("neighbours").expect("it has a default"),
    })
}
