//! Everything about what ran, so that a page found in a drawer can be believed and repeated.

use crate::view::View;
use record::{Host, MachineRecord, NodeOrder, Payload, Status, Verdict};

/// The command as a shell takes it.
pub fn command(words: &[String]) -> String {
    let safe = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_alphanumeric() || "-_=./:,@%+".contains(c));
    let quoted = |w: &String| if safe(w) { w.clone() } else { format!("'{}'", w.replace('\'', "'\\''")) };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A verdict in words.
pub fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Right { checked } => format!("right ({checked} checked)"),
        Verdict::Unchecked { reason } => format!("not checked: {reason}"),
        Verdict::Wrong { checked, wrong, .. } => format!("WRONG: {wrong} of {checked}"),
    }
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
    };
    add("Node order", order.into());
    let payload = match record.plan.payload {
        Payload::Checked => "messages carry data that is checked",
        Payload::Lengths => "lengths only, nothing to check",
    };
    add("Payload", payload.into());
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

fn describe(host: &Host) -> String {
    let memory = host.memory_bytes as f64 / f64::from(1u32 << 30);
    format!("{}, {}, {} logical processors, {memory:.1} GiB, kernel {}", host.name, host.cpu, host.cpus, host.kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted_into_a_shell() {
        let words = ["tailback", "run", "--on", "my machine.toml", "it's"].map(String::from);
        assert_eq!(command(&words), "tailback run --on 'my machine.toml' 'it'\\''s'");
    }
}
