//! Prints every suite with parameters that make it small, a line each, as words of a command line: scripts run them under MPI.

#![allow(clippy::print_stdout, reason = "a list for scripts")]

fn main() {
    for suite in tailback_bench::SUITES {
        let mut line = suite.card.name.to_string();
        for (name, value) in suite.tiny {
            line.push_str(&format!(" --{name}={value}"));
        }
        println!("{line}");
    }
}
