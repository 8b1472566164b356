//! The suite `hpcc` from its parameters to a record, on the simulated machine.

mod common;

use record::{Layout, Payload, Plan, Verdict};
use tailback_bench::{Experiment, Site, SuiteRun, suite};

fn plan(ranks: u32, given: &[(&str, &str)]) -> Result<Plan, String> {
    common::plan_of(suite("hpcc").unwrap(), ranks, 1, given, 3)
}

#[test]
fn the_order_and_the_sizes_are_the_originals() {
    let plan = plan(2, &[("n", "8000"), ("nb", "192")]).unwrap();
    let names: Vec<&str> = plan.phases.iter().map(|p| p.name.as_str()).collect();
    let want = [
        "mpi/random-access",
        "star/random-access",
        "single/random-access",
        "mpi/random-access-lcg",
        "star/random-access-lcg",
        "single/random-access-lcg",
        "mpi/ptrans",
        "star/dgemm",
        "single/dgemm",
        "star/stream",
        "single/stream",
        "mpi/fft",
        "star/fft",
        "single/fft",
        "mpi/ping-pong-latency",
        "mpi/ping-pong-bandwidth",
        "mpi/ring-latency",
        "mpi/ring-bandwidth",
        "mpi/hpl",
    ];
    assert_eq!(names, want);
    let param = |phase: &str, name: &str| {
        let phase = plan.phases.iter().find(|p| p.name == phase).unwrap();
        phase.jobs[0].params[name].clone()
    };
    assert_eq!((param("mpi/ptrans", "n"), param("star/dgemm", "n")), ("4000".into(), "3265".into()));
    assert_eq!((param("star/stream", "n"), param("mpi/fft", "n")), ("10666666".into(), "4194304".into()));
    assert_eq!((param("mpi/random-access", "bits"), param("star/random-access", "bits")), ("25".into(), "24".into()));
}

#[test]
fn tests_and_modes_are_chosen_by_name() {
    let names = |only: &str| -> Vec<String> {
        plan(3, &[("n", "100"), ("only", only)]).unwrap().phases.into_iter().map(|p| p.name).collect()
    };
    assert_eq!(names("hpl,ptrans"), ["mpi/ptrans", "mpi/hpl"]);
    assert_eq!(names("single/fft,single/dgemm"), ["single/dgemm", "single/fft"]);
    assert_eq!(names("latency").len(), 4);
    assert_eq!(names("star").len(), 5);
    assert!(plan(3, &[("only", "hpk")]).unwrap_err().contains("did you mean `hpl`"));
}

/// Streaming stores make a run an optimized one (section 7 of the paper), so the choice is kept with STREAM's jobs.
#[test]
fn stores_are_chosen_and_kept() {
    for (given, kept) in [(&[("n", "100")][..], "fastest"), (&[("n", "100"), ("stores", "plain")][..], "plain")] {
        let plan = plan(3, given).unwrap();
        let streams = plan.phases.iter().flat_map(|p| &p.jobs).filter(|job| job.kernel == "stream");
        let stores: Vec<&String> = streams.map(|job| &job.params["stores"]).collect();
        assert_eq!(stores, [kept, kept]);
    }
    assert!(plan(3, &[("stores", "plane")]).unwrap_err().contains("plane"));
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let refused = |given: &[(&str, &str)]| plan(4, given).unwrap_err();
    assert!(refused(&[("p", "3"), ("q", "2")]).contains("3 x 2 does not fit 4 ranks"));
    assert!(refused(&[("n", "1000000"), ("rank-memory", "1GiB")]).contains("choose a smaller N"));
    assert!(refused(&[("memory", "much")]).contains("a share like `80%`"));
    assert!(refused(&[("memory", "1TiB"), ("rank-memory", "1GiB")]).contains("--memory 1TiB: N = "));
    assert!(refused(&[("memory", "0%")]).contains("a share like `80%`"));
    assert!(refused(&[("n", "-5")]).contains("not a whole number"));
    let suite = suite("hpcc").unwrap();
    let params = suite.card.resolve(&common::params(&[("hpccinf", "in.txt")])).unwrap();
    let files = [("hpccinf".to_string(), "x\nx\nx\n8\n1\nmany\n1\n80\n0\n1\n1\n1\n".to_string())].into();
    let said = SuiteRun { suite, params, files }.plan(&Site::new(Layout::even(4, 1), false), 3, Payload::Checked);
    assert!(said.unwrap_err().to_string().contains("in.txt: line "));
}

