//! `tailback generate`: files for packagers, made from the same tables as the help.

use crate::args;
use crate::exit::Exit;
use crate::output;
use anyhow::Context;
use clap::ArgMatches;
use std::path::PathBuf;

/// Writes completions, man pages or the schema.
pub fn generate(args: &ArgMatches) -> anyhow::Result<Exit> {
    match args.subcommand() {
        Some(("completions", args)) => {
            let shell = *args.get_one::<clap_complete::Shell>("shell").expect("it is required");
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "tailback", &mut text);
            output::print(&String::from_utf8_lossy(&text))?;
        }
        Some(("man", args)) => {
            let dir = args.get_one::<PathBuf>("dir").expect("it is required");
            std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
            clap_mangen::generate_to(args::command(), dir)
                .with_context(|| format!("cannot write man pages to {}", dir.display()))?;
        }
        _ => output::print(&record::schema::text())?,
    }
    Ok(Exit::Good)
}
