//! Real clusters on this machine. Each test says why it is skipped where namespaces are not allowed.
//!
//! All state is kept in a store of the test's own, and all traffic stays inside of the namespaces.

#![allow(clippy::disallowed_methods, reason = "real processes live in real time")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tailback_testbed::{Error, Launch, LinkKind, Mode, RunOutcome, RunReport, RunSpec, Spec, State, Store};

/// Receives on one node and sends from another; `/dev/tcp` is bash's. The receiver listens by Python, or the test is skipped.
const LISTEN: &str = "import socket,sys
s=socket.create_server(('0.0.0.0',7777)); open(sys.argv[1],'w').close(); c,_=s.accept(); n=0
while True:
    b=c.recv(1<<16)
    if not b: break
    n+=len(b)
print(n)";

/// A testbed that is taken down at the end of the test, also when it fails.
struct Bed {
    store: Store,
    state: State,
    dir: PathBuf,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.store.down(&self.state.spec.name);
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tailback-cluster-{}-{name}", std::process::id()))
}

/// A name that no testbed of another test process has.
fn unique(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

fn bed(mut spec: Spec) -> Option<Bed> {
    let dir = scratch(&spec.name);
    spec.name = unique(&spec.name);
    let store = Store::at(&dir);
    match store.up(&spec) {
        Ok(state) => Some(Bed { store, state, dir }),
        Err(error) if error.is_refusal() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn two_leaves(name: &str) -> Spec {
    let mut spec = Spec::new(name, 4);
    (spec.nodes_per_leaf, spec.rate, spec.uplink_rate) = (Some(2), Some(8_000_000), Some(2_000_000));
    spec
}

impl Bed {
    fn run(&self, run: &RunSpec) -> RunReport {
        self.store.run(&self.state.spec.name, run).unwrap()
    }
}

/// The example is the launch agent: the tests' own program is not one.
fn agent() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let agent = own.ancestors().nth(2).unwrap().join("examples/testbed");
    assert!(agent.is_file(), "{} is built by `cargo test`; a filter kept it out", agent.display());
    agent
}

fn captured(launch: Launch, command: &[&str]) -> RunSpec {
    let mut run = RunSpec::new(launch, command).unwrap();
    (run.capture, run.agent, run.timeout) = (true, agent(), Some(Duration::from_secs(60)));
    run
}

fn stdout_of(argv: &[&str]) -> String {
    let output = Command::new(argv[0]).args(&argv[1..]).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    let found = found.is_ok_and(|s| s.success());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// What of a testbed is visible on the machine: namespaces, links, processes in its store.
fn traces(name: &str) -> Vec<String> {
    let namespaces = stdout_of(&["ip", "netns", "list"]);
    let links = stdout_of(&["ip", "-o", "link"]);
    let processes = stdout_of(&["ps", "-eo", "stat,args"]);
    let living = processes.lines().filter(|l| !l.starts_with('Z') && !l.contains("cargo"));
    let ours = |l: &&str| l.contains(name);
    [
        namespaces.lines().filter(ours).collect::<Vec<_>>(),
        links.lines().filter(ours).collect(),
        living.filter(ours).collect(),
    ]
    .concat()
    .into_iter()
    .map(String::from)
    .collect()
}

#[test]
fn nodes_have_names_and_reach_each_other_by_them() {
    for mode in [Mode::Root, Mode::User] {
        let mut spec = two_leaves(if mode == Mode::Root { "names-root" } else { "names-user" });
        spec.mode = Some(mode);
        let links = stdout_of(&["ip", "-o", "link"]).lines().count();
        let Some(bed) = bed(spec) else { continue };
        assert_eq!(stdout_of(&["ip", "-o", "link"]).lines().count(), links, "the machine's own network is untouched");
        let report = bed.run(&captured(Launch::Plain, &["sh", "-c", "hostname; getent hosts n4"]));
        assert_eq!(report.outcome, RunOutcome::Success);
        for (i, ended) in report.ended.iter().enumerate() {
            let lines: Vec<_> = ended.stdout.split_whitespace().collect();
            assert_eq!(lines, [&format!("n{}", i + 1), "10.77.0.4", "n4"], "{mode}: {ended:?}");
        }
        let machine = fs::read_to_string("/etc/hosts").unwrap_or_default();
        assert!(!machine.contains("10.77.0.4 n4"), "the machine's own hosts file is untouched");
        let again = bed.store.up(&bed.state.spec).unwrap_err();
        assert!(matches!(again, Error::Exists { .. }), "{again}");
        assert!(bed.store.status(&bed.state.spec.name).unwrap().problem.is_none());
        let name = bed.state.spec.name.clone();
        let removed = bed.store.down(&name).unwrap();
        assert!(removed.existed && removed.namespaces == 5, "{removed:?}");
        assert!(!bed.store.down(&name).unwrap().existed, "again is no error");
        assert_eq!(traces(&name), Vec::<String>::new());
        if let Some(holder) = &bed.state.holder {
            let stat = fs::read_to_string(format!("/proc/{}/stat", holder.pid)).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z "), "the holder is gone: {stat}");
        }
        assert!(!bed.dir.exists());
    }
}

/// Sends `bytes` from one node to another; how long that took, and what the links carried.
fn transfer(bed: &Bed, from: &str, to: &str, bytes: u64) -> (Duration, RunReport) {
    let ready = bed.dir.join(format!("ready-{from}-{to}"));
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done", ready.display());
    let send = format!("{wait}; head -c {bytes} /dev/zero > /dev/tcp/{to}/7777");
    let script = format!(
        "case $(hostname) in {to}) exec python3 -c \"$LISTEN\" {};; {from}) exec bash -c '{send}';; esac",
        ready.display()
    );
    let mut run = captured(Launch::Plain, &["sh", "-c", &script]);
    run.env.push(("LISTEN".into(), LISTEN.into()));
    let start = Instant::now();
    let report = bed.run(&run);
    assert_eq!(report.outcome, RunOutcome::Success, "{report:?}");
    let printed: String = report.ended.iter().map(|e| e.stdout.as_str()).collect();
    assert_eq!(printed.trim(), bytes.to_string());
    (start.elapsed(), report)
}

#[test]
fn links_and_uplinks_limit_the_rate_and_count() {
    if !installed("python3") || !installed("bash") {
        return;
    }
    let Some(bed) = bed(two_leaves("rates")) else { return };
    // A rate limit bounds from below: noise of the machine only makes a transfer longer. Two bursts may go at once.
    let bytes = 4_000_000;
    let least = |rate: u64| Duration::from_secs_f64((bytes - 3 * 65_536) as f64 / rate as f64);
    let (took, report) = transfer(&bed, "n1", "n2", bytes);
    assert!(took >= least(8_000_000), "{took:?} is faster than the link");
    let sent = |report: &RunReport, name: &str| report.traffic.links.iter().find(|l| l.name == name).unwrap().sent;
    assert!(sent(&report, "n1") >= bytes && sent(&report, "leaf1") < bytes / 10, "{}", report.traffic);
    let (took, report) = transfer(&bed, "n1", "n3", bytes);
    assert!(took >= least(2_000_000), "{took:?} is faster than the uplink");
    assert!(sent(&report, "n1") >= bytes && sent(&report, "leaf1") >= bytes, "{}", report.traffic);
    assert_eq!(report.traffic.links.iter().filter(|l| l.kind == LinkKind::Uplink).count(), 2);
}

#[test]
fn two_testbeds_live_beside_each_other() {
    let (Some(a), Some(b)) = (bed(Spec::new("side-a", 2)), bed(Spec::new("side-b", 2))) else { return };
    a.store.down(&a.state.spec.name).unwrap();
    assert!(b.store.status(&b.state.spec.name).unwrap().problem.is_none());
    assert_eq!(b.run(&captured(Launch::Plain, &["true"])).outcome, RunOutcome::Success);
    let gone = a.store.run(&a.state.spec.name, &captured(Launch::Plain, &["true"])).unwrap_err();
    assert!(matches!(gone, Error::NotFound { .. }), "{gone}");
}

#[test]
fn a_run_ends_with_all_its_processes() {
    for mode in [Mode::Root, Mode::User] {
        let mut spec = Spec::new(if mode == Mode::Root { "ends-root" } else { "ends-user" }, 2);
        spec.mode = Some(mode);
        let Some(bed) = bed(spec) else { continue };
        // A daemon that leaves its session and outlives its parent, and a command that does not want to end.
        let daemon = "setsid sleep 4242 & trap '' TERM INT; while :; do sleep 1; done";
        let mut run = captured(Launch::Plain, &["sh", "-c", daemon]);
        run.timeout = Some(Duration::from_millis(500));
        let report = bed.run(&run);
        assert_eq!(report.outcome, RunOutcome::TimedOut(Duration::from_millis(500)));
        assert_eq!(bed.store.status(&bed.state.spec.name).unwrap().processes, 0);
        let report = bed.run(&captured(Launch::Plain, &["sh", "-c", "exit 7"]));
        assert_eq!(report.outcome, RunOutcome::Failed(7));
    }
}

#[test]
fn mpi_jobs_start_on_the_nodes() {
    for (launcher, mode) in [
        ("mpirun.openmpi", Mode::Root),
        ("mpirun.openmpi", Mode::User),
        ("mpiexec.hydra", Mode::Root),
        ("mpiexec.hydra", Mode::User),
    ] {
        let mut spec = two_leaves("mpi");
        spec.mode = Some(mode);
        if !installed(launcher) {
            continue;
        }
        let Some(bed) = bed(spec) else { continue };
        let mut run = captured(Launch::Mpi(launcher.into()), &["sh", "-c", "echo $(hostname)-$WORD"]);
        (run.ranks_per_node, run.least_bytes) = (2, 0);
        run.env.push(("WORD".into(), "a b".into()));
        let report = bed.run(&run);
        assert_eq!(report.outcome, RunOutcome::Success, "{launcher}, {mode}: {report:?}");
        let mut lines: Vec<_> = report.ended[0].stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["n1-a b", "n1-a b", "n2-a b", "n2-a b", "n3-a b", "n3-a b", "n4-a b", "n4-a b"]);
        run.least_bytes = 1 << 20;
        match bed.run(&run).outcome {
            RunOutcome::NoTraffic { reason } => assert!(reason.contains("1048576 B"), "{reason}"),
            other => panic!("{launcher}, {mode}: {other:?}"),
        }
    }
}

/// Ends a real `up` after each of these times; whatever it had made, `down` removes it.
#[test]
fn down_cleans_up_after_a_killed_up() {
    for mode in ["--root", "--user"] {
        let name = unique(&format!("killed{mode}").replace("--", "-"));
        let dir = scratch(&name);
        let store = Store::at(&dir);
        for delay_ms in [0, 5, 15, 30, 60, 100, 150, 250] {
            let mut up = Command::new(agent());
            up.args(["up", &name, "6", "--per-leaf", "3", "--rate", "10MB/s"]).env("TESTBED_STORE", &dir);
            up.args(if mode == "--user" { &["--user"][..] } else { &[] });
            let mut up = up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(delay_ms));
            let _ = up.kill();
            if up.wait().unwrap().code() == Some(77) {
                eprintln!("skipped: this machine refuses namespaces");
                return;
            }
            store.down(&name).unwrap();
            assert_eq!(traces(&name), Vec::<String>::new(), "{mode}, killed after {delay_ms} ms");
            // A holder that was not recorded yet ends by itself.
            wait_for(|| processes_with(&format!("TESTBED_STORE={}", dir.display()), |_| true) == 0);
            assert!(!dir.join(&name).exists());
        }
        let _ = fs::remove_dir_all(&dir);
    }
}

/// Ctrl-C at the program that runs a job ends the job, and a killed program takes its job with it.
#[test]
fn signals_reach_the_job() {
    let Some(bed) = bed(Spec::new("signals", 2)) else { return };
    let name = bed.state.spec.name.as_str();
    for signal in ["INT", "TERM", "KILL"] {
        let mut program = Command::new(agent())
            .args(["run", name, "--", "sleep", "4243"])
            .env("TESTBED_STORE", &bed.dir)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(|| bed.store.status(name).unwrap().processes >= 2 && sleepers(&bed.dir) == 2);
        assert!(
            Command::new("kill").args([format!("-{signal}"), program.id().to_string()]).status().unwrap().success()
        );
        program.wait().unwrap();
        wait_for(|| bed.store.status(name).unwrap().processes == 0);
    }
}

/// How many processes of a run on a testbed of this store sleep.
fn sleepers(dir: &Path) -> usize {
    processes_with(&format!("TAILBACK_TESTBED_RUN={}", dir.display()), |line| line.starts_with(b"sleep\0"))
}

/// How many processes have this text in their environment and such a command line.
fn processes_with(text: &str, command: impl Fn(&[u8]) -> bool) -> usize {
    let matches = |pid: &str| {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        command(&read("cmdline")) && String::from_utf8_lossy(&read("environ")).contains(text)
    };
    fs::read_dir("/proc").unwrap().flatten().filter(|e| matches(&e.file_name().to_string_lossy())).count()
}

fn wait_for(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "nothing happened in 30 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}
