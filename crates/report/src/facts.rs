//! Everything about what ran, so that a page found in a drawer can be believed and repeated.

use crate::view::View;
use record::{Coverage, Host, JobRecord, MachineRecord, NodeOrder, Payload, Status, Unit, Verdict, hidden};
use spec::about_bytes;

/// The command as a shell takes it, on one line.
pub fn command(words: &[String]) -> String {
    let safe = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_alphanumeric() || "-_=./:,@%+".contains(c));
    let quoted = |w: &String| match w {
        w if safe(w) => w.clone(),
        w if w.contains(hidden) => escaped(w),
        w => format!("'{}'", w.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word in the one kind of quotes in which a shell (bash, zsh, ksh) takes characters that are not shown.
fn escaped(word: &str) -> String {
    let mut out = String::from("$'");
    for c in word.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\\' | '\'' => out.extend(['\\', c]),
            c if hidden(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "'"
}

/// A job's verdict in words, and what it rests on.
pub fn verdict(job: &JobRecord) -> String {
    // Tests whose rules let some errors pass say how many there were.
    let errors = match job.results.get("errors") {
        Some(n) if *n > 0.0 => format!(", {n} errors"),
        _ => String::new(),
    };
    match &job.verdict {
        Verdict::Right { checked } => {
            let what = job.coverage.map_or_else(|| format!("{checked} checked"), share);
            format!("right ({what}{errors})")
        }
        Verdict::Unchecked { reason } => format!("not checked: {reason}"),
        Verdict::Wrong { checked, wrong, .. } => format!("WRONG: {wrong} of {checked}"),
    }
}

/// How much of what arrived was compared.
pub fn share(coverage: Coverage) -> String {
    let Coverage { messages, whole, bytes, seen_bytes } = coverage;
    if whole == messages {
        return format!("all of {} messages", grouped(messages));
    }
    let percent = 100.0 * seen_bytes as f64 / bytes.max(1) as f64;
    // Rounded down: 99.96 % is not all.
    let percent = if percent < 10.0 { (10.0 * percent).floor() / 10.0 } else { percent.floor() };
    format!("{percent} % of {}", about_bytes(bytes))
}

/// A number with commas between its thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The kind of machine in one word.
pub fn kind(machine: &MachineRecord) -> &'static str {
    match machine {
        MachineRecord::Simulated { .. } => "simulated",
        MachineRecord::Mpi { .. } => "mpi",
        MachineRecord::Local { .. } => "local",
    }
}

/// Names and values, in the order of reports.
pub fn facts(view: &View<'_>) -> Vec<(String, String)> {
    let record = view.record;
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| all.push((name.to_string(), value));
    let status = match &record.status {
        Status::Complete => "complete".to_string(),
        Status::Incomplete { reason } => format!("incomplete: {reason}"),
    };
    add("Result", format!("{}, {status}", view.outcome().word()));
    add("Suite", record.plan.suite.clone());
    add("Layout", view.layout());
    add("Seed", record.plan.seed.to_string());
    let order = match record.plan.node_order {
        NodeOrder::Natural => "as the machine numbers them",
        NodeOrder::Shuffled => "shuffled by the seed",
        NodeOrder::Rotated => "roles contiguous, from a random node on",
        NodeOrder::Interleaved { .. } => "roles interleaved, from a random node on",
        NodeOrder::Units { by: Unit::Switch } => "whole switches, in a random order",
        NodeOrder::Units { by: Unit::Group } => "whole groups, in a random order",
        NodeOrder::Listed => "listed nodes measure, all others load",
    };
    add("Node order", order.into());
    let payload = match record.plan.payload {
        Payload::Checked => match coverage(view) {
            Some(all) => format!("messages carry data that is compared: {}", share(all)),
            None => "messages carry data that is checked".into(),
        },
        Payload::Unchecked => "messages carry data that nobody looks at".into(),
        Payload::Lengths => "lengths only, nothing to check".into(),
    };
    add("Payload", payload);
    let (kind, facts, host) = match &record.machine {
        MachineRecord::Simulated { name, facts, .. } => (format!("simulated: {name}"), Some(facts), None),
        MachineRecord::Mpi { facts, host } => ("real, under MPI".into(), Some(facts), Some(host)),
        MachineRecord::Local { host } => ("this host alone, without MPI".into(), None, Some(host)),
    };
    add("Machine", kind);
    facts.into_iter().flatten().for_each(|(name, value)| add(name, value.clone()));
    if let Some(host) = host {
        add("Host of rank 0", describe(host));
    }
    add("Started", record.created.clone().unwrap_or_else(|| "in virtual time; it has no date".into()));
    add("Tailback", format!("{}, record version {}", record.tailback, record.version));
    all
}

/// What was compared in all jobs together.
pub fn coverage(view: &View<'_>) -> Option<Coverage> {
    let jobs = view.record.phases.iter().flat_map(|p| &p.jobs);
    jobs.filter_map(|job| job.coverage).reduce(|mut all, more| {
        all += more;
        all
    })
}

fn describe(host: &Host) -> String {
    let memory = host.memory_bytes as f64 / f64::from(1u32 << 30);
    format!("{}, {}, {} logical processors, {memory:.1} GiB, kernel {}", host.name, host.cpu, host.cpus, host.kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_was_compared_is_said_and_never_rounded_up() {
        let of = |whole, seen_bytes| share(Coverage { messages: 2400, whole, bytes: 1_200_000_000, seen_bytes });
        assert_eq!(of(2400, 1_200_000_000), "all of 2,400 messages");
        assert_eq!(of(2399, 1_199_999_000), format!("99 % of {}", about_bytes(1_200_000_000)));
        assert!(of(700, 372_000_000).starts_with("31 % of "));
        assert!(of(3, 9_000_000).starts_with("0.7 % of "));
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn commands_can_be_pasted_into_a_shell() {
        let words = ["tailback", "run", "--on", "my machine.toml", "it's"].map(String::from);
        assert_eq!(command(&words), "tailback run --on 'my machine.toml' 'it'\\''s'");
        assert_eq!(command(&["a\n\u{1b}'b'\\".to_string()]), "$'a\\n\\u001b\\'b\\'\\\\'");
    }
}
