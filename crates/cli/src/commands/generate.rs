//! `tailback generate`: files for packagers, made from the same tables as the help.

use super::entry::CommandEntry;
use crate::exit::Exit;
use crate::output;
use anyhow::Context;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const GENERATE: CommandEntry = CommandEntry { line: command, run: generate, welcome: None };

fn command() -> Command {
    Command::new("generate")
        .about("Write shell completions, man pages or the JSON schema of a record")
        .subcommand_required(true)
        .subcommands([
            Command::new("completions").about("For a shell, to stdout").arg(
                Arg::new("shell").required(true).value_parser(value_parser!(clap_complete::Shell)).help("Which shell"),
            ),
            Command::new("man").about("All man pages, into a folder").arg(
                Arg::new("dir")
                    .required(true)
                    .value_name("DIR")
                    .value_parser(value_parser!(PathBuf))
                    .value_hint(ValueHint::DirPath),
            ),
            Command::new("schema").about("The JSON schema of run.json, to stdout"),
        ])
}

/// Writes completions, man pages or the schema.
fn generate(args: &ArgMatches) -> anyhow::Result<Exit> {
    match args.subcommand() {
        Some(("completions", args)) => {
            let shell = *args.get_one::<clap_complete::Shell>("shell").expect("it is required");
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut super::command(), "tailback", &mut text);
            output::print(&String::from_utf8_lossy(&text))?;
        }
        Some(("man", args)) => {
            let dir = args.get_one::<PathBuf>("dir").expect("it is required");
            std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
            // Built first: only then do commands know their full names.
            let mut command = super::command().disable_help_subcommand(true);
            command.build();
            man(command, dir).with_context(|| format!("cannot write man pages to {}", dir.display()))?;
        }
        _ => output::print(&record::schema::text())?,
    }
    Ok(Exit::Good)
}

/// The page of a command and those of its subcommands.
fn man(command: Command, dir: &Path) -> std::io::Result<()> {
    for one in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        man(one.clone(), dir)?;
    }
    let page = clap_mangen::Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    record::files::replace(&dir.join(page.get_filename()), &text)
}
