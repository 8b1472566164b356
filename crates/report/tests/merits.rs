//! Figures of merit keep their names and values: records of 0.1.0 give what 0.1.0 printed of them.

mod common;

use common::of_0_1_0;
use record::{RunRecord, Tells};
use tailback_report::{View, format, merits};

/// Figures that 0.1.0 printed and should not have: record, name, reason.
const MISREAD: [(&str, &str, &str); 3] = [
    ("ambient", "ambient.rest-0001.avg", "a pause has no result"),
    ("hpcc", "hpcc.mpi.random-access.time_bound_s", "the time that it was given, not what it took"),
    ("hpcc", "hpcc.mpi.random-access-lcg.time_bound_s", "the time that it was given, not what it took"),
];
/// Rates that 0.1.0 printed in `/s`, without what is counted: end of the name, unit.
const UNITS: [(&str, &str); 3] = [("bytes_per_s", "B/s"), ("flops_per_s", "flop/s"), ("updates_per_s", "updates/s")];

/// A line of 0.1.0 with the unit that its name says.
fn with_unit(line: &str) -> String {
    let name = line.split(' ').nth(1).unwrap();
    match (UNITS.iter().find(|(end, _)| name.ends_with(end)), line.strip_suffix(" /s")) {
        (Some((_, unit)), Some(rest)) => format!("{rest} {unit}"),
        _ => line.to_string(),
    }
}

#[test]
fn records_of_0_1_0_have_the_figures_of_merit_that_it_printed() {
    let (mut left_out, mut tails) = (Vec::new(), 0);
    for (name, record, printed) in of_0_1_0() {
        let text = format("fom").unwrap().write(&View::new(&record)).unwrap();
        let ours: Vec<&str> = text.lines().filter(|l| l.starts_with("FOM ")).collect();
        let mut theirs: Vec<String> = printed.lines().map(with_unit).collect();
        theirs.retain(|line| {
            let figure = line.split(' ').nth(1).unwrap();
            let misread = MISREAD.iter().any(|(record, wrong, _)| *record == name && *wrong == figure);
            left_out.extend(misread.then(|| figure.to_string()));
            // Of these small records few tails have ten samples beyond them; 0.1.0 printed them all.
            let few = figure.contains("99") && !ours.contains(&line.as_str());
            tails += usize::from(few);
            !misread && !few
        });
        assert_eq!(ours, theirs, "{name}");
    }
    assert_eq!(left_out.len(), MISREAD.len(), "0.1.0 printed only {left_out:?}");
    println!("{tails} tails of 0.1.0 rest on too few samples");
}

/// Samples of a ping-pong and of rings are how long they took; 0.1.0 took them for latencies and bandwidths. A pause tells nothing.
#[test]
fn only_what_a_job_tells_is_a_figure_of_merit() {
    let (mut record, mut canaries) = (common::hpcc(1.0, 1), common::gpcnet(1.0, 1));
    let has = |record: &RunRecord, name: &str| merits(&View::new(record)).iter().any(|m| m.name == name);
    for test in ["ping-pong-latency", "ping-pong-bandwidth", "ring-bandwidth"] {
        assert!(!has(&record, &format!("hpcc.mpi.{test}.avg")), "{test}");
    }
    assert!(has(&record, "hpcc.mpi.ping-pong-latency.latency_avg_s") && has(&record, "hpcc.mpi.hpl.avg"));
    for record in [&mut record, &mut canaries] {
        for job in record.phases.iter_mut().flat_map(|p| &mut p.jobs) {
            job.tells = Tells::Nothing;
        }
        assert_eq!(merits(&View::new(record)), []);
    }
}

/// A name that two figures have could be required, but not told apart.
#[test]
fn every_name_is_used_once() {
    for (name, record) in common::every_record() {
        let mut names: Vec<String> = merits(&View::new(&record)).into_iter().map(|m| m.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{name}");
    }
}
