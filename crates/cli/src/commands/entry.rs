//! What a command is.

use crate::exit::Exit;
use clap::{ArgMatches, Command};

/// One command.
pub struct CommandEntry {
    /// Its name, help and options.
    pub line: fn() -> Command,
    /// Does it.
    pub run: fn(&ArgMatches) -> anyhow::Result<Exit>,
    /// How a newcomer calls it, and what for; none for commands that can wait.
    pub welcome: Option<(&'static str, &'static str)>,
}
