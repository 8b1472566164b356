//! Tables for people; `FOM` lines and a `RESULT` line for tools that search text.

use crate::table::{Table, digits, known};
use crate::view::{Known, View, mean, quantile};
use record::JobRecord;
use std::fmt::Write;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let mut out = String::new();
    heading(&mut out, view);
    let loaded = view.canaries.iter().any(|c| c.loaded.is_some());
    let matrix_ran = view.canaries.iter().any(|c| !c.by.is_empty());
    let sections = crate::section::sections(view);
    if !sections.is_empty() {
        sections.iter().for_each(|s| out.push_str(&format!("{}\n", s.text())));
    } else if loaded {
        impacts(&mut out, view);
        drain(&mut out, view);
        congestors(&mut out, view);
    } else if view.record.plan.suite == "congest" {
        load(&mut out, view);
    } else {
        crate::hpcc::section(view).iter().for_each(|s| out.push_str(&s.text()));
        measured(&mut out, view);
    }
    if matrix_ran {
        matrix(&mut out, view);
    }
    super::counters::write(&mut out, view);
    stalls(&mut out, view);
    let warnings = view.warnings();
    if !warnings.is_empty() {
        out.push_str("\nRead this first:\n");
        warnings.iter().for_each(|w| out.push_str(&format!("  ! {w}\n")));
    }
    out.push('\n');
    merits(&mut out, view);
    let _ = writeln!(out, "RESULT: {}", view.outcome().word());
    Ok(out)
}

fn heading(out: &mut String, view: &View<'_>) {
    let record = view.record;
    let _ = writeln!(out, "Tailback {}: {} on {}", record.tailback, record.plan.suite, view.machine());
    let _ = writeln!(out, "{}, seed {}", view.layout(), record.plan.seed);
    if let Some(canary) = view.canaries.first().filter(|c| !c.congestors.is_empty()) {
        let shares: Vec<String> =
            canary.congestors.iter().map(|c| format!("{} {}", c.name, view.nodes_of(&c.name).unwrap_or(0))).collect();
        let nodes = view.nodes_of(canary.name).unwrap_or(0);
        let _ = writeln!(out, "Canaries on {nodes} nodes; congestors on {}", shares.join(", "));
    }
    out.push('\n');
}

/// Values of one canary in its unit.
fn cells(job: &JobRecord) -> [String; 2] {
    let (scale, _) = job.metric.shown();
    [known(mean(job), scale), known(quantile(job, 0.99), scale)]
}

fn factor(x: Known) -> String {
    match x.interval {
        Some(_) => known(x, 1.0).replacen(' ', "x ", 1),
        None => digits(x.value) + "x",
    }
}

fn impacts(out: &mut String, view: &View<'_>) {
    let header =
        ["Canary", "Unit", "alone: avg", "alone: 99%", "loaded: avg", "loaded: 99%", "impact: avg", "impact: 99%"];
    let mut table = Table::new(&header);
    for canary in &view.canaries {
        let mut row = vec![canary.name.to_string(), canary.isolated.metric.shown().1.to_string()];
        row.extend(cells(canary.isolated));
        row.extend(canary.loaded.map(cells).unwrap_or_else(|| ["-".into(), "-".into()]));
        let impact = canary.impact();
        row.extend(impact.map_or(["-".to_string(), "-".to_string()], |i| [factor(i.average), factor(i.tail)]));
        table.row(row);
    }
    table.write(out);
    out.push_str("\n  Impact is how many times worse a canary is under load: 1 is no harm. 99% is what 99 of 100 samples are no worse than.\n");
    out.push_str("  ± is the 95% confidence interval, from the spread between batches of blocks.\n");
}

/// How the loaded latency compares with the time that an incast needs to drain.
fn drain(out: &mut String, view: &View<'_>) {
    let found = view.canaries.iter().find_map(|c| view.drain_ratio(c).map(|found| (c, found)));
    let Some((canary, (drain, ratio))) = found else { return };
    let _ = writeln!(
        out,
        "\n  Drain time of one incast: {} us at {} GB/s into its root ({}). {} loaded 99% is {} times that:",
        digits(drain.seconds * 1e6),
        digits(drain.ejection * 1e-9),
        if drain.given { "given" } else { "measured" },
        canary.name,
        digits(ratio)
    );
    out.push_str("  0.4 to 7 is usual without congestion control, below 0.1 with one that works.\n");
}

