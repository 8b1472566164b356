//! Every suite of the table, from its own small parameters to a record: a new entry is tested without writing a test.
//!
//! A check is a function of a suite, so that it can be shown suites that are not in the table and that it must catch.

mod common;

use record::{JobRecord, Plan, Role, RunRecord, Status, Tells};
use tailback_bench::suites::{Request, SuiteError};
use tailback_bench::{SUITES, Suite, suite};

/// Where a suite must run without a job that is skipped.
const ENOUGH: (u32, u32) = (4, 2);
/// Where it runs, or says why it does not.
const SMALL_AND_UNEVEN: [(u32, u32); 5] = [(1, 1), (2, 1), (3, 1), (5, 2), (7, 1)];

/// What is wrong with a job that ran.
fn judge(job: &JobRecord) -> Result<(), String> {
    let fault = match job.role {
        _ if job.verdict.is_wrong() => format!("{:?}", job.verdict),
        _ if job.skipped.is_some() => return Ok(()),
        Role::Background if job.bytes == 0 => "loads nothing".into(),
        Role::Measured if job.summary.samples == 0 && job.tells != Tells::Nothing => "has no samples".into(),
        _ => return Ok(()),
    };
    Err(format!("{}: {fault}", job.name))
}

fn run(suite: &Suite, (nodes, ranks): (u32, u32)) -> Result<RunRecord, String> {
    let plan = common::plan_of(suite, nodes, ranks, suite.tiny, 3)?;
    let record = common::try_run(&common::machine(nodes as usize, ranks as usize), &plan, false)?;
    record.phases.iter().flat_map(|p| &p.jobs).try_for_each(judge)?;
    if record.status != Status::Complete {
        return Err(format!("{:?}", record.status));
    }
    Ok(record)
}

/// It runs to its end with right data and samples; where it cannot, it says so before anything runs.
fn check(suite: &Suite) -> Result<(), String> {
    let named = |e: String| format!("{}: {e}", suite.card.name);
    let record = run(suite, ENOUGH).map_err(named)?;
    let skipped = record.phases.iter().flat_map(|p| &p.jobs).find_map(|job| job.skipped.clone());
    skipped.map_or(Ok(()), |why| Err(named(why)))?;
    for layout @ (nodes, ranks) in SMALL_AND_UNEVEN {
        if common::plan_of(suite, nodes, ranks, suite.tiny, 3).is_ok() {
            run(suite, layout).map_err(named)?;
        }
    }
    Ok(())
}

#[test]
fn every_suite_runs_on_many_layouts() {
    let found: Vec<String> = SUITES.iter().filter_map(|suite| check(suite).err()).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The harness's plan, with its kernel exchanged.
fn exchanged(request: &Request<'_>, kernel: &str, given: &[(&str, &str)]) -> Result<Plan, SuiteError> {
    let harness = suite("harness").expect("it is in the table");
    let mut plan = (harness.plan)(request)?;
    for job in plan.phases.iter_mut().flat_map(|p| &mut p.jobs) {
        (job.kernel, job.params) = (kernel.into(), common::params(given));
    }
    Ok(plan)
}

#[test]
fn suites_that_are_wrong_are_caught() {
    let of = |name: &str, tiny| Suite { tiny, ..*suite(name).expect("it is in the table") };
    let made = |plan| Suite { plan, ..of("harness", &[("steps", "1"), ("rounds", "1")]) };
    let wrong = [
        ("did you mean `rounds`", of("gpcnet", &[("round", "6")])),
        ("ended with", of("app", &[("command", "false")])),
        ("needs a command", of("app", &[])),
        ("at most 1000000000", made(|request| exchanged(request, "dgemm", &[("n", "18446744073709551615")]))),
        ("nobody", made(|_| Err(SuiteError::TooSmall("nobody is enough".into())))),
        ("loads nothing", made(idle_load)),
    ];
    for (what, suite) in wrong {
        let said = check(&suite).expect_err(what);
        assert!(said.contains(what), "{what}: {said}");
    }
}

/// A congestor that does nothing, until its time is over.
fn idle_load(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let mut plan = exchanged(request, "null", &[])?;
    for job in plan.phases.iter_mut().flat_map(|p| &mut p.jobs) {
        (job.role, job.stop.time_s) = (Role::Background, Some(1e-6));
    }
    Ok(plan)
}
