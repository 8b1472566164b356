//! A command beside congestors, and canaries over time: what these suites promise beyond running to their end.

mod common;

use common::{machine, plan, run};
use record::{About, Load, PhaseRecord, Role, Verdict};
use std::fs;

fn measured(phase: &PhaseRecord) -> &record::JobRecord {
    phase.jobs.iter().find(|j| j.role == Role::Measured).expect("something is measured")
}

/// A command runs as often as asked alone and again under load that is really there, and how it ends is known of each phase.
#[test]
fn a_command_runs_alone_and_under_load() {
    let dir = std::env::temp_dir().join(format!("tailback-over-time-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let log = dir.join("log");
    // It leaves a line each time, and fails from the fourth time on.
    let command = format!("echo x >> '{0}'; test $(wc -l < '{0}') -le 3", log.display());
    let plan =
        plan("app", 10, 1, &[("command", &command), ("repeat", "3"), ("congestors", "a2a,p2p-incast"), ("cut", "50")]);
    let record = run(&machine(10, 1), &plan, false);
    let abouts: Vec<&About> = record.phases.iter().map(|p| &p.about).collect();
    assert!(matches!(abouts[..], [About::Alone { .. }, About::Loaded { by: Load::All, .. }]), "{abouts:?}");
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 6);
    for phase in &record.phases {
        assert_eq!(measured(phase).summary.samples, 3, "{}", phase.name);
    }
    assert_eq!(measured(&record.phases[0]).verdict, Verdict::Right { checked: 3 });
    let Verdict::Wrong { checked: 3, wrong: 3, first } = &measured(&record.phases[1]).verdict else {
        panic!("{:?}", measured(&record.phases[1]).verdict)
    };
    assert!(first.contains("ended with"), "{first}");
    let load: Vec<_> = record.phases[1].jobs.iter().filter(|j| j.role == Role::Background).collect();
    assert_eq!(load.len(), 2);
    assert!(
        load.iter().all(|j| j.bytes > 0 && j.ranks >= 4),
        "{:?}",
        load.iter().map(|j| (j.bytes, j.ranks)).collect::<Vec<_>>()
    );
    let _ = fs::remove_dir_all(dir);
}

/// Repetitions follow each other with the rest that was asked for between them, each with the time at which it began.
#[test]
fn canaries_over_time_say_when_they_began() {
    let given = [
        ("canaries", "p2p-lat,allreduce"),
        ("repeat", "4"),
        ("every", "3ms"),
        ("time", "1ms"),
        ("rounds", "3"),
        ("cut", "50"),
    ];
    let record = run(&machine(6, 2), &plan("ambient", 6, 2, &given), false);
    let of = |name: &str| -> Vec<(u32, f64)> {
        let series = |p: &PhaseRecord| match &p.about {
            About::Series { test, index } if test == name => Some((*index, p.began_s.expect("a series is dated"))),
            _ => None,
        };
        record.phases.iter().filter_map(series).collect()
    };
    for name in ["p2p-lat", "allreduce"] {
        let all = of(name);
        assert_eq!(all.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 2, 3, 4], "{name}");
        assert!(all.windows(2).all(|two| two[1].1 - two[0].1 >= 3e-3), "{name}: a rest lies between: {all:?}");
    }
    let (lat, sums) = (of("p2p-lat"), of("allreduce"));
    assert!(lat.iter().zip(&sums).all(|(a, b)| a.1 < b.1 && b.1 - a.1 < 3e-3), "in turn: {lat:?} {sums:?}");
}
