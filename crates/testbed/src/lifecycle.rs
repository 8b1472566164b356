//! Up, down and status.

use crate::command::{CommandRunner, System, check_programs, words};
use crate::plan::{self, FABRIC};
use crate::state::{Phase, State, Store};
use crate::{Error, Mode, Spec, holder};
use std::fmt;
use std::fs;
use std::path::Path;

impl Store {
    /// Builds a testbed. When this fails, nothing is left; when it is killed, [`Store::down`] removes what it made.
    pub fn up(&self, spec: &Spec) -> Result<State, Error> {
        spec.check()?;
        check_programs()?;
        let mode = holder::choose(spec.mode)?;
        let (mut state, lock) = self.create(spec, mode)?;
        let mut machine = System { lock: Some(lock) };
        match build_here(&mut machine, &mut state) {
            Ok(()) => Ok(state),
            Err(error) => {
                // The first error is the one to tell; what cannot be removed now stays recorded for `down`.
                let _ = remove(&mut machine, &mut state).and_then(|_| self.forget(&spec.name));
                Err(error)
            }
        }
    }

    /// Removes a testbed and everything that runs on it; a testbed that is not there is no error.
    pub fn down(&self, name: &str) -> Result<Removed, Error> {
        crate::cluster::check_name(name)?;
        let mut removed = Removed { name: name.into(), existed: false, namespaces: 0, processes: 0 };
        let Some(lock) = self.lock(name)? else { return Ok(removed) };
        removed.existed = true;
        // Without a state file `up` was killed before it made anything but the directory.
        match self.load(name) {
            Ok(mut state) => {
                (removed.namespaces, removed.processes) = remove(&mut System { lock: Some(lock) }, &mut state)?
            }
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        self.forget(name)?;
        Ok(removed)
    }

    /// How a testbed is.
    pub fn status(&self, name: &str) -> Result<Status, Error> {
        let state = self.load(name)?;
        let problem = state.check().err().map(|e| e.to_string());
        let processes = crate::process::inside(&state).len();
        Ok(Status { state, problem, processes })
    }
}

/// What [`Store::down`] removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The testbed.
    pub name: String,
    /// Whether there was anything.
    pub existed: bool,
    /// How many namespaces there were.
    pub namespaces: usize,
    /// How many processes still ran in them.
    pub processes: usize,
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.existed {
            false => write!(f, "testbed {} does not exist; nothing to remove", self.name),
            true => write!(
                f,
                "testbed {} removed: {} namespaces, {} running processes ended",
                self.name, self.namespaces, self.processes
            ),
        }
    }
}

/// How a testbed is.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// What was built.
    pub state: State,
    /// Why it cannot be used, if so.
    pub problem: Option<String>,
    /// How many processes run on its nodes.
    pub processes: usize,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.state)?;
        match &self.problem {
            Some(problem) => writeln!(f, "problem: {problem}")?,
            None => writeln!(f, "{} processes run on it", self.processes)?,
        }
        write!(f, "state: {}", self.state.dir().display())
    }
}

/// Two lines: what the testbed is, and what its links are.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        let rate = |r: Option<u64>| r.map_or("no limit".into(), |r| spec::Rate::from_bytes_per_s(r as f64).to_string());
        let phase = match self.phase {
            Phase::Building => "incomplete",
            Phase::Up => "up",
            Phase::Removing => "half removed",
        };
        let (nodes, leaves) = (spec.nodes, spec.leaves());
        let plural = if leaves == 1 { "switch" } else { "leaf switches and a spine" };
        write!(f, "testbed {} ({phase}, {}): {nodes} nodes n1..n{nodes} in {}, ", spec.name, self.mode, spec.subnet)?;
        writeln!(f, "{leaves} {plural}")?;
        write!(f, "links: {} each way", rate(spec.rate))?;
        if leaves > 1 {
            write!(f, ", uplinks: {}", rate(spec.uplink_rate))?;
        }
        match (spec.delay_us, self.netem) {
            (Some(delay), _) => write!(f, ", {delay}us added delay each way"),
            (None, true) => write!(f, ", no added delay"),
            (None, false) => write!(f, ", no added delay (this kernel has no netem)"),
        }
    }
}