/// Impact of each congestor alone: victims down, aggressors across.
fn matrix(out: &mut String, view: &View<'_>) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in view.canaries.iter().flat_map(|c| &c.by) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    for (title, pick) in [("average", false), ("99%", true)] {
        let header: Vec<String> =
            std::iter::once(format!("Impact, {title}")).chain(names.iter().map(|n| n.to_string())).collect();
        let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
        for canary in &view.canaries {
            let cell = |name: &&str| {
                let impact = canary.by.iter().find(|(n, _)| n == name).and_then(|(_, job)| canary.impact_of(job));
                impact.map_or("-".to_string(), |i| factor(if pick { i.tail } else { i.average }))
            };
            table.row(std::iter::once(canary.name.to_string()).chain(names.iter().map(cell)));
        }
        out.push('\n');
        table.write(out);
    }
}

fn congestors(out: &mut String, view: &View<'_>) {
    let mut table = Table::new(&["Congestor", "during", "MiB/s/rank", "GB/s in all"]);
    for canary in &view.canaries {
        for job in &canary.congestors {
            let (scale, _) = job.metric.shown();
            let rate = job.bytes as f64 / job.elapsed_s.max(f64::MIN_POSITIVE) * 1e-9;
            let average =
                if job.metric == record::Metric::Bandwidth { digits(job.summary.mean * scale) } else { "-".into() };
            table.row([job.name.clone(), canary.name.to_string(), average, digits(rate)]);
        }
    }
    out.push('\n');
    table.write(out);
}

/// The cables of a simulated network that stalled longest, if any did for a hundredth of the time.
fn stalls(out: &mut String, view: &View<'_>) {
    let Some(network) = &view.record.network else { return };
    let all = network.bundles.iter().map(|b| (b, b.stalled_in_all(&network.slices)));
    let mut worth: Vec<_> = all.filter(|(_, share)| *share >= 0.01).collect();
    worth.sort_by(|a, b| b.1.total_cmp(&a.1));
    worth.truncate(5);
    let mut table = Table::new(&["Cables", "number", "stalled", "at worst", "during"]);
    for (bundle, share) in &worth {
        let at = network.worst_slice(bundle);
        let percent = |share: f64| format!("{} %", digits(share * 100.0));
        let during = network.slices[at].phase.clone();
        let worst = percent(bundle.stalled(&network.slices, at));
        table.row([network.name(bundle), bundle.cables.to_string(), percent(*share), worst, during]);
    }
    if !worth.is_empty() {
        out.push('\n');
        table.write(out);
        out.push_str("\n  Share of the time in which packets waited for room beyond a free cable; the page draws all of them over time.\n");
    }
}

/// Congestors without a canary.
fn load(out: &mut String, view: &View<'_>) {
    let mut table = Table::new(&["Congestor", "nodes", "seconds", "GB/s in all"]);
    for job in view.record.phases.iter().flat_map(|p| &p.jobs) {
        let rate = job.bytes as f64 / job.elapsed_s.max(f64::MIN_POSITIVE) * 1e-9;
        let nodes = view.nodes_of(&job.name).unwrap_or(0).to_string();
        table.row([job.name.clone(), nodes, digits(job.elapsed_s), digits(rate)]);
    }
    table.write(out);
}

/// Repeated tests are told apart by their phase.
fn test_name(phase: &str, job: &JobRecord) -> String {
    if phase.strip_prefix("isolated/") == Some(&job.name) { job.name.clone() } else { phase.to_string() }
}

fn measured(out: &mut String, view: &View<'_>) {
    let mut table = Table::new(&["Test", "Unit", "avg", "50%", "99%", "99.9%", "worst block", "samples"]);
    for (phase, job) in view.told() {
        let (scale, unit) = job.metric.shown();
        let at = |q| known(quantile(job, q), scale);
        let worst = digits(job.summary.worst * scale);
        let samples = job.summary.samples.to_string();
        let [average, tail] = cells(job);
        let name = test_name(&phase.name, job);
        table.row([name, unit.to_string(), average, at(0.5), tail, at(0.999), worst, samples]);
    }
    table.write(out);
}

/// `FOM name value unit`, one per line: stable names, plain numbers.
fn merits(out: &mut String, view: &View<'_>) {
    for merit in crate::merits::merits(view) {
        let value = merit.known.value;
        // Six decimals of a latency in seconds would be no digits at all.
        let small = value != 0.0 && value.abs() < 1e-3;
        let value = if small { format!("{value:.6e}") } else { format!("{value:.6}") };
        let _ = writeln!(out, "FOM {} {value} {}", merit.name, merit.unit);
    }
}
