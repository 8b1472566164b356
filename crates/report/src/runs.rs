//! Several runs on one page: what tells them apart.

use crate::view::View;
use record::MachineRecord;

/// What runs may differ in, most telling first.
fn traits(view: &View<'_>) -> [String; 7] {
    let record = view.record;
    let library = match &record.machine {
        MachineRecord::Mpi { facts, .. } => facts.get("library").map_or(String::new(), |text| short(text)),
        MachineRecord::Simulated { .. } | MachineRecord::Local { .. } => String::new(),
    };
    let machine = match &record.machine {
        MachineRecord::Simulated { name, .. } => name.clone(),
        MachineRecord::Mpi { host, .. } | MachineRecord::Local { host } => host.name.clone(),
    };
    let layout = &record.layout;
    [
        record.plan.suite.clone(),
        machine,
        library,
        format!("{} nodes", layout.nodes),
        match layout.max_ranks_per_node {
            1 => "1 rank/node".into(),
            n => format!("{n} ranks/node"),
        },
        format!("seed {}", record.plan.seed),
        record.created.clone().unwrap_or_default(),
    ]
}

/// The first words of a library's version text, which may be 200 characters long.
fn short(text: &str) -> String {
    text.split([',', '(', '\n']).next().unwrap_or_default().trim().chars().take(24).collect()
}

/// A short name for each run: its number, and that in which the runs differ. One run is `this run`.
pub fn labels(views: &[View<'_>]) -> Vec<String> {
    let all: Vec<[String; 7]> = views.iter().map(traits).collect();
    if all.len() < 2 {
        return all.iter().map(|_| "this run".to_string()).collect();
    }
    let differs = |i: usize| all.iter().any(|t| t[i] != all[0][i]);
    // Dates and seeds differ among most runs and tell least, so they speak where nothing else does.
    let mut telling: Vec<usize> = (0..5).filter(|i| differs(*i)).collect();
    if telling.is_empty() {
        telling = (5..7).filter(|i| differs(*i)).take(1).collect();
    }
    let label = |(i, traits): (usize, &[String; 7])| {
        let words: Vec<&str> = telling.iter().map(|t| traits[*t].as_str()).filter(|w| !w.is_empty()).collect();
        let colon = if words.is_empty() { "" } else { ": " };
        format!("run {}{colon}{}", i + 1, words.join(", "))
    };
    all.iter().enumerate().map(label).collect()
}