/// Order of the system and notes, for one rank with 64 GiB.
fn sized(alone: bool, memory: &str) -> (u64, String) {
    let suite = suite("hpcc").unwrap();
    let site = Site { alone, memory: Some(64 << 30), ..Site::new(Layout::even(1, 1), false) };
    let plan = suite.plan_on(&common::params(&[("memory", memory)]), &site, 3, Payload::Checked).unwrap();
    let hpl = plan.phases.iter().find(|p| p.name == "mpi/hpl").unwrap();
    (hpl.jobs[0].params["n"].parse().unwrap(), plan.notes.join("\n"))
}

#[test]
fn without_a_launcher_the_problem_is_modest_and_the_notes_say_how_to_fill_the_memory() {
    let bytes = |n: u64| 8 * n * n;
    let (n, notes) = sized(true, "auto");
    assert!((200 << 20..=256 << 20).contains(&bytes(n)), "{n}");
    // 80 % of 64 GiB are 205 times 256 MiB, and 205 to the power 1.5 is 2931.
    for word in ["256 MiB of 64 GiB", "--memory 80%", "205 times the data", "2931 times as much"] {
        assert!(notes.contains(word), "`{word}` is not in {notes}");
    }
    for (alone, memory) in [(false, "auto"), (true, "80%")] {
        let (n, notes) = sized(alone, memory);
        assert!((50 << 30..=52 << 30).contains(&bytes(n)) && !notes.contains("modest"), "{n} {notes}");
    }
}

#[test]
fn a_small_memory_is_filled_to_its_share() {
    let suite = suite("hpcc").unwrap();
    let site = Site { alone: true, memory: Some(100 << 20), ..Site::new(Layout::even(1, 1), false) };
    let plan = suite.plan_on(&common::params(&[]), &site, 3, Payload::Checked).unwrap();
    assert!(plan.notes.iter().any(|n| n.contains("80 MiB of 100 MiB")), "{:?}", plan.notes);
    assert!(!plan.notes.iter().any(|n| n.contains("modest")), "{:?}", plan.notes);
}

#[test]
fn every_test_runs_and_is_right() {
    let suite = suite("hpcc").unwrap();
    for (nodes, slots) in [(1, 1), (3, 1), (2, 2)] {
        let ranks = nodes * slots;
        let plan = common::plan("hpcc", nodes, slots, &[suite.tiny, &[("repetitions", "2")]].concat());
        let record = common::run(&common::machine(nodes as usize, slots as usize), &plan, false);
        for job in record.phases.iter().flat_map(|p| &p.jobs) {
            let alone = ranks == 1 && matches!(job.kernel.as_str(), "ping-pong" | "hpcc-rings");
            assert_eq!(job.skipped.is_some(), alone, "{} on {ranks}: {:?}", job.name, job.skipped);
            assert!(
                alone || matches!(job.verdict, Verdict::Right { .. }),
                "{} on {ranks}: {:?}",
                job.name,
                job.verdict
            );
            assert!(alone || !job.results.is_empty(), "{}", job.name);
        }
        let hpl = &record.phase("mpi/hpl").unwrap().jobs[0];
        assert!(hpl.results["residual"] < 16.0, "{:?}", hpl.results);
        assert!(plan.notes.iter().any(|n| n.contains("sized by HPL")), "{:?}", plan.notes);
    }
}
