//! A phase's name is a label for people. Records of 0.1.0 whose phases and kernels have other names give the same numbers.

use model::contention::campaign::Campaign;
use model::{contention, maxrate};
use record::{About, RunRecord};
use spec::Rng;
use tailback_model as model;

/// The records that models read.
const RECORDS: [&str; 5] = ["maxrate", "contention", "campaign", "derive", "steady"];

fn read(name: &str) -> RunRecord {
    let path = format!("{}/../record/tests/v1/{name}.json", env!("CARGO_MANIFEST_DIR"));
    record::read(path.as_ref()).unwrap_or_else(|e| panic!("{e}"))
}

/// The record with other names of phases, in plan and record alike. No kernel keeps its name either.
fn renamed(mut record: RunRecord, name: impl Fn(usize) -> String) -> RunRecord {
    for (i, phase) in record.plan.phases.iter_mut().enumerate() {
        phase.name = name(i);
        phase.jobs.iter_mut().for_each(|job| job.kernel = "kernel".into());
    }
    for (i, phase) in record.phases.iter_mut().enumerate() {
        phase.name = name(i);
        phase.jobs.iter_mut().for_each(|job| job.kernel = "kernel".into());
    }
    record
}

fn random_name(i: usize) -> String {
    format!("{:016x}-{i}", Rng::new(1, "names", i as u64).bits())
}

/// A name that meant something else to 0.1.0.
fn misleading_name(i: usize) -> String {
    match i % 3 {
        0 => format!("alone-{i}#rate"),
        1 => format!("learn-{i}#0"),
        _ => format!("far/stream/n=1/k={i}"),
    }
}

/// Everything that models read in a record or find in it, in words.
fn everything(record: &RunRecord) -> String {
    let graphs = contention::recorded::Recorded::read(record);
    let findings = Campaign::read(record).and_then(|c| c.findings(None, None));
    let rates = [false, true].map(|worst| maxrate::Recorded::read(record, worst));
    let settings = maxrate::StudySettings { replicates: 20, ..maxrate::StudySettings::default() };
    let study = maxrate::study(&rates[0], &settings);
    let capacities = contention::join::Capacities::from_record(record);
    format!("{graphs:#?}\n{findings:#?}\n{rates:#?}\n{study:#?}\n{capacities:#?}")
}

#[test]
fn names_of_phases_and_kernels_do_not_matter() {
    for record in RECORDS {
        let expected = everything(&read(record));
        for name in [random_name, misleading_name] {
            assert!(expected == everything(&renamed(read(record), name)), "{record}: {}", name(0));
        }
    }
}

/// Or else the test above would compare nothing with nothing.
#[test]
fn the_records_hold_what_models_read() {
    let graphs = |name: &str| contention::recorded::Recorded::read(&read(name)).unwrap();
    assert!(graphs("contention").alpha().is_some() && graphs("derive").alpha().is_some());
    assert!(graphs("steady").rate().is_some() && graphs("steady").graphs.iter().any(|g| !g.rates.is_empty()));
    let campaign = Campaign::read(&read("campaign")).unwrap();
    let findings = campaign.findings(None, None).unwrap();
    assert!(findings.constants.is_some() && findings.learned.is_some() && !findings.scored.is_empty());
    let rates = maxrate::Recorded::read(&read("maxrate"), false);
    assert!(!rates.samples.is_empty() && !rates.probes.is_empty());
}

/// What a phase is about does matter: the same names with another meaning give other numbers.
#[test]
fn what_a_phase_is_about_matters() {
    let mut record = read("campaign");
    for phase in &mut record.plan.phases {
        if let About::Graph { purpose, .. } = &mut phase.about {
            *purpose = record::Purpose::Score;
        }
    }
    let recorded = contention::recorded::Recorded::read(&record).unwrap();
    assert!(recorded.alone.is_empty() && recorded.alpha().is_none());
    assert!(Campaign::read(&record).unwrap().vienne().is_none());
}