/// Everything of `up` that the real machine is needed for, and the plan.
fn build_here(machine: &mut System, state: &mut State) -> Result<(), Error> {
    let hosts = state.hosts_file();
    fs::write(&hosts, state.spec.hosts()).map_err(Error::io("writing", &hosts))?;
    if state.mode == Mode::User {
        holder::start(state)?;
        // `unshare --net=FILE` mounts the namespace on a file that must be there already.
        let places = (1..=state.spec.nodes).map(|i| state.spec.node_name(i)).chain([FABRIC.into()]);
        for file in places.map(|place| state.netns(&place)) {
            let dir = file.parent().expect("a namespace's file is in a directory");
            fs::create_dir_all(dir).and_then(|()| fs::write(&file, "")).map_err(Error::io("making", &file))?;
        }
    }
    // Tried on the loopback of a namespace that ends with the command, so nothing is left of it.
    let netem = words(&["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]);
    state.netem = machine.run(&state.in_holder(netem)).is_ok();
    if state.spec.delay_us.is_some() && !state.netem {
        return Err(Error::Spec(
            "this kernel cannot delay packets (no netem); load it with `modprobe sch_netem`, or leave the delay out"
                .into(),
        ));
    }
    build(machine, state, Path::new("/proc/sys/net/ipv6").exists())
}

/// Runs the plan; each namespace is recorded before it is made.
fn build(machine: &mut dyn CommandRunner, state: &mut State, ipv6: bool) -> Result<(), Error> {
    for step in plan::steps(state, ipv6) {
        if let Some(place) = &step.makes {
            // Only names in the machine-wide list can be somebody else's; without root the files are our own.
            if state.mode == Mode::Root && machine.exists(&state.netns(place)) {
                let what = state.netns_name(place);
                return Err(Error::Foreign { remedy: format!("ip netns del {what}"), what });
            }
            state.made.push(place.clone());
            state.save()?;
        }
        machine.run(&state.in_holder(step.argv))?;
    }
    state.phase = Phase::Up;
    state.save()
}

/// Ends the processes, then removes what is recorded and there. Goes on after a failure, and tells the first.
fn remove(machine: &mut dyn CommandRunner, state: &mut State) -> Result<(usize, usize), Error> {
    state.phase = Phase::Removing;
    state.save()?;
    // A namespace without a name lives on while a process is in it, so the processes go first.
    let processes = machine.end_processes(state);
    // Without root they all end with the holder below; root deletes them one by one and counts.
    let mut namespaces = state.made.len();
    let mut first = Ok(());
    if state.mode == Mode::Root {
        namespaces = 0;
        for place in state.made.iter().rev().filter(|place| machine.exists(&state.netns(place))).collect::<Vec<_>>() {
            let result = machine.run(&words(&["ip", "netns", "del", &state.netns_name(place)]));
            namespaces += usize::from(result.is_ok());
            first = first.and(result.map(drop));
        }
    }
    if let Some(holder) = &state.holder {
        holder::stop(holder);
    }
    first.map(|()| (namespaces, processes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;
    use std::collections::BTreeSet;

    /// A machine of namespaces only. It dies at a given command: before it acts, or after it acted and before anybody knows.
    #[derive(Default)]
    struct Fake {
        namespaces: BTreeSet<String>,
        calls: usize,
        die_at: Option<(usize, bool)>,
    }

    impl CommandRunner for Fake {
        fn run(&mut self, argv: &[String]) -> Result<String, Error> {
            let dies = self.die_at.filter(|(at, _)| *at == self.calls);
            self.calls += 1;
            let killed = || Error::Spec("killed".into());
            if dies.is_some_and(|(_, acted)| !acted) {
                return Err(killed());
            }
            match argv.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["ip", "netns", "add", name] => assert!(self.namespaces.insert(name.into()), "{name} made twice"),
                ["ip", "netns", "del", name] => assert!(self.namespaces.remove(name), "{name} is not there"),
                ["nsenter", net, ..] => {
                    let name = net.rsplit_once('/').unwrap().1;
                    assert!(self.namespaces.contains(name), "{name} is used before it is made");
                }
                _ => panic!("{argv:?}"),
            }
            if dies.is_some() { Err(killed()) } else { Ok(String::new()) }
        }
        fn exists(&self, path: &Path) -> bool {
            self.namespaces.contains(path.file_name().unwrap().to_str().unwrap())
        }
        fn end_processes(&mut self, _: &State) -> usize {
            0
        }
    }

    fn spec() -> Spec {
        let mut spec = Spec::new("t", 4);
        (spec.nodes_per_leaf, spec.rate, spec.uplink_rate) = (Some(2), Some(1_000_000), Some(1_000_000));
        spec
    }

    #[test]
    fn down_removes_any_prefix_of_up_and_nothing_else() {
        let store = Store::at(&scratch("prefix"));
        let foreign = BTreeSet::from(["tailback-other-n1".to_string(), "tailback-t2-n1".into()]);
        let total = plan::steps(&State::new(spec(), Mode::Root, "/x".into()), true).len();
        for at in 0..=total {
            for acted in [false, true] {
                let (mut state, lock) = store.create(&spec(), Mode::Root).unwrap();
                let mut machine = Fake { namespaces: foreign.clone(), calls: 0, die_at: Some((at, acted)) };
                let built = build(&mut machine, &mut state, true);
                assert_eq!(built.is_ok(), at == total);
                drop(lock);
                // What a killed process knew is lost; only the file tells.
                let mut state = store.load("t").unwrap();
                machine.die_at = None;
                remove(&mut machine, &mut state).unwrap();
                store.forget("t").unwrap();
                assert_eq!(machine.namespaces, foreign, "at {at}, acted {acted}");
            }
        }
    }

    #[test]
    fn an_interrupted_down_is_finished_by_the_next() {
        let store = Store::at(&scratch("down"));
        for at in 0..5 {
            for acted in [false, true] {
                let (mut state, _lock) = store.create(&spec(), Mode::Root).unwrap();
                let mut machine = Fake::default();
                build(&mut machine, &mut state, true).unwrap();
                machine.die_at = Some((machine.calls + at, acted));
                assert!(remove(&mut machine, &mut state).is_err());
                let mut state = store.load("t").unwrap();
                assert_eq!(state.phase, Phase::Removing);
                remove(&mut machine, &mut state).unwrap();
                assert!(machine.namespaces.is_empty());
                store.forget("t").unwrap();
            }
        }
    }

    #[test]
    fn what_was_there_before_is_not_ours() {
        let store = Store::at(&scratch("foreign"));
        let (mut state, _lock) = store.create(&spec(), Mode::Root).unwrap();
        let mut machine = Fake::default();
        machine.namespaces.insert("tailback-t-n2".into());
        let error = build(&mut machine, &mut state, true).unwrap_err();
        assert!(error.to_string().contains("ip netns del tailback-t-n2"), "{error}");
        remove(&mut machine, &mut state).unwrap();
        assert_eq!(machine.namespaces, BTreeSet::from(["tailback-t-n2".to_string()]));
        store.forget("t").unwrap();
    }

    #[test]
    fn states_show_what_was_built() {
        let mut state = State::new(spec(), Mode::Root, "/x".into());
        state.phase = Phase::Up;
        assert_eq!(
            state.to_string(),
            "testbed t (up, root): 4 nodes n1..n4 in 10.77.0.0/16, 2 leaf switches and a spine\n\
             links: 1MB/s each way, uplinks: 1MB/s, no added delay (this kernel has no netem)"
        );
    }
}
