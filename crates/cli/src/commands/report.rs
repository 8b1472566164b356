//! `tailback report`: recorded runs, shown again.

use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::options::{TABLE, format_of, format_options, records, value};
use crate::output;
use crate::published::{has_modes, with};
use crate::show::{exit_of_all, open};
use anyhow::Context;
use clap::{ArgAction, ArgMatches, Command};
use record::RunRecord;
use record::hpcc_systems::System;
use report::{View, data_files, format, write_all};
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const REPORT: CommandEntry = CommandEntry {
    line: command,
    run: report,
    welcome: Some(("tailback report RUN.json", "show a recorded run again")),
};

fn command() -> Command {
    let known = record::hpcc_systems::keys().join(", ");
    let what = "Draw a published HPC Challenge system, or a table of them, on the page of its runs; may be given several times";
    Command::new("report")
        .about("Show recorded runs")
        .arg(records())
        .args(format_options())
        .arg(value(
            "dat",
            "DIR",
            "Also write the distributions of a run of gpcnet or network into this folder, one .dat file each, as the original built with -DVERBOSE does (6 MB each)",
        ).value_parser(clap::value_parser!(PathBuf)).value_hint(clap::ValueHint::DirPath))
        .arg(value("with", "SYSTEM|FILE.csv", what).action(ArgAction::Append))
        .after_help(format!(
            "Published systems of HPC Challenge: {known}; those of GPCNeT are on each of its pages.\n{TABLE}"
        ))
}

/// Prints the records: as one document where the format can, else one after the other.
fn report(args: &ArgMatches) -> anyhow::Result<Exit> {
    let format = format(format_of(args)).map_err(Fail::usage)?;
    let paths = args.get_many::<PathBuf>("records").expect("it is required");
    let records: Vec<RunRecord> = paths.map(|p| open(p)).collect::<anyhow::Result<_>>()?;
    let views: Vec<View<'_>> = records.iter().map(View::new).collect();
    let systems = with(args.get_many("with").into_iter().flatten())?;
    systems.only(true)?;
    let text = match systems.hpcc.as_slice() {
        [] => write_all(format, &views).map_err(Fail::usage)?,
        hpcc => page_beside(format.name, &views, hpcc)?,
    };
    if let Some(dir) = args.get_one::<PathBuf>("dat") {
        distributions(&views, dir)?;
    }
    output::print(&text)?;
    Ok(exit_of_all(&records))
}

/// Writes the files of distributions of one run.
fn distributions(views: &[View<'_>], dir: &Path) -> anyhow::Result<()> {
    let [view] = views else {
        return Err(Fail::usage("--dat: one run at a time, because the names of files are the same"));
    };
    let files = data_files(view);
    if files.is_empty() {
        return Err(Fail::usage("--dat: the run has no canaries; it is for runs of gpcnet and network"));
    }
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    if let Some(there) = files.iter().map(|f| dir.join(&f.name)).find(|path| path.exists()) {
        return Err(Fail::usage(format!("--dat: {} is there already; name another folder", there.display())));
    }
    for file in &files {
        let path = dir.join(&file.name);
        record::files::replace(&path, file.text().as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A page with systems beside the runs.
fn page_beside(format: &str, views: &[View<'_>], systems: &[System]) -> anyhow::Result<String> {
    if format != "html" {
        return Err(Fail::usage(
            "--with draws systems on a page: add --format html; `tailback compare` has them as a table",
        ));
    }
    if !views.iter().any(|v| has_modes(v.record)) {
        return Err(Fail::usage("--with: these systems have results of hpcc, and none of the runs is of it"));
    }
    Ok(report::html::page_beside(views, systems))
}
