//! The program as a user without an MPI launcher starts it, in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A new empty folder; names must differ between tests.
pub fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("tailback-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// The program, ready to start.
pub fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailback"));
    let launched = |n: &str| n.starts_with("OMPI_") || n.starts_with("PMI") || n.starts_with("SLURM_");
    for (name, _) in std::env::vars().filter(|(n, _)| launched(n)) {
        command.env_remove(name);
    }
    command.current_dir(dir).args(args);
    command
}

/// Runs the program to its end.
pub fn tailback(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

/// What was printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
