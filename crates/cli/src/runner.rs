//! Commands that users give to be measured: how they are read, and how they are run.

use clap::{Arg, ArgMatches};
use std::process::{Command, Stdio};

/// The words after `--`.
pub fn words() -> Arg {
    Arg::new("words").num_args(1..).last(true).value_name("CMD").help("What to run, with its arguments")
}

/// The command after `--` as one line for the shell, or as given by the option of this name.
pub fn command(args: &ArgMatches, option: &str) -> Option<String> {
    if let Some(words) = args.get_many::<String>("words") {
        return Some(words.map(|w| quoted(w)).collect::<Vec<_>>().join(" "));
    }
    args.get_one::<String>(option).cloned()
}

/// A word as the shell takes it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Lets the kernel `command` start processes.
pub fn install() {
    bench::kernels::command::install(bench::kernels::command::Runner {
        run,
        node_name: || rustix::system::uname().nodename().to_string_lossy().into_owned(),
    });
}

/// How the names of variables begin that launchers set.
pub const LAUNCHERS: [&str; 6] = ["OMPI_", "PMIX_", "PMI_", "PRTE_", "HYDRA_", "MPIEXEC_"];

/// Variables whose names begin so do not reach a command.
pub fn forget_launcher(command: &mut Command, beginnings: &[&str]) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if beginnings.iter().any(|p| text.starts_with(p)) {
            command.env_remove(&name);
        }
    }
}

/// Runs a command by the shell. Its stdout goes to our stderr: our stdout carries results alone. It must be able to launch an
/// MPI job of its own, so nothing of our launcher's environment reaches it.
fn run(line: &str, nodes: &[String]) -> Result<(), String> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).env("TAILBACK_NODES", nodes.join(",")).stdin(Stdio::null());
    forget_launcher(&mut command, &LAUNCHERS);
    command.stdout(std::io::stderr());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("ended with {status}")),
        Err(error) => Err(format!("did not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_from_the_shell_as_they_were() {
        for word in ["plain", "two words", "it's", "", "$HOME", "a;b", "\"q\""] {
            let out = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(word))).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stdout), word);
        }
    }

    #[test]
    fn failures_say_how_it_ended() {
        assert_eq!(run("true", &[]), Ok(()));
        assert!(run("exit 3", &[]).unwrap_err().contains('3'));
        assert_eq!(run("test \"$TAILBACK_NODES\" = a,b", &["a".into(), "b".into()]), Ok(()));
    }
}
