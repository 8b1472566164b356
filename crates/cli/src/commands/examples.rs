//! An example for every command, at the end of its help. A test lets the program read each of them.

use clap::Command;

/// The command by its words, and how one would call it.
const EXAMPLES: &[(&str, &str)] = &[
    ("run", "tailback run gpcnet"),
    ("run gpcnet", "mpirun -n 64 tailback run gpcnet --sets matrix --placements 20"),
    ("run sweep", "tailback run sweep --on summit --nodes 64"),
    ("run network", "mpirun -n 64 tailback run network --time 5s"),
    ("run all-pairs", "srun --ntasks-per-node=1 tailback run all-pairs --topology topology.conf"),
    ("run ambient", "srun tailback run ambient --repeat 144 --every 10m --time 2s"),
    ("run congest", "tailback run congest --time 20ms --congestors a2a"),
    ("run app", "mpirun -n 64 tailback run app --repeat 5 -- ./solver input.txt"),
    ("run replay", "tailback run replay solver.goal --on summit --nodes 64"),
    ("replay", "mpirun -n 64 tailback replay solver.goal --congestors p2p-incast"),
    ("run hpcc", "mpirun -n 64 tailback run hpcc --memory 50%"),
    ("run maxrate", "mpirun -n 32 tailback run maxrate --sizes 8,1KiB,64KiB,1MiB"),
    ("run contention", "tailback run contention --on default"),
    ("run characterize", "mpirun -n 32 tailback run characterize --budget 10m"),
    ("run harness", "tailback run harness --on default"),
    ("congest", "srun tailback congest --time 5m --congestors put-incast"),
    ("app", "mpirun -n 64 tailback app --share 50% -- ./solver input.txt"),
    ("tune", "mpirun -n 64 tailback tune --like wild/run.json"),
    ("fit maxrate", "tailback fit maxrate tailback-runs/maxrate-0001/run.json --split 4MiB"),
    ("calibrate", "tailback calibrate tailback-runs/characterize-0001 --like summit --out ours.toml"),
    ("contention measure", "mpirun -n 8 tailback contention measure g1 fig3"),
    ("contention predict", "tailback contention predict fig3 --rules all --steps"),
    ("contention derive", "tailback contention derive fig3 --on default"),
    ("contention validate", "mpirun -n 9 tailback contention validate --graphs 50"),
    ("launch", "tailback launch --nodes 64 --ranks-per-node 1,8,cores --limit 30m -- gpcnet --time 10s"),
    ("list", "tailback list kernels"),
    ("report", "tailback report one/run.json two/run.json --format html"),
    ("compare", "tailback compare before after --require 'gpcnet.*.impact99 < 2'"),
    ("accept", "tailback accept contract.toml tailback-runs/gpcnet-0001 --format junit"),
    ("history", "tailback history nightly --merit impact --since 2026-11-01"),
    ("machine check", "tailback machine check summit --svg summit.svg"),
    ("machine import", "tailback machine import topology.conf --out ours.toml"),
    ("machine sensitivity", "tailback machine sensitivity frontier --out sensitivity"),
    ("doctor", "mpirun -n 2 tailback doctor"),
    ("testbed up", "tailback testbed up 8 --per-leaf 4 --rate 100MB/s --taper 2"),
    ("testbed run", "tailback testbed run --per-node 2 -- tailback run gpcnet --time 1s"),
    ("testbed down", "tailback testbed down"),
    ("testbed status", "tailback testbed status"),
    ("generate completions", "tailback generate completions bash"),
    ("generate man", "tailback generate man share/man/man1"),
    ("generate schema", "tailback generate schema"),
];

/// The same command with its examples, and those of all below it.
pub fn illustrated(command: Command) -> Command {
    with(command, "")
}

fn with(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|sub| {
        let name = sub.get_name().to_string();
        with(sub, format!("{path} {name}").trim_start())
    });
    let Some((_, line)) = EXAMPLES.iter().find(|(words, _)| *words == path) else { return command };
    let before = command.get_after_help().map_or_else(String::new, |help| format!("{help}\n"));
    command.after_help(format!("{before}Example: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command;

    /// The words of a line behind its launcher, quotes taken off.
    fn words(line: &str) -> Vec<String> {
        let from = line.find("tailback ").expect("an example calls tailback");
        let mut words = Vec::new();
        for (i, part) in line[from..].split('\'').enumerate() {
            match i % 2 {
                0 => words.extend(part.split_whitespace().map(String::from)),
                _ => words.push(part.to_string()),
            }
        }
        words
    }

    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        let below: Vec<&Command> =
            command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help").collect();
        if below.is_empty() {
            found.push(path.to_string());
        }
        for sub in below {
            leaves(sub, format!("{path} {}", sub.get_name()).trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_can_be_read() {
        let mut all = Vec::new();
        leaves(&command(), "", &mut all);
        assert!(all.len() > 25, "{all:?}");
        let without: Vec<&String> =
            all.iter().filter(|path| !EXAMPLES.iter().any(|(words, _)| words == path)).collect();
        assert!(without.is_empty(), "no example of {without:?}");
        for (path, line) in EXAMPLES {
            let words = words(line);
            assert!(words[1..].join(" ").starts_with(path), "the example of `{path}` is of another command: {line}");
            command().try_get_matches_from(&words).unwrap_or_else(|e| panic!("{line}: {e}"));
            let help = command()
                .try_get_matches_from([&["tailback"], &path.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat());
            assert!(help.unwrap_err().to_string().contains("Example: "), "{path}");
        }
    }
}
