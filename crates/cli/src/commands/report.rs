//! `tailback report`: recorded runs, shown again.

use crate::exit::{Exit, Fail};
use crate::output;
use clap::ArgMatches;
use record::RunRecord;
use report::{Outcome, View, format};
use std::path::PathBuf;

/// Prints each record.
pub fn report(args: &ArgMatches) -> anyhow::Result<Exit> {
    let name = args.get_one::<String>("format").expect("it has a default");
    let mut worst = Exit::Good;
    for path in args.get_many::<PathBuf>("records").expect("it is required") {
        // A folder of a run is as good as the file in it.
        let path = if path.is_dir() { path.join("run.json") } else { path.clone() };
        let record = record::read(&path)?;
        let exit = show(&record, name)?;
        worst = if exit == Exit::Good { worst } else { exit };
    }
    Ok(worst)
}

/// Prints one record; the exit code tells its outcome.
pub fn show(record: &RunRecord, name: &str) -> anyhow::Result<Exit> {
    let view = View::new(record);
    let format = format(name).map_err(Fail::usage)?;
    output::print(&(format.write)(&view).map_err(Fail::usage)?)?;
    Ok(match view.outcome() {
        Outcome::Pass => Exit::Good,
        Outcome::Fail => Exit::WrongData,
        Outcome::Incomplete => Exit::Incomplete,
    })
}
